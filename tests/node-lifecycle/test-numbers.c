/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "models/cluster/kube-controller-manager.h"
#include "models/kubelet/kubelet.h"
#include "seen.h"
#include "tests/lib/test.h"

/* Periods, limits and thresholds of docs/rules/node-lifecycle.md and workloads.md that no other
 * test pins down: each with bounds that another number would miss. */

typedef struct {
    ApiVerb verb;
    const char *client;
    GArray *at; /* of SimTime: when this client asked so about a pod */
} NodeLifecycleNumbersAsked;

static void
note_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    NodeLifecycleNumbersAsked *asked = data;

    (void)code;
    if (request->verb == asked->verb && request->key->kind == KIND_POD &&
        g_strcmp0(request->client, asked->client) == 0)
        g_array_append_val(asked->at, arrived_at);
}

/* ---- Defaults of flags ---- */

typedef struct {
    const char *rule;
    const ProcessClass *process;
    const char *flag, *value;
} NumbersFlagCase;

static const NumbersFlagCase flags[] = {
    {"NL-3",  &kubelet_process,                 "nodeStatusUpdateFrequency",        "10s"  },
    {"NL-3",  &kubelet_process,                 "nodeStatusReportFrequency",        "5m"   },
    {"NL-4",  &kube_controller_manager_process, "node-monitor-period",              "5s"   },
    {"NL-5",  &kube_controller_manager_process, "node-monitor-grace-period",        "50s"  },
    {"NL-6",  &kube_controller_manager_process, "node-startup-grace-period",        "60s"  },
    {"NL-7",  &kube_controller_manager_process, "node-eviction-rate",               "0.1"  },
    {"NL-8",  &kube_controller_manager_process, "secondary-node-eviction-rate",     "0.01" },
    {"NL-9",  &kube_controller_manager_process, "unhealthy-zone-threshold",         "0.55" },
    {"NL-10", &kube_controller_manager_process, "large-cluster-size-threshold",     "50"   },
    {"NL-15", &kube_controller_manager_process, "terminated-pod-gc-threshold",      "12500"},
    {"NL-25", &kubelet_process,                 "evictionPressureTransitionPeriod", "5m"   },
    {"NL-90", &kubelet_process,                 "shutdownGracePeriod",              "0s"   },
    {"NL-92", &kubelet_process,                 "shutdownGracePeriodCriticalPods",  "0s"   },
};

TEST(flags_have_kubernetes_defaults)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        const ProcessFlag *flag = process_class_flag(flags[i].process, flags[i].flag);
        if (flag == NULL || strcmp(flag->default_value, flags[i].value) != 0)
            fail_msg("%s: %s", flags[i].rule, flags[i].flag);
    }
}

/* ---- Kubelets ---- */

static const char *
node_name(const Seen *seen, unsigned i)
{
    return strings_internf(objects_strings(run_objects(seen->run)), "n-%u", i);
}

/* NL-1, NL-2: of 400 kubelets that die at one instant the last renewal was up to 10.2 s ago, 5.1 s
 * in the mean: a wait of 10 s, and up to 4 % more. The lease's own 40 s play no part: NL-5 counts
 * from the renewal. */
TEST(leases_are_renewed_every_ten_seconds)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 2m\n  nodes: [{count: 400, name: n-%d, zones: [a]}]\n"
                    "  faults: [{at: 60s, zone: a, do: stop-kubelet}]\n");
    Seen *seen = seen_new(scenario, 1);
    SimTime longest = 0, sum = 0;

    for (unsigned i = 0; i < 400; i++) {
        SimTime age = CRASH_AT - cluster_last_renewal(run_cluster(seen->run), node_name(seen, i));
        assert_true(age >= 0);
        longest = MAX(longest, age);
        sum += age;
    }
    assert_in_range(longest, 10100 * SIM_MS, 10200 * SIM_MS);
    assert_in_range(sum / 400, 4650 * SIM_MS, 5550 * SIM_MS); /* three deviations */
    seen_free(seen);
}

