/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/stateful-set/private.h"
#include "sim/order.h"

/* The view of a StatefulSet in a sync (WL-40, steps 1 to 4). */

gboolean
stateful_is_running_and_ready(const Pod *pod)
{
    return pod->phase == POD_RUNNING && pod_is_ready(pod);
}

gboolean
stateful_is_healthy(const Pod *pod)
{
    return stateful_is_running_and_ready(pod) && !object_is_deleted(&pod->meta);
}

gboolean
stateful_is_available(const StatefulSet *set, const Pod *pod, SimTime now)
{
    return stateful_is_running_and_ready(pod) && pod_is_available(pod, set->min_ready_s, now);
}

static void
view_free(void *data)
{
    SetView *view = data;

    object_unref(&view->set->meta);
    pod_template_unref((PodTemplate *)view->current_template);
    g_array_unref(view->condemned);
    g_free(view->replicas);
    g_free(view);
}

int64_t
stateful_position(const StatefulSet *set, const ObjectKey *pod)
{
    int32_t ordinal = stateful_pod_ordinal(set->meta.key, pod);

    return ordinal < 0 ? -1 : (int64_t)ordinal - set->ordinals_start;
}

static int
compare_ordinals_down(const void *a, const void *b, void *set)
{
    int32_t ordinal_a = stateful_pod_ordinal(set, (*(const Pod *const *)a)->meta.key);
    int32_t ordinal_b = stateful_pod_ordinal(set, (*(const Pod *const *)b)->meta.key);

    return ORDER(ordinal_b, ordinal_a);
}

static gboolean
is_named_by(const Object *owner, const Object *pod)
{
    return stateful_pod_ordinal(owner->key, pod->key) >= 0;
}

void
stateful_claim(const StatefulSetController *self, const StatefulSet *set, Claimed *claimed)
{
    claimed_look(claimed, &(ClaimOptions){
                              .owner = &set->meta,
                              .selector = set->selector,
                              .by_controller = self->head.pods_by_controller,
                              .orphans = self->head.orphans,
                              .is_member = is_named_by,
                          });
}

/* Sorts a pod into the replicas or the condemned. */
static void
place_pod(SetView *view, const Pod *pod)
{
    int64_t position = stateful_position(view->set, pod->meta.key);

    if (position >= 0 && position < view->set->replicas)
        view->replicas[position] = pod;
    else
        g_array_append_val(view->condemned, pod);
}

static void
place_pods(const StatefulSetController *self, Plan *plan, SetView *view)
{
    unsigned n, n_orphans;
    const Object *const *pods =
        informer_index_get(self->head.pods_by_controller, view->set->meta.key, &n);

    for (unsigned i = 0; i < n; i++)
        if (is_named_by(&view->set->meta, pods[i]) &&
            object_is_controlled_by(pods[i], &view->set->meta))
            place_pod(view, POD_CONST(pods[i]));
    informer_index_get(self->head.orphans, view->set->meta.key->namespace, &n_orphans);
    if (n_orphans == 0)
        return;
    /* Pods that this sync has just adopted. */
    Claimed *claimed = g_new0(Claimed, 1);
    plan_own(plan, claimed, claimed_free);
    stateful_claim(self, view->set, claimed);
    for (unsigned i = 0; i < claimed->adopt->len; i++)
        place_pod(view, claimed->adopt->pdata[i]);
}

const SetView *
stateful_look(const StatefulSetController *self, Plan *plan, const StatefulSet *set)
{
    SetView *view = g_new0(SetView, 1);

    view->set = (const StatefulSet *)object_ref(&set->meta);
    view->state = g_hash_table_lookup(self->head.states, set->meta.key);
    view->update_revision = stateful_update_revision(self, set, view->state);
    view->current_revision = stateful_current_revision(self, set, view->update_revision);
    const Object *current = informer_get(
        self->revisions.informer, objects_key(self->head.base.objects, KIND_CONTROLLER_REVISION,
                                              set->meta.key->namespace, view->current_revision));
    const PodTemplate *template = current == NULL ? NULL : CONTROLLER_REVISION(current)->template;
    view->current_template = pod_template_ref(template == NULL ? set->template : template);
    view->n_replicas = set->replicas;
    view->replicas = g_new0(const Pod *, (gsize)MAX(set->replicas, 1));
    view->condemned = g_array_new(FALSE, FALSE, sizeof(const Pod *));
    plan_own(plan, view, view_free);
    place_pods(self, plan, view);
    g_array_sort_with_data(view->condemned, compare_ordinals_down, (void *)set->meta.key);
    for (unsigned i = 0; i < view->condemned->len; i++) {
        const Pod *pod = g_array_index(view->condemned, const Pod *, i);
        if (!stateful_is_healthy(pod))
            view->first_unhealthy = pod; /* the last one found is the lowest */
    }
    return view;
}
