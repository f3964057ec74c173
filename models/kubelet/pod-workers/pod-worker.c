/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pod's way through sync, terminating and terminated: podWorkers in Kubernetes'
 * pkg/kubelet/pod_workers.go. One worker for each pod (uid) has one step under way at most; what
 * comes meanwhile is wants_step, and the next step begins once the runtime was listed after the
 * end of the last (KVM-84). Tables decide what follows the end of a step, a new pod and a changed
 * pod. The steps themselves are in pod-sync.c.
 *
 * Invariant: a worker lives until its step is WORKER_FINISHED, its object is gone, its last status
 * is written, and no mount of it is in desired or actual state. Periodic syncs that would find
 * nothing new are left out (KVM-8); polling has them, and tests compare both. */
#include "pod-worker.h"

#include "models/kubelet/eviction/eviction.h"
#include "models/kubelet/runtime/runtime.h"
#include "models/kubelet/shutdown.h"
#include "models/kubelet/status/pod-status.h"
#include "models/kubelet/volume-manager/operation-executor.h"

#define ERROR_BACKOFF (10 * SIM_SECOND) /* KVM-8, + U[0,0.5] of it */
#define SHARED_SINCE 35                 /* KVM-106 */

static void worker_go(PodWorker *self);

/* ---- From step to step ---- */

void
pod_worker_apply(const PlanChange *change)
{
    PodWorker *worker = (PodWorker *)change->pointer;

    switch ((unsigned)change->what) {
    case CHANGE_REPROCESS:
        worker->waits = TRUE;
        volume_manager_reprocess(worker);
        return;
    case CHANGE_WAITED:
        worker->waits = FALSE;
        return;
    case CHANGE_CLEAR_ERRORS:
        volume_manager_clear_errors(worker);
        return;
    case CHANGE_PULLING:
        pod_start_pulling(worker->kubelet, change->text, change->number);
        return;
    case CHANGE_PULLED:
        cluster_tell_pulled(worker->kubelet->base.cluster, worker->pod);
        return;
    case CHANGE_SANDBOX:
        worker->has_sandbox = TRUE;
        pod_status_changed(worker);
        return;
    case CHANGE_REDEFINED:
        pod_run_redefine(worker);
        return;
    case CHANGE_STARTED:
        pod_start_remember_images(worker);
        worker->running = worker->was_running = TRUE;
        pod_run_back_off(worker);
        pod_run_started(worker);
        eviction_pod_changed(worker);
        cluster_tell_containers(worker->kubelet->base.cluster, worker->pod, TRUE);
        worker->wants_step = TRUE; /* the next relist sees a new container, and that makes a sync */
        return;
    case CHANGE_ENDED:
        worker->over = TRUE;
        return;
    case CHANGE_REJECTED:
        worker->over = worker->rejected = TRUE;
        worker->reason =
            strings_intern(worker->kubelet->base.strings, "VolumeAttachmentLimitExceeded");
        worker->message = change->text;
        return;
    case CHANGE_STOPPED:
        if (worker->running)
            pod_run_killed(worker);
        cluster_tell_containers(worker->kubelet->base.cluster, worker->pod, FALSE);
        worker->running = worker->has_sandbox = FALSE;
        worker->stopped = TRUE;
        eviction_pod_changed(worker);
        pod_status_changed(worker);
        volume_manager_remove(worker);
        return;
    case CHANGE_FINISHED:
        worker->step = WORKER_FINISHED;
        eviction_pod_changed(worker);
        pod_status_changed(worker);
        shutdown_progressed(worker->kubelet);
        return;
    default:
        pod_status_changed(worker);
        return;
    }
}

static void
retry_fired(Sim *sim, void *data)
{
    PodWorker *self = data;

    (void)sim;
    self->retry = 0;
    self->wants_step = TRUE;
    worker_go(self);
}

