/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/snapshot.h"
#include "models/external-provisioner/provisioner.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world.h"

/* A claim whose data comes from another claim or from a snapshot, with one fault of the source at a
 * time. The driver is never asked, and the provisioner tries again on the grid of the back-off:
 * nothing wakes it when the source is ready. */

const ModelClass *const model_classes[] = {&external_provisioner_class, NULL};

typedef struct {
    const char *title;
    /* The fault; NULL: none. */
    void (*spoil_claim)(World *world, Claim *claim);   /* the new one */
    void (*spoil_source)(World *world, Claim *source); /* the one that is copied */
    void (*spoil_volume)(World *world, Volume *volume);
    void (*spoil_snapshot)(World *world, VolumeSnapshot *snapshot);
    void (*spoil_content)(World *world, SnapshotContent *content);
    const char *error; /* a part of the Event's message; NULL: a volume is made */
} SourceCase;

/* ---- Clones ---- */

static void
be_pending(World *world, Claim *claim)
{
    (void)world;
    claim->phase = CLAIM_PENDING;
}

static void
be_larger(World *world, Claim *claim)
{
    (void)world;
    claim->request_bytes *= 2;
}

static void
have_no_class(World *world, Claim *claim)
{
    (void)world;
    claim->class_name = NULL;
}

/* As claims were written before storageClassName. */
static void
have_annotated_class(World *world, Claim *claim)
{
    object_set_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_CLASS, claim->class_name);
    have_no_class(world, claim);
}

static void
be_block(World *world, Claim *claim)
{
    (void)world;
    claim->volume_mode = VOLUME_BLOCK;
}

static void
name_no_volume(World *world, Claim *claim)
{
    (void)world;
    claim->volume_name = NULL;
}

static void
name_another_volume(World *world, Claim *claim)
{
    claim->volume_name = world_intern(world, "gone");
}

static void
be_released(World *world, Volume *volume)
{
    (void)world;
    volume->phase = VOLUME_RELEASED;
}

static void
serve_another(World *world, Volume *volume)
{
    (void)world;
    volume->claim_ref.uid.high ^= 1;
}

static void
be_of_another_driver(World *world, Volume *volume)
{
    VolumeSource source = {.plugin = world_intern(world, "csi"),
                           .driver = world_intern(world, "other.example"),
                           .handle = world_intern(world, "source")};

    volume_source_unref(volume->source);
    volume->source = volume_source_new(&source);
}

static void
name_no_source(World *world, Claim *claim)
{
    (void)world;
    claim->data_source.name = NULL;
}

#define INVALID "claim in dataSource not bound or invalid"

static const SourceCase clone_cases[] = {
    {.title = "SRC-1: all is well"},
    {                           .title = "SRC-1: a larger claim is fine",                   .spoil_claim = be_larger},
    {                  .title = "SRC-1: the source is larger",
     .spoil_source = be_larger,
     .error = "new PVC request must be greater than or equal in size"},
    {               .title = "SRC-1: the source is not bound",
     .spoil_source = be_pending,
     .error = "must have a status of Bound.  Got {Pending [] map[]"},
    {               .title = "SRC-1: the source has no class",
     .spoil_source = have_no_class,
     .error = "the source PVC (source) storageclass cannot be empty"},
    { .title = "SRC-1: the new claim has only the annotation",
     .spoil_claim = have_annotated_class,
     .error = "the requested PVC (data) storageclass cannot be empty"},
    {                          .title = "SRC-1: another mode",
     .spoil_claim = be_block,
     .error = "Source is Filesystem, but new PVC requested Block"},
    {            .title = "SRC-1: the source names no volume",
     .spoil_source = name_no_volume,
     .error = "volume name is empty in source PVC source"},
    {          .title = "PROV-20.12: a source without a name",
     .spoil_claim = name_no_source,
     .error = "the PVC source not found for PVC data"},
    {             .title = "SRC-1: ... one that is not there",
     .spoil_source = name_another_volume,
     .error = INVALID},
    {                .title = "SRC-1: its volume is released",   .spoil_volume = be_released, .error = INVALID},
    {              .title = "SRC-1: ... serves another claim", .spoil_volume = serve_another, .error = INVALID},
    {              .title = "SRC-1: ... is of another driver",
     .spoil_volume = be_of_another_driver,
     .error = INVALID},
};

