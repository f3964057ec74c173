/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct Strings {
    GStringChunk *chunk;
    GHashTable *table; /* set of the strings in the chunk */
};

Strings *
strings_new(void)
{
    Strings *self = g_new0(Strings, 1);

    self->chunk = g_string_chunk_new(16384);
    self->table = g_hash_table_new(g_str_hash, g_str_equal);
    return self;
}

void
strings_free(Strings *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->table);
    g_string_chunk_free(self->chunk);
    g_free(self);
}

const char *
strings_intern(Strings *self, const char *text)
{
    if (text == NULL)
        return NULL;

    char *known = g_hash_table_lookup(self->table, text);
    if (known == NULL) {
        known = g_string_chunk_insert(self->chunk, text);
        g_hash_table_add(self->table, known);
    }
    return known;
}

const char *
strings_internf(Strings *self, const char *format, ...)
{
    char buffer[256];
    va_list args;

    va_start(args, format);
    int length = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < sizeof buffer)
        return strings_intern(self, buffer);

    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    return strings_intern(self, text);
}

const char *
strings_find(const Strings *self, const char *text)
{
    return text == NULL ? NULL : g_hash_table_lookup(self->table, text);
}

static StringMap *
string_map_alloc(unsigned n_pairs)
{
    StringMap *self = g_malloc(sizeof *self + n_pairs * sizeof self->pairs[0]);

    self->n_refs = 1;
    self->n_pairs = n_pairs;
    return self;
}

/* Where @key is, or where it would be inserted. */
static unsigned
string_map_find(const StringMap *self, const char *key, gboolean *found)
{
    unsigned i = 0;

    for (; i < self->n_pairs; i++) {
        if (self->pairs[i].key == key) {
            *found = TRUE;
            return i;
        }
        int order = strcmp(self->pairs[i].key, key);
        if (order >= 0) {
            *found = order == 0;
            return i;
        }
    }
    *found = FALSE;
    return i;
}

StringMap *
string_map_new(const StringPair *pairs, unsigned n_pairs)
{
    if (n_pairs == 0)
        return NULL;

    StringMap *self = string_map_alloc(n_pairs);
    self->n_pairs = 0;
    for (unsigned i = 0; i < n_pairs; i++) {
        gboolean found;
        unsigned at = string_map_find(self, pairs[i].key, &found);
        if (!found) {
            memmove(&self->pairs[at + 1], &self->pairs[at],
                    (self->n_pairs - at) * sizeof self->pairs[0]);
            self->n_pairs++;
        }
        self->pairs[at] = pairs[i];
    }
    return self;
}

StringMap *
string_map_ref(const StringMap *self)
{
    StringMap *map = (StringMap *)self; /* the count is not part of its value */

    if (map != NULL)
        map->n_refs++;
    return map;
}

void
string_map_unref(StringMap *self)
{
    if (self != NULL && --self->n_refs == 0)
        g_free(self);
}

const char *
string_map_get(const StringMap *self, const char *key)
{
    gboolean found;

    if (self == NULL)
        return NULL;
    unsigned at = string_map_find(self, key, &found);
    return found ? self->pairs[at].value : NULL;
}

gboolean
string_map_has(const StringMap *self, const char *key)
{
    return string_map_get(self, key) != NULL;
}

StringMap *
string_map_with(const StringMap *self, const char *key, const char *value)
{
    static const StringMap empty = {0, 0};
    const StringMap *old = self == NULL ? &empty : self;
    gboolean found;
    unsigned at = string_map_find(old, key, &found);

    if (found ? old->pairs[at].value == value : value == NULL)
        return string_map_ref(self);

    unsigned n_after = old->n_pairs - at - (found ? 1 : 0);
    unsigned n_pairs = at + n_after + (value != NULL ? 1 : 0);
    if (n_pairs == 0)
        return NULL;

    StringMap *map = string_map_alloc(n_pairs);
    memcpy(map->pairs, old->pairs, at * sizeof map->pairs[0]);
    if (value != NULL)
        map->pairs[at] = (StringPair){key, value};
    memcpy(&map->pairs[n_pairs - n_after], &old->pairs[old->n_pairs - n_after],
           n_after * sizeof map->pairs[0]);
    return map;
}

gboolean
string_map_equal(const StringMap *a, const StringMap *b)
{
    if (a == b)
        return TRUE;
    if (a == NULL || b == NULL || a->n_pairs != b->n_pairs)
        return FALSE;
    return memcmp(a->pairs, b->pairs, a->n_pairs * sizeof a->pairs[0]) == 0;
}

gboolean
string_map_contains(const StringMap *self, const StringMap *part)
{
    for (unsigned i = 0; part != NULL && i < part->n_pairs; i++)
        if (string_map_get(self, part->pairs[i].key) != part->pairs[i].value)
            return FALSE;
    return TRUE;
}

static StringList *
string_list_alloc(unsigned n_items)
{
    StringList *self = g_malloc(sizeof *self + n_items * sizeof self->items[0]);

    self->n_refs = 1;
    self->n_items = n_items;
    return self;
}

StringList *
string_list_new(const char *const *items, unsigned n_items)
{
    if (n_items == 0)
        return NULL;

    StringList *self = string_list_alloc(n_items);
    memcpy(self->items, items, n_items * sizeof self->items[0]);
    return self;
}

StringList *
string_list_ref(const StringList *self)
{
    StringList *list = (StringList *)self; /* the count is not part of its value */

    if (list != NULL)
        list->n_refs++;
    return list;
}

void
string_list_unref(StringList *self)
{
    if (self != NULL && --self->n_refs == 0)
        g_free(self);
}

gboolean
string_list_has(const StringList *self, const char *item)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++)
        if (self->items[i] == item || strcmp(self->items[i], item) == 0)
            return TRUE;
    return FALSE;
}

StringList *
string_list_with(const StringList *self, const char *item)
{
    if (string_list_has(self, item))
        return string_list_ref(self);

    unsigned n_old = self == NULL ? 0 : self->n_items;
    StringList *list = string_list_alloc(n_old + 1);
    if (self != NULL)
        memcpy(list->items, self->items, n_old * sizeof list->items[0]);
    list->items[n_old] = item;
    return list;
}

StringList *
string_list_without(const StringList *self, const char *item)
{
    if (!string_list_has(self, item))
        return string_list_ref(self);

    StringList *list = string_list_alloc(self->n_items);
    list->n_items = 0;
    for (unsigned i = 0; i < self->n_items; i++)
        if (self->items[i] != item && strcmp(self->items[i], item) != 0)
            list->items[list->n_items++] = self->items[i];
    if (list->n_items == 0)
        g_clear_pointer(&list, string_list_unref);
    return list;
}

gboolean
string_list_equal(const StringList *a, const StringList *b)
{
    if (a == b)
        return TRUE;
    if (a == NULL || b == NULL || a->n_items != b->n_items)
        return FALSE;
    return memcmp(a->items, b->items, a->n_items * sizeof a->items[0]) == 0;
}