static const SimEventType retry_event = {
    .name = "kubelet/pod is synced again",
    .fire = retry_fired,
};

/* KVM-21. */
static void
worker_back_off(PodWorker *self)
{
    Sim *sim = self->kubelet->base.sim;
    SimStream stream = sim_stream(sim, "kubelet/sync back-off");
    uint64_t jitter =
        sim_random_below(stream, self->key->hash, self->n_retries++, ERROR_BACKOFF / 2);

    SimTime at = kubelet_sync_tick(self->kubelet, sim_now(sim) + ERROR_BACKOFF + (SimTime)jitter);
    self->retry =
        sim_at_detail(sim, at, &retry_event, self, WAIT_BACKOFF, self->kubelet->base.label);
}

/* KVM-8: a real kubelet syncs a running pod every 60..90 s. The sync reads claims and volumes and
 * finds nothing new, so the model leaves it out, with its reads (2 tokens per volume, at most 4/s
 * of the client's 50/s). Two kinds of pods keep it: those with a volume that each sync publishes
 * anew (KVM-52), and those with a volume that has grown. */
static gboolean
needs_periodic_sync(const PodWorker *self)
{
    for (unsigned i = 0; i < self->n_mounts; i++) {
        const NodeVolume *volume = self->mounts[i].volume;
        if (volume != NULL &&
            (node_volume_requires_remount(volume) || volume_expansion_needs_sync(volume)))
            return TRUE;
    }
    return FALSE;
}

/* TIM-58: 60 s * U[1,1.5] after the last sync, which may be a sync that was left out. */
static void
worker_sync_later(PodWorker *self)
{
    Sim *sim = self->kubelet->base.sim;
    SimTime period = MAX(self->kubelet->options->sync_frequency, 1);
    SimStream stream = sim_stream(sim, "kubelet/sync period");
    SimTime at = self->synced_at == TIME_UNSET ? self->seen_at : self->synced_at;

    if (self->synced_at == TIME_UNSET) /* it was adopted: some sync was within this time */
        at -= (SimTime)sim_random_below(sim_stream(sim, "kubelet/sync phase"), self->key->hash, 0,
                                        (uint64_t)period);
    do {
        uint64_t jitter = sim_random_below(stream, self->key->hash, self->n_retries++,
                                           (uint64_t)MAX(period / 2, 1));
        at = kubelet_sync_tick(self->kubelet, at + period + (SimTime)jitter);
    } while (at <= sim_now(sim));
    self->retry = sim_at_detail(sim, at, &retry_event, self, WAIT_POLL, self->kubelet->base.label);
}

static void
worker_sync_in_time(PodWorker *self)
{
    if (self->step == WORKER_SYNC && self->plan == NULL && self->retry == 0 && !self->wants_step)
        worker_sync_later(self);
}

typedef enum {
    DONE = 1 << 0, /* otherwise the step has failed, or was cancelled */
    IN_SYNC = 1 << 1,
    IN_TERMINATING = 1 << 2,
    OVER = 1 << 3,   /* the containers have ended for good, and a sync has seen it (KVM-88) */
    WANTED = 1 << 4, /* something new came meanwhile */
    PERIODIC = 1 << 5,
    END_FACTS_END = 1 << 6,
} EndFacts;

typedef enum {
    GO_ON, /* with what is wanted; if nothing is, wait */
    TERMINATE,
    CLEAN_UP,
    BACK_OFF,
    SYNC_LATER,
} EndAction;

/* completeWork() in pod_workers.go. */
static const Rule end_table[] = {
    {"KVM-88",   DONE | IN_SYNC | OVER,     0,                        TERMINATE },
    {"KVM-84.1", DONE | IN_TERMINATING,     0,                        CLEAN_UP  },
    {"KVM-21.1", 0,                         DONE | WANTED,            BACK_OFF  },
    {"KVM-21.2", WANTED,                    DONE,                     GO_ON     },
    {"KVM-8.1",  DONE | IN_SYNC | PERIODIC, OVER | WANTED,            SYNC_LATER},
    {"KVM-8.2",  DONE | IN_SYNC,            OVER | WANTED | PERIODIC, GO_ON     },
    {"KVM-84.2", DONE | IN_SYNC | WANTED,   OVER,                     GO_ON     },
    {"KVM-84.3", DONE,                      IN_SYNC | IN_TERMINATING, GO_ON     },
};

