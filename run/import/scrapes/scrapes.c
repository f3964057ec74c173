/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: reads what clusters export */
/* Scrapes of /metrics, alone or in archives: sorts them by process and counts the calls and
 * durations between them. A process is known by its start and by counters that went on. Counts are
 * cumulative, so a total is the last scrape without the first; a process that started later counts
 * from zero. Files that are cut or broken are errors. */
#include "scrapes.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "models/api/field.h"
#include "run/files/libarchive.h"
#include "scrapes-private.h"
#include "sim/order.h"

#define BLOCK_BYTES (64 * 1024)             /* of one read */
#define SCRAPE_BYTES_MAX ((gsize)256 << 20) /* the largest API servers have 50 MB */
#define UNIX_S_MAX 4e9                      /* of times; later ones are broken */
/* The start of a process is computed from the boot time, in whole seconds, which the clock's
 * adjustment can move. */
#define START_TOLERANCE_S 2.0
#define PLUGIN_PREFIX "kubernetes.io/csi:"

/* One answer of /metrics. */
typedef struct {
    char *file;
    SimTime time;                /* when it was written; TIME_UNSET: not known */
    double started_s, processor; /* of the process, in seconds; 0: not told */
    char *node;                  /* of a kubelet */
    GHashTable *calls;           /* key -> ScrapedCalls (owned) */
    unsigned number;
} ScrapesScrape;

/* ---- Calls ---- */

static void
calls_free(void *data)
{
    ScrapedCalls *calls = data;

    g_free(calls->key);
    g_free(calls->driver);
    g_array_unref(calls->buckets);
    g_array_unref(calls->means);
    g_free(calls);
}

static ScrapedCalls *
calls_in(GHashTable *table, const ScrapedCalls *like)
{
    ScrapedCalls *calls = g_hash_table_lookup(table, like->key);

    if (calls != NULL)
        return calls;
    calls = g_new0(ScrapedCalls, 1);
    *calls = *like;
    calls->key = g_strdup(like->key);
    calls->driver = g_strdup(like->driver);
    calls->buckets = g_array_new(FALSE, FALSE, sizeof(ScrapedBucket));
    calls->means = g_array_new(FALSE, FALSE, sizeof(ScrapedMean));
    calls->sum = 0;
    g_hash_table_insert(table, calls->key, calls);
    return calls;
}

static void
add_bucket(ScrapedCalls *calls, double upper, double count)
{
    ScrapedBucket bucket = {upper, count};
    unsigned i = 0;

    while (i < calls->buckets->len && g_array_index(calls->buckets, ScrapedBucket, i).upper < upper)
        i++;
    if (i < calls->buckets->len && g_array_index(calls->buckets, ScrapedBucket, i).upper == upper)
        g_array_index(calls->buckets, ScrapedBucket, i).count += count;
    else
        g_array_insert_val(calls->buckets, i, bucket);
}

double
scraped_count(const ScrapedCalls *calls)
{
    return calls->buckets->len == 0
               ? 0
               : g_array_index(calls->buckets, ScrapedBucket, calls->buckets->len - 1).count;
}

/* Keys in order: GHashTable has none. (owned), its keys are not */
static GList *
keys_of(GHashTable *table)
{
    return g_list_sort(g_hash_table_get_keys(table), (GCompareFunc)strcmp);
}

/* ---- Samples ---- */

static const char *const wanted_metrics[] = {
    "csi_sidecar_operations_seconds",
    "csi_operations_seconds",
    "storage_operation_duration_seconds",
    "process_start_time_seconds",
    "process_cpu_seconds_total",
    "kubelet_node_name",
    NULL,
};

