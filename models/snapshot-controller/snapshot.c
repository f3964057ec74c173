/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One sync of a VolumeSnapshot or a group: syncSnapshotByKey() and syncSnapshot(). The order is
 * fixed (SNAP-4): the claim's finalizer, deletion, the source, the content's fault, the finalizers,
 * and then the binding. Two rule tables decide, the second about the content that belongs to the
 * snapshot: a ready one keeps its content, another one is bound, told its status, or has its
 * content created. A version that is older than the private copy is ignored (SNAP-1). */
#include "controller.h"
#include "models/snapshot-controller/snapshot-controller-test.h"

const char *
plan_reason(Plan *plan, const char *reason)
{
    const char *prefix = plan_kinds(plan)->prefix;

    return *prefix == '\0' ? reason : plan_internf(plan, "%s%s", prefix, reason);
}

static const char *
missing_text(Plan *plan)
{
    return plan_internf(plan, "Volume%sSnapshotContent is missing", plan_kinds(plan)->prefix);
}

static const char *
misbound_text(Plan *plan)
{
    const char *prefix = plan_kinds(plan)->prefix;

    return plan_internf(plan,
                        "Volume%sSnapshotContent is not bound to the Volume%sSnapshot correctly",
                        prefix, prefix);
}

void
take_snapshot(Plan *plan, const Object *snapshot)
{
    SnapshotSync *sync = plan_notes(plan);

    sync->snapshot = VOLUME_SNAPSHOT_CONST(plan_keep(plan, snapshot));
}

void
take_content(Plan *plan, const SnapshotContent *content)
{
    SnapshotSync *sync = plan_notes(plan);

    sync->content = SNAPSHOT_CONTENT_CONST(plan_keep(plan, &content->meta));
}

/* ---- The content that belongs to a snapshot: SNAP-5, SNAP-7 ---- */

ObjectKey *
dynamic_content_key(const SnapshotController *self, const VolumeSnapshot *snapshot)
{
    char uid[OBJECT_UID_BUFFER];

    const SnapshotKinds *kinds = snapshot_kinds_of(object_kind(&snapshot->meta));

    return objects_key(self->base.objects, kinds->content, NULL,
                       strings_internf(self->base.strings, "%ssnapcontent-%s",
                                       *kinds->prefix == '\0' ? "" : "group",
                                       object_uid_format(snapshot->meta.uid, uid)));
}

/* The fault of a content of the right name. */
typedef struct {
    const char *reason, *message; /* of the status and its Event; reason NULL: nothing */
    const char *error;            /* of the sync */
} ContentFault;

static void
tell_mismatch(Plan *plan, const char *content, gboolean is_dynamic, ContentFault *fault)
{
    const SnapshotKinds *kinds = plan_kinds(plan);

    fault->reason = plan_reason(plan, "SnapshotContentMismatch");
    fault->message =
        is_dynamic ? plan_internf(plan,
                                  "Volume%sSnapshotContent %s is pre-provisioned while expecting a "
                                  "dynamically provisioned one",
                                  kinds->prefix, content)
                   : plan_internf(plan,
                                  "Volume%sSnapshotContent is dynamically provisioned while "
                                  "expecting a pre-provisioned one",
                                  kinds->prefix);
    fault->error = plan_internf(
        plan, "%s %s expects a %s Volume%sSnapshotContent %s but gets a %s one", kinds->noun,
        plan_key(plan)->text, is_dynamic ? "dynamically provisioned" : "pre-provisioned",
        kinds->prefix, content, is_dynamic ? "pre-provisioned" : "dynamically provisioned");
}

/* Whether the content points back to the snapshot. */
static gboolean
snapshot_is_ours(const VolumeSnapshot *snapshot, const SnapshotContent *content)
{
    const SnapshotReference *reference = &content->snapshot;
    gboolean may_lack_uid = snapshot->content_name != NULL;

    return reference->name == snapshot->meta.key->name &&
           reference->namespace == snapshot->meta.key->namespace &&
           ((may_lack_uid && !object_uid_is_set(reference->uid)) ||
            object_uid_equal(reference->uid, snapshot->meta.uid));
}

/* getDynamicallyProvisionedContentFromStore() and getPreprovisionedContentFromStore(). Returns:
 * (borrowed): NULL: there is none, or @fault (out) says what is wrong with it */
