/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/api/api-test.h"
#include "models/external-resizer/resizer.h"
#include "tests/lib/test.h"
#include "tests/sidecar/world-asserts.h"

const ModelClass *const model_classes[] = {&external_resizer_class, NULL};

#define MS(ms) ((ms)*SIM_MS)
#define GI(n) ((int64_t)(n) << 30)
#define MARK "PATCH_STATUS PersistentVolumeClaim"
#define CALL "ControllerExpandVolume"
#define GROW "PATCH PersistentVolume"

/* ---- A claim of 1Gi and its volume ---- */

typedef struct {
    const char *volume;
    ObjectUid uid;
    const ObjectKey *claim;
} Bond;

static gboolean
external_resizer_bind_claim(Object *object, const void *data)
{
    (void)data;
    CLAIM(object)->phase = CLAIM_BOUND;
    CLAIM(object)->capacity_bytes = CLAIM(object)->request_bytes;
    return TRUE;
}

static const Claim *
the_claim(World *world)
{
    return CLAIM_CONST(world_get(world, KIND_CLAIM, "data"));
}

static const Volume *
the_volume(World *world)
{
    return VOLUME_CONST(world_get(world, KIND_VOLUME, "pv"));
}

static gboolean
bind_volume(Object *object, const void *data)
{
    const Bond *bond = data;

    VOLUME(object)->claim_ref = (ClaimReference){bond->claim, bond->uid, 0};
    return TRUE;
}

static World *
world_with_claim(const SidecarWorldOptions *options)
{
    World *world = world_new(options);
    StorageClass *class = world_class(world, "fast", BINDING_IMMEDIATE, RECLAIM_DELETE);
    Claim *claim = world_claim(world, "data", "fast", NULL);

    class->allow_expansion = TRUE;
    world_create(world, &class->meta);
    claim->volume_name = world_intern(world, "pv");
    world_create(world, &claim->meta);
    world_edit_status(world, KIND_CLAIM, "data", external_resizer_bind_claim, NULL);
    world_create(world, &world_volume(world, "pv")->meta);
    Bond bond = {.claim = the_claim(world)->meta.key, .uid = the_claim(world)->meta.uid};
    world_edit(world, KIND_VOLUME, "pv", bind_volume, &bond);
    world_run(world, MS(200));
    g_free(world_take_log(world));
    return world;
}

static gboolean
external_resizer_set_request(Object *object, const void *bytes)
{
    CLAIM(object)->request_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static void
ask_for(World *world, int64_t bytes)
{
    world_edit(world, KIND_CLAIM, "data", external_resizer_set_request, &bytes);
}

static void
assert_events(World *world, const char *expected)
{
    assert_events_of(world, the_claim(world)->meta.key, expected);
}

/* "Resizing FileSystemResizePending" */
static void
assert_status(World *world, const char *status, const char *conditions)
{
    const Claim *claim = the_claim(world);
    g_autoptr(GString) found = g_string_new(NULL);

    for (unsigned i = 0; claim->conditions != NULL && i < claim->conditions->n_items; i++)
        g_string_append_printf(found, "%s%s", i == 0 ? "" : " ", claim->conditions->items[i].type);
    assert_string_equal(found->str, conditions);
    assert_string_equal(claim->resize_status == NULL ? "" : claim->resize_status, status);
}

/* ---- Drivers ---- */

static void
no_node_expansion(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->node_capabilities &= (CsiNodeCapabilities)~CSI_NODE_EXPAND_VOLUME_CAPABILITY;
}

static void
nodes_only(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities &=
        (CsiControllerCapabilities)~CSI_CONTROLLER_EXPAND_VOLUME_CAPABILITY;
}

static void
neither(World *world, CsiModelledOptions *options)
{
    no_node_expansion(world, options);
    nodes_only(world, options);
    options->plugin_capabilities &=
        ~(unsigned)(CSI_PLUGIN_EXPANSION_ONLINE | CSI_PLUGIN_EXPANSION_OFFLINE);
}

static void
fail_with(World *world, CsiModelledOptions *options, CsiCode code, unsigned count)
{
    world->errors[0] = (CsiModelledError){
        .method = CSI_CONTROLLER_EXPAND_VOLUME, .code = code, .probability = 1, .count = count};
    options->latency[CSI_CONTROLLER_EXPAND_VOLUME] = world_constant(world, MS(700));
    options->errors = world->errors;
    options->n_errors = 1;
}

static void
internal(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_INTERNAL, 4);
}

static void
out_of_range(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_OUT_OF_RANGE, 0);
}

static void
out_of_range_at_first(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_OUT_OF_RANGE, 2);
}

static void
aborted(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_ABORTED, 1);
}

