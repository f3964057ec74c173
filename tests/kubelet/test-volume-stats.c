/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/kubelet/pod-workers/pod-worker.h"
#include "node-world.h"
#include "tests/lib/same-log.h"
#include "tests/lib/test.h"

/* The kubelet asks drivers how full volumes are: when, and about which volumes. */

#define SECONDS(n) ((n)*SIM_SECOND)
#define PERIOD SECONDS(60)

/* What a driver was asked, in the order of the answers. */
typedef struct {
    GArray *started, *ended; /* of SimTime: NodeGetVolumeStats */
    GString *paths;          /* without the pod's part; joined by " " */
    unsigned n_begun, n_failed;
} Questions;

static void
note_begin(void *data, const CsiCallRecord *record)
{
    ((Questions *)data)->n_begun += record->request->method == CSI_NODE_GET_VOLUME_STATS;
}

static void
note_question(void *data, const CsiCallRecord *record)
{
    Questions *self = data;

    if (record->request->method != CSI_NODE_GET_VOLUME_STATS)
        return;
    assert_null(record->request->staging_path); /* CSP-21 */
    g_array_append_val(self->started, record->started_at);
    g_array_append_val(self->ended, record->answered_at);
    g_string_append_printf(self->paths, "%s ", record->request->target_path);
    self->n_failed += record->answer != CSI_OK;
}

static World *
volume_stats_new_world(const SidecarWorldOptions *options, Questions *questions)
{
    World *world = world_new(options);

    *questions = (Questions){
        .started = g_array_new(FALSE, FALSE, sizeof(SimTime)),
        .ended = g_array_new(FALSE, FALSE, sizeof(SimTime)),
        .paths = g_string_new(NULL),
    };
    CsiObserver observer = {.started = note_begin, .answered = note_question, .data = questions};
    csi_driver_add_observer(csi_modelled_driver_base(world->driver), &observer);
    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    return world;
}

static void
questions_clear(Questions *self)
{
    g_array_unref(self->started);
    g_array_unref(self->ended);
    g_string_free(self->paths, TRUE);
}

static SimTime
instant(const GArray *instants, unsigned i)
{
    return g_array_index(instants, SimTime, i);
}

static void
cannot_tell(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->node_capabilities &= (CsiNodeCapabilities)~CSI_NODE_GET_VOLUME_STATS_CAPABILITY;
}

/* KVM-9, CSP-20: without a period the driver is asked nothing once the pod runs; without the
 * capability it is asked for capabilities alone. */
TEST(nobody_asks)
{
    static const struct {
        const char *period;
        void (*driver)(World *world, CsiModelledOptions *options);
        unsigned least, most; /* questions for capabilities in two hours */
    } rows[] = {
        {"0s", NULL,        0,  0  },
        {"1m", cannot_tell, 60, 120},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        SidecarWorldOptions options = {.seed = 7,
                                       .driver = rows[i].driver,
                                       .flag = "volumeStatsAggPeriod",
                                       .value = rows[i].period};
        Questions questions;
        g_autoptr(World) world = volume_stats_new_world(&options, &questions);
        node_world_add_pod(world, "p", "a", "v");
        node_world_run_for(world, SECONDS(20));
        assert_true(pod_is_ready(node_world_pod(world, "p")));
        g_free(node_world_take_writes(world));
        node_world_run_for(world, 2 * SIM_HOUR);
        assert_in_range(world_count(world, "NodeGetCapabilities", NULL, NULL), rows[i].least,
                        rows[i].most);
        assert_int_equal(questions.started->len, 0);
        questions_clear(&questions);
    }
}

static void
takes_ten_seconds(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_GET_VOLUME_STATS] = world_constant(world, SECONDS(10));
}

static void
never_answers(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_GET_VOLUME_STATS] = world_constant(world, 24 * SIM_HOUR);
    options->lock = CSI_LOCK_NONE;
}

/* KVM-9, CSP-19: one to two periods from the end of a question to the next one, each time another;
 * a driver that does not answer is given up after 2 minutes. */
