/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the result folders of two or more runs: stages object by object, causes, availability.
 * Objects are paired by name, incarnation and replication, so the change of a mean has a narrow
 * interval; objects that only one run has are counted. Files are checked against their digests, and
 * numbers of strangers' files may be anything. */
#include "compare.h"

#include <gsl/gsl_cdf.h> /* outside the model: only for printed intervals */
#include <math.h>        /* outside the model: the same */
#include <string.h>

#include "attribution.h"
#include "models/api/fields.h"
#include "result-folder.h"
#include "run/files/csv.h"
#include "sim/order.h"

#define UNSEEN ((double)NAN)
#define EXTREMES_SHOWN 3
#define CAUSES_SHOWN 6

/* A stage is the time between two columns of objects.csv, of rows that are empty in a third. */
static const struct {
    Stage stage;
    const char *kind, *from, *to, *without; /* without: NULL: of all rows */
} spans[] = {
    {STAGE_PROVISION, "claim",    "asked",     "provisioned", NULL   },
    {STAGE_BIND,      "claim",    "created",   "bound",       "ready"},
    {STAGE_RESTORE,   "claim",    "created",   "ready",       NULL   },
    {STAGE_SNAPSHOT,  "snapshot", "created",   "ready",       NULL   },
    {STAGE_SCHEDULE,  "pod",      "created",   "scheduled",   NULL   },
    {STAGE_ATTACH,    "pod",      "scheduled", "attached",    NULL   },
    {STAGE_STAGE,     "pod",      "attached",  "staged",      NULL   },
    {STAGE_PUBLISH,   "pod",      "staged",    "published",   NULL   },
    {STAGE_POD_START, "pod",      "created",   "ready",       NULL   },
    {STAGE_STOP,      "pod",      "deleted",   "gone",        NULL   },
    {STAGE_DELETE,    "volume",   "deleted",   "gone",        NULL   },
};

/* An object of one run, with the lengths of its stages in seconds; UNSEEN: not seen. */
typedef struct {
    char *name; /* "pod default/web-0", with incarnation and replication where there are several */
    double values[G_N_ELEMENTS(spans)];
} Thing;

typedef struct {
    char *folder;
    ResultFolder *files;
    const json_t *summary; /* of them */
    GPtrArray *things;     /* of Thing (owned), in the order of the files */
    GHashTable *by_name;   /* name -> Thing */
} RunFiles;

struct Comparison {
    RunFiles *runs; /* the first is the base */
    unsigned n_runs;
};

/* Two runs of a comparison: its base, and another one. */
typedef struct {
    const RunFiles *runs[2];
} Two;

static void
thing_free(void *data)
{
    Thing *thing = data;

    g_free(thing->name);
    g_free(thing);
}

/* ---- Reading ---- */

/* Seconds, of the present row. */
static double
cell(const CsvReader *row, const char *column)
{
    const char *text = csv_reader_cell(row, column);

    return text[0] == '\0' ? UNSEEN : g_ascii_strtod(text, NULL);
}

static double
span_of(unsigned span, const CsvReader *row)
{
    const char *without = spans[span].without;

    if (!g_str_equal(csv_reader_cell(row, "kind"), spans[span].kind) ||
        (without != NULL && !isnan(cell(row, without))))
        return UNSEEN;
    return cell(row, spans[span].to) - cell(row, spans[span].from);
}

static void
read_row(RunFiles *self, const CsvReader *row, const char *replication)
{
    const char *namespace = csv_reader_cell(row, "namespace");
    const char *incarnation = csv_reader_cell(row, "incarnation");
    const gboolean is_first = g_str_equal(incarnation, "1");

    Thing *thing = g_new(Thing, 1);
    thing->name = g_strdup_printf("%s %s%s%s%s%s%s", csv_reader_cell(row, "kind"), namespace,
                                  namespace[0] == '\0' ? "" : "/", csv_reader_cell(row, "name"),
                                  is_first ? "" : " #", is_first ? "" : incarnation, replication);
    for (unsigned i = 0; i < G_N_ELEMENTS(spans); i++)
        thing->values[i] = span_of(i, row);
    g_ptr_array_add(self->things, thing);
    g_hash_table_insert(self->by_name, thing->name, thing);
}

