/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/csi/modelled/modelled-test.h"
#include "models/kubelet/plugin-manager/plugin-manager.h"
#include "models/metrics/metrics.h"
#include "node-world.h"
#include "tests/lib/same-log.h"
#include "tests/lib/test.h"

/* A driver's plugin comes to a node, goes, and comes again: what the registrar's socket makes the
 * kubelet do, and when. */

#define SECONDS(n) ((n)*SIM_SECOND)
#define MS(n) ((n)*SIM_MS)
#define PLUGIN 0 /* the only driver */
#define REGISTERS "NodeGetInfo, PATCH_STATUS Node, UPDATE CSINode"
#define UNREGISTERS "UPDATE CSINode, PATCH_STATUS Node"

static void set_registrar(World *world, RegistrarState state);

/* Runs up to the middle of a second of the plugin manager's clock, so that a pass is half a second
 * away on either side. A driver without troubles has registered once: the nodes of the tests lack
 * some of what that writes. */
static World *
world_with_driver(void (*driver)(World *world, CsiModelledOptions *options))
{
    SidecarWorldOptions options = {.seed = 7, .driver = driver};
    World *world = world_new(&options);

    node_world_start(world);
    const Kubelet *kubelet = node_world_kubelet(world);
    SimTime phase = kubelet_draw_phase(kubelet, LOOP_PLUGINS, SIM_SECOND);
    node_world_run_until(world, SECONDS(2) + phase + MS(500));
    if (driver == NULL) {
        set_registrar(world, REGISTRAR_LISTENS);
        node_world_run_for(world, SECONDS(3));
    }
    g_free(node_world_take_writes(world));
    return world;
}

static void
set_registrar(World *world, RegistrarState state)
{
    cluster_set_registrar(world->cluster, PLUGIN, world_intern(world, "a"), state);
}

static const NodePlugin *
registration_plugin_of(World *world)
{
    const Kubelet *kubelet = node_world_kubelet(world);

    return &kubelet->plugin_manager->plugins[0];
}

static const CsiNodeDriver *
entry_of(World *world)
{
    return csi_node_find_driver((const CsiNode *)world_get(world, KIND_CSI_NODE, "a"),
                                world_intern(world, WORLD_DRIVER));
}

static const char *
annotation(World *world)
{
    return object_annotation(world_get(world, KIND_NODE, "a"), "csi.volume.kubernetes.io/nodeid");
}

/* REG-5, REG-12, REG-19, REG-24: gone with the next pass; topology labels stay. */
TEST(a_socket_goes)
{
    g_autoptr(World) world = world_with_driver(NULL);

    assert_non_null(entry_of(world));
    assert_non_null(annotation(world));
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, MS(490));
    node_world_assert_writes(world, "");
    assert_true(registration_plugin_of(world)->registered);
    node_world_run_for(world, MS(20));
    node_world_assert_writes(world, UNREGISTERS);
    assert_false(registration_plugin_of(world)->registered);
    assert_null(entry_of(world));
    assert_null(annotation(world));
    assert_non_null(world_get(world, KIND_CSI_NODE, "a"));
    assert_string_equal(
        object_label(world_get(world, KIND_NODE, "a"), world_intern(world, WORLD_ZONE)), "a");
    node_world_run_for(world, SIM_MINUTE);
    node_world_assert_writes(world, "");
}

/* REG-V1: dialled within a second; NodeGetInfo, Node, CSINode, in this order. */
TEST(a_socket_comes)
{
    g_autoptr(World) world = world_with_driver(NULL);

    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(2));
    g_free(node_world_take_writes(world));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, MS(490));
    node_world_assert_writes(world, "");
    node_world_run_for(world, MS(20));
    node_world_assert_writes(world, REGISTERS);
    assert_true(registration_plugin_of(world)->registered);
    assert_non_null(entry_of(world));
    assert_string_equal(annotation(world), "{\"" WORLD_DRIVER "\":\"a\"}");
}

/* REG-14, REG-V2: a socket made anew between two passes is unregistered in the next one, registered
 * a second later. */