static const RuleBound end_bounds[] = {
    {.given = IN_SYNC, .none = IN_TERMINATING},
};

const RuleTable kubelet_step_rules = RULE_TABLE(
    "kubelet: the end of a pod's step", END_FACTS_END, end_table, RULE_BOUNDS(end_bounds));

/* PERIODIC counts only at the end of a successful sync, so it is asked for only there: the syncs of
 * waiting pods fail again and again. */
static unsigned
end_facts(const PodWorker *self, PlanEnd end)
{
    unsigned facts = 0;

    facts |= end == PLAN_DONE ? DONE : 0;
    facts |= self->step == WORKER_SYNC ? IN_SYNC : 0;
    facts |= self->step == WORKER_TERMINATING ? IN_TERMINATING : 0;
    facts |= self->over ? OVER : 0;
    facts |= self->wants_step ? WANTED : 0;
    facts |= facts == (DONE | IN_SYNC) && needs_periodic_sync(self) ? PERIODIC : 0;
    return facts;
}

static void
want_step(PodWorker *self, WorkerStep step)
{
    self->step = step;
    self->wants_step = TRUE;
}

static void
step_is_over(PodWorker *self)
{
    self->plan = NULL;
    self->waits = FALSE;
    self->synced_at = sim_now(self->kubelet->base.sim);
}

void
pod_worker_fail(PodWorker *self)
{
    step_is_over(self);
    worker_back_off(self);
}

static void
step_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    PodWorker *self = plan_done_operation(plan);
    const Rule *rule = rules_find(&kubelet_step_rules, end_facts(self, end), NULL);

    (void)data;
    (void)message;
    step_is_over(self);
    switch ((EndAction)rule->then) {
    case GO_ON:
        break;
    case TERMINATE:
        want_step(self, WORKER_TERMINATING);
        break;
    case CLEAN_UP:
        want_step(self, WORKER_TERMINATED);
        break;
    case BACK_OFF:
        worker_back_off(self);
        break;
    case SYNC_LATER:
        worker_sync_later(self);
        break;
    }
    worker_go(self);
}

static PlanDecide
worker_decide(const PodWorker *self)
{
    switch (self->step) {
    case WORKER_SYNC:
        return pod_sync_decide;
    case WORKER_TERMINATING:
        return pod_sync_decide_terminating;
    case WORKER_TERMINATED:
        return pod_sync_decide_terminated;
    case WORKER_FINISHED:
        return NULL;
    }
    g_assert_not_reached();
}

static void
worker_start(PodWorker *self)
{
    PlanStart start = {
        .component = &self->kubelet->base,
        .decide = worker_decide(self),
        .key = self->key,
        .operation = self,
        .done = step_done,
        .timed_out = pod_wait_timed_out,
    };

    self->wants_step = FALSE;
    sim_cancel(self->kubelet->base.sim, self->retry);
    self->retry = 0;
    if (start.decide == NULL || pod_wait_again(self))
        return;
    /* A step may be over before this returns, and the next one begun: then self->plan is the next
     * one's. */
    Plan *plan = plan_start(&start);
    if (plan != NULL)
        self->plan = plan;
}

/* Begins the step that is wanted, now or at the next relist. */
static void
worker_go(PodWorker *self)
{
    if (!self->wants_step || self->plan != NULL || self->awaits_relist)
        return;
    if (relist_is_newer(self))
        worker_start(self);
    else
        relist_await(self, TRUE);
}

