/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of distributions: one class each, with its parameters, quantile function and mean, and
 * the table of classes. A draw is the quantile of one uniform number, so a draw never takes a
 * varying count of random numbers. Nothing goes through libm (portable-math.h): the same bytes on
 * every machine.
 *
 * Expensive quantiles may be tabulated: straight lines between 512 cells, except where a line is
 * off by more than a thousandth. */
#include "distribution-private.h"

#include "portable-math.h"
#include "random-internal.h"
#include "sim/sim-test.h"

#include <string.h>

/* ---- The kinds ---- */

static gboolean
init_mean(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    (void)list;
    (void)error;
    self->mean = values[0];
    return TRUE;
}

static double
get_mean(const SimDist *self)
{
    return self->mean;
}

static double
constant_quantile(const SimDist *self, double u)
{
    (void)u;
    return self->mean;
}

static gboolean
uniform_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    (void)list;
    if (values[0] > values[1])
        return dist_invalid(error, "\"min\" is greater than \"max\"");
    self->uniform.low = values[0];
    self->uniform.width = values[1] - values[0];
    return TRUE;
}

static double
uniform_quantile(const SimDist *self, double u)
{
    return self->uniform.low + u * self->uniform.width;
}

static double
uniform_mean(const SimDist *self)
{
    return self->uniform.low + self->uniform.width / 2;
}

/* 1 - u is exact: see sim_uniform_from_bits(). */
static double
exponential_quantile(const SimDist *self, double u)
{
    return pm_exponential_quantile(self->mean, u);
}

static double
normal_density(double x)
{
    return 0.39894228040143267794 * pm_exp(-x * x / 2);
}

/* The bounds cut the bell; values beyond them are not moved to the bound, so nothing piles up at
 * 0. */
static gboolean
normal_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    (void)list;
    if (!dist_check_positive(values[1], "stddev", error))
        return FALSE;
    self->normal.mean = values[0];
    self->normal.stddev = values[1];

    double low = (self->min - self->shift - values[0]) / values[1];
    double high = (self->max - self->shift - values[0]) / values[1];
    double density = normal_density(low) - normal_density(high);
    self->normal.side = low > 0 ? -1 : 1;
    self->normal.share_low = pm_normal_cdf(low > 0 ? -high : low);
    self->normal.share_width = pm_normal_cdf(low > 0 ? -low : high) - self->normal.share_low;
    if (!(self->normal.share_width > 1e-300))
        return dist_invalid(error, "\"min\" and \"max\" leave nothing of it");
    self->normal.cut_mean = values[0] + values[1] * density / self->normal.share_width;
    return TRUE;
}

static gboolean
normal_init_cv(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    return dist_check_positive(values[0], "mean", error) &&
           dist_check_positive(values[1], "cv", error) &&
           normal_init(self, (double[]){values[0], values[0] * values[1]}, list, error);
}

static double
normal_quantile(const SimDist *self, double u)
{
    double share = self->normal.side > 0 ? u : 1 - u;
    double p = self->normal.share_low + share * self->normal.share_width;

    p = MIN(p, 1 - 0x1p-53); /* 1 would give infinity */
    return self->normal.mean + self->normal.side * self->normal.stddev * pm_normal_quantile(p);
}

static double
normal_mean(const SimDist *self)
{
    return self->normal.cut_mean;
}

static gboolean
lognormal_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    (void)list;
    if (!dist_check_positive(values[0], "median", error))
        return FALSE;
    self->lognormal.median = values[0];
    self->lognormal.sigma = values[1];
    return TRUE;
}

static gboolean
lognormal_init_p99(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    if (!dist_check_positive(values[0], "p50", error))
        return FALSE;
    if (values[1] < values[0])
        return dist_invalid(error, "\"p99\" is less than \"p50\"");
    double sigma = pm_log(values[1] / values[0]) / pm_normal_quantile(0.99);
    return lognormal_init(self, (double[]){values[0], sigma}, list, error);
}