TEST(a_socket_is_made_anew)
{
    g_autoptr(World) world = world_with_driver(NULL);

    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, MS(200));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, MS(310));
    node_world_assert_writes(world, UNREGISTERS);
    assert_null(entry_of(world));
    node_world_run_for(world, MS(980));
    node_world_assert_writes(world, "");
    assert_false(
        registration_plugin_of(world)->registered); /* in between nobody knows the driver */
    node_world_run_for(world, MS(20));
    node_world_assert_writes(world, REGISTERS);
    assert_non_null(entry_of(world));
}

/* REG-23: the entry that is removed and added stands last. */
TEST(moves_to_the_end)
{
    g_autoptr(World) world = world_with_driver(NULL);
    Object *csi_node = object_edit(world_get(world, KIND_CSI_NODE, "a"));
    CsiNodeDriver other = {.name = world_intern(world, "other.test"),
                           .node_id = world_intern(world, "a"),
                           .allocatable_count = -1};

    csi_node_set_driver(CSI_NODE(csi_node), other.name, &other);
    api_server_import(world->api, csi_node);
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(2));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, SECONDS(2));
    const CsiNodeDrivers *drivers =
        ((const CsiNode *)world_get(world, KIND_CSI_NODE, "a"))->drivers;
    assert_int_equal(drivers->n_items, 2);
    assert_string_equal(drivers->items[0].name, "other.test");
    assert_string_equal(drivers->items[1].name, WORLD_DRIVER);
}

static void
info_fails_once(World *world, CsiModelledOptions *options)
{
    world->errors[0] = (CsiModelledError){
        .method = CSI_NODE_GET_INFO, .code = CSI_INTERNAL, .probability = 1, .count = 1};
    options->errors = world->errors;
    options->n_errors = 1;
}

/* REG-4, REG-16, REG-V3: the kubelet asks once; the registrar exits and is started again by the
 * pod's next sync. */
TEST(node_info_fails_once)
{
    g_autoptr(World) world = world_with_driver(info_fails_once);

    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(1));
    g_free(node_world_take_writes(world));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, MS(510));
    node_world_assert_writes(world,
                             "NodeGetInfo INTERNAL"); /* there is no entry to be taken back */
    assert_false(registration_plugin_of(world)->registered);
    assert_int_equal(registration_plugin_of(world)->registrar_container.n_exits, 1);
    node_world_run_for(world,
                       SECONDS(4)); /* restart within a second; unregistered, then registered */
    node_world_assert_writes(world, REGISTERS);
    assert_true(registration_plugin_of(world)->registered);
}

static void
info_always_fails(World *world, CsiModelledOptions *options)
{
    info_fails_once(world, options);
    world->errors[0].count = 0;
}

/* REG-4: exits are followed by restarts at once, then 10, 20, 40 ... 300 s later, at the next sync
 * of the pod. */
TEST(registrars_back_off)
{
    static const SimTime backoffs[] = {0,           SECONDS(10),  SECONDS(20),  SECONDS(40),
                                       SECONDS(80), SECONDS(160), SECONDS(300), SECONDS(300)};
    g_autoptr(World) world = world_with_driver(info_always_fails);
    SimTime before = 0;

    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(2));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, 20 * SIM_MINUTE);
    unsigned n = 0;
    for (unsigned i = 0; i < world->log->len; i++) {
        const WorldEntry *entry = &g_array_index(world->log, WorldEntry, i);
        if (!g_str_equal(entry->what, "NodeGetInfo INTERNAL"))
            continue;
        if (n > 0 && n <= G_N_ELEMENTS(backoffs)) {
            SimTime gap = entry->at - before;
            /* a sync up to 15 s late, and two or three passes to unregister and register */
            assert_in_range(gap, backoffs[n - 1], backoffs[n - 1] + SECONDS(15 + 4));
        }
        before = entry->at;
        n++;
    }
    assert_true(n > G_N_ELEMENTS(backoffs));
}

/* REG-13, REG-V4: 1 s for each GetInfo, then 0.5, 1, 2, ... s, rounded up to the next pass; no call
 * reaches the driver. */
