/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/metrics/metrics.h"
#include "models/plan/plan.h"
#include "node-lifecycle.h"
#include "node-taints.h"
#include "sim/ticker.h"

/* pkg/controller/podgc/gc_controller.go: pods whose kubelet will never finish them. */

#define PERIOD (20 * SIM_SECOND)     /* NL-15 */
#define QUARANTINE (40 * SIM_SECOND) /* NL-72: an informer that lags, or a node that comes back */

typedef enum {
    KEEP,
    QUARANTINED, /* its node is not there, for how long is to be seen */
    ORPHANED,
    OUT_OF_SERVICE,
    UNSCHEDULED,
} Verdict;

typedef struct {
    Component base;
    Informer *nodes, *pods;
    GHashTable *over;    /* ObjectKeys of pods that are */
    GHashTable *missing; /* interned node name -> SimTime *: since when */
    SimTicker *loop;
} PodGc;

/* ---- Deleting ---- */

static gboolean
edit_failed(Object *object, const void *arg)
{
    const PodCondition *condition = arg;
    Pod *pod = POD(object);

    if (pod_is_terminal(pod))
        return FALSE;
    pod->phase = POD_FAILED;
    if (condition->reason != NULL)
        pod->disruption = *condition;
    return TRUE;
}

static void
add_failed(const PodGc *self, Plan *plan, const Object *pod, gboolean is_orphan)
{
    PodCondition *condition = plan_new_arg(plan, PodCondition);
    Strings *strings = self->base.strings;

    if (is_orphan)
        *condition = (PodCondition){
            .reason = strings_intern(strings, "DeletionByPodGC"),
            .message = strings_intern(strings, "PodGC: node no longer exists"),
            .changed_at = plan_now(plan),
            .status = CONDITION_TRUE,
        };
    if (!pod_is_terminal(POD_CONST(pod)))
        plan_patch_status(plan, pod->key, edit_failed, condition, PLAN_STOP);
}

static void
decide_delete(const void *data, Plan *plan, const char *rule, gboolean fails, gboolean is_orphan)
{
    const PodGc *self = data;
    const Object *pod = informer_get(self->pods, plan_key(plan));

    if (pod == NULL)
        return;
    plan_because(plan, rule);
    if (fails)
        add_failed(self, plan, pod, is_orphan);
    plan_delete(plan, pod->key, (ObjectUid){0}, 0, PLAN_GONE_IS_FINE);
}

static void
decide_orphan_checked(const void *data, Plan *plan)
{
    if (plan_code(plan, plan_last_step(plan)) == API_NOT_FOUND)
        decide_delete(data, plan, "NL-72", TRUE, TRUE);
}

static void
decide_orphan(const void *data, Plan *plan)
{
    const PodGc *self = data;
    const Object *pod = informer_get(self->pods, plan_key(plan));

    if (pod == NULL)
        return;
    plan_because(plan, "NL-72");
    plan_get(plan, objects_key(self->base.objects, KIND_NODE, NULL, POD_CONST(pod)->node_name),
             PLAN_GO_ON);
    plan_then(plan, decide_orphan_checked);
}

static void
decide_out_of_service(const void *data, Plan *plan)
{
    decide_delete(data, plan, "NL-71", TRUE, FALSE);
}

static void
decide_unscheduled(const void *data, Plan *plan)
{
    decide_delete(data, plan, "NL-73", FALSE, FALSE);
}

static void
decide_over(const void *data, Plan *plan)
{
    decide_delete(data, plan, "NL-70", FALSE, FALSE);
}

/* ---- Pods that are over: beyond a number the oldest go, those that were evicted first ---- */

static int
compare_age(const void *a, const void *b)
{
    const Pod *first = *(const Pod *const *)a, *second = *(const Pod *const *)b;
    gboolean first_evicted = g_strcmp0(first->reason, "Evicted") == 0;
    gboolean second_evicted = g_strcmp0(second->reason, "Evicted") == 0;

    if (first_evicted != second_evicted)
        return first_evicted ? -1 : 1;
    if (first->meta.created_at != second->meta.created_at)
        return first->meta.created_at < second->meta.created_at ? -1 : 1;
    return strcmp(first->meta.key->text, second->meta.key->text);
}

static gboolean
has_too_many(const PodGc *self)
{
    const KubeControllerManagerOptions *options = self->base.options;
    int32_t threshold = options->terminated_pod_gc_threshold;

    return threshold > 0 && g_hash_table_size(self->over) > (unsigned)threshold;
}

/* MET-115: of each pod that it sets out to delete; an orphan's node is asked for once more first.
 */
static void
count(const PodGc *self, const Object *pod, const char *reason)
{
    sim_series_add(metric_series(sim_metrics(self->base.sim), METRIC_POD_GC,
                                 process_job(self->base.process), pod->key->namespace, reason),
                   1);
}

static void
delete_oldest(PodGc *self)
{
    const KubeControllerManagerOptions *options = self->base.options;
    g_autoptr(GPtrArray) over = g_ptr_array_new();
    InformerIter pods;
    const Object *pod;

    informer_iter_init(&pods, self->pods);
    while ((pod = informer_iter_next(&pods)) != NULL)
        if (pod_is_terminal(POD_CONST(pod)) && !object_is_deleted(pod))
            g_ptr_array_add(over, (void *)pod); /* only looked at */
    g_ptr_array_sort(over, compare_age);
    for (unsigned i = 0; i + (unsigned)options->terminated_pod_gc_threshold < over->len; i++) {
        count(self, over->pdata[i], "terminated");
        plan_start(&(PlanStart){.component = &self->base,
                                .decide = decide_over,
                                .key = (ObjectKey *)((const Object *)over->pdata[i])->key});
    }
}

