/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <stdio.h>

#include "run/scenario/scenario.h"
#include "tests/lib/test.h"

/* Objects that a cluster printed: the loader tells what the run will do otherwise, once for each
 * cause, and takes the objects all the same. */

#define UID(n) "uid: aaaaaaaa-0000-4000-8000-00000000000" #n
#define CLASS_OF(name, driver, n)                                                                  \
    "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: " name                   \
    ", " UID(n) "}, provisioner: " driver "}"
#define NODE_WITH(drivers)                                                                         \
    "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n-1, " UID(                   \
        5) "}, spec: {drivers: [" drivers "]}}"
#define VOLUME_OF(driver)                                                                          \
    "{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv, " UID(                          \
        6) "}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: "               \
           "{driver: " driver ", volumeHandle: h}}}"
#define GOLD                                                                                       \
    "{apiVersion: storage.k8s.io/v1beta1, kind: VolumeAttributesClass, metadata: {name: "          \
    "gold, " UID(7) "}, driverName: known.example.com, parameters: {iops: '1'}}"
#define NO_GOLD                                                                                    \
    "VolumeAttributesClass/gold: no volume of driver \"known.example.com\" gets a "                \
    "VolumeAttributesClass "

#define GATE "kubernetes: {featureGates: {VolumeAttributesClass: true}}, "
#define MODIFIES                                                                                   \
    ", controllerCapabilities: [CREATE_DELETE_VOLUME, PUBLISH_UNPUBLISH_VOLUME, EXPAND_VOLUME, "   \
    "MODIFY_VOLUME]"
#define RESIZER ", sidecars: {external-resizer: {feature-gates: VolumeAttributesClass=true}}"

/* Fields of pods, claims and containers, in templates, too. */
#define SET_OF(name, pod)                                                                          \
    "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: " name                              \
    "}, spec: {replicas: 1, selector: {matchLabels: {a: b}}, updateStrategy: {rollingUpdate: "     \
    "{maxUnavailable: 2}}, template: {metadata: {labels: {a: b}}, spec: " pod "}}}"
#define PROBED(name, more)                                                                         \
    "{name: " name ", image: i, " more "readinessProbe: {exec: {command: [a]}, periodSeconds: 1}}"
#define SPREAD(name, policy)                                                                       \
    "{apiVersion: v1, kind: Pod, metadata: {name: " name                                           \
    "}, spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: "       \
    "DoNotSchedule, nodeTaintsPolicy: " policy "}], containers: [{name: c, image: i}]}}"

typedef struct {
    const char *name;
    const char *spec, *driver; /* more members of the spec, and of its driver */
    const char *objects;
    const char *warnings; /* with a line feed behind each */
    unsigned n_ignored;   /* objects */
} WarningsCase;

