/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/api-test.h"
#include "sim/sim-test.h"
#include "tests/lib/test.h"
#include "tests/scheduler/scheduler-world.h"

#include <string.h>

const ModelClass *const model_classes[] = {&scheduler_class, NULL};

static gboolean
scheduler_edit_phase(Object *object, const void *arg)
{
    POD(object)->phase = *(const uint32_t *)arg;
    return TRUE;
}

static void
add_free_volume(StorageWorld *world, const char *name, int gib, const char *zone)
{
    Volume *volume = storage_world_volume(world, name, gib, "late");
    StringPair pair = {storage_world_intern(world, "topology.kubernetes.io/zone"),
                       storage_world_intern(world, zone)};
    g_autoptr(StringMap) segment = string_map_new(&pair, 1);
    const StringMap *segments[] = {segment};

    volume->node_affinity = node_selector_from_segments(segments, 1);
    volume->phase = VOLUME_AVAILABLE;
    volume->meta.resource_version = 0;
    storage_world_import(world, volume);
}

/* ---- Stories ---- */

static void
plain_pod(StorageWorld *world)
{
    add_nodes(world, three_nodes);
    storage_world_start(world);
    add_pod(world, "p", NULL);
    storage_world_run(world, 10 * SIM_SECOND);
    assert_non_null(stored_pod(world, "p")->node_name);
}

/* A pod whose claim waits for its volume, selected node n1 written. */
static void
start_waiting_pod(StorageWorld *world)
{
    start_late(world, one_node);
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    add_pod(world, "p", "c");
    storage_world_run(world, SIM_SECOND / 2);
    assert_string_equal(
        object_annotation(&storage_world_stored_claim(world, "c")->meta, ANNOTATION_SELECTED_NODE),
        "n1");
}

/* VB-V3: seen at 1.5 s, bound at the poll of 2.0005 s. */
static void
late_binding(StorageWorld *world)
{
    start_waiting_pod(world);
    storage_world_run(world, 1500 * SIM_MS);
    provision(world, "c", "v", "n1");
    storage_world_run(world, 2 * SIM_SECOND);
    assert_null(stored_pod(world, "p")->node_name);
    storage_world_run(world, 2001 * SIM_MS);
    assert_string_equal(stored_pod(world, "p")->node_name, "n1");
    storage_world_run(world, 10 * SIM_SECOND);
}

/* VB-W1, VB-W2: the smallest that fits, and only volumes are written. */
static void
static_late_binding(StorageWorld *world)
{
    add_free_volume(world, "big", 10, "n2");
    add_free_volume(world, "small", 5, "n2");
    add_free_volume(world, "tiny", 1, "n2");
    start_late(world, three_nodes);
    storage_world_create(world, storage_world_claim(world, "c", 4, "late"));
    annotate(world, storage_world_claim_key(world, "c"), "test", "late");
    relabel(world, node_key(world, "n1"), "x", "y");
    Pod *pod = new_pod(world, "p", "c", 100);
    StringPair pair = {storage_world_intern(world, "kubernetes.io/hostname"),
                       storage_world_intern(world, "n2")};
    pod->spec->node_selector = string_map_new(&pair, 1);
    storage_world_create(world, pod);
    storage_world_run(world, SIM_SECOND / 2);
    const Volume *small = storage_world_stored_volume(world, "small");
    assert_ptr_equal(small->claim_ref.claim, storage_world_claim_key(world, "c"));
    assert_true(object_uid_is_set(small->claim_ref.uid));
    assert_string_equal(object_annotation(&small->meta, ANNOTATION_BOUND_BY_CONTROLLER), "yes");
    complete_claim(world, "c", "small");
    storage_world_run(world, 10 * SIM_SECOND);
}

static void
immediate_claim(StorageWorld *world)
{
    add_nodes(world, three_nodes);
    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 5, "fast"));
    add_pod(world, "p", "c");
    storage_world_run(world, SIM_SECOND / 2);
    provision(world, "c", "v", NULL);
    storage_world_run(world, 10 * SIM_SECOND);
    assert_non_null(stored_pod(world, "p")->node_name);
}