TEST(a_registrar_hangs)
{
    g_autoptr(World) world = world_with_driver(NULL);

    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(1));
    g_free(node_world_take_writes(world));
    set_registrar(world, REGISTRAR_HANGS);
    SimTime from = sim_now(world->sim), failed_at[5], last = 0;
    for (unsigned n = 0; n < G_N_ELEMENTS(failed_at); node_world_run_for(world, MS(10))) {
        assert_true(sim_now(world->sim) - from < SIM_MINUTE);
        if (registration_plugin_of(world)->failed_at > last)
            failed_at[n++] = last = registration_plugin_of(world)->failed_at;
    }
    assert_int_equal(failed_at[0] - from, MS(1500));
    assert_int_equal(failed_at[1] - failed_at[0],
                     SECONDS(2)); /* 0.5 s: up to 1, and 1 for the call */
    assert_int_equal(failed_at[2] - failed_at[1], SECONDS(3)); /* 1 s is not over at the pass: 2 */
    assert_int_equal(failed_at[3] - failed_at[2], SECONDS(4));
    assert_int_equal(failed_at[4] - failed_at[3], SECONDS(6));
    node_world_assert_writes(world, "");
    assert_false(registration_plugin_of(world)->registered);
}

/* "Killed registrar (no SIGTERM): no deregistration" by itself; the new one's socket is another
 * (REG-14). */
TEST(a_registrar_is_killed)
{
    g_autoptr(World) world = world_with_driver(NULL);

    set_registrar(world, REGISTRAR_DEAD);
    assert_non_null(entry_of(world));
    node_world_run_for(world, SECONDS(4));
    node_world_assert_writes(world, UNREGISTERS ", " REGISTERS);
    assert_non_null(entry_of(world));
    assert_true(registration_plugin_of(world)->registered);
}

/* REG-4, REG-15: a registrar dies a second time before the kubelet calls it, so its container
 * waits. It comes back 3 s after the first try to connect, and gRPC's next try finds it: the third,
 * 4.1 to 6.2 s after the first. Without it the operation fails after 10 s. */
TEST(a_registrar_comes_back_while_it_is_called)
{
    g_autoptr(World) world = world_with_driver(NULL);
    SimTime asked = 0;

    set_registrar(world, REGISTRAR_DEAD);
    node_world_run_for(world, SECONDS(4));
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(2));
    g_free(node_world_take_writes(world));
    g_free(world_take_log(world));
    set_registrar(world, REGISTRAR_LISTENS);
    set_registrar(world, REGISTRAR_DEAD);
    SimTime first_try = sim_now(world->sim) + MS(500);
    node_world_run_for(world, MS(3500));
    assert_true(registration_plugin_of(world)->running);
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, SECONDS(4));
    assert_int_equal(world_count(world, "NodeGetInfo", &asked, NULL), 1);
    assert_in_range(asked - first_try, MS(4100), MS(6200));
    node_world_run_for(world, SECONDS(3)); /* the new socket has another number (REG-14) */
    assert_true(registration_plugin_of(world)->registered);
}

static gboolean
set_zone(Object *object, const void *value)
{
    return object_set_label(object, WORLD_ZONE, value);
}

/* REG-21, REG-V6: four tries, 10, 50 and 250 ms apart (+ 10 %), then nothing is left of the driver
 * but its labels. */
TEST(a_zone_that_changes)
{
    SimTime first = 0, last = 0;
    g_autoptr(World) world = world_with_driver(NULL);

    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(1));
    world_edit(world, KIND_NODE, "a", set_zone, world_intern(world, "elsewhere"));
    g_free(world_take_log(world));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, MS(900));
    assert_int_equal(world_count(world, "NodeGetInfo", NULL, NULL), 1);
    /* and one more read as it is taken back */
    assert_int_equal(world_count(world, "GET Node", &first, &last), 5);
    assert_in_range(last - first, MS(310), MS(341));
    assert_false(registration_plugin_of(world)->registered);
    assert_null(entry_of(world));
    assert_string_equal(registration_plugin_of(world)->failure,
                        "detected topology value collision: driver reported \"" WORLD_ZONE
                        "\":\"a\" but existing label is \"" WORLD_ZONE "\":\"elsewhere\"");
}

