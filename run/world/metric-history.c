/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values of all series at scrapes, for OpenMetrics. A scrape looks only at series that may have
 * changed, and a point is kept only for a change. If there are too many scrapes, every second one
 * goes and the interval doubles; points stay, since the next scrape may have found them unchanged.
 * Observing changes nothing: scrapes are no events of the run. */
#include "metric-history.h"

#include <string.h>

#include "sim/append.h"

#define SCRAPE_INTERVAL (15 * SIM_SECOND) /* Prometheus' usual interval */
#define SCRAPES_MAX 60
#define NO_POINT UINT32_MAX

/* The value of a series from one scrape on. Most values stay the same from scrape to scrape, so a
 * point is kept only for a change. */
typedef struct {
    int64_t sum;
    uint64_t count;
    uint32_t scrape; /* number of the scrape; removed scrapes keep their numbers */
    uint32_t next;   /* of the same series; NO_POINT: the last */
} MetricHistoryPoint;

/* The points of a series. */
typedef struct {
    uint32_t first, last; /* NO_POINT: not scraped yet */
    gboolean is_awake;    /* in @awake */
} MetricHistoryChain;

typedef struct {
    SimTime at;
    uint32_t number;
} MetricHistoryScrape;

struct MetricHistory {
    SimMetrics *metrics;
    SimTime interval, next_scrape;
    uint32_t n_scrapes; /* scrapes that were made */
    GArray *scrapes;    /* of Scrape: remaining scrapes */
    SimLog *points;     /* of Point, of all series, in order of time */
    GArray *chains;     /* of Chain, by the number of the series */
    GPtrArray *awake;   /* of SimSeries: those that may have changed */
};

MetricHistory *
metric_history_new(SimMetrics *metrics, SimCold *cold)
{
    MetricHistory *self = g_new0(MetricHistory, 1);

    self->metrics = metrics;
    self->interval = self->next_scrape = SCRAPE_INTERVAL;
    self->scrapes = g_array_new(FALSE, FALSE, sizeof(MetricHistoryScrape));
    self->points = sim_log_new(cold, sizeof(MetricHistoryPoint));
    self->chains = g_array_new(FALSE, FALSE, sizeof(MetricHistoryChain));
    self->awake = g_ptr_array_new();
    return self;
}

void
metric_history_free(MetricHistory *self)
{
    if (self == NULL)
        return;
    g_array_unref(self->scrapes);
    sim_log_free(self->points);
    g_ptr_array_unref(self->awake);
    g_array_unref(self->chains);
    g_free(self);
}

SimTime
metric_history_next_scrape(const MetricHistory *self)
{
    return self->next_scrape;
}

static MetricHistoryPoint *
point_at(const MetricHistory *self, uint32_t index)
{
    return index == NO_POINT ? NULL : &sim_log_index(self->points, MetricHistoryPoint, index);
}

static void
metric_history_keep(MetricHistory *self, MetricHistoryChain *chain, const SimSeries *series)
{
    MetricHistoryPoint *last = point_at(self, chain->last);
    uint32_t index = self->points->len;
    MetricHistoryPoint point = {series->sum, series->count, self->n_scrapes, NO_POINT};

    if (last == NULL && !sim_series_is_told(series, series->sum))
        return;
    if (last != NULL && last->sum == series->sum && last->count == series->count)
        return;
    if (last != NULL)
        last->next = index;
    else
        chain->first = index;
    chain->last = index;
    *(MetricHistoryPoint *)sim_log_append(self->points) = point;
}

/* Removes every second scrape: those at odd multiples of the interval. Their points stay, because
 * the next scrape may have found them unchanged. */
static void
thin_out(MetricHistory *self)
{
    unsigned n = 0;

    self->interval *= 2;
    for (unsigned i = 0; i < self->scrapes->len; i++) {
        const MetricHistoryScrape *scrape = &g_array_index(self->scrapes, MetricHistoryScrape, i);
        if (scrape->at % self->interval == 0)
            g_array_index(self->scrapes, MetricHistoryScrape, n++) = *scrape;
    }
    g_array_set_size(self->scrapes, n);
}