/* KVM-85: the next relist finds it. If a step is under way, the step after it comes after a relist
 * anyway. */
static void
worker_container_ended(PodWorker *self)
{
    if (self->step != WORKER_SYNC)
        return;
    self->wants_step = TRUE;
    if (self->plan == NULL && !self->awaits_relist)
        relist_await(self, FALSE);
}

static void
worker_terminate(PodWorker *self)
{
    if (self->step != WORKER_SYNC)
        return;
    self->step = WORKER_TERMINATING;
    self->wants_step = TRUE;
    sim_cancel(self->kubelet->base.sim, self->retry);
    self->retry = 0;
    if (self->plan == NULL)
        worker_go(self);
    else if (!self->waits || kubelet_release(self->kubelet)->minor >= WAIT_ENDS_SINCE)
        plan_cancel(self->plan); /* goes on in step_done() */
}

static void
worker_shut_down(PodWorker *self)
{
    self->shut_down = TRUE;
    worker_terminate(self);
}

static void
worker_evict(PodWorker *self, const char *message, gboolean disrupted)
{
    self->evicted = TRUE;
    self->disrupted = disrupted;
    self->evicted_at = sim_now(self->kubelet->base.sim);
    self->reason = strings_intern(self->kubelet->base.strings, "Evicted");
    self->message = message;
    worker_terminate(self);
}

/* ---- Pods come, change and go ---- */

/* KVM-106: of volumes with the same claim the last one counts. */
static gboolean
is_shadowed(const PodVolumes *volumes, unsigned item)
{
    const char *claim = volumes->items[item].claim_name;

    for (unsigned i = item + 1; claim != NULL && i < volumes->n_items; i++)
        if (volumes->items[i].mounted && g_strcmp0(volumes->items[i].claim_name, claim) == 0)
            return TRUE;
    return FALSE;
}

static gboolean
pod_worker_is_used(const PodVolumes *volumes, unsigned item)
{
    return volumes->items[item].mounted && !is_shadowed(volumes, item);
}

static unsigned
count_used_volumes(const PodVolumes *volumes)
{
    unsigned n = 0;

    for (unsigned i = 0; volumes != NULL && i < volumes->n_items + volumes->n_inline; i++)
        n += pod_worker_is_used(volumes, i) ? 1 : 0;
    return n;
}

static const char *
find_shadowed(const Kubelet *kubelet, const PodVolumes *volumes)
{
    if (kubelet_release(kubelet)->minor >= SHARED_SINCE)
        return NULL;
    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (volumes->items[i].mounted && is_shadowed(volumes, i))
            return volumes->items[i].name;
    return NULL;
}

/* KVM-19: volumes that no container uses are never mounted. */
static PodWorker *
worker_new(Kubelet *kubelet, const Object *pod)
{
    PodVolumes *volumes = POD_CONST(pod)->volumes;
    unsigned n_mounts = count_used_volumes(volumes);
    PodWorker *self = g_malloc0(sizeof(PodWorker) + n_mounts * sizeof(PodMount));

    volume_manager_ensure(kubelet);
    pod_runtime_ensure(kubelet);
    self->kubelet = kubelet;
    self->report_link.data = self;
    self->key = objects_key_at(kubelet->base.objects, KIND_POD, pod->key->slot);
    self->uid = pod->uid;
    self->pod = object_ref(pod);
    self->volumes = volumes == NULL ? NULL : pod_volumes_ref(volumes);
    self->synced_at = TIME_UNSET;
    self->seen_at = sim_now(kubelet->base.sim);
    self->n_mounts = n_mounts;
    self->shadowed = find_shadowed(kubelet, volumes);
    for (unsigned i = 0, at = 0; at < n_mounts; i++) {
        if (!pod_worker_is_used(volumes, i))
            continue;
        self->mounts[at].worker = self;
        self->mounts[at++].spec = &volumes->items[i];
    }
    g_ptr_array_add(kubelet->workers, self);
    pod_run_prepare(self);
    eviction_pod_told(self);
    volume_stats_pod_added(kubelet);
    return self;
}

