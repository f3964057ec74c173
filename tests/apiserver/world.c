/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world.h"
#include "models/timing/timing-test.h"

const char *
world_intern(const ApiServerWorld *world, const char *text)
{
    return strings_intern(objects_strings(world->objects), text);
}

int
world_setup(void **state)
{
    ApiServerWorld *world = g_new0(ApiServerWorld, 1);
    const SimOptions options = {.seed = 1};

    world->sim = sim_new(&options);
    timing_init_instant(&world->timing);
    world_renew(world, (ApiServerOptions){0});
    *state = world;
    return 0;
}

void
world_renew(ApiServerWorld *world, ApiServerOptions options)
{
    g_clear_pointer(&world->api, api_server_free);
    g_clear_pointer(&world->objects, objects_free);
    world->objects = objects_new(1);
    options.sim = world->sim;
    options.objects = world->objects;
    options.timing = &world->timing;
    world->api = api_server_new(&options);
}

int
world_teardown(void **state)
{
    ApiServerWorld *world = *state;

    api_server_free(world->api);
    sim_free(world->sim);
    objects_free(world->objects);
    timing_clear(&world->timing);
    g_free(world);
    return 0;
}

ObjectKey *
world_claim_key(const ApiServerWorld *world)
{
    return objects_key(world->objects, KIND_CLAIM, "default", "data");
}

ObjectKey *
world_pod_key(const ApiServerWorld *world)
{
    return objects_key(world->objects, KIND_POD, "default", "app");
}

ApiResponse
world_commit(ApiServerWorld *world, const ApiRequest *request)
{
    ApiResponse response;

    api_server_commit(world->api, request, &response);
    return response;
}

ApiResponse
world_create(ApiServerWorld *world, Object *object)
{
    g_autoptr(Object) owned G_GNUC_UNUSED = object;

    return world_commit(
        world,
        &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object});
}

ApiResponse
world_delete(ApiServerWorld *world, ObjectKey *key, int32_t grace_s)
{
    return world_commit(world, &(ApiRequest){.verb = API_DELETE, .key = key, .grace_s = grace_s});
}

gboolean
world_annotate(Object *object, const void *value)
{
    return object_set_annotation(object, "kvolsim.io/test", value);
}

gboolean
world_finalize(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

gboolean
world_unfinalize(Object *object, const void *finalizer)
{
    return object_remove_finalizer(object, finalizer);
}

ApiResponse
world_patch(ApiServerWorld *world, ObjectKey *key, ObjectEdit edit, const void *arg)
{
    return world_commit(world,
                        &(ApiRequest){.verb = API_PATCH, .key = key, .edit = edit, .arg = arg});
}

ApiResponse
world_put(ApiServerWorld *world, const Object *base, ObjectEdit edit, const void *arg, ApiVerb verb)
{
    g_autoptr(Object) object = object_edit(base);

    edit(object, arg);
    return world_commit(
        world, &(ApiRequest){.verb = verb, .key = (ObjectKey *)base->key, .object = object});
}

Object *
world_new_claim(const ApiServerWorld *world)
{
    Object *object = object_new(world_claim_key(world));

    CLAIM(object)->access_modes = ACCESS_RWO;
    CLAIM(object)->request_bytes = 1 << 30;
    return object;
}

Object *
world_new_pod(const ApiServerWorld *world, const char *node)
{
    Object *object = object_new(world_pod_key(world));

    POD(object)->node_name = node == NULL ? NULL : world_intern(world, node);
    return object;
}