/* SCH-64: once the back-off is over, an event brings the pod back at once. */
static void
immediate_claim_later(StorageWorld *world)
{
    add_nodes(world, three_nodes);
    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_start(world);
    storage_world_create(world, storage_world_claim(world, "c", 5, "fast"));
    add_pod(world, "p", "c");
    storage_world_run(world, 5 * SIM_SECOND);
    provision(world, "c", "v", NULL);
    storage_world_run(world, 5 * SIM_SECOND + SIM_MS);
}

/* VB-V4 */
static void
selected_node_removed(StorageWorld *world)
{
    start_waiting_pod(world);
    annotate(world, storage_world_claim_key(world, "c"), "other", "x");
    annotate(world, storage_world_claim_key(world, "c"), ANNOTATION_SELECTED_NODE, NULL);
    storage_world_run(world, SIM_SECOND);
    assert_string_equal(last_failure(world), "");
    storage_world_run(world, 10 * SIM_SECOND);
}

/* VB-V5 */
static void
binding_times_out(StorageWorld *world)
{
    start_waiting_pod(world);
    storage_world_run(world, 600 * SIM_SECOND);
    assert_string_equal(last_failure(world), "");
    storage_world_run(world, 601 * SIM_SECOND);
}

/* VB-V6 */
static void
node_moves_away(StorageWorld *world)
{
    start_waiting_pod(world);
    Volume *volume = storage_world_volume(world, "v", 5, "late");
    const Claim *claim = storage_world_stored_claim(world, "c");
    StringPair pair = {storage_world_intern(world, "topology.kubernetes.io/zone"),
                       storage_world_intern(world, "n1")};
    g_autoptr(StringMap) segment = string_map_new(&pair, 1);
    const StringMap *segments[] = {segment};
    volume->claim_ref = (ClaimReference){claim->meta.key, claim->meta.uid, 1};
    volume->node_affinity = node_selector_from_segments(segments, 1);
    storage_world_create(world, volume);
    storage_world_patch(world, storage_world_claim_key(world, "c"), edit_bind_claim,
                        storage_world_intern(world, "v"));
    storage_world_run(world, 2 * SIM_SECOND + SIM_SECOND / 2);
    assert_string_equal(last_failure(world), "");
    relabel(world, node_key(world, "n1"), "topology.kubernetes.io/zone", "b");
    storage_world_run(world, 3 * SIM_SECOND + SIM_MS);
}

static void
pod_goes(StorageWorld *world)
{
    start_waiting_pod(world);
    remove_pod(world, "p");
    storage_world_run(world, 10 * SIM_SECOND);
}

/* As a StatefulSet does: the attempt that binds the old pod finds one of that name, waits on, and
 * learns from the API that it is another one. */
static void
pod_is_replaced(StorageWorld *world)
{
    start_waiting_pod(world);
    remove_pod(world, "p");
    add_pod(world, "p", "c");
    storage_world_run(world, 1500 * SIM_MS);
    provision(world, "c", "v", "n1");
    storage_world_run(world, 10 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "p")->node_name, "n1");
}

static void
node_goes(StorageWorld *world)
{
    start_waiting_pod(world);
    storage_world_remove(world, node_key(world, "n1"));
    storage_world_run(world, 1 * SIM_SECOND + SIM_MS);
}

/* TIM-92: assumptions are lost, writes are not. */
static void
scheduler_crashes(StorageWorld *world)
{
    start_waiting_pod(world);
    storage_world_run(world, SIM_SECOND);
    assert_true(cluster_crash(world->cluster, "kube-scheduler", NULL));
    storage_world_run(world, 1500 * SIM_MS);
    assert_true(cluster_restart(world->cluster, "kube-scheduler", NULL));
    storage_world_run(world, 2500 * SIM_MS);
    provision(world, "c", "v", "n1");
    storage_world_run(world, 3200 * SIM_MS);
    assert_null(stored_pod(world, "p")->node_name);
    storage_world_run(world, 3201 * SIM_MS);
    assert_string_equal(stored_pod(world, "p")->node_name, "n1");
}

