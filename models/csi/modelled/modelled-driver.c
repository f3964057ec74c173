/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way of a call through the modelled driver. It arrives: its form is checked, its volume
 * locked, its luck drawn. It is served: past the limits, for as long as its latency. It is done:
 * checked again, as the world may have changed, carried out, answered. */
#include "modelled-private.h"

#include <stdarg.h>
#include <string.h>

/* In the order of CsiLatency, after the methods. */
static const char *const more_latency_names[CSI_N_LATENCIES - CSI_N_METHODS] = {
    "CreateVolumeFromSnapshot",
    "CreateVolumeFromVolume",
    "NodeStageVolumeFormatted",
    "SnapshotReady",
    "Repeat",
    "Refusal",
};

const char *
csi_latency_name(CsiLatency latency)
{
    unsigned i = latency;

    g_assert(i < CSI_N_LATENCIES);
    return i < CSI_N_METHODS ? csi_method_name((CsiMethod)i)
                             : more_latency_names[i - CSI_N_METHODS];
}

gboolean
csi_latency_parse(const char *name, CsiLatency *latency)
{
    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        if (strcmp(csi_latency_name((CsiLatency)i), name) == 0) {
            *latency = (CsiLatency)i;
            return TRUE;
        }
    }
    return FALSE;
}

Verdict
modelled_refuse(ModelledCall *call, CsiCode code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_autofree char *message = g_strdup_vprintf(format, args);
    va_end(args);
    call->refusal_code = code;
    call->refusal = strings_intern(call->base.driver->strings, message);
    return VERDICT_REFUSE;
}

static CsiModelledDriver *
driver_of(const ModelledCall *call)
{
    return (CsiModelledDriver *)call->base.driver;
}

/* Limits */

typedef struct {
    SimTokenBucket bucket;
    SimStation *station; /* NULL: no limit on calls at once */
} LimitState;

typedef struct {
    unsigned n_limits;
    LimitState states[];
} LimitStates;

/* Other limits may come into force while calls wait for these. */
struct Limits {
    RefCount refs;
    CsiModelledDriver *driver;
    CsiModelledLimit *limits;
    unsigned n_limits;
    LimitStates *states;  /* of the limits that are not per node */
    GHashTable *of_nodes; /* Node -> LimitStates; NULL until used */
};

static void serve(void *self, void *job);

static LimitStates *
limit_states_new(const Limits *self)
{
    CsiModelledDriver *driver = self->driver;
    LimitStates *states = g_malloc0(sizeof *states + self->n_limits * sizeof states->states[0]);

    states->n_limits = self->n_limits;
    for (unsigned i = 0; i < self->n_limits; i++) {
        const CsiModelledLimit *limit = &self->limits[i];
        sim_token_bucket_init(&states->states[i].bucket, limit->qps, limit->burst);
        if (limit->concurrent > 0)
            states->states[i].station = sim_station_new(driver->base.sim, limit->concurrent, serve,
                                                        driver, driver->base.waits.throttled);
    }
    return states;
}

static void
limit_states_free(void *data)
{
    LimitStates *states = data;

    for (unsigned i = 0; i < states->n_limits; i++)
        sim_station_free(states->states[i].station);
    g_free(states);
}

static Limits *
limits_new(CsiModelledDriver *driver, const CsiModelledLimit *limits, unsigned n_limits)
{
    Limits *self = g_new0(Limits, 1);

    self->refs = REF_COUNT_ONE;
    self->driver = driver;
    self->limits = g_memdup2(limits, n_limits * sizeof *limits);
    self->n_limits = n_limits;
    self->states = limit_states_new(self);
    return self;
}

static void
limits_unref(Limits *self)
{
    if (!ref_count_drop(&self->refs))
        return;
    limit_states_free(self->states);
    g_clear_pointer(&self->of_nodes, g_hash_table_unref);
    g_free(self->limits);
    g_free(self);
}