static gboolean
add_calls(ScrapesScrape *scrape, const StorageSample *storage, double value)
{
    ScrapedCalls like = {.metric = storage->metric, .kind = storage->kind};
    double upper;

    if (!(value >= 0) || !isfinite(value))
        return FALSE;
    if (storage->driver == NULL || !csi_code_parse(storage->result, &like.code))
        return TRUE;
    like.driver = (char *)(g_str_has_prefix(storage->driver, PLUGIN_PREFIX)
                               ? storage->driver + strlen(PLUGIN_PREFIX)
                               : storage->driver);
    g_autofree char *key =
        g_strdup_printf("%s/%02u/%u/%02u", like.driver, like.kind, like.metric, like.code);
    like.key = key;
    ScrapedCalls *calls = calls_in(scrape->calls, &like);
    if (storage->bound == NULL)
        calls->sum += value;
    else if (storage_bound_parse(storage->bound, &upper))
        add_bucket(calls, upper, value);
    else
        return FALSE;
    return TRUE;
}

static gboolean
see_sample(const MetricSample *sample, void *data)
{
    ScrapesScrape *scrape = data;
    StorageSample storage;

    if (storage_sample_of(sample, &storage))
        return add_calls(scrape, &storage, sample->value);
    if (strcmp(sample->name, "process_start_time_seconds") == 0)
        scrape->started_s = CLAMP(sample->value, 0, UNIX_S_MAX);
    else if (strcmp(sample->name, "process_cpu_seconds_total") == 0)
        scrape->processor = sample->value;
    else if (strcmp(sample->name, "kubelet_node_name") == 0 && scrape->node == NULL)
        scrape->node = g_strdup(g_hash_table_lookup(sample->labels, "node"));
    return TRUE;
}

/* Buckets are cumulative: a smaller count than in the bucket below means a broken or cut file. */
static gboolean
check_calls(const ScrapesScrape *scrape, GError **error)
{
    g_autoptr(GList) keys = keys_of(scrape->calls);

    for (GList *key = keys; key != NULL; key = key->next) {
        const ScrapedCalls *calls = g_hash_table_lookup(scrape->calls, key->data);
        const ScrapedBucket *buckets = (const ScrapedBucket *)calls->buckets->data;
        unsigned n = calls->buckets->len;
        gboolean falls = n == 0 || isfinite(buckets[n - 1].upper);
        for (unsigned i = 1; i < n; i++)
            falls = falls || buckets[i].count < buckets[i - 1].count;
        if (!falls)
            continue;
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID,
                    "%s: the buckets of %s for %s are broken or cut off", scrape->file,
                    storage_metrics[calls->metric], csi_latency_name(calls->kind));
        return FALSE;
    }
    return TRUE;
}

/* ---- Files ---- */

static void
scrape_free(void *data)
{
    ScrapesScrape *scrape = data;

    g_free(scrape->file);
    g_free(scrape->node);
    g_hash_table_unref(scrape->calls);
    g_free(scrape);
}

/* @changed_s: when the file was last written, in seconds since 1970 */
static gboolean
read_scrape(GPtrArray *scrapes,
            const char *file,
            char *text,
            gsize length,
            gint64 changed_s,
            GError **error)
{
    ScrapesScrape *scrape = g_new0(ScrapesScrape, 1);

    scrape->file = g_strdup(file);
    scrape->number = scrapes->len;
    scrape->calls = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, calls_free);
    g_ptr_array_add(scrapes, scrape);
    if (!metric_samples_read(file, text, length, wanted_metrics, see_sample, scrape, error) ||
        !check_calls(scrape, error))
        return FALSE;
    /* A file that is older than the process was not written by the scrape. */
    scrape->time = changed_s > 0 && (double)changed_s < UNIX_S_MAX &&
                           (double)changed_s + START_TOLERANCE_S >= scrape->started_s
                       ? (changed_s - API_EPOCH_S) * SIM_SECOND
                       : TIME_UNSET;
    return TRUE;
}

