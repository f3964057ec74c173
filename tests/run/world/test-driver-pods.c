/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "models/api/lease.h"
#include "models/api/pod.h"
#include "run/world/run.h"
#include "tests/lib/test.h"

/* A driver that is its pods (docs/rules/driver-pods.md): which workloads are a driver's, on which
 * nodes it is registered, and when its sidecars work. */

#define HEAD                                                                                       \
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: pods}\nspec:\n  until: 30m\n"
#define SYSTEM "kube-system"
#define REGISTRAR "{name: r, image: registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.13.0}"
#define PROVISIONER "{name: p, image: 'registry.k8s.io/sig-storage/csi-provisioner:v5.1.0'}"
#define DRIVER "{name: d, image: 'lab/driver:1'}"

/* Returns: (owned) */
static Scenario *
driver_pods_load(const char *text)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autofree char *file = NULL;
    g_autoptr(GPtrArray) faults = NULL;
    int descriptor = g_file_open_tmp("pods-XXXXXX.yaml", &file, NULL);

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(g_file_set_contents(file, text, -1, NULL));
    Scenario *scenario = scenario_load(file, &options, &faults);
    g_unlink(file);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *fault = file_fault_text(faults->pdata[i]);
        print_error("%s\n", fault);
    }
    assert_non_null(scenario);
    return scenario;
}

/* ---- Which workloads are a driver's: DP-1 ---- */

#define WORKLOAD(kind, name, labels, containers)                                                   \
    "---\napiVersion: apps/v1\nkind: " kind "\nmetadata: {name: " name ", namespace: " SYSTEM      \
    "}\nspec:\n  selector: {matchLabels: {app: " name "}}\n  template:\n"                          \
    "    metadata: {labels: {app: " name "}" labels "}\n    spec: {containers: [" containers       \
    "]}\n"
#define CSI_DRIVER(name)                                                                           \
    "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: " name "}\n"
#define PLAIN(containers) WORKLOAD("DaemonSet", "node", "", containers)
#define WITH_PATH                                                                                  \
    "{name: r, image: 'quay.io/x/node-driver-registrar:v2', args: "                                \
    "['--kubelet-registration-path=/var/lib/kubelet/plugins/fast.example.com/csi.sock']}"

/* Columns; clang-format 14 cannot align such rows. */
/* clang-format off */
static const struct {
    const char *title, *drivers, *manifests;
    const char *expected; /* of each driver: parts of its workloads */
    gboolean warned;
} known_cases[] = {
    {"nothing",              "{name: slow.example.com}", "", "slow.example.com:", FALSE},
    {"other containers",     "{name: slow.example.com}", PLAIN(DRIVER), "slow.example.com:", FALSE},
    {"the only driver",      "{name: slow.example.com}", PLAIN(REGISTRAR ", " DRIVER), "slow.example.com: node(registrar driver)", FALSE},
    {"no driver beside it",  "{name: slow.example.com}", PLAIN(REGISTRAR), "slow.example.com: node(registrar)", FALSE},
    {"liveness is no driver", "{name: slow.example.com}", PLAIN(REGISTRAR ", {name: l, image: 'x/livenessprobe:v2'}"), "slow.example.com: node(registrar)", FALSE},
    {"sidecars",             "{name: slow.example.com}", WORKLOAD("Deployment", "ctl", "", PROVISIONER ", " DRIVER), "slow.example.com: ctl(driver external-provisioner)", FALSE},
    {"a StatefulSet",        "{name: slow.example.com}", WORKLOAD("StatefulSet", "ctl", "", PROVISIONER), "slow.example.com: ctl(external-provisioner)", FALSE},
    {"a selector beside it", "{name: slow.example.com, nodePlugin: {nodeSelector: {a: b}}}", PLAIN(REGISTRAR), "slow.example.com: node(registrar)", TRUE},
    {"by the path",          "{name: slow.example.com}, {name: fast.example.com}", PLAIN(WITH_PATH), "slow.example.com: fast.example.com: node(registrar)", FALSE},
    {"by the annotation",    "{name: slow.example.com}, {name: fast.example.com}", WORKLOAD("DaemonSet", "node", ", annotations: {kvolsim.io/driver: slow.example.com}", WITH_PATH), "slow.example.com: node(registrar) fast.example.com:", FALSE},
    {"by the likeness",      "{name: slow.example.com}, {name: fast.example.com}", WORKLOAD("DaemonSet", "slow-node", "", REGISTRAR), "slow.example.com: slow-node(registrar) fast.example.com:", FALSE},
    {"nobody's",             "{name: slow.example.com}, {name: fast.example.com}", PLAIN(REGISTRAR), "slow.example.com: fast.example.com:", TRUE},
    {"another driver's",     "{name: slow.example.com}", PLAIN(REGISTRAR) CSI_DRIVER("secrets.csi.k8s.io"), "slow.example.com:", TRUE},
};
/* clang-format on */