static gboolean
limit_applies(const CsiModelledLimit *limit, const ModelledCall *call)
{
    CsiMethod method = call->base.request->method;

    if (limit->per_node && call->node == NULL)
        return FALSE; /* detached from all nodes at once, or about none */
    if (limit->methods != 0)
        return (limit->methods >> method & 1) != 0;
    return csi_method_service(method) == CSI_CONTROLLER &&
           (modelled_method(method)->flags & REACHES_BACK_END) != 0;
}

static LimitState *
limit_state(Limits *self, unsigned i, Node *node)
{
    if (!self->limits[i].per_node)
        return &self->states->states[i];
    if (self->of_nodes == NULL)
        self->of_nodes = g_hash_table_new_full(NULL, NULL, NULL, limit_states_free);
    LimitStates *states = g_hash_table_lookup(self->of_nodes, node);
    if (states == NULL) {
        states = limit_states_new(self);
        g_hash_table_insert(self->of_nodes, node, states);
    }
    return &states->states[i];
}

/* Gives back the servers; who waits for them goes on now. */
static void
leave_limits(ModelledCall *call)
{
    Limits *limits = g_steal_pointer(&call->limits);

    if (limits == NULL)
        return;
    if (call->queue != NULL)
        sim_station_withdraw(call->queue, call);
    call->queue = NULL;
    for (unsigned i = limits->n_limits; i > 0 && !driver_of(call)->closing; i--)
        if ((call->held >> (i - 1) & 1) != 0)
            sim_station_done(limit_state(limits, i - 1, call->node)->station);
    call->held = 0;
    limits_unref(limits);
}

/* Gives up the call's place in queues and its servers, lock and uses; again is fine. */
static void
call_release(ModelledCall *call)
{
    CsiModelledDriver *self = driver_of(call);

    sim_cancel(self->base.sim, call->event);
    call->event = 0;
    if (G_UNLIKELY(self->sharing != NULL))
        modelled_share_no_more(self, call);
    if (call->lock != NULL)
        *call->lock = FALSE;
    call->lock = NULL;
    if (call->uses_snapshot)
        call->snapshot->n_users--;
    call->uses_snapshot = FALSE;
    if (G_UNLIKELY(self->trouble != NULL))
        modelled_trouble_forget(self, call);
    if (call->volume_node != NULL) {
        call->volume_node->n_calls--;
        modelled_drop_idle_node(call->volume, call->volume_node);
        call->volume_node = NULL;
    }
    leave_limits(call);
}

static void
finish(ModelledCall *call, const CsiResponse *response)
{
    call_release(call);
    csi_call_finish(&call->base, response);
}

static void
finish_with_error(ModelledCall *call, CsiCode code, const char *message)
{
    CsiResponse response = {.code = code, .message = message};

    finish(call, &response);
}

/* The moments of a call */

static void
call_refused(Sim *sim, void *data)
{
    ModelledCall *call = data;

    (void)sim;
    call->event = 0;
    finish_with_error(call, call->refusal_code, call->refusal);
}

static const SimEventType refused_event = {.name = "csi/refused", .fire = call_refused};

/* The back end is done with the call. The caller may have gone long ago: what is done is done all
 * the same, and a retry will find it. This is how real clusters leak volumes. */
void
modelled_end(Sim *sim, void *data)
{
    ModelledCall *call = data;
    CsiModelledDriver *self = driver_of(call);
    const MethodClass *method = modelled_method(call->base.request->method);
    CsiResponse response = {.code = CSI_OK};

    (void)sim;
    call->event = 0;
    if (G_UNLIKELY(self->sharing != NULL))
        modelled_share_no_more(self, call);
    if (G_UNLIKELY(self->trouble != NULL) && modelled_trouble_at_end(self, call))
        return;
    if (call->fails && !call->error_after_effect) {
        finish_with_error(call, call->error_code, call->error_message);
        return;
    }
    Verdict verdict = method->check == NULL ? VERDICT_GO : method->check(self, call);
    if (verdict == VERDICT_REFUSE) {
        finish_with_error(call, call->refusal_code, call->refusal);
        return;
    }
    if (verdict == VERDICT_GO && method->apply != NULL)
        method->apply(self, call);
    if (call->fails) {
        finish_with_error(call, call->error_code, call->error_message);
        return;
    }
    if (method->answer != NULL)
        method->answer(self, call, &response);
    finish(call, &response);
}

