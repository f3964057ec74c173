/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/attach-detach-controller/attach-world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above. */
#include <cmocka.h>

/* Loops that sleep while nothing changes come to the same as loops that poll. */

static void
come_or_go(StorageWorld *world, const char *pod, const char *node)
{
    if (api_server_get(world->api, key(world, KIND_POD, pod)) == NULL)
        create_pod(world, pod, node);
    else
        remove_pod(world, pod);
}

static void
toggle_driver(StorageWorld *world)
{
    ObjectKey *driver = key(world, KIND_CSI_DRIVER, DRIVER);

    if (api_server_get(world->api, driver) == NULL)
        driver_object(world, FALSE);
    else
        storage_world_remove(world, driver);
}

static void
disturb(StorageWorld *world, const char *va, uint64_t how)
{
    const Object *stored = api_server_get(world->api, attachment(world, va));

    if (stored == NULL || object_is_deleted(stored))
        return;
    if (how == 0)
        storage_world_delete(world, attachment(world, va));
    else
        attacher_says(world, va, how > 1, NULL);
}

/* A random hour in which VolumeAttachments vanish or are not attached any more, and the driver
 * changes its mind. Returns: (owned): all requests, and when they came */
static char *
disturbed_hour(uint64_t seed, gboolean polling)
{
    static const char *const nodes[] = {"node-1", "node-2"}, *const pods[] = {"a", "b", "d"},
                             *const attachments[] = {VA_1, VA_2};
    StorageWorld world;

    storage_world_init(&world,
                       &(StorageWorldOptions){.seed = seed, .polling = polling, .slow = TRUE});
    SimStream stream = sim_stream(world.sim, "test");
    world.log_times = TRUE;
    create_node(&world, "node-1", seed % 3 == 0 ? UNIQUE("vol-1") : NULL, NULL);
    create_node(&world, "node-2", NULL, NULL);
    create_bound(&world, seed % 2 == 0 ? ACCESS_RWO : ACCESS_RWX);
    if (seed % 3 == 0)
        create_pod(&world, "a", "node-1");
    storage_world_start(&world);
    for (unsigned i = 0; i < 200; i++) {
        const char *node = nodes[sim_random_below(stream, 1, i, 2)];
        uint64_t what = sim_random_below(stream, 0, i, 12);
        if (what < 2)
            come_or_go(&world, pods[sim_random_below(stream, 2, i, 3)], node);
        else if (what < 4)
            kubelet_uses(&world, node, i % 3 == 0 ? UNIQUE("vol-1") : NULL);
        else if (what == 4)
            toggle_driver(&world);
        else
            disturb(&world, attachments[sim_random_below(stream, 3, i, 2)], what - 5);
        go_on(&world, (SimTime)sim_random_below(stream, 4, i, 36 * SIM_SECOND));
    }
    char *log = g_strdup(storage_world_log(&world));
    storage_world_clear(&world);
    return log;
}

/* ADC-50: a sleeping loop verifies at the same instants as a polling one, though it leaves out most
 * checks. */
static void
polling_equals_sleeping(void **state)
{
    unsigned n_asked = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        g_autofree char *sleeping = disturbed_hour(seed, FALSE);
        g_autofree char *polling = disturbed_hour(seed, TRUE);
        assert_string_equal(sleeping, polling);
        n_asked += count(sleeping, "GET va/");
    }
    assert_true(n_asked > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(polling_equals_sleeping)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
