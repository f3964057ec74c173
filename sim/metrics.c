/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prometheus metrics: families, their series by label values, and the text of a scrape in
 * client_golang's form. Each observation is a look-up at most once: callers keep their series.
 * Series are kept in the order in which they were made and sorted only for a scrape; no hash table
 * is walked. */
#include "metrics.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void (*collect)(void *data);
    void *data;
} MetricsCollector;

/* The series of a family. */
typedef struct {
    unsigned n_labels;
    GPtrArray *series; /* of SimSeries */
} MetricsFamily;

/* The key of a series: its family, its job and the values of its labels, each with its NUL. */
typedef struct {
    const SimFamily *family;
    const char *values;
    uint32_t length;
    uint32_t hash;
} SeriesKey;

typedef struct {
    SimSeries series;
    SeriesKey key;
    char text[]; /* the key's values, then the labels */
} MetricsEntry;

struct SimMetrics {
    GPtrArray *series;    /* of SimSeries (owned, in their Entry), oldest first */
    GHashTable *families; /* SimFamily -> Family */
    GHashTable *by_key;   /* SeriesKey -> Entry */
    SimTime collected_at;
    GPtrArray *woken;         /* of SimSeries */
    SimCold *cold;            /* (borrowed) (nullable): of entries and spans */
    GQueue collectors;        /* of Collector (owned), in the order added */
    GHashTable *by_data;      /* a collector's data -> its GList in @collectors */
    SimLog *spans;            /* of SimSpan */
    GString *values, *labels; /* of the series that is looked up or made */
};

/* Eight bytes at a time. Only for tables that nobody iterates over. */
static uint32_t
hash_values(const SimFamily *family, const char *values, gsize length)
{
    uint64_t hash = (uint64_t)(uintptr_t)family + length, word;

    for (; length >= sizeof word; values += sizeof word, length -= sizeof word) {
        memcpy(&word, values, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, values, length);
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(hash >> 32);
}

static guint
series_key_hash(const void *key)
{
    return ((const SeriesKey *)key)->hash;
}

static gboolean
series_key_equal(const void *a, const void *b)
{
    const SeriesKey *one = a, *other = b;

    return one->hash == other->hash && one->family == other->family &&
           one->length == other->length && memcmp(one->values, other->values, one->length) == 0;
}

static void
metrics_entry_free(const SimMetrics *self, SimSeries *series)
{
    g_free(series->buckets);
    sim_cold_give(self->cold, series); /* its entry begins with it */
}

static void
family_free(void *data)
{
    MetricsFamily *family = data;

    g_ptr_array_unref(family->series);
    g_free(family);
}

SimMetrics *
sim_metrics_new(SimCold *cold)
{
    SimMetrics *self = g_new0(SimMetrics, 1);

    self->series = g_ptr_array_new();
    self->woken = g_ptr_array_new();
    self->cold = cold;
    self->families = g_hash_table_new_full(NULL, NULL, NULL, family_free);
    self->by_key = g_hash_table_new(series_key_hash, series_key_equal);
    g_queue_init(&self->collectors);
    self->by_data = g_hash_table_new(NULL, NULL);
    self->spans = sim_log_new(cold, sizeof(SimSpan));
    self->values = g_string_new(NULL);
    self->labels = g_string_new(NULL);
    return self;
}

void
sim_metrics_free(SimMetrics *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->by_key);
    g_hash_table_unref(self->families);
    for (unsigned i = 0; i < self->series->len; i++)
        metrics_entry_free(self, self->series->pdata[i]);
    g_ptr_array_unref(self->series);
    g_ptr_array_unref(self->woken);
    g_queue_clear_full(&self->collectors, g_free);
    g_hash_table_unref(self->by_data);
    sim_log_free(self->spans);
    g_string_free(self->values, TRUE);
    g_string_free(self->labels, TRUE);
    g_free(self);
}

static void
append_label(GString *text, const char *name, int length, const char *value)
{
    g_string_append_printf(text, "%s%.*s=\"", text->len == 0 ? "" : ",", length, name);
    for (const char *c = value; *c != '\0'; c++) {
        if (*c == '\\' || *c == '"')
            g_string_append_c(text, '\\');
        if (*c == '\n')
            g_string_append(text, "\\n");
        else
            g_string_append_c(text, *c);
    }
    g_string_append_c(text, '"');
}

