/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "models/api/workload.h"
#include "models/workloads/revisions.h"
#include "run/world/run.h"
#include "sim/strings.h"
#include "tests/lib/test.h"

/* Workloads as `kubectl get -o yaml` prints them, without ControllerRevisions: which pods does the
 * start of a run replace? Hashes are as Kubernetes' own, which this program cannot compute. */

#define START "2026-11-22T16:00:00Z"
#define CREATED "creationTimestamp: 2026-11-22T15:00:00Z"
#define SPEC                                                                                       \
    "{containers: [{name: c, image: i, imagePullPolicy: Always, resources: {}, "                   \
    "terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File}], dnsPolicy: "  \
    "ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, " \
    "terminationGracePeriodSeconds: 30}"

static const char nodes[] =
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: histories}\n"
    "spec: {until: 10m, manifests: dump.yaml, drivers: [], workload: [%s]}\n";

/* Arguments: the set's annotations, its generation and observedGeneration. */
static const char daemon_set[] =
    "---\napiVersion: apps/v1\nkind: DaemonSet\n"
    "metadata: {name: agent, namespace: default, uid: aaaaaaaa-0000-4000-8000-000000000001, "
    "annotations: {%s}, generation: %d, " CREATED "}\n"
    "spec:\n"
    "  revisionHistoryLimit: 10\n  selector: {matchLabels: {app: agent}}\n"
    "  template: {metadata: {creationTimestamp: null, labels: {app: agent}}, spec: " SPEC "}\n"
    "  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}\n"
    "status: {currentNumberScheduled: 2, desiredNumberScheduled: 2, numberAvailable: 2, "
    "numberMisscheduled: 0, numberReady: 2, observedGeneration: %d, updatedNumberScheduled: 2}\n";

/* Arguments: partition, current and update revision. */
static const char stateful_set[] =
    "---\napiVersion: apps/v1\nkind: StatefulSet\n"
    "metadata: {name: db, namespace: default, uid: aaaaaaaa-0000-4000-8000-000000000002, "
    "generation: 2, " CREATED "}\n"
    "spec:\n"
    "  podManagementPolicy: OrderedReady\n  replicas: 3\n  revisionHistoryLimit: 10\n"
    "  selector: {matchLabels: {app: db}}\n  serviceName: db\n"
    "  template: {metadata: {creationTimestamp: null, labels: {app: db}}, spec: " SPEC "}\n"
    "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: %d}}\n"
    "status: {availableReplicas: 3, collisionCount: 0, currentRevision: db-%s, observedGeneration: "
    "2, readyReplicas: 3, replicas: 3, updateRevision: db-%s}\n";

/* A newer API server prints the template of the ReplicaSet without null. */
static const char deployment[] =
    "---\napiVersion: apps/v1\nkind: Deployment\n"
    "metadata: {name: web, namespace: default, uid: aaaaaaaa-0000-4000-8000-000000000003, "
    "annotations: {deployment.kubernetes.io/revision: \"1\"}, generation: 1, " CREATED "}\n"
    "spec:\n"
    "  progressDeadlineSeconds: 600\n  replicas: 1\n  revisionHistoryLimit: 10\n"
    "  selector: {matchLabels: {app: web}}\n"
    "  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}\n"
    "  template: {metadata: {creationTimestamp: null, labels: {app: web}}, spec: " SPEC "}\n"
    "status: {availableReplicas: 1, observedGeneration: 1, readyReplicas: 1, replicas: 1, "
    "updatedReplicas: 1}\n"
    "---\napiVersion: apps/v1\nkind: ReplicaSet\n"
    "metadata:\n"
    "  name: web-7f8c9d5b4d\n  namespace: default\n  uid: aaaaaaaa-0000-4000-8000-000000000004\n"
    "  annotations: {deployment.kubernetes.io/desired-replicas: \"1\", "
    "deployment.kubernetes.io/max-replicas: \"2\", deployment.kubernetes.io/revision: \"1\"}\n"
    "  generation: 1\n  labels: {app: web, pod-template-hash: 7f8c9d5b4d}\n  " CREATED "\n"
    "  ownerReferences: [{apiVersion: apps/v1, blockOwnerDeletion: true, controller: true, kind: "
    "Deployment, name: web, uid: aaaaaaaa-0000-4000-8000-000000000003}]\n"
    "spec:\n"
    "  replicas: 1\n"
    "  selector: {matchLabels: {app: web, pod-template-hash: 7f8c9d5b4d}}\n"
    "  template: {metadata: {labels: {app: web, pod-template-hash: 7f8c9d5b4d}}, spec: " SPEC "}\n"
    "status: {availableReplicas: 1, fullyLabeledReplicas: 1, observedGeneration: 1, readyReplicas: "
    "1, replicas: 1}\n";

