/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kube-scheduler as a component: its flags, its informers' handlers, and the two loops that flush
 * the queue. A handler brings the cache up to date first and then looks whether the change helps a
 * parked pod. Pods that are terminal count as deleted (VF-50). The pods' informer comes last, so
 * that a pod finds the nodes and volumes known; the phase of the loops is drawn, because the
 * process has been running before t = 0. */
#include "models/cluster/cluster.h"
#include "models/metrics/metrics.h"
#include "preemption.h"
#include "scheduler-private.h"

#define BACKOFF_FLUSH_PERIOD SIM_SECOND              /* SCH-4 */
#define UNSCHEDULABLE_FLUSH_PERIOD (30 * SIM_SECOND) /* SCH-5 */
#define DEFAULT_SHAPE "0:0,100:10"                   /* VB-61 */
#define COUNTS_CAUSES_SINCE 34                       /* SCH-132 */
#define SCHEDULER_NAME "default-scheduler"           /* SCH-40: of its profile */

/* ---- What informers tell ---- */

/* SCH-100, SCH-101: a pod that waits for a node has changed. */
static void
waiting_pod_changed(Scheduler *self, const Object *before, const Pod *pod)
{
    QueuedPod *entry = scheduling_queue_find(self->queue, pod->meta.key);
    ClusterEvent event = cluster_event(EVENT_OWN_POD, before, &pod->meta,
                                       cluster_release(self->base.cluster)->minor);

    if (scheduler_cache_find_pod(self->cache, pod->meta.key, pod->meta.uid) != NULL)
        return;
    if (self->has_hints && self->current != NULL && self->current->queued != NULL &&
        object_uid_equal(self->current->pod->meta.uid, pod->meta.uid)) {
        scheduler_remember(self, &event);
        return;
    }
    if (entry == NULL) {
        scheduler_enter_queue(self, pod);
        return;
    }
    queued_pod_set_pod(entry, pod);
    if (before != NULL && POD_CONST(before)->nominated_node != pod->nominated_node)
        scheduler_cache_nominate(self->cache, pod, pod->nominated_node);
    scheduling_queue_fix(self->queue, entry);
    if (entry->gated && !is_gated(pod)) { /* SCH-44 */
        scheduling_queue_take(self->queue, entry);
        entry->gated = FALSE;
        scheduler_put(self, entry, PLACE_ACTIVE);
        scheduler_count_moved_by(self, entry, &event);
        return;
    }
    if (self->has_hints)
        scheduler_move_if_helped(self, entry, &event);
    else
        scheduler_move_changed_pod(self, entry, before);
}

/* SCH-102 */
static void
leave_queue(Scheduler *self, const Pod *pod)
{
    QueuedPod *entry = scheduling_queue_find(self->queue, pod->meta.key);

    scheduler_cache_nominate(self->cache, pod, NULL);
    if (entry != NULL)
        queued_pod_free(scheduling_queue_take(self->queue, entry));
}

/* Its pod is gone. The attempt that binds it notices at the next poll, or never: it asks for a pod
 * of that name. */
static void
orphan_attempt(Scheduler *self, const Pod *pod)
{
    Attempt *attempt = scheduler_attempt_of(self, &pod->meta);

    if (attempt == NULL)
        return;
    g_ptr_array_add(self->orphans, attempt);
    attempt_wake(attempt);
}

static void
wake_orphans(const Scheduler *self)
{
    for (unsigned i = 0; i < self->orphans->len; i++)
        attempt_wake(self->orphans->pdata[i]);
}

