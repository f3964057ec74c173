/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Containers that end by themselves: when, how, and when they are started again. A pod's
 * annotations tell that (models/api/container-life.h), and all containers of a pod end together.
 * computePodActions() and doBackOff() in Kubernetes' pkg/kubelet/kuberuntime, and SyncPod() in
 * pkg/kubelet/kubelet.go.
 *
 * One event is scheduled for the end of a run. It changes this state at once, but the kubelet
 * learns of it with the next relist only, so a sync that began before does not know yet. A pod
 * without annotations has no PodRun and costs nothing. */
#include "models/api/container-life.h"
#include "runtime.h"

#define BACKOFF_MIN (10 * SIM_SECOND)  /* KVM-87: backOffPeriod */
#define BACKOFF_MAX (300 * SIM_SECOND) /* KVM-87: MaxContainerBackOff */
#define EXIT_SIGTERM 143               /* 128 + SIGTERM */
#define EXIT_LOST 255                  /* the machine lost its power */

struct PodRun {
    PodWorker *worker;
    ContainerLife life; /* runs_for is NULL if the annotations tell nothing */
    SimEventId end;
    SimTime finished_at;
    SimTime backoff;    /* 0: none yet */
    SimTime backoff_at; /* when that was set */
    uint32_t n_runs;    /* that were begun */
    int exit_code;      /* of the last one, once it has ended */
    gboolean has_ended;
    gboolean has_news; /* of a restart for another definition */
    /* Definitions of containers that differ from the pod's (KVM-102): the running ones, and those
     * that a restart under way will start. (owned): NULL: as in the pod */
    PodSpec *running, *starting;
    uint32_t *more; /* (owned): restarts of each container alone; NULL: none */
};

static SimStream
run_stream(const PodRun *self)
{
    return sim_stream(self->worker->kubelet->base.sim, "kubelet/life of containers");
}

/* A pod that takes the name of another draws its own numbers. */
static uint64_t
run_entity(const PodRun *self)
{
    return sim_hash_combine(self->worker->key->hash, self->worker->uid.low);
}

static PodRun *
run_new(PodWorker *worker)
{
    PodRun *self = g_new0(PodRun, 1);

    self->worker = worker;
    self->n_runs = (uint32_t)POD_CONST(worker->pod)->restarts;
    return self;
}

void
pod_run_free(PodRun *self)
{
    if (self == NULL)
        return;
    sim_cancel(self->worker->kubelet->base.sim, self->end);
    container_life_clear(&self->life);
    g_clear_pointer(&self->running, pod_spec_unref);
    g_clear_pointer(&self->starting, pod_spec_unref);
    g_free(self->more);
    g_free(self);
}

void
pod_run_prepare(PodWorker *worker)
{
    const StringMap *annotations = worker->pod->annotations;
    ContainerLife life;

    /* An annotation that does not parse is an error of the scenario file, found before. */
    if (!container_life_is_told(annotations) ||
        !container_life_parse(annotations, &life, NULL, NULL))
        return;
    worker->run = run_new(worker);
    worker->run->life = life;
}

static void
run_ended(Sim *sim, void *data)
{
    PodRun *self = data;

    self->end = 0;
    self->has_ended = TRUE;
    self->finished_at = sim_now(sim);
    self->exit_code =
        container_life_exit_code(&self->life, run_stream(self), run_entity(self), self->n_runs - 1);
    self->worker->running = FALSE;
    cluster_tell_containers(self->worker->kubelet->base.cluster, self->worker->pod, FALSE);
    self->worker->kubelet->pod_calls->container_ended(self->worker);
}

static const SimEventType end_event = {.name = "kubelet/containers end", .fire = run_ended};

static void
schedule_end(PodRun *self, SimTime began_at)
{
    Component *base = &self->worker->kubelet->base;
    SimTime runs_for =
        container_life_run(&self->life, run_stream(self), run_entity(self), self->n_runs - 1);

    self->end = sim_at_detail(base->sim, MAX(sim_time_add(began_at, runs_for), sim_now(base->sim)),
                              &end_event, self, WAIT_RUNTIME, base->label);
}

