/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: several threads make the runs; each run stays on one thread */
/* Replays a recording: simulates it several times, in threads, and compares stages. A row's
 * recorded quantiles have to lie within those of the replications, widened by the chance in so few
 * objects and by the tolerance. The first replication is kept with its causes, so that the largest
 * differences can be explained. Each thread loads a scenario of its own, since its maps are counted
 * without locks. */
#include "replay.h"

#include <math.h>
#include <string.h>

#include "run/measure/fit.h"
#include "run/results/attribution.h"
#include "sim/order.h"

#define WAITS_SHOWN 3

struct Replay {
    ReplayOptions options;
    Recorded *recorded;
    ReplayWorkloads *workloads;
    Scenario *scenario; /* of the first replication, which is kept for its causes */
    Run *run;
    Recorder *recorder;
    GHashTable *drivers; /* "namespace/claim" (owned) -> name of the driver, the run's */
    GArray *real_values; /* of ReplayValue */
    GPtrArray *values;   /* by replication: GArray of ReplayValue; objects only of the first */
    GPtrArray *matches;  /* by replication: of replay_match() */
    GPtrArray *rows;     /* of ReplayRow (owned) */
    GArray *pairs;       /* of ReplayPair, of the first replication, the largest difference first */
    GArray *all_pairs;   /* of ReplayPair, of all replications */
    /* While the simulations run: */
    GMutex lock; /* of the following and of texts */
    unsigned next;
    GError *error; /* the first */
};

const char *
replay_verdict_word(ReplayVerdict verdict)
{
    static const char *const words[] = {
        [REPLAY_WITHIN] = "within",
        [REPLAY_NEAR] = "near",
        [REPLAY_FEW] = "few",
        [REPLAY_DIFFERS] = "DIFFERS",
    };

    return words[verdict];
}

/* ---- Simulations ---- */

/* Returns: (owned): the run at its end; NULL with @error */
static Run *
replay_simulate(const Replay *self,
                const Scenario *scenario,
                unsigned replication,
                Recorder **recorder,
                GError **error)
{
    const RunOptions options = {.seed = self->options.seed,
                                .replication = replication,
                                .untraced = replication > 0,
                                .progress = self->options.progress,
                                .progress_data = self->options.progress_data};
    g_autoptr(Run) run = run_new(scenario, &options, error);

    if (run == NULL)
        return NULL;
    *recorder = recorder_new(run);
    if (run_execute(run) == RUN_DONE)
        return g_steal_pointer(&run);
    g_set_error_literal(error, RUN_ERROR, RUN_ERROR_INTERRUPTED, "interrupted");
    return NULL;
}

