/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "node-world.h"
#include "tests/lib/test.h"

/* The waits of a pod's life over many seeds, against what was recorded (TIM-25, TIM-44 to TIM-51a),
 * with the driver and the API latencies of the recordings. Everything is computed, so the test has
 * one outcome. */

#define N_SEEDS 300
#define MS(ms) ((ms)*SIM_MS)
#define STAGE MS(300)
#define PUBLISH MS(50)
#define UNPUBLISH MS(50)
#define UNSTAGE MS(200)

#define BOUND_AT SIM_SECOND
#define ATTACHED_AT (3 * SIM_SECOND / 2)
#define DELETED_AT (30 * SIM_SECOND)
#define END_AT (60 * SIM_SECOND)

/* The instants of one life. */
typedef struct {
    SimTime told, in_use, staged, published, started, running, unpublished, unstaged, gone;
} QuantilesLife;

static void
recorded_driver(World *world, CsiModelledOptions *options)
{
    options->latency[CSI_NODE_STAGE_VOLUME] = world_constant(world, STAGE);
    options->latency[CSI_NODE_PUBLISH_VOLUME] = world_constant(world, PUBLISH);
    options->latency[CSI_NODE_UNPUBLISH_VOLUME] = world_constant(world, UNPUBLISH);
    options->latency[CSI_NODE_UNSTAGE_VOLUME] = world_constant(world, UNSTAGE);
}

static void
write_seen(void *data, const Object *before, const Object *after)
{
    QuantilesLife *life = ((void **)data)[0];
    World *world = ((void **)data)[1];
    SimTime now = sim_now(world->sim);
    ObjectKind kind = object_kind(after == NULL ? before : after);

    if (kind == KIND_POD && after == NULL)
        life->gone = now;
    else if (kind == KIND_POD && POD_CONST(after)->phase == POD_RUNNING && life->running == 0)
        life->running = now;
    else if (kind == KIND_NODE && ((const Node *)after)->volumes_in_use != NULL &&
             life->in_use == 0)
        life->in_use = now;
}

static SimTime
event_at(World *world, const char *reason)
{
    for (unsigned i = 0; i < api_server_n_events(world->api); i++) {
        const ApiEvent *event = api_server_event(world->api, i);
        if (event->count > 0 && strcmp(event->reason, reason) == 0)
            return event->first_at;
    }
    fail_msg("no event %s", reason);
    return 0;
}

static void
quantiles_live(uint64_t seed, QuantilesLife *life)
{
    SidecarWorldOptions options = {
        .seed = seed, .recorded_timing = TRUE, .driver = recorded_driver};
    g_autoptr(World) world = world_new(&options);
    void *data[] = {life, world};

    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    api_server_observe(world->api, write_seen, data);
    node_world_run_until(world, BOUND_AT);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_until(world, ATTACHED_AT);
    node_world_attach(world, "v", "a");
    node_world_run_until(world, DELETED_AT);
    assert_true(pod_is_ready(node_world_pod(world, "p")));
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_until(world, END_AT);
    world_count(world, "PATCH_STATUS Pod", &life->told, NULL);
    assert_int_equal(world_count(world, "NodeStageVolume", &life->staged, NULL), 1);
    assert_int_equal(world_count(world, "NodePublishVolume", &life->published, NULL), 1);
    assert_int_equal(world_count(world, "NodeUnpublishVolume", &life->unpublished, NULL), 1);
    assert_int_equal(world_count(world, "NodeUnstageVolume", &life->unstaged, NULL), 1);
    life->started = event_at(world, "Started");
    assert_true(life->gone > 0);
}

/* ---- The waits ---- */

static SimTime
until_told(const QuantilesLife *life)
{
    return life->told - BOUND_AT;
}

static SimTime
until_in_use(const QuantilesLife *life)
{
    return life->in_use - BOUND_AT;
}

