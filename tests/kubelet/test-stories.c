/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "models/kubelet/operation-executor.h"
#include "models/kubelet/pod-worker.h"
#include "node-world.h"

/* Stories of Kubernetes' own tests of the volume manager, retold with a whole kubelet: what those
 * tests do to a part of it by hand, pods, drivers and nodes do here. Each bears the id of the
 * recorded story. */

#define SECONDS(n) ((n)*SIM_SECOND)
#define GI(n) ((int64_t)(n) << 30)
#define UNIQUE_V "kubernetes.io/csi/" WORLD_DRIVER "^v"

static void
run_for(World *world, SimTime time)
{
    node_world_run_until(world, sim_now(world->sim) + time);
}

static Kubelet *
kubelet_of(World *world)
{
    return cluster_model(world->cluster, &kubelet_class, "a");
}

/* Returns: (borrowed): the only volume of the node; NULL: there is none */
static NodeVolume *
the_volume(World *world)
{
    const Kubelet *kubelet = kubelet_of(world);

    assert_true(kubelet->volumes == NULL || kubelet->volumes->len <= 1);
    return kubelet->volumes == NULL || kubelet->volumes->len == 0 ? NULL
                                                                  : kubelet->volumes->pdata[0];
}

static gboolean
is_desired(World *world)
{
    const NodeVolume *volume = the_volume(world);

    return volume != NULL && volume->n_desired > 0;
}

static void
assert_calls(World *world, const char *what, unsigned n)
{
    assert_int_equal(world_count(world, what, NULL, NULL), n);
}

static void
assert_in_use(World *world, const char *expected)
{
    g_autofree char *in_use = node_world_in_use(world);

    assert_string_equal(in_use, expected);
}

static void
assert_event(World *world, const char *pod, const char *text)
{
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, pod));

    if (strstr(events, text) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", text, events);
}

static void
add_volume(World *world, gboolean block)
{
    if (block)
        node_world_add_block_volume(world, "v");
    else
        node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
}

static World *
world_with_flag(const char *flag, const char *value)
{
    WorldOptions options = {.seed = 7, .flag = flag, .value = value};

    return world_new(&options);
}

/* Volume "v" is attached to node "a", whose kubelet runs. */
static World *
world_with_volume(const char *flag, const char *value)
{
    World *world = world_with_flag(flag, value);

    add_volume(world, FALSE);
    node_world_start(world);
    return world;
}

/* ... and pod "p" uses it. */
static World *
world_with_running_pod(const char *flag, const char *value)
{
    World *world = world_with_volume(flag, value);

    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    return world;
}