/* ---- Changed definitions (KVM-102) ---- */

static const PodSpec *
wanted_spec(const PodWorker *worker)
{
    return POD_CONST(worker->pod)->spec;
}

/* A hash of the container in Kubernetes: of its name and image, before 1.31 of all of it, but
 * nothing else of a container can change. */
static gboolean
definition_differs(const PodSpec *a, const PodSpec *b, unsigned container)
{
    return a != b && a->containers != NULL && b->containers != NULL &&
           container < MIN(a->n_containers, b->n_containers) &&
           g_strcmp0(a->containers[container].image, b->containers[container].image) != 0;
}

static unsigned
count_differences(const PodSpec *a, const PodSpec *b)
{
    unsigned n = 0;

    for (unsigned i = 0; i < a->n_containers; i++)
        n += definition_differs(a, b, i);
    return n;
}

void
pod_run_pod_changed(PodWorker *worker, const Pod *before)
{
    if (count_differences(before->spec, wanted_spec(worker)) == 0)
        return;
    if (worker->run == NULL && worker->running) {
        worker->run = run_new(worker);
        worker->run->n_runs++;
    }
    PodRun *self = worker->run;
    if (self == NULL)
        return;
    if (!worker->running)
        self->backoff = 0; /* another definition starts with a new back-off */
    else if (self->running == NULL)
        self->running = pod_spec_ref(before->spec);
}

gboolean
pod_run_is_redefined(const PodWorker *worker)
{
    const PodRun *self = worker->run;

    return self != NULL && worker->running && self->running != NULL &&
           count_differences(self->running, wanted_spec(worker)) > 0;
}

const PodSpec *
pod_run_spec(const PodWorker *worker)
{
    return worker->run != NULL && worker->run->starting != NULL ? worker->run->starting
                                                                : wanted_spec(worker);
}

gboolean
pod_run_starts(const PodWorker *worker, unsigned container)
{
    return !worker->running || worker->run == NULL || worker->run->running == NULL ||
           definition_differs(worker->run->running, pod_run_spec(worker), container);
}

void
pod_run_redefine(PodWorker *worker)
{
    PodRun *self = worker->run;

    g_clear_pointer(&self->starting, pod_spec_unref);
    self->starting = pod_spec_ref(wanted_spec(worker));
    sim_cancel(worker->kubelet->base.sim, self->end);
    self->end = 0;
}

/* The changed containers run. Returns: whether these were all of the pod's: then it is another run
 * of the pod */
static gboolean
redefined(PodRun *self)
{
    g_autoptr(PodSpec) before = g_steal_pointer(&self->running);
    g_autoptr(PodSpec) now = g_steal_pointer(&self->starting);
    unsigned n = count_differences(before, now);

    if (count_differences(now, wanted_spec(self->worker)) > 0) /* meanwhile */
        self->running = pod_spec_ref(now);
    if (n == now->n_containers)
        return TRUE;
    if (self->more == NULL)
        self->more = g_new0(uint32_t, now->n_containers);
    for (unsigned i = 0; i < now->n_containers; i++)
        self->more[i] += definition_differs(before, now, i);
    return FALSE;
}

gboolean
pod_run_take_news(PodWorker *worker)
{
    gboolean has_news = worker->run != NULL && worker->run->has_news;

    if (has_news)
        worker->run->has_news = FALSE;
    return has_news;
}

const char *
pod_run_restarts_alone(const PodWorker *worker)
{
    const PodRun *self = worker->run;
    const char *text = POD_CONST(worker->pod)->restarts_alone;

    if (self == NULL || self->more == NULL)
        return text;
    g_autoptr(GString) numbers = g_string_new(NULL);
    for (unsigned i = 0; i < wanted_spec(worker)->n_containers; i++)
        g_string_append_printf(numbers, "%s%u", i == 0 ? "" : " ", self->more[i]);
    return strings_intern(worker->kubelet->base.strings, numbers->str);
}