static gboolean
read_objects(RunFiles *self, const char *name, const char *replication, GError **error)
{
    g_autofree char *text = result_folder_read(self->files, name, error);

    if (text == NULL)
        return FALSE;
    g_autoptr(CsvReader) rows = csv_reader_new(text);
    while (csv_reader_next(rows))
        read_row(self, rows, replication);
    return TRUE;
}

static int64_t
summary_int(const json_t *summary, const char *name)
{
    return json_integer_value(json_object_get(summary, name));
}

static gboolean
read_run(RunFiles *self, const char *folder, GError **error)
{
    self->folder = g_strdup(folder);
    self->things = g_ptr_array_new_with_free_func(thing_free);
    self->by_name = g_hash_table_new(g_str_hash, g_str_equal);
    self->files = result_folder_open(folder, "summary.json", error);
    if (self->files == NULL)
        return FALSE;
    self->summary = result_folder_index(self->files);
    unsigned n = (unsigned)summary_int(self->summary, "replications");
    if (n <= 1 || result_folder_has(self->files, "objects.csv")) /* alone, or one of several */
        return read_objects(self, "objects.csv", "", error);
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *name = g_strdup_printf("replication-%u/objects.csv", i);
        g_autofree char *suffix = g_strdup_printf(" (replication %u)", i);
        if (!read_objects(self, name, suffix, error))
            return FALSE;
    }
    return TRUE;
}

static void
run_files_clear(RunFiles *self)
{
    g_free(self->folder);
    result_folder_free(self->files);
    g_clear_pointer(&self->by_name, g_hash_table_unref);
    g_clear_pointer(&self->things, g_ptr_array_unref);
}

Comparison *
comparison_new(const char *const *folders, GError **error)
{
    g_autoptr(Comparison) self = g_new0(Comparison, 1);

    self->n_runs = g_strv_length((char **)folders);
    self->runs = g_new0(RunFiles, self->n_runs);
    for (unsigned i = 0; i < self->n_runs; i++)
        if (!read_run(&self->runs[i], folders[i], error))
            return NULL;
    return g_steal_pointer(&self);
}

void
comparison_free(Comparison *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->n_runs; i++)
        run_files_clear(&self->runs[i]);
    g_free(self->runs);
    g_free(self);
}

static Two
two_of(const Comparison *self, unsigned other)
{
    return (Two){
        {&self->runs[0], &self->runs[other]}
    };
}

/* ---- Pairs ---- */

typedef struct {
    const char *name;
    double one, other;
} ComparePair;

/* The pairs of a stage. */
typedef struct {
    GArray *pairs;             /* of Pair, by change: the largest gain first */
    double one, other;         /* means over the pairs */
    double change, half_width; /* mean difference, and half of its 95 % interval; UNSEEN: fewer than
                                  two pairs */
    unsigned only_one, only_other; /* seen in one run only */
} StagePairs;

static int
compare_changes(const void *a, const void *b)
{
    const ComparePair *first = a, *second = b;
    double difference = (first->other - first->one) - (second->other - second->one);

    return ORDER(difference, 0) ?: strcmp(first->name, second->name);
}

static unsigned
count_seen(const RunFiles *run, unsigned span)
{
    unsigned n = 0;

    for (unsigned i = 0; i < run->things->len; i++)
        n += !isnan(((const Thing *)run->things->pdata[i])->values[span]);
    return n;
}