static Scenario *
replay_load(const Replay *self, GError **error)
{
    const ScenarioOptions options = {.data_dir = self->options.data_dir, .set = self->options.set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(self->options.file, &options, &faults);
    g_autofree char *text = file_faults_text(faults, G_MAXUINT);

    if (scenario == NULL)
        g_set_error_literal(error, RUN_ERROR, RUN_ERROR_INVALID, text);
    return scenario;
}

/* Finds the driver of each claim: of volumes that the run wrote, and of volumes at its end. */
static void
find_drivers(Replay *self)
{
    const GPtrArray *objects = recorded_objects(recorder_recorded(self->recorder));
    const Objects *keys = run_objects(self->run);
    const ApiServer *api = cluster_api(run_cluster(self->run));

    self->drivers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (unsigned i = 0; i < objects->len; i++) {
        const RecordedObject *volume = objects->pdata[i];
        if (volume->kind == RECORDED_VOLUME && volume->claim != NULL && volume->driver != NULL)
            g_hash_table_insert(self->drivers, g_strdup(volume->claim), (char *)volume->driver);
    }
    for (uint32_t i = 0; i < objects_n_keys(keys, KIND_VOLUME); i++) {
        const Volume *volume =
            VOLUME_CONST(api_server_get(api, objects_key_at(keys, KIND_VOLUME, i)));
        const ObjectKey *claim = volume == NULL ? NULL : volume->claim_ref.claim;
        if (claim != NULL && volume->source != NULL && volume->source->driver != NULL)
            g_hash_table_insert(self->drivers,
                                g_strdup_printf("%s/%s", claim->namespace, claim->name),
                                (char *)volume->source->driver);
    }
}

static gboolean
simulate_first(Replay *self, GError **error)
{
    self->scenario = replay_load(self, error);
    self->run = self->scenario == NULL
                    ? NULL
                    : replay_simulate(self, self->scenario, 0, &self->recorder, error);
    if (self->run == NULL)
        return FALSE;
    find_drivers(self);
    const Recorded *simulated = recorder_recorded(self->recorder);
    self->matches->pdata[0] = replay_match(self->recorded, simulated, TRUE);
    self->workloads = replay_workloads_new(self->recorded);
    replay_workloads_add(self->workloads, simulated);
    self->real_values = replay_stages(self->recorded, self->workloads);
    self->values->pdata[0] = replay_stages(simulated, self->workloads);
    return TRUE;
}

/* Takes the next replication. Returns: 0: none is left */
static unsigned
take_next(Replay *self)
{
    unsigned next = 0;

    g_mutex_lock(&self->lock);
    if (self->error == NULL && self->next < self->options.replications)
        next = self->next++;
    g_mutex_unlock(&self->lock);
    return next;
}

/* A thread: a scenario's maps are counted without locks, so each has its own. */
static void *
replay_work(void *data)
{
    Replay *self = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(Scenario) scenario = replay_load(self, &error);
    unsigned replication;

    while (error == NULL && (replication = take_next(self)) != 0) {
        g_autoptr(Recorder) recorder = NULL;
        g_autoptr(Run) run = replay_simulate(self, scenario, replication, &recorder, &error);
        if (run == NULL)
            break;
        g_mutex_lock(&self->lock);
        replay_workloads_add(self->workloads, recorder_recorded(recorder));
        self->values->pdata[replication] =
            replay_stages(recorder_recorded(recorder), self->workloads);
        self->matches->pdata[replication] =
            replay_match(self->recorded, recorder_recorded(recorder), FALSE);
        g_mutex_unlock(&self->lock);
    }
    g_mutex_lock(&self->lock);
    if (error != NULL && self->error == NULL)
        self->error = g_steal_pointer(&error);
    g_mutex_unlock(&self->lock);
    return NULL;
}

static gboolean
simulate_others(Replay *self, GError **error)
{
    unsigned n = MIN(self->options.jobs, self->options.replications - 1);
    g_autofree GThread **threads = g_new(GThread *, n + 1);

    self->next = 1;
    for (unsigned i = 0; i < n; i++)
        threads[i] = g_thread_new("replay", replay_work, self);
    for (unsigned i = 0; i < n; i++)
        g_thread_join(threads[i]);
    if (self->error == NULL)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&self->error));
    return FALSE;
}

/* ---- Rows ---- */

static void
row_free(void *data)
{
    ReplayRow *row = data;

    g_array_unref(row->values[REPLAY_RECORDED]);
    g_array_unref(row->values[REPLAY_SIMULATED]);
    g_free(row);
}

static guint
row_hash(const void *key)
{
    const ReplayRow *row = key;

    return g_direct_hash(row->workload) + row->stage;
}

static gboolean
row_equal(const void *a, const void *b)
{
    const ReplayRow *x = a, *y = b;

    return x->stage == y->stage && x->workload == y->workload;
}

/* @rows: a set of the rows. Returns: (borrowed): the row, made if it is new */
static ReplayRow *
replay_find_row(Replay *self, GHashTable *rows, ReplayStage stage, const char *workload)
{
    const ReplayRow wanted = {.stage = stage, .workload = workload};
    ReplayRow *row = g_hash_table_lookup(rows, &wanted);

    if (row != NULL)
        return row;
    row = g_new0(ReplayRow, 1);
    *row = wanted;
    for (unsigned side = 0; side < N_REPLAY_SIDES; side++)
        row->values[side] = g_array_new(FALSE, FALSE, sizeof(double));
    g_ptr_array_add(self->rows, row);
    g_hash_table_add(rows, row);
    return row;
}

static const double quantiles[N_REPLAY_QUANTILES] = {0.5, 0.9, 0.99};

