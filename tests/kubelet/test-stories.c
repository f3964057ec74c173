/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/csi/modelled/modelled-test.h"
#include "stories.h"
#include "tests/lib/test.h"

/* Stories of Kubernetes' own tests of mounts, the wait for volumes and the populator: see
 * stories.h. */

static gboolean
is_desired(World *world)
{
    const NodeVolume *volume = story_volume(world);

    return volume != NULL && volume->n_desired > 0;
}

/* ---- What is certain after an error: KVM-15, KVM-16 ---- */

typedef enum {
    ALWAYS,  /* it fails each time */
    ONCE,    /* a time-out, then as the row says */
    REMOUNT, /* only after the first success, when the volume is published anew (KVM-52) */
} FailureWhen;

typedef struct {
    const char *id;
    gboolean block;
    CsiMethod method;
    CsiCode code;
    FailureWhen when;
    gboolean has_grown; /* so the filesystem has to, too */
    MountState device, mount;
    unsigned n_unstaged, n_unpublished;
} ErrorStory;

#define STAGE CSI_NODE_STAGE_VOLUME
#define PUBLISH CSI_NODE_PUBLISH_VOLUME
#define EXPAND CSI_NODE_EXPAND_VOLUME
#define TIMEOUT CSI_DEADLINE_EXCEEDED
#define FAILURE CSI_INTERNAL
#define NONE MOUNT_NONE
#define PERHAPS MOUNT_UNCERTAIN
#define DONE MOUNT_DONE

/* clang-format off */
static const ErrorStory error_stories[] = {
    {"kvm-KubeletUncertainDevice-01", FALSE, STAGE,   TIMEOUT, ALWAYS,  FALSE, PERHAPS, NONE,    1, 0},
    {"kvm-KubeletUncertainDevice-02", TRUE,  STAGE,   TIMEOUT, ALWAYS,  FALSE, PERHAPS, NONE,    1, 0},
    {"kvm-KubeletUncertainDevice-03", FALSE, STAGE,   FAILURE, ALWAYS,  FALSE, NONE,    NONE,    0, 0},
    {"kvm-KubeletUncertainDevice-04", TRUE,  STAGE,   FAILURE, ALWAYS,  FALSE, NONE,    NONE,    0, 0},
    {"kvm-KubeletUncertainDevice-05", FALSE, STAGE,   FAILURE, ONCE,    FALSE, NONE,    NONE,    0, 0},
    {"kvm-KubeletUncertainDevice-06", TRUE,  STAGE,   FAILURE, ONCE,    FALSE, NONE,    NONE,    0, 0},
    {"kvm-KubeletUncertainDevice-07", FALSE, STAGE,   TIMEOUT, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainDevice-08", TRUE,  STAGE,   TIMEOUT, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainDevice-09", FALSE, STAGE,   FAILURE, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainDevice-10", TRUE,  STAGE,   FAILURE, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainMount-01",  FALSE, PUBLISH, TIMEOUT, ALWAYS,  FALSE, DONE,    PERHAPS, 1, 1},
    {"kvm-KubeletUncertainMount-02",  TRUE,  PUBLISH, TIMEOUT, ALWAYS,  FALSE, DONE,    PERHAPS, 1, 1},
    {"kvm-KubeletUncertainMount-03",  FALSE, PUBLISH, FAILURE, ALWAYS,  FALSE, DONE,    NONE,    1, 0},
    {"kvm-KubeletUncertainMount-04",  TRUE,  PUBLISH, FAILURE, ALWAYS,  FALSE, DONE,    NONE,    1, 0},
    {"kvm-KubeletUncertainMount-05",  FALSE, PUBLISH, FAILURE, ONCE,    FALSE, DONE,    NONE,    1, 0},
    {"kvm-KubeletUncertainMount-06",  TRUE,  PUBLISH, FAILURE, ONCE,    FALSE, DONE,    NONE,    1, 0},
    {"kvm-KubeletUncertainMount-07",  FALSE, PUBLISH, TIMEOUT, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainMount-08",  TRUE,  PUBLISH, TIMEOUT, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainMount-09",  FALSE, PUBLISH, FAILURE, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainMount-10",  TRUE,  PUBLISH, FAILURE, REMOUNT, FALSE, DONE,    DONE,    1, 1},
    {"kvm-KubeletUncertainMount-11",  FALSE, EXPAND,  FAILURE, ALWAYS,  TRUE,  DONE,    PERHAPS, 1, 1},
    {"kvm-KubeletUncertainMount-12",  TRUE,  EXPAND,  FAILURE, ALWAYS,  TRUE,  DONE,    PERHAPS, 1, 1},
};
/* clang-format on */

static void
fail_as(World *world, const ErrorStory *story)
{
    const CsiModelledError errors[] = {
        {.method = story->method, .code = CSI_DEADLINE_EXCEEDED, .probability = 1, .count = 1},
        {.method = story->method,                       .code = story->code,                              .probability = 1    },
    };
    gboolean once = story->when == ONCE;

    csi_modelled_driver_set_errors(world->driver, errors + (once ? 0 : 1), once ? 2 : 1);
}

static void
error_story_holds(void **state)
{
    const ErrorStory *story = *state;
    g_autoptr(World) world = story_world(NULL, NULL);

    node_world_add_driver(world, TRUE, story->when == REMOUNT);
    story_add_volume(world, story->block);
    if (story->has_grown)
        story_grow_volume(world, "v", GI(10));
    if (story->when != REMOUNT)
        fail_as(world, story);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    if (story->when == REMOUNT) {
        assert_true(pod_is_ready(node_world_pod(world, "p")));
        fail_as(world, story);
        node_world_run_for(world, SECONDS(100));
        assert_true(pod_is_ready(node_world_pod(world, "p")));
    }
    assert_int_equal(story_volume(world)->device, story->device);
    assert_int_equal(story_volume(world)->mounts->state, story->mount);

    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, 5 * SIM_MINUTE);
    node_world_assert_in_use(world, "");
    story_assert_calls(world, "NodeUnstageVolume", story->n_unstaged);
    story_assert_calls(world, "NodeUnpublishVolume", story->n_unpublished);
}
TEST_ROWS(error_stories, error_story_holds);