/* clang-format off */
static const WarningsCase cases[] = {
    {"a known driver", "", "",
     CLASS_OF("a", "known.example.com", 1) ", " CLASS_OF("b", "kubernetes.io/no-provisioner", 2) ", "
     VOLUME_OF("known.example.com"),
     ""},
    {"one driver in three kinds", "", "",
     CLASS_OF("a", "x.example.com", 1) ", " VOLUME_OF("x.example.com") ", "
     NODE_WITH("{name: x.example.com, nodeID: n-1, topologyKeys: null}"),
     "StorageClass/a: there is no driver \"x.example.com\" (add it to spec.drivers); 3 objects in "
     "all\n"},
    {"two drivers", "", "", CLASS_OF("a", "x.example.com", 1) ", " CLASS_OF("b", "y.example.com", 2),
     "StorageClass/a: there is no driver \"x.example.com\" (add it to spec.drivers)\n"
     "StorageClass/b: there is no driver \"y.example.com\" (add it to spec.drivers)\n"},
    {"classes without their gate", "", MODIFIES RESIZER, GOLD,
     NO_GOLD "(spec.kubernetes.featureGates does not switch on VolumeAttributesClass)\n"},
    {"classes that a driver does not know", GATE, RESIZER, GOLD,
     NO_GOLD "(the driver's controllerCapabilities lack MODIFY_VOLUME)\n"},
    {"classes without the sidecar's gate", GATE, MODIFIES, GOLD,
     NO_GOLD "(the external-resizer's feature-gates do not switch on VolumeAttributesClass)\n"},
    {"a gate without effect",
     "\n\nkubernetes: {version: v1.24, featureGates: {CSIMigrationGCE: true, CSIInlineVolume: false}}, ", "", "",
     "spec.kubernetes.featureGates: feature gate CSIInlineVolume changes nothing here "
     "(always: CSI volumes in pods)\n"},
    {"flags without effect, and with one that is not modelled",
     "\n\ncomponents: {kube-controller-manager: {v: 4, controllers: all}}, ", "", "",
     "spec.components.kube-controller-manager.controllers: not modelled: kube-controller-manager "
     "controllers: all controllers run\n"},
    {"classes that work", GATE, MODIFIES RESIZER, GOLD, ""},
    {"fields of a template, once for an object", "", "",
     SET_OF("a", "{containers: [" PROBED("c", "") ", {name: d, image: i}]}") ", "
     SET_OF("b", "{hostNetwork: true, initContainers: [" PROBED("b", "restartPolicy: Always, ") "], containers: ["
                 PROBED("c", "") "]}"),
     "StatefulSet/a: not modelled: StatefulSet spec.updateStrategy.rollingUpdate.maxUnavailable: a "
     "rollout takes one pod at a time, as with the gate MaxUnavailableStatefulSet off; 2 objects in "
     "all\n"
     "StatefulSet/a: not modelled: Container readinessProbe: the container is ready as soon as it "
     "runs: a StatefulSet makes its next replica, and a rollout goes on, without the wait for the "
     "probe; 2 objects in all\n"},
    {"all values of a field but one", "", "",
     SPREAD("l", "Honor") ", " SPREAD("m", "Honor") ", " SPREAD("o", "Ignore"),
     "Pod/l: not modelled: Pod spec.topologySpreadConstraints[].nodeTaintsPolicy: the spread counts "
     "tainted nodes, too; 2 objects in all\n"},
    {"API-185: a claim that an API server warns of", "", "",
     "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: "
     "[ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 1500m}}}}",
     "PersistentVolumeClaim/c: spec.resources.requests[storage]: fractional byte value \"1500m\" is "
     "invalid, must be an integer\n"},
    {"kinds that are left out", "", "",
     "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, "
     "spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: d}}}",
     "HorizontalPodAutoscaler/h: not modelled: HorizontalPodAutoscaler: nothing scales its workload: "
     "write scale actions into the scenario\n",
     .n_ignored = 1},
};
/* clang-format on */

static void
each_cause_is_told_once(void **state)
{
    const WarningsCase *row = *state;
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *text = g_strdup_printf(
        "{apiVersion: kvolsim.io/v1, kind: Scenario, metadata: {name: w}, spec: {%snodes: [{name: "
        "n-1}], drivers: [{name: known.example.com%s}]}}\n---\n"
        "{apiVersion: v1, kind: List, items: [%s]}\n",
        row->spec, row->driver, row->objects);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GString) told = g_string_new(NULL);
    g_autofree char *prefix = g_strdup_printf("%s:3: ", file);

    assert_true(g_file_set_contents(file, text, -1, NULL));
    g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);
    g_remove(file);
    g_rmdir(folder);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *message = file_fault_text(faults->pdata[i]);
        print_message("%s\n", message);
    }
    assert_non_null(scenario);
    for (unsigned i = 0; i < scenario->warnings->len; i++) {
        const char *warning = scenario->warnings->pdata[i];
        assert_true(g_str_has_prefix(warning, prefix));
        g_string_append_printf(told, "%s\n", warning + strlen(prefix));
    }
    assert_string_equal(told->str, row->warnings);
    assert_int_equal(scenario->ignored->len, row->n_ignored);
}
TEST_ROWS(cases, each_cause_is_told_once);
