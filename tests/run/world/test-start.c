/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "continue.h"
#include "tests/lib/test.h"
#include "tests/soak/invariants.h"

/* A cluster that runs: what kubectl prints of it at an instant is the start of a second one. What
 * happens there must end as well as in the first: pods are ready, what objects tell is so in the
 * drivers, and nothing is left behind. */

#define HAPPENS_AT "300s"
#define COUNT_FROM (290 * SIM_SECOND) /* by then what was under way is over */

#define CREATE(manifest) "  - {at: " HAPPENS_AT ", create: {manifest: " manifest "}}\n"
#define DELETE(kind, name) "  - {at: 400s, delete: {kind: " kind ", name: " name "}}\n"
#define REMOVE(claim) "  - {at: 600s, delete: {kind: PersistentVolumeClaim, name: " claim "}}\n"
#define SCALE_DOWN(name) "  - {at: " HAPPENS_AT ", scale: {name: " name ", replicas: 0}}\n"
#define GROW(claim)                                                                                \
    "  - {at: " HAPPENS_AT ", patch: {kind: PersistentVolumeClaim, name: " claim                   \
    ", patch: {spec: {resources: {requests: {storage: 3Gi}}}}}}\n"
#define FAULT(what, after)                                                                         \
    "  faults: [{at: " HAPPENS_AT ", nodeOfPod: web-1, do: " what ", restartAfter: " after "}]\n"

/* What is added to the end of the file running.yaml: its workload goes on. */
static const char restart[] =
    "  - {at: " HAPPENS_AT ", patch: {kind: StatefulSet, name: web, patch: "
    "{spec: {template: {metadata: {annotations: {restartedAt: now}}}}}}}\n";
static const char drain[] = "  - {at: " HAPPENS_AT ", drain: {nodeOfPod: web-1}}\n"
                            "  - {at: 500s, uncordon: {nodeOfPod: web-0}}\n";
static const char expansion[] = GROW("d-web-0") GROW("d-web-1") GROW("raw") GROW("d-late-0");
static const char snapshot[] = CREATE(
    "{apiVersion: snapshot.storage.k8s.io/v1, kind: VolumeSnapshot, metadata: {name: s}, "
    "spec: {volumeSnapshotClassName: snap, source: {persistentVolumeClaimName: d-web-0}}}")
    CREATE(
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: copy}, spec: "
        "{accessModes: [ReadWriteOnce], storageClassName: disk, resources: {requests: {storage: "
        "4Gi}}, dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: s}}}")
        CREATE("{apiVersion: v1, kind: Pod, metadata: {name: copy}, spec: {containers: [{name: c, "
               "image: i, volumeMounts: [{name: d, mountPath: /d}]}], volumes: [{name: d, "
               "persistentVolumeClaim: {claimName: copy}}]}}");
static const char end[] = SCALE_DOWN("web") SCALE_DOWN("late") DELETE("Pod", "one")
    DELETE("Pod", "raw") DELETE("VolumeSnapshot", "first") DELETE("StatefulSet", "web")
        DELETE("StatefulSet", "late") REMOVE("d-web-0") REMOVE("d-web-1") REMOVE("d-web-2")
            REMOVE("d-late-0") REMOVE("d-late-1") REMOVE("raw") REMOVE("shared");

typedef struct {
    const char *name, *lines;
    gboolean is_end; /* everything is deleted */
} StartCase;

static const StartCase cases[] = {
    {"nothing",  "",             FALSE        },
    {"restart",  restart,        FALSE        },
    {"reboot",   FAULT("reboot", "1m"),         FALSE},
    {"power-off",          FAULT("power-off",              "10m"), FALSE},
    {"stop-kubelet",     FAULT("stop-kubelet",                   "2m"),                   FALSE},
    {"drain",     drain,FALSE},
    {"expansion", expansion,               FALSE                                     },
    {"snapshot", snapshot,FALSE},
    {"the end",  end,                TRUE                                                         },
};