/* Widens the range of a row's quantiles by one replication, whose values begin at @first. */
static void
see_replication(ReplayRow *row, unsigned first)
{
    GArray *all = row->values[REPLAY_SIMULATED];
    unsigned n = all->len - first;

    if (n == 0)
        return;
    double *values = &g_array_index(all, double, first);
    qsort(values, n, sizeof *values, fit_compare);
    for (unsigned i = 0; i < N_REPLAY_QUANTILES; i++) {
        double value = fit_quantile(values, n, quantiles[i]);
        row->low[i] = first == 0 ? value : MIN(row->low[i], value);
        row->high[i] = first == 0 ? value : MAX(row->high[i], value);
    }
}

static void
collect_values(Replay *self, GHashTable *rows, const GArray *values, ReplaySide side)
{
    g_autoptr(GHashTable) firsts = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < self->rows->len; i++) {
        ReplayRow *row = self->rows->pdata[i];
        g_hash_table_insert(firsts, row, GUINT_TO_POINTER(row->values[side]->len));
    }
    for (unsigned i = 0; i < values->len; i++) {
        const ReplayValue *value = &g_array_index(values, ReplayValue, i);
        double length = report_seconds(value->to - value->from);
        ReplayRow *all = replay_find_row(self, rows, value->stage, NULL);
        ReplayRow *part = replay_find_row(self, rows, value->stage, value->workload);
        g_array_append_val(all->values[side], length);
        g_array_append_val(part->values[side], length);
    }
    for (unsigned i = 0; i < self->rows->len && side == REPLAY_SIMULATED; i++)
        see_replication(self->rows->pdata[i],
                        GPOINTER_TO_UINT(g_hash_table_lookup(firsts, self->rows->pdata[i])));
}

static gboolean
replay_is_about(double recorded, double low, double high, double tolerance)
{
    double slack = report_seconds(REPLAY_RESOLUTION);

    return recorded >= low / tolerance - slack && recorded <= high * tolerance + slack;
}

static gboolean
counts_differ(const ReplayRow *row, double tolerance)
{
    unsigned less = MIN(row->n[REPLAY_RECORDED], row->n[REPLAY_SIMULATED]);
    unsigned more = MAX(row->n[REPLAY_RECORDED], row->n[REPLAY_SIMULATED]);

    return more > less * tolerance && more - less >= REPLAY_COUNT_MIN;
}

/* Widens the range of a quantile by what chance makes of so few objects: a quantile of n values
 * lies between those at q -+ 2 standard errors of a share. Where a stage has modes, one object more
 * in one of them moves a quantile from mode to mode. */
static void
widen(const ReplayRow *row, ReplayQuantile i, double *low, double *high)
{
    const GArray *model = row->values[REPLAY_SIMULATED];
    double q = quantiles[i], error = 2 * sqrt(q * (1 - q) / row->n[REPLAY_RECORDED]);
    const double *values = (const double *)model->data;

    *low = MIN(*low, fit_quantile(values, model->len, MAX(q - error, 0)));
    *high = MAX(*high, fit_quantile(values, model->len, MIN(q + error, 1)));
}

static ReplayVerdict
replay_judge(const ReplayRow *row, double tolerance)
{
    gboolean is_within = TRUE, is_near = TRUE;

    if (MAX(row->n[REPLAY_RECORDED], row->n[REPLAY_SIMULATED]) < REPLAY_SAMPLES_MIN)
        return REPLAY_FEW;
    if (MIN(row->n[REPLAY_RECORDED], row->n[REPLAY_SIMULATED]) == 0)
        return REPLAY_DIFFERS;
    if (row->n[REPLAY_RECORDED] < REPLAY_SAMPLES_MIN)
        return REPLAY_FEW;
    if (counts_differ(row, tolerance))
        return REPLAY_DIFFERS;
    for (unsigned i = 0; i <= REPLAY_P90; i++) {
        double recorded = row->q[REPLAY_RECORDED][i], low = row->low[i], high = row->high[i];
        is_within = is_within && replay_is_about(recorded, low, high, 1);
        widen(row, (ReplayQuantile)i, &low, &high);
        is_near = is_near && replay_is_about(recorded, low, high, tolerance);
    }
    return is_within ? REPLAY_WITHIN : is_near ? REPLAY_NEAR : REPLAY_DIFFERS;
}

