/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshots.h"

const char *
snapshot_class_error(Plan *plan, const char *class_name)
{
    return plan_internf(plan, "volumesnapshotclass." SNAPSHOT_API_GROUP " \"%s\" not found",
                        class_name);
}

const char *
snapshot_update_error(Plan *plan, const char *object_name, const char *error)
{
    return plan_internf(plan, "snapshot controller failed to update %s on API server: %s",
                        object_name, error);
}

const char *
snapshot_no_class_error(Plan *plan, const char *object_name)
{
    return plan_internf(plan, "failed to take snapshot %s without a snapshot class", object_name);
}

static gboolean
annotate(Object *object, const void *data)
{
    const StringPair *pair = data;

    return object_set_annotation(object, pair->key, pair->value);
}

int
plan_annotate(
    Plan *plan, const ObjectKey *key, const char *annotation, const char *value, PlanErrors errors)
{
    StringPair *pair = plan_new_arg(plan, StringPair);

    *pair = (StringPair){plan_internf(plan, "%s", annotation),
                         value == NULL ? NULL : plan_internf(plan, "%s", value)};
    return plan_patch(plan, key, annotate, pair, errors);
}