static const SimEventType done_event = {.name = "csi/done", .fire = modelled_end};

static void
schedule(ModelledCall *call, SimTime at, const SimEventType *type, SimWait wait)
{
    call->event = sim_at_detail(driver_of(call)->base.sim, at, type, call, wait,
                                CSI_WAIT_DETAIL(call->base.request->method));
}

void
modelled_schedule_end(ModelledCall *call, SimTime at)
{
    schedule(call, at, &done_event, driver_of(call)->base.waits.latency);
}

static void pass_limits(ModelledCall *call);

/* A station has a server for this call. */
static void
serve(void *self, void *job)
{
    ModelledCall *call = job;

    (void)self;
    call->queue = NULL;
    call->held |= UINT32_C(1) << call->limit;
    call->limit++;
    call->has_token = FALSE;
    pass_limits(call);
}

static void
token_granted(Sim *sim, void *data)
{
    ModelledCall *call = data;

    (void)sim;
    call->event = 0;
    pass_limits(call);
}

static const SimEventType token_event = {.name = "csi/token", .fire = token_granted};

/* Takes limit after limit, until one makes it wait or all are passed. */
static void
pass_limits(ModelledCall *call)
{
    CsiModelledDriver *self = driver_of(call);
    SimTime now = sim_now(self->base.sim);

    while (call->limit < call->limits->n_limits) {
        if (!limit_applies(&call->limits->limits[call->limit], call)) {
            call->limit++;
            continue;
        }
        LimitState *state = limit_state(call->limits, call->limit, call->node);
        if (!call->has_token) {
            SimTime granted = sim_token_bucket_reserve(&state->bucket, now);
            call->has_token = TRUE;
            if (granted > now) {
                schedule(call, granted, &token_event, self->base.waits.throttled);
                return;
            }
        }
        if (state->station != NULL) { /* goes on in serve(), now or later */
            call->queue = state->station;
            sim_station_submit(state->station, call);
            return;
        }
        call->limit++;
        call->has_token = FALSE;
    }
    if (G_UNLIKELY(self->sharing != NULL) && call->latency > 0)
        modelled_share(self, call);
    else
        modelled_schedule_end(call, sim_time_add(now, call->latency));
}

/* Luck: latency and errors */

static SimTime
draw_latency(const CsiModelledDriver *self, const ModelledCall *call, unsigned latency)
{
    const SimDist *dist = self->options.latency[latency];

    if (dist == NULL)
        return 0;
    return MAX(0, sim_dist_draw(dist, self->latency_streams[latency], call->entity, call->n));
}

static unsigned
latency_of(const CsiModelledDriver *self, const ModelledCall *call, Verdict verdict)
{
    const CsiRequest *request = call->base.request;
    unsigned special = CSI_N_LATENCIES;

    if (verdict == VERDICT_REPEAT)
        special = CSI_LATENCY_REPEAT;
    else if (request->method == CSI_CREATE_VOLUME && request->source_kind == CSI_SOURCE_SNAPSHOT)
        special = CSI_LATENCY_CREATE_FROM_SNAPSHOT;
    else if (request->method == CSI_CREATE_VOLUME && request->source_kind == CSI_SOURCE_VOLUME)
        special = CSI_LATENCY_CREATE_FROM_VOLUME;
    else if (request->method == CSI_NODE_STAGE_VOLUME && call->volume->is_formatted)
        special = CSI_LATENCY_STAGE_FORMATTED;
    return special < CSI_N_LATENCIES && self->options.latency[special] != NULL ? special
                                                                               : request->method;
}

static gboolean
zone_is_preferred(const CsiRequest *request, const char *zone)
{
    if (request->method != CSI_CREATE_VOLUME || request->n_preferred == 0)
        return FALSE;
    const StringMap *first = request->preferred[0];
    for (unsigned i = 0; first != NULL && i < first->n_pairs; i++)
        if (strings_same(first->pairs[i].value, zone))
            return TRUE;
    return FALSE;
}