static SimTime
until_staged(const QuantilesLife *life)
{
    return life->staged - MAX(life->in_use, ATTACHED_AT);
}

static SimTime
until_published(const QuantilesLife *life)
{
    return life->published - (life->staged + STAGE);
}

static SimTime
until_started(const QuantilesLife *life)
{
    return life->started - (life->published + PUBLISH);
}

static SimTime
until_running(const QuantilesLife *life)
{
    return life->running - life->started;
}

static SimTime
published_until_running(const QuantilesLife *life)
{
    return life->running - (life->published + PUBLISH);
}

static SimTime
until_unpublished(const QuantilesLife *life)
{
    return life->unpublished - DELETED_AT;
}

static SimTime
until_unstaged(const QuantilesLife *life)
{
    return life->unstaged - (life->unpublished + UNPUBLISH);
}

static SimTime
until_gone(const QuantilesLife *life)
{
    return life->gone - DELETED_AT;
}

/* Recorded quantiles in ms, and how far the model's may lie from them: 20 ms (TIM-60), more where
 * the recorded sample is small or comes from few kubelets, so that phases of a second or ten are
 * seen unevenly. */
static const struct {
    const char *name;
    SimTime (*wait)(const QuantilesLife *life);
    int p5, p50, p95;
    int tolerance;
} waits[] = {
    {"TIM-25 bound to first status",            until_told,              4,   9,    26,   20 },
    {"TIM-42 bound to volumesInUse",            until_in_use,            500, 5100, 9700, 500},
    {"TIM-44 in use and attached to NodeStage", until_staged,            118, 167,  213,  20 },
    {"TIM-45 staged to NodePublish",            until_published,         7,   11,   27,   20 },
    {"TIM-46 published to started",             until_started,           30,  162,  299,  30 },
    {"TIM-47 started to Running",               until_running,           70,  620,  980,  130},
    {"TIM-48 published to Running",             published_until_running, 220, 800,  1170, 130},
    {"TIM-49 deleted to NodeUnpublish",         until_unpublished,       46,  119,  187,  20 },
    {"TIM-50 unpublished to NodeUnstage",       until_unstaged,          46,  51,   60,   20 },
    {"TIM-51 deleted to gone",                  until_gone,              240, 460,  990,  100},
};

static int
quantiles_compare_times(const void *a, const void *b)
{
    SimTime x = *(const SimTime *)a, y = *(const SimTime *)b;

    return (x > y) - (x < y);
}

static void
check_quantile(const char *name, int percent, const SimTime *sorted, int recorded, int tolerance)
{
    SimTime value = sorted[(N_SEEDS - 1) * percent / 100];
    int ms = (int)((value + SIM_MS / 2) / SIM_MS);

    if (abs(ms - recorded) > tolerance)
        fail_msg("%s: p%d is %d ms, recorded %d ms", name, percent, ms, recorded);
}

TEST(the_recorded_waits)
{
    static QuantilesLife lives[N_SEEDS];
    static SimTime sorted[N_SEEDS];

    for (unsigned i = 0; i < N_SEEDS; i++)
        quantiles_live(i + 1, &lives[i]);
    for (unsigned i = 0; i < G_N_ELEMENTS(waits); i++) {
        for (unsigned k = 0; k < N_SEEDS; k++)
            sorted[k] = waits[i].wait(&lives[k]);
        qsort(sorted, N_SEEDS, sizeof *sorted, quantiles_compare_times);
        print_message("%s: %.1f/%.1f/%.1f ms\n", waits[i].name, (double)sorted[15] / 1e6,
                      (double)sorted[150] / 1e6, (double)sorted[285] / 1e6);
        check_quantile(waits[i].name, 5, sorted, waits[i].p5, waits[i].tolerance);
        check_quantile(waits[i].name, 50, sorted, waits[i].p50, waits[i].tolerance);
        check_quantile(waits[i].name, 95, sorted, waits[i].p95, waits[i].tolerance);
    }
}

