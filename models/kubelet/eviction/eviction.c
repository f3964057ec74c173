/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The eviction manager: synchronize() of eviction_manager.go. At each look it compares what the
 * machine and its pods use, as annotations tell it, with the thresholds of the flags. A threshold
 * that is met for its grace is ripe; then one pod goes, chosen by the rank of its signal, and the
 * manager waits until that pod's resources are back before it looks again.
 *
 * It decides from thresholds, uses and the pods of the node only; the loop of looks itself is in
 * pressure.c, which also tells the Node. Without annotations there is no Eviction, and a look
 * costs nothing. The real manager measures every 10 s; here the next look that could see something
 * else is computed from the uses, which are functions of time (measure.c). */
#include "eviction.h"

#include "measure.h"
#include "models/kubelet/measure.h"
#include "pressure.h"

#define CLEANUP_TIMEOUT (30 * SIM_SECOND) /* podCleanupTimeout */
#define CLEANUP_PERIOD SIM_SECOND         /* podCleanupPollFreq */

/* ---- Flags ---- */

static gboolean
parse_flags(const KubeletOptions *options, Thresholds *thresholds, GError **error)
{
    const ThresholdSettings settings = {
        .hard = options->eviction_hard,
        .soft = options->eviction_soft,
        .soft_grace = options->eviction_soft_grace,
        .reclaim = options->eviction_minimum_reclaim,
        .hard_defaults = options->merge_default_eviction_settings ? EVICTION_HARD_DEFAULT : NULL,
    };

    return thresholds_parse(thresholds, &settings, error);
}

gboolean
eviction_check_flags(const void *options, GError **error)
{
    Thresholds thresholds;

    return parse_flags(options, &thresholds, error);
}

static Eviction *
ensure(Kubelet *self)
{
    if (self->eviction != NULL)
        return self->eviction;
    self->eviction = g_new0(Eviction, 1);
    self->eviction->capacity = (MachineCapacity)MACHINE_CAPACITY_UNKNOWN;
    self->eviction->origin = TIME_UNSET;
    parse_flags(self->options, &self->eviction->thresholds, NULL); /* they were checked */
    return self->eviction;
}

/* ---- What uses something ---- */

/* An annotation that does not parse is an error of the scenario, found before. */
static void
on_node(void *data, const Object *before, const Object *after)
{
    Kubelet *self = data;
    const char *capacity = after == NULL ? NULL : object_annotation(after, ANNOTATION_CAPACITY);
    const char *uses = after == NULL ? NULL : object_annotation(after, ANNOTATION_USES);

    (void)before;
    if (after == NULL || (self->eviction == NULL && capacity == NULL && uses == NULL))
        return;
    Eviction *eviction = ensure(self);
    if (eviction->capacity_text == capacity && eviction->uses_text == uses)
        return;
    if (capacity == NULL || !machine_capacity_parse(capacity, &eviction->capacity, NULL))
        eviction->capacity = (MachineCapacity)MACHINE_CAPACITY_UNKNOWN;
    eviction->capacity_text = capacity;
    if (eviction->uses_text != uses) {
        g_free(eviction->uses);
        eviction->uses = uses == NULL ? NULL : machine_uses_parse(uses, FALSE, NULL);
        eviction->uses_text = uses;
        eviction->uses_since = sim_now(self->base.sim);
    }
    pressure_look(self);
}

void
eviction_init(Kubelet *self)
{
    informer_add_handler(self->nodes, on_node, self);
}

void
eviction_clear(Kubelet *self)
{
    if (self->eviction == NULL)
        return;
    sim_cancel(self->base.sim, self->eviction->cleanup);
    g_free(self->eviction->uses);
    g_clear_pointer(&self->eviction, g_free);
}

void
eviction_free_use(PodUse *use)
{
    if (use == NULL)
        return;
    g_free(use->uses);
    g_free(use->dirs);
    g_free(use);
}