static void
restart_kubelet(World *world)
{
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
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

static gboolean
grow(Object *object, const void *bytes)
{
    VOLUME(object)->capacity_bytes = *(const int64_t *)bytes;
    return TRUE;
}

static void
grow_volume(World *world, const char *name, int64_t bytes)
{
    world_edit(world, KIND_VOLUME, name, grow, &bytes);
}

static void
error_story_holds(void **state)
{
    const ErrorStory *story = *state;
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    node_world_add_driver(world, TRUE, story->when == REMOUNT);
    add_volume(world, story->block);
    if (story->has_grown)
        grow_volume(world, "v", GI(10));
    if (story->when != REMOUNT)
        fail_as(world, story);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    if (story->when == REMOUNT) {
        assert_true(pod_is_ready(node_world_pod(world, "p")));
        fail_as(world, story);
        run_for(world, SECONDS(100));
        assert_true(pod_is_ready(node_world_pod(world, "p")));
    }
    assert_int_equal(the_volume(world)->device, story->device);
    assert_int_equal(the_volume(world)->mounts->state, story->mount);

    node_world_delete_pod(world, "p", FALSE);
    run_for(world, 5 * SIM_MINUTE);
    assert_in_use(world, "");
    assert_calls(world, "NodeUnstageVolume", story->n_unstaged);
    assert_calls(world, "NodeUnpublishVolume", story->n_unpublished);
}

/* ---- The wait for volumes ---- */

static void
mounted_and_in_use(void **state)
{
    g_autoptr(World) world = world_with_running_pod(NULL, NULL);
    unsigned n = 0;

    (void)state;
    for (const PodMount *mount = the_volume(world)->mounts; mount != NULL; mount = mount->next)
        n += mount->state == MOUNT_DONE;
    assert_int_equal(n, 1);
    assert_in_use(world, UNIQUE_V);
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

static gboolean
annotate(Object *object, const void *value)
{
    return object_set_annotation(object, "pv.beta.kubernetes.io/gid", value);
}

static void
group_story_holds(void **state)
{
    const GroupStory *story = *state;
    g_autoptr(World) world = world_with_volume(NULL, NULL);
    unsigned n_published = 0;

    csi_driver_add_observer(csi_modelled_driver_base(world->driver),
                            &(CsiObserver){.started = no_group, .data = &n_published});
    world_edit(world, KIND_VOLUME, "v", annotate, world_intern(world, story->group));
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(n_published, 1);
}

static void
wait_for_unmount_succeeds(void **state)
{
    g_autoptr(World) world = world_with_running_pod(NULL, NULL);

    (void)state;
    node_world_delete_pod(world, "p", FALSE);
    run_for(world, SECONDS(5));
    assert_null(node_world_pod(world, "p"));
    assert_calls(world, "NodeUnpublishVolume", 1);
}

static gboolean
set_label(Object *object, const void *value)
{
    return object_set_label(object, value, value);
}

/* So it is synced. */
static void
change_pod(World *world, const char *label)
{
    world_edit(world, KIND_POD, "p", set_label, world_intern(world, label));
}

/* KVM-3, KVM-49: after 2 min 3 s the wait is over, the pod still there, and 10 to 15 s later the
 * next wait begins. A single call would be over sooner (KVM-5): the unmount waits for a remount
 * that hangs. */
static void
wait_for_unmount_times_out(void **state)
{
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    (void)state;
    node_world_add_driver(world, TRUE, TRUE);
    add_volume(world, FALSE);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
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
    change_pod(world, "changed");
    run_for(world, SECONDS(3));
    node_world_delete_pod(world, "p", FALSE);
    run_for(world, SECONDS(122));
    const PodWorker *worker = kubelet_of(world)->workers->pdata[0];
    assert_int_equal(worker->step, WORKER_TERMINATED);
    unsigned n_failed = worker->n_retries;
    run_for(world, SECONDS(4));
    assert_int_equal(worker->n_retries, n_failed + 1);
    assert_null(worker->plan);
    run_for(world, SECONDS(15));
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
static void
bound_while_the_pod_waits(void **state)
{
    WorldOptions options = {.seed = 7, .driver = unattached};
    g_autoptr(World) world = world_new(&options);
    SimTime published = 0;

    (void)state;
    node_world_add_driver(world, FALSE, FALSE);
    node_world_add_unbound(world, "v");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(40));
    assert_event(world, "p", "PVC is not bound");
    const PodWorker *worker = kubelet_of(world)->workers->pdata[0];
    unsigned n_failed = worker->n_retries;
    assert_in_range(n_failed, 2, 4);
    node_world_bind(world, "v");
    while (worker->plan == NULL) /* the next wait */
        run_for(world, 10 * SIM_MS);
    SimTime begun = sim_now(world->sim);
    run_for(world, SECONDS(2));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(world_count(world, "NodePublishVolume", &published, NULL), 1);
    assert_true(published - begun < SIM_SECOND);
}

/* KVM-19: unattached are the attachable ones without an attachment, unprocessed those that desired
 * state does not have. */
static void
a_wait_sorts_what_is_missing(void **state)
{
    static const CsiModelledError error = {
        .method = CSI_NODE_STAGE_VOLUME, .code = CSI_INTERNAL, .probability = 1};
    WorldOptions options = {.seed = 7};
    g_autoptr(World) world = world_new(&options);

    (void)state;
    node_world_add_volume(world, "vol1", "csi");
    node_world_attach(world, "vol1", "a");
    node_world_add_volume(world, "vol2", "csi");
    node_world_add_volume(world, "vol02", "csi");
    node_world_add_volume(world, "vol3", "unheard-of");
    node_world_add_volume(world, "vol03", "unheard-of");
    csi_modelled_driver_set_errors(world->driver, &error, 1);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "vol1 vol2 vol02 vol3 vol03");
    run_for(world, SIM_SECOND);
    assert_event(world, "p",
                 "unattached volumes=[vol02 vol1 vol2], "
                 "failed to process volumes=[vol03 vol3]: ");
    run_for(world, SECONDS(30)); /* by now vol1 is attached, as far as the kubelet knows */
    assert_event(world, "p",
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
        run_for(world, 5 * SIM_MS);
        if (kubelet_of(world) != NULL && is_desired(world))
            return TRUE;
    }
    return FALSE;
}

/* KVM-23: before the first complete pass all count that may still have containers. */
static void
first_pass_skips_what_is_removed(void **state)
{
    g_autoptr(World) world = world_with_running_pod(NULL, NULL);

    (void)state;
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_set_failed(world, "p");
    node_world_delete_pod(world, "p", FALSE);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    assert_false(is_desired_within(world, SECONDS(30)));
    assert_calls(world, "NodeUnstageVolume", 1);
}

static void
first_pass_takes_what_terminates(void **state)
{
    g_autoptr(World) world = world_with_running_pod("containerStop", "5s");

    (void)state;
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_delete_pod(world, "p", FALSE);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    assert_true(is_desired_within(world, SECONDS(3)));
    run_for(world, SECONDS(30));
    assert_null(node_world_pod(world, "p"));
}

static void
later_passes_skip_what_terminates(void **state)
{
    g_autoptr(World) world = world_with_volume(NULL, NULL);

    (void)state;
    node_world_add_pod(world, "p", "a", "v");
    node_world_delete_pod(world, "p", FALSE);
    assert_false(is_desired_within(world, SECONDS(30)));
    assert_calls(world, "GET PersistentVolumeClaim", 0);
}

static void
later_passes_take_what_runs(void **state)
{
    g_autoptr(World) world = world_with_volume(NULL, NULL);

    (void)state;
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
static void
an_error_is_met_once_a_sync(void **state)
{
    g_autoptr(World) world = world_with_running_pod(NULL, NULL);

    (void)state;
    lose_volume(world);
    g_free(world_take_log(world));
    change_pod(world, "changed");
    run_for(world, SECONDS(5));
    assert_calls(world, "GET PersistentVolumeClaim", 1);
    assert_calls(world, "GET PersistentVolume 404", 1);
    assert_true(is_desired(world));
    change_pod(world, "again"); /* the next sync tells what this one has found */
    run_for(world, SECONDS(5));
    assert_event(world, "p", "failed to fetch PV v from API server");
    assert_calls(world, "GET PersistentVolumeClaim", 2);
    assert_true(is_desired(world));
    assert_calls(world, "NodeUnpublishVolume", 0);
}

static void
what_cannot_be_read_is_not_desired(void **state)
{
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    (void)state;
    node_world_add_unbound(world, "v");
    node_world_bind(world, "v");
    const Object *kept = object_ref(world_get(world, KIND_VOLUME, "v"));
    lose_volume(world);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(2));
    assert_event(world, "p", "failed to fetch PV v from API server");
    assert_false(is_desired(world));
    world_create(world, object_edit_as(kept, world_key(world, KIND_VOLUME, "v")));
    object_unref(kept);
    node_world_attach(world, "v", "a");
    run_for(world, SECONDS(40)); /* it was not taken for done: the next sync reads it again */
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

/* KVM-27: desired as long as containers run, whatever the API says of the pod. */
static void
desired_until_the_runtime_is_removed(void **state)
{
    g_autoptr(World) world = world_with_running_pod("containerStop", "5s");

    (void)state;
    node_world_delete_pod(world, "p", TRUE);
    run_for(world, SECONDS(4));
    assert_null(node_world_pod(world, "p"));
    assert_true(is_desired(world));
    run_for(world, SECONDS(2));
    assert_false(is_desired(world));
    run_for(world, SECONDS(30));
    assert_int_equal(kubelet_of(world)->workers->len, 0);
    assert_int_equal(kubelet_of(world)->unprocessed->len, 0);
}

static void
desired_while_a_failed_pod_is_listed(void **state)
{
    g_autoptr(World) world = world_with_running_pod("containerStop", "5s");

    (void)state;
    node_world_set_failed(world, "p");
    run_for(world, SECONDS(4));
    assert_true(is_desired(world));
    run_for(world, SECONDS(3));
    assert_false(is_desired(world));
    assert_non_null(node_world_pod(world, "p"));
}

/* KVM-27: found by the next pass; then it is in use no longer. */
static void
driver_becomes_unattachable(void **state)
{
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    (void)state;
    node_world_add_driver(world, TRUE, FALSE);
    add_volume(world, FALSE);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    assert_in_use(world, UNIQUE_V);
    world_delete(world, KIND_CSI_DRIVER, WORLD_DRIVER);
    node_world_add_driver(world, FALSE, FALSE);
    run_for(world, 110 * SIM_MS);
    assert_true(is_desired(world));
    assert_false(the_volume(world)->attachable);
    run_for(world, SECONDS(11));
    assert_in_use(world, "");
    assert_true(pod_is_ready(node_world_pod(world, "p")));
}

typedef enum {
    USUAL,
    READ_ONLY,
    EPHEMERAL,
    BLOCK,
} Use;

typedef struct {
    const char *id;
    int64_t new_size;
    Use use;
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
add_size_story_pod(World *world, Use use, const char *volume)
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
    g_autoptr(World) world = world_with_flag(NULL, NULL);
    const char *volume = story->use == EPHEMERAL ? "p-v" : "v";

    add_size_story_pod(world, story->use, volume);
    run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    grow_volume(world, volume, story->new_size);
    change_pod(world, "changed");
    run_for(world, SECONDS(2));
    assert_int_equal(volume_expansion_is_due(the_volume(world)) &&
                         !the_volume(world)->mounts->spec->read_only,
                     story->grows);
    assert_int_equal(world_count(world, "NodeExpandVolume OUT_OF_RANGE", NULL, NULL) > 0,
                     story->grows); /* the device has not grown here */
}

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
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    add_volume(world, story->block);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    if (story->is_removed)
        node_world_delete_pod(world, "p", FALSE);
    run_for(world, SECONDS(20));
    assert_calls(world, "NodeStageVolume", 1);
    assert_calls(world, "NodePublishVolume", 1);
    assert_calls(world, "NodeUnpublishVolume", story->is_removed);
    assert_calls(world, "NodeUnstageVolume", story->is_removed);
    assert_calls(world, "GET VolumeAttachment", 3); /* KVM-46: WaitForAttach, MountDevice, SetUp */
    assert_calls(world, "CREATE VolumeAttachment", 0);
    assert_calls(world, "DELETE VolumeAttachment", 0);
    assert_calls(world, "ControllerPublishVolume", 0);
}

/* Steps of plans, by their rules: what a plugin that is no CSI driver has to do leaves no other
 * trace. */
typedef struct {
    unsigned n_attached, n_staged, n_published, n_unpublished, n_unstaged, n_detached;
    gboolean is_way_back;
} Steps;

static void
count_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    Steps *steps = data;

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
    g_autoptr(World) world = world_with_flag("enableControllerAttachDetach", "false");
    Steps steps = {0};

    cluster_observe_plans(world->cluster, count_step, &steps);
    node_world_add_other_volume(world, "v", plugin, block);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_event(world, "p",
                 "SuccessfulAttachVolume x1: AttachVolume.Attach succeeded for volume "
                 "\"v\" ");
    steps.is_way_back = TRUE;
    if (is_removed)
        node_world_delete_pod(world, "p", FALSE);
    run_for(world, SECONDS(20));
    assert_int_equal(steps.n_attached, 1);
    assert_int_equal(steps.n_staged, 1);
    assert_int_equal(steps.n_published, 1);
    assert_int_equal(steps.n_unpublished, is_removed);
    assert_int_equal(steps.n_unstaged, is_removed);
    assert_int_equal(steps.n_detached, is_removed);
    if (is_removed)
        assert_in_use(world, "");
}