/* When the first cluster is stopped, in seconds: at rest, then with more and more under way. */
static const double instants[] = {80,   90.3,  90.7,  91.05, 91.2,  91.5,  91.8, 92.05,
                                  92.7, 93.4,  94.3,  94.9,  95.6,  96.4,  97.7, 98.6,
                                  99.8, 101.2, 103.9, 107.3, 111.1, 118.2, 150};

/* ---- Calls ---- */

typedef struct {
    Run *run;
    SimTime from;
    unsigned n[CSI_N_METHODS];
} StartCalls;

static void
start_count(void *data, const CsiCallRecord *record)
{
    StartCalls *calls = data;

    if (sim_now(run_sim(calls->run)) >= calls->from)
        calls->n[record->request->method]++;
}

static void
count_calls(StartCalls *calls, Run *run, SimTime from)
{
    const CsiObserver observer = {.started = start_count, .data = calls};

    *calls = (StartCalls){.run = run, .from = from};
    for (unsigned i = 0; i < cluster_n_drivers(run_cluster(run)); i++)
        csi_driver_add_observer(cluster_driver(run_cluster(run), i), &observer);
}

/* Where pods come on other nodes than in the first cluster, other volumes are on a node that a
 * fault hits, and a volume may stay attached or staged; and DeleteVolume is tried until nothing has
 * the volume attached. Then it only counts whether there was such a call. */
static const uint32_t depends_on_places =
    1 << CSI_NODE_PUBLISH_VOLUME | 1 << CSI_NODE_UNPUBLISH_VOLUME | 1 << CSI_DELETE_VOLUME;
static const uint32_t not_compared =
    1 << CSI_CONTROLLER_PUBLISH_VOLUME | 1 << CSI_CONTROLLER_UNPUBLISH_VOLUME |
    1 << CSI_NODE_STAGE_VOLUME | 1 << CSI_NODE_UNSTAGE_VOLUME | 1 << CSI_NODE_GET_CAPABILITIES;

static unsigned
compare_calls(const StartCalls *expected, const StartCalls *got, const char *name, double at)
{
    unsigned n = 0;

    for (unsigned i = 0; i < CSI_N_METHODS; i++) {
        gboolean is_same = (depends_on_places & 1u << i) != 0
                               ? (expected->n[i] > 0) == (got->n[i] > 0)
                               : expected->n[i] == got->n[i];
        if ((not_compared & 1u << i) != 0 || is_same)
            continue;
        print_message("%s, stopped at %g s: %u times %s, not %u\n", name, at, got->n[i],
                      csi_method_name(i), expected->n[i]);
        n++;
    }
    return n;
}

/* ---- Two clusters ---- */

/* Returns: (owned): the file, with these lines at its end */
static char *
start_write_file(const char *lines)
{
    g_autofree char *source =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests/run/world/running.yaml", NULL);
    g_autofree char *text = NULL, *longer = NULL;
    char *file = NULL;
    int descriptor = g_file_open_tmp("start-XXXXXX.yaml", &file, NULL);

    assert_true(descriptor >= 0);
    close(descriptor);
    assert_true(g_file_get_contents(source, &text, NULL, NULL));
    longer = g_strconcat(text, lines, NULL);
    assert_true(g_file_set_contents(file, longer, -1, NULL));
    return file;
}

static unsigned
start_finish(Run *run, Invariants *invariants, gboolean is_end, const char *name, double at)
{
    run_execute(run);
    if (is_end)
        invariants_check_empty(invariants);
    else
        invariants_check_ready(invariants);
    invariants_check_settled(invariants);
    if (*invariants_faults(invariants) == '\0')
        return 0;
    print_message("%s, stopped at %g s:\n%s", name, at, invariants_faults(invariants));
    return 1;
}

