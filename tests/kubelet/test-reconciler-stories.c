/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/csi/modelled/modelled-test.h"
#include "models/kubelet/kubelet-test.h"
#include "stories.h"
#include "tests/lib/test.h"

/* Stories of Kubernetes' own tests of the reconciler and of reconstruction: see stories.h. */

/* ---- The reconciler ---- */

typedef struct {
    const char *id;
    gboolean block, is_removed;
} ControllerStory;

static const ControllerStory controller_stories[] = {
    {"kvm-KubeletReconciler-04", FALSE, FALSE},
    {"kvm-KubeletReconciler-07", FALSE, TRUE },
    {"kvm-KubeletReconciler-09", TRUE,  FALSE},
    {"kvm-KubeletReconciler-11", TRUE,  TRUE },
};

static void
controller_story_holds(void **state)
{
    const ControllerStory *story = *state;
    g_autoptr(World) world = story_world(NULL, NULL);

    story_add_volume(world, story->block);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    if (story->is_removed)
        node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(20));
    story_assert_calls(world, "NodeStageVolume", 1);
    story_assert_calls(world, "NodePublishVolume", 1);
    story_assert_calls(world, "NodeUnpublishVolume", story->is_removed);
    story_assert_calls(world, "NodeUnstageVolume", story->is_removed);
    story_assert_calls(world, "GET VolumeAttachment",
                       3); /* KVM-46: WaitForAttach, MountDevice, SetUp */
    story_assert_calls(world, "CREATE VolumeAttachment", 0);
    story_assert_calls(world, "DELETE VolumeAttachment", 0);
    story_assert_calls(world, "ControllerPublishVolume", 0);
}
TEST_ROWS(controller_stories, controller_story_holds);

/* Steps of plans, by their rules: what a plugin that is no CSI driver has to do leaves no other
 * trace. */
typedef struct {
    unsigned n_attached, n_staged, n_published, n_unpublished, n_unstaged, n_detached;
    gboolean is_way_back;
} ReconcilerStoriesSteps;

static void
count_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    ReconcilerStoriesSteps *steps = data;

    (void)component, (void)plan;
    if (rule == NULL || !g_str_equal(step, "wait"))
        return;
    steps->n_attached += g_str_equal(rule, "KVM-69") && !steps->is_way_back;
    steps->n_detached += g_str_equal(rule, "KVM-69") && steps->is_way_back;
    steps->n_staged += g_str_equal(rule, "KVM-42");
    steps->n_published += g_str_equal(rule, "KVM-43");
    steps->n_unpublished += g_str_equal(rule, "KVM-47");
    steps->n_unstaged += g_str_equal(rule, "KVM-48");
}

static void
kubelet_attaches(gboolean block, const char *plugin, gboolean is_removed)
{
    g_autoptr(World) world = story_world("enableControllerAttachDetach", "false");
    ReconcilerStoriesSteps steps = {0};

    cluster_observe_plans(world->cluster, count_step, &steps);
    node_world_add_other_volume(world, "v", plugin, block);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    story_assert_event(world, "p",
                       "SuccessfulAttachVolume x1: AttachVolume.Attach succeeded for volume "
                       "\"v\" ");
    steps.is_way_back = TRUE;
    if (is_removed)
        node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(20));
    assert_int_equal(steps.n_attached, 1);
    assert_int_equal(steps.n_staged, 1);
    assert_int_equal(steps.n_published, 1);
    assert_int_equal(steps.n_unpublished, is_removed);
    assert_int_equal(steps.n_unstaged, is_removed);
    assert_int_equal(steps.n_detached, is_removed);
    if (is_removed)
        node_world_assert_in_use(world, "");
}

TEST_CALLED("kvm-KubeletReconciler-06", full_life_by_the_kubelet)
{
    kubelet_attaches(FALSE, "flexVolume", TRUE);
}

TEST_CALLED("kvm-KubeletReconciler-08", kubelet_attaches_and_maps)
{
    kubelet_attaches(TRUE, "iscsi", FALSE);
}

static void
slow_unstage(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_UNSTAGE_VOLUME] = world_constant(world, SECONDS(5));
}

/* What is attached stays so: the Node says that, and is asked by nobody in between. */
TEST_CALLED("kvm-KubeletReconciler-12", wanted_again_while_it_is_unstaged)
{
    SidecarWorldOptions options = {.seed = 7, .driver = slow_unstage};
    g_autoptr(World) world = world_new(&options);

    story_add_volume(world, FALSE);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(3));
    assert_int_equal(csi_driver_in_flight(csi_modelled_driver_base(world->driver)), 1);
    node_world_add_pod(world, "q", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "q")));
    story_assert_calls(world, "NodeUnstageVolume", 1);
    story_assert_calls(world, "NodeStageVolume", 2);
    node_world_assert_in_use(world, UNIQUE_V);
}