void
pod_run_started(PodWorker *worker)
{
    PodRun *self = worker->run;

    if (self == NULL)
        return;
    self->has_news = self->starting != NULL;
    if (self->starting != NULL && !redefined(self)) {
        if (self->life.runs_for != NULL)
            schedule_end(self, sim_now(worker->kubelet->base.sim));
        return;
    }
    self->n_runs++;
    self->has_ended = FALSE;
    if (self->life.runs_for != NULL)
        schedule_end(self, sim_now(worker->kubelet->base.sim));
}

/* The pod's conditions tell since when its containers run. */
void
pod_run_adopted(PodWorker *worker)
{
    const Pod *pod = POD_CONST(worker->pod);
    PodRun *self = worker->run;

    if (self == NULL)
        return;
    self->n_runs++;
    if (self->life.runs_for != NULL)
        schedule_end(self, pod_is_ready(pod) && pod->ready.changed_at != TIME_UNSET
                               ? pod->ready.changed_at
                               : worker->seen_at);
}

void
pod_run_lost(PodWorker *worker)
{
    PodRun *self = worker->run;

    if (self == NULL)
        self = worker->run = run_new(worker);
    self->n_runs++;
    self->has_ended = TRUE;
    self->finished_at = worker->seen_at - 1; /* before any sync */
    self->exit_code = EXIT_LOST;
    worker->was_running = TRUE;
}

void
pod_run_killed(PodWorker *worker)
{
    PodRun *self = worker->run;

    if (self == NULL || self->life.runs_for == NULL || self->has_ended)
        return;
    sim_cancel(worker->kubelet->base.sim, self->end);
    self->end = 0;
    self->has_ended = TRUE;
    self->exit_code = EXIT_SIGTERM;
}

/* KVM-86. */
static gboolean
may_restart(const PodRun *self)
{
    const char *policy = POD_CONST(self->worker->pod)->spec->restart_policy;

    return g_str_equal(policy, "Always") ||
           (g_str_equal(policy, "OnFailure") && self->exit_code != 0);
}

gboolean
pod_run_has_ended(const PodWorker *worker)
{
    return worker->run != NULL && worker->run->has_ended;
}

gboolean
pod_run_has_ended_since(const PodWorker *worker, SimTime at)
{
    return pod_run_has_ended(worker) && worker->run->finished_at >= at;
}

gboolean
pod_run_has_ended_for_good(const PodWorker *worker)
{
    return pod_run_has_ended(worker) && !may_restart(worker->run);
}

int32_t
pod_run_exit_code(const PodWorker *worker)
{
    return pod_run_has_ended(worker) ? worker->run->exit_code : 0;
}

int32_t
pod_run_restarts(const PodWorker *worker)
{
    if (worker->run == NULL)
        return POD_CONST(worker->pod)->restarts;
    return worker->run->n_runs == 0 ? 0 : (int32_t)worker->run->n_runs - 1;
}

gboolean
pod_run_is_backed_off(const PodWorker *worker)
{
    const PodRun *self = worker->run;
    SimTime now = sim_now(worker->kubelet->base.sim);

    return self != NULL && self->has_ended && self->backoff > 0 &&
           self->finished_at - self->backoff_at <= 2 * BACKOFF_MAX &&
           now - self->finished_at < self->backoff;
}

/* The next failure waits twice as long, unless this container ran for long. */
void
pod_run_back_off(PodWorker *worker)
{
    PodRun *self = worker->run;

    if (self == NULL || !self->has_ended || self->starting != NULL)
        return;
    self->backoff = self->backoff == 0 || self->finished_at - self->backoff_at > 2 * BACKOFF_MAX
                        ? BACKOFF_MIN
                        : MIN(2 * self->backoff, BACKOFF_MAX);
    self->backoff_at = sim_now(worker->kubelet->base.sim);
}
