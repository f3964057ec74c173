/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interned texts, and maps and lists of them. Each text stands once, in blocks that are never
 * moved, so equal texts have equal addresses; most comparisons in the program rely on that. The
 * table has open addressing, with places in the order of the hashes, so it doubles in one walk. In
 * long runs older entries are frozen out of the table and found again when they are asked for.
 *
 * Maps are sorted by key and shared by counts; a changed map is a copy. The hash decides only
 * places in the table, never a result. */
#include "strings.h"
#include "frozen.h"

#include <string.h>

/* Where a string is: its block, and its place there. */
typedef uint32_t StringAt;

#define BLOCK_SIZE 0x10000 /* a longer string has its own block */
#define BLOCKS_MAX 0x10000

typedef struct {
    uint32_t hash; /* 0: free */
    StringAt at;
} StringPlace;

/* An error is formatted once. Then the same text goes into an Event and into the end of a plan. */
#define N_MADE 4

/* An open-addressing table in the order of the hashes. A search begins at the home of the hash and
 * compares mostly hashes only. At most three quarters of the places are taken. */
struct Strings {
    SimCold *cold;     /* (borrowed) (nullable) */
    GPtrArray *blocks; /* of char * (owned): the strings, one after the other */
    size_t n_used;     /* bytes of the last block */
    StringPlace *table;
    unsigned size, n;
    SimFrozen *frozen;        /* (owned): older entries, by place + 1; NULL: none are taken out */
    const char *made[N_MADE]; /* the texts that were formatted last, in turn */
    unsigned next_made;
};

#define STRINGS_MIN 1024
/* So many are in @table at most if older ones can be frozen. */
#define STRINGS_WARM SIM_FROZEN_PART

Strings *
strings_new(void)
{
    return strings_new_cold(NULL);
}

Strings *
strings_new_cold(SimCold *cold)
{
    Strings *self = g_new0(Strings, 1);

    self->cold = cold;
    self->blocks = g_ptr_array_new();
    self->n_used = BLOCK_SIZE;
    self->size = STRINGS_MIN;
    self->table = g_new0(StringPlace, self->size);
    self->frozen = cold == NULL ? NULL : sim_frozen_new(cold);
    return self;
}

void
strings_free(Strings *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->blocks->len; i++)
        sim_cold_give(self->cold, self->blocks->pdata[i]);
    g_ptr_array_unref(self->blocks);
    sim_frozen_free(self->frozen);
    g_free(self->table);
    g_free(self);
}

size_t
strings_size(const Strings *self)
{
    return self->blocks->len * (size_t)BLOCK_SIZE;
}

static char *
string_at(const Strings *self, StringAt at)
{
    return (char *)self->blocks->pdata[at / BLOCK_SIZE] + at % BLOCK_SIZE;
}

/* Returns: room for @size bytes */
static StringAt
strings_take_room(Strings *self, size_t size)
{
    if (size > BLOCK_SIZE - MIN(self->n_used, BLOCK_SIZE)) {
        g_assert(self->blocks->len < BLOCKS_MAX);
        g_ptr_array_add(self->blocks, sim_cold_take(self->cold, MAX(size, BLOCK_SIZE)));
        self->n_used = 0;
    }
    StringAt at = (self->blocks->len - 1) * BLOCK_SIZE + (StringAt)self->n_used;
    self->n_used += size;
    return at;
}

/* Eight bytes at a time. It decides only places in the table, so it may differ between machines. */
static uint32_t
text_hash(const char *text, size_t length)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = length * odd, word;

    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        hash = (hash ^ word) * odd;
        hash ^= hash >> 32;
    }
    for (word = 0; length > 0; length--)
        word = word << 8 | (unsigned char)text[length - 1];
    hash = (hash ^ word) * odd;
    return MAX((uint32_t)(hash >> 32), 1);
}

static unsigned
place_of_hash(const Strings *self, uint32_t hash)
{
    return (unsigned)((uint64_t)hash * self->size >> 32);
}

static unsigned
place_after(const Strings *self, unsigned place)
{
    return place + 1 == self->size ? 0 : place + 1;
}

