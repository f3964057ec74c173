/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables for the pictures of a run: waits, levels over time, volumes of nodes, requests,
 * distributions. Tables are bounded however long the run is: if there are too many instants, a row
 * shows a stretch, with the instant of the most pending pods and the most calls. Steps of calls are
 * read from the log in order, and only late ones are sorted. */
#include "plot-data.h"

#include <string.h>

#include "attribution.h"
#include "results.h"
#include "run/files/rows.h"
#include "sim/order.h"

#define TIMES_MAX 3000
#define STRETCHES_MAX 600
#define NODE_TIMES_MAX 200
#define NODES_MAX 400
#define CLIENTS_MAX 7
#define RATES_MAX 500

/* In the C locale, whatever the user's locale. */
static void
append_number(GString *text, double number)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];

    append_text(text, g_ascii_formatd(buffer, sizeof buffer, "%.6g", number));
}

/* Numbers of six digits. */
#define column_number column_span
#define cell_number append_number

#define column_short_time column_span
static void
cell_short_time(GString *text, SimTime time)
{
    if (!append_six_digits(text, (uint64_t)time, 1))
        append_number(text, report_seconds(time));
}

/* ---- Where the time went ---- */

/* Kinds that are rare have columns only in runs that need them. Returns: the end of the columns */
static unsigned
waits_end(const Attribution *attribution)
{
    unsigned end = WAIT_STARTUP + 1;

    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        SimTime sum;
        g_autoptr(GArray) rows = attribution_rows(attribution, (Stage)stage, &sum);
        for (unsigned i = 0; i < rows->len; i++)
            end = MAX(end, g_array_index(rows, AttributionRow, i).wait + 1u);
    }
    return end;
}

/* clang-format off */
#define WAIT_COLUMNS(X) \
    X("stage", slug, NULL, "the stage", stage_name((Stage)stage))
static const Column wait_others = {"a column for each kind of wait", &column_number, "seconds", "how long the mean object waited for this"};
const ResultTable waits_table = RESULT_TABLE("waits.csv", "kvolsim run: how long the mean object waited in each stage, for the picture waits", &wait_others, WAIT_COLUMNS(COLUMN));
/* clang-format on */

void
plot_waits(const Run *run, const Stages *stages, ResultFile *file)
{
    g_autoptr(Attribution) attribution = attribution_new();

    if (run_options(run)->untraced)
        return;
    attribution_add(attribution, run, stages);
    results_append_header(file->text, run, "# ", "");
    WAIT_COLUMNS(CSV_NAME);
    unsigned end = waits_end(attribution);
    for (unsigned wait = WAIT_SCENARIO; wait < end; wait++) {
        row_item(file);
        append_text(file->text, attribution_wait((SimWait)wait));
    }
    row_end(file);
    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        SimTime sums[N_WAITS] = {0}, sum;
        g_autoptr(GArray) rows = attribution_rows(attribution, (Stage)stage, &sum);
        if (rows->len == 0)
            continue;
        for (unsigned i = 0; i < rows->len; i++) {
            const AttributionRow *row = &g_array_index(rows, AttributionRow, i);
            sums[row->wait] += row->total;
        }
        WAIT_COLUMNS(CSV_CELL);
        for (unsigned wait = WAIT_SCENARIO; wait < end; wait++) {
            row_item(file);
            append_number(file->text,
                          report_seconds(sums[wait]) / stages->samples[stage].values->len);
        }
        row_end(file);
    }
}

/* ---- What went on over time ---- */

enum {
    UNSCHEDULED,
    ATTACHING,
    STAGING,
    STARTING,
    CONTROLLER_CALLS,
    NODE_CALLS,
    LOST, /* pods that were Ready, are not, and are still there */
    N_LEVELS,
};

