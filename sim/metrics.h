/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cold.h"
#include "sim-time.h"

/* Counters, gauges and histograms by name and labels, as a monitoring system scrapes them. A
 * component keeps pointers to its series. If nothing is measured, they are NULL, and all calls
 * below do nothing. Values are integers, so sums are exact. */

typedef enum {
    SIM_COUNTER,
    SIM_GAUGE,
    SIM_COLLECTED, /* a gauge that is counted at each scrape; while it has its family's untold
                      value, the scrape has no sample of it */
    SIM_HISTOGRAM,
} SimMetricType;

/* All series of one name. Static. */
typedef struct {
    const char *name, *help;
    SimMetricType type;
    double unit;          /* the printed value of the integer 1: 1e-9 for times in seconds */
    const char *labels;   /* "name,verb": in order of the alphabet, without le; "": none */
    const double *bounds; /* of a histogram, as printed, ascending; ends with 0 */
    int64_t untold;       /* of SIM_COLLECTED: no value; a series begins with it. Of others: 0 */
} SimFamily;

/* One series of a family: one value for each label. */
typedef struct {
    const SimFamily *family;
    const char *labels; /* as printed: job="kubelet",verb="GET" */
    int64_t sum;        /* the value of a counter or gauge; of a histogram, of all values */
    uint64_t count;     /* of a histogram's values */
    uint64_t *buckets;  /* of a histogram: how many values lie in each bucket alone */
    unsigned n_bounds;
    unsigned number; /* its place in sim_metrics_all() */
    gboolean rests;  /* see sim_series_rest() */
} SimSeries;

typedef struct SimMetrics SimMetrics;

/* @cold: (borrowed) (nullable): memory for data that is hardly ever read; outlives it */
SimMetrics *sim_metrics_new(SimCold *cold);
void sim_metrics_free(SimMetrics *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimMetrics, sim_metrics_free)

/**
 * sim_metrics_series:
 * @self: %NULL: nothing is measured
 * @job: the program: a label that tells series of the same family apart
 * @values: one for each of the family's labels, in their order; %NULL if it has none
 * Components that count often keep the result: this compares all values.
 * Returns: (borrowed): the series, always the same for the same arguments; it is printed from now
 * on. %NULL: nothing is measured
 */
SimSeries *sim_metrics_series(SimMetrics *self,
                              const SimFamily *family,
                              const char *job,
                              const char *const *values);
/* @collect is called before each scrape, to set gauges that are counted only then; collectors are
 * called in the order added. There is at most one for each @data. */
void sim_metrics_add_collector(SimMetrics *self, void (*collect)(void *data), void *data);
void sim_metrics_remove_collector(SimMetrics *self, const void *data);
/* @now: the time of the scrape: not before the engine's, which may have stopped at its last event
 */
void sim_metrics_collect(SimMetrics *self, SimTime now);
/* Returns: the time of the latest scrape, for collectors */
SimTime sim_metrics_collected_at(const SimMetrics *self);
/* Sets all gauges of a family to 0 (or untold), before the collector sets the current ones. */
void sim_metrics_clear(SimMetrics *self, const SimFamily *family);

/* The series of SIM_COLLECTED is of something that is gone: it has its untold value, and nobody
 * changes it until sim_metrics_series() returns it again. */
void sim_series_rest(SimSeries *series);
/* Returns: (borrowed): of SimSeries: series that rested and were returned again; a reader empties
 * it */
GPtrArray *sim_metrics_woken(SimMetrics *self);

static inline void
sim_series_add(SimSeries *self, int64_t n)
{
    if (self != NULL)
        self->sum += n;
}

static inline void
sim_series_set(SimSeries *self, int64_t value)
{
    if (self != NULL)
        self->sum = value;
}

void sim_series_observe(SimSeries *self, int64_t value);

/* A worker of @queue was busy with @subject from @from to @to. The strings are borrowed; they
 * outlive every reader of the metrics. */
typedef struct {
    const char *job, *queue, *subject;
    SimTime from, to;
} SimSpan;

void sim_metrics_add_span(SimMetrics *self, const SimSpan *span);
/* (borrowed): of SimSpan, in the order of their ends; the first SIM_SPANS_MAX of a run */
const SimLog *sim_metrics_spans(const SimMetrics *self);
#define SIM_SPANS_MAX 200000

/* Whether a scrape has a sample of this series if it has this sum. */
static inline gboolean
sim_series_is_told(const SimSeries *self, int64_t sum)
{
    return self->family->type != SIM_COLLECTED || sum != self->family->untold;
}

/* (borrowed): of SimSeries, in the order in which they were made. */
const GPtrArray *sim_metrics_all(const SimMetrics *self);
/* (owned): of SimSeries (borrowed), sorted by the family's name, then by labels. */
GPtrArray *sim_metrics_sorted(const SimMetrics *self);
/* "counter" */
const char *sim_metric_type_name(SimMetricType type);
/* A number as Prometheus prints it: the shortest text that reads back as the same number, with an
 * exponent below 1e-4 and from 1e+06 up. */
void sim_metrics_append_number(GString *text, double number);
/* Appends everything in Prometheus' text format 0.0.4. */
void sim_metrics_append_text(const SimMetrics *self, GString *text);