/* ---- The wait for volumes ---- */

TEST_CALLED("kvm-KubeletManager-01", mounted_and_in_use)
{
    g_autoptr(World) world = story_world_with_pod(NULL, NULL);
    unsigned n = 0;

    for (const PodMount *mount = story_volume(world)->mounts; mount != NULL; mount = mount->next)
        n += mount->state == MOUNT_DONE;
    assert_int_equal(n, 1);
    node_world_assert_in_use(world, UNIQUE_V);
}

/* Groups are no part of the model: a volume's annotation that names none, or nonsense, changes no
 * call. */
typedef struct {
    const char *id, *group;
} GroupStory;

static const GroupStory group_stories[] = {
    {"kvm-KubeletManager-06", "a"},
    {"kvm-KubeletManager-07", "" },
};

static void
no_group(void *data, const CsiCallRecord *record)
{
    unsigned *n_published = data;

    if (record->request->method != CSI_NODE_PUBLISH_VOLUME)
        return;
    assert_null(record->request->capabilities[0].volume_mount_group);
    (*n_published)++;
}

static void
group_story_holds(void **state)
{
    const GroupStory *story = *state;
    g_autoptr(World) world = story_world_with_volume(NULL, NULL);
    unsigned n_published = 0;

    csi_driver_add_observer(csi_modelled_driver_base(world->driver),
                            &(CsiObserver){.started = no_group, .data = &n_published});
    story_annotate_volume(world, "pv.beta.kubernetes.io/gid", story->group);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(n_published, 1);
}
TEST_ROWS(group_stories, group_story_holds);

TEST_CALLED("kvm-KubeletManager-08", wait_for_unmount_succeeds)
{
    g_autoptr(World) world = story_world_with_pod(NULL, NULL);

    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(5));
    assert_null(node_world_pod(world, "p"));
    story_assert_calls(world, "NodeUnpublishVolume", 1);
}

/* KVM-3, KVM-49: after 2 min 3 s the wait is over, the pod still there, and 10 to 15 s later the
 * next wait begins. A single call would be over sooner (KVM-5): the unmount waits for a remount
 * that hangs. */