static StagePairs
pair_stage(const Two *self, unsigned span)
{
    StagePairs result = {.pairs = g_array_new(FALSE, FALSE, sizeof(ComparePair)),
                         .half_width = UNSEEN};
    double sum = 0, squares = 0;

    for (unsigned i = 0; i < self->runs[0]->things->len; i++) {
        const Thing *thing = self->runs[0]->things->pdata[i];
        const Thing *twin = g_hash_table_lookup(self->runs[1]->by_name, thing->name);
        if (twin == NULL || isnan(thing->values[span]) || isnan(twin->values[span]))
            continue;
        ComparePair pair = {thing->name, thing->values[span], twin->values[span]};
        g_array_append_val(result.pairs, pair);
        result.one += pair.one;
        result.other += pair.other;
        sum += pair.other - pair.one;
    }
    unsigned n = result.pairs->len;
    result.only_one = count_seen(self->runs[0], span) - n;
    result.only_other = count_seen(self->runs[1], span) - n;
    if (n == 0)
        return result;
    result.one /= n;
    result.other /= n;
    result.change = sum / n;
    for (unsigned i = 0; i < n; i++) {
        const ComparePair *pair = &g_array_index(result.pairs, ComparePair, i);
        double deviation = pair->other - pair->one - result.change;
        squares += deviation * deviation;
    }
    if (n > 1)
        result.half_width = gsl_cdf_tdist_Pinv(0.975, n - 1) * sqrt(squares / (n - 1) / n);
    g_array_sort(result.pairs, compare_changes);
    return result;
}

/* ---- Causes ---- */

/* Leaves out the limit of "external-attacher (5/s, burst 10)": both runs have the same client. */
static char *
cause_name(const json_t *cause)
{
    const char *wait = json_path_string(cause, "wait");
    const char *detail = json_path_string(cause, "detail");
    const char *end = strstr(detail, " (");

    if (detail[0] == '\0')
        return g_strdup(wait);
    return g_strdup_printf("%s: %.*s", wait,
                           (int)(end == NULL ? (gssize)strlen(detail) : end - detail), detail);
}

typedef struct {
    char *name;
    double seconds[2]; /* for the mean object */
} CauseChange;

static void
cause_change_clear(void *data)
{
    g_free(((CauseChange *)data)->name);
}

static CauseChange *
find_cause(GArray *causes, const char *name)
{
    for (unsigned i = 0; i < causes->len; i++) {
        CauseChange *cause = &g_array_index(causes, CauseChange, i);
        if (g_str_equal(cause->name, name))
            return cause;
    }
    CauseChange cause = {.name = g_strdup(name)};
    g_array_append_val(causes, cause);
    return &g_array_index(causes, CauseChange, causes->len - 1);
}

static int
compare_causes(const void *a, const void *b)
{
    const CauseChange *one = a, *other = b;
    double first = fabs(one->seconds[1] - one->seconds[0]);
    double second = fabs(other->seconds[1] - other->seconds[0]);

    return ORDER(second, first) ?: strcmp(one->name, other->name);
}

/* Returns: (owned): the causes (CauseChange) of a stage, the largest change first; empty if a run
 * has no attribution */
static GArray *
cause_changes(const Two *self, const char *stage)
{
    GArray *causes = g_array_new(FALSE, FALSE, sizeof(CauseChange));

    g_array_set_clear_func(causes, cause_change_clear);
    for (unsigned i = 0; i < 2; i++) {
        const json_t *summary = self->runs[i]->summary;
        const json_t *list = json_object_get(
            json_object_get(json_object_get(summary, "attribution"), stage), "causes");
        double count = (double)summary_int(
            json_object_get(json_object_get(summary, "stages"), stage), "count");
        for (size_t k = 0; k < json_array_size(list); k++) {
            const json_t *row = json_array_get(list, k);
            g_autofree char *name = cause_name(row);
            find_cause(causes, name)->seconds[i] +=
                json_real_value(json_object_get(row, "seconds")) / count;
        }
    }
    g_array_sort(causes, compare_causes);
    return causes;
}

/* ---- For people ---- */

static const char *
compare_time_text(double seconds, char *buffer)
{
    char positive[SHORT_TIME_BUFFER];
    double ns = fabs(seconds) * 1e9;

    /* a stranger's file may have any number */
    short_time(ns < (double)SIM_TIME_MAX ? (SimTime)ns : SIM_TIME_MAX, positive, sizeof positive);
    g_snprintf(buffer, SHORT_TIME_BUFFER, "%s%s", seconds < 0 ? "-" : "", positive);
    return buffer;
}