static gboolean
lognormal_init_cv(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    if (!dist_check_positive(values[0], "mean", error))
        return FALSE;
    double variance = pm_log(1 + values[1] * values[1]); /* of the logarithm */
    double median = values[0] * pm_exp(-variance / 2);
    return lognormal_init(self, (double[]){median, __builtin_sqrt(variance)}, list, error);
}

static gboolean
lognormal_init_mu(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    double median = pm_exp(values[0]) * SIM_SECOND;
    if (!(median > 0 && median < 0x1p63))
        return dist_invalid(error, "\"mu\" is out of range: it is the mean of ln(seconds)");
    return lognormal_init(self, (double[]){median, values[1]}, list, error);
}

static double
lognormal_quantile(const SimDist *self, double u)
{
    return self->lognormal.median * pm_exp(self->lognormal.sigma * pm_normal_quantile(u));
}

static double
lognormal_mean(const SimDist *self)
{
    return self->lognormal.median * pm_exp(self->lognormal.sigma * self->lognormal.sigma / 2);
}

static gboolean
power_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    (void)list;
    if (!dist_check_positive(values[0], "shape", error))
        return FALSE;
    self->power.shape = values[0];
    self->power.scale = values[1];
    return TRUE;
}

/* 1e6: a bell of a thousandth of its mean. A sharper bell would only take longer to draw from. */
static gboolean
gamma_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    if (values[0] > 1e6)
        return dist_invalid(error, "\"shape\" must be at most 1e6, \"cv\" at least 0.001");
    return power_init(self, values, list, error);
}

static gboolean
gamma_init_mean(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    return dist_check_positive(values[0], "shape", error) &&
           gamma_init(self, (double[]){values[0], values[1] / values[0]}, list, error);
}

static gboolean
gamma_init_cv(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    double variance = values[1] * values[1]; /* in units of the mean */
    return dist_check_positive(values[1], "cv", error) &&
           gamma_init(self, (double[]){1 / variance, values[0] * variance}, list, error);
}

static double
gamma_quantile(const SimDist *self, double u)
{
    return self->power.scale * pm_gamma_quantile(self->power.shape, u);
}

static double
gamma_mean(const SimDist *self)
{
    return self->power.scale * self->power.shape;
}

static double
weibull_quantile(const SimDist *self, double u)
{
    return self->power.scale * pm_pow(-pm_log(1 - u), 1 / self->power.shape);
}

static double
weibull_mean(const SimDist *self)
{
    return self->power.scale * pm_exp(pm_log_gamma(1 + 1 / self->power.shape));
}

static gboolean
pareto_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    return dist_check_positive(values[0], "min", error) &&
           power_init(self, (double[]){values[1], values[0]}, list, error);
}

static double
pareto_quantile(const SimDist *self, double u)
{
    return self->power.scale * pm_pow(1 - u, -1 / self->power.shape);
}

static double
pareto_mean(const SimDist *self)
{
    double shape = self->power.shape;
    return shape > 1 ? self->power.scale * (shape / (shape - 1)) : __builtin_inf();
}

/* Takes the next pair off the list: one item that is a list of two, one item with both numbers, or
 * two items. */
static gboolean
quantile_read(const SimDistArg *list, unsigned *next, Quantile *quantile, GError **error)
{
    const SimDistArg *item = &list->items[(*next)++];
    const SimDistArg *probability = item, *time = item;

    if (item->items != NULL && item->n_items == 2) {
        probability = &item->items[0];
        time = &item->items[1];
    } else if (item->items == NULL && !item->is_time && *next < list->n_items) {
        time = &list->items[(*next)++];
    }
    if ((probability != time && probability->is_time) || time->items != NULL ||
        probability->items != NULL)
        return dist_invalid(error, "\"quantiles\" must be pairs of a probability and a duration");
    quantile->probability = probability->number;
    if (!(quantile->probability >= 0 && quantile->probability <= 1))
        return dist_invalid(error, "\"quantiles\": a probability must lie between 0 and 1");
    if (!time->is_time && (time == probability || time->number != 0))
        return dist_invalid(
            error, "\"quantiles\": each probability needs a duration, as in [0.5, \"1.5s\"]");
    quantile->ns = time->is_time ? (double)time->time : 0;
    return quantile->ns >= 0 ||
           dist_invalid(error, "\"quantiles\": a duration must not be negative");
}

