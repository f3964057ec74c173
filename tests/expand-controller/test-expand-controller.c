/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/apiserver/apiserver-test.h"
#include "models/csi/modelled/modelled-driver.h"
#include "models/expand-controller/expand-controller.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

const ModelClass *const model_classes[] = {&expand_controller_class, NULL};

#define GI(n) ((int64_t)(n) << 30)

static gboolean
expand_controller_bind_claim(Object *object, const void *data)
{
    (void)data;
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->capacity_bytes = CLAIM(object)->request_bytes;
    return TRUE;
}

static gboolean
expand_controller_set_request(Object *object, const void *bytes)
{
    CLAIM(object)->request_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static gboolean
set_claim_uid(Object *object, const void *uid)
{
    VOLUME(object)->claim_ref.uid = *(const ObjectUid *)uid;
    return TRUE;
}

static gboolean
allow_expansion(Object *object, const void *data)
{
    (void)data;
    STORAGE_CLASS(object)->allow_expansion = TRUE;
    return TRUE;
}

/* The claim c of 1Gi, bound to the volume v. @volume_name: in the claim; NULL: none */
static void
bound_pair(StorageWorld *world, const char *volume_name)
{
    Claim *claim = storage_world_claim(world, "c", 1, "fast");

    storage_world_class(world, "fast", "csi.test", BINDING_IMMEDIATE);
    storage_world_patch(world, objects_key(world->objects, KIND_STORAGE_CLASS, NULL, "fast"),
                        allow_expansion, NULL);
    claim->volume_name = storage_world_intern(world, volume_name);
    const Object *stored = storage_world_create(world, claim);
    Volume *volume = storage_world_volume(world, "v", 1, "fast");
    volume->claim_ref = (ClaimReference){stored->key, stored->uid, 0};
    storage_world_create(world, volume);
}

static void
ask_for(StorageWorld *world, int64_t bytes)
{
    storage_world_patch(world, storage_world_claim_key(world, "c"), expand_controller_set_request,
                        &bytes);
}

static void
expand_controller_settle(StorageWorld *world)
{
    storage_world_run(world, sim_now(world->sim) + SIM_SECOND);
}

static void
world_start_with(StorageWorld *world, const char *volume_name)
{
    storage_world_init(world, NULL);
    bound_pair(world, volume_name);
    storage_world_start(world);
    storage_world_patch_status(world, storage_world_claim_key(world, "c"),
                               expand_controller_bind_claim, NULL);
    expand_controller_settle(world);
    storage_world_log(world);
}

static void
expand_controller_world_start(StorageWorld *world)
{
    world_start_with(world, "v");
}

/* RSZ-13, once for each growth (RSZ-10). */
TEST(tells_that_another_expands)
{
    StorageWorld world;

    expand_controller_world_start(&world);
    g_autofree char *before = storage_world_events(&world);
    assert_string_equal(before, "");
    ask_for(&world, GI(2));
    expand_controller_settle(&world);
    g_autofree char *once = storage_world_events(&world);
    assert_string_equal(once, "Normal ExternalExpanding pvc/c");
    assert_string_equal(api_server_event(world.api, 0)->source, "volume_expand");
    assert_string_equal(api_server_event(world.api, 0)->message,
                        "waiting for an external controller to expand this PVC");
    ask_for(&world, GI(3));
    expand_controller_settle(&world);
    g_autofree char *twice = storage_world_events(&world);
    assert_string_equal(twice, "Normal ExternalExpanding pvc/c x2");
    storage_world_clear(&world);
}

/* RSZ-11 */
TEST(volume_of_another_claim)
{
    StorageWorld world;
    const ObjectUid other = {1, 2};

    expand_controller_world_start(&world);
    storage_world_patch(&world, storage_world_volume_key(&world, "v"), set_claim_uid, &other);
    expand_controller_settle(&world);
    ask_for(&world, GI(2));
    expand_controller_settle(&world);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "");
    assert_true(api_server_n_requests(world.api, API_GET) > 3); /* retried from 5 ms on */
    storage_world_clear(&world);
}

static ApiCode
refuse_reads(void *data, const ApiRequest *request, GString *message)
{
    unsigned *n_left = data;

    if (request->key->kind != KIND_VOLUME || request->verb != API_GET || *n_left == 0)
        return API_OK;
    (*n_left)--;
    g_string_assign(message, "refused by the test");
    return API_ERROR;
}

/* RSZ-11: the volume is read again after a while. */
TEST(a_volume_that_cannot_be_read)
{
    StorageWorld world;
    unsigned n_refusals = 3;

    expand_controller_world_start(&world);
    api_server_set_fault(world.api, refuse_reads, &n_refusals);
    ask_for(&world, GI(2));
    expand_controller_settle(&world);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "Normal ExternalExpanding pvc/c");
    assert_int_equal(n_refusals, 0);
    storage_world_clear(&world);
}

/* RSZ-10: a claim that shrinks is ignored. */
TEST(a_smaller_request)
{
    StorageWorld world;

    expand_controller_world_start(&world);
    ask_for(&world, GI(4));
    expand_controller_settle(&world);
    ask_for(&world, GI(3));
    expand_controller_settle(&world);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "Normal ExternalExpanding pvc/c");
    storage_world_clear(&world);
}

static gboolean
set_volume_name(Object *object, const void *name)
{
    CLAIM(object)->volume_name = name;
    return TRUE;
}