static const char *
change_text(double seconds, char *buffer)
{
    char text[SHORT_TIME_BUFFER];

    g_snprintf(buffer, SHORT_TIME_BUFFER, "%s%s", seconds > 0 ? "+" : "",
               compare_time_text(seconds, text));
    return buffer;
}

static void
append_run(GString *text, char letter, const RunFiles *run)
{
    g_string_append_printf(text, "%c: %s: %s, seed %" G_GINT64_FORMAT ", hash %s\n", letter,
                           run->folder, json_path_string(run->summary, "scenario"),
                           (gint64)summary_int(run->summary, "seed"),
                           json_path_string(run->summary, "scenarioHash"));
}

static void
append_stage(GString *text, unsigned span, const StagePairs *pairs)
{
    char one[SHORT_TIME_BUFFER], other[SHORT_TIME_BUFFER], change[SHORT_TIME_BUFFER];
    char width[SHORT_TIME_BUFFER];

    if (pairs->pairs->len == 0 && pairs->only_one == 0 && pairs->only_other == 0)
        return;
    g_string_append_printf(text, "%-10s %8u", stage_name(spans[span].stage), pairs->pairs->len);
    if (pairs->pairs->len == 0)
        g_string_append_printf(text, " %10s %10s %11s %11s", "", "", "", "");
    else
        g_string_append_printf(
            text, " %10s %10s %11s %11s", compare_time_text(pairs->one, one),
            compare_time_text(pairs->other, other), change_text(pairs->change, change),
            isnan(pairs->half_width) ? "" : compare_time_text(pairs->half_width, width));
    if (pairs->only_one > 0 || pairs->only_other > 0)
        g_string_append_printf(text, "   and %u only in A, %u only in B", pairs->only_one,
                               pairs->only_other);
    g_string_append(text, "\n");
}

static void
append_pair(GString *text, const ComparePair *pair)
{
    char one[SHORT_TIME_BUFFER], other[SHORT_TIME_BUFFER], change[SHORT_TIME_BUFFER];

    g_string_append_printf(text, "  %s: %s -> %s (%s)\n", pair->name,
                           compare_time_text(pair->one, one), compare_time_text(pair->other, other),
                           change_text(pair->other - pair->one, change));
}

/* Appends the pods with the largest gains, and with the largest losses. */
static void
append_extremes(GString *text, const GArray *pairs)
{
    unsigned n = pairs->len;

    for (unsigned i = 0; i < n && i < EXTREMES_SHOWN; i++) {
        const ComparePair *pair = &g_array_index(pairs, ComparePair, i);
        if (pair->other >= pair->one)
            break;
        if (i == 0)
            g_string_append(text, "\nPods that start soonest compared with A:\n");
        append_pair(text, pair);
    }
    for (unsigned i = 0; i < n && i < EXTREMES_SHOWN; i++) {
        const ComparePair *pair = &g_array_index(pairs, ComparePair, n - 1 - i);
        if (pair->other <= pair->one)
            break;
        if (i == 0)
            g_string_append(text, "\nPods that start latest compared with A:\n");
        append_pair(text, pair);
    }
}

static void
append_causes(GString *text, const Two *self)
{
    char one[SHORT_TIME_BUFFER], other[SHORT_TIME_BUFFER], change[SHORT_TIME_BUFFER];
    g_autoptr(GArray) causes = cause_changes(self, stage_name(STAGE_POD_START));

    if (causes->len > 0)
        g_string_append_printf(text, "\n%-48s %10s %10s %11s\n", "WHAT THE MEAN POD WAITED FOR",
                               "A", "B", "CHANGE");
    for (unsigned i = 0; i < causes->len && i < CAUSES_SHOWN; i++) {
        const CauseChange *cause = &g_array_index(causes, CauseChange, i);
        g_string_append_printf(text, "%-48s %10s %10s %11s\n", cause->name,
                               compare_time_text(cause->seconds[0], one),
                               compare_time_text(cause->seconds[1], other),
                               change_text(cause->seconds[1] - cause->seconds[0], change));
    }
}