static char *
workloads_text(const Scenario *scenario)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < scenario->n_drivers; i++) {
        const ScenarioDriver *driver = &scenario->drivers[i];
        g_string_append_printf(text, "%s%s:", i > 0 ? " " : "", driver->name);
        for (unsigned k = 0; k < driver->n_workloads; k++) {
            const ScenarioWorkload *workload = &driver->workloads[k];
            g_autoptr(GString) parts = g_string_new(NULL);
            g_string_append(parts, workload->has_registrar ? " registrar" : "");
            g_string_append(parts, workload->has_driver ? " driver" : "");
            for (unsigned m = 0; m < workload->n_sidecars; m++)
                g_string_append_printf(parts, " %s", workload->sidecars[m]->name);
            g_string_append_printf(text, " %s(%s)", workload->name, parts->str + 1);
        }
    }
    return g_string_free(text, FALSE);
}

TEST(workloads_are_found)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(known_cases); i++) {
        g_autofree char *text = g_strdup_printf(HEAD "  nodes: [{name: a}]\n  drivers: [%s]\n%s",
                                                known_cases[i].drivers, known_cases[i].manifests);
        g_autoptr(Scenario) scenario = driver_pods_load(text);
        g_autofree char *found = workloads_text(scenario);
        print_message("%s\n", known_cases[i].title);
        assert_string_equal(found, known_cases[i].expected);
        assert_int_equal(scenario->warnings->len, known_cases[i].warned);
    }
}

/* DP-4: the flags of the containers, and the sidecars that no container has. */
TEST(sidecars_are_those_of_the_pods)
{
    g_autoptr(Scenario) scenario = driver_pods_load(
        HEAD "  nodes: [{name: a}]\n"
             "  drivers: [{name: d.example.com, sidecars: {external-resizer: {}}}]\n" WORKLOAD(
                 "Deployment", "ctl", "",
                 "{name: csi-attacher, image: 'x/csi-attacher:v4', args: ['--timeout=7s', "
                 "'--leader-election']}"));
    const ScenarioDriver *driver = &scenario->drivers[0];
    GHashTable *flags = g_hash_table_lookup(driver->sidecars, "external-attacher");
    const char *const *absent = (const char *const *)driver->absent_sidecars;

    assert_string_equal(g_hash_table_lookup(flags, "timeout"), "7s");
    assert_string_equal(g_hash_table_lookup(flags, "leader-election"), "true");
    assert_true(g_strv_contains(absent, "external-provisioner"));
    assert_true(g_strv_contains(absent, "external-snapshotter"));
    assert_false(g_strv_contains(absent, "external-attacher"));
    assert_false(g_strv_contains(absent, "external-resizer")); /* the scenario names it */
}

/* ---- On which nodes the driver is registered: DP-2, DP-3 ---- */

#define CLUSTER                                                                                    \
    HEAD "  seed: 1\n"                                                                             \
         "  nodes:\n  - {name: a}\n  - {name: b}\n"                                                \
         "  - {name: db, taints: [{key: x, value: z, effect: NoSchedule}]}\n"                      \
         "  drivers: [{name: d.example.com}]\n"
#define CLASS                                                                                      \
    "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: sc}\n"               \
    "provisioner: d.example.com\n"
#define NEW_IMAGE                                                                                  \
    "  workload: [{at: 60s, patch: {kind: DaemonSet, namespace: " SYSTEM                           \
    ", name: node, patch: {spec: {%s template: {spec: {containers: [" REGISTRAR                    \
    ", {name: d, image: 'lab/driver:2'}]}}}}}}]\n"
#define SURGE "updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}},"

static const Object *
driver_pods_find(const Run *run, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key = objects_find_key(run_objects(run), kind, namespace, name);

    return key == NULL ? NULL : api_server_get(cluster_api(run_cluster(run)), key);
}

/* The nodes whose CSINodes have the driver: "a b". */
static char *
registered(const Run *run)
{
    static const char *const nodes[] = {"a", "b", "db"};
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(nodes); i++) {
        const Object *csi_node = driver_pods_find(run, KIND_CSI_NODE, NULL, nodes[i]);
        if (csi_node != NULL &&
            csi_node_find_driver((const CsiNode *)csi_node, "d.example.com") != NULL)
            g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", nodes[i]);
    }
    return g_string_free(text, FALSE);
}

