/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The arguments of a distribution: names, types, and which go together. A distribution has several
 * forms (mean and cv, p50 and p99); the arguments have to be exactly those of one of them, and
 * shift, min and max may be added to all. An argument without a name is the one at its place in the
 * first form. A name means the same in every kind. */
#include "distribution-private.h"
#include "sim/strings.h"

#include <string.h>

gboolean
dist_invalid(GError **error, const char *format, ...)
{
    FORMATTED(message, format);
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INVALID, message);
    return FALSE;
}

gboolean
dist_check_positive(double value, const char *name, GError **error)
{
    return value > 0 || dist_invalid(error, "\"%s\" must be greater than 0", name);
}

typedef enum {
    ARG_TIME, /* a duration, not negative */
    ARG_ANY_TIME,
    ARG_NUMBER, /* not negative */
    ARG_ANY_NUMBER,
    ARG_LIST,
} ArgType;

typedef struct {
    const char *name;
    ArgType type;
} ArgInfo;

/* The names of all kinds; a name means the same in every kind. */
static const ArgInfo arg_infos[] = {
    {"value",     ARG_TIME      },
    {"mean",      ARG_TIME      },
    {"stddev",    ARG_TIME      },
    {"cv",        ARG_NUMBER    },
    {"p50",       ARG_TIME      },
    {"p99",       ARG_TIME      },
    {"median",    ARG_TIME      },
    {"mu",        ARG_ANY_NUMBER},
    {"sigma",     ARG_NUMBER    },
    {"shape",     ARG_NUMBER    },
    {"scale",     ARG_TIME      },
    {"quantiles", ARG_LIST      },
    {"parts",     ARG_LIST      },
    {"shift",     ARG_ANY_TIME  },
    {"min",       ARG_ANY_TIME  },
    {"max",       ARG_TIME      },
};

/* Arguments of every kind, unless the kind has its own argument of that name. */
static const char *const common_args[] = {"shift", "min", "max"};

static ArgType
arg_type(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(arg_infos); i++)
        if (strcmp(arg_infos[i].name, name) == 0)
            return arg_infos[i].type;
    g_assert_not_reached();
}

/* An argument without a name is the one at its place in the kind's first form. */
static const char *
arg_name(const DistArgs *args, unsigned i)
{
    if (args->items[i].name != NULL)
        return args->items[i].name;
    return i < FORM_ARGS_MAX ? args->dist_class->forms[0].args[i] : NULL;
}

static const SimDistArg *
args_find(const DistArgs *args, const char *name)
{
    for (unsigned i = 0; i < args->n_items; i++)
        if (g_strcmp0(arg_name(args, i), name) == 0)
            return &args->items[i];
    return NULL;
}

static gboolean
form_has(const Form *form, const char *name)
{
    for (unsigned i = 0; i < FORM_ARGS_MAX; i++)
        if (g_strcmp0(form->args[i], name) == 0)
            return TRUE;
    return FALSE;
}

static gboolean
class_has_own(const SimDistClass *dist_class, const char *name)
{
    for (unsigned i = 0; i < FORMS_MAX; i++)
        if (form_has(&dist_class->forms[i], name))
            return TRUE;
    return FALSE;
}

static gboolean
is_common(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(common_args); i++)
        if (strcmp(common_args[i], name) == 0)
            return TRUE;
    return FALSE;
}

/* Reads a time (in ns) or a number. */
static gboolean
arg_read(const SimDistArg *arg, const char *name, double *value, GError **error)
{
    ArgType type = arg_type(name);
    gboolean wants_time = type == ARG_TIME || type == ARG_ANY_TIME;

    if (type == ARG_LIST)
        return arg->items != NULL || dist_invalid(error, "\"%s\" must be a list", name);
    if (arg->items != NULL)
        return dist_invalid(error, "\"%s\" must not be a list", name);
    if (wants_time && !arg->is_time && arg->number != 0) /* 0 needs no unit */
        return dist_invalid(error, "\"%s\" must be a duration, as in \"1.5s\"", name);
    if (!wants_time && arg->is_time)
        return dist_invalid(error, "\"%s\" must be a number without a unit", name);
    *value = arg->is_time ? (double)arg->time : arg->number;
    if (!(*value >= -G_MAXDOUBLE && *value <= G_MAXDOUBLE))
        return dist_invalid(error, "\"%s\" is not a finite number", name);
    if (*value < 0 && (type == ARG_TIME || type == ARG_NUMBER))
        return dist_invalid(error, "\"%s\" must not be negative", name);
    return TRUE;
}

static void
append_once(GPtrArray *names, const char *name)
{
    if (name != NULL && !g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL))
        g_ptr_array_add(names, (char *)name);
}

