/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* The world of test-snapshots.c: a driver, a bound claim and a class of snapshots. */

/* ---- The driver ---- */

typedef struct {
    SimTime takes, ready_after;
    CsiCode code; /* CSI_OK: no error */
    unsigned n_errors;
    gboolean cannot_list;
} DriverCase;

static void
set_driver(World *world, CsiModelledOptions *options)
{
    const DriverCase *driver = world->options.driver_arg;
    static const DriverCase none = {0};

    if (driver == NULL)
        driver = &none;
    options->controller_capabilities |= CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT;
    if (!driver->cannot_list)
        options->controller_capabilities |= CSI_CONTROLLER_LIST_SNAPSHOTS;
    options->latency[CSI_CREATE_SNAPSHOT] = world_constant(world, driver->takes);
    options->latency[CSI_LATENCY_SNAPSHOT_READY] = world_constant(world, driver->ready_after);
    if (driver->code == CSI_OK)
        return;
    world->errors[0] = (CsiModelledError){.method = CSI_CREATE_SNAPSHOT,
                                          .code = driver->code,
                                          .probability = 1,
                                          .count = driver->n_errors};
    options->errors = world->errors;
    options->n_errors = 1;
}

/* ---- A claim, its volume, a class; and what is made of them ---- */

static gboolean
bind_claim(Object *object, const void *volume)
{
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->volume_name = volume;
    return TRUE;
}

static gboolean
bind_volume(Object *object, const void *data)
{
    const Object *claim = data;

    VOLUME(object)->claim_ref = (ClaimReference){claim->key, claim->uid, 0};
    return TRUE;
}

static gboolean
set_phase(Object *object, const void *phase)
{
    CLAIM(object)->phase = *(const uint32_t *)phase;
    return TRUE;
}

static void
add_class(World *world, const char *name, const char *policy, const char *is_default)
{
    Object *object = object_new(world_key(world, KIND_SNAPSHOT_CLASS, name));
    SnapshotClass *class = (SnapshotClass *)object;

    class->driver = world_intern(world, WORLD_DRIVER);
    class->deletion_policy = world_intern(world, policy);
    if (is_default != NULL)
        object_set_annotation(object, world_intern(world, ANNOTATION_DEFAULT_SNAPSHOT_CLASS),
                              world_intern(world, is_default));
    world_create(world, object);
}

static gboolean
set_parameter(Object *object, const void *pair)
{
    SnapshotClass *class = (SnapshotClass *)object;

    class->parameters = string_map_new(pair, 1);
    return TRUE;
}

static gboolean
set_group(Object *object, const void *handle)
{
    SNAPSHOT_CONTENT(object)->handle = handle;
    SNAPSHOT_CONTENT(object)->group_handle = handle;
    SNAPSHOT_CONTENT(object)->readiness = SNAPSHOT_READY;
    return TRUE;
}

static gboolean
mark_being_deleted(Object *object, const void *annotation)
{
    return object_set_annotation(object, annotation, annotation);
}

static World *
world_with_claim(const DriverCase *driver, const char *policy)
{
    World *world = world_new(&(SidecarWorldOptions){.driver = set_driver, .driver_arg = driver});

    world_create(world, &world_claim(world, "data", "lab", NULL)->meta);
    world_create(world, &world_volume(world, "pv")->meta);
    world_edit(world, KIND_CLAIM, "data", bind_claim, world_intern(world, "pv"));
    world_edit(world, KIND_VOLUME, "pv", bind_volume, world_get(world, KIND_CLAIM, "data"));
    add_class(world, "cuts", policy, "true");
    world_run(world, SIM_SECOND);
    g_free(world_take_log(world));
    return world;
}

static void
ask(World *world, const char *name, const char *class)
{
    Object *object = object_new(world_key(world, KIND_VOLUME_SNAPSHOT, name));

    VOLUME_SNAPSHOT(object)->claim_name = world_intern(world, "data");
    VOLUME_SNAPSHOT(object)->class_name = world_intern(world, class);
    world_create(world, object);
}

static const VolumeSnapshot *
snapshot(World *world, const char *name)
{
    return VOLUME_SNAPSHOT_CONST(world_get(world, KIND_VOLUME_SNAPSHOT, name));
}

static const SnapshotContent *
content_of(World *world, const char *name)
{
    const char *content = snapshot(world, name)->bound_content;

    return content == NULL
               ? NULL
               : SNAPSHOT_CONTENT_CONST(world_get(world, KIND_SNAPSHOT_CONTENT, content));
}

static void
assert_told(World *world, const char *name, const char *expected)
{
    assert_events_of(world, world_key(world, KIND_VOLUME_SNAPSHOT, name), expected);
}

static gboolean
claim_is_held(World *world)
{
    return object_has_finalizer(world_get(world, KIND_CLAIM, "data"), FINALIZER_SNAPSHOT_CLAIM);
}
