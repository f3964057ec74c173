/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: engine, objects, world, and its end. Events fire until the scenario's end, or until the
 * world is idle, which moves with every change. Scrapes and reports happen between events and are
 * none, so observing changes nothing. The engine is freed before objects and strings, because
 * events that never fired still hold them. */
#include "run-private.h"

#define EVENTS_PER_REPORT 65536 /* between two checks for an interruption */

static void
end_is_here(Sim *sim, void *data)
{
    (void)sim, (void)data;
}

/* The event does nothing, but the clock reaches the end of the scenario. */
static const SimEventType end_event = {
    .name = "run/end",
    .fire = end_is_here,
};

Run *
run_new(const Scenario *scenario, const RunOptions *options, GError **error)
{
    g_autoptr(Run) self = g_new0(Run, 1);
    SimOptions sim_options = {
        .seed = options->seed,
        .replication = options->replication,
        .polling = options->polling,
        .untraced = options->untraced,
        .measured = options->measured,
        .start = scenario->start,
        .cold = options->cold,
    };

    self->scenario = scenario;
    self->options = *options;
    if (self->options.report_every == 0)
        self->options.report_every = EVENTS_PER_REPORT;
    self->sim = sim_new(&sim_options);
    self->objects =
        objects_new_cold(sim_hash_combine(options->seed, options->replication), options->cold);
    self->drivers = g_ptr_array_new_with_free_func((GDestroyNotify)csi_driver_free);
    self->performers = g_ptr_array_new();
    self->autoscalers = g_ptr_array_new();
    self->expects = g_array_new(FALSE, FALSE, sizeof(ExpectResult));
    self->notes = g_ptr_array_new_with_free_func(g_free);
    if (!world_build(self)) {
        g_propagate_error(error, g_steal_pointer(&self->error));
        return NULL;
    }
    workload_schedule(self);
    autoscalers_start(self);
    expects_schedule(self);
    /* The clock of a world without events would stand still. */
    if (options->open_end)
        sim_at(self->sim, RUN_NO_END, &end_event, NULL, WAIT_SCENARIO);
    else if (!scenario->until_idle)
        sim_at(self->sim, scenario->until, &end_event, NULL, WAIT_SCENARIO);
    return g_steal_pointer(&self);
}

/* Events that never fired still hold objects and strings, so the engine is freed before these, and
 * after all owners of handles. */
void
run_free(Run *self)
{
    if (self == NULL)
        return;
    cluster_free(self->cluster);
    g_clear_pointer(&self->workloads, g_ptr_array_unref);
    g_ptr_array_unref(self->drivers);
    workload_free(self);
    autoscalers_free(self);
    sim_free(self->sim);
    records_free(self->records);
    milestones_free(self->milestones);
    readiness_free(self->readiness);
    api_load_free(self->load);
    telemetry_free(self->telemetry);
    g_ptr_array_unref(self->performers);
    g_ptr_array_unref(self->autoscalers);
    g_array_unref(self->expects);
    g_clear_pointer(&self->usages, g_hash_table_unref);
    objects_free(self->objects);
    g_clear_error(&self->error);
    g_ptr_array_unref(self->notes);
    g_clear_pointer(&self->faults, g_array_unref);
    g_free(self);
}

/* Runs event by event, at the pace of the options. */
static gboolean
run_paced_until(Run *self, SimTime end)
{
    for (;;) {
        SimTime next = sim_next_event_at(self->sim);
        RunPace pace = self->options.pace(self->options.hook_data, MIN(next, end));
        if (pace == RUN_PACE_STOP)
            return FALSE;
        if (pace == RUN_PACE_AGAIN)
            continue;
        if (next > end)
            return TRUE;
        sim_step_until(self->sim, end, 1);
    }
}

/* Events up to @end or @scrape_at have happened. Nobody looks after the last event of a run; but if
 * its end is open, there may be one after @end. */
static gboolean
has_no_scrape_before(const Run *self, SimTime scrape_at, SimTime end)
{
    return self->options.open_end && (!self->scenario->until_idle || self->is_acted_upon)
               ? scrape_at >= end
               : scrape_at > end || sim_next_event_at(self->sim) > end;
}

/* Runs up to and including @end. Returns: FALSE: interrupted. A run that waits for an idle world
 * calls this after every change, so events are counted from report to report. Scrapes are no
 * events: observing changes nothing. */