static const SnapshotContent *
snapshot_content_of(const SnapshotController *self, Plan *plan, ContentFault *fault)
{
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    gboolean is_dynamic = snapshot->content_name == NULL; /* of a claim */
    const char *name =
        is_dynamic ? dynamic_content_key(self, snapshot)->name : snapshot->content_name;
    const SnapshotContent *content = stored_content(self, plan, name);

    *fault = (ContentFault){0};
    if (content == NULL)
        return NULL;
    if (!(is_dynamic ? snapshot_content_is_dynamic(content) : snapshot_content_is_given(content))) {
        tell_mismatch(plan, name, is_dynamic, fault);
        return NULL;
    }
    if (snapshot_is_ours(snapshot, content))
        return content;
    fault->reason = plan_reason(plan, "SnapshotContentMisbound");
    fault->message = fault->error =
        plan_internf(plan, "Volume%sSnapshotContent [%s] is bound to a different %s",
                     plan_kinds(plan)->prefix, name, plan_kinds(plan)->noun);
    return NULL;
}

/* ---- Binding: SNAP-5, SNAP-7, SNAP-9 ---- */

typedef struct {
    ObjectUid uid;
    const char *class_name; /* NULL: unchanged */
} BindEdit;

static gboolean
bind_content(Object *object, const void *data)
{
    const BindEdit *edit = data;
    SnapshotContent *content = SNAPSHOT_CONTENT(object);

    content->snapshot.uid = edit->uid;
    if (edit->class_name != NULL)
        content->class_name = edit->class_name;
    return TRUE;
}

static void
decide_content_bound(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    const SnapshotKinds *kinds = plan_kinds(plan);

    if (!plan_has_failed(plan)) {
        plan_store_result(plan, plan_last_step(plan));
        plan_snapshot_status(data, plan,
                             SNAPSHOT_CONTENT_CONST(plan_object(plan, plan_last_step(plan))));
        return;
    }
    plan_snapshot_error(plan, TRUE, plan_reason(plan, "SnapshotBindFailed"),
                        plan_internf(plan, "%sSnapshot failed to bind Volume%sSnapshotContent, %s",
                                     kinds->prefix, kinds->prefix, plan_last_message(plan)));
    plan_fail(plan,
              "%s %s is bound, but Volume%sSnapshotContent %s is not bound to the "
              "Volume%sSnapshot correctly, %s",
              kinds->noun, plan_key(plan)->text, kinds->prefix, sync->snapshot->content_name,
              kinds->prefix, plan_last_message(plan));
}

static void
bind_given_content(Plan *plan, const VolumeSnapshot *snapshot, const SnapshotContent *content)
{
    BindEdit *edit = plan_new_arg(plan, BindEdit);

    *edit = (BindEdit){snapshot->meta.uid, snapshot->class_name};
    plan_patch(plan, content->meta.key, bind_content, edit, PLAN_DECIDE);
    plan_then(plan, decide_content_bound);
}

/* Facts of a snapshot with its finalizers. */
enum {
    READY = 1 << 0, /* its status says so, and names a content */
    PRESENT =
        1 << 1, /* the content that is named, or the content that belongs to the snapshot, exists */
    MATCHES = 1 << 2,  /* of a ready snapshot: the content is bound to it */
    FAULTY = 1 << 3,   /* of another snapshot: something is wrong with the content */
    GIVEN = 1 << 4,    /* the snapshot names the content */
    COMPLETE = 1 << 5, /* the content knows the snapshot's uid, and a class */
    MEMBER = 1 << 6,   /* a group owns the snapshot */
    ORPHAN = 1 << 7,   /* no group owns it, though its status names one */
    BINDING_FACTS_END = 1 << 8,
};

enum {
    LEAVE,
    TELL_MISSING,
    TELL_MISBOUND,
    FAIL_FAULT,
    FAIL_MISSING,
    FAIL_MEMBER,
    ADOPT_ORPHAN,
    BIND,
    TELL_STATUS,
    TELL_STATUS_TWICE,
    CREATE,
};

