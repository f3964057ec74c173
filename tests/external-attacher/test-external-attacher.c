/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/migration/migration.h"
#include "models/external-attacher/attacher.h"
#include "models/volume/access-mode.h"
#include "tests/lib/test.h"

#include "models/external-attacher/attacher-test.h"
#include "tests/sidecar/world-asserts.h"

const ModelClass *const model_classes[] = {&external_attacher_class, NULL};

#define MS(ms) ((ms)*SIM_MS)
#define FINALIZER "external-attacher/csi-test-example"

/* ---- EA-20 ---- */

static const struct {
    uint32_t modes;
    CsiAccessMode plain, multi_writer; /* CSI_MODE_UNKNOWN: an error */
} mode_cases[] = {
    {ACCESS_RWO,               CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_MULTI_WRITER },
    {ACCESS_ROX,               CSI_MULTI_NODE_READER_ONLY,  CSI_MULTI_NODE_READER_ONLY   },
    {ACCESS_RWX,               CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {ACCESS_RWOP,              CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_SINGLE_WRITER},
    {ACCESS_RWO | ACCESS_RWX,  CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {ACCESS_ROX | ACCESS_RWX,  CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
    {ACCESS_RWO | ACCESS_ROX,  CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
    {ACCESS_RWOP | ACCESS_RWX, CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
    {0,                        CSI_MODE_UNKNOWN,            CSI_MODE_UNKNOWN             },
};

TEST(access_modes)
{
    const char *error;

    for (unsigned i = 0; i < G_N_ELEMENTS(mode_cases); i++) {
        assert_int_equal(sidecar_access_mode(mode_cases[i].modes, FALSE, &error),
                         mode_cases[i].plain);
        assert_int_equal(error != NULL, mode_cases[i].plain == CSI_MODE_UNKNOWN);
        assert_int_equal(sidecar_access_mode(mode_cases[i].modes, TRUE, &error),
                         mode_cases[i].multi_writer);
    }
}

/* ---- One attachment ---- */

static gboolean
external_attacher_remove_pv_protection(Object *object, const void *arg)
{
    (void)arg;
    return object_remove_finalizer(object, FINALIZER_PV_PROTECTION);
}

static const Attachment *
attachment(World *world, const char *name)
{
    return (const Attachment *)world_get(world, KIND_ATTACHMENT, name);
}

static void
publish_context(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->latency[CSI_CONTROLLER_UNPUBLISH_VOLUME] = NULL;
}

/* EA-V5, EA-V6, SEQ-6, SEQ-7. Without latency the watch is as fast as the second run, so RACE-2
 * does not occur. */
TEST(up_and_down)
{
    SidecarWorldOptions options = {.seed = 1, .driver = publish_context};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, MS(500));
    assert_log(world, "PATCH PersistentVolume, PATCH VolumeAttachment");
    assert_true(object_has_finalizer(&attachment(world, "va")->meta, FINALIZER));
    assert_string_equal(object_annotation(&attachment(world, "va")->meta, ANNOTATION_NODE_ID), "b");
    assert_false(attachment(world, "va")->attached);
    world_run(world, SIM_MINUTE);
    assert_log(world, "ControllerPublishVolume, PATCH_STATUS VolumeAttachment");
    assert_true(attachment(world, "va")->attached);
    assert_true(object_has_finalizer(world_get(world, KIND_VOLUME, "pv"), FINALIZER));

    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, 2 * SIM_MINUTE);
    assert_log(
        world,
        "ControllerUnpublishVolume, PATCH VolumeAttachment, PATCH_STATUS VolumeAttachment 404");
    assert_null(attachment(world, "va"));

    world_create(
        world,
        &world_attachment(world, "vb", "pv", "c")->meta); /* the volume has its finalizer already */
    world_run(world, 3 * SIM_MINUTE);
    assert_log(world,
               "PATCH VolumeAttachment, ControllerPublishVolume, PATCH_STATUS VolumeAttachment");
}

/* EA-V7 */
TEST(deleted_before_it_began)
{
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, MS(500));
    assert_log(
        world,
        "PATCH_STATUS VolumeAttachment"); /* no such volume: an error, and no finalizer (EA-21) */
    assert_string_equal(attachment(world, "va")->attach_error.message,
                        "persistentvolume \"pv\" not found");
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, SIM_MINUTE);
    assert_log(world, "");
}

/* EA-19.7 */
TEST(node_without_the_driver)
{
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &object_new(world_key(world, KIND_CSI_NODE, "x"))[0]);
    world_create(world, &world_attachment(world, "va", "pv", "x")->meta);
    world_create(world, &world_attachment(world, "vb", "pv", "y")->meta);
    world_run(world, MS(500));
    assert_string_equal(attachment(world, "va")->attach_error.message,
                        "CSINode x does not contain driver " WORLD_DRIVER);
    assert_string_equal(attachment(world, "vb")->attach_error.message,
                        "csinode.storage.k8s.io \"y\" not found");
    assert_null(attachment(world, "va")->meta.finalizers);
}