void
eviction_pod_told(PodWorker *worker)
{
    const PodSpec *spec = POD_CONST(worker->pod)->spec;
    const char *text = object_annotation(worker->pod, ANNOTATION_USES);
    SimTime since = worker->was_running ? sim_now(worker->kubelet->base.sim) : TIME_UNSET;

    if (text == (worker->use == NULL ? NULL : worker->use->text))
        return;
    g_clear_pointer(&worker->use, eviction_free_use);
    MachineUses *uses = text == NULL ? NULL : machine_uses_parse(text, TRUE, NULL);
    if (uses != NULL) {
        worker->use = g_new0(PodUse, 1);
        *worker->use = (PodUse){.text = text, .uses = uses, .since = since};
        worker->use->dirs = g_new0(PodEmptyDir, uses->n + 1);
        pod_local_limits_read(spec, &worker->use->limits);
        for (unsigned i = 0; i < uses->n; i++)
            if (uses->items[i].kind == USE_EMPTY_DIR)
                pod_empty_dir_read(spec->manifest, uses->items[i].volume, &worker->use->dirs[i]);
        ensure(worker->kubelet);
    }
    if (worker->kubelet->eviction != NULL)
        pressure_look(worker->kubelet);
}

void
eviction_pod_changed(PodWorker *worker)
{
    if (worker->use == NULL)
        return;
    if (worker->running && worker->use->since == TIME_UNSET)
        worker->use->since = sim_now(worker->kubelet->base.sim);
    pressure_look(worker->kubelet);
}

/* ---- A look ---- */

/* synchronize() in eviction_manager.go, up to the evictions. */
unsigned
eviction_look(Kubelet *self)
{
    Eviction *eviction = self->eviction;
    Observation observations[N_SIGNALS];
    SimTime now = sim_now(self->base.sim);
    unsigned conditions = 0, before;

    if (eviction == NULL)
        return 0;
    before = eviction->met;
    eviction_observe(self, now, observations);
    eviction->met = thresholds_met(&eviction->thresholds, observations, FALSE) |
                    (eviction->ripe & thresholds_met(&eviction->thresholds, observations, TRUE));
    eviction->ripe = 0;
    for (unsigned i = 0; i < eviction->thresholds.n; i++) {
        unsigned bit = 1u << i;
        if ((eviction->met & bit) == 0)
            continue;
        if ((before & bit) == 0)
            eviction->since[i] = now;
        conditions |= 1u << signal_condition(eviction->thresholds.items[i].signal);
        if (now - eviction->since[i] >= eviction->thresholds.items[i].grace)
            eviction->ripe |= bit;
    }
    return conditions;
}

/* While a threshold is met, each pass has something to do, or to count. */
SimTime
eviction_next(const Kubelet *self)
{
    SimTime now = sim_now(self->base.sim);

    if (self->eviction == NULL)
        return SIM_TIME_MAX;
    return self->eviction->met != 0 ? now + 1 : eviction_next_change(self, now);
}

SimTime
eviction_origin(const Kubelet *self)
{
    return self->eviction == NULL ? TIME_UNSET : self->eviction->origin;
}

gboolean
eviction_is_busy(const Kubelet *self)
{
    return self->eviction != NULL && (self->eviction->acting || self->eviction->has_victims);
}

/* ---- Pods over their own limits ---- */

typedef enum {
    DIR_OVER = 1 << 0, /* an emptyDir has more than its sizeLimit */
    POD_OVER = 1 << 1, /* all local storage is more than the sum of the containers' limits */
    CONTAINER_OVER = 1 << 2,
    CRITICAL = 1 << 3,
    LIMIT_FACTS_END = 1 << 4,
} LimitFacts;

typedef enum {
    WITHIN,
    FOR_DIR,
    FOR_POD,
    FOR_CONTAINER,
} LimitAction;

/* localStorageEviction() in eviction_manager.go. */
static const Rule limit_table[] = {
    {"EVM-24", 0,              DIR_OVER | POD_OVER | CONTAINER_OVER, WITHIN,        0                                   },
    {"EVM-32", CRITICAL,       0,                                    WITHIN,        DIR_OVER | POD_OVER | CONTAINER_OVER},
    {"EVM-21", DIR_OVER,       CRITICAL,                             FOR_DIR,       0                                   },
    {"EVM-22", POD_OVER,       CRITICAL | DIR_OVER,                  FOR_POD,       0                                   },
    {"EVM-23", CONTAINER_OVER, CRITICAL | DIR_OVER | POD_OVER,       FOR_CONTAINER, 0                                   },
};