/* ---- Judging ---- */

static gboolean
has_out_of_service(const Node *node)
{
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++)
        if (g_str_equal(node->taints->items[i].key, TAINT_OUT_OF_SERVICE))
            return TRUE;
    return FALSE;
}

static const Node *
node_of(const PodGc *self, const Pod *pod)
{
    const ObjectKey *key = objects_find_key(self->base.objects, KIND_NODE, NULL, pod->node_name);

    return key == NULL ? NULL : (const Node *)informer_get(self->nodes, key);
}

static Verdict
judge(const PodGc *self, const Object *object)
{
    const Pod *pod = POD_CONST(object);

    if (pod->node_name == NULL)
        return object_is_deleted(object) ? UNSCHEDULED : KEEP;
    const Node *node = node_of(self, pod);
    if (node == NULL) {
        const SimTime *since = g_hash_table_lookup(self->missing, pod->node_name);
        return since != NULL && sim_now(self->base.sim) - *since >= QUARANTINE ? ORPHANED
                                                                               : QUARANTINED;
    }
    return object_is_deleted(object) && node->ready.status != CONDITION_TRUE &&
                   has_out_of_service(node)
               ? OUT_OF_SERVICE
               : KEEP;
}

static void
quarantine(PodGc *self, const char *node_name)
{
    SimTime now = sim_now(self->base.sim);

    if (!g_hash_table_contains(self->missing, node_name))
        g_hash_table_insert(self->missing, (void *)node_name, g_memdup2(&now, sizeof now));
}

/* Whether the next pass has to look at it again, too. */
static gboolean
act(PodGc *self, const Object *pod, Verdict verdict)
{
    static const PlanDecide decides[] = {
        [ORPHANED] = decide_orphan,
        [OUT_OF_SERVICE] = decide_out_of_service,
        [UNSCHEDULED] = decide_unscheduled,
    };
    static const char *const reasons[] = {
        [ORPHANED] = "orphaned",
        [OUT_OF_SERVICE] = "out-of-service",
        [UNSCHEDULED] = "unscheduled",
    };

    if (verdict == KEEP)
        return FALSE;
    if (verdict == QUARANTINED) {
        quarantine(self, POD_CONST(pod)->node_name);
        return TRUE;
    }
    count(self, pod, reasons[verdict]);
    plan_start(&(PlanStart){
        .component = &self->base, .decide = decides[verdict], .key = (ObjectKey *)pod->key});
    return TRUE;
}

static gboolean
pass(void *data)
{
    PodGc *self = data;
    InformerIter pods;
    const Object *pod;
    gboolean again = FALSE;

    if (has_too_many(self)) {
        delete_oldest(self);
        again = TRUE;
    }
    informer_iter_init(&pods, self->pods);
    while ((pod = informer_iter_next(&pods)) != NULL)
        again |= act(self, pod, judge(self, pod));
    return again || sim_is_polling(self->base.sim);
}

/* ---- Events ---- */

static void
node_event(void *data, const Object *before, const Object *after)
{
    PodGc *self = data;

    (void)before;
    if (after != NULL)
        g_hash_table_remove(self->missing, object_name(after));
    if (after == NULL || has_out_of_service((const Node *)after))
        sim_ticker_wake(self->loop);
}

static gboolean
was_bound(const Object *before, const Object *after)
{
    return POD_CONST(after)->node_name != NULL &&
           (before == NULL || POD_CONST(before)->node_name == NULL);
}

static void
pod_event(void *data, const Object *before, const Object *after)
{
    PodGc *self = data;

    if (after != NULL && pod_is_terminal(POD_CONST(after)))
        g_hash_table_add(self->over, (void *)after->key);
    else
        g_hash_table_remove(self->over, (after != NULL ? after : before)->key);
    if (has_too_many(self))
        sim_ticker_wake(self->loop);
    if (after == NULL || (!object_is_deleted(after) && !was_bound(before, after)))
        return;
    if (judge(self, after) != KEEP)
        sim_ticker_wake(self->loop);
}

static void
init(void *data)
{
    PodGc *self = data;
    SimStream stream = sim_stream(self->base.sim, "pod-gc");
    SimTime now = sim_now(self->base.sim);
    SimTickerOptions options = {
        .name = "pod-gc/pass",
        .kind = SIM_TICKER_FIXED,
        .period = PERIOD,
        .phase = (SimTime)sim_random_below(stream, 0, (uint64_t)now, PERIOD), /* TIM-56 */
        .order = self->base.order,
        .wait = WAIT_POLL,
        .pass = pass,
        .self = self,
    };

    self->over = g_hash_table_new(g_direct_hash, g_direct_equal);
    self->missing = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    self->nodes = process_informer(self->base.process, KIND_NODE, NULL);
    self->pods = process_informer(self->base.process, KIND_POD, NULL);
    self->loop = sim_ticker_new(self->base.sim, &options);
    informer_add_handler(self->nodes, node_event, self);
    informer_add_handler(self->pods, pod_event, self);
}

static void
clear(void *data)
{
    PodGc *self = data;

    sim_ticker_free(self->loop);
    g_hash_table_unref(self->missing);
    g_hash_table_unref(self->over);
}

const ModelClass pod_gc_class = {
    .name = "pod-garbage-collector",
    .process = &kube_controller_manager_process,
    .size = sizeof(PodGc),
    .client_qps = kube_controller_manager_client_qps,
    .init = init,
    .clear = clear,
};
