/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/kubelet/volume-manager/operation-executor.h"
#include "models/volume/resize-status.h"
#include "tests/kubelet/node-world.h"
#include "tests/lib/test.h"

#define GI(n) ((int64_t)(n) << 30)
#define SECONDS(n) ((n)*SIM_SECOND)
#define STATUS "PATCH_STATUS PersistentVolumeClaim"

/* ---- A volume "one" of 1Gi, which has grown ---- */

static gboolean
grow_volume(Object *object, const void *bytes)
{
    VOLUME(object)->capacity_bytes = *(const int64_t *)bytes;
    return TRUE;
}

typedef struct {
    int64_t bytes;
    const char *status;
} VolumeExpansionTold;

static gboolean
tell_claim(Object *object, const void *data)
{
    const VolumeExpansionTold *told = data;

    CLAIM(object)->allocated_bytes = told->bytes;
    CLAIM(object)->resize_status = told->status;
    return TRUE;
}

static const Claim *
the_claim(World *world)
{
    return CLAIM_CONST(world_get(world, KIND_CLAIM, "one"));
}

/* What the resizer leaves behind. @status NULL: it tells the claim nothing */
static void
volume_expansion_grow(World *world, int64_t bytes, const char *status)
{
    VolumeExpansionTold told = {bytes, world_intern(world, status)};
    const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER};
    const CsiRequest request = {.method = CSI_CONTROLLER_EXPAND_VOLUME,
                                .volume_id = world_intern(world, "one"),
                                .required_bytes = bytes,
                                .capabilities = &capability,
                                .n_capabilities = 1};

    csi_driver_call(csi_modelled_driver_base(world->driver), &request, NULL, NULL);
    Object *claim = object_edit(&the_claim(world)->meta);
    CLAIM(claim)->request_bytes = bytes;
    api_server_import(world->api, claim); /* no class allows it */
    world_edit(world, KIND_VOLUME, "one", grow_volume, &bytes);
    if (status != NULL)
        world_edit_status(world, KIND_CLAIM, "one", tell_claim, &told);
}

static void
say(World *world, const char *status)
{
    VolumeExpansionTold told = {the_claim(world)->allocated_bytes, world_intern(world, status)};

    world_edit_status(world, KIND_CLAIM, "one", tell_claim, &told);
}

static World *
world_with_volume(const SidecarWorldOptions *options)
{
    World *world = world_new(options);

    node_world_add_driver(world, FALSE, FALSE);
    node_world_add_volume(world, "one", "csi");
    node_world_start(world);
    return world;
}

static void
start_pod(World *world, SimTime until)
{
    node_world_add_pod(world, "app", "a", "one");
    node_world_run_until(world, until);
    g_free(node_world_take_writes(world));
}

static void
assert_claim(World *world, const char *status, int64_t capacity, const char *condition)
{
    const Claim *claim = the_claim(world);

    assert_string_equal(claim->resize_status == NULL ? "" : claim->resize_status, status);
    assert_int_equal(claim->capacity_bytes, capacity);
    if (condition == NULL)
        assert_null(claim->conditions);
    else
        assert_true(claim_condition_is_true(claim, condition));
}

static void
assert_event(World *world, ObjectKind kind, const char *name, const char *text)
{
    g_autofree char *events = world_events(world, world_key(world, kind, name));

    if (strstr(events, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, events);
}

static void
unattached(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities &=
        (CsiControllerCapabilities)~CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME;
}

static void
fail_with(World *world, CsiModelledOptions *options, CsiCode code, unsigned count)
{
    unattached(world, options);
    world->errors[0] = (CsiModelledError){
        .method = CSI_NODE_EXPAND_VOLUME, .code = code, .probability = 1, .count = count};
    options->errors = world->errors;
    options->n_errors = 1;
}

static void
internal(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_INTERNAL, 1);
}

static void
out_of_range(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_OUT_OF_RANGE, 1);
}

static void
in_use(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_FAILED_PRECONDITION, 0);
}

/* RSZ-50, RSZ-54, KVM-53: found by the pod's next sync, 60 to 90 s after the last. */
TEST(grows_in_use)
{
    SidecarWorldOptions options = {.seed = 1, .driver = unattached};
    g_autoptr(World) world = world_with_volume(&options);
    SimTime first;

    start_pod(world, SECONDS(200));
    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_run_until(world, SECONDS(400));
    assert_int_equal(world_count(world, "NodeExpandVolume", &first, NULL), 1);
    assert_in_range(first, SECONDS(200), SECONDS(292));
    node_world_assert_writes(world,
                             "ControllerExpandVolume, " STATUS ", NodeExpandVolume, " STATUS);
    assert_claim(world, "", GI(2), NULL);
    assert_event(world, KIND_POD, "app",
                 "FileSystemResizeSuccessful x1: MountVolume.NodeExpandVolume succeeded for volume "
                 "\"one\" a");
    assert_event(world, KIND_CLAIM, "one", "FileSystemResizeSuccessful x1");
    node_world_run_until(world, SIM_HOUR);
    node_world_assert_writes(world, "");
}

/* The syncs that are left out would have come at the same instants. */
TEST(grows_at_any_time)
{
    for (unsigned i = 0; i < 20; i++) {
        SidecarWorldOptions options = {.seed = i, .driver = unattached};
        g_autoptr(World) world = world_with_volume(&options);
        SimTime first = 0, at = SECONDS(1000 + 61 * (SimTime)i);
        start_pod(world, at);
        volume_expansion_grow(world, GI(2), "NodeResizePending");
        node_world_run_until(world, at + SECONDS(100));
        assert_int_equal(world_count(world, "NodeExpandVolume", &first, NULL), 1);
        assert_in_range(first, at, at + SECONDS(92));
    }
}

