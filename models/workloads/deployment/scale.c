/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/deployment/private.h"

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

/* WL-78. */
static void
plan_scale_event(Plan *plan, const Deployment *deployment, const SetScale *scale, int32_t before)
{
    if (before == scale->replicas)
        return;
    plan_because(plan, "WL-78");
    plan_event(plan, &deployment->meta, "Normal", "ScalingReplicaSet",
               "Scaled %s replica set %s from %d to %d", before < scale->replicas ? "up" : "down",
               object_name(&scale->set->meta), before, scale->replicas);
}

void
deployment_plan_scales(Plan *plan, const Deployment *deployment, const GArray *scales)
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
        set_edit_add_sizes(plan, edit, deployment);
        plan_because(plan, "WL-71");
        steps[i] = earlier >= 0
                       ? plan_update_result(plan, earlier, set_edit_apply, edit, PLAN_STOP)
                       : plan_update(plan, &scale->set->meta, set_edit_apply, edit, PLAN_STOP);
        plan_scale_event(plan, deployment, scale, before);
    }
}