#define CHANCE 0.05 /* Kolmogorov and Smirnov's p */

ReplayVerdict
replay_judge_call(const ValidationRow *row, double tolerance)
{
    const double *q[] = {row->p50, row->p90};
    gboolean is_within = TRUE;

    if (row->n[SIDE_REAL] < REPLAY_SAMPLES_MIN)
        return REPLAY_FEW;
    for (unsigned i = 0; i < G_N_ELEMENTS(q); i++) {
        double real = q[i][SIDE_REAL], model = q[i][SIDE_MODEL];
        is_within = is_within && (fabs(real - model) * SIM_SECOND <= (double)REPLAY_RESOLUTION ||
                                  (real <= model * tolerance && model <= real * tolerance));
    }
    return is_within ? REPLAY_WITHIN : row->ks_p >= CHANCE ? REPLAY_NEAR : REPLAY_DIFFERS;
}

static void
finish_row(ReplayRow *row, const ReplayOptions *options)
{
    for (unsigned side = 0; side < N_REPLAY_SIDES; side++) {
        GArray *values = row->values[side];
        g_array_sort(values, fit_compare);
        for (unsigned i = 0; i < N_REPLAY_QUANTILES && values->len > 0; i++)
            row->q[side][i] = fit_quantile((double *)values->data, values->len, quantiles[i]);
    }
    const GArray *real = row->values[REPLAY_RECORDED], *model = row->values[REPLAY_SIMULATED];
    row->n[REPLAY_RECORDED] = real->len;
    row->n[REPLAY_SIMULATED] = (model->len + options->replications / 2) / options->replications;
    if (real->len > 0 && model->len > 0) {
        double n = (double)real->len * model->len / (real->len + model->len);
        row->ks = fit_ks_two((double *)real->data, real->len, (double *)model->data, model->len);
        row->ks_p = fit_ks_probability(row->ks, n);
    }
    row->verdict = replay_judge(row, options->tolerance);
}

/* ---- Pairs ---- */

/* Objects of a stage: at most one of each. Returns: (owned): object -> index of its value + 1 */
static GHashTable *
values_by_object(const GArray *values, ReplayStage stage)
{
    GHashTable *table = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < values->len; i++) {
        const ReplayValue *value = &g_array_index(values, ReplayValue, i);
        if (value->stage == stage)
            g_hash_table_insert(table, GUINT_TO_POINTER(value->object + 1),
                                GUINT_TO_POINTER(i + 1));
    }
    return table;
}

static double
pair_difference(const ReplayPair *pair)
{
    return pair->seconds[REPLAY_SIMULATED] - pair->seconds[REPLAY_RECORDED];
}

static int
compare_pairs(const void *a, const void *b)
{
    double x = fabs(pair_difference(a)), y = fabs(pair_difference(b));

    return ORDER(y, x);
}

static void
note_largest(ReplayRow *row, const ReplayPair *pair)
{
    if (row->largest_of != NULL) /* the largest comes first */
        return;
    row->largest = pair_difference(pair);
    row->largest_of = pair->object;
}

static void
pair_stage(Replay *self, unsigned replication, ReplayStage stage)
{
    const GArray *model = self->values->pdata[replication];
    const unsigned *matches = self->matches->pdata[replication];
    g_autoptr(GHashTable) by_object = values_by_object(model, stage);

    for (unsigned i = 0; i < self->real_values->len; i++) {
        const ReplayValue *value = &g_array_index(self->real_values, ReplayValue, i);
        unsigned match = matches[value->object];
        if (value->stage != stage || match == 0)
            continue;
        unsigned place = GPOINTER_TO_UINT(g_hash_table_lookup(by_object, GUINT_TO_POINTER(match)));
        if (place == 0)
            continue;
        const ReplayValue *other = &g_array_index(model, ReplayValue, place - 1);
        ReplayPair pair = {
            .stage = stage,
            .object = recorded_objects(self->recorded)->pdata[value->object],
            .workload = value->workload,
            .seconds = {report_seconds(value->to - value->from),
                        report_seconds(other->to - other->from)                             },
            .from = {report_seconds(value->from),             report_seconds(other->from)},
            .simulated = match - 1,
            .value = place - 1
        };
        g_array_append_val(self->all_pairs, pair);
        if (replication == 0)
            g_array_append_val(self->pairs, pair);
    }
}

