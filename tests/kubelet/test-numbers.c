/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/csi/modelled/modelled-test.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/volume-manager/operation-executor.h"
#include "node-world.h"
#include "tests/lib/test.h"

/* The volume manager's numbers: periods, time-outs, back-off, what is asked of the driver. */

#define SECONDS(n) ((n)*SIM_SECOND)
#define MS(n) ((n)*SIM_MS)

/* Volume "v" is attached to node "a", whose kubelet runs. */
static World *
world_with_volume(void (*driver)(World *world, CsiModelledOptions *options))
{
    SidecarWorldOptions options = {.seed = 7, .driver = driver};
    World *world = world_new(&options);

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    return world;
}

static World *
world_with_running_pod(void (*driver)(World *world, CsiModelledOptions *options))
{
    World *world = world_with_volume(driver);

    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    return world;
}

/* Instants of the first calls of a method, however answered. Returns: how many */
static unsigned
instants(World *world, const char *method, SimTime *at, unsigned n_max)
{
    unsigned n = 0;

    for (unsigned i = 0; i < world->log->len && n < n_max; i++) {
        const WorldEntry *entry = &g_array_index(world->log, WorldEntry, i);
        if (g_str_has_prefix(entry->what, method))
            at[n++] = entry->at;
    }
    return n;
}

/* ---- Passes ---- */

static void
count_verifications(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    SimTime *at = data;

    (void)plan;
    if (at[0] == 0 && g_strcmp0(rule, "KVM-36") == 0)
        at[0] = sim_now(component->sim);
    if (at[1] == 0 && g_strcmp0(rule, "KVM-41.4") == 0)
        at[1] = sim_now(component->sim);
    (void)step;
}

/* KVM-2, KVM-78: what one pass has verified the next mounts, 100 ms later. */
TEST(the_next_pass_mounts)
{
    SimTime at[2] = {0};
    g_autoptr(World) world = world_with_volume(NULL);

    cluster_observe_plans(world->cluster, count_verifications, at);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_int_equal(at[1] - at[0], MS(100));
}

/* KVM-28, KVM-34, KVM-37, KVM-38: desired state within 100 ms of the containers' end, and a pass
 * for each step down. */
TEST(three_passes_down)
{
    g_autoptr(World) world = world_with_running_pod(NULL);
    const Kubelet *kubelet = node_world_kubelet(world);
    SimTime unpublished = 0, unstaged = 0;

    const PodWorker *worker = kubelet->workers->pdata[0];
    node_world_delete_pod(world, "p", FALSE);
    while (!worker->stopped)
        node_world_run_for(world, SIM_MS);
    SimTime stopped = sim_now(world->sim);
    while (worker->mounts[0].desired)
        node_world_run_for(world, SIM_MS);
    assert_true(sim_now(world->sim) - stopped <= MS(101));
    node_world_run_for(world, SECONDS(1));
    world_count(world, "NodeUnpublishVolume", &unpublished, NULL);
    world_count(world, "NodeUnstageVolume", &unstaged, NULL);
    assert_true(unpublished - stopped <= MS(201));
    assert_int_equal(unstaged - unpublished, MS(100));
    assert_int_equal(kubelet->volume_manager->volumes->len, 0); /* dropped 100 ms after that */
}

static void
slow_node_calls(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_PUBLISH_VOLUME] = world_constant(world, SECONDS(1));
    options->latency[CSI_NODE_UNPUBLISH_VOLUME] = world_constant(world, SECONDS(1));
    options->lock = CSI_LOCK_NONE;
}

/* KVM-39, KVM-40: mounts of one volume follow each other, unmounts from different pods do not wait.
 */
TEST(mounts_in_series_unmounts_in_parallel)
{
    SimTime published[3], unpublished[3];
    g_autoptr(World) world = world_with_volume(slow_node_calls);

    node_world_add_pod(world, "p", "a", "v");
    node_world_add_pod(world, "q", "a", "v");
    node_world_add_pod(world, "r", "a", "v");
    node_world_run_for(world, SECONDS(30));
    assert_int_equal(instants(world, "NodePublishVolume", published, 3), 3);
    assert_true(published[1] - published[0] >= SECONDS(1));
    assert_true(published[2] - published[1] >= SECONDS(1));
    node_world_delete_pod(world, "p", FALSE);
    node_world_delete_pod(world, "q", FALSE);
    node_world_delete_pod(world, "r", FALSE);
    node_world_run_for(world, SECONDS(30));
    assert_int_equal(instants(world, "NodeUnpublishVolume", unpublished, 3), 3);
    assert_int_equal(unpublished[1], unpublished[0]);
    assert_int_equal(unpublished[2], unpublished[0]);
    assert_int_equal(world_count(world, "NodeUnstageVolume", NULL, NULL), 1);
}