static gboolean
empirical_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    (void)values;
    if (list->n_items == 0)
        return dist_invalid(error, "\"quantiles\" is empty");
    self->empirical.quantiles = g_new(Quantile, list->n_items);

    for (unsigned next = 0; next < list->n_items; self->empirical.n++) {
        Quantile *quantile = &self->empirical.quantiles[self->empirical.n];
        if (!quantile_read(list, &next, quantile, error))
            return FALSE;
        if (self->empirical.n > 0 &&
            (quantile->probability <= quantile[-1].probability || quantile->ns < quantile[-1].ns))
            return dist_invalid(error,
                                "\"quantiles\": probabilities must grow, and durations not fall");
    }
    return TRUE;
}

static void
empirical_clear(SimDist *self)
{
    g_free(self->empirical.quantiles);
}

/* Straight lines between the known quantiles; level beyond the first and the last. */
static double
empirical_quantile(const SimDist *self, double u)
{
    const Quantile *quantiles = self->empirical.quantiles;
    unsigned low = 0, high = self->empirical.n - 1;

    if (u <= quantiles[low].probability)
        return quantiles[low].ns;
    if (u >= quantiles[high].probability)
        return quantiles[high].ns;
    while (high - low > 1) {
        unsigned middle = low + (high - low) / 2;
        if (quantiles[middle].probability <= u)
            low = middle;
        else
            high = middle;
    }
    double part = (u - quantiles[low].probability) /
                  (quantiles[high].probability - quantiles[low].probability);
    return quantiles[low].ns + part * (quantiles[high].ns - quantiles[low].ns);
}

static double
empirical_mean(const SimDist *self)
{
    const Quantile *quantiles = self->empirical.quantiles;
    const Quantile *last = &quantiles[self->empirical.n - 1];
    double sum = quantiles->probability * quantiles->ns + (1 - last->probability) * last->ns;

    for (const Quantile *q = quantiles; q < last; q++)
        sum += (q[1].probability - q->probability) * (q->ns + q[1].ns) / 2;
    return sum;
}

static gboolean
mixture_init(SimDist *self, const double *values, const SimDistArg *list, GError **error)
{
    double total = 0, sum = 0;

    (void)values;
    if (list->n_items == 0)
        return dist_invalid(error, "\"parts\" is empty");
    for (unsigned i = 0; i < list->n_items; i++) {
        if (list->items[i].dist == NULL)
            return dist_invalid(error, "\"parts\": part %u is not a distribution", i + 1);
        if (!(list->items[i].number > 0 && list->items[i].number <= G_MAXDOUBLE))
            return dist_invalid(error, "\"parts\": the weight of part %u must be greater than 0",
                                i + 1);
        total += list->items[i].number;
    }

    self->mixture.n = list->n_items;
    self->mixture.parts = g_new(Part, list->n_items);
    for (unsigned i = 0; i < list->n_items; i++) {
        sum += list->items[i].number;
        self->mixture.parts[i] = (Part){
            .share_end = sum / total,
            .share = list->items[i].number / total,
            .dist = sim_dist_ref((SimDist *)list->items[i].dist),
        };
    }
    return TRUE;
}

static void
mixture_clear(SimDist *self)
{
    for (unsigned i = 0; i < self->mixture.n; i++)
        sim_dist_unref(self->mixture.parts[i].dist);
    g_free(self->mixture.parts);
}

static double dist_value(const SimDist *self, double u);

/* One number is enough: it chooses the part, and its place within the part's share is uniform,
 * too. */
static double
mixture_quantile(const SimDist *self, double u)
{
    const Part *part = self->mixture.parts;
    const Part *last = &self->mixture.parts[self->mixture.n - 1];

    while (part < last && u >= part->share_end)
        part++;
    double rest = 1 - (part->share_end - u) / part->share;
    return dist_value(part->dist, CLAMP(rest, 0x1p-53, 1 - 0x1p-53));
}