/* ---- EA-19.9, EA-20: what the driver's capabilities change of a request ---- */

/* clang-format off */
static const struct {
    const char *name;
    CsiControllerCapabilities capabilities;
    gboolean readonly;
    CsiAccessMode mode;
} request_cases[] = {
    {"EA-19.9: neither",   0,                                       FALSE, CSI_SINGLE_NODE_WRITER},
    {"EA-19.9: read-only", CSI_CONTROLLER_PUBLISH_READONLY,         TRUE,  CSI_SINGLE_NODE_WRITER},
    {"EA-19.9: writers",   CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER, FALSE, CSI_SINGLE_NODE_MULTI_WRITER},
};
/* clang-format on */

static void
set_capabilities(World *world, CsiModelledOptions *options)
{
    const CsiControllerCapabilities *more = world->options.driver_arg;

    options->controller_capabilities &=
        ~(CSI_CONTROLLER_PUBLISH_READONLY | CSI_CONTROLLER_SINGLE_NODE_MULTI_WRITER);
    options->controller_capabilities |= *more;
}

typedef struct {
    unsigned n;
    gboolean readonly;
    CsiAccessMode mode;
} Published;

static void
see_publish(void *data, const CsiCallRecord *record)
{
    Published *self = data;

    if (record->request->method != CSI_CONTROLLER_PUBLISH_VOLUME)
        return;
    self->n++;
    self->readonly = record->request->readonly;
    self->mode = record->request->capabilities[0].mode;
}

static void
capabilities_shape_requests(void **state)
{
    const typeof(request_cases[0]) *row = *state;
    SidecarWorldOptions options = {
        .seed = 1, .driver = set_capabilities, .driver_arg = &row->capabilities};
    Published published = {0};
    CsiObserver observer = {.answered = see_publish, .data = &published};
    g_autoptr(World) world = world_new(&options);
    Volume *volume = world_volume(world, "pv");

    csi_driver_add_observer(csi_modelled_driver_base(world->driver), &observer);
    volume->source->read_only = TRUE;
    world_create(world, &volume->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, SIM_MINUTE);
    assert_int_equal(published.n, 1);
    assert_int_equal(published.readonly, row->readonly);
    assert_int_equal(published.mode, row->mode);
}
TEST_ROWS(request_cases, capabilities_shape_requests);

static const CsiModelledError publish_fails = {
    .method = CSI_CONTROLLER_PUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 1};
static const CsiModelledError unpublish_fails = {
    .method = CSI_CONTROLLER_UNPUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 1, .count = 3};

static void
fail_at_once(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->latency[CSI_CONTROLLER_PUBLISH_VOLUME] = NULL;
    options->errors = &publish_fails;
    options->n_errors = 1;
}

static void
fail_to_unpublish(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->latency[CSI_CONTROLLER_UNPUBLISH_VOLUME] = NULL;
    options->errors = &unpublish_fails;
    options->n_errors = 1;
}

/* EA-V3: our own patch queues a fresh attachment again, so the first failure counts twice. */
TEST(publish_keeps_failing)
{
    SidecarWorldOptions options = {.seed = 1, .driver = fail_at_once};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, 1200 * SIM_SECOND);
    assert_times(world, "ControllerPublishVolume",
                 "0 0 1000 5000 13000 29000 61000 125000 253000 509000 809000 1109000");
    assert_string_equal(attachment(world, "va")->attach_error.message,
                        "rpc error: code = Internal desc = injected error");
}

static void
hang(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_CONTROLLER_PUBLISH_VOLUME] = world_constant(world, SIM_HOUR);
    options->lock = CSI_LOCK_NONE;
}

