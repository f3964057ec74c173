/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "run/world/run.h"
#include "tests/lib/test.h"

/* The topology of drivers with several keys: how a scenario or a dump gives it, which messages
 * wrong ones get, and where volumes can be used. */

#define HEAD                                                                                       \
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: topology}\nspec:\n  until: 30m\n"

/* Returns: (owned): NULL if there are faults; @faults: (out): (owned) */
static Scenario *
topology_load(const char *text, const char *const *sets, char **faults)
{
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .set = sets};
    g_autofree char *file = NULL;
    g_autoptr(GPtrArray) found = NULL;
    g_autoptr(GString) all = g_string_new(NULL);
    int descriptor = g_file_open_tmp("topology-XXXXXX.yaml", &file, NULL);

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(g_file_set_contents(file, text, -1, NULL));
    Scenario *scenario = scenario_load(file, &options, &found);
    for (unsigned i = 0; i < found->len; i++) {
        g_autofree char *fault = file_fault_text(found->pdata[i]);
        g_string_append_printf(all, "%s\n", fault + strlen(file) + 1); /* without the file */
    }
    g_unlink(file);
    *faults = g_string_free(g_steal_pointer(&all), FALSE);
    return scenario;
}

static Scenario *
load_well(const char *text)
{
    g_autofree char *faults = NULL;
    Scenario *scenario = topology_load(text, NULL, &faults);

    assert_string_equal(faults, "");
    return scenario;
}

/* ---- What a scenario says ---- */

/* Columns; clang-format 14 cannot align such rows. */
/* clang-format off */
static const struct {
    const char *title, *nodes, *driver;
    const char *expected; /* keys with their other labels; or part of a fault */
} read_cases[] = {
    {"one key",                "zones: [a]",        "topology: x/zone",                       "x/zone<topology.kubernetes.io/zone"},
    {"the default",            "zones: [a]",        "",                                       "topology.d/zone<topology.kubernetes.io/zone"},
    {"no zone, no topology",   "",                  "",                                       ""},
    {"none",                   "zones: [a]",        "topology: false",                        ""},
    {"a list",                 "zones: [a]",        "topology: [x/zone, kubernetes.io/os]",   "x/zone<topology.kubernetes.io/zone kubernetes.io/os"},
    {"a mapping",              "labels: {rack: r}", "topology: {x/rack: rack}",               "x/rack<rack"},
    {"the node's name",        "",                  "topology: {x/node: metadata.name}",      "x/node<metadata.name"},
    {"a profile",              "",                  "profile: topolvm",                       "topology.topolvm.io/node<metadata.name"},
    {"stronger than a profile", "zones: [a]",       "profile: topolvm, topology: x/zone",     "x/zone<topology.kubernetes.io/zone"},
    {"volumes' keys",          "zones: [a]",        "topology: [x/zone, z], volumeTopology: [z]", "x/zone<topology.kubernetes.io/zone z<topology.kubernetes.io/zone; z"},
    {"a profile's volumes",    "zones: [a]",        "profile: aws-ebs-gp3",                   "topology.kubernetes.io/zone<topology.kubernetes.io/zone topology.ebs.csi.aws.com/zone<topology.kubernetes.io/zone kubernetes.io/os; topology.kubernetes.io/zone"},
    {"other keys than the profile's volumes have", "zones: [a]", "profile: aws-ebs-gp3, topology: x/zone", "x/zone<topology.kubernetes.io/zone"},
    {"a number",               "zones: [a]",        "topology: 7",                            "!topology: must be the key of the driver's topology"},
    {"an empty list",          "zones: [a]",        "topology: []",                           "!topology: must be the key of the driver's topology"},
    {"no key",                 "zones: [a]",        "topology: ['a b']",                      "!\"a b\" is no key of a label"},
    {"twice",                  "zones: [a]",        "topology: [x/zone, x/zone]",             "!topology[1]: the key \"x/zone\" is there already"},
    {"volumes with another key", "zones: [a]",      "topology: x/zone, volumeTopology: [z]",  "!\"z\" is no key of the driver's topology"},
    {"no list of volumes' keys", "zones: [a]",      "volumeTopology: 7",                      "!volumeTopology: \"7\" is not a list"},
    {"no zones",               "",                  "topology: x/zone",                       "!no node has a zone for the key \"x/zone\" of the driver's topology (write zones: [zone-a] in spec.nodes, or topology: false"},
    {"no zones for a profile", "",                  "profile: aws-ebs-gp3",                   "!profile: no node has a zone for the key \"topology.ebs.csi.aws.com/zone\""},
    {"a label that is not there", "labels: {rack: r}", "topology: {x/rack: rank}",            "!no node has the label \"rank\" for the key \"x/rack\" (topology: {x/rack: metadata.name} takes the node's name)"},
    {"a key of nodes",         "zones: [a]",        "topology: topology.topolvm.io/node",     "!no node has the label \"topology.topolvm.io/node\" of the driver's topology (topology: {topology.topolvm.io/node: metadata.name}"},
    {"a key of labelled nodes", "labels: {x/node: n1}", "topology: x/node",                    "x/node<topology.kubernetes.io/zone"},
};
/* clang-format on */

