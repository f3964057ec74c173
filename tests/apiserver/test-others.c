/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/namespace.h"
#include "tests/lib/test.h"
#include "world.h"

/* Kinds that no model reads stand in the store like all others; a dry run is a request like all
 * others, and leaves no trace. */

/* Returns: (owned): a resource without a model, with a document */
static Object *
new_other(const ApiServerWorld *world, const char *group, const char *kind, const char *document)
{
    unsigned resource = objects_resource(world->objects, group, kind, NULL);
    Object *object = object_new(objects_other_key(world->objects, resource, "default", "a"));

    object->manifest = json_loads(document, 0, NULL);
    assert_non_null(object->manifest);
    return object;
}

static Object *
new_config_map(const ApiServerWorld *world)
{
    return new_other(world, "", "ConfigMap",
                     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"data\":{\"k\":\"v\"}}");
}

static gboolean
write_document(Object *object, const void *document)
{
    json_decref(object->manifest);
    object->manifest = json_loads(document, 0, NULL);
    return TRUE;
}

/* Resources of one name and namespace are different objects; a plural is as code generators make
 * it, unless it is told. */
TEST_WITH(world_setup, world_teardown, a_resource_is_part_of_the_key)
{
    ApiServerWorld *world = *state;
    g_autoptr(Object) map = new_config_map(world);
    g_autoptr(Object) toy = new_other(world, "x.io", "Toy", "{}");
    unsigned policy = objects_resource(world->objects, "x.io", "Policy", NULL);
    unsigned box = objects_resource(world->objects, "x.io", "Box", "boxen");

    assert_ptr_not_equal(map->key, toy->key);
    assert_true(map->key->hash != toy->key->hash);
    assert_string_equal(objects_resource_name(world->objects, map->key), "configmaps");
    assert_string_equal(objects_resource_name(world->objects, toy->key), "toys");
    assert_string_equal(objects_resource_at(world->objects, policy)->resource, "policies");
    assert_string_equal(objects_resource_at(world->objects, box)->resource, "boxen");
    assert_int_equal(objects_resource(world->objects, "x.io", "Box", NULL), box);
    assert_ptr_equal(objects_key_like(world->objects, toy->key, "default", "a"), toy->key);
}

/* The same version, finalizers and deletion as for any kind (API-1, API-51, API-53). */
TEST_WITH(world_setup, world_teardown, others_live_and_go_as_all_do)
{
    ApiServerWorld *world = *state;
    Object *made = new_config_map(world);
    ObjectKey *key = (ObjectKey *)made->key;
    const Object *stored = world_create(world, made).object;
    uint64_t version = api_server_resource_version(world->api);

    assert_int_equal(stored->resource_version, version);
    assert_int_equal(stored->generation, 0);
    assert_int_equal(world_create(world, new_config_map(world)).code, API_EXISTS);
    world_patch(world, key, world_finalize, world_intern(world, "x.io/held"));
    world_delete(world, key, -1);
    const Object *going = api_server_get(world->api, key);
    assert_true(object_is_deleted(going));
    version = api_server_resource_version(world->api);
    world_delete(world, key, -1);
    assert_int_equal(api_server_resource_version(world->api), version);
    world_patch(world, key, world_unfinalize, world_intern(world, "x.io/held"));
    assert_null(api_server_get(world->api, key));
    assert_int_equal(world_delete(world, key, -1).code, API_NOT_FOUND);
}

