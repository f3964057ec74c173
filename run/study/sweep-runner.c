/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: several threads make the runs of a sweep; each run stays on one thread */
/* Makes the runs of a sweep with threads, not processes. A run shares nothing that changes with
 * another (no library here has writable data, and a test watches that), so one is as safe as the
 * other; a thread needs no protocol to hand its numbers over and cannot outlive a program that is
 * killed. Workers take tasks from a queue and put rows into another; the caller's thread alone
 * chooses the next run and touches the database.
 *
 * Invariant: which rows there are depends on the sweep only: they are keyed by point and
 * replication, and the rule that asks for more replications looks at those of its point, from 0 on.
 */
#include "sweep-runner.h"

#include "sim/random.h"
#include "sweep-statistics.h"

#define POLL_US 100000 /* between two checks for an interruption */
#define ROWS_MAX 256   /* in one transaction */

/* Tasks in flight for each worker: enough to keep it busy while rows are written, few enough to
 * stop soon after an interruption. */
#define TASKS_AHEAD 8

typedef struct {
    unsigned point, replication;
} Task;

typedef struct {
    SweepRow row;
    GError *error; /* (owned): the scenario's parts do not fit together */
} Result;

typedef struct {
    const Sweep *sweep;
    SweepStore *store;
    const SweepRunOptions *options;
    GQueue waiting; /* of Task (owned): not handed out yet */
    GAsyncQueue *tasks, *results;
    gint stop; /* atomic: workers return their tasks unfinished */
    SweepProgress progress;
    unsigned n_open;   /* tasks handed out */
    GByteArray **have; /* for each point, by replication: 1 if it is requested or stored */
    GArray **values;   /* for each point: of double: the stopping rule's measure, by replication */
} SweepRunner;

/* ---- The workers ---- */

/* A worker keeps the scenario of its last point: its next task usually has the same point. */
typedef struct {
    SweepRunner *runner;
    Scenario *scenario;
    unsigned point;
} SweepRunnerWorker;

static gboolean
sweep_runner_go_on(void *data, SimTime now, uint64_t n_events)
{
    SweepRunner *self = data;

    (void)now, (void)n_events;
    return g_atomic_int_get(&self->stop) == 0;
}

/* Returns: (borrowed): NULL with @error: the file changed since the sweep was checked */
static const Scenario *
scenario_of(SweepRunnerWorker *worker, unsigned point, GError **error)
{
    const SweepRunner *self = worker->runner;
    const SweepPoint *place = &self->sweep->points[point];
    const ScenarioOptions options = {
        .data_dir = self->options->data_dir, .set = place->set, .set_is_foreign = TRUE};
    g_autoptr(GPtrArray) faults = NULL;

    if (worker->scenario != NULL && worker->point == point)
        return worker->scenario;
    g_clear_pointer(&worker->scenario, scenario_free);
    worker->scenario = scenario_load(self->sweep->scenario_file, &options, &faults);
    worker->point = point;
    if (worker->scenario != NULL && g_str_equal(worker->scenario->hash, place->hash))
        return worker->scenario;
    g_set_error(error, RUN_ERROR, RUN_ERROR_INVALID, "it has changed since the sweep began");
    return NULL;
}

/* With common random numbers a replication has the same seed at every point; otherwise each point
 * has its own seeds. */
static uint64_t
seed_of(const Sweep *sweep, unsigned point)
{
    return sweep->independent ? sim_hash_combine(sweep->seed, point) >> 1 : sweep->seed;
}

/* Returns: FALSE if it was interrupted, or with @result's error */
static gboolean
make_run(SweepRunnerWorker *worker, const Task *task, Result *result)
{
    SweepRunner *self = worker->runner;
    const Scenario *scenario = scenario_of(worker, task->point, &result->error);
    const RunOptions options = {.seed = seed_of(self->sweep, task->point),
                                .replication = task->replication,
                                .untraced = TRUE,
                                .counts_requests = sweep_counts_requests(self->sweep),
                                .progress = sweep_runner_go_on,
                                .progress_data = self};
    g_autoptr(Run) run = scenario == NULL ? NULL : run_new(scenario, &options, &result->error);

    if (run == NULL || run_execute(run) == RUN_INTERRUPTED)
        return FALSE;
    g_autoptr(Stages) stages = stages_new(run);
    sweep_measure(self->sweep, run, stages, result->row.observations);
    result->row.n_events = sim_events_fired(run_sim(run));
    result->row.ended_at = sim_now(run_sim(run));
    return TRUE;
}

static void
result_free(Result *result)
{
    g_free(result->row.observations);
    g_clear_error(&result->error);
    g_free(result);
}