static unsigned
times_so_far(const ErrorState *state, const Subject *subject)
{
    if (!state->error.per_volume)
        return state->n_times;
    return state->n_times_of == NULL
               ? 0
               : GPOINTER_TO_UINT(g_hash_table_lookup(state->n_times_of, subject));
}

static void
count_error(ErrorState *state, Subject *subject)
{
    state->n_times++;
    if (!state->error.per_volume)
        return;
    if (state->n_times_of == NULL)
        state->n_times_of = g_hash_table_new(NULL, NULL);
    unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(state->n_times_of, subject));
    g_hash_table_insert(state->n_times_of, subject, GUINT_TO_POINTER(n + 1));
}

static gboolean
error_applies(const CsiModelledDriver *self, unsigned i, const ModelledCall *call)
{
    const ErrorState *state = &self->errors[i];
    const CsiModelledError *error = &state->error;
    const CsiRequest *request = call->base.request;
    SimTime now = sim_now(self->base.sim);

    if (error->method != CSI_N_METHODS && error->method != request->method)
        return FALSE;
    if (now < error->from || (error->until > 0 && now >= error->until))
        return FALSE;
    if (error->zone != NULL && !zone_is_preferred(request, error->zone))
        return FALSE;
    if (error->node != NULL && (call->node == NULL || !strings_same(call->node->name, error->node)))
        return FALSE;
    if (error->count > 0 && times_so_far(state, call->subject) >= error->count)
        return FALSE;
    return error->probability >= 1.0 ||
           sim_random_uniform(self->error_streams[request->method],
                              sim_hash_combine(call->entity, i), call->n) < error->probability;
}

/* The first error that applies fails the call. It is drawn on arrival, so that setting other errors
 * later leaves calls in flight alone. */
static void
draw_error(CsiModelledDriver *self, ModelledCall *call)
{
    for (unsigned i = 0; i < self->n_errors; i++) {
        ErrorState *state = &self->errors[i];
        if (!error_applies(self, i, call))
            continue;
        count_error(state, call->subject);
        call->fails = TRUE;
        call->error_code = state->error.code;
        call->error_message =
            state->error.message != NULL ? state->error.message : "injected error";
        call->error_after_effect = state->error.after_effect;
        if (state->error.latency != NULL)
            call->latency = MAX(0, sim_dist_draw(state->error.latency,
                                                 self->latency_streams[call->base.request->method],
                                                 call->entity, call->n));
        return;
    }
}

/* Arrival */

static void
find_volume(CsiModelledDriver *self, ModelledCall *call, gboolean adopts)
{
    const CsiRequest *request = call->base.request;

    call->volume = modelled_volume_by_id(self, request->volume_id);
    if (adopts && self->options.adopts_unknown_volumes &&
        !modelled_volume_is(call->volume, request->volume_id))
        csi_modelled_driver_add_volume(self, request->volume_id, request->required_bytes, NULL, 0);
    call->subject = &call->volume->subject;
}

/* What the call is about. The records are there afterwards, whether or not what they tell of
 * exists. */