/* Returns: (nullable) (borrowed): the workload of this name in summary.json */
static const json_t *
workload_named(const json_t *summary, const char *name)
{
    const json_t *list = json_object_get(summary, "availability"), *row;
    size_t i;

    json_array_foreach(list, i, row)
        if (g_strcmp0(json_path_string(row, "workload"), name) == 0)
            return row;
    return NULL;
}

/* Workloads of both runs that were not always available in both: their shares, and the change of
 * the time in which pods were missing. */
static json_t *
availability_changes(const Two *self)
{
    json_t *changes = json_array();
    const json_t *list = json_object_get(self->runs[0]->summary, "availability"), *row;
    size_t i;

    json_array_foreach(list, i, row) {
        const char *name = json_path_string(row, "workload");
        const json_t *other = workload_named(self->runs[1]->summary, name);
        double a = json_number_value(json_object_get(row, "notReadyPodSeconds"));
        double b = json_number_value(json_object_get(other, "notReadyPodSeconds"));
        if (other == NULL || (a == 0 && b == 0))
            continue;
        json_array_append_new(changes, json_pack("{s:s, s:O, s:O, s:f, s:f}", "workload", name, "a",
                                                 json_object_get(row, "availability"), "b",
                                                 json_object_get(other, "availability"),
                                                 "notReadySecondsA", a, "notReadySecondsB", b));
    }
    return changes;
}

static void
append_availability(GString *text, const Two *self)
{
    json_auto_t *changes = availability_changes(self);
    char change[SHORT_TIME_BUFFER];
    const json_t *row;
    size_t i;

    json_array_foreach(changes, i, row) {
        double a = json_number_value(json_object_get(row, "notReadySecondsA"));
        double b = json_number_value(json_object_get(row, "notReadySecondsB"));
        if (i == 0)
            g_string_append_printf(text, "\n%-30s %12s %12s %20s\n", "WORKLOAD: AVAILABLE", "A",
                                   "B", "NOT READY: CHANGE");
        g_string_append_printf(
            text, "%-30s %10.4f %% %10.4f %% %20s\n", json_path_string(row, "workload"),
            100 * json_number_value(json_object_get(row, "a")),
            100 * json_number_value(json_object_get(row, "b")), change_text(b - a, change));
    }
}

static void
append_two(GString *text, const Two *self)
{
    append_run(text, 'A', self->runs[0]);
    append_run(text, 'B', self->runs[1]);
    g_string_append_printf(text, "\n%-10s %8s %10s %10s %11s %11s\n", "STAGE", "PAIRS", "A MEAN",
                           "B MEAN", "CHANGE", "+- (95 %)");
    for (unsigned i = 0; i < G_N_ELEMENTS(spans); i++) {
        StagePairs pairs = pair_stage(self, i);
        append_stage(text, i, &pairs);
        g_array_unref(pairs.pairs);
    }
    append_availability(text, self);
    append_causes(text, self);
    for (unsigned i = 0; i < G_N_ELEMENTS(spans); i++) {
        if (spans[i].stage != STAGE_POD_START)
            continue;
        StagePairs pairs = pair_stage(self, i);
        append_extremes(text, pairs.pairs);
        g_array_unref(pairs.pairs);
    }
}

/* ---- More than two, for people ---- */

/* @base: what @value changed from; UNSEEN: there is nothing to compare with */
static void
compare_append_cell(GString *text, double value, double base)
{
    char time[SHORT_TIME_BUFFER], change[SHORT_TIME_BUFFER];

    g_string_append_printf(text, " %10s %11s", isnan(value) ? "-" : compare_time_text(value, time),
                           isnan(value) || isnan(base) ? "" : change_text(value - base, change));
}

/* The base has no change. */
static void
append_base_cell(GString *text, double value)
{
    char time[SHORT_TIME_BUFFER];

    g_string_append_printf(text, " %10s", isnan(value) ? "-" : compare_time_text(value, time));
}

