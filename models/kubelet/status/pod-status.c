/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The status manager: one thread writes the statuses of all pods of the node, one after the other,
 * each with a GET and a PATCH (KVM-83), and the last DELETE (SEQ-10):
 * pkg/kubelet/status/status_manager.go. What it tells is a view of the worker (view_table); a
 * worker is queued when its view changes, and the report is made from its state when its turn
 * comes.
 *
 * Invariant: a pod is in the queue once at most, and one report is under way. A terminal phase is
 * final. A patch that would change nothing is not sent. If nobody answers, the round ends and all
 * that is left is written 10 s later. */
#include "pod-status.h"

#include "models/kubelet/runtime/runtime.h"
#include "models/kubelet/shutdown.h"

#define BATCH_PERIOD (10 * SIM_SECOND) /* syncPeriod */

/* What a report says; lives as long as its plan. */
typedef struct {
    ObjectUid uid;
    PodView view;
    gboolean tells_sandbox; /* gate PodReadyToStartContainersCondition */
    int32_t
        generation; /* of the pod that was synced; 0: gate PodObservedGenerationTracking is off */
    SimTime seen_at, at;
    const char *not_ready, *unready; /* reason and message of the conditions; interned */
    int32_t restarts, exit_code;
    const char *restarts_alone;   /* interned; NULL: none */
    const char *reason, *message; /* of the pod itself; interned */
    PodCondition disruption;
} PodReport;

/* What the kubelet tells of each view: the phase, the conditions, and words. CONDITION_ABSENT: the
 * condition stays as it is. */
typedef struct {
    const char *rule;
    PodPhase phase;
    ConditionStatus to_start, initialized, ready;
    gboolean unready, completed; /* in the conditions' reasons */
    const char *reason, *message;
} ViewTells;

#define KEEP CONDITION_ABSENT
#define NO CONDITION_FALSE
#define YES CONDITION_TRUE

/* POD_UNKNOWN: the phase stays. A pod that waits for its first start has no sandbox. A pod that is
 * over keeps its phase at first (KVM-88). VIEW_FAILED leaves the conditions alone (TIM-51a). */
static const ViewTells view_tells[] = {
    [VIEW_NONE] = {"SEQ-9",   POD_UNKNOWN,   KEEP, KEEP, KEEP, FALSE, FALSE, NULL,           NULL},
    [VIEW_WAITING] = {"SEQ-9",   POD_PENDING,   NO,   YES,  NO,   TRUE,  FALSE, NULL,           NULL},
    [VIEW_SANDBOX] = {"KVM-103", POD_UNKNOWN,   YES,  KEEP, KEEP, FALSE, FALSE, NULL,           NULL},
    [VIEW_RUNNING] = {"SEQ-9",   POD_RUNNING,   YES,  YES,  YES,  FALSE, FALSE, NULL,           NULL},
    [VIEW_RESTARTING] = {"KVM-86",  POD_UNKNOWN,   KEEP, KEEP, NO,   TRUE,  FALSE, NULL,           NULL},
    [VIEW_ENDED] = {"KVM-88",  POD_UNKNOWN,   KEEP, YES,  NO,   FALSE, TRUE,  NULL,           NULL},
    [VIEW_SUCCEEDED] = {"SEQ-10",  POD_SUCCEEDED, NO,   YES,  NO,   FALSE, TRUE,  NULL,           NULL},
    [VIEW_BROKEN] = {"SEQ-10",  POD_FAILED,    NO,   YES,  NO,   FALSE, TRUE,  NULL,           NULL},
    [VIEW_FAILED] = {"SEQ-10",  POD_FAILED,    KEEP, KEEP, KEEP, FALSE, FALSE, NULL,           NULL},
    [VIEW_SHUT_DOWN] = {"SEQ-10",  POD_FAILED,    NO,   YES,  NO,   FALSE, TRUE,  "Terminated",
                   "Pod was terminated in response to imminent node shutdown."                   },
    [VIEW_REJECTED] = {"SEQ-10",  POD_FAILED,    NO,   YES,  NO,   FALSE, FALSE, "NodeShutdown",
                   "Pod was rejected as the node is shutting down."                              },
    [VIEW_EVICTED] = {"EVM-33",  POD_FAILED,    NO,   YES,  NO,   FALSE, TRUE,  NULL,           NULL},
};

