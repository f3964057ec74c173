/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: of recordings, not of runs */
/* Fits latencies of drivers so that a simulation comes near to its recording. Objects are halved by
 * their names: one half is fitted, the other tests. A round adds to a method's median the time by
 * which the recorded stage was longer, by the fast objects or object by object, whichever has the
 * smaller error; a second step adds the spread that queues and polls do not explain. A difference
 * that chance could make changes nothing. */
#include "replay-fit.h"

#include <math.h>
#include <string.h>

#include "models/api/fields.h"
#include "run/files/file-fault.h"
#include "run/files/input.h"
#include "run/import/yaml-print.h"
#include "run/measure/fit.h"
#include "sim/order.h"

/* Of medians, before and after the spread: a third changes little, also with queues. */
#define ROUNDS 2
#define SAMPLES_MIN 3         /* of one half */
#define SPREAD_SAMPLES_MIN 20 /* ... for a spread */
/* Retries, polls and queues make the slower objects of a stage slow; a call's own time shows in the
 * faster ones. */
#define FAST 0.25
/* Of the quantile FAST, in the distance of the quantiles 0.15 around it over the root of n:
 * sqrt(0.25 * 0.75) / 0.3. */
#define FAST_ERROR 1.44
#define MEDIAN_ERROR 1.25 /* of a median, in standard deviations over the root of n */
/* Standard errors by which two stages are told apart. */
#define ERRORS_MIN 1.5
#define SIGMA_MIN 0.02
/* A stage with queues and polls is wide by itself, and the difference of two wide stages is noise.
 */
#define WIDER_MIN 1.25
#define SIGMA_MAX 1.5

/* The method that a stage is about, and the one in its place for drivers without NodeStageVolume.
 * The other parts of a stage are in the simulation, too. */
static const struct {
    ReplayStage stage;
    CsiMethod method;
} fitted[] = {
    {REPLAY_PROVISION,  CSI_CREATE_VOLUME              },
    {REPLAY_ATTACHMENT, CSI_CONTROLLER_PUBLISH_VOLUME  },
    {REPLAY_MOUNT,      CSI_NODE_STAGE_VOLUME          },
    {REPLAY_STOP,       CSI_NODE_UNPUBLISH_VOLUME      },
    {REPLAY_DETACH,     CSI_CONTROLLER_UNPUBLISH_VOLUME},
    {REPLAY_EXPAND,     CSI_CONTROLLER_EXPAND_VOLUME   },
    {REPLAY_DELETE,     CSI_DELETE_VOLUME              },
};

typedef enum {
    FIT_TRAINING,
    FIT_TEST,
    N_FIT_HALVES,
} FitHalf;

typedef struct {
    const char *driver; /* the scenario's */
    unsigned place;     /* ... in its list */
    const char *method; /* "CreateVolume" */
    ReplayStage stage;
    gboolean is_fitted; /* FALSE: what the stage differs by may be chance; the latency stays */
    double median_before, median; /* of the method, in seconds */
    double sigma;                 /* of its lognormal; 0: constant */
    unsigned n[N_FIT_HALVES];     /* objects that both sides have */
    /* p50 and p90 of their stages: recorded, simulated before, simulated after */
    double recorded[N_FIT_HALVES][2], before[N_FIT_HALVES][2], after[N_FIT_HALVES][2];
} FitRow;

struct ReplayFit {
    ReplayOptions options;
    Scenario *scenario;
    const char *recording;
    GArray *rows;     /* of FitRow */
    GPtrArray *sets;  /* the user's, then the fitted ones, then NULL; (owned) */
    unsigned n_given; /* of them */
    Replay *replay;
};

static const char *
method_name(const ScenarioDriver *driver, CsiMethod method)
{
    gboolean stages = (driver->model.node_capabilities & CSI_NODE_STAGE_UNSTAGE_VOLUME) != 0;

    if (method == CSI_NODE_STAGE_VOLUME && !stages)
        method = CSI_NODE_PUBLISH_VOLUME;
    return csi_latency_name((CsiLatency)method);
}