TEST_CALLED("kvm-KubeletManager-09", wait_for_unmount_times_out)
{
    g_autoptr(World) world = story_world(NULL, NULL);

    node_world_add_driver(world, TRUE, TRUE);
    story_add_volume(world, FALSE);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    const CsiModelledError slow[] = {
        {.method = CSI_NODE_PUBLISH_VOLUME,
         .code = CSI_INTERNAL,
         .probability = 1,
         .latency = world_constant(world, SECONDS(110))},
        {.method = CSI_NODE_UNPUBLISH_VOLUME,
         .code = CSI_INTERNAL,
         .probability = 1,
         .latency = world_constant(world, SECONDS(60)) },
    };
    csi_modelled_driver_set_errors(world->driver, slow, G_N_ELEMENTS(slow));
    story_change_pod(world, "changed");
    node_world_run_for(world, SECONDS(3));
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(122));
    const PodWorker *worker = node_world_kubelet(world)->workers->pdata[0];
    assert_int_equal(worker->step, WORKER_TERMINATED);
    unsigned n_failed = worker->n_retries;
    node_world_run_for(world, SECONDS(4));
    assert_int_equal(worker->n_retries, n_failed + 1);
    assert_null(worker->plan);
    node_world_run_for(world, SECONDS(15));
    assert_non_null(worker->plan);
    assert_non_null(node_world_pod(world, "p"));
}

static void
unattached(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->controller_capabilities &=
        (CsiControllerCapabilities)~CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME;
}

/* RACE-11, KVM-V8: while it is not bound each wait fails; the one that begins after that takes less
 * than a second. */
TEST_CALLED("kvm-KubeletManager-10", bound_while_the_pod_waits)
{
    SidecarWorldOptions options = {.seed = 7, .driver = unattached};
    g_autoptr(World) world = world_new(&options);
    SimTime published = 0;

    node_world_add_driver(world, FALSE, FALSE);
    node_world_add_unbound(world, "v");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(40));
    story_assert_event(world, "p", "PVC is not bound");
    const PodWorker *worker = node_world_kubelet(world)->workers->pdata[0];
    unsigned n_failed = worker->n_retries;
    assert_in_range(n_failed, 2, 4);
    node_world_bind(world, "v");
    while (worker->plan == NULL) /* the next wait */
        node_world_run_for(world, 10 * SIM_MS);
    SimTime begun = sim_now(world->sim);
    node_world_run_for(world, SECONDS(2));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(world_count(world, "NodePublishVolume", &published, NULL), 1);
    assert_true(published - begun < SIM_SECOND);
}

/* KVM-19: unattached are the attachable ones without an attachment, unprocessed those that desired
 * state does not have. */
TEST_CALLED("kvm-KubeletManager-11", a_wait_sorts_what_is_missing)
{
    static const CsiModelledError error = {
        .method = CSI_NODE_STAGE_VOLUME, .code = CSI_INTERNAL, .probability = 1};
    SidecarWorldOptions options = {.seed = 7};
    g_autoptr(World) world = world_new(&options);

    node_world_add_volume(world, "vol1", "csi");
    node_world_attach(world, "vol1", "a");
    node_world_add_volume(world, "vol2", "csi");
    node_world_add_volume(world, "vol02", "csi");
    node_world_add_volume(world, "vol3", "unheard-of");
    node_world_add_volume(world, "vol03", "unheard-of");
    csi_modelled_driver_set_errors(world->driver, &error, 1);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "vol1 vol2 vol02 vol3 vol03");
    node_world_run_for(world, SIM_SECOND);
    story_assert_event(world, "p",
                       "unattached volumes=[vol02 vol1 vol2], "
                       "failed to process volumes=[vol03 vol3]: ");
    node_world_run_for(world,
                       SECONDS(30)); /* by now vol1 is attached, as far as the kubelet knows */
    story_assert_event(world, "p",
                       "unmounted volumes=[vol02 vol03 vol1 vol2 vol3], unattached "
                       "volumes=[vol02 vol2], failed to process volumes=[vol03 vol3]: ");
    assert_false(pod_is_ready(node_world_pod(world, "p")));
}

