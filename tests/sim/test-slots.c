/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The array by slot against a plain array, and that pages of zeros do not stay. */
#include "sim/random.h"
#include "sim/slots.h"
#include "tests/lib/test.h"

#define N_SLOTS 20000
#define WINDOW 300 /* objects that live at a time */

static void
does_as_an_array(void **state)
{
    SimStream stream = sim_stream_from(1, 0, "slots");
    g_autofree uint64_t *expected = g_new0(uint64_t, N_SLOTS);
    SimSlots slots = {.cold = *state, .element_size = sizeof(uint64_t)};

    for (uint64_t n = 0; n < 4 * N_SLOTS; n++) {
        uint32_t slot = (uint32_t)sim_random_below(stream, 0, n, N_SLOTS);
        uint64_t value = sim_random_below(stream, 1, n, 3); /* often 0 */
        *(uint64_t *)sim_slots_place(&slots, slot) = value;
        expected[slot] = value;
    }
    for (uint32_t i = 0; i < N_SLOTS; i++) {
        const uint64_t *found = sim_slots_find(&slots, i);
        assert_int_equal(found == NULL ? 0 : *found, expected[i]);
    }
    for (uint32_t i = 0; i < N_SLOTS; i++) /* a walk leaves out nothing */
        if (expected[i] != 0)
            assert_int_equal(sim_slots_next(&slots, i), i);
    assert_true(sim_slots_end(&slots) >= N_SLOTS);
    assert_null(sim_slots_find(&slots, UINT32_MAX));
    sim_slots_clear(&slots);
    assert_int_equal(sim_slots_end(&slots), 0);
}

/* Objects come and go: pages with nothing left are freed, pages with something stay where they are.
 */
static void
pages_of_zeros_are_freed(void **state)
{
    SimSlots slots = {.element_size = sizeof(void *)};
    void **first = sim_slots_place(&slots, 0);
    unsigned n_pages = 0;

    (void)state;
    *first = first;
    for (uint32_t i = 1; i < N_SLOTS; i++) {
        *(void **)sim_slots_place(&slots, i) = &slots;
        if (i > WINDOW)
            *(void **)sim_slots_find(&slots, i - WINDOW) = NULL;
    }
    assert_ptr_equal(sim_slots_find(&slots, 0), first);
    assert_ptr_equal(sim_slots_pointer(&slots, 0), first);
    for (uint32_t i = 0; (i = sim_slots_next(&slots, i)) < sim_slots_end(&slots);
         i += SIM_SLOTS_PAGE)
        n_pages++;
    assert_in_range(n_pages, WINDOW / SIM_SLOTS_PAGE, 4 * (WINDOW / SIM_SLOTS_PAGE + 2));
    sim_slots_clear(&slots);
}

int
main(void)
{
    g_autoptr(SimCold) cold = sim_cold_new(g_get_tmp_dir());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_as_an_array),
        cmocka_unit_test_prestate(does_as_an_array, cold),
        cmocka_unit_test(pages_of_zeros_are_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