const RuleTable kubelet_local_limit_rules =
    RULE_TABLE("kubelet: a pod's local storage", LIMIT_FACTS_END, limit_table);

/* Returns: the place of an emptyDir that has more than its limit; -1: none */
static int
dir_over(const PodWorker *worker, SimTime now)
{
    const PodUse *use = worker->use;

    for (unsigned i = 0; i < use->uses->n; i++)
        if (use->uses->items[i].kind == USE_EMPTY_DIR && use->dirs[i].limit > 0 &&
            pod_dir_bytes(worker, i, now) > use->dirs[i].limit)
            return (int)i;
    return -1;
}

static unsigned
limit_facts(const PodWorker *worker, SimTime now)
{
    const PodLocalLimits *limits = &worker->use->limits;
    PodTotals totals = pod_totals(worker, now);
    gboolean has_own_disk = worker->kubelet->eviction->capacity.images >= 0;
    unsigned facts = 0;

    facts |= dir_over(worker, now) >= 0 ? DIR_OVER : 0;
    facts |=
        limits->limit >= 0 && sim_time_add(totals.disk, totals.dirs) > limits->limit ? POD_OVER : 0;
    facts |= limits->first_limit > 0 && !has_own_disk && totals.disk > limits->first_limit
                 ? CONTAINER_OVER
                 : 0;
    facts |= pod_worker_is_critical(worker->pod) ? CRITICAL : 0;
    return facts;
}

/* Kubernetes' active pods without the pods that the kubelet stops already. */
static gboolean
is_active(const PodWorker *worker)
{
    return worker->step == WORKER_SYNC && !worker->rebuilt && !worker->evicted;
}

static gboolean
may_be_over(const Kubelet *self, const PodWorker *worker)
{
    return is_active(worker) && worker->use != NULL && worker->use->since != TIME_UNSET &&
           self->options->local_storage_isolation &&
           release_has_gate(kubelet_release(self), "LocalStorageCapacityIsolation");
}

/* The text as the API server keeps it. */
static const char *
limit_text(Plan *plan, const char *text, int64_t limit)
{
    char buffer[QUANTITY_BUFFER];

    return plan_internf(plan, "%s",
                        text != NULL && quantity_canonical(text, buffer, NULL)
                            ? buffer
                            : quantity_format(limit, buffer));
}

static void
add_eviction(Plan *plan, const PodWorker *worker, const char *message, unsigned cause)
{
    plan_event(plan, worker->pod, "Warning", "Evicted", "%s", message);
    plan_change(
        plan,
        &(PlanChange){.what = CHANGE_EVICTED, .pointer = worker, .text = message, .number = cause});
}

static const char *
first_container(const PodWorker *worker)
{
    const PodSpec *spec = POD_CONST(worker->pod)->spec;

    return spec->n_containers > 0 && spec->containers != NULL ? spec->containers[0].name : "";
}

static void
evict_over(Plan *plan, const PodWorker *worker)
{
    const PodUse *use = worker->use;
    SimTime now = plan_now(plan);
    int dir;

    switch ((LimitAction)plan_judge(plan, &kubelet_local_limit_rules, limit_facts(worker, now))) {
    case WITHIN:
        return;
    case FOR_DIR:
        dir = dir_over(worker, now);
        add_eviction(
            plan, worker,
            plan_internf(plan, "Usage of EmptyDir volume \"%s\" exceeds the limit \"%s\". ",
                         use->uses->items[dir].volume,
                         limit_text(plan, use->dirs[dir].limit_text, use->dirs[dir].limit)),
            CAUSE_EMPTY_DIR);
        return;
    case FOR_POD:
        add_eviction(plan, worker,
                     plan_internf(plan,
                                  "Pod ephemeral local storage usage exceeds the total limit of "
                                  "containers %s. ",
                                  limit_text(plan, NULL, use->limits.limit)),
                     CAUSE_POD);
        return;
    case FOR_CONTAINER:
        add_eviction(
            plan, worker,
            plan_internf(plan, "Container %s exceeded its local ephemeral storage limit \"%s\". ",
                         first_container(worker),
                         limit_text(plan, use->limits.first_limit_text, use->limits.first_limit)),
            CAUSE_CONTAINER);
        return;
    }
    g_assert_not_reached();
}

