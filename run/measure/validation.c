/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares a real side with the model: durations of each kind of call and of each stage, by medians
 * and the Kolmogorov-Smirnov distance. A row is good within the tolerances, near if two
 * calibrations of the machine are no nearer to each other, else apart. A latency without spread has
 * no distribution function: then the share of real samples that are not as long counts. */
#include "validation.h"

#include "fit.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define QUANTILES_MAX 200 /* more points would cover each other */
#define N_ROWS (CSI_N_LATENCIES + N_STAGES)

struct Validation {
    GArray *seconds[N_SIDES][N_ROWS]; /* of double */
};

Validation *
validation_new(void)
{
    Validation *self = g_new0(Validation, 1);

    for (unsigned side = 0; side < N_SIDES; side++)
        for (unsigned i = 0; i < N_ROWS; i++)
            self->seconds[side][i] = g_array_new(FALSE, FALSE, sizeof(double));
    return self;
}

void
validation_free(Validation *self)
{
    for (unsigned side = 0; self != NULL && side < N_SIDES; side++)
        for (unsigned i = 0; i < N_ROWS; i++)
            g_array_unref(self->seconds[side][i]);
    g_free(self);
}

static void
measure_validation_add(Validation *self, ValidationSide side, unsigned row, SimTime time)
{
    double seconds = (double)time / (double)SIM_SECOND;

    g_array_append_val(self->seconds[side][row], seconds);
}

void
validation_add(Validation *self, ValidationSide side, const CallLog *log, Stages *stages)
{
    for (unsigned i = 0; i < call_log_n(log); i++) {
        const CallRow *row = call_log_at(log, i);
        if (row->ended_at >= 0 && row->code == CSI_OK)
            measure_validation_add(self, side, (unsigned)row->kind, row->work_ns);
    }
    for (unsigned stage = 0; stages != NULL && stage < N_STAGES; stage++) {
        const GArray *values = stages->samples[stage].values;
        for (unsigned i = 0; i < values->len; i++)
            measure_validation_add(self, side, CSI_N_LATENCIES + stage,
                                   g_array_index(values, SimTime, i));
    }
}

static const char *
row_name(unsigned row)
{
    return row < CSI_N_LATENCIES ? csi_latency_name((CsiLatency)row)
                                 : stage_name((Stage)(row - CSI_N_LATENCIES));
}

/* Whether both sides have samples above 0: the model takes no time for calls that only return known
 * values. */
static gboolean
is_comparable(Validation *self, unsigned row)
{
    GArray *real = self->seconds[SIDE_REAL][row], *model = self->seconds[SIDE_MODEL][row];

    g_array_sort(real, fit_compare);
    g_array_sort(model, fit_compare);
    return real->len > 0 && model->len > 0 && g_array_index(model, double, model->len - 1) > 0;
}

/* Good: within the tolerances. Near: two calibrations of the machine are no nearer to each other */
static void
validation_judge(ValidationRow *row, unsigned number, const ValidationTolerance *tolerance)
{
    double ratio = row->p50[SIDE_REAL] / row->p50[SIDE_MODEL];

    row->is_judged = row->n[SIDE_REAL] >= tolerance->samples_min;
    row->is_good = fabs(ratio - 1) <= tolerance->median && row->ks <= tolerance->ks;
    if (row->is_stage || tolerance->calibrations[0] == NULL ||
        !calibration_noise(tolerance->calibrations[0], tolerance->calibrations[1],
                           (CsiLatency)number, row->n[SIDE_REAL], &row->noise))
        return;
    row->is_near = MAX(ratio, 1 / ratio) <= row->noise.ratio && row->ks <= row->noise.ks;
}

/* A latency without spread has no distribution function: instead, the part of the real samples that
 * are not as long as it. */
static double
part_apart(const double *x, unsigned n, double constant, double tolerance)
{
    unsigned n_apart = 0;

    for (unsigned i = 0; i < n; i++)
        n_apart += fabs(x[i] / constant - 1) > tolerance;
    return (double)n_apart / n;
}

GArray *
validation_rows(Validation *self, const ValidationTolerance *tolerance)
{
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(ValidationRow));

    for (unsigned i = 0; i < N_ROWS; i++) {
        if (!is_comparable(self, i))
            continue;
        ValidationRow row = {.name = row_name(i), .is_stage = i >= CSI_N_LATENCIES};
        const double *x[N_SIDES];
        for (unsigned side = 0; side < N_SIDES; side++) {
            row.n[side] = self->seconds[side][i]->len;
            x[side] = (const double *)self->seconds[side][i]->data;
            row.p50[side] = fit_quantile(x[side], row.n[side], 0.5);
            row.p90[side] = fit_quantile(x[side], row.n[side], 0.9);
        }
        row.ks = x[1][0] < x[1][row.n[1] - 1]
                     ? fit_ks_two(x[0], row.n[0], x[1], row.n[1])
                     : part_apart(x[0], row.n[0], x[1][0], tolerance->median);
        row.ks_p = fit_ks_probability(row.ks, (double)row.n[0] * row.n[1] / (row.n[0] + row.n[1]));
        validation_judge(&row, i, tolerance);
        g_array_append_val(rows, row);
    }
    return rows;
}

char *
validation_quantiles(Validation *self)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < N_ROWS; i++) {
        if (!is_comparable(self, i))
            continue;
        const GArray *real = self->seconds[SIDE_REAL][i], *model = self->seconds[SIDE_MODEL][i];
        unsigned n = MIN(real->len, QUANTILES_MAX);
        g_string_append_printf(text, "%s\"%s\"\n", text->len > 0 ? "\n\n" : "", row_name(i));
        for (unsigned k = 0; k < n; k++) {
            double q = (k + 0.5) / n;
            g_string_append_printf(text, "%.4f %.9f %.9f\n", q,
                                   fit_quantile((const double *)real->data, real->len, q),
                                   fit_quantile((const double *)model->data, model->len, q));
        }
    }
    return g_string_free(text, FALSE);
}
