/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/scheduler/requeue-deeds.h"
#include "tests/lib/test.h"

#include <string.h>

Pod *
pod_on(const StorageWorld *world, const char *name, const char *claim, const char *node)
{
    Pod *pod = storage_world_pod(world, name, claim, node);

    pod->spec->cpu_milli = 1000;
    pod->spec->n_containers = 1;
    return pod;
}

LabelSelector *
app_selector(StorageWorld *world, const char *app)
{
    const char *value = storage_world_intern(world, app);
    SelectRequirement requirement = {.key = storage_world_intern(world, "app"),
                                     .operator= SELECT_IN,
                                     .values = string_list_new(&value, 1)};

    return label_selector_new(&requirement, 1);
}

Pod *
app_pod(StorageWorld *world, const char *name, const char *app, const char *node)
{
    Pod *pod = pod_on(world, name, NULL, node);

    set_label(world, pod, "app", app);
    return pod;
}

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

void
topologies_change(StorageWorld *world)
{
    storage_world_patch(world, class_key(world), edit_topologies, NULL);
}

void
class_is_annotated(StorageWorld *world)
{
    annotate(world, class_key(world), "x", "x");
}

void
plugins_migrate(StorageWorld *world)
{
    annotate(world, objects_key(world->objects, KIND_CSI_NODE, NULL, "n1"),
             "storage.alpha.kubernetes.io/migrated-plugins", "x");
}

void
csi_node_is_annotated(StorageWorld *world)
{
    annotate(world, objects_key(world->objects, KIND_CSI_NODE, NULL, "n1"), "x", "x");
}

static gboolean
edit_stop_checking(Object *object, const void *arg)
{
    (void)arg;
    CSI_DRIVER_OBJECT(object)->storage_capacity = FALSE;
    return TRUE;
}

void
driver_stops_checking(StorageWorld *world)
{
    storage_world_patch(world, objects_key(world->objects, KIND_CSI_DRIVER, NULL, "csi.test"),
                        edit_stop_checking, NULL);
}

void
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

void
pod_tolerates_more(StorageWorld *world)
{
    storage_world_patch(world, objects_key(world->objects, KIND_POD, "default", "p"), edit_tolerate,
                        storage_world_intern(world, "k"));
}

void
nothing(StorageWorld *world)
{
    (void)world;
}

void
new_class(StorageWorld *world)
{
    storage_world_class(world, "new", "csi.test", BINDING_IMMEDIATE);
}

void
new_late_class(StorageWorld *world)
{
    storage_world_class(world, "new", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
}

void
claim_changes(StorageWorld *world)
{
    relabel(world, storage_world_claim_key(world, "c"), "x", "y");
}

void
other_claim_changes(StorageWorld *world)
{
    storage_world_create(world, storage_world_claim(world, "e", 5, "fast"));
}

void
new_volume(StorageWorld *world)
{
    storage_world_import(world, storage_world_volume(world, "v", 5, ""));
}

void
volume_moves(StorageWorld *world)
{
    relabel(world, storage_world_volume_key(world, "c"), ZONE, "a");
}

void
volume_changes(StorageWorld *world)
{
    relabel(world, storage_world_volume_key(world, "c"), "x", "y");
}

void
node_moves(StorageWorld *world)
{
    relabel(world, node_key(world, "n1"), ZONE, "z");
}

void
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

/* A new node has a taint, which a controller removes (NL-26): here the test does. */
static void
ready_node_comes(StorageWorld *world, Node *node)
{
    ObjectKey *key = (ObjectKey *)node->meta.key;

    storage_world_create(world, node);
    storage_world_patch(world, key, clear_taints, NULL);
}

void
node_comes(StorageWorld *world)
{
    ready_node_comes(world, new_node(world, "n2", "a"));
}

void
small_node_comes(StorageWorld *world)
{
    Node *node = new_node(world, "n2", "a");

    node->allocatable.cpu_milli = 500;
    storage_world_create(world,
                         node); /* its taint stays: removing it would move any pod (SCH-68) */
}

static gboolean
edit_taint(Object *object, const void *arg)
{
    Taint taint = {.key = arg, .effect = TAINT_NO_SCHEDULE, .added_at = TIME_UNSET};

    g_clear_pointer(&NODE(object)->taints, taints_unref);
    NODE(object)->taints = taints_new(&taint, 1);
    return TRUE;
}

void
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

void
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

void
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

void
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

void
limit_grows(StorageWorld *world)
{
    storage_world_patch(world, objects_key(world->objects, KIND_CSI_NODE, NULL, "n1"), edit_limit,
                        storage_world_intern(world, "csi.test"));
}

void
csi_node_comes(StorageWorld *world)
{
    add_csi_node(world, "n3", 1);
}

/* As a kubelet ends a pod's life. */
static void
requeue_deeds_end_pod(StorageWorld *world, const char *name)
{
    ApiRequest request = {
        .verb = API_DELETE, .key = pod_key(world, name), .grace_s = 0, .client = "test"};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
    assert_int_equal(response.code, API_OK);
}

void
other_pod_goes(StorageWorld *world)
{
    requeue_deeds_end_pod(world, "other");
}

void
plain_pod_goes(StorageWorld *world)
{
    requeue_deeds_end_pod(world, "plain");
}

void
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

void
capacity_grows(StorageWorld *world)
{
    const int64_t more = 20;

    storage_world_patch(world,
                        objects_key(world->objects, KIND_STORAGE_CAPACITY, "kube-system", "x"),
                        edit_capacity, &more);
}

void
capacity_shrinks(StorageWorld *world)
{
    const int64_t less = 1;

    storage_world_patch(world,
                        objects_key(world->objects, KIND_STORAGE_CAPACITY, "kube-system", "x"),
                        edit_capacity, &less);
}

void
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

void
gate_goes(StorageWorld *world)
{
    storage_world_patch(world, pod_key(world, "p"), edit_ungate, NULL);
}

void
node_gets_disk(StorageWorld *world)
{
    relabel(world, node_key(world, "n1"), "disk", "hdd");
}

void
node_without_zone_comes(StorageWorld *world)
{
    Node *node = new_node(world, "n3", "a");

    object_set_label(&node->meta, storage_world_intern(world, ZONE), NULL);
    storage_world_create(world,
                         node); /* its taint stays: removing it would move any pod (SCH-68) */
}

void
other_node_goes(StorageWorld *world)
{
    storage_world_remove(world, node_key(world, "n2"));
}

void
other_pod_changes(StorageWorld *world)
{
    relabel(world, pod_key(world, "other"), "app", "z");
}

void
app_pod_comes(StorageWorld *world)
{
    storage_world_create(world, app_pod(world, "third", "x", "n1"));
}

void
plain_pod_comes(StorageWorld *world)
{
    storage_world_create(world, pod_on(world, "third", NULL, "n1"));
}

void
pod_changes_app(StorageWorld *world)
{
    relabel(world, pod_key(world, "p"), "app", "z");
}