/* clang-format off */
#define LEVEL_COLUMNS(X) \
    X("seconds",          short_time, "seconds", "from then on; a step is two rows of the same time", at) \
    X("unscheduled",      count,      "pods",    "without a node", levels[UNSCHEDULED]) \
    X("attaching",        count,      "pods",    "on a node, not attached", levels[ATTACHING]) \
    X("staging",          count,      "pods",    "attached, not staged", levels[STAGING]) \
    X("starting",         count,      "pods",    "staged, not Ready", levels[STARTING]) \
    X("controller calls", count,      "calls",   "in flight at the controller plugins", levels[CONTROLLER_CALLS]) \
    X("node calls",       count,      "calls",   "in flight at the node plugins", levels[NODE_CALLS]) \
    X("lost",             count,      "pods",    "no longer Ready", levels[LOST])
const ResultTable over_time_table = RESULT_TABLE("over-time.csv", "kvolsim run: what was pending over time, for the pictures pending and in-flight", NULL, LEVEL_COLUMNS(COLUMN));
/* clang-format on */

/* A change of a level at a time. */
typedef struct {
    SimTime at;
    int level, change;
} PlotDataStep;

static void
add_step(GArray *steps, SimTime from, SimTime to, int level, SimTime end)
{
    PlotDataStep begin = {from, level, 1}, over = {to, level, -1};

    if (from == TIME_UNSET || (to != TIME_UNSET && to <= from))
        return;
    g_array_append_val(steps, begin);
    if (to != TIME_UNSET && to <= end)
        g_array_append_val(steps, over);
}

static int
compare_steps(const void *a, const void *b)
{
    const PlotDataStep *one = a, *other = b;

    return ORDER(one->at, other->at) ?: other->change - one->change;
}

/* Returns: the earlier one; TIME_UNSET counts as never */
static SimTime
first_of(SimTime one, SimTime other)
{
    if (one == TIME_UNSET)
        return other;
    return other == TIME_UNSET || one < other ? one : other;
}

static void
add_pod_steps(GArray *steps, const PodTimes *pod, SimTime end)
{
    const SimTime points[] = {pod->created, pod->scheduled, pod->attached, pod->staged, pod->ready};
    SimTime over = first_of(pod->ready, first_of(pod->deleted, pod->gone));

    for (unsigned i = 0; i + 1 < G_N_ELEMENTS(points); i++) {
        SimTime to = points[i + 1];
        if (points[i] == TIME_UNSET)
            return;
        int level = UNSCHEDULED + (int)i;
        if (to == TIME_UNSET && i + 2 < G_N_ELEMENTS(points) && pod->ready != TIME_UNSET) {
            to = pod->ready; /* a pod without volumes */
            level = STARTING;
        }
        add_step(steps, points[i], first_of(to, over), level, end);
    }
}

/* Pods that are no longer Ready, until they are again or are gone. */
static void
add_lost_steps(GArray *steps, const Milestones *log, SimTime end)
{
    g_autoptr(GHashTable) lost = g_hash_table_new(g_direct_hash, g_direct_equal);

    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        if (milestone.kind == MILESTONE_POD_NOT_READY) {
            g_hash_table_insert(lost, (void *)milestone.object, GUINT_TO_POINTER(i + 1));
            continue;
        }
        if (milestone.kind != MILESTONE_POD_READY && milestone.kind != MILESTONE_POD_GONE &&
            milestone.kind != MILESTONE_POD_STOPPED)
            continue;
        unsigned since = GPOINTER_TO_UINT(g_hash_table_lookup(lost, milestone.object));
        if (since == 0)
            continue;
        add_step(steps, milestones_at(log, since - 1).at, milestone.at, LOST, end);
        g_hash_table_remove(lost, milestone.object);
    }
    for (unsigned i = 0; i < milestones_count(log) && g_hash_table_size(lost) > 0; i++) {
        const Milestone milestone = milestones_at(log, i);
        if (milestone.kind == MILESTONE_POD_NOT_READY &&
            GPOINTER_TO_UINT(g_hash_table_lookup(lost, milestone.object)) == i + 1)
            add_step(steps, milestone.at, TIME_UNSET, LOST, end);
    }
}

/* @step: (out): the change that a milestone makes. Returns: FALSE if it makes none */
static gboolean
call_step(const Milestone *milestone, PlotDataStep *step)
{
    const MilestoneCall *call = milestone_call(milestone->kind);

    if (call == NULL)
        return FALSE;
    *step = (PlotDataStep){.at = milestone->at,
                           .level = csi_method_service(call->method) == CSI_NODE ? NODE_CALLS
                                                                                 : CONTROLLER_CALLS,
                           .change = (MilestoneKind)milestone->kind == call->started ? 1 : -1};
    return TRUE;
}

