/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scheduler/scheduler-private.h"

#include "tests/lib/storage-world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* cmocka wants the first three. */
#include <cmocka.h>

/* A pod that found no node is tried again at the instant that the rule says, and not before. */

#define GIB (INT64_C(1) << 30)
#define ZONE "topology.kubernetes.io/zone"

const ModelClass *const model_classes[] = {&scheduler_class, NULL};

typedef void (*Deed)(StorageWorld *world);

static ObjectKey *
node_key(const StorageWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_NODE, NULL, name);
}

static ObjectKey *
pod_key(const StorageWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_POD, "default", name);
}

static void
set_label(const StorageWorld *world, void *object, const char *key, const char *value)
{
    object_set_label(object, storage_world_intern(world, key), storage_world_intern(world, value));
}

/* ---- What is there ---- */

static Node *
new_node(const StorageWorld *world, const char *name)
{
    Node *node = NODE(object_new(node_key(world, name)));

    node->allocatable = (NodeResources){.cpu_milli = 4000, .memory_bytes = 8 * GIB, .pods = 110};
    set_label(world, node, "kubernetes.io/hostname", name);
    set_label(world, node, ZONE, "a");
    return node;
}

static void
add_csi_node(StorageWorld *world, const char *name)
{
    CsiNode *csi_node =
        CSI_NODE(object_new(objects_key(world->objects, KIND_CSI_NODE, NULL, name)));
    CsiNodeDriver driver = {.name = storage_world_intern(world, "csi.test"),
                            .node_id = storage_world_intern(world, name),
                            .allocatable_count = 1};

    csi_node->drivers = csi_node_drivers_new(&driver, 1);
    storage_world_create(world, csi_node);
}

static void
add_bound_claim(StorageWorld *world, const char *name, const char *zone, uint32_t modes)
{
    Claim *claim = storage_world_claim(world, name, 5, "");
    Volume *volume = storage_world_volume(world, name, 5, "");

    claim->volume_name = storage_world_intern(world, name);
    claim->access_modes = modes;
    object_set_annotation(&claim->meta, storage_world_intern(world, ANNOTATION_BIND_COMPLETED),
                          storage_world_intern(world, "yes"));
    storage_world_import(world, claim);
    if (zone != NULL)
        set_label(world, volume, ZONE, zone);
    storage_world_import(world, volume);
}

static Pod *
new_pod(const StorageWorld *world, const char *name, const char *claim, const char *node)
{
    Pod *pod = storage_world_pod(world, name, claim, node);

    pod->spec->cpu_milli = 1000;
    pod->spec->n_containers = 1;
    return pod;
}

