/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/kubelet/plugin-manager/plugin-manager.h"
#include "node-world.h"
#include "tests/lib/test.h"

/* A second driver, which registers before the start or later, on some nodes or all, and takes a
 * taint away. */

#define SECONDS(n) ((n)*SIM_SECOND)
#define MS(n) ((n)*SIM_MS)

static void *
second_driver_no_options(void *data, const ProcessClass *class)
{
    (void)data, (void)class;
    return NULL;
}

static CsiModelledDriver *
add_plugin(World *world, const char *name, const NodePluginOptions *plugin, int32_t limit)
{
    static const char *const nodes[] = {"a", "b"};
    StringPair pair = {world_intern(world, "topology.other/rack"), world_intern(world, "r1")};
    g_autoptr(StringMap) segments = string_map_new(&pair, 1);
    CsiModelledOptions options;

    csi_modelled_options_init(&options);
    options.name = name;
    options.attach_limit = limit;
    CsiModelledDriver *driver = csi_modelled_driver_new(world->sim, world->strings, &options, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++)
        csi_modelled_driver_add_node(driver, world_intern(world, nodes[i]),
                                     world_intern(world, "id-1"), segments);
    cluster_add_driver(world->cluster, csi_modelled_driver_base(driver), name, plugin,
                       second_driver_no_options, NULL);
    return driver;
}

/* A second driver, whose plugin runs where @selector says and registers after @delay; -1: before
 * the start. */
static CsiModelledDriver *
add_driver(World *world, const char *name, StringMap *selector, SimTime delay)
{
    NodePluginOptions plugin = {
        .node_selector = selector,
        .registers_after = delay < 0 ? NULL : world_constant(world, delay),
    };

    return add_plugin(world, name, &plugin, 5);
}

static void
assert_registered(World *world, const char *driver)
{
    const CsiNode *csi_node = (const CsiNode *)world_get(world, KIND_CSI_NODE, "a");
    const Object *node = world_get(world, KIND_NODE, "a");
    const CsiNodeDriver *entry = csi_node_find_driver(csi_node, world_intern(world, driver));

    assert_non_null(entry);
    assert_string_equal(entry->node_id, "id-1");
    assert_int_equal(entry->allocatable_count, 5);
    assert_int_equal(entry->topology_keys->n_items, 1);
    assert_string_equal(entry->topology_keys->items[0], "topology.other/rack");
    assert_string_equal(object_label(node, world_intern(world, "topology.other/rack")), "r1");
    assert_string_equal(object_annotation(node, "csi.volume.kubernetes.io/nodeid"),
                        "{\"other.test\":\"id-1\"}");
}

TEST(registered_from_the_start)
{
    World *world = world_new(&(SidecarWorldOptions){.seed = 7});
    CsiModelledDriver *other = add_driver(world, "other.test", NULL, -1);

    node_world_start(world);
    assert_registered(world, "other.test"); /* before anything happens */
    node_world_run_for(world, SIM_SECOND);
    node_world_assert_writes(world, "");
    cluster_free(g_steal_pointer(&world->cluster));
    csi_driver_free(csi_modelled_driver_base(other));
    world_free(world);
}

/* REG-V1 */
TEST(registers_later)
{
    World *world = world_new(&(SidecarWorldOptions){.seed = 7});
    CsiModelledDriver *other = add_driver(world, "other.test", NULL, 2 * SIM_SECOND);

    node_world_start(world);
    node_world_run_until(world, SIM_SECOND);
    node_world_assert_writes(world, "");
    node_world_run_until(world, 3 * SIM_SECOND);
    node_world_assert_writes(world, "PATCH_STATUS Node, UPDATE CSINode");
    assert_registered(world, "other.test");
    cluster_free(g_steal_pointer(&world->cluster));
    csi_driver_free(csi_modelled_driver_base(other));
    world_free(world);
}

/* ---- A taint of the node, which the driver takes away ---- */

#define STARTUP_TAINT "other.test/agent-not-ready"

typedef struct {
    const char *name;
    SimTime delay;     /* of the registration; -1: before the start */
    int32_t limit;     /* of the driver; 0: it tells none */
    gboolean is_other; /* the node's taint has another key */
    const char *writes;
    SimTime gone_at; /* the taint; -1: it stays */
} SecondDriverTaintCase;

