/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "modelled-private.h"

/* Luck: latency and errors */

SimTime
luck_latency(const CsiModelledDriver *self, const ModelledCall *call, unsigned latency)
{
    const SimDist *dist = self->options.latency[latency];

    if (dist == NULL)
        return 0;
    return MAX(0, sim_dist_draw(dist, self->latency_streams[latency], call->entity, call->n));
}

unsigned
luck_latency_kind(const CsiModelledDriver *self, const ModelledCall *call, CallVerdict verdict)
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
times_so_far(const ErrorState *state, const BackendSubject *subject)
{
    if (!state->error.per_volume)
        return state->n_times;
    return state->n_times_of == NULL
               ? 0
               : GPOINTER_TO_UINT(g_hash_table_lookup(state->n_times_of, subject));
}

static void
count_error(ErrorState *state, BackendSubject *subject)
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

void
luck_error(CsiModelledDriver *self, ModelledCall *call)
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

gboolean
luck_error_is_valid(const CsiModelledError *error)
{
    return error->code > CSI_OK && error->code < CSI_N_CODES && error->probability > 0 &&
           error->probability <= 1;
}

void
luck_clear_errors(CsiModelledDriver *self)
{
    for (unsigned i = 0; i < self->n_errors; i++)
        g_clear_pointer(&self->errors[i].n_times_of, g_hash_table_unref);
    g_clear_pointer(&self->errors, g_free);
    self->n_errors = 0;
}