static char *
topology_text(const ScenarioDriver *driver)
{
    GString *text = g_string_new(NULL);
    const StringList *of_volumes = driver->model.volume_keys;

    for (unsigned i = 0; i < driver->n_topology; i++) {
        const ScenarioTopologyKey *key = &driver->topology[i];
        g_string_append_printf(text, "%s%s%s%s", i == 0 ? "" : " ", key->key,
                               key->label == NULL ? "" : "<", key->label == NULL ? "" : key->label);
    }
    for (unsigned i = 0; of_volumes != NULL && i < of_volumes->n_items; i++)
        g_string_append_printf(text, "; %s", of_volumes->items[i]);
    return g_string_free(text, FALSE);
}

TEST(scenarios_give_keys)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(read_cases); i++) {
        const char *expected = read_cases[i].expected;
        g_autofree char *text = g_strdup_printf(
            HEAD "  nodes: [{count: 2, name: n-%%d%s%s}]\n  drivers: [{name: d%s%s}]\n",
            *read_cases[i].nodes == '\0' ? "" : ", ", read_cases[i].nodes,
            *read_cases[i].driver == '\0' ? "" : ", ", read_cases[i].driver);
        g_autofree char *faults = NULL;
        g_autoptr(Scenario) scenario = topology_load(text, NULL, &faults);
        g_autofree char *found =
            scenario == NULL ? g_strdup(faults) : topology_text(&scenario->drivers[0]);
        if (*expected == '!' ? scenario != NULL || strstr(found, expected + 1) == NULL
                             : strcmp(found, expected) != 0)
            fail_msg("%s: expected \"%s\", found \"%s\"", read_cases[i].title, expected, found);
    }
}

/* A second group of nodes, and whether it gets a warning. */
static const struct {
    const char *nodes, *driver;
    gboolean warned;
} place_cases[] = {
    {"zones: [b]",          "",                                        FALSE},
    {"labels: {rack: r}",   "",                                        TRUE },
    {"labels: {d/zone: b}", ", topology: d/zone",                      FALSE},
    {"labels: {rack: r}",   ", topology: [d/zone, rack]",              FALSE},
    {"labels: {rack: r}",   ", topology: {d/zone: zone, rack: rack}",  FALSE},
    {"labels: {rack: r}",   ", nodePlugin: {nodeSelector: {zone: a}}", FALSE},
    {"labels: {rack: r}",   ", topology: false",                       FALSE},
    {"labels: {rack: r}",   ", profile: topolvm",                      FALSE},
};