static double
median_of(const ScenarioDriver *driver, const char *method)
{
    CsiLatency latency;

    if (!csi_latency_parse(method, &latency) || driver->model.latency[latency] == NULL)
        return 0;
    return (double)sim_dist_quantile(driver->model.latency[latency], 0.5) / (double)SIM_SECOND;
}

/* ---- Samples ---- */

/* An object's place in the lot that makes the halves: by its name alone, so the halves stay. */
static uint64_t
lot_of(const RecordedObject *object)
{
    g_autofree char *text = g_strdup_printf("%d %s %s %s", object->kind,
                                            object->namespace != NULL ? object->namespace : "",
                                            object->claim != NULL ? object->claim : object->name,
                                            object->node != NULL ? object->node : "");

    return sim_hash_string(text);
}

typedef struct {
    /* of double, sorted (owned); the simulated ones of all replications */
    GArray *of[N_REPLAY_SIDES];
    GArray *differences; /* recorded less simulated, of each pair */
} ReplayFitSamples;

static void
samples_clear(ReplayFitSamples *self)
{
    g_array_unref(self->of[0]);
    g_array_unref(self->of[1]);
    g_array_unref(self->differences);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ReplayFitSamples, samples_clear)

static int
compare_lots(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return ORDER(x, y);
}

static gboolean
is_of(const Replay *replay, const FitRow *row, const ReplayPair *pair)
{
    return pair->stage == row->stage &&
           g_strcmp0(replay_driver(replay, pair->object), row->driver) == 0;
}

/* The lot in the middle: those below it, and itself, are the first half. */
static uint64_t
middle_lot(const Replay *replay, const FitRow *row)
{
    const GArray *pairs = replay_pairs(replay);
    g_autoptr(GArray) lots = g_array_new(FALSE, FALSE, sizeof(uint64_t));

    for (unsigned i = 0; i < pairs->len; i++) {
        const ReplayPair *pair = &g_array_index(pairs, ReplayPair, i);
        uint64_t lot = lot_of(pair->object);
        if (is_of(replay, row, pair))
            g_array_append_val(lots, lot);
    }
    g_array_sort(lots, compare_lots);
    return lots->len == 0 ? 0 : g_array_index(lots, uint64_t, (lots->len - 1) / 2);
}

/* The stage of the objects of one half and driver that both sides have. */
static ReplayFitSamples
samples_new(const Replay *replay, const FitRow *row, FitHalf half)
{
    const GArray *pairs = replay_all_pairs(replay);
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    uint64_t middle = middle_lot(replay, row);
    ReplayFitSamples samples = {
        .of = {g_array_new(FALSE, FALSE, sizeof(double)),
               g_array_new(FALSE, FALSE, sizeof(double))},
        .differences = g_array_new(FALSE, FALSE, sizeof(double)),
    };

    for (unsigned i = 0; i < pairs->len; i++) {
        const ReplayPair *pair = &g_array_index(pairs, ReplayPair, i);
        if (!is_of(replay, row, pair) || (lot_of(pair->object) <= middle) != (half == FIT_TRAINING))
            continue;
        if (g_hash_table_add(seen, (void *)pair->object))
            g_array_append_val(samples.of[0], pair->seconds[0]);
        g_array_append_val(samples.of[1], pair->seconds[1]);
        double difference = pair->seconds[0] - pair->seconds[1];
        g_array_append_val(samples.differences, difference);
    }
    g_array_sort(samples.of[0], fit_compare);
    g_array_sort(samples.of[1], fit_compare);
    g_array_sort(samples.differences, fit_compare);
    return samples;
}

static double
quantile(const GArray *values, double q)
{
    return values->len == 0 ? 0 : fit_quantile((const double *)values->data, values->len, q);
}

/* The half width of the middle two thirds: a standard deviation, but for the tails. */
static double
width(const GArray *values)
{
    return (quantile(values, 0.84) - quantile(values, 0.16)) / 2;
}

static void
note(ReplayFit *self, gboolean is_after)
{
    for (unsigned i = 0; i < self->rows->len; i++) {
        FitRow *row = &g_array_index(self->rows, FitRow, i);
        for (FitHalf half = 0; half < N_FIT_HALVES; half++) {
            g_auto(ReplayFitSamples) samples = samples_new(self->replay, row, half);
            row->n[half] = samples.of[0]->len;
            for (unsigned k = 0; k < 2; k++) {
                double q = k == 0 ? 0.5 : 0.9;
                row->recorded[half][k] = quantile(samples.of[0], q);
                *(is_after ? &row->after[half][k] : &row->before[half][k]) =
                    quantile(samples.of[1], q);
            }
        }
    }
}