static void
find_subject(CsiModelledDriver *self, ModelledCall *call, const MethodClass *method)
{
    const CsiRequest *request = call->base.request;
    gboolean adopts = (method->flags & ADOPTS) != 0;

    call->subject = &self->subject;
    if (request->served_by != NULL)
        call->node = modelled_node_by_name(self, request->served_by);
    switch (method->subject) {
    case SUBJECT_NONE:
        break;
    case SUBJECT_NODE: /* NULL: capabilities, from the controller's socket */
        if (call->node != NULL)
            call->subject = &call->node->subject;
        break;
    case SUBJECT_NEW_VOLUME:
        call->volume = modelled_volume_by_name(self, request->name);
        call->subject = &call->volume->subject;
        if (request->source_kind == CSI_SOURCE_SNAPSHOT)
            call->snapshot = modelled_find_snapshot(self, request->source_id);
        else if (request->source_kind == CSI_SOURCE_VOLUME)
            call->source_volume = modelled_find_volume(self, request->source_id);
        break;
    case SUBJECT_VOLUME:
        find_volume(self, call, adopts);
        break;
    case SUBJECT_VOLUME_NODE:
        find_volume(self, call, adopts);
        call->node = request->node_id == NULL ? NULL : modelled_node_by_id(self, request->node_id);
        break;
    case SUBJECT_MOUNT:
        find_volume(self, call, adopts);
        break;
    case SUBJECT_NEW_SNAPSHOT:
        call->snapshot = modelled_snapshot_by_name(self, request->name);
        call->volume = modelled_volume_by_id(self, request->volume_id);
        call->subject = &call->snapshot->subject;
        break;
    case SUBJECT_SNAPSHOT:
        call->snapshot = modelled_snapshot_by_id(self, request->snapshot_id);
        call->subject = &call->snapshot->subject;
        break;
    }
    call->entity = call->subject->hash;
    if (call->volume != NULL && call->node != NULL) {
        call->entity = sim_hash_combine(call->entity, call->node->subject.hash);
        call->volume_node = modelled_volume_node(call->volume, call->node);
        call->volume_node->n_calls++;
    }
}

/* CSI-46: one call at a time; the node plugin is another process than the controller's and knows
 * its own calls only. */
static gboolean *
lock_of(const CsiModelledDriver *self, ModelledCall *call, const MethodClass *method)
{
    if (!method->locks || self->options.lock == CSI_LOCK_NONE)
        return NULL;
    switch (method->subject) {
    case SUBJECT_MOUNT:
        return &call->volume_node->node_busy;
    case SUBJECT_NEW_SNAPSHOT:
    case SUBJECT_SNAPSHOT:
        return &call->snapshot->busy;
    case SUBJECT_VOLUME_NODE:
        if (self->options.lock == CSI_LOCK_VOLUME_AND_NODE && call->volume_node != NULL)
            return &call->volume_node->controller_busy;
        return &call->volume->busy;
    case SUBJECT_NEW_VOLUME:
    case SUBJECT_VOLUME:
        return &call->volume->busy;
    case SUBJECT_NONE:
    case SUBJECT_NODE:
        break;
    }
    return NULL;
}

static Verdict
take_lock(const CsiModelledDriver *self, ModelledCall *call, const MethodClass *method)
{
    gboolean *lock = lock_of(self, call, method);

    if (lock == NULL)
        return VERDICT_GO;
    if (*lock) {
        const CsiRequest *request = call->base.request;
        const char *what = request->name != NULL          ? request->name
                           : request->snapshot_id != NULL ? request->snapshot_id
                                                          : request->volume_id;
        return modelled_refuse(call, CSI_ABORTED,
                               "an operation with the given name or id %s already exists", what);
    }
    *lock = TRUE;
    call->lock = lock;
    return VERDICT_GO;
}