/* CheckNodeAffinity() knows the labels of a node only: no node matches a field. */
static void
volume_of_a_node_by_name(StorageWorld *world)
{
    const NodeSelectorTerm term = {.field_name = storage_world_intern(world, "n2")};
    Volume *volume = storage_world_volume(world, "v", 5, "local");

    volume->phase = VOLUME_AVAILABLE;
    volume->node_affinity = node_selector_new(&term, 1);
    add_nodes(world, three_nodes);
    storage_world_class(world, "local", PROVISIONER_NONE, BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_import(world, volume);
    storage_world_create(world, storage_world_claim(world, "c", 5, "local"));
    storage_world_start(world);
    add_pod(world, "p", "c");
    storage_world_run(world, 10 * SIM_SECOND);
}

/* VB-W10: somebody else changed the claim while the write was on its way. */
static void
claim_conflict(StorageWorld *world)
{
    start_late(world, one_node);
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    add_pod(world, "p", "c");
    storage_world_run(world, SIM_MS / 4); /* the node is decided, and not yet written */
    annotate(world, storage_world_claim_key(world, "c"), "other", "x");
    storage_world_run(world, 1 * SIM_MS);
}

/* RACE-17 */
static void
shared_claim(StorageWorld *world)
{
    start_late(world, one_node);
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    add_pod(world, "p", "c");
    add_pod(world, "q", "c");
    storage_world_run(world, SIM_SECOND / 2);
    provision(world, "c", "v", NULL);
    storage_world_run(world, 10 * SIM_SECOND);
    assert_non_null(stored_pod(world, "p")->node_name);
    assert_non_null(stored_pod(world, "q")->node_name);
}

static void
attach_limit(StorageWorld *world)
{
    start_attach_limit(world);
    storage_world_run(world, 10 * SIM_SECOND);
}

/* The claims of a pod are named by its name and a letter each, which tells their driver. */
static void
add_pod_of_drivers(StorageWorld *world, const char *name, const char *drivers)
{
    PodVolume volumes[4] = {{0}};
    unsigned n = (unsigned)strlen(drivers);
    Pod *pod = new_pod(world, name, NULL, 100);

    for (unsigned i = 0; i < n; i++) {
        g_autofree char *claim = g_strdup_printf("%s-%u", name, i);
        const char class[] = {drivers[i], '\0'};
        storage_world_create(world, storage_world_claim(world, claim, 5, class));
        volumes[i].name = volumes[i].claim_name = storage_world_intern(world, claim);
    }
    pod->volumes = pod_volumes_new(volumes, n);
    storage_world_create(world, pod);
}

/* VF-1: each driver has its own limit; what one pod lacked of one driver tells nothing of another
 * pod that asks as much of the other driver. */
static void
limits_of_two_drivers(StorageWorld *world)
{
    CsiNode *csi_node =
        CSI_NODE(object_new(objects_key(world->objects, KIND_CSI_NODE, NULL, "n1")));
    const char *node_id = storage_world_intern(world, "n1");
    const CsiNodeDriver drivers[] = {
        {.name = storage_world_intern(world, "csi.a"), .node_id = node_id, .allocatable_count = 5},
        {.name = storage_world_intern(world, "csi.b"), .node_id = node_id, .allocatable_count = 1},
    };

    add_nodes(world, one_node);
    csi_node->drivers = csi_node_drivers_new(drivers, G_N_ELEMENTS(drivers));
    storage_world_create(world, csi_node);
    storage_world_class(world, "a", "csi.a", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_class(world, "b", "csi.b", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(world);
    add_pod_of_drivers(world, "p", "abb");
    storage_world_run(world, 1 * SIM_SECOND);
    add_pod_of_drivers(world, "q", "ab");
    storage_world_run(world, 10 * SIM_SECOND);
}

/* VF-V2: the attachment still counts when its pod is gone; the pod waits for it. */
static void
attachment_counts(StorageWorld *world)
{
    ObjectKey *key = objects_key(world->objects, KIND_ATTACHMENT, NULL, "csi-1");
    Attachment *attachment = ATTACHMENT(object_new(key));

    attachment->attacher = storage_world_intern(world, "csi.test");
    attachment->node_name = storage_world_intern(world, "n1");
    attachment->volume_name = storage_world_intern(world, "c1");
    start_attach_limit(world);
    storage_world_create(world, attachment);
    storage_world_run(world, 6 * SIM_SECOND);
    remove_pod(world, "p1");
    storage_world_run(world, 20 * SIM_SECOND);
    assert_null(stored_pod(world, "p4")->node_name);
    storage_world_remove(world, key);
    storage_world_run(world, 20 * SIM_SECOND + SIM_MS);
    assert_non_null(stored_pod(world, "p4")->node_name);
}

/* VF-V7, VF-W10 */
static void
read_write_once_pod(StorageWorld *world)
{
    static const uint32_t succeeded = POD_SUCCEEDED;
    Claim *claim = storage_world_claim(world, "c", 5, "");

    add_nodes(world, three_nodes);
    claim->access_modes = ACCESS_RWOP;
    storage_world_create(world, claim);
    provision(world, "c", "v", NULL);
    storage_world_start(world);
    add_pod(world, "p", "c");
    storage_world_run(world, SIM_SECOND);
    add_pod(world, "q", "c");
    storage_world_run(world, 5 * SIM_SECOND);
    assert_null(stored_pod(world, "q")->node_name);
    storage_world_patch_status(world, pod_key(world, "p"), scheduler_edit_phase, &succeeded);
    storage_world_run(world, 10 * SIM_SECOND);
    assert_non_null(stored_pod(world, "q")->node_name);
}

/* SCH-94, SCH-W5, SCH-W6: 13 nodes with three different troubles. */
static void
many_reasons(StorageWorld *world)
{
    char name[8];

    for (unsigned i = 0; i < 13; i++) {
        g_snprintf(name, sizeof name, "n%u", i);
        Node *node = new_node(world, name, i < 11 ? "a" : "b");
        node->unschedulable = i == 0;
        if (i < 11)
            node->allocatable.cpu_milli = 50;
        storage_world_import(world, node);
    }
    add_bound_claim(world, "c", "v", "a");
    storage_world_start(world);
    add_pod(world, "p", "c");
    storage_world_run(world, 10 * SIM_SECOND);
}

static void
taints_and_selectors(StorageWorld *world)
{
    const Taint taint = {.key = storage_world_intern(world, "gpu"),
                         .value = storage_world_intern(world, "yes"),
                         .effect = TAINT_NO_SCHEDULE,
                         .added_at = TIME_UNSET};
    const Taint empty = {.key = storage_world_intern(world, "maintenance"),
                         .value = storage_world_intern(world, ""),
                         .effect = TAINT_NO_EXECUTE,
                         .added_at = TIME_UNSET};
    StringPair pair = {storage_world_intern(world, "disktype"), storage_world_intern(world, "ssd")};
    Node *node = new_node(world, "n1", "a");

    node->taints = taints_new(&taint, 1);
    storage_world_import(world, node);
    node = new_node(world, "n2", "a");
    node->taints = taints_new(&empty, 1);
    storage_world_import(world, node);
    storage_world_import(world, new_node(world, "n3", "a"));
    storage_world_start(world);
    Pod *pod = new_pod(world, "p", NULL, 100);
    pod->spec->node_selector = string_map_new(&pair, 1);
    storage_world_create(world, pod);
    storage_world_run(world, 2 * SIM_SECOND);
    /* SCH-W15: of no use. SCH-Q23: this is. */
    relabel(world, node_key(world, "n3"), "other", "x");
    storage_world_run(world, 5 * SIM_SECOND);
    storage_world_log(world);
    relabel(world, node_key(world, "n3"), "disktype", "ssd");
    storage_world_run(world, 10 * SIM_SECOND);
}

/* As in 04-wffc-static-local: one pod a node, by anti-affinity. */
static Pod *
new_lonely_pod(StorageWorld *world, const char *name)
{
    Pod *pod = new_pod(world, name, NULL, 100);
    const char *value = storage_world_intern(world, "db");
    SelectRequirement requirement = {.key = storage_world_intern(world, "app"),
                                     .operator= SELECT_IN,
                                     .values = string_list_new(&value, 1)};

    set_label(world, pod, "app", "db");
    pod->spec->n_pod_terms = 1;
    pod->spec->pod_terms = g_new0(PodAffinityTerm, 1);
    pod->spec->pod_terms[0].anti = TRUE;
    pod->spec->pod_terms[0].topology_key = storage_world_intern(world, "kubernetes.io/hostname");
    pod->spec->pod_terms[0].selector = label_selector_new(&requirement, 1);
    return pod;
}

static void
anti_affinity(StorageWorld *world)
{
    static const char *const names[] = {"p1", "p2", "p3", "p4"};

    add_nodes(world, three_nodes);
    storage_world_start(world);
    for (unsigned i = 0; i < 4; i++)
        storage_world_create(world, new_lonely_pod(world, names[i]));
    storage_world_run(world, 5 * SIM_SECOND);
    assert_null(stored_pod(world, "p4")->node_name);
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < i; k++)
            assert_ptr_not_equal(stored_pod(world, names[i])->node_name,
                                 stored_pod(world, names[k])->node_name);
    }
    remove_pod(world, "p2");
    storage_world_run(world, 10 * SIM_SECOND);
    assert_non_null(stored_pod(world, "p4")->node_name);
}

static void
no_nodes(StorageWorld *world)
{
    storage_world_start(world);
    add_pod(world, "p", NULL);
    storage_world_run(world, SIM_SECOND / 4);
}

/* SCH-S12: nothing happens, and it is tried again after 5 to 5.5 minutes; the message is the same,
 * so nothing is written. */
static void
flushed_after_five_minutes(StorageWorld *world)
{
    Node *node = new_node(world, "n1", "a");

    node->allocatable.cpu_milli = 50;
    storage_world_import(world, node);
    storage_world_start(world);
    add_pod(world, "p", NULL);
    storage_world_run(world, 299 * SIM_SECOND);
    storage_world_log(world);
    assert_int_equal(api_server_n_events(world->api), 1);
    storage_world_run(world, 331 * SIM_SECOND);
    assert_int_equal(api_server_n_events(world->api), 2);
}

static void
gated_pod(StorageWorld *world)
{
    Pod *pod = new_pod(world, "p", NULL, 100);
    const char *gate = storage_world_intern(world, "example.com/wait");

    add_nodes(world, three_nodes);
    storage_world_start(world);
    pod->spec->scheduling_gates = string_list_new(&gate, 1);
    storage_world_create(world, pod);
    storage_world_run(world, 400 * SIM_SECOND);
    assert_string_equal(stored_pod(world, "p")->scheduled.reason, "SchedulingGated"); /* SCH-43 */
}

/* The messages that users read. */
#define PREBIND "running PreBind plugin \"VolumeBinding\": binding volumes: "
#define UNFIT(n, reasons, preemption)                                                              \
    "0/" n " nodes are available: " reasons ". preemption: 0/" n                                   \
    " nodes are available: " preemption "."
#define NO_USE "Preemption is not helpful for scheduling"
#define NO_VICTIMS "No preemption victims found for incoming pod"

#define UNBOUND UNFIT("3", "pod has unbound immediate PersistentVolumeClaims", "3 " NO_USE)
#define RESET PREBIND "provisioning failed for PVC \"c\""
#define TIMED_OUT PREBIND "context deadline exceeded"
#define MOVED                                                                                      \
    PREBIND "pv \"v\" node affinity doesn't match node \"n1\": no matching NodeSelectorTerms"
#define POD_GONE PREBIND "pod does not exist any more: pod \"p\" not found"
#define REPLACED "PUT pvc/c, PUT pvc/c, BIND pod/p, BIND pod/p 409, PATCH/st pod/p"
#define CONFLICT                                                                                   \
    "running Bind plugin \"DefaultBinder\": Operation cannot be fulfilled on pods \"p\": the "     \
    "object "                                                                                      \
    "has been modified; please apply your changes to the latest version and try again"
#define NODE_GONE PREBIND "failed to get node \"n1\": node \"n1\" not found"
#define NO_VOLUMES                                                                                 \
    UNFIT("3", "3 node(s) didn't find available persistent volumes to bind", "3 " NO_USE)
#define TWO_DRIVERS "PATCH/st pod/p, PUT pvc/q-0, PUT pvc/q-1"
#define FULL UNFIT("1", "1 node(s) exceed max volume count", "1 " NO_VICTIMS)
#define ONE_POD                                                                                    \
    UNFIT("3",                                                                                     \
          "3 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "    \
          "access mode",                                                                           \
          "3 " NO_VICTIMS)
#define MANY                                                                                       \
    UNFIT("13",                                                                                    \
          "1 node(s) were unschedulable, 10 Insufficient cpu, 2 node(s) had volume node affinity " \
          "conflict",                                                                              \
          "10 " NO_VICTIMS ", 3 " NO_USE)
#define TAINTED                                                                                    \
    UNFIT("3",                                                                                     \
          "1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint "  \
          "{gpu: yes}, 1 node(s) had untolerated taint {maintenance: }",                           \
          "3 " NO_USE)
#define LONELY UNFIT("3", "3 node(s) didn't match pod anti-affinity rules", "3 " NO_VICTIMS)
#define SMALL UNFIT("1", "1 Insufficient cpu", "1 " NO_VICTIMS)
#define ATTACHED "BIND pod/p1, BIND pod/p2, BIND pod/p3, PATCH/st pod/p4"
#define ATTACHED_AFTER_ALL ATTACHED ", BIND pod/p4"

static const SchedulerStory stories[] = {
    {"a pod without claims",        plain_pod,                  "BIND pod/p",                             ""                                   },
    {"VB-V3 late binding",          late_binding,               "PUT pvc/c, BIND pod/p",                  ""                                   },
    {"late binding, free volume",   static_late_binding,        "PUT pv/small, BIND pod/p",               ""                                   },
    {"immediate binding",           immediate_claim,            "PATCH/st pod/p, BIND pod/p",             UNBOUND                              },
    {"immediate, later",            immediate_claim_later,      "PATCH/st pod/p, BIND pod/p",             UNBOUND                              },
    {"VB-V4 reset",                 selected_node_removed,      "PUT pvc/c, PATCH/st pod/p, PUT pvc/c",   RESET                                },
    {"VB-V5 time-out",              binding_times_out,          "PUT pvc/c, PATCH/st pod/p",              TIMED_OUT                            },
    {"VB-V6 node label changed",    node_moves_away,            "PUT pvc/c, PATCH/st pod/p",              MOVED                                },
    {"VB-T23 pod deleted",          pod_goes,                   "PUT pvc/c, PATCH/st pod/p 404",          POD_GONE                             },
    {"SCH-72 pod replaced",         pod_is_replaced,            REPLACED,                                 CONFLICT                             },
    {"VB-T22 node deleted",         node_goes,                  "PUT pvc/c, PATCH/st pod/p",              NODE_GONE                            },
    {"TIM-92 crash",                scheduler_crashes,          "PUT pvc/c, PUT pvc/c, BIND pod/p",       ""                                   },
    {"VB-41 a node by its name",    volume_of_a_node_by_name,   "PATCH/st pod/p",                         NO_VOLUMES                           },
    {"VB-T14 claim changed",        claim_conflict,             "PATCH/st pod/p",                         NULL                                 },
    {"RACE-17 two pods, one claim", shared_claim,               NULL,                                     NULL                                 },
    {"VF-V1 attach limit",          attach_limit,               ATTACHED,                                 FULL                                 },
    {"VF-1 two drivers",            limits_of_two_drivers,      TWO_DRIVERS,                              FULL                                 },
    {"VF-V2 attachment counts",     attachment_counts,          ATTACHED_AFTER_ALL,                       FULL                                 },
    {"VF-V7 one pod",               read_write_once_pod,        "BIND pod/p, PATCH/st pod/q, BIND pod/q", ONE_POD                              },
    {"SCH-V4 many reasons",         many_reasons,               "PATCH/st pod/p",                         MANY                                 },
    {"taints and selectors",        taints_and_selectors,       "BIND pod/p",                             TAINTED                              },
    {"anti-affinity",               anti_affinity,              NULL,                                     LONELY                               },
    {"SCH-50.3 no nodes",           no_nodes,                   "PATCH/st pod/p",                         "no nodes available to schedule pods"},
    {"SCH-S12 flushed",             flushed_after_five_minutes, "",                                       SMALL                                },
    {"SCH-41 gated",                gated_pod,                  "",                                       ""                                   },
};

TEST(stories_are_told)
{
    unsigned n_failed = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(stories); i++)
        n_failed += !story_is_told(&stories[i], FALSE) + !story_is_told(&stories[i], TRUE);
    assert_int_equal(n_failed, 0);
}