/* Walks all steps in order of time. Steps of calls, by far the most, are read from the log, which
 * has all but a few in that order. */
typedef struct {
    const GArray *steps; /* of Step, sorted: steps of pods, and of late calls */
    const Milestones *log;
    unsigned next_step, next_milestone;
    SimTime latest;    /* latest time of the calls read so far */
    PlotDataStep call; /* the next call; the last one at the end of the log */
    PlotDataStep now;  /* the present step, unless the walk is over */
    gboolean has_call, is_over;
} StepWalk;

static void
read_call(StepWalk *self)
{
    self->has_call = FALSE;
    while (!self->has_call && self->next_milestone < milestones_count(self->log)) {
        const Milestone milestone = milestones_at(self->log, self->next_milestone++);
        self->has_call = call_step(&milestone, &self->call) && milestone.at >= self->latest;
    }
    if (self->has_call)
        self->latest = self->call.at;
}

static void
walk_on(StepWalk *self)
{
    const PlotDataStep *step = self->next_step < self->steps->len
                                   ? &g_array_index(self->steps, PlotDataStep, self->next_step)
                                   : NULL;

    self->is_over = step == NULL && !self->has_call;
    if (step != NULL && (!self->has_call || step->at <= self->call.at)) {
        self->now = *step;
        self->next_step++;
    } else if (self->has_call) {
        self->now = self->call;
        read_call(self);
    }
}

static StepWalk
walk_steps(const GArray *steps, const Milestones *log)
{
    StepWalk self = {.steps = steps, .log = log};

    read_call(&self);
    walk_on(&self);
    return self;
}

/* Adds the calls that the walk skips, since a later one stands before them in the log. */
static void
add_late_calls(GArray *steps, const Milestones *log)
{
    SimTime latest = 0;

    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        PlotDataStep step;
        if (!call_step(&milestone, &step))
            continue;
        if (step.at < latest)
            g_array_append_val(steps, step);
        latest = MAX(latest, step.at);
    }
}

/* Appends a row of levels. */
static void
append_levels(ResultFile *file, SimTime at, const int *levels)
{
    LEVEL_COLUMNS(CSV_CELL);
    row_end(file);
}

/* A step is two rows: the levels until @at, unless that is the start, and from then on. */
static void
append_step(ResultFile *file, SimTime at, const int *before, const int *after)
{
    if (at > 0 && memcmp(before, after, N_LEVELS * sizeof *before) == 0)
        return;
    if (at > 0)
        append_levels(file, at, before);
    append_levels(file, at, after);
}

static int
pending(const int *levels)
{
    return levels[UNSCHEDULED] + levels[ATTACHING] + levels[STAGING] + levels[STARTING] +
           levels[LOST];
}

/* Returns: the length of the stretch that a row shows: 1 (a row for every instant), unless there
 * are too many instants */
static SimTime
stretch_width(StepWalk walk, SimTime end)
{
    unsigned n_instants = 0;
    SimTime last = TIME_UNSET;

    for (; !walk.is_over && n_instants <= TIMES_MAX; walk_on(&walk)) {
        n_instants += walk.now.at != last;
        last = walk.now.at;
    }
    return n_instants <= TIMES_MAX ? 1 : MAX(end / STRETCHES_MAX, 1);
}

/* A stretch shows the pods at the instant with the most pending pods, so that their stages add up;
 * and the most calls. @levels: all 0; (out): the levels at the end */
