/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <string.h>

#include "seen.h"
#include "tests/lib/test.h"

/* The numbers of docs/rules/node-lifecycle.md, one after the other: each is found again in a
 * cluster that lives. */

#define NODES(n) "  nodes: [{count: " #n ", name: n-%d, zones: [a]}]\n"
#define DEAD_N0 "  faults: [{at: 60s, node: n-0, do: stop-kubelet}]\n"
#define POD_WITH(name, spec)                                                                       \
    "  - {at: 0s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: " name           \
    "}, spec: {nodeName: n-0, containers: [{name: c, image: i}]" spec "}}}}\n"
#define TOLERATES(key, seconds)                                                                    \
    "{key: node.kubernetes.io/" key ", operator: Exists, effect: NoExecute" seconds "}"

/* NL-13, NL-41, NL-44: the toleration of a pod decides how long it stays: 300 s without one. */
TEST(pods_stay_as_long_as_they_tolerate)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 20m\n" NODES(3) "  workload:\n" POD_WITH("silent", "") POD_WITH(
            "minute", ", tolerations: [" TOLERATES("unreachable", ", tolerationSeconds: 60") "]")
                        POD_WITH("zero", ", tolerations: [" TOLERATES("unreachable",
                                                                      ", tolerationSeconds: 0") "]")
                            POD_WITH("ever", ", tolerations: [{operator: Exists}]") DEAD_N0);

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_new(scenario, seed);
        SimTime tainted_at = seen_node(seen, "n-0")->no_execute_at;
        const Pod *silent = POD_CONST(seen_object(seen, KIND_POD, "silent"));
        const Pod *ever = POD_CONST(seen_object(seen, KIND_POD, "ever"));
        assert_within(seen_pod(seen, "silent")->deleted_at, tainted_at, 300, 300.3);
        assert_within(seen_pod(seen, "minute")->deleted_at, tainted_at, 60, 60.3);
        assert_within(seen_pod(seen, "zero")->deleted_at, tainted_at, 0, 0.3);
        assert_true(seen_pod(seen, "ever")->deleted_at == TIME_UNSET);
        assert_int_equal(silent->spec->tolerations->n_items, 2);
        assert_int_equal(silent->spec->tolerations->items[0].seconds, 300);
        assert_string_equal(silent->spec->tolerations->items[0].key,
                            "node.kubernetes.io/not-ready");
        assert_string_equal(silent->spec->tolerations->items[1].key,
                            "node.kubernetes.io/unreachable");
        assert_int_equal(ever->spec->tolerations->n_items, 1);
        assert_int_equal(
            POD_CONST(seen_object(seen, KIND_POD, "minute"))->spec->tolerations->n_items, 2);
        assert_int_equal(seen_n_events(seen, "silent", "TaintManagerEviction", "Marking"), 1);
        /* NL-60: it stays, and nobody takes it away. */
        assert_true(object_is_deleted(&silent->meta));
        assert_string_equal(silent->disruption.reason, "DeletionByTaintManager");
        seen_free(seen);
    }
}

#define FOR_A_WHILE(key, seconds)                                                                  \
    "{key: " key ", operator: Exists, effect: NoExecute, tolerationSeconds: " #seconds "}"

/* NL-41: of several taints the shortest toleration counts, in whichever order they come. */
TEST(the_shortest_toleration_counts)
{
    static const char *const taints[] = {"a=x:NoExecute, b=x:NoExecute",
                                         "b=x:NoExecute, a=x:NoExecute"};

    for (unsigned i = 0; i < G_N_ELEMENTS(taints); i++) {
        g_autofree char *spec =
            g_strconcat("  until: 10m\n  nodes: [{name: n-0}]\n  workload:\n" POD_WITH(
                            "p", ", tolerations: [" FOR_A_WHILE("a", 200) ", " FOR_A_WHILE(
                                     "b", 60) "]") "  - {at: 60s, taint: {node: n-0, taints: [",
                        taints[i], "]}}\n", NULL);
        g_autoptr(Scenario) scenario = scenario_of(spec);
        Seen *seen = seen_new(scenario, 1);
        assert_within(seen_pod(seen, "p")->deleted_at, 60 * SIM_SECOND, 60, 60.3);
        seen_free(seen);
    }
}