static void
clone_and_restore(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->latency[CSI_CREATE_VOLUME] = NULL;
    options->controller_capabilities |=
        CSI_CONTROLLER_CLONE_VOLUME | CSI_CONTROLLER_CREATE_DELETE_SNAPSHOT;
}

static World *
source_world(void)
{
    SidecarWorldOptions options = {.seed = 1, .driver = clone_and_restore};
    World *world = world_new(&options);

    world_create(world, &world_class(world, "class", BINDING_IMMEDIATE, RECLAIM_DELETE)->meta);
    return world;
}

static gboolean
take_status(Object *object, const void *from)
{
    object_take_fields(object, from, TRUE);
    return TRUE;
}

/* As somebody made it, and somebody else told of it. Takes @object. */
static void
create_with_status(World *world, Object *object)
{
    Object *status = object_edit(object);
    const ObjectKey *key = object->key;

    world_create(world, object);
    world_edit_status(world, key->kind, key->name, take_status, status);
    object_unref(status);
}

/* Claim "source" and its volume "source". */
static void
create_source(World *world, const SourceCase *row)
{
    Claim *source = world_claim(world, "source", "class", NULL);
    Volume *volume = world_volume(world, "source");

    source->volume_name = world_intern(world, "source");
    source->phase = CLAIM_BOUND;
    object_set_annotation(&source->meta, ANNOTATION_STORAGE_PROVISIONER, NULL);
    object_set_annotation(&source->meta, ANNOTATION_BETA_STORAGE_PROVISIONER, NULL);
    if (row->spoil_source != NULL)
        row->spoil_source(world, source);
    create_with_status(world, &source->meta);
    const Object *claim = world_get(world, KIND_CLAIM, "source");
    volume->claim_ref = (ClaimReference){claim->key, claim->uid, 1};
    volume->phase = VOLUME_BOUND;
    if (row->spoil_volume != NULL)
        row->spoil_volume(world, volume);
    create_with_status(world, &volume->meta);
}

static Claim *
claim_from(World *world, const char *kind, const char *name)
{
    Claim *claim = world_claim(world, "data", "class", NULL);

    claim->data_source.kind = world_intern(world, kind);
    claim->data_source.name = world_intern(world, name);
    if (strcmp(kind, "VolumeSnapshot") == 0)
        claim->data_source.api_group = world_intern(world, SNAPSHOT_API_GROUP);
    return claim;
}

/* The outcome for the claim "data" after 20 s. */
static void
assert_outcome(World *world, const SourceCase *row)
{
    g_autofree char *events = world_events(world, world_key(world, KIND_CLAIM, "data"));
    g_autofree char *calls =
        world_times(world, "CreateVolume"); /* the driver may know no such snapshot */

    if ((row->error == NULL) != (calls[0] != '\0'))
        fail_msg("%s: calls at %s: %s", row->title, calls, events);
    if (row->error == NULL)
        return;
    /* At 0, 1, 3, 7 and 15 s. */
    if (strstr(events, row->error) == NULL || strstr(events, "ProvisioningFailed x5") == NULL)
        fail_msg("%s: %s", row->title, events);
}

TEST(clones_need_a_sound_source)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(clone_cases); i++) {
        const SourceCase *row = &clone_cases[i];
        g_autoptr(World) world = source_world();
        create_source(world, row);
        Claim *claim = claim_from(world, "PersistentVolumeClaim", "source");
        if (row->spoil_claim != NULL)
            row->spoil_claim(world, claim);
        world_create(world, &claim->meta);
        world_run(world, 20 * SIM_SECOND);
        assert_outcome(world, row);
    }
}

TEST(a_clone_has_no_source)
{
    const SourceCase row = {.title = "SRC-1: there is no source", .error = "not found"};
    g_autoptr(World) world = source_world();

    world_create(world, &claim_from(world, "PersistentVolumeClaim", "source")->meta);
    world_run(world, 20 * SIM_SECOND);
    assert_outcome(world, &row);
}