static gboolean
condition_set(PodCondition *condition,
              ConditionStatus status,
              const char *reason,
              const char *message,
              SimTime at)
{
    if (status == CONDITION_ABSENT || (condition->status == status && condition->reason == reason &&
                                       condition->message == message))
        return FALSE;
    if (condition->status != status)
        condition->changed_at = at;
    condition->status = (uint8_t)status;
    condition->reason = reason;
    condition->message = message;
    return TRUE;
}

/* A Running pod whose containers restart (KVM-68) stays Running. */
static gboolean
phase_set(Pod *pod, PodPhase phase)
{
    if (phase == POD_UNKNOWN || pod->phase == (uint32_t)phase ||
        (phase == POD_PENDING && pod->phase == POD_RUNNING))
        return FALSE;
    pod->phase = phase;
    return TRUE;
}

/* A container that the kubelet stops ends well, unless the annotations say how long it runs. */
static gboolean
set_conditions(Pod *pod, const PodReport *report)
{
    const ViewTells *tells = &view_tells[report->view];
    gboolean is_well = tells->completed && report->exit_code == 0;
    const char *ended_well = is_well ? report->not_ready : NULL;
    gboolean changed = report->tells_sandbox &&
                       condition_set(&pod->ready_to_start, tells->to_start, NULL, NULL, report->at);

    changed |= condition_set(&pod->initialized, tells->initialized, ended_well, NULL, report->at);
    changed |=
        condition_set(&pod->ready, tells->ready, report->not_ready, report->unready, report->at);
    changed |= condition_set(&pod->containers_ready, tells->ready, report->not_ready,
                             report->unready, report->at);
    return changed;
}

/* WL-95: the kubelet lists the conditions of others first. One that was added since stands last, so
 * the patch has at least the order of the conditions. */
static gboolean
disruption_put_first(Pod *pod)
{
    if (pod->disruption.status == CONDITION_ABSENT || pod->disruption_first)
        return FALSE;
    pod->disruption_first = TRUE;
    return TRUE;
}

static gboolean
pod_status_edit_status(Object *object, const void *arg)
{
    const PodReport *report = arg;
    Pod *pod = POD(object);

    if (!object_uid_equal(object->uid, report->uid) || report->view == VIEW_NONE ||
        pod_is_terminal(pod)) /* a terminal phase is final */
        return FALSE;
    gboolean changed = pod->started_at == TIME_UNSET || pod->restarts != report->restarts ||
                       pod->restarts_alone != report->restarts_alone;
    if (pod->started_at == TIME_UNSET)
        pod->started_at = report->seen_at;
    pod->restarts = report->restarts;
    pod->restarts_alone = report->restarts_alone;
    if (report->generation != 0) {
        changed |= pod->observed_generation != report->generation;
        pod->observed_generation = report->generation;
    }
    changed |= phase_set(pod, view_tells[report->view].phase);
    changed |= disruption_put_first(pod);
    changed |= set_conditions(pod, report);
    if (pod_is_terminal(pod) && report->view != VIEW_FAILED)
        pod->exit_code = report->exit_code;
    if (report->reason == NULL)
        return changed;
    if (report->disruption.status != CONDITION_ABSENT)
        pod->disruption = report->disruption;
    pod->reason = report->reason;
    pod->message = report->message;
    return TRUE;
}

/* "containers with unready status: [a b]" */
static const char *
unready_message(Strings *strings, const PodSpec *spec)
{
    const char *names = "";

    for (unsigned i = 0; i < spec->n_containers && spec->containers != NULL; i++)
        names = i == 0 ? spec->containers[i].name
                       : strings_internf(strings, "%s %s", names, spec->containers[i].name);
    return strings_internf(strings, "containers with unready status: [%s]", names);
}

