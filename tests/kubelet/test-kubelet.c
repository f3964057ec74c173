/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/csi/modelled/modelled-test.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/volume-manager/operation-executor.h"
#include "node-world.h"
#include "tests/lib/same-log.h"
#include "tests/lib/test.h"

#define MS(ms) ((ms)*SIM_MS)
#define UNIQUE(name) "kubernetes.io/csi/" WORLD_DRIVER "^" name

static World *
kubelet_new_world(void (*driver)(World *world, CsiModelledOptions *options))
{
    SidecarWorldOptions options = {.seed = 7, .driver = driver};

    return world_new(&options);
}

static void
assert_events(World *world, const char *pod, const char *expected)
{
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, pod));

    assert_string_equal(events, expected);
}

/* ---- Sequences: SEQ-9, SEQ-10, KVM-76 to KVM-82, without any latency ---- */

#define STARTED                                                                                    \
    "Pulling x1: Pulling image \"pause:1\"; "                                                      \
    "Pulled x1: Successfully pulled image \"pause:1\" in 0s (0s including waiting). Image size: "  \
    "0 "                                                                                           \
    "bytes.; Created x1: Created container: c; Started x1: Started container c"
#define KILLED "; Killing x1: Stopping container c"

/* A driver without attach. */
static void
no_attach(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities &= ~(unsigned)CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME;
}

static void
prepare_none(World *world)
{
    (void)world;
}

static void
prepare_csi(World *world)
{
    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
}

/* Pod "p" runs on node "a" with volume "v". */
static void
bring_up_pod(World *world)
{
    prepare_csi(world);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 20 * SIM_SECOND);
}

static void
prepare_two(World *world)
{
    prepare_csi(world);
    node_world_add_volume(world, "w", "csi");
    node_world_attach(world, "w", "a");
}

static void
prepare_not_attached(World *world)
{
    node_world_add_driver(world, FALSE, FALSE);
    node_world_add_volume(world, "v", "csi");
}

static void
prepare_local(World *world)
{
    node_world_add_volume(world, "v", "local");
}

static void
prepare_nfs(World *world)
{
    node_world_add_volume(world, "v", "nfs");
}

static void
prepare_block(World *world)
{
    node_world_add_block_volume(world, "v");
    node_world_attach(world, "v", "a");
}

/* What the kubelet writes and has done, on the way up and down. */
#define BARE_UP "PATCH_STATUS Pod, PATCH_STATUS Pod"
#define BARE_DOWN "PATCH_STATUS Pod, DELETE Pod"
#define CSI_UP "PATCH_STATUS Pod, NodeStageVolume, NodePublishVolume, PATCH_STATUS Pod"
#define CSI_DOWN "PATCH_STATUS Pod, NodeUnpublishVolume, NodeUnstageVolume, DELETE Pod"
#define IN_USE_UP                                                                                  \
    "PATCH_STATUS Pod, PATCH_STATUS Node, NodeStageVolume, NodePublishVolume, PATCH_STATUS Pod"
#define IN_USE_DOWN CSI_DOWN ", PATCH_STATUS Node"
#define TWO_UP                                                                                     \
    "PATCH_STATUS Pod, PATCH_STATUS Node, NodeStageVolume, NodeStageVolume, NodePublishVolume, "   \
    "NodePublishVolume, PATCH_STATUS Pod"
#define TWO_DOWN                                                                                   \
    "PATCH_STATUS Pod, NodeUnpublishVolume, NodeUnpublishVolume, NodeUnstageVolume, "              \
    "NodeUnstageVolume, DELETE Pod, PATCH_STATUS Node"
#define V UNIQUE("v")
#define V_AND_W UNIQUE("v") " " UNIQUE("w")

static const struct {
    const char *name;
    void (*prepare)(World *world);
    const char *claims;
    const char *up, *down;
    const char *in_use;
} sequences[] = {
    {"no volume",             prepare_none,         NULL,  BARE_UP,   BARE_DOWN,   ""     },
    {"attached",              prepare_csi,          "v",   IN_USE_UP, IN_USE_DOWN, V      },
    {"two, side by side",     prepare_two,          "v w", TWO_UP,    TWO_DOWN,    V_AND_W},
    {"attachRequired: false", prepare_not_attached, "v",   CSI_UP,    CSI_DOWN,    ""     },
    {"local",                 prepare_local,        "v",   BARE_UP,   BARE_DOWN,   ""     },
    {"nfs",                   prepare_nfs,          "v",   BARE_UP,   BARE_DOWN,   ""     },
    {"block",                 prepare_block,        "v",   IN_USE_UP, IN_USE_DOWN, V      },
};

