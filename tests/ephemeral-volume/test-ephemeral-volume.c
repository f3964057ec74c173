/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ephemeral-volume/ephemeral-volume.h"
#include "tests/lib/storage-stories.h"
#include "tests/lib/test.h"

#include <string.h>

const ModelClass *const model_classes[] = {&ephemeral_volume_class, NULL};

static void
ephemeral_volume_no_fault(ApiParser *parser,
                          const json_t *where,
                          const char *message,
                          const char *hint)
{
    (void)parser;
    (void)where;
    (void)hint;
    fail_msg("%s", message);
}

/* A pod with the ephemeral volumes a and b. */
static Object *
pod_new(const StorageWorld *world, const char *name)
{
    static const char text[] =
        "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'namespace': 'default'}, 'spec': {"
        "'containers': [{'name': 'main', 'image': 'app'}], 'volumes': ["
        "{'name': 'a', 'ephemeral': {'volumeClaimTemplate': {"
        "'metadata': {'labels': {'tier': 'scratch'}, 'annotations': {'note': 'x'}}, 'spec': {"
        "'accessModes': ['ReadWriteOnce'], 'storageClassName': 'fast', "
        "'resources': {'requests': {'storage': '3Gi'}}}}}},"
        "{'name': 'none', 'emptyDir': {}},"
        "{'name': 'b', 'ephemeral': {'volumeClaimTemplate': {'spec': {"
        "'accessModes': ['ReadWriteMany'], 'resources': {'requests': {'storage': '1Gi'}}}}}}]}}";
    g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
    g_autoptr(GString) path = g_string_new(NULL);
    ApiParser parser = {
        .objects = world->objects, .report = ephemeral_volume_no_fault, .path = path};
    json_t *manifest = json_loads(json, 0, NULL);

    json_object_set_new(json_object_get(manifest, "metadata"), "name", json_string(name));
    Object *pod = api_parser_object(&parser, manifest);
    json_decref(manifest);
    return pod;
}

static ObjectKey *
pod_key(const StorageWorld *world, const char *name)
{
    return objects_key(world->objects, KIND_POD, "default", name);
}

/* ---- Stories: what happens, and all that the controller then sends ---- */

static void
pod_appears(StorageWorld *world)
{
    storage_world_start(world);
    const Object *pod = storage_world_create(world, pod_new(world, "p"));
    storage_world_run(world, 1 * SIM_SECOND);

    const Claim *a = storage_world_stored_claim(world, "p-a");
    assert_true(a->request_bytes == INT64_C(3) << 30);
    assert_int_equal(a->access_modes, ACCESS_RWO);
    assert_string_equal(a->class_name, "fast");
    assert_string_equal(object_label(&a->meta, "tier"), "scratch");
    assert_string_equal(object_annotation(&a->meta, "note"), "x");
    assert_true(object_is_controlled_by(&a->meta, pod));
    assert_true(object_controller(&a->meta)->block_owner_deletion);
}

/* EPH-1: at start what exists counts as new. */
static void
pod_was_there(StorageWorld *world)
{
    storage_world_create(world, pod_new(world, "p"));
    storage_world_start(world);
    storage_world_run(world, 1 * SIM_SECOND);
}

static void
claim_is_somebody_elses(StorageWorld *world)
{
    storage_world_create(world, storage_world_claim(world, "p-b", 1, NULL));
    storage_world_start(world);
    storage_world_create(world, pod_new(world, "p"));
    storage_world_run(world, 1 * SIM_MS); /* before the first retry */
}

/* EPH-3: its deletion brings the pod back at once. */
static void
somebody_elses_claim_goes(StorageWorld *world)
{
    claim_is_somebody_elses(world);
    storage_world_run(world, 100 * SIM_SECOND);
    storage_world_log(world);
    storage_world_remove(world, storage_world_claim_key(world, "p-b"));
    storage_world_run(world, 101 * SIM_SECOND);
}

static gboolean
edit_finalizer(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

/* EPH-2: before the next attempt. */
static void
pod_is_deleted_between_attempts(StorageWorld *world)
{
    claim_is_somebody_elses(world);
    storage_world_patch(world, pod_key(world, "p"), edit_finalizer,
                        storage_world_intern(world, "test/hold"));
    storage_world_delete(world, pod_key(world, "p"));
    storage_world_remove(world, storage_world_claim_key(world, "p-b"));
    storage_world_run(world, 2 * SIM_SECOND);
}

static void
pod_is_gone_at_the_next_attempt(StorageWorld *world)
{
    claim_is_somebody_elses(world);
    storage_world_remove(world, pod_key(world, "p"));
    storage_world_remove(world, storage_world_claim_key(world, "p-b"));
    storage_world_run(world, 2 * SIM_SECOND);
}

static void
own_claim_goes(StorageWorld *world)
{
    pod_appears(world);
    storage_world_log(world);
    storage_world_remove(world, storage_world_claim_key(world, "p-a"));
    storage_world_run(world, 2 * SIM_SECOND);
}

/* EPH-2: a pod under deletion gets nothing back. */
static void
own_claim_goes_with_pod(StorageWorld *world)
{
    pod_appears(world);
    storage_world_patch(world, pod_key(world, "p"), edit_finalizer,
                        storage_world_intern(world, "test/hold"));
    storage_world_delete(world, pod_key(world, "p"));
    storage_world_run(world, 2 * SIM_SECOND);
    storage_world_log(world);
    storage_world_remove(world, storage_world_claim_key(world, "p-a"));
    storage_world_run(world, 3 * SIM_SECOND);
}

static void
pod_without_any(StorageWorld *world)
{
    storage_world_start(world);
    storage_world_create(world, storage_world_pod(world, "q", "c", NULL));
    storage_world_run(world, 1 * SIM_SECOND);
}

/* clang-format off */
static const StorageStory stories[] = {
    {"each volume gets its claim, in order",       pod_appears,                     "POST pvc/p-a, POST pvc/p-b", ""                           },
    {"a pod that was there before the controller", pod_was_there,                   "POST pvc/p-a, POST pvc/p-b", ""                           },
    {"a claim of that name is not the pod's",      claim_is_somebody_elses,         "POST pvc/p-a",               "Warning FailedBinding pod/p"},
    {"... and goes, so there is room",             somebody_elses_claim_goes,       "POST pvc/p-b",               NULL                         },
    {"... as the pod does",                        pod_is_deleted_between_attempts, "POST pvc/p-a",               "Warning FailedBinding pod/p"},
    {"... as the pod has done",                    pod_is_gone_at_the_next_attempt, "POST pvc/p-a",               "Warning FailedBinding pod/p"},
    {"the pod's own claim is deleted under it",    own_claim_goes,                  "POST pvc/p-a",               ""                           },
    {"... while the pod is being deleted",         own_claim_goes_with_pod,         "",                           ""                           },
    {"a pod with plain claims",                    pod_without_any,                 "",                           ""                           },
};
/* clang-format on */

TEST(stories_send_what_they_should)
{
    tell_storage_stories(stories, G_N_ELEMENTS(stories));
}

/* EPH-6: 5 ms, 10 ms, ... between the attempts; the words of the event. */
TEST(tries_again_with_back_off)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    claim_is_somebody_elses(&world);
    storage_world_run(&world, 1 * SIM_SECOND); /* at 0, 5, 15, 35, 75, 155, 315 and 635 ms */
    const ApiEvent *event = api_server_event(world.api, 0);
    assert_int_equal(event->count, 8);
    assert_string_equal(event->message,
                        "ephemeral volume b: PVC default/p-b was not created for pod default/p "
                        "(pod is not owner)");
    storage_world_clear(&world);
}
