/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster.h"
#include "models/kube-controller-manager.h"
#include "models/plan.h"
#include "node-lifecycle.h"
#include "node-taints.h"

/* pkg/controller/tainteviction/taint_eviction.go. */

#define FOR_EVER SIM_TIME_MAX

typedef struct TaintEviction TaintEviction;

/* A pod that tolerates its node's taints for a while. */
typedef struct {
    TaintEviction *owner;
    ObjectKey *pod;
    SimEventId event;
} EvictionTimer;

struct TaintEviction {
    Component base;
    Informer *nodes, *pods;
    InformerIndex *pods_by_node;
    GHashTable *timers; /* ObjectKey of a pod -> EvictionTimer */
    Workers *workers;
};

/* ---- How long a pod may stay: NL-41 ---- */

/* How long the pod tolerates @taint: 0: not at all. */
static SimTime
taint_toleration(const Pod *pod, const Taint *taint)
{
    const Tolerations *tolerations = pod->spec->tolerations;

    for (unsigned i = 0; tolerations != NULL && i < tolerations->n_items; i++) {
        const Toleration *toleration = &tolerations->items[i];
        if (toleration_tolerates(toleration, taint))
            return toleration->seconds < 0 ? FOR_EVER : toleration->seconds * SIM_SECOND;
    }
    return 0;
}

/* The shortest of all NoExecute taints; FOR_EVER: nothing evicts it. */
static SimTime
pod_toleration(const Pod *pod, const Node *node)
{
    SimTime shortest = FOR_EVER;

    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (node->taints->items[i].effect == TAINT_NO_EXECUTE)
            shortest = MIN(shortest, taint_toleration(pod, &node->taints->items[i]));
    return shortest;
}

/* ---- Evicting: NL-42 ---- */

static gboolean
edit_disrupted(Object *object, const void *arg)
{
    const PodCondition *condition = arg;

    if (POD(object)->disruption.status == CONDITION_TRUE)
        return FALSE;
    POD(object)->disruption = *condition;
    return TRUE;
}

static void
decide_evict_read(const void *data, Plan *plan)
{
    const TaintEviction *self = data;
    const Object *pod = plan_object(plan, plan_last_step(plan));

    if (pod == NULL) /* gone meanwhile */
        return;
    PodCondition *condition = plan_new_arg(plan, PodCondition);
    *condition = (PodCondition){
        .reason = strings_intern(self->base.strings, "DeletionByTaintManager"),
        .message =
            strings_intern(self->base.strings, "Taint manager: deleting due to NoExecute taint"),
        .changed_at = plan_now(plan),
        .status = CONDITION_TRUE,
    };
    plan_patch_status(plan, pod->key, edit_disrupted, condition, PLAN_GONE_IS_FINE);
    plan_delete(plan, pod->key, (ObjectUid){0}, -1, PLAN_GONE_IS_FINE);
}

static void
decide_evict(const void *data, Plan *plan)
{
    const TaintEviction *self = data;
    const Object *pod = informer_get(self->pods, plan_key(plan));

    if (pod == NULL || object_is_deleted(pod))
        return;
    plan_because(plan, "NL-42");
    plan_event(plan, pod, "Normal", "TaintManagerEviction", "Marking for deletion Pod %s/%s",
               pod->key->namespace, object_name(pod));
    plan_get(plan, pod->key, PLAN_GONE_IS_FINE);
    plan_then(plan, decide_evict_read);
}

/* ---- Timers ---- */

static void
timer_free(void *data)
{
    EvictionTimer *timer = data;

    sim_cancel(timer->owner->base.sim, timer->event);
    g_free(timer);
}

static void
timer_fire(Sim *sim, void *data)
{
    EvictionTimer *timer = data;
    TaintEviction *self = timer->owner;
    ObjectKey *pod = timer->pod;

    (void)sim;
    timer->event = 0;
    g_hash_table_remove(self->timers, pod);
    workers_add(self->workers, pod);
}

