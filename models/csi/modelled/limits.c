/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits that a back end puts on calls: a rate (token bucket), calls at once (station), changes of
 * one volume in a time (CSI-85), each for the driver or for each node. A call takes limit after
 * limit in the order of the scenario and holds what it has while it waits for the next. New limits
 * may come into force meanwhile; calls under way stay with theirs. */
#include "modelled-private.h"
#include "sim/station.h"
#include "sim/token-bucket.h"

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
    void (*passed)(ModelledCall *call);
    CsiModelledLimit *limits;
    unsigned n_limits;
    LimitStates *states;  /* of the limits that are not per node */
    GHashTable *of_nodes; /* BackendNode -> LimitStates; NULL until used */
    GHashTable **changes; /* (array of n_limits): volume id -> GArray of SimTime; NULL until used */
};

static void limits_serve(void *self, void *job);

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
            states->states[i].station =
                sim_station_new(driver->base.sim, limit->concurrent, limits_serve, driver,
                                driver->base.waits.throttled);
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

Limits *
limits_new(CsiModelledDriver *driver,
           const CsiModelledLimit *limits,
           unsigned n_limits,
           void (*passed)(ModelledCall *call))
{
    Limits *self = g_new0(Limits, 1);

    self->refs = REF_COUNT_ONE;
    self->driver = driver;
    self->passed = passed;
    self->limits = g_memdup2(limits, n_limits * sizeof *limits);
    self->n_limits = n_limits;
    self->states = limit_states_new(self);
    self->changes = g_new0(GHashTable *, n_limits);
    return self;
}

static void
limits_free(Limits *self)
{
    limit_states_free(self->states);
    g_clear_pointer(&self->of_nodes, g_hash_table_unref);
    for (unsigned i = 0; i < self->n_limits; i++)
        g_clear_pointer(&self->changes[i], g_hash_table_unref);
    g_free(self->changes);
    g_free(self->limits);
    g_free(self);
}

UNREF_DEFINE(Limits, limits, limits_free)

static gboolean
limit_applies(const CsiModelledLimit *limit, const ModelledCall *call)
{
    CsiMethod method = call->base.request->method;

    if (limit->per_node && call->node == NULL)
        return FALSE; /* detached from all nodes at once, or about none */
    if (limit->methods != 0)
        return (limit->methods >> method & 1) != 0;
    return csi_method_service(method) != CSI_NODE &&
           (modelled_method(method)->flags & REACHES_BACK_END) != 0;
}

/* ---- Changes of each volume: CSI-85 ---- */

static gboolean
limit_counts_changes(const CsiModelledLimit *limit, const ModelledCall *call)
{
    return limit->per_volume.calls > 0 && call->base.request->volume_id != NULL &&
           limit_applies(limit, call);
}

const CsiModelledLimit *
limits_used_up(const Limits *self, const ModelledCall *call)
{
    SimTime now = sim_now(self->driver->base.sim);

    for (unsigned i = 0; i < self->n_limits; i++) {
        const CsiModelledLimit *limit = &self->limits[i];
        if (!limit_counts_changes(limit, call) || self->changes[i] == NULL)
            continue;
        const GArray *times = g_hash_table_lookup(self->changes[i], call->base.request->volume_id);
        if (times != NULL && times->len >= limit->per_volume.calls &&
            now - g_array_index(times, SimTime, times->len - limit->per_volume.calls) <
                limit->per_volume.within)
            return limit;
    }
    return NULL;
}

void
limits_count_change(Limits *self, const ModelledCall *call)
{
    const char *id = call->base.request->volume_id;
    SimTime now = sim_now(self->driver->base.sim);

    for (unsigned i = 0; i < self->n_limits; i++) {
        if (!limit_counts_changes(&self->limits[i], call))
            continue;
        if (self->changes[i] == NULL)
            self->changes[i] =
                g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
        GArray *times = g_hash_table_lookup(self->changes[i], id);
        if (times == NULL) {
            times = g_array_new(FALSE, FALSE, sizeof(SimTime));
            g_hash_table_insert(self->changes[i], (char *)id, times);
        }
        g_array_append_val(times, now);
    }
}

/* ---- Waiting ---- */

static LimitState *
limit_state(Limits *self, unsigned i, BackendNode *node)
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

void
limits_leave(ModelledCall *call)
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

static void limits_pass(ModelledCall *call);

/* A station has a server for this call. */
static void
limits_serve(void *self, void *job)
{
    ModelledCall *call = job;

    (void)self;
    call->queue = NULL;
    call->held |= UINT32_C(1) << call->limit;
    call->limit++;
    call->has_token = FALSE;
    limits_pass(call);
}

static void
token_granted(Sim *sim, void *data)
{
    ModelledCall *call = data;

    (void)sim;
    call->event = 0;
    limits_pass(call);
}

static const SimEventType token_event = {.name = "csi/token", .fire = token_granted};

/* Takes limit after limit, until one makes it wait or all are passed. */
static void
limits_pass(ModelledCall *call)
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
                call->event = sim_at_detail(self->base.sim, granted, &token_event, call,
                                            self->base.waits.throttled,
                                            CSI_WAIT_DETAIL(call->base.request->method));
                return;
            }
        }
        if (state->station != NULL) { /* goes on in limits_serve(), now or later */
            call->queue = state->station;
            sim_station_submit(state->station, call);
            return;
        }
        call->limit++;
        call->has_token = FALSE;
    }
    call->limits->passed(call);
}

void
limits_enter(Limits *self, ModelledCall *call)
{
    call->limits = self;
    ref_count_add(&self->refs);
    limits_pass(call);
}
