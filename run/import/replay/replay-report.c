/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: prints doubles */
/* Reports of a replay, for people, as JSON and as CSV: stages of both sides with quantiles and
 * verdicts, the objects that differ most with the causes of their waits, objects of one side only,
 * and requests. Watches are left out of the requests, because an audit log has them as one request
 * and a simulation as none. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "replay.h"
#include "run/files/rows.h"
#include "sim/order.h"

#define PAIRS_SHOWN 10
#define NAMES_SHOWN 5
#define NOTES_SHOWN 10

static const char *const quantile_names[N_REPLAY_QUANTILES] = {"p50", "p90", "p99"};
static const char *const side_names[N_REPLAY_SIDES] = {"recorded", "simulated"};

/* "12.3 ms", "3.21 s": four columns of digits. */
static const char *
replay_report_time_text(double seconds, char *buffer, gsize size)
{
    double size_of = fabs(seconds);

    if (size_of < 1)
        g_snprintf(buffer, size, "%.*f ms",
                   size_of < 0.01  ? 2
                   : size_of < 0.1 ? 1
                                   : 0,
                   seconds * 1e3);
    else
        g_snprintf(buffer, size, "%.*f s", size_of < 10 ? 2 : size_of < 100 ? 1 : 0, seconds);
    return buffer;
}
#define TEXT(seconds) replay_report_time_text((seconds), (char[24]){0}, 24)

/* "shop/cache-0" */
static char *
object_text(const RecordedObject *object)
{
    return object->kind == RECORDED_ATTACHMENT
               ? g_strdup_printf("%s on %s", object->claim != NULL ? object->claim : object->name,
                                 object->node != NULL ? object->node : "a node")
           : object->kind == RECORDED_VOLUME && object->claim != NULL
               ? g_strdup_printf("volume of %s", object->claim)
           : object->namespace == NULL ? g_strdup(object->name)
                                       : g_strdup_printf("%s/%s", object->namespace, object->name);
}

/* ---- For people ---- */

static void
append_quantiles(const ReplayRow *row, GString *text)
{
    gboolean has_both = row->n[REPLAY_RECORDED] > 0 && row->n[REPLAY_SIMULATED] > 0;

    for (unsigned i = 0; i < N_REPLAY_QUANTILES; i++) {
        double recorded = row->q[REPLAY_RECORDED][i], simulated = row->q[REPLAY_SIMULATED][i];
        g_string_append_printf(text, " %9s %9s", row->n[REPLAY_RECORDED] > 0 ? TEXT(recorded) : "-",
                               row->n[REPLAY_SIMULATED] > 0 ? TEXT(simulated) : "-");
        if (i == REPLAY_P99)
            continue;
        if (has_both && recorded > 0)
            g_string_append_printf(text, " %5.2f", simulated / recorded);
        else
            g_string_append(text, "     -");
    }
}

static void
append_rows(const Replay *self, gboolean by_workload, GString *text)
{
    const GPtrArray *rows = replay_rows(self);
    const char *workload = NULL;

    g_string_append_printf(text, "%-12s %5s %5s %9s %9s %5s %9s %9s %5s %9s %9s  %5s %7s\n",
                           by_workload ? "" : "STAGE", "N rec", "sim", "P50 rec", "sim", "ratio",
                           "P90 rec", "sim", "ratio", "P99 rec", "sim", "KS", "P");
    for (unsigned i = 0; i < rows->len; i++) {
        const ReplayRow *row = rows->pdata[i];
        if ((row->workload != NULL) != by_workload)
            continue;
        if (row->workload != workload)
            g_string_append_printf(text, "%s\n", row->workload);
        workload = row->workload;
        g_string_append_printf(text, "%s%-*s %5u %5u", by_workload ? "  " : "",
                               by_workload ? 10 : 12, replay_stage_name(row->stage), row->n[0],
                               row->n[1]);
        append_quantiles(row, text);
        if (row->n[0] > 0 && row->n[1] > 0)
            g_string_append_printf(text, "  %5.2f %7.2g", row->ks, row->ks_p);
        else
            g_string_append_printf(text, "  %5s %7s", "-", "-");
        g_string_append_printf(text, "  %s\n", replay_verdict_word(row->verdict));
    }
}