/* SCH-V6: 150 equal nodes: the start index moves on, so pods spread though each could go anywhere.
 */
TEST(start_index_rotates)
{
    gboolean seen[150] = {FALSE};
    unsigned n_seen = 0;
    StorageWorld world;
    char name[8];

    storage_world_init(&world, NULL);
    for (unsigned i = 0; i < 150; i++) {
        g_snprintf(name, sizeof name, "n%u", i);
        storage_world_import(&world, new_node(&world, name, "a"));
    }
    storage_world_start(&world);
    for (unsigned i = 0; i < 150; i++) {
        g_snprintf(name, sizeof name, "p%u", i);
        storage_world_create(&world, new_pod(&world, name, NULL, 1000));
    }
    storage_world_run(&world, 10 * SIM_SECOND);
    for (unsigned i = 0; i < 150; i++) {
        g_snprintf(name, sizeof name, "p%u", i);
        unsigned node =
            (unsigned)g_ascii_strtoull(stored_pod(&world, name)->node_name + 1, NULL, 10);
        n_seen += seen[node] ? 0 : 1;
        seen[node] = TRUE;
    }
    assert_in_range(n_seen, 140, 150);
    storage_world_clear(&world);
}

/* With requests and watches that take random times, everything comes to the same end, whether
 * tickers sleep or not. */