TEST(nodes_without_a_place_are_told)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(place_cases); i++) {
        g_autofree char *text = g_strdup_printf(
            HEAD "  nodes: [{name: a, zones: [a], labels: {zone: a}}, {name: b, %s}]\n"
                 "  drivers: [{name: d%s}]\n",
            place_cases[i].nodes, place_cases[i].driver);
        g_autoptr(Scenario) scenario = load_well(text);
        const GPtrArray *warnings = scenario->warnings;
        assert_int_equal(warnings->len, place_cases[i].warned);
        if (warnings->len > 0)
            assert_non_null(strstr(warnings->pdata[0], "spec.nodes[1]: no zone or other label for "
                                                       "the topology of driver \"d\""));
    }
}

/* A CSIDriver with storageCapacity needs a provisioner that publishes it. */
TEST(room_that_nobody_publishes_is_told)
{
    static const char *const flags[] = {"false", "true"};

    for (unsigned i = 0; i < G_N_ELEMENTS(flags); i++) {
        g_autofree char *text = g_strdup_printf(
            HEAD "  nodes: [{name: a}]\n"
                 "  drivers: [{name: d, sidecars: {external-provisioner: {enable-capacity: %s}}}]\n"
                 "---\n"
                 "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: d}\n"
                 "spec: {storageCapacity: true}\n",
            flags[i]);
        g_autoptr(Scenario) scenario = load_well(text);
        assert_int_equal(scenario->warnings->len, i == 0);
    }
}

/* ---- Where volumes can be used ---- */

/* A pod of a StatefulSet and its volume in two zones with two racks each, a node for each. Twice
 * the pod's node is cordoned and the pod deleted. */
static const char reach_text[] =
    HEAD "  nodes:\n"
         "  - {count: 2, name: 'r1-%%d', zones: [a, b], labels: {rack: r1}}\n"
         "  - {count: 2, name: 'r2-%%d', zones: [a, b], labels: {rack: r2}}\n"
         "  drivers: [{name: d.example.com, %s}]\n"
         "  workload:\n"
         "  - {at: 5m, cordon: {nodeOfPod: web-0}}\n"
         "  - {at: 6m, delete: {kind: Pod, name: web-0}}\n"
         "  - {at: 15m, cordon: {nodeOfPod: web-*}}\n"
         "  - {at: 16m, delete: {kind: Pod, name: web-0}}\n"
         "---\n"
         "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: sc}\n"
         "provisioner: d.example.com\nvolumeBindingMode: %s\n"
         "---\n"
         "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web, namespace: default}\n"
         "spec:\n  serviceName: web\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n"
         "  template:\n    metadata: {labels: {app: web}}\n"
         "    spec: {containers: [{name: c, image: i, volumeMounts: [{name: d, mountPath: /d}]}]}\n"
         "  volumeClaimTemplates:\n"
         "  - metadata: {name: d}\n"
         "    spec: {accessModes: [ReadWriteOnce], storageClassName: sc, resources: {requests: "
         "{storage: 1Gi}}}\n";