/* ---- Rounds ---- */

static char *
latency_text(const FitRow *row)
{
    char median[G_ASCII_DTOSTR_BUF_SIZE], sigma[G_ASCII_DTOSTR_BUF_SIZE];

    g_ascii_formatd(median, sizeof median, "%.1f", row->median * 1e3);
    g_ascii_formatd(sigma, sizeof sigma, "%.3g", row->sigma);
    return row->sigma == 0
               ? g_strdup_printf("%sms", median)
               : g_strdup_printf("{lognormal: {median: %sms, sigma: %s}}", median, sigma);
}

static void
make_sets(ReplayFit *self)
{
    g_ptr_array_set_size(self->sets, (int)self->n_given);
    for (unsigned i = 0; i < self->rows->len; i++) {
        const FitRow *row = &g_array_index(self->rows, FitRow, i);
        g_autofree char *latency = latency_text(row);
        if (!row->is_fitted)
            continue;
        g_ptr_array_add(self->sets, g_strdup_printf("spec.drivers[%u].latency.%s=%s", row->place,
                                                    row->method, latency));
    }
    g_ptr_array_add(self->sets, NULL);
}

/* Replays with the present latencies. */
static gboolean
replay_fit_simulate(ReplayFit *self, GError **error)
{
    ReplayOptions options = self->options;
    Recorded *recorded = recorded_read(self->recording, error);

    if (recorded == NULL)
        return FALSE;
    make_sets(self);
    options.set = (const char *const *)self->sets->pdata;
    g_clear_pointer(&self->replay, replay_free);
    self->replay = replay_new(recorded, &options, error);
    return self->replay != NULL;
}

/* The time by which recorded objects of a stage are slower than simulated ones, and its standard
 * error, in two ways: by the fast objects of both sides, which is better where retries and polls
 * scatter them, and object by object, which is better in a queue. The one with the smaller error
 * counts. Returns: FALSE: chance alone might make such a difference */
static gboolean
difference(const ReplayFitSamples *samples, double *seconds)
{
    double root = sqrt(samples->of[0]->len);
    double fast_error =
        FAST_ERROR * (quantile(samples->of[0], 0.4) - quantile(samples->of[0], 0.1)) / root;
    double pair_error = MEDIAN_ERROR * width(samples->differences) / root;

    *seconds = fast_error < pair_error
                   ? quantile(samples->of[0], FAST) - quantile(samples->of[1], FAST)
                   : quantile(samples->differences, 0.5);
    return fabs(*seconds) > ERRORS_MIN * MIN(fast_error, pair_error);
}

/* The methods with enough objects in the training half. */
static void
find_rows(ReplayFit *self)
{
    for (unsigned d = 0; d < self->scenario->n_drivers; d++) {
        const ScenarioDriver *driver = &self->scenario->drivers[d];
        for (unsigned i = 0; i < G_N_ELEMENTS(fitted); i++) {
            FitRow row = {.driver = driver->name,
                          .place = d,
                          .method = method_name(driver, fitted[i].method),
                          .stage = fitted[i].stage};
            g_auto(ReplayFitSamples) samples = samples_new(self->replay, &row, FIT_TRAINING);
            row.median = row.median_before = median_of(driver, row.method);
            if (samples.of[0]->len < SAMPLES_MIN)
                continue;
            g_array_append_val(self->rows, row);
        }
    }
}

static void
fit_medians(ReplayFit *self)
{
    for (unsigned i = 0; i < self->rows->len; i++) {
        FitRow *row = &g_array_index(self->rows, FitRow, i);
        g_auto(ReplayFitSamples) samples = samples_new(self->replay, row, FIT_TRAINING);
        double by;
        row->is_fitted = difference(&samples, &by) || row->is_fitted;
        if (row->is_fitted)
            row->median = MAX(row->median + by, 0);
    }
}

