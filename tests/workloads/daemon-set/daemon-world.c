/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/workloads/daemon-set/daemon-world.h"

#include "models/workloads/daemon-set/daemon-set.h"
#include "models/workloads/daemon-set/nodes.h"

const ModelClass *const model_classes[] = {&daemon_set_controller_class, NULL};

ObjectKey *
daemon_node_key(const StorageWorld *world, unsigned i)
{
    g_autofree char *name = g_strdup_printf("n-%u", i);

    return objects_key(world->objects, KIND_NODE, NULL, name);
}

gboolean
daemon_edit_taint(Object *object, const void *data)
{
    const Taint *taint = data;

    taints_unref(((Node *)object)->taints);
    ((Node *)object)->taints = taint == NULL ? NULL : taints_new(taint, 1);
    return TRUE;
}

void
daemon_add_node(StorageWorld *world, unsigned i)
{
    storage_world_create(world, object_new(daemon_node_key(world, i)));
    storage_world_patch(world, daemon_node_key(world, i), daemon_edit_taint, NULL);
}

DaemonSet *
daemon_new(const StorageWorld *world)
{
    DaemonSet *set = DAEMON_SET(object_new(world_key(world, KIND_DAEMON_SET, "agent")));

    set->revision_history_limit = 10;
    set->max_unavailable = (IntOrPercent){.value = 1, .is_set = TRUE};
    set->selector = world_selector(world, "agent");
    set->template = world_template(world, "agent", "a");
    return set;
}

const DaemonSet *
daemon_stored(const StorageWorld *world)
{
    return DAEMON_SET_CONST(world_stored(world, KIND_DAEMON_SET, "agent"));
}

void
daemon_begin(StorageWorld *world, unsigned n_nodes)
{
    storage_world_init(world, NULL);
    for (unsigned i = 0; i < n_nodes; i++)
        daemon_add_node(world, i);
    storage_world_start(world);
}

void
daemon_play(StorageWorld *world)
{
    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const char *name = objects_key_at(world->objects, KIND_POD, i)->name;
        const Pod *pod = world_pod(world, name);
        if (pod == NULL)
            continue;
        if (object_is_deleted(&pod->meta)) {
            world_stop_pod(world, name);
        } else if (pod->phase == POD_PENDING) {
            if (pod->node_name == NULL)
                world_assign(world, name, daemon_pod_node(pod));
            world_set_phase(world, name, POD_RUNNING, TRUE);
        }
    }
}

unsigned
daemon_count_image(const StorageWorld *world, const char *image)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const Object *pod = api_server_get(world->api, objects_key_at(world->objects, KIND_POD, i));
        n += pod != NULL && !object_is_deleted(pod) &&
             g_strcmp0(object_annotation(pod, "image"), image) == 0;
    }
    return n;
}

static gboolean
edit_template(Object *object, const void *template)
{
    pod_template_unref(DAEMON_SET(object)->template);
    DAEMON_SET(object)->template = pod_template_ref(template);
    return TRUE;
}

void
daemon_change_template(StorageWorld *world, const char *image)
{
    PodTemplate *template = world_template(world, "agent", image);

    storage_world_patch(world, world_key(world, KIND_DAEMON_SET, "agent"), edit_template, template);
    pod_template_unref(template);
}

void
daemon_change_image(StorageWorld *world, const char *image)
{
    daemon_change_template(world, image);
    for (unsigned i = 0; i < 4; i++) {
        world_go_on(world, SIM_SECOND);
        daemon_play(world);
    }
    world_go_on(world, SIM_SECOND);
}