/* NL-3: a kubelet looks at its own status every 10 s, and up to 4 % more; the Node shows the result
 * then. */
TEST(status_is_looked_at_every_ten_seconds)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 2m\n  nodes: [{count: 300, name: n-%d}]\n"
                    "  workload: [{at: 60s, cordon: {node: \"n-*\"}}]\n");
    Seen *seen = seen_new(scenario, 1);
    SimTime longest = 0, sum = 0;

    for (unsigned i = 0; i < 300; i++) {
        SimTime at =
            seen_event_at(seen, node_name(seen, i), "NodeNotSchedulable") - 60 * SIM_SECOND;
        longest = MAX(longest, at);
        sum += at;
    }
    /* 10.4 s and the report's own 25 ms; the cordons, one after another, take more than a second */
    assert_in_range(longest, 9900 * SIM_MS, 11500 * SIM_MS);
    assert_in_range(sum / 300, 4700 * SIM_MS, 6300 * SIM_MS);
    seen_free(seen);
}

/* NL-6: a Node whose kubelet never posted a status: 60 s from its last renewal, and a pass. NL-22
 * in other words. */
TEST(a_node_that_never_spoke)
{
    g_autoptr(Scenario) scenario = scenario_of(
        "  until: 4m\n  nodes: [{count: 3, name: n-%d}]\n"
        "  workload:\n  - at: 10s\n    create: {manifest: {apiVersion: v1, kind: Node, metadata: "
        "{name: mute}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}}\n"
        "  faults: [{at: 60s, node: mute, do: stop-kubelet}]\n");
    SimTime first = SIM_TIME_MAX, last = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        Seen *seen = seen_new(scenario, seed);
        SimTime at = seen_node(seen, "mute")->unknown_at;
        const Node *node = (const Node *)seen_object(seen, KIND_NODE, "mute");
        assert_within(at, CRASH_AT, 60 - 10.2, 65.1);
        assert_string_equal(node->ready.reason, "NodeStatusNeverUpdated");
        assert_string_equal(node->ready.message, "Kubelet never posted node status.");
        assert_string_equal(node->troubles[NODE_PID_PRESSURE].reason, "NodeStatusNeverUpdated");
        first = MIN(first, at);
        last = MAX(last, at);
        seen_free(seen);
    }
    assert_true(first < CRASH_AT + 54 * SIM_SECOND && last > CRASH_AT + 60 * SIM_SECOND);
}

/* ---- The node controller ---- */

/* NL-11, NL-31: a token that is there between two rounds of the loop, 100.6 ms apart, is used in
 * the next: at 0.3 nodes a second taints are not 3.333 but 3.42 s apart. */
TEST(tainting_loop_has_rounds_of_100_ms)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 4m\n  nodes: [{count: 10, name: n-%d}]\n"
                    "  components: {kube-controller-manager: {node-eviction-rate: 0.3}}\n"
                    "  faults:\n  - {at: 60s, node: n-0, do: power-off}\n  - {at: 60s, node: n-1, "
                    "do: power-off}\n");
    double sum = 0;
    unsigned n = 0;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        Seen *seen = seen_new(scenario, seed);
        const NodeSeen *a = seen_node(seen, "n-0"), *b = seen_node(seen, "n-1");
        double apart =
            (double)MAX(a->no_execute_at - b->no_execute_at, b->no_execute_at - a->no_execute_at) /
            (double)SIM_SECOND;
        if (a->unknown_at / SIM_SECOND == b->unknown_at / SIM_SECOND) { /* in the same pass */
            sum += apart;
            n++;
        }
        seen_free(seen);
    }
    assert_true(n > 5);
    if (sum / n < 3.415 || sum / n > 3.425) /* 34 passes of 100.6 ms */
        fail_msg("%.4f s apart", sum / n);
}