static void
full_life_by_the_kubelet(void **state)
{
    (void)state;
    kubelet_attaches(FALSE, "flexVolume", TRUE);
}

static void
kubelet_attaches_and_maps(void **state)
{
    (void)state;
    kubelet_attaches(TRUE, "iscsi", FALSE);
}

static void
slow_unstage(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_UNSTAGE_VOLUME] = world_constant(world, SECONDS(5));
}

/* What is attached stays so: the Node says that, and is asked by nobody in between. */
static void
wanted_again_while_it_is_unstaged(void **state)
{
    WorldOptions options = {.seed = 7, .driver = slow_unstage};
    g_autoptr(World) world = world_new(&options);

    (void)state;
    add_volume(world, FALSE);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    node_world_delete_pod(world, "p", FALSE);
    run_for(world, SECONDS(3));
    assert_int_equal(csi_driver_in_flight(csi_modelled_driver_base(world->driver)), 1);
    node_world_add_pod(world, "q", "a", "v");
    run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "q")));
    assert_calls(world, "NodeUnstageVolume", 1);
    assert_calls(world, "NodeStageVolume", 2);
    assert_in_use(world, UNIQUE_V);
}

/* ---- After a restart ---- */

/* KVM-62: a volume whose directory cannot be made sense of; pod "p" is gone, or there. */
static void
directory_is_spoilt(gboolean is_wanted, unsigned n_tries)
{
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    node_world_add_volume(world, "v", "local");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    void **disk = kubelet_of(world)->base.disk;
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    reconstruct_spoil(*disk);
    if (!is_wanted)
        node_world_delete_pod(world, "p", TRUE);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    run_for(world, SECONDS(20));
    assert_int_equal(kubelet_of(world)->n_cleaned_up, n_tries);
    assert_int_equal(((GPtrArray *)*disk)->len, is_wanted);
    if (is_wanted)
        assert_true(pod_is_ready(node_world_pod(world, "p")));
}