/* By name; job is one of them. */
static void
append_labels(GString *text, const SimFamily *family, const char *job, const char *const *values)
{
    const char *name = family->labels;
    gboolean job_stands = FALSE;

    for (unsigned i = 0; *name != '\0'; i++) {
        int length = (int)strcspn(name, ",");
        if (!job_stands && strncmp("job", name, (size_t)length) < 0) {
            append_label(text, "job", 3, job);
            job_stands = TRUE;
        }
        append_label(text, name, length, values[i]);
        name += length;
        name += *name == ',';
    }
    if (!job_stands)
        append_label(text, "job", 3, job);
}

static MetricsFamily *
find_family(SimMetrics *self, const SimFamily *family)
{
    MetricsFamily *found = g_hash_table_lookup(self->families, family);

    if (found != NULL)
        return found;
    found = g_new0(MetricsFamily, 1);
    found->series = g_ptr_array_new();
    found->n_labels = *family->labels != '\0';
    for (const char *c = family->labels; *c != '\0'; c++)
        found->n_labels += *c == ',';
    g_hash_table_insert(self->families, (void *)family, found);
    return found;
}

static MetricsEntry *
entry_new(SimCold *cold, const SeriesKey *key, const GString *labels)
{
    const SimFamily *family = key->family;
    MetricsEntry *self = sim_cold_take(cold, sizeof(MetricsEntry) + key->length + labels->len + 1);

    *self = (MetricsEntry){0};
    self->key = *key;
    self->key.values = memcpy(self->text, key->values, key->length);
    self->series.family = family;
    self->series.sum = family->untold;
    self->series.labels = memcpy(self->text + key->length, labels->str, labels->len + 1);
    if (family->type == SIM_HISTOGRAM) {
        while (family->bounds[self->series.n_bounds] != 0)
            self->series.n_bounds++;
        self->series.buckets = g_new0(uint64_t, self->series.n_bounds + 1);
    }
    return self;
}

SimSeries *
sim_metrics_series(SimMetrics *self,
                   const SimFamily *family,
                   const char *job,
                   const char *const *values)
{
    if (self == NULL)
        return NULL;
    MetricsFamily *known = find_family(self, family);
    g_string_truncate(self->values, 0);
    g_string_append_len(self->values, job, (gssize)strlen(job) + 1);
    for (unsigned i = 0; i < known->n_labels; i++)
        g_string_append_len(self->values, values[i], (gssize)strlen(values[i]) + 1);
    SeriesKey key = {.family = family,
                     .values = self->values->str,
                     .length = (uint32_t)self->values->len,
                     .hash = hash_values(family, self->values->str, self->values->len)};
    MetricsEntry *entry = g_hash_table_lookup(self->by_key, &key);
    if (entry != NULL && entry->series.rests) {
        entry->series.rests = FALSE;
        g_ptr_array_add(self->woken, &entry->series);
    }
    if (entry != NULL)
        return &entry->series;

    g_string_truncate(self->labels, 0);
    append_labels(self->labels, family, job, values);
    entry = entry_new(self->cold, &key, self->labels);
    entry->series.number = self->series->len;
    g_ptr_array_add(self->series, &entry->series);
    g_ptr_array_add(known->series, &entry->series);
    g_hash_table_insert(self->by_key, &entry->key, entry);
    return &entry->series;
}

void
sim_series_rest(SimSeries *series)
{
    g_assert(!sim_series_is_told(series, series->sum));
    series->rests = TRUE;
}

GPtrArray *
sim_metrics_woken(SimMetrics *self)
{
    return self->woken;
}

void
sim_metrics_add_collector(SimMetrics *self, void (*collect)(void *data), void *data)
{
    if (self == NULL)
        return;
    MetricsCollector *collector = g_new(MetricsCollector, 1);
    *collector = (MetricsCollector){collect, data};
    g_queue_push_tail(&self->collectors, collector);
    g_hash_table_insert(self->by_data, data, self->collectors.tail);
}

