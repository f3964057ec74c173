/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods that a sync makes and deletes: syncNodes() of daemon_controller.go. Creations come first, in
 * batches that double; deletions follow at once. At most 250 of each go in a sync (DS-10). The
 * order of nodes and pods is drawn, because Kubernetes walks maps. */
#include "models/workloads/daemon-set/private.h"

/* DS-10: BurstReplicas of daemon_controller.go: of creations, and again of deletions. */
#define BURST_MAX 250

/* One pod that a sync makes, changes or deletes. */
typedef struct {
    PodOrder base;
    const DaemonSync *sync;
    const char *node; /* for which the pod is made; NULL: it is deleted */
} OrdersItem;

static Object *
daemon_pod_new(const DaemonSetController *self, const OrdersItem *item)
{
    const DaemonSet *set = DAEMON_SET_CONST(item->base.owner);
    Object *object =
        template_pod_new(self->head.base.objects, set->template, item->base.pod, &set->meta);
    PodSpec *spec = daemon_pod_spec(set, item->sync->tolerations, item->node);
    PodVolumes *volumes = pod_volumes_ref(POD(object)->volumes);

    pod_set_spec(POD(object), spec, volumes);
    pod_volumes_unref(volumes);
    pod_spec_unref(spec);
    object_set_label(object, strings_intern(self->head.base.strings, LABEL_REVISION),
                     item->sync->hash);
    object_set_label(object, strings_intern(self->head.base.strings, LABEL_TEMPLATE_GENERATION),
                     object_annotation(&set->meta, ANNOTATION_TEMPLATE_GENERATION));
    return object;
}

static void
decide_item(const void *data, Plan *plan)
{
    const OrdersItem *item = plan_operation(plan);

    plan_because(plan, item->sync->rule);
    if (item->base.is_creation)
        plan_create(plan, daemon_pod_new(data, item), PLAN_DECIDE);
    else
        plan_delete(plan, item->base.pod, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
    plan_then(plan, pod_order_decide_after);
}

/* @node: NULL: the pod is deleted */
static void
orders_add_start(const DaemonSetController *self,
                 GArray *starts,
                 const DaemonSync *sync,
                 ObjectKey *pod,
                 const char *node)
{
    OrdersItem item = {
        .base = {&sync->set->meta, pod, node != NULL, TRUE},
        .sync = sync,
        .node = node,
    };

    pod_orders_add(starts, &self->head.base, &item, sizeof item, decide_item);
}

static void
decide_after_deletions(const void *data, Plan *plan)
{
    DaemonSync *sync = plan_notes(plan);

    if (plan_has_failed(plan))
        sync->error = plan_last_message(plan);
    sync->next(data, plan);
}

static void
plan_deletions(const DaemonSetController *self, Plan *plan, DaemonSync *sync)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));

    if (sync->deletes->len == 0) {
        sync->next(self, plan);
        return;
    }
    for (unsigned i = 0; i < sync->deletes->len; i++)
        orders_add_start(self, starts, sync, sync->deletes->pdata[i], NULL);
    plan_because(plan, "WL-4");
    pod_orders_plan_at_once(plan, starts);
    plan_then(plan, decide_after_deletions);
}

static void
decide_after_creations(const void *data, Plan *plan)
{
    DaemonSync *sync = plan_notes(plan);

    if (plan_has_failed(plan))
        sync->error = plan_last_message(plan);
    pod_orders_drop_untried(plan, &sync->orders, sync->set->meta.key);
    plan_deletions(data, plan, sync);
}

static void
plan_creations(const DaemonSetController *self,
               Plan *plan,
               const DaemonState *state,
               DaemonSync *sync)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));
    const Object *set = &sync->set->meta;

    for (unsigned i = 0; i < sync->wanting->len; i++)
        orders_add_start(self, starts, sync,
                         generated_pod_key(&self->head.base, set, state->base.n_names + i),
                         sync->wanting->pdata[i]);
    sync->orders = pod_orders_plan_slowly(plan, starts);
    plan_then(plan, decide_after_creations);
}

void
daemon_plan_pods(const DaemonSetController *self,
                 Plan *plan,
                 DaemonSync *sync,
                 const char *rule,
                 PlanDecide next)
{
    const DaemonState *state = g_hash_table_lookup(self->head.states, sync->set->meta.key);

    g_ptr_array_set_size(sync->wanting, (int)MIN(sync->wanting->len, BURST_MAX));
    g_ptr_array_set_size(sync->deletes, (int)MIN(sync->deletes->len, BURST_MAX));
    sync->next = next;
    sync->rule = rule;
    if (sync->wanting->len + sync->deletes->len == 0 || state == NULL) {
        next(self, plan);
        return;
    }
    plan_own(plan, g_ptr_array_ref(sync->deletes), (GDestroyNotify)g_ptr_array_unref);
    plan_because(plan, "WL-4");
    plan_change(plan, &(PlanChange){.what = DAEMON_ORDERED,
                                    .key = sync->set->meta.key,
                                    .pointer = sync->deletes,
                                    .number = sync->wanting->len});
    if (sync->wanting->len > 0)
        plan_creations(self, plan, state, sync);
    else
        plan_deletions(self, plan, sync);
}

static uint64_t
name_place(const void *name, SimStream stream, uint64_t walk)
{
    return sim_random_bits(stream, sim_hash_string(name), walk);
}

void
daemon_shuffle_nodes(const DaemonSetController *self, GPtrArray *names)
{
    sim_shuffle(names->pdata, names->len, name_place,
                sim_stream(self->head.base.sim, "daemonset-controller/order of nodes"),
                (uint64_t)sim_now(self->head.base.sim));
}

void
daemon_shuffle_pods(const DaemonSetController *self, GPtrArray *pods)
{
    sim_shuffle(pods->pdata, pods->len, object_key_place,
                sim_stream(self->head.base.sim, "daemonset-controller/order of pods"),
                (uint64_t)sim_now(self->head.base.sim));
}

void
daemon_begin_pods(DaemonSync *sync)
{
    g_clear_pointer(&sync->wanting, g_ptr_array_unref);
    g_clear_pointer(&sync->deletes, g_ptr_array_unref);
    sync->wanting = g_ptr_array_new();
    sync->deletes = g_ptr_array_new();
}