static void
append_pairs(const Replay *self, GString *text)
{
    const GArray *pairs = replay_pairs(self);
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    unsigned n = 0;

    for (unsigned i = 0; i < pairs->len && n < PAIRS_SHOWN; i++) {
        const ReplayPair *pair = &g_array_index(pairs, ReplayPair, i);
        /* pod-start is the sum of others. */
        if (pair->stage == REPLAY_POD_START || !g_hash_table_add(seen, (void *)pair->object))
            continue;
        g_autofree char *name = object_text(pair->object), *waits = replay_waits(self, pair);
        if (n++ == 0)
            g_string_append(text, "\nObjects that differ most; what each waited for in the "
                                  "simulation (the first replication):\n");
        g_string_append_printf(text, "  %-11s %-32s %9s recorded, %9s simulated: %s\n",
                               replay_stage_name(pair->stage), name, TEXT(pair->seconds[0]),
                               TEXT(pair->seconds[1]), waits);
    }
}

static void
append_only(const Replay *self, ReplaySide side, GString *text)
{
    for (RecordedKind kind = 0; kind < N_RECORDED_KINDS; kind++) {
        g_autoptr(GPtrArray) only = replay_only(self, side, kind);
        if (only->len == 0)
            continue;
        g_string_append_printf(text, "Only %s: %u of kind %s:", side_names[side], only->len,
                               recorded_kind_name(kind));
        for (unsigned i = 0; i < only->len && i < NAMES_SHOWN; i++) {
            g_autofree char *name = object_text(only->pdata[i]);
            g_string_append_printf(text, "%s %s", i > 0 ? "," : "", name);
        }
        g_string_append_printf(text, "%s\n", only->len > NAMES_SHOWN ? ", ..." : "");
    }
}

/* Requests of both sides. */
typedef struct {
    const char *client, *verb, *resource; /* the last two NULL: all of the client */
    int64_t count[N_REPLAY_SIDES], failed[N_REPLAY_SIDES];
} RequestSum;

static int
compare_requests(const void *a, const void *b)
{
    const RequestSum *x = a, *y = b;
    int64_t first = MAX(x->count[0], x->count[1]), second = MAX(y->count[0], y->count[1]);

    return ORDER(second, first);
}

/* Watches are one request in an audit log and none in a simulation. */
static gboolean
is_counted(const RecordedRequests *row)
{
    return !g_str_equal(row->verb, "watch");
}

/* Returns: (owned): of RequestSum, the largest first. @by_verb: by client, verb and resource */
static GArray *
request_sums(const Replay *self, gboolean by_verb)
{
    GArray *sums = g_array_new(FALSE, FALSE, sizeof(RequestSum));

    for (ReplaySide side = 0; side < N_REPLAY_SIDES; side++) {
        const GPtrArray *rows = recorded_requests(replay_side(self, side));
        for (unsigned i = 0; i < rows->len; i++) {
            const RecordedRequests *row = rows->pdata[i];
            unsigned k = 0;
            if (!is_counted(row))
                continue;
            for (; k < sums->len; k++) {
                const RequestSum *sum = &g_array_index(sums, RequestSum, k);
                if (g_str_equal(sum->client, row->client) &&
                    (!by_verb || (g_str_equal(sum->verb, row->verb) &&
                                  g_str_equal(sum->resource, row->resource))))
                    break;
            }
            if (k == sums->len) {
                RequestSum fresh = {.client = row->client,
                                    .verb = by_verb ? row->verb : NULL,
                                    .resource = by_verb ? row->resource : NULL};
                g_array_append_val(sums, fresh);
            }
            g_array_index(sums, RequestSum, k).count[side] += row->count;
            g_array_index(sums, RequestSum, k).failed[side] += row->failed;
        }
    }
    g_array_sort(sums, compare_requests);
    return sums;
}

static void
append_requests(const Replay *self, GString *text)
{
    g_autoptr(GArray) sums = request_sums(self, FALSE);

    if (recorded_requests(replay_side(self, REPLAY_RECORDED))->len == 0)
        return;
    g_string_append_printf(text, "\n%-32s %9s %9s %6s %9s %9s\n", "REQUESTS (no watches)",
                           "recorded", "simulated", "ratio", "failed rec", "sim");
    for (unsigned i = 0; i < sums->len; i++) {
        const RequestSum *sum = &g_array_index(sums, RequestSum, i);
        g_string_append_printf(text, "%-32s %9" PRId64 " %9" PRId64, sum->client, sum->count[0],
                               sum->count[1]);
        if (sum->count[0] > 0)
            g_string_append_printf(text, " %6.2f", (double)sum->count[1] / (double)sum->count[0]);
        else
            g_string_append(text, "      -");
        g_string_append_printf(text, " %9" PRId64 " %9" PRId64 "\n", sum->failed[0],
                               sum->failed[1]);
    }
}