static gboolean
remove_pvc_protection(Object *object, const void *arg)
{
    (void)arg;
    return object_remove_finalizer(object, FINALIZER_PVC_PROTECTION);
}

static gboolean
hold_as_source(Object *object, const void *arg)
{
    (void)arg;
    return object_add_finalizer(object, FINALIZER_CLONE);
}

static gboolean
sources_bind_claim(Object *object, const void *arg)
{
    (void)arg;
    CLAIM(object)->phase = CLAIM_BOUND;
    return TRUE;
}

/* SRC-2, SRC-3: held before the driver is asked; let go when the source is deleted and no clone of
 * it waits any more. */
TEST(a_source_is_held)
{
    const SourceCase row = {.title = "held"};
    g_autoptr(World) world = source_world();

    create_source(world, &row);
    world_create(world, &claim_from(world, "PersistentVolumeClaim", "source")->meta);
    world_run(world, 10 * SIM_SECOND);
    assert_true(object_has_finalizer(world_get(world, KIND_CLAIM, "source"), FINALIZER_CLONE));
    g_autofree char *log = world_take_log(world);
    assert_string_equal(log, "GET PersistentVolume, UPDATE PersistentVolumeClaim, CreateVolume, "
                             "CREATE PersistentVolume");

    world_edit(world, KIND_CLAIM, "source", remove_pvc_protection, NULL);
    world_delete(world, KIND_CLAIM, "source");
    world_run(world, 40 * SIM_SECOND);
    assert_non_null(world_get(world, KIND_CLAIM, "source")); /* the clone is Pending */
    world_edit_status(world, KIND_CLAIM, "data", sources_bind_claim, NULL);
    world_run(world, 70 * SIM_SECOND); /* looked at 1, 3, 7, 15, 31 s after */
    assert_null(world_get(world, KIND_CLAIM, "source"));
}

typedef struct {
    const char *title;
    const char *namespace; /* of the copy's data source; NULL: it has none */
    gboolean is_held;      /* the source, while the copy is pending */
} HoldCase;

/* SRC-3: syncClaim() of clone_controller.go passes claims without spec.dataSource; the API server
 * fills it from a dataSourceRef only without a namespace (API-182). */
static const HoldCase hold_cases[] = {
    {"SRC-3: a pending copy holds its source",    NULL,      TRUE },
    {"SRC-3: ... not by a source with namespace", "default", FALSE},
};

TEST(a_copy_holds_by_its_data_source)
{
    const SourceCase sound = {.title = "held"};

    for (unsigned i = 0; i < G_N_ELEMENTS(hold_cases); i++) {
        const HoldCase *row = &hold_cases[i];
        SidecarWorldOptions options = {
            .seed = 1, .driver = clone_and_restore, .gate_on = "CrossNamespaceVolumeDataSource"};
        g_autoptr(World) world = world_new(&options);
        create_source(world, &sound);
        Claim *claim = claim_from(world, "PersistentVolumeClaim", "source"); /* of no class yet */
        claim->data_source.namespace =
            row->namespace == NULL ? NULL : world_intern(world, row->namespace);
        world_create(world, &claim->meta);
        world_edit(world, KIND_CLAIM, "source", remove_pvc_protection, NULL);
        world_edit(world, KIND_CLAIM, "source", hold_as_source, NULL);
        world_delete(world, KIND_CLAIM, "source");
        world_run(world, 40 * SIM_SECOND);
        if ((world_get(world, KIND_CLAIM, "source") != NULL) != row->is_held)
            fail_msg("%s", row->title);
    }
}

/* ---- Snapshots ---- */

static void
not_be_bound(World *world, VolumeSnapshot *snapshot)
{
    (void)world;
    snapshot->bound_content = NULL;
}

static void
not_be_ready(World *world, VolumeSnapshot *snapshot)
{
    (void)world;
    snapshot->readiness = SNAPSHOT_NOT_READY;
}

static void
need_more_room(World *world, VolumeSnapshot *snapshot)
{
    (void)world;
    snapshot->restore_bytes = INT64_C(2) << 30;
}

static void
be_of_another_snapshot(World *world, SnapshotContent *content)
{
    (void)world;
    content->snapshot.uid.high ^= 1;
}

