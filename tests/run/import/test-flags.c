/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flags of processes out of manifests and dumps of the shapes that drivers have: whose a workload
 * is, which flags it has, and what is told of those that no model has. */
#include "run/import/flags/flags.h"
#include "tests/lib/test.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct {
    char *folder, *dump_file, *manifest;
    ImportReport *report;
    GPtrArray *dumps;
    json_t *drivers;
} FlagsWorld;

static int
flags_set_up(void **state)
{
    FlagsWorld *self = g_new0(FlagsWorld, 1);

    self->folder = g_dir_make_tmp("flags-XXXXXX", NULL);
    self->dump_file = g_build_filename(self->folder, "dump.yaml", NULL);
    self->manifest = g_build_filename(self->folder, "driver.yaml", NULL);
    self->report = import_report_new();
    *state = self;
    return self->folder == NULL;
}

static int
flags_tear_down(void **state)
{
    FlagsWorld *self = *state;

    g_unlink(self->dump_file);
    g_unlink(self->manifest);
    g_rmdir(self->folder);
    g_free(self->folder);
    g_free(self->dump_file);
    g_free(self->manifest);
    import_report_free(self->report);
    g_clear_pointer(&self->dumps, g_ptr_array_unref);
    json_decref(self->drivers);
    g_free(self);
    return 0;
}

static const Dump *
read_dump(FlagsWorld *self, const char *text)
{
    const char *const files[] = {self->dump_file, NULL};
    g_autoptr(ImportReport) unused = import_report_new();
    g_autoptr(GError) error = NULL;

    assert_true(g_file_set_contents(self->dump_file, text, -1, NULL));
    self->dumps = dumps_read(files, unused, &error);
    if (self->dumps == NULL)
        fail_msg("%s", error->message);
    return self->dumps->pdata[0];
}

/* @names: of drivers, after spaces; @manifest, @dump: nullable. Returns: (owned): the sidecars of
 * the first driver */
static char *
sidecars(FlagsWorld *self, const char *names, const char *manifest, const char *dump)
{
    g_auto(GStrv) list = g_strsplit(names, " ", -1);
    const char *const files[] = {manifest != NULL ? self->manifest : NULL, NULL};
    g_autoptr(GError) error = NULL;

    self->drivers = json_array();
    for (unsigned i = 0; list[i] != NULL; i++)
        json_array_append_new(self->drivers, json_pack("{s:s}", "name", list[i]));
    if (manifest != NULL)
        assert_true(g_file_set_contents(self->manifest, manifest, -1, NULL));
    if (!flags_of_drivers(self->drivers, dump != NULL ? read_dump(self, dump) : NULL, files,
                          self->report, &error))
        fail_msg("%s", error->message);
    const json_t *found = json_object_get(json_array_get(self->drivers, 0), "sidecars");
    return found == NULL ? g_strdup("none") : json_dumps(found, JSON_COMPACT);
}

static void
assert_told(FlagsWorld *self, const char *words)
{
    g_autofree char *text = import_report_text(self->report, TRUE);

    if (strstr(text, words) == NULL)
        fail_msg("\"%s\" is not in: %s", words, text);
}

/* ---- Shapes of manifests ---- */

#define WORKLOAD(kind, name, spec)                                                                 \
    "apiVersion: apps/v1\nkind: " kind "\nmetadata: {name: " name ", namespace: csi}\nspec:\n"     \
    "  template:\n    spec:\n      containers:\n" spec
#define CSI_DRIVER(name)                                                                           \
    "---\napiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: " name "}\n---\n"
#define PLUGIN "      - {name: plugin, image: example.com/blocks-driver:1, args: [--endpoint=x]}\n"

#define ONLY_PROVISIONER                                                                           \
    ",\"external-attacher\":false,\"external-resizer\":false,\"external-snapshotter\":false}"

