/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api-load.h"
#include "milestones.h"
#include "run/scenario/scenario.h"
#include "telemetry.h"

/* One run of a scenario: builds the world, lets its time pass, and keeps what was seen. */
typedef struct Run Run;

typedef enum {
    RUN_PACE_DUE,
    RUN_PACE_AGAIN, /* something was scheduled */
    RUN_PACE_STOP,
} RunPace;

typedef struct {
    uint64_t seed;
    uint32_t replication;
    gboolean polling;  /* tickers never sleep: for the test that compares */
    gboolean measured; /* have Kubernetes' metrics */
    gboolean untraced; /* keep no log of causes: nobody will ask milestones for theirs */
    /* Called every now and then with the virtual time, also while the world is built; returns FALSE
     * to break off. NULL: never */
    gboolean (*progress)(void *data, SimTime now, uint64_t n_events);
    void *progress_data;
    /* Another back end for a driver of the scenario than the modelled one. Returns: (owned): NULL:
     * the modelled one. NULL: always that */
    CsiDriver *(*open_driver)(void *data,
                              Sim *sim,
                              Strings *strings,
                              const ScenarioDriver *driver,
                              const CsiWaits *waits);
    /* Called before each event with its time (or the end's, if that comes first): waits until it is
     * due. May schedule events, and then says so: the next event may be another. NULL: virtual time
     * takes none */
    RunPace (*pace)(void *data, SimTime next);
    void *hook_data; /* of both */
} RunOptions;

#define RUN_ERROR (run_error_quark())
GQuark run_error_quark(void);
typedef enum {
    RUN_ERROR_INVALID,
    RUN_ERROR_INTERRUPTED, /* progress() said so */
} RunError;

/* How an expectation of the scenario came out. */
typedef struct {
    const ScenarioExpect *expect;
    int64_t count; /* what was found */
    SimTime at;
    gboolean is_met;
} ExpectResult;

typedef enum {
    RUN_DONE,
    RUN_INTERRUPTED, /* progress() said so */
} RunEnd;

/**
 * run_new:
 * @scenario: (borrowed), outlives the run
 * Returns: (owned): the world at t = 0; %NULL with a %RUN_ERROR: INVALID if the scenario's parts do
 * not fit together
 */
Run *run_new(const Scenario *scenario, const RunOptions *options, GError **error);
void run_free(Run *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Run, run_free)

RunEnd run_execute(Run *self);
/* Lets time pass up to and including @to, whatever end the scenario has; what looks at the world
 * then may go on with it. */
RunEnd run_advance(Run *self, SimTime to);

typedef enum {
    RUN_STEP_FIRED, /* one event */
    RUN_STEP_LATER, /* nothing is left up to the limit: the clock stands there */
    RUN_STEP_OVER, /* the scenario's end is here, and its expectations are judged: told once, then a
                      run may go on past it */
} RunStep;
/* One event, if it comes no later than @limit (SIM_TIME_MAX: none). A run that is stepped through
 * is the same run. */
RunStep run_step(Run *self, SimTime limit);

/**
 * run_perform:
 * Somebody does @action by hand, now, whatever its time. What it draws comes from streams of its
 * own.
 * @action: (borrowed) with its scenario, outlives the run; that scenario has the drivers of the
 * run's own
 * @answered: told of each answer of the API server; @key: whom it was about. NULL: nobody listens
 * Returns: a number for run_has_performed()
 */
typedef void (*RunAnswered)(void *data, const ObjectKey *key, ApiCode code, const char *message);
unsigned run_perform(Run *self, const ScenarioAction *action, RunAnswered answered, void *data);
gboolean run_has_performed(const Run *self, unsigned number);

const Scenario *run_scenario(const Run *self);
const RunOptions *run_options(const Run *self);
Sim *run_sim(const Run *self);
Objects *run_objects(const Run *self);
Cluster *run_cluster(const Run *self);
const Milestones *run_milestones(const Run *self);
const ApiLoad *run_load(const Run *self);  /* NULL: untraced */
Telemetry *run_telemetry(const Run *self); /* NULL: not measured */
/* Volumes that the back end of driver @i has now. */
unsigned run_driver_volumes(const Run *self, unsigned i);
/* Returns: (borrowed): of char *: actions of the workload that came to nothing, and why, in order
 */
const GPtrArray *run_notes(const Run *self);
/* Returns: (borrowed): one for each expectation that was due */
const ExpectResult *run_expects(const Run *self, unsigned *n);