/* EA-V4: a timer that fires during a call makes the key run again at once. */
TEST(publish_hangs)
{
    SidecarWorldOptions options = {.seed = 1, .driver = hang};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, 190 * SIM_SECOND);
    assert_times(world, "ControllerPublishVolume", "0 15000 30000 45000 60000 75000 91000 170000");
}

/* SEQ-8: detach has no second run (EA-36). */
TEST(unpublish_fails_and_backs_off)
{
    SidecarWorldOptions options = {.seed = 1, .driver = fail_to_unpublish};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, 10 * SIM_SECOND);
    world_delete(world, KIND_ATTACHMENT, "va");
    g_free(world_take_log(world));
    world_run(world, SIM_MINUTE);
    assert_times(world, "ControllerUnpublishVolume", "10000 11000 13000 17000");
    assert_log(
        world,
        "ControllerUnpublishVolume INTERNAL, PATCH_STATUS VolumeAttachment, "
        "ControllerUnpublishVolume INTERNAL, PATCH_STATUS VolumeAttachment, "
        "ControllerUnpublishVolume INTERNAL, PATCH_STATUS VolumeAttachment, "
        "ControllerUnpublishVolume, PATCH VolumeAttachment, PATCH_STATUS VolumeAttachment 404");
}

/* EA-34: deleted while the call runs: first attached, then detached. */
TEST(deleted_while_publishing)
{
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, MS(500));
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, SIM_MINUTE);
    assert_log(
        world,
        "PATCH PersistentVolume, PATCH VolumeAttachment, ControllerPublishVolume, PATCH_STATUS "
        "VolumeAttachment, "
        "ControllerUnpublishVolume, PATCH VolumeAttachment, PATCH_STATUS VolumeAttachment 404");
}

/* EA-28: a deleted volume is let go once no attachment names it. */
TEST(volume_is_let_go)
{
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_edit(world, KIND_VOLUME, "pv", external_attacher_remove_pv_protection, NULL);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, 10 * SIM_SECOND);
    world_delete(world, KIND_VOLUME, "pv");
    world_run(world, 20 * SIM_SECOND);
    assert_log(world, "PATCH PersistentVolume, PATCH VolumeAttachment, ControllerPublishVolume, "
                      "PATCH_STATUS VolumeAttachment");
    assert_non_null(world_get(world, KIND_VOLUME, "pv"));
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, SIM_MINUTE);
    assert_null(world_get(world, KIND_VOLUME, "pv"));
}

static void
do_not_attach(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities &=
        (CsiControllerCapabilities)~CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME;
}

/* ---- The node's id for a detach: EA-23.3 ---- */

static gboolean
take_driver_off(Object *object, const void *arg)
{
    (void)arg;
    return csi_node_set_driver((CsiNode *)object, world_intern((World *)arg, WORLD_DRIVER), NULL);
}

static gboolean
note_another_node(Object *object, const void *arg)
{
    (void)arg;
    return object_set_annotation(object, world_intern((World *)arg, ANNOTATION_NODE_ID),
                                 world_intern((World *)arg, "noted"));
}

typedef struct {
    const char *title;
    gboolean has_driver, is_noted; /* the CSINode at the detach; the attachment's annotation */
    const char *node_id, *error;   /* error NULL: it is detached from @node_id */
} NodeIdCase;

#define NO_DRIVER "CSINode b does not contain driver " WORLD_DRIVER

static const NodeIdCase node_id_cases[] = {
    {"the CSINode's id",                 TRUE,  FALSE, "b",     NULL     },
    {"the CSINode's before the noted",   TRUE,  TRUE,  "b",     NULL     },
    {"the noted id without the CSINode", FALSE, TRUE,  "noted", NULL     },
    {"no id at all",                     FALSE, FALSE, NULL,    NO_DRIVER},
};

static gboolean
drop_annotations(Object *object, const void *arg)
{
    (void)arg;
    g_clear_pointer(&object->annotations, string_map_unref);
    return TRUE;
}

static void
unpublish_seen(void *node_id, const CsiCallRecord *record)
{
    if (record->request->method == CSI_CONTROLLER_UNPUBLISH_VOLUME)
        *(const char **)node_id = record->request->node_id;
}