static void
start(StorageWorld *world, Pod *pod)
{
    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_class(world, "local", PROVISIONER_NONE, BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(world);
    storage_world_create(world, pod);
}

static void
unbound(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1"));
    storage_world_create(world, storage_world_claim(world, "c", 5, "fast"));
    start(world, new_pod(world, "p", "c", NULL));
}

/* The driver minds its capacity, and none is known. */
static void
start_without_capacity(StorageWorld *world, Pod *pod)
{
    CsiDriverObject *driver = CSI_DRIVER_OBJECT(
        object_new(objects_key(world->objects, KIND_CSI_DRIVER, NULL, "csi.test")));
    StorageCapacity *capacity = STORAGE_CAPACITY(
        object_new(objects_key(world->objects, KIND_STORAGE_CAPACITY, "kube-system", "x")));

    driver->storage_capacity = TRUE;
    storage_world_create(world, driver);
    capacity->class_name = storage_world_intern(world, "late");
    capacity->capacity_bytes = GIB;
    capacity->maximum_bytes = -1;
    capacity->topology = label_selector_new(NULL, 0);
    storage_world_create(world, capacity);
    storage_world_import(world, new_node(world, "n1"));
    storage_world_class(world, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    start(world, pod);
}

static void
no_capacity(StorageWorld *world)
{
    start_without_capacity(world, new_pod(world, "p", "c", NULL));
}

/* The pod has a volume of the driver that lives with it, too. */
static void
no_capacity_and_inline(StorageWorld *world)
{
    Pod *pod = new_pod(world, "p", "c", NULL);
    const char *driver = storage_world_intern(world, "csi.test");
    const PodVolume volume = pod->volumes->items[0];

    pod_volumes_unref(pod->volumes);
    pod->volumes = pod_volumes_new_with_inline(&volume, 1, string_list_new(&driver, 1));
    start_without_capacity(world, pod);
}

static void
other_zone(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1"));
    add_bound_claim(world, "c", "z", ACCESS_RWO);
    start(world, new_pod(world, "p", "c", NULL));
}

/* One volume a node, and another pod has it; a second is still attached. */
static void
node_full(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1"));
    add_csi_node(world, "n1");
    add_bound_claim(world, "c", NULL, ACCESS_RWO);
    add_bound_claim(world, "d", NULL, ACCESS_RWO);
    storage_world_create(world, new_pod(world, "other", "d", "n1"));
    storage_world_create(world, new_pod(world, "plain", NULL, "n1"));
    Attachment *attachment =
        ATTACHMENT(object_new(objects_key(world->objects, KIND_ATTACHMENT, NULL, "va")));
    attachment->attacher = storage_world_intern(world, "csi.test");
    attachment->node_name = storage_world_intern(world, "n1");
    attachment->volume_name = storage_world_intern(world, "d");
    storage_world_create(world, attachment);
    start(world, new_pod(world, "p", "c", NULL));
}

static void
claim_taken(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1"));
    add_bound_claim(world, "c", NULL, ACCESS_RWOP);
    storage_world_create(world, new_pod(world, "other", "c", "n1"));
    storage_world_create(world, new_pod(world, "plain", NULL, "n1"));
    start(world, new_pod(world, "p", "c", NULL));
}

static void
wants_ssd(StorageWorld *world)
{
    Pod *pod = new_pod(world, "p", NULL, NULL);
    StringPair pair = {storage_world_intern(world, "disk"), storage_world_intern(world, "ssd")};

    storage_world_import(world, new_node(world, "n1"));
    pod->spec->node_selector = string_map_new(&pair, 1);
    start(world, pod);
}

static void
too_large(StorageWorld *world)
{
    Pod *pod = new_pod(world, "p", NULL, NULL);

    storage_world_import(world, new_node(world, "n1"));
    storage_world_create(world, new_pod(world, "other", NULL, "n1"));
    pod->spec->cpu_milli = 4000;
    start(world, pod);
}

static void
node_tainted(StorageWorld *world)
{
    Node *node = new_node(world, "n1");
    Taint taint = {.key = storage_world_intern(world, "k"),
                   .effect = TAINT_NO_SCHEDULE,
                   .added_at = TIME_UNSET};

    node->taints = taints_new(&taint, 1);
    storage_world_import(world, node);
    start(world, new_pod(world, "p", NULL, NULL));
}

static void
node_cordoned(StorageWorld *world)
{
    Node *node = new_node(world, "n1");

    node->unschedulable = TRUE;
    storage_world_import(world, node);
    start(world, new_pod(world, "p", NULL, NULL));
}

static void
gated(StorageWorld *world)
{
    Pod *pod = new_pod(world, "p", NULL, NULL);
    const char *gate = storage_world_intern(world, "wait");

    storage_world_import(world, new_node(world, "n1"));
    pod->spec->scheduling_gates = string_list_new(&gate, 1);
    start(world, pod);
}

/* The class admits a zone where no node is. */
static void
topology_elsewhere(StorageWorld *world)
{
    StorageClass *class =
        STORAGE_CLASS(object_new(objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "late")));
    StringPair pair = {storage_world_intern(world, ZONE), storage_world_intern(world, "z")};
    g_autoptr(StringMap) segment = string_map_new(&pair, 1);
    const StringMap *segments[] = {segment};

    class->provisioner = storage_world_intern(world, "csi.test");
    class->binding_mode = BINDING_WAIT_FOR_FIRST_CONSUMER;
    class->allowed_topologies = node_selector_from_segments(segments, 1);
    storage_world_create(world, class);
    storage_world_import(world, new_node(world, "n1"));
    add_csi_node(world, "n1");
    storage_world_create(world, storage_world_claim(world, "c", 5, "late"));
    start(world, new_pod(world, "p", "c", NULL));
}

static LabelSelector *
app_selector(StorageWorld *world, const char *app)
{
    const char *value = storage_world_intern(world, app);
    SelectRequirement requirement = {.key = storage_world_intern(world, "app"),
                                     .operator= SELECT_IN,
                                     .values = string_list_new(&value, 1)};

    return label_selector_new(&requirement, 1);
}

static Pod *
app_pod(StorageWorld *world, const char *name, const char *app, const char *node)
{
    Pod *pod = new_pod(world, name, NULL, node);

    set_label(world, pod, "app", app);
    return pod;
}

/* One pod a zone more than in another; zone b's node is cordoned. */
static void
uneven(StorageWorld *world)
{
    Node *cordoned = new_node(world, "n2");
    Pod *pod = app_pod(world, "p", "x", NULL);

    set_label(world, cordoned, ZONE, "b");
    cordoned->unschedulable = TRUE;
    storage_world_import(world, new_node(world, "n1"));
    storage_world_import(world, cordoned);
    storage_world_create(world, app_pod(world, "other", "x", "n1"));
    storage_world_create(world, new_pod(world, "plain", NULL, "n1"));
    pod->spec->spread = g_new0(SpreadConstraint, 1);
    pod->spec->n_spread = 1;
    pod->spec->spread[0] = (SpreadConstraint){.selector = app_selector(world, "x"),
                                              .topology_key = storage_world_intern(world, ZONE),
                                              .max_skew = 1,
                                              .do_not_schedule = TRUE};
    start(world, pod);
}

static Pod *
pod_with_term(StorageWorld *world, gboolean anti)
{
    Pod *pod = new_pod(world, "p", NULL, NULL);

    pod->spec->pod_terms = g_new0(PodAffinityTerm, 1);
    pod->spec->n_pod_terms = 1;
    pod->spec->pod_terms[0] = (PodAffinityTerm){.selector = app_selector(world, "x"),
                                                .topology_key = storage_world_intern(world, ZONE),
                                                .anti = anti};
    return pod;
}

/* The taint of a new node (NL-26) does not matter to it: what comes is judged as it is. */
static Pod *
tolerates_new_nodes(StorageWorld *world, Pod *pod)
{
    const Toleration toleration = {
        .key = storage_world_intern(world, "node.kubernetes.io/not-ready"),
        .exists = TRUE,
        .effect = -1,
        .seconds = -1,
    };

    pod->spec->tolerations = tolerations_new(&toleration, 1);
    return pod;
}

static void
lonely(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1"));
    storage_world_create(world, app_pod(world, "other", "y", "n1"));
    start(world, tolerates_new_nodes(world, pod_with_term(world, FALSE)));
}

static void
in_bad_company(StorageWorld *world)
{
    storage_world_import(world, new_node(world, "n1"));
    storage_world_create(world, app_pod(world, "other", "x", "n1"));
    storage_world_create(world, new_pod(world, "plain", NULL, "n1"));
    start(world, tolerates_new_nodes(world, pod_with_term(world, TRUE)));
}

/* ---- What happens at 5 s ---- */

static gboolean
edit_topologies(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&STORAGE_CLASS(object)->allowed_topologies, node_selector_unref);
    return TRUE;
}