/* The simulations so far had constant latencies, so what their stages spread less than the recorded
 * ones is the method's. */
static void
fit_spreads(ReplayFit *self)
{
    for (unsigned i = 0; i < self->rows->len; i++) {
        FitRow *row = &g_array_index(self->rows, FitRow, i);
        g_auto(ReplayFitSamples) samples = samples_new(self->replay, row, FIT_TRAINING);
        double real = width(samples.of[0]), model = width(samples.of[1]);
        double own = real > WIDER_MIN * model ? sqrt(real * real - model * model) : 0;
        double sigma = row->median > 0 ? own / row->median : 0;
        gboolean is_told = row->is_fitted && samples.of[0]->len >= SPREAD_SAMPLES_MIN;
        row->sigma = !is_told || sigma < SIGMA_MIN ? 0 : MIN(sigma, SIGMA_MAX);
    }
}

static gboolean
fit(ReplayFit *self, GError **error)
{
    /* As the scenario has it. */
    if (!replay_fit_simulate(self, error))
        return FALSE;
    find_rows(self);
    note(self, FALSE);
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        fit_medians(self);
        if (!replay_fit_simulate(self, error))
            return FALSE;
        if (round != ROUNDS - 1)
            continue;
        fit_spreads(self);
        if (!replay_fit_simulate(self, error))
            return FALSE;
    }
    note(self, TRUE);
    return TRUE;
}

ReplayFit *
replay_fit_new(const char *recording, const ReplayOptions *options, GError **error)
{
    g_autoptr(ReplayFit) self = g_new0(ReplayFit, 1);
    const ScenarioOptions scenario_options = {.data_dir = options->data_dir, .set = options->set};
    g_autoptr(GPtrArray) faults = NULL;

    self->options = *options;
    self->recording = recording;
    self->rows = g_array_new(FALSE, FALSE, sizeof(FitRow));
    self->sets = g_ptr_array_new_with_free_func(g_free);
    for (; options->set != NULL && options->set[self->n_given] != NULL; self->n_given++)
        g_ptr_array_add(self->sets, g_strdup(options->set[self->n_given]));
    self->scenario = scenario_load(options->file, &scenario_options, &faults);
    if (self->scenario == NULL) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "%s: has faults", options->file);
        return NULL;
    }
    return fit(self, error) ? g_steal_pointer(&self) : NULL;
}

void
replay_fit_free(ReplayFit *self)
{
    if (self == NULL)
        return;
    replay_free(self->replay);
    g_array_unref(self->rows);
    g_ptr_array_unref(self->sets);
    scenario_free(self->scenario);
    g_free(self);
}

const Replay *
replay_fit_replay(const ReplayFit *self)
{
    return self->replay;
}

/* ---- Words ---- */

/* To be pasted into the scenario. (owned) */
static char *
fitted_yaml(const ReplayFit *self)
{
    GString *text = g_string_new(NULL);
    const char *driver = NULL;

    for (unsigned i = 0; i < self->rows->len; i++) {
        const FitRow *row = &g_array_index(self->rows, FitRow, i);
        g_autofree char *latency = latency_text(row);
        if (!row->is_fitted)
            continue;
        if (driver != row->driver)
            g_string_append_printf(text, "- name: %s\n  latency:\n", row->driver);
        driver = row->driver;
        g_string_append_printf(text, "    %s: %s\n", row->method, latency);
    }
    return g_string_free(text, FALSE);
}

static json_t *
latency_json(const FitRow *row)
{
    g_autofree char *median = g_strdup_printf("%.1fms", row->median * 1e3);

    return row->sigma == 0 ? json_string(median)
                           : json_pack("{s:{s:s,s:f}}", "lognormal", "median", median, "sigma",
                                       round(row->sigma * 1e3) / 1e3);
}

static void
put_latencies(const ReplayFit *self, json_t *scenario)
{
    json_t *drivers = json_object_get(json_object_get(scenario, "spec"), "drivers");

    for (unsigned i = 0; i < self->rows->len; i++) {
        const FitRow *row = &g_array_index(self->rows, FitRow, i);
        json_t *driver = json_array_get(drivers, row->place);
        if (!row->is_fitted)
            continue;
        json_t *latency = json_object_get(driver, "latency");
        if (latency == NULL) {
            latency = json_object();
            json_object_set_new(driver, "latency", latency);
        }
        json_object_set_new(latency, row->method, latency_json(row));
    }
}

