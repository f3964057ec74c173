/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures one run: the numbers of its row, from the times of stages, counts at the end, requests
 * and availability. With batches, the passages after the warm-up are divided into equal parts by
 * their beginning. A value that a run does not have (no pod arrived) is missing and not 0. */

#include "run/results/attribution.h"
#include "run/results/availability.h"
#include "sim/order.h"
#include "sweep.h"

static const struct {
    const char *name, *unit;
} values[] = {
#define SWEEP_VALUE_ROW(member, name, unit, meaning) {name, unit},
    SWEEP_VALUES(SWEEP_VALUE_ROW)
#undef SWEEP_VALUE_ROW
};

const char *
sweep_value_name(SweepValueKind value)
{
    return values[value].name;
}

gboolean
sweep_value_find(const char *name, SweepValueKind *value)
{
    for (unsigned i = 0; name != NULL && i < SWEEP_N_VALUES; i++)
        if (g_str_equal(values[i].name, name)) {
            *value = (SweepValueKind)i;
            return TRUE;
        }
    return FALSE;
}

const char *
sweep_value_unit(SweepValueKind value)
{
    return values[value].unit;
}

static gboolean
parse_quantile(const char *text, double *quantile)
{
    char *end;

    if (*text != 'p' || !g_ascii_isdigit(text[1]))
        return FALSE;
    *quantile = g_ascii_strtod(text + 1, &end) / 100;
    return *end == '\0' && *quantile > 0 && *quantile <= 1;
}

/* "<60s" */
static gboolean
parse_share(const char *text, SimTime *below)
{
    return *text == '<' && sim_time_parse(text + 1, below, NULL) && *below > 0;
}

gboolean
sweep_statistic_parse(const char *text, SweepMeasure *measure)
{
    static const struct {
        const char *word;
        SweepStatistic statistic;
    } words[] = {
        {"mean",  STATISTIC_MEAN },
        {"min",   STATISTIC_MIN  },
        {"max",   STATISTIC_MAX  },
        {"count", STATISTIC_COUNT},
    };

    measure->unit = "s";
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (g_str_equal(words[i].word, text)) {
            measure->statistic = words[i].statistic;
            measure->unit = measure->statistic == STATISTIC_COUNT ? "" : "s";
            return TRUE;
        }
    if (parse_share(text, &measure->below)) {
        measure->statistic = STATISTIC_SHARE_BELOW;
        measure->unit = "";
        return TRUE;
    }
    if (!parse_quantile(text, &measure->quantile))
        return FALSE;
    measure->statistic = STATISTIC_QUANTILE;
    return TRUE;
}

unsigned
sweep_n_observations(const Sweep *self)
{
    return self->n_measures * (1 + self->batches);
}

unsigned
sweep_observation_index(const Sweep *self, unsigned measure, unsigned batch)
{
    return measure * (1 + self->batches) + batch;
}

gboolean
sweep_counts_requests(const Sweep *self)
{
    for (unsigned i = 0; i < self->n_measures; i++)
        if (!self->measures[i].is_stage && (self->measures[i].value == SWEEP_API_REQUESTS ||
                                            self->measures[i].value == SWEEP_API_PEAK))
            return TRUE;
    return FALSE;
}

/* ---- Times of a stage ---- */

/* @sample is not empty. */
static double
share_below(const SimSample *sample, SimTime below)
{
    unsigned n = 0;

    for (unsigned i = 0; i < sample->values->len; i++)
        n += g_array_index(sample->values, SimTime, i) < below;
    return (double)n / sample->values->len;
}

static SweepObservation
statistic_of(const SweepMeasure *measure, SimSample *sample)
{
    SweepObservation found = {.count = sim_sample_count(sample)};

    if (measure->statistic == STATISTIC_COUNT) {
        found.value = (double)found.count;
        return found;
    }
    found.is_missing = found.count == 0;
    if (found.is_missing)
        return found;
    switch (measure->statistic) {
    case STATISTIC_MEAN:
        found.value = report_seconds(sim_sample_mean(sample));
        break;
    case STATISTIC_MIN:
        found.value = report_seconds(sim_sample_min(sample));
        break;
    case STATISTIC_MAX:
        found.value = report_seconds(sim_sample_max(sample));
        break;
    case STATISTIC_QUANTILE:
        found.value = report_seconds(sim_sample_quantile(sample, measure->quantile));
        break;
    case STATISTIC_SHARE_BELOW:
        found.value = share_below(sample, measure->below);
        break;
    case STATISTIC_COUNT:
        break;
    }
    return found;
}

/* A duration, and when it began. */
typedef struct {
    SimTime from, length;
    unsigned number;
} SweepMeasurePassage;

static int
passage_compare(const void *a, const void *b)
{
    const SweepMeasurePassage *one = a, *other = b;

    return ORDER(one->from, other->from) ?: ORDER(one->number, other->number);
}

/* Passages that began after the warm-up, by their beginning. Returns: (owned): of Passage */
static GArray *
passages_of(const Sweep *self, const Stages *stages, Stage stage)
{
    const GArray *records = stages_records(stages);
    GArray *passages = g_array_new(FALSE, FALSE, sizeof(SweepMeasurePassage));

    for (unsigned i = 0; i < records->len; i++) {
        const StageRecord *record = &g_array_index(records, StageRecord, i);
        SweepMeasurePassage passage = {record->from, record->to - record->from, i};
        if (record->stage == stage && record->from >= self->warm_up)
            g_array_append_val(passages, passage);
    }
    g_array_sort(passages, passage_compare);
    return passages;
}