void
pod_worker_free(void *worker)
{
    PodWorker *self = worker;

    sim_cancel(self->kubelet->base.sim, self->retry);
    plan_drop_aside(self->aside);
    pod_run_free(self->run);
    eviction_free_use(self->use);
    volume_stats_free(self->stats);
    volume_manager_clear_errors(self);
    if (self->volumes != NULL)
        pod_volumes_unref(self->volumes);
    object_unref(self->pod);
    g_free(self);
}

static void
worker_maybe_free(PodWorker *self)
{
    if (self->step != WORKER_FINISHED || !self->gone || self->report_queued || self->reporting ||
        self->plan != NULL)
        return;
    for (unsigned i = 0; i < self->n_mounts; i++) {
        if (self->mounts[i].volume != NULL)
            return;
    }
    volume_manager_forget(self);
    g_ptr_array_remove(self->kubelet->workers, self); /* which frees it */
}

/* The kubelet starts and finds a pod Running: its containers run. With the cluster's start its
 * volumes are mounted. After a restart a volume with a directory is perhaps mounted, so the kubelet
 * stages and publishes it once more (KVM-61, KVM-63). */
static void
worker_adopt(PodWorker *self)
{
    gboolean restarted = self->kubelet->base.started_late;

    self->running = self->was_running = TRUE;
    pod_start_remember_images(self);
    pod_run_adopted(self);
    eviction_pod_changed(self);
    cluster_tell_containers(self->kubelet->base.cluster, self->pod, TRUE);
    /* The node controller may have marked the pod while the node was silent (NL-23): then the
     * kubelet reports again. */
    self->view = restarted && !pod_is_ready(POD_CONST(self->pod)) ? VIEW_NONE : VIEW_RUNNING;
    self->viewed_at = self->seen_at;
    self->wants_step = restarted;
    if (restarted)
        return;
    volume_manager_adopt(self);
    if (needs_periodic_sync(self))
        worker_sync_later(self);
}

/* A pod that was stopped before the kubelet started. The kubelet unpublishes the volumes that still
 * have a directory, and then the object goes if it is deleted (KVM-49, KVM-61). With the cluster's
 * start it unpublishes all of its volumes. */
static void
worker_adopt_stopped(PodWorker *self)
{
    self->was_running = self->stopped = TRUE;
    if (!self->kubelet->base.started_late)
        volume_manager_adopt(self);
    self->step = WORKER_TERMINATED;
    self->wants_step = TRUE;
    volume_manager_remove(self);
    worker_go(self);
}

PodWorker *
pod_worker_rebuild(Kubelet *self, const Object *pod)
{
    PodWorker *worker = worker_new(self, pod);

    worker->rebuilt = TRUE;
    return worker;
}

void
pod_worker_sources_ready(PodWorker *self)
{
    if (!self->rebuilt)
        return;
    self->rebuilt = FALSE;
    self->gone = self->stopped = TRUE;
    self->step = WORKER_FINISHED;
}

static void
replace_pod(PodWorker *worker, const Object *pod)
{
    object_unref(worker->pod);
    worker->pod = object_ref(pod);
    eviction_pod_told(worker);
}

static gboolean
containers_are_there(const Kubelet *self)
{
    return !self->base.started_late ||
           (self->options->containers_outlive_kubelet && !self->base.rebooted); /* KVM-68 */
}

/* KVM-68: a pod that ran before the machine lost its power starts again. With the policy Never it
 * has failed (KVM-86). */