/* Columns; clang-format 14 cannot align such rows. */
/* clang-format off */
static const struct {
    const char *title, *happens;
    const char *expected; /* the nodes with the driver from 50s on, at each change */
} node_cases[] = {
    {"nothing happens",           "",                                                                        "a b"},
    {"a pod is deleted",          "  workload: [{at: 60s, delete: {kind: Pod, namespace: " SYSTEM ", name: 'node-*', node: a}}]\n", "a b|b|a b"},
    {"the kubelet restarts",      "  faults: [{at: 60s, node: a, do: stop-kubelet, restartAfter: 20s}]\n",   "a b"},
    {"the pods are driven away",  "  workload: [{at: 60s, taint: {node: a, taints: ['x=z:NoExecute']}}]\n",  "a b|b"},
    {"the node is tolerated",     "  workload: [{at: 60s, taint: {node: db, taints: ['x-']}}]\n",            "a b|a b db"},
};
/* clang-format on */

/* Returns: (owned) */
static char *
changes_of(Run *run)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);

    for (SimTime at = 50 * SIM_SECOND; at < 300 * SIM_SECOND; at += 100 * SIM_MS) {
        run_advance(run, at);
        g_autofree char *now = registered(run);
        if (all->len == 0 || strcmp(all->pdata[all->len - 1], now) != 0)
            g_ptr_array_add(all, g_steal_pointer(&now));
    }
    g_ptr_array_add(all, NULL);
    return g_strjoinv("|", (char **)all->pdata);
}

static Run *
run_text(const Scenario *scenario)
{
    const RunOptions options = {.seed = 1};
    g_autoptr(GError) error = NULL;
    Run *run = run_new(scenario, &options, &error);

    assert_null(error);
    return run;
}

TEST(nodes_have_the_driver_while_its_pod_runs)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(node_cases); i++) {
        g_autofree char *text =
            g_strdup_printf(CLUSTER "%s" PLAIN(REGISTRAR ", " DRIVER), node_cases[i].happens);
        g_autoptr(Scenario) scenario = driver_pods_load(text);
        g_autoptr(Run) run = run_text(scenario);
        g_autofree char *changes = changes_of(run);
        print_message("%s\n", node_cases[i].title);
        assert_string_equal(changes, node_cases[i].expected);
    }
}

/* One node at a time. With maxSurge (DS-21) the old pod takes the new one's socket away (DP-3). */
TEST(an_update_rolls_over_the_nodes)
{
    for (unsigned surges = 0; surges < 2; surges++) {
        g_autofree char *text =
            g_strdup_printf(CLUSTER NEW_IMAGE PLAIN(REGISTRAR ", " DRIVER), surges ? SURGE : "");
        g_autoptr(Scenario) scenario = driver_pods_load(text);
        g_autoptr(Run) run = run_text(scenario);
        g_autofree char *changes = changes_of(run);
        if (surges)
            assert_true(g_str_has_prefix(changes, "a b|") && g_str_has_suffix(changes, "|"));
        else
            assert_true(strstr(changes, "|b|") != NULL && strstr(changes, "|a|") != NULL &&
                        g_str_has_suffix(changes, "|a b"));
    }
}

/* DP-3: the socket is dead while the machine is off, and made anew with the pod. */
TEST(a_pod_comes_back_with_its_node)
{
    g_autoptr(Scenario) scenario = driver_pods_load(
        CLUSTER "  faults: [{at: 60s, node: a, do: power-off, restartAfter: 20s}]\n" PLAIN(
            REGISTRAR ", " DRIVER));
    g_autoptr(Run) run = run_text(scenario);
    const char *node = strings_intern(objects_strings(run_objects(run)), "a");

    run_advance(run, 59 * SIM_SECOND);
    unsigned socket = cluster_plugin_pod(run_cluster(run), 0, node).socket;
    run_advance(run, 70 * SIM_SECOND);
    assert_int_equal(cluster_plugin_pod(run_cluster(run), 0, node).registrar, REGISTRAR_DEAD);
    assert_true(cluster_plugin_pod(run_cluster(run), 0, node).lacks_pod);
    run_advance(run, 120 * SIM_SECOND);
    assert_int_equal(cluster_plugin_pod(run_cluster(run), 0, node).registrar, REGISTRAR_LISTENS);
    assert_false(cluster_plugin_pod(run_cluster(run), 0, node).lacks_pod);
    assert_true(cluster_plugin_pod(run_cluster(run), 0, node).socket > socket);
}

/* ---- When the sidecars work: DP-4, DP-5 ---- */

#define MAKE_CLAIM(at)                                                                             \
    "{at: " at ", create: {manifest: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: "     \
    "{name: c}, spec: {accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: " \
    "{storage: 1Gi}}}}}}"
#define CONTROLLER(replicas, election)                                                             \
    "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: ctl, namespace: " SYSTEM         \
    "}\nspec:\n  replicas: " replicas                                                              \
    "\n  selector: {matchLabels: {app: ctl}}\n  template:\n    metadata: {labels: {app: ctl}}\n"   \
    "    spec: {containers: [" DRIVER ", {name: p, image: 'x/csi-provisioner:v5', args: "          \
    "['--leader-election=" election "']}]}\n"
