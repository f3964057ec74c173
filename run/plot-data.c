/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plot-data.h"

#include <inttypes.h>
#include <string.h>

#include "attribution.h"
#include "results.h"

#define TIMES_MAX 3000
#define NODE_TIMES_MAX 200
#define NODES_MAX 400
#define CLIENTS_MAX 7

static double
seconds(SimTime time)
{
    return (double)time / (double)SIM_SECOND;
}

/* In the C locale whatever the user's is. */
static void
append_number(GString *text, double number)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append(text, g_ascii_formatd(buffer, sizeof buffer, "%.6g", number));
}

/* ---- Where the time went ---- */

char *
plot_waits(const Run *run, const Stages *stages)
{
    g_autoptr(Attribution) attribution = attribution_new();

    if (run_options(run)->untraced)
        return NULL;
    attribution_add(attribution, run, stages);
    GString *text = g_string_new(NULL);
    results_append_header(text, run, "# ", "");
    g_string_append(text, "stage");
    for (unsigned wait = WAIT_SCENARIO; wait < N_WAITS; wait++)
        g_string_append_printf(text, ",%s", attribution_wait((SimWait)wait));
    g_string_append_c(text, '\n');
    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        SimTime sums[N_WAITS] = {0}, sum;
        g_autoptr(GArray) rows = attribution_rows(attribution, (Stage)stage, &sum);
        if (rows->len == 0)
            continue;
        for (unsigned i = 0; i < rows->len; i++) {
            const AttributionRow *row = &g_array_index(rows, AttributionRow, i);
            sums[row->wait] += row->total;
        }
        g_string_append(text, stage_name((Stage)stage));
        for (unsigned wait = WAIT_SCENARIO; wait < N_WAITS; wait++) {
            g_string_append_c(text, ',');
            append_number(text,
                          seconds(sums[wait]) / stages->samples[stage].values->len);
        }
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

/* ---- What went on over time ---- */

enum {
    UNSCHEDULED,
    ATTACHING,
    STAGING,
    STARTING,
    CONTROLLER_CALLS,
    NODE_CALLS,
    N_LEVELS,
};

static const char *const level_names[N_LEVELS] = {"unscheduled", "attaching",        "staging",
                                                  "starting",    "controller calls", "node calls"};

/* From @at on there is @change more of @level. */
typedef struct {
    SimTime at;
    int level, change;
} Step;

static void
add_step(GArray *steps, SimTime from, SimTime to, int level, SimTime end)
{
    Step begin = {from, level, 1}, over = {to, level, -1};

    if (from == TIME_UNSET || (to != TIME_UNSET && to <= from))
        return;
    g_array_append_val(steps, begin);
    if (to != TIME_UNSET && to <= end)
        g_array_append_val(steps, over);
}

static int
compare_steps(const void *a, const void *b)
{
    const Step *one = a, *other = b;

    return one->at == other->at ? other->change - one->change : (one->at < other->at ? -1 : 1);
}

/* The first of these that came: where a stage ended, or the pod. */
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
        if (to == TIME_UNSET && i + 2 < G_N_ELEMENTS(points) && pod->ready != TIME_UNSET)
            to = pod->ready; /* a pod without volumes */
        add_step(steps, points[i], first_of(to, over), UNSCHEDULED + (int)i, end);
    }
}

static void
add_call_steps(GArray *steps, const Milestones *log)
{
    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone *milestone = milestones_at(log, i);
        Step step = {.at = milestone->at};
        switch ((unsigned)milestone->kind) {
        case MILESTONE_VOLUME_PROVISION_STARTED:
        case MILESTONE_VOLUME_ATTACH_STARTED:
        case MILESTONE_VOLUME_DETACH_STARTED:
        case MILESTONE_VOLUME_DELETE_STARTED:
        case MILESTONE_VOLUME_EXPAND_STARTED:
            step.level = CONTROLLER_CALLS, step.change = 1;
            break;
        case MILESTONE_VOLUME_PROVISION_ENDED:
        case MILESTONE_VOLUME_ATTACH_ENDED:
        case MILESTONE_VOLUME_DETACH_ENDED:
        case MILESTONE_VOLUME_DELETE_ENDED:
        case MILESTONE_VOLUME_EXPAND_ENDED:
            step.level = CONTROLLER_CALLS, step.change = -1;
            break;
        case MILESTONE_VOLUME_STAGE_STARTED:
        case MILESTONE_VOLUME_PUBLISH_STARTED:
        case MILESTONE_VOLUME_UNPUBLISH_STARTED:
        case MILESTONE_VOLUME_UNSTAGE_STARTED:
        case MILESTONE_VOLUME_NODE_EXPAND_STARTED:
            step.level = NODE_CALLS, step.change = 1;
            break;
        case MILESTONE_VOLUME_STAGED:
        case MILESTONE_VOLUME_PUBLISHED:
        case MILESTONE_VOLUME_UNPUBLISHED:
        case MILESTONE_VOLUME_UNSTAGED:
        case MILESTONE_VOLUME_NODE_EXPANDED:
            step.level = NODE_CALLS, step.change = -1;
            break;
        default:
            continue;
        }
        g_array_append_val(steps, step);
    }
}