static void
append_notes(const Replay *self, GString *text)
{
    const GPtrArray *notes = replay_notes(self),
                    *missing = recorded_missing(replay_side(self, REPLAY_RECORDED));

    if (notes->len > 0)
        g_string_append_printf(text, "\nActions that failed or were answered otherwise: %u\n",
                               notes->len);
    for (unsigned i = 0; i < notes->len && i < NOTES_SHOWN; i++)
        g_string_append_printf(text, "  %s\n", (const char *)notes->pdata[i]);
    if (notes->len > NOTES_SHOWN)
        g_string_append(text, "  ...\n");
    if (missing->len > 0)
        g_string_append(text, "\nThe recording lacks:\n");
    for (unsigned i = 0; i < missing->len; i++)
        g_string_append_printf(text, "  %s\n", (const char *)missing->pdata[i]);
}

static void
append_verdict(const Replay *self, GString *text)
{
    const ReplayOptions *options = replay_options(self);
    unsigned n[N_REPLAY_VERDICTS] = {0};

    for (unsigned i = 0; i < replay_rows(self)->len; i++) {
        const ReplayRow *row = replay_rows(self)->pdata[i];
        if (row->workload == NULL)
            n[row->verdict]++;
    }
    g_string_append_printf(
        text,
        "\nOf %u stages, p50 and p90 of %u are within the range of %u simulation%s, of %u near it "
        "(within a ratio of %g,\nor of what chance makes of so few objects), of %u not; %u have "
        "fewer "
        "than %u objects and are not judged.\n",
        n[0] + n[1] + n[2] + n[3], n[REPLAY_WITHIN], options->replications,
        options->replications == 1 ? "" : "s", n[REPLAY_NEAR], options->tolerance,
        n[REPLAY_DIFFERS], n[REPLAY_FEW], REPLAY_SAMPLES_MIN);
}

char *
replay_table(const Replay *self)
{
    GString *text = g_string_new(NULL);

    g_string_append_printf(
        text, "Recorded from %s on against %u simulation%s, seed %" PRIu64 "\n\n",
        recorded_start(replay_side(self, REPLAY_RECORDED)), replay_options(self)->replications,
        replay_options(self)->replications == 1 ? "" : "s", replay_options(self)->seed);
    append_rows(self, FALSE, text);
    append_verdict(self, text);
    g_string_append(text, "\nBy workload:\n");
    append_rows(self, TRUE, text);
    append_pairs(self, text);
    g_string_append_c(text, '\n');
    append_only(self, REPLAY_RECORDED, text);
    append_only(self, REPLAY_SIMULATED, text);
    append_requests(self, text);
    append_notes(self, text);
    return g_string_free(text, FALSE);
}

/* ---- For programs ---- */

static json_t *
row_json(const ReplayRow *row)
{
    json_t *json = json_pack("{s:s}", "stage", replay_stage_name(row->stage));

    if (row->workload != NULL)
        json_object_set_new(json, "workload", json_string(row->workload));
    for (ReplaySide side = 0; side < N_REPLAY_SIDES; side++) {
        json_t *values = json_pack("{s:i}", "count", (int)row->n[side]);
        for (unsigned i = 0; i < N_REPLAY_QUANTILES && row->n[side] > 0; i++) {
            json_object_set_new(values, quantile_names[i], json_real(row->q[side][i]));
            if (side == REPLAY_SIMULATED)
                json_object_set_new(values,
                                    (const char *const[]){"p50Range", "p90Range", "p99Range"}[i],
                                    json_pack("[f,f]", row->low[i], row->high[i]));
        }
        json_object_set_new(json, side_names[side], values);
    }
    if (row->n[0] > 0 && row->n[1] > 0)
        json_object_update_new(json, json_pack("{s:f,s:f}", "ks", row->ks, "ksP", row->ks_p));
    if (row->largest_of != NULL) {
        g_autofree char *name = object_text(row->largest_of);
        json_object_set_new(json, "largestDifference",
                            json_pack("{s:s,s:f}", "object", name, "seconds", row->largest));
    }
    json_object_set_new(json, "verdict", json_string(replay_verdict_word(row->verdict)));
    return json;
}