/* ---- A pass ---- */

typedef enum {
    LIMITED = 1 << 0,   /* some pod is over its own limits */
    SHORT = 1 << 1,     /* a threshold is met for its grace period */
    CANDIDATE = 1 << 2, /* some pod may be evicted */
    PASS_FACTS_END = 1 << 3,
} PassFacts;

typedef enum {
    LEAVE,
    EVICT_LIMITED,
    EVICT_ONE,
    TELL,
} PassAction;

/* synchronize() in eviction_manager.go: pods over their own limits go first, and then the pass is
 * over. */
static const Rule pass_table[] = {
    {"EVM-13", 0,                 LIMITED | SHORT,     LEAVE        },
    {"EVM-20", LIMITED,           0,                   EVICT_LIMITED},
    {"EVM-30", SHORT | CANDIDATE, LIMITED,             EVICT_ONE    },
    {"EVM-31", SHORT,             LIMITED | CANDIDATE, TELL         },
};

const RuleTable kubelet_eviction_rules =
    RULE_TABLE("kubelet: a pass of evictions", PASS_FACTS_END, pass_table);

static unsigned
pass_facts(const Kubelet *self, SimTime now)
{
    unsigned facts = self->eviction->ripe != 0 ? SHORT : 0;

    for (unsigned i = 0; i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        if (may_be_over(self, worker) &&
            rules_find(&kubelet_local_limit_rules, limit_facts(worker, now), NULL)->then != WITHIN)
            facts |= LIMITED;
        if (is_active(worker) && !pod_worker_is_critical(worker->pod))
            facts |= CANDIDATE;
    }
    return facts;
}

/* EVM-30: of equals the pod that came first. */
static const PodWorker *
find_victim(const Kubelet *self, EvictionSignal signal, SimTime now)
{
    const PodWorker *victim = NULL;
    EvictionRank least = {0};

    for (unsigned i = 0; i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        if (!is_active(worker) || pod_worker_is_critical(worker->pod))
            continue;
        EvictionRank rank = pod_rank(worker, signal, now);
        if (victim != NULL && eviction_rank_compare(&rank, &least) >= 0)
            continue;
        victim = worker;
        least = rank;
    }
    return victim;
}

static const char *
amount_text(Plan *plan, EvictionSignal signal, gboolean is_share, int64_t amount)
{
    gboolean is_number =
        signal != SIGNAL_MEMORY && signal != SIGNAL_NODEFS && signal != SIGNAL_IMAGEFS && !is_share;
    char buffer[QUANTITY_BUFFER];

    return plan_internf(plan, "%s",
                        is_number ? quantity_format_decimal(amount, buffer)
                                  : quantity_format(amount, buffer));
}

/* "Container %s was using ...": of the container that uses all. */
static const char *
blame(Plan *plan, const PodWorker *worker, EvictionSignal signal)
{
    PodTotals totals = pod_totals(worker, plan_now(plan));
    gboolean is_memory = signal == SIGNAL_MEMORY;
    int64_t used = is_memory ? totals.memory : totals.disk, request = 0;
    char used_text[QUANTITY_BUFFER], request_text[QUANTITY_BUFFER];

    if (worker->use != NULL)
        request = is_memory ? worker->use->limits.first_memory_request
                            : worker->use->limits.first_request;
    if ((!is_memory && signal != SIGNAL_NODEFS && signal != SIGNAL_IMAGEFS) || used <= request)
        return "";
    return plan_internf(plan,
                        "Container %s was using %s, request is %s, has larger consumption of %s. ",
                        first_container(worker), quantity_format(used, used_text),
                        quantity_format(request, request_text), signal_resource(signal));
}