/* NL-5, NL-52, NL-V2: 50 s from 1.32 on, 40 before. NL-6: see test-numbers.c. */
TEST(grace_depends_on_the_release)
{
    static const struct {
        const char *extra;
        double min_s, max_s;
    } cases[] = {
        {"",                                                                             40, 55.5 },
        {"  kubernetes: {version: \"1.31\"}\n",                                          30, 45.5 },
        {"  components: {kube-controller-manager: {node-monitor-grace-period: 100s}}\n", 90, 105.5},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *spec =
            g_strconcat("  until: 5m\n" NODES(3), cases[i].extra, DEAD_N0, NULL);
        g_autoptr(Scenario) scenario = scenario_of(spec);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            Seen *seen = seen_new(scenario, seed);
            assert_within(seen_node(seen, "n-0")->unknown_at, CRASH_AT, cases[i].min_s,
                          cases[i].max_s);
            seen_free(seen);
        }
    }
}

/* NL-4, NL-20, NL-21, NL-24, NL-30: Unknown and the taint come in passes, 5 s and the work of a
 * pass apart. */
TEST(passes_keep_their_grid)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 5m\n" NODES(4) "  faults:\n"
                                             "  - {at: 60s, node: n-0, do: stop-kubelet}\n"
                                             "  - {at: 97s, node: n-1, do: stop-kubelet}\n");

    for (uint64_t seed = 1; seed <= 10; seed++) {
        Seen *seen = seen_new(scenario, seed);
        const NodeSeen *first = seen_node(seen, "n-0"), *second = seen_node(seen, "n-1");
        double passes = (double)(second->unknown_at - first->unknown_at) / (5.001 * SIM_SECOND);
        assert_true(passes - (double)(int)(passes + 0.5) < 0.02 &&
                    (double)(int)(passes + 0.5) - passes < 0.02);
        assert_within(first->no_execute_at, first->unknown_at, 4.9, 5.2);
        seen_free(seen);
    }
}

typedef struct {
    const char *what;
    unsigned n_nodes, n_dead;
    const char *extra;
    unsigned n_tainted_min, n_tainted_max;
    double apart_s; /* between two taints; 0: whatever */
} ZoneCase;

/* NL-7, NL-8, NL-9, NL-10, NL-31, NL-34, NL-35, NL-37, NL-V3, NL-V4. Ten minutes after the crash */
/* clang-format off */
static const ZoneCase zone_cases[] = {
    {"one in 10 s", 10, 4, "", 4, 4, 10},
    {"one in 10 s, and never more at once", 60, 20, "", 20, 20, 10},
    {"none of a small zone in which many are dead", 10, 6, "", 0, 1, 0},
    {"54 % are not many", 50, 27, "", 27, 27, 10},
    {"56 % are, once all of them are known to be", 50, 28, "", 0, 2, 0},
    {"two are never many", 3, 2, "", 2, 2, 10},
    {"one in 100 s of a large zone, but for the first", 100, 60, "", 6, 8, 0},
    {"the flags say otherwise", 10, 6,
     "  components: {kube-controller-manager: {unhealthy-zone-threshold: 0.7, node-eviction-rate: 0.05}}\n",
     6, 6, 20},
    {"what is excluded does not count", 10, 6,
     "  workload:\n  - {at: 1s, patch: {kind: Node, name: n-0, patch: {metadata: {labels: {node.kubernetes.io/exclude-disruption: \"\"}}}}}\n",
     0, 10, 0},
};
/* clang-format on */