static const struct {
    const char *name, *manifest, *sidecars, *told;
} shapes[] = {
    {"args of a Deployment with replicas",
     CSI_DRIVER("a.example.com")
         WORKLOAD("Deployment",
     "x",                                                                                                          PLUGIN "      - name: csi-provisioner\n"
                         "        image: registry.k8s.io/sig-storage/csi-provisioner:v5.2.0\n"
                         "        args: [--csi-address=$(ADDRESS), -v=2, --timeout=60s, "
                         "--leader-election, --kube-api-qps=20, '--feature-gates=Topology=true']\n"
                         "  replicas: 2\n"),
     "{\"external-provisioner\":{\"timeout\":\"60s\",\"leader-election\":true,\"kube-api-qps\":20,"
     "\"feature-gates\":\"Topology=true\",\"replicas\":2}" ONLY_PROVISIONER,
     "a.example.com: external-provisioner v5.2.0 from Deployment x of the manifest."                                                                                                                                                                                                    },
    {"command, single dashes, a value of its own, no tag",
     CSI_DRIVER("a.example.com")
         WORKLOAD("StatefulSet",
     "x",                                                                                                          "      - name: provisioner\n"
                  "        image: example.com/csi-provisioner@sha256:0123\n"
                  "        command: [/csi-provisioner, -timeout, 2m, -strict-topology, "
                  "-worker-threads, '7']\n"),
     "{\"external-provisioner\":{\"timeout\":\"2m\",\"strict-topology\":true,"
     "\"worker-threads\":7}" ONLY_PROVISIONER,
     "external-provisioner from StatefulSet x"                                                                                                                                                                                                                                          },
    {"variables of the container, and others",
     CSI_DRIVER("a.example.com") WORKLOAD(
         "Deployment",                                                                                        "x",
     "      - name: csi-external-provisioner\n"
         "        image: example.com/ose-csi-external-provisioner:v4.18\n"
         "        env: [{name: T, value: 33s}, {name: S, valueFrom: {}}]\n"
         "        args: [--timeout=$(T), --worker-threads=$(S), --extra-create-metadata=1]\n"),
     "{\"external-provisioner\":{\"timeout\":\"33s\",\"extra-create-metadata\":"
     "true}" ONLY_PROVISIONER,
     "Flags of external-provisioner whose value is in no manifest: 1 (`--worker-threads`)"                                                                                                                                                                                              },
    {"flags without a model, and bad values",
     CSI_DRIVER("a.example.com") WORKLOAD("Deployment",
     "x",                                                                                                          "      - name: p\n"
                                          "        image: example.com/csi-provisioner:v5.0.1\n"
                                          "        args: [--new-flag=secret, --timeout=soon]\n"),
     "{\"external-provisioner\":{}" ONLY_PROVISIONER,
     "Flags of external-provisioner that no model has: 1 (`--new-flag`)"                                                                                                                                                                                                                },
    {"an instance on each node",
     CSI_DRIVER("a.example.com")
         WORKLOAD("DaemonSet",
     "x",                                                                                                          "      - name: p\n"
                  "        image: example.com/csi-provisioner:v6.3.0\n"
                  "        args: [--node-deployment=true, --enable-capacity]\n"),
     "{\"external-provisioner\":{\"node-deployment\":true,\"enable-capacity\":"
     "true}" ONLY_PROVISIONER,
     "a.example.com runs without external-resizer."                                                                                                                                                                                                                                     },
    {"defaults of old releases",
     CSI_DRIVER("a.example.com")
         WORKLOAD("Deployment",
     "x",                                                                                                          "      - {name: p, image: 'example.com/csi-provisioner:v3.6.0'}\n"
                  "      - {name: r, image: 'example.com/csi-resizer:v1.9.0'}\n"
                  "      - {name: a, image: 'example.com/csi-attacher:v4.4.0'}\n"
                  "      - {name: s, image: 'example.com/csi-snapshotter:v6.3.0'}\n"),
     "{\"external-provisioner\":{\"feature-gates\":\"Topology=false,HonorPVReclaimPolicy=false\","
     "\"prevent-volume-mode-conversion\":false},\"external-resizer\":{\"feature-gates\":"
     "\"RecoverVolumeExpansionFailure=false\"},\"external-attacher\":{},"
     "\"external-snapshotter\":{}}",                                                                                                                                                                        "external-provisioner v3.6.0: Topology is off, the default of that release."},
    {"gates that no model has",
     CSI_DRIVER("a.example.com") WORKLOAD(
         "Deployment",                                                                                        "x",
     "      - name: p\n"
         "        image: registry.k8s.io/sig-storage/csi-provisioner:v5.2.0\n"
         "        args: ['--feature-gates=Topology=true,ReleaseLeaderElectionOnExit=true']\n"),
     "{\"external-provisioner\":{\"feature-gates\":\"Topology=true\"}" ONLY_PROVISIONER,
     "Flags of external-provisioner that no model has: 1 "
     "(`--feature-gates=ReleaseLeaderElectionOnExit=true`)"                                                                                                                                                                                                                             },
    {"more replicas than are simulated",
     CSI_DRIVER("a.example.com")
         WORKLOAD("Deployment",
     "x",                                                                                                          "      - {name: p, image: 'example.com/csi-provisioner:v5.2.0'}\n"
                  "  replicas: 99999999999\n"),
     "{\"external-provisioner\":{\"replicas\":16}" ONLY_PROVISIONER,
     "external-provisioner v5.2.0 from Deployment x"                                                                                                                                                                                                                                    },
    {"no sidecar at all",                                  CSI_DRIVER("a.example.com") WORKLOAD("Deployment", "x", PLUGIN),                                                                         "none",
     "Manifests without a known sidecar: 1"                                                                                                                                                                                                                                             },
    {"another driver's",
     CSI_DRIVER("b.example.com") WORKLOAD(
         "Deployment",                                                                                        "x", "      - {name: p, image: 'example.com/csi-provisioner:v5.2.0'}\n"),
     "none",                                                                                                                                                                                                "Workloads with sidecars that fit no driver, or several: 1 (`x`)"           },
    {"another provisioner that is external",
     CSI_DRIVER("a.example.com")
         WORKLOAD("Deployment",
     "x",                                                                                                          "      - {name: p, image: 'example.com/nfs-subdir-external-provisioner:v4'}\n"),
     "none",                                                                                                                                                                                                "Manifests without a known sidecar: 1"                                      },
};