/* evictionMessage() in helpers.go. */
static const char *
pressure_message(const Kubelet *self,
                 Plan *plan,
                 const Threshold *threshold,
                 const PodWorker *victim)
{
    Observation observations[N_SIGNALS];
    EvictionSignal signal = threshold->signal;

    eviction_observe(self, plan_now(plan), observations);
    const Observation *seen = &observations[signal];
    return plan_internf(
        plan, "The node was low on resource: %s. Threshold quantity: %s, available: %s. %s",
        signal_resource(signal),
        amount_text(plan, signal, threshold->value.share >= 0,
                    threshold_quantity(threshold->value, seen->capacity)),
        amount_text(plan, signal, FALSE, seen->available), blame(plan, victim, signal));
}

/* byEvictionPriority in helpers.go: memory comes first. Of others a map decides there; here their
 * place in the list. */
static const Threshold *
first_ripe(const Eviction *eviction)
{
    const Threshold *first = NULL;

    for (unsigned i = 0; i < eviction->thresholds.n; i++) {
        const Threshold *threshold = &eviction->thresholds.items[i];
        if ((eviction->ripe & 1u << i) != 0 &&
            (first == NULL ||
             (threshold->signal == SIGNAL_MEMORY && first->signal != SIGNAL_MEMORY)))
            first = threshold;
    }
    return first;
}

static void
add_attempt(const Kubelet *self, Plan *plan, const Threshold *threshold)
{
    const Object *node = informer_get(self->nodes, self->node_key);

    if (node != NULL)
        plan_event(plan, node, "Warning", "EvictionThresholdMet", "Attempting to reclaim %s",
                   signal_resource(threshold->signal));
}

static void
decide_pass(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Threshold *threshold = first_ripe(self->eviction);
    const PodWorker *victim;

    switch (
        (PassAction)plan_judge(plan, &kubelet_eviction_rules, pass_facts(self, plan_now(plan)))) {
    case LEAVE:
        return;
    case EVICT_LIMITED:
        for (unsigned i = 0; i < self->workers->len; i++)
            if (may_be_over(self, self->workers->pdata[i]))
                evict_over(plan, self->workers->pdata[i]);
        return;
    case EVICT_ONE:
        add_attempt(self, plan, threshold);
        victim = find_victim(self, threshold->signal, plan_now(plan));
        add_eviction(plan, victim, pressure_message(self, plan, threshold, victim),
                     threshold->signal);
        return;
    case TELL:
        add_attempt(self, plan, threshold);
        return;
    }
    g_assert_not_reached();
}

/* EVM-34: podResourcesAreReclaimed() in kubelet_pods.go. */
static gboolean
victims_are_left(const Kubelet *self)
{
    for (unsigned i = 0; i < self->workers->len; i++) {
        const PodWorker *worker = self->workers->pdata[i];
        if (worker->evicted && worker->evicted_at >= self->eviction->acted_at &&
            (worker->step != WORKER_FINISHED || pod_worker_has_mount(worker, MOUNT_UNCERTAIN)))
            return TRUE;
    }
    return FALSE;
}

static void await_cleanup(Kubelet *self);

static void
look_at_victims(Sim *sim, void *data)
{
    Kubelet *self = data;
    Eviction *eviction = self->eviction;

    eviction->cleanup = 0;
    if (sim_now(sim) - eviction->acted_at < CLEANUP_TIMEOUT && victims_are_left(self)) {
        await_cleanup(self);
        return;
    }
    eviction->has_victims = FALSE;
    eviction->origin = sim_now(sim); /* the next pass comes at once */
    pressure_look(self);
}

static const SimEventType cleanup_event = {
    .name = "kubelet/looks at evicted pods",
    .fire = look_at_victims,
};

static void
await_cleanup(Kubelet *self)
{
    self->eviction->cleanup =
        sim_after(self->base.sim, CLEANUP_PERIOD, &cleanup_event, self, WAIT_RUNTIME);
}