/* Columns; clang-format 14 cannot align such rows. */
/* clang-format off */
#define TWO "topology: [x/zone, rack]"
static const struct {
    const char *driver;
    const char *keys;    /* of a CSINode */
    const char *place;   /* keys of the PersistentVolume's node affinity */
    gboolean moves[2];   /* whether the pod is Ready after each of the deletions */
} reach_cases[] = {
    {"topology: false",                   "",                                    "",           {TRUE, TRUE}  },
    {"topology: x/zone",                  "x/zone",                              "x/zone",     {TRUE, FALSE} },
    {"topology: {x/rack: rack}",          "x/rack",                              "x/rack",     {TRUE, FALSE} },
    {TWO,                                 "rack,x/zone",                         "rack,x/zone", {FALSE, FALSE}},
    {TWO ", volumeTopology: [x/zone]",    "rack,x/zone",                         "x/zone",     {TRUE, FALSE} },
    {TWO ", volumeTopology: [rack]",      "rack,x/zone",                         "rack",       {TRUE, FALSE} },
    {"topology: {x/node: metadata.name}", "x/node",                              "x/node",     {FALSE, FALSE}},
    {"profile: topolvm",                  "topology.topolvm.io/node",            "topology.topolvm.io/node", {FALSE, FALSE}},
    {"profile: openebs-lvm-localpv",      "kubernetes.io/hostname,openebs.io/nodename", "openebs.io/nodename", {FALSE, FALSE}},
    {"profile: openebs-zfs-localpv",      "kubernetes.io/arch,kubernetes.io/hostname,kubernetes.io/os,openebs.io/nodeid,openebs.io/nodename", "openebs.io/nodeid", {FALSE, FALSE}},
    {"profile: openebs-localpv-hostpath", "kubernetes.io/hostname",              "kubernetes.io/hostname", {FALSE, FALSE}},
    {"profile: aws-ebs-gp3",              "kubernetes.io/os,topology.ebs.csi.aws.com/zone,topology.kubernetes.io/zone", "topology.kubernetes.io/zone", {TRUE, FALSE}},
    {"profile: azure-disk",               "topology.disk.csi.azure.com/zone,topology.kubernetes.io/zone", "topology.disk.csi.azure.com/zone", {TRUE, FALSE}},
};
/* clang-format on */

/* Returns: (borrowed): the first object of a kind */
static const Object *
first_object(const Run *run, ObjectKind kind)
{
    for (uint32_t i = 0; i < objects_n_keys(run_objects(run), kind); i++) {
        const Object *object = api_server_get(cluster_api(run_cluster(run)),
                                              objects_key_at(run_objects(run), kind, i));
        if (object != NULL)
            return object;
    }
    return NULL;
}

static void
add_word(GString *text, const char *word)
{
    g_string_append_printf(text, "%s%s", text->len == 0 ? "" : ",", word);
}

static char *
keys_text(const StringList *keys)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; keys != NULL && i < keys->n_items; i++)
        add_word(text, keys->items[i]);
    return g_string_free(text, FALSE);
}

static char *
place_text(const NodeSelector *affinity)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; affinity != NULL && i < affinity->terms[0].expressions->n_requirements;
         i++)
        add_word(text, affinity->terms[0].expressions->requirements[i].key);
    return g_string_free(text, FALSE);
}

static gboolean
pod_runs(Run *run, SimTime at)
{
    assert_int_equal(run_advance(run, at), RUN_DONE);
    return pod_is_ready(POD_CONST(first_object(run, KIND_POD)));
}

static void
check_reach(unsigned number, const char *mode)
{
    const char *driver = reach_cases[number].driver;
    g_autofree char *text = g_strdup_printf(reach_text, driver, mode);
    g_autoptr(Scenario) scenario = load_well(text);
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = number + 1}, &error);

    if (!pod_runs(run, 4 * SIM_MINUTE))
        fail_msg("%s, %s: the pod does not start", driver, mode);
    const CsiNode *csi_node = (const CsiNode *)first_object(run, KIND_CSI_NODE);
    g_autofree char *keys = keys_text(csi_node->drivers->items[0].topology_keys);
    g_autofree char *place =
        place_text(VOLUME_CONST(first_object(run, KIND_VOLUME))->node_affinity);
    assert_string_equal(keys, reach_cases[number].keys);
    assert_string_equal(place, reach_cases[number].place);
    for (unsigned i = 0; i < 2; i++)
        if (pod_runs(run, (14 + 10 * i) * SIM_MINUTE) != reach_cases[number].moves[i])
            fail_msg("%s, %s: move %u", driver, mode, i + 1);
}

TEST(volumes_reach_their_own_segments)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(reach_cases); i++) {
        check_reach(i, "WaitForFirstConsumer");
        check_reach(i, "Immediate");
    }
}