const char *
dist_class_args(const SimDistClass *dist_class)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (unsigned i = 0; i < FORMS_MAX; i++)
        for (unsigned j = 0; j < FORM_ARGS_MAX; j++)
            append_once(names, dist_class->forms[i].args[j]);
    for (unsigned i = 0; i < G_N_ELEMENTS(common_args); i++)
        append_once(names, common_args[i]);
    g_ptr_array_add(names, NULL);
    g_autofree char *text = g_strjoinv(", ", (char **)names->pdata);
    return g_intern_string(text);
}

static gboolean
args_check_names(const DistArgs *args, GError **error)
{
    for (unsigned i = 0; i < args->n_items; i++) {
        const char *name = arg_name(args, i);
        if (name == NULL)
            return dist_invalid(error, "too many arguments without a name");
        if (!class_has_own(args->dist_class, name) && !is_common(name))
            return dist_invalid(error, "unknown argument \"%s\" (known: %s)", name,
                                dist_class_args(args->dist_class));
        if (args_find(args, name) != &args->items[i])
            return dist_invalid(error, "\"%s\" is given twice", name);
    }
    return TRUE;
}

/* How many of the form's arguments are given; @missing: (out): the last one that is not. */
static unsigned
form_count(const Form *form, const DistArgs *args, const char **missing)
{
    unsigned n_given = 0;

    for (unsigned i = 0; i < FORM_ARGS_MAX && form->args[i] != NULL; i++) {
        if (args_find(args, form->args[i]) != NULL)
            n_given++;
        else
            *missing = form->args[i];
    }
    return n_given;
}

static char *
forms_describe(const SimDistClass *dist_class)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < FORMS_MAX && dist_class->forms[i].init != NULL; i++) {
        const Form *form = &dist_class->forms[i];
        g_string_append_printf(text, "%s\"%s\"", i > 0 ? ", or " : "", form->args[0]);
        if (form->args[1] != NULL)
            g_string_append_printf(text, " and \"%s\"", form->args[1]);
    }
    return g_string_free(text, FALSE);
}

static void
form_error(const DistArgs *args, const char *given, unsigned n_given, GError **error)
{
    g_autofree char *forms = forms_describe(args->dist_class);
    g_autoptr(GString) missing = g_string_new(NULL);

    if (n_given != 1) {
        dist_invalid(error, "needs %s%s", n_given == 0 ? "" : "either ", forms);
        return;
    }
    for (unsigned i = 0; i < FORMS_MAX; i++) {
        const Form *form = &args->dist_class->forms[i];
        const char *other = NULL;
        if (form_has(form, given) && form_count(form, args, &other) == 1)
            g_string_append_printf(missing, "%s\"%s\"", missing->len > 0 ? " or " : "", other);
    }
    dist_invalid(error, "needs %s beside \"%s\"", missing->str, given);
}

/* Returns: the form with exactly the given arguments */
static const Form *
args_choose_form(const DistArgs *args, GError **error)
{
    const char *given = NULL;
    unsigned n_given = 0;

    for (unsigned i = 0; i < args->n_items; i++)
        if (class_has_own(args->dist_class, arg_name(args, i))) {
            given = arg_name(args, i);
            n_given++;
        }

    for (unsigned i = 0; i < FORMS_MAX && args->dist_class->forms[i].init != NULL; i++) {
        const Form *form = &args->dist_class->forms[i];
        const char *missing = NULL;
        if (form_count(form, args, &missing) == n_given && missing == NULL)
            return form;
    }
    form_error(args, given, n_given, error);
    return NULL;
}

static gboolean
args_read_common(const DistArgs *args, const char *name, double *value, GError **error)
{
    const SimDistArg *arg = args_find(args, name);

    if (arg == NULL)
        return TRUE;
    if (class_has_own(args->dist_class, name)) { /* the kind's own bound may be negative */
        if (arg->is_time && arg->time < 0)
            *value = (double)arg->time;
        return TRUE;
    }
    return arg_read(arg, name, value, error);
}

gboolean
dist_init(SimDist *self, const DistArgs *args, GError **error)
{
    double values[FORM_ARGS_MAX] = {0};
    const Form *form;

    if (!args_check_names(args, error) || (form = args_choose_form(args, error)) == NULL)
        return FALSE;
    for (unsigned i = 0; i < FORM_ARGS_MAX && form->args[i] != NULL; i++)
        if (!arg_read(args_find(args, form->args[i]), form->args[i], &values[i], error))
            return FALSE;
    if (!args_read_common(args, "shift", &self->shift, error) ||
        !args_read_common(args, "min", &self->min, error) ||
        !args_read_common(args, "max", &self->max, error))
        return FALSE;
    if (self->min > self->max)
        return dist_invalid(error, "\"min\" is greater than \"max\"");
    return form->init(self, values, args_find(args, form->args[0]), error);
}