TEST(slow_worlds_end_alike)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        char *events[2];
        for (unsigned polling = 0; polling < 2; polling++) {
            StorageWorldOptions options = {.seed = seed, .slow = TRUE, .polling = polling == 1};
            StorageWorld world;
            storage_world_init(&world, &options);
            start_late(&world, three_nodes);
            for (unsigned i = 0; i < 5; i++) {
                g_autofree char *claim = g_strdup_printf("c%u", i),
                                *pod = g_strdup_printf("p%u", i);
                storage_world_create(&world, storage_world_claim(&world, claim, 5, "late"));
                add_pod(&world, pod, claim);
            }
            storage_world_run(&world, SIM_SECOND);
            for (unsigned i = 0; i < 5; i++) {
                g_autofree char *claim = g_strdup_printf("c%u", i),
                                *volume = g_strdup_printf("v%u", i);
                provision(&world, claim, volume, NULL);
            }
            storage_world_run(&world, 10 * SIM_SECOND);
            for (unsigned i = 0; i < 5; i++) {
                g_autofree char *pod = g_strdup_printf("p%u", i);
                assert_non_null(stored_pod(&world, pod)->node_name);
            }
            world.log_times = TRUE;
            g_autofree char *all_events = storage_world_events(&world);
            events[polling] = g_strconcat(storage_world_log(&world), " ", all_events, NULL);
            storage_world_clear(&world);
        }
        assert_string_equal(events[0], events[1]);
        g_free(events[0]);
        g_free(events[1]);
    }
}

