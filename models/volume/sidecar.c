/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sidecars have in common: they ask their driver who it is and what it can do, elect a leader,
 * and then start their informers. The order of the questions is that of csi-lib-utils; an answer
 * decides whether a later question is asked. A question that fails finally ends the process, which
 * is started again and asks from the beginning. */
#include "sidecar.h"

#include <string.h>

#include "models/cluster/cluster.h"
#include "models/plan/plan.h"
#include "models/timing/waits.h"

#define PROBE_INTERVAL SIM_SECOND /* EA-10 */
#define SYNC_POLL (100 * SIM_MS)  /* CGO-17 */

struct Sidecar {
    SidecarOptions options;
    CsiPluginCapabilities plugin_capabilities;
    CsiControllerCapabilities controller_capabilities;
    CsiNodeCapabilities node_capabilities;
    SimEventId event;
    StringMap *node_segment; /* (owned) */
    LeaderElector *elector;  /* NULL: it does not elect */
    gboolean waited;         /* until it led: its informers start only then */
};

static void
sync_done(Sim *sim, void *data)
{
    Sidecar *self = data;

    (void)sim;
    self->event = 0;
    self->options.ready(self->options.component);
}

static const SimEventType sync_done_type = {.name = "sidecar/informers synced", .fire = sync_done};

static void
sidecar_sync(Sidecar *self)
{
    const Component *component = self->options.component;
    SimTime wait =
        component->started_late || self->waited ? self->options.n_sync_polls * SYNC_POLL : 0;

    self->event = sim_after(component->sim, wait, &sync_done_type, self, WAIT_STARTUP);
}

/* ---- Leader election (CGO-60..66) ---- */

const char *
sidecar_host_name(const Component *component)
{
    if (component->node_name != NULL)
        return strings_internf(component->strings, "csi-node-%s", component->node_name);
    if (component->pod != NULL) /* DP-4 */
        return component->pod->name;
    return strings_internf(component->strings, "csi-controller-%u", component->replica);
}

static void
started_leading(void *data)
{
    Sidecar *self = data;

    self->waited = sim_now(self->options.component->sim) > 0;
    sidecar_sync(self);
}

static void
stopped_leading(void *data)
{
    Sidecar *self = data;

    cluster_exit(self->options.component->cluster, self->options.component);
}

static const LeaderElectionOptions *
election_options(const Component *component)
{
    const ProcessElection *election = component->class->process->election;

    return election == NULL ? NULL
                            : G_STRUCT_MEMBER_P((void *)component->options, election->offset);
}

static void
elect(Sidecar *self)
{
    Component *component = self->options.component;
    const ProcessElection *election = component->class->process->election;
    g_autofree char *lock = g_strconcat(election->lock, component->driver_name, NULL);
    g_autofree char *lease = leader_election_name(lock);
    const char *identity =
        self->options.identity != NULL ? self->options.identity : sidecar_host_name(component);
    g_autofree char *name = leader_election_name(identity);
    unsigned burst = 0;
    double qps = component->class->client_qps(component->options, &burst);

    self->elector = leader_elector_new(&(LeaderElectorOptions){
        .process = component->process,
        .options = election_options(component),
        .lease =
            objects_key(component->objects, KIND_LEASE,
                        component->pod == NULL ? "kube-system" : component->pod->namespace, lease),
        .identity = strings_intern(component->strings, name),
        .event_source = strings_internf(component->strings, "%s/%s", lease, name),
        .qps = qps,
        .burst = burst,
        .has_led = sim_now(component->sim) == 0 && component->replica == 0,
        .started = started_leading,
        .stopped = stopped_leading,
        .data = self,
    });
    component->elector = self->elector;
}

/* ---- Questions to the driver ---- */

/* The driver's answers so far. */
typedef struct {
    CsiPluginCapabilities plugin_capabilities;
    CsiControllerCapabilities controller_capabilities;
    CsiNodeCapabilities node_capabilities;
    const StringMap *node_segment;
} SidecarAnswers;