static void
node_id_of_a_detach(void **state)
{
    const NodeIdCase *row = *state;
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_new(&options);
    const char *node_id = NULL;
    const CsiObserver observer = {.answered = unpublish_seen, .data = &node_id};

    csi_driver_add_observer(csi_modelled_driver_base(world->driver), &observer);
    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, 10 * SIM_SECOND);
    assert_true(attachment(world, "va")->attached);
    world_edit(world, KIND_ATTACHMENT, "va", row->is_noted ? note_another_node : drop_annotations,
               world);
    if (!row->has_driver)
        world_edit(world, KIND_CSI_NODE, "b", take_driver_off, world);
    world_run(world, 20 * SIM_SECOND);
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, 22 * SIM_SECOND);
    if (row->error == NULL) {
        assert_null(attachment(world, "va"));
        assert_string_equal(node_id, row->node_id);
    } else {
        assert_null(node_id);
        assert_string_equal(attachment(world, "va")->detach_error.message, row->error);
    }
}
TEST_ROWS(node_id_cases, node_id_of_a_detach);

/* ---- Comparison with the driver: EA-25, EA-23.7 ---- */

static void
lists_publications(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities |=
        CSI_CONTROLLER_LIST_VOLUMES | CSI_CONTROLLER_LIST_VOLUMES_PUBLISHED_NODES;
}

static gboolean
hold(Object *object, const void *finalizer)
{
    return object_add_finalizer(object, finalizer);
}

static gboolean
set_attached(Object *object, const void *arg)
{
    ATTACHMENT(object)->attached = arg != NULL;
    return TRUE;
}

typedef struct {
    const char *title;
    gboolean is_attached; /* as the attachment says; the driver says the opposite */
    const char *log;
} ForcedCase;

/* Somebody else's finalizer holds a deleted attachment, which the driver's list contradicts. */
/* clang-format off */
static const ForcedCase forced_cases[] = {
    {"forced: nothing is left to write",   FALSE, "ListVolumes, ControllerUnpublishVolume"},
    {"forced: it was said to be attached", TRUE,  "ListVolumes, ControllerUnpublishVolume, PATCH VolumeAttachment, PATCH_STATUS VolumeAttachment"},
};
/* clang-format on */

static void
forced_detach(void **state)
{
    const ForcedCase *row = *state;
    SidecarWorldOptions options = {.seed = 1, .driver = lists_publications};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_edit(world, KIND_ATTACHMENT, "va", hold, world_intern(world, "test/other"));
    world_run(world, 30 * SIM_SECOND);
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, 40 * SIM_SECOND);
    assert_false(object_has_finalizer(&attachment(world, "va")->meta, FINALIZER));
    if (row->is_attached)
        world_edit_status(world, KIND_ATTACHMENT, "va", set_attached, world);
    else /* a second one for the same volume and node is attached */
        world_create(world, &world_attachment(world, "vb", "pv", "b")->meta);
    world_run(world, 50 * SIM_SECOND);
    g_free(world_take_log(world));
    world_run(world, 80 * SIM_SECOND);
    assert_log(world, row->log);
    assert_true(object_is_deleted(&attachment(world, "va")->meta));
}
TEST_ROWS(forced_cases, forced_detach);

/* EA-41: the node's id tells nothing of a disk's project, so such an attachment is not compared. */
static void
make_it_a_disk(World *world, const char *handle)
{
    Object *volume = object_edit(world_get(world, KIND_VOLUME, "pv"));
    VolumeSource source = *VOLUME(volume)->source;

    source.in_tree = in_tree_plugin_of_driver("pd.csi.storage.gke.io");
    source.handle = world_intern(world, handle);
    volume_source_unref(VOLUME(volume)->source);
    VOLUME(volume)->source = volume_source_new(&source);
    api_server_import(world->api, volume); /* no client could change the source */
}