/* ---- The populator ---- */

/* Whether the volume was desired at some moment of @time. */
static gboolean
is_desired_within(World *world, SimTime time)
{
    SimTime end = sim_now(world->sim) + time;

    while (sim_now(world->sim) < end) {
        node_world_run_for(world, 5 * SIM_MS);
        if (node_world_kubelet(world) != NULL && is_desired(world))
            return TRUE;
    }
    return FALSE;
}

/* KVM-23: before the first complete pass all count that may still have containers. */
TEST_CALLED("kvm-KubeletPopulator-01", first_pass_skips_what_is_removed)
{
    g_autoptr(World) world = story_world_with_pod(NULL, NULL);

    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_set_failed(world, "p");
    node_world_delete_pod(world, "p", FALSE);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    assert_false(is_desired_within(world, SECONDS(30)));
    story_assert_calls(world, "NodeUnstageVolume", 1);
}

TEST_CALLED("kvm-KubeletPopulator-02", first_pass_takes_what_terminates)
{
    g_autoptr(World) world = story_world_with_pod("containerStop", "5s");

    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_delete_pod(world, "p", FALSE);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    assert_true(is_desired_within(world, SECONDS(3)));
    node_world_run_for(world, SECONDS(30));
    assert_null(node_world_pod(world, "p"));
}

TEST_CALLED("kvm-KubeletPopulator-04", later_passes_skip_what_terminates)
{
    g_autoptr(World) world = story_world_with_volume(NULL, NULL);

    node_world_add_pod(world, "p", "a", "v");
    node_world_delete_pod(world, "p", FALSE);
    assert_false(is_desired_within(world, SECONDS(30)));
    story_assert_calls(world, "GET PersistentVolumeClaim", 0);
}

TEST_CALLED("kvm-KubeletPopulator-06", later_passes_take_what_runs)
{
    g_autoptr(World) world = story_world_with_volume(NULL, NULL);

    node_world_add_pod(world, "p", "a", "v");
    assert_true(is_desired_within(world, SIM_SECOND));
}

static gboolean
unprotect(Object *object, const void *finalizer)
{
    return object_remove_finalizer(object, finalizer);
}

static void
lose_volume(World *world)
{
    world_edit(world, KIND_VOLUME, "v", unprotect,
               world_intern(world, "kubernetes.io/pv-protection"));
    world_delete(world, KIND_VOLUME, "v");
    assert_null(world_get(world, KIND_VOLUME, "v"));
}

/* KVM-23: read once for each sync, not in each pass; what is desired stays so. */
TEST_CALLED("kvm-KubeletPopulator-07", an_error_is_met_once_a_sync)
{
    g_autoptr(World) world = story_world_with_pod(NULL, NULL);

    lose_volume(world);
    g_free(world_take_log(world));
    story_change_pod(world, "changed");
    node_world_run_for(world, SECONDS(5));
    story_assert_calls(world, "GET PersistentVolumeClaim", 1);
    story_assert_calls(world, "GET PersistentVolume 404", 1);
    assert_true(is_desired(world));
    story_change_pod(world, "again"); /* the next sync tells what this one has found */
    node_world_run_for(world, SECONDS(5));
    story_assert_event(world, "p", "failed to fetch PV v from API server");
    story_assert_calls(world, "GET PersistentVolumeClaim", 2);
    assert_true(is_desired(world));
    story_assert_calls(world, "NodeUnpublishVolume", 0);
}

TEST_CALLED("kvm-KubeletPopulator-08", what_cannot_be_read_is_not_desired)
{
    g_autoptr(World) world = story_world(NULL, NULL);

    node_world_add_unbound(world, "v");
    node_world_bind(world, "v");
    const Object *kept = object_ref(world_get(world, KIND_VOLUME, "v"));
    lose_volume(world);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(2));
    story_assert_event(world, "p", "failed to fetch PV v from API server");
    assert_false(is_desired(world));
    world_create(world, object_edit_as(kept, world_key(world, KIND_VOLUME, "v")));
    object_unref(kept);
    node_world_attach(world, "v", "a");
    node_world_run_for(world,
                       SECONDS(40)); /* it was not taken for done: the next sync reads it again */
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

