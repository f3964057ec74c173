/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Designs combine values of the parameters. A grid has every combination, and its last parameter
 * changes fastest. A list takes the first value of each parameter, then the second. Random points
 * are drawn. A Latin hypercube of n points divides every parameter's range into n equal parts, and
 * hits each part once (McKay, Beckman and Conover 1979). */
#include <math.h>

#include "sim/portable-math.h"
#include "sim/random.h"
#include "sweep-private.h"

static unsigned
n_values(const ParameterFields *parameter)
{
    return parameter->values != NULL ? (unsigned)json_array_size(parameter->values)
                                     : parameter->steps;
}

unsigned
sweep_design_size(SweepDesign design,
                  const ParameterFields *parameters,
                  unsigned n_parameters,
                  unsigned n_samples)
{
    uint64_t size = 1;

    switch (design) {
    case DESIGN_GRID:
        for (unsigned i = 0; i < n_parameters && size <= SWEEP_POINTS_MAX; i++)
            size *= n_values(&parameters[i]);
        return size <= SWEEP_POINTS_MAX ? (unsigned)size : 0;
    case DESIGN_LIST:
        return n_parameters == 0 ? 1 : n_values(&parameters[0]);
    case DESIGN_RANDOM:
    case DESIGN_LATIN_HYPERCUBE:
        return n_samples;
    }
    g_assert_not_reached();
}

/* ---- Values of a range ---- */

static double
significant(double value, int digits)
{
    char buffer[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *format = g_strdup_printf("%%.%dg", digits);

    return g_ascii_strtod(g_ascii_formatd(buffer, sizeof buffer, format, value), NULL);
}

/* @u: from 0, the lower end, to 1. Whole ranges give whole numbers; others six digits, short enough
 * to type again. */
static const json_t *
range_value(SweepFile *self, const ParameterFields *parameter, double u)
{
    double low = parameter->low, high = parameter->high;
    double value = parameter->is_log ? pm_exp(pm_log(low) + u * (pm_log(high) - pm_log(low)))
                                     : low + u * (high - low);
    char buffer[SIM_TIME_BUFFER];
    json_t *made;

    value = CLAMP(significant(value, 6), low, high);
    if (parameter->is_time)
        made = json_string(sim_time_format((SimTime)value, buffer));
    else if (parameter->is_whole)
        made = json_integer((json_int_t)floor(value + 0.5));
    else
        made = json_real(value);
    g_ptr_array_add(self->made, made);
    return made;
}

/* The value at @u of a range, or of a list of values, which share the range of @u evenly. */
static const json_t *
value_at(SweepFile *self, const ParameterFields *parameter, double u, int *index)
{
    if (parameter->values == NULL)
        return range_value(self, parameter, u);
    unsigned n = n_values(parameter);
    *index = (int)MIN((unsigned)(u * n), n - 1);
    return json_array_get(parameter->values, (gsize)*index);
}

static const json_t *
value_number(SweepFile *self, const ParameterFields *parameter, unsigned number, int *index)
{
    unsigned n = n_values(parameter);

    if (parameter->values == NULL)
        return range_value(self, parameter, n == 1 ? 0 : (double)number / (n - 1));
    *index = (int)number;
    return json_array_get(parameter->values, number);
}

/* ---- Drawn points ---- */

static SimStream
stream_of(const SweepFile *self, const char *purpose)
{
    return sim_stream_from(self->sweep.seed, 0, purpose);
}

static double
random_place(const SweepFile *self, const ParameterFields *parameter, unsigned point)
{
    return sim_random_uniform(stream_of(self, "sweep/place"), sim_hash_string(parameter->name),
                              point);
}

/* The part of the range for a point: a random permutation of all parts for each parameter (Fisher
 * and Yates). */
static unsigned
stratum(const SweepFile *self, const ParameterFields *parameter, unsigned point, unsigned n)
{
    SimStream stream = stream_of(self, "sweep/stratum");
    uint64_t entity = sim_hash_string(parameter->name);
    g_autofree unsigned *order = g_new(unsigned, n);

    for (unsigned i = 0; i < n; i++)
        order[i] = i;
    for (unsigned i = n - 1; i > 0; i--) {
        unsigned other = (unsigned)sim_random_below(stream, entity, i, i + 1);
        unsigned swapped = order[i];
        order[i] = order[other];
        order[other] = swapped;
    }
    return order[point];
}

const json_t *
sweep_design_value(SweepFile *self,
                   SweepDesign design,
                   const ParameterFields *parameters,
                   unsigned n_parameters,
                   unsigned i,
                   unsigned point,
                   unsigned n_points,
                   int *index)
{
    const ParameterFields *parameter = &parameters[i];
    uint64_t number = point;
    double u;

    *index = -1;
    switch (design) {
    case DESIGN_GRID:
        for (unsigned k = n_parameters - 1; k > i; k--)
            number /= n_values(&parameters[k]);
        return value_number(self, parameter, (unsigned)(number % n_values(parameter)), index);
    case DESIGN_LIST:
        return value_number(self, parameter, point, index);
    case DESIGN_RANDOM:
        return value_at(self, parameter, random_place(self, parameter, point), index);
    case DESIGN_LATIN_HYPERCUBE:
        u = stratum(self, parameter, point, n_points) + random_place(self, parameter, point);
        return value_at(self, parameter, u / n_points, index);
    }
    g_assert_not_reached();
}