static void
in_use(World *world, CsiModelledOptions *options)
{
    fail_with(world, options, CSI_FAILED_PRECONDITION, 1);
}

static void
hang(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_CONTROLLER_EXPAND_VOLUME] = world_constant(world, SIM_HOUR);
    options->lock = CSI_LOCK_NONE;
}

/* ---- It works ---- */

/* RSZ-33, RSZ-35, first branch. */
TEST(grows_up_to_the_node)
{
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_with_claim(&options);

    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_log(world, MARK ", " CALL ", " GROW ", " MARK);
    assert_status(world, "NodeResizePending", "Resizing FileSystemResizePending");
    assert_int_equal(the_volume(world)->capacity_bytes, GI(2));
    assert_int_equal(the_claim(world)->allocated_bytes, GI(2));
    assert_int_equal(the_claim(world)->capacity_bytes, GI(1));
    assert_events(world, "Resizing x1: External resizer is resizing volume pv; "
                         "FileSystemResizeRequired x1: Require file system resize of volume on "
                         "node");
    assert_string_equal(api_server_event(world->api, 0)->source, "external-resizer " WORLD_DRIVER);
    assert_string_equal(
        claim_conditions_find(the_claim(world)->conditions, CONDITION_FS_RESIZE_PENDING)->message,
        "Waiting for user to (re-)start a pod to finish file system resize of volume on node.");

    /* More is wanted before the node has begun: that waits, and the size under way is not changed.
     */
    ask_for(world, GI(3));
    world_run(world, 2 * SIM_MINUTE);
    assert_log(world, "");
}

/* RSZ-35, second branch: the allocation stays for good. */
TEST(grows_without_the_node)
{
    SidecarWorldOptions options = {.seed = 1, .driver = no_node_expansion};
    g_autoptr(World) world = world_with_claim(&options);

    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_log(world, MARK ", " CALL ", " GROW ", " MARK);
    assert_status(world, "", "");
    assert_int_equal(the_claim(world)->capacity_bytes, GI(2));
    assert_int_equal(the_claim(world)->allocated_bytes, GI(2));
    assert_events(world, "Resizing x1: External resizer is resizing volume pv; "
                         "VolumeResizeSuccessful x1: Resize volume succeeded");
    ask_for(world, GI(3));
    world_run(world, 2 * SIM_MINUTE);
    assert_int_equal(the_claim(world)->capacity_bytes, GI(3));
}

/* RSZ-20 */
TEST(node_alone)
{
    SidecarWorldOptions options = {.seed = 1, .driver = nodes_only};
    g_autoptr(World) world = world_with_claim(&options);

    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_log(world, MARK ", " GROW ", " MARK);
    assert_status(world, "NodeResizePending", "Resizing FileSystemResizePending");
}

TEST(nobody_expands)
{
    SidecarWorldOptions options = {.seed = 1, .driver = neither};
    g_autoptr(World) world = world_with_claim(&options);

    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_log(world, "");
}

static gboolean
unbind(Object *object, const void *uid)
{
    VOLUME(object)->claim_ref.uid = *(const ObjectUid *)uid;
    return TRUE;
}

/* RSZ-23 */
TEST(volume_of_another_claim)
{
    SidecarWorldOptions options = {.seed = 1};
    g_autoptr(World) world = world_with_claim(&options);
    const ObjectUid other = {1, 2};

    world_edit(world, KIND_VOLUME, "pv", unbind, &other);
    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_log(world, "");
}

static gboolean
node_is_done(Object *object, const void *data)
{
    (void)data;
    CLAIM(object)->capacity_bytes = GI(2);
    CLAIM(object)->resize_status = NULL;
    return TRUE;
}

/* RSZ-22, with AnnotateFsResize. */
TEST(annotation_comes_and_goes)
{
    SidecarWorldOptions options = {
        .seed = 1, .flag = "feature-gates", .value = "AnnotateFsResize=true"};
    g_autoptr(World) world = world_with_claim(&options);

    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_string_equal(object_annotation(&the_volume(world)->meta, ANNOTATION_PRE_RESIZE_CAPACITY),
                        "1Gi");
    g_free(world_take_log(world));
    world_edit_status(world, KIND_CLAIM, "data", node_is_done, NULL);
    world_run(world, 2 * SIM_MINUTE);
    assert_log(world, GROW);
    assert_null(object_annotation(&the_volume(world)->meta, ANNOTATION_PRE_RESIZE_CAPACITY));
}

/* ---- It fails ---- */

/* RSZ-39: the first failure is followed at once by a second attempt, because the claim's status was
 * written; the back-off of the first failure and that of the second overlap, and the earlier holds.
 */
