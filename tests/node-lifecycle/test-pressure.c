/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "seen.h"
#include "tests/lib/test.h"

/* NL-25: machines that run short of something, and nodes without a network: conditions, taints, and
 * pods that may no longer come. */

#define NODES "  nodes: [{count: 2, name: n-%d}]\n"
#define BEGINS (60 * SIM_SECOND)
#define PODS                                                                                       \
    "  - at: 100s\n    create:\n      manifest:\n"                                                 \
    "      - {apiVersion: v1, kind: Pod, metadata: {name: plain}, spec: {nodeSelector: "           \
    "{kubernetes.io/hostname: n-0}, containers: [{name: c, image: i}]}}\n"                         \
    "      - {apiVersion: v1, kind: Pod, metadata: {name: patient}, spec: {nodeSelector: "         \
    "{kubernetes.io/hostname: n-0}, tolerations: [{operator: Exists, effect: NoSchedule}], "       \
    "containers: [{name: c, image: i}]}}\n"

typedef struct {
    const char *fault;
    NodeTrouble trouble;
    const char *taint;
    const char *begins, *ends;         /* reasons of the condition */
    const char *begin_told, *end_told; /* Events; NULL: none */
    double begin_max_s; /* until the Node says so: a look, then a round of its status */
    double end_min_s, end_max_s;
    gboolean refuses; /* a pod that tolerates the taint */
} PressureTrouble;

/* A look every 10 s, a round every 10 to 10.4 s; what is over counts for 5 minutes from the last
 * look that found it. */
/* clang-format off */
static const PressureTrouble troubles[] = {
    {"memory-pressure", NODE_MEMORY_PRESSURE, "node.kubernetes.io/memory-pressure",
     "KubeletHasInsufficientMemory", "KubeletHasSufficientMemory", "NodeHasInsufficientMemory",
     "NodeHasSufficientMemory", 20.6, 290, 310.6, FALSE},
    {"disk-pressure", NODE_DISK_PRESSURE, "node.kubernetes.io/disk-pressure",
     "KubeletHasDiskPressure", "KubeletHasNoDiskPressure", "NodeHasDiskPressure",
     "NodeHasNoDiskPressure", 20.6, 290, 310.6, TRUE},
    {"pid-pressure", NODE_PID_PRESSURE, "node.kubernetes.io/pid-pressure",
     "KubeletHasInsufficientPID", "KubeletHasSufficientPID", "NodeHasInsufficientPID",
     "NodeHasSufficientPID", 20.6, 290, 310.6, TRUE},
    {"network-unavailable", NODE_NETWORK_UNAVAILABLE, "node.kubernetes.io/network-unavailable",
     "NoRouteCreated", "RouteCreated", NULL, NULL, 0.1, 0, 0.1, FALSE},
};
/* clang-format on */

static void
troubles_have_taints(void **state)
{
    const PressureTrouble *row = *state;
    g_autofree char *spec = g_strconcat("  until: 10m\n" NODES "  workload:\n" PODS
                                        "  faults: [{at: 60s, node: n-0, do: ",
                                        row->fault, ", for: 2m}]\n", NULL);
    g_autoptr(Scenario) scenario = scenario_of(spec);

    for (uint64_t seed = 1; seed <= 10; seed++) {
        Seen *seen = seen_watching(scenario, &(RunOptions){.seed = seed}, row->taint);
        const NodeSeen *node = seen_node(seen, "n-0");
        const PodCondition *after =
            &((const Node *)seen_object(seen, KIND_NODE, "n-0"))->troubles[row->trouble];
        assert_within(node->no_schedule_at, BEGINS, 0, row->begin_max_s);
        assert_within(node->schedulable_at, BEGINS + 120 * SIM_SECOND, row->end_min_s,
                      row->end_max_s);
        assert_true(node->no_execute_at == TIME_UNSET);
        assert_true(seen_node(seen, "n-1")->no_schedule_at == TIME_UNSET);
        assert_int_equal(after->status, CONDITION_FALSE);
        assert_string_equal(after->reason, row->ends);
        if (row->begin_told != NULL) {
            assert_int_equal(seen_n_events(seen, "n-0", row->begin_told, "Node n-0 status is now:"),
                             1);
            assert_int_equal(seen_n_events(seen, "n-0", row->end_told, "Node n-0 status is now:"),
                             1);
        }
        /* One waits until the taint goes. The scheduler sends the other, but a kubelet that is
         * short of disk or process ids takes nobody (EVM-46). */
        if (row->refuses)
            assert_string_equal(POD_CONST(seen_object(seen, KIND_POD, "patient"))->reason,
                                "Evicted");
        else
            assert_within(seen_pod(seen, "patient")->ready_at, 100 * SIM_SECOND, 0, 5);
        assert_within(seen_pod(seen, "plain")->ready_at, node->schedulable_at, 0, 5);
        seen_free(seen);
    }
}
TEST_ROWS(troubles, troubles_have_taints);