static const SimEventType timer_event = {.name = "taint-eviction/timer", .fire = timer_fire};

/* NL-43. */
static void
cancel_timer(TaintEviction *self, const Object *pod)
{
    if (!g_hash_table_remove(self->timers, pod->key))
        return;
    event_recorder_record(self->base.events, pod, "Normal", "TaintManagerEviction",
                          strings_internf(self->base.strings, "Cancelling deletion of Pod %s/%s",
                                          pod->key->namespace, object_name(pod)));
}

static void
start_timer(TaintEviction *self, const Object *pod, SimTime toleration)
{
    EvictionTimer *timer = g_new(EvictionTimer, 1);

    *timer = (EvictionTimer){self, (ObjectKey *)pod->key, 0};
    timer->event = sim_after(self->base.sim, toleration, &timer_event, timer, WAIT_POLL);
    g_hash_table_insert(self->timers, timer->pod, timer);
}

/* NL-41: a timer that runs is kept, whatever else the pod tolerates by now. */
static void
look_at_pod(TaintEviction *self, const Object *object, const Node *node)
{
    SimTime toleration = pod_toleration(POD_CONST(object), node);

    if (toleration == FOR_EVER) {
        cancel_timer(self, object);
    } else if (toleration == 0) {
        cancel_timer(self, object);
        workers_add(self->workers, object->key);
    } else if (!g_hash_table_contains(self->timers, object->key)) {
        start_timer(self, object, toleration);
    }
}

/* ---- Events: NL-40 ---- */

static gboolean
no_execute_changed(const Object *before, const Object *after)
{
    return before == NULL ||
           !taints_equal(((const Node *)before)->taints, ((const Node *)after)->taints);
}

static void
node_event(void *data, const Object *before, const Object *after)
{
    TaintEviction *self = data;
    unsigned n;

    if (after == NULL || !no_execute_changed(before, after))
        return;
    const Object *const *pods = informer_index_get(self->pods_by_node, object_name(after), &n);
    for (unsigned i = 0; i < n; i++)
        look_at_pod(self, pods[i], (const Node *)after);
}

static void
pod_event(void *data, const Object *before, const Object *after)
{
    TaintEviction *self = data;
    const Pod *pod = POD_CONST(after);

    if (after == NULL) {
        g_hash_table_remove(self->timers, before->key);
        return;
    }
    if (pod->node_name == NULL || (before != NULL && POD_CONST(before)->node_name != NULL))
        return;
    const ObjectKey *key = objects_find_key(self->base.objects, KIND_NODE, NULL, pod->node_name);
    const Object *node = key == NULL ? NULL : informer_get(self->nodes, key);
    if (node != NULL && ((const Node *)node)->taints != NULL)
        look_at_pod(self, after, (const Node *)node);
}

static void
init(void *data)
{
    TaintEviction *self = data;

    self->timers = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, timer_free);
    self->nodes = process_informer(self->base.process, KIND_NODE, NULL);
    self->pods = process_informer(self->base.process, KIND_POD, NULL);
    self->pods_by_node = informer_add_index(self->pods, index_pods_by_node);
    self->workers = workers_new(&self->base, &(WorkersOptions){
                                                 .name = "noexec_taint_pod",
                                                 .n_workers = 8,
                                                 .limit = rate_limit_default,
                                                 .retry = TRUE,
                                                 .sync = decide_evict,
                                             });
    informer_add_handler(self->nodes, node_event, self);
    informer_add_handler(self->pods, pod_event, self);
}

static void
clear(void *data)
{
    TaintEviction *self = data;

    workers_free(self->workers);
    g_hash_table_unref(self->timers);
}

const ModelClass taint_eviction_class = {
    .name = "taint-eviction-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(TaintEviction),
    .event_source = "taint-eviction-controller",
    .event_style = EVENTS_CORE,
    .client_qps = kube_controller_manager_client_qps,
    .init = init,
    .clear = clear,
};