/* syncReadySnapshot() and syncUnreadySnapshot(). Columns: all of these, none of these, then. */
static const Rule binding_table[] = {
    {"SNAP-9",  READY | PRESENT | MATCHES,          ORPHAN,                                    LEAVE            },
    {"SNAP-76", READY | PRESENT | MATCHES | ORPHAN, 0,                                         ADOPT_ORPHAN     },
    {"SNAP-9",  READY,                              PRESENT,                                   TELL_MISSING     },
    {"SNAP-9",  READY | PRESENT,                    MATCHES,                                   TELL_MISBOUND    },
    {"SNAP-75", MEMBER,                             READY | GIVEN | PRESENT,                   FAIL_MEMBER      },
    {"SNAP-75", MEMBER | PRESENT,                   READY | GIVEN,                             TELL_STATUS      },
    {"SNAP-5",  FAULTY | GIVEN,                     READY,                                     FAIL_FAULT       },
    {"SNAP-5",  FAULTY,                             READY | GIVEN | MEMBER,                    FAIL_FAULT       },
    {"SNAP-7",  GIVEN,                              READY | FAULTY | PRESENT,                  FAIL_MISSING     },
    {"SNAP-7",  GIVEN | PRESENT,                    READY | FAULTY | COMPLETE,                 BIND             },
    {"SNAP-8",  GIVEN | PRESENT | COMPLETE,         READY | FAULTY,                            TELL_STATUS      },
    {"SNAP-5",  PRESENT,                            READY | FAULTY | GIVEN | MEMBER,           TELL_STATUS_TWICE},
    {"SNAP-6",  0,                                  READY | FAULTY | GIVEN | PRESENT | MEMBER, CREATE           },
};
const RuleTable snapshot_binding_rules =
    RULE_TABLE("bindings of snapshots", BINDING_FACTS_END, binding_table);

static uint32_t
binding_facts(const VolumeSnapshot *snapshot,
              const SnapshotContent *content,
              gboolean is_ready,
              const ContentFault *fault)
{
    uint32_t facts = is_ready ? READY : 0;

    facts |= fault->reason != NULL ? FAULTY : 0;
    facts |= snapshot->content_name != NULL ? GIVEN : 0;
    facts |= snapshot_group(snapshot) != NULL ? MEMBER : 0;
    facts |= snapshot_lacks_group(snapshot) ? ORPHAN : 0;
    if (content == NULL)
        return facts;
    facts |= PRESENT;
    facts |= snapshot_content_is_of(content, snapshot) ? MATCHES : 0;
    if (object_uid_is_set(content->snapshot.uid) && content->class_name != NULL)
        facts |= COMPLETE;
    return facts;
}

/* ---- SNAP-76: the group of a member that was made elsewhere ---- */

static gboolean
set_group(Object *object, const void *group)
{
    object_set_owner(object, group, FALSE, FALSE);
    return TRUE;
}

static void
plan_owner_reference(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    const Object *group = group_of_member(self, snapshot);

    if (group != NULL)
        plan_update(plan, &snapshot->meta, set_group, plan_keep(plan, group), PLAN_STOP);
    else
        plan_fail(plan, "volumegroupsnapshot.groupsnapshot.storage.k8s.io \"%s\" not found",
                  snapshot->group_name);
}

void
plan_binding(const SnapshotController *self, Plan *plan)
{
    const SnapshotKinds *kinds = plan_kinds(plan);
    gboolean is_group = kinds->snapshot == KIND_GROUP_SNAPSHOT;
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    gboolean is_ready = snapshot->readiness == SNAPSHOT_READY && snapshot->bound_content != NULL;
    gboolean is_member = snapshot->content_name == NULL && snapshot_group(snapshot) != NULL;
    ContentFault fault = {0};
    const SnapshotContent *content = is_ready || is_member
                                         ? stored_content(self, plan, snapshot->bound_content)
                                         : snapshot_content_of(self, plan, &fault);
    uint32_t facts = binding_facts(snapshot, content, is_ready, &fault);

    switch (plan_judge(plan, &snapshot_binding_rules, facts)) {
    case LEAVE:
        return;
    case TELL_MISSING:
        plan_snapshot_error(plan, TRUE, plan_reason(plan, "SnapshotContentMissing"),
                            missing_text(plan));
        return;
    case TELL_MISBOUND:
        plan_snapshot_error(plan, TRUE, plan_reason(plan, "SnapshotMisbound"), misbound_text(plan));
        return;
    case FAIL_FAULT:
        plan_snapshot_error(plan, TRUE, fault.reason, fault.message);
        plan_fail(plan, "%s", fault.error);
        return;
    case FAIL_MISSING:
        plan_snapshot_error(plan, TRUE, plan_reason(plan, "SnapshotContentMissing"),
                            missing_text(plan));
        plan_fail(plan, "%s %s requests an non-existing %scontent %s", kinds->noun,
                  plan_key(plan)->text, *kinds->prefix == '\0' ? "" : "group snapshot ",
                  snapshot->content_name);
        return;
    case FAIL_MEMBER:
        if (snapshot->bound_content == NULL)
            plan_fail(plan, "detected group snapshot member %s with no content, retrying",
                      plan_key(plan)->text);
        else
            plan_fail(plan, "group snapshot member %s requests an non-existing content %s",
                      plan_key(plan)->text, snapshot->bound_content);
        return;
    case ADOPT_ORPHAN:
        plan_owner_reference(self, plan);
        return;
    case BIND:
        bind_given_content(plan, snapshot, content);
        return;
    case TELL_STATUS:
        plan_snapshot_status(self, plan, content);
        return;
    case TELL_STATUS_TWICE:
        if (is_group)
            plan_group_members(self, plan, content);
        else
            plan_snapshot_status_twice(self, plan, content);
        return;
    case CREATE:
        if (is_group)
            plan_group_creation(self, plan);
        else
            plan_creation(self, plan);
        return;
    }
    g_assert_not_reached();
}