void
sim_metrics_remove_collector(SimMetrics *self, const void *data)
{
    GList *link = self == NULL ? NULL : g_hash_table_lookup(self->by_data, data);

    if (link == NULL)
        return;
    g_free(link->data);
    g_queue_delete_link(&self->collectors, link);
    g_hash_table_remove(self->by_data, data);
}

SimTime
sim_metrics_collected_at(const SimMetrics *self)
{
    return self->collected_at;
}

void
sim_metrics_collect(SimMetrics *self, SimTime now)
{
    self->collected_at = now;
    for (const GList *link = self->collectors.head; link != NULL; link = link->next) {
        const MetricsCollector *collector = link->data;
        collector->collect(collector->data);
    }
}

void
sim_metrics_clear(SimMetrics *self, const SimFamily *family)
{
    const MetricsFamily *known = self == NULL ? NULL : g_hash_table_lookup(self->families, family);

    for (unsigned i = 0; known != NULL && i < known->series->len; i++)
        ((SimSeries *)known->series->pdata[i])->sum = family->untold;
}

void
sim_series_observe(SimSeries *self, int64_t value)
{
    unsigned bucket = 0;

    if (self == NULL)
        return;
    double printed = (double)value * self->family->unit;
    while (bucket < self->n_bounds && printed > self->family->bounds[bucket])
        bucket++;
    self->buckets[bucket]++;
    self->count++;
    self->sum += value;
}

void
sim_metrics_add_span(SimMetrics *self, const SimSpan *span)
{
    if (self != NULL && self->spans->len < SIM_SPANS_MAX)
        *(SimSpan *)sim_log_append(self->spans) = *span;
}

const SimLog *
sim_metrics_spans(const SimMetrics *self)
{
    return self->spans;
}

/* ---- Text ---- */

static int
compare_series(const void *a, const void *b)
{
    const SimSeries *one = *(const SimSeries *const *)a, *other = *(const SimSeries *const *)b;

    return strcmp(one->family->name, other->family->name) ?: strcmp(one->labels, other->labels);
}

const GPtrArray *
sim_metrics_all(const SimMetrics *self)
{
    return self->series;
}

GPtrArray *
sim_metrics_sorted(const SimMetrics *self)
{
    GPtrArray *sorted = g_ptr_array_sized_new(self->series->len);

    for (unsigned i = 0; i < self->series->len; i++)
        g_ptr_array_add(sorted, self->series->pdata[i]);
    g_ptr_array_sort(sorted, compare_series);
    return sorted;
}

/* A positive number to be printed: its digits without trailing zeros; the first digit stands before
 * the point. */
typedef struct {
    char digits[24];
    unsigned n;
    int exponent;
} MetricsDecimal;

static void
drop_zeros(MetricsDecimal *decimal)
{
    while (decimal->n > 1 && decimal->digits[decimal->n - 1] == '0')
        decimal->n--;
}

/* @number is exact in a double and in DBL_DIG digits. */
static void
decimal_of_integer(MetricsDecimal *decimal, uint64_t number)
{
    char reversed[24];
    unsigned n = 0;

    for (; number > 0; number /= 10)
        reversed[n++] = (char)('0' + number % 10);
    for (unsigned i = 0; i < n; i++)
        decimal->digits[i] = reversed[n - 1 - i];
    decimal->n = n;
    decimal->exponent = (int)n - 1;
    drop_zeros(decimal);
}

/* Returns: whether that many digits read back as the same number */
static gboolean
decimal_of_digits(MetricsDecimal *decimal, double number, unsigned n_digits)
{
    char format[8], text[G_ASCII_DTOSTR_BUF_SIZE];

    g_snprintf(format, sizeof format, "%%.%ue", n_digits - 1);
    g_ascii_formatd(text, sizeof text, format, number); /* d.ddde+xx */
    decimal->digits[0] = text[0];
    memcpy(decimal->digits + 1, text + 2, n_digits - 1);
    decimal->n = n_digits;
    decimal->exponent = atoi(strchr(text, 'e') + 1);
    drop_zeros(decimal);
    return g_ascii_strtod(text, NULL) == number;
}

/* The fewest digits that read back as the same number. DBL_DIG digits survive the way through a
 * double, so the fewest are these without trailing zeros, or more than DBL_DIG. Subnormal numbers
 * have fewer bits: for them each length is tried. */