static double
mixture_mean(const SimDist *self)
{
    double sum = 0;

    for (unsigned i = 0; i < self->mixture.n; i++)
        sum += self->mixture.parts[i].share * sim_dist_mean(self->mixture.parts[i].dist);
    return sum;
}

/* clang-format off */
static const SimDistClass classes[] = {
    {"constant", {{{"value"}, init_mean}}, constant_quantile, get_mean, NULL},
    {"uniform", {{{"min", "max"}, uniform_init}}, uniform_quantile, uniform_mean, NULL},
    {"exponential", {{{"mean"}, init_mean}}, exponential_quantile, get_mean, NULL},
    {"normal",
     {{{"mean", "stddev"}, normal_init}, {{"mean", "cv"}, normal_init_cv}},
     normal_quantile, normal_mean, NULL},
    {"lognormal",
     {{{"p50", "p99"}, lognormal_init_p99}, {{"mean", "cv"}, lognormal_init_cv},
      {{"mu", "sigma"}, lognormal_init_mu}, {{"median", "sigma"}, lognormal_init}},
     lognormal_quantile, lognormal_mean, NULL},
    {"gamma",
     {{{"shape", "scale"}, gamma_init}, {{"shape", "mean"}, gamma_init_mean}, {{"mean", "cv"}, gamma_init_cv}},
     gamma_quantile, gamma_mean, NULL},
    {"weibull", {{{"shape", "scale"}, power_init}}, weibull_quantile, weibull_mean, NULL},
    {"pareto", {{{"min", "shape"}, pareto_init}}, pareto_quantile, pareto_mean, NULL},
    {"empirical", {{{"quantiles"}, empirical_init}}, empirical_quantile, empirical_mean, empirical_clear},
    {"mixture", {{{"parts"}, mixture_init}}, mixture_quantile, mixture_mean, mixture_clear},
};
/* clang-format on */

/* ---- All kinds ---- */

static const SimDistClass *
class_find(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(classes); i++)
        if (strcmp(classes[i].name, name) == 0)
            return &classes[i];
    return NULL;
}

const char *
sim_dist_kinds(void)
{
    g_autoptr(GString) names = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(classes); i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", classes[i].name);
    return g_intern_string(names->str);
}

const char *
sim_dist_kind_args(const char *kind)
{
    const SimDistClass *dist_class = class_find(kind);

    return dist_class == NULL ? NULL : dist_class_args(dist_class);
}

SimDist *
sim_dist_new(const char *kind, const SimDistArg *args, unsigned n_args, GError **error)
{
    const SimDistClass *dist_class = class_find(kind);
    if (dist_class == NULL) {
        dist_invalid(error, "unknown distribution \"%s\" (known: %s)", kind, sim_dist_kinds());
        return NULL;
    }

    g_autoptr(SimDist) self = g_new0(SimDist, 1);
    g_atomic_ref_count_init(&self->ref_count);
    self->dist_class = dist_class;
    self->max = __builtin_inf();
    if (!dist_init(self, &(DistArgs){dist_class, args, n_args}, error)) {
        g_prefix_error(error, "%s: ", kind);
        return NULL;
    }
    return g_steal_pointer(&self);
}

/* For arguments from code: an error is a bug. */
static SimDist *
dist_new_or_abort(const char *kind, const SimDistArg *args, unsigned n_args)
{
    g_autoptr(GError) error = NULL;
    SimDist *self = sim_dist_new(kind, args, n_args, &error);

    if (self == NULL)
        g_error("%s", error->message);
    return self;
}

SimDist *
sim_dist_new_constant(SimTime value)
{
    const SimDistArg args[] = {
        {.name = "value", .is_time = TRUE, .time = value}
    };
    return dist_new_or_abort("constant", args, G_N_ELEMENTS(args));
}

SimDist *
sim_dist_new_uniform(SimTime low, SimTime high)
{
    const SimDistArg args[] = {
        {.name = "min", .is_time = TRUE, .time = low },
        {.name = "max", .is_time = TRUE, .time = high},
    };
    return dist_new_or_abort("uniform", args, G_N_ELEMENTS(args));
}