static ObjectKey *
class_key(const StorageWorld *world)
{
    return objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "late");
}

static void
topologies_change(StorageWorld *world)
{
    storage_world_patch(world, class_key(world), edit_topologies, NULL);
}

static void
annotate(StorageWorld *world, ObjectKey *key, const char *annotation)
{
    StringPair pair = {storage_world_intern(world, annotation), storage_world_intern(world, "x")};

    storage_world_patch(world, key, storage_world_annotate, &pair);
}

static void
class_is_annotated(StorageWorld *world)
{
    annotate(world, class_key(world), "x");
}

static void
plugins_migrate(StorageWorld *world)
{
    annotate(world, objects_key(world->objects, KIND_CSI_NODE, NULL, "n1"),
             "storage.alpha.kubernetes.io/migrated-plugins");
}

static void
csi_node_is_annotated(StorageWorld *world)
{
    annotate(world, objects_key(world->objects, KIND_CSI_NODE, NULL, "n1"), "x");
}

static gboolean
edit_stop_checking(Object *object, const void *arg)
{
    (void)arg;
    CSI_DRIVER_OBJECT(object)->storage_capacity = FALSE;
    return TRUE;
}

static void
driver_stops_checking(StorageWorld *world)
{
    storage_world_patch(world, objects_key(world->objects, KIND_CSI_DRIVER, NULL, "csi.test"),
                        edit_stop_checking, NULL);
}