static Verdict
arrive(CsiModelledDriver *self, ModelledCall *call)
{
    const CsiRequest *request = call->base.request;
    const MethodClass *method = modelled_method(request->method);

    if (modelled_check_request(self, call) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    find_subject(self, call, method);
    if (take_lock(self, call, method) == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    call->n = call->subject->n_calls[request->method]++;

    Verdict verdict = method->check == NULL ? VERDICT_GO : method->check(self, call);
    if (verdict == VERDICT_REFUSE)
        return VERDICT_REFUSE;
    if (request->method == CSI_CREATE_VOLUME && call->snapshot != NULL) {
        call->snapshot->n_users++;
        call->uses_snapshot = TRUE;
    }
    unsigned latency = latency_of(self, call, verdict);
    call->latency = draw_latency(self, call, latency);
    call->slowdown = self->options.slowdown[latency];
    if (G_UNLIKELY(self->trouble != NULL))
        call->latency = (SimTime)((double)call->latency * modelled_trouble_slowness(self));
    draw_error(self, call);
    return verdict;
}

void
modelled_begin(ModelledCall *call)
{
    CsiModelledDriver *self = driver_of(call);

    if (arrive(self, call) != VERDICT_REFUSE) {
        call->limits = self->limits;
        ref_count_add(&call->limits->refs);
        pass_limits(call);
        return;
    }
    SimTime delay = draw_latency(self, call, CSI_LATENCY_REFUSAL);
    schedule(call, sim_time_add(sim_now(self->base.sim), delay), &refused_event,
             self->base.waits.latency);
}

void
modelled_fail(ModelledCall *call, CsiCode code, const char *message, SimTime delay)
{
    CsiModelledDriver *self = driver_of(call);

    call->refusal_code = code;
    call->refusal = message;
    schedule(call, sim_time_add(sim_now(self->base.sim), delay), &refused_event,
             self->base.waits.latency);
}

void
modelled_fail_now(ModelledCall *call, CsiCode code, const char *message)
{
    finish_with_error(call, code, message);
}

static void
modelled_start(CsiDriver *driver, CsiCall *base)
{
    CsiModelledDriver *self = (CsiModelledDriver *)driver;
    ModelledCall *call = (ModelledCall *)base;

    if (G_LIKELY(self->trouble == NULL) || !modelled_trouble_on_arrival(self, call))
        modelled_begin(call);
}

/* CSI-5: a call outlives its caller, unless the driver gives up as the context of the call ends. */
static void
modelled_caller_gone(CsiDriver *driver, CsiCall *base)
{
    if (((CsiModelledDriver *)driver)->options.aborts_with_caller)
        finish_with_error((ModelledCall *)base, CSI_CANCELLED, "context canceled");
}

static void
modelled_call_clear(CsiDriver *driver, CsiCall *base)
{
    ModelledCall *call = (ModelledCall *)base;

    (void)driver;
    call_release(call);
    for (unsigned i = 0; call->entries != NULL && i < call->entries->len; i++)
        string_list_unref(
            (StringList *)g_array_index(call->entries, CsiEntry, i).published_node_ids);
    g_clear_pointer(&call->entries, g_array_unref);
}

/* The driver */

static void
free_errors(CsiModelledDriver *self)
{
    for (unsigned i = 0; i < self->n_errors; i++)
        g_clear_pointer(&self->errors[i].n_times_of, g_hash_table_unref);
    g_clear_pointer(&self->errors, g_free);
    self->n_errors = 0;
}

static void
modelled_free(CsiDriver *driver)
{
    CsiModelledDriver *self = (CsiModelledDriver *)driver;

    limits_unref(self->limits);
    free_errors(self);
    modelled_trouble_free(self->trouble);
    modelled_sharing_free(self->sharing);
    modelled_state_clear(self);
    csi_modelled_driver_set_pools(self, NULL, 0);
    string_list_unref((StringList *)self->options.mutable_keys);
    string_map_unref((StringMap *)self->options.volume_context);
    string_map_unref((StringMap *)self->options.publish_context);
}

static void
modelled_close(CsiDriver *driver)
{
    ((CsiModelledDriver *)driver)->closing = TRUE;
}

static gboolean
modelled_foresee_node_info(CsiDriver *base, const char *node_name, CsiResponse *response)
{
    const CsiModelledDriver *self = (const CsiModelledDriver *)base;
    const Node *node = modelled_node_by_name(self, node_name);

    if (node == NULL)
        return FALSE;
    *response = (CsiResponse){.code = CSI_OK};
    modelled_node_info(self, node, response);
    return TRUE;
}

static void
modelled_add_node(CsiDriver *base, const char *name, const char *node_id, const StringMap *segments)
{
    csi_modelled_driver_add_node((CsiModelledDriver *)base, name, node_id, segments);
}

static const CsiDriverClass modelled_class = {
    .name = "modelled",
    .call_size = sizeof(ModelledCall),
    .start = modelled_start,
    .caller_gone = modelled_caller_gone,
    .call_clear = modelled_call_clear,
    .close = modelled_close,
    .free = modelled_free,
    .foresee_node_info = modelled_foresee_node_info,
    .add_node = modelled_add_node,
};

CsiDriver *
csi_modelled_driver_base(CsiModelledDriver *self)
{
    return &self->base;
}

CsiModelledDriver *
csi_modelled_driver_cast(CsiDriver *driver)
{
    return driver->class == &modelled_class ? (CsiModelledDriver *)driver : NULL;
}

void
csi_modelled_options_init(CsiModelledOptions *options)
{
    *options = (CsiModelledOptions){
        .volume_bytes_default = INT64_C(1) << 30, /* as csi-driver-host-path and most others */
        .plugin_capabilities = CSI_PLUGIN_CONTROLLER_SERVICE |
                               CSI_PLUGIN_VOLUME_ACCESSIBILITY_CONSTRAINTS |
                               CSI_PLUGIN_EXPANSION_ONLINE,
        .controller_capabilities =
            CSI_CONTROLLER_CREATE_DELETE_VOLUME | CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME |
            CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY | CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT |
            CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER,
        .node_capabilities = CSI_NODE_STAGE_UNSTAGE_VOLUME | CSI_NODE_EXPAND_VOLUME_CAPABILITY |
                             CSI_NODE_GET_VOLUME_STATS_CAPABILITY |
                             CSI_NODE_SINGLE_NODE_MULTI_WRITER,
        .topologies_per_volume = 1,
    };
}

/* CSI-6 */
static gboolean
name_is_valid(const char *name)
{
    size_t length = name == NULL ? 0 : strlen(name);

    if (length == 0 || length > 63 || !g_ascii_isalnum(name[0]) ||
        !g_ascii_isalnum(name[length - 1]))
        return FALSE;
    return strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") ==
           length;
}

/* CSI-11: what must come with what. */
static const char *
capability_fault(const CsiModelledOptions *options)
{
    unsigned plugin = options->plugin_capabilities;
    unsigned controller = options->controller_capabilities;
    unsigned node = options->node_capabilities;

    if ((controller & CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES) != 0 &&
        (controller & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) == 0)
        return "LIST_VOLUMES_PUBLISHED_NODES needs PUBLISH_UNPUBLISH_VOLUME";
    if ((plugin & CSI_PLUGIN_EXPANSION_ONLINE) != 0 &&
        (controller & CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY) == 0 &&
        (node & CSI_NODE_EXPAND_VOLUME_CAPABILITY) == 0)
        return "ONLINE expansion needs EXPAND_VOLUME of the controller or the node";
    if ((plugin & CSI_PLUGIN_EXPANSION_OFFLINE) != 0 &&
        (controller & CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY) == 0)
        return "OFFLINE expansion needs EXPAND_VOLUME of the controller";
    if (controller != 0 && (plugin & CSI_PLUGIN_CONTROLLER_SERVICE) == 0)
        return "capabilities of the controller need CONTROLLER_SERVICE";
    return NULL;
}

static gboolean
error_is_valid(const CsiModelledError *error)
{
    return error->code > CSI_OK && error->code < CSI_N_CODES && error->probability > 0 &&
           error->probability <= 1;
}

static gboolean
options_check(const CsiModelledOptions *options, GError **error)
{
    const char *fault = capability_fault(options);

    if (!name_is_valid(options->name)) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "a driver's name has at most 63 letters, digits, \"-\" and \".\", the first "
                    "and last neither \"-\" nor \".\"");
        return FALSE;
    }
    if (options->volume_bytes_max > 0 && options->volume_bytes_min > options->volume_bytes_max)
        fault = "the smallest volume is larger than the largest";
    if (options->attach_limit < 0 || options->attach_limit_reported < 0) /* CSI-36 */
        fault = "the attach limit is negative";
    if (options->topologies_per_volume == 0)
        fault = "a volume lives in at least one place";
    if (options->n_limits > 32)
        fault = "more than 32 limits";
    for (unsigned i = 0; i < CSI_N_LATENCIES; i++)
        if (!(ABS(options->slowdown[i].exponent) <= CSI_SLOWDOWN_MAX) ||
            !(options->slowdown[i].undisturbed >= 0))
            fault = "a slowdown is an exponent from -4 to 4, beyond some number of calls";
    for (unsigned i = 0; i < options->n_errors; i++)
        if (!error_is_valid(&options->errors[i]))
            fault =
                "an injected error needs a code other than OK and a probability above 0, at most 1";
    if (fault != NULL)
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s: %s", options->name, fault);
    return fault == NULL;
}