static void
append_stretches(ResultFile *file, StepWalk walk, SimTime width, int *levels)
{
    int shown[N_LEVELS] = {0}, before[N_LEVELS] = {0};

    append_step(file, 0, before, shown);
    while (!walk.is_over) {
        SimTime at = walk.now.at / width * width;
        memcpy(shown, levels, sizeof shown);
        gboolean is_first = TRUE;
        while (!walk.is_over && walk.now.at < at + width) {
            SimTime now = walk.now.at;
            for (; !walk.is_over && walk.now.at == now; walk_on(&walk))
                levels[walk.now.level] += walk.now.change;
            if ((is_first && now == at) || pending(levels) > pending(shown))
                memcpy(shown, levels, CONTROLLER_CALLS * sizeof *shown);
            for (unsigned k = CONTROLLER_CALLS; k < N_LEVELS; k++)
                shown[k] = is_first && now == at ? levels[k] : MAX(shown[k], levels[k]);
            is_first = FALSE;
        }
        append_step(file, at, before, shown);
        memcpy(before, shown, sizeof before);
        if (width > 1) { /* levels stay until the next stretch with a row of its own */
            SimTime next = at + width;
            if (walk.is_over || walk.now.at >= next + width) {
                append_step(file, next, before, levels);
                memcpy(before, levels, sizeof before);
            }
        }
    }
}

void
plot_over_time(const Run *run, const Stages *stages, ResultFile *file)
{
    SimTime end = sim_now(run_sim(run));
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(PlotDataStep));
    int levels[N_LEVELS] = {0};

    const GArray *pods = stages_pods(stages);
    for (unsigned i = 0; i < pods->len; i++)
        add_pod_steps(steps, &g_array_index(pods, PodTimes, i), end);
    add_lost_steps(steps, run_milestones(run), end);
    add_late_calls(steps, run_milestones(run));
    g_array_sort(steps, compare_steps);
    results_append_header(file->text, run, "# ", "");
    row_header(file, &over_time_table);
    const StepWalk walk = walk_steps(steps, run_milestones(run));
    append_stretches(file, walk, stretch_width(walk, end), levels);
    append_levels(file, end, levels);
}

/* ---- Volumes of nodes ---- */

/* Returns: the sum of the limits of a node's drivers; -1 if a driver has none */
static int
node_limit(const Run *run, const char *node)
{
    const ObjectKey *key = objects_find_key(run_objects(run), KIND_CSI_NODE, NULL, node);
    const Object *object = key == NULL ? NULL : api_server_get(cluster_api(run_cluster(run)), key);
    int limit = 0;

    for (unsigned i = 0; object != NULL && i < run_scenario(run)->n_drivers; i++) {
        const CsiNodeDriver *driver =
            csi_node_find_driver((const CsiNode *)object, run_scenario(run)->drivers[i].name);
        if (driver == NULL)
            continue;
        if (driver->allocatable_count < 0)
            return -1;
        limit += driver->allocatable_count;
    }
    return limit == 0 ? -1 : limit;
}

/* The nodes at one time. If there are more than NODES_MAX, several share a row, which shows the
 * fullest. */
typedef struct {
    const GPtrArray *nodes; /* their names, borrowed */
    unsigned nodes_per_row;
    int *attached, *limits;
} PlotDataNodeVolumes;

/* Whether node @one is nearer to its limit; without limits, whether it has more volumes. */
static gboolean
is_fuller(const PlotDataNodeVolumes *self, unsigned one, unsigned other)
{
    if (self->limits[one] > 0 && self->limits[other] > 0)
        return (int64_t)self->attached[one] * self->limits[other] >
               (int64_t)self->attached[other] * self->limits[one];
    return self->attached[one] > self->attached[other];
}

/* clang-format off */
static const ColumnType column_limit = {"{\"type\": \"integer\", \"minimum\": -1}", FALSE, "integer"};
#define cell_limit append_integer
#define NODE_COLUMNS(X) \
    X("seconds",  short_time, "seconds", "the time", at) \
    X("row",      count,      NULL,      "the number of the picture's row, from 0", first / self->nodes_per_row) \
    X("name",     text,       NULL,      "the node's name; if a row has several nodes: the fullest one's", self->nodes->pdata[fullest]) \
    X("attached", count,      "volumes", "attached to the node", self->attached[fullest]) \
    X("limit",    limit,      "volumes", "the node's limit; -1: it has none", self->limits[fullest]) \
    X("nodes",    ordinal,    "nodes",   "that share a row", self->nodes_per_row)
const ResultTable node_volumes_table = RESULT_TABLE("node-volumes.csv", "kvolsim run: volumes attached to each node over time, for the picture nodes", NULL, NODE_COLUMNS(COLUMN));
/* clang-format on */