static json_t *
pairs_json(const Replay *self)
{
    const GArray *pairs = replay_pairs(self);
    json_t *list = json_array();

    for (unsigned i = 0; i < pairs->len && i < PAIRS_SHOWN; i++) {
        const ReplayPair *pair = &g_array_index(pairs, ReplayPair, i);
        g_autofree char *name = object_text(pair->object), *waits = replay_waits(self, pair);
        json_array_append_new(
            list, json_pack("{s:s,s:s,s:s,s:f,s:f,s:s}", "stage", replay_stage_name(pair->stage),
                            "object", name, "workload", pair->workload, "recorded",
                            pair->seconds[0], "simulated", pair->seconds[1], "waits", waits));
    }
    return list;
}

static json_t *
requests_json(const Replay *self)
{
    g_autoptr(GArray) sums = request_sums(self, TRUE);
    json_t *list = json_array();

    for (unsigned i = 0; i < sums->len; i++) {
        const RequestSum *sum = &g_array_index(sums, RequestSum, i);
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:I,s:I,s:I,s:I}", "client",
                                              sum->client, "verb", sum->verb, "resource",
                                              sum->resource, "recorded", (json_int_t)sum->count[0],
                                              "simulated", (json_int_t)sum->count[1],
                                              "recordedFailed", (json_int_t)sum->failed[0],
                                              "simulatedFailed", (json_int_t)sum->failed[1]));
    }
    return list;
}

static json_t *
only_json(const Replay *self, ReplaySide side)
{
    json_t *list = json_array();

    for (RecordedKind kind = 0; kind < N_RECORDED_KINDS; kind++) {
        g_autoptr(GPtrArray) only = replay_only(self, side, kind);
        for (unsigned i = 0; i < only->len; i++) {
            g_autofree char *name = object_text(only->pdata[i]);
            json_array_append_new(
                list, json_pack("{s:s,s:s}", "kind", recorded_kind_name(kind), "object", name));
        }
    }
    return list;
}

static json_t *
texts_json(const GPtrArray *texts)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < texts->len; i++)
        json_array_append_new(list, json_string(texts->pdata[i]));
    return list;
}

json_t *
replay_json(const Replay *self)
{
    const ReplayOptions *options = replay_options(self);
    const Recorded *recorded = replay_side(self, REPLAY_RECORDED);
    json_t *stages = json_array(), *workloads = json_array();

    for (unsigned i = 0; i < replay_rows(self)->len; i++) {
        const ReplayRow *row = replay_rows(self)->pdata[i];
        json_array_append_new(row->workload == NULL ? stages : workloads, row_json(row));
    }
    return json_pack(
        "{s:s,s:I,s:i,s:f,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "start", recorded_start(recorded),
        "seed", (json_int_t)options->seed, "replications", (int)options->replications, "tolerance",
        options->tolerance, "agrees", replay_is_good(self), "stages", stages, "workloads",
        workloads, "pairs", pairs_json(self), "requests", requests_json(self), "onlyRecorded",
        only_json(self, REPLAY_RECORDED), "onlySimulated", only_json(self, REPLAY_SIMULATED),
        "notes", texts_json(replay_notes(self)), "missing", texts_json(recorded_missing(recorded)));
}

/* clang-format off */
static const ColumnType column_verdict = {"{\"enum\": [\"within\", \"near\", \"DIFFERS\", \"few\"]}", FALSE, "`within`, `near`, `DIFFERS`, `few`"};
#define cell_verdict cell_text

#define QUANTILE_COLUMNS(X, p, k) \
    X(p "_recorded",        decimal,    "seconds", "the recorded quantile", row->q[REPLAY_RECORDED][k]) \
    X(p "_simulated",       decimal,    "seconds", "the quantile of all replications together", row->q[REPLAY_SIMULATED][k]) \
    X(p "_low",             decimal,    "seconds", "the smallest quantile of a replication", row->low[k]) \
    X(p "_high",            decimal,    "seconds", "the largest quantile of a replication", row->high[k])
#define STAGE_COLUMNS(X) \
    X("stage",              slug,       NULL,      "the stage", replay_stage_name(row->stage)) \
    X("workload",           maybe_text, NULL,      "the workload; empty: all objects", row->workload) \
    X("recorded",           count,      "objects", "in the recording", row->n[REPLAY_RECORDED]) \
    X("simulated",          count,      "objects", "in the first replication", row->n[REPLAY_SIMULATED]) \
    QUANTILE_COLUMNS(X, "p50", 0) \
    QUANTILE_COLUMNS(X, "p90", 1) \
    QUANTILE_COLUMNS(X, "p99", 2) \
    X("ks",                 decimal,    NULL,      "the largest distance of the two distributions (Kolmogorov-Smirnov)", row->ks) \
    X("ks_p",               decimal,    NULL,      "how often chance makes it as large", row->ks_p) \
    X("largest_difference", decimal,    "seconds", "the largest of an object: simulated less recorded", row->largest) \
    X("verdict",            verdict,    NULL,      "how the two sides compare", replay_verdict_word(row->verdict))

