/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sync of a VolumeSnapshotContent: syncContentByKey() and syncContent() of the
 * snapshot-controller. A rule table decides from the content and its snapshot: add the finalizer,
 * queue the snapshot because its status is behind, or annotate the content because its snapshot is
 * being deleted, which lets the sidecar delete it. Nothing else of the content is written here. */
#include "controller.h"

void
plan_annotate_deletion(Plan *plan, const SnapshotContent *content, PlanErrors errors)
{
    plan_because(plan, "SNAP-22");
    plan_store_result(plan, plan_annotate(plan, content->meta.key,
                                          snapshot_kinds_of(content->meta.key->kind)->being_deleted,
                                          "yes", errors));
}

static void
decide_finalizer_added(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);

    (void)data;
    plan_because(plan, "SNAP-20");
    if (plan_code(plan, step) != API_OK)
        plan_fail(plan, "%s",
                  snapshot_update_error(plan, plan_key(plan)->name, plan_message(plan, step)));
    else
        plan_store_result(plan, step);
}

/* SNAP-21. The original compares pointers to readyToUse, so a bound pair always differs. */
static gboolean
status_lags(const VolumeSnapshot *snapshot, const SnapshotContent *content)
{
    if (!snapshot_content_has_status(content))
        return FALSE;
    return !volume_snapshot_has_status(snapshot) || snapshot->bound_content == NULL ||
           content->readiness == SNAPSHOT_READY || content->readiness == SNAPSHOT_NOT_READY ||
           (snapshot->created_at == TIME_UNSET && content->created_ns >= 0) ||
           (snapshot->restore_bytes == 0 && content->restore_bytes > 0);
}

static const VolumeSnapshot *
snapshot_of_content(const SnapshotController *self, const SnapshotContent *content)
{
    const SnapshotReference *reference = &content->snapshot;
    ObjectKind kind = object_kind(&content->meta);
    const ObjectKey *key =
        reference->name == NULL
            ? NULL
            : objects_find_key(self->base.objects, snapshot_kinds_of(kind)->snapshot,
                               reference->namespace, reference->name);

    return VOLUME_SNAPSHOT_CONST(object_store_get(snapshot_side(self, kind)->snapshot_store, key));
}

/* Facts of a content. */
enum {
    ONE_SOURCE = 1 << 0, /* a volume or a given snapshot, not both */
    BOUND = 1 << 1,      /* it knows its snapshot's uid */
    LOOSE = 1 << 2,      /* no finalizer holds it, and it is not being deleted */
    PAIRED = 1 << 3,     /* its snapshot is there */
    LAGS = 1 << 4,       /* ... but its status is behind */
    DOOMED = 1 << 5,     /* ... and is being deleted, which the content does not say yet */
    CONTENT_FACTS_END = 1 << 6,
};

enum {
    LEAVE,
    FAIL_SOURCES,
    HOLD, /* put our finalizer on, and nothing else in this sync */
    QUEUE,
    ANNOTATE,
    QUEUE_AND_ANNOTATE,
};

/* syncContent(). Columns: all of these hold, none of these, then. */
static const Rule content_table[] = {
    {"SNAP-20", 0,                                           ONE_SOURCE,            FAIL_SOURCES      },
    {"SNAP-20", ONE_SOURCE,                                  BOUND,                 LEAVE             },
    {"SNAP-20", ONE_SOURCE | BOUND | LOOSE,                  0,                     HOLD              },
    {"SNAP-23", ONE_SOURCE | BOUND,                          LOOSE | PAIRED,        LEAVE             },
    {"SNAP-23", ONE_SOURCE | BOUND | PAIRED,                 LOOSE | LAGS | DOOMED, LEAVE             },
    {"SNAP-21", ONE_SOURCE | BOUND | PAIRED | LAGS,          LOOSE | DOOMED,        QUEUE             },
    {"SNAP-21", ONE_SOURCE | BOUND | PAIRED | LAGS | DOOMED, LOOSE,                 QUEUE_AND_ANNOTATE},
    {"SNAP-22", ONE_SOURCE | BOUND | PAIRED | DOOMED,        LOOSE | LAGS,          ANNOTATE          },
};
const RuleTable content_sync_rules =
    RULE_TABLE("contents of the snapshot-controller", CONTENT_FACTS_END, content_table);