/* Order-free comparison of what waits on nothing common (RACE-13): the unstaging against the pod's
 * end. */
static char *
without_delete(const char *writes)
{
    g_auto(GStrv) parts = g_strsplit(writes, ", ", -1);
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; parts[i] != NULL; i++) {
        if (strcmp(parts[i], "DELETE Pod") != 0)
            g_string_append_printf(text, "%s%s", text->len == 0 ? "" : ", ", parts[i]);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static void
assert_same_but_for_the_delete(World *world, const char *expected)
{
    g_autofree char *writes = node_world_take_writes(world);
    g_autofree char *some = without_delete(writes), *other = without_delete(expected);

    assert_string_equal(some, other);
    assert_non_null(strstr(writes, "DELETE Pod"));
}

TEST(up_and_down)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(sequences); i++) {
        g_autoptr(World) world =
            kubelet_new_world(sequences[i].prepare == prepare_not_attached ? no_attach : NULL);

        sequences[i].prepare(world);
        node_world_start(world);
        node_world_add_pod(world, "p", "a", sequences[i].claims);
        node_world_run_for(world, 20 * SIM_SECOND);
        node_world_assert_writes(world, sequences[i].up);
        assert_true(pod_is_ready(node_world_pod(world, "p")));
        node_world_assert_in_use(world, sequences[i].in_use);

        node_world_delete_pod(world, "p", FALSE);
        node_world_run_for(world, 20 * SIM_SECOND);
        assert_same_but_for_the_delete(world, sequences[i].down);
        assert_null(node_world_pod(world, "p"));
        node_world_assert_in_use(world, "");
        assert_int_equal(csi_modelled_driver_is_staged(world->driver, world_intern(world, "v"),
                                                       world_intern(world, "a")),
                         0);
    }
}

TEST(events_of_a_life)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    bring_up_pod(world);
    assert_events(world, "p", STARTED);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_events(world, "p", STARTED KILLED);
}

/* An image is pulled for the first pod of a node, and there for the next; a restarted kubelet finds
 * it with the pods that run. */
TEST(an_image_is_pulled_once)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    bring_up_pod(world);
    node_world_add_pod(world, "q", "a", NULL);
    node_world_run_for(world, 5 * SIM_SECOND);
    g_autofree char *first = world_events(world, world_key(world, KIND_POD, "p"));
    g_autofree char *second = world_events(world, world_key(world, KIND_POD, "q"));
    assert_non_null(strstr(first, "Pulling x1: "));
    assert_null(strstr(second, "Pulling"));
    assert_non_null(strstr(second, "Pulled x1: Container image \"pause:1\" already present on "
                                   "machine"));
}

/* KVM-45 */
TEST(a_block_volume_tells_that_it_is_there)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    prepare_block(world);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 20 * SIM_SECOND);
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
    assert_non_null(strstr(events, "SuccessfulMountVolume x1: MapVolume.MapPodDevice succeeded for "
                                   "volume \"v\" globalMapPath "));
    assert_non_null(strstr(events, "SuccessfulMountVolume x1: MapVolume.MapPodDevice succeeded for "
                                   "volume \"v\" volumeMapPath "));
}

