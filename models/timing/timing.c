/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "timing.h"
#include "models/timing/timing-test.h"

void
timing_clear(Timing *self)
{
    g_clear_pointer(&self->write, sim_dist_unref);
    g_clear_pointer(&self->think, sim_dist_unref);
    g_clear_pointer(&self->watch, sim_dist_unref);
    g_clear_pointer(&self->cycle, sim_dist_unref);
    g_clear_pointer(&self->cycle_filter, sim_dist_unref);
    g_clear_pointer(&self->sidecar_start, sim_dist_unref);
    g_clear_pointer(&self->scheduler_start, sim_dist_unref);
    g_clear_pointer(&self->manager_start, sim_dist_unref);
    g_clear_pointer(&self->kubelet_start, sim_dist_unref);
    g_clear_pointer(&self->pod_sandbox, sim_dist_unref);
    g_clear_pointer(&self->image_pull, sim_dist_unref);
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
    self->cycle = tabulate(exact->cycle);
    self->cycle_filter = tabulate(exact->cycle_filter);
    /* rarely drawn */
    self->sidecar_start = sim_dist_ref(exact->sidecar_start);
    self->scheduler_start = sim_dist_ref(exact->scheduler_start);
    self->manager_start = sim_dist_ref(exact->manager_start);
    self->kubelet_start = sim_dist_ref(exact->kubelet_start);
    self->pod_sandbox = tabulate(exact->pod_sandbox);
    self->image_pull = tabulate(exact->image_pull);
}

void
timing_init_instant(Timing *self)
{
    *self = (Timing){
        .write = sim_dist_new_constant(0),
        .think = sim_dist_new_constant(0),
        .watch = sim_dist_new_constant(0),
        .cycle = sim_dist_new_constant(0),
        .cycle_filter = sim_dist_new_constant(0),
        .sidecar_start = sim_dist_new_constant(30 * SIM_MS),
        .scheduler_start = sim_dist_new_constant(700 * SIM_MS),
        .manager_start = sim_dist_new_constant(1 * SIM_SECOND),
        .kubelet_start = sim_dist_new_constant(70 * SIM_MS),
        .create_factor = 1.0,
        .update_factor = 1.0,
        .patch_factor = 1.0,
        .delete_factor = 1.0,
        .read_factor = 1.0,
        .not_found_factor = 1.0,
        .event_factor = 1.0,
    };
}
