/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/private.h"

/* Pods on nodes: which are missing, which are too much. manage() of daemon_controller.go. */

/* DS-8: a failed pod goes, but not too often on one node. Returns: whether it goes now */
static gboolean
plan_failed_pod(const DaemonSetController *self, Plan *plan, const DaemonSync *sync, const Pod *pod)
{
    const DaemonState *state = g_hash_table_lookup(self->states, sync->set->meta.key);
    const char *node = daemon_pod_node(pod);
    const DaemonFailure *failure =
        state == NULL ? NULL : g_hash_table_lookup(state->failures, node);

    if (failure != NULL && failure->generation == sync->set->observed_generation &&
        plan_now(plan) - failure->at < failure->delay) {
        plan_requeue_after(plan, failure->delay - (plan_now(plan) - failure->at));
        return FALSE;
    }
    plan_because(plan, "DS-8");
    plan_change(plan, &(PlanChange){.what = DAEMON_FAILED,
                                    .key = sync->set->meta.key,
                                    .text = node,
                                    .number = sync->set->observed_generation});
    plan_event(plan, &sync->set->meta, "Warning", "FailedDaemonPod",
               "Found failed daemon pod %s/%s on node %s, will try to kill it",
               pod->meta.key->namespace, object_name(&pod->meta), node);
    return TRUE;
}

static gboolean
is_to_go(const DaemonSetController *self, Plan *plan, const DaemonSync *sync, const Pod *pod)
{
    if (pod->phase == POD_FAILED)
        return plan_failed_pod(self, plan, sync, pod);
    plan_because(plan, "DS-7");
    plan_event(plan, &sync->set->meta, "Normal", "SucceededDaemonPod",
               "Found succeeded daemon pod %s/%s on node %s, will try to delete it",
               pod->meta.key->namespace, object_name(&pod->meta), daemon_pod_node(pod));
    return TRUE;
}

static gboolean
may_surge(const DaemonSet *set)
{
    return !set->on_delete && set->max_surge.value > 0;
}

/* DS-5: with a surge two may be there: an old one that is ready, and a new one that is not
 * available yet. */
static void
choose_surplus(DaemonSync *sync, const GPtrArray *pods, SimTime now)
{
    const Pod *new_pod = NULL, *old_pod = NULL;

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        const Pod **kind = daemon_pod_is_updated(sync, pod) ? &new_pod : &old_pod;
        if (!pod_is_active(pod))
            continue;
        if (*kind == NULL)
            *kind = pod;
        else
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
    if (new_pod != NULL && old_pod != NULL &&
        (!pod_is_ready(old_pod) || pod_is_available(new_pod, sync->set->min_ready_s, now)))
        g_ptr_array_add(sync->deletes, (ObjectKey *)old_pod->meta.key);
}

/* DS-4, DS-6: a pod that goes holds its node's place until it is gone. */
static void
choose_on_node(const DaemonSetController *self, Plan *plan, DaemonSync *sync, const Node *node)
{
    DaemonFit fit = daemon_fit(sync->set, sync->tolerations, node);
    const char *name = node->meta.key->name;
    const GPtrArray *pods = g_hash_table_lookup(sync->on_node, name);
    unsigned n_running = 0;

    if (fit.should_run && pods == NULL)
        g_ptr_array_add(sync->wanting, (char *)name);
    for (unsigned i = 0; pods != NULL && i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        if (object_is_deleted(&pod->meta))
            continue;
        if (!fit.should_continue ||
            (pod_is_terminal(pod) ? is_to_go(self, plan, sync, pod)
                                  : n_running++ > 0 && !may_surge(sync->set)))
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
    if (may_surge(sync->set) && fit.should_continue && pods != NULL)
        choose_surplus(sync, pods, plan_now(plan));
}

static gboolean
has_node(const DaemonSetController *self, const char *name)
{
    const ObjectKey *key = objects_find_key(self->base.objects, KIND_NODE, NULL, name);

    return key != NULL && informer_get(self->nodes, key) != NULL;
}

/* DS-9: without a node, and made for one that is gone: nobody else deletes it. */
static void
choose_lost(const DaemonSetController *self, DaemonSync *sync)
{
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        const char *node = daemon_pod_node(pod);
        if (pod->node_name == NULL && !object_is_deleted(&pod->meta) &&
            (node == NULL || !has_node(self, node)))
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
}

void
daemon_decide_nodes(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    DaemonSync *sync = plan_notes(plan);
    const DaemonState *state = g_hash_table_lookup(self->states, plan_key(plan));
    InformerIter iter;
    const Object *node;

    if (state == NULL)
        return;
    sync->is_held = !expectations_are_met(&state->expected, plan_now(plan));
    if (sync->is_held) {
        daemon_decide_status(data, plan);
        return;
    }
    daemon_begin_pods(sync);
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        choose_on_node(self, plan, sync, (const Node *)node);
    choose_lost(self, sync);
    daemon_plan_pods(self, plan, sync, "DS-4", daemon_decide_update);
}