/* KVM-27: desired as long as containers run, whatever the API says of the pod. */
TEST_CALLED("kvm-KubeletPopulator-09", desired_until_the_runtime_is_removed)
{
    g_autoptr(World) world = story_world_with_pod("containerStop", "5s");

    node_world_delete_pod(world, "p", TRUE);
    node_world_run_for(world, SECONDS(4));
    assert_null(node_world_pod(world, "p"));
    assert_true(is_desired(world));
    node_world_run_for(world, SECONDS(2));
    assert_false(is_desired(world));
    node_world_run_for(world, SECONDS(30));
    assert_int_equal(node_world_kubelet(world)->workers->len, 0);
    assert_int_equal(node_world_kubelet(world)->volume_manager->unprocessed->len, 0);
}

TEST_CALLED("kvm-KubeletPopulator-10", desired_while_a_failed_pod_is_listed)
{
    g_autoptr(World) world = story_world_with_pod("containerStop", "5s");

    node_world_set_failed(world, "p");
    node_world_run_for(world, SECONDS(4));
    assert_true(is_desired(world));
    node_world_run_for(world, SECONDS(3));
    assert_false(is_desired(world));
    assert_non_null(node_world_pod(world, "p"));
}

/* KVM-27: found by the next pass; then it is in use no longer. */
TEST_CALLED("kvm-KubeletPopulator-12", driver_becomes_unattachable)
{
    g_autoptr(World) world = story_world(NULL, NULL);

    node_world_add_driver(world, TRUE, FALSE);
    story_add_volume(world, FALSE);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    node_world_assert_in_use(world, UNIQUE_V);
    world_delete(world, KIND_CSI_DRIVER, WORLD_DRIVER);
    node_world_add_driver(world, FALSE, FALSE);
    node_world_run_for(world, 110 * SIM_MS);
    assert_true(is_desired(world));
    assert_false(story_volume(world)->attachable);
    node_world_run_for(world, SECONDS(11));
    node_world_assert_in_use(world, "");
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

typedef enum {
    USUAL,
    READ_ONLY,
    EPHEMERAL,
    BLOCK,
} StoriesUse;

typedef struct {
    const char *id;
    int64_t new_size;
    StoriesUse use;
    gboolean grows;
} SizeStory;

/* KVM-26: what the pod's next sync finds. */
static const SizeStory size_stories[] = {
    {"kvm-KubeletPopulator-14", GI(1), USUAL,     FALSE},
    {"kvm-KubeletPopulator-15", GI(2), READ_ONLY, FALSE},
    {"a volume grows",          GI(2), USUAL,     TRUE },
    {"a block volume grows",    GI(2), BLOCK,     TRUE },
    {"kvm-KubeletPopulator-19", GI(2), EPHEMERAL, TRUE },
};

static void
add_size_story_pod(World *world, StoriesUse use, const char *volume)
{
    if (use == BLOCK)
        node_world_add_block_volume(world, volume);
    else
        node_world_add_volume(world, volume, "csi");
    node_world_attach(world, volume, "a");
    node_world_start(world);
    if (use == READ_ONLY)
        node_world_add_reading_pod(world, "p", "a", volume);
    else if (use == EPHEMERAL)
        node_world_add_ephemeral_pod(world, "p", "a", "v");
    else
        node_world_add_pod(world, "p", "a", volume);
}

static void
size_story_holds(void **state)
{
    const SizeStory *story = *state;
    g_autoptr(World) world = story_world(NULL, NULL);
    const char *volume = story->use == EPHEMERAL ? "p-v" : "v";

    add_size_story_pod(world, story->use, volume);
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    story_grow_volume(world, volume, story->new_size);
    story_change_pod(world, "changed");
    node_world_run_for(world, SECONDS(2));
    assert_int_equal(volume_expansion_is_due(story_volume(world)) &&
                         !story_volume(world)->mounts->spec->read_only,
                     story->grows);
    assert_int_equal(world_count(world, "NodeExpandVolume OUT_OF_RANGE", NULL, NULL) > 0,
                     story->grows); /* the device has not grown here */
}
TEST_ROWS(size_stories, size_story_holds);