static void
pod_on_node_changed(Scheduler *self, const Pod *was, const Pod *is)
{
    if (is == NULL) {
        orphan_attempt(self, was);
        CachedPod *cached = scheduler_cache_find_pod(self->cache, was->meta.key, was->meta.uid);
        if (cached != NULL)
            scheduler_cache_remove_pod(self->cache, cached);
        scheduler_happened(self, EVENT_POD, &was->meta, NULL);
        return;
    }
    gboolean is_new = was == NULL || was->node_name == NULL;
    const CachedPod *cached = scheduler_cache_find_pod(self->cache, is->meta.key, is->meta.uid);
    scheduler_cache_add_pod(self->cache, is, is->node_name,
                            cached == NULL ? NULL : cached->attempt);
    if (is_new)
        leave_queue(self, is);
    scheduler_happened(self, EVENT_POD, is_new ? NULL : &was->meta, &is->meta);
}

/* SCH-40. A pod that is over is gone for the scheduler (VF-50). */
static void
scheduler_pod_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const Pod *was = living_pod(before), *is = living_pod(after);

    if (before == after || (was == NULL && is == NULL))
        return;
    if ((is != NULL && is->node_name != NULL) || (is == NULL && was->node_name != NULL)) {
        pod_on_node_changed(self, was, is);
    } else if (is == NULL) { /* SCH-102 */
        leave_queue(self, was);
        orphan_attempt(self, was);
    } else if (!g_str_equal(is->spec->scheduler_name, SCHEDULER_NAME)) {
        return;
    } else if (was == NULL) {
        scheduler_enter_queue(self, is);
    } else {
        waiting_pod_changed(self, before, is);
    }
}

static void
wake_users_of_claim(const Scheduler *self, const ObjectKey *claim)
{
    unsigned n = 0;
    const Object *const *pods =
        claim == NULL ? NULL : informer_index_get(self->pods_by_claim, claim, &n);

    for (unsigned i = 0; i < n; i++)
        attempt_wake(scheduler_attempt_of(self, pods[i]));
    wake_orphans(self);
}

static void
scheduler_claim_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const ObjectKey *key = after == NULL ? before->key : after->key;

    if (before == after)
        return;
    assume_cache_observe(self->binder.claims, before, after);
    scheduler_cache_claim_changed(self->cache, key);
    wake_users_of_claim(self, key);
    scheduler_happened(self, EVENT_CLAIM, before, after);
}

static void
scheduler_volume_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;

    if (before == after)
        return;
    assume_cache_observe(self->binder.volumes, before, after);
    scheduler_cache_volume_changed(self->cache, before, after);
    if (before != NULL)
        wake_users_of_claim(self, VOLUME_CONST(before)->claim_ref.claim);
    if (after != NULL && (before == NULL || VOLUME_CONST(after)->claim_ref.claim !=
                                                VOLUME_CONST(before)->claim_ref.claim))
        wake_users_of_claim(self, VOLUME_CONST(after)->claim_ref.claim);
    scheduler_happened(self, EVENT_VOLUME, before, after);
}

static void
scheduler_node_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const ObjectKey *key = after == NULL ? before->key : after->key;

    if (before == after)
        return;
    gboolean matters =
        before == NULL || after == NULL || !string_map_equal(before->labels, after->labels);
    scheduler_cache_set_node(self->cache, key, (const Node *)after);
    for (const CachedPod *pod = matters ? scheduler_cache_find_node(self->cache, key)->pods : NULL;
         pod != NULL; pod = pod->next_on_node)
        attempt_wake(pod->attempt);
    if (matters)
        wake_orphans(self);
    scheduler_happened(self, EVENT_NODE, before, after);
}

static void
csi_node_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;
    const char *name = after == NULL ? before->key->name : after->key->name;

    if (before == after)
        return;
    scheduler_cache_set_csi_node(self->cache,
                                 objects_key(self->base.objects, KIND_NODE, NULL, name),
                                 (const CsiNode *)after);
    scheduler_happened(self, EVENT_CSI_NODE, before, after);
}

static void
attachment_changed(void *data, const Object *before, const Object *after)
{
    Scheduler *self = data;

    scheduler_cache_attachment_changed(self->cache, before, after);
    if (before != after)
        scheduler_happened(self, EVENT_ATTACHMENT, before, after);
}