TEST(final_error)
{
    SidecarWorldOptions options = {.seed = 1, .driver = internal};
    g_autoptr(World) world = world_with_claim(&options);

    world_run(world, MS(1000));
    ask_for(world, GI(2));
    world_run(world, MS(1800));
    assert_status(world, "ControllerResizeInProgress", "Resizing ControllerResizeError");
    assert_string_equal(
        claim_conditions_find(the_claim(world)->conditions, CONDITION_CONTROLLER_RESIZE_ERROR)
            ->message,
        "failed to expand pvc with rpc error: code = Internal desc = injected error");
    world_run(world, SIM_MINUTE);
    assert_times(world, CALL, "1000 1700 2700 7400 16100");
    assert_status(world, "NodeResizePending",
                  "Resizing ControllerResizeError FileSystemResizePending");
    g_autofree char *events = world_events(world, the_claim(world)->meta.key);
    assert_non_null(strstr(events, "VolumeResizeFailed x4: resize volume \"pv\" by resizer "
                                   "\"" WORLD_DRIVER "\" failed: rpc error: code = Internal"));
}

/* RSZ-36: two attempts, then one every five minutes (and up to 100 ms: the sweep); another request
 * is tried at once. */
TEST(infeasible)
{
    SidecarWorldOptions options = {.seed = 1, .driver = out_of_range};
    g_autoptr(World) world = world_with_claim(&options);

    world_run(world, MS(1000));
    ask_for(world, GI(9));
    world_run(world, 650 * SIM_SECOND);
    assert_status(world, "ControllerResizeInfeasible", "Resizing ControllerResizeError");
    assert_times(world, CALL, "1000 1700 301700 601700");
    g_free(world_take_log(world));
    ask_for(world, GI(8));
    world_run(world, 660 * SIM_SECOND);
    assert_int_equal(world_count(world, CALL " OUT_OF_RANGE", NULL, NULL), 1);
    assert_int_equal(the_claim(world)->allocated_bytes, GI(8));
}

/* RSZ-2, RSZ-3.1.5: recovery by asking for less. */
TEST(recovers_by_a_smaller_request)
{
    SidecarWorldOptions options = {.seed = 1, .driver = out_of_range_at_first};
    g_autoptr(World) world = world_with_claim(&options);

    world_run(world, MS(1000));
    ask_for(world, GI(900));
    world_run(world, SIM_MINUTE);
    assert_status(world, "ControllerResizeInfeasible", "Resizing ControllerResizeError");
    g_free(world_take_log(world));
    ask_for(world, GI(2));
    world_run(world, 2 * SIM_MINUTE);
    assert_log(world, MARK ", " CALL ", " GROW ", " MARK);
    assert_status(world, "NodeResizePending", "Resizing FileSystemResizePending");
    assert_int_equal(the_volume(world)->capacity_bytes, GI(2));
}

/* RSZ-3.1.4, RSZ-37: while the driver may still do it, a smaller request changes nothing. */
TEST(keeps_the_size_under_way)
{
    SidecarWorldOptions options = {.seed = 1, .driver = aborted};
    g_autoptr(World) world = world_with_claim(&options);

    world_run(world, MS(1000));
    ask_for(world, GI(5));
    world_run(world, MS(1100));
    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_int_equal(the_claim(world)->allocated_bytes, GI(5));
    assert_int_equal(the_volume(world)->capacity_bytes, GI(5));
}

/* RSZ-39: attempts that last longer than a second follow back to back. */
TEST(call_hangs)
{
    SidecarWorldOptions options = {.seed = 1, .driver = hang};
    g_autoptr(World) world = world_with_claim(&options);

    world_run(world, MS(1000));
    ask_for(world, GI(2));
    world_run(world, MS(35000));
    assert_int_equal(world_count(world, CALL " DEADLINE_EXCEEDED", NULL, NULL), 3);
    assert_status(world, "ControllerResizeInProgress", "Resizing");
}

static Object *
pod_with_claim(World *world)
{
    Pod *pod = POD(object_new(world_key(world, KIND_POD, "app")));
    PodVolume volume = {.name = world_intern(world, "data"),
                        .claim_name = world_intern(world, "data"),
                        .mounted = TRUE};
    PodVolumes *volumes = pod_volumes_new(&volume, 1);

    pod_set_spec(pod, pod->spec, volumes);
    pod_volumes_unref(volumes);
    return &pod->meta;
}

/* RSZ-32 */
TEST(waits_until_no_pod_uses_it)
{
    SidecarWorldOptions options = {.seed = 1, .driver = in_use};
    g_autoptr(World) world = world_with_claim(&options);

    world_create(world, pod_with_claim(world));
    world_run(world, MS(1000));
    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_int_equal(world_count(world, CALL " FAILED_PRECONDITION", NULL, NULL), 1);
    assert_int_equal(world_count(world, CALL, NULL, NULL), 0);
    g_autofree char *events = world_events(world, the_claim(world)->meta.key);
    assert_non_null(strstr(events, "Unable to expand default/data because CSI driver " WORLD_DRIVER
                                   " only supports offline expansion and volume is currently "
                                   "in-use"));
    world_delete(world, KIND_POD, "app");
    world_run(world, 10 * SIM_MINUTE);
    assert_int_equal(world_count(world, CALL, NULL, NULL), 1);
    assert_int_equal(the_volume(world)->capacity_bytes, GI(2));
}