static int
replay_compare_rows(const void *a, const void *b)
{
    const ReplayRow *x = *(ReplayRow *const *)a, *y = *(ReplayRow *const *)b;

    return g_strcmp0(x->workload, y->workload) ?: (int)x->stage - (int)y->stage;
}

static void
make_rows(Replay *self)
{
    g_autoptr(GHashTable) rows = g_hash_table_new(row_hash, row_equal);

    collect_values(self, rows, self->real_values, REPLAY_RECORDED);
    for (unsigned i = 0; i < self->values->len; i++)
        collect_values(self, rows, self->values->pdata[i], REPLAY_SIMULATED);
    for (unsigned i = 0; i < self->values->len; i++)
        for (ReplayStage stage = 0; stage < N_REPLAY_STAGES; stage++)
            pair_stage(self, i, stage);
    g_array_sort(self->pairs, compare_pairs);
    for (unsigned i = 0; i < self->pairs->len; i++) {
        const ReplayPair *pair = &g_array_index(self->pairs, ReplayPair, i);
        note_largest(replay_find_row(self, rows, pair->stage, NULL), pair);
        note_largest(replay_find_row(self, rows, pair->stage, pair->workload), pair);
    }
    for (unsigned i = 0; i < self->rows->len; i++)
        finish_row(self->rows->pdata[i], &self->options);
    g_ptr_array_sort(self->rows, replay_compare_rows);
}

/* ---- The whole ---- */

Replay *
replay_new(Recorded *recorded, const ReplayOptions *options, GError **error)
{
    g_autoptr(Replay) self = g_new0(Replay, 1);

    self->options = *options;
    self->recorded = recorded;
    self->values = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    g_ptr_array_set_size(self->values, (int)options->replications);
    self->rows = g_ptr_array_new_with_free_func(row_free);
    self->matches = g_ptr_array_new_with_free_func(g_free);
    g_ptr_array_set_size(self->matches, (int)options->replications);
    self->pairs = g_array_new(FALSE, FALSE, sizeof(ReplayPair));
    self->all_pairs = g_array_new(FALSE, FALSE, sizeof(ReplayPair));
    g_mutex_init(&self->lock);
    if (!simulate_first(self, error) || !simulate_others(self, error))
        return NULL;
    make_rows(self);
    return g_steal_pointer(&self);
}

void
replay_free(Replay *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->values->len; i++)
        g_clear_pointer((GArray **)&self->values->pdata[i], g_array_unref);
    g_ptr_array_set_free_func(self->values, NULL);
    g_ptr_array_unref(self->values);
    g_clear_pointer(&self->real_values, g_array_unref);
    g_ptr_array_unref(self->rows);
    g_array_unref(self->pairs);
    g_array_unref(self->all_pairs);
    g_ptr_array_unref(self->matches);
    g_clear_pointer(&self->drivers, g_hash_table_unref);
    run_free(self->run);
    recorder_free(self->recorder);
    scenario_free(self->scenario);
    replay_workloads_free(self->workloads);
    recorded_free(self->recorded);
    g_clear_error(&self->error);
    g_mutex_clear(&self->lock);
    g_free(self);
}

const GPtrArray *
replay_rows(const Replay *self)
{
    return self->rows;
}

const GArray *
replay_pairs(const Replay *self)
{
    return self->pairs;
}

const GArray *
replay_all_pairs(const Replay *self)
{
    return self->all_pairs;
}

static unsigned
match_of(const Replay *self, unsigned object)
{
    return ((const unsigned *)self->matches->pdata[0])[object];
}

gboolean
replay_is_good(const Replay *self)
{
    for (unsigned i = 0; i < self->rows->len; i++) {
        const ReplayRow *row = self->rows->pdata[i];
        if (row->workload == NULL && row->verdict == REPLAY_DIFFERS)
            return FALSE;
    }
    return TRUE;
}