/* NL-8, NL-10: large is more than 50 nodes. */
TEST(a_zone_of_51_is_large)
{
    static const struct {
        unsigned n_nodes, n_tainted_min, n_tainted_max;
    } rows[] = {
        {50, 0, 2},
        {51, 3, 8},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(GString) spec = g_string_new("  until: 660s\n");
        unsigned n_tainted = 0;
        g_string_append_printf(spec, "  nodes: [{count: %u, name: n-%%d, zones: [a]}]\n  faults:\n",
                               rows[i].n_nodes);
        for (unsigned k = 0; k < 30; k++)
            g_string_append_printf(spec, "  - {at: 60s, node: n-%u, do: stop-kubelet}\n", k);
        g_autoptr(Scenario) scenario = scenario_of(spec->str);
        Seen *seen = seen_new(scenario, 3);
        for (unsigned k = 0; k < 30; k++)
            n_tainted += seen_node(seen, node_name(seen, k))->no_execute_at != TIME_UNSET;
        assert_in_range(n_tainted, rows[i].n_tainted_min, rows[i].n_tainted_max);
        seen_free(seen);
    }
}

/* ---- Garbage ---- */

/* NL-15, NL-73: pods without a node that are deleted one every 7 s go in rounds, which are 20 s
 * apart. */
TEST(garbage_is_collected_every_20_seconds)
{
    g_autoptr(GString) spec =
        g_string_new("  until: 4m\n  nodes: [{count: 1, name: n-%d}]\n  workload:\n");

    for (unsigned i = 0; i < 20; i++)
        g_string_append_printf(
            spec,
            "  - {at: 1s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: p-%02u, "
            "finalizers: [test.example/held]}, spec: {nodeSelector: {no: node}, containers: "
            "[{name: "
            "c, image: i}]}}}}\n"
            "  - {at: %us, delete: {kind: Pod, name: p-%02u}}\n",
            i, 20 + 7 * i, i);
    g_autoptr(Scenario) scenario = scenario_of(spec->str);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        g_autoptr(GArray) at = g_array_new(FALSE, FALSE, sizeof(SimTime));
        NodeLifecycleNumbersAsked asked = {API_DELETE, "pod-garbage-collector", at};
        Run *run = run_new(scenario, &(RunOptions){.seed = seed}, NULL);
        SimTime round = TIME_UNSET;
        unsigned n = 0;
        api_server_observe_requests(cluster_api(run_cluster(run)), note_request, &asked);
        assert_int_equal(run_execute(run), RUN_DONE);
        for (unsigned i = 0; i < at->len;
             i++) { /* finalizers hold all of them: each round tries all again */
            SimTime now = g_array_index(at, SimTime, i);
            if (round != TIME_UNSET && now - round < SIM_SECOND)
                continue;
            if (round != TIME_UNSET)
                assert_in_range(now - round, 19900 * SIM_MS, 20100 * SIM_MS);
            round = now;
            n++;
        }
        assert_in_range(n, 9, 12);
        run_free(run);
    }
}

/* NL-72: a node that is missing in three rounds: found by the first, 40 s later, in the third, its
 * pods go. */
TEST(orphans_wait_for_40_seconds)
{
    g_autoptr(Scenario) scenario =
        scenario_of("  until: 3m\n  nodes: [{count: 3, name: n-%d}]\n  workload:\n"
                    "  - at: 0s\n    create:\n      manifest:\n" POD_ON(
                        "app", "n-0") "  - {at: 61s, delete: {kind: Node, name: n-0}}\n"
                                      "  faults: [{at: 60s, node: n-0, do: stop-kubelet}]\n");
    SimTime first = SIM_TIME_MAX, last = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        Seen *seen = seen_new(scenario, seed);
        SimTime at = seen_pod(seen, "app")->gone_at;
        assert_within(at, 61 * SIM_SECOND, 40, 60.3);
        first = MIN(first, at);
        last = MAX(last, at);
        seen_free(seen);
    }
    assert_true(first < 103 * SIM_SECOND && last > 119 * SIM_SECOND);
}

/* ---- Machines that are shut down ---- */

/* NL-92: critical is a priority of 2,000,000,000 or more. Ordinary pods get the whole time less
 * that of critical ones, if their volumes do not come off. */