#define PAIR_COLUMNS(X) \
    X("stage",              slug,       NULL,      "the stage", replay_stage_name(pair->stage)) \
    X("object",             text,       NULL,      "namespace/name, as recorded", name) \
    X("workload",           maybe_text, NULL,      "its workload", pair->workload) \
    X("recorded_from",      decimal,    "seconds", "when it began, as recorded", pair->from[REPLAY_RECORDED]) \
    X("recorded",           decimal,    "seconds", "how long it took, as recorded", pair->seconds[REPLAY_RECORDED]) \
    X("simulated_from",     decimal,    "seconds", "when it began in the first replication", pair->from[REPLAY_SIMULATED]) \
    X("simulated",          decimal,    "seconds", "how long it took there", pair->seconds[REPLAY_SIMULATED])

#define SUM_COLUMNS(X) \
    X("client",             text,       NULL,       "the client's name", sum->client) \
    X("verb",               text,       NULL,       "as in an audit log", sum->verb) \
    X("resource",           text,       NULL,       "the resource, with its subresource", sum->resource) \
    X("recorded",           count,      "requests", "in the recording", sum->count[REPLAY_RECORDED]) \
    X("simulated",          count,      "requests", "in the first replication", sum->count[REPLAY_SIMULATED]) \
    X("recorded_failed",    count,      "requests", "in the recording, failed", sum->failed[REPLAY_RECORDED]) \
    X("simulated_failed",   count,      "requests", "in the first replication, failed", sum->failed[REPLAY_SIMULATED])
const ResultTable replay_stages_table = RESULT_TABLE("replay-stages.csv", "kvolsim replay: stages, of all objects and of each workload", NULL, STAGE_COLUMNS(COLUMN)),
    replay_objects_table = RESULT_TABLE("replay-objects.csv", "kvolsim replay: each stage of each object that both sides have", NULL, PAIR_COLUMNS(COLUMN)),
    replay_requests_table = RESULT_TABLE("replay-requests.csv", "kvolsim replay: requests by client, verb and resource", NULL, SUM_COLUMNS(COLUMN));
/* clang-format on */
G_STATIC_ASSERT(N_REPLAY_QUANTILES == 3);

static gboolean
write_stages(const Replay *self, const char *folder, GError **error)
{
    g_autoptr(ResultFile) file = result_file_new(folder, replay_stages_table.file);

    row_header(file, &replay_stages_table);
    for (unsigned i = 0; i < replay_rows(self)->len; i++) {
        const ReplayRow *row = replay_rows(self)->pdata[i];
        STAGE_COLUMNS(CSV_CELL);
        row_end(file);
    }
    return result_file_finish(file, error);
}

static gboolean
write_pairs(const Replay *self, const char *folder, GError **error)
{
    g_autoptr(ResultFile) file = result_file_new(folder, replay_objects_table.file);
    const GArray *pairs = replay_pairs(self);

    row_header(file, &replay_objects_table);
    for (unsigned i = 0; i < pairs->len; i++) {
        const ReplayPair *pair = &g_array_index(pairs, ReplayPair, i);
        g_autofree char *name = object_text(pair->object);
        PAIR_COLUMNS(CSV_CELL);
        row_end(file);
    }
    return result_file_finish(file, error);
}

static gboolean
write_requests(const Replay *self, const char *folder, GError **error)
{
    g_autoptr(ResultFile) file = result_file_new(folder, replay_requests_table.file);
    g_autoptr(GArray) sums = request_sums(self, TRUE);

    row_header(file, &replay_requests_table);
    for (unsigned i = 0; i < sums->len; i++) {
        const RequestSum *sum = &g_array_index(sums, RequestSum, i);
        SUM_COLUMNS(CSV_CELL);
        row_end(file);
    }
    return result_file_finish(file, error);
}

gboolean
replay_write_csv(const Replay *self, const char *folder, GError **error)
{
    return write_stages(self, folder, error) && write_pairs(self, folder, error) &&
           write_requests(self, folder, error);
}