#define LATER "PATCH_STATUS Node, UPDATE CSINode"
static const SecondDriverTaintCase taint_cases[] = {
    {"registered at the start",  -1,         5, FALSE, "",                   0         },
    {"a second after its start", SECONDS(2), 5, FALSE, LATER ", PATCH Node", SECONDS(3)},
    {"without a limit",          SECONDS(2), 0, FALSE, LATER,                -1        },
    {"of another key",           SECONDS(2), 5, TRUE,  LATER,                -1        },
};

static gboolean
add_taints(Object *node, const void *first)
{
    const Taint *taint = first;
    Taint taints[] = {
        *taint, {.key = "kept", .value = "", .added_at = TIME_UNSET}
    };

    taints_unref(NODE(node)->taints);
    NODE(node)->taints = taints_new(taints, G_N_ELEMENTS(taints));
    return TRUE;
}

static unsigned
n_taints(World *world)
{
    const Node *node = (const Node *)world_get(world, KIND_NODE, "a");

    return node->taints == NULL ? 0 : node->taints->n_items;
}

/* REG-39, REG-40, REG-41: other taints stay. A driver without a limit is asked ten times, in vain.
 */
static void
driver_takes_its_taint_away(void **state)
{
    const SecondDriverTaintCase *row = *state;
    World *world = world_new(&(SidecarWorldOptions){.seed = 7});
    NodePluginOptions plugin = {
        .registers_after = row->delay < 0 ? NULL : world_constant(world, row->delay),
        .removes_taint = STARTUP_TAINT,
    };
    CsiModelledDriver *other = add_plugin(world, "other.test", &plugin, row->limit);
    Taint taint = {world_intern(world, row->is_other ? "other" : STARTUP_TAINT), "",
                   TAINT_NO_EXECUTE, TIME_UNSET};

    world_edit(world, KIND_NODE, "a", add_taints, &taint);
    node_world_start(world);
    if (row->gone_at > 0) {
        node_world_run_until(world, row->gone_at - MS(1));
        assert_int_equal(n_taints(world), 2);
    }
    node_world_run_until(world, SECONDS(4));
    assert_int_equal(n_taints(world), row->gone_at < 0 ? 2 : 1);
    node_world_run_until(world, SECONDS(600));
    assert_int_equal(n_taints(world), row->gone_at < 0 ? 2 : 1);
    node_world_assert_writes(world, row->writes);
    cluster_free(g_steal_pointer(&world->cluster));
    csi_driver_free(csi_modelled_driver_base(other));
    world_free(world);
}
TEST_ROWS(taint_cases, driver_takes_its_taint_away);

/* REG-28: the words for a pod on a node without the driver's plugin. */
TEST(no_plugin_on_the_node)
{
    World *world = world_new(&(SidecarWorldOptions){.seed = 7});
    StringPair pair = {world_intern(world, WORLD_ZONE), world_intern(world, "b")};
    StringMap *selector = string_map_new(&pair, 1);
    CsiModelledDriver *other = add_driver(world, "other.test", selector, -1);

    node_world_add_foreign_volume(world, "v", "other.test");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 15 * SIM_SECOND);
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
    assert_non_null(strstr(
        events, "MountVolume.MountDevice failed for volume \"v\" : kubernetes.io/csi: "
                "attacher.MountDevice failed to create newCsiDriverClient: driver name other.test "
                "not found in the list of registered CSI drivers"));
    cluster_free(g_steal_pointer(&world->cluster));
    csi_driver_free(csi_modelled_driver_base(other));
    string_map_unref(selector);
    world_free(world);
}

/* Nodes without the label have no such plugin. */
TEST(on_some_nodes_only)
{
    World *world = world_new(&(SidecarWorldOptions){.seed = 7});
    StringPair pair = {world_intern(world, WORLD_ZONE), world_intern(world, "b")};
    StringMap *selector = string_map_new(&pair, 1);
    CsiModelledDriver *other = add_driver(world, "other.test", selector, -1);
    const char *name = world_intern(world, "other.test");

    node_world_start(world);
    node_world_start_node(world, "b");
    assert_null(csi_node_find_driver((const CsiNode *)world_get(world, KIND_CSI_NODE, "a"), name));
    assert_non_null(
        csi_node_find_driver((const CsiNode *)world_get(world, KIND_CSI_NODE, "b"), name));
    cluster_free(g_steal_pointer(&world->cluster));
    csi_driver_free(csi_modelled_driver_base(other));
    string_map_unref(selector);
    world_free(world);
}