/* ---- Time-outs and back-off ---- */

static void
publish_hangs(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_PUBLISH_VOLUME] = world_constant(world, SIM_HOUR);
    options->lock = CSI_LOCK_NONE; /* else the second call is ABORTED while the first goes on */
}

/* KVM-5, KVM-V7: the call ends after 2 min, and is told; the pod's waits end without a word
 * (KVM-20). */
TEST(a_publish_that_hangs)
{
    SimTime at[3];
    g_autoptr(World) world = world_with_volume(publish_hangs);

    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(400));
    assert_int_equal(instants(world, "NodePublishVolume DEADLINE_EXCEEDED", at, 3), 3);
    assert_in_range(at[1] - at[0], SECONDS(120) + MS(500), SECONDS(121));
    assert_in_range(at[2] - at[1], SECONDS(121), SECONDS(121) + MS(500));
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
    assert_string_equal(events, "FailedMount x3: MountVolume.SetUp failed for volume \"v\" : rpc "
                                "error: code = DeadlineExceeded desc = context deadline exceeded");
}

static void
many_calls_are_slow(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_GET_CAPABILITIES] = world_constant(world, SECONDS(30));
    options->latency[CSI_NODE_STAGE_VOLUME] = world_constant(world, SECONDS(20));
    options->latency[CSI_NODE_PUBLISH_VOLUME] = world_constant(world, SIM_HOUR);
    options->lock = CSI_LOCK_NONE;
}

/* KVM-5: what the three questions before a call take is lost to it; staging and publishing have 2
 * min each. */
TEST(calls_share_one_deadline)
{
    SimTime asked[4], staged = 0, published = 0;
    g_autoptr(World) world = world_with_volume(many_calls_are_slow);

    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(200));
    assert_int_equal(instants(world, "NodeGetCapabilities", asked, 4), 4);
    assert_int_equal(instants(world, "NodeStageVolume", &staged, 1), 1);
    assert_in_range(staged - asked[0], SECONDS(90), SECONDS(91));
    node_world_run_until(world, asked[3] + SECONDS(119));
    assert_int_equal(instants(world, "NodePublishVolume", &published, 1), 0);
    node_world_run_until(world, asked[3] + SECONDS(120));
    assert_int_equal(instants(world, "NodePublishVolume DEADLINE_EXCEEDED", &published, 1), 1);
    assert_in_range(published - asked[3], SECONDS(90), SECONDS(91));
}

static void
stage_always_fails(World *world, CsiModelledOptions *options)
{
    world->errors[0] =
        (CsiModelledError){.method = CSI_NODE_STAGE_VOLUME, .code = CSI_INTERNAL, .probability = 1};
    options->errors = world->errors;
    options->n_errors = 1;
}

/* KVM-6, OP-8: 0.5 s after the first failure, doubling up to 2 min 2 s, and the next pass. */
TEST(back_off_grows)
{
    SimTime at[13];
    SimTime expected = MS(500);
    g_autoptr(World) world = world_with_volume(stage_always_fails);

    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SIM_HOUR);
    assert_int_equal(instants(world, "NodeStageVolume", at, G_N_ELEMENTS(at)), G_N_ELEMENTS(at));
    for (unsigned i = 1; i < G_N_ELEMENTS(at); i++) {
        assert_int_equal(at[i] - at[i - 1], expected + MS(100));
        expected = MIN(2 * expected, SECONDS(122));
    }
}

static void
note_last_wait(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    SimTime *at = data;

    (void)plan, (void)step;
    if (*at == 0 && g_strcmp0(rule, "KVM-49") == 0)
        *at = sim_now(component->sim);
}