/* (owned): the text of the entry, terminated; %NULL: @archive tells why */
static char *
read_entry(const Libarchive *lib, struct archive *archive, gsize *length)
{
    g_autoptr(GString) text = g_string_new(NULL);
    char block[BLOCK_BYTES];
    la_ssize_t n;

    while ((n = lib->archive_read_data(archive, block, sizeof block)) > 0) {
        g_string_append_len(text, block, n);
        if (text->len <= SCRAPE_BYTES_MAX)
            continue;
        lib->archive_set_error(archive, EFBIG, "a scrape of more than 256 MiB");
        return NULL;
    }
    *length = text->len;
    return n < 0 ? NULL : g_string_free(g_steal_pointer(&text), FALSE);
}

/* Returns: ARCHIVE_EOF after the last entry; else @error, or @archive, tells why */
static int
read_entries(GPtrArray *scrapes,
             const Libarchive *lib,
             struct archive *archive,
             const char *file,
             gint64 changed_s,
             GError **error)
{
    struct archive_entry *entry;
    int result;

    while ((result = lib->archive_read_next_header(archive, &entry)) == ARCHIVE_OK) {
        gboolean is_raw = lib->archive_format(archive) == ARCHIVE_FORMAT_RAW;
        g_autofree char *path =
            is_raw ? g_strdup(file)
                   : g_strdup_printf("%s:%s", file, lib->archive_entry_pathname(entry));
        gsize length;
        if (!is_raw && lib->archive_entry_filetype(entry) != AE_IFREG)
            continue;
        g_autofree char *text = read_entry(lib, archive, &length);
        if (text == NULL)
            return ARCHIVE_FATAL;
        if (!read_scrape(scrapes, path, text, length,
                         is_raw ? changed_s : (gint64)lib->archive_entry_mtime(entry), error))
            return ARCHIVE_FATAL;
    }
    return result;
}

static gboolean
scrapes_read_file(GPtrArray *scrapes, const char *file, GError **error)
{
    GStatBuf status;
    gint64 changed_s = g_stat(file, &status) == 0 ? (gint64)status.st_mtime : 0;
    g_autoptr(GError) why = NULL;
    Libarchive lib;

    if (!libarchive_load(&lib, file, error))
        return FALSE;
    struct archive *archive = lib.archive_read_new();

    lib.archive_read_support_filter_gzip(archive);
    lib.archive_read_support_filter_xz(archive);
    lib.archive_read_support_filter_zstd(archive);
    lib.archive_read_support_format_tar(archive);
    lib.archive_read_support_format_raw(archive);
    lib.archive_read_support_format_empty(archive);
    unsigned n = scrapes->len;
    int result = lib.archive_read_open_filename(archive, file, BLOCK_BYTES);
    if (result == ARCHIVE_OK)
        result = read_entries(scrapes, &lib, archive, file, changed_s, &why);
    if (result == ARCHIVE_EOF && scrapes->len == n) {
        g_set_error(&why, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: there is no scrape in it", file);
        result = ARCHIVE_FATAL;
    } else if (why == NULL && g_file_test(file, G_FILE_TEST_IS_DIR)) {
        g_set_error(&why, G_FILE_ERROR, G_FILE_ERROR_ISDIR,
                    "%s: is a directory: name the files in it", file);
    }
    if (why != NULL)
        g_propagate_error(error, g_steal_pointer(&why));
    else if (result != ARCHIVE_EOF)
        g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: %s", file,
                    lib.archive_error_string(archive));
    lib.archive_read_free(archive);
    return result == ARCHIVE_EOF;
}

/* ---- Processes ---- */

static int
by_processor_time(const void *a, const void *b)
{
    const ScrapesScrape *x = *(ScrapesScrape *const *)a, *y = *(ScrapesScrape *const *)b;

    return ORDER(x->processor, y->processor) ?: ORDER(x->number, y->number);
}

/* Whether @b can be a later scrape of the same process: its counters went on. Where no call was
 * added, the sum of the durations is the same to the last digit, and tells processes apart. */
