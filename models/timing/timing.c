/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "timing.h"

void
timing_clear(Timing *self)
{
    g_clear_pointer(&self->write, sim_dist_unref);
    g_clear_pointer(&self->think, sim_dist_unref);
    g_clear_pointer(&self->watch, sim_dist_unref);
    g_clear_pointer(&self->stall, sim_dist_unref);
}

static SimDist *
tabulate(SimDist *exact)
{
    return exact == NULL ? NULL : sim_dist_tabulate(exact);
}

void
timing_init_tables(Timing *self, const Timing *exact)
{
    *self = *exact;
    self->write = tabulate(exact->write);
    self->think = tabulate(exact->think);
    self->watch = tabulate(exact->watch);
    self->stall = exact->stall == NULL ? NULL : sim_dist_ref(exact->stall); /* rarely drawn */
}

void
timing_init_instant(Timing *self)
{
    *self = (Timing){
        .write = sim_dist_new_constant(0),
        .think = sim_dist_new_constant(0),
        .watch = sim_dist_new_constant(0),
        .create_factor = 1.0,
        .update_factor = 1.0,
        .patch_factor = 1.0,
        .delete_factor = 1.0,
        .read_factor = 1.0,
        .not_found_factor = 1.0,
        .event_factor = 1.0,
    };
}
