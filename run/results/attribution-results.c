/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attribution in a run's results: a table, JSON, and files. A wait for workers is shown with
 * the work that they were doing. The bottleneck of a run is the largest cause of its main stage,
 * the start of pods or else the longest; the scenario's own pauses are none, unless hardly anything
 * else took time. */
#include <string.h>

#include "attribution.h"
#include "results.h"
#include "run/files/rows.h"
#include "sim/order.h"

#define ROWS_SHOWN 4             /* of a stage, in the table */
#define SHARE_SHOWN 0.02         /* smaller ones are not */
#define BOTTLENECK_AT_LEAST 0.02 /* of the time, while the scenario's pauses took more */
#define SLOWEST_SHOWN 3          /* of STAGES_SLOWEST */
#define LINKS_SHOWN 4

const char *
short_time(SimTime time, char *buffer, size_t size)
{
    if (time < SIM_SECOND)
        g_snprintf(buffer, size, "%.1f ms", (double)time / 1e6);
    else if (time < 10 * SIM_MINUTE)
        g_snprintf(buffer, size, "%.2f s", (double)time / 1e9);
    else
        g_snprintf(buffer, size, "%.1f min", (double)time / 60e9);
    return buffer;
}

static void
append_cause(GString *text, const char *wait, const char *detail)
{
    g_string_append(text, wait);
    if (detail[0] != '\0')
        g_string_append_printf(text, ": %s", detail);
}

static double
share_of(SimTime part, SimTime sum)
{
    return sum == 0 ? 0 : (double)part / (double)sum;
}

/* ---- The table and its sentence ---- */

/* Rows of one wait and detail, whatever the workers did meanwhile. */
static GArray *
rows_by_cause(const Attribution *self, Stage stage, SimTime *sum)
{
    g_autoptr(GArray) rows = attribution_rows(self, stage, sum);
    GArray *merged = g_array_new(FALSE, FALSE, sizeof(AttributionRow));

    for (unsigned i = 0; i < rows->len; i++)
        attribution_merge_row(merged, &g_array_index(rows, AttributionRow, i));
    return merged;
}

static int
compare_totals(const void *a, const void *b)
{
    const AttributionRow *one = a, *other = b;

    return ORDER(other->total, one->total);
}

static gboolean
stage_has_rows(const Attribution *self, Stage stage)
{
    SimTime sum;
    g_autoptr(GArray) rows = attribution_rows(self, stage, &sum);

    return rows->len > 0;
}

/* Adds to a wait for workers what the workers themselves mostly waited for. */
static void
append_behind(const Attribution *self, Stage stage, const AttributionRow *row, GString *text)
{
    SimTime sum;
    g_autoptr(GArray) rows = attribution_rows(self, stage, &sum);

    for (unsigned i = 0; row->wait == WAIT_WORKERS && i < rows->len; i++) {
        const AttributionRow *behind = &g_array_index(rows, AttributionRow, i);
        if (behind->wait != WAIT_WORKERS || behind->behind == WAIT_NONE ||
            !g_str_equal(behind->detail, row->detail))
            continue;
        g_string_append(text, ", mostly with ");
        append_cause(text, attribution_wait(behind->behind), behind->behind_detail);
        return;
    }
}

static void
append_stage_rows(const Attribution *self, Stage stage, GString *text)
{
    SimTime sum;
    g_autoptr(GArray) rows = rows_by_cause(self, stage, &sum);

    g_array_sort(rows, compare_totals);
    for (unsigned i = 0; i < rows->len && i < ROWS_SHOWN; i++) {
        const AttributionRow *row = &g_array_index(rows, AttributionRow, i);
        double share = share_of(row->total, sum);
        if (i > 0 && share < SHARE_SHOWN)
            break;
        g_string_append_printf(text, "%-10s %6.1f %%  ", i == 0 ? stage_name(stage) : "",
                               100 * share);
        append_cause(text, attribution_wait(row->wait), row->detail);
        append_behind(self, stage, row, text);
        g_string_append(text, "\n");
    }
}