/* RSZ-52 */
TEST(grows_at_mount)
{
    SidecarWorldOptions options = {.seed = 1, .driver = unattached};
    g_autoptr(World) world = world_with_volume(&options);

    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_add_pod(world, "app", "a", "one");
    node_world_run_until(world, SECONDS(20));
    assert_int_equal(world_count(world, "NodeExpandVolume", NULL, NULL), 1);
    assert_int_equal(node_world_pod(world, "app")->phase, POD_RUNNING);
    assert_claim(world, "", GI(2), NULL);
}

/* RSZ-52: the pod waits for it. */
TEST(mount_is_tried_again)
{
    SidecarWorldOptions options = {.seed = 1, .driver = internal};
    g_autoptr(World) world = world_with_volume(&options);

    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_add_pod(world, "app", "a", "one");
    node_world_run_until(world, SECONDS(30));
    assert_int_equal(world_count(world, "NodePublishVolume", NULL, NULL), 2);
    assert_event(world, KIND_POD, "app",
                 "FailedMount x1: MountVolume.Setup failed while expanding volume for volume "
                 "\"one\" : ");
    assert_int_equal(node_world_pod(world, "app")->phase, POD_RUNNING);
    assert_claim(world, "", GI(2), NULL);
}

/* RSZ-54.5: a condition, and again after 500 ms. */
TEST(fails_in_use)
{
    SidecarWorldOptions options = {.seed = 1, .driver = internal};
    g_autoptr(World) world = world_with_volume(&options);
    SimTime first, again;

    start_pod(world, SECONDS(100));
    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_run_until(world, SECONDS(300));
    world_count(world, "NodeExpandVolume INTERNAL", &first, NULL);
    world_count(world, "NodeExpandVolume", &again, NULL);
    assert_in_range(again - first, 500 * SIM_MS, 700 * SIM_MS);
    assert_event(world, KIND_POD, "app",
                 "VolumeResizeFailed x1: NodeExpandVolume.NodeExpandVolume failed for volume "
                 "\"one\" : ");
    assert_claim(world, "", GI(2), NULL);
}

/* RSZ-54.5, RSZ-55, RSZ-54.1: the resizer has the next word. Until then the claim is read at each
 * pass, and nothing else is done. */
TEST(infeasible_in_use)
{
    SidecarWorldOptions options = {.seed = 1, .driver = out_of_range};
    g_autoptr(World) world = world_with_volume(&options);

    start_pod(world, SECONDS(100));
    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_run_until(world, SECONDS(300));
    assert_claim(world, "NodeResizeInfeasible", GI(1), CONDITION_NODE_RESIZE_ERROR);
    node_world_assert_writes(world, "ControllerExpandVolume, " STATUS
                                    ", NodeExpandVolume OUT_OF_RANGE, " STATUS);
    say(world, "NodeResizePending");
    node_world_run_until(world, SECONDS(301));
    assert_claim(world, "", GI(2), NULL);
}

static void
internal_for_ever(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_INTERNAL, 0);
}

/* RSZ-54.5: a final error that comes again is infeasible only once the claim asks for another size.
 */
TEST(another_size_since)
{
    SidecarWorldOptions options = {.seed = 1, .driver = internal_for_ever};
    g_autoptr(World) world = world_with_volume(&options);

    start_pod(world, SECONDS(100));
    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_run_until(world, SECONDS(300));
    assert_true(world_count(world, "NodeExpandVolume INTERNAL", NULL, NULL) > 2);
    assert_claim(world, "NodeResizeInProgress", GI(1), CONDITION_NODE_RESIZE_ERROR);
    Object *claim = object_edit(&the_claim(world)->meta);
    CLAIM(claim)->request_bytes = GI(3);
    api_server_import(world->api, claim);
    node_world_run_until(world, SECONDS(600));
    assert_claim(world, "NodeResizeInfeasible", GI(1), CONDITION_NODE_RESIZE_ERROR);
}

/* KVM-56 */
TEST(only_offline)
{
    SidecarWorldOptions options = {.seed = 1, .driver = in_use};
    g_autoptr(World) world = world_with_volume(&options);

    start_pod(world, SECONDS(100));
    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_run_until(world, SECONDS(600));
    assert_int_equal(world_count(world, "NodeExpandVolume FAILED_PRECONDITION", NULL, NULL), 1);
    assert_claim(world, "NodeResizeInProgress", GI(1), CONDITION_NODE_RESIZE_ERROR);
}

/* RSZ-56: nobody tells the claim anything. */
TEST(older_path)
{
    SidecarWorldOptions options = {.seed = 1, .driver = unattached};
    g_autoptr(World) world = world_with_volume(&options);

    start_pod(world, SECONDS(100));
    volume_expansion_grow(world, GI(2), NULL);
    node_world_run_until(world, SECONDS(300));
    node_world_assert_writes(world, "ControllerExpandVolume, NodeExpandVolume, " STATUS);
    assert_claim(world, "", GI(2), NULL);
}

static void
cannot_expand(World *world, CsiModelledOptions *options)
{
    unattached(world, options);
    options->node_capabilities &= (CsiNodeCapabilities)~CSI_NODE_EXPAND_VOLUME_CAPABILITY;
}

/* KVM-55 */
TEST(driver_without_node_expansion)
{
    SidecarWorldOptions options = {.seed = 1, .driver = cannot_expand};
    g_autoptr(World) world = world_with_volume(&options);

    start_pod(world, SECONDS(100));
    volume_expansion_grow(world, GI(2), "NodeResizePending");
    node_world_run_until(world, SECONDS(300));
    assert_int_equal(world_count(world, "NodeExpandVolume", NULL, NULL), 0);
    assert_claim(world, "", GI(2), NULL);
}