static void *
sweep_runner_work(void *data)
{
    SweepRunner *self = data;
    SweepRunnerWorker worker = {.runner = self};

    for (;;) {
        g_autofree Task *task = g_async_queue_pop(self->tasks);
        if (task->point == self->sweep->n_points) /* the last one */
            break;
        Result *result = g_new0(Result, 1);
        result->row.point = task->point;
        result->row.replication = task->replication;
        result->row.observations = g_new0(SweepObservation, sweep_n_observations(self->sweep));
        if (g_atomic_int_get(&self->stop) != 0 || !make_run(&worker, task, result))
            g_clear_pointer(&result->row.observations,
                            g_free); /* tells the caller that there is no result */
        g_async_queue_push(self->results, result);
    }
    scenario_free(worker.scenario);
    return NULL;
}

/* ---- What is to be done ---- */

/* The shard of a run. A stopping rule needs all replications of its point in one shard. */
static gboolean
sweep_runner_is_ours(const SweepRunner *self, unsigned point, unsigned replication)
{
    uint64_t number = self->sweep->replications.measure >= 0
                          ? point
                          : (uint64_t)replication * self->sweep->n_points + point;

    return number % self->options->n_shards == self->options->shard;
}

/* Returns: whether it is new */
static gboolean
sweep_runner_mark(SweepRunner *self, unsigned point, unsigned replication)
{
    GByteArray *have = self->have[point];

    while (have->len <= replication)
        g_byte_array_append(have, (const guint8[]){0}, 1);
    gboolean is_new = have->data[replication] == 0;
    have->data[replication] = 1;
    return is_new;
}

static void
want(SweepRunner *self, unsigned point, unsigned n)
{
    for (unsigned replication = 0; replication < n; replication++) {
        if (!sweep_runner_is_ours(self, point, replication) ||
            !sweep_runner_mark(self, point, replication))
            continue;
        Task *task = g_new(Task, 1);
        *task = (Task){point, replication};
        g_queue_push_tail(&self->waiting, task);
        self->progress.total++;
    }
}

static void
hand_out(SweepRunner *self)
{
    unsigned most = TASKS_AHEAD * MAX(self->options->jobs, 1);

    for (; self->n_open < most && !g_queue_is_empty(&self->waiting); self->n_open++)
        g_async_queue_push(self->tasks, g_queue_pop_head(&self->waiting));
}

/* Values of the stopping rule's measure: a replication without a result yet, and a run with nothing
 * to measure. */
#define NOT_YET ((double)G_MAXFLOAT)
#define MISSING (-(double)G_MAXFLOAT)

static void
keep_value(SweepRunner *self, unsigned point, unsigned replication, const SweepObservation *value)
{
    const double not_yet = NOT_YET;
    double number = value->is_missing ? MISSING : value->value;

    while (self->values[point]->len <= replication)
        g_array_append_val(self->values[point], not_yet);
    g_array_index(self->values[point], double, replication) = number;
}

/* The number of the point's values before the first gap. @is_measured: (out): whether all of them
 * are numbers */
static unsigned
prefix(const SweepRunner *self, unsigned point, gboolean *is_measured)
{
    const GArray *values = self->values[point];
    unsigned n = 0;

    *is_measured = TRUE;
    while (n < values->len && g_array_index(values, double, n) < NOT_YET) {
        *is_measured &= g_array_index(values, double, n) > MISSING;
        n++;
    }
    return n;
}

/* Requests the replications that the point still needs, by what is known now. A point with an
 * unmeasurable run never reaches the wanted width. */
static void
advance(SweepRunner *self, unsigned point)
{
    const SweepReplications *rule = &self->sweep->replications;
    gboolean is_measured;

    if (rule->measure < 0) {
        want(self, point, rule->count);
        return;
    }
    unsigned n = prefix(self, point, &is_measured);
    unsigned wanted =
        n < rule->count ? rule->count
        : !is_measured
            ? rule->max
            : replications_wanted((double *)self->values[point]->data, n, rule->count, rule->max,
                                  rule->relative_width, self->sweep->confidence);
    want(self, point, wanted);
}

static void
found_run(void *data, unsigned point, unsigned replication, const SweepObservation *value)
{
    SweepRunner *self = data;

    if (point >= self->sweep->n_points)
        return;
    if (sweep_runner_mark(self, point, replication))
        self->progress.found++;
    if (self->sweep->replications.measure >= 0)
        keep_value(self, point, replication, value);
}