/* Finds the main stage of a run: the start of pods, or else the longest stage. */
static gboolean
find_main_stage(const Attribution *self, Stage *main_stage)
{
    SimTime longest = -1;

    if (stage_has_rows(self, STAGE_POD_START)) {
        *main_stage = STAGE_POD_START;
        return TRUE;
    }
    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        SimTime sum;
        g_autoptr(GArray) rows = attribution_rows(self, (Stage)stage, &sum);
        if (rows->len > 0 && sum > longest) {
            longest = sum;
            *main_stage = (Stage)stage;
        }
    }
    return longest >= 0;
}

/* The scenario's own pauses are no bottleneck, unless hardly anything else took time. Returns: NULL
 * if there are no rows */
static const AttributionRow *
find_bottleneck(const GArray *rows, SimTime sum)
{
    for (unsigned i = 0; i < rows->len; i++) {
        const AttributionRow *row = &g_array_index(rows, AttributionRow, i);
        if (row->wait != WAIT_SCENARIO && share_of(row->total, sum) >= BOTTLENECK_AT_LEAST)
            return row;
    }
    return rows->len == 0 ? NULL : &g_array_index(rows, AttributionRow, 0);
}

static void
append_bottleneck(const Attribution *self, Stage stage, GString *text)
{
    SimTime sum;
    g_autoptr(GArray) rows = attribution_bottlenecks(self, stage, &sum);
    const AttributionRow *row = find_bottleneck(rows, sum);

    if (row == NULL)
        return;
    g_autofree char *advice = attribution_advice(row);
    g_string_append_printf(text, "Bottleneck of %s: ", stage_name(stage));
    append_cause(text, attribution_wait(row->wait), row->detail);
    g_string_append_printf(text, ", %.0f %% of the time; %s.\n", 100 * share_of(row->total, sum),
                           advice);
}

void
attribution_append_table(const Attribution *self, GString *text)
{
    Stage main_stage;

    if (!find_main_stage(self, &main_stage))
        return;
    g_string_append_printf(text, "\n%-10s %8s  %s\n", "STAGE", "SHARE", "WAITED FOR");
    for (unsigned stage = 0; stage < N_STAGES; stage++)
        append_stage_rows(self, (Stage)stage, text);
    g_string_append(text, "\n");
    append_bottleneck(self, main_stage, text);
    if (main_stage != STAGE_PROVISION && stage_has_rows(self, STAGE_PROVISION))
        append_bottleneck(self, STAGE_PROVISION, text);
}

/* ---- summary.json ---- */

static json_t *
json_cause(const AttributionRow *row, SimTime sum)
{
    json_t *cause = json_pack("{s:s, s:s, s:f, s:f}", "wait", attribution_wait(row->wait), "detail",
                              row->detail, "seconds", (double)row->total / (double)SIM_SECOND,
                              "share", share_of(row->total, sum));

    if (row->behind != WAIT_NONE) {
        json_object_set_new(cause, "busyWith", json_string(attribution_wait(row->behind)));
        json_object_set_new(cause, "busyWithDetail", json_string(row->behind_detail));
    }
    return cause;
}

static json_t *
json_bottleneck(const Attribution *self, Stage stage)
{
    SimTime sum;
    g_autoptr(GArray) rows = attribution_bottlenecks(self, stage, &sum);
    const AttributionRow *row = find_bottleneck(rows, sum);

    if (row == NULL)
        return NULL;
    g_autofree char *advice = attribution_advice(row);
    json_t *bottleneck = json_cause(row, sum);
    json_object_set_new(bottleneck, "limit", json_string(advice));
    return bottleneck;
}

