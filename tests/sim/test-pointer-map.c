/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The map of addresses against GLib's hash table, and the life of its values. */
#include "sim/pointer-map.h"
#include "sim/random.h"
#include "tests/lib/test.h"

#define N_KEYS 4096 /* of which some are in use at a time */

typedef struct {
    const char *name;
    size_t step;         /* from key to key: addresses of strings, of records, of pages */
    unsigned n_keys;     /* few keys come and go all the time */
    unsigned take_share; /* of 100 operations */
} MapCase;

static const MapCase map_cases[] = {
    {"as a hash table: strings",                1,    N_KEYS, 40},
    {"as a hash table: records",                64,   N_KEYS, 45},
    {"as a hash table: pages",                  4096, N_KEYS, 45},
    {"as a hash table: few keys, mostly taken", 64,   12,     60},
    {"as a hash table: it only grows",          16,   N_KEYS, 0 },
};

/* Addresses that are never followed. */
static const void *
key_at(const MapCase *row, uint64_t i)
{
    return (const void *)(uintptr_t)(UINT64_C(0x7f0000001000) + i * row->step);
}

static void
does_as_a_hash_table(void **state)
{
    const MapCase *row = *state;
    SimStream stream = sim_stream_from(1, 0, row->name);
    g_autoptr(GHashTable) expected = g_hash_table_new(NULL, NULL);
    PointerMap map = {0};

    for (uint64_t n = 0; n < 20000; n++) {
        const void *key = key_at(row, sim_random_below(stream, 0, n, row->n_keys));
        void *value = GUINT_TO_POINTER(n + 1);

        assert_ptr_equal(pointer_map_get(&map, key), g_hash_table_lookup(expected, key));
        if (sim_random_below(stream, 1, n, 100) < row->take_share) {
            assert_ptr_equal(pointer_map_take(&map, key), g_hash_table_lookup(expected, key));
            g_hash_table_remove(expected, key);
        } else {
            pointer_map_set(&map, key, value);
            g_hash_table_insert(expected, (void *)key, value);
        }
        assert_int_equal(map.n, g_hash_table_size(expected));
    }
    for (unsigned i = 0; i < row->n_keys; i++)
        assert_ptr_equal(pointer_map_get(&map, key_at(row, i)),
                         g_hash_table_lookup(expected, key_at(row, i)));
    pointer_map_clear(&map, NULL);
}
TEST_ROWS(map_cases, does_as_a_hash_table);

TEST(an_empty_one_has_nothing)
{
    PointerMap map = {0};
    int key = 0;

    assert_null(pointer_map_get(&map, &key));
    assert_null(pointer_map_get(&map, NULL));
    assert_null(pointer_map_take(&map, &key));
    pointer_map_set(&map, &key, &map);
    assert_null(pointer_map_get(&map, NULL)); /* NULL has no value */
    assert_ptr_equal(pointer_map_take(&map, &key), &map);
    assert_int_equal(map.n, 0);
    pointer_map_clear(&map, NULL);
}

static unsigned n_freed;

static void
count_freed(void *value)
{
    (void)value;
    n_freed++;
}

TEST(frees_the_values_that_are_left)
{
    static const MapCase strings = {.step = 8};
    PointerMap map = {0};

    n_freed = 0;
    for (unsigned i = 0; i < 100; i++)
        pointer_map_set(&map, key_at(&strings, i), &map);
    for (unsigned i = 0; i < 30; i++)
        pointer_map_take(&map, key_at(&strings, i));
    pointer_map_clear(&map, count_freed);
    assert_int_equal(n_freed, 70);
    assert_null(map.entries);
}