static void
append_node(GString *text, const char *name)
{
    g_string_append_printf(
        text,
        "---\napiVersion: v1\nkind: Node\n"
        "metadata: {name: %s, uid: bbbbbbbb-0000-4000-8000-00000000000%c, labels: "
        "{kubernetes.io/hostname: %s}, " CREATED "}\n"
        "spec: {}\n"
        "status:\n"
        "  allocatable: {cpu: \"8\", memory: 32Gi, pods: \"110\"}\n"
        "  capacity: {cpu: \"8\", memory: 32Gi, pods: \"110\"}\n"
        "  conditions: [{type: Ready, status: \"True\", reason: KubeletReady, message: ok, "
        "lastHeartbeatTime: " START ", lastTransitionTime: 2026-11-22T15:00:00Z}]\n",
        name, name[strlen(name) - 1], name);
}

static void
append_pod(GString *text,
           const char *name,
           const char *node,
           const char *labels,
           const char *owner,
           unsigned owner_number)
{
    static const char condition[] = "{type: %s, status: \"True\", lastProbeTime: null, "
                                    "lastTransitionTime: 2026-11-22T15:01:00Z}, ";

    g_string_append_printf(
        text,
        "---\napiVersion: v1\nkind: Pod\n"
        "metadata: {name: %s, namespace: default, uid: cccccccc-0000-4000-8000-%012x, "
        "labels: {%s}, " CREATED ", ownerReferences: [{apiVersion: apps/v1, blockOwnerDeletion: "
        "true, controller: true, kind: %s, uid: aaaaaaaa-0000-4000-8000-00000000000%u}]}\n"
        "spec: {nodeName: %s, containers: [{name: c, image: i}]}\n"
        "status: {phase: Running, startTime: 2026-11-22T15:00:00Z, conditions: [",
        name, g_str_hash(name), labels, owner, owner_number, node);
    static const char *const types[] = {"PodScheduled", "Initialized", "ContainersReady", "Ready"};
    for (unsigned i = 0; i < G_N_ELEMENTS(types); i++)
        g_string_append_printf(text, condition, types[i]);
    g_string_append(text, "]}\n");
}

/* What differs between the dumps. The labels of the DaemonSet's pods count as in DS-32. */
typedef struct {
    const char *name;
    const char *annotations;      /* of the DaemonSet */
    int generation, observed;     /* of the DaemonSet */
    const char *agents[2];        /* labels of its pods */
    int partition;                /* of the StatefulSet */
    const char *current, *update; /* its revisions */
    const char *dbs[3];           /* revisions of its pods */
    const char *action;           /* of the workload */
    const char *made;             /* the pods that are made, in order of their names; "web" of the
                                     Deployment and "agent" of the DaemonSet for each */
} HistoriesCase;

#define COUNTED(n) "deprecated.daemonset.template.generation: \"" #n "\""
#define AGENT(hash, n)                                                                             \
    "app: agent, controller-revision-hash: " hash ", pod-template-generation: \"" #n "\""
#define TEMPLATE_OF(kind, name)                                                                    \
    "{at: 1m, patch: {kind: " kind ", name: " name                                                 \
    ", patch: {spec: {template: {metadata: {annotations: {again: x}}}}}}}"
#define SETTLED_AGENTS                                                                             \
    COUNTED(3), 3, 3,                                                                              \
    {                                                                                              \
        AGENT("5d89bc", 3), AGENT("5d89bc", 3)                                                     \
    }
#define UNCOUNTED_AGENTS                                                                           \
    "", 3, 3,                                                                                      \
    {                                                                                              \
        AGENT("5d89bc", 3), AGENT("5d89bc", 3)                                                     \
    }
#define UPDATING_AGENTS                                                                            \
    COUNTED(4), 4, 4,                                                                              \
    {                                                                                              \
        AGENT("77aa", 4), AGENT("5d89bc", 3)                                                       \
    }
#define UNSEEN_AGENTS                                                                              \
    COUNTED(4), 4, 3,                                                                              \
    {                                                                                              \
        AGENT("5d89bc", 3), AGENT("5d89bc", 3)                                                     \
    }
#define SETTLED_DBS                                                                                \
    0, "6b7f", "6b7f",                                                                             \
    {                                                                                              \
        "6b7f", "6b7f", "6b7f"                                                                     \
    }