static void
class_changed(void *data, const Object *before, const Object *after)
{
    if (before != after)
        scheduler_happened(data, EVENT_CLASS, before, after);
}

static void
csi_driver_changed(void *data, const Object *before, const Object *after)
{
    if (before != after)
        scheduler_happened(data, EVENT_CSI_DRIVER, before, after);
}

static void
capacity_changed(void *data, const Object *before, const Object *after)
{
    if (before != after)
        scheduler_happened(data, EVENT_CAPACITY, before, after);
}

/* ---- Start and end ---- */

/* VB-10. An invalid shape counts as the default. */
static void
init_shape(Scheduler *self)
{
    self->shape = g_array_new(FALSE, FALSE, sizeof(ShapePoint));
    if (!release_has_gate(cluster_release(self->base.cluster), "VolumeCapacityPriority"))
        return;
    if (!capacity_shape_parse(options_of(self)->shape, self->shape)) {
        g_array_set_size(self->shape, 0);
        capacity_shape_parse(DEFAULT_SHAPE, self->shape);
    }
    self->view.shape = (const ShapePoint *)(void *)self->shape->data;
    self->view.n_shape = self->shape->len;
}

static void
init_view(Scheduler *self)
{
    const Release *release = cluster_release(self->base.cluster);

    cycle_view_init(&self->view, self->base.process, self->base.sim, self->base.objects);
    self->view.attributes_classes = release_has_gate(release, "VolumeAttributesClass");
    self->view.min_domains = release_has_gate(release, "MinDomainsInPodTopologySpread");
    self->view.scales_limits = release_has_gate(release, "VolumeLimitScaling");
    self->view.release = release;
    self->view.max_pd_vols = options_of(self)->max_pd_vols;
    self->view.minor = release->minor;
    self->view.percentage_of_nodes_to_score = options_of(self)->percentage_of_nodes_to_score;
    self->view.binder = &self->binder;
    init_shape(self);
    self->pods = process_informer(self->base.process, KIND_POD, NULL);
    self->pods_by_claim = informer_add_index(self->pods, index_pods_by_claim);
}

static gboolean
pops_waiting(const Scheduler *self)
{
    return release_has_gate(self->view.release, "SchedulerPopFromBackoffQ");
}

/* SCH-38: where the cluster's clock begins a second is not known: it is drawn. */
static SimTime
window_phase(const Scheduler *self)
{
    SimStream stream = sim_stream(self->base.sim, "kube-scheduler/phase");

    return (SimTime)sim_random_below(stream, 0, 0, SIM_SECOND);
}

static void
init_state(Scheduler *self)
{
    CacheOptions cache_options = {
        .sources = {self->base.objects, self->view.claims, self->view.volumes, self->view.classes,
                    self->view.release},
        .attachments = process_informer(self->base.process, KIND_ATTACHMENT, NULL),
        .strings = self->base.strings,
    };
    QueueOptions queue_options = {
        .initial_backoff = options_of(self)->pod_initial_backoff_s * SIM_SECOND,
        .max_backoff = options_of(self)->pod_max_backoff_s * SIM_SECOND,
        .pops_waiting = pops_waiting(self),
        .counts_causes = self->view.minor >= COUNTS_CAUSES_SINCE,
        .window_phase = window_phase(self),
    };

    self->queue = scheduling_queue_new(&queue_options);
    self->cache = scheduler_cache_new(&cache_options);
    self->binder = (VolumeBinder){
        .claims = assume_cache_new(self->view.claims, "v1.PersistentVolumeClaim"),
        .volumes = assume_cache_new(self->view.volumes, "v1.PersistentVolume"),
        .nodes = process_informer(self->base.process, KIND_NODE, NULL),
        .pods = self->pods,
        .objects = self->base.objects,
    };
    self->view.cache = self->cache;
    self->cycle = cycle_new(&self->view);
    self->in_flight_events = g_array_new(FALSE, TRUE, sizeof(ClusterEvent));
    self->orphans = g_ptr_array_new();
}