TEST(one_to_two_periods)
{
    static const struct {
        void (*driver)(World *world, CsiModelledOptions *options);
        SimTime takes;
        gboolean fails;
    } rows[] = {
        {NULL,              0,            FALSE},
        {takes_ten_seconds, SECONDS(10),  FALSE},
        {never_answers,     SECONDS(120), TRUE },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        SidecarWorldOptions options = {
            .seed = 7, .driver = rows[i].driver, .flag = "volumeStatsAggPeriod", .value = "60s"};
        Questions questions;
        g_autoptr(World) world = volume_stats_new_world(&options, &questions);
        SimTime shortest = SIM_TIME_MAX, longest = 0;
        node_world_add_pod(world, "p", "a", "v");
        node_world_run_for(world, 8 * SIM_HOUR);
        assert_true(questions.started->len > 80);
        assert_int_equal(questions.n_failed, rows[i].fails ? questions.started->len : 0);
        for (unsigned k = 1; k < questions.started->len; k++) {
            SimTime pause = instant(questions.started, k) - instant(questions.ended, k - 1);
            assert_in_range(pause, PERIOD, 2 * PERIOD);
            assert_int_equal(instant(questions.ended, k) - instant(questions.started, k),
                             rows[i].takes);
            shortest = MIN(shortest, pause);
            longest = MAX(longest, pause);
        }
        assert_true(shortest < PERIOD + PERIOD / 10 && longest > 2 * PERIOD - PERIOD / 10);
        questions_clear(&questions);
    }
}

/* KVM-9: the first question comes at the analyzer's next pass, in a node without pods too. */
TEST(the_analyzer_finds_new_pods)
{
    SidecarWorldOptions options = {.seed = 7, .flag = "volumeStatsAggPeriod", .value = "20m"};
    Questions questions;
    g_autoptr(World) world = volume_stats_new_world(&options, &questions);
    const Kubelet *kubelet = node_world_kubelet(world);
    SimTime step = 20 * SECONDS(60) + process_timing(kubelet->base.process)->loop_pass;
    SimTime phase = kubelet_draw_phase(kubelet, LOOP_VOLUME_STATS, step);

    node_world_run_until(world, phase + step + SECONDS(10)); /* it sleeps all the while */
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_until(world, phase + 2 * step + SECONDS(1));
    assert_int_equal(questions.started->len, 1);
    assert_int_equal(instant(questions.started, 0), phase + 2 * step);
    questions_clear(&questions);
}

/* KVM-72: file systems by their target path, devices by the pod's link; other plugins have no
 * driver. */
TEST(volumes_that_are_asked_about)
{
    SidecarWorldOptions options = {.seed = 7, .flag = "volumeStatsAggPeriod", .value = "1m"};
    Questions questions;
    g_autoptr(World) world = volume_stats_new_world(&options, &questions);
    char uid[OBJECT_UID_BUFFER];

    node_world_add_block_volume(world, "b");
    node_world_attach(world, "b", "a");
    node_world_add_other_volume(world, "l", "local", FALSE);
    node_world_add_pod_as(world, "q", "b", TRUE);
    node_world_add_pod(world, "p", "a", "v l");
    node_world_run_for(world, SECONDS(600));
    object_uid_format(world_get(world, KIND_POD, "p")->uid, uid);
    g_autofree char *mount =
        g_strdup_printf(KUBELET_DIR "/pods/%s/volumes/kubernetes.io~csi/v/mount ", uid);
    object_uid_format(world_get(world, KIND_POD, "q")->uid, uid);
    g_autofree char *device =
        g_strdup_printf(KUBELET_DIR "/plugins/kubernetes.io/csi/volumeDevices/b/dev/%s ", uid);
    assert_int_equal(questions.n_failed, 0);
    assert_non_null(strstr(questions.paths->str, mount));
    assert_non_null(strstr(questions.paths->str, device));
    g_auto(GStrv) of_mount = g_strsplit(questions.paths->str, mount, -1);
    g_auto(GStrv) of_device = g_strsplit(questions.paths->str, device, -1);
    assert_int_equal(g_strv_length(of_mount) - 1 + g_strv_length(of_device) - 1,
                     questions.started->len);
    questions_clear(&questions);
}

/* A pod that goes, even with a question under way, is not asked about again. */
TEST(a_pod_goes)
{
    SidecarWorldOptions options = {
        .seed = 7, .driver = takes_ten_seconds, .flag = "volumeStatsAggPeriod", .value = "1m"};
    Questions questions;
    g_autoptr(World) world = volume_stats_new_world(&options, &questions);

    node_world_add_pod(world, "p", "a", "v");
    while (questions.n_begun < 3)
        node_world_run_for(world, SIM_SECOND);
    assert_int_equal(questions.ended->len, 2);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SECONDS(5));
    assert_int_equal(node_world_kubelet(world)->workers->len, 0);
    node_world_run_for(world, SIM_HOUR);
    assert_int_equal(questions.n_begun, 3);
    assert_int_equal(questions.ended->len, 3);
    questions_clear(&questions);
}