static void
append_levels(GString *text, SimTime at, const int *levels)
{
    append_number(text, seconds(at));
    for (unsigned i = 0; i < N_LEVELS; i++)
        g_string_append_printf(text, ",%d", levels[i]);
    g_string_append_c(text, '\n');
}

char *
plot_over_time(const Run *run, const Stages *stages)
{
    SimTime end = sim_now(run_sim(run)), width = MAX(end / TIMES_MAX, 1), at = 0;
    g_autoptr(GArray) steps = g_array_new(FALSE, FALSE, sizeof(Step));
    GString *text = g_string_new(NULL);
    int levels[N_LEVELS] = {0}, most[N_LEVELS] = {0};

    for (unsigned i = 0; i < stages->pods->len; i++)
        add_pod_steps(steps, &g_array_index(stages->pods, PodTimes, i), end);
    add_call_steps(steps, run_milestones(run));
    g_array_sort(steps, compare_steps);
    results_append_header(text, run, "# ", "");
    g_string_append(text, "seconds");
    for (unsigned i = 0; i < N_LEVELS; i++)
        g_string_append_printf(text, ",%s", level_names[i]);
    g_string_append_c(text, '\n');
    for (unsigned i = 0; i < steps->len; i++) {
        const Step *step = &g_array_index(steps, Step, i);
        while (step->at >= at + width) { /* the most of each stretch of time, which then begins with what is left */
            append_levels(text, at, most);
            memcpy(most, levels, sizeof most);
            at += width;
        }
        levels[step->level] += step->change;
        most[step->level] = MAX(most[step->level], levels[step->level]);
    }
    append_levels(text, at, most);
    append_levels(text, at + width, levels);
    if (at + width < end)
        append_levels(text, end, levels);
    return g_string_free(text, FALSE);
}

/* ---- Volumes of nodes ---- */

/* The sum of the limits of a node's drivers; -1: one has none. */
static int
node_limit(const Run *run, const char *node)
{
    const ObjectKey *key = objects_find_key(run_objects(run), KIND_CSI_NODE, NULL, node);
    const Object *object =
        key == NULL ? NULL : api_server_get(cluster_api(run_cluster(run)), key);
    int limit = 0;

    for (unsigned i = 0; object != NULL && i < run_scenario(run)->n_drivers; i++) {
        const CsiNodeDriver *driver = csi_node_find_driver((const CsiNode *)object,
                                                           run_scenario(run)->drivers[i].name);
        if (driver == NULL)
            continue;
        if (driver->allocatable_count < 0)
            return -1;
        limit += driver->allocatable_count;
    }
    return limit == 0 ? -1 : limit;
}

static void
append_node_row(GString *text, SimTime at, unsigned node, const char *name, int attached, int limit)
{
    append_number(text, seconds(at));
    g_string_append_printf(text, ",%u,%s,%d,%d\n", node, name, attached, limit);
}