/* ---- The order of a sync: SNAP-4 ---- */

typedef struct {
    const char *source, *bound; /* NULL: not this one */
} Finalizers;

static gboolean
add_finalizers(Object *object, const void *data)
{
    const Finalizers *finalizers = data;
    g_autoptr(StringList) now = object->finalizers;
    g_autoptr(GPtrArray) all = g_ptr_array_new();

    for (unsigned i = 0; now != NULL && i < now->n_items; i++)
        g_ptr_array_add(all, (void *)now->items[i]); /* only read */
    if (finalizers->source != NULL)
        g_ptr_array_add(all, (void *)finalizers->source);
    if (finalizers->bound != NULL)
        g_ptr_array_add(all, (void *)finalizers->bound);
    object->finalizers = string_list_new((const char *const *)all->pdata, all->len);
    return TRUE;
}

/* The first ones need an update, further ones a patch. */
void
plan_add_finalizers(Plan *plan, gboolean as_source, gboolean as_bound)
{
    const Object *snapshot = &snapshot_of(plan)->meta;
    Finalizers *added = plan_new_arg(plan, Finalizers);

    plan_because(plan, "SNAP-4");
    if (as_source)
        added->source = plan_internf(plan, FINALIZER_SNAPSHOT_SOURCE);
    if (as_bound)
        added->bound = plan_internf(plan, "%s", plan_kinds(plan)->bound_finalizer);
    if (snapshot->finalizers == NULL)
        plan_update(plan, snapshot, add_finalizers, added, PLAN_DECIDE);
    else
        plan_patch(plan, plan_key(plan), add_finalizers, added, PLAN_DECIDE);
}

static void
plan_finalizer_error(Plan *plan, const char *error)
{
    const SnapshotSync *sync = plan_notes(plan);

    plan_event(plan, &sync->snapshot->meta, "Warning", plan_reason(plan, "SnapshotFinalizerError"),
               "Failed to check and update %s: %s", plan_kinds(plan)->noun, error);
    plan_fail(plan, "%s", error);
}

static void
decide_finalizers_added(const void *data, Plan *plan)
{
    plan_because(plan, "SNAP-4");
    if (plan_has_failed(plan)) {
        plan_finalizer_error(
            plan, snapshot_update_error(plan, plan_key(plan)->text, plan_last_message(plan)));
        return;
    }
    plan_store_result(plan, plan_last_step(plan));
    plan_binding(data, plan);
}

/* Facts of a snapshot, after the look at its claim's finalizer. */
enum {
    GOING = 1 << 0,      /* it has a deletionTimestamp */
    ONE_SOURCE = 1 << 1, /* a claim or a content, not both */
    WRONG = 1 << 2,      /* something is wrong with its content */
    LACKS = 1 << 3,      /* a finalizer that it should have */
    SNAPSHOT_FACTS_END = 1 << 4,
    LACKS_BOUND = SNAPSHOT_FACTS_END, /* beside the rules: the one as bound */
};

enum {
    DELETE,
    FAIL_SOURCES,
    FAIL_CONTENT,
    ADD_FINALIZERS,
    GO_ON,
};

/* syncSnapshot(). Columns: all of these hold, none of these, then. */
static const Rule snapshot_table[] = {
    {"SNAP-30", GOING,              0,                     DELETE        },
    {"SNAP-4",  0,                  GOING | ONE_SOURCE,    FAIL_SOURCES  },
    {"SNAP-4",  ONE_SOURCE | WRONG, GOING,                 FAIL_CONTENT  },
    {"SNAP-4",  ONE_SOURCE | LACKS, GOING | WRONG,         ADD_FINALIZERS},
    {"SNAP-4",  ONE_SOURCE,         GOING | WRONG | LACKS, GO_ON         },
};
const RuleTable snapshot_rules = RULE_TABLE("snapshots", SNAPSHOT_FACTS_END, snapshot_table);