static gboolean
unprotect(Object *object, const void *data)
{
    (void)data;
    return object_remove_finalizer(object, FINALIZER_PVC_PROTECTION);
}

/* The claim vanishes while the write of its status waits for a token: the attempt ends. */
TEST(claim_vanishes)
{
    SidecarWorldOptions options = {
        .seed = 3, .recorded_timing = TRUE, .flag = "kube-api-burst", .value = "1"};

    for (unsigned i = 0; i < 50; i++) {
        g_autoptr(World) world = world_with_claim(&options);
        world_run(world, MS(1000));
        ask_for(world, GI(2));
        world_run(world, MS(1300));
        ask_for(world, GI(3));
        world_run(world, MS(1300 + i * 50));
        world_edit(world, KIND_CLAIM, "data", unprotect, NULL);
        world_delete(world, KIND_CLAIM, "data");
        world_run(world, SIM_MINUTE);
        g_free(world_take_log(world));
        world_run(world, 30 * SIM_MINUTE);
        assert_log(world, "");
    }
}

/* RSZ-31, RSZ-33: the API server lacks the gate that the resizer has, and drops the allocated size.
 */
TEST(server_drops_the_size)
{
    SidecarWorldOptions options = {.seed = 1, .minor = 31};
    g_autoptr(World) world = world_with_claim(&options);

    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_int_equal(world_count(world, CALL, NULL, NULL), 1);
    assert_int_equal(the_volume(world)->capacity_bytes, GI(2));
    assert_int_equal(the_claim(world)->allocated_bytes, 0);
    assert_status(world, "", "Resizing FileSystemResizePending");
}

/* ---- Without recovery: RSZ-40 ---- */

#define LEGACY .flag = "feature-gates", .value = "RecoverVolumeExpansionFailure=false"

TEST(older_path)
{
    SidecarWorldOptions options = {.seed = 1, LEGACY};
    g_autoptr(World) world = world_with_claim(&options);

    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_log(world, MARK ", " CALL ", " GROW ", " MARK);
    assert_status(world, "", "FileSystemResizePending");
    assert_int_equal(the_claim(world)->allocated_bytes, 0);
}

TEST(older_path_fails)
{
    SidecarWorldOptions options = {.seed = 1, .driver = internal, LEGACY};
    g_autoptr(World) world = world_with_claim(&options);

    world_run(world, MS(1000));
    ask_for(world, GI(2));
    world_run(world, MS(2000));
    assert_status(world, "", "Resizing");
    g_autofree char *events = world_events(world, the_claim(world)->meta.key);
    assert_non_null(strstr(events, "VolumeResizeFailed"));
    world_run(world, SIM_MINUTE);
    assert_status(world, "", "FileSystemResizePending");
}

/* ---- It dies ---- */

/* RSZ-38: between the two writes the volume has grown and the claim does not know; the call is made
 * again. */
TEST(dies_and_goes_on)
{
    SidecarWorldOptions options = {.seed = 3, .recorded_timing = TRUE};
    unsigned n_repeated = 0;

    for (unsigned ms = 0; ms < 40; ms++) {
        g_autoptr(World) world = world_with_claim(&options);
        world_run(world, MS(1000));
        ask_for(world, GI(2));
        world_run(world, MS(1000 + ms));
        assert_true(cluster_crash(world->cluster, "external-resizer", WORLD_DRIVER));
        world_run(world, MS(2000));
        assert_true(cluster_restart(world->cluster, "external-resizer", WORLD_DRIVER));
        world_run(world, SIM_MINUTE);
        n_repeated += world_count(world, CALL, NULL, NULL) == 2;
        assert_status(world, "NodeResizePending", "Resizing FileSystemResizePending");
        assert_int_equal(the_volume(world)->capacity_bytes, GI(2));
    }
    assert_in_range(n_repeated, 3, 30);
}

/* All that is written costs a token of one bucket: three writes and two events a claim. */
TEST(self_wake)
{
    SidecarWorldOptions options = {.seed = 5, .recorded_timing = TRUE};
    g_autoptr(World) world = world_with_claim(&options);

    world_run(world, MS(1000));
    ask_for(world, GI(2));
    world_run(world, SIM_MINUTE);
    assert_log(world, MARK ", " CALL ", " GROW ", " MARK);
}