static int
compare_sums(const void *a, const void *b)
{
    const AttributionRow *x = a, *y = b;

    return ORDER(y->total, x->total);
}

char *
replay_waits(const Replay *self, const ReplayPair *pair)
{
    const ReplayValue *value =
        &g_array_index((GArray *)self->values->pdata[0], ReplayValue, pair->value);
    const RecordedSource *last = recorder_source(self->recorder, value->last);
    const SimTrace *trace = sim_trace(run_sim(self->run));
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));
    g_autoptr(GArray) sums = g_array_new(FALSE, FALSE, sizeof(AttributionRow));
    GString *text = g_string_new(NULL);
    char buffer[SHORT_TIME_BUFFER];

    attribution_walk(trace, last->causes[value->ends], value->from, value->to, NULL, links);
    for (unsigned i = 0; i < links->len; i++) {
        const ChainLink *link = &g_array_index(links, ChainLink, i);
        AttributionRow row = {.wait = link->wait,
                              .detail = attribution_detail(trace, link->wait, link->detail),
                              .total = link->to - link->from,
                              .behind_detail = ""};
        attribution_merge_row(sums, &row);
    }
    g_array_sort(sums, compare_sums);
    for (unsigned i = 0; i < sums->len && i < WAITS_SHOWN; i++) {
        const AttributionRow *row = &g_array_index(sums, AttributionRow, i);
        if (row->total == 0)
            break;
        g_string_append_printf(text, "%s%s%s%s %s", i > 0 ? ", " : "", attribution_wait(row->wait),
                               row->detail[0] != '\0' ? " " : "", row->detail,
                               short_time(row->total, buffer, sizeof buffer));
    }
    return g_string_free(text, FALSE);
}

const char *
replay_driver(const Replay *self, const RecordedObject *object)
{
    const char *driver = NULL;

    if (object->kind == RECORDED_VOLUME || object->kind == RECORDED_ATTACHMENT)
        return object->claim == NULL ? NULL : g_hash_table_lookup(self->drivers, object->claim);
    if (object->kind == RECORDED_CLAIM) {
        g_autofree char *claim = g_strdup_printf("%s/%s", object->namespace, object->name);
        return g_hash_table_lookup(self->drivers, claim);
    }
    for (unsigned i = 0; object->claims != NULL && object->claims[i] != NULL; i++) {
        g_autofree char *claim = g_strdup_printf("%s/%s", object->namespace, object->claims[i]);
        const char *next = g_hash_table_lookup(self->drivers, claim);
        if (driver != NULL && g_strcmp0(next, driver) != 0)
            return NULL;
        driver = next;
    }
    return driver;
}

GPtrArray *
replay_only(const Replay *self, ReplaySide side, RecordedKind kind)
{
    const GPtrArray *objects = recorded_objects(replay_side(self, side));
    g_autofree gboolean *is_matched = g_new0(gboolean, objects->len + 1);
    GPtrArray *only = g_ptr_array_new();

    for (unsigned i = 0; i < recorded_objects(self->recorded)->len; i++)
        if (match_of(self, i) != 0)
            is_matched[side == REPLAY_RECORDED ? i : match_of(self, i) - 1] = TRUE;
    for (unsigned i = 0; i < objects->len; i++)
        if (!is_matched[i] && ((const RecordedObject *)objects->pdata[i])->kind == (int)kind)
            g_ptr_array_add(only, objects->pdata[i]);
    return only;
}

const Recorded *
replay_side(const Replay *self, ReplaySide side)
{
    return side == REPLAY_RECORDED ? self->recorded : recorder_recorded(self->recorder);
}

const GArray *
replay_values(const Replay *self, ReplaySide side)
{
    return side == REPLAY_RECORDED ? self->real_values : self->values->pdata[0];
}

unsigned
replay_match_of(const Replay *self, unsigned object)
{
    return match_of(self, object);
}

const ReplayOptions *
replay_options(const Replay *self)
{
    return &self->options;
}

const GPtrArray *
replay_notes(const Replay *self)
{
    return run_notes(self->run);
}