/* The mean over all objects of the run that passed the stage; UNSEEN: none did */
static double
mean_of(const RunFiles *run, unsigned span)
{
    double sum = 0;

    for (unsigned i = 0; i < run->things->len; i++) {
        double value = ((const Thing *)run->things->pdata[i])->values[span];
        sum += isnan(value) ? 0 : value;
    }
    return sum / count_seen(run, span);
}

/* The mean of each run over its own objects, and the change of those that the base has, too. */
static void
append_stage_of_all(GString *text, const Comparison *self, unsigned span)
{
    gboolean is_seen = FALSE;

    for (unsigned i = 0; i < self->n_runs; i++)
        is_seen |= count_seen(&self->runs[i], span) > 0;
    if (!is_seen)
        return;
    g_string_append_printf(text, "%-10s", stage_name(spans[span].stage));
    append_base_cell(text, mean_of(&self->runs[0], span));
    for (unsigned i = 1; i < self->n_runs; i++) {
        const Two two = two_of(self, i);
        double mean = mean_of(&self->runs[i], span);
        StagePairs pairs = pair_stage(&two, span);

        compare_append_cell(text, mean, pairs.pairs->len == 0 ? UNSEEN : mean - pairs.change);
        g_array_unref(pairs.pairs);
    }
    g_string_append_c(text, '\n');
}

static void
append_heads(GString *text, const char *first, int width, unsigned n_runs)
{
    g_string_append_printf(text, "\n%-*s %10c", width, first, 'A');
    for (unsigned i = 1; i < n_runs; i++)
        g_string_append_printf(text, " %10c %11s", 'A' + (char)i, "CHANGE");
    g_string_append_c(text, '\n');
}

static void
append_cause_of_all(GString *text, const GPtrArray *lists, const char *name)
{
    double base = find_cause(lists->pdata[0], name)->seconds[0];

    g_string_append_printf(text, "%-48s", name);
    append_base_cell(text, base);
    for (unsigned i = 0; i < lists->len; i++)
        compare_append_cell(text, find_cause(lists->pdata[i], name)->seconds[1], base);
    g_string_append_c(text, '\n');
}

/* The causes of a mean pod's wait that changed most: the first of each run, then the second of
 * each, and so on. */
static void
append_causes_of_all(GString *text, const Comparison *self)
{
    g_autoptr(GPtrArray) lists = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    g_autoptr(GHashTable) shown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gboolean has_causes = FALSE;

    for (unsigned i = 1; i < self->n_runs; i++) {
        const Two two = two_of(self, i);
        g_ptr_array_add(lists, cause_changes(&two, stage_name(STAGE_POD_START)));
    }
    for (unsigned i = 0; i < lists->len; i++)
        has_causes |= ((const GArray *)lists->pdata[i])->len > 0;
    if (has_causes)
        append_heads(text, "WHAT THE MEAN POD WAITED FOR", 48, self->n_runs);
    for (unsigned rank = 0; rank < CAUSES_SHOWN; rank++)
        for (unsigned i = 0; i < lists->len && g_hash_table_size(shown) < CAUSES_SHOWN; i++) {
            const GArray *causes = lists->pdata[i];

            if (rank >= causes->len)
                continue;
            char *name = g_strdup(g_array_index(causes, CauseChange, rank).name);
            if (g_hash_table_add(shown, name))
                append_cause_of_all(text, lists, name);
        }
}

/* The shares of time of those workloads that were not always available in every run. */
static void
append_availability_of_all(GString *text, const Comparison *self)
{
    const json_t *list = json_object_get(self->runs[0].summary, "availability"), *row;
    gboolean is_first = TRUE;
    size_t i;

    json_array_foreach(list, i, row) {
        g_autoptr(GString) shares = g_string_new(NULL);
        const char *name = json_path_string(row, "workload");
        gboolean is_always = TRUE;

        for (unsigned run = 0; run < self->n_runs; run++) {
            const json_t *share =
                json_object_get(workload_named(self->runs[run].summary, name), "availability");
            is_always = is_always && (share == NULL || json_number_value(share) == 1);
            if (share == NULL)
                g_string_append_printf(shares, " %12s", "-");
            else
                g_string_append_printf(shares, " %10.4f %%", json_number_value(share) * 100);
        }
        if (is_always)
            continue;
        if (is_first) {
            g_string_append_printf(text, "\n%-30s", "WORKLOAD: AVAILABLE");
            for (unsigned run = 0; run < self->n_runs; run++)
                g_string_append_printf(text, " %12c", 'A' + (char)run);
            g_string_append_c(text, '\n');
        }
        is_first = FALSE;
        g_string_append_printf(text, "%-30s%s\n", name, shares->str);
    }
}