SimDist *
sim_dist_new_lognormal(SimTime median, double sigma, SimTime shift)
{
    const SimDistArg args[] = {
        {.name = "median", .is_time = TRUE, .time = median},
        {.name = "sigma",  .number = sigma},
        {.name = "shift", .is_time = TRUE,   .time = shift              },
    };
    return dist_new_or_abort("lognormal", args, G_N_ELEMENTS(args));
}

SimDist *
sim_dist_ref(SimDist *self)
{
    g_atomic_ref_count_inc(&self->ref_count);
    return self;
}

void
sim_dist_unref(SimDist *self)
{
    if (self == NULL || !g_atomic_ref_count_dec(&self->ref_count))
        return;
    if (self->dist_class->clear != NULL)
        self->dist_class->clear(self);
    g_free(self);
}

static double
dist_value(const SimDist *self, double u)
{
    double ns = self->dist_class->quantile(self, u) + self->shift;

    ns = ns > self->min ? ns : self->min;
    return ns < self->max ? ns : self->max;
}

/* ---- Tables ---- */

#define TABLE_CELLS 512
/* How far a straight line may be off: relative, or in ns. */
#define TABLE_ERROR 1e-3
#define TABLE_ERROR_NS 1e3

static double
table_quantile(const SimDist *self, double u)
{
    double place = u * TABLE_CELLS;
    unsigned cell = (unsigned)place;
    double low = self->table.values[cell], high = self->table.values[cell + 1];
    double ns = low + (place - cell) * (high - low);

    return ns == ns ? ns : dist_value(self->table.exact, u);
}

static double
table_mean(const SimDist *self)
{
    return sim_dist_mean(self->table.exact);
}

static void
table_clear(SimDist *self)
{
    sim_dist_unref(self->table.exact);
    g_free(self->table.values);
}

static const SimDistClass table_class = {
    "table", {{{0}, NULL}}, table_quantile, table_mean, table_clear};

/* Compares at the quarters of the cell: there the error of a line is near its largest, and a step
 * shows. */
static gboolean
cell_is_straight(const SimDist *exact, unsigned cell, double low, double high)
{
    for (unsigned quarter = 1; quarter < 4; quarter++) {
        double part = quarter / 4.0;
        double ns = dist_value(exact, (cell + part) / TABLE_CELLS);
        double error = low + part * (high - low) - ns;
        double most = MAX(TABLE_ERROR_NS, TABLE_ERROR * (ns < 0 ? -ns : ns));
        if (!(error <= most && error >= -most))
            return FALSE;
    }
    return TRUE;
}

SimDist *
sim_dist_tabulate(SimDist *self)
{
    SimDist *table = g_new0(SimDist, 1);
    double exact[TABLE_CELLS + 1];

    g_atomic_ref_count_init(&table->ref_count);
    table->dist_class = &table_class;
    table->min = -__builtin_inf();
    table->max = __builtin_inf();
    table->table.exact = sim_dist_ref(self);
    table->table.values = g_new(double, TABLE_CELLS + 1);
    for (unsigned i = 0; i <= TABLE_CELLS; i++) {
        double u = (double)i / TABLE_CELLS;
        exact[i] = table->table.values[i] = dist_value(self, CLAMP(u, 0x1p-53, 1 - 0x1p-53));
    }
    for (unsigned i = 0; i < TABLE_CELLS; i++)
        if (!cell_is_straight(self, i, exact[i], exact[i + 1]))
            table->table.values[i] = table->table.values[i + 1] = __builtin_nan("");
    return table;
}

SimTime
sim_dist_quantile(const SimDist *self, double u)
{
    double ns = dist_value(self, u); /* not below the lower bound, which is a SimTime */

    if (!(ns < 0x1p63))
        return SIM_TIME_MAX;
    return (SimTime)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

SimTime
sim_dist_draw(const SimDist *self, SimStream stream, uint64_t entity, uint64_t n)
{
    uint64_t bits = sim_random_nth(sim_random_base(stream, entity), n);
    return sim_dist_quantile(self, sim_uniform_from_bits(bits));
}

double
sim_dist_mean(const SimDist *self)
{
    return self->dist_class->mean(self) + self->shift;
}
