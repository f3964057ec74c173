/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fault-world.h"
#include "models/metrics/metrics.h"
#include "tests/lib/test.h"

#include <glib/gstdio.h>
#include <unistd.h>

/* Files in volumes: how long a pod waits for the change of their group (CSP-22 to CSP-24) and of
 * their SELinux label (CSP-25 to CSP-27), and when there are any (CSI-90). One volume is given to
 * pod "one", which goes at 60 s, and at 100 s to pod "two". Then, what two labels on one volume do
 * (CSP-28). */

static const char scenario_text[] =
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: files}\nspec:\n  until: 1h\n"
    "  kubernetes: {version: '%s'}\n  nodes: [{name: n-1%s}]\n"
    "  drivers: [{name: d.example.com, %s}]\n  workload:\n"
    "  - at: 1s\n    create:\n      manifest:\n        apiVersion: v1\n"
    "        kind: PersistentVolumeClaim\n        metadata: {name: data%s}\n"
    "        spec: {accessModes: [%s], storageClassName: c, resources: {requests: {storage: "
    "1Gi}}}\n"
    "  - {at: 1s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: one}, spec: "
    "&spec {%s, containers: [{name: c, image: 'i:1', volumeMounts: [{name: v, mountPath: /v}]}], "
    "volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}}}}\n"
    "  - {at: 60s, delete: {kind: Pod, name: one}}\n"
    "  - {at: 100s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: two}, spec: "
    "*spec}}}\n"
    "---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d.example.com}, spec: "
    "{attachRequired: false%s}}\n"
    "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: c}, provisioner: "
    "d.example.com, parameters: {csi.storage.k8s.io/fstype: ext4}}\n";

typedef struct {
    const char *name;
    const char *version, *node, *driver, *claim, *mode, *pod, *driver_object;
    int one_s, two_s; /* the whole seconds of work on files before the pods start */
    unsigned n_events;
    const char *event;
} FilesCase;

#define MILLION "files: {count: 1M, perFile: 100us}"
#define GROUP "securityContext: {fsGroup: 1000}"
#define MISMATCH "securityContext: {fsGroup: 1000, fsGroupChangePolicy: OnRootMismatch}"
#define SELINUX ", annotations: {kvolsim.io/selinux: 'true'}"
#define LEVEL "securityContext: {seLinuxOptions: {level: 's0:c1,c2'}}"
#define RECURSIVE                                                                                  \
    "securityContext: {seLinuxOptions: {level: 's0:c1'}, seLinuxChangePolicy: Recursive}"
#define WALKS "VolumePermissionChangeInProgress"

/* clang-format off */
static const FilesCase cases[] = {
    {"always", "1.32", "", MILLION, "", "ReadWriteOnce", GROUP, "", 0, 100, 0, WALKS},
    {"Events from 1.33 on", "1.33", "", MILLION, "", "ReadWriteOnce", GROUP, "", 0, 100, 2, WALKS},
    {"no fsGroup", "1.33", "", MILLION, "", "ReadWriteOnce", "securityContext: {}", "", 0, 0, 0, WALKS},
    {"OnRootMismatch", "1.33", "", MILLION, "", "ReadWriteOnce", MISMATCH, "", 0, 0, 0, WALKS},
    {"OnRootMismatch before 1.20", "1.19", "", MILLION, "", "ReadWriteOnce", MISMATCH, "", 0, 100, 0, WALKS},
    {"policy None", "1.33", "", MILLION, "", "ReadWriteOnce", GROUP, ", fsGroupPolicy: None", 0, 0, 0, WALKS},
    {"many nodes, by default", "1.33", "", MILLION, "", "ReadWriteMany", GROUP, "", 0, 0, 0, WALKS},
    {"many nodes, policy File", "1.33", "", MILLION, "", "ReadWriteMany", GROUP, ", fsGroupPolicy: File", 0, 100, 2, WALKS},
    {"the driver takes the group", "1.33", "", MILLION ", nodeCapabilities: [STAGE_UNSTAGE_VOLUME, VOLUME_MOUNT_GROUP]", "",
     "ReadWriteOnce", GROUP, "", 0, 0, 0, WALKS},
    {"SELinux", "1.32", SELINUX, MILLION, "", "ReadWriteOnce", LEVEL, ", seLinuxMount: true", 0, 100, 0, "Failed"},
    {"SELinux, longer than a request", "1.32", SELINUX, "files: {count: 1M, perLabel: 200us}", "", "ReadWriteOnce", LEVEL, "", 0, 200, 1, "Failed"},
    {"mounted with the label", "1.32", SELINUX, MILLION, "", "ReadWriteOncePod", LEVEL, ", seLinuxMount: true", 0, 0, 0, "Failed"},
    {"no level", "1.32", SELINUX, MILLION, "", "ReadWriteOncePod", "securityContext: {}", ", seLinuxMount: true", 0, 100, 0, "Failed"},
    {"a driver without context mounts", "1.32", SELINUX, MILLION, "", "ReadWriteOncePod", LEVEL, "", 0, 100, 0, "Failed"},
    {"label and group", "1.32", SELINUX, MILLION, "", "ReadWriteOnce", "securityContext: {fsGroup: 1, seLinuxOptions: {level: 's0:c1'}}", "", 0, 200, 0, "Failed"},
    {"Recursive", "1.33", SELINUX, MILLION, "", "ReadWriteOncePod", RECURSIVE, ", seLinuxMount: true", 0, 100, 0, "Failed"},
    {"Recursive is unknown to 1.31", "1.31", SELINUX, MILLION, "", "ReadWriteOncePod", RECURSIVE, ", seLinuxMount: true", 0, 0, 0, "Failed"},
    {"1.27 mounts no contexts", "1.27", SELINUX, MILLION, "", "ReadWriteOncePod", LEVEL, ", seLinuxMount: true", 0, 100, 0, "Failed"},
    {"the claim's own number", "1.33", "", MILLION, ", annotations: {kvolsim.io/files: 10k}", "ReadWriteOnce", GROUP, "", 0, 1, 0, WALKS},
    {"only the claim's number", "1.33", "", "lock: none", ", annotations: {kvolsim.io/files: 1M}", "ReadWriteOnce", GROUP, "", 0, 25, 0, WALKS},
};
/* clang-format on */