char *
plot_node_volumes(const Run *run, const Stages *stages)
{
    const Milestones *log = run_milestones(run);
    SimTime end = sim_now(run_sim(run)), width = MAX(end / NODE_TIMES_MAX, 1);
    unsigned n_nodes = MIN(objects_n_keys(run_objects(run), KIND_NODE), NODES_MAX);
    g_autoptr(GHashTable) places = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree int *attached = g_new0(int, n_nodes), *limits = g_new0(int, n_nodes);
    GString *text = g_string_new(NULL);
    unsigned next = 0;

    (void)stages;
    while (n_nodes > 0 &&
           strcmp(objects_key_at(run_objects(run), KIND_NODE, n_nodes - 1)->name, "*") == 0)
        n_nodes--; /* what stands for all of them */
    for (unsigned i = 0; i < n_nodes; i++) {
        const ObjectKey *key = objects_key_at(run_objects(run), KIND_NODE, i);
        g_hash_table_insert(places, (void *)key->name, GUINT_TO_POINTER(i + 1));
        limits[i] = node_limit(run, key->name);
    }
    results_append_header(text, run, "# ", "");
    g_string_append(text, "seconds,node,name,attached,limit\n");
    for (SimTime at = 0; at <= end; at += width) {
        for (; next < milestones_count(log) && milestones_at(log, next)->at <= at; next++) {
            const Milestone *milestone = milestones_at(log, next);
            int change = (milestone->kind == MILESTONE_VOLUME_ATTACHED) -
                         (milestone->kind == MILESTONE_VOLUME_DETACHED);
            unsigned place = change == 0 || milestone->node == NULL
                                 ? 0
                                 : GPOINTER_TO_UINT(g_hash_table_lookup(places, milestone->node));
            if (place > 0)
                attached[place - 1] = MAX(attached[place - 1] + change, 0);
        }
        for (unsigned i = 0; i < n_nodes; i++)
            append_node_row(text, at, i, objects_key_at(run_objects(run), KIND_NODE, i)->name,
                            attached[i], limits[i]);
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
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

    if (one->total != other->total)
        return one->total > other->total ? -1 : 1;
    return strcmp(one->name, other->name);
}

static unsigned
client_place(const GArray *clients, const char *name)
{
    for (unsigned i = 0; i < clients->len; i++)
        if (strcmp(g_array_index(clients, ClientTotal, i).name, name) == 0)
            return i;
    return clients->len;
}

char *
plot_client_rates(const Run *run, const Stages *stages)
{
    const GPtrArray *rows = run_load(run) == NULL ? NULL : api_load_rows(run_load(run));
    g_autoptr(GArray) clients = g_array_new(FALSE, TRUE, sizeof(ClientTotal));
    g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(uint32_t));
    const unsigned n_columns = CLIENTS_MAX + 1;

    (void)stages;
    if (rows == NULL)
        return NULL;
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
            g_array_index(counts, uint32_t, cell) += g_array_index(row->counts, uint32_t, k);
        }
    }
    GString *text = g_string_new(NULL);
    results_append_header(text, run, "# ", "");
    g_string_append(text, "seconds");
    for (unsigned i = 0; i < CLIENTS_MAX; i++)
        g_string_append_printf(
            text, ",%s", i < clients->len ? g_array_index(clients, ClientTotal, i).name : "none");
    g_string_append(text, ",others\n");
    for (unsigned second = 0; second < counts->len / n_columns; second++) {
        g_string_append_printf(text, "%u", second);
        for (unsigned i = 0; i < n_columns; i++)
            g_string_append_printf(text, ",%u",
                                   g_array_index(counts, uint32_t, second * n_columns + i));
        g_string_append_c(text, '\n');
    }
    return g_string_free(text, FALSE);
}

/* ---- Binding modes ---- */

/* How the class of the pod's first claim binds; NULL: not known, or it has no claims. */
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
        const Milestone *milestone = milestones_at(log, i - 1);
        was_selected |= milestone->kind == MILESTONE_CLAIM_SELECTED;
        i = milestone->previous;
    }
    if (claim == NULL || milestones_volume_of(log, claim) == NULL)
        return NULL;
    return was_selected ? "WaitForFirstConsumer" : "Immediate";
}

/* A distribution: seconds, and the share in % that took no longer; at most a thousand points. A block of its own. */
static void
append_distribution(GString *text, SimSample *sample, const char *name)
{
    unsigned n = sim_sample_count(sample), n_points = MIN(n, TIMES_MAX);

    g_string_append_printf(text, "# %s\n", name);
    for (unsigned i = 1; i <= n_points; i++) {
        double share = (double)i / n_points;
        append_number(text, MAX(seconds(sim_sample_quantile(sample, share)), 0.001));
        g_string_append_c(text, ',');
        append_number(text, 100 * share);
        g_string_append_c(text, '\n');
    }
    g_string_append(text, n == 0 ? "NaN,NaN\n\n\n" : "\n\n");
}

char *
plot_distributions(const Run *run, const Stages *stages)
{
    static const Stage shown[] = {STAGE_SCHEDULE, STAGE_ATTACH, STAGE_STAGE,
                                  STAGE_PUBLISH,  STAGE_START,  STAGE_POD_START};
    GString *text = g_string_new(NULL);

    results_append_header(text, run, "# ", "");
    for (unsigned i = 0; i < G_N_ELEMENTS(shown); i++) {
        SimSample *sample = (SimSample *)&stages->samples[shown[i]]; /* sorting changes nothing */
        append_distribution(text, sample, stage_name(shown[i]));
    }
    return g_string_free(text, FALSE);
}

char *
plot_binding_modes(const Run *run, const Stages *stages)
{
    static const char *const modes[] = {"Immediate", "WaitForFirstConsumer"};
    static const Stage shown[] = {STAGE_SCHEDULE, STAGE_POD_START};
    GString *text = g_string_new(NULL);

    results_append_header(text, run, "# ", "");
    for (unsigned i = 0; i < G_N_ELEMENTS(modes) * G_N_ELEMENTS(shown); i++) {
        const char *mode = modes[i / 2];
        SimSample sample;
        sim_sample_init(&sample);
        for (unsigned k = 0; k < stages->pods->len; k++) {
            const PodTimes *pod = &g_array_index(stages->pods, PodTimes, k);
            const char *is = binding_mode(run, milestones_pod(run_milestones(run), k));
            SimTime took = pod_times_stage(pod, shown[i % 2]);
            if (g_strcmp0(is, mode) == 0 && took != TIME_UNSET)
                sim_sample_add(&sample, took);
        }
        append_distribution(text, &sample, mode);
        sim_sample_clear(&sample);
    }
    return g_string_free(text, FALSE);
}