static unsigned
start_go_on(unsigned which, const char *file, const Scenario *scenario, double at)
{
    const RunOptions options = {.seed = 1};
    const char *name = cases[which].name;
    SimTime instant = (SimTime)(at * SIM_SECOND);
    g_autofree const char **nodes = g_new0(const char *, scenario->n_actions + 1);
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    g_autoptr(Invariants) first = invariants_new(run);
    g_autoptr(GError) error = NULL;
    StartCalls expected, got;

    count_calls(&expected, run, COUNT_FROM);
    run_advance(run, instant);
    g_autoptr(Rest) rest = rest_new(file, run, nodes);
    assert_non_null(rest);
    unsigned n = start_finish(run, first, cases[which].is_end, name, 0);
    g_autoptr(Run) second = run_new(rest->scenario, &options, &error);
    assert_non_null(second);
    g_autoptr(Invariants) invariants = invariants_new(second);
    count_calls(&got, second, COUNT_FROM - instant);
    return n + start_finish(second, invariants, cases[which].is_end, name, at) +
           compare_calls(&expected, &got, name, at);
}

static void
it_ends_well(void **state)
{
    unsigned which = (unsigned)((const StartCase *)*state - cases), n = 0;
    g_autofree char *file = start_write_file(cases[which].lines);
    g_autoptr(Scenario) scenario = load_scenario(file);

    assert_non_null(scenario);
    for (unsigned i = 0; i < G_N_ELEMENTS(instants); i++)
        n += start_go_on(which, file, scenario, instants[i]);
    g_unlink(file);
    assert_int_equal(n, 0);
}
TEST_ROWS(cases, it_ends_well);

/* ---- A node that is silent ---- */

static const Object *
start_find(const Run *run, ObjectKind kind, const char *namespace, const char *name)
{
    const ObjectKey *key = objects_find_key(run_objects(run), kind, namespace, name);

    return key == NULL ? NULL : api_server_get(cluster_api(run_cluster(run)), key);
}

static SimTime
eviction_of_web_1(Run *run)
{
    run_execute(run);
    const Object *pod = start_find(run, KIND_POD, "default", "web-1");
    assert_non_null(pod);
    assert_true(object_is_deleted(pod));
    const Node *node =
        (const Node *)start_find(run, KIND_NODE, NULL, ((const Pod *)(const void *)pod)->node_name);
    assert_int_equal(node->ready.status, CONDITION_UNKNOWN);
    return pod->deleted_at;
}

/* KVM-97: no fault goes on, and yet its kubelet stays away; its pods go in time. */
TEST(a_lost_node_stays_lost)
{
    g_autofree char *file =
        start_write_file("  faults: [{at: 60s, nodeOfPod: web-1, do: stop-kubelet}]\n");
    g_autoptr(Scenario) scenario = load_scenario(file);
    const SimTime instant = 200 * SIM_SECOND;

    assert_non_null(scenario);
    g_autofree const char **nodes = g_new0(const char *, scenario->n_actions + 1);
    const RunOptions options = {.seed = 1};
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    run_advance(run, instant);
    g_autoptr(Rest) rest = rest_new(file, run, nodes);
    assert_non_null(rest);
    rest->scenario->n_actions = 0;
    g_autoptr(Run) second = run_new(rest->scenario, &options, NULL);
    SimTime first_eviction = eviction_of_web_1(run);
    assert_in_range(eviction_of_web_1(second) + instant, first_eviction - SIM_SECOND,
                    first_eviction + SIM_SECOND);
    g_unlink(file);
}

/* ---- A pod whose containers are still to start ---- */

/* Its sandbox is there. */
static void
make_pending(json_t *pod)
{
    json_t *status = json_object_get(pod, "status"), *condition;
    size_t i;

    json_object_set_new(status, "phase", json_string("Pending"));
    json_array_foreach(json_object_get(status, "conditions"), i, condition)
        if (strstr(json_string_value(json_object_get(condition, "type")), "Ready") != NULL &&
            g_strcmp0(json_string_value(json_object_get(condition, "type")),
                      "PodReadyToStartContainers") != 0)
            json_object_set_new(condition, "status", json_string("False"));
}