char *
comparison_table(const Comparison *self)
{
    GString *text = g_string_new(NULL);

    if (self->n_runs == 2) {
        const Two two = two_of(self, 1);
        append_two(text, &two);
        return g_string_free(text, FALSE);
    }
    for (unsigned i = 0; i < self->n_runs; i++)
        append_run(text, 'A' + (char)i, &self->runs[i]);
    append_heads(text, "MEAN", 10, self->n_runs);
    for (unsigned i = 0; i < G_N_ELEMENTS(spans); i++)
        append_stage_of_all(text, self, i);
    g_string_append(text, "A change is the mean over the objects that A has, too.\n");
    append_availability_of_all(text, self);
    append_causes_of_all(text, self);
    return g_string_free(text, FALSE);
}

/* ---- For programs ---- */

static json_t *
json_pairs(const StagePairs *pairs)
{
    json_t *list = json_array();
    json_t *stage = json_pack("{s:i, s:i, s:i}", "pairs", (int)pairs->pairs->len, "onlyA",
                              (int)pairs->only_one, "onlyB", (int)pairs->only_other);

    for (unsigned i = 0; i < pairs->pairs->len; i++) {
        const ComparePair *pair = &g_array_index(pairs->pairs, ComparePair, i);
        json_array_append_new(list, json_pack("{s:s, s:f, s:f}", "object", pair->name, "a",
                                              pair->one, "b", pair->other));
    }
    if (pairs->pairs->len > 0) {
        json_object_set_new(stage, "meanA", json_real(pairs->one));
        json_object_set_new(stage, "meanB", json_real(pairs->other));
        json_object_set_new(stage, "change", json_real(pairs->change));
    }
    if (!isnan(pairs->half_width))
        json_object_set_new(stage, "halfWidth95", json_real(pairs->half_width));
    json_object_set_new(stage, "objects", list);
    return stage;
}

static json_t *
two_json(const Two *self)
{
    json_t *stages = json_object(), *causes = json_array();
    g_autoptr(GArray) changes = cause_changes(self, stage_name(STAGE_POD_START));

    for (unsigned i = 0; i < G_N_ELEMENTS(spans); i++) {
        StagePairs pairs = pair_stage(self, i);
        if (pairs.pairs->len + pairs.only_one + pairs.only_other > 0)
            json_object_set_new(stages, stage_name(spans[i].stage), json_pairs(&pairs));
        g_array_unref(pairs.pairs);
    }
    for (unsigned i = 0; i < changes->len; i++) {
        const CauseChange *cause = &g_array_index(changes, CauseChange, i);
        json_array_append_new(causes, json_pack("{s:s, s:f, s:f}", "cause", cause->name, "a",
                                                cause->seconds[0], "b", cause->seconds[1]));
    }
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "a", self->runs[0]->folder, "b",
                     self->runs[1]->folder, "stages", stages, "availability",
                     availability_changes(self), "podStartCauses", causes);
}

json_t *
comparison_json(const Comparison *self)
{
    json_t *list = json_array();

    for (unsigned i = 1; i < self->n_runs; i++) {
        const Two two = two_of(self, i);
        json_array_append_new(list, two_json(&two));
    }
    if (self->n_runs > 2)
        return json_pack("{s:s, s:o}", "base", self->runs[0].folder, "compared", list);
    json_t *only = json_incref(json_array_get(list, 0));
    json_decref(list);
    return only;
}
