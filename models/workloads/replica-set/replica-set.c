/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ReplicaSet controller, and the ReplicationController behind the same code (WL-75, WL-120). A
 * sync adopts pods, compares the active ones with spec.replicas, makes or deletes up to 500, and
 * writes the status, which counts the pods as they were at its beginning. It orders nothing while
 * an earlier order is unseen (WL-4). Of surplus pods those go first that are not started, not
 * ready, or crowd a node with pods of sets of the same owner (WL-77). */
#include "models/workloads/replica-set/replica-set.h"

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/workloads/owner-controller.h"
#include "models/workloads/pod-orders.h"
#include "models/workloads/pod-ranks.h"
#include "models/workloads/pods.h"
#include "models/workloads/status-write.h"

#define BURST_MAX 500 /* WL-5, WL-6: creations and deletions of one sync */

typedef struct {
    OwnerController head;
    InformerIndex *sets_by_controller;
} ReplicaSetController;

typedef struct {
    int32_t generation, replicas, fully_labeled, ready, available;
    WorkloadCondition failure;
} ReplicaSetStatus;

/* One sync: the notes of its plan. */
typedef struct {
    StatusWrite write;
    const ReplicaSet *set; /* (owned): as it was at the beginning of the sync */
    Claimed claimed;
    PodOrders orders;
    const char *error; /* interned: the error of a pod's creation or deletion; NULL: none */
    ReplicaSetStatus status;
} Sync;

static void
replica_set_sync_clear(void *data)
{
    Sync *sync = data;

    claimed_clear(&sync->claimed);
    object_unref(&sync->set->meta);
}

static void
replica_set_apply_change(void *data, const PlanChange *change)
{
    ReplicaSetController *self = data;
    OwnerState *state = g_hash_table_lookup(self->head.states, change->key);

    if (state == NULL)
        return; /* the set is gone by now */
    pod_orders_apply(state, change, sim_now(self->head.base.sim));
}

/* ---- Status ---- */

static gboolean
replica_set_edit_status(Object *object, const void *data)
{
    const ReplicaSetStatus *status = data;
    ReplicaSet *set = REPLICA_SET(object);
    g_autoptr(Object) before = object_edit(object);

    set->observed_generation = status->generation;
    set->status_replicas = status->replicas;
    set->fully_labeled_replicas = status->fully_labeled;
    set->ready_replicas = status->ready;
    set->available_replicas = status->available;
    set->replica_failure = status->failure;
    return !object_equal(before, object);
}

static void
tell_failure(const Sync *sync, ReplicaSetStatus *status, SimTime now)
{
    int64_t missing = sync->set->replicas - (int64_t)sync->claimed.owned->len;

    status->failure = sync->set->replica_failure;
    if (sync->error == NULL)
        status->failure = (WorkloadCondition){.changed_at = TIME_UNSET, .updated_at = TIME_UNSET};
    else if (status->failure.status == CONDITION_ABSENT)
        status->failure = (WorkloadCondition){
            .status = CONDITION_TRUE,
            .reason = missing > 0 ? "FailedCreate" : "FailedDelete",
            .message = sync->error,
            .changed_at = whole_seconds(now),
            .updated_at = TIME_UNSET,
        };
}

/* Counts the pods as they were at the beginning of the sync. */
static void
count_status(Sync *sync, SimTime now)
{
    const ReplicaSet *set = sync->set;
    ReplicaSetStatus *status = &sync->status;

    *status = (ReplicaSetStatus){.generation = (int32_t)set->meta.generation,
                                 .replicas = (int32_t)sync->claimed.owned->len};
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        status->fully_labeled += string_map_contains(pod->meta.labels, set->template->labels);
        status->ready += pod_is_ready(pod);
        status->available += pod_is_available(pod, set->min_ready_s, now);
    }
    tell_failure(sync, status, now);
}

static void
decide_end_of_sync(const void *data, Plan *plan)
{
    const Sync *sync = plan_notes(plan);
    const ReplicaSetStatus *status = &sync->status;

    (void)data;
    if (sync->error != NULL)
        plan_fail(plan, "%s", sync->error);
    else if (sync->set->min_ready_s > 0 && status->ready == sync->set->replicas &&
             status->available != sync->set->replicas)
        plan_requeue_after(plan, sync->set->min_ready_s * SIM_SECOND);
}

/* The second write is sent even if it changes nothing, as in Kubernetes. */
static void
plan_status(Plan *plan, Sync *sync)
{
    count_status(sync, plan_now(plan));
    sync->write =
        (StatusWrite){replica_set_edit_status, &sync->status, PLAN_SEND_ALWAYS, decide_end_of_sync};
    plan_because(plan, "WL-75");
    status_write_plan(&sync->write, plan, &sync->set->meta);
}