/* REG-23, REG-V7. The answer is an int: beyond that a driver cannot tell. */
TEST(limits)
{
    static const int told[] = {0, 25, INT32_MAX};
    static const int count[] = {-1, 25, INT32_MAX};

    for (unsigned i = 0; i < G_N_ELEMENTS(told); i++) {
        g_autoptr(World) world = world_with_driver(NULL);
        set_registrar(world, REGISTRAR_GONE);
        node_world_run_for(world, SECONDS(1));
        csi_modelled_driver_set_attach_limit(world->driver, told[i]);
        set_registrar(world, REGISTRAR_LISTENS);
        node_world_run_for(world, SECONDS(1));
        assert_int_equal(entry_of(world)->allocatable_count, count[i]);
    }
}

/* REG-26: nobody makes a CSINode again that was deleted by hand, before the next registration. */
TEST(a_csi_node_is_deleted)
{
    g_autoptr(World) world = world_with_driver(NULL);

    world_delete(world, KIND_CSI_NODE, "a");
    node_world_run_for(world, SIM_HOUR);
    assert_null(world_get(world, KIND_CSI_NODE, "a"));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, SECONDS(3));
    node_world_assert_writes(world,
                             "PATCH_STATUS Node, NodeGetInfo, PATCH_STATUS Node, CREATE CSINode, "
                             "UPDATE CSINode");
    assert_non_null(entry_of(world));
    /* It goes with its Node (REG-V9). */
    const Object *csi_node = world_get(world, KIND_CSI_NODE, "a");
    const Object *node = world_get(world, KIND_NODE, "a");
    assert_true(object_uid_equal(csi_node->owners->items[0].uid, node->uid));
}

/* REG-34: a driver that is away alone is not registered anew; its calls fail, and the mount is
 * tried again. */
TEST(a_driver_restarts_alone)
{
    g_autoptr(World) world = world_with_driver(NULL);

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    csi_modelled_driver_set_away(world->driver, world_intern(world, "a"), TRUE);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(15));
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
    assert_non_null(strstr(events, "code = Unavailable"));
    csi_modelled_driver_set_away(world->driver, world_intern(world, "a"), FALSE);
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(world_count(world, "NodeGetInfo", NULL, NULL), 0);
}

/* REG-28, KVM-15: without its driver a pod waits; it is mounted by the back-off after the driver
 * has come. */
TEST(a_pod_waits_for_its_driver)
{
    g_autoptr(World) world = world_with_driver(NULL);

    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(2));
    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(15));
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
    assert_non_null(strstr(events, "not found in the list of registered CSI drivers"));
    assert_int_equal(world_count(world, "NodeStageVolume", NULL, NULL), 0);
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

/* REG-29: the sockets of a node are walked at once as its kubelet starts; one that has gone
 * meanwhile is not there. */
TEST(the_kubelet_restarts)
{
    SimTime asked = 0;
    g_autoptr(World) world = world_with_driver(NULL);

    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(1));
    SimTime from = sim_now(world->sim);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(5));
    assert_int_equal(world_count(world, "NodeGetInfo", &asked, NULL), 1);
    assert_int_equal(asked - from, MS(70)); /* TIM-94 */
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    set_registrar(world, REGISTRAR_GONE);
    g_free(node_world_take_writes(world));
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(5));
    assert_int_equal(world_count(world, "NodeGetInfo", NULL, NULL), 0);
    assert_false(registration_plugin_of(world)->registered);
    assert_non_null(entry_of(world)); /* nobody takes back what the kubelet before has written */
}

/* The dead socket of the life before is found first; the registrar is started with its pod
 * (KVM-68). */
TEST(the_machine_restarts)
{
    g_autoptr(World) world = world_with_driver(NULL);

    assert_true(cluster_power_off(world->cluster, "a"));
    node_world_run_for(world, SECONDS(10));
    assert_true(cluster_power_on(world->cluster, "a"));
    node_world_run_for(world, MS(100));
    assert_false(registration_plugin_of(world)->registered);
    node_world_run_for(world, SECONDS(20));
    assert_true(registration_plugin_of(world)->registered);
    assert_int_equal(registration_plugin_of(world)->actual, registration_plugin_of(world)->desired);
    assert_non_null(entry_of(world));
}