static gboolean
run_to(Run *self, SimTime end)
{
    if (self->options.pace != NULL)
        return run_paced_until(self, end);
    for (;;) {
        SimTime scrape_at = telemetry_next_scrape(self->telemetry);
        unsigned n_max = self->options.report_every - self->n_unreported;
        unsigned n = sim_step_until(self->sim, MIN(end, scrape_at), n_max);
        self->n_unreported += n;
        if (n < n_max && has_no_scrape_before(self, scrape_at, end))
            return TRUE;
        if (n < n_max) {
            telemetry_scrape(self->telemetry);
            continue;
        }
        self->n_unreported = 0;
        if (self->options.progress != NULL &&
            !self->options.progress(self->options.progress_data, sim_now(self->sim),
                                    sim_events_fired(self->sim)))
            return FALSE;
    }
}

/* For "until: idle": the end moves with every change. */
static gboolean
run_until_idle(Run *self)
{
    SimTime idle_for = self->scenario->idle_for;

    for (;;) {
        SimTime end = sim_time_add(milestones_last_change(self->milestones), idle_for);
        if (!run_to(self, end))
            return FALSE;
        SimTime moved_end = sim_time_add(milestones_last_change(self->milestones), idle_for);
        if (moved_end == end && !workload_is_pending(self)) {
            /* No event is left before the end: only the clock moves, unless a workload without
             * changes has already moved it further. */
            sim_run_until(self->sim, MAX(end, sim_now(self->sim)));
            return TRUE;
        }
        if (moved_end == end && !run_to(self, sim_next_event_at(self->sim)))
            return FALSE;
    }
}

RunEnd
run_fire(Run *self, SimTime to)
{
    return run_to(self, to) ? RUN_DONE : RUN_INTERRUPTED;
}

RunEnd
run_advance(Run *self, SimTime to)
{
    if (!run_to(self, to))
        return RUN_INTERRUPTED;
    sim_run_until(self->sim, to);
    return RUN_DONE;
}

void
run_finish(Run *self)
{
    self->is_over = TRUE;
    if (self->options.open_end && (!self->scenario->until_idle || self->is_acted_upon)) {
        sim_at(self->sim, sim_now(self->sim), &end_event, NULL, WAIT_SCENARIO);
        sim_run_until(self->sim, sim_now(self->sim));
    }
    expects_finish(self);
    drains_finish(self);
}

RunEnd
run_execute(Run *self)
{
    gboolean is_done;

    if (self->scenario->until_idle) {
        is_done = run_until_idle(self);
    } else {
        is_done = run_to(self, self->scenario->until);
        if (is_done)
            sim_run_until(self->sim, self->scenario->until);
    }
    if (!is_done)
        return RUN_INTERRUPTED;
    run_finish(self);
    return RUN_DONE;
}

SimTime
run_ends_at(const Run *self)
{
    if (self->is_over)
        return SIM_TIME_MAX;
    if (!self->scenario->until_idle)
        return self->scenario->until;
    if (workload_is_pending(self))
        return SIM_TIME_MAX;
    return sim_time_add(milestones_last_change(self->milestones), self->scenario->idle_for);
}

RunStep
run_step(Run *self, SimTime limit)
{
    SimTime end = run_ends_at(self), next = sim_next_event_at(self->sim);

    if (next <= MIN(end, limit) && next != SIM_TIME_MAX) {
        sim_step_until(self->sim, next, 1);
        return RUN_STEP_FIRED;
    }
    if (MIN(end, limit) != SIM_TIME_MAX)
        sim_run_until(self->sim, MAX(MIN(end, limit), sim_now(self->sim)));
    if (limit < end || self->is_over)
        return RUN_STEP_LATER;
    run_finish(self);
    return RUN_STEP_OVER;
}

const Scenario *
run_scenario(const Run *self)
{
    return self->scenario;
}

const RunOptions *
run_options(const Run *self)
{
    return &self->options;
}

Sim *
run_sim(const Run *self)
{
    return self->sim;
}

Objects *
run_objects(const Run *self)
{
    return self->objects;
}

Cluster *
run_cluster(const Run *self)
{
    return self->cluster;
}

Records *
run_records(const Run *self)
{
    return self->records;
}

const Milestones *
run_milestones(const Run *self)
{
    return self->milestones;
}

const Readiness *
run_readiness(const Run *self)
{
    return self->readiness;
}

const ApiLoad *
run_load(const Run *self)
{
    return self->load;
}

Telemetry *
run_telemetry(const Run *self)
{
    return self->telemetry;
}

const ExpectResult *
run_expects(const Run *self, unsigned *n)
{
    *n = self->expects->len;
    return (const ExpectResult *)self->expects->data;
}
