/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "replay-stages.h"
#include "run/import/recorder.h"
#include "run/measure/validation.h"

/* A recording of a real cluster against simulations of the same minutes. */

typedef struct {
    const char *file;     /* of the scenario */
    const char *data_dir; /* as in ScenarioOptions */
    const char *const *set;
    uint64_t seed;
    unsigned replications; /* simulations, at least 1 */
    unsigned jobs;         /* of them at once, at least 1 */
    double tolerance;      /* the largest ratio of a quantile, either way, that is no difference */
    /* As in RunOptions, but from several threads */
    gboolean (*progress)(void *data, SimTime now, uint64_t n_events);
    void *progress_data;
} ReplayOptions;

#define REPLAY_TOLERANCE 1.3
/* Fewer objects are shown but not judged: their p90 is the largest or second largest value. */
#define REPLAY_SAMPLES_MIN 5
/* Fewer objects more or less than recorded are no difference. */
#define REPLAY_COUNT_MIN 3
/* Quantiles nearer than that are no difference: an audit log's times are those of answers. */
#define REPLAY_RESOLUTION (5 * SIM_MS)

typedef enum {
    REPLAY_P50,
    REPLAY_P90,
    REPLAY_P99,
    N_REPLAY_QUANTILES,
} ReplayQuantile;

typedef enum {
    REPLAY_RECORDED,
    REPLAY_SIMULATED,
    N_REPLAY_SIDES,
} ReplaySide;

typedef enum {
    REPLAY_WITHIN, /* each judged quantile is in the range of the replications */
    REPLAY_NEAR,   /* ... or at most the tolerance away from what chance makes of it */
    REPLAY_FEW,    /* too few objects on one side */
    REPLAY_DIFFERS,
    N_REPLAY_VERDICTS,
} ReplayVerdict;

const char *replay_verdict_word(ReplayVerdict verdict);

/* Of a call to a driver, with many replications in one. REPLAY_WITHIN: p50 and p90 differ by no
 * more than the tolerance, a ratio, or %REPLAY_RESOLUTION. REPLAY_NEAR: chance alone brings two
 * samples of one distribution as far apart, one time in twenty. */
ReplayVerdict replay_judge_call(const ValidationRow *row, double tolerance);

/* A stage of all objects, or of those of one workload. Quantiles by nearest rank, in seconds. */
typedef struct {
    ReplayStage stage;
    const char *workload;                         /* NULL: all */
    unsigned n[N_REPLAY_SIDES];                   /* simulated: of the first replication */
    double q[N_REPLAY_SIDES][N_REPLAY_QUANTILES]; /* simulated: of all replications together */
    double low[N_REPLAY_QUANTILES], high[N_REPLAY_QUANTILES]; /* over the replications */
    double ks, ks_p;
    GArray *values[N_REPLAY_SIDES]; /* of double, sorted (owned) */
    double largest;                 /* the largest difference of a pair: simulated less recorded */
    const RecordedObject *largest_of; /* NULL: there is no pair */
    ReplayVerdict verdict;
} ReplayRow;

/* A stage of an object in both. */
typedef struct {
    ReplayStage stage;
    const RecordedObject *object; /* the recorded one */
    const char *workload;
    double seconds[N_REPLAY_SIDES];
    double from[N_REPLAY_SIDES]; /* since the start */
    unsigned simulated;          /* in the simulated recording */
    unsigned value;              /* of the first replication: index of its ReplayValue */
} ReplayPair;

typedef struct Replay Replay;

/**
 * replay_new:
 * Runs the simulations.
 * @recorded: (owned): the recording
 * Returns: (owned): NULL with a %RUN_ERROR: INTERRUPTED, or INVALID: the scenario does not run
 */
Replay *replay_new(Recorded *recorded, const ReplayOptions *options, GError **error);
void replay_free(Replay *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Replay, replay_free)

/* Returns: (borrowed): of ReplayRow *: stages, then stages by workload */
const GPtrArray *replay_rows(const Replay *self);
/* Returns: (borrowed): of ReplayPair: all pairs, those that differ most first */
const GArray *replay_pairs(const Replay *self);
/* The same of all replications, one after the other; `simulated` and `value` are of each. */
const GArray *replay_all_pairs(const Replay *self);
/* Whether no stage of all objects differs. */
gboolean replay_is_good(const Replay *self);
/* What a stage waited for in the first replication: "driver latency 3.2 s, ...". (owned) */
char *replay_waits(const Replay *self, const ReplayPair *pair);
/* The CSI driver of a recorded object's volumes, by their claims in the first replication; NULL:
 * none, several or not known. */
const char *replay_driver(const Replay *self, const RecordedObject *object);
/* Objects of one kind that only one side has; of the simulated, the first replication's. Returns:
 * (owned): of const RecordedObject *; a simulation makes and ends others, so these are told, not
 * judged */
GPtrArray *replay_only(const Replay *self, ReplaySide side, RecordedKind kind);
/* Returns: (borrowed): of ReplayValue: the stages of one side, simulated: of the first replication
 */
const GArray *replay_values(const Replay *self, ReplaySide side);
/* The object of the first replication for a recorded one: index + 1; 0: none. */
unsigned replay_match_of(const Replay *self, unsigned object);
const Recorded *replay_side(const Replay *self, ReplaySide side);
const ReplayOptions *replay_options(const Replay *self);
/* Failed or differently answered actions of the workload, of the first replication. */
const GPtrArray *replay_notes(const Replay *self);

/* ---- replay-report.c ---- */

/* For people; for programs. (owned) */
char *replay_table(const Replay *self);
json_t *replay_json(const Replay *self);
extern const ResultTable replay_stages_table, replay_objects_table, replay_requests_table;
/* replay-stages.csv, replay-objects.csv and replay-requests.csv in @folder, which exists. */
gboolean replay_write_csv(const Replay *self, const char *folder, GError **error);

/* ---- replay-plot.c ---- */

/* For plots/replay.gp: timelines of pods, then blocks of quantiles. (owned) */
char *replay_plot_data(const Replay *self);
