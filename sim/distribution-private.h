/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "distribution.h"

/* What the kinds (distribution.c) and the reading of their arguments (distribution-args.c) share */

/* Messages about a form name two arguments at most: a longer form needs other words there. */
#define FORM_ARGS_MAX 2
#define FORMS_MAX 4

typedef struct SimDistClass SimDistClass;

typedef struct {
    double probability, ns;
} Quantile;

typedef struct {
    double share_end; /* sum of the shares up to this part */
    double share;
    SimDist *dist;
} Part;

struct SimDist {
    const SimDistClass *dist_class;
    gatomicrefcount ref_count;
    double shift, min, max; /* ns */
    /* The kind's own numbers; times in ns. */
    union {
        struct {
            double low, width;
        } uniform;
        struct {
            double mean, stddev;
            double share_low, share_width; /* the part of the bell between the bounds, counted from
                                              the nearer tail */
            double side;                   /* 1: counted from the lower tail; -1: from the upper */
            double cut_mean;
        } normal;
        struct {
            double median, sigma;
        } lognormal;
        struct {
            double shape, scale;
        } power; /* gamma, Weibull, Pareto */
        struct {
            Quantile *quantiles;
            unsigned n;
        } empirical;
        struct {
            Part *parts;
            unsigned n;
        } mixture;
        struct {
            SimDist *exact;
            double *values; /* its quantiles at multiples of 1 / TABLE_CELLS; NaN: use @exact */
        } table;
        double mean; /* constant, exponential */
    };
};

/* One way to write a kind: the arguments that go together, each with a row in arg_infos of
 * distribution-args.c, and how to read them. Bounds and shift are known already. */
typedef struct {
    const char *args[FORM_ARGS_MAX];
    gboolean (*init)(SimDist *self, const double *values, const SimDistArg *list, GError **error);
} Form;

struct SimDistClass {
    const char *name;
    Form forms[FORMS_MAX];
    double (*quantile)(const SimDist *self, double u); /* ns, without shift and bounds */
    double (*mean)(const SimDist *self);
    void (*clear)(SimDist *self);
};

typedef struct {
    const SimDistClass *dist_class;
    const SimDistArg *items;
    unsigned n_items;
} DistArgs;

/* Sets the bounds, the shift and the kind's own numbers of @self from @args. Returns: %FALSE with
 * %SIM_ERROR_INVALID in @error */
gboolean dist_init(SimDist *self, const DistArgs *args, GError **error);
/* Returns: the names of all arguments of a kind, for messages; static */
const char *dist_class_args(const SimDistClass *dist_class);
/* Sets @error. Returns: %FALSE */
gboolean dist_invalid(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
gboolean dist_check_positive(double value, const char *name, GError **error);
