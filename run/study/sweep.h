/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/results/stages.h"
#include "run/scenario/scenario.h"

/* A parameter study: a scenario, several settings of it (points), each run several times
 * (replications), and what is measured. Wholly checked once it is loaded; nothing in it changes
 * then, except that a command may ask for more replications. */

/* ---- What is measured ---- */

/* Measures of a whole run. Units: "s" or none. */
#define SWEEP_VALUES(X)                                                                            \
    X(PODS, "pods", "", "pods created after the warm-up")                                          \
    X(PODS_READY, "pods-ready", "", "... that became Ready")                                       \
    X(NOT_READY_SHARE, "pods-not-ready-share", "", "share of those pods that never became Ready")  \
    X(CLAIMS_BOUND_SHARE, "claims-bound-share", "", "share of claims that were bound")             \
    X(API_REQUESTS, "api-requests", "", "requests to the API server, with writes of Events")       \
    X(API_PEAK, "api-requests-peak", "requests/s", "the most of them in one second")               \
    X(ALL_READY, "time-to-all-ready", "s",                                                         \
      "first pod created -> last pod Ready; none if one never was")                                \
    X(DRIVER_VOLUMES, "driver-volumes", "", "volumes in the drivers' back ends at the end")        \
    X(AVAILABILITY, "availability", "", "share of the workloads' pods that were Ready, over time") \
    X(NOT_READY_TIME, "not-ready-seconds", "s", "the time that pods of workloads were missing")

typedef enum {
#define SWEEP_VALUE_MEMBER(member, name, unit, meaning) SWEEP_##member,
    SWEEP_VALUES(SWEEP_VALUE_MEMBER)
#undef SWEEP_VALUE_MEMBER
        SWEEP_N_VALUES,
} SweepValueKind;

typedef enum {
    STATISTIC_MEAN,
    STATISTIC_MIN,
    STATISTIC_MAX,
    STATISTIC_QUANTILE,
    STATISTIC_COUNT,
    STATISTIC_SHARE_BELOW, /* the share of objects that took less than a time */
} SweepStatistic;

typedef struct {
    const char *name;
    const char *unit;  /* "s", "requests/s" or "" */
    gboolean is_stage; /* of a stage's times; else @value */
    Stage stage;
    SweepStatistic statistic;
    double quantile; /* 0..1 */
    SimTime below;   /* of a share */
    SweepValueKind value;
} SweepMeasure;

/* ---- The design ---- */

typedef struct {
    const char *name;
    const char *const *paths; /* NULL-terminated: all are set together */
} SweepParameter;

/* One setting of the scenario. */
typedef struct {
    const char *const *set;    /* NULL-terminated "path=value" changes */
    const char *const *labels; /* the value of each parameter, as the user writes it */
    char hash[65];             /* of the scenario with @set */
} SweepPoint;

typedef struct {
    unsigned count;        /* at least so many of each point */
    unsigned max;          /* with a rule to stop: at most */
    int measure;           /* the rule's measure; -1: there is no rule */
    double relative_width; /* enough once half the confidence interval is at most this share of the
                              mean */
} SweepReplications;

typedef struct {
    const char *file, *name, *description;
    const char *scenario_file; /* the path to open */
    uint64_t seed;             /* of all runs: replication r draws the same in every point */
    gboolean independent;      /* no common random numbers: each point has its own seeds */
    SimTime warm_up;           /* earlier durations are ignored */
    unsigned batches;          /* batch means: parts that a run's times are cut into; 0: none */
    double confidence;         /* of intervals: 0.95 */
    SweepParameter *parameters;
    unsigned n_parameters;
    SweepPoint *points;
    unsigned n_points;
    SweepMeasure *measures;
    unsigned n_measures;
    SweepReplications replications;
    int baseline;      /* the point that all others are compared with; -1: none */
    char identity[65]; /* SHA-256 of everything that decides the content of a row */
} Sweep;

/**
 * sweep_load:
 * @data_dir: as in ScenarioOptions
 * @faults: (out): of FileFault: all there are; empty on success. Every point's scenario is
 * checked, too Returns: (owned): %NULL if there are faults
 */
Sweep *sweep_load(const char *file, const char *data_dir, GPtrArray **faults);
/* Whether the file has a document of kind Sweep, valid or not. %FALSE if it cannot be read. */
gboolean sweep_is_in_file(const char *file);
void sweep_free(Sweep *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sweep, sweep_free)

/**
 * sweep_new:
 * A study made by a command, not by a file: no points yet, one run each.
 * @scenario_file: as the program opens it
 * Returns: (owned)
 */
Sweep *sweep_new(const char *name, const char *scenario_file);
/* @paths: NULL-terminated; copied */
void sweep_add_parameter(Sweep *self, const char *name, const char *const *paths);
/* @set, @labels: NULL-terminated; copied. A label per parameter. Returns: the point's number */
unsigned sweep_add_point(Sweep *self, const char *const *set, const char *const *labels);
/* @statistic: "mean", "p99" and so on, as sweep_statistic_parse() takes it. It must be right. */
void sweep_add_stage(Sweep *self, const char *name, Stage stage, const char *statistic);
void sweep_add_value(Sweep *self, const char *name, SweepValueKind value);
/* sweep_finish: Checks the scenario of every point, and computes the identity of the study.
 * Returns: %FALSE if @faults got some */
gboolean sweep_finish(Sweep *self, const char *data_dir, GPtrArray *faults);

/* The statistic that @text means, with its number and unit: "mean", "min", "max", "count", "p50",
 * "p99.9", "<60s". Returns: %FALSE: it is none */
gboolean sweep_statistic_parse(const char *text, SweepMeasure *measure);
const char *sweep_value_name(SweepValueKind value);
/* @name: (nullable). @value: (out). Returns: FALSE: there is no such value */
gboolean sweep_value_find(const char *name, SweepValueKind *value);
const char *sweep_value_unit(SweepValueKind value);
/* The fields of a Sweep's spec as tables in Markdown, for docs/sweeps.md. (owned) */
char *sweep_reference(void);
/* The JSON Schema of files of sweeps. (owned) */
json_t *sweep_schema(void);

/* ---- One run's values ---- */

typedef struct {
    double value;
    uint64_t count;      /* number of durations behind it; 1 for other values */
    gboolean is_missing; /* there was nothing to measure */
} SweepObservation;

/* The number of values of a run: its measures, then their batches. */
unsigned sweep_n_observations(const Sweep *self);
/* The index of a value. @batch: 0: the whole run; batches count from 1. */
unsigned sweep_observation_index(const Sweep *self, unsigned measure, unsigned batch);
/* @observations: (out): sweep_n_observations() */
void sweep_measure(const Sweep *self,
                   const Run *run,
                   const Stages *stages,
                   SweepObservation *observations);
/* Whether a measure needs run_load(). */
gboolean sweep_counts_requests(const Sweep *self);