static void
zones_have_their_rates(void **state)
{
    const ZoneCase *row = *state;
    GString *spec = g_string_new("  until: 660s\n");
    unsigned n_tainted = 0;
    SimTime first = SIM_TIME_MAX, last = 0;

    g_string_append_printf(spec, "  nodes: [{count: %u, name: n-%%d, zones: [a]}]\n%s  faults:\n",
                           row->n_nodes, row->extra);
    for (unsigned i = 0; i < row->n_dead; i++)
        g_string_append_printf(spec, "  - {at: 60s, node: n-%u, do: stop-kubelet}\n", i);
    g_autoptr(Scenario) scenario = scenario_of(spec->str);
    Seen *seen = seen_new(scenario, 3);
    for (unsigned i = 0; i < row->n_dead; i++) {
        g_autofree char *name = g_strdup_printf("n-%u", i);
        const NodeSeen *dead = seen_node(seen, name);
        if (dead->no_execute_at == TIME_UNSET)
            continue;
        n_tainted++;
        first = MIN(first, dead->no_execute_at);
        last = MAX(last, dead->no_execute_at);
    }
    assert_in_range(n_tainted, row->n_tainted_min, row->n_tainted_max);
    if (row->apart_s > 0)
        assert_within(last, first, row->apart_s * (n_tainted - 1) - 0.2,
                      row->apart_s * (n_tainted - 1) + 5.4);
    seen_free(seen);
    g_string_free(spec, TRUE);
}
TEST_ROWS(zone_cases, zones_have_their_rates);

/* NL-33, NL-36: zones are judged one by one; when all are dead no pod is evicted, and tainted nodes
 * lose the taint. */
TEST(zones_are_judged_one_by_one)
{
    g_autoptr(Scenario) scenario = scenario_of("  until: 10m\n"
                                               "  nodes: [{count: 6, name: n-%d, zones: [a, b]}]\n"
                                               "  faults:\n"
                                               "  - {at: 60s, zone: a, do: stop-kubelet}\n"
                                               "  - {at: 200s, zone: b, do: stop-kubelet}\n");

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_new(scenario, seed);
        SimTime first = TIME_UNSET;
        for (unsigned i = 0; i < 6;
             i += 2) { /* a whole zone, while another is well: at the usual rate */
            g_autofree char *name = g_strdup_printf("n-%u", i);
            const NodeSeen *dead = seen_node(seen, name);
            assert_true(dead->no_execute_at != TIME_UNSET);
            first = first == TIME_UNSET ? dead->no_execute_at : MIN(first, dead->no_execute_at);
            assert_within(dead->untainted_at, 200 * SIM_SECOND, 40, 62);
        }
        for (unsigned i = 1; i < 6; i += 2) {
            g_autofree char *name = g_strdup_printf("n-%u", i);
            assert_within(seen_node(seen, name)->unknown_at, 200 * SIM_SECOND, 40, 55.5);
            /* A node that was known to be dead before all were may have been tainted, but not for
             * long. */
            if (seen_node(seen, name)->no_execute_at != TIME_UNSET)
                assert_within(seen_node(seen, name)->untainted_at,
                              seen_node(seen, name)->no_execute_at, 0, 20);
        }
        seen_free(seen);
    }
}

/* NL-27, NL-72, NL-100, NL-101, NL-S7: a Node that goes and its kubelet; NL-26, NL-102: both come
 * back. */
TEST(a_node_is_deleted)
{
    g_autoptr(Scenario) scenario = scenario_of("  until: 10m\n" NODES(
        3) "  drivers: [{name: csi.lab}]\n"
           "  workload:\n" POD_WITH(
               "app",
               "") "  - {at: 61s, delete: {kind: Node, name: n-0}}\n"
                   "  faults: [{at: 60s, node: n-0, do: stop-kubelet, restartAfter: 200s}]\n");

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_new(scenario, seed);
        const Node *back = (const Node *)seen_object(seen, KIND_NODE, "n-0");
        assert_within(seen_pod(seen, "app")->gone_at, 61 * SIM_SECOND, 40, 81);
        assert_int_equal(seen_n_events(seen, "n-0", "RemovingNode", "Removing Node n-0 from"), 1);
        assert_int_equal(seen_n_events(seen, "n-0", "RegisteredNode", "Registered Node n-0 in"), 1);
        assert_int_equal(seen_n_events(seen, "n-1", "RegisteredNode", NULL), 0);
        assert_non_null(back);
        assert_true(back->taints == NULL); /* it had one, until it was looked at */
        assert_true(back->meta.created_at > 260 * SIM_SECOND);
        assert_non_null(seen_object(seen, KIND_CSI_NODE, "n-0"));
        assert_true(seen_object(seen, KIND_CSI_NODE, "n-0")->created_at > 260 * SIM_SECOND);
        seen_free(seen);
    }
}