static void
spoilt_and_wanted(void **state)
{
    (void)state;
    directory_is_spoilt(TRUE, 0);
}

static void
spoilt_and_not_wanted(void **state)
{
    (void)state;
    directory_is_spoilt(FALSE, 1);
}

/* KVM-61: another kubelet may have mounted it, so a final error settles nothing. */
static void
found_again_and_fails(gboolean block)
{
    static const CsiModelledError error = {
        .method = CSI_NODE_PUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 1};
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    add_volume(world, block);
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    csi_modelled_driver_set_errors(world->driver, &error, 1);
    const char *staging = the_volume(world)->staging_path;
    restart_kubelet(world);
    run_for(world, SECONDS(5));
    assert_true(world_count(world, "NodePublishVolume INTERNAL", NULL, NULL) > 0);
    assert_int_equal(the_volume(world)->mounts->state, MOUNT_UNCERTAIN);
    assert_string_equal(the_volume(world)->staging_path, staging);
    assert_calls(world, "NodeUnpublishVolume", 0);
    assert_calls(world, "NodeUnstageVolume", 0);
}

static void
found_again_and_set_up_fails(void **state)
{
    (void)state;
    found_again_and_fails(FALSE);
}

static void
found_again_and_map_fails(void **state)
{
    (void)state;
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

static void
grows_in_use(void **state)
{
    g_autoptr(World) world = world_with_running_pod(NULL, NULL);

    (void)state;
    grow_device(world, GI(15));
    grow_volume(world, "v", GI(15));
    change_pod(world, "changed");
    while (!volume_expansion_is_due(the_volume(world)))
        run_for(world, SIM_MS);
    run_for(world, SECONDS(2));
    assert_false(volume_expansion_is_due(the_volume(world)));
    assert_int_equal(the_volume(world)->actual_bytes, GI(15));
    assert_calls(world, "NodeExpandVolume", 1);
    assert_int_equal(the_volume(world)->mounts->state, MOUNT_DONE);
}

/* KVM-56: the driver does not do that in use, and is not asked again. */
static void
does_not_grow_in_use(void **state)
{
    static const CsiModelledError error = {
        .method = CSI_NODE_EXPAND_VOLUME, .code = CSI_FAILED_PRECONDITION, .probability = 1};
    g_autoptr(World) world = world_with_flag(NULL, NULL);

    (void)state;
    add_volume(world, FALSE);
    csi_modelled_driver_set_errors(world->driver, &error, 1);
    grow_device(world, GI(15));
    grow_volume(world, "v", GI(13));
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    unsigned n = world_count(world, "NodeExpandVolume FAILED_PRECONDITION", NULL, NULL);
    assert_int_equal(n, 1);
    grow_volume(world, "v", GI(15));
    run_for(world, 5 * SIM_MINUTE);
    assert_false(volume_expansion_is_due(the_volume(world)));
    assert_int_equal(world_count(world, "NodeExpandVolume FAILED_PRECONDITION", NULL, NULL), n);
}

/* ---- All ---- */

static const struct {
    const char *id;
    void (*tell)(void **state);
} stories[] = {
    {"kvm-KubeletManager-01",     mounted_and_in_use                  },
    {"kvm-KubeletManager-08",     wait_for_unmount_succeeds           },
    {"kvm-KubeletManager-09",     wait_for_unmount_times_out          },
    {"kvm-KubeletManager-10",     bound_while_the_pod_waits           },
    {"kvm-KubeletManager-11",     a_wait_sorts_what_is_missing        },
    {"kvm-KubeletPopulator-01",   first_pass_skips_what_is_removed    },
    {"kvm-KubeletPopulator-02",   first_pass_takes_what_terminates    },
    {"kvm-KubeletPopulator-04",   later_passes_skip_what_terminates   },
    {"kvm-KubeletPopulator-06",   later_passes_take_what_runs         },
    {"kvm-KubeletPopulator-07",   an_error_is_met_once_a_sync         },
    {"kvm-KubeletPopulator-08",   what_cannot_be_read_is_not_desired  },
    {"kvm-KubeletPopulator-09",   desired_until_the_runtime_is_removed},
    {"kvm-KubeletPopulator-10",   desired_while_a_failed_pod_is_listed},
    {"kvm-KubeletPopulator-12",   driver_becomes_unattachable         },
    {"kvm-KubeletReconciler-06",  full_life_by_the_kubelet            },
    {"kvm-KubeletReconciler-08",  kubelet_attaches_and_maps           },
    {"kvm-KubeletReconciler-12",  wanted_again_while_it_is_unstaged   },
    {"kvm-KubeletReconstruct-03", spoilt_and_wanted                   },
    {"kvm-KubeletReconstruct-04", spoilt_and_not_wanted               },
    {"kvm-KubeletReconstruct-06", found_again_and_set_up_fails        },
    {"kvm-KubeletReconstruct-07", found_again_and_map_fails           },
    {"kvm-KubeletResize-01",      grows_in_use                        },
    {"kvm-KubeletResize-03",      does_not_grow_in_use                },
};

int
main(void)
{
    struct CMUnitTest tests[G_N_ELEMENTS(stories) + G_N_ELEMENTS(error_stories) +
                            G_N_ELEMENTS(group_stories) + G_N_ELEMENTS(size_stories) +
                            G_N_ELEMENTS(controller_stories)];
    unsigned n = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(stories); i++)
        tests[n++] = (struct CMUnitTest){.name = stories[i].id, .test_func = stories[i].tell};
#define ADD_TABLE(table, function)                                                                 \
    for (unsigned i = 0; i < G_N_ELEMENTS(table); i++)                                             \
    tests[n++] = (struct CMUnitTest){                                                              \
        .name = (table)[i].id, .test_func = (function), .initial_state = (void *)&(table)[i]}
    ADD_TABLE(error_stories, error_story_holds);
    ADD_TABLE(group_stories, group_story_holds);
    ADD_TABLE(size_stories, size_story_holds);
    ADD_TABLE(controller_stories, controller_story_holds);
    return _cmocka_run_group_tests("stories of the volume manager", tests, n, NULL, NULL);
}