TEST(groups_have_their_time)
{
    static const struct {
        const char *priority;
        SimTime ends_at; /* when it ends: at once, or after the others' 40 s */
    } rows[] = {
        {"1999999999", 60 * SIM_SECOND },
        {"2000000000", 100 * SIM_SECOND},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *spec = g_strconcat(
            "  until: 4m\n  nodes: [{count: 2, name: n-%d, zones: [a], kubelet: "
            "{shutdownGracePeriod: 60s, "
            "shutdownGracePeriodCriticalPods: 20s}}]\n"
            "  drivers: [{name: csi.lab, latency: {NodeUnpublishVolume: 10m}}]\n"
            "  workload:\n  - at: 0s\n    create:\n      manifest:\n"
            "      - {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: sc}, "
            "provisioner: csi.lab}\n"
            "      - {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: "
            "{accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: {storage: "
            "1Gi}}}}\n"
            "      - {apiVersion: v1, kind: Pod, metadata: {name: slow}, spec: {nodeSelector: "
            "{kubernetes.io/hostname: n-0}, containers: [{name: c, image: i, volumeMounts: [{name: "
            "d, "
            "mountPath: /d}]}], volumes: [{name: d, "
            "persistentVolumeClaim: {claimName: d}}]}}\n"
            "      - {apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {nodeName: n-0, "
            "priority: ",
            rows[i].priority, ", containers: [{name: c, image: i}]}}\n",
            "  faults: [{at: 60s, node: n-0, do: shut-down}]\n", NULL);
        g_autoptr(Scenario) scenario = scenario_of(spec);
        Seen *seen = seen_new(scenario, 1);
        assert_within(seen_pod(seen, "other")->not_ready_at, rows[i].ends_at, 0, 1.1);
        seen_free(seen);
    }
}

/* ---- kubectl drain ---- */

#define GUARDED                                                                                    \
    "  until: 3m\n  nodes: [{count: 1, name: n-%d}]\n  workload:\n"                                \
    "  - at: 0s\n    create:\n      manifest:\n"                                                   \
    "      - {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: "       \
    "{minAvailable: MIN, selector: {matchLabels: {app: w}}}}\n"                                    \
    "      - {apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: w}}, spec: {nodeName: " \
    "n-0, containers: [{name: c, image: i}]}}\n"                                                   \
    "  - {at: 60s, drain: {node: n-0, force: true, timeout: 1m}}\n"

/* WL-111: after a 429 it asks again 5 s later; once accepted it looks every second. With a time
 * limit it gives up in time. */
TEST(drain_asks_again)
{
    static const struct {
        const char *min, *faults;
        ApiVerb verb;
        double apart_s;
        unsigned n_min, n_max;
    } rows[] = {
        {"1", "",                                                     API_EVICT, 5, 12, 12},
        {"0", "  faults: [{at: 55s, node: n-0, do: stop-kubelet}]\n", API_GET,   1, 55, 60},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_auto(GStrv) parts = g_strsplit(GUARDED, "MIN", 2);
        g_autofree char *spec = g_strconcat(parts[0], rows[i].min, parts[1], rows[i].faults, NULL);
        g_autoptr(Scenario) scenario = scenario_of(spec);
        g_autoptr(GArray) at = g_array_new(FALSE, FALSE, sizeof(SimTime));
        NodeLifecycleNumbersAsked asked = {rows[i].verb, "kubectl", at};
        Run *run = run_new(scenario, &(RunOptions){.seed = 1}, NULL);
        api_server_observe_requests(cluster_api(run_cluster(run)), note_request, &asked);
        assert_int_equal(run_execute(run), RUN_DONE);
        assert_in_range(at->len, rows[i].n_min, rows[i].n_max);
        for (unsigned k = 1; k < at->len; k++)
            assert_within(g_array_index(at, SimTime, k), g_array_index(at, SimTime, k - 1),
                          rows[i].apart_s, rows[i].apart_s + 0.05);
        run_free(run);
    }
}