char *
replay_fit_scenario(const ReplayFit *self, GError **error)
{
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autofree char *text = NULL;
    gsize length;

    if (!input_get_contents(self->options.file, &text, &length, error))
        return NULL;
    if (!yaml_read(positions, self->options.file, text, length, NULL, documents)) {
        g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "%s has changed", self->options.file);
        return NULL;
    }
    GString *out =
        g_string_new("# Made by kvolsim replay --fit: the latencies below are fitted to a "
                     "recording.\n");
    for (unsigned i = 0; i < documents->len; i++) {
        json_t *document = documents->pdata[i];
        if (g_strcmp0(json_path_string(document, "kind"), "Scenario") == 0)
            put_latencies(self, document);
        if (i > 0)
            g_string_append(out, "---\n");
        yaml_print_members(out, document, 0);
    }
    return g_string_free(out, FALSE);
}

static double
ratio(const double *of, const double *to, unsigned k)
{
    return to[k] > 0 ? of[k] / to[k] : 1;
}

char *
replay_fit_table(const ReplayFit *self)
{
    static const char *const halves[] = {"fitted on", "tested on"};
    GString *text = g_string_new(NULL);

    g_string_append(text,
                    "Latencies fitted to the stages of one half of the objects, and tested "
                    "on the other half.\nRatios: simulated to recorded, before and after.\n\n");
    g_string_append_printf(text, "%-10s %-28s %12s %5s %13s %13s\n", "STAGE", "DRIVER, METHOD", "",
                           "N", "P50", "P90");
    for (unsigned i = 0; i < self->rows->len; i++) {
        const FitRow *row = &g_array_index(self->rows, FitRow, i);
        g_autofree char *latency = latency_text(row);
        g_string_append_printf(text, "%-10s %s, %s: %s (before: median %.1fms)\n",
                               replay_stage_name(row->stage), row->driver, row->method,
                               row->is_fitted ? latency
                                              : "kept, the stage shows no clear difference",
                               row->median_before * 1e3);
        for (FitHalf half = 0; half < N_FIT_HALVES; half++)
            if (row->n[half] > 0)
                g_string_append_printf(text, "%-10s %-28s %12s %5u %5.2f -> %4.2f %5.2f -> %4.2f\n",
                                       "", "", halves[half], row->n[half],
                                       ratio(row->before[half], row->recorded[half], 0),
                                       ratio(row->after[half], row->recorded[half], 0),
                                       ratio(row->before[half], row->recorded[half], 1),
                                       ratio(row->after[half], row->recorded[half], 1));
    }
    g_autofree char *yaml = fitted_yaml(self);
    if (*yaml != '\0')
        g_string_append_printf(text, "\nFor the scenario's drivers:\n\n%s", yaml);
    g_string_append_c(text, '\n');
    return g_string_free(text, FALSE);
}

json_t *
replay_fit_json(const ReplayFit *self)
{
    static const char *const halves[] = {"training", "test"};
    json_t *list = json_array();

    for (unsigned i = 0; i < self->rows->len; i++) {
        const FitRow *row = &g_array_index(self->rows, FitRow, i);
        json_t *json =
            json_pack("{s:s,s:s,s:s,s:b,s:f,s:f,s:f}", "driver", row->driver, "method", row->method,
                      "stage", replay_stage_name(row->stage), "medianBefore", row->median_before,
                      "median", row->median, "sigma", row->sigma);
        for (FitHalf half = 0; half < N_FIT_HALVES; half++)
            json_object_set_new(json, halves[half],
                                json_pack("{s:i,s:[f,f],s:[f,f],s:[f,f]}", "count",
                                          (int)row->n[half], "recorded", row->recorded[half][0],
                                          row->recorded[half][1], "before", row->before[half][0],
                                          row->before[half][1], "after", row->after[half][0],
                                          row->after[half][1]));
        json_array_append_new(list, json);
    }
    return list;
}
