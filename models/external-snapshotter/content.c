/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sync of a VolumeSnapshotContent: syncContent() in the sidecar's snapshot_controller.go. A
 * rule table decides from the content and its private copy: create a snapshot, look for one that
 * was taken elsewhere, ask again until it is ready, delete, or let go. Contents of snapshots and of
 * groups share the code. A version that is older than the copy is ignored (SNAP-40). */
#include "snapshotter.h"

#include "models/api/secret.h"

/* ---- Secrets: SNAP-70 ---- */

static void
decide_secret(const void *data, Plan *plan)
{
    SnapshotterSync *sync = plan_notes(plan);

    plan_use_client(plan, NULL);
    if (plan_has_failed(plan))
        sync->secret_error = plan_internf(plan, "cannot get credentials for %s content \"%s\"",
                                          plan_kinds(plan)->noun, plan_key(plan)->name);
    else
        sync->has_secrets = SECRET(plan_object(plan, plan_last_step(plan)))->n_keys > 0;
    sync->with_secret(data, plan);
}

void
snapshotter_with_secret(const ExternalSnapshotter *self, Plan *plan, PlanDecide then)
{
    SnapshotterSync *sync = plan_notes(plan);
    const Object *content = &sync->content->meta;
    const SnapshotKinds *kinds = plan_kinds(plan);
    const char *name = object_annotation(content, kinds->secret_name);
    const char *namespace = object_annotation(content, kinds->secret_namespace);

    if (name == NULL || namespace == NULL) {
        then(self, plan);
        return;
    }
    plan_because(plan, "SNAP-70");
    if (name[0] == '\0' || namespace[0] == '\0') {
        sync->secret_error = plan_internf(plan,
                                          "cannot retrieve secrets for %s content \"%s\", "
                                          "err: secret name or namespace not specified",
                                          kinds->noun, plan_key(plan)->name);
        then(self, plan);
        return;
    }
    sync->with_secret = then;
    plan_use_client(plan, self->base.event_client);
    plan_get(plan, objects_key(self->base.objects, KIND_SECRET, namespace, name), PLAN_DECIDE);
    plan_then(plan, decide_secret);
}

/* ---- SNAP-40 to SNAP-43 ---- */

/* Facts of a content. */
enum {
    KNOWN = 1 << 0,     /* it is there */
    OURS = 1 << 1,      /* of this driver, and so is its class */
    STALE = 1 << 2,     /* the copy is newer */
    DOOMED = 1 << 3,    /* SNAP-43: it may be deleted */
    AT_DRIVER = 1 << 4, /* the driver has the snapshot, of no group; the policy is Delete */
    HELD = 1 << 5,      /* by our finalizer */
    NEW = 1 << 6,       /* of a volume and no group, and without a status */
    READY = 1 << 7,     /* so its status says */
    ANNOTATED = 1 << 8, /* CreateSnapshot may be under way */
    GIVEN = 1 << 9,     /* somebody else took the snapshot */
    MEMBER = 1 << 10,   /* of a group, so its annotation says */
    CONTENT_FACTS_END = 1 << 11,
};

enum {
    FORGET,
    LEAVE,
    DELETE,
    LET_GO, /* take our finalizer off */
    CREATE, /* also once more: the answer tells whether the snapshot is ready */
    TAKE_ANNOTATION_OFF,
    LOOK,
    ASK_AGAIN, /* later, whether somebody has taken it */
};

#define MINE (KNOWN | OURS)
#define IDLE (STALE | DOOMED | NEW)

/* Columns: all of these hold, none of these, then. */
static const Rule content_table[] = {
    {"SNAP-40",   0,                         KNOWN,                         FORGET             },
    {"SNAP-40",   KNOWN,                     OURS,                          LEAVE              },
    {"SNAP-40",   MINE | STALE,              0,                             LEAVE              },
    {"SNAP-42.1", MINE | DOOMED | AT_DRIVER, STALE,                         DELETE             },
    {"SNAP-42.2", MINE | DOOMED | HELD,      STALE | AT_DRIVER,             LET_GO             },
    {"SNAP-42.2", MINE | DOOMED,             STALE | AT_DRIVER | HELD,      LEAVE              },
    {"SNAP-42.3", MINE | NEW,                STALE | DOOMED,                CREATE             },
    {"SNAP-42.4", MINE | READY | ANNOTATED,  IDLE,                          TAKE_ANNOTATION_OFF},
    {"SNAP-42.4", MINE | READY,              IDLE | ANNOTATED,              LEAVE              },
    {"SNAP-42.5", MINE,                      IDLE | READY | GIVEN | MEMBER, CREATE             },
    {"SNAP-74",   MINE | MEMBER,             IDLE | READY | GIVEN,          ASK_AGAIN          },
    {"SNAP-46",   MINE | GIVEN,              IDLE | READY,                  LOOK               },
};
const RuleTable snapshotter_content_rules =
    RULE_TABLE("contents of the sidecar", CONTENT_FACTS_END, content_table);