void
eviction_apply(Kubelet *self, const PlanChange *change)
{
    Eviction *eviction = self->eviction;

    if (!eviction->has_victims) {
        eviction->has_victims = TRUE;
        eviction->acted_at = sim_now(self->base.sim);
        sim_cancel(self->base.sim, self->pressure->event);
        self->pressure->event = 0;
        await_cleanup(self);
    }
    kubelet_count_eviction(self, eviction_cause_name((unsigned)change->number));
    self->pod_calls->evict((PodWorker *)change->pointer, change->text, change->number < N_SIGNALS);
}

static void
pass_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    Kubelet *self = data;

    (void)plan, (void)end, (void)message;
    self->eviction->acting = FALSE;
}

void
eviction_act(Kubelet *self)
{
    if (self->eviction == NULL || eviction_is_busy(self) ||
        rules_find(&kubelet_eviction_rules, pass_facts(self, sim_now(self->base.sim)), NULL)
                ->then == LEAVE)
        return;
    self->eviction->acting = TRUE;
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_pass,
        .key = self->node_key,
        .done = pass_done,
    });
}

/* ---- Admission ---- */

typedef enum {
    PRESSED = 1 << 0,
    ONLY_MEMORY = 1 << 1, /* no other pressure */
    VITAL = 1 << 2,       /* the pod is critical */
    BEST_EFFORT = 1 << 3,
    TOLERATES = 1 << 4, /* the taint of memory pressure */
    ADMIT_FACTS_END = 1 << 5,
} AdmitFacts;

typedef enum {
    ADMIT,
    REFUSE,
} AdmitAction;

/* Admit() in eviction_manager.go. */
static const Rule admit_table[] = {
    {"EVM-41", 0,                                               PRESSED,             ADMIT },
    {"EVM-42", PRESSED | VITAL,                                 0,                   ADMIT },
    {"EVM-43", PRESSED | ONLY_MEMORY,                           VITAL | BEST_EFFORT, ADMIT },
    {"EVM-44", PRESSED | ONLY_MEMORY | BEST_EFFORT | TOLERATES, VITAL,               ADMIT },
    {"EVM-45", PRESSED | ONLY_MEMORY | BEST_EFFORT,             VITAL | TOLERATES,   REFUSE},
    {"EVM-46", PRESSED,                                         VITAL | ONLY_MEMORY, REFUSE},
};

static const RuleBound admit_bounds[] = {
    {.given = ONLY_MEMORY, .all = PRESSED},
};

const RuleTable kubelet_admit_rules = RULE_TABLE(
    "kubelet: pods under pressure", ADMIT_FACTS_END, admit_table, RULE_BOUNDS(admit_bounds));

static unsigned
admit_facts(const Kubelet *self, const Object *pod)
{
    static const Taint memory_taint = {.key = "node.kubernetes.io/memory-pressure",
                                       .effect = TAINT_NO_SCHEDULE};
    const PodSpec *spec = POD_CONST(pod)->spec;
    PodLocalLimits limits;
    unsigned facts = PRESSED;

    pod_local_limits_read(spec, &limits);
    facts |= self->pressure->pressures == 1u << NODE_MEMORY_PRESSURE ? ONLY_MEMORY : 0;
    facts |= pod_worker_is_critical(pod) ? VITAL : 0;
    facts |= limits.asks_nothing ? BEST_EFFORT : 0;
    facts |= tolerations_find(spec->tolerations, &memory_taint) != NULL ? TOLERATES : 0;
    return facts;
}

const char *
eviction_refusal(const Kubelet *self, const Object *pod)
{
    static const char *const names[N_NODE_PRESSURES] = {"MemoryPressure", "DiskPressure",
                                                        "PIDPressure"};
    g_autoptr(GString) list = NULL;

    if (self->pressure->pressures == 0 ||
        rules_find(&kubelet_admit_rules, admit_facts(self, pod), NULL)->then == ADMIT)
        return NULL;
    list = g_string_new(NULL);
    for (unsigned i = 0; i < N_NODE_PRESSURES; i++)
        if ((self->pressure->pressures & 1u << i) != 0)
            g_string_append_printf(list, "%s%s", list->len > 0 ? " " : "", names[i]);
    return strings_internf(self->base.strings, "The node had condition: [%s]. ", list->str);
}