/* @snapshot: NULL: not there */
static uint32_t
content_facts(const SnapshotContent *content, const VolumeSnapshot *snapshot)
{
    const Object *meta = &content->meta;
    const SnapshotKinds *kinds = snapshot_kinds_of(object_kind(meta));
    uint32_t facts = 0;

    if (snapshot_content_is_dynamic(content) != snapshot_content_is_given(content))
        facts |= ONE_SOURCE;
    facts |= object_uid_is_set(content->snapshot.uid) ? BOUND : 0;
    if (!object_is_deleted(meta) && !object_has_finalizer(meta, kinds->content_finalizer))
        facts |= LOOSE;
    if (snapshot == NULL || !object_uid_equal(snapshot->meta.uid, content->snapshot.uid))
        return facts;
    facts |= PAIRED;
    facts |= status_lags(snapshot, content) ? LAGS : 0;
    if (kinds->snapshot == KIND_VOLUME_SNAPSHOT && snapshot_waits_for_deletion(snapshot) &&
        object_annotation(meta, ANNOTATION_SNAPSHOT_BEING_DELETED) == NULL)
        facts |= DOOMED;
    return facts;
}

static void
plan_content(const SnapshotController *self, Plan *plan, const SnapshotContent *content)
{
    const SnapshotKinds *kinds = plan_kinds(plan);
    const char *sources = kinds->snapshot == KIND_VOLUME_SNAPSHOT
                              ? "Exactly one of VolumeHandle and SnapshotHandle should be specified"
                              : "Exactly one of GroupSnapshotHandles and VolumeHandles should be "
                                "specified";
    const VolumeSnapshot *snapshot = snapshot_of_content(self, content);
    int action = plan_judge(plan, &content_sync_rules, content_facts(content, snapshot));

    switch (action) {
    case LEAVE:
        return;
    case FAIL_SOURCES:
        plan_event(plan, &content->meta, "Warning", plan_reason(plan, "ContentValidationError"),
                   "%s", sources);
        plan_fail(plan, "%s", sources);
        return;
    case HOLD:
        plan_patch(plan, content->meta.key, edit_add_finalizer,
                   strings_intern(self->base.strings, kinds->content_finalizer), PLAN_DECIDE);
        plan_then(plan, decide_finalizer_added);
        return;
    case QUEUE:
    case QUEUE_AND_ANNOTATE:
        plan_queue(plan, plan_side(self, plan)->snapshot_workers, snapshot->meta.key);
        if (action == QUEUE_AND_ANNOTATE)
            plan_annotate_deletion(plan, content, PLAN_STOP);
        return;
    case ANNOTATE:
        plan_annotate_deletion(plan, content, PLAN_STOP);
        return;
    }
    g_assert_not_reached();
}

/* SNAP-24: it is gone; the copy still names its snapshot. */
static void
plan_gone(const SnapshotController *self, Plan *plan)
{
    const ObjectKey *key = plan_key(plan);
    const SnapshotContent *copy =
        SNAPSHOT_CONTENT_CONST(object_store_get(plan_side(self, plan)->content_store, key));

    if (copy == NULL)
        return;
    plan_because(plan, "SNAP-24");
    if (copy->snapshot.name != NULL)
        plan_queue(plan, plan_side(self, plan)->snapshot_workers,
                   objects_key(self->base.objects, plan_kinds(plan)->snapshot,
                               copy->snapshot.namespace, copy->snapshot.name));
    plan_change(plan, &(PlanChange){.what = CHANGE_FORGET, .key = key});
}

void
snapshot_controller_sync_content(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const Object *content = informer_get(plan_side(self, plan)->contents, plan_key(plan));

    plan_because(plan, "SNAP-20");
    if (content == NULL) {
        plan_gone(self, plan);
        return;
    }
    if (object_store_is_newer(plan_side(self, plan)->content_store, content))
        return;
    plan_change(plan, &(PlanChange){.what = CHANGE_STORE, .key = content->key, .object = content});
    plan_content(self, plan, SNAPSHOT_CONTENT_CONST(content));
}
