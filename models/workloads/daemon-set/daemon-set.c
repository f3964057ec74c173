/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DaemonSet controller's handlers and its state between syncs: expected pods, and failures by
 * node for their back-off. A change of a node wakes only the sets for which the node fits
 * differently than before (DS-12). A sync adopts pods, sorts them by node and age, and then goes on
 * to manage.c, update.c and status.c in this order. A pod that is over and only held by a finalizer
 * does not hold its node's place (DS-6). */
#include "models/workloads/daemon-set/daemon-set.h"

#include "models/cluster/kube-controller-manager.h"
#include "models/workloads/daemon-set/private.h"
#include "sim/order.h"

/* ---- State between syncs ---- */

static void
set_state_free(void *data)
{
    DaemonState *state = data;

    g_clear_pointer(&state->failures, g_hash_table_unref);
    owner_state_free(state);
}

/* Its state is a DaemonState. */
static void
set_changed(void *data, const Object *before, const Object *after)
{
    GHashTable *states = ((DaemonSetController *)data)->head.states;

    if (after != NULL && g_hash_table_lookup(states, after->key) == NULL)
        g_hash_table_insert(states, (void *)after->key, g_new0(DaemonState, 1));
    owner_changed(data, before, after);
}

static void
daemon_set_sync_clear(void *data)
{
    DaemonSync *sync = data;

    g_clear_pointer(&sync->on_node, g_hash_table_unref);
    g_clear_pointer(&sync->wanting, g_ptr_array_unref);
    g_clear_pointer(&sync->deletes, g_ptr_array_unref);
    g_clear_pointer(&sync->tolerations, tolerations_unref);
    claimed_clear(&sync->claimed);
    object_unref(&sync->set->meta);
}

static gboolean
fits_alike(const DaemonSetController *self, const DaemonSet *set, const Node *a, const Node *b)
{
    Tolerations *tolerations = daemon_tolerations(set, self->head.base.strings);
    DaemonFit before = a == NULL ? DAEMON_UNFIT : daemon_fit(set, tolerations, a);
    DaemonFit after = daemon_fit(set, tolerations, b);

    tolerations_unref(tolerations);
    return before == after;
}

/* DS-12: wakes the sets for which the node fits differently than before. A node that is gone needs
 * no handler: the ends of its pods wake their sets. */
static void
daemon_set_node_changed(void *data, const Object *before, const Object *after)
{
    DaemonSetController *self = data;
    InformerIter iter;
    const Object *set;

    if (after == NULL || informer_count(self->head.owners) == 0 ||
        (before != NULL && string_map_equal(before->labels, after->labels) &&
         taints_equal(((const Node *)before)->taints, ((const Node *)after)->taints)))
        return;
    informer_iter_init(&iter, self->head.owners);
    while ((set = informer_iter_next(&iter)) != NULL)
        if (!fits_alike(self, DAEMON_SET_CONST(set), (const Node *)before, (const Node *)after))
            workers_add(self->head.workers, set->key);
}

static void
note_failure(DaemonState *state, const char *node, int32_t generation, SimTime now)
{
    if (state->failures == NULL)
        state->failures = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    DaemonFailure *failure = g_hash_table_lookup(state->failures, node);
    if (failure == NULL) {
        failure = g_new0(DaemonFailure, 1);
        g_hash_table_insert(state->failures, (void *)node, failure);
    }
    failure->delay = failure->delay == 0 || failure->generation != generation ||
                             now - failure->at > 2 * FAILED_BACKOFF_MAX
                         ? FAILED_BACKOFF_MIN
                         : MIN(2 * failure->delay, FAILED_BACKOFF_MAX);
    failure->generation = generation;
    failure->at = now;
}

static void
daemon_set_apply_change(void *data, const PlanChange *change)
{
    DaemonSetController *self = data;
    DaemonState *state = g_hash_table_lookup(self->head.states, change->key);

    if (state == NULL)
        return; /* the set is gone by now */
    if (pod_orders_apply(&state->base, change, sim_now(self->head.base.sim)))
        return;
    switch ((DaemonChange)change->what) {
    case DAEMON_ORDERED:
        expect_deletions(&state->base.expected, change->pointer, sim_now(self->head.base.sim));
        state->base.expected.n_creations = (int32_t)change->number;
        state->base.n_names += (uint64_t)change->number;
        return;
    case DAEMON_FAILED:
        note_failure(state, change->text, (int32_t)change->number, sim_now(self->head.base.sim));
        return;
    }
    g_assert_not_reached();
}

