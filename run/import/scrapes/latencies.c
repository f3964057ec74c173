/* SPDX-License-Identifier: GPL-3.0-or-later */
/* outside the model: fits what was measured; nothing of a run comes here */
/* Latencies of a driver from its counted calls: a constant, a lognormal with the measured mean, or
 * straight lines within the buckets, in this order of preference. A lognormal is refused by a
 * G-test; the spread of means between scrapes tells that of single calls. Spreads that the
 * machinery around a call makes count as constant. Short calls that every driver answers at once
 * are left out. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "run/measure/fit.h"
#include "scrapes-private.h"

/* A smaller spread is that of the machinery around the call: kubelets of a busy machine measured
 * constant latencies of 50 ms with up to 0.09. */
#define CV_OF_CONSTANT 0.1
/* Means of so few intervals say nothing about the spread of the calls. */
#define INTERVALS_MIN 4
/* A distribution is refused if counts that differ so much from it (a G-test) come by chance less
 * often. */
#define GOOD_P 0.01
/* A step between two buckets takes this part of the upper one; buckets with a smaller share of the
 * calls are left out. Both are seen in nine digits. */
#define JUMP 1e-3
#define SHARE_MIN 1e-5
/* Short calls that every driver answers without its back end. */
#define IDLE_CALL_S 0.05

/* "2.504s", "53.1ms": four digits, as a mean of some tens of calls has no more. */
static char *
duration_text(double seconds)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    double factor = seconds >= 1 ? 1 : seconds >= 1e-3 ? 1e3 : 1e6;
    double scaled = seconds * factor;
    int digits = scaled >= 1000 ? 0 : scaled >= 100 ? 1 : scaled >= 10 ? 2 : 3;
    g_autofree char *format = g_strdup_printf("%%.%df", digits);

    g_ascii_formatd(number, sizeof number, format, scaled);
    if (strchr(number, '.') != NULL) {
        char *end = number + strlen(number);
        while (end[-1] == '0')
            *--end = '\0';
        if (end[-1] == '.')
            end[-1] = '\0';
    }
    return g_strconcat(number, factor == 1 ? "s" : factor == 1e3 ? "ms" : "us", NULL);
}

static json_t *
duration_json(double seconds)
{
    g_autofree char *text = duration_text(seconds);

    return json_string(text);
}

/* ---- Buckets ---- */

typedef struct {
    double *upper, *cumulative; /* owned */
    unsigned n;
    double count, mean; /* seconds; 0: not told */
    int first, last;    /* the buckets that have calls */
} LatenciesBuckets;

static void
buckets_clear(LatenciesBuckets *self)
{
    g_free(self->upper);
    g_free(self->cumulative);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LatenciesBuckets, buckets_clear)

static LatenciesBuckets
buckets_of(const ScrapedCalls *calls)
{
    LatenciesBuckets self = {.n = calls->buckets->len, .count = scraped_count(calls), .first = -1};
    double below = 0;

    self.upper = g_new(double, self.n);
    self.cumulative = g_new(double, self.n);
    for (unsigned i = 0; i < self.n; i++) {
        const ScrapedBucket *bucket = &g_array_index(calls->buckets, ScrapedBucket, i);
        self.upper[i] = bucket->upper;
        self.cumulative[i] = bucket->count;
        if (bucket->count > below) {
            self.first = self.first < 0 ? (int)i : self.first;
            self.last = (int)i;
        }
        below = bucket->count;
    }
    self.mean = self.count > 0 ? calls->sum / self.count : 0;
    return self;
}

static double
lower_bound(const LatenciesBuckets *self, int i)
{
    return i > 0 ? self->upper[i - 1] : 0;
}

/* The bucket without an end ends at twice its begin, or further if the mean needs it. */
static double
upper_bound(const LatenciesBuckets *self, int i)
{
    return isfinite(self->upper[i]) ? self->upper[i] : MAX(2 * lower_bound(self, i), self->mean);
}

/* Of the intervals between scrapes that have calls of this bucket alone. Returns: 0: there is none
 */
static double
mean_of(const ScrapedCalls *calls, int bucket)
{
    double n = 0, seconds = 0;

    for (unsigned i = 0; i < calls->means->len; i++) {
        const ScrapedMean *part = &g_array_index(calls->means, ScrapedMean, i);
        n += part->bucket == bucket ? part->n : 0;
        seconds += part->bucket == bucket ? part->seconds : 0;
    }
    return n > 0 ? seconds / n : 0;
}