/* ---- One pod ---- */

static void
decide_order(const void *data, Plan *plan)
{
    const ReplicaSetController *self = data;
    const PodOrder *order = plan_operation(plan);

    if (order->is_creation) {
        plan_because(plan, "WL-75");
        plan_create(plan,
                    template_pod_new(self->head.base.objects,
                                     REPLICA_SET_CONST(order->owner)->template, order->pod,
                                     order->owner),
                    PLAN_DECIDE);
    } else {
        plan_because(plan, "WL-6");
        plan_delete(plan, order->pod, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
    }
    plan_then(plan, pod_order_decide_after);
}

static void
replica_set_add_start(const ReplicaSetController *self,
                      GArray *starts,
                      const Sync *sync,
                      ObjectKey *pod,
                      gboolean is_creation)
{
    PodOrder order = {&sync->set->meta, pod, is_creation, TRUE};

    pod_orders_add(starts, &self->head.base, &order, sizeof order, decide_order);
}

/* ---- The sync (WL-75) ---- */

static void
decide_after_pods(const void *data, Plan *plan)
{
    Sync *sync = plan_notes(plan);

    (void)data;
    sync->error = plan_last_message(plan);
    pod_orders_drop_untried(plan, &sync->orders, sync->set->meta.key);
    plan_status(plan, sync);
}

static void
plan_creations(const ReplicaSetController *self, Plan *plan, Sync *sync, unsigned n)
{
    const OwnerState *state = g_hash_table_lookup(self->head.states, sync->set->meta.key);
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));

    plan_because(plan, "WL-5");
    plan_change(
        plan, &(PlanChange){.what = POD_ORDERS_CREATIONS, .key = sync->set->meta.key, .number = n});
    for (unsigned i = 0; i < n; i++)
        replica_set_add_start(
            self, starts, sync,
            generated_pod_key(&self->head.base, &sync->set->meta, state->n_names + i), TRUE);
    sync->orders = pod_orders_plan_slowly(plan, starts);
    plan_then(plan, decide_after_pods);
}

/* Active pods on the pod's node that belong to any set of the same owner, such as a Deployment. */
static unsigned
count_on_node(const ReplicaSetController *self, const ReplicaSet *set, const Pod *pod)
{
    const OwnerReference *owner = object_controller(&set->meta);
    unsigned n_sets = 0, n_pods, count = 0;
    const Object *const *sets =
        owner == NULL || owner->key == NULL
            ? NULL
            : informer_index_get(self->sets_by_controller, owner->key, &n_sets);
    const Object *own = &set->meta;

    if (pod->node_name == NULL)
        return 0;
    for (unsigned i = 0; i < MAX(n_sets, 1); i++) {
        const Object *related = sets == NULL ? own : sets[i];
        const Object *const *pods =
            informer_index_get(self->head.pods_by_controller, related->key, &n_pods);
        for (unsigned k = 0; k < n_pods; k++)
            count += pod_is_active(POD_CONST(pods[k])) &&
                     POD_CONST(pods[k])->node_name == pod->node_name;
    }
    return count;
}

static void
plan_deletions(const ReplicaSetController *self, Plan *plan, Sync *sync, unsigned n)
{
    unsigned n_pods = sync->claimed.owned->len;
    g_autofree RankedPod *ranked = g_new0(RankedPod, n_pods);
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));
    g_autoptr(GPtrArray) pods = g_ptr_array_new();

    for (unsigned i = 0; i < n_pods; i++) {
        ranked[i].pod = sync->claimed.owned->pdata[i];
        if (n < n_pods) /* if all pods go their order does not matter */
            ranked[i].n_on_node = count_on_node(self, sync->set, ranked[i].pod);
    }
    if (n < n_pods)
        pod_ranks_sort(ranked, n_pods, plan_now(plan), cluster_release(self->head.base.cluster));
    for (unsigned i = 0; i < n; i++) {
        replica_set_add_start(self, starts, sync, (ObjectKey *)ranked[i].pod->meta.key, FALSE);
        g_ptr_array_add(pods, (Pod *)ranked[i].pod);
    }
    plan_because(plan, "WL-6");
    plan_change_pods(plan, POD_ORDERS_DELETIONS, sync->set->meta.key, pods);
    sync->orders = pod_orders_plan_at_once(plan, starts);
    plan_then(plan, decide_after_pods);
}

enum {
    SEEN = 1 << 0, /* all orders were seen (WL-4) */
    DELETED = 1 << 1,
    TOO_FEW = 1 << 2,
    TOO_MANY = 1 << 3,
    MANAGE_FACTS_END = 1 << 4,
};

