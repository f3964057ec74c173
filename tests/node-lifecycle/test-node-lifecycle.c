/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "seen.h"
#include "tests/lib/test.h"

/* Whole clusters in which kubelets die: when nodes are given up, when their pods have to go, and
 * which pods are spared. */

#define ONE_OF_THREE                                                                               \
    "  until: 15m\n"                                                                               \
    "  nodes: [{count: 3, name: n-%d, zones: [a]}]\n"                                              \
    "  workload:\n"                                                                                \
    "  - at: 0s\n"                                                                                 \
    "    create:\n"                                                                                \
    "      manifest:\n" POD_ON("app", "n-0") POD_ON("other", "n-1")

/* NL-50: 40 to 55 s to Unknown (and a pass's work), the taints, 300 s to the deletion; the pod
 * stays. */
TEST(a_dead_node_loses_its_pods)
{
    g_autoptr(Scenario) scenario = scenario_of(
        ONE_OF_THREE "  faults: [{at: 60s, component: kubelet, node: n-0, do: crash}]\n");

    for (uint64_t seed = 1; seed <= 20; seed++) {
        Seen *seen = seen_new(scenario, seed);
        const NodeSeen *dead = seen_node(seen, "n-0");
        const PodSeen *app = seen_pod(seen, "app");
        assert_within(dead->unknown_at, CRASH_AT, 40, 55.5);
        assert_within(dead->no_schedule_at, dead->unknown_at, 0, 0.1);
        assert_within(app->not_ready_at, dead->unknown_at, 0, 0.1);
        assert_within(dead->no_execute_at, dead->unknown_at, 4.9, 5.2);
        assert_within(app->deleted_at, dead->no_execute_at, 300, 300.2);
        assert_true(app->gone_at == TIME_UNSET);
        assert_true(seen_pod(seen, "other")->not_ready_at == TIME_UNSET);
        assert_true(seen_node(seen, "n-1")->unknown_at == TIME_UNSET);
        seen_free(seen);
    }
}

/* NL-S6, NL-43, NL-102: a kubelet that is back in time loses nothing; one that is back later ends
 * the pod. */
TEST(a_kubelet_that_comes_back)
{
    g_autoptr(Scenario) soon = scenario_of(
        ONE_OF_THREE
        "  faults: [{at: 60s, component: kubelet, node: n-0, do: crash, restartAfter: 200s}]\n");
    g_autoptr(Scenario) late = scenario_of(
        ONE_OF_THREE
        "  faults: [{at: 60s, component: kubelet, node: n-0, do: crash, restartAfter: 500s}]\n");

    for (uint64_t seed = 1; seed <= 10; seed++) {
        Seen *seen = seen_new(soon, seed);
        assert_within(seen_node(seen, "n-0")->ready_again_at, CRASH_AT, 200, 202);
        assert_within(seen_node(seen, "n-0")->untainted_at, CRASH_AT, 200, 207);
        assert_within(seen_pod(seen, "app")->ready_again_at, CRASH_AT, 200, 203);
        assert_true(seen_pod(seen, "app")->deleted_at == TIME_UNSET);
        seen_free(seen);
        seen = seen_new(late, seed);
        assert_within(seen_pod(seen, "app")->gone_at, CRASH_AT, 500, 504);
        seen_free(seen);
    }
}