static void
be_cut_by_another_driver(World *world, SnapshotContent *content)
{
    content->driver = world_intern(world, "other.example");
}

static void
have_no_handle(World *world, SnapshotContent *content)
{
    (void)world;
    content->handle = NULL;
}

static void
be_of_a_block_volume(World *world, SnapshotContent *content)
{
    content->source_volume_mode = world_intern(world, "Block");
}

static void
allow_another_mode(World *world, SnapshotContent *content)
{
    be_of_a_block_volume(world, content);
    object_set_annotation(&content->meta, world_intern(world, ANNOTATION_ALLOW_MODE_CHANGE),
                          world_intern(world, "true"));
}

static void
be_of_another_group(World *world, Claim *claim)
{
    claim->data_source.api_group = world_intern(world, "example.com");
}

/* clang-format off */
static const SourceCase restore_cases[] = {
    {.title = "SRC-4: all is well"},
    {.title = "PROV-20.12: a source without a name", .spoil_claim = name_no_source,
     .error = "the PVC source not found for PVC data"},
    {.title = "PROV-20.13: another API group", .spoil_claim = be_of_another_group,
     .error = "the PVC source does not belong to the right APIGroup. "
              "Expected snapshot.storage.k8s.io, Got example.com"},
    {.title = "SRC-4: not bound", .spoil_snapshot = not_be_bound, .error = "not bound"},
    {.title = "SRC-4: not ready", .spoil_snapshot = not_be_ready, .error = "is not Ready"},
    {.title = "SRC-4: too large", .spoil_snapshot = need_more_room,
     .error = "is less than the size 2147483648"},
    {.title = "SRC-4: ... not for a larger claim", .spoil_snapshot = need_more_room,
     .spoil_claim = be_larger},
    {.title = "SRC-4: the content of another", .spoil_content = be_of_another_snapshot,
     .error = "not bound"},
    {.title = "SRC-4: another driver", .spoil_content = be_cut_by_another_driver,
     .error = "not bound"},
    {.title = "SRC-4: no handle", .spoil_content = have_no_handle, .error = "is not available"},
    {.title = "SRC-4: another mode", .spoil_content = be_of_a_block_volume,
     .error = "does not have permission"},
    {.title = "SRC-4: ... which is allowed", .spoil_content = allow_another_mode},
};
/* clang-format on */

/* VolumeSnapshot "cut" and its content. */
static void
create_snapshot(World *world, const SourceCase *row)
{
    VolumeSnapshot *snapshot =
        VOLUME_SNAPSHOT(object_new(world_key(world, KIND_VOLUME_SNAPSHOT, "cut")));
    SnapshotContent *content =
        SNAPSHOT_CONTENT(object_new(world_key(world, KIND_SNAPSHOT_CONTENT, "content")));

    snapshot->bound_content = world_intern(world, "content");
    snapshot->readiness = SNAPSHOT_READY;
    snapshot->restore_bytes = INT64_C(1) << 30;
    if (row->spoil_snapshot != NULL)
        row->spoil_snapshot(world, snapshot);
    create_with_status(world, &snapshot->meta);
    const Object *created = world_get(world, KIND_VOLUME_SNAPSHOT, "cut");
    content->driver = world_intern(world, WORLD_DRIVER);
    content->handle = world_intern(world, "cut-1");
    content->source_volume_mode = world_intern(world, "Filesystem");
    content->readiness = SNAPSHOT_READY;
    content->snapshot =
        (SnapshotReference){created->key->namespace, created->key->name, created->uid};
    if (row->spoil_content != NULL)
        row->spoil_content(world, content);
    create_with_status(world, &content->meta);
}

TEST(snapshots_need_to_be_ready)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(restore_cases); i++) {
        const SourceCase *row = &restore_cases[i];
        g_autoptr(World) world = source_world();
        create_snapshot(world, row);
        Claim *claim = claim_from(world, "VolumeSnapshot", "cut");
        if (row->spoil_claim != NULL)
            row->spoil_claim(world, claim);
        world_create(world, &claim->meta);
        world_run(world, 20 * SIM_SECOND);
        assert_outcome(world, row);
    }
}