/* The place of @text, or the free place for it. */
static StringPlace *
strings_place(const Strings *self, uint32_t hash, const char *text)
{
    unsigned place = place_of_hash(self, hash);

    while (self->table[place].hash != 0 &&
           (self->table[place].hash != hash ||
            strcmp(string_at(self, self->table[place].at), text) != 0))
        place = place_after(self, place);
    return &self->table[place];
}

/* Doubles the table. Old and new places have the same order, so one walk goes through both. */
static void
strings_grow(Strings *self)
{
    g_autofree StringPlace *old = self->table;
    unsigned old_size = self->size;

    self->size += self->size / 2;
    self->table = g_new0(StringPlace, self->size);
    for (unsigned i = 0; i < old_size; i++) {
        unsigned place = place_of_hash(self, old[i].hash);
        if (old[i].hash == 0)
            continue;
        while (self->table[place].hash != 0)
            place = place_after(self, place);
        self->table[place] = old[i];
    }
}

/* Empties the table. Strings that are asked for again come back. */
static void
strings_freeze(Strings *self)
{
    g_autofree SimFrozenEntry *entries = g_new(SimFrozenEntry, STRINGS_WARM);
    unsigned n = 0;

    for (unsigned i = 0; i < self->size; i++)
        if (self->table[i].hash != 0)
            entries[n++] = (SimFrozenEntry){self->table[i].hash, self->table[i].at + 1};
    sim_frozen_add(self->frozen, entries);
    memset(self->table, 0, self->size * sizeof(StringPlace));
    self->n = 0;
}

static void
strings_add(Strings *self, StringPlace *place, uint32_t hash, StringAt at)
{
    *place = (StringPlace){hash, at};
    if (++self->n == STRINGS_WARM && self->frozen != NULL)
        strings_freeze(self);
    else if (self->n > self->size / 4 * 3)
        strings_grow(self);
}

typedef struct {
    const Strings *strings;
    const char *text;
} StringsWanted;

static gboolean
strings_is_wanted(const void *data, uint32_t value)
{
    const StringsWanted *wanted = data;

    return strcmp(string_at(wanted->strings, value - 1), wanted->text) == 0;
}

/* Returns: NULL: not among them */
static const char *
find_frozen(const Strings *self, uint32_t hash, const char *text, StringAt *at)
{
    StringsWanted wanted = {self, text};
    uint32_t value =
        self->frozen == NULL ? 0 : sim_frozen_find(self->frozen, hash, strings_is_wanted, &wanted);

    if (value == 0)
        return NULL;
    *at = value - 1;
    return string_at(self, *at);
}

static const char *
sim_strings_intern(Strings *self, const char *text, size_t length)
{
    uint32_t hash = text_hash(text, length);
    StringPlace *place = strings_place(self, hash, text);
    StringAt at;

    if (place->hash != 0)
        return string_at(self, place->at);
    const char *frozen = find_frozen(self, hash, text, &at);
    if (frozen != NULL) {
        strings_add(self, place, hash, at);
        return frozen;
    }
    at = strings_take_room(self, length + 1);
    char *known = string_at(self, at);
    memcpy(known, text, length);
    known[length] = '\0';
    strings_add(self, place, hash, at);
    return known;
}

const char *
strings_intern(Strings *self, const char *text)
{
    return text == NULL ? NULL : sim_strings_intern(self, text, strlen(text));
}

typedef struct {
    char *place, *end;
} StringsWriter;

static gboolean
write_text(StringsWriter *writer, const char *text, size_t length)
{
    if ((size_t)(writer->end - writer->place) <= length)
        return FALSE;
    memcpy(writer->place, text, length);
    writer->place += length;
    return TRUE;
}

static gboolean
write_number(StringsWriter *writer, unsigned number, gboolean is_negative)
{
    char digits[16];
    char *first = digits + sizeof digits;

    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    if (is_negative)
        *--first = '-';
    return write_text(writer, first, (size_t)(digits + sizeof digits - first));
}

/* Names and messages rarely need more than %s, %d, %u and %%; this writes them several times as
 * fast as vsnprintf(). Returns: the length; -1: it does not fit, or the format has other
 * conversions */