static void
append_node_rows(const PlotDataNodeVolumes *self, ResultFile *file, SimTime at)
{
    for (unsigned first = 0; first < self->nodes->len; first += self->nodes_per_row) {
        unsigned fullest = first, end = MIN(first + self->nodes_per_row, self->nodes->len);
        for (unsigned i = first + 1; i < end; i++)
            if (is_fuller(self, i, fullest))
                fullest = i;
        NODE_COLUMNS(CSV_CELL);
        row_end(file);
    }
    row_end(file); /* gnuplot: a block of its own */
}

/* The nodes that there are at the end, and others that have had volumes. A key alone is none: it
 * may be a pattern or the name that a template gives. Returns: (owned): their names, borrowed */
static GPtrArray *
nodes_of_run(const Run *run)
{
    const Milestones *log = run_milestones(run);
    g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *nodes = g_ptr_array_new();

    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        if (milestone.kind == MILESTONE_VOLUME_ATTACHED && milestone.node != NULL)
            g_hash_table_add(used, (void *)milestone.node);
    }
    for (unsigned i = 0; i < objects_n_keys(run_objects(run), KIND_NODE); i++) {
        const ObjectKey *key = objects_key_at(run_objects(run), KIND_NODE, i);
        if (api_server_get(cluster_api(run_cluster(run)), key) != NULL ||
            g_hash_table_contains(used, key->name))
            g_ptr_array_add(nodes, (void *)key->name);
    }
    return nodes;
}

void
plot_node_volumes(const Run *run, const Stages *stages, ResultFile *file)
{
    const Milestones *log = run_milestones(run);
    SimTime end = sim_now(run_sim(run)), width = MAX(end / NODE_TIMES_MAX, 1);
    g_autoptr(GPtrArray) nodes = nodes_of_run(run);
    g_autoptr(GHashTable) places = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree int *attached = g_new0(int, nodes->len), *limits = g_new0(int, nodes->len);
    const PlotDataNodeVolumes volumes = {nodes, (nodes->len + NODES_MAX - 1) / NODES_MAX, attached,
                                         limits};
    unsigned next = 0;

    (void)stages;
    for (unsigned i = 0; i < nodes->len; i++) {
        g_hash_table_insert(places, nodes->pdata[i], GUINT_TO_POINTER(i + 1));
        limits[i] = node_limit(run, nodes->pdata[i]);
    }
    results_append_header(file->text, run, "# ", "");
    row_header(file, &node_volumes_table);
    for (SimTime at = 0; at <= end; at += width) {
        for (; next < milestones_count(log) && milestones_at(log, next).at <= at; next++) {
            const Milestone milestone = milestones_at(log, next);
            int change = (milestone.kind == MILESTONE_VOLUME_ATTACHED) -
                         (milestone.kind == MILESTONE_VOLUME_DETACHED);
            unsigned place = change == 0 || milestone.node == NULL
                                 ? 0
                                 : GPOINTER_TO_UINT(g_hash_table_lookup(places, milestone.node));
            if (place > 0)
                attached[place - 1] = MAX(attached[place - 1] + change, 0);
        }
        append_node_rows(&volumes, file, at);
    }
}

/* ---- Requests ---- */

typedef struct {
    const char *name;
    uint64_t total;
} ClientTotal;

static int
compare_totals(const void *a, const void *b)
{
    const ClientTotal *one = a, *other = b;

    return ORDER(other->total, one->total) ?: strcmp(one->name, other->name);
}

static unsigned
client_place(const GArray *clients, const char *name)
{
    for (unsigned i = 0; i < clients->len; i++)
        if (strcmp(g_array_index(clients, ClientTotal, i).name, name) == 0)
            return i;
    return clients->len;
}

/* clang-format off */
#define SECOND_COLUMN(X) \
    X("seconds", count,  "seconds",           "from then on; a step is two rows", second)
#define REST_COLUMNS(X) \
    X("others",  number, "requests a second", "the requests of all other clients", rates[CLIENTS_MAX]) \
    X("most",    number, "requests a second", "the requests of all clients in the busiest second", most)