/* The standard deviation of one call by its mean, out of the means between scrapes: these spread
 * less, by the root of the calls between them. @bucket: of intervals with calls of this bucket
 * alone; -1: of all. Returns: 0: there are too few, or it is that of the machinery */
static double
spread_of_means(const ScrapedCalls *calls, int bucket, double mean)
{
    double squares = 0, cv;
    unsigned n = 0;

    for (unsigned i = 0; i < calls->means->len; i++) {
        const ScrapedMean *part = &g_array_index(calls->means, ScrapedMean, i);
        double distance = part->seconds / part->n - mean;
        if (bucket >= 0 && part->bucket != bucket)
            continue;
        squares += part->n * distance * distance;
        n++;
    }
    if (n < INTERVALS_MIN || mean <= 0)
        return 0;
    cv = sqrt(squares / (n - 1)) / mean;
    return cv > CV_OF_CONSTANT ? cv : 0;
}

/* ---- Distributions ---- */

static json_t *
lognormal_json(double mean, double cv)
{
    return json_pack("{s:{s:o, s:f}}", "lognormal", "mean", duration_json(mean), "cv",
                     round(cv * 1000) / 1000);
}

/* A lognormal of the measured mean, with the spread that suits the buckets best. Returns: FALSE:
 * none suits */
static gboolean
fit_lognormal(const LatenciesBuckets *self, double *cv)
{
    double distance = 0, n_cells = 0;
    Fit fit;

    fit_histogram(self->upper, self->cumulative, self->n, self->mean, &fit);
    const FitResult *found = &fit.families[FIT_LOGNORMAL];
    if (!found->is_possible || self->mean <= 0)
        return FALSE;
    double sigma = found->b, mu = log(self->mean) - sigma * sigma / 2, below = 0;
    for (unsigned i = 0; i < self->n; i++) {
        double p = isfinite(self->upper[i])
                       ? erfc(-(log(self->upper[i]) - mu) / (sigma * G_SQRT2)) / 2
                       : 1;
        double count = self->cumulative[i] - (i > 0 ? self->cumulative[i - 1] : 0);
        double expected = MAX(p - below, 1e-12) * self->count;
        distance += count > 0 ? 2 * count * log(count / expected) : 0;
        n_cells += count > 0 || expected >= 0.5;
        below = p;
    }
    *cv = sqrt(exp(sigma * sigma) - 1);
    return gsl_cdf_chisq_Q(MAX(distance, 0), MAX(n_cells - 3, 1)) >= GOOD_P;
}

/* Straight lines within the buckets. A bucket whose mean is known lies around it; the others lie at
 * their lower or upper end, so that the mean of all is the measured one. */
static json_t *
empirical_json(const ScrapedCalls *calls, const LatenciesBuckets *self)
{
    double low = 0, width = 0, q = 0;
    json_t *quantiles = json_array();

    for (int i = self->first; i <= self->last; i++) {
        double share = (self->cumulative[i] - (i > 0 ? self->cumulative[i - 1] : 0)) / self->count;
        double mean = mean_of(calls, i), begin = lower_bound(self, i);
        low += share * (mean > 0 ? mean : begin);
        width += mean > 0 ? 0 : share * (upper_bound(self, i) - begin);
    }
    double part = self->mean > 0 && width > 0 ? CLAMP((self->mean - low) / width, 0, 1) : 0.5;
    for (int i = self->first; i <= self->last; i++) {
        double begin = lower_bound(self, i), end = upper_bound(self, i), mean = mean_of(calls, i);
        double next = self->cumulative[i] / self->count;
        double at = mean > 0 ? CLAMP(mean, begin, end) : begin + part * (end - begin);
        double half = MIN(at - begin, end - at);
        if (mean > 0) /* a line as wide as its standard deviation times the root of 12 */
            half = MIN(half, sqrt(3) * spread_of_means(calls, i, mean) * mean);
        if (next - q < SHARE_MIN)
            continue;
        json_array_append_new(quantiles, json_pack("[f, o]", q == 0 ? 0 : q + JUMP * (next - q),
                                                   duration_json(at - half)));
        json_array_append_new(quantiles, json_pack("[f, o]", next, duration_json(at + half)));
        q = next;
    }
    return json_pack("{s:{s:o}}", "empirical", "quantiles", quantiles);
}

