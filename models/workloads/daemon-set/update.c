/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/private.h"

/* Which old pods go, and which new ones come beside them, because the template has changed:
 * update.go. */

static void
decide_end(const void *data, Plan *plan)
{
    const DaemonSync *sync = plan_notes(plan);

    if (sync->error == NULL)
        daemon_plan_history(data, plan, sync);
    plan_then(plan, daemon_decide_status);
}

/* The only new and the only old pod of a node that do not go. Returns: whether there are no more of
 * each */
static gboolean
find_by_revision(const DaemonSync *sync,
                 const GPtrArray *pods,
                 const Pod **new_pod,
                 const Pod **old_pod)
{
    *new_pod = *old_pod = NULL;
    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        const Pod **kind = daemon_pod_is_updated(sync, pod) ? new_pod : old_pod;
        if (object_is_deleted(&pod->meta))
            continue;
        if (*kind != NULL)
            return FALSE;
        *kind = pod;
    }
    return TRUE;
}

static int32_t
count_desired(const DaemonSetController *self, const DaemonSync *sync)
{
    InformerIter iter;
    const Object *node;
    int32_t n = 0;

    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        n += daemon_fit(sync->set, sync->tolerations, (const Node *)node).should_run;
    return n;
}

/* What a surging update makes of its nodes. All of these are keys or names. */
typedef struct {
    GPtrArray *needed;     /* nodes whose old pod is not available: they get a new one at once */
    GPtrArray *candidates; /* nodes whose old pod is */
    GPtrArray *unwanted;   /* available old pods of nodes that want none any more */
    int32_t n_surging, n_available;
} Surge;

static void
look_at_surging_node(
    const DaemonSync *sync, const Node *node, const GPtrArray *pods, Surge *surge, SimTime now)
{
    int32_t min_ready_s = sync->set->min_ready_s;
    const Pod *new_pod, *old_pod;

    if (!find_by_revision(sync, pods, &new_pod, &old_pod)) {
        surge->n_surging++; /* left to the part that puts pods on nodes */
        return;
    }
    gboolean has_new = new_pod != NULL && pod_is_available(new_pod, min_ready_s, now);
    gboolean has_old = old_pod != NULL && pod_is_available(old_pod, min_ready_s, now);
    surge->n_available += old_pod != NULL ? has_old : has_new;
    if (old_pod == NULL)
        return;
    if (new_pod != NULL) {
        surge->n_surging += !has_new;
        if (has_new)
            g_ptr_array_add(sync->deletes, (ObjectKey *)old_pod->meta.key);
    } else if (!daemon_fit(sync->set, sync->tolerations, node).should_run) {
        g_ptr_array_add(has_old ? surge->unwanted : sync->deletes, (ObjectKey *)old_pod->meta.key);
    } else {
        g_ptr_array_add(has_old ? surge->candidates : surge->needed, (char *)node->meta.key->name);
    }
}

/* DS-21, the other half of rollingUpdate(): a new pod first, @max of them beside old ones that are
 * available; the old one goes once the new one is available. */
static void
choose_surge(
    const DaemonSetController *self, DaemonSync *sync, int32_t max, int32_t desired, SimTime now)
{
    g_autoptr(GPtrArray) candidates = g_ptr_array_new(), needed = g_ptr_array_new();
    g_autoptr(GPtrArray) unwanted = g_ptr_array_new();
    Surge surge = {needed, candidates, unwanted, 0, 0};
    InformerIter iter;
    const Object *node;

    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL) {
        const GPtrArray *pods = g_hash_table_lookup(sync->on_node, node->key->name);
        if (pods != NULL)
            look_at_surging_node(sync, (const Node *)node, pods, &surge, now);
    }
    for (int32_t i = 0; i < surge.n_available - desired && i < (int32_t)unwanted->len; i++)
        g_ptr_array_add(sync->deletes, unwanted->pdata[i]);
    for (unsigned i = 0; i < needed->len; i++)
        g_ptr_array_add(sync->wanting, needed->pdata[i]);
    for (int32_t i = 0; i < max - surge.n_surging && i < (int32_t)candidates->len; i++)
        g_ptr_array_add(sync->wanting, candidates->pdata[i]);
}

/* DS-20, rollingUpdate() in update.go: old pods that are not available go at once, others as far as
 * maxUnavailable lets them. */
static void
choose_updates(const DaemonSetController *self, DaemonSync *sync, SimTime now)
{
    g_autoptr(GPtrArray) candidates = g_ptr_array_new();
    int32_t desired = count_desired(self, sync), n_unavailable = 0;
    int32_t max = MAX(int_or_percent_of(&sync->set->max_unavailable, desired, TRUE), 1);
    int32_t max_surge = int_or_percent_of(&sync->set->max_surge, desired, TRUE);
    int32_t min_ready_s = sync->set->min_ready_s;
    const Pod *new_pod, *old_pod;
    InformerIter iter;
    const Object *node;

    if (max_surge > 0) {
        choose_surge(self, sync, max_surge, desired, now);
        return;
    }
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL) {
        const GPtrArray *pods = g_hash_table_lookup(sync->on_node, node->key->name);
        if (pods == NULL)
            continue;
        if (!find_by_revision(sync, pods, &new_pod, &old_pod) ||
            (new_pod == NULL) == (old_pod == NULL))
            n_unavailable++; /* left to the part that puts pods on nodes */
        else if (new_pod != NULL)
            n_unavailable += !pod_is_available(new_pod, min_ready_s, now);
        else if (!pod_is_available(old_pod, min_ready_s, now))
            g_ptr_array_add(sync->deletes, (ObjectKey *)old_pod->meta.key);
        else
            g_ptr_array_add(candidates, (ObjectKey *)old_pod->meta.key);
    }
    for (int32_t i = 0; i < max - n_unavailable && i < (int32_t)candidates->len; i++)
        g_ptr_array_add(sync->deletes, candidates->pdata[i]);
}

void
daemon_decide_update(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    DaemonSync *sync = plan_notes(plan);
    const DaemonState *state = g_hash_table_lookup(self->states, plan_key(plan));

    /* DS-22, DS-23 */
    if (sync->error != NULL || state == NULL || sync->set->on_delete ||
        !expectations_are_met(&state->expected, plan_now(plan))) {
        decide_end(data, plan);
        return;
    }
    daemon_look(self, sync);
    daemon_begin_pods(sync);
    choose_updates(self, sync, plan_now(plan));
    daemon_plan_pods(self, plan, sync, sync->set->max_surge.value > 0 ? "DS-21" : "DS-20",
                     decide_end);
}
