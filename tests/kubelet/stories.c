/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stories.h"
#include "tests/lib/test.h"

#include <string.h>

NodeVolume *
story_volume(World *world)
{
    const Kubelet *kubelet = node_world_kubelet(world);

    assert_true(kubelet->volume_manager == NULL || kubelet->volume_manager->volumes->len <= 1);
    return kubelet->volume_manager == NULL || kubelet->volume_manager->volumes->len == 0
               ? NULL
               : kubelet->volume_manager->volumes->pdata[0];
}

void
story_assert_calls(World *world, const char *what, unsigned n)
{
    assert_int_equal(world_count(world, what, NULL, NULL), n);
}

void
story_assert_event(World *world, const char *pod, const char *text)
{
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, pod));

    if (strstr(events, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, events);
}

void
story_add_volume(World *world, gboolean block)
{
    if (block)
        node_world_add_block_volume(world, "v");
    else
        node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
}

World *
story_world(const char *flag, const char *value)
{
    SidecarWorldOptions options = {.only = &kubelet_class, .seed = 7, .flag = flag, .value = value};

    return world_new(&options);
}

World *
story_world_with_volume(const char *flag, const char *value)
{
    World *world = story_world(flag, value);

    story_add_volume(world, FALSE);
    node_world_start(world);
    return world;
}

World *
story_world_with_pod(const char *flag, const char *value)
{
    World *world = story_world_with_volume(flag, value);

    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    return world;
}

static gboolean
stories_grow(Object *object, const void *bytes)
{
    VOLUME(object)->capacity_bytes = *(const int64_t *)bytes;
    return TRUE;
}

void
story_grow_volume(World *world, const char *name, int64_t bytes)
{
    world_edit(world, KIND_VOLUME, name, stories_grow, &bytes);
}

static gboolean
stories_annotate(Object *object, const void *pair)
{
    const char *const *words = pair;

    return object_set_annotation(object, words[0], words[1]);
}

void
story_annotate_volume(World *world, const char *name, const char *value)
{
    const char *pair[] = {world_intern(world, name), world_intern(world, value)};

    world_edit(world, KIND_VOLUME, "v", stories_annotate, pair);
}

static gboolean
stories_set_label(Object *object, const void *value)
{
    return object_set_label(object, value, value);
}

void
story_change_pod(World *world, const char *label)
{
    world_edit(world, KIND_POD, "p", stories_set_label, world_intern(world, label));
}

void
story_restart_kubelet(World *world)
{
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
}