/* What a pod is told to be on its way. */
TEST(statuses)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, MS(100));
    const Pod *pod = node_world_pod(world, "p");
    assert_int_equal(pod->phase, POD_PENDING);
    assert_int_equal(pod->ready.status, CONDITION_FALSE);
    assert_string_equal(pod->ready.reason, "ContainersNotReady");
    assert_string_equal(pod->ready.message, "containers with unready status: [c]");
    assert_int_equal(pod->ready_to_start.status, CONDITION_FALSE);
    assert_int_equal(pod->initialized.status, CONDITION_TRUE);
    assert_true(pod->started_at >= 0);

    node_world_attach(world, "v", "a");
    node_world_run_for(world, 20 * SIM_SECOND);
    pod = node_world_pod(world, "p");
    assert_int_equal(pod->phase, POD_RUNNING);
    assert_int_equal(pod->ready.status, CONDITION_TRUE);
    assert_int_equal(pod->containers_ready.status, CONDITION_TRUE);
    assert_int_equal(pod->ready_to_start.status, CONDITION_TRUE);

    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, MS(50));
    pod = node_world_pod(world, "p");
    assert_int_equal(pod->phase, POD_SUCCEEDED);
    assert_string_equal(pod->ready.reason, "PodCompleted");
}

/* ---- Waiting for the volumes ---- */

/* TIM-51a, KVM-84: two relists, then the end is told and the object deleted at once. */
TEST(deleted_while_it_waits)
{
    SimTime patched = 0, deleted = 0;
    g_autoptr(World) world = kubelet_new_world(NULL);

    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 20 * SIM_SECOND);
    node_world_assert_writes(world, "PATCH_STATUS Pod, PATCH_STATUS Node");
    node_world_assert_in_use(world, UNIQUE("v"));
    SimTime at = sim_now(world->sim);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, 3 * SIM_SECOND);
    assert_int_equal(world_count(world, "PATCH_STATUS Pod", &patched, NULL), 1);
    assert_int_equal(world_count(world, "DELETE Pod", &deleted, NULL), 1);
    assert_true(deleted - at > SIM_SECOND && deleted - at < 2 * SIM_SECOND);
    assert_int_equal(patched, deleted);
    node_world_run_for(world, 20 * SIM_SECOND);
    node_world_assert_writes(world, "PATCH_STATUS Pod, DELETE Pod, PATCH_STATUS Node");
    assert_events(world, "p", "");
    node_world_assert_in_use(world, "");
}

/* RACE-11, KVM-V8: FailedMount at the second poll; the next sync 10 to 15 s later finds the claim
 * bound. */
TEST(claim_is_not_bound_yet)
{
    SimTime first = 0, last = 0;
    g_autoptr(World) world = kubelet_new_world(no_attach);

    node_world_add_driver(world, FALSE, FALSE);
    node_world_add_unbound(world, "v");
    node_world_start(world);
    node_world_run_until(world, SIM_SECOND);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, MS(299));
    assert_events(world, "p", "");
    node_world_run_for(world, MS(20));
    assert_events(world, "p",
                  "FailedMount x1: Unable to attach or mount volumes: unmounted volumes=[v], "
                  "unattached volumes=[], failed "
                  "to process volumes=[v]: error processing PVC default/v: PVC is not bound");
    node_world_bind(world, "v");
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_int_equal(world_count(world, "PATCH_STATUS Pod", &first, &last), 2);
    assert_true(last - first > SIM_SECOND * 10 && last - first < 17 * SIM_SECOND);
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

/* KVM-20: a wait of 2 min 3 s ends in silence, and the next follows. */
TEST(waiting_in_vain_is_silent)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 5 * SIM_MINUTE);
    assert_events(world, "p", "");
    node_world_assert_writes(world, "PATCH_STATUS Pod, PATCH_STATUS Node");
    node_world_attach(world, "v", "a");
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

/* ---- Errors of the driver ---- */

static const CsiModelledError stage_internal = {
    .method = CSI_NODE_STAGE_VOLUME, .code = CSI_INTERNAL, .probability = 1};
static const CsiModelledError stage_slow = {
    .method = CSI_NODE_STAGE_VOLUME, .code = CSI_DEADLINE_EXCEEDED, .probability = 1};
static const CsiModelledError stage_thrice = {.method = CSI_NODE_STAGE_VOLUME,
                                              .code = CSI_INTERNAL,
                                              .message = "no",
                                              .probability = 1,
                                              .count = 3};
static const CsiModelledError unpublish_twice = {
    .method = CSI_NODE_UNPUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 1, .count = 2};

static void
fail_with(World *world, const CsiModelledError *error)
{
    csi_modelled_driver_set_errors(world->driver, error, 1);
}

