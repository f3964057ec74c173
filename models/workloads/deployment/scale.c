/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/deployment/private.h"

#define FROM_FIRST_SINCE 32 /* REL-48 */

/* Writes to ReplicaSets: sizes and annotations. */

gboolean
set_edit_apply(Object *object, const void *data)
{
    const SetEdit *edit = data;
    ReplicaSet *set = REPLICA_SET(object);
    gboolean changed = set->replicas != edit->replicas || set->min_ready_s != edit->min_ready_s;

    set->replicas = edit->replicas;
    set->min_ready_s = edit->min_ready_s;
    for (unsigned i = 0; i < edit->n_annotations; i++)
        changed |=
            object_set_annotation(object, edit->annotations[i].key, edit->annotations[i].value);
    return changed;
}

void
set_edit_add(Plan *plan, SetEdit *edit, const char *key, const char *value)
{
    edit->annotations[edit->n_annotations++] = (StringPair){plan_internf(plan, "%s", key), value};
}

void
set_edit_add_sizes(Plan *plan, SetEdit *edit, const Deployment *deployment)
{
    set_edit_add(plan, edit, ANNOTATION_DESIRED, plan_internf(plan, "%d", deployment->replicas));
    set_edit_add(plan, edit, ANNOTATION_MAX,
                 plan_internf(plan, "%" G_GINT64_FORMAT, most_replicas(deployment)));
}

SetEdit *
set_edit_new(Plan *plan, const ReplicaSet *set, unsigned n_annotations)
{
    SetEdit *edit = plan_new_arg(plan, SetEdit);

    edit->replicas = set->replicas;
    edit->min_ready_s = set->min_ready_s;
    edit->annotations = plan_alloc(plan, n_annotations * sizeof(StringPair));
    return edit;
}

void
deployment_plan_size_event(
    Plan *plan, const DeploymentSync *sync, const ReplicaSet *set, int32_t before, int32_t after)
{
    const char *way = before < after ? "up" : "down", *name = object_name(&set->meta);
    const Object *deployment = &sync->deployment->meta;

    gboolean is_new = before < 0;

    before = MAX(before, 0);
    if (before == after)
        return;
    plan_because(plan, "WL-78");
    if (sync->minor >= FROM_FIRST_SINCE)
        plan_event(plan, deployment, "Normal", "ScalingReplicaSet",
                   "Scaled %s replica set %s from %d to %d", way, name, before, after);
    else if (is_new)
        plan_event(plan, deployment, "Normal", "ScalingReplicaSet",
                   "Scaled up replica set %s to %d", name, after);
    else
        plan_event(plan, deployment, "Normal", "ScalingReplicaSet",
                   "Scaled %s replica set %s to %d from %d", way, name, after, before);
}

void
deployment_plan_scales(Plan *plan, const DeploymentSync *sync, const GArray *scales)
{
    g_autofree int *steps = g_new(int, scales->len + 1);

    for (unsigned i = 0; i < scales->len; i++) {
        const SetScale *scale = &g_array_index(scales, SetScale, i);
        int32_t before = scale->set->replicas;
        int earlier = -1;
        for (unsigned k = 0; k < i; k++)
            if (g_array_index(scales, SetScale, k).set == scale->set) {
                before = g_array_index(scales, SetScale, k).replicas;
                earlier = steps[k];
            }
        SetEdit *edit = set_edit_new(plan, scale->set, 2);
        edit->replicas = scale->replicas;
        set_edit_add_sizes(plan, edit, sync->deployment);
        plan_because(plan, "WL-71");
        steps[i] = earlier >= 0
                       ? plan_update_result(plan, earlier, set_edit_apply, edit, PLAN_STOP)
                       : plan_update(plan, &scale->set->meta, set_edit_apply, edit, PLAN_STOP);
        deployment_plan_size_event(plan, sync, scale->set, before, scale->replicas);
    }
}