/* ---- Many volumes at one status tick: KVM-83, TIM-79 ---- */

#define N_PODS 28 /* as recorded in 44 */
#define N_BURSTS 200

static int
compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#define GAPS_MAX 10

/* Gaps between the last @n of these entries, in ms: their mean, and the one in the middle (out). */
static void
last_gaps(World *world, const char *what, unsigned n, double *mean, double *median)
{
    g_autofree char *text = world_times(world, what);
    g_auto(GStrv) times = g_strsplit(text, " ", -1);
    unsigned length = g_strv_length(times);
    double gaps[GAPS_MAX];

    assert_true(n <= GAPS_MAX && length > n);
    for (unsigned i = 0; i < n; i++)
        gaps[i] = atof(times[length - n + i]) - atof(times[length - n + i - 1]);
    qsort(gaps, n, sizeof *gaps, compare_doubles);
    *median = (gaps[(n - 1) / 2] + gaps[n / 2]) / 2;
    *mean = (atof(times[length - 1]) - atof(times[length - 1 - n])) / n;
}

/* How many come within @span of the first. */
static unsigned
count_at_once(World *world, const char *what, int span_ms)
{
    g_autofree char *text = world_times(world, what);
    g_auto(GStrv) times = g_strsplit(text, " ", -1);
    unsigned n = 0;

    while (times[n] != NULL && atoi(times[n]) - atoi(times[0]) <= span_ms)
        n++;
    return n;
}

static double
distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* Gaps of the mounts and of the patches of the pods. Returns: whether the tick came when all
 * volumes had been read */
static gboolean
mount_together(uint64_t seed, double *mount_gap, double *patch_gap)
{
    SidecarWorldOptions options = {
        .seed = seed, .recorded_timing = TRUE, .driver = recorded_driver};
    g_autoptr(World) world = world_new(&options);
    double median, mean;
    SimTime first;

    node_world_start(world);
    node_world_run_until(world, SIM_SECOND);
    for (unsigned i = 0; i < N_PODS; i++) {
        g_autofree char *volume = g_strdup_printf("v%u", i), *pod = g_strdup_printf("p%u", i);
        node_world_add_volume(world, volume, "csi");
        node_world_attach(world, volume, "a");
        node_world_add_pod(world, pod, "a", volume);
    }
    node_world_run_until(world, SIM_MINUTE);
    assert_int_equal(world_count(world, "NodeStageVolume", &first, NULL), N_PODS);
    assert_int_equal(world_count(world, "PATCH_STATUS Pod", NULL, NULL), 2 * N_PODS);
    if (first < 5 * SIM_SECOND)
        return FALSE;
    assert_in_range(count_at_once(world, "NodeStageVolume", 30), 20, 26); /* recorded: 23 */
    last_gaps(world, "NodeStageVolume", 5, mount_gap, &median);
    last_gaps(world, "PATCH_STATUS Pod", 10, &mean, patch_gap);
    assert_true(mean > 60); /* shorter than 80 ms where two relists mix */
    return TRUE;
}

/* One token, and four: 20 and 80 ms. Of the patches the gap in the middle counts: where a second
 * relist comes before the first one's pods are all written, one gap is shorter, or has a token
 * more. */
TEST(tokens_space_out_the_mounts)
{
    unsigned n_counted = 0;

    for (uint64_t seed = 1; seed <= N_BURSTS; seed++) {
        double mount_gap, patch_gap;
        if (!mount_together(seed, &mount_gap, &patch_gap))
            continue;
        n_counted++;
        if (distance(mount_gap, 20) > 8 || distance(patch_gap, 80) > 0.5)
            fail_msg("seed %u: a mount every %.1f ms, a patch every %.1f ms", (unsigned)seed,
                     mount_gap, patch_gap);
    }
    assert_true(n_counted >= N_BURSTS / 3);
}
