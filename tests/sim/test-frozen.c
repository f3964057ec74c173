/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was frozen is found again, by its hash and among others of the same hash; nothing else is.
 */
#include "sim/frozen.h"
#include "tests/lib/test.h"

#define N_PARTS 3
#define N_SAME 50 /* entries of one hash, in each part */

static uint32_t
hash_of(uint32_t value)
{
    return value % SIM_FROZEN_PART < N_SAME ? 7 : value * UINT32_C(2654435761);
}

static gboolean
is_value(const void *data, uint32_t value)
{
    return value == *(const uint32_t *)data;
}

static gboolean
is_asked(const void *data, uint32_t value)
{
    (void)value;
    (*(unsigned *)data)++;
    return FALSE;
}

static SimFrozen *
freeze_all(SimCold *cold)
{
    SimFrozen *frozen = sim_frozen_new(cold);
    g_autofree SimFrozenEntry *entries = g_new(SimFrozenEntry, SIM_FROZEN_PART);

    for (uint32_t part = 0; part < N_PARTS; part++) {
        for (uint32_t i = 0; i < SIM_FROZEN_PART; i++) {
            uint32_t value = part * SIM_FROZEN_PART + i;
            entries[i] = (SimFrozenEntry){hash_of(value), value == 0 ? UINT32_MAX : value};
        }
        sim_frozen_add(frozen, entries);
    }
    return frozen;
}

static void
finds_what_it_has(void **state)
{
    SimFrozen *frozen = freeze_all(*state);

    for (uint32_t value = 1; value < N_PARTS * SIM_FROZEN_PART; value++)
        assert_int_equal(sim_frozen_find(frozen, hash_of(value), is_value, &value), value);
    sim_frozen_free(frozen);
}

/* The filter lets one in a hundred pass, and of these only equal hashes are compared. */
static void
hardly_looks_for_others(void **state)
{
    SimFrozen *frozen = freeze_all(*state);
    unsigned n_asked = 0, n_same = 0;

    for (uint32_t value = N_PARTS * SIM_FROZEN_PART; value < 8 * SIM_FROZEN_PART; value++)
        if (hash_of(value) != 7)
            assert_int_equal(sim_frozen_find(frozen, hash_of(value), is_asked, &n_asked), 0);
    assert_int_equal(n_asked, 0); /* the hashes are all different */
    assert_int_equal(sim_frozen_find(frozen, 7, is_asked, &n_same), 0);
    assert_int_equal(n_same, N_PARTS * N_SAME);
    sim_frozen_free(frozen);
}

static void
finds_nothing_in_nothing(void **state)
{
    SimFrozen *frozen = sim_frozen_new(*state);
    uint32_t value = 1;

    assert_int_equal(sim_frozen_find(frozen, 0, is_value, &value), 0);
    sim_frozen_free(frozen);
    sim_frozen_free(NULL);
}

int
main(void)
{
    g_autoptr(SimCold) cold = sim_cold_new(g_get_tmp_dir());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(finds_what_it_has, cold),
        cmocka_unit_test_prestate(hardly_looks_for_others, cold),
        cmocka_unit_test_prestate(finds_nothing_in_nothing, cold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