static void
make_streams(CsiModelledDriver *self)
{
    Sim *sim = self->base.sim;

    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        g_autofree char *name =
            g_strdup_printf("csi/%s/%s", self->base.name, csi_latency_name((CsiLatency)i));
        self->latency_streams[i] = sim_stream(sim, name);
    }
    for (unsigned i = 0; i < CSI_N_METHODS; i++) {
        g_autofree char *name =
            g_strdup_printf("csi/%s/%s/errors", self->base.name, csi_method_name((CsiMethod)i));
        self->error_streams[i] = sim_stream(sim, name);
    }
    g_autofree char *name = g_strdup_printf("csi/%s/ids", self->base.name);
    self->id_stream = sim_stream(sim, name);
    self->subject.hash = sim_hash_string(self->base.name);
}

CsiModelledDriver *
csi_modelled_driver_new(Sim *sim,
                        Strings *strings,
                        const CsiModelledOptions *options,
                        GError **error)
{
    if (!options_check(options, error))
        return NULL;

    CsiModelledDriver *self = g_new0(CsiModelledDriver, 1);
    csi_driver_init(&self->base, &modelled_class, sim, strings, options->name, &options->waits);
    self->options = *options;
    self->options.name = self->base.name;
    self->options.vendor_version = strings_intern(
        strings, options->vendor_version != NULL ? options->vendor_version : "1.0.0");
    string_list_ref(options->mutable_keys);
    string_map_ref(options->volume_context);
    string_map_ref(options->publish_context);
    csi_modelled_driver_set_errors(self, options->errors, options->n_errors);
    csi_modelled_driver_set_pools(self, options->pools, options->n_pools);
    self->limits = limits_new(self, options->limits, options->n_limits);
    self->options.errors = NULL;
    self->options.limits = NULL;
    self->options.pools = NULL;
    self->sharing = modelled_sharing_new(options);
    modelled_state_init(self);
    make_streams(self);
    return self;
}