/* OP-5: 0.5 s, 1 s, 2 s after each failure, and the next pass. */
TEST(staging_is_tried_again)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    prepare_csi(world);
    fail_with(world, &stage_thrice);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 30 * SIM_SECOND);
    SimTime at[4];
    unsigned n = 0;
    for (unsigned i = 0; i < world->log->len; i++) {
        const WorldEntry *entry = &g_array_index(world->log, WorldEntry, i);
        if (g_str_has_prefix(entry->what, "NodeStageVolume"))
            at[n++] = entry->at;
    }
    assert_int_equal(n, 4);
    assert_int_equal(at[1] - at[0], MS(600)); /* 0.5 s is not over at the fifth pass, strictly */
    assert_int_equal(at[2] - at[1], MS(1100));
    assert_int_equal(at[3] - at[2], MS(2100));
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
    assert_true(g_str_has_prefix(events, "FailedMount x3: MountVolume.MountDevice failed for "
                                         "volume \"v\" : rpc error: code = Internal desc = no"));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

/* KVM-V5, KVM-V6: what may have been staged is unstaged. */
TEST(only_what_may_be_staged_is_unstaged)
{
    static const struct {
        const CsiModelledError *error;
        unsigned n_unstaged;
    } cases[] = {
        {&stage_slow,     1},
        {&stage_internal, 0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(World) world = kubelet_new_world(NULL);
        prepare_csi(world);
        fail_with(world, cases[i].error);
        node_world_start(world);
        node_world_add_pod(world, "p", "a", "v");
        node_world_run_for(world, 20 * SIM_SECOND);
        node_world_delete_pod(world, "p", FALSE);
        node_world_run_for(world, 5 * SIM_MINUTE);
        assert_int_equal(world_count(world, "NodeUnstageVolume", NULL, NULL), cases[i].n_unstaged);
        node_world_assert_in_use(world, "");
        assert_null(node_world_pod(world, "p"));
    }
}

/* KVM-49: the pod stays as long as its volume cannot be unpublished. */
TEST(unpublishing_is_tried_again)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    bring_up_pod(world);
    fail_with(world, &unpublish_twice);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, MS(1500));
    assert_true(pod_is_terminal(node_world_pod(world, "p")));
    node_world_delete_pod(world, "p", FALSE); /* WL-91: a second time, which changes nothing */
    assert_non_null(node_world_pod(world, "p"));
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_null(node_world_pod(world, "p"));
    assert_int_equal(world_count(world, "NodeUnpublishVolume INTERNAL", NULL, NULL), 2);
    assert_int_equal(world_count(world, "NodeUnpublishVolume", NULL, NULL), 1);
}

/* ---- Volumes of several pods ---- */

/* KVM-V3 */
TEST(two_pods_share_a_volume)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    prepare_csi(world);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_add_pod(world, "q", "a", "v");
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_int_equal(world_count(world, "NodeStageVolume", NULL, NULL), 1);
    assert_int_equal(world_count(world, "NodePublishVolume", NULL, NULL), 2);
    assert_true(pod_is_ready(node_world_pod(world, "q")));
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_int_equal(world_count(world, "NodeUnstageVolume", NULL, NULL), 0);
    node_world_assert_in_use(world, UNIQUE("v"));
    node_world_delete_pod(world, "q", FALSE);
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_int_equal(world_count(world, "NodeUnpublishVolume", NULL, NULL), 2);
    assert_int_equal(world_count(world, "NodeUnstageVolume", NULL, NULL), 1);
    node_world_assert_in_use(world, "");
}

/* KVM-V4 */
TEST(read_write_once_pod)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    prepare_csi(world);
    node_world_set_access_modes(world, "v", ACCESS_RWOP);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 20 * SIM_SECOND);
    node_world_add_pod(world, "q", "a", "v");
    node_world_run_for(world, 2 * SIM_SECOND);
    assert_events(world, "q",
                  "FailedMount x3: MountVolume.SetUp failed for volume \"v\" : volume uses the "
                  "ReadWriteOncePod access mode "
                  "and is already in use by another pod");
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, 30 * SIM_SECOND);
    assert_true(pod_is_ready(node_world_pod(world, "q")));
}