static void
capacity_comes(StorageWorld *world)
{
    StorageCapacity *capacity = STORAGE_CAPACITY(
        object_new(objects_key(world->objects, KIND_STORAGE_CAPACITY, "kube-system", "y")));

    capacity->class_name = storage_world_intern(world, "other");
    capacity->capacity_bytes = capacity->maximum_bytes = -1;
    storage_world_create(world, capacity);
}

static gboolean
edit_tolerate(Object *object, const void *arg)
{
    const Toleration toleration = {.key = arg, .exists = TRUE, .effect = -1, .seconds = -1};
    PodSpec *spec = pod_spec_new();

    spec->n_containers = 1;
    spec->tolerations = tolerations_new(&toleration, 1);
    pod_set_spec(POD(object), spec, NULL);
    pod_spec_unref(spec);
    return TRUE;
}

static void
pod_tolerates_more(StorageWorld *world)
{
    storage_world_patch(world, objects_key(world->objects, KIND_POD, "default", "p"), edit_tolerate,
                        storage_world_intern(world, "k"));
}

static void
nothing(StorageWorld *world)
{
    (void)world;
}

static void
new_class(StorageWorld *world)
{
    storage_world_class(world, "new", "csi.test", BINDING_IMMEDIATE);
}

static void
new_late_class(StorageWorld *world)
{
    storage_world_class(world, "new", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
}

static gboolean
edit_label(Object *object, const void *pair)
{
    const StringPair *label = pair;

    return object_set_label(object, label->key, label->value);
}

static void
relabel(StorageWorld *world, ObjectKey *key, const char *label, const char *value)
{
    StringPair pair = {storage_world_intern(world, label), storage_world_intern(world, value)};

    storage_world_patch(world, key, edit_label, &pair);
}

static void
claim_changes(StorageWorld *world)
{
    relabel(world, storage_world_claim_key(world, "c"), "x", "y");
}

static void
other_claim_changes(StorageWorld *world)
{
    storage_world_create(world, storage_world_claim(world, "e", 5, "fast"));
}

static void
new_volume(StorageWorld *world)
{
    storage_world_import(world, storage_world_volume(world, "v", 5, ""));
}

static void
volume_moves(StorageWorld *world)
{
    relabel(world, storage_world_volume_key(world, "c"), ZONE, "a");
}

static void
volume_changes(StorageWorld *world)
{
    relabel(world, storage_world_volume_key(world, "c"), "x", "y");
}

static void
node_moves(StorageWorld *world)
{
    relabel(world, node_key(world, "n1"), ZONE, "z");
}

static void
node_gets_ssd(StorageWorld *world)
{
    relabel(world, node_key(world, "n1"), "disk", "ssd");
}

static gboolean
clear_taints(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&NODE(object)->taints, taints_unref);
    return TRUE;
}

/* A new node has a taint, which goes when somebody has looked at it (NL-26): nobody is there for it
 * but this. */
static void
ready_node_comes(StorageWorld *world, Node *node)
{
    ObjectKey *key = (ObjectKey *)node->meta.key;

    storage_world_create(world, node);
    storage_world_patch(world, key, clear_taints, NULL);
}

static void
node_comes(StorageWorld *world)
{
    ready_node_comes(world, new_node(world, "n2"));
}

static void
small_node_comes(StorageWorld *world)
{
    Node *node = new_node(world, "n2");

    node->allocatable.cpu_milli = 500;
    storage_world_create(world,
                         node); /* its taint stays: that this goes would move any pod (SCH-68) */
}

static gboolean
edit_taint(Object *object, const void *arg)
{
    Taint taint = {.key = arg, .effect = TAINT_NO_SCHEDULE, .added_at = TIME_UNSET};

    g_clear_pointer(&NODE(object)->taints, taints_unref);
    NODE(object)->taints = taints_new(&taint, 1);
    return TRUE;
}