/* Returns: the seconds from @from until the pod is ready */
static double
start_of(Run *run, const char *name, SimTime from)
{
    const ObjectKey *key;

    for (SimTime at = from;; at += 100 * SIM_MS) {
        assert_int_equal(run_advance(run, at), RUN_DONE);
        key = objects_find_key(run_objects(run), KIND_POD, "default", name);
        const Object *pod = key == NULL ? NULL : api_server_get(cluster_api(run_cluster(run)), key);
        if (pod != NULL && pod_is_ready(POD_CONST(pod)))
            return (double)(at - from) / SIM_SECOND;
        assert_true(at < 1000 * SIM_SECOND);
    }
}

/* @text: (transfer full) */
static Scenario *
files_load(const char *name, char *yaml)
{
    g_autofree char *text = yaml;
    g_autoptr(GPtrArray) faults = NULL;
    g_autofree char *file = NULL;
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    int descriptor = g_file_open_tmp("files-XXXXXX.yaml", &file, NULL);

    close(descriptor);
    assert_true(g_file_set_contents(file, text, -1, NULL));
    Scenario *scenario = scenario_load(file, &options, &faults);
    g_unlink(file);
    if (scenario == NULL) {
        g_autofree char *fault = file_fault_text(faults->pdata[0]);
        fail_msg("%s: %s", name, fault);
    }
    return scenario;
}

#define SLACK_S 6 /* for the rest: loops, calls, requests */

static void
work_on_files_takes_its_time(void **state)
{
    const FilesCase *row = *state;
    g_autoptr(Scenario) scenario =
        files_load(row->name, g_strdup_printf(scenario_text, row->version, row->node, row->driver,
                                              row->claim, row->mode, row->pod, row->driver_object));
    g_autoptr(GError) error = NULL;
    Run *run = run_new(scenario, &(RunOptions){.seed = 1}, &error);

    assert_non_null(run);
    double one = start_of(run, "one", SIM_SECOND);
    assert_in_range((int)one, row->one_s, row->one_s + SLACK_S);
    double two = start_of(run, "two", 100 * SIM_SECOND);
    assert_in_range((int)two, row->two_s, row->two_s + SLACK_S);
    assert_int_equal(fault_world_n_events(run, row->event), row->n_events);
    run_free(run);
}
TEST_ROWS(cases, work_on_files_takes_its_time);