/* A kubelet that dies takes its questions with it, even one under way. The next one asks from its
 * own start on: its first pass, at once, knows no pod yet. */
TEST(a_kubelet_dies)
{
    SidecarWorldOptions options = {
        .seed = 7, .driver = takes_ten_seconds, .flag = "volumeStatsAggPeriod", .value = "1m"};
    Questions questions;
    g_autoptr(World) world = volume_stats_new_world(&options, &questions);

    node_world_add_pod(world, "p", "a", "v");
    while (questions.n_begun < 2)
        node_world_run_for(world, SIM_SECOND);
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SIM_HOUR);
    assert_int_equal(questions.n_begun, 2);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SIM_SECOND);
    SimTime born_at = node_world_kubelet(world)->born_at;
    while (questions.n_begun < 3)
        node_world_run_for(world, SECONDS(1));
    assert_in_range(sim_now(world->sim) - born_at, PERIOD, PERIOD + SECONDS(2));
    questions_clear(&questions);
}

static char *
volume_stats_life(uint64_t seed, gboolean polling)
{
    SidecarWorldOptions options = {.seed = seed,
                                   .recorded_timing = TRUE,
                                   .polling = polling,
                                   .flag = "volumeStatsAggPeriod",
                                   .value = "10s"};
    Questions questions;
    g_autoptr(World) world = volume_stats_new_world(&options, &questions);

    node_world_run_until(world, SECONDS(100));
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_until(world, SECONDS(140));
    node_world_add_pod(world, "q", "a", "v");
    node_world_run_until(world, SECONDS(240));
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_until(world, SECONDS(300));
    assert_true(questions.started->len > 10);
    questions_clear(&questions);
    return node_world_log(world);
}

TEST(volume_stats_sleeping_equals_polling)
{
    assert_sleeping_equals_polling(volume_stats_life, 5, "");
}

static void
tells_condition(World *world, CsiModelledOptions *options)
{
    (void)world;
    options->node_capabilities |= CSI_NODE_VOLUME_CONDITION;
}

/* CSP-30, KVM-98: the condition counts with the gate alone, and if the driver has the capability;
 * the gate costs a question for capabilities each time. */
TEST(abnormal_volumes)
{
    static const struct {
        const char *gate;
        void (*driver)(World *world, CsiModelledOptions *options);
        gboolean abnormal, reported;
        unsigned questions; /* for capabilities, for each one about usage */
    } rows[] = {
        {NULL,              tells_condition, TRUE,  FALSE, 1},
        {"CSIVolumeHealth", NULL,            TRUE,  FALSE, 2},
        {"CSIVolumeHealth", tells_condition, FALSE, FALSE, 2},
        {"CSIVolumeHealth", tells_condition, TRUE,  TRUE,  2},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        SidecarWorldOptions options = {.seed = 7,
                                       .driver = rows[i].driver,
                                       .gate_on = rows[i].gate,
                                       .flag = "volumeStatsAggPeriod",
                                       .value = "1m"};
        Questions questions;
        g_autoptr(World) world = volume_stats_new_world(&options, &questions);
        node_world_add_pod(world, "p", "a", "v");
        node_world_run_for(world, SECONDS(200));
        g_free(node_world_take_writes(world));
        unsigned n_before = questions.started->len;
        assert_true(csi_modelled_driver_set_condition(world->driver, world_intern(world, "v"),
                                                      rows[i].abnormal, "torn"));
        node_world_run_for(world, SIM_HOUR);
        g_autofree char *events = world_events(world, world_key(world, KIND_POD, "p"));
        assert_int_equal(strstr(events, "VolumeConditionAbnormal") != NULL, rows[i].reported);
        assert_int_equal(strstr(events, ": Volume v: torn") != NULL, rows[i].reported);
        assert_int_equal(world_count(world, "NodeGetCapabilities", NULL, NULL),
                         rows[i].questions * (questions.started->len - n_before));
        questions_clear(&questions);
    }
}