static gboolean
goes_on(const ScrapesScrape *a, const ScrapesScrape *b)
{
    GHashTableIter iter;
    gboolean ok =
        fabs(a->started_s - b->started_s) <= START_TOLERANCE_S && g_strcmp0(a->node, b->node) == 0;
    void *value;

    g_hash_table_iter_init(&iter, a->calls); /* order does not matter: a conjunction */
    while (ok && g_hash_table_iter_next(&iter, NULL, &value)) {
        const ScrapedCalls *before = value;
        const ScrapedCalls *after = g_hash_table_lookup(b->calls, before->key);
        ok = after != NULL && scraped_count(after) >= scraped_count(before) &&
             (scraped_count(after) > scraped_count(before) || after->sum == before->sum);
    }
    return ok;
}

/* (owned): a list of Scrape (borrowed) for each process, in order */
static GPtrArray *
find_processes(GPtrArray *scrapes)
{
    GPtrArray *processes = g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

    qsort(scrapes->pdata, scrapes->len, sizeof(ScrapesScrape *), by_processor_time);
    for (unsigned i = 0; i < scrapes->len; i++) {
        GPtrArray *process = NULL;
        for (unsigned k = 0; process == NULL && k < processes->len; k++) {
            GPtrArray *candidate = processes->pdata[k];
            if (goes_on(candidate->pdata[candidate->len - 1], scrapes->pdata[i]))
                process = candidate;
        }
        if (process == NULL) {
            process = g_ptr_array_new();
            g_ptr_array_add(processes, process);
        }
        g_ptr_array_add(process, scrapes->pdata[i]);
    }
    return processes;
}

/* ---- Totals ---- */

static gboolean
same_bounds(const GArray *a, const GArray *b)
{
    gboolean same = a->len == b->len;

    for (unsigned i = 0; same && i < a->len; i++)
        same = g_array_index(a, ScrapedBucket, i).upper == g_array_index(b, ScrapedBucket, i).upper;
    return same;
}

/* Adds the calls of @to without those of @from to the totals; NULL: those since the start. */
static void
add_between(Scrapes *self, const ScrapesScrape *from, const ScrapesScrape *to, ImportReport *report)
{
    SimTime started = to->started_s > 0
                          ? (SimTime)((to->started_s - (double)API_EPOCH_S) * SIM_SECOND)
                          : TIME_UNSET;
    g_autoptr(GList) keys = keys_of(to->calls);

    for (GList *key = keys; key != NULL; key = key->next) {
        const ScrapedCalls *after = g_hash_table_lookup(to->calls, key->data);
        const ScrapedCalls *before =
            from == NULL ? NULL : g_hash_table_lookup(from->calls, key->data);
        ScrapedMean mean = {
            .n = scraped_count(after) - (before == NULL ? 0 : scraped_count(before)),
            .seconds = after->sum - (before == NULL ? 0 : before->sum),
            .from = from == NULL ? started : from->time,
            .to = to->time,
        };
        gboolean is_pure = TRUE;
        if (mean.n <= 0)
            continue;
        ScrapedCalls *total = calls_in(self->totals, after);
        if ((total->buckets->len > 0 && !same_bounds(total->buckets, after->buckets)) ||
            (before != NULL && !same_bounds(before->buckets, after->buckets))) {
            import_report_count(report, REPORT_LEFT_OUT,
                                "Histograms with other buckets than those of the first process",
                                to->file);
            continue;
        }
        mean.bucket = -1;
        for (unsigned i = after->buckets->len; i-- > 0;) {
            const ScrapedBucket *bucket = &g_array_index(after->buckets, ScrapedBucket, i);
            double earlier =
                before == NULL ? 0 : g_array_index(before->buckets, ScrapedBucket, i).count;
            add_bucket(total, bucket->upper, bucket->count - earlier);
            if (bucket->count - earlier >= mean.n)
                mean.bucket = (int)i;
            else if (bucket->count - earlier > 0)
                is_pure = FALSE;
        }
        mean.bucket = is_pure ? mean.bucket : -1;
        total->sum += mean.seconds;
        g_array_append_val(total->means, mean);
    }
}