/* KVM-104. Returns: 0: the kubelet tells none */
static int32_t
generation_of(const PodWorker *worker)
{
    return release_has_gate(kubelet_release(worker->kubelet), "PodObservedGenerationTracking")
               ? (int32_t)worker->pod->generation
               : 0;
}

static PodReport *
new_report(const Kubelet *self, Plan *plan, const PodWorker *worker)
{
    const ViewTells *tells = &view_tells[worker->view];
    PodReport *report = plan_new_arg(plan, PodReport);
    Strings *strings = self->base.strings;

    report->uid = worker->uid;
    report->view = worker->view;
    report->tells_sandbox =
        release_has_gate(kubelet_release(self), "PodReadyToStartContainersCondition");
    report->generation = generation_of(worker);
    report->seen_at = worker->seen_at;
    report->at = worker->viewed_at;
    report->restarts = pod_run_restarts(worker);
    report->restarts_alone = pod_run_restarts_alone(worker);
    report->exit_code = pod_run_exit_code(worker);
    if (tells->unready) {
        report->not_ready = strings_intern(strings, "ContainersNotReady");
        report->unready = unready_message(strings, POD_CONST(worker->pod)->spec);
    }
    if (tells->completed)
        report->not_ready =
            strings_intern(strings, report->exit_code != 0 ? "PodFailed" : "PodCompleted");
    report->reason = strings_intern(strings, tells->reason);
    report->message = strings_intern(strings, tells->message);
    if (worker->reason != NULL) { /* REG-38, EVM-33, EVM-40 */
        report->reason = worker->reason;
        report->message = worker->view == VIEW_REJECTED
                              ? strings_internf(strings, "Pod was rejected: %s", worker->message)
                              : worker->message;
    }
    if ((worker->view == VIEW_SHUT_DOWN || (worker->view == VIEW_EVICTED && worker->disrupted)) &&
        release_has_gate(kubelet_release(self), "PodDisruptionConditions"))
        report->disruption =
            (PodCondition){.reason = strings_intern(strings, "TerminationByKubelet"),
                           .message = report->message,
                           .changed_at = worker->viewed_at,
                           .status = CONDITION_TRUE};
    return report;
}

/* Whether a patch would change something; otherwise none is sent. A shallow copy suffices: the edit
 * leaves owned members alone. */
static gboolean
is_news(const Object *stored, const PodReport *report)
{
    Pod copy = *POD_CONST(stored);

    return pod_status_edit_status(&copy.meta, report);
}

static void
decide_write(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const PodWorker *worker = plan_operation(plan);
    const Object *stored = plan_object(plan, plan_last_step(plan));
    ApiCode code = plan_code(plan, plan_last_step(plan));

    if (code != API_OK && code != API_NOT_FOUND) {
        plan_fail(plan, "%s", plan_last_message(plan));
        return;
    }
    if (stored == NULL || !object_uid_equal(stored->uid, worker->uid))
        return; /* not an error: force-deleted (KVM-50) */
    const PodReport *report = new_report(self, plan, worker);
    if (is_news(stored, report)) {
        plan_because(plan, view_tells[worker->view].rule);
        plan_patch_status(plan, worker->key, pod_status_edit_status, report, PLAN_GONE_IS_FINE);
    }
    if (worker->step == WORKER_FINISHED && object_is_deleted(stored)) {
        plan_because(plan, "SEQ-10");
        plan_delete(plan, worker->key, worker->uid, 0, PLAN_GONE_IS_FINE);
    }
}

static void
decide_report(const void *self, Plan *plan)
{
    const PodWorker *worker = plan_operation(plan);

    (void)self;
    plan_because(plan, "KVM-83");
    plan_get(plan, worker->key, PLAN_DECIDE);
    plan_then(plan, decide_write);
}

static void report_next(Kubelet *self);

static void
report_batch(Sim *sim, void *data)
{
    Kubelet *self = data;

    (void)sim;
    self->status_manager->report_retry = 0;
    self->status_manager->reporting_pod = FALSE;
    report_next(self);
}

static const SimEventType batch_event = {.name = "kubelet/statuses are written again",
                                         .fire = report_batch};