/* NL-15, NL-70: of many pods that are over the oldest go, 20 s later at most. */
TEST(pods_that_are_over_are_garbage)
{
    GString *spec = g_string_new("  until: 3m\n" NODES(
        2) "  components: {kube-controller-manager: {terminated-pod-gc-threshold: 3}}\n"
           "  workload:\n");

    for (unsigned i = 0; i < 8; i++)
        g_string_append_printf(
            spec,
            "  - {at: %us, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: p-%u}, "
            "spec: {nodeName: n-0, containers: [{name: c, image: i}]}}}}\n"
            "  - {at: 60s, patch: {kind: Pod, name: p-%u, patch: {status: {phase: Failed}}}}\n",
            i, i, i);
    g_autoptr(Scenario) scenario = scenario_of(spec->str);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_new(scenario, seed);
        for (unsigned i = 0; i < 8; i++) {
            g_autofree char *name = g_strdup_printf("p-%u", i);
            if (i < 5)
                assert_within(seen_pod(seen, name)->gone_at, 60 * SIM_SECOND, 0, 22);
            else
                assert_true(seen_pod(seen, name)->gone_at == TIME_UNSET);
        }
        seen_free(seen);
    }
    g_string_free(spec, TRUE);
}

/* NL-73: only the garbage collector removes a pod that was deleted before it had a node. */
TEST(pods_without_a_place_are_garbage)
{
    g_autoptr(Scenario) scenario = scenario_of("  until: 2m\n" NODES(
        1) "  workload:\n"
           "  - {at: 1s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: lost}, "
           "spec: "
           "{nodeSelector: {no: node}, containers: [{name: c, image: i}]}}}}\n"
           "  - {at: 30s, delete: {kind: Pod, name: lost}}\n");

    for (uint64_t seed = 1; seed <= 5; seed++) {
        Seen *seen = seen_new(scenario, seed);
        assert_within(seen_pod(seen, "lost")->gone_at, 30 * SIM_SECOND, 0, 20.2);
        seen_free(seen);
    }
}

/* NL-80, NL-81, NL-82: the taint on a node that is well evicts all the same; and it stays. */
TEST(out_of_service_on_a_ready_node)
{
    g_autoptr(Scenario) scenario = scenario_of("  until: 3m\n" NODES(2) "  workload:\n" POD_WITH(
        "app", "") "  - {at: 60s, patch: {kind: Node, name: n-0, patch: {spec: {taints: [{key: "
                   "node.kubernetes.io/out-of-service, effect: NoExecute}]}}}}\n");
    Seen *seen = seen_new(scenario, 1);
    const Node *node = (const Node *)seen_object(seen, KIND_NODE, "n-0");

    assert_within(seen_pod(seen, "app")->deleted_at, 60 * SIM_SECOND, 0, 0.2);
    assert_within(seen_pod(seen, "app")->gone_at, 60 * SIM_SECOND, 0, 4); /* by its kubelet */
    assert_int_equal(node->taints->n_items, 1);
    seen_free(seen);
}

#define SHUT_DOWN(grace)                                                                           \
    "  until: 4m\n  nodes: [{count: 2, name: n-%d, kubelet: {" grace "}}]\n"                       \
    "  workload:\n" POD_WITH("app", "") POD_WITH(                                                  \
        "critical", ", priority: 2000000000") "  faults: [{at: 60s, node: n-0, do: shut-down}]\n"

/* NL-90, NL-91, NL-92, NL-93, NL-94; NL-S2 and then NL-S3: the node says that it is not ready, then
 * nothing. */
