/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The class of a VolumeSnapshot or a group (SNAP-2): the one that it names, or the only default
 * class of the volume's driver. A snapshot that names a content, or is a member of a group, needs
 * none. The name of the default is written into the spec before the sync begins; if there is none,
 * or several, the snapshot gets an error. */
#include "controller.h"
#include "models/snapshot-controller/snapshot-controller-test.h"

gboolean
snapshot_class_is_default(const Object *class)
{
    return g_strcmp0(object_annotation(class, snapshot_kinds_of(object_kind(class))->is_default),
                     "true") == 0;
}

static void
plan_with_class(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    sync->with_class(data, plan);
}

void
plan_no_default(Plan *plan, const char *error)
{
    const SnapshotKinds *kinds = plan_kinds(plan);

    plan_snapshot_error(
        plan, FALSE, plan_internf(plan, "SetDefault%sSnapshotClassFailed", kinds->prefix),
        plan_internf(plan, "Failed to set default %s class with error %s", kinds->noun, error));
    plan_fail(plan, "%s", error);
}

gboolean
edit_set_class(Object *object, const void *name)
{
    gboolean changed = VOLUME_SNAPSHOT(object)->class_name != name;

    VOLUME_SNAPSHOT(object)->class_name = name;
    return changed;
}

void
decide_class_set(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);

    if (!plan_has_failed(plan)) { /* else the sync goes on without a class */
        take_snapshot(plan, plan_object(plan, step));
        plan_store_result(plan, step);
    }
    plan_with_class(data, plan);
}

const Object *
default_class(const SnapshotController *self, Plan *plan, const char *driver, unsigned *n)
{
    const Object *class, *found = NULL;
    InformerIter iter;

    *n = 0;
    informer_iter_init(&iter, plan_side(self, plan)->classes);
    while ((class = informer_iter_next(&iter)) != NULL) {
        if (SNAPSHOT_CLASS_CONST(class)->driver != driver || !snapshot_class_is_default(class))
            continue;
        found = class;
        *n += 1;
    }
    return found;
}

static void
decide_default_class(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    const char *error = NULL;
    unsigned n;
    const Volume *volume = volume_read(self, plan, &error);

    plan_because(plan, "SNAP-2");
    if (volume != NULL && volume_driver(volume) == NULL)
        error = plan_internf(plan, "snapshotting non-CSI volumes is not supported, snapshot:%s",
                             plan_key(plan)->text);
    if (error != NULL) {
        plan_no_default(plan, error);
        return;
    }
    const Object *class = default_class(self, plan, volume_driver(volume), &n);
    if (n != 1) {
        plan_no_default(plan,
                        n == 0 ? "cannot find default snapshot class"
                               : plan_internf(plan, "%u default snapshot classes were found", n));
        return;
    }
    plan_patch(plan, plan_key(plan), edit_set_class, object_name(class), PLAN_DECIDE);
    plan_then(plan, decide_class_set);
}

static void
decide_no_class(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    if (object_is_deleted(&sync->snapshot->meta))
        plan_with_class(data, plan);
    else
        plan_fail(plan, "%s", snapshot_class_error(plan, sync->snapshot->class_name));
}

/* Facts of a snapshot. */
enum {
    NAMED = 1 << 0, /* it names a class */
    KNOWN = 1 << 1, /* ... which is there */
    GIVEN = 1 << 2, /* it names a content, or is of a group: those have classes of their own */
    CLASS_FACTS_END = 1 << 3,
};

enum {
    BEGIN,
    TELL_UNKNOWN,
    FIND_DEFAULT,
};

/* Columns: all of these hold, none of these, then. */
static const Rule class_table[] = {
    {"SNAP-2", NAMED | KNOWN, 0,             BEGIN       },
    {"SNAP-2", NAMED,         KNOWN,         TELL_UNKNOWN},
    {"SNAP-2", GIVEN,         NAMED,         BEGIN       },
    {"SNAP-2", 0,             NAMED | GIVEN, FIND_DEFAULT},
};
const RuleTable snapshot_class_rules =
    RULE_TABLE("classes of snapshots", CLASS_FACTS_END, class_table);

void
plan_class(const SnapshotController *self, Plan *plan)
{
    const VolumeSnapshot *snapshot = snapshot_of(plan);
    const SnapshotKinds *kinds = plan_kinds(plan);
    const char *name = snapshot->class_name, *error = NULL;
    uint32_t facts = 0;

    facts |= name != NULL ? NAMED : 0;
    if (informer_find(plan_side(self, plan)->classes, NULL, name) != NULL)
        facts |= KNOWN;
    facts |= snapshot->content_name != NULL || snapshot_group(snapshot) != NULL ? GIVEN : 0;
    switch (plan_judge(plan, &snapshot_class_rules, facts)) {
    case BEGIN:
        plan_with_class(self, plan);
        return;
    case TELL_UNKNOWN:
        plan_snapshot_error(plan, FALSE,
                            plan_internf(plan, "Get%sSnapshotClassFailed", kinds->prefix),
                            plan_internf(plan, "%s %s class with error %s",
                                         *kinds->prefix == '\0' ? "Failed to get" : "failed to get",
                                         kinds->noun, snapshot_class_error(plan, name)));
        plan_then(plan, decide_no_class);
        return;
    case FIND_DEFAULT:
        if (kinds->snapshot == KIND_GROUP_SNAPSHOT)
            plan_default_group_class(self, plan);
        else if (plan_read_volume(self, plan, &error))
            plan_then(plan, decide_default_class);
        else
            plan_no_default(plan, error);
        return;
    }
    g_assert_not_reached();
}