/* ---- After a restart ---- */

/* KVM-62: a volume whose directory cannot be made sense of; pod "p" is gone, or there. */
static void
directory_is_spoilt(gboolean is_wanted, unsigned n_tries)
{
    g_autoptr(World) world = story_world(NULL, NULL);

    node_world_add_volume(world, "v", "local");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    void **disk = node_world_kubelet(world)->base.disk;
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    volume_directories_spoil(*disk);
    if (!is_wanted)
        node_world_delete_pod(world, "p", TRUE);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(20));
    assert_int_equal(node_world_kubelet(world)->volume_manager->n_cleaned_up, n_tries);
    assert_int_equal(((KubeletDisk *)*disk)->directories->len, is_wanted);
    if (is_wanted)
        assert_true(pod_is_ready(node_world_pod(world, "p")));
}

TEST_CALLED("kvm-KubeletReconstruct-03", spoilt_and_wanted)
{
    directory_is_spoilt(TRUE, 0);
}

TEST_CALLED("kvm-KubeletReconstruct-04", spoilt_and_not_wanted)
{
    directory_is_spoilt(FALSE, 1);
}

/* KVM-61: another kubelet may have mounted it, so a final error settles nothing. */
static void
found_again_and_fails(gboolean block)
{
    static const CsiModelledError error = {
        .method = CSI_NODE_PUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 1};
    g_autoptr(World) world = story_world(NULL, NULL);

    story_add_volume(world, block);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    csi_modelled_driver_set_errors(world->driver, &error, 1);
    const char *staging = story_volume(world)->staging_path;
    story_restart_kubelet(world);
    node_world_run_for(world, SECONDS(5));
    assert_true(world_count(world, "NodePublishVolume INTERNAL", NULL, NULL) > 0);
    assert_int_equal(story_volume(world)->mounts->state, MOUNT_UNCERTAIN);
    assert_string_equal(story_volume(world)->staging_path, staging);
    story_assert_calls(world, "NodeUnpublishVolume", 0);
    story_assert_calls(world, "NodeUnstageVolume", 0);
}

TEST_CALLED("kvm-KubeletReconstruct-06", found_again_and_set_up_fails)
{
    found_again_and_fails(FALSE);
}

TEST_CALLED("kvm-KubeletReconstruct-07", found_again_and_map_fails)
{
    found_again_and_fails(TRUE);
}

/* ---- Growth in use ---- */

/* The back end's volume is as large as the PersistentVolume will say. */
static void
grow_device(World *world, int64_t bytes)
{
    const CsiCapability capability = {.mode = CSI_SINGLE_NODE_WRITER};
    const CsiRequest request = {.method = CSI_CONTROLLER_EXPAND_VOLUME,
                                .volume_id = world_intern(world, "v"),
                                .required_bytes = bytes,
                                .capabilities = &capability,
                                .n_capabilities = 1};

    csi_driver_call(csi_modelled_driver_base(world->driver), &request, NULL, NULL);
}

TEST_CALLED("kvm-KubeletResize-01", grows_in_use)
{
    g_autoptr(World) world = story_world_with_pod(NULL, NULL);

    grow_device(world, GI(15));
    story_grow_volume(world, "v", GI(15));
    story_change_pod(world, "changed");
    while (!volume_expansion_is_due(story_volume(world)))
        node_world_run_for(world, SIM_MS);
    node_world_run_for(world, SECONDS(2));
    assert_false(volume_expansion_is_due(story_volume(world)));
    assert_int_equal(story_volume(world)->actual_bytes, GI(15));
    story_assert_calls(world, "NodeExpandVolume", 1);
    assert_int_equal(story_volume(world)->mounts->state, MOUNT_DONE);
}

/* KVM-56: the driver does not do that in use, and is not asked again. */
TEST_CALLED("kvm-KubeletResize-03", does_not_grow_in_use)
{
    static const CsiModelledError error = {
        .method = CSI_NODE_EXPAND_VOLUME, .code = CSI_FAILED_PRECONDITION, .probability = 1};
    g_autoptr(World) world = story_world(NULL, NULL);

    story_add_volume(world, FALSE);
    csi_modelled_driver_set_errors(world->driver, &error, 1);
    grow_device(world, GI(15));
    story_grow_volume(world, "v", GI(13));
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    unsigned n = world_count(world, "NodeExpandVolume FAILED_PRECONDITION", NULL, NULL);
    assert_int_equal(n, 1);
    story_grow_volume(world, "v", GI(15));
    node_world_run_for(world, 5 * SIM_MINUTE);
    assert_false(volume_expansion_is_due(story_volume(world)));
    assert_int_equal(world_count(world, "NodeExpandVolume FAILED_PRECONDITION", NULL, NULL), n);
}