/* Both loops of the queue start with the scheduler, so their grids agree. At t = 0 it has been
 * running for some time: the phase is drawn (TIM-52). */
static void
init_tickers(Scheduler *self)
{
    SimStream stream = sim_stream(self->base.sim, "kube-scheduler/phase");
    gboolean drawn = !self->base.started_late;
    SimTime fraction = drawn ? window_phase(self) : 0;
    SimTime seconds =
        drawn ? (SimTime)sim_random_below(stream, 0, 1, UNSCHEDULABLE_FLUSH_PERIOD / SIM_SECOND)
              : 0;

    SimTime cost = process_timing(self->base.process)->loop_pass;
    SimTime to_window = /* a ticker, which does not drift */
        (window_phase(self) - sim_now(self->base.sim) % SIM_SECOND + SIM_SECOND) % SIM_SECOND;

    self->backoff_flush =
        sim_ticker_new(self->base.sim, &(SimTickerOptions){
                                           .name = "scheduler/flush backoffQ",
                                           .period = BACKOFF_FLUSH_PERIOD,
                                           .cost = pops_waiting(self) ? 0 : cost,
                                           .phase = pops_waiting(self) ? to_window : fraction,
                                           .order = self->base.order,
                                           .wait = WAIT_BACKOFF,
                                           .pass = scheduler_flush_backoff,
                                           .self = self,
                                       });
    self->unschedulable_flush =
        sim_ticker_new(self->base.sim, &(SimTickerOptions){
                                           .name = "scheduler/flush unschedulable pods",
                                           .period = UNSCHEDULABLE_FLUSH_PERIOD,
                                           .cost = cost,
                                           .phase = fraction + seconds * SIM_SECOND,
                                           .order = self->base.order + 1,
                                           .wait = WAIT_UNSCHEDULABLE,
                                           .pass = scheduler_flush_unschedulable,
                                           .self = self,
                                       });
}

/* Pods last: all that they need is known by then. */
static void
scheduler_init(void *data)
{
    Scheduler *self = data;
    const Cluster *cluster = self->base.cluster;

    self->has_hints = release_has_gate(cluster_release(cluster), "SchedulerQueueingHints");
    init_view(self);
    init_state(self);
    init_tickers(self);
    informer_add_handler(self->view.classes, class_changed, self);
    informer_add_handler(self->binder.nodes, scheduler_node_changed, self);
    informer_add_handler(process_informer(self->base.process, KIND_CSI_NODE, NULL),
                         csi_node_changed, self);
    informer_add_handler(self->view.csi_drivers, csi_driver_changed, self);
    informer_add_handler(self->view.capacities, capacity_changed, self);
    informer_add_handler(self->view.volumes, scheduler_volume_changed, self);
    informer_add_handler(self->view.claims, scheduler_claim_changed, self);
    informer_add_handler(process_informer(self->base.process, KIND_ATTACHMENT, NULL),
                         attachment_changed, self);
    informer_add_handler(self->pods, scheduler_pod_changed, self);
    sim_metrics_add_collector(sim_metrics(self->base.sim), scheduler_measure_queue, self);
    scheduler_measure_from_start(self);
}

static void
scheduler_clear(void *data)
{
    Scheduler *self = data;

    sim_metrics_remove_collector(sim_metrics(self->base.sim), self);
    sim_cancel(self->base.sim, self->pop_event);
    sim_ticker_free(self->backoff_flush);
    sim_ticker_free(self->unschedulable_flush);
    scheduler_forget_events(self);
    g_array_unref(self->in_flight_events);
    g_ptr_array_unref(self->orphans);
    cycle_free(self->cycle);
    g_array_unref(self->shape);
    assume_cache_free(self->binder.claims);
    assume_cache_free(self->binder.volumes);
    scheduler_cache_free(self->cache);
    scheduling_queue_free(self->queue);
}