static void
begin_anew(PodWorker *worker)
{
    const Pod *pod = POD_CONST(worker->pod);

    if (pod->phase == POD_RUNNING)
        cluster_tell_containers(worker->kubelet->base.cluster, worker->pod, FALSE);
    if (pod->phase == POD_RUNNING &&
        (worker->run != NULL || g_str_equal(pod->spec->restart_policy, "Never")))
        pod_run_lost(worker);
    /* KVM-93: its sandbox is there, and that comes after the volumes. */
    if (!worker->kubelet->base.started_late && pod->ready_to_start.status == CONDITION_TRUE)
        volume_manager_adopt(worker);
    worker->wants_step = TRUE;
}

typedef enum {
    TERMINAL = 1 << 0, /* its phase */
    DELETED = 1 << 1,
    FOUND = 1 << 2,         /* directories of it are on the disk */
    SHUTTING_DOWN = 1 << 3, /* the machine */
    RUNS = 1 << 4,          /* its phase is Running, and its containers are there */
    SYNCING = 1 << 5,       /* the worker has not begun to end it */
    EDITED = 1 << 6,        /* its labels, its annotations or its spec have changed */
    REFUSED = 1 << 7,       /* the node is under a pressure that the pod may not come under */
    POD_FACTS_END = 1 << 8,
} PodFacts;

typedef enum {
    IGNORE,
    ADOPT_STOPPED,
    REJECT,
    REFUSE,
    ADOPT,
    BEGIN,
} NewPodAction;

/* HandlePodAdditions() in kubelet.go. */
static const Rule new_pod_table[] = {
    {"KVM-61.1", TERMINAL,      FOUND | DELETED,                           IGNORE,        0              },
    {"KVM-61.2", TERMINAL,      0,                                         ADOPT_STOPPED, FOUND | DELETED},
    {"NL-91",    SHUTTING_DOWN, TERMINAL,                                  REJECT,        0              },
    {"KVM-61.3", RUNS,          TERMINAL | SHUTTING_DOWN,                  ADOPT,         0              },
    {"EVM-40",   REFUSED,       TERMINAL | SHUTTING_DOWN | RUNS,           REFUSE,        0              },
    {"KVM-18",   0,             TERMINAL | SHUTTING_DOWN | RUNS | REFUSED, BEGIN,         0              },
};

const RuleTable kubelet_new_pod_rules =
    RULE_TABLE("kubelet: pods that come", POD_FACTS_END, new_pod_table);

typedef enum {
    LEAVE,
    END,
    SYNC,
} ChangedPodAction;

/* UpdatePod() in pod_workers.go. A change of status alone makes no sync; the kubelet wrote it. */
static const Rule changed_pod_table[] = {
    {"WL-92",    DELETED,            0,                           END  },
    {"KVM-49",   TERMINAL | SYNCING, DELETED,                     END  },
    {"KVM-84.4", SYNCING | EDITED,   DELETED | TERMINAL,          SYNC },
    {"KVM-84.5", SYNCING,            DELETED | TERMINAL | EDITED, LEAVE},
    {"KVM-84.6", 0,                  DELETED | SYNCING,           LEAVE},
};

const RuleTable kubelet_changed_pod_rules =
    RULE_TABLE("kubelet: pods that change", POD_FACTS_END, changed_pod_table);

static unsigned
pod_facts(const Kubelet *self, const PodWorker *worker, const Object *before, const Object *pod)
{
    PodPhase phase = POD_CONST(pod)->phase;
    gboolean is_edited =
        before != NULL &&
        (!string_map_equal(before->labels, pod->labels) ||
         !string_map_equal(before->annotations, pod->annotations) ||
         (POD_CONST(before)->spec != POD_CONST(pod)->spec && !object_spec_equal(before, pod)));
    unsigned facts = 0;

    facts |= pod_is_terminal(POD_CONST(pod)) ? TERMINAL : 0;
    facts |= object_is_deleted(pod) ? DELETED : 0;
    facts |= worker != NULL && worker->rebuilt ? FOUND : 0;
    facts |= self->shutdown->shutting_down ? SHUTTING_DOWN : 0;
    facts |= phase == POD_RUNNING && containers_are_there(self) ? RUNS : 0;
    facts |= worker != NULL && worker->step == WORKER_SYNC ? SYNCING : 0;
    facts |= is_edited ? EDITED : 0;
    facts |= before == NULL && eviction_refusal(self, pod) != NULL ? REFUSED : 0;
    return facts;
}

