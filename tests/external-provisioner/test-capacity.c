/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/csi/modelled/modelled-test.h"
#include "models/external-provisioner/external-provisioner.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world-asserts.h"

/* The CSIStorageCapacity objects that the provisioner keeps: one for each zone and class, up to
 * date at each poll and after each volume. Zones a, b and c have a node each. */

const ModelClass *const model_classes[] = {&external_provisioner_class, NULL};

#define GIB (INT64_C(1) << 30)

static void
know_their_room(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->latency[CSI_CREATE_VOLUME] = NULL;
    options->controller_capabilities |= CSI_CONTROLLER_GET_CAPACITY;
}

static World *
capacity_world(const char *flag, const char *value)
{
    SidecarWorldOptions options = {.seed = 1,
                                   .driver = know_their_room,
                                   .flag = "enable-capacity",
                                   .value = "true",
                                   .flag2 = flag,
                                   .value2 = value};

    return world_new(&options);
}

static void
capacity_add_class(World *world, const char *name, BindingMode mode)
{
    world_create(world, &world_class(world, name, mode, RECLAIM_DELETE)->meta);
}

/* Room in one zone. */
static void
set_room(World *world, const char *zone, int64_t bytes)
{
    StringPair pair = {world_intern(world, WORLD_ZONE), world_intern(world, zone)};
    g_autoptr(StringMap) segments = string_map_new(&pair, 1);
    CsiModelledPool pool = {.segments = segments, .bytes = bytes};

    csi_modelled_driver_set_pools(world->driver, &pool, 1);
}

/* Returns: the object of a zone and class; NULL: there is none, or more than one */
static const StorageCapacity *
capacity_find_object(const World *world, const char *class, const char *zone)
{
    const StorageCapacity *found = NULL;

    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_STORAGE_CAPACITY); i++) {
        const StorageCapacity *object = (const StorageCapacity *)api_server_get(
            world->api, objects_key_at(world->objects, KIND_STORAGE_CAPACITY, i));
        if (object == NULL || strcmp(object->class_name, class) != 0 ||
            strcmp(object->topology->requirements[0].values->items[0], zone) != 0)
            continue;
        if (found != NULL)
            return NULL;
        found = object;
    }
    return found;
}

static unsigned
n_objects(const World *world)
{
    return api_server_count(world->api, KIND_STORAGE_CAPACITY);
}

#define ASK "GetCapacity"
#define CREATE "CREATE CSIStorageCapacity"
#define UPDATE "UPDATE CSIStorageCapacity"
#define DELETE "DELETE CSIStorageCapacity"

/* CAP-1, CAP-3 */
TEST(one_for_each_zone_and_late_class)
{
    static const char *const zones[] = {"a", "b", "c"};
    g_autoptr(World) world = capacity_world(NULL, NULL);

    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    capacity_add_class(world, "now", BINDING_IMMEDIATE);
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(n_objects(world), 3);
    for (unsigned i = 0; i < G_N_ELEMENTS(zones); i++) {
        const StorageCapacity *object = capacity_find_object(world, "late", zones[i]);
        assert_non_null(object);
        assert_true(g_str_has_prefix(object_name(&object->meta), "csisc-"));
        assert_string_equal(object->topology->requirements[0].key, WORLD_ZONE);
        assert_string_equal(object_label(&object->meta, "csi.storage.k8s.io/drivername"),
                            WORLD_DRIVER);
        assert_string_equal(object_label(&object->meta, "csi.storage.k8s.io/managed-by"),
                            "external-provisioner");
    }
}

/* CAP-1: the flag. */
TEST(immediate_classes_if_asked_for)
{
    g_autoptr(World) world = capacity_world("capacity-for-immediate-binding", "true");

    capacity_add_class(world, "now", BINDING_IMMEDIATE);
    world_run(world, 10 * SIM_SECOND);
    assert_int_equal(n_objects(world), 3);
}

/* CAP-2, CAP-5: each capacity is asked for once a minute, and written only if it changes. */
TEST(polls_write_what_changed)
{
    g_autoptr(World) world = capacity_world(NULL, NULL);

    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    world_run(world, 10 * SIM_SECOND);
    assert_log(world, ASK ", " CREATE ", " ASK ", " CREATE ", " ASK ", " CREATE);
    world_run(world, 70 * SIM_SECOND);
    assert_log(world, ASK ", " ASK ", " ASK);
    set_room(world, "b", 7 * GIB);
    world_run(world, 130 * SIM_SECOND);
    assert_int_equal(world_count(world, UPDATE, NULL, NULL), 1);
    assert_int_equal(capacity_find_object(world, "late", "b")->capacity_bytes, 7 * GIB);
}

/* CAP-5: the flag of the poll. */
TEST(polls_as_often_as_told)
{
    g_autoptr(World) world = capacity_world("capacity-poll-interval", "10s");

    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    world_run(world, 5 * SIM_SECOND);
    g_free(world_take_log(world));
    world_run(world, 36 * SIM_SECOND);
    g_autofree char *times = world_times(world, ASK);
    assert_string_equal(times, "10000 10000 10000 20000 20000 20000 30000 30000 30000");
}

