/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/volume/plugins.h"
#include "tests/attach-detach-controller/attach-world.h"
#include "tests/lib/test.h"

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
TEST(polling_equals_sleeping)
{
    unsigned n_asked = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        g_autofree char *sleeping = disturbed_hour(seed, FALSE);
        g_autofree char *polling = disturbed_hour(seed, TRUE);
        assert_string_equal(sleeping, polling);
        n_asked += count(sleeping, "GET va/");
    }
    assert_true(n_asked > 0);
}

/* ---- Bursts ---- */

static const char *const volumes[] = {"a", "b", "c", "d", NULL};
#define N_VOLUMES 4

static const char *
polling_node_of(unsigned i)
{
    return i % 2 == 0 ? "node-1" : "node-2";
}

/* Writes the numbers of the volumes into @order, as requests of this verb come in @log. */
static void
read_order(const StorageWorld *world, const char *log, const char *verb, char *order)
{
    const char *places[N_VOLUMES];

    for (unsigned i = 0; i < N_VOLUMES; i++) {
        ObjectKey *va =
            volume_attachment_key(world->objects, word(world, DRIVER), word(world, volumes[i]),
                                  word(world, polling_node_of(i)));
        g_autofree char *request = g_strconcat(verb, " va/", va->name, NULL);
        places[i] = strstr(log, request);
        assert_non_null(places[i]);
    }
    for (unsigned i = 0; i < N_VOLUMES; i++) {
        unsigned place = 0;
        for (unsigned k = 0; k < N_VOLUMES; k++)
            place += places[k] < places[i];
        order[place] = (char)('0' + i);
    }
    order[N_VOLUMES] = '\0';
}

/* Four pods on two nodes come at once, and go at once. Returns: (owned): all requests */
static char *
burst(uint64_t seed, gboolean polling, char *attaches, char *detaches)
{
    StorageWorld world;

    storage_world_init(&world, &(StorageWorldOptions){.seed = seed, .polling = polling});
    create_node(&world, "node-1", NULL, NULL);
    create_node(&world, "node-2", NULL, NULL);
    create_claims(&world, volumes, ACCESS_RWO);
    storage_world_start(&world);
    world.log_times = TRUE;
    for (unsigned i = 0; i < N_VOLUMES; i++)
        pod_with_claim(&world, volumes[i], volumes[i], polling_node_of(i));
    go_on(&world, SIM_SECOND);
    attacher_attaches_all(&world);
    go_on(&world, 5 * SIM_SECOND);
    for (unsigned i = 0; i < N_VOLUMES; i++)
        remove_pod(&world, volumes[i]);
    go_on(&world, 5 * SIM_SECOND);
    char *log = g_strdup(storage_world_log(&world));
    read_order(&world, log, "POST", attaches);
    read_order(&world, log, "DELETE", detaches);
    storage_world_clear(&world);
    return log;
}

/* ADC-71: each pass walks maps in an order of its own: of volumes for detaches; for attaches of
 * nodes, and of the volumes of each. A loop that sleeps takes the same order. */
TEST(a_burst_comes_in_any_order)
{
    g_autoptr(GHashTable) attach_orders =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) detach_orders =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    char attaches[N_VOLUMES + 1], detaches[N_VOLUMES + 1];

    for (uint64_t seed = 1; seed <= 60; seed++) {
        g_autofree char *polling = burst(seed, TRUE, attaches, detaches);
        g_autofree char *sleeping = burst(seed, FALSE, attaches, detaches);
        assert_string_equal(sleeping, polling);
        assert_int_equal(attaches[0] % 2, attaches[1] % 2);
        assert_int_equal(attaches[2] % 2, attaches[3] % 2);
        g_hash_table_add(attach_orders, g_strdup(attaches));
        g_hash_table_add(detach_orders, g_strdup(detaches));
    }
    assert_int_equal(g_hash_table_size(attach_orders), 8);
    assert_in_range(g_hash_table_size(detach_orders), 16, 24);
}