/* @worker: of its directories; NULL: there are none. Returns: the pod's */
static PodWorker *
take_pod(Kubelet *self, PodWorker *worker, const Object *pod)
{
    if (worker == NULL)
        return worker_new(self, pod);
    worker->rebuilt = FALSE;
    replace_pod(worker, pod);
    return worker;
}

static void
on_new_pod(Kubelet *self, PodWorker *found, const Object *pod)
{
    const Rule *rule = rules_find(&kubelet_new_pod_rules, pod_facts(self, found, NULL, pod), NULL);
    PodWorker *worker = rule->then == IGNORE ? NULL : take_pod(self, found, pod);

    switch ((NewPodAction)rule->then) {
    case IGNORE:
        return;
    case ADOPT_STOPPED:
        worker_adopt_stopped(worker);
        return;
    case REJECT:
        worker->rejected = TRUE;
        worker_terminate(worker);
        return;
    case REFUSE:
        worker->rejected = TRUE;
        worker->reason = strings_intern(self->base.strings, "Evicted");
        worker->message = eviction_refusal(self, pod);
        worker_terminate(worker);
        return;
    case ADOPT:
        worker_adopt(worker);
        break;
    case BEGIN:
        begin_anew(worker);
        break;
    }
    if (object_is_deleted(pod))
        worker_terminate(worker);
    else
        worker_go(worker);
}

static void
on_changed_pod(PodWorker *worker, const Object *before, const Object *pod)
{
    const Rule *rule = rules_find(&kubelet_changed_pod_rules,
                                  pod_facts(worker->kubelet, worker, before, pod), NULL);

    replace_pod(worker, pod);
    if (before != NULL && POD_CONST(before)->spec != POD_CONST(pod)->spec)
        pod_run_pod_changed(worker, POD_CONST(before));
    /* The node controller took the node for dead (NL-23): the kubelet corrects the status. */
    if (before != NULL && pod_is_ready(POD_CONST(before)) && !pod_is_ready(POD_CONST(pod)))
        pod_status_reconcile(worker);
    switch ((ChangedPodAction)rule->then) {
    case LEAVE:
        return;
    case END:
        worker_terminate(worker);
        return;
    case SYNC:
        worker->wants_step = TRUE;
        worker_go(worker);
        return;
    }
    g_assert_not_reached();
}

void
pod_worker_on_pod(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;

    /* CGO-15: the watch broke meanwhile. PodConfig knows pods by their uid: one went, one came. */
    if (before != NULL && after != NULL && !object_uid_equal(before->uid, after->uid)) {
        pod_worker_on_pod(data, before, NULL);
        before = NULL;
    }
    const Object *pod = after == NULL ? before : after;
    PodWorker *worker = pod_worker_find(self, pod);

    if (after == NULL) {
        if (worker == NULL)
            return;
        worker->gone = TRUE;
        worker_terminate(worker); /* KVM-50: if it was not told before */
        if (worker->stopped)
            volume_manager_remove(worker); /* KVM-27: volumes that were never mounted */
        worker_maybe_free(worker);
    } else if (worker == NULL || worker->rebuilt) {
        on_new_pod(self, worker, after);
    } else {
        on_changed_pod(worker, before, after);
    }
}

const PodCalls pod_worker_calls = {
    .start = worker_start,
    .container_ended = worker_container_ended,
    .shut_down = worker_shut_down,
    .evict = worker_evict,
    .sync_in_time = worker_sync_in_time,
    .maybe_free = worker_maybe_free,
};