static void
decimal_of(MetricsDecimal *decimal, double number)
{
    if (number < 1e15 && number == (double)(uint64_t)number) {
        decimal_of_integer(decimal, (uint64_t)number);
        return;
    }
    for (unsigned n = number < DBL_MIN ? 1 : DBL_DIG; n <= DBL_DIG + 2; n++)
        if (decimal_of_digits(decimal, number, n))
            return;
}

static void
append_with_exponent(GString *text, const MetricsDecimal *decimal)
{
    g_string_append_c(text, decimal->digits[0]);
    if (decimal->n > 1)
        g_string_append_c(text, '.');
    g_string_append_len(text, decimal->digits + 1, decimal->n - 1);
    g_string_append_printf(text, "e%c%02d", decimal->exponent < 0 ? '-' : '+',
                           ABS(decimal->exponent));
}

/* @decimal's exponent is from -4 to 5. */
static void
append_with_point(GString *text, const MetricsDecimal *decimal)
{
    unsigned n_whole = decimal->exponent < 0 ? 0 : (unsigned)decimal->exponent + 1;

    if (n_whole == 0)
        g_string_append_len(text, "0.000", 1 - decimal->exponent);
    for (unsigned i = 0; i < MAX(n_whole, decimal->n); i++) {
        if (i == n_whole && n_whole > 0)
            g_string_append_c(text, '.');
        g_string_append_c(text, i < decimal->n ? decimal->digits[i] : '0');
    }
}

/* Go's FormatFloat(f, 'g', -1, 64): MET-160. */
void
sim_metrics_append_number(GString *text, double number)
{
    MetricsDecimal decimal;

    if (signbit(number))
        g_string_append_c(text, '-');
    if (number == 0) {
        g_string_append_c(text, '0');
        return;
    }
    decimal_of(&decimal, fabs(number));
    if (decimal.exponent >= -4 && decimal.exponent < 6)
        append_with_point(text, &decimal);
    else
        append_with_exponent(text, &decimal);
}

static void
append_sample(
    GString *text, const SimSeries *series, const char *suffix, const char *bound, double value)
{
    g_string_append_printf(text, "%s%s{%s", series->family->name, suffix, series->labels);
    if (bound != NULL)
        g_string_append_printf(text, ",le=\"%s\"", bound);
    g_string_append(text, "} ");
    sim_metrics_append_number(text, value);
    g_string_append_c(text, '\n');
}

static void
append_histogram(GString *text, const SimSeries *series)
{
    g_autoptr(GString) bound = g_string_new(NULL);
    uint64_t count = 0;

    for (unsigned i = 0; i < series->n_bounds; i++) {
        g_string_truncate(bound, 0);
        sim_metrics_append_number(bound, series->family->bounds[i]);
        count += series->buckets[i];
        append_sample(text, series, "_bucket", bound->str, (double)count);
    }
    append_sample(text, series, "_bucket", "+Inf", (double)series->count);
    append_sample(text, series, "_sum", NULL, (double)series->sum * series->family->unit);
    append_sample(text, series, "_count", NULL, (double)series->count);
}

const char *
sim_metric_type_name(SimMetricType type)
{
    static const char *const names[] = {
        [SIM_COUNTER] = "counter",
        [SIM_GAUGE] = "gauge",
        [SIM_COLLECTED] = "gauge",
        [SIM_HISTOGRAM] = "histogram",
    };

    return names[type];
}

void
sim_metrics_append_text(const SimMetrics *self, GString *text)
{
    g_autoptr(GPtrArray) sorted = sim_metrics_sorted(self);
    const SimFamily *family = NULL;

    for (unsigned i = 0; i < sorted->len; i++) {
        const SimSeries *series = sorted->pdata[i];
        if (!sim_series_is_told(series, series->sum))
            continue;
        if (series->family != family) {
            family = series->family;
            g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
                                   family->name, sim_metric_type_name(family->type));
        }
        if (family->type == SIM_HISTOGRAM)
            append_histogram(text, series);
        else
            append_sample(text, series, "", NULL, (double)series->sum * family->unit);
    }
}