/* KVM-93: its volumes are mounted, so nothing is staged again. */
TEST(a_pod_with_a_sandbox_has_its_volumes)
{
    g_autofree char *file = start_write_file("");
    g_autoptr(Scenario) scenario = load_scenario(file);
    const RunOptions options = {.seed = 1};
    StartCalls calls;

    assert_non_null(scenario);
    g_autofree const char **nodes = g_new0(const char *, scenario->n_actions + 1);
    g_autoptr(Run) run = run_new(scenario, &options, NULL);
    run_advance(run, 80 * SIM_SECOND);
    g_autoptr(Rest) rest = rest_new(file, run, nodes);
    assert_non_null(rest);
    rest->scenario->n_actions = 0;
    for (unsigned i = 0; i < rest->scenario->n_manifests; i++) {
        json_t *object = (json_t *)rest->scenario->manifests[i];
        const json_t *name = json_object_get(json_object_get(object, "metadata"), "name");
        if (g_strcmp0(json_string_value(json_object_get(object, "kind")), "Pod") == 0 &&
            g_strcmp0(json_string_value(name), "web-0") == 0)
            make_pending(object);
    }
    g_autoptr(Run) second = run_new(rest->scenario, &options, NULL);
    count_calls(&calls, second, 0);
    assert_false(pod_is_ready(POD_CONST(start_find(second, KIND_POD, "default", "web-0"))));
    run_advance(second, 30 * SIM_SECOND);
    assert_true(pod_is_ready(POD_CONST(start_find(second, KIND_POD, "default", "web-0"))));
    assert_int_equal(calls.n[CSI_NODE_STAGE_VOLUME], 0);
    g_unlink(file);
}

/* ---- Kubelets of Nodes in manifests ---- */

#define MANAGED "volumes.kubernetes.io/controller-managed-attach-detach"
#define OWN "  components: {kubelet: {enableControllerAttachDetach: %s}}\n"

static const struct {
    const char *own;        /* of enableControllerAttachDetach; NULL: not given */
    gboolean is_annotated;  /* as the Nodes were printed */
    gboolean by_controller; /* volumes are attached */
} kubelets[] = {
    {NULL,    TRUE,  TRUE },
    {NULL,    FALSE, FALSE},
    {"true",  TRUE,  TRUE },
    {"true",  FALSE, TRUE },
    {"false", TRUE,  FALSE},
    {"false", FALSE, FALSE},
};

static void
remove_annotation(json_t *object)
{
    json_t *metadata = json_object_get(object, "metadata");

    if (g_strcmp0(json_string_value(json_object_get(object, "kind")), "Node") == 0)
        json_object_del(json_object_get(metadata, "annotations"), MANAGED);
}

/* ADC-9: flags count more than what a Node says of its kubelet. The pods that begin later wait for
 * their volumes for good if the kubelets attach, as they no longer can. */
TEST(components_have_flags_of_kubelets)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(kubelets); i++) {
        g_autofree char *lines =
            kubelets[i].own == NULL ? g_strdup("") : g_strdup_printf(OWN, kubelets[i].own);
        g_autofree char *file = start_write_file(lines);
        g_autoptr(Scenario) scenario = load_scenario(file);
        const RunOptions options = {.seed = 1};
        StartCalls calls;

        assert_non_null(scenario);
        g_autofree const char **nodes = g_new0(const char *, scenario->n_actions + 1);
        g_autoptr(Run) run = run_new(scenario, &options, NULL);
        run_advance(run, 80 * SIM_SECOND);
        g_autoptr(Rest) rest = rest_new(file, run, nodes);
        assert_non_null(rest);
        for (unsigned k = 0; k < rest->scenario->n_manifests && !kubelets[i].is_annotated; k++)
            remove_annotation((json_t *)rest->scenario->manifests[k]);
        g_autoptr(Run) second = run_new(rest->scenario, &options, NULL);
        count_calls(&calls, second, 0);
        run_advance(second, SIM_MINUTE);
        const Object *node = start_find(second, KIND_NODE, NULL, "node-0");
        assert_int_equal(object_annotation(node, MANAGED) != NULL, kubelets[i].by_controller);
        assert_int_equal(calls.n[CSI_CONTROLLER_PUBLISH_VOLUME] > 0, kubelets[i].by_controller);
        g_unlink(file);
    }
}