/* While it lasts the condition says why; the node takes no pods, and keeps those that it has. */
static void
while_it_lasts(void **state)
{
    const PressureTrouble *row = *state;
    g_autofree char *spec =
        g_strconcat("  until: 5m\n" NODES
                    "  workload:\n  - at: 0s\n    create:\n      manifest:\n" POD_ON("app", "n-0")
                        PODS "  faults: [{at: 60s, node: n-0, do: ",
                    row->fault, "}]\n", NULL);
    g_autoptr(Scenario) scenario = scenario_of(spec);
    Seen *seen = seen_new(scenario, 1);
    const Node *node = (const Node *)seen_object(seen, KIND_NODE, "n-0");
    const Pod *plain = POD_CONST(seen_object(seen, KIND_POD, "plain"));

    assert_int_equal(node->troubles[row->trouble].status, CONDITION_TRUE);
    assert_string_equal(node->troubles[row->trouble].reason, row->begins);
    assert_int_equal(node->taints->n_items, 1);
    assert_string_equal(node->taints->items[0].key, row->taint);
    assert_int_equal(node->taints->items[0].effect, TAINT_NO_SCHEDULE);
    assert_true(pod_is_ready(POD_CONST(seen_object(seen, KIND_POD, "app"))));
    assert_int_equal(plain->phase, POD_PENDING);
    assert_null(plain->node_name);
    seen_free(seen);
}
TEST_ROWS(troubles, while_it_lasts);

/* A shortage that ends before the kubelet looks was never there; one that comes back within the 5
 * minutes never ends. */
TEST(looks_and_transitions)
{
    static const struct {
        const char *title, *kubelet, *faults;
        double ends_min_s, ends_max_s; /* after 60 s; 0: it never began */
    } rows[] = {
        {"told for 5 minutes more",            "",                                      "{at: 60s, node: n-0, do: disk-pressure, for: 1m}", 350,
         370.6                                                                                                                                        },
        {"or as long as is said",              "evictionPressureTransitionPeriod: 60s",
         "{at: 60s, node: n-0, do: disk-pressure, for: 1m}",                                                                                110, 130.6},
        {"it comes back meanwhile",            "",
         "{at: 60s, node: n-0, do: disk-pressure, for: 1m}, {at: 300s, node: n-0, do: "
         "disk-pressure, for: 1m}",                                                                                                         590, 610.6},
        {"the kubelet was away when it ended", "",
         "{at: 60s, node: n-0, do: disk-pressure, for: 1m}, {at: 100s, node: n-0, do: "
         "stop-kubelet, restartAfter: 30s}",                                                                                                70,  72   },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *spec = g_strdup_printf(
            "  until: 20m\n  nodes: [{count: 2, name: n-%%d, kubelet: {%s}}]\n  faults: [%s]\n",
            rows[i].kubelet, rows[i].faults);
        g_autoptr(Scenario) scenario = scenario_of(spec);
        for (uint64_t seed = 1; seed <= 10; seed++) {
            Seen *seen = seen_watching(scenario, &(RunOptions){.seed = seed},
                                       "node.kubernetes.io/disk-pressure");
            assert_within(seen_node(seen, "n-0")->schedulable_at, BEGINS, rows[i].ends_min_s,
                          rows[i].ends_max_s);
            seen_free(seen);
        }
    }
}