TEST_WITH(flags_set_up, flags_tear_down, reads_all_shapes)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(shapes); i++) {
        FlagsWorld *self = *state;
        g_autofree char *found = sidecars(self, "a.example.com", shapes[i].manifest, NULL);
        if (strcmp(found, shapes[i].sidecars) != 0)
            fail_msg("%s: %s, wanted %s", shapes[i].name, found, shapes[i].sidecars);
        assert_told(self, shapes[i].told);
        g_autofree char *text = import_report_text(self->report, TRUE);
        assert_null(strstr(text, "secret")); /* values are never told */
        flags_tear_down(state);
        flags_set_up(state);
    }
}

/* ---- Dumps ---- */

#define SIDECAR(image, arg) "{name: s, image: 'example.com/" image "', args: [" arg "]}"
#define DEPLOYMENT(name, containers)                                                               \
    "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: " name                             \
    ", namespace: kube-system, uid: u-" name                                                       \
    "}, spec: {template: {spec: {containers: [" containers "]}}}}\n"
#define HEAD "apiVersion: v1\nkind: List\nitems:\n"

/* The name stands in the arguments of one; the other's words are like it; a third fits nobody. */
static const char several[] = HEAD DEPLOYMENT(
    "one",
    SIDECAR("csi-provisioner:v5.2.0", "--timeout=1s") ", {name: d, image: x, "
                                                      "args: [--drivername=first.csi.example.com]}")
    DEPLOYMENT("csi-bluedisk-controller", SIDECAR("csi-provisioner:v5.2.0", "--timeout=2s"))
        DEPLOYMENT("three", SIDECAR("csi-provisioner:v5.2.0", "--timeout=3s"));

TEST_WITH(flags_set_up, flags_tear_down, workloads_find_their_drivers)
{
    FlagsWorld *self = *state;
    g_autofree char *first =
        sidecars(self, "first.csi.example.com disk.csi.blue.com file.csi.blue.com", NULL, several);
    const json_t *second = json_object_get(json_array_get(self->drivers, 1), "sidecars");

    assert_string_equal(first, "{\"external-provisioner\":{\"timeout\":\"1s\"}" ONLY_PROVISIONER);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(second, "external-provisioner"), "timeout")),
                        "2s");
    assert_null(json_object_get(json_array_get(self->drivers, 2), "sidecars"));
    assert_told(self, "fit no driver, or several: 1 (`three`)");
    assert_told(self, "file.csi.blue.com: all sidecars with default flags");
}