/* A group is held only once it is bound, whatever its deletion policy. */
static uint32_t
snapshot_facts(Plan *plan, const SnapshotContent *content, const ContentFault *fault)
{
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    const SnapshotKinds *kinds = plan_kinds(plan);
    gboolean is_group = kinds->snapshot == KIND_GROUP_SNAPSHOT;
    gboolean has_source =
        is_group ? GROUP_SNAPSHOT_CONST(snapshot)->selector != NULL : snapshot->claim_name != NULL;
    uint32_t facts = 0;

    facts |= object_is_deleted(&snapshot->meta) ? GOING : 0;
    facts |= has_source != (snapshot->content_name != NULL) ? ONE_SOURCE : 0;
    facts |= fault->reason != NULL ? WRONG : 0;
    if (!is_group && !object_has_finalizer(&snapshot->meta, FINALIZER_SNAPSHOT_SOURCE))
        facts |= LACKS;
    if (content != NULL && snapshot->bound_content != NULL &&
        (is_group || g_strcmp0(content->deletion_policy, "Delete") == 0) &&
        !object_has_finalizer(&snapshot->meta, kinds->bound_finalizer))
        facts |= LACKS | LACKS_BOUND;
    return facts;
}

/* SNAP-4: the sync once the claim's finalizer has been looked at. */
static void
decide_live_snapshot(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const SnapshotKinds *kinds = plan_kinds(plan);
    gboolean is_group = kinds->snapshot == KIND_GROUP_SNAPSHOT;
    ContentFault fault;
    const SnapshotContent *content = snapshot_content_of(self, plan, &fault);
    uint32_t facts = snapshot_facts(plan, content, &fault);
    const char *sources =
        plan_internf(plan, "Exactly one of %s and Volume%sSnapshotContentName should be specified",
                     is_group ? "Selector" : "PersistentVolumeClaimName", kinds->prefix);

    plan_use_client(plan, NULL);
    switch (plan_judge(plan, &snapshot_rules, facts & ~(uint32_t)LACKS_BOUND)) {
    case DELETE:
        if (is_group)
            plan_group_deletion(self, plan);
        else
            plan_snapshot_deletion(self, plan);
        return;
    case FAIL_SOURCES:
        plan_snapshot_error(plan, TRUE, plan_reason(plan, "SnapshotValidationError"), sources);
        plan_fail(plan, "%s", sources);
        return;
    case FAIL_CONTENT:
        plan_snapshot_error(plan, TRUE, fault.reason, fault.message);
        plan_finalizer_error(plan, fault.error);
        return;
    case ADD_FINALIZERS:
        plan_add_finalizers(
            plan,
            !is_group && !object_has_finalizer(&snapshot_of(plan)->meta, FINALIZER_SNAPSHOT_SOURCE),
            (facts & LACKS_BOUND) != 0);
        plan_then(plan, decide_finalizers_added);
        return;
    case GO_ON:
        plan_binding(self, plan);
        return;
    }
    g_assert_not_reached();
}

/* SNAP-1: a version that is older than the copy is ignored. */
void
decide_begin(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    SnapshotSync *sync = plan_notes(plan);
    const Object *snapshot = &sync->snapshot->meta;

    plan_because(plan, "SNAP-1");
    sync->with_claim = decide_live_snapshot;
    plan_use_client(plan, NULL);
    if (object_store_is_newer(plan_side(self, plan)->snapshot_store, snapshot))
        return;
    plan_change(plan,
                &(PlanChange){.what = CHANGE_STORE, .key = snapshot->key, .object = snapshot});
    if (snapshot->key->kind == KIND_GROUP_SNAPSHOT)
        decide_live_snapshot(self, plan);
    else
        plan_release_claim(self, plan);
}

/* SNAP-1: it is gone; the copy still names its content. */
static void
plan_gone(const SnapshotController *self, Plan *plan)
{
    const ObjectKey *key = plan_key(plan);
    const VolumeSnapshot *copy =
        VOLUME_SNAPSHOT_CONST(object_store_get(plan_side(self, plan)->snapshot_store, key));

    if (copy == NULL)
        return;
    if (copy->bound_content != NULL)
        plan_queue(
            plan, plan_side(self, plan)->content_workers,
            objects_key(self->base.objects, plan_kinds(plan)->content, NULL, copy->bound_content));
    plan_change(plan, &(PlanChange){.what = CHANGE_FORGET, .key = key});
}

void
snapshot_controller_sync_snapshot(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const Object *snapshot = informer_get(plan_side(self, plan)->snapshots, plan_key(plan));

    plan_because(plan, "SNAP-1");
    if (snapshot == NULL) {
        plan_gone(self, plan);
        return;
    }
    SnapshotSync *sync = plan_new_notes(plan, SnapshotSync, NULL);
    sync->with_class = decide_begin;
    take_snapshot(plan, snapshot);
    plan_class(self, plan);
}