/* The measure over passages from @first to before @end. */
static SweepObservation
sweep_measure_observe(const SweepMeasure *measure, const GArray *passages, gsize first, gsize end)
{
    SimSample sample;

    sim_sample_init(&sample);
    for (gsize i = first; i < end; i++)
        sim_sample_add(&sample, g_array_index(passages, SweepMeasurePassage, i).length);
    SweepObservation found = statistic_of(measure, &sample);
    sim_sample_clear(&sample);
    return found;
}

static void
measure_stage(const Sweep *self,
              const SweepMeasure *measure,
              const Stages *stages,
              SweepObservation *observations)
{
    g_autoptr(GArray) passages = passages_of(self, stages, measure->stage);
    gsize n = passages->len;

    observations[0] = sweep_measure_observe(measure, passages, 0, n);
    for (gsize i = 0; i < self->batches; i++)
        observations[1 + i] = sweep_measure_observe(measure, passages, n * i / self->batches,
                                                    n * (i + 1) / self->batches);
}

/* ---- The run as a whole ---- */

typedef struct {
    unsigned pods, ready, claims, bound;
    SimTime first_created, last_ready;
} Totals;

static Totals
totals_of(const Sweep *self, const Stages *stages)
{
    Totals totals = {.first_created = SIM_TIME_MAX};

    const GArray *pods = stages_pods(stages);
    for (unsigned i = 0; i < pods->len; i++) {
        const PodTimes *pod = &g_array_index(pods, PodTimes, i);
        if (pod->created == TIME_UNSET || pod->created < self->warm_up)
            continue;
        totals.pods++;
        totals.first_created = MIN(totals.first_created, pod->created);
        if (pod->ready == TIME_UNSET)
            continue;
        totals.ready++;
        totals.last_ready = MAX(totals.last_ready, pod->ready);
    }
    const GArray *claims = stages_claims(stages);
    for (unsigned i = 0; i < claims->len; i++) {
        const ClaimTimes *claim = &g_array_index(claims, ClaimTimes, i);
        if (claim->created == TIME_UNSET || claim->created < self->warm_up)
            continue;
        totals.claims++;
        totals.bound += claim->bound != TIME_UNSET;
    }
    return totals;
}

static SweepObservation
sweep_measure_number(double value)
{
    return (SweepObservation){value, 1, FALSE};
}

static SweepObservation
share(unsigned part, unsigned whole)
{
    return whole == 0 ? (SweepObservation){.is_missing = TRUE}
                      : sweep_measure_number((double)part / (double)whole);
}

/* Over all workloads. */
static SweepObservation
availability_value(SweepValueKind value, const Run *run)
{
    g_autoptr(Availability) availability = availability_new();

    availability_add(availability, run);
    if (availability->rows->len == 0)
        return (SweepObservation){.is_missing = TRUE};
    return sweep_measure_number(value == SWEEP_AVAILABILITY
                                    ? availability_total_share(availability)
                                    : availability_total_missing_s(availability));
}

static SweepObservation
observe_value(SweepValueKind value, const Run *run, const Totals *totals)
{
    uint64_t n_requests = 0;
    unsigned n_volumes = 0;

    switch (value) {
    case SWEEP_PODS:
        return sweep_measure_number(totals->pods);
    case SWEEP_PODS_READY:
        return sweep_measure_number(totals->ready);
    case SWEEP_NOT_READY_SHARE:
        return share(totals->pods - totals->ready, totals->pods);
    case SWEEP_CLAIMS_BOUND_SHARE:
        return share(totals->bound, totals->claims);
    case SWEEP_API_REQUESTS:
        api_load_peak(run_load(run), &n_requests);
        return sweep_measure_number((double)n_requests);
    case SWEEP_API_PEAK:
        return sweep_measure_number(api_load_peak(run_load(run), &n_requests));
    case SWEEP_ALL_READY:
        if (totals->pods == 0 || totals->ready < totals->pods)
            return (SweepObservation){.is_missing = TRUE};
        return sweep_measure_number(report_seconds(totals->last_ready - totals->first_created));
    case SWEEP_DRIVER_VOLUMES:
        for (unsigned i = 0; i < run_scenario(run)->n_drivers; i++)
            n_volumes += run_driver_volumes(run, i);
        return sweep_measure_number(n_volumes);
    case SWEEP_AVAILABILITY:
    case SWEEP_NOT_READY_TIME:
        return availability_value(value, run);
    case SWEEP_N_VALUES:
        break;
    }
    g_assert_not_reached();
}

void
sweep_measure(const Sweep *self,
              const Run *run,
              const Stages *stages,
              SweepObservation *observations)
{
    Totals totals = totals_of(self, stages);

    for (unsigned i = 0; i < self->n_measures; i++) {
        const SweepMeasure *measure = &self->measures[i];
        SweepObservation *place = &observations[sweep_observation_index(self, i, 0)];
        if (measure->is_stage) {
            measure_stage(self, measure, stages, place);
            continue;
        }
        place[0] = observe_value(measure->value, run, &totals);
        for (unsigned k = 0; k < self->batches; k++)
            place[1 + k] = (SweepObservation){.is_missing = TRUE};
    }
}