void
csi_modelled_driver_set_latency(CsiModelledDriver *self, CsiLatency latency, const SimDist *dist)
{
    g_assert(latency < CSI_N_LATENCIES);
    self->options.latency[latency] = dist;
}

void
csi_modelled_driver_set_errors(CsiModelledDriver *self,
                               const CsiModelledError *errors,
                               unsigned n_errors)
{
    free_errors(self);
    self->errors = n_errors == 0 ? NULL : g_new0(ErrorState, n_errors);
    self->n_errors = n_errors;
    for (unsigned i = 0; i < n_errors; i++) {
        g_assert(error_is_valid(&errors[i]));
        self->errors[i].error = errors[i];
    }
}

void
csi_modelled_driver_set_limits(CsiModelledDriver *self,
                               const CsiModelledLimit *limits,
                               unsigned n_limits)
{
    g_assert(n_limits <= 32);
    limits_unref(self->limits);
    self->limits = limits_new(self, limits, n_limits);
}

void
csi_modelled_driver_set(CsiModelledDriver *self, const CsiModelledOptions *options)
{
    memcpy(self->options.latency, options->latency, sizeof options->latency);
    csi_modelled_driver_set_errors(self, options->errors, options->n_errors);
    csi_modelled_driver_set_limits(self, options->limits, options->n_limits);
    csi_modelled_driver_set_pools(self, options->pools, options->n_pools);
    self->options.attach_limit = options->attach_limit;
    self->options.attach_limit_reported = options->attach_limit_reported;
    self->options.volume_bytes_min = options->volume_bytes_min;
    self->options.volume_bytes_max = options->volume_bytes_max;
    self->options.ready_at = options->ready_at;
}

void
csi_modelled_driver_set_attach_limit(CsiModelledDriver *self, int limit)
{
    self->options.attach_limit = limit;
    self->options.attach_limit_reported = 0;
}
