/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/workloads/pods-world.h"
#include "models/apiserver/apiserver-test.h"

#include <string.h>

ObjectKey *
world_key(const StorageWorld *world, ObjectKind kind, const char *name)
{
    return objects_key(world->objects, kind, "default", name);
}

const Object *
world_stored(const StorageWorld *world, ObjectKind kind, const char *name)
{
    return api_server_get(world->api, world_key(world, kind, name));
}

const Pod *
world_pod(const StorageWorld *world, const char *name)
{
    return POD_CONST(world_stored(world, KIND_POD, name));
}

unsigned
world_count(const StorageWorld *world, ObjectKind kind)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < objects_n_keys(world->objects, kind); i++) {
        const Object *object = api_server_get(world->api, objects_key_at(world->objects, kind, i));
        n += object != NULL && (kind != KIND_POD || !object_is_deleted(object));
    }
    return n;
}

const Pod *
world_nth_pod(const StorageWorld *world, unsigned n)
{
    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const Object *object =
            api_server_get(world->api, objects_key_at(world->objects, KIND_POD, i));
        if (object != NULL && n-- == 0)
            return POD_CONST(object);
    }
    return NULL;
}

void
world_go_on(StorageWorld *world, SimTime time)
{
    storage_world_run(world, sim_now(world->sim) + time);
}

typedef struct {
    PodPhase phase;
    gboolean ready;
    SimTime now;
} PhaseEdit;

static gboolean
pods_world_edit_phase(Object *object, const void *data)
{
    const PhaseEdit *edit = data;
    Pod *pod = POD(object);

    pod->phase = edit->phase;
    if (edit->ready != pod_is_ready(pod))
        pod->ready.changed_at = edit->now;
    pod->ready.status = edit->ready ? CONDITION_TRUE : CONDITION_FALSE;
    return TRUE;
}

void
world_set_phase(StorageWorld *world, const char *pod, PodPhase phase, gboolean ready)
{
    PhaseEdit edit = {phase, ready, sim_now(world->sim)};

    storage_world_patch_status(world, world_key(world, KIND_POD, pod), pods_world_edit_phase,
                               &edit);
}

static gboolean
edit_node(Object *object, const void *node)
{
    POD(object)->node_name = node;
    return TRUE;
}

void
world_assign(StorageWorld *world, const char *pod, const char *node)
{
    storage_world_patch(world, world_key(world, KIND_POD, pod), edit_node,
                        storage_world_intern(world, node));
}

void
world_start_pod(StorageWorld *world, const char *pod)
{
    world_assign(world, pod, "node-1");
    world_set_phase(world, pod, POD_RUNNING, TRUE);
}

void
world_stop_pod(StorageWorld *world, const char *pod)
{
    ApiRequest request = {.verb = API_DELETE,
                          .key = world_key(world, KIND_POD, pod),
                          .client = "kubelet",
                          .grace_s = 0};
    ApiResponse response;

    api_server_commit(world->api, &request, &response);
}

void
world_play_nodes(StorageWorld *world)
{
    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const ObjectKey *key = objects_key_at(world->objects, KIND_POD, i);
        const Object *pod = api_server_get(world->api, key);
        if (pod == NULL)
            continue;
        if (object_is_deleted(pod))
            world_stop_pod(world, key->name);
        else if (POD_CONST(pod)->phase == POD_PENDING)
            world_start_pod(world, key->name);
    }
}

static ApiCode
pods_world_refuse(void *data, const ApiRequest *request, GString *message)
{
    PodsRefusal *refusal = data;

    if (request->verb != API_CREATE || request->key->kind != refusal->kind)
        return API_OK;
    unsigned number = refusal->n_seen++;
    if (number < refusal->from || number >= refusal->from + refusal->n)
        return API_OK;
    g_string_assign(message, "refused by the test");
    return API_FORBIDDEN;
}

void
world_refuse(StorageWorld *world, PodsRefusal *refusal)
{
    api_server_set_fault(world->api, pods_world_refuse, refusal);
}

PodTemplate *
world_template(const StorageWorld *world, const char *app, const char *image)
{
    PodTemplate *template = pod_template_new();
    StringPair label = {storage_world_intern(world, "app"), storage_world_intern(world, app)};
    StringPair picture = {storage_world_intern(world, "image"), storage_world_intern(world, image)};

    template->labels = string_map_new(&label, 1);
    template->annotations = string_map_new(&picture, 1);
    return template;
}

LabelSelector *
world_selector(const StorageWorld *world, const char *app)
{
    const char *value = storage_world_intern(world, app);
    SelectRequirement requirement = {.key = storage_world_intern(world, "app"),
                                     .operator= SELECT_IN,
                                     .values = string_list_new(&value, 1)};

    return label_selector_new(&requirement, 1);
}

const char *
world_event_message(const StorageWorld *world, const char *reason)
{
    const char *message = NULL;

    for (unsigned i = 0; i < api_server_n_events(world->api); i++)
        if (strcmp(api_server_event(world->api, i)->reason, reason) == 0)
            message = api_server_event(world->api, i)->message;
    return message;
}

gboolean
world_edit_label(Object *object, const void *pair)
{
    const StringPair *label = pair;

    return object_set_label(object, label->key, label->value);
}