static gboolean
look_what_is_there(SweepRunner *self, GError **error)
{
    int measure = MAX(self->sweep->replications.measure, 0);

    return sweep_store_values(self->store, (unsigned)measure, found_run, self, error);
}

/* ---- What comes back ---- */

/* Waits a little for a first result, and takes all results that have come. Returns: their number */
static unsigned
sweep_runner_collect(SweepRunner *self, Result **results)
{
    unsigned n = 0;
    Result *result = g_async_queue_timeout_pop(self->results, POLL_US);

    while (result != NULL) {
        results[n++] = result;
        self->n_open--;
        result = n < ROWS_MAX ? g_async_queue_try_pop(self->results) : NULL;
    }
    return n;
}

/* Writes the rows, and requests the replications that follow from them. */
static gboolean
take_results(SweepRunner *self, GError **error)
{
    Result *results[ROWS_MAX];
    SweepRow rows[ROWS_MAX];
    unsigned n = sweep_runner_collect(self, results), n_rows = 0;
    gboolean ok = TRUE;

    for (unsigned i = 0; i < n; i++) {
        if (results[i]->row.observations != NULL)
            rows[n_rows++] = results[i]->row;
        else if (results[i]->error != NULL && ok) {
            g_propagate_error(error, g_steal_pointer(&results[i]->error));
            ok = FALSE;
        }
    }
    ok = (n_rows == 0 ||
          sweep_store_add(self->store, self->sweep, rows, n_rows, ok ? error : NULL)) &&
         ok;
    for (unsigned i = 0; i < n_rows && self->sweep->replications.measure >= 0; i++)
        keep_value(self, rows[i].point, rows[i].replication,
                   &rows[i].observations[sweep_observation_index(
                       self->sweep, (unsigned)self->sweep->replications.measure, 0)]);
    for (unsigned i = 0; i < n_rows && ok && g_atomic_int_get(&self->stop) == 0; i++)
        if (self->sweep->replications.measure >= 0)
            advance(self, rows[i].point);
    self->progress.done += n_rows;
    for (unsigned i = 0; i < n; i++)
        result_free(results[i]);
    return ok;
}

static SweepEnd
supervise(SweepRunner *self, GError **error)
{
    const SweepRunOptions *options = self->options;
    SweepEnd end = SWEEP_DONE;

    for (unsigned point = 0; point < self->sweep->n_points; point++)
        advance(self, point);
    for (hand_out(self); self->n_open > 0;) {
        if (!take_results(self, end == SWEEP_FAILED ? NULL : error))
            end = SWEEP_FAILED;
        if (end == SWEEP_DONE && options->progress != NULL &&
            !options->progress(options->progress_data, &self->progress))
            end = SWEEP_INTERRUPTED;
        if (end == SWEEP_DONE)
            hand_out(self);
        else
            g_atomic_int_set(&self->stop, 1);
    }
    return end;
}

static SweepEnd
run_with_workers(SweepRunner *self, GError **error)
{
    unsigned n = MAX(self->options->jobs, 1);
    g_autofree GThread **workers = g_new0(GThread *, n);

    for (unsigned i = 0; i < n; i++)
        workers[i] = g_thread_new("run", sweep_runner_work, self);
    SweepEnd end = supervise(self, error);
    for (unsigned i = 0; i < n; i++) {
        Task *last = g_new(Task, 1);
        *last = (Task){self->sweep->n_points, 0};
        g_async_queue_push(self->tasks, last);
    }
    for (unsigned i = 0; i < n; i++)
        g_thread_join(workers[i]);
    return end;
}

SweepEnd
sweep_run(const Sweep *sweep, SweepStore *store, const SweepRunOptions *options, GError **error)
{
    SweepRunner self = {.sweep = sweep, .store = store, .options = options};
    SweepEnd end = SWEEP_FAILED;

    self.tasks = g_async_queue_new();
    self.results = g_async_queue_new();
    self.have = g_new(GByteArray *, MAX(sweep->n_points, 1));
    self.values = g_new(GArray *, MAX(sweep->n_points, 1));
    for (unsigned i = 0; i < sweep->n_points; i++) {
        self.have[i] = g_byte_array_new();
        self.values[i] = g_array_new(FALSE, FALSE, sizeof(double));
    }
    if (look_what_is_there(&self, error))
        end = run_with_workers(&self, error);
    for (unsigned i = 0; i < sweep->n_points; i++) {
        g_byte_array_unref(self.have[i]);
        g_array_unref(self.values[i]);
    }
    g_free(self.have);
    g_free(self.values);
    g_queue_clear_full(&self.waiting, g_free);
    g_async_queue_unref(self.tasks);
    g_async_queue_unref(self.results);
    return end;
}
