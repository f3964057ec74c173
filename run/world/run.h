/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api-load.h"
#include "milestones.h"
#include "readiness.h"
#include "run/scenario/scenario.h"
#include "telemetry.h"

/* One run of a scenario: builds the world, lets its time pass, and records what happens. */
typedef struct Run Run;

typedef enum {
    RUN_PACE_DUE,
    RUN_PACE_AGAIN, /* events were scheduled */
    RUN_PACE_STOP,
} RunPace;

typedef struct {
    uint64_t seed;
    uint32_t replication;
    gboolean polling;  /* tickers never sleep: for a test that compares */
    gboolean measured; /* measure Kubernetes' metrics */
    gboolean
        open_end; /* somebody else ends the run, with run_finish(), whatever the scenario says */
    gboolean untraced;        /* keep no log of causes: nobody will ask for causes of milestones */
    gboolean counts_requests; /* for run_load(), although untraced */
    SimCold *cold;            /* (borrowed) (nullable): memory of logs; outlives the run */
    /* Called now and then with the virtual time, also while the world is built; FALSE interrupts
     * the run. NULL: never */
    gboolean (*progress)(void *data, SimTime now, uint64_t n_events);
    void *progress_data;
    unsigned report_every; /* events between two calls of progress(); 0: as many as cost no time */
    /* Makes another back end than the modelled one for a driver of the scenario. Returns: (owned):
     * NULL: the modelled one. NULL: always the modelled one */
    CsiDriver *(*open_driver)(void *data,
                              Sim *sim,
                              Strings *strings,
                              const ScenarioDriver *driver,
                              const CsiWaits *waits);
    /* Called before each event with its time (or the end's time, if earlier): waits until it is
     * due. If it schedules events, it returns RUN_PACE_AGAIN, because the next event may be another
     * one. NULL: virtual time does not wait */
    RunPace (*pace)(void *data, SimTime next);
    void *hook_data; /* of both */
} RunOptions;

/* With open_end: an event at this time means that nothing else is to come. */
#define RUN_NO_END (SIM_TIME_MAX / 2)

#define RUN_ERROR (run_error_quark())
GQuark run_error_quark(void);
typedef enum {
    RUN_ERROR_INVALID,
    RUN_ERROR_NO_FILE,     /* of a result folder */
    RUN_ERROR_INTERRUPTED, /* interrupted by progress() */
} RunError;

/* The outcome of an expectation. */
typedef struct {
    const ScenarioExpect *expect;
    int64_t count; /* the number that was found */
    SimTime at;
    gboolean is_met;
} ExpectResult;

typedef enum {
    RUN_DONE,
    RUN_INTERRUPTED, /* interrupted by progress() */
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
/* Lets time pass up to and including @to, even past the scenario's end; observers of the world may
 * continue with it. */
RunEnd run_advance(Run *self, SimTime to);

/* The same, but the clock stays at the last event. */
RunEnd run_fire(Run *self, SimTime to);

typedef enum {
    RUN_STEP_FIRED, /* one event */
    RUN_STEP_LATER, /* no event up to the limit: the clock is there now */
    RUN_STEP_OVER, /* the scenario's end is reached and its expectations are checked: reported once,
                      then a run may continue */
} RunStep;
/* The scenario's end as known now: with `until: idle` every change moves it. %SIM_TIME_MAX: it is
 * over, or actions are still to come */
SimTime run_ends_at(const Run *self);
/* The run has come to its end: checks what is expected of it. Once. */
void run_finish(Run *self);
/* Runs one event, unless it is later than @limit (SIM_TIME_MAX: none). Stepping does not change the
 * run. */
RunStep run_step(Run *self, SimTime limit);

/* An action by hand. */
typedef struct {
    /* Told of each answer of the API server; @key: the object; @response: borrowed. NULL: nobody
     * listens */
    void (*answered)(void *data, const ObjectKey *key, const ApiResponse *response);
    /* Of a PATCH, at the instant of its commit: the patch in place of the action's. Returns:
     * (owned): a merge patch; %NULL: nothing is changed. NULL: the action's */
    json_t *(*edit)(void *data, const Object *object);
    void *data;
} RunHand;

/**
 * run_perform:
 * Somebody does @action by hand, now, whatever its time. What it draws comes from streams of its
 * own.
 * @action: (borrowed) with its scenario, outlives the run; that scenario has the drivers of the
 * run's own
 * @hand: copied
 * Returns: a number for run_has_performed()
 */
unsigned run_perform(Run *self, const ScenarioAction *action, const RunHand *hand);
gboolean run_has_performed(const Run *self, unsigned number);

const Scenario *run_scenario(const Run *self);
const RunOptions *run_options(const Run *self);
Sim *run_sim(const Run *self);
Objects *run_objects(const Run *self);
Cluster *run_cluster(const Run *self);
Records *run_records(const Run *self);
const Milestones *run_milestones(const Run *self);
const Readiness *run_readiness(const Run *self);
const ApiLoad *run_load(const Run *self);  /* NULL: untraced, and not counts_requests */
Telemetry *run_telemetry(const Run *self); /* NULL: not measured */
/* The number of volumes in the back end of driver @i. */
unsigned run_driver_volumes(const Run *self, unsigned i);
/* A fault of the scenario. */
typedef struct {
    const ScenarioAction *action;
    GPtrArray *victims;   /* of interned names of instances or nodes; a name may be NULL */
    SimTime since, until; /* SIM_TIME_MAX: for ever */
    SimCauseId cause;     /* of its beginning */
    SimEventId end;       /* to come; 0: none */
    void *under_way;      /* the module's own, until the end */
} RunFault;
/* Returns: (borrowed) (nullable): of RunFault: all that have begun, over or not */
const GArray *run_faults(const Run *self);
/* Ends the fault now as its own end would: as if the scenario had told that time. Returns: %FALSE:
 * there is no such fault, or it is over */
gboolean run_end_fault(Run *self, unsigned number);
/* A kubectl drain that is not over, and the pod that it waits for. */
typedef struct {
    const char *node;     /* interned */
    const ObjectKey *pod; /* NULL: no pod yet */
    const char *refusal;  /* (borrowed): the server's last answer to the eviction; NULL: accepted */
    SimTime since;
} RunDrain;
/* Returns: (owned): of RunDrain; valid until the run goes on */
GArray *run_drains(const Run *self);
/* Returns: (borrowed): of char *: failed actions of the workload with their reasons, in order */
const GPtrArray *run_notes(const Run *self);
/* Returns: (borrowed): one result for each expectation that was due */
const ExpectResult *run_expects(const Run *self, unsigned *n);