#define SCALE(at, n)                                                                               \
    "{at: " at ", scale: {kind: Deployment, namespace: " SYSTEM ", name: ctl, replicas: " n "}}, "
#define DELETE_PODS(at) "{at: " at ", delete: {kind: Pod, namespace: " SYSTEM ", name: 'ctl-*'}}, "

/* Columns; clang-format 14 cannot align such rows. */
/* clang-format off */
static const struct {
    const char *title, *workload, *controller;
    double from, to; /* when the claim is bound, in seconds */
} sidecar_cases[] = {
    {"at work",                    MAKE_CLAIM("60s"),                                      CONTROLLER("1", "false"), 60, 62},
    {"at work, with election",     MAKE_CLAIM("60s"),                                      CONTROLLER("2", "true"),  60, 62},
    {"of no pod yet",              SCALE("90s", "1") MAKE_CLAIM("60s"),                    CONTROLLER("0", "false"), 90, 95},
    {"scaled away and back",       SCALE("50s", "0") SCALE("90s", "1") MAKE_CLAIM("60s"),  CONTROLLER("1", "false"), 90, 95},
    {"replaced",                   DELETE_PODS("60s") MAKE_CLAIM("61s"),                   CONTROLLER("1", "false"), 61, 66},
    {"replaced, with election",    DELETE_PODS("60s") MAKE_CLAIM("61s"),                   CONTROLLER("1", "true"),  68, 100},
    {"in one pod with the plugin", MAKE_CLAIM("60s"),                                 WORKLOAD("StatefulSet", "all", "", REGISTRAR ", " PROVISIONER ", " DRIVER), 60, 62},
    {"all replaced",               DELETE_PODS("60s") MAKE_CLAIM("61s"),                   CONTROLLER("2", "true"),  68, 100},
};
/* clang-format on */

static double
bound_at(Run *run)
{
    for (SimTime at = 0; at < 200 * SIM_SECOND; at += 100 * SIM_MS) {
        run_advance(run, at);
        const Object *claim = driver_pods_find(run, KIND_CLAIM, "default", "c");
        if (claim != NULL && CLAIM_CONST(claim)->phase == CLAIM_BOUND)
            return (double)at / (double)SIM_SECOND;
    }
    return -1;
}

TEST(sidecars_work_while_their_pod_runs)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(sidecar_cases); i++) {
        g_autofree char *text = g_strconcat(CLUSTER "  workload: [", sidecar_cases[i].workload,
                                            "]\n" CLASS, sidecar_cases[i].controller, NULL);
        g_autoptr(Scenario) scenario = driver_pods_load(text);
        g_autoptr(Run) run = run_text(scenario);
        double at = bound_at(run);
        print_message("%s: %g s\n", sidecar_cases[i].title, at);
        assert_true(at >= sidecar_cases[i].from && at <= sidecar_cases[i].to);
    }
}

/* The Lease is the pod's: its name is the holder, its namespace the Lease's. */
TEST(a_lease_names_the_pod)
{
    g_autoptr(Scenario) scenario =
        driver_pods_load(CLUSTER WORKLOAD("Deployment", "ctl", "",
                                          DRIVER ", {name: p, image: 'x/csi-attacher:v4', args: "
                                                 "['--leader-election']}"));
    g_autoptr(Run) run = run_text(scenario);

    run_advance(run, 60 * SIM_SECOND);
    const Object *lease =
        driver_pods_find(run, KIND_LEASE, SYSTEM, "external-attacher-leader-d-example-com");
    assert_non_null(lease);
    assert_true(g_str_has_prefix(LEASE_CONST(lease)->holder, "ctl-"));
}

/* DP-6: what runs at the start works from then on. */
TEST(running_pods_are_adopted)
{
    static const char pod[] =
        "---\napiVersion: v1\nkind: Pod\n"
        "metadata: {name: %s, namespace: " SYSTEM ", uid: %s, labels: {app: %s}}\n"
        "spec: {nodeName: a, containers: [{name: x, image: x}]}\n"
        "status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}\n";
    g_autofree char *plugin =
        g_strdup_printf(pod, "node-x", "00000000-0000-4000-8000-000000000001", "node");
    g_autofree char *controller =
        g_strdup_printf(pod, "ctl-x", "00000000-0000-4000-8000-000000000002", "ctl");
    g_autofree char *text = g_strconcat(CLUSTER "  workload: [" MAKE_CLAIM("0s") "]\n" CLASS PLAIN(
                                            REGISTRAR ", " DRIVER) CONTROLLER("1", "true"),
                                        plugin, controller, NULL);
    g_autoptr(Scenario) scenario = driver_pods_load(text);
    g_autoptr(Run) run = run_text(scenario);
    g_autofree char *at_first = registered(run);

    assert_string_equal(at_first, "a");
    assert_true(bound_at(run) < 2);
}