/* Two nodes with room for one volume each, and three pods: the scheduler knows the room. */
TEST(local_volumes_fill_their_nodes)
{
    static const char *const drivers[][2] = {
        {"topolvm",             "topology.topolvm.io/node: %s"                            },
        {"openebs-lvm-localpv", "openebs.io/nodename: %s"                                 },
        {"openebs-zfs-localpv", "openebs.io/nodeid: %s"                                   },
        {"openebs-zfs-localpv", "openebs.io/nodeid: %s, kubernetes.io/os: linux, other: x"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(drivers); i++) {
        g_auto(GStrv) place = g_strsplit(drivers[i][1], "%s", 2);
        g_autofree char *driver = g_strdup_printf(
            "profile: %s, pools: [{topology: {%sr1-0%s}, capacity: 1500Mi}, {topology: {%sr2-0%s}, "
            "capacity: 1500Mi}]",
            drivers[i][0], place[0], place[1], place[0], place[1]);
        const char *const sets[] = {"spec.nodes[0].count=1",
                                    "spec.nodes[1].count=1",
                                    "spec.workload=[]",
                                    "StatefulSet/web.spec.replicas=3",
                                    "StatefulSet/web.spec.podManagementPolicy=Parallel",
                                    NULL};
        g_autofree char *text = g_strdup_printf(reach_text, driver, "WaitForFirstConsumer");
        g_autofree char *faults = NULL;
        g_autoptr(Scenario) scenario = topology_load(text, sets, &faults);
        assert_string_equal(faults, "");
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1}, NULL);
        assert_int_equal(run_execute(run), RUN_DONE);
        assert_int_equal(run_driver_volumes(run, 0), 2);
        const Object *refused = NULL;
        for (uint32_t k = 0; k < objects_n_keys(run_objects(run), KIND_POD); k++) {
            const Object *pod = api_server_get(cluster_api(run_cluster(run)),
                                               objects_key_at(run_objects(run), KIND_POD, k));
            if (!pod_is_ready(POD_CONST(pod))) {
                assert_null(refused);
                refused = pod;
            }
        }
        assert_non_null(refused);
    }
}

/* Nodes without zones and a driver without anything: a first scenario. */
TEST(volumes_need_no_zones)
{
    static const char *const modes[] = {"Immediate", "WaitForFirstConsumer"};

    for (unsigned i = 0; i < G_N_ELEMENTS(modes); i++) {
        g_autofree char *text = g_strdup_printf(reach_text, "attachRequired: true", modes[i]);
        g_auto(GStrv) parts = g_strsplit(text, "zones: [a, b], ", -1);
        g_autofree char *without = g_strjoinv("", parts);
        g_autoptr(Scenario) scenario = load_well(without);
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1}, NULL);
        assert_true(pod_runs(run, 4 * SIM_MINUTE));
        assert_null(VOLUME_CONST(first_object(run, KIND_VOLUME))->node_affinity);
        assert_true(pod_runs(run, 14 * SIM_MINUTE));
    }
}

/* ---- What CSINodes of a dump say ---- */