/* ---- Liveness ---- */

static void *
registration_no_options(void *data, const ProcessClass *class)
{
    (void)data, (void)class;
    return NULL;
}

/* REG-31 to REG-33: five probes of 3 s, 10 s apart, then the container is killed: what it was at
 * ends. Its registrar does not mind. */
TEST(a_driver_that_hangs_is_restarted)
{
    SidecarWorldOptions options = {.seed = 7};
    World *world = world_new(&options);
    NodePluginOptions plugin = {.liveness_period = SECONDS(10)};
    CsiModelledOptions other_options;
    unsigned number;

    csi_modelled_options_init(&other_options);
    other_options.name = "other.test";
    CsiModelledDriver *other =
        csi_modelled_driver_new(world->sim, world->strings, &other_options, NULL);
    csi_modelled_driver_add_node(other, world_intern(world, "a"), world_intern(world, "a"), NULL);
    cluster_add_driver(world->cluster, csi_modelled_driver_base(other), "other.test", &plugin,
                       registration_no_options, NULL);
    assert_true(cluster_find_driver_number(world->cluster, "other.test", &number));
    node_world_start(world);
    const Kubelet *kubelet = node_world_kubelet(world);
    const NodePlugin *probed = &kubelet->plugin_manager->plugins[number];
    node_world_run_for(world, SECONDS(100));
    assert_int_equal(probed->n_failed_probes, 0);

    csi_modelled_driver_set_hung(other, TRUE);
    SimTime from = sim_now(world->sim);
    unsigned n_seen = 0;
    while (probed->driver_container.n_exits == 0) {
        node_world_run_for(world, MS(100));
        n_seen = MAX(n_seen, probed->n_failed_probes);
    }
    SimTime taken = sim_now(world->sim) - from;
    assert_int_equal(n_seen, 4); /* the fifth restarts it */
    assert_in_range(taken, SECONDS(43), SECONDS(53) + MS(100));
    assert_true(probed->registered);
    csi_modelled_driver_set_hung(other, FALSE);
    node_world_run_for(world, SECONDS(60));
    assert_int_equal(probed->n_failed_probes, 0);
    assert_int_equal(probed->driver_container.n_exits, 1);
    cluster_free(g_steal_pointer(&world->cluster));
    csi_driver_free(csi_modelled_driver_base(other));
    world_free(world);
}

/* ---- Limits that change ---- */

typedef struct {
    const char *name;
    const char *gate;
    int minor;
    int period_s;     /* of the CSIDriver; 0: none */
    const char *asks; /* what a limit of 4 makes the kubelet do in a bit more than a period */
    int32_t limit;    /* at last */
} RegistrationLimitCase;

#define UPDATES "NodeGetInfo, UPDATE CSINode"
static const RegistrationLimitCase limit_cases[] = {
    {"no period",       NULL,                             36, 0,  "",      -1},
    {"a period",        NULL,                             36, 60, UPDATES, 4 },
    {"no gate",         NULL,                             34, 60, "",      -1},
    {"the gate set on", "MutableCSINodeAllocatableCount", 34, 60, UPDATES, 4 },
};