/* clang-format off */
static const FilesCase endless[] = {
    {"a group for more files than there is time", "1.33", "", "files: {count: 999999999999999}", "", "ReadWriteOnce", GROUP, "", 0, 0, 0, WALKS},
    {"a label for as many", "1.32", SELINUX, "files: {count: 999999999999999}", "", "ReadWriteOnce", LEVEL, "", 0, 0, 0, WALKS},
    {"more files than a number holds", "1.33", "", "files: {count: 1e30}", "", "ReadWriteOnce", GROUP, "", 0, 0, 0, WALKS},
    {"a claim's own", "1.33", "", "lock: none", ", annotations: {kvolsim.io/files: '1e30'}", "ReadWriteOnce", GROUP, "", 0, 0, 0, WALKS},
};
/* clang-format on */

/* No product of number and time overflows: the walk takes longer than the run. */
static void
work_on_files_does_not_end(void **state)
{
    const FilesCase *row = *state;
    g_autoptr(Scenario) scenario =
        files_load(row->name, g_strdup_printf(scenario_text, row->version, row->node, row->driver,
                                              row->claim, row->mode, row->pod, row->driver_object));
    g_autoptr(GError) error = NULL;
    Run *run = run_new(scenario, &(RunOptions){.seed = 1}, &error);

    assert_non_null(run);
    start_of(run, "one", SIM_SECOND);
    assert_int_equal(run_advance(run, 50 * SIM_MINUTE), RUN_DONE);
    const ObjectKey *key = objects_find_key(run_objects(run), KIND_POD, "default", "two");
    assert_false(pod_is_ready(POD_CONST(api_server_get(cluster_api(run_cluster(run)), key))));
    run_free(run);
}
TEST_ROWS(endless, work_on_files_does_not_end);

/* ---- Two pods with one volume on a node: CSP-28, KVM-35.8 ---- */

/* Pod "one" is deleted at 60 s, and is gone some seconds later. Unstaging takes 20 s. */
static const char conflict_text[] =
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: labels}\nspec:\n  until: 1h\n"
    "  kubernetes: {version: '%s', featureGates: {%s}}\n"
    "  nodes: [{name: n-1, annotations: {kvolsim.io/selinux: '%s'}}]\n"
    "  drivers: [{name: d.example.com, latency: {NodeUnstageVolume: 20s}}]\n  workload:\n"
    "  - at: 1s\n    create:\n      manifest:\n        apiVersion: v1\n"
    "        kind: PersistentVolumeClaim\n        metadata: {name: data}\n"
    "        spec: {accessModes: [%s], storageClassName: c, resources: {requests: {storage: "
    "1Gi}}}\n"
    "  - {at: 1s, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: one}, spec: "
    "{nodeName: n-1, securityContext: {%s}, containers: &c [{name: c, image: 'i:1', volumeMounts: "
    "[{name: v, mountPath: /v}]}], volumes: &v [{name: v, persistentVolumeClaim: {claimName: "
    "data}}]}}}}\n"
    "  - {at: 60s, delete: {kind: Pod, name: one}}\n"
    "  - {at: %is, create: {manifest: {apiVersion: v1, kind: Pod, metadata: {name: two}, spec: "
    "{nodeName: n-1, securityContext: {%s}, containers: *c, volumes: *v}}}}\n"
    "---\n{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d.example.com}, spec: "
    "{attachRequired: false, seLinuxMount: %s}}\n"
    "---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: c}, provisioner: "
    "d.example.com, parameters: {csi.storage.k8s.io/fstype: ext4}}\n";

typedef struct {
    const char *name;
    const char *version, *gates, *selinux, *mode, *one, *two, *supported;
    int two_at_s, from_s, to_s; /* when pod "two" comes, and when it is ready */
    const char *message;        /* of some FailedMount; NULL: none is about labels */
    int admitted, warnings;
    gboolean errors; /* some are counted */
} ConflictCase;

#define ONE "seLinuxOptions: {level: 's0:c1'}"
#define TWO "seLinuxOptions: {level: 's0:c2'}"
#define TYPED "seLinuxOptions: {level: 's0:c1', type: spc_t, role: system_r}"
#define WALKED "seLinuxOptions: {level: 's0:c1'}, seLinuxChangePolicy: Recursive"
#define UNLIKE "failed to process volumes=[v]: conflicting SELinux labels of volume pvc-"
#define UNMOUNT                                                                                    \
    "unmounted volumes=[v], unattached volumes=[], failed to process volumes=[]: waiting for "     \
    "unmount of volume \"kubernetes.io/csi/d.example.com^"
#define MOUNT_ON "SELinuxMount: true"