static const Column client_rate = {"seven columns behind `seconds`: the clients with the most requests", &column_number, "requests a second", "its requests"};
const ResultTable client_rates_table = RESULT_TABLE("client-rates.csv", "kvolsim run: requests a second of each client, for the picture requests", &client_rate, SECOND_COLUMN(COLUMN) REST_COLUMNS(COLUMN));
/* clang-format on */

static void
append_rate_row(ResultFile *file, unsigned second, const double *rates, double most)
{
    SECOND_COLUMN(CSV_CELL);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        row_item(file);
        append_number(file->text, rates[i]);
    }
    REST_COLUMNS(CSV_CELL);
    row_end(file);
}

/* Appends requests per second, averaged over stretches so that there are at most RATES_MAX, and the
 * peak of each stretch. A stretch has two rows: it is a step of the curve. */
static void
append_rates(ResultFile *file, const uint32_t *counts, unsigned n_seconds)
{
    const unsigned n_columns = CLIENTS_MAX + 1, width = (n_seconds + RATES_MAX - 1) / RATES_MAX;

    for (unsigned second = 0; second < n_seconds; second += width) {
        double rates[CLIENTS_MAX + 1] = {0}, most = 0;
        for (unsigned k = second; k < MIN(second + width, n_seconds); k++) {
            double all = 0;
            for (unsigned i = 0; i < n_columns; i++) {
                rates[i] += (double)counts[k * n_columns + i] / width;
                all += counts[k * n_columns + i];
            }
            most = MAX(most, all);
        }
        append_rate_row(file, second, rates, most);
        append_rate_row(file, second + width, rates, most);
    }
}

void
plot_client_rates(const Run *run, const Stages *stages, ResultFile *file)
{
    const GPtrArray *rows = run_load(run) == NULL ? NULL : api_load_rows(run_load(run));
    g_autoptr(GArray) clients = g_array_new(FALSE, TRUE, sizeof(ClientTotal));
    g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(uint32_t));
    const unsigned n_columns = CLIENTS_MAX + 1;

    (void)stages;
    if (rows == NULL)
        return;
    for (unsigned i = 0; i < rows->len; i++) {
        const ApiLoadRow *row = rows->pdata[i];
        unsigned place = client_place(clients, row->client);
        if (place == clients->len) {
            ClientTotal client = {row->client, 0};
            g_array_append_val(clients, client);
        }
        g_array_index(clients, ClientTotal, place).total += row->total;
    }
    g_array_sort(clients, compare_totals);
    for (unsigned i = 0; i < rows->len; i++) {
        const ApiLoadRow *row = rows->pdata[i];
        unsigned place = MIN(client_place(clients, row->client), CLIENTS_MAX);
        for (unsigned k = 0; k < row->counts->len; k++) {
            unsigned cell = ((unsigned)row->first + k) * n_columns + place;
            if (cell >= counts->len)
                g_array_set_size(counts, ((unsigned)row->first + k + 2) * n_columns);
            g_array_index(counts, uint32_t, cell) += sim_log_index(row->counts, uint32_t, k);
        }
    }
    results_append_header(file->text, run, "# ", "");
    SECOND_COLUMN(CSV_NAME);
    for (unsigned i = 0; i < CLIENTS_MAX; i++) {
        row_item(file);
        append_text(file->text,
                    i < clients->len ? g_array_index(clients, ClientTotal, i).name : "none");
    }
    REST_COLUMNS(CSV_NAME);
    row_end(file);
    append_rates(file, (const uint32_t *)(const void *)counts->data, counts->len / n_columns);
}

/* ---- Binding modes ---- */

/* Returns: the binding mode of the class of a claim without a volume; NULL: it has none */
static const char *
class_mode(const Run *run, const ObjectKey *key)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    const Claim *claim = CLAIM_CONST(api_server_get(api, key));
    const ObjectKey *class =
        claim == NULL || claim->class_name == NULL
            ? NULL
            : objects_find_key(run_objects(run), KIND_STORAGE_CLASS, NULL, claim->class_name);
    const Object *object = class == NULL ? NULL : api_server_get(api, class);

    if (object == NULL)
        return NULL;
    return ((const StorageClass *)object)->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER
               ? "WaitForFirstConsumer"
               : "Immediate";
}