TEST(a_machine_is_shut_down)
{
    g_autoptr(Scenario) graceful =
        scenario_of(SHUT_DOWN("shutdownGracePeriod: 60s, shutdownGracePeriodCriticalPods: 20s"));
    g_autoptr(Scenario) sudden = scenario_of(SHUT_DOWN(""));
    Seen *seen = seen_new(graceful, 1);
    static const char *const names[] = {"app", "critical"};

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        const Pod *pod = POD_CONST(seen_object(seen, KIND_POD, names[i]));
        assert_int_equal(pod->phase, POD_FAILED);
        assert_string_equal(pod->reason, "Terminated");
        assert_string_equal(pod->message,
                            "Pod was terminated in response to imminent node shutdown.");
        assert_string_equal(pod->disruption.reason, "TerminationByKubelet");
        assert_within(seen_pod(seen, names[i])->not_ready_at, 60 * SIM_SECOND, 0, 4);
    }
    assert_within(seen_node(seen, "n-0")->unknown_at, 60 * SIM_SECOND, 40, 60);
    assert_true(seen_pod(seen, "critical")->not_ready_at > seen_pod(seen, "app")->not_ready_at);
    seen_free(seen);
    seen = seen_new(sudden, 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        assert_int_equal(POD_CONST(seen_object(seen, KIND_POD, names[i]))->phase, POD_RUNNING);
        assert_within(seen_pod(seen, names[i])->not_ready_at, 60 * SIM_SECOND, 40,
                      55.6); /* NL-23 */
    }
    seen_free(seen);
}

/* ---- Volumes of a dead node ---- */

#define SET_WITH_VOLUME                                                                            \
    "  - at: 1s\n    create:\n      manifest:\n"                                                   \
    "      - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "           \
    "provisioner: csi.lab}\n"                                                                      \
    "      - apiVersion: apps/v1\n        kind: StatefulSet\n        metadata: {name: web}\n"      \
    "        spec:\n          replicas: 1\n          serviceName: web\n"                           \
    "          selector: {matchLabels: {app: web}}\n"                                              \
    "          template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: "   \
    "i, "                                                                                          \
    "volumeMounts: [{name: d, mountPath: /d}]}]}}\n"                                               \
    "          volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], " \
    "storageClassName: sc, resources: {requests: {storage: 1Gi}}}}]\n"

/* NL-16, NL-60, NL-61, NL-62, NL-63, NL-64, NL-65, NL-V5: a pod deleted by force leaves its volume
 * attached for 6 minutes more; the taint ends that at once. NL-S1, NL-S3, NL-S4, NL-S5: and the
 * node goes all the way. */
TEST(volumes_of_a_dead_node)
{
    static const struct {
        const char *action;
        double min_s, max_s; /* from the action to the pod that is ready elsewhere */
    } cases[] = {
        {"  - {at: 200s, delete: {kind: Pod, name: web-0, gracePeriodSeconds: 0}}\n", 360, 385},
        {"  - {at: 200s, patch: {kind: Node, name: n-0, patch: {spec: {taints: [{key: "
         "node.kubernetes.io/out-of-service, effect: NoExecute}]}}}}\n",     0,   45 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *spec = g_strconcat(
            "  until: 15m\n" NODES(
                3) "  drivers: [{name: csi.lab}]\n"
                   "  workload:\n"
                   "  - {at: 0s, patch: {kind: Node, name: n-1, patch: {spec: {unschedulable: "
                   "true}}}}\n"
                   "  - {at: 0s, patch: {kind: Node, name: n-2, patch: {spec: {unschedulable: "
                   "true}}}}\n"
                   "  - {at: 50s, patch: {kind: Node, name: n-1, patch: {spec: {unschedulable: "
                   "false}}}}\n" SET_WITH_VOLUME,
            cases[i].action, "  faults: [{at: 60s, node: n-0, do: power-off}]\n", NULL);
        g_autoptr(Scenario) scenario = scenario_of(spec);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            Seen *seen = seen_new(scenario, seed);
            const Pod *pod = POD_CONST(seen_object(seen, KIND_POD, "web-0"));
            assert_string_equal(pod->node_name, "n-1");
            assert_true(pod_is_ready(pod));
            assert_within(pod->ready.changed_at, 200 * SIM_SECOND, cases[i].min_s, cases[i].max_s);
            if (i == 0)
                assert_int_equal(seen_n_events(seen, "web-0", "FailedAttachVolume", "Multi-Attach"),
                                 1);
            seen_free(seen);
        }
    }
}