/* Adds new series, and series that no longer rest. */
static void
find_awake(MetricHistory *self)
{
    static const MetricHistoryChain fresh = {NO_POINT, NO_POINT, TRUE};
    const GPtrArray *all = sim_metrics_all(self->metrics);
    GPtrArray *woken = sim_metrics_woken(self->metrics);

    for (unsigned i = 0; i < woken->len; i++) {
        SimSeries *series = woken->pdata[i];
        MetricHistoryChain *chain =
            series->number < self->chains->len
                ? &g_array_index(self->chains, MetricHistoryChain, series->number)
                : NULL;
        if (chain == NULL || chain->is_awake)
            continue;
        chain->is_awake = TRUE;
        g_ptr_array_add(self->awake, series);
    }
    g_ptr_array_set_size(woken, 0);
    while (self->chains->len < all->len) {
        g_ptr_array_add(self->awake, all->pdata[self->chains->len]);
        g_array_append_val(self->chains, fresh);
    }
}

void
metric_history_scrape(MetricHistory *self)
{
    MetricHistoryScrape scrape = {self->next_scrape, self->n_scrapes};
    unsigned n_awake = 0;

    sim_metrics_collect(self->metrics, scrape.at);
    find_awake(self);
    for (unsigned i = 0; i < self->awake->len; i++) {
        SimSeries *series = self->awake->pdata[i];
        MetricHistoryChain *chain =
            &g_array_index(self->chains, MetricHistoryChain, series->number);
        metric_history_keep(self, chain, series);
        chain->is_awake = !series->rests;
        if (chain->is_awake)
            self->awake->pdata[n_awake++] = series;
    }
    g_ptr_array_set_size(self->awake, (int)n_awake);
    self->n_scrapes++;
    g_array_append_val(self->scrapes, scrape);
    if (self->scrapes->len >= SCRAPES_MAX)
        thin_out(self);
    self->next_scrape = (scrape.at / self->interval + 1) * self->interval;
}

/* ---- Text ---- */

/* A sample without its timestamp. The value is printed again only if it changed since the last
 * scrape. */
typedef struct {
    GString *text;
    gsize value_at; /* where the value begins */
} MetricHistoryLine;

#define LINES_MAX 3 /* lines of a series at one scrape */

typedef struct {
    const MetricHistory *history;
    GString *text;
    GPtrArray *times; /* of char * (owned), for each remaining scrape: its timestamp and the end of
                         the line */
    const SimFamily *family; /* family of the last header; NULL: none */
    MetricHistoryLine lines[LINES_MAX];
    unsigned n_lines;
} MetricHistoryWriter;

/* OpenMetrics names counters without _total, and their samples with it. */
static int
length_of_name(const SimFamily *family)
{
    gsize length = strlen(family->name);

    if (family->type == SIM_COUNTER && g_str_has_suffix(family->name, "_total"))
        length -= strlen("_total");
    return (int)length;
}

static void
begin_line(MetricHistoryWriter *writer,
           const SimSeries *series,
           const char *suffix,
           const char *extra)
{
    MetricHistoryLine *line = &writer->lines[writer->n_lines++];
    const SimFamily *family = series->family;

    g_string_printf(line->text, "%.*s%s{%s%s} ", length_of_name(family), family->name, suffix,
                    series->labels, extra);
    line->value_at = line->text->len;
}

static void
begin_series(MetricHistoryWriter *writer, const SimSeries *series)
{
    writer->n_lines = 0;
    switch (series->family->type) {
    case SIM_COUNTER:
        begin_line(writer, series, "_total", "");
        break;
    case SIM_GAUGE:
    case SIM_COLLECTED:
        begin_line(writer, series, "", "");
        break;
    case SIM_HISTOGRAM:
        begin_line(writer, series, "_bucket", ",le=\"+Inf\"");
        begin_line(writer, series, "_count", "");
        begin_line(writer, series, "_sum", "");
        break;
    }
}

