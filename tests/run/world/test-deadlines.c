/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <stdio.h>

#include "models/api/workload.h"
#include "run/world/run.h"
#include "tests/lib/test.h"

/* Deadlines that began before the run end at the time that the cluster's own clocks would show:
 * 2026-11-22T16:00:00Z is t = 0. */

#define CREATED "creationTimestamp: 2026-11-22T15:00:00Z"
#define META(name, n)                                                                              \
    "metadata: {name: " name ", namespace: default, generation: 1, uid: "                          \
    "aaaaaaaa-0000-4000-8000-00000000000" #n ", " CREATED
#define OWNED(kind, name, n)                                                                       \
    ", labels: {app: a}, ownerReferences: [{apiVersion: " kind ", name: " name                     \
    ", uid: aaaaaaaa-0000-4000-8000-00000000000" #n ", controller: true}]"
#define CONTAINERS "containers: [{name: c, image: i}]"
#define TEMPLATE "template: {metadata: {labels: {app: a}}, spec: {" CONTAINERS "}}"
#define RUNNING                                                                                    \
    "status: {phase: Running, startTime: 2026-11-22T15:00:00Z, conditions: [{type: PodScheduled, " \
    "status: 'True', lastTransitionTime: 2026-11-22T15:00:00Z}, {type: Initialized, status: "      \
    "'True'}, {type: ContainersReady, status: 'True'}, {type: Ready, status: 'True', "             \
    "lastTransitionTime: "
#define SELECTOR "selector: {matchLabels: {app: a}}"

static const char head[] =
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: deadlines}\n"
    "spec: {until: 10m, start: '2026-11-22T16:00:00Z'}\n---\n"
    "apiVersion: v1\nkind: List\nitems:\n"
    "- apiVersion: v1\n  kind: Node\n"
    "  metadata: {name: n-1, uid: bbbbbbbb-0000-4000-8000-000000000001, " CREATED "}\n"
    "  spec: {taints: [%s]}\n"
    "  status: {allocatable: {cpu: '8', memory: 32Gi, pods: '110'}, capacity: {cpu: '8', memory: "
    "32Gi, pods: '110'}, conditions: [{type: Ready, status: 'True', lastHeartbeatTime: "
    "2026-11-22T16:00:00Z, lastTransitionTime: 2026-11-22T15:00:00Z}]}\n"
    "- %s\n";

static gboolean
pod_is_evicted(const Object *object)
{
    return object == NULL || object_is_deleted(object);
}

static gboolean
has_failed_to_progress(const Object *object)
{
    return DEPLOYMENT_CONST(object)->progressing.status == CONDITION_FALSE;
}

static gboolean
is_available(const Object *object)
{
    return REPLICA_SET_CONST(object)->available_replicas == 1;
}

static gboolean
deadlines_has_failed(const Object *object)
{
    return JOB_CONST(object)->has_failed.status == CONDITION_TRUE;
}

static gboolean
is_gone(const Object *object)
{
    return object == NULL;
}

static gboolean
may_be_disrupted(const Object *object)
{
    return ((const DisruptionBudget *)object)->disruptions_allowed == 1;
}

typedef struct {
    const char *name;
    const char *taints, *objects;
    ObjectKind kind;
    const char *object;
    gboolean (*is_over)(const Object *object); /* NULL: there is no such object */
    int after_s;                               /* the deadline's end */
} DeadlinesCase;

/* Each with its controller, if it has one. */
#define BARE_POD(toleration_s)                                                                     \
    "{apiVersion: v1, kind: Pod, " META(                                                           \
        "p", 9) "}, spec: {nodeName: n-1, " CONTAINERS                                             \
                ", tolerations: [{key: a, operator: Exists, effect: NoExecute, "                   \
                "tolerationSeconds: " #toleration_s "}]}, " RUNNING "2026-11-22T15:00:00Z}]}}"
#define DEPLOYMENT_POD                                                                             \
    "{apiVersion: apps/v1, kind: Deployment, " META(                                               \
        "d",                                                                                       \
        1) "}, spec: {progressDeadlineSeconds: 600, " SELECTOR ", " TEMPLATE "}, status: "         \
           "{observedGeneration: 1, replicas: 1, updatedReplicas: 1, conditions: [{type: "         \
           "Progressing, "                                                                         \
           "status: 'True', reason: ReplicaSetUpdated, lastUpdateTime: 2026-11-22T15:50:25Z, "     \
           "lastTransitionTime: 2026-11-22T15:50:25Z}]}}\n"                                        \
           "- {apiVersion: apps/v1, kind: ReplicaSet, " META("r", 2)                               \
               OWNED("apps/v1, kind: Deployment", "d",                                             \
                     1) ", annotations: {deployment.kubernetes.io/revision: '1'}}, spec: "         \
                        "{replicas: 1, " SELECTOR ", " TEMPLATE                                    \
                        "}, status: {replicas: 1, observedGeneration: 1}}\n"                       \
                        "- {apiVersion: v1, kind: Pod, " META("p", 9)                              \
                            OWNED("apps/v1, kind: ReplicaSet", "r",                                \
                                  2) "}, spec: {" CONTAINERS                                       \
                                     ", nodeSelector: {no: node}}, status: {phase: Pending}}"