/* KVM-50, and the name comes again at once. */
TEST(forced_deletion)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    bring_up_pod(world);
    g_free(node_world_take_writes(world));
    node_world_delete_pod(world, "p", TRUE);
    assert_null(node_world_pod(world, "p"));
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, 30 * SIM_SECOND);
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(world_count(world, "NodeUnpublishVolume", NULL, NULL), 1);
    assert_int_equal(world_count(world, "NodePublishVolume", NULL, NULL), 1);
    assert_int_equal(world_count(world, "DELETE Pod", NULL, NULL), 0);
}

/* KVM-52: 60 to 90 s apart. */
TEST(republished)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    node_world_add_driver(world, TRUE, TRUE);
    bring_up_pod(world);
    unsigned before = world_count(world, "NodePublishVolume", NULL, NULL);
    node_world_run_for(world, 10 * SIM_MINUTE);
    unsigned n = world_count(world, "NodePublishVolume", NULL, NULL) - before;
    assert_true(n >= 6 && n <= 10);
    assert_int_equal(world_count(world, "NodeStageVolume", NULL, NULL), 1);
}

/* ---- The node ---- */

/* The import of a cluster that runs: a Running pod has its volumes, and they are taken down as if
 * mounted here. */
TEST(a_running_pod_is_adopted)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    prepare_csi(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_set_running(world, "p");
    node_world_start(world);
    node_world_run_for(world, 20 * SIM_SECOND);
    node_world_assert_writes(world, "PATCH_STATUS Node");
    node_world_assert_in_use(world, UNIQUE("v"));
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_same_but_for_the_delete(world, IN_USE_DOWN);
    node_world_assert_in_use(world, "");
}

/* KVM-59, KVM-V9: a restart stages and publishes again, and writes nothing: its Node is there
 * (recorded). */
TEST(a_restart_mounts_again)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    bring_up_pod(world);
    g_free(node_world_take_writes(world));
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_run_for(world, 5 * SIM_SECOND);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, 30 * SIM_SECOND);
    /* The CSINode of the tests lacks what a kubelet writes: the first adds it as it starts
     * (REG-25). */
    node_world_assert_writes(
        world, "NodeGetInfo, CREATE Node 1409, UPDATE CSINode, PATCH_STATUS Node, NodeStageVolume, "
               "NodePublishVolume");
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, 30 * SIM_SECOND);
    node_world_assert_writes(world,
                             "NodeGetInfo, CREATE Node 1409, PATCH_STATUS Node, NodeStageVolume, "
                             "NodePublishVolume");
    node_world_assert_in_use(world, UNIQUE("v"));
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, 20 * SIM_SECOND);
    assert_same_but_for_the_delete(world, IN_USE_DOWN);
}