static void
other_taint(StorageWorld *world)
{
    storage_world_patch(world, node_key(world, "n1"), edit_taint,
                        storage_world_intern(world, "other"));
}

static gboolean
edit_untaint(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&NODE(object)->taints, taints_unref);
    return TRUE;
}

static void
taint_goes(StorageWorld *world)
{
    storage_world_patch(world, node_key(world, "n1"), edit_untaint, NULL);
}

static gboolean
edit_uncordon(Object *object, const void *arg)
{
    (void)arg;
    NODE(object)->unschedulable = FALSE;
    return TRUE;
}

static void
uncordon(StorageWorld *world)
{
    storage_world_patch(world, node_key(world, "n1"), edit_uncordon, NULL);
}

static gboolean
edit_grow(Object *object, const void *arg)
{
    (void)arg;
    NODE(object)->allocatable.cpu_milli *= 2;
    return TRUE;
}

static void
node_grows(StorageWorld *world)
{
    storage_world_patch_status(world, node_key(world, "n1"), edit_grow, NULL);
}

static gboolean
edit_limit(Object *object, const void *arg)
{
    CsiNodeDriver driver = {.name = arg, .node_id = arg, .allocatable_count = 10};

    return csi_node_set_driver(CSI_NODE(object), arg, &driver);
}

static void
limit_grows(StorageWorld *world)
{
    storage_world_patch(world, objects_key(world->objects, KIND_CSI_NODE, NULL, "n1"), edit_limit,
                        storage_world_intern(world, "csi.test"));
}

static void
csi_node_comes(StorageWorld *world)
{
    add_csi_node(world, "n3");
}

/* As a kubelet ends a pod's life. */
static void
end_pod(StorageWorld *world, const char *name)
{
    ApiRequest request = {
        .verb = API_DELETE, .key = pod_key(world, name), .grace_s = 0, .client = "test"};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
    assert_int_equal(response.code, API_OK);
}

static void
other_pod_goes(StorageWorld *world)
{
    end_pod(world, "other");
}

static void
plain_pod_goes(StorageWorld *world)
{
    end_pod(world, "plain");
}

static void
attachment_goes(StorageWorld *world)
{
    storage_world_remove(world, objects_key(world->objects, KIND_ATTACHMENT, NULL, "va"));
}

static gboolean
edit_capacity(Object *object, const void *gib)
{
    STORAGE_CAPACITY(object)->capacity_bytes = *(const int64_t *)gib * GIB / 2;
    return TRUE;
}

static void
capacity_grows(StorageWorld *world)
{
    const int64_t more = 20;

    storage_world_patch(world,
                        objects_key(world->objects, KIND_STORAGE_CAPACITY, "kube-system", "x"),
                        edit_capacity, &more);
}

static void
capacity_shrinks(StorageWorld *world)
{
    const int64_t less = 1;

    storage_world_patch(world,
                        objects_key(world->objects, KIND_STORAGE_CAPACITY, "kube-system", "x"),
                        edit_capacity, &less);
}

static void
pod_changes(StorageWorld *world)
{
    relabel(world, pod_key(world, "p"), "x", "y");
}

static gboolean
edit_ungate(Object *object, const void *arg)
{
    PodSpec *spec = pod_spec_new();

    (void)arg;
    pod_set_spec(POD(object), spec, NULL);
    pod_spec_unref(spec);
    return TRUE;
}

static void
gate_goes(StorageWorld *world)
{
    storage_world_patch(world, pod_key(world, "p"), edit_ungate, NULL);
}

static void
node_gets_disk(StorageWorld *world)
{
    relabel(world, node_key(world, "n1"), "disk", "hdd");
}

static void
node_without_zone_comes(StorageWorld *world)
{
    Node *node = new_node(world, "n3");

    object_set_label(&node->meta, storage_world_intern(world, ZONE), NULL);
    storage_world_create(world,
                         node); /* its taint stays: that this goes would move any pod (SCH-68) */
}

static void
other_node_goes(StorageWorld *world)
{
    storage_world_remove(world, node_key(world, "n2"));
}

static void
other_pod_changes(StorageWorld *world)
{
    relabel(world, pod_key(world, "other"), "app", "z");
}