/* SCH-13: pods, claims and volumes share one bucket; events have another of the same size. */
static double
scheduler_client_qps(const void *data, unsigned *burst)
{
    const KubeSchedulerOptions *options = data;

    *burst = (unsigned)options->kube_api_burst;
    return options->kube_api_qps;
}

#define FLAG(flag, type, field, value, help)                                                       \
    {                                                                                              \
        flag, type, offsetof(KubeSchedulerOptions, field), value, help                             \
    }
/* Defaults: SCH-1, SCH-2, SCH-3, SCH-7, SCH-13, VB-1. */
static const ProcessFlag flags[] = {
    /* clang-format off */
    FLAG("kube-api-qps",
         FLAG_NUMBER,
         kube_api_qps,
         "50",
         "requests per second of its client, and as many events (SCH-13)"),
    FLAG("kube-api-burst", FLAG_INT, kube_api_burst, "100", "requests at once (SCH-13)"),
    FLAG("percentageOfNodesToScore",
         FLAG_INT,
         percentage_of_nodes_to_score,
         "0",
         "share of nodes that is enough; 0: the larger the cluster, the smaller (SCH-54)"),
    FLAG("podInitialBackoffSeconds",
         FLAG_INT,
         pod_initial_backoff_s,
         "1",
         "wait after the first failure; then doubled (SCH-33)"),
    FLAG("podMaxBackoffSeconds", FLAG_INT, pod_max_backoff_s, "10", "longest wait after a failure (SCH-33)"),
    FLAG("bindTimeoutSeconds",
         FLAG_INT,
         bind_timeout_s,
         "600",
         "longest wait of a pod for the binding of its volumes (VB-1)"),
    FLAG("pod-max-in-unschedulable-pods-duration",
         FLAG_DURATION,
         pod_max_in_unschedulable,
         "5m",
         "time after which a pod without a node is tried again (SCH-36)"),
    FLAG("shape",
         FLAG_STRING,
         shape,
         DEFAULT_SHAPE,
         "curve of VolumeBinding's score: percent of used capacity, and points up to 10 (VB-61)"),
    FLAG("KUBE_MAX_PD_VOLS",
         FLAG_INT,
         max_pd_vols,
         "0",
         "environment: most disks of an in-tree plugin on a node; 0: 39 or 25 of EBS, 16 of GCE and Azure (VF-7)"),
    ELECTION_FLAGS("leader-elect", "leader-elect", KubeSchedulerOptions, election, "2s"),
    {0},
    /* clang-format on */
};
#undef FLAG

/* SCH-14 */
static const ProcessElection election = {
    .offset = offsetof(KubeSchedulerOptions, election),
    .lock = "kube-scheduler",
    .always = TRUE,
    .is_warm = TRUE,
};

static const ProcessClass kube_scheduler_process = {
    .name = "kube-scheduler",
    .scope = PER_CLUSTER,
    .options_size = sizeof(KubeSchedulerOptions),
    .flags = flags,
    .startup = offsetof(Timing, scheduler_start), /* TIM-92 */
    .election = &election,
};

const ModelClass scheduler_class = {
    .name = "kube-scheduler",
    .process = &kube_scheduler_process,
    .size = sizeof(Scheduler),
    .event_source = SCHEDULER_NAME,
    .event_style = EVENTS_NEW,
    .separate_event_client = TRUE,
    .client_qps = scheduler_client_qps,
    .rule_tables = RULE_TABLES(&scheduler_move_rules,
                               &scheduler_failure_rules,
                               &scheduler_preemption_rules,
                               &scheduler_claim_rules,
                               &scheduler_narrowing_rules,
                               &scheduler_static_rules,
                               &scheduler_dynamic_rules),
    .init = scheduler_init,
    .clear = scheduler_clear,
    .apply_change = scheduler_apply_change,
};
