/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdarg.h>
#include <stdint.h>

#include "sim/cold.h"
#include "sim/ref.h"

/* The strings of one run, each kept once: equal strings have equal addresses, so objects compare
 * and copy them as pointers and nobody frees them. Nobody iterates over it, so addresses decide
 * nothing. */
typedef struct Strings Strings;

Strings *strings_new(void);
/* The same in memory for logs. @cold: (borrowed) (nullable): outlives it */
Strings *strings_new_cold(SimCold *cold);
void strings_free(Strings *self);
/* Returns: the bytes that the strings take */
size_t strings_size(const Strings *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Strings, strings_free)

/* Returns: (borrowed): the one copy of @text, valid as long as @self; NULL for NULL */
const char *strings_intern(Strings *self, const char *text);
const char *strings_internf(Strings *self, const char *format, ...) G_GNUC_PRINTF(2, 3);
const char *strings_internv(Strings *self, const char *format, va_list args) G_GNUC_PRINTF(2, 0);
/* Returns: (owned): a copy that belongs to no table */
char *strings_formatv(const char *format, va_list args) G_GNUC_PRINTF(1, 0);
/* Returns: (borrowed): the copy if there is one, else NULL; adds nothing */
const char *strings_find(const Strings *self, const char *text);

/* Whether two strings of one table are equal; NULL equals NULL. */
static inline gboolean
strings_same(const char *a, const char *b)
{
    return a == b;
}

/* Declares @text (owned): the message that a function with the variable arguments (@format, ...)
 * got. */
#define FORMATTED(text, format)                                                                    \
    va_list text##_arguments;                                                                      \
    va_start(text##_arguments, format);                                                            \
    g_autofree char *text = g_strdup_vprintf(format, text##_arguments);                            \
    va_end(text##_arguments)

/* Compares two elements of an array of strings: for qsort(). */
int strings_compare(const void *a, const void *b);

/* A map from string to string: labels, annotations, topology segments. Immutable, shared by
 * reference, sorted by key. NULL is the empty map everywhere. */
typedef struct {
    const char *key, *value; /* interned */
} StringPair;

typedef struct StringMap StringMap;
struct StringMap {
    RefCount refs;
    unsigned n_pairs;
    StringPair pairs[];
};

/* Pairs need not be sorted; of equal keys the last wins. Strings must be interned. Returns:
 * (owned), NULL if empty */
StringMap *string_map_new(const StringPair *pairs, unsigned n_pairs);
StringMap *string_map_ref(const StringMap *self);
void string_map_unref(StringMap *self);
/* For a log. Returns: (owned): a copy in memory for logs; without @cold a reference */
StringMap *string_map_keep(const StringMap *self, SimCold *cold);
/* Gives back what string_map_keep() returned. */
void string_map_unkeep(StringMap *self, const SimCold *cold);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StringMap, string_map_unref)
/* Returns: (borrowed): the value, NULL if @key is not there. @key need not be interned. */
const char *string_map_get(const StringMap *self, const char *key);
gboolean string_map_has(const StringMap *self, const char *key);
/* Returns: (owned): a map with @key set to @value (NULL: without @key); strings interned */
StringMap *string_map_with(const StringMap *self, const char *key, const char *value);
gboolean string_map_equal(const StringMap *a, const StringMap *b);
/* Whether all pairs of @part are in @self. */
gboolean string_map_contains(const StringMap *self, const StringMap *part);

/* A list of strings: finalizers, volumesInUse. Immutable, shared by reference, in the order given.
 * NULL is empty. */
typedef struct StringList StringList;
struct StringList {
    RefCount refs;
    unsigned n_items;
    const char *items[]; /* interned */
};

StringList *string_list_new(const char *const *items, unsigned n_items);
StringList *string_list_ref(const StringList *self);
void string_list_unref(StringList *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(StringList, string_list_unref)
gboolean string_list_has(const StringList *self, const char *item); /* @item need not be interned */
/* @item is interned where the list's items are. */
gboolean string_list_has_interned(const StringList *self, const char *item);
StringList *string_list_with(const StringList *self,
                             const char *item); /* appended, unless it is there */
StringList *string_list_without(const StringList *self, const char *item); /* all of them removed */
gboolean string_list_equal(const StringList *a, const StringList *b);