static const char dump[] =
    "apiVersion: v1\nkind: Node\n"
    "metadata: {name: n1, uid: 10000000-0000-4000-8000-000000000001, labels: {x/zone: a, x/rack: "
    "r1, topology.kubernetes.io/zone: a}}\n"
    "status: {allocatable: {cpu: 4, pods: 110}}\n"
    "---\n"
    "apiVersion: v1\nkind: Node\n"
    "metadata: {name: n2, uid: 10000000-0000-4000-8000-000000000002, labels: {x/zone: b, x/rack: "
    "r2, topology.kubernetes.io/zone: b}}\n"
    "status: {allocatable: {cpu: 4, pods: 110}}\n"
    "---\n"
    "apiVersion: v1\nkind: Node\n"
    "metadata: {name: n3, uid: 10000000-0000-4000-8000-000000000003}\n"
    "status: {allocatable: {cpu: 4, pods: 110}}\n"
    "---\n"
    "apiVersion: storage.k8s.io/v1\nkind: CSINode\n"
    "metadata: {name: n1, uid: 20000000-0000-4000-8000-000000000001}\n"
    "spec: {drivers: [{name: d, nodeID: i-1, topologyKeys: [x/rack, x/zone], allocatable: {count: "
    "3}}]}\n"
    "---\n"
    "apiVersion: storage.k8s.io/v1\nkind: CSINode\n"
    "metadata: {name: n2, uid: 20000000-0000-4000-8000-000000000002}\n"
    "spec: {drivers: [{name: d, nodeID: i-2, topologyKeys: [x/zone], allocatable: {count: 5}}]}\n"
    "---\n"
    "apiVersion: storage.k8s.io/v1\nkind: CSINode\n"
    "metadata: {name: n3, uid: 20000000-0000-4000-8000-000000000003}\n"
    "spec: {drivers: []}\n"
    "---\n"
    "apiVersion: v1\nkind: PersistentVolume\n"
    "metadata: {name: old, uid: 30000000-0000-4000-8000-000000000002, creationTimestamp: "
    "'2026-01-01T00:00:00Z'}\n"
    "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: "
    "o}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: x/rack, operator: "
    "In, values: [r1]}]}]}}}\n"
    "status: {phase: Available}\n"
    "---\n"
    "apiVersion: v1\nkind: PersistentVolume\n"
    "metadata: {name: pv, uid: 30000000-0000-4000-8000-000000000001, creationTimestamp: "
    "'2026-01-02T00:00:00Z'}\n"
    "spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: "
    "v}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: x/zone, operator: "
    "In, values: [a]}]}]}}}\n"
    "status: {phase: Available}\n";

/* For each node: the driver's name for it, its limit and place, then the limit and the keys in the
 * CSINode. */
/* Columns; clang-format 14 cannot align such rows. */
/* clang-format off */
static const struct {
    const char *driver, *expected, *volume_keys;
} dump_cases[] = {
    {"",                              "i-1 3 x/rack=r1,x/zone=a (3 x/rack,x/zone); i-2 5 x/zone=b (5 x/zone); -", "x/zone"},
    {", profile: aws-ebs-gp3",        "i-1 3 x/rack=r1,x/zone=a (3 x/rack,x/zone); i-2 5 x/zone=b (5 x/zone); -", "x/zone"},
    {", attachLimit: 9",              "i-1 9 x/rack=r1,x/zone=a (9 x/rack,x/zone); i-2 9 x/zone=b (9 x/zone); -", "x/zone"},
    {", topology: x/zone",            "i-1 3 x/zone=a (3 x/zone); i-2 5 x/zone=b (5 x/zone); -",                  "x/zone"},
    {", topology: y/zone",            "i-1 3 y/zone=a (3 y/zone); i-2 5 y/zone=b (5 y/zone); -",                  ""},
    {", topology: false",             "i-1 3  (3 ); i-2 5  (5 ); -",                                              ""},
    {", volumeTopology: [x/rack]",    "i-1 3 x/rack=r1,x/zone=a (3 x/rack,x/zone); i-2 5 x/zone=b (5 x/zone); -", "x/rack"},
};
/* clang-format on */

static void
topology_add_node(const Run *run, const char *name, GString *text)
{
    const Object *object =
        api_server_get(cluster_api(run_cluster(run)),
                       objects_find_key(run_objects(run), KIND_CSI_NODE, NULL, name));
    const CsiNodeDriver *entry = csi_node_find_driver((const CsiNode *)object, "d");
    CsiResponse info;

    g_string_append(text, text->len == 0 ? "" : "; ");
    if (entry == NULL) {
        g_string_append(text, "-");
        return;
    }
    assert_true(csi_driver_foresee_node_info(cluster_driver(run_cluster(run), 0),
                                             object_name(object), &info));
    g_string_append_printf(text, "%s %d ", info.node_id, (int)info.max_volumes_per_node);
    assert_string_equal(entry->node_id, info.node_id);
    const StringMap *place = info.n_accessible_topology == 0 ? NULL : info.accessible_topology[0];
    for (unsigned i = 0; place != NULL && i < place->n_pairs; i++)
        g_string_append_printf(text, "%s%s=%s", i == 0 ? "" : ",", place->pairs[i].key,
                               place->pairs[i].value);
    g_autofree char *keys = keys_text(entry->topology_keys);
    g_string_append_printf(text, " (%d %s)", entry->allocatable_count, keys);
}