static gboolean
content_is_ours(const ExternalSnapshotter *self, const SnapshotContent *content)
{
    const SnapshotClass *class = SNAPSHOT_CLASS_CONST(informer_find(
        snapshotter_side(self, object_kind(&content->meta))->classes, NULL, content->class_name));

    return (snapshot_content_is_dynamic(content) || snapshot_content_is_given(content)) &&
           content->driver == self->base.driver_name &&
           (class == NULL || class->driver == self->base.driver_name);
}

static uint32_t
content_facts(const ExternalSnapshotter *self, const SnapshotContent *content)
{
    uint32_t facts = KNOWN;

    if (content == NULL)
        return 0;
    const SnapshotterSide *side = snapshotter_side(self, object_kind(&content->meta));
    const SnapshotKinds *kinds = snapshot_kinds_of(object_kind(&content->meta));
    facts |= content_is_ours(self, content) ? OURS : 0;
    facts |= object_store_is_newer(side->store, &content->meta) ? STALE : 0;
    facts |= snapshotter_should_delete(content) ? DOOMED : 0;
    if (content->handle != NULL && content->group_handle == NULL &&
        g_strcmp0(content->deletion_policy, "Delete") == 0)
        facts |= AT_DRIVER;
    facts |= object_has_finalizer(&content->meta, kinds->content_finalizer) ? HELD : 0;
    if (object_annotation(&content->meta, ANNOTATION_SNAPSHOT_GROUP_HANDLE) != NULL)
        facts |= MEMBER;
    else if (snapshot_content_is_dynamic(content) && !snapshot_content_has_status(content))
        facts |= NEW;
    facts |= content->readiness == SNAPSHOT_READY ? READY : 0;
    facts |= snapshotter_is_creating(content) ? ANNOTATED : 0;
    if (snapshot_content_is_given(content) ||
        (content->group_handle != NULL && content->handle != NULL))
        facts |= GIVEN;
    return facts;
}

static void
decide_ready(const void *data, Plan *plan)
{
    (void)data;
    plan_because(plan, "SNAP-42.4");
    if (plan_has_failed(plan))
        plan_fail(plan, "%s",
                  snapshot_update_error(plan, plan_key(plan)->name, plan_last_message(plan)));
    else
        snapshotter_keep_result(plan);
}

/* The sync begins with this version of the content. */
static void
take_up(Plan *plan, const SnapshotContent *content, gboolean is_new)
{
    SnapshotterSync *sync = plan_new_notes(plan, SnapshotterSync, NULL);

    sync->content = SNAPSHOT_CONTENT_CONST(plan_keep(plan, &content->meta));
    sync->is_first = is_new;
    plan_change(
        plan,
        &(PlanChange){.what = CHANGE_STORE, .key = content->meta.key, .object = &content->meta});
}

void
snapshotter_sync(const void *data, Plan *plan)
{
    const ExternalSnapshotter *self = data;
    const SnapshotContent *content =
        SNAPSHOT_CONTENT_CONST(informer_get(plan_side(self, plan)->contents, plan_key(plan)));

    if (content != NULL && !snapshotter_sees(self, content)) {
        plan_because(plan, "SNAP-71.2");
        content = NULL;
    }
    uint32_t facts = content_facts(self, content);

    plan_because(plan, "SNAP-40");
    if ((facts & MINE) == MINE && (facts & STALE) == 0)
        take_up(plan, content, (facts & NEW) != 0);
    switch (plan_judge(plan, &snapshotter_content_rules, facts)) {
    case FORGET:
        plan_change(plan, &(PlanChange){.what = CHANGE_FORGET, .key = plan_key(plan)});
        return;
    case LEAVE:
        return;
    case DELETE:
        snapshotter_delete(self, plan);
        return;
    case LET_GO:
        snapshotter_let_go(plan);
        return;
    case CREATE:
        snapshotter_create(self, plan);
        return;
    case TAKE_ANNOTATION_OFF:
        snapshotter_annotate(plan, FALSE);
        plan_then(plan, decide_ready);
        return;
    case LOOK:
        snapshotter_look(self, plan);
        return;
    case ASK_AGAIN:
        plan_requeue_rate_limited(plan);
        return;
    }
    g_assert_not_reached();
}