/* REG-36, REG-37, API-186 */
static void
limit_is_read_anew(void **state)
{
    const RegistrationLimitCase *row = *state;
    SidecarWorldOptions options = {.seed = 7, .minor = row->minor, .gate_on = row->gate};
    g_autoptr(World) world = world_new(&options);

    Object *driver = object_new(world_key(world, KIND_CSI_DRIVER, WORLD_DRIVER));
    CSI_DRIVER_OBJECT(driver)->attach_required = TRUE;
    CSI_DRIVER_OBJECT(driver)->allocatable_period_s = row->period_s;
    node_world_start(world);
    node_world_run_until(world, SECONDS(2));
    world_create(world, driver);
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(5));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, SECONDS(5));
    g_free(node_world_take_writes(world));
    csi_modelled_driver_set_attach_limit(world->driver, 4);
    node_world_run_for(world, SECONDS(65));
    node_world_assert_writes(world, row->asks);
    assert_int_equal(entry_of(world)->allocatable_count, row->limit);
    /* An unchanged limit is not written. */
    node_world_run_for(world, SECONDS(60));
    node_world_assert_writes(world, row->limit == 4 ? "NodeGetInfo" : "");
    /* An error leaves it as it is. */
    csi_modelled_driver_set_hung(world->driver, TRUE);
    csi_modelled_driver_set_attach_limit(world->driver, 5);
    node_world_run_for(world, SECONDS(60));
    assert_int_equal(entry_of(world)->allocatable_count, row->limit);
    csi_modelled_driver_set_hung(world->driver, FALSE);
    /* A driver that is gone is not asked. */
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(130));
    g_free(node_world_take_writes(world));
    node_world_run_for(world, SECONDS(130));
    node_world_assert_writes(world, "");
}
TEST_ROWS(limit_cases, limit_is_read_anew);

/* ---- Sleeping or polling, the same happens ---- */

static char *
registration_life(uint64_t seed, gboolean polling)
{
    SidecarWorldOptions options = {
        .seed = seed, .recorded_timing = TRUE, .polling = polling, .driver = info_fails_once};
    g_autoptr(World) world = world_new(&options);

    node_world_start(world);
    node_world_run_until(world, SECONDS(3));
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, MS(700));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, SECONDS(30));
    set_registrar(world, REGISTRAR_DEAD);
    node_world_run_for(world, SECONDS(30));
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(3));
    set_registrar(world, REGISTRAR_LISTENS);
    set_registrar(world, REGISTRAR_DEAD);
    node_world_run_for(world, SECONDS(30));
    set_registrar(world, REGISTRAR_HANGS);
    node_world_run_for(world, SECONDS(30));
    return node_world_log(world);
}

TEST(registration_sleeping_equals_polling)
{
    assert_sleeping_equals_polling(registration_life, 5, "");
}

/* Registered: the plugin manager, which looks each second, sleeps. */
TEST(nothing_is_looked_at_for_nothing)
{
    g_autoptr(World) world = world_with_driver(NULL);

    node_world_run_for(world, SECONDS(60));
    uint64_t fired = sim_events_fired(world->sim);
    node_world_run_for(world, SECONDS(3600));
    assert_true(sim_events_fired(world->sim) - fired <= 1); /* the one of node_world_run_for() */
}

/* Returns: (owned): "desired actual", "" while nothing is told */
static char *
count_plugins(World *world)
{
    SimMetrics *metrics = sim_metrics(world->sim);
    g_autoptr(GString) text = g_string_new(NULL);
    GString *counts = g_string_new(NULL);

    sim_metrics_clear(metrics, &metric_families[METRIC_KUBELET_PLUGINS]);
    sim_metrics_collect(metrics, sim_now(world->sim));
    sim_metrics_append_text(metrics, text);
    const char *plugins = strstr(text->str, "\nplugin_manager_total_plugins{");
    const char *desired = plugins == NULL ? NULL : strstr(plugins, "desired_state_of_world\"}");
    const char *actual = plugins == NULL ? NULL : strstr(plugins, "actual_state_of_world\"}");
    if (desired != NULL && actual != NULL)
        g_string_append_printf(counts, "%d %d", atoi(strchr(desired, '}') + 1),
                               atoi(strchr(actual, '}') + 1));
    return g_string_free(counts, FALSE);
}

/* MET-98: a registrar's socket counts as desired, and as actual once its plugin is registered. */
TEST(plugins_are_counted)
{
    g_autoptr(World) world = world_new(&(SidecarWorldOptions){.seed = 7, .measured = TRUE});

    node_world_start(world);
    node_world_run_until(world, SECONDS(2));
    set_registrar(world, REGISTRAR_LISTENS);
    node_world_run_for(world, SECONDS(5));
    g_autofree char *registered = count_plugins(world);
    assert_string_equal(registered, "1 1");
    set_registrar(world, REGISTRAR_GONE);
    node_world_run_for(world, SECONDS(5));
    g_autofree char *gone = count_plugins(world);
    assert_string_equal(gone, "");
}
