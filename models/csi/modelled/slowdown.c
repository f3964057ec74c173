/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "modelled-private.h"

#include <math.h>

#include "sim/portable-math.h"

/* Calls that are served at once slow each other down, each by its own slowdown. Whenever a call
 * comes or goes, the rest of the others takes another time. Drivers without slowdowns have no
 * Sharing. */

struct Sharing {
    GPtrArray *calls;   /* of ModelledCall, being served, oldest first */
    SimTime settled_at; /* until when their work is counted */
};

Sharing *
modelled_sharing_new(const CsiModelledOptions *options)
{
    for (unsigned i = 0; i < CSI_N_LATENCIES; i++) {
        if (options->slowdown[i].exponent == 0)
            continue;
        Sharing *self = g_new0(Sharing, 1);
        self->calls = g_ptr_array_new();
        return self;
    }
    return NULL;
}

void
modelled_sharing_free(Sharing *self)
{
    if (self != NULL)
        g_ptr_array_unref(self->calls);
    g_free(self);
}

double
csi_slowdown_factor(CsiSlowdown slowdown, unsigned n)
{
    double undisturbed = MAX(slowdown.undisturbed, 1);

    return n <= undisturbed || slowdown.exponent == 0 ? 1
                                                      : pm_pow(n / undisturbed, slowdown.exponent);
}

/* The pace of a call among the present ones. */
static double
factor_of(const Sharing *self, const ModelledCall *call)
{
    return csi_slowdown_factor(call->slowdown, self->calls->len);
}

/* Counts the work done since the last change. */
static void
slowdown_settle(Sharing *self, SimTime now)
{
    double elapsed = (double)(now - self->settled_at);

    for (unsigned i = 0; elapsed > 0 && i < self->calls->len; i++) {
        ModelledCall *call = self->calls->pdata[i];
        call->work_left = MAX(0, call->work_left - elapsed / factor_of(self, call));
    }
    self->settled_at = now;
}

/* Each call ends when its work is done, if nothing changes until then. Its cause is the one with
 * which it began. */
static void
schedule_ends(const Sharing *self, Sim *sim)
{
    SimCauseId cause = sim_cause(sim);

    for (unsigned i = 0; i < self->calls->len; i++) {
        ModelledCall *call = self->calls->pdata[i];
        SimTime left = (SimTime)ceil(call->work_left * factor_of(self, call));
        sim_cancel(sim, call->event);
        sim_set_cause(sim, call->served_cause);
        modelled_schedule_end(call, sim_time_add(sim_now(sim), left));
    }
    sim_set_cause(sim, cause);
}

void
modelled_share(CsiModelledDriver *self, ModelledCall *call)
{
    Sim *sim = self->base.sim;

    slowdown_settle(self->sharing, sim_now(sim));
    call->is_sharing = TRUE;
    call->work_left = (double)call->latency;
    call->served_cause = sim_cause(sim);
    g_ptr_array_add(self->sharing->calls, call);
    schedule_ends(self->sharing, sim);
}

void
modelled_share_no_more(CsiModelledDriver *self, ModelledCall *call)
{
    Sim *sim = self->base.sim;

    if (!call->is_sharing)
        return;
    slowdown_settle(self->sharing, sim_now(sim));
    call->is_sharing = FALSE;
    g_ptr_array_remove(self->sharing->calls, call); /* keeps the order of the others */
    if (!self->closing)
        schedule_ends(self->sharing, sim);
}