/* Nobody answered: syncBatch() comes every 10 s and finds statuses that are not written yet. */
static void
report_again_later(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;

    if (!worker->report_queued) {
        worker->report_queued = TRUE;
        g_queue_push_head_link(&self->status_manager->reports, &worker->report_link);
    }
    self->status_manager->report_retry =
        sim_after(self->base.sim, BATCH_PERIOD, &batch_event, self, WAIT_POLL);
}

static void
report_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;
    PodWorker *worker = plan_done_operation(plan);

    (void)message;
    worker->reporting = FALSE;
    if (end == PLAN_FAILED) {
        self->status_manager->n_in_round = 0;
        report_again_later(worker);
        return;
    }
    self->status_manager->reporting_pod = FALSE;
    pod_worker_maybe_free(worker);
    shutdown_progressed(self);
    report_next(self);
}

static uint64_t
worker_place(const void *worker, SimStream stream, uint64_t walk)
{
    return object_key_place(((const PodWorker *)worker)->key, stream, walk);
}

/* KVM-89: syncBatch() walks a map of all statuses and takes the new ones. */
static void
begin_round(Kubelet *self)
{
    g_autoptr(GPtrArray) workers = NULL;
    GList *link;

    self->status_manager->n_in_round = self->status_manager->reports.length;
    if (self->status_manager->n_in_round < 2)
        return;
    workers = g_ptr_array_sized_new(self->status_manager->n_in_round);
    while ((link = g_queue_pop_head_link(&self->status_manager->reports)) != NULL)
        g_ptr_array_add(workers, link->data);
    sim_shuffle(workers->pdata, workers->len, worker_place,
                sim_stream(self->base.sim, "kubelet/status order"),
                (uint64_t)sim_now(self->base.sim));
    for (unsigned i = 0; i < workers->len; i++)
        g_queue_push_tail_link(&self->status_manager->reports,
                               &((PodWorker *)workers->pdata[i])->report_link);
}

static void
report_next(Kubelet *self)
{
    PlanStart start = {
        .component = &self->base,
        .decide = decide_report,
        .done = report_done,
    };

    if (self->status_manager->reporting_pod)
        return;
    if (self->status_manager->n_in_round == 0)
        begin_round(self);
    GList *link = g_queue_pop_head_link(&self->status_manager->reports);
    if (link == NULL)
        return;
    PodWorker *worker = link->data;
    self->status_manager->n_in_round--;
    start.operation = worker;
    start.key = worker->key;
    worker->report_queued = FALSE;
    worker->reporting = TRUE;
    self->status_manager->reporting_pod = TRUE;
    plan_start(&start);
}

static void
queue_report(PodWorker *worker)
{
    if (worker->report_queued)
        return;
    worker->report_queued = TRUE;
    g_queue_push_tail_link(&worker->kubelet->status_manager->reports, &worker->report_link);
    report_next(worker->kubelet);
}

typedef enum {
    RUNNING = 1 << 0,
    REJECTED = 1 << 1,
    OVER = 1 << 2,      /* it ran, and nothing of it will run again */
    SHUT_DOWN = 1 << 3, /* it ends with its machine */
    FAILED = 1 << 4,    /* its last exit code is not 0 */
    FINISHED = 1 << 5,  /* the worker has nothing left to do */
    ENDED = 1 << 6,     /* its containers have ended by themselves */
    FOR_GOOD = 1 << 7,  /* ... and will not be started again */
    TOLD = 1 << 8,      /* the kubelet has told something of it */
    EVICTED = 1 << 9,   /* ... and nothing of it runs any more */
    SANDBOX = 1 << 10,  /* it has a sandbox, and the kubelet tells of that (KVM-103) */
    VIEW_FACTS_END = 1 << 11,
} ViewFacts;

#define STANDS (RUNNING | REJECTED | OVER | FINISHED | EVICTED)