/* Returns: the binding mode of the class of the pod's first claim; NULL if it is unknown or there
 * is no claim */
static const char *
binding_mode(const Run *run, const PodRecord *record)
{
    const Milestones *log = run_milestones(run);
    gboolean was_selected = FALSE;

    if (record->volumes == NULL || record->volumes->n_items == 0)
        return NULL;
    const ObjectKey *claim = objects_find_key(run_objects(run), KIND_CLAIM, record->pod->namespace,
                                              record->volumes->items[0].claim_name);
    for (uint32_t i = claim == NULL ? 0 : milestones_last(log, claim); i != 0;) {
        const Milestone milestone = milestones_at(log, i - 1);
        was_selected |= milestone.kind == MILESTONE_CLAIM_SELECTED;
        i = milestone.previous;
    }
    if (claim == NULL)
        return NULL;
    if (was_selected || milestones_volume_of(log, claim) != NULL)
        return was_selected ? "WaitForFirstConsumer" : "Immediate";
    return class_mode(run, claim);
}

/* Appends a distribution as a block: seconds, and the share in % that took no longer, in at most
 * TIMES_MAX steps. */
static void
append_distribution(ResultFile *file, SimSample *sample, unsigned n_all, const char *name)
{
    unsigned n = sim_sample_count(sample), n_points = MIN(n, TIMES_MAX);

    append_literal(file->text, "# ");
    append_text(file->text, name);
    row_end(file);
    for (unsigned i = n == 0 ? 1 : 0; i <= n_points; i++) {
        double share = (double)i / MAX(n_points, 1);
        row_item(file);
        cell_short_time(file->text, MAX(sim_sample_quantile(sample, share), SIM_MS));
        row_item(file);
        if (n < n_all ||
            !append_six_digits(file->text, i * 100 * (uint64_t)SIM_SECOND, MAX(n_points, 1)))
            append_number(file->text, n < n_all ? 100 * share * n / n_all : 100 * share);
        row_end(file);
    }
    append_text(file->text, n == 0 ? "NaN,NaN\n\n\n" : "\n\n");
}

void
plot_distributions(const Run *run, const Stages *stages, ResultFile *file)
{
    static const Stage shown[] = {STAGE_SCHEDULE, STAGE_ATTACH, STAGE_STAGE,
                                  STAGE_PUBLISH,  STAGE_START,  STAGE_POD_START};

    results_append_header(file->text, run, "# ", "");
    for (unsigned i = 0; i < G_N_ELEMENTS(shown); i++) {
        SimSample *sample = (SimSample *)&stages->samples[shown[i]]; /* sorting changes nothing */
        append_distribution(file, sample, sim_sample_count(sample), stage_name(shown[i]));
    }
}

void
plot_binding_modes(const Run *run, const Stages *stages, ResultFile *file)
{
    static const char *const modes[] = {"Immediate", "WaitForFirstConsumer"};
    static const Stage shown[] = {STAGE_SCHEDULE, STAGE_POD_START};
    const GArray *pods = stages_pods(stages);
    g_autofree const char **mode_of = g_new(const char *, pods->len);

    for (unsigned k = 0; k < pods->len; k++)
        mode_of[k] = binding_mode(run, milestones_pod(run_milestones(run), k));
    results_append_header(file->text, run, "# ", "");
    for (unsigned i = 0; i < G_N_ELEMENTS(modes) * G_N_ELEMENTS(shown); i++) {
        const char *mode = modes[i / 2];
        SimSample sample;
        unsigned n_all = 0;
        sim_sample_init(&sample);
        for (unsigned k = 0; k < pods->len; k++) {
            SimTime took = pod_times_stage(&g_array_index(pods, PodTimes, k), shown[i % 2]);
            if (g_strcmp0(mode_of[k], mode) != 0)
                continue;
            n_all++;
            if (took != TIME_UNSET)
                sim_sample_add(&sample, took);
        }
        append_distribution(file, &sample, n_all, mode);
        sim_sample_clear(&sample);
    }
}
