/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

/* The deletion of a VolumeGroupSnapshot (SNAP-84): its content, its members, its finalizer. */

static void plan_next_member(const void *self, Plan *plan);

static void
decide_member_deleted(const void *data, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);
    const Object *group = &sync->snapshot->meta;
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK && plan_code(plan, step) != API_NOT_FOUND) {
        const char *message = plan_internf(
            plan, "failed to delete snapshot API object %s part of group snapshot %s: %s",
            sync->members[sync->member]->text, group->key->text, plan_message(plan, step));
        plan_event(plan, group, "Warning", "SnapshotDeleteError", "%s", message);
        plan_fail(plan, "%s", message);
        return;
    }
    sync->member++;
    plan_next_member(data, plan);
}

/* The finalizer stays until the content has gone. */
static void
plan_next_member(const void *self, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    (void)self;
    plan_because(plan, "SNAP-84");
    if (sync->member < sync->n_members) {
        plan_delete(plan, sync->members[sync->member], (ObjectUid){0, 0}, -1, PLAN_DECIDE);
        plan_then(plan, decide_member_deleted);
    } else if (!content_goes_with_snapshot(plan)) {
        plan_update(plan, &sync->snapshot->meta, edit_remove_finalizer, FINALIZER_GROUP_BOUND,
                    PLAN_DECIDE | PLAN_SEND_ALWAYS);
        plan_then(plan, decide_finalizers_removed);
    }
}

/* Facts of a group that has a deletionTimestamp. */
enum {
    HELD = 1 << 0,      /* by our finalizer */
    FOUND = 1 << 1,     /* its content, which points back */
    RESTORED = 1 << 2,  /* a pending claim is to be restored from a member */
    ANNOTATED = 1 << 3, /* the content is: the sidecar may delete it */
    GROUP_DELETION_FACTS_END = 1 << 4,
};

enum {
    LEAVE,
    TELL_RESTORED, /* no retry: the next event or resync looks again */
    ANNOTATE,
    DELETE_CONTENT,
    DELETE_MEMBERS,
};

/* processGroupSnapshotWithDeletionTimestamp(). Columns: all of these, none of these, then. */
static const Rule group_deletion_table[] = {
    {"SNAP-84", 0,                        HELD,                 LEAVE         },
    {"SNAP-84", HELD | RESTORED,          0,                    TELL_RESTORED },
    {"SNAP-84", HELD | FOUND,             RESTORED | ANNOTATED, ANNOTATE      },
    {"SNAP-84", HELD | FOUND | ANNOTATED, RESTORED,             DELETE_CONTENT},
    {"SNAP-84", HELD,                     RESTORED | FOUND,     DELETE_MEMBERS},
};
const RuleTable group_deletion_rules =
    RULE_TABLE("groups to delete", GROUP_DELETION_FACTS_END, group_deletion_table);

/* Returns: (borrowed): a member that a claim is restored from; NULL: none */
static const Object *
take_members(const SnapshotController *self, Plan *plan, SnapshotSync *sync)
{
    unsigned n;
    const Object *const *members = informer_index_get(self->snapshots_by_group, plan_key(plan), &n);
    const Object *restored = NULL;

    sync->n_members = n;
    sync->members = plan_alloc(plan, (n + 1) * sizeof *sync->members);
    for (unsigned i = 0; i < n; i++) {
        sync->members[i] = members[i]->key;
        if (restored == NULL && snapshot_is_being_restored(self, members[i]))
            restored = members[i];
    }
    return restored;
}

void
plan_group_deletion(const SnapshotController *self, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);
    const Object *group = &sync->snapshot->meta;
    const Object *restored = take_members(self, plan, sync);
    const SnapshotContent *content = stored_content(self, plan, sync->snapshot->bound_content);
    uint32_t facts = restored != NULL ? RESTORED : 0;

    facts |= object_has_finalizer(group, FINALIZER_GROUP_BOUND) ? HELD : 0;
    if (content != NULL && snapshot_content_is_of(content, sync->snapshot)) {
        take_content(plan, content);
        facts |= FOUND;
        facts |= object_annotation(&content->meta, ANNOTATION_GROUP_BEING_DELETED) != NULL
                     ? ANNOTATED
                     : 0;
    }
    sync->member = 0;
    sync->with_content = plan_next_member;
    switch (plan_judge(plan, &group_deletion_rules, facts)) {
    case LEAVE:
        return;
    case TELL_RESTORED:
        plan_event(plan, group, "Warning", "SnapshotDeletePending",
                   "Snapshot %s belonging to VolumeGroupSnapshot %s is being used to restore a PVC",
                   restored->key->text, group->key->text);
        return;
    case ANNOTATE:
        plan_content_annotation(plan, content);
        return;
    case DELETE_CONTENT:
        plan_content_deletion(self, plan);
        return;
    case DELETE_MEMBERS:
        plan_next_member(self, plan);
        return;
    }
    g_assert_not_reached();
}