#define UPDATING_DBS                                                                               \
    0, "6b7f", "5c4d",                                                                             \
    {                                                                                              \
        "6b7f", "6b7f", "5c4d"                                                                     \
    }
#define HELD_DBS                                                                                   \
    2, "6b7f", "5c4d",                                                                             \
    {                                                                                              \
        "6b7f", "6b7f", "5c4d"                                                                     \
    }
#define NEW_AGENT TEMPLATE_OF("DaemonSet", "agent")
#define NEW_DB TEMPLATE_OF("StatefulSet", "db")
#define NEW_WEB TEMPLATE_OF("Deployment", "web")
#define DELETE_DB "{at: 1m, delete: {kind: Pod, name: db-0}}"

static const HistoriesCase cases[] = {
    {"nothing is replaced",            SETTLED_AGENTS,   SETTLED_DBS,  "",        ""              },
    {"a set that counts no templates", UNCOUNTED_AGENTS, SETTLED_DBS,  "",        ""              },
    {"a DaemonSet's update goes on",   UPDATING_AGENTS,  SETTLED_DBS,  "",        "agent"         },
    {"an update that nobody has seen", UNSEEN_AGENTS,    SETTLED_DBS,  "",        "agent agent"   },
    {"a DaemonSet's new template",     SETTLED_AGENTS,   SETTLED_DBS,  NEW_AGENT, "agent agent"   },
    {"a StatefulSet's update goes on", SETTLED_AGENTS,   UPDATING_DBS, "",        "db-0 db-1"     },
    {"a partition holds an update",    SETTLED_AGENTS,   HELD_DBS,     "",        ""              },
    {"the revision below a partition", SETTLED_AGENTS,   HELD_DBS,     DELETE_DB, "db-0"          },
    {"a StatefulSet's new template",   SETTLED_AGENTS,   SETTLED_DBS,  NEW_DB,    "db-0 db-1 db-2"},
    {"a Deployment's new template",    SETTLED_AGENTS,   SETTLED_DBS,  NEW_WEB,   "web"           },
};

/* The revisions of the sets, as `kubectl get controllerrevisions` prints them: with a dump that has
 * them no other is made. Arguments: the name, its hash's label, the owner and its number, and the
 * revision's number. The current revision of the StatefulSet has another image. */
static const char revision[] =
    "---\napiVersion: apps/v1\nkind: ControllerRevision\n"
    "metadata: {name: %s-%s, namespace: default, uid: dddddddd-0000-4000-8000-00000000%s, labels: "
    "{app: %s, %s: %s}, " CREATED ", ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, "
    "uid: aaaaaaaa-0000-4000-8000-00000000000%d, blockOwnerDeletion: true, controller: true}]}\n"
    "data: {spec: {template: {$patch: replace, metadata: {creationTimestamp: null, labels: {app: "
    "%s}}, spec: " SPEC "}}}\n"
    "revision: %d\n";

static void
append_revisions(GString *text, const HistoriesCase *row)
{
    g_autofree char *current = NULL;

    g_string_append_printf(text, revision, "agent", "5d89bc", "0001", "agent", LABEL_REVISION,
                           "5d89bc", "DaemonSet", "agent", 1, "agent", 1);
    g_string_append_printf(text, revision, "db", row->update, row->update, "db",
                           LABEL_STATEFUL_HASH, row->update, "StatefulSet", "db", 2, "db", 2);
    if (strcmp(row->current, row->update) == 0)
        return;
    GString *older = g_string_new(NULL);
    g_string_append_printf(older, revision, "db", row->current, row->current, "db",
                           LABEL_STATEFUL_HASH, row->current, "StatefulSet", "db", 2, "db", 1);
    g_string_replace(older, "image: i", "image: older", 0);
    g_string_append(text, older->str);
    g_string_free(older, TRUE);
}