#define POD(name, owner, containers)                                                               \
    "- {apiVersion: v1, kind: Pod, metadata: {name: " name                                         \
    ", namespace: kube-system, uid: u-" name                                                       \
    ", ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: " owner             \
    "}]}, spec: {containers: [" containers "]}}\n"

TEST_WITH(flags_set_up, flags_tear_down, pods_do_where_workloads_are_missing)
{
    FlagsWorld *self = *state;
    g_autofree char *found =
        sidecars(self, "blue.csi.example.com", NULL,
                 HEAD POD("blue-1", "r-1", SIDECAR("csi-attacher:v4.8.0", "--timeout=4s"))
                     POD("blue-2", "r-1", SIDECAR("csi-attacher:v4.8.0", "--timeout=4s")));

    assert_string_equal(found, "{\"external-attacher\":{\"timeout\":\"4s\",\"replicas\":2},"
                               "\"external-provisioner\":false,\"external-resizer\":false,"
                               "\"external-snapshotter\":false}");
}

/* The same pods with their Deployment: counted once. */
TEST_WITH(flags_set_up, flags_tear_down, a_manifest_wins_over_the_dump)
{
    FlagsWorld *self = *state;
    g_autofree char *found = sidecars(
        self, "blue.csi.example.com",
        CSI_DRIVER("blue.csi.example.com")
            WORKLOAD("Deployment", "x",
                     "      - {name: p, image: 'example.com/csi-provisioner:v5.2.0', args: "
                     "[--timeout=9s]}\n"),
        HEAD DEPLOYMENT("blue", SIDECAR("csi-provisioner:v5.2.0", "--timeout=1s")));

    assert_string_equal(found, "{\"external-provisioner\":{\"timeout\":\"9s\"}" ONLY_PROVISIONER);
}

/* ---- The control plane ---- */

#define STATIC_POD(name, command)                                                                  \
    "- {apiVersion: v1, kind: Pod, metadata: {name: " name                                         \
    "-m1, namespace: kube-system, uid: u-" name "}, spec: {containers: [{name: " name              \
    ", image: 'registry.k8s.io/" name ":v1.32.4', command: [" command "]}]}}\n"

TEST_WITH(flags_set_up, flags_tear_down, components_are_read)
{
    FlagsWorld *self = *state;
    const Dump *dump = read_dump(
        self, HEAD STATIC_POD(
                  "kube-controller-manager",
                  "kube-controller-manager, --kube-api-qps=50, --leader-elect=true, "
                  "--cluster-cidr=10.0.0.0/8, --controllers=all, --node-monitor-grace-period=20s, "
                  "'--feature-gates=VolumeAttributesClass=true,Other=true'")
                  STATIC_POD("kube-scheduler", "kube-scheduler, --leader-elect=true, --config=/x")
                      STATIC_POD("kube-apiserver", "kube-apiserver, "
                                                   "--feature-gates=VolumeAttributesClass=false"));
    json_auto_t *components = flags_of_components(dump, self->report);
    json_auto_t *gates = flags_feature_gates(dump);
    g_autofree char *text = json_dumps(components, JSON_COMPACT);
    g_autofree char *gates_text = json_dumps(gates, JSON_COMPACT);

    assert_string_equal(text, "{\"kube-controller-manager\":{\"kube-api-qps\":50,"
                              "\"leader-elect\":true,\"node-monitor-grace-period\":\"20s\"},"
                              "\"kube-scheduler\":{\"leader-elect\":true}}");
    assert_string_equal(gates_text, "{\"VolumeAttributesClass\":false}");
    assert_told(self, "Flags of kube-controller-manager that no model has: 1 (`--controllers`)");
    assert_told(self, "Flags of kube-scheduler whose file is in no dump: 1 (`--config`)");
    assert_told(self, "kube-scheduler v1.32.4: flags from pod kube-system/kube-scheduler-m1.");
}

/* A managed control plane shows no pods. */
TEST_WITH(flags_set_up, flags_tear_down, no_component_is_told)
{
    FlagsWorld *self = *state;
    const Dump *dump = read_dump(self, HEAD DEPLOYMENT("x", "{name: c, image: c}"));

    assert_null(flags_of_components(dump, self->report));
    assert_null(flags_feature_gates(dump));
    assert_told(self, "have default flags");
}