/* In the order in which they are asked. */
static const CsiMethod questions[] = {
    CSI_PROBE,
    CSI_GET_PLUGIN_INFO,
    CSI_GET_PLUGIN_CAPABILITIES,
    CSI_CONTROLLER_GET_CAPABILITIES,
    CSI_NODE_GET_CAPABILITIES,
    CSI_NODE_GET_INFO,
    CSI_GROUP_CONTROLLER_GET_CAPABILITIES,
};

/* Whether a question follows from the answers to the questions before it. */
static gboolean
is_asked(const SidecarOptions *options, CsiMethod question, const SidecarAnswers *answers)
{
    gboolean has_controller = (answers->plugin_capabilities & CSI_PLUGIN_CONTROLLER_SERVICE) != 0;

    if (question == CSI_CONTROLLER_GET_CAPABILITIES)
        return has_controller;
    if (question == CSI_NODE_GET_CAPABILITIES)
        return has_controller && options->node_unless != 0 &&
               (answers->controller_capabilities & options->node_unless) == 0;
    if (question == CSI_GROUP_CONTROLLER_GET_CAPABILITIES)
        return options->asks_groups;
    return question != CSI_NODE_GET_INFO || options->asks_node;
}

static void
take_answer(SidecarAnswers *answers, const CsiResponse *response)
{
    answers->plugin_capabilities |= response->plugin_capabilities;
    answers->controller_capabilities |= response->controller_capabilities;
    answers->node_capabilities |= response->node_capabilities;
    if (response->n_accessible_topology > 0)
        answers->node_segment = response->accessible_topology[0];
}

/* Goes through the conversation so far. Returns: the next question; CSI_N_METHODS: all are
 * answered. @has_failed: (out): the last one was not */
static CsiMethod
next_question(const Sidecar *self, const Plan *plan, SidecarAnswers *answers, gboolean *has_failed)
{
    int step = 0;

    *answers = (SidecarAnswers){0};
    *has_failed = FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(questions); i++) {
        if (!is_asked(&self->options, questions[i], answers))
            continue;
        if (step > plan_last_step(plan))
            return questions[i];
        const CsiResponse *response = plan_response(plan, step++);
        *has_failed =
            (response->code != CSI_OK && questions[i] != CSI_GROUP_CONTROLLER_GET_CAPABILITIES) ||
            (questions[i] == CSI_PROBE && !response->ready);
        take_answer(answers, response);
    }
    return CSI_N_METHODS;
}

/* ProbeForever() in common.go of csi-lib-utils: a ticker that runs since the first Probe. A Probe
 * that timed out has missed a tick, and the next one follows at once. */
static SimTime
until_next_tick(const Plan *plan, SimTime timeout)
{
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    if (response->code == CSI_DEADLINE_EXCEEDED && timeout >= PROBE_INTERVAL)
        return 0;
    return PROBE_INTERVAL - (plan_now(plan) - plan_started_at(plan)) % PROBE_INTERVAL;
}

/* After a final error the real process ends, is started again and asks again. */
static void
decide_question(const void *component, Plan *plan)
{
    const Sidecar *self = plan_owner(plan);
    const SidecarFlags *flags = self->options.component->options;
    SidecarAnswers answers;
    gboolean has_failed;
    CsiMethod question = next_question(self, plan, &answers, &has_failed);

    (void)component;
    if (has_failed) {
        plan_wait(plan, until_next_tick(plan, flags->timeout), WAIT_STARTUP);
        plan_then_anew(plan, decide_question);
    } else if (question != CSI_N_METHODS) {
        plan_call(plan, self->options.component->driver,
                  &(CsiRequest){.method = question,
                                .served_by = self->options.component->node_name,
                                .timeout_ns = flags->timeout},
                  PLAN_DECIDE);
        plan_then(plan, decide_question);
    }
}