static char *
dump_of(const HistoriesCase *row, gboolean has_revisions)
{
    GString *text = g_string_new(NULL);

    append_node(text, "n-1");
    append_node(text, "n-2");
    g_string_append_printf(text, daemon_set, row->annotations, row->generation, row->observed);
    g_string_append_printf(text, stateful_set, row->partition, row->current, row->update);
    g_string_append(text, deployment);
    append_pod(text, "agent-aaaaa", "n-1", row->agents[0], "DaemonSet, name: agent", 1);
    append_pod(text, "agent-bbbbb", "n-2", row->agents[1], "DaemonSet, name: agent", 1);
    for (unsigned i = 0; i < G_N_ELEMENTS(row->dbs); i++) {
        g_autofree char *name = g_strdup_printf("db-%u", i);
        g_autofree char *labels = g_strdup_printf(
            "app: db, apps.kubernetes.io/pod-index: \"%u\", controller-revision-hash: db-%s, "
            "statefulset.kubernetes.io/pod-name: %s",
            i, row->dbs[i], name);
        append_pod(text, name, "n-1", labels, "StatefulSet, name: db", 2);
    }
    append_pod(text, "web-7f8c9d5b4d-xxxxx", "n-2", "app: web, pod-template-hash: 7f8c9d5b4d",
               "ReplicaSet, name: web-7f8c9d5b4d", 4);
    if (has_revisions)
        append_revisions(text, row);
    return g_string_free(text, FALSE);
}

static Run *
run_of(const HistoriesCase *row, gboolean has_revisions, Scenario **scenario)
{
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    g_autofree char *objects = g_build_filename(folder, "dump.yaml", NULL);
    g_autofree char *text = g_strdup_printf(nodes, row->action),
                    *dump = dump_of(row, has_revisions);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;

    assert_true(g_file_set_contents(file, text, -1, NULL));
    assert_true(g_file_set_contents(objects, dump, -1, NULL));
    *scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *message = file_fault_text(faults->pdata[i]);
        print_message("%s\n", message);
    }
    assert_non_null(*scenario);
    remove(file);
    remove(objects);
    rmdir(folder);
    Run *run = run_new(*scenario, &(RunOptions){.seed = 3}, &error);
    assert_null(error);
    assert_int_equal(run_execute(run), RUN_DONE);
    return run;
}

/* The pods that the run made. Returns: (owned): as in Case.made */
static char *
made_pods(const Run *run)
{
    const Milestones *log = run_milestones(run);
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        if (milestone.kind != MILESTONE_POD_CREATED || milestone.at == TIME_UNSET)
            continue;
        const char *name = milestone.object->name;
        g_ptr_array_add(names,
                        g_strndup(name, g_str_has_prefix(name, "db-") ? 4 : strcspn(name, "-")));
    }
    g_ptr_array_sort(names, strings_compare);
    g_ptr_array_add(names, NULL);
    return g_strjoinv(" ", (char **)names->pdata);
}

static const Object *
get(const Run *run, ObjectKind kind, const char *name)
{
    const ObjectKey *key = objects_find_key(run_objects(run), kind, "default", name);

    return key == NULL ? NULL : api_server_get(cluster_api(run_cluster(run)), key);
}

static unsigned
n_revisions(const Run *run)
{
    return api_server_count(cluster_api(run_cluster(run)), KIND_CONTROLLER_REVISION);
}

static void
try(const HistoriesCase *row, gboolean has_revisions)
{
    Scenario *scenario;
    Run *run = run_of(row, has_revisions, &scenario);
    g_autofree char *made = made_pods(run);

    assert_string_equal(made, row->made);
    const StatefulSet *set = (const StatefulSet *)get(run, KIND_STATEFUL_SET, "db");
    assert_int_equal(set->ready_replicas, 3);
    assert_int_equal(DAEMON_SET_CONST(get(run, KIND_DAEMON_SET, "agent"))->ready, 2);
    if (strcmp(row->made, "db-0") == 0) {
        const Object *pod = get(run, KIND_POD, "db-0");
        assert_string_equal(object_label(pod, LABEL_REVISION), "db-6b7f");
        json_t *json = object_to_json(pod);
        const char *image = json_string_value(json_object_get(
            json_array_get(json_object_get(json_object_get(json, "spec"), "containers"), 0),
            "image"));
        assert_string_equal(image, has_revisions ? "older" : "i");
        json_decref(json);
    }
    if (strcmp(row->made, "") == 0) {
        assert_non_null(get(run, KIND_CONTROLLER_REVISION, "agent-5d89bc"));
        assert_non_null(get(run, KIND_CONTROLLER_REVISION, "db-6b7f"));
        assert_int_equal(n_revisions(run), strcmp(row->current, row->update) == 0 ? 2 : 3);
    }
    run_free(run);
    scenario_free(scenario);
}

static void
a_start_replaces_no_pod(void **state)
{
    const HistoriesCase *row = *state;

    try(row, FALSE);
    /* An update of the DaemonSet would need its older template, too. */
    if (row->generation == 3)
        try(row, TRUE);
}
TEST_ROWS(cases, a_start_replaces_no_pod);
