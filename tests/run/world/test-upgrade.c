/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "models/api/workload.h"
#include "models/csi/modelled/modelled-test.h"
#include "run/world/run.h"
#include "tests/lib/test.h"

/* A cluster with migration on is upgraded node by node, in a random order, while pods with disks of
 * an in-tree plugin come and go: each disk stays attached once. One scenario for each seed. After
 * every event no disk is attached to two nodes, and none is staged where it is not attached;
 * whenever the cluster is at rest, each disk of a pod is attached to the node of that pod; at the
 * end none is left anywhere. */

#define SEEDS 60
#define NODE_TIME 240 /* seconds between two upgrades */

/* The plugins, and the release that first migrates each by default. */
static const struct {
    const char *driver, *source, *id;
    int minor;
} plugins[] = {
    {"ebs.csi.aws.com",          "awsElasticBlockStore", "volumeID", 23},
    {"pd.csi.storage.gke.io",    "gcePersistentDisk",    "pdName",   23},
    {"cinder.csi.openstack.org", "cinder",               "volumeID", 21},
};

typedef struct {
    GRand *luck;
    GString *text;
    unsigned plugin, n_nodes, n_sets, n_pods, order[5];
    unsigned last; /* second of the end of the last upgrade */
} Upgrade;

static unsigned
upgrade_draw(Upgrade *self, unsigned min, unsigned max)
{
    return (unsigned)g_rand_int_range(self->luck, (int)min, (int)max + 1);
}

static void
shuffle_nodes(Upgrade *self)
{
    for (unsigned i = 0; i < self->n_nodes; i++)
        self->order[i] = i;
    for (unsigned i = self->n_nodes - 1; i > 0; i--) {
        unsigned j = upgrade_draw(self, 0, i), other = self->order[i];
        self->order[i] = self->order[j];
        self->order[j] = other;
    }
}

static void
add_head(Upgrade *self)
{
    const int minor = plugins[self->plugin].minor;

    g_string_append_printf(
        self->text,
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: upgrade}\nspec:\n"
        "  until: 2h\n  kubernetes: {version: '1.%d'}\n"
        "  nodes: [{name: n-%%d, count: %u, kubeletVersion: '1.%d'}]\n"
        "  drivers:\n  - name: %s\n    latency: {ControllerPublishVolume: %us, "
        "ControllerUnpublishVolume: %us, NodeStageVolume: 500ms, NodePublishVolume: 50ms}\n",
        minor, self->n_nodes, minor - 1, plugins[self->plugin].driver, upgrade_draw(self, 1, 8),
        upgrade_draw(self, 1, 8));
    g_string_append(self->text, "  faults:\n");
    for (unsigned i = 0; i < self->n_nodes; i++)
        g_string_append_printf(
            self->text,
            "  - {at: %us, node: n-%u, do: stop-kubelet, version: '1.%d', restartAfter: %us}\n",
            120 + i * NODE_TIME + 120, self->order[i], minor, upgrade_draw(self, 1, 20));
    self->last = 120 + self->n_nodes * NODE_TIME;
}

/* Drains, and pods with disks of their own that come and go. */
static void
add_workload(Upgrade *self)
{
    g_string_append(self->text, "  workload:\n");
    for (unsigned i = 0; i < self->n_nodes; i++) {
        if (upgrade_draw(self, 0, 3) == 0)
            continue; /* somebody forgets to drain */
        g_string_append_printf(self->text, "  - {at: %us, drain: {node: n-%u, force: true}}\n",
                               120 + i * NODE_TIME, self->order[i]);
        g_string_append_printf(self->text, "  - {at: %us, uncordon: {node: n-%u}}\n",
                               120 + i * NODE_TIME + 160, self->order[i]);
    }
    for (unsigned i = 0; i < self->n_pods; i++) {
        unsigned from = upgrade_draw(self, 1, self->last - 60);
        g_string_append_printf(
            self->text,
            "  - at: %us\n    create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: "
            "own-%u}, spec: {containers: [{name: c, image: i, volumeMounts: [{name: d, mountPath: "
            "/d}]}], volumes: [{name: d, %s: {%s: own-%u}}]}}}\n",
            from, i, plugins[self->plugin].source, plugins[self->plugin].id, i % 2);
        g_string_append_printf(self->text, "  - {at: %us, delete: {kind: Pod, name: own-%u}}\n",
                               from + upgrade_draw(self, 5, 200), i);
    }
    for (unsigned i = 0; i < self->n_sets; i++)
        g_string_append_printf(self->text, "  - {at: %us, scale: {name: s-%u, replicas: 0}}\n",
                               self->last + 400, i);
}

/* Each StatefulSet has one pod with a disk that people have made. */
static void
add_sets(Upgrade *self)
{
    for (unsigned i = 0; i < self->n_sets; i++)
        g_string_append_printf(
            self->text,
            "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s-%u}\nspec:\n"
            "  replicas: 1\n  serviceName: s\n  selector: {matchLabels: {app: s-%u}}\n"
            "  template: {metadata: {labels: {app: s-%u}}, spec: {containers: [{name: c, image: i, "
            "volumeMounts: [{name: d, mountPath: /d}]}]}}\n"
            "  volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], "
            "storageClassName: '', resources: {requests: {storage: 1Gi}}}}]\n"
            "---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv-%u}\nspec:\n"
            "  accessModes: [ReadWriteOnce]\n  capacity: {storage: 1Gi}\n  storageClassName: ''\n"
            "  claimRef: {name: d-s-%u-0, namespace: default}\n  %s: {%s: disk-%u}\n",
            i, i, i, i, i, plugins[self->plugin].source, plugins[self->plugin].id, i);
}