/* The driver is known. On a node there is only one such sidecar, which needs no election. */
static void
questions_over(void *component, Plan *plan, PlanEnd end, const char *message)
{
    Sidecar *self = plan_owner(plan);
    const LeaderElectionOptions *election = self->options.component->node_name != NULL
                                                ? NULL
                                                : election_options(self->options.component);
    SidecarAnswers answers;
    gboolean has_failed;

    (void)component, (void)end, (void)message;
    next_question(self, plan, &answers, &has_failed);
    self->plugin_capabilities = answers.plugin_capabilities;
    self->controller_capabilities = answers.controller_capabilities;
    self->node_capabilities = answers.node_capabilities;
    self->node_segment = answers.node_segment == NULL ? NULL : string_map_ref(answers.node_segment);
    if (election != NULL && election->enabled)
        elect(self);
    else
        sidecar_sync(self);
}

Sidecar *
sidecar_new(const SidecarOptions *options)
{
    Sidecar *self = g_new0(Sidecar, 1);
    Component *component = options->component;

    self->options = *options;
    plan_start(&(PlanStart){
        .component = component,
        .decide = decide_question,
        .key = objects_key(component->objects, KIND_CSI_DRIVER, NULL, component->driver_name),
        .no_think = TRUE, /* its own time is part of the process's startup (TIM-90, TIM-91) */
        .owner = self,
        .done = questions_over,
    });
    return self;
}

void
sidecar_free(Sidecar *self)
{
    if (self == NULL)
        return;
    sim_cancel(self->options.component->sim, self->event);
    leader_elector_free(self->elector);
    string_map_unref(self->node_segment);
    self->options.component->elector = NULL;
    g_free(self);
}

CsiPluginCapabilities
sidecar_plugin_capabilities(const Sidecar *self)
{
    return self->plugin_capabilities;
}

CsiControllerCapabilities
sidecar_controller_capabilities(const Sidecar *self)
{
    return self->controller_capabilities;
}

gboolean
sidecar_offers(const Sidecar *self, CsiUse use)
{
    return csi_use_is_offered(use, &(CsiCapabilities){
                                       .plugin = self->plugin_capabilities,
                                       .controller = self->controller_capabilities,
                                       .node = self->node_capabilities,
                                   });
}

double
sidecar_client_qps(const void *options, unsigned *burst)
{
    const SidecarFlags *flags = options;

    *burst = (unsigned)flags->kube_api_burst;
    return flags->kube_api_qps;
}

gboolean
sidecar_is_since(const SidecarFlags *flags, unsigned major, unsigned minor, gboolean of_books)
{
    const char *text = flags->version + (*flags->version == 'v');
    char *end;
    guint64 given = g_ascii_strtoull(text, &end, 10);

    if (end == text || *end != '.')
        return of_books;
    return given > major || (given == major && g_ascii_strtoull(end + 1, NULL, 10) >= minor);
}

RateLimit
sidecar_rate_limit(const void *options)
{
    const SidecarFlags *flags = options;

    return (RateLimit){.base = flags->retry_interval_start, .max = flags->retry_interval_max};
}

const StringMap *
sidecar_node_segment(const Sidecar *self)
{
    return self->node_segment;
}

void
index_attachments_by_volume(InformerIndex *index, const Object *object, Objects *objects)
{
    const Attachment *attachment = (const Attachment *)object;

    (void)objects;
    if (attachment->volume_name != NULL)
        index_emit(index, attachment->volume_name);
}

StringMap *
sidecar_metadata_parameters(const StringMap *parameters,
                            const ObjectKey *claim,
                            const char *volume_name,
                            Strings *strings)
{
    g_autoptr(StringMap) with_claim = string_map_with(
        parameters, strings_intern(strings, "csi.storage.k8s.io/pvc/name"), claim->name);
    g_autoptr(StringMap) with_namespace = string_map_with(
        with_claim, strings_intern(strings, "csi.storage.k8s.io/pvc/namespace"), claim->namespace);

    return string_map_with(with_namespace, strings_intern(strings, "csi.storage.k8s.io/pv/name"),
                           volume_name);
}