static void
app_pod_comes(StorageWorld *world)
{
    storage_world_create(world, app_pod(world, "third", "x", "n1"));
}

static void
plain_pod_comes(StorageWorld *world)
{
    storage_world_create(world, new_pod(world, "third", NULL, "n1"));
}

static void
pod_changes_app(StorageWorld *world)
{
    relabel(world, pod_key(world, "p"), "app", "z");
}

/* ---- The table ---- */

typedef struct {
    const char *rule;
    Deed before, change;
    gboolean moves;         /* with hints */
    gboolean moves_unasked; /* without (SCH-66, SCH-69) */
} RequeueCase;

static const RequeueCase cases[] = {
    {"SCH-S5 nothing happens",           unbound,                nothing,                 FALSE, FALSE},
    {"SCH-Q1 class",                     unbound,                new_class,               TRUE,  TRUE },
    {"SCH-Q3 its claim",                 unbound,                claim_changes,           TRUE,  TRUE },
    {"SCH-Q3 another claim",             unbound,                other_claim_changes,     FALSE, TRUE },
    {"SCH-Q4 any volume",                unbound,                new_volume,              TRUE,  TRUE },
    {"SCH-Q5 node label",                unbound,                node_moves,              TRUE,  TRUE },
    {"SCH-Q5 new node",                  unbound,                node_comes,              TRUE,  TRUE },
    {"SCH-66 new node, too small",       unbound,                small_node_comes,        TRUE,  FALSE},
    {"SCH-68 taint elsewhere",           unbound,                other_taint,             TRUE,  FALSE},
    {"SCH-Q6 new CSINode",               unbound,                csi_node_comes,          TRUE,  TRUE },
    {"SCH-W18 a pod's own label",        unbound,                pod_changes,             FALSE, TRUE },
    {"SCH-Q10 capacity grows",           no_capacity,            capacity_grows,          TRUE,  TRUE },
    {"SCH-Q10 capacity shrinks",         no_capacity,            capacity_shrinks,        FALSE, TRUE },
    {"SCH-Q11 immediate class",          other_zone,             new_class,               FALSE, TRUE },
    {"SCH-Q11 late class",               other_zone,             new_late_class,          TRUE,  TRUE },
    {"SCH-Q12 node label",               other_zone,             node_moves,              TRUE,  TRUE },
    {"SCH-Q13 its claim",                other_zone,             claim_changes,           TRUE,  TRUE },
    {"SCH-Q14 new volume",               other_zone,             new_volume,              TRUE,  TRUE },
    {"SCH-Q15 volume's zone",            other_zone,             volume_moves,            TRUE,  TRUE },
    {"SCH-Q15 volume's other label",     other_zone,             volume_changes,          FALSE, TRUE },
    {"SCH-Q16 new CSINode",              node_full,              csi_node_comes,          TRUE,  TRUE },
    {"SCH-W13 limit grows",              node_full,              limit_grows,             FALSE, FALSE},
    {"SCH-Q17 pod with volume goes",     node_full,              other_pod_goes,          TRUE,  TRUE },
    {"SCH-Q17 pod without goes",         node_full,              plain_pod_goes,          FALSE, TRUE },
    {"SCH-Q18 another claim",            node_full,              other_claim_changes,     FALSE, TRUE },
    {"SCH-Q19 attachment goes",          node_full,              attachment_goes,         TRUE,  TRUE },
    {"SCH-Q20 the claim's pod goes",     claim_taken,            other_pod_goes,          TRUE,  TRUE },
    {"SCH-Q20 another pod goes",         claim_taken,            plain_pod_goes,          FALSE, TRUE },
    {"SCH-Q21 new node",                 claim_taken,            node_comes,              TRUE,  TRUE },
    {"SCH-Q22 claim changes",            claim_taken,            claim_changes,           FALSE, FALSE},
    {"SCH-Q23 label fits",               wants_ssd,              node_gets_ssd,           TRUE,  TRUE },
    {"SCH-Q23 another label",            wants_ssd,              node_moves,              FALSE, FALSE},
    {"SCH-Q24 pod goes",                 too_large,              other_pod_goes,          TRUE,  TRUE },
    {"SCH-Q25 node grows",               too_large,              node_grows,              TRUE,  TRUE },
    {"SCH-Q25 small node",               too_large,              small_node_comes,        FALSE, FALSE},
    {"SCH-Q27 taint goes",               node_tainted,           taint_goes,              TRUE,  TRUE },
    {"SCH-Q27 another taint",            node_tainted,           other_taint,             FALSE, FALSE},
    {"SCH-Q29 uncordoned",               node_cordoned,          uncordon,                TRUE,  TRUE },
    {"SCH-Q29 label",                    node_cordoned,          node_moves,              FALSE, TRUE },
    {"SCH-Q2 topologies",                topology_elsewhere,     topologies_change,       TRUE,  TRUE },
    {"SCH-Q2 class changes else",        topology_elsewhere,     class_is_annotated,      FALSE, TRUE },
    {"SCH-Q7 plugins migrate",           topology_elsewhere,     plugins_migrate,         TRUE,  TRUE },
    {"SCH-Q7 CSINode changes else",      topology_elsewhere,     csi_node_is_annotated,   FALSE, TRUE },
    {"SCH-Q8 only claims of the driver", no_capacity,            driver_stops_checking,   FALSE, TRUE },
    {"SCH-Q8 a volume within the pod",   no_capacity_and_inline, driver_stops_checking,   TRUE,  TRUE },
    {"SCH-Q9 new capacity",              no_capacity,            capacity_comes,          TRUE,  TRUE },
    {"SCH-Q28 tolerates",                node_tainted,           pod_tolerates_more,      TRUE,  TRUE },
    {"SCH-Q29 tolerates",                node_cordoned,          pod_tolerates_more,      TRUE,  TRUE },
    {"SCH-Q31 pod goes",                 uneven,                 other_pod_goes,          TRUE,  TRUE },
    {"SCH-Q31 uncounted pod goes",       uneven,                 plain_pod_goes,          FALSE, TRUE },
    {"SCH-Q31 counted no more",          uneven,                 other_pod_changes,       TRUE,  TRUE },
    {"SCH-Q31 pod comes",                uneven,                 app_pod_comes,           TRUE,  TRUE },
    {"SCH-Q31 uncounted pod comes",      uneven,                 plain_pod_comes,         FALSE, TRUE },
    {"SCH-Q31 node moves",               uneven,                 node_moves,              TRUE,  TRUE },
    {"SCH-Q31 node changes else",        uneven,                 node_gets_disk,          FALSE, TRUE },
    {"SCH-Q31 node goes",                uneven,                 other_node_goes,         TRUE,  TRUE },
    {"SCH-Q31 own label",                uneven,                 pod_changes_app,         TRUE,  TRUE },
    {"SCH-Q32 company comes",            lonely,                 app_pod_comes,           TRUE,  TRUE },
    {"SCH-Q32 another comes",            lonely,                 plain_pod_comes,         FALSE, FALSE},
    {"SCH-Q32 node moves",               lonely,                 node_moves,              TRUE,  TRUE },
    {"SCH-Q32 node changes else",        lonely,                 node_gets_disk,          FALSE, TRUE },
    {"SCH-Q32 node comes",               lonely,                 node_comes,              TRUE,  TRUE },
    {"SCH-Q32 node of no zone",          lonely,                 node_without_zone_comes, FALSE, TRUE },
    {"SCH-Q32 bad company goes",         in_bad_company,         other_pod_goes,          TRUE,  TRUE },
    {"SCH-Q32 another goes",             in_bad_company,         plain_pod_goes,          FALSE, TRUE },
    {"SCH-Q32 bad company changes",      in_bad_company,         other_pod_changes,       TRUE,  FALSE},
    {"SCH-Q32 anywhere else is fine",    in_bad_company,         node_without_zone_comes, TRUE,  TRUE },
    {"SCH-45 gated: nothing frees it",   gated,                  node_comes,              FALSE, FALSE},
    {"SCH-44 gate goes",                 gated,                  gate_goes,               TRUE,  TRUE },
};