json_t *
attribution_json(const Attribution *self)
{
    json_t *stages = json_object();

    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        SimTime sum;
        g_autoptr(GArray) rows = attribution_rows(self, (Stage)stage, &sum);
        if (rows->len == 0)
            continue;
        json_t *causes = json_array();
        for (unsigned i = 0; i < rows->len; i++)
            json_array_append_new(causes, json_cause(&g_array_index(rows, AttributionRow, i), sum));
        json_object_set_new(stages, stage_name((Stage)stage),
                            json_pack("{s:o, s:o*}", "causes", causes, "bottleneck",
                                      json_bottleneck(self, (Stage)stage)));
    }
    if (json_object_size(stages) > 0)
        return stages;
    json_decref(stages);
    return NULL;
}

/* ---- The slowest pods ---- */

typedef struct {
    SimTime total;
    ChainLink link;
} ChainSum;

static int
compare_chain_sums(const void *a, const void *b)
{
    const ChainSum *one = a, *other = b;

    return ORDER(other->total, one->total);
}

/* A chain's causes, the longest first. (owned): of ChainSum */
static GArray *
sum_chain(const GArray *links)
{
    GArray *sums = g_array_new(FALSE, FALSE, sizeof(ChainSum));

    for (unsigned i = 0; i < links->len; i++) {
        const ChainLink *link = &g_array_index(links, ChainLink, i);
        unsigned k = 0;
        while (k < sums->len) {
            ChainSum *sum = &g_array_index(sums, ChainSum, k);
            if (sum->link.wait == link->wait && sum->link.detail == link->detail) {
                sum->total += link->to - link->from;
                break;
            }
            k++;
        }
        if (k == sums->len) {
            ChainSum sum = {.total = link->to - link->from, .link = *link};
            g_array_append_val(sums, sum);
        }
    }
    g_array_sort(sums, compare_chain_sums);
    return sums;
}

void
attribution_append_slowest(const Run *run, const Stages *stages, GString *text)
{
    const SimTrace *trace = sim_trace(run_sim(run));
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));
    char buffer[SHORT_TIME_BUFFER];

    if (run_options(run)->untraced || stages->slowest->len == 0)
        return;
    g_autoptr(ChainReader) reader = chain_reader_new(trace);
    g_string_append(text, "The slowest pods, and what they waited for:\n");
    for (unsigned i = 0; i < stages->slowest->len && i < SLOWEST_SHOWN; i++) {
        const StageRecord *record = &g_array_index(stages->slowest, StageRecord, i);
        g_array_set_size(links, 0);
        attribution_chain(reader, record, links);
        g_autoptr(GArray) sums = sum_chain(links);
        g_string_append_printf(text, "  %s %s:", record->object->text,
                               short_time(record->to - record->from, buffer, sizeof buffer));
        for (unsigned k = 0; k < sums->len && k < LINKS_SHOWN; k++) {
            const ChainSum *sum = &g_array_index(sums, ChainSum, k);
            g_string_append_printf(text, "%s %s ", k == 0 ? "" : ",",
                                   short_time(sum->total, buffer, sizeof buffer));
            append_cause(text, attribution_wait(sum->link.wait),
                         attribution_detail(trace, sum->link.wait, sum->link.detail));
        }
        g_string_append(text, "\n");
    }
}

/* ---- Files ---- */

/* clang-format off */
static const ColumnType column_maybe_label = {"{\"type\": \"string\"}", TRUE, "text"};

static void
cell_maybe_label(GString *text, const char *value)
{
    if (strchr(value, ',') == NULL)
        append_text(text, value);
    else
        cell_quoted(text, value);
}

#define CAUSE_COLUMNS(X) \
    X("stage",       slug,        NULL,      "the stage", stage_name(record->stage)) \
    X("kind",        text,        NULL,      "the object's kind, as in Kubernetes", kind_class(record->object->kind)->kind) \
    X("namespace",   maybe_text,  NULL,      "its namespace", record->object->namespace) \
    X("name",        text,        NULL,      "its name", record->object->name) \
    X("incarnation", ordinal,     NULL,      "as in `objects.csv`", record->incarnation) \
    X("node",        maybe_text,  NULL,      "the node that a volume is detached from", record->node) \
    X("wait",        text,        NULL,      "the kind of wait", attribution_wait(sum->link.wait)) \
    X("detail",      maybe_label, NULL,      "what it waited for: a client, a queue, a CSI method; in quotes if it has a comma", attribution_detail(self->trace, sum->link.wait, sum->link.detail)) \
    X("seconds",     span,        "seconds", "the cause's part of the stage; the largest part comes first", sum->total)