/* generateAPIPodStatus() in kubelet_pods.go. VIEW_NONE: as before. */
/* clang-format off */
static const Rule view_table[] = {
    {"SEQ-9.1",  RUNNING,          0,                                                 VIEW_RUNNING},
    {"NL-91",    REJECTED,         RUNNING,                                           VIEW_REJECTED},
    {"EVM-33",   EVICTED,          RUNNING | REJECTED,                                VIEW_EVICTED},
    {"NL-93",    OVER | SHUT_DOWN, RUNNING | REJECTED | EVICTED,                      VIEW_SHUT_DOWN},
    {"SEQ-10.1", OVER | FAILED,    RUNNING | REJECTED | EVICTED | SHUT_DOWN,          VIEW_BROKEN},
    {"SEQ-10.2", OVER,             RUNNING | REJECTED | EVICTED | SHUT_DOWN | FAILED, VIEW_SUCCEEDED},
    {"SEQ-10.3", FINISHED,         RUNNING | REJECTED | EVICTED | OVER,               VIEW_FAILED, .since = 27},
    {"SEQ-10.4", FINISHED,         RUNNING | REJECTED | EVICTED | OVER,               VIEW_NONE, .until = 27},
    {"KVM-88",   ENDED | FOR_GOOD, STANDS,                                            VIEW_ENDED},
    {"KVM-86",   ENDED,            STANDS | FOR_GOOD,                                 VIEW_RESTARTING},
    {"KVM-18.1", 0,                STANDS | ENDED | TOLD | SANDBOX,                   VIEW_WAITING},
    {"KVM-103",  SANDBOX,          STANDS | ENDED,                                    VIEW_SANDBOX},
    {"KVM-18.2", TOLD,             STANDS | ENDED | SANDBOX,                          VIEW_NONE},
};
/* clang-format on */

const RuleTable kubelet_view_rules =
    RULE_TABLE("kubelet: what to tell of a pod", VIEW_FACTS_END, view_table);

static PodView
current_view(const PodWorker *worker)
{
    unsigned facts = 0;

    facts |= worker->running ? RUNNING : 0;
    facts |= worker->rejected ? REJECTED : 0;
    facts |= worker->stopped && worker->was_running ? OVER : 0;
    facts |= worker->shut_down ? SHUT_DOWN : 0;
    facts |= worker->evicted && worker->stopped ? EVICTED : 0;
    facts |= pod_run_exit_code(worker) != 0 ? FAILED : 0;
    facts |= worker->step == WORKER_FINISHED ? FINISHED : 0;
    facts |= pod_run_has_ended(worker) ? ENDED : 0;
    facts |= pod_run_has_ended_for_good(worker) ? FOR_GOOD : 0;
    facts |= worker->view != VIEW_NONE ? TOLD : 0;
    facts |= worker->has_sandbox ? SANDBOX : 0;
    PodView view =
        (PodView)rules_find(&kubelet_view_rules, facts, kubelet_release(worker->kubelet))->then;
    return view == VIEW_NONE ? worker->view : view;
}

/* WL-95. */
static gboolean
has_new_condition(const PodWorker *worker)
{
    const Pod *pod = POD_CONST(worker->pod);

    return object_is_deleted(&pod->meta) && pod->disruption.status != CONDITION_ABSENT &&
           !pod->disruption_first;
}

void
pod_status_changed(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;
    PodView view = current_view(worker);
    gboolean has_news = pod_run_take_news(worker);

    if (view == worker->view && worker->step != WORKER_FINISHED && !has_new_condition(worker) &&
        !has_news && generation_of(worker) == worker->told_generation)
        return;
    if (view != worker->view)
        worker->viewed_at = sim_now(self->base.sim);
    worker->view = view;
    worker->told_generation = generation_of(worker);
    queue_report(worker);
}

void
pod_status_reconcile(PodWorker *worker)
{
    if (worker->view == VIEW_RUNNING)
        queue_report(worker);
}

void
pod_status_init(Kubelet *self)
{
    self->status_manager = g_new0(StatusManager, 1);
    g_queue_init(&self->status_manager->reports);
}

void
pod_status_free(Kubelet *self)
{
    sim_cancel(self->base.sim, self->status_manager->report_retry);
    g_free(self->status_manager);
}