/* Tries so far, the one that found a node as well. */
static unsigned
n_attempts(const StorageWorld *world)
{
    const Scheduler *scheduler = cluster_model(world->cluster, &scheduler_class, NULL);
    const QueuedPod *entry = scheduling_queue_find(scheduler->queue, pod_key(world, "p"));
    const Object *pod = api_server_get(world->api, pod_key(world, "p"));

    if (entry != NULL)
        return entry->attempts;
    return POD_CONST(pod)->node_name != NULL ? 1000 : 0;
}

typedef enum {
    WITH_HINTS,
    BEFORE_HINTS, /* 1.31 has the gate off */
    WITHOUT_HINTS,
    N_HINT_MODES,
} HintMode;

static gboolean
moves_at_once(const RequeueCase *row, HintMode mode, gboolean *moves_before)
{
    StorageWorldOptions options = {.minor_version = mode == BEFORE_HINTS ? 31 : 32,
                                   .gate_off =
                                       mode == WITHOUT_HINTS ? "SchedulerQueueingHints" : NULL};
    StorageWorld world;

    storage_world_init(&world, &options);
    row->before(&world);
    storage_world_run(&world, SIM_SECOND / 2);
    unsigned first = n_attempts(&world);
    storage_world_run(&world, 5 * SIM_SECOND - 1);
    *moves_before = n_attempts(&world) != first;
    storage_world_run(&world, 5 * SIM_SECOND);
    row->change(&world);
    storage_world_run(&world, 5 * SIM_SECOND + 10 * SIM_MS);
    gboolean moved = n_attempts(&world) != first;
    storage_world_clear(&world);
    return moved;
}

