/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "curves.h"
#include "sim/strings.h"

#include <string.h>

#include "sim/strings.h"

typedef struct {
    GArray *instants; /* of double */
    gboolean is_sorted;
} Curve;

struct Curves {
    GHashTable *by_name; /* char * -> Curve * */
};

static void
curve_free(void *data)
{
    Curve *curve = data;

    g_array_unref(curve->instants);
    g_free(curve);
}

Curves *
curves_new(void)
{
    Curves *self = g_new0(Curves, 1);

    self->by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, curve_free);
    return self;
}

void
curves_free(Curves *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->by_name);
    g_free(self);
}

void
curves_add(Curves *self, const char *name, double at)
{
    Curve *curve = g_hash_table_lookup(self->by_name, name);

    if (curve == NULL) {
        curve = g_new0(Curve, 1);
        curve->instants = g_array_new(FALSE, FALSE, sizeof(double));
        g_hash_table_insert(self->by_name, g_strdup(name), curve);
    }
    g_array_append_val(curve->instants, at);
    curve->is_sorted = FALSE;
}

GPtrArray *
curves_names(const Curves *self)
{
    GPtrArray *names = g_ptr_array_new();
    GHashTableIter iter;
    void *name;

    g_hash_table_iter_init(&iter, self->by_name);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_ptr_array_add(names, name);
    g_ptr_array_sort(names, strings_compare);
    return names;
}

static int
by_time(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return first < second ? -1 : first > second;
}

const double *
curves_find(const Curves *self, const char *name, unsigned *n)
{
    Curve *curve = g_hash_table_lookup(self->by_name, name);

    *n = curve == NULL ? 0 : curve->instants->len;
    if (curve == NULL)
        return NULL;
    if (!curve->is_sorted)
        g_array_sort(curve->instants, by_time);
    curve->is_sorted = TRUE;
    return (const double *)curve->instants->data;
}