TEST(a_disk_of_an_unknown_project_is_not_compared)
{
    static const struct {
        const char *handle, *log;
    } rows[] = {
        {"projects/UNSPECIFIED/zones/z/disks/d", "ListVolumes"                },
        {"projects/p/zones/z/disks/d",
         "ListVolumes, ControllerPublishVolume, PATCH_STATUS VolumeAttachment"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        SidecarWorldOptions options = {.seed = 1, .driver = lists_publications};
        g_autoptr(World) world = world_new(&options);

        world_create(world, &world_volume(world, "pv")->meta);
        world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
        world_run(world, 50 * SIM_SECOND);
        make_it_a_disk(world, rows[i].handle);
        world_run(world, 51 * SIM_SECOND);
        g_free(world_take_log(world));
        world_run(world, 65 * SIM_SECOND);
        assert_log(world, rows[i].log);
    }
}

/* EA-14: what queues a changed attachment whose error stays. */
typedef struct {
    const char *title;
    void (*change)(Attachment *after, World *world);
    gboolean is_queued;
} ChangeCase;

static void
change_error(Attachment *after, World *world)
{
    after->attach_error.message = world_intern(world, "another error");
}

static void
external_attacher_change_node(Attachment *after, World *world)
{
    after->node_name = world_intern(world, "c");
}

static void
change_source(Attachment *after, World *world)
{
    after->volume_name = world_intern(world, "another");
}

static void
change_attached(Attachment *after, World *world)
{
    (void)world;
    after->attached = TRUE;
}

static void
change_finalizers(Attachment *after, World *world)
{
    object_add_finalizer(&after->meta, world_intern(world, "test/other"));
}

static const ChangeCase change_cases[] = {
    {"another error",     change_error,                  FALSE},
    {"another node",      external_attacher_change_node, TRUE },
    {"another volume",    change_source,                 TRUE },
    {"it is attached",    change_attached,               TRUE },
    {"another finalizer", change_finalizers,             TRUE },
};

static void
queued_by_a_change(void **state)
{
    const ChangeCase *row = *state;
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_new(&options);
    Attachment *before = world_attachment(world, "va", "pv", "b");

    before->meta.resource_version = 7;
    before->attach_error.message = world_intern(world, "an error");
    Attachment *after = ATTACHMENT(object_edit(&before->meta));
    after->meta.resource_version = 8;
    row->change(after, world);
    assert_int_equal(attacher_queues_change(before, after), row->is_queued);
    after->meta.resource_version = 7; /* a resync */
    assert_true(attacher_queues_change(before, after));
    object_unref(&after->meta);
    object_unref(&before->meta);
}
TEST_ROWS(change_cases, queued_by_a_change);

/* EA-30 */
TEST(driver_without_attach)
{
    SidecarWorldOptions options = {.seed = 1, .driver = do_not_attach};
    g_autoptr(World) world = world_new(&options);

    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, SIM_SECOND);
    assert_log(world, "PATCH_STATUS VolumeAttachment");
    assert_true(attachment(world, "va")->attached);
    world_delete(world, KIND_ATTACHMENT, "va");
    world_run(world, SIM_MINUTE);
    assert_log(world, "");
}

/* ---- Races and bursts ---- */

/* RACE-2: 38 % of all attaches on an idle machine publish twice. */
TEST(second_publish)
{
    SidecarWorldOptions options = {.seed = 11, .recorded_timing = TRUE};
    g_autoptr(World) world = world_new(&options);

    for (unsigned i = 0; i < 400; i++) {
        g_autofree char *volume = g_strdup_printf("pv-%u", i), *name = g_strdup_printf("va-%u", i);
        world_create(world, &world_volume(world, volume)->meta);
        world_run(world, (10 * (SimTime)i + 1) * SIM_SECOND);
        world_create(world, &world_attachment(world, name, volume, "b")->meta);
        world_run(world, 10 * ((SimTime)i + 1) * SIM_SECOND);
    }
    unsigned again = world_count(world, "ControllerPublishVolume", NULL, NULL) - 400;
    print_message("second publish: %u of 400\n", again);
    assert_in_range(again, 120, 190);
    assert_int_equal(world_count(world, "PATCH_STATUS VolumeAttachment", NULL, NULL), 400 + again);
}

/* EA-37, RACE-4: the patch carries the cache's list; a deleted volume cannot get back a finalizer
 * that others took off meanwhile. */
TEST(stale_list_is_refused)
{
    SidecarWorldOptions options = {.seed = 4, .recorded_timing = TRUE};
    g_autoptr(World) world = world_new(&options);

    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("pv-%u", i);
        Volume *volume = world_volume(world, name);
        object_add_finalizer(&volume->meta, world_intern(world, FINALIZER));
        world_create(world, &volume->meta);
        world_run(world, (i + 1) * SIM_SECOND);
        world_delete(world, KIND_VOLUME, name);
        world_run(world, (i + 1) * SIM_SECOND + MS(4));
        if (world_get(world, KIND_VOLUME, name) != NULL)
            world_edit(world, KIND_VOLUME, name, external_attacher_remove_pv_protection, NULL);
    }
    world_run(world, 2 * SIM_MINUTE);
    unsigned n_refused = world_count(world, "PATCH PersistentVolume 422", NULL, NULL);
    assert_in_range(n_refused, 20, 90);
    assert_in_range(world_count(world, "PATCH PersistentVolume", NULL, NULL), 95, 100 + n_refused);
    assert_int_equal(api_server_count(world->api, KIND_VOLUME), 0);
}