/* WL-92: a pod that goes waits until its volumes are unpublished, and looks every 300 ms. */
TEST(the_way_back_looks_every_300_ms)
{
    SimTime waits_from = 0;
    g_autoptr(World) world = world_with_running_pod(slow_node_calls);
    const GPtrArray *workers = node_world_kubelet(world)->workers;
    const PodWorker *worker = workers->pdata[0];

    cluster_observe_plans(world->cluster, note_last_wait, &waits_from);
    node_world_delete_pod(world, "p", FALSE);
    while (worker->mounts[0].state == MOUNT_DONE)
        node_world_run_for(world, SIM_MS);
    SimTime unpublished = sim_now(world->sim) - waits_from;
    while (workers->len > 0 && worker->step != WORKER_FINISHED) /* soon after that it is gone */
        node_world_run_for(world, SIM_MS);
    SimTime looked = sim_now(world->sim) - waits_from;
    assert_true(unpublished > MS(900));
    assert_in_range(looked, (unpublished + MS(299)) / MS(300) * MS(300),
                    (unpublished + MS(299)) / MS(300) * MS(300) + MS(2));
}

/* KVM-3, WL-92: the wait ends after 2 min 3 s, at the last look of each 300 ms, and the next begins
 * 10 to 15 s later (KVM-21). */
TEST(a_wait_takes_two_minutes_and_three_seconds)
{
    SidecarWorldOptions options = {.seed = 7};
    g_autoptr(World) world = world_new(&options);

    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(1));
    const PodWorker *worker = node_world_kubelet(world)->workers->pdata[0];
    node_world_run_for(world, SECONDS(121) + MS(900));
    assert_int_equal(worker->n_retries, 0);
    node_world_run_for(world, MS(400));
    assert_int_equal(worker->n_retries, 1);
    assert_null(worker->plan);
    node_world_run_for(world, MS(9600));
    assert_null(worker->plan);
    node_world_run_for(world, SECONDS(5));
    assert_non_null(worker->plan);
}

/* KVM-7, KVM-31: what a pod brings is reported in the next round, 10 to 10.43 s after the one
 * before. */
TEST(rounds_of_the_node_status)
{
    g_autoptr(World) world = world_with_volume(NULL);
    SimTime at[2];

    node_world_add_volume(world, "w", "csi");
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, MS(10430)); /* some round of it */
    assert_int_equal(instants(world, "PATCH_STATUS Node", at, 2), 1);
    node_world_add_pod(world, "q", "a", "w");
    node_world_run_for(world, MS(10430));
    assert_int_equal(instants(world, "PATCH_STATUS Node", at, 2), 2);
    assert_in_range(at[1] - at[0], SECONDS(10), MS(10430));
}

/* KVM-11 */
TEST(errors_of_a_pod)
{
    SidecarWorldOptions options = {.seed = 7};
    g_autoptr(World) world = world_new(&options);
    g_autoptr(GString) claims = g_string_new(NULL);

    for (unsigned i = 0; i < 14; i++) {
        g_autofree char *name = g_strdup_printf("u%02u", i);
        node_world_add_unbound(world, name);
        g_string_append_printf(claims, "%s%s", i == 0 ? "" : " ", name);
    }
    node_world_start(world);
    node_world_add_pod(world, "p", "a", claims->str);
    node_world_run_for(world, MS(299));
    const PodWorker *worker = node_world_kubelet(world)->workers->pdata[0];
    assert_int_equal(worker->errors->len, 11);
}

/* ---- What the driver is asked ---- */

typedef struct {
    const char *name;
    uint32_t modes;
    CsiAccessMode single, multi; /* without and with SINGLE_NODE_MULTI_WRITER */
} ModeCase;

static const ModeCase mode_cases[] = {
    {"KVM-44 RWO",  ACCESS_RWO,  CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_MULTI_WRITER },
    {"KVM-44 RWOP", ACCESS_RWOP, CSI_SINGLE_NODE_WRITER,      CSI_SINGLE_NODE_SINGLE_WRITER},
    {"KVM-44 ROX",  ACCESS_ROX,  CSI_MULTI_NODE_READER_ONLY,  CSI_MULTI_NODE_READER_ONLY   },
    {"KVM-44 RWX",  ACCESS_RWX,  CSI_MULTI_NODE_MULTI_WRITER, CSI_MULTI_NODE_MULTI_WRITER  },
};

typedef struct {
    CsiAccessMode staged, published;
    char *staging_path;
} NumbersAsked;