/* A look finds a shortage of 5 s in half of all cases: looks are 10 s apart, anywhere. */
TEST(looks_are_ten_seconds_apart)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 2m\n  nodes: [{count: 200, name: n-%d, zones: [a]}]\n"
                    "  faults: [{at: 60s, zone: a, do: pid-pressure, for: 5s}]\n");
    Seen *seen =
        seen_watching(scenario, &(RunOptions){.seed = 1}, "node.kubernetes.io/pid-pressure");
    unsigned n = 0;

    for (unsigned i = 0; i < 200; i++) {
        g_autofree char *name = g_strdup_printf("n-%u", i);
        n += seen_node(seen, name)->no_schedule_at != TIME_UNSET;
    }
    assert_in_range(n, 79, 121); /* three deviations */
    seen_free(seen);
}

/* NL-22: all conditions of a silent node are unknown, its pressure as well, so the taint goes; it
 * is set again when the node is back. */
TEST(silence_hides_pressure)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 5m\n  nodes: [{count: 3, name: n-%d}]\n"
                    "  faults:\n  - {at: 60s, node: n-0, do: memory-pressure}\n"
                    "  - {at: 100s, node: n-0, do: cut-network, for: 100s}\n");

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_watching(scenario, &(RunOptions){.seed = seed},
                                   "node.kubernetes.io/memory-pressure");
        const NodeSeen *node = seen_node(seen, "n-0");
        const Node *back = (const Node *)seen_object(seen, KIND_NODE, "n-0");
        assert_within(node->unknown_at, 100 * SIM_SECOND, 40, 55.5);
        assert_within(node->schedulable_at, node->unknown_at, 0, 0.1);
        assert_int_equal(back->troubles[NODE_MEMORY_PRESSURE].status, CONDITION_TRUE);
        assert_int_equal(back->taints->n_items, 1);
        seen_free(seen);
    }
}

/* The kubelet overwrites a patch by hand in its next round, as real ones do. */
TEST(a_kubelet_knows_better)
{
    g_autoptr(Scenario) scenario = scenario_of(
        "  until: 2m\n" NODES
        "  workload:\n  - at: 60s\n    patch:\n      kind: Node\n      name: n-0\n      patch: "
        "{status: {conditions: [{type: Ready, status: \"True\"}, {type: DiskPressure, status: "
        "\"True\"}]}}\n");

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_watching(scenario, &(RunOptions){.seed = seed},
                                   "node.kubernetes.io/disk-pressure");
        assert_within(seen_node(seen, "n-0")->no_schedule_at, BEGINS, 0, 0.1);
        assert_within(seen_node(seen, "n-0")->schedulable_at, BEGINS, 0, 10.6);
        seen_free(seen);
    }
}

TEST(pressure_sleeping_equals_polling)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 10m\n" NODES "  workload:\n" PODS
                    "  - {at: 70s, cordon: {node: n-1}}\n  - {at: 200s, uncordon: {node: n-1}}\n"
                    "  faults:\n  - {at: 60s, node: n-0, do: memory-pressure, for: 30s}\n"
                    "  - {at: 90s, node: n-1, do: network-unavailable, for: 30s}\n"
                    "  - {at: 95s, node: n-1, do: disk-pressure, for: 3s}\n");

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *one = seen_watching(scenario, &(RunOptions){.seed = seed},
                                  "node.kubernetes.io/memory-pressure");
        Seen *other = seen_watching(scenario, &(RunOptions){.seed = seed, .polling = TRUE},
                                    "node.kubernetes.io/memory-pressure");
        assert_memory_equal(seen_node(one, "n-0"), seen_node(other, "n-0"), sizeof(NodeSeen));
        assert_memory_equal(seen_pod(one, "plain"), seen_pod(other, "plain"), sizeof(PodSeen));
        assert_int_equal(api_server_resource_version(cluster_api(run_cluster(one->run))),
                         api_server_resource_version(cluster_api(run_cluster(other->run))));
        seen_free(one);
        seen_free(other);
    }
}