/* Heartbeats are left out: a node to which nothing happens costs no event in a day. */
TEST(an_idle_node_costs_nothing)
{
    g_autoptr(World) world = kubelet_new_world(NULL);

    node_world_start(world);
    prepare_csi(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_until(world, SIM_MINUTE);
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(sim_events_pending(world->sim), 0);
    uint64_t version = api_server_resource_version(world->api);
    node_world_run_until(world, 24 * SIM_HOUR);
    assert_int_equal(api_server_resource_version(world->api), version);
}

/* ---- Sleeping or polling, the same happens ---- */

static char *
kubelet_life(uint64_t seed, gboolean polling)
{
    SidecarWorldOptions options = {.seed = seed, .recorded_timing = TRUE, .polling = polling};
    g_autoptr(World) world = world_new(&options);

    prepare_two(world);
    node_world_start(world);
    node_world_run_until(world, SIM_SECOND);
    fail_with(world, &stage_thrice);
    node_world_add_pod(world, "p", "a", "v");
    node_world_add_pod(world, "q", "a", "v w");
    node_world_run_until(world, 40 * SIM_SECOND);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_until(world, 41 * SIM_SECOND);
    node_world_delete_pod(world, "q", FALSE);
    node_world_run_until(world, 60 * SIM_SECOND);
    return node_world_log(world);
}

TEST(kubelet_sleeping_equals_polling)
{
    assert_sleeping_equals_polling(kubelet_life, 5, "");
}

/* ---- Whatever happens, nothing is left behind ---- */

#define N_RANDOM_PODS 4
#define N_RANDOM_VOLUMES 3

static unsigned
kubelet_draw(World *world, unsigned *n, unsigned below)
{
    return (unsigned)sim_random_below(sim_stream(world->sim, "test"), 0, (*n)++, below);
}

/* clang-format off */
static const CsiModelledError random_errors[] = {
    {.method = CSI_NODE_STAGE_VOLUME, .code = CSI_INTERNAL, .probability = 0.3},
    {.method = CSI_NODE_STAGE_VOLUME, .code = CSI_ABORTED, .probability = 0.2,
     .after_effect = TRUE},
    {.method = CSI_NODE_PUBLISH_VOLUME, .code = CSI_UNAVAILABLE, .probability = 0.3},
    {.method = CSI_NODE_UNPUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 0.3},
    {.method = CSI_NODE_UNSTAGE_VOLUME, .code = CSI_INTERNAL, .probability = 0.3},
};
/* clang-format on */

static void
random_step(World *world, unsigned *n)
{
    g_autofree char *pod = g_strdup_printf("p%u", kubelet_draw(world, n, N_RANDOM_PODS));
    g_autofree char *claims = g_strdup_printf("v%u", kubelet_draw(world, n, N_RANDOM_VOLUMES));
    gboolean exists = node_world_pod(world, pod) != NULL;

    switch (kubelet_draw(world, n, 8)) {
    case 0:
    case 1:
    case 2:
        if (!exists)
            node_world_add_pod(world, pod, "a", claims);
        return;
    case 3:
        if (!exists)
            node_world_add_pod(world, pod, "a", "v0 v1 v2");
        return;
    case 4:
    case 5:
        if (exists)
            node_world_delete_pod(world, pod, FALSE);
        return;
    case 6:
        if (exists)
            node_world_delete_pod(world, pod, TRUE);
        return;
    default:
        csi_modelled_driver_set_errors(world->driver, random_errors,
                                       kubelet_draw(world, n, 2) * G_N_ELEMENTS(random_errors));
        return;
    }
}

static void
assert_clean(World *world)
{
    const Kubelet *kubelet = node_world_kubelet(world);

    assert_int_equal(kubelet->workers->len, 0);
    node_world_assert_in_use(world, "");
    for (unsigned i = 0; i < N_RANDOM_VOLUMES; i++) {
        g_autofree char *text = g_strdup_printf("v%u", i);
        const char *name = world_intern(world, text), *node = world_intern(world, "a");
        assert_int_equal(csi_modelled_driver_n_targets(world->driver, name, node), 0);
        assert_false(csi_modelled_driver_is_staged(world->driver, name, node));
    }
    for (unsigned i = 0; i < kubelet->volume_manager->volumes->len;
         i++) { /* only what a failure is remembered of */
        const NodeVolume *volume = kubelet->volume_manager->volumes->pdata[i];
        assert_false(volume->in_actual || volume->mounts != NULL || volume->operations == NULL);
    }
}

TEST(random_lives_leave_nothing)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        SidecarWorldOptions options = {.seed = seed, .recorded_timing = TRUE};
        g_autoptr(World) world = world_new(&options);
        unsigned n = 0;

        for (unsigned i = 0; i < N_RANDOM_VOLUMES; i++) {
            g_autofree char *name = g_strdup_printf("v%u", i);
            node_world_add_volume(world, name, "csi");
            node_world_attach(world, name, "a");
        }
        node_world_start(world);
        unsigned longest_ms =
            seed % 2 == 0 ? 400 : 6000; /* in the midst of things, or with time to settle */
        for (unsigned i = 0; i < 80; i++) {
            node_world_run_for(world, MS(kubelet_draw(world, &n, longest_ms)));
            random_step(world, &n);
        }
        csi_modelled_driver_set_errors(world->driver, NULL, 0);
        for (unsigned i = 0; i < N_RANDOM_PODS; i++) {
            g_autofree char *pod = g_strdup_printf("p%u", i);
            if (node_world_pod(world, pod) != NULL)
                node_world_delete_pod(world, pod, kubelet_draw(world, &n, 2) == 0);
        }
        node_world_run_for(world, 10 * SIM_MINUTE);
        assert_clean(world);
    }
}