static int G_GNUC_PRINTF(3, 0)
    format_simply(char *buffer, size_t size, const char *format, va_list args)
{
    StringsWriter writer = {buffer, buffer + size};
    gboolean fits = TRUE;
    const char *text;
    int number;

    for (; fits && *format != '\0'; format++) {
        size_t n_plain = (size_t)(strchrnul(format, '%') - format);
        fits = write_text(&writer, format, n_plain);
        format += n_plain;
        if (*format == '\0')
            break;
        switch (*++format) {
        case 's':
            text = va_arg(args, const char *);
            fits = fits && text != NULL && write_text(&writer, text, strlen(text));
            break;
        case 'd':
            number = va_arg(args, int);
            fits = fits && write_number(&writer, number < 0 ? -(unsigned)number : (unsigned)number,
                                        number < 0);
            break;
        case 'u':
            fits = fits && write_number(&writer, va_arg(args, unsigned), FALSE);
            break;
        case '%':
            fits = fits && write_text(&writer, "%", 1);
            break;
        default:
            return -1;
        }
    }
    *writer.place = '\0';
    return fits ? (int)(writer.place - buffer) : -1;
}

static gboolean
is_made(const Strings *self, const char *text)
{
    for (unsigned i = 0; i < N_MADE; i++)
        if (text != NULL && self->made[i] == text)
            return TRUE;
    return FALSE;
}

static const char *
note_made(Strings *self, const char *text)
{
    self->made[self->next_made++ % N_MADE] = text;
    return text;
}

/* Returns: (nullable): the only argument of "%s", if it is interned for sure */
static const char *G_GNUC_PRINTF(2, 0)
    made_before(const Strings *self, const char *format, va_list args)
{
    va_list again;

    if (strcmp(format, "%s") != 0)
        return NULL;
    va_copy(again, args);
    const char *text = va_arg(again, const char *);
    va_end(again);
    return is_made(self, text) ? text : NULL;
}

const char *
strings_internv(Strings *self, const char *format, va_list args)
{
    const char *made = made_before(self, format, args);
    char buffer[512];
    va_list again;

    if (made != NULL)
        return made;
    va_copy(again, args);
    int length = format_simply(buffer, sizeof buffer, format, again);
    va_end(again);
    if (length >= 0)
        return note_made(self, sim_strings_intern(self, buffer, (size_t)length));

    g_autofree char *text = g_strdup_vprintf(format, args);
    return note_made(self, strings_intern(self, text));
}

char *
strings_formatv(const char *format, va_list args)
{
    char buffer[512];
    va_list again;

    va_copy(again, args);
    int length = format_simply(buffer, sizeof buffer, format, again);
    va_end(again);
    return length >= 0 ? g_strndup(buffer, (size_t)length) : g_strdup_vprintf(format, args);
}

const char *
strings_internf(Strings *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    const char *text = strings_internv(self, format, args);
    va_end(args);
    return text;
}

const char *
strings_find(const Strings *self, const char *text)
{
    if (text == NULL)
        return NULL;
    uint32_t hash = text_hash(text, strlen(text));
    const StringPlace *place = strings_place(self, hash, text);
    StringAt at;
    return place->hash == 0 ? find_frozen(self, hash, text, &at) : string_at(self, place->at);
}

static StringMap *
string_map_alloc(unsigned n_pairs)
{
    StringMap *self = g_malloc(sizeof *self + n_pairs * sizeof self->pairs[0]);

    self->refs = REF_COUNT_ONE;
    self->n_pairs = n_pairs;
    return self;
}

/* The index of @key, or the index at which to insert it. */
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

REF_COUNTED_DEFINE(StringMap, string_map, g_free)

StringMap *
string_map_keep(const StringMap *self, SimCold *cold)
{
    if (self == NULL || cold == NULL)
        return string_map_ref(self);
    gsize size = sizeof *self + self->n_pairs * sizeof self->pairs[0];
    return memcpy(sim_cold_take(cold, size), self, size);
}

void
string_map_unkeep(StringMap *self, const SimCold *cold)
{
    if (cold == NULL)
        string_map_unref(self);
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
    static const StringMap empty;
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

    self->refs = REF_COUNT_ONE;
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

REF_COUNTED_DEFINE(StringList, string_list, g_free)

int
strings_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

gboolean
string_list_has(const StringList *self, const char *item)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++)
        if (self->items[i] == item || strcmp(self->items[i], item) == 0)
            return TRUE;
    return FALSE;
}

gboolean
string_list_has_interned(const StringList *self, const char *item)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++)
        if (self->items[i] == item)
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