/* clang-format off */
static const ConflictCase conflicts[] = {
    {"like labels", "1.33", MOUNT_ON, "true", "ReadWriteOnce", ONE, ONE, "true", 30, 30, 33, NULL, 1, 0, FALSE},
    {"role and type are the process's", "1.33", MOUNT_ON, "true", "ReadWriteOnce", ONE, TYPED, "true", 30, 30, 33, NULL, 1, 0, FALSE},
    {"another label is counted", "1.33", "", "true", "ReadWriteOnce", ONE, TWO, "true", 30, 30, 33, NULL, 1, 1, FALSE},
    {"another label with SELinuxMount", "1.33", MOUNT_ON, "true", "ReadWriteOnce", ONE, TWO, "true", 30, 80, 120, UNLIKE, 2, 0, TRUE},
    {"many nodes", "1.33", MOUNT_ON, "true", "ReadWriteMany", ONE, TWO, "true", 30, 80, 120, UNLIKE, 2, 0, TRUE},
    {"another label, one pod", "1.32", "", "true", "ReadWriteOncePod", ONE, TWO, "true", 30, 80, 120, UNLIKE, 2, 0, TRUE},
    {"an earlier label must go", "1.33", MOUNT_ON, "true", "ReadWriteOnce", ONE, TWO, "true", 65, 80, 120, UNMOUNT, 2, 0, FALSE},
    {"the same label may stay", "1.33", MOUNT_ON, "true", "ReadWriteOnce", ONE, ONE, "true", 59, 59, 62, NULL, 1, 0, FALSE},
    {"Recursive beside a label", "1.33", MOUNT_ON, "true", "ReadWriteOnce", ONE, WALKED, "true", 30, 80, 120, UNLIKE, 1, 0, TRUE},
    {"Recursive twice", "1.33", MOUNT_ON, "true", "ReadWriteOnce", WALKED, WALKED, "true", 30, 30, 33, NULL, 0, 0, FALSE},
    {"no level beside a label", "1.33", MOUNT_ON, "true", "ReadWriteOnce", "", TWO, "true", 30, 80, 120, UNLIKE, 1, 0, TRUE},
    {"a driver without context mounts", "1.33", MOUNT_ON, "true", "ReadWriteOnce", ONE, TWO, "false", 30, 30, 33, NULL, 0, 0, FALSE},
    {"a node without SELinux", "1.33", MOUNT_ON, "false", "ReadWriteOnce", ONE, TWO, "true", 30, 30, 33, NULL, 0, 0, FALSE},
    {"a release without labels", "1.26", "", "true", "ReadWriteOnce", ONE, TWO, "true", 30, 30, 33, NULL, 0, 0, FALSE},
};
/* clang-format on */

static gboolean
failed_with(const Run *run, const char *message)
{
    const ApiServer *api = cluster_api(run_cluster(run));

    for (unsigned i = 0; i < api_server_n_events(api); i++)
        if (g_str_equal(api_server_event(api, i)->reason, "FailedMount") &&
            strstr(api_server_event(api, i)->message, message) != NULL)
            return TRUE;
    return FALSE;
}

static int
counted(const Run *run, const char *mode, MetricFamily family)
{
    return (int)metric_series(sim_metrics(run_sim(run)), family, "kubelet", mode,
                              "kubernetes.io/csi/d.example.com")
        ->sum;
}

static void
labels_of_two_pods_agree_or_wait(void **state)
{
    const ConflictCase *row = *state;
    g_autoptr(Scenario) scenario = files_load(
        row->name, g_strdup_printf(conflict_text, row->version, row->gates, row->selinux, row->mode,
                                   row->one, row->two_at_s, row->two, row->supported));
    g_autoptr(GError) error = NULL;
    Run *run = run_new(scenario, &(RunOptions){.seed = 1, .measured = TRUE}, &error);
    const char *mode = g_str_equal(row->mode, "ReadWriteMany")      ? "RWX"
                       : g_str_equal(row->mode, "ReadWriteOncePod") ? "RWOP"
                                                                    : "RWO";

    assert_non_null(run);
    double two = row->two_at_s + start_of(run, "two", row->two_at_s * SIM_SECOND);
    assert_in_range((int)two, row->from_s, row->to_s);
    assert_int_equal(failed_with(run, row->message == NULL ? "SELinux" : row->message),
                     row->message != NULL);
    assert_int_equal(counted(run, mode, METRIC_SELINUX_ADMITTED), row->admitted);
    assert_int_equal(counted(run, mode, METRIC_SELINUX_WARNINGS), row->warnings);
    assert_int_equal(counted(run, mode, METRIC_SELINUX_ERRORS) > 0, row->errors);
    run_free(run);
}
TEST_ROWS(conflicts, labels_of_two_pods_agree_or_wait);