typedef enum {
    MANAGE_NOTHING,
    MANAGE_CREATE,
    MANAGE_DELETE,
} ReplicaSetManageAction;

static const Rule manage_table[] = {
    {"WL-4",  0,               SEEN,                         MANAGE_NOTHING},
    {"WL-75", SEEN | DELETED,  0,                            MANAGE_NOTHING},
    {"WL-75", SEEN | TOO_FEW,  DELETED,                      MANAGE_CREATE },
    {"WL-75", SEEN | TOO_MANY, DELETED,                      MANAGE_DELETE },
    {"WL-75", SEEN,            DELETED | TOO_FEW | TOO_MANY, MANAGE_NOTHING},
};

static const RuleBound manage_bounds[] = {
    {.given = TOO_FEW, .none = TOO_MANY},
};

static const RuleTable manage_rules =
    RULE_TABLE("pods of ReplicaSets", MANAGE_FACTS_END, manage_table, RULE_BOUNDS(manage_bounds));

/* Adoption is over. */
static void
decide_pods(const void *data, Plan *plan)
{
    const ReplicaSetController *self = data;
    Sync *sync = plan_notes(plan);
    const OwnerState *state = g_hash_table_lookup(self->head.states, plan_key(plan));
    int64_t diff = (int64_t)sync->claimed.owned->len - sync->set->replicas;

    if (state == NULL)
        return;
    unsigned facts = (expectations_are_met(&state->expected, plan_now(plan)) ? SEEN : 0) |
                     (object_is_deleted(&sync->set->meta) ? DELETED : 0) |
                     (diff < 0 ? TOO_FEW : 0) | (diff > 0 ? TOO_MANY : 0);
    switch ((ReplicaSetManageAction)rules_find(&manage_rules, facts, NULL)->then) {
    case MANAGE_NOTHING:
        plan_status(plan, sync);
        return;
    case MANAGE_CREATE:
        plan_creations(self, plan, sync, (unsigned)MIN(-diff, BURST_MAX));
        return;
    case MANAGE_DELETE:
        plan_deletions(self, plan, sync, (unsigned)MIN(diff, BURST_MAX));
        return;
    }
    g_assert_not_reached();
}

static gboolean
is_active(const Object *set, const Object *pod)
{
    (void)set;
    return pod_is_active(POD_CONST(pod));
}

static void
decide_set(const void *data, Plan *plan)
{
    const ReplicaSetController *self = data;
    const Object *set = informer_get(self->head.owners, plan_key(plan));

    if (set == NULL)
        return;
    Sync *sync = plan_new_notes(plan, Sync, replica_set_sync_clear);
    sync->set = REPLICA_SET_CONST(object_ref(set));
    claimed_look(&sync->claimed, &(ClaimOptions){
                                     .owner = set,
                                     .selector = sync->set->selector,
                                     .by_controller = self->head.pods_by_controller,
                                     .orphans = self->head.orphans,
                                     .is_member = is_active,
                                 });
    if (claimed_is_settled(&sync->claimed)) {
        decide_pods(data, plan);
        return;
    }
    plan_because(plan, "WL-75");
    claimed_plan(&sync->claimed, plan, set);
    plan_then(plan, decide_pods);
}

#define SELF ReplicaSetController
#define PARTS_OF(kind, queue)                                                                      \
    HAS_OWNERS(kind, owner_changed, owner_state_free), HAS_OWNED_PODS(owned_pod_changed),          \
        HAS_INFORMER(head.owners, kind, WITH_INDEX(sets_by_controller, index_by_controller)),      \
        HAS_WORKERS(head.workers, queue, decide_set, KCM_SYNCS(kind))

static const ComponentPart set_parts[] = {PARTS_OF(KIND_REPLICA_SET, "replicaset")};

/* WL-120: in Kubernetes the ReplicaSet controller, too, behind an adapter. */
static const ComponentPart controller_parts[] = {
    PARTS_OF(KIND_REPLICATION_CONTROLLER, "replicationmanager")};

const ModelClass replica_set_controller_class = {
    KCM_MODEL("replicaset-controller"),
    .event_source = "replicaset-controller",
    PARTS(set_parts),
    .apply_change = replica_set_apply_change,
    /* It decides for both. */
    .rule_tables = RULE_TABLES(&manage_rules),
};

const ModelClass replication_controller_class = {
    KCM_MODEL("replication-controller"),
    .event_source = "replication-controller",
    PARTS(controller_parts),
    .apply_change = replica_set_apply_change,
};