/* Returns: from the restart of the crashed scheduler to the node of a new pod */
static SimTime
start_up(StorageWorld *world, const char *pod)
{
    assert_true(cluster_crash(world->cluster, "kube-scheduler", NULL));
    add_pod(world, pod, NULL);
    SimTime from = sim_now(world->sim), at = from;
    assert_true(cluster_restart(world->cluster, "kube-scheduler", NULL));
    while (stored_pod(world, pod)->node_name == NULL)
        storage_world_run(world, at += SIM_MS);
    return at - from;
}

/* TIM-90 to TIM-94: each start takes its own time. */
TEST(starts_take_different_times)
{
    SimTime shortest = SIM_TIME_MAX, longest = 0;
    unsigned n_alike = 0;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        StorageWorld world;
        storage_world_init(&world, &(StorageWorldOptions){.seed = seed});
        sim_dist_unref(world.timing.scheduler_start);
        world.timing.scheduler_start = sim_dist_new_uniform(500 * SIM_MS, 900 * SIM_MS);
        add_nodes(&world, one_node);
        storage_world_start(&world);
        storage_world_run(&world, SIM_SECOND);
        SimTime first = start_up(&world, "p"), second = start_up(&world, "q");
        n_alike += first == second; /* in milliseconds */
        shortest = MIN(shortest, MIN(first, second));
        longest = MAX(longest, MAX(first, second));
        storage_world_clear(&world);
    }
    assert_in_range(n_alike, 0, 2);
    assert_in_range(shortest, 500 * SIM_MS, 530 * SIM_MS);
    assert_in_range(longest, 870 * SIM_MS, 902 * SIM_MS);
}