static void
pods_move_when_the_rule_says(void **state)
{
    unsigned n_failed = 0;

    (void)state;
    for (unsigned i = 0; i < N_HINT_MODES * G_N_ELEMENTS(cases); i++) {
        const RequeueCase *row = &cases[i / N_HINT_MODES];
        gboolean with_hints = i % N_HINT_MODES == WITH_HINTS, too_early;
        gboolean moved = moves_at_once(row, (HintMode)(i % N_HINT_MODES), &too_early);
        if (!moved == !(with_hints ? row->moves : row->moves_unasked) && !too_early)
            continue;
        print_error("%s, %s hints: %s\n", row->rule, with_hints ? "with" : "without",
                    too_early ? "too early"
                    : moved   ? "moved"
                              : "did not move");
        n_failed++;
    }
    assert_int_equal(n_failed, 0);
}

/* SCH-35, SCH-64, SCH-V1: within its back-off a pod waits for it, and then for the next tick of the
 * flush. */
static void
back_off_ends_on_a_tick(void **state)
{
    StorageWorld world;

    (void)state;
    storage_world_init(&world, NULL);
    unbound(&world);
    storage_world_run(&world, SIM_SECOND / 2);
    claim_changes(&world);
    storage_world_run(&world, SIM_SECOND / 2 + SIM_MS);
    const Scheduler *scheduler = cluster_model(world.cluster, &scheduler_class, NULL);
    const QueuedPod *entry = scheduling_queue_find(scheduler->queue, pod_key(&world, "p"));
    assert_int_equal(entry->place, PLACE_BACKOFF);
    SimTime failed_at = entry->timestamp;
    for (SimTime at = SIM_SECOND; n_attempts(&world) == 1; at += SIM_MS) {
        storage_world_run(&world, at);
        assert_true(at < failed_at + 2 * SIM_SECOND + SIM_MS);
        if (at < failed_at + SIM_SECOND)
            assert_int_equal(n_attempts(&world), 1);
    }
    storage_world_clear(&world);
}

/* SCH-36, SCH-V2: without any event a pod is tried again after 5 min, on a tick of 30 s. */
static void
nobody_is_forgotten(void **state)
{
    StorageWorld world;
    SimTime at = 300 * SIM_SECOND;

    (void)state;
    storage_world_init(&world, NULL);
    unbound(&world);
    storage_world_run(&world, at);
    assert_int_equal(n_attempts(&world), 1);
    storage_world_run(&world, at + 31 * SIM_SECOND);
    assert_int_equal(n_attempts(&world), 2);
    storage_world_clear(&world);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_move_when_the_rule_says),
        cmocka_unit_test(back_off_ends_on_a_tick),
        cmocka_unit_test(nobody_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