/* CAP-6: the zone of a new volume is looked at once more, at once. */
TEST(volumes_refresh_their_zone)
{
    g_autoptr(World) world = capacity_world(NULL, NULL);

    set_room(world, "b", 7 * GIB);
    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    world_run(world, 10 * SIM_SECOND);
    g_free(world_take_log(world));
    world_create(world, &world_claim(world, "data", "late", "b")->meta);
    world_run(world, 20 * SIM_SECOND);
    assert_int_equal(world_count(world, ASK, NULL, NULL), 1);
    assert_int_equal(capacity_find_object(world, "late", "b")->capacity_bytes, 6 * GIB);
}

/* CAP-6: after a failure the whole class. */
TEST(failures_refresh_their_class)
{
    static const CsiModelledError exhausted = {
        .method = CSI_CREATE_VOLUME, .code = CSI_RESOURCE_EXHAUSTED, .probability = 1, .count = 1};
    g_autoptr(World) world = capacity_world(NULL, NULL);

    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    capacity_add_class(world, "other", BINDING_WAIT_FOR_FIRST_CONSUMER);
    world_run(world, 10 * SIM_SECOND);
    g_free(world_take_log(world));
    csi_modelled_driver_set_errors(world->driver, &exhausted, 1);
    world_create(world, &world_claim(world, "data", "late", "b")->meta);
    world_run(world, 20 * SIM_SECOND);
    assert_int_equal(world_count(world, ASK, NULL, NULL), 3);
}

/* CAP-4: an object that others delete is made again; a superfluous object is deleted. */
TEST(objects_are_looked_after)
{
    g_autoptr(World) world = capacity_world(NULL, NULL);

    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    world_run(world, 10 * SIM_SECOND);
    const Object *object = &capacity_find_object(world, "late", "c")->meta;
    Object *second = object_edit_as(
        object, objects_key(world->objects, KIND_STORAGE_CAPACITY, object->key->namespace, "twin"));
    g_free(world_take_log(world));
    world_create(world, second);
    world_run(world, 20 * SIM_SECOND);
    assert_log(world, DELETE);
    assert_non_null(capacity_find_object(world, "late", "c"));

    ApiRequest request = {.verb = API_DELETE,
                          .key = (ObjectKey *)capacity_find_object(world, "late", "c")->meta.key,
                          .grace_s = -1};
    ApiResponse response;
    api_server_commit(world->api, &request, &response);
    assert_int_equal(response.code, API_OK);
    world_run(world, 30 * SIM_SECOND);
    assert_log(world, ASK ", " CREATE);
    assert_non_null(capacity_find_object(world, "late", "c"));
}

static gboolean
edit_labels(Object *object, const void *labels)
{
    string_map_unref(object->labels);
    object->labels = string_map_ref(labels);
    return TRUE;
}

static void
set_labels(World *world, const ObjectKey *object, const StringMap *labels)
{
    const ApiRequest request = {
        .verb = API_PATCH, .key = (ObjectKey *)object, .edit = edit_labels, .arg = labels};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
    assert_int_equal(response.code, API_OK);
}

/* CAP-9: an object without its labels is made anew, and left alone; with its labels it is one too
 * many. */
TEST(labels_make_an_object_ours)
{
    g_autoptr(World) world = capacity_world(NULL, NULL);

    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    world_run(world, 10 * SIM_SECOND);
    const Object *object = &capacity_find_object(world, "late", "c")->meta;
    const ObjectKey *key = object->key;
    g_autoptr(StringMap) labels = string_map_ref(object->labels);
    g_free(world_take_log(world));
    set_labels(world, key, NULL);
    world_run(world, 20 * SIM_SECOND);
    assert_log(world, ASK ", " CREATE);
    assert_int_equal(n_objects(world), 4);
    world_run(world, 70 * SIM_SECOND);
    assert_log(world, ASK ", " ASK ", " ASK);
    set_labels(world, key, labels);
    world_run(world, 80 * SIM_SECOND);
    assert_log(world, DELETE);
    assert_null(api_server_get(world->api, key));
    assert_non_null(capacity_find_object(world, "late", "c"));
}

/* CAP-1, CAP-4: with its class or its last node an object goes. */
TEST(objects_go_with_what_they_are_of)
{
    g_autoptr(World) world = capacity_world(NULL, NULL);

    capacity_add_class(world, "late", BINDING_WAIT_FOR_FIRST_CONSUMER);
    world_run(world, 10 * SIM_SECOND);
    world_delete(world, KIND_CSI_NODE, "a");
    world_run(world, 20 * SIM_SECOND);
    assert_int_equal(n_objects(world), 2);
    assert_null(capacity_find_object(world, "late", "a"));
    world_delete(world, KIND_STORAGE_CLASS, "late");
    world_run(world, 30 * SIM_SECOND);
    assert_int_equal(n_objects(world), 0);
}
