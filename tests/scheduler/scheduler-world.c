/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/scheduler/scheduler-world.h"
#include "models/api/api-test.h"
#include "tests/lib/test.h"

#include <string.h>

const char *const one_node[] = {"n1", NULL};
const char *const three_nodes[] = {"n1", "n2", "n3", NULL};

ObjectKey *
node_key(const StorageWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_NODE, NULL, name);
}

ObjectKey *
pod_key(const StorageWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_POD, "default", name);
}

const Pod *
stored_pod(const StorageWorld *world, const char *name)
{
    return POD_CONST(api_server_get(world->api, pod_key(world, name)));
}

void
set_label(const StorageWorld *world, void *object, const char *key, const char *value)
{
    object_set_label(object, storage_world_intern(world, key), storage_world_intern(world, value));
}

Node *
new_node(const StorageWorld *world, const char *name, const char *zone)
{
    Node *node = NODE(object_new(node_key(world, name)));

    node->allocatable = (NodeResources){.cpu_milli = 4000, .memory_bytes = 8 * GIB, .pods = 110};
    set_label(world, node, "kubernetes.io/hostname", name);
    set_label(world, node, "topology.kubernetes.io/zone", zone);
    return node;
}

void
add_nodes(StorageWorld *world, const char *const *names)
{
    for (; *names != NULL; names++)
        storage_world_import(
            world, new_node(world, *names, *names)); /* without the taint of a new one (NL-26) */
}

void
add_csi_node(StorageWorld *world, const char *name, int32_t limit)
{
    CsiNode *csi_node =
        CSI_NODE(object_new(objects_key(world->objects, KIND_CSI_NODE, NULL, name)));
    CsiNodeDriver driver = {.name = storage_world_intern(world, "csi.test"),
                            .node_id = storage_world_intern(world, name),
                            .allocatable_count = limit};

    csi_node->drivers = csi_node_drivers_new(&driver, 1);
    storage_world_create(world, csi_node);
}

static gboolean
edit_label(Object *object, const void *pair)
{
    const StringPair *label = pair;

    return object_set_label(object, label->key, label->value);
}

void
relabel(StorageWorld *world, ObjectKey *key, const char *label, const char *value)
{
    StringPair pair = {storage_world_intern(world, label), storage_world_intern(world, value)};

    storage_world_patch(world, key, edit_label, &pair);
}

void
annotate(StorageWorld *world, ObjectKey *key, const char *name, const char *value)
{
    StringPair pair = {storage_world_intern(world, name), storage_world_intern(world, value)};

    storage_world_patch(world, key, storage_world_annotate, &pair);
}

gboolean
edit_bind_claim(Object *object, const void *volume)
{
    CLAIM(object)->volume_name = volume;
    return TRUE;
}

void
complete_claim(StorageWorld *world, const char *name, const char *volume)
{
    ObjectKey *key = storage_world_claim_key(world, name);

    storage_world_patch(world, key, edit_bind_claim, storage_world_intern(world, volume));
    annotate(world, key, ANNOTATION_BIND_COMPLETED, "yes");
}

void
provision(StorageWorld *world, const char *claim_name, const char *volume_name, const char *zone)
{
    const Claim *claim = storage_world_stored_claim(world, claim_name);
    Volume *volume = storage_world_volume(world, volume_name, 5, claim->class_name);

    volume->claim_ref = (ClaimReference){claim->meta.key, claim->meta.uid, 1};
    if (zone != NULL) {
        StringPair pair = {storage_world_intern(world, "topology.kubernetes.io/zone"),
                           storage_world_intern(world, zone)};
        g_autoptr(StringMap) segment = string_map_new(&pair, 1);
        const StringMap *segments[] = {segment};
        volume->node_affinity = node_selector_from_segments(segments, 1);
    }
    storage_world_create(world, volume);
    complete_claim(world, claim_name, volume_name);
}

void
add_bound_claim(StorageWorld *world, const char *claim, const char *volume, const char *zone)
{
    storage_world_create(world, storage_world_claim(world, claim, 5, ""));
    provision(world, claim, volume, zone);
}

Pod *
new_pod(const StorageWorld *world, const char *name, const char *claim, int64_t cpu_milli)
{
    Pod *pod = storage_world_pod(world, name, claim, NULL);

    pod->spec->cpu_milli = cpu_milli;
    pod->spec->n_containers = 1;
    return pod;
}

void
add_pod(StorageWorld *world, const char *name, const char *claim)
{
    storage_world_create(world, new_pod(world, name, claim, 100));
}

void
remove_pod(StorageWorld *world, const char *name)
{
    ApiRequest request = {.verb = API_DELETE, .key = pod_key(world, name), .client = "test"};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
    assert_int_equal(response.code, API_OK);
}

const char *
last_failure(const StorageWorld *world)
{
    const char *message = "";

    for (unsigned i = 0; i < api_server_n_events(world->api); i++) {
        const ApiEvent *event = api_server_event(world->api, i);
        if (event->count > 0 && strcmp(event->reason, "FailedScheduling") == 0)
            message = event->message;
    }
    return message;
}

void
start_late(StorageWorld *world, const char *const *nodes)
{
    add_nodes(world, nodes);
    storage_world_class(world, "late", "csi.test", BINDING_WAIT_FOR_FIRST_CONSUMER);
    storage_world_start(world);
}

void
start_attach_limit(StorageWorld *world)
{
    static const char *const claims[] = {"c1", "c2", "c3", "c4"}, *const pods[] = {"p1", "p2", "p3",
                                                                                   "p4"};

    add_nodes(world, one_node);
    add_csi_node(world, "n1", 3);
    for (unsigned i = 0; i < 4; i++)
        add_bound_claim(world, claims[i], storage_world_intern(world, claims[i]), NULL);
    storage_world_start(world);
    for (unsigned i = 0; i < 4; i++) {
        add_pod(world, pods[i], claims[i]);
        storage_world_run(world, (SimTime)(i + 1) * 10 * SIM_MS);
    }
    storage_world_run(world, 5 * SIM_SECOND);
    assert_non_null(stored_pod(world, "p3")->node_name);
    assert_null(stored_pod(world, "p4")->node_name);
}

gboolean
story_is_told(const SchedulerStory *story, gboolean polling)
{
    StorageWorld world;

    storage_world_init(&world, &(StorageWorldOptions){.polling = polling});
    story->tell(&world);
    const char *log = storage_world_log(&world), *failure = last_failure(&world);
    gboolean is_told = (story->log == NULL || strcmp(log, story->log) == 0) &&
                       (story->failure == NULL || strcmp(failure, story->failure) == 0);
    if (!is_told)
        print_error("%s%s:\n%s\n%s\n", story->title, polling ? " (polling)" : "", log, failure);
    storage_world_clear(&world);
    return is_told;
}