#define JOB_WITH(spec, status)                                                                     \
    "{apiVersion: batch/v1, kind: Job, " META(                                                     \
        "j", 1) "}, spec: {" spec ", template: {spec: {restartPolicy: Never, " CONTAINERS          \
                "}}}, status: {" status "}}"
#define COMPLETE                                                                                   \
    "succeeded: 1, startTime: 2026-11-22T15:58:00Z, completionTime: 2026-11-22T15:58:40Z, "        \
    "conditions: [{type: Complete, status: 'True', lastTransitionTime: 2026-11-22T15:58:40Z}]"
#define BUDGET_POD                                                                                 \
    "{apiVersion: policy/v1, kind: PodDisruptionBudget, " META(                                    \
        "b",                                                                                       \
        1) "}, spec: {minAvailable: 0, " SELECTOR                                                  \
           "}, status: {observedGeneration: 1, currentHealthy: "                                   \
           "0, desiredHealthy: 0, expectedPods: 1, disruptionsAllowed: 0, disruptedPods: {p: "     \
           "'2026-11-22T15:58:20Z'}}}\n"                                                           \
           "- {apiVersion: apps/v1, kind: ReplicaSet, " META(                                      \
               "r", 2) "}, spec: {replicas: 1, " SELECTOR ", " TEMPLATE                            \
                       "}, status: {replicas: 1, readyReplicas: 1, availableReplicas: 1, "         \
                       "fullyLabeledReplicas: 1, observedGeneration: 1}}\n"                        \
                       "- {apiVersion: v1, kind: Pod, " META("p", 9)                               \
                           OWNED("apps/v1, kind: ReplicaSet", "r",                                 \
                                 2) "}, spec: {nodeName: n-1, " CONTAINERS "}, " RUNNING           \
                                    "2026-11-22T15:00:00Z}]}}"
#define SET_POD                                                                                    \
    "{apiVersion: apps/v1, kind: ReplicaSet, " META(                                               \
        "r", 2) "}, spec: {replicas: 1, minReadySeconds: 60, " SELECTOR ", " TEMPLATE              \
                "}, status: {replicas: 1, readyReplicas: 1, fullyLabeledReplicas: 1, "             \
                "observedGeneration: "                                                             \
                "1}}\n"                                                                            \
                "- {apiVersion: v1, kind: Pod, " META("p", 9) OWNED(                               \
                    "apps/v1, kind: ReplicaSet", "r", 2) "}, spec: {nodeName: n-1, " CONTAINERS    \
                                                         "}, " RUNNING "2026-11-22T15:59:20Z}]}}"
#define TAINT_OF(time) "{key: a, value: b, effect: NoExecute, timeAdded: 2026-11-22T" time "Z}"
#define DEADLINE JOB_WITH("activeDeadlineSeconds: 100", "startTime: 2026-11-22T15:58:40Z")
#define LIFE JOB_WITH("ttlSecondsAfterFinished: 100", COMPLETE)

static const DeadlinesCase cases[] = {
    {"a toleration",          TAINT_OF("15:58:20"), BARE_POD(120),  KIND_POD,               "p", pod_is_evicted,         20},
    {"of a pod that came",    TAINT_OF("14:00:00"), BARE_POD(3630), KIND_POD,               "p", pod_is_evicted,         30},
    {"a Deployment's",        "",                   DEPLOYMENT_POD, KIND_DEPLOYMENT,        "d", has_failed_to_progress, 25},
    {"minReadySeconds",       "",                   SET_POD,        KIND_REPLICA_SET,       "r", is_available,           20},
    {"an active Job's",       "",                   DEADLINE,       KIND_JOB,               "j", deadlines_has_failed,   20},
    {"a finished Job's life", "",                   LIFE,           KIND_JOB,               "j", is_gone,                20},
    {"a granted eviction",    "",                   BUDGET_POD,     KIND_DISRUPTION_BUDGET, "b", may_be_disrupted,       20},
};

static gboolean
is_over(const DeadlinesCase *row, const Run *run)
{
    const ObjectKey *key = objects_find_key(run_objects(run), row->kind, "default", row->object);

    assert_non_null(key);
    return row->is_over(api_server_get(cluster_api(run_cluster(run)), key));
}

static void
a_deadline_ends_on_time(void **state)
{
    const DeadlinesCase *row = *state;
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *text = g_strdup_printf(head, row->taints, row->objects);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;

    assert_true(g_file_set_contents(file, text, -1, NULL));
    g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);
    g_remove(file);
    g_rmdir(folder);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *message = file_fault_text(faults->pdata[i]);
        print_message("%s\n", message);
    }
    assert_non_null(scenario);
    Run *run = run_new(scenario, &(RunOptions){.seed = 1}, &error);
    assert_null(error);
    assert_int_equal(run_advance(run, (row->after_s - 1) * SIM_SECOND), RUN_DONE);
    assert_false(is_over(row, run));
    assert_int_equal(run_advance(run, (row->after_s + 3) * SIM_SECOND), RUN_DONE);
    assert_true(is_over(row, run));
    run_free(run);
}
TEST_ROWS(cases, a_deadline_ends_on_time);