/* Returns: (owned) */
static char *
text_of_seed(uint32_t seed, unsigned *n_nodes, unsigned *n_sets)
{
    Upgrade plan = {.luck = g_rand_new_with_seed(seed), .text = g_string_new(NULL)};

    plan.plugin = upgrade_draw(&plan, 0, G_N_ELEMENTS(plugins) - 1);
    plan.n_nodes = upgrade_draw(&plan, 2, 4);
    plan.n_sets = upgrade_draw(&plan, 1, 4);
    plan.n_pods = upgrade_draw(&plan, 0, 6);
    *n_nodes = plan.n_nodes;
    *n_sets = plan.n_sets;
    shuffle_nodes(&plan);
    add_head(&plan);
    add_workload(&plan);
    add_sets(&plan);
    g_rand_free(plan.luck);
    return g_string_free(plan.text, FALSE);
}

static Scenario *
scenario_new(const char *text)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autofree char *file = NULL;
    int descriptor = g_file_open_tmp("upgrade-XXXXXX.yaml", &file, NULL);
    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(g_file_set_contents(file, text, -1, NULL));
    Scenario *scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *fault = file_fault_text(faults->pdata[i]);
        g_printerr("%s\n", fault);
    }
    g_unlink(file);
    assert_non_null(scenario);
    return scenario;
}

/* ---- What must hold ---- */

typedef struct {
    const Run *run;
    const CsiModelledDriver *driver;
    uint32_t seed;
    unsigned n_attached; /* disks of all pods */
    unsigned n_of_sets;  /* ... of StatefulSets */
} UpgradeWorld;

static void
upgrade_see_volume(void *data, const CsiModelledVolume *volume)
{
    UpgradeWorld *self = data;
    g_autoptr(StringList) nodes = csi_modelled_driver_published_nodes(self->driver, volume->id);

    self->n_attached += volume->n_published;
    self->n_of_sets += strstr(volume->id, "disk-") != NULL ? volume->n_published : 0;
    if (volume->n_published > 1)
        fail_msg("seed %u: %s is attached to %u nodes", self->seed, volume->id,
                 volume->n_published);
    for (uint32_t i = 0; i < objects_n_keys(run_objects(self->run), KIND_NODE); i++) {
        const char *node = objects_key_at(run_objects(self->run), KIND_NODE, i)->name;
        if (csi_modelled_driver_is_staged(self->driver, volume->id, node) &&
            !string_list_has(nodes, node))
            fail_msg("seed %u: %s is staged on %s, but not attached there", self->seed, volume->id,
                     node);
    }
}

static void
upgrade_look(UpgradeWorld *self)
{
    self->n_attached = self->n_of_sets = 0;
    csi_modelled_driver_each_volume(self->driver, upgrade_see_volume, self);
}

/* Pods whose names begin with @prefix. */
static unsigned
count_ready(const UpgradeWorld *self, const char *prefix)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < objects_n_keys(run_objects(self->run), KIND_POD); i++) {
        const Object *pod = api_server_get(cluster_api(run_cluster(self->run)),
                                           objects_key_at(run_objects(self->run), KIND_POD, i));
        n += pod != NULL && g_str_has_prefix(object_name(pod), prefix) &&
             pod_is_ready(POD_CONST(pod));
    }
    return n;
}

static void
go_to(UpgradeWorld *self, SimTime end)
{
    Sim *sim = run_sim(self->run);

    while (sim_now(sim) < end && sim_step(sim))
        upgrade_look(self);
}

static void
upgrade(uint32_t seed)
{
    unsigned n_nodes, n_sets;
    g_autofree char *text = text_of_seed(seed, &n_nodes, &n_sets);
    g_autoptr(Scenario) scenario = scenario_new(text);
    const RunOptions options = {.seed = seed};
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &options, &error);
    assert_non_null(run);
    CsiDriver *driver = cluster_driver(run_cluster(run), 0);
    UpgradeWorld world = {.run = run, .driver = csi_modelled_driver_cast(driver), .seed = seed};

    for (unsigned i = 0; i <= n_nodes; i++) { /* before each upgrade, and after the last */
        go_to(&world, (SimTime)(120 + i * NODE_TIME - 1) * SIM_SECOND);
        if (count_ready(&world, "s-") != n_sets || world.n_of_sets != n_sets)
            fail_msg("seed %u, after %u upgrades: of %u sets %u run, with %u disks attached", seed,
                     i, n_sets, count_ready(&world, "s-"), world.n_of_sets);
    }
    go_to(&world, 2 * SIM_HOUR); /* MIG-81: also where nobody has drained */
    if (count_ready(&world, "") != 0 || world.n_attached != 0)
        fail_msg("seed %u: %u disks are left attached", seed, world.n_attached);
}

/* MIG-80 */
static void
each_disk_stays_attached_once(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= SEEDS; seed++)
        upgrade(seed);
}

/* test-upgrade --print SEED: the scenario of a seed */
int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_disk_stays_attached_once)};
    unsigned n;

    if (argc == 3 && strcmp(argv[1], "--print") == 0) {
        g_autofree char *text = text_of_seed((uint32_t)g_ascii_strtoull(argv[2], NULL, 10), &n, &n);
        return puts(text) < 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