/* API-3: custom resources count changes of what is neither metadata nor status. */
TEST_WITH(world_setup, world_teardown, custom_resources_have_a_generation)
{
    ApiServerWorld *world = *state;
    Object *made = new_other(world, "x.io", "Toy",
                             "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Toy\",\"spec\":{\"size\":1}}");
    ObjectKey *key = (ObjectKey *)made->key;

    assert_int_equal(world_create(world, made).object->generation, 1);
    world_patch(world, key, world_annotate, world_intern(world, "a"));
    assert_int_equal(api_server_get(world->api, key)->generation, 1);
    world_patch(world, key, write_document,
                "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Toy\",\"spec\":{\"size\":2}}");
    assert_int_equal(api_server_get(world->api, key)->generation, 2);
    world_patch(world, key, write_document,
                "{\"apiVersion\":\"x.io/v1\",\"kind\":\"Toy\",\"spec\":{\"size\":2},"
                "\"status\":{\"is\":1}}");
    assert_int_equal(api_server_get(world->api, key)->generation, 2);
}

static unsigned
count_keys(const ApiServerWorld *world)
{
    unsigned n = 0;

    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        n += objects_n_keys(world->objects, kind);
    return n;
}

/* What a dry run tells is what the request then does: the uid, what admission adds. */
TEST_WITH(world_setup, world_teardown, a_dry_run_leaves_no_trace)
{
    ApiServerWorld *world = *state;
    g_autoptr(Objects) aside = objects_new_aside(world->objects);
    g_autoptr(Object) told = object_new(objects_key(aside, KIND_CLAIM, "default", "data"));
    unsigned n_keys = count_keys(world);
    uint64_t version = api_server_resource_version(world->api);
    ApiResponse response;

    CLAIM(told)->access_modes = ACCESS_RWO;
    api_server_try(world->api,
                   &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)told->key, .object = told},
                   &response);
    assert_int_equal(response.code, API_OK);
    assert_true(object_has_finalizer(response.object, FINALIZER_PVC_PROTECTION));
    ObjectUid uid = response.object->uid;
    object_unref(response.object);
    assert_int_equal(count_keys(world), n_keys);
    assert_int_equal(api_server_resource_version(world->api), version);
    assert_true(object_uid_equal(world_create(world, world_new_claim(world)).object->uid, uid));
}

/* A deletion and a change, too: the stored version stays. */
TEST_WITH(world_setup, world_teardown, a_dry_run_changes_nothing)
{
    ApiServerWorld *world = *state;
    const Object *stored = world_create(world, world_new_claim(world)).object;
    ObjectKey *key = world_claim_key(world);
    ApiResponse response;

    api_server_try(world->api, &(ApiRequest){.verb = API_DELETE, .key = key, .grace_s = -1},
                   &response);
    assert_int_equal(response.code, API_OK);
    assert_true(object_is_deleted(response.object));
    object_unref(response.object);
    api_server_try(
        world->api,
        &(ApiRequest){
            .verb = API_PATCH, .key = key, .edit = world_annotate, .arg = world_intern(world, "a")},
        &response);
    assert_ptr_not_equal(response.object, stored);
    object_unref(response.object);
    assert_ptr_equal(api_server_get(world->api, key), stored);
    assert_int_equal(key->incarnation, 1);
}

/* Once the cluster's beginning is complete, an object makes the namespace that it is in, with what
 * each namespace has. */
TEST_WITH(world_setup, world_teardown, objects_imply_their_namespace)
{
    ApiServerWorld *world = *state;
    const ObjectKey *namespace = objects_key(world->objects, KIND_NAMESPACE, NULL, "default");

    world_create(world, world_new_claim(world));
    assert_null(api_server_get(world->api, namespace));
    uint64_t version = api_server_resource_version(world->api);
    api_server_add_namespace(world->api, "default");
    assert_non_null(api_server_get(world->api, namespace));
    assert_int_equal(api_server_resource_version(world->api), version); /* it is older */
    assert_int_equal(api_server_count(world->api, KIND_OTHER), 2);
    Object *pod = object_new(objects_key(world->objects, KIND_LEASE, "shop", "a"));
    world_create(world, pod);
    assert_non_null(
        api_server_get(world->api, objects_key(world->objects, KIND_NAMESPACE, NULL, "shop")));
    assert_int_equal(api_server_count(world->api, KIND_OTHER), 4);
}