/* ---- The set's pods ---- */

static int
by_age(const void *a, const void *b)
{
    const Pod *left = *(const Pod *const *)a, *right = *(const Pod *const *)b;

    if ((left->node_name == NULL) != (right->node_name == NULL))
        return left->node_name == NULL ? 1 : -1;
    return ORDER(left->meta.created_at, right->meta.created_at)
               ?: g_strcmp0(object_name(&left->meta), object_name(&right->meta));
}

static void
look_at_pods(DaemonSync *sync)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_copy(sync->claimed.owned, NULL, NULL);

    g_ptr_array_set_free_func(sorted, NULL); /* the array that was copied keeps the references */
    g_ptr_array_sort(sorted, by_age);
    g_clear_pointer(&sync->on_node, g_hash_table_unref);
    sync->on_node = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL,
                                          (GDestroyNotify)g_ptr_array_unref);
    for (unsigned i = 0; i < sorted->len; i++) {
        const Pod *pod = sorted->pdata[i];
        const char *node = daemon_pod_node(pod);
        if (pod_is_terminal(pod) && object_is_deleted(&pod->meta))
            continue; /* DS-6: over and being deleted, but held by a finalizer: its place is free */
        GPtrArray *pods = node == NULL ? NULL : g_hash_table_lookup(sync->on_node, node);
        if (node != NULL && pods == NULL) {
            pods = g_ptr_array_new();
            g_hash_table_insert(sync->on_node, (void *)node, pods);
        }
        if (pods != NULL)
            g_ptr_array_add(pods, sorted->pdata[i]);
    }
}

void
daemon_look(const DaemonSetController *self, DaemonSync *sync)
{
    claimed_look(&sync->claimed, &(ClaimOptions){
                                     .owner = &sync->set->meta,
                                     .selector = sync->set->selector,
                                     .by_controller = self->head.pods_by_controller,
                                     .orphans = self->head.orphans,
                                 });
    look_at_pods(sync);
}

gboolean
daemon_pod_is_updated(const DaemonSync *sync, const Pod *pod)
{
    const char *generation = object_annotation(&sync->set->meta, ANNOTATION_TEMPLATE_GENERATION);

    return g_strcmp0(object_label(&pod->meta, LABEL_REVISION), sync->hash) == 0 ||
           (generation != NULL &&
            g_strcmp0(object_label(&pod->meta, LABEL_TEMPLATE_GENERATION), generation) == 0);
}

/* ---- The sync ---- */

static void
decide_set(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    const Object *set = informer_get(self->head.owners, plan_key(plan));

    if (set == NULL || object_is_deleted(set))
        return;
    DaemonSync *sync = plan_new_notes(plan, DaemonSync, daemon_set_sync_clear);
    sync->set = DAEMON_SET_CONST(object_ref(set));
    sync->tolerations = daemon_tolerations(sync->set, self->head.base.strings);
    daemon_find_revision(self, sync);
    daemon_look(self, sync);
    daemon_plan_revision(self, plan, sync);
    if (!claimed_is_settled(&sync->claimed)) {
        plan_because(plan, "DS-11");
        claimed_plan(&sync->claimed, plan, set);
    }
    plan_then(plan, daemon_decide_nodes);
}

#define SELF DaemonSetController
static const ComponentPart parts[] = {
    HAS_OWNERS(KIND_DAEMON_SET, set_changed, set_state_free),
    HAS_OWNED_PODS(owned_pod_changed),
    HAS_INFORMER(nodes, KIND_NODE, .changed = daemon_set_node_changed),
    HAS_REVISIONS(revisions),
    HAS_WORKERS(head.workers, "daemonset", decide_set, KCM_SYNCS(KIND_DAEMON_SET)),
};

const ModelClass daemon_set_controller_class = {
    KCM_MODEL("daemonset-controller"),
    .event_source = "daemonset-controller",
    PARTS(parts),
    .apply_change = daemon_set_apply_change,
    .rule_tables = RULE_TABLES(&daemon_fit_rules, &daemon_pod_rules, &daemon_update_rules),
};
