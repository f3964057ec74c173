/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "orders.h"

struct Orders {
    GHashTable *by_object; /* char * -> GArray * of OrderStep */
};

static void
steps_free(void *data)
{
    g_array_unref(data);
}

Orders *
orders_new(void)
{
    Orders *self = g_new0(Orders, 1);

    self->by_object = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, steps_free);
    return self;
}

void
orders_free(Orders *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->by_object);
    g_free(self);
}

void
orders_add(Orders *self, const char *object, const char *what, double at)
{
    const OrderStep step = {g_intern_string(what), 0, at};
    GArray *steps = g_hash_table_lookup(self->by_object, object);

    if (steps == NULL) {
        steps = g_array_new(FALSE, FALSE, sizeof(OrderStep));
        g_hash_table_insert(self->by_object, g_strdup(object), steps);
    }
    g_array_append_val(steps, step);
}

static int
by_time(const void *a, const void *b)
{
    const OrderStep *first = a, *second = b;

    return first->at < second->at ? -1 : first->at > second->at;
}

static void
number_steps(GArray *steps)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < steps->len; i++) {
        OrderStep *step = &g_array_index(steps, OrderStep, i);
        step->nth = GPOINTER_TO_UINT(g_hash_table_lookup(seen, step->what)) + 1;
        g_hash_table_insert(seen, (char *)step->what, GUINT_TO_POINTER(step->nth));
    }
}

GArray *
orders_of(const Orders *self, const char *const *objects)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(OrderStep));

    for (unsigned i = 0; objects[i] != NULL; i++) {
        const GArray *steps = g_hash_table_lookup(self->by_object, objects[i]);
        if (steps != NULL)
            g_array_append_vals(all, steps->data, steps->len);
    }
    g_array_sort(all, by_time);
    number_steps(all);
    return all;
}

/* Returns: the step in @steps that equals @step; NULL if there is none */
static const OrderStep *
same_step(const GArray *steps, const OrderStep *step)
{
    for (unsigned i = 0; i < steps->len; i++) {
        const OrderStep *other = &g_array_index(steps, OrderStep, i);
        if (other->what == step->what && other->nth == step->nth)
            return other;
    }
    return NULL;
}

GArray *
orders_pairs(const GArray *recorded)
{
    GArray *pairs = g_array_new(FALSE, TRUE, sizeof(OrderPair));

    for (unsigned i = 0; i < recorded->len; i++) {
        for (unsigned j = i + 1; j < recorded->len; j++) {
            const OrderPair pair = {.first = g_array_index(recorded, OrderStep, i),
                                    .then = g_array_index(recorded, OrderStep, j)};
            g_array_append_val(pairs, pair);
        }
    }
    return pairs;
}

void
orders_count(GArray *pairs, const GArray *recorded, const GArray *drawn)
{
    unsigned n = recorded->len, k = 0;
    g_autofree const OrderStep **found = g_new(const OrderStep *, n + 1);

    for (unsigned i = 0; i < n; i++)
        found[i] = same_step(drawn, &g_array_index(recorded, OrderStep, i));
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i + 1; j < n; j++, k++) {
            OrderPair *pair = &g_array_index(pairs, OrderPair, k);
            if (found[i] == NULL || found[j] == NULL)
                continue;
            pair->n_both++;
            pair->n_same += found[i]->at <= found[j]->at;
        }
    }
}