static void
note_modes(void *data, const CsiCallRecord *record)
{
    NumbersAsked *asked = data;
    const CsiRequest *request = record->request;

    if (request->method == CSI_NODE_STAGE_VOLUME) {
        asked->staged = request->capabilities[0].mode;
        g_free(asked->staging_path);
        asked->staging_path = g_strdup(request->staging_path);
    }
    if (request->method == CSI_NODE_PUBLISH_VOLUME)
        asked->published = request->capabilities[0].mode;
}

static void
one_writer_only(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->node_capabilities &= (CsiNodeCapabilities)~CSI_NODE_SINGLE_NODE_MULTI_WRITER;
}

static void
modes_asked_for(void **state)
{
    const ModeCase *mode = *state;

    for (unsigned multi = 0; multi <= 1; multi++) {
        SidecarWorldOptions options = {.seed = 7, .driver = multi ? NULL : one_writer_only};
        g_autoptr(World) world = world_new(&options);
        NumbersAsked asked = {0};
        csi_driver_add_observer(csi_modelled_driver_base(world->driver),
                                &(CsiObserver){.started = note_modes, .data = &asked});
        node_world_add_volume(world, "v", "csi");
        node_world_set_access_modes(world, "v", mode->modes);
        node_world_attach(world, "v", "a");
        node_world_start(world);
        node_world_add_pod(world, "p", "a", "v");
        node_world_run_for(world, SECONDS(20));
        assert_int_equal(asked.staged, multi ? mode->multi : mode->single);
        assert_int_equal(asked.published, multi ? mode->multi : mode->single);
        g_free(asked.staging_path);
    }
}
TEST_ROWS(mode_cases, modes_asked_for);

/* KVM-42, KVM-V1: SHA-256 of the handle, "v" here. */
TEST(where_it_is_staged)
{
    g_autoptr(World) world = world_with_volume(NULL);
    g_autofree char *sum = g_compute_checksum_for_string(G_CHECKSUM_SHA256, "vol-1", -1);
    NumbersAsked asked = {0};

    assert_string_equal(sum, "d2e8363faaac7ae76def3b14091d8eb5755f6b92e9531627aeec833a8731cc49");
    csi_driver_add_observer(csi_modelled_driver_base(world->driver),
                            &(CsiObserver){.started = note_modes, .data = &asked});
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_string_equal(asked.staging_path,
                        "/var/lib/kubelet/plugins/kubernetes.io/csi/" WORLD_DRIVER
                        "/4c94485e0c21ae6c41ce1dfe7b6bfaceea5ab68e40a2476f50208e526f506080/"
                        "globalmount");
    g_free(asked.staging_path);
}

/* KVM-46: what the first mount of a volume costs. */
TEST(cost_of_a_mount)
{
    g_autoptr(World) world = world_with_volume(NULL);

    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(12));
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    assert_int_equal(world_count(world, "GET VolumeAttachment", NULL, NULL), 3);
    assert_int_equal(world_count(world, "NodeGetCapabilities", NULL, NULL), 6);
    assert_int_equal(world_count(world, "GET Node", NULL, NULL), 1);
}

/* KVM-58: the same steps as a filesystem, and nothing is left. */
TEST(a_block_volume_goes)
{
    SidecarWorldOptions options = {.seed = 7};
    g_autoptr(World) world = world_new(&options);
    const char *volume = world_intern(world, "v"), *node = world_intern(world, "a");

    node_world_add_block_volume(world, "v");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(20));
    assert_int_equal(csi_modelled_driver_n_targets(world->driver, volume, node), 1);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(3));
    assert_int_equal(world_count(world, "NodeUnpublishVolume", NULL, NULL), 1);
    assert_int_equal(world_count(world, "NodeUnstageVolume", NULL, NULL), 1);
    assert_int_equal(csi_modelled_driver_n_targets(world->driver, volume, node), 0);
    assert_false(csi_modelled_driver_is_staged(world->driver, volume, node));
}

/* KVM-70: told at each try, by the back-off: 0.5, 1, 2, ... s. */
TEST(the_kubelet_cannot_attach)
{
    SidecarWorldOptions options = {
        .seed = 7, .flag = "enableControllerAttachDetach", .value = "false"};
    g_autoptr(World) world = world_new(&options);

    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(5)); /* tries at about 0.1, 0.7, 1.8 and 3.9 s */
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
    assert_string_equal(events,
                        "FailedAttachVolume x4: AttachVolume.Attach failed for volume \"v\" "
                        ": attaching volumes from the kubelet is not supported");
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(30));
    assert_null(node_world_pod(world, "p"));
}