const ResultTable attribution_table = RESULT_TABLE("attribution.csv", "kvolsim run: the causes of the waits of each object in each stage", NULL, CAUSE_COLUMNS(COLUMN));
/* clang-format on */

typedef struct {
    const SimTrace *trace;
    ChainReader *reader;
    GArray *links;
    ResultFile *file;
} CausesFile;

static void
append_csv_rows(void *data, const StageRecord *record)
{
    const CausesFile *self = data;
    ResultFile *file = self->file;

    g_array_set_size(self->links, 0);
    attribution_chain(self->reader, record, self->links);
    g_autoptr(GArray) sums = sum_chain(self->links);
    for (unsigned i = 0; i < sums->len; i++) {
        const ChainSum *sum = &g_array_index(sums, ChainSum, i);
        CAUSE_COLUMNS(CSV_CELL);
        row_end(file);
    }
}

void
attribution_csv(const Run *run, const Stages *stages, ResultFile *file)
{
    const SimTrace *trace = sim_trace(run_sim(run));
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));

    if (run_options(run)->untraced)
        return;
    g_autoptr(ChainReader) reader = chain_reader_new(trace);
    results_append_header(file->text, run, "# ", "");
    row_header(file, &attribution_table);
    stages_each(stages, append_csv_rows, &(CausesFile){trace, reader, links, file});
}

/* clang-format off */
#define POD_COLUMNS(X) \
    X("pod",         text,       NULL,      "namespace/name", record->object->text) \
    X("incarnation", ordinal,    NULL,      "as in `objects.csv`", record->incarnation) \
    X("seconds",     span,       "seconds", "the time from its creation to Ready", record->to - record->from)
#define LINK_COLUMNS(X) \
    X("from",        instant,    "seconds", "when a wait began; the waits are in order", link->from) \
    X("to",          instant,    "seconds", "when it ended", link->to) \
    X("wait",        text,       NULL,      "as in `attribution.csv`", attribution_wait(link->wait)) \
    X("detail",      maybe_text, NULL,      "as in `attribution.csv`", link->detail == 0 ? NULL : attribution_detail(trace, link->wait, link->detail))
const ResultTable chains_table = RESULT_TABLE("chains.jsonl", "kvolsim run: the chains of causes of the slowest pods", NULL, POD_COLUMNS(COLUMN) COLUMN_LIST("chain") LINK_COLUMNS(COLUMN) COLUMN_END);
/* clang-format on */

void
attribution_chains(const Run *run, const Stages *stages, ResultFile *file)
{
    const SimTrace *trace = sim_trace(run_sim(run));
    g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(ChainLink));

    if (run_options(run)->untraced)
        return;
    g_autoptr(ChainReader) reader = chain_reader_new(trace);
    results_append_header(file->text, run, "{\"run\":\"", "\"}");
    for (unsigned i = 0; i < stages->slowest->len; i++) {
        const StageRecord *record = &g_array_index(stages->slowest, StageRecord, i);
        g_array_set_size(links, 0);
        attribution_chain(reader, record, links);
        row_open(file, '{');
        POD_COLUMNS(JSON_MEMBER);
        row_key(file, "chain");
        row_open(file, '[');
        for (unsigned k = links->len; k > 0; k--) {
            const ChainLink *link = &g_array_index(links, ChainLink, k - 1);
            row_item(file);
            row_open(file, '{');
            LINK_COLUMNS(JSON_MEMBER);
            row_close(file, '}');
        }
        row_close(file, ']');
        row_close(file, '}');
        row_end(file);
    }
}