/* The sum is in the last line. */
static void
set_values(MetricHistoryWriter *writer, const SimSeries *series, const MetricHistoryPoint *point)
{
    for (unsigned i = 0; i < writer->n_lines; i++) {
        MetricHistoryLine *line = &writer->lines[i];
        g_string_truncate(line->text, line->value_at);
        sim_metrics_append_number(line->text, i + 1 < writer->n_lines
                                                  ? (double)point->count
                                                  : (double)point->sum * series->family->unit);
    }
}

/* Writes the header before a family's first sample: a family without samples has none (MET-161). */
static void
append_header(MetricHistoryWriter *writer, const SimFamily *family)
{
    int length = length_of_name(family);

    g_string_append_printf(writer->text, "# HELP %.*s %s\n# TYPE %.*s %s\n", length, family->name,
                           family->help, length, family->name, sim_metric_type_name(family->type));
    writer->family = family;
}

static void
append_samples(MetricHistoryWriter *writer, const SimSeries *series)
{
    const MetricHistory *self = writer->history;
    const MetricHistoryChain *chain =
        series->number < self->chains->len
            ? &g_array_index(self->chains, MetricHistoryChain, series->number)
            : NULL;
    const MetricHistoryPoint *point = NULL,
                             *next = chain == NULL ? NULL : point_at(self, chain->first);

    begin_series(writer, series);
    for (unsigned i = 0; i < self->scrapes->len; i++) {
        const MetricHistoryScrape *scrape = &g_array_index(self->scrapes, MetricHistoryScrape, i);
        const MetricHistoryPoint *before = point;
        for (; next != NULL && next->scrape <= scrape->number; next = point_at(self, next->next))
            point = next;
        if (point == NULL || !sim_series_is_told(series, point->sum))
            continue;
        if (series->family != writer->family)
            append_header(writer, series->family);
        if (point != before)
            set_values(writer, series, point);
        for (unsigned k = 0; k < writer->n_lines; k++) {
            const GString *line = writer->lines[k].text;
            append_bytes(writer->text, line->str, line->len);
            append_text(writer->text, writer->times->pdata[i]);
        }
    }
}

static void
writer_init(MetricHistoryWriter *writer, int64_t epoch_s)
{
    const MetricHistory *history = writer->history;

    writer->times = g_ptr_array_new_with_free_func(g_free);
    for (unsigned i = 0; i < history->scrapes->len; i++) {
        SimTime at = g_array_index(history->scrapes, MetricHistoryScrape, i).at;
        g_ptr_array_add(writer->times,
                        g_strdup_printf(" %" G_GINT64_FORMAT ".%03d\n", epoch_s + at / SIM_SECOND,
                                        (int)(at % SIM_SECOND / SIM_MS)));
    }
    for (unsigned i = 0; i < LINES_MAX; i++)
        writer->lines[i].text = g_string_new(NULL);
}

static void
writer_clear(MetricHistoryWriter *writer)
{
    g_ptr_array_unref(writer->times);
    for (unsigned i = 0; i < LINES_MAX; i++)
        g_string_free(writer->lines[i].text, TRUE);
}

void
metric_history_append(const MetricHistory *self, int64_t epoch_s, ResultFile *file)
{
    g_autoptr(GPtrArray) sorted = sim_metrics_sorted(self->metrics);
    MetricHistoryWriter writer = {.history = self, .text = file->text};

    writer_init(&writer, epoch_s);
    for (unsigned i = 0; i < sorted->len; i++) {
        append_samples(&writer, sorted->pdata[i]);
        result_file_end_row(file);
    }
    append_literal(file->text, "# EOF\n");
    writer_clear(&writer);
}