/* RSZ-11: client-go refuses to read a volume without a name, and the key comes again: Name()
 * of rest/request.go, getPersistentVolume() of expand_controller.go. A volume name alone queues
 * nothing (RSZ-10), so a retry finds it. */
TEST(a_claim_without_a_volume)
{
    StorageWorld world;

    world_start_with(&world, NULL);
    ask_for(&world, GI(2));
    expand_controller_settle(&world);
    g_autofree char *before = storage_world_events(&world);
    assert_string_equal(before, "");
    storage_world_patch(&world, storage_world_claim_key(&world, "c"), set_volume_name,
                        storage_world_intern(&world, "v"));
    expand_controller_settle(&world);
    expand_controller_settle(&world);
    g_autofree char *events = storage_world_events(&world);
    assert_string_equal(events, "Normal ExternalExpanding pvc/c");
    storage_world_clear(&world);
}

/* ---- RSZ-16: a claim whose volume this controller expands, found at its start ---- */

typedef struct {
    const char *title;
    const char *resize_status; /* of the claim; NULL: none */
    int target_gib;            /* status.allocatedResources; 0: none */
    int volume_gib;            /* the claim asks for 2 GiB */
    const char *log;
    int grown_gib; /* the volume, at last */
} RecoveryCase;

/* Requests. */
#define LEFT "GET pv/v"
#define EXPANDED "GET pv/v, PATCH/st pvc/c, PATCH pv/v, PATCH/st pvc/c"

/* expandAndRecoverFunction() of operation_generator.go. */
static const RecoveryCase recoveries[] = {
    {"RSZ-16.1 the kubelet is to act",          "NodeResizePending",          0, 2, LEFT,                       2},
    {"RSZ-16.1 the kubelet is at it",           "NodeResizeInProgress",       0, 2, LEFT,                       2},
    {"RSZ-16.2 the kubelet gave up",            "NodeResizeInfeasible",       0, 2, "GET pv/v, PATCH/st pvc/c", 2},
    {"RSZ-16.3 this controller was at it",      "ControllerResizeInProgress", 3, 2, EXPANDED,                   3},
    {"RSZ-16.4 ... without a target",           "ControllerResizeInProgress", 0, 2, EXPANDED,                   2},
    {"RSZ-16.4 nobody is at it",                NULL,                         0, 2, EXPANDED,                   2},
    {"RSZ-16.4 ... with a target",              NULL,                         3, 2, EXPANDED,                   2},
    {"RSZ-16.5 too small, this controller was", "ControllerResizeInProgress", 3, 1, EXPANDED,                   3},
    {"RSZ-16.5 ... the kubelet was",            "NodeResizePending",          3, 1, EXPANDED,                   3},
    {"RSZ-16.6 ... nobody was",                 NULL,                         3, 1, EXPANDED,                   2},
    {"RSZ-16.6 ... without a target",           NULL,                         0, 1, EXPANDED,                   2},
};

static void *
no_flags(void *data, const ProcessClass *class)
{
    (void)data, (void)class;
    return NULL;
}

/* A FlexVolume of 1 GiB in the back-end. */
static void
add_flex_driver(StorageWorld *world, const char *name)
{
    CsiModelledOptions options;

    csi_modelled_options_init(&options);
    options.name = name;
    options.adopts_unknown_volumes = TRUE;
    world->driver = csi_modelled_driver_base(
        csi_modelled_driver_new(world->sim, objects_strings(world->objects), &options, NULL));
    cluster_add_driver(world->cluster, world->driver, name, &(NodePluginOptions){.attaches = TRUE},
                       no_flags, NULL);
}

static gboolean
set_resize_status(Object *object, const void *data)
{
    const RecoveryCase *row = data;

    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->capacity_bytes = GI(1);
    CLAIM(object)->allocated_bytes = GI(row->target_gib);
    CLAIM(object)->resize_status = row->resize_status;
    return TRUE;
}

TEST(a_volume_of_its_own)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(recoveries); i++) {
        const RecoveryCase *row = &recoveries[i];
        StorageWorld world;
        storage_world_init(&world, NULL);
        const char *name = storage_world_intern(&world, "example.com/lvm");
        const VolumeSource source = {.refs = REF_COUNT_ONE,
                                     .plugin = storage_world_intern(&world, "flexVolume"),
                                     .flex_driver = name};
        add_flex_driver(&world, name);
        Claim *claim = storage_world_claim(&world, "c", 2, "fast");
        claim->volume_name = storage_world_intern(&world, "v");
        const Object *stored = storage_world_create(&world, claim);
        Volume *volume = storage_world_volume(&world, "v", row->volume_gib, "fast");
        volume_source_unref(volume->source);
        volume->source = volume_source_new(&source);
        volume->claim_ref = (ClaimReference){stored->key, stored->uid, 0};
        storage_world_create(&world, volume);
        RecoveryCase status = *row;
        status.resize_status = storage_world_intern(&world, row->resize_status);
        storage_world_patch_status(&world, storage_world_claim_key(&world, "c"), set_resize_status,
                                   &status);
        storage_world_start(&world);
        expand_controller_settle(&world);
        const char *log = storage_world_log(&world);
        int64_t bytes = storage_world_stored_volume(&world, "v")->capacity_bytes;
        if (strcmp(log, row->log) != 0 || bytes != GI(row->grown_gib))
            fail_msg("%s: %s, %" G_GINT64_FORMAT " bytes", row->title, log, bytes);
        storage_world_clear(&world);
    }
}