/* NL-37: one every 10 s. NL-34: not if too many of a zone are dead. NL-36: never if all are. */
TEST(zones_protect_themselves)
{
    static const struct {
        unsigned n_nodes, n_dead, n_tainted_min, n_tainted_max;
    } cases[] = {
        {10, 4, 4, 4}, /* NL-V3 */
        {10, 6, 0, 1}, /* before the others are known to be dead, too */
        {3,  2, 2, 2}, /* no more than two are few */
        {1,  1, 0, 0},
        {3,  3, 0, 0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        GString *spec = g_string_new("  until: 3m\n");
        g_string_append_printf(spec, "  nodes: [{count: %u, name: n-%%d, zones: [a]}]\n  faults:\n",
                               cases[i].n_nodes);
        for (unsigned k = 0; k < cases[i].n_dead; k++)
            g_string_append_printf(spec,
                                   "  - {at: 60s, component: kubelet, node: n-%u, do: crash}\n", k);
        g_autoptr(Scenario) scenario = scenario_of(spec->str);
        Seen *seen = seen_new(scenario, 7);
        SimTime first = SIM_TIME_MAX, last = 0;
        unsigned n_tainted = 0;
        for (unsigned k = 0; k < cases[i].n_dead; k++) {
            g_autofree char *name = g_strdup_printf("n-%u", k);
            const NodeSeen *dead = seen_node(seen, name);
            assert_within(dead->unknown_at, CRASH_AT, 40, 55.5);
            if (dead->no_execute_at == TIME_UNSET || dead->untainted_at != TIME_UNSET)
                continue;
            n_tainted++;
            first = MIN(first, dead->no_execute_at);
            last = MAX(last, dead->no_execute_at);
        }
        assert_in_range(n_tainted, cases[i].n_tainted_min, cases[i].n_tainted_max);
        if (n_tainted > 1)
            assert_within(last, first, 10.0 * (n_tainted - 1) - 0.2, 10.0 * (n_tainted - 1) + 5.3);
        seen_free(seen);
        g_string_free(spec, TRUE);
    }
}

/* NL-80: the operator says that the node is off: its pods go with the garbage, and no 6 minutes
 * later. */
TEST(out_of_service)
{
    g_autoptr(Scenario) scenario = scenario_of(
        ONE_OF_THREE
        "  - {at: 150s, patch: {kind: Node, name: n-0, patch: {spec: {taints: [{key: "
        "node.kubernetes.io/out-of-service, value: nodeshutdown, effect: NoExecute}]}}}}\n"
        "  faults: [{at: 60s, component: kubelet, node: n-0, do: crash}]\n");

    for (uint64_t seed = 1; seed <= 10; seed++) {
        Seen *seen = seen_new(scenario, seed);
        assert_within(seen_pod(seen, "app")->deleted_at, 150 * SIM_SECOND, 0, 0.2);
        assert_within(seen_pod(seen, "app")->gone_at, 150 * SIM_SECOND, 0, 20.2);
        seen_free(seen);
    }
}

/* NL-72. */
TEST(pods_without_a_node)
{
    g_autoptr(Scenario) scenario = scenario_of(
        ONE_OF_THREE "  - {at: 61s, delete: {kind: Node, name: n-0}}\n"
                     "  faults: [{at: 60s, component: kubelet, node: n-0, do: crash}]\n");

    for (uint64_t seed = 1; seed <= 10; seed++) {
        Seen *seen = seen_new(scenario, seed);
        assert_within(seen_pod(seen, "app")->gone_at, CRASH_AT, 40, 82);
        assert_true(seen_pod(seen, "other")->gone_at == TIME_UNSET);
        seen_free(seen);
    }
}

TEST(node_lifecycle_sleeping_equals_polling)
{
    g_autoptr(Scenario) scenario = scenario_of(
        ONE_OF_THREE
        "  - {at: 150s, delete: {kind: Node, name: n-1}}\n"
        "  faults: [{at: 60s, component: kubelet, node: n-0, do: crash, restartAfter: 400s}]\n");

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *one = seen_new(scenario, seed);
        Seen *other = seen_new_with(scenario, &(RunOptions){.seed = seed, .polling = TRUE});
        assert_memory_equal(seen_node(one, "n-0"), seen_node(other, "n-0"), sizeof(NodeSeen));
        assert_memory_equal(seen_pod(one, "app"), seen_pod(other, "app"), sizeof(PodSeen));
        assert_memory_equal(seen_pod(one, "other"), seen_pod(other, "other"), sizeof(PodSeen));
        assert_int_equal(api_server_resource_version(cluster_api(run_cluster(one->run))),
                         api_server_resource_version(cluster_api(run_cluster(other->run))));
        seen_free(one);
        seen_free(other);
    }
}

/* NL-25. */
TEST(a_cordoned_node_is_tainted)
{
    g_autoptr(Scenario) scenario = scenario_of(
        "  until: 2m\n"
        "  nodes: [{count: 1, name: n-%d}]\n"
        "  workload:\n"
        "  - {at: 10s, patch: {kind: Node, name: n-0, patch: {spec: {unschedulable: true}}}}\n");
    Seen *seen = seen_new(scenario, 1);
    const ObjectKey *key = objects_find_key(run_objects(seen->run), KIND_NODE, NULL, "n-0");
    const Node *cordoned = (const Node *)api_server_get(cluster_api(run_cluster(seen->run)), key);

    assert_int_equal(cordoned->taints->n_items, 1);
    assert_string_equal(cordoned->taints->items[0].key, "node.kubernetes.io/unschedulable");
    assert_int_equal(cordoned->taints->items[0].effect, TAINT_NO_SCHEDULE);
    seen_free(seen);
}