static json_t *
one_bucket_json(const ScrapedCalls *calls, const LatenciesBuckets *buckets, const char **how)
{
    double begin = lower_bound(buckets, buckets->first);
    double cv = spread_of_means(calls, -1, buckets->mean);

    if (buckets->mean <= 0) {
        *how = "anything within one bucket, as there is no sum";
        return json_pack("{s:{s:o, s:o}}", "uniform", "min", duration_json(begin), "max",
                         duration_json(upper_bound(buckets, buckets->first)));
    }
    if (cv > 0) {
        *how = "one bucket; the spread is that of the means between scrapes";
        return lognormal_json(buckets->mean, cv);
    }
    *how = "one bucket: the mean, without a spread";
    return duration_json(buckets->mean);
}

/* (owned): a distribution as in a scenario; @how: the reason, for the report */
static json_t *
distribution_of(const ScrapedCalls *calls, const LatenciesBuckets *buckets, const char **how)
{
    double cv;

    if (buckets->first == buckets->last)
        return one_bucket_json(calls, buckets, how);
    if (!fit_lognormal(buckets, &cv)) {
        *how = "the buckets' quantiles, as no lognormal suits them";
        return empirical_json(calls, buckets);
    }
    if (cv <= CV_OF_CONSTANT) {
        *how = "nearly constant";
        return duration_json(buckets->mean);
    }
    *how = "a lognormal suits the buckets";
    return lognormal_json(buckets->mean, cv);
}

/* ---- Latencies ---- */

/* Calls of the machinery say nothing about the back end, unless a driver is slow. */
static gboolean
is_idle_call(CsiLatency kind, double mean)
{
    return mean < IDLE_CALL_S &&
           (csi_method_service((CsiMethod)kind) == CSI_IDENTITY || kind == (CsiLatency)CSI_PROBE ||
            kind == (CsiLatency)CSI_CONTROLLER_GET_CAPABILITIES ||
            kind == (CsiLatency)CSI_NODE_GET_CAPABILITIES || kind == (CsiLatency)CSI_NODE_GET_INFO);
}

/* The operation volume_mount counts as NodeStageVolume, but a kubelet that counts
 * NodePublishVolume has counted NodeStageVolume, too, if the driver has it. */
static gboolean
is_counted_elsewhere(const Scrapes *self, const char *driver, const ScrapedCalls *calls)
{
    const ScrapedCalls *publish =
        scrapes_find(self, driver, (CsiLatency)CSI_NODE_PUBLISH_VOLUME, CSI_OK);

    return calls->metric == 2 && calls->kind == (CsiLatency)CSI_NODE_STAGE_VOLUME &&
           publish != NULL && publish->metric < 2;
}

json_t *
scrapes_latency(const Scrapes *self, const char *driver, ImportReport *report)
{
    json_t *latency = json_object();

    for (CsiLatency kind = 0; kind < (CsiLatency)CSI_N_METHODS; kind++) {
        const ScrapedCalls *calls = scrapes_find(self, driver, kind, CSI_OK);
        const char *how;
        if (calls == NULL || is_counted_elsewhere(self, driver, calls))
            continue;
        g_auto(LatenciesBuckets) buckets = buckets_of(calls);
        if (buckets.first < 0 || is_idle_call(kind, buckets.mean))
            continue;
        json_object_set_new(latency, csi_latency_name(kind),
                            distribution_of(calls, &buckets, &how));
        g_autofree char *mean = duration_text(buckets.mean);
        import_report_say(report, calls->metric == 2 ? REPORT_GUESSED : REPORT_TAKEN,
                          "%s: latency of %s from %.0f call%s in `%s`, mean %s: %s%s.", driver,
                          csi_latency_name(kind), buckets.count, buckets.count == 1 ? "" : "s",
                          storage_metrics[calls->metric], mean, how,
                          calls->metric == 2 ? "; the operation lasts longer than the call" : "");
    }
    if (json_object_size(latency) > 0)
        return latency;
    json_decref(latency);
    return NULL;
}