static void
make_attachments(World *world)
{
    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *volume = g_strdup_printf("pv-%u", i), *name = g_strdup_printf("va-%u", i);
        world_create(world, &world_volume(world, volume)->meta);
        world_create(world, &world_attachment(world, name, volume, i % 2 == 0 ? "b" : "c")->meta);
    }
}

static void
publish_instantly(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->latency[CSI_CONTROLLER_PUBLISH_VOLUME] = NULL;
    options->latency[CSI_CONTROLLER_UNPUBLISH_VOLUME] = NULL;
}

#define ASSERT_ABOUT(value, expected, tolerance)                                                   \
    assert_in_range((uint64_t)(value), (uint64_t)((expected) - (tolerance)),                       \
                    (uint64_t)((expected) + (tolerance)))

/* EA-V9, TIM-72, TIM-73 */
TEST(burst_up_and_down)
{
    SidecarWorldOptions options = {.seed = 2, .recorded_timing = TRUE, .driver = publish_instantly};
    g_autoptr(World) world = world_new(&options);
    SimTime first, last;

    world_run(world, SIM_SECOND);
    make_attachments(world);
    world_run(world, 2 * SIM_MINUTE);
    assert_int_equal(world_count(world, "PATCH PersistentVolume", &first, NULL), 100);
    assert_int_equal(world_count(world, "PATCH VolumeAttachment", NULL, NULL), 100);
    unsigned n_status = world_count(world, "PATCH_STATUS VolumeAttachment", NULL, &last);
    print_message("status patches: %u\n", n_status);
    assert_in_range(n_status, 100, 112);
    ASSERT_ABOUT(last - first, (200 + n_status - 10) * MS(200), MS(450));

    g_free(world_take_log(world));
    for (unsigned i = 0; i < 100; i++) {
        g_autofree char *name = g_strdup_printf("va-%u", i);
        world_delete(world, KIND_ATTACHMENT, name);
    }
    world_run(world, 4 * SIM_MINUTE);
    assert_int_equal(world_count(world, "PATCH VolumeAttachment", &first, NULL), 100);
    assert_int_equal(world_count(world, "PATCH_STATUS VolumeAttachment 404", NULL, &last), 100);
    ASSERT_ABOUT(last - first, MS(38000), MS(450));
}

static void
take_800_ms(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_CONTROLLER_PUBLISH_VOLUME] = world_constant(world, MS(800));
}

/* TIM-79a: with an unlimited client ten workers are the limit. */
TEST(ten_workers)
{
    SidecarWorldOptions options = {.seed = 2,
                                   .recorded_timing = TRUE,
                                   .driver = take_800_ms,
                                   .flag = "kube-api-qps",
                                   .value = "200",
                                   .flag2 = "kube-api-burst",
                                   .value2 = "400"};
    g_autoptr(World) world = world_new(&options);
    SimTime first, last;

    make_attachments(world);
    world_run(world, SIM_MINUTE);
    unsigned n_calls = world_count(world, "ControllerPublishVolume", &first, &last);
    print_message("calls: %u\n", n_calls);
    assert_in_range(n_calls, 100, 125);
    ASSERT_ABOUT(last - first + MS(800), n_calls * MS(80), MS(900));
}

/* TIM-91, and the key's memory is gone: the volume is published again. */
TEST(crash_and_restart)
{
    SidecarWorldOptions options = {.seed = 1, .recorded_timing = TRUE};
    g_autoptr(World) world = world_new(&options);
    SimTime first = 0, last = 0;

    world_create(world, &world_volume(world, "pv")->meta);
    world_create(world, &world_attachment(world, "va", "pv", "b")->meta);
    world_run(world, MS(500));
    assert_true(cluster_crash(world->cluster, "external-attacher", WORLD_DRIVER));
    world_run(world, MS(8000));
    assert_true(cluster_restart(world->cluster, "external-attacher", WORLD_DRIVER));
    world_run(world, SIM_MINUTE);
    assert_in_range(world_count(world, "ControllerPublishVolume", &first, &last), 1,
                    2); /* the first one's answer was for nobody */
    ASSERT_ABOUT(first, MS(8130), MS(15));
    assert_true(attachment(world, "va")->attached);
}
