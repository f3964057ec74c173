/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <string.h>

/* How many hold a struct that they share. Not atomic: a run is one thread. */
typedef struct {
    unsigned n;
} RefCount;

#define REF_COUNT_ONE ((RefCount){1})

static inline void
ref_count_add(RefCount *self)
{
    self->n++;
}

/* Returns: whether this was the last reference, so the struct is to be freed */
static inline gboolean
ref_count_drop(RefCount *self)
{
    return --self->n == 0;
}

/* Define @prefix_ref() and @prefix_unref() of a struct with a RefCount @refs. Both take %NULL;
 * references to a const struct can be taken, for the count is not part of its value. */
#define REF_DEFINE(Type, prefix)                                                                   \
    Type *prefix##_ref(const Type *self)                                                           \
    {                                                                                              \
        Type *shared = (Type *)self;                                                               \
                                                                                                   \
        if (shared != NULL)                                                                        \
            ref_count_add(&shared->refs);                                                          \
        return shared;                                                                             \
    }
#define UNREF_DEFINE(Type, prefix, free_shared)                                                    \
    void prefix##_unref(Type *self)                                                                \
    {                                                                                              \
        if (self != NULL && ref_count_drop(&self->refs))                                           \
            free_shared(self);                                                                     \
    }
#define REF_COUNTED_DEFINE(Type, prefix, free_shared)                                              \
    REF_DEFINE(Type, prefix)                                                                       \
    UNREF_DEFINE(Type, prefix, free_shared)
/* A shared list; no items are %NULL. */
#define REF_LIST(List, Item)                                                                       \
    typedef struct {                                                                               \
        RefCount refs;                                                                             \
        unsigned n_items;                                                                          \
        Item items[];                                                                              \
    } List
/* Defines its @prefix_new(), which copies @n items. */
#define REF_LIST_DEFINE(List, Item, prefix)                                                        \
    List *prefix##_new(const Item *items, unsigned n)                                              \
    {                                                                                              \
        if (n == 0)                                                                                \
            return NULL;                                                                           \
        List *self = g_malloc(sizeof *self + n * sizeof items[0]);                                 \
        self->refs = REF_COUNT_ONE;                                                                \
        self->n_items = n;                                                                         \
        memcpy(self->items, items, n * sizeof items[0]);                                           \
        return self;                                                                               \
    }