/* The instant of the first scrape of all; TIME_UNSET: not known. */
static SimTime
first_time(const GPtrArray *scrapes)
{
    SimTime first = TIME_UNSET;

    for (unsigned i = 0; i < scrapes->len; i++) {
        const ScrapesScrape *scrape = scrapes->pdata[i];
        if (scrape->time != TIME_UNSET && (first == TIME_UNSET || scrape->time < first))
            first = scrape->time;
    }
    return first;
}

static void
add_processes(Scrapes *self, GPtrArray *processes, SimTime first, ImportReport *report)
{
    unsigned n_since_start = 0, n_between = 0, n_new = 0;
    double first_s =
        first == TIME_UNSET ? HUGE_VAL : (double)(first / SIM_SECOND) + (double)API_EPOCH_S;

    for (unsigned i = 0; i < processes->len; i++) {
        const GPtrArray *process = processes->pdata[i];
        const ScrapesScrape *earliest = process->pdata[0];
        gboolean is_new = earliest->started_s > first_s + START_TOLERANCE_S;
        if (g_hash_table_size(((const ScrapesScrape *)process->pdata[process->len - 1])->calls) ==
            0) {
            import_report_count(report, REPORT_LEFT_OUT, "Scrapes without a call of a CSI driver",
                                earliest->file);
            continue;
        }
        n_new += is_new;
        n_between += !is_new && process->len > 1;
        n_since_start += !is_new && process->len == 1;
        if (is_new || process->len == 1)
            add_between(self, NULL, earliest, report);
        for (unsigned k = 1; k < process->len; k++)
            add_between(self, process->pdata[k - 1], process->pdata[k], report);
    }
    if (n_between > 0)
        import_report_say(
            report, REPORT_TAKEN,
            "Scrapes: the calls of %u process%s between the first and the last scrape.", n_between,
            n_between == 1 ? "" : "es");
    if (n_new > 0)
        import_report_say(report, REPORT_TAKEN,
                          "Scrapes: %u process%s started between the scrapes: all calls.", n_new,
                          n_new == 1 ? "" : "es");
    if (n_since_start > 0)
        import_report_say(report, REPORT_TAKEN,
                          "Scrapes: the calls of %u process%s since the start, as there is a "
                          "single scrape.",
                          n_since_start, n_since_start == 1 ? "" : "es");
}

Scrapes *
scrapes_read(const char *const *files, ImportReport *report, GError **error)
{
    g_autoptr(GPtrArray) scrapes = g_ptr_array_new_with_free_func(scrape_free);
    g_autoptr(Scrapes) self = g_new0(Scrapes, 1);

    self->totals = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, calls_free);
    for (; *files != NULL; files++)
        if (!scrapes_read_file(scrapes, *files, error))
            return NULL;
    SimTime first = first_time(scrapes);
    g_autoptr(GPtrArray) processes = find_processes(scrapes);
    add_processes(self, processes, first, report);
    return g_steal_pointer(&self);
}

void
scrapes_free(Scrapes *self)
{
    if (self != NULL)
        g_hash_table_unref(self->totals);
    g_free(self);
}

const ScrapedCalls *
scrapes_find(const Scrapes *self, const char *driver, CsiLatency kind, CsiCode code)
{
    const ScrapedCalls *calls = NULL;

    for (unsigned metric = 0; calls == NULL && storage_metrics[metric] != NULL; metric++) {
        g_autofree char *key = g_strdup_printf("%s/%02u/%u/%02u", driver, kind, metric, code);
        calls = g_hash_table_lookup(self->totals, key);
    }
    return calls;
}