TEST(csi_nodes_give_keys_and_limits)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(dump_cases); i++) {
        g_autofree char *text =
            g_strdup_printf(HEAD "  drivers: [{name: d%s}]\n---\n%s", dump_cases[i].driver, dump);
        g_autoptr(Scenario) scenario = load_well(text);
        g_autoptr(GError) error = NULL;
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1}, &error);
        const StringList *of_volumes = scenario->drivers[0].model.volume_keys;
        g_autofree char *keys = keys_text(of_volumes);
        g_autoptr(GString) found = g_string_new(NULL);
        assert_int_equal(run_advance(run, SIM_MINUTE), RUN_DONE);
        topology_add_node(run, "n1", found);
        topology_add_node(run, "n2", found);
        topology_add_node(run, "n3", found);
        if (strcmp(found->str, dump_cases[i].expected) != 0)
            fail_msg("\"%s\": expected \"%s\", found \"%s\"", dump_cases[i].driver,
                     dump_cases[i].expected, found->str);
        assert_string_equal(keys, dump_cases[i].volume_keys);
    }
}

/* A node that joins later gets keys as the others have them. */
TEST(new_nodes_get_the_same_keys)
{
    static const char workload[] =
        "  workload:\n"
        "  - at: 10s\n"
        "    create:\n"
        "      manifest:\n"
        "        apiVersion: v1\n        kind: Node\n"
        "        metadata: {name: n4, labels: {topology.kubernetes.io/zone: c}}\n"
        "        status: {allocatable: {cpu: 4, pods: 110}}\n";
    static const char *const rows[][2] = {
        {"",                                    "n4 3 x/zone=c (3 x/zone)" },
        {", topology: [x/zone, x/rack]",        "n4 3 x/zone=c (3 x/zone)" },
        {", topology: {x/rack: metadata.name}", "n4 3 x/rack=n4 (3 x/rack)"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autofree char *text = g_strconcat(HEAD "  drivers: [{name: d", rows[i][0], "}]\n",
                                            workload, "---\n", dump, NULL);
        g_autoptr(Scenario) scenario = load_well(text);
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1}, NULL);
        g_autoptr(GString) found = g_string_new(NULL);
        assert_int_equal(run_advance(run, SIM_MINUTE), RUN_DONE);
        topology_add_node(run, "n4", found);
        assert_string_equal(found->str, rows[i][1]);
    }
}

/* Nothing is written about a CSINode and a Node that a dump has: the drivers are registered. */
TEST(registration_leaves_a_dump_alone)
{
    g_autofree char *text = g_strconcat(HEAD "  drivers: [{name: d}]\n---\n", dump, NULL);
    g_autoptr(Scenario) scenario = load_well(text);
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = 1}, &error);
    const char *const nodes[] = {"n1", "n2", "n3"};
    uint64_t versions[3];

    for (unsigned k = 0; k < 2; k++) {
        for (unsigned i = 0; i < 3; i++) {
            const Object *object =
                api_server_get(cluster_api(run_cluster(run)),
                               objects_find_key(run_objects(run), KIND_CSI_NODE, NULL, nodes[i]));
            if (k == 1)
                assert_true(versions[i] == object->resource_version);
            versions[i] = object->resource_version;
        }
        assert_int_equal(run_advance(run, SIM_MINUTE), RUN_DONE);
    }
}
