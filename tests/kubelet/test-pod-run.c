/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "models/api/container-life.h"
#include "models/kubelet/status/node-status.h"
#include "node-world.h"
#include "sim/sim-test.h"
#include "tests/lib/test.h"

/* Containers that end by themselves (KVM-85..88): what the kubelet of node "a" makes of a pod "p"
 * that says so. */

#define SECONDS(n) ((n)*SIM_SECOND)
#define RELIST SIM_SECOND

static World *
world_with_pod(const char *policy, const char *runs_for, const char *exit_code)
{
    SidecarWorldOptions options = {.seed = 11};
    World *world = world_new(&options);

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    node_world_add_ending_pod(world, "p", "v", policy, runs_for, exit_code);
    return world;
}

static const Pod *
the_pod(World *world)
{
    const Pod *pod = node_world_pod(world, "p");

    assert_non_null(pod);
    return pod;
}

/* ---- Restart policies (KVM-86) ---- */

typedef struct {
    const char *name, *policy, *runs_for, *exit_code;
    SimTime after;
    PodPhase phase;
    int32_t restarts;   /* at least, of a pod that goes on */
    const char *reason; /* of Ready; NULL: it is ready, or none */
} PolicyCase;

/* clang-format off */
static const PolicyCase policy_cases[] = {
    {"Never, ends well",        "Never",     "30s", "0",       SECONDS(90),  POD_SUCCEEDED, 0, "PodCompleted"},
    {"Never, fails",            "Never",     "30s", "3",       SECONDS(90),  POD_FAILED,    0, "PodFailed"},
    {"Never, says nothing",     "Never",     NULL,  NULL,      SECONDS(900), POD_RUNNING,   0, NULL},
    {"Never, not over yet",     "Never",     "10m", "0",       SECONDS(90),  POD_RUNNING,   0, NULL},
    {"OnFailure, ends well",    "OnFailure", "30s", "0",       SECONDS(90),  POD_SUCCEEDED, 0, "PodCompleted"},
    {"OnFailure, second try",   "OnFailure", "5s",  "1 0",     SECONDS(90),  POD_SUCCEEDED, 1, "PodCompleted"},
    {"OnFailure, fourth try",   "OnFailure", "5s",  "1 2 1 0", SECONDS(200), POD_SUCCEEDED, 3, "PodCompleted"},
    {"OnFailure, says nothing", "OnFailure", NULL,  NULL,      SECONDS(900), POD_RUNNING,   0, NULL},
    {"Always, ends well",       "Always",    "40s", "0",       SECONDS(70),  POD_RUNNING,   1, NULL},
    {"Always, says nothing",    "Always",    NULL,  NULL,      SECONDS(900), POD_RUNNING,   0, NULL},
};
/* clang-format on */

static void
policy_decides(void **state)
{
    const PolicyCase *test = *state;
    g_autoptr(World) world = world_with_pod(test->policy, test->runs_for, test->exit_code);

    node_world_run_for(world, test->after);
    const Pod *pod = the_pod(world);
    assert_int_equal(pod->phase, test->phase);
    assert_int_equal(pod->restarts, test->restarts);
    if (test->reason == NULL)
        assert_true(pod_is_ready(pod));
    else
        assert_string_equal(pod->ready.reason, test->reason);
}
TEST_ROWS(policy_cases, policy_decides);

/* ---- When it is told (KVM-85, KVM-88) ---- */

/* The @n-th status (from 0) that was written since @from. */
static SimTime
status_written_at(World *world, SimTime from, unsigned n)
{
    for (unsigned i = 0; i < world->log->len; i++) {
        const WorldEntry *entry = &g_array_index(world->log, WorldEntry, i);
        if (entry->at >= from && strcmp(entry->what, "PATCH_STATUS Pod") == 0 && n-- == 0)
            return entry->at;
    }
    fail_msg("no such write");
    return 0;
}

/* Lives of 20 lengths: the end is seen at the next relist, once a second; the phase is told at the
 * one after that, when nothing of the pod runs any more. */
TEST(the_end_is_seen_by_a_relist)
{
    for (unsigned i = 0; i < 20; i++) {
        g_autofree char *runs_for = g_strdup_printf("%ums", 20000 + 157 * i);
        g_autoptr(World) world = world_with_pod("Never", runs_for, "0");
        node_world_run_for(world, SECONDS(15));
        SimTime before = sim_now(world->sim);
        assert_true(pod_is_ready(the_pod(world)));
        node_world_run_for(world, SECONDS(60));
        SimTime seen_at = status_written_at(world, before, 0);
        SimTime told_at = status_written_at(world, before, 1);
        assert_in_range(told_at - seen_at, RELIST - 50 * SIM_MS, RELIST + 50 * SIM_MS);
        assert_true(the_pod(world)->ready.changed_at < told_at);
    }
}

/* The instant at which the containers began is when the volume was mounted and the kubelet told of
 * them; the run's length is exact, so that the end is seen within a relist of it, and never before.
 */
TEST(the_end_comes_when_it_is_due)
{
    g_autoptr(World) world = world_with_pod("Never", "25s", "0");

    SimTime began_at = 0;
    while (the_pod(world)->phase != POD_RUNNING)
        node_world_run_for(world, 10 * SIM_MS);
    began_at = sim_now(world->sim);
    while (pod_is_ready(the_pod(world)))
        node_world_run_for(world, 10 * SIM_MS);
    /* Running is told up to a relist after the start, and the end as well. */
    assert_in_range(sim_now(world->sim) - began_at, SECONDS(25) - RELIST - 50 * SIM_MS,
                    SECONDS(25) + RELIST + 50 * SIM_MS);
    assert_int_equal(the_pod(world)->phase, POD_RUNNING);
}

/* ---- Its volumes ---- */

/* They leave the node though the object stays. */
TEST(volumes_of_a_finished_pod_go)
{
    g_autoptr(World) world = world_with_pod("Never", "30s", "0");

    node_world_run_for(world, SECONDS(25));
    g_autofree char *before = node_world_in_use(world);
    assert_string_not_equal(before, "");
    assert_int_equal(world_count(world, "NodeUnpublishVolume", NULL, NULL), 0);
    node_world_run_for(world, SECONDS(25));
    assert_int_equal(world_count(world, "NodeUnpublishVolume", NULL, NULL), 1);
    assert_int_equal(world_count(world, "NodeUnstageVolume", NULL, NULL), 1);
    g_autofree char *after = node_world_in_use(world);
    assert_string_equal(after, "");
    assert_int_equal(the_pod(world)->phase, POD_SUCCEEDED);
    assert_int_equal(world_count(world, "DELETE Pod", NULL, NULL), 0);
}

/* A restart needs no new mount. */
TEST(volumes_of_a_restarting_pod_stay)
{
    g_autoptr(World) world = world_with_pod("Always", "20s", "1");

    node_world_run_for(world, SECONDS(300));
    assert_true(the_pod(world)->restarts >= 3);
    assert_int_equal(world_count(world, "NodePublishVolume", NULL, NULL), 1);
    assert_int_equal(world_count(world, "NodeUnpublishVolume", NULL, NULL), 0);
}

/* ---- Back-off (KVM-87) ---- */

/* From the end of a run to Ready again. */
static SimTime
wait_for_restart(World *world)
{
    while (pod_is_ready(the_pod(world)))
        node_world_run_for(world, 50 * SIM_MS);
    SimTime ended_at = sim_now(world->sim);
    while (!pod_is_ready(the_pod(world)))
        node_world_run_for(world, 50 * SIM_MS);
    return sim_now(world->sim) - ended_at;
}

/* None, then 10 s, doubling to 5 min; each is up at a sync, and those that fail come every 10 to 15
 * s. */
TEST(crash_loop_backs_off)
{
    static const int backoff_s[] = {0, 10, 20, 40, 80, 160, 300, 300};
    g_autoptr(World) world = world_with_pod("Always", "1s", "1");

    node_world_run_for(world, SECONDS(3));
    while (!pod_is_ready(the_pod(world)))
        node_world_run_for(world, 50 * SIM_MS);
    for (unsigned i = 0; i < G_N_ELEMENTS(backoff_s); i++) {
        SimTime waited = wait_for_restart(world);
        assert_in_range(waited + 2 * RELIST, SECONDS(backoff_s[i]),
                        SECONDS(backoff_s[i] + (i == 0 ? 0 : 15)) + 4 * RELIST);
    }
    assert_int_equal(the_pod(world)->restarts, G_N_ELEMENTS(backoff_s));
    g_autofree char *events = world_events(world, the_pod(world)->meta.key);
    assert_non_null(strstr(events, "Back-off restarting failed container c in pod p_default("));
}

/* A container that ran for more than ten minutes starts afresh. */
TEST(a_long_run_forgives)
{
    g_autoptr(World) world = world_with_pod("Always", "11m", "1");

    node_world_run_for(world, SECONDS(20));
    for (unsigned i = 0; i < 3; i++)
        assert_true(wait_for_restart(world) <= 3 * RELIST);
}

/* ---- Ends that come from outside ---- */

/* SIGTERM before its time: 143, so the pod has failed. One that says nothing ends well (recorded).
 */
TEST(what_is_stopped_early_fails)
{
    static const struct {
        const char *runs_for;
        PodPhase phase;
    } cases[] = {
        {"10m", POD_FAILED   },
        {NULL,  POD_SUCCEEDED},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(World) world = world_with_pod("Never", cases[i].runs_for, NULL);
        node_world_run_for(world, SECONDS(20));
        node_world_delete_pod(world, "p", FALSE);
        while (the_pod(world)->phase == POD_RUNNING)
            node_world_run_for(world, 10 * SIM_MS);
        assert_int_equal(the_pod(world)->phase, cases[i].phase);
        node_world_run_for(world, SECONDS(20));
        assert_null(node_world_pod(world, "p"));
    }
}

/* What ends while no kubelet runs is found by the next one; its age counts from its start, not from
 * the kubelet's. */
TEST(the_end_outlives_the_kubelet)
{
    g_autoptr(World) world = world_with_pod("Never", "60s", "0");

    node_world_run_for(world, SECONDS(30));
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(10));
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(10));
    assert_int_equal(the_pod(world)->phase, POD_RUNNING);
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(60));
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(10));
    assert_int_equal(the_pod(world)->phase, POD_SUCCEEDED);
    node_world_run_for(world, SECONDS(20));
    assert_int_equal(world_count(world, "NodeUnstageVolume", NULL, NULL), 1);
}

static gboolean
is_pending(const World *world, const char *name)
{
    SimPending pending[64];
    unsigned n = sim_pending(world->sim, pending, G_N_ELEMENTS(pending));

    for (unsigned i = 0; i < n; i++)
        if (strcmp(pending[i].name, name) == 0)
            return TRUE;
    return FALSE;
}

/* KVM-105: a relist on demand dies with its kubelet, and the next kubelet starts the pod. */
TEST(a_crash_ends_a_relist_on_demand)
{
    static const char relist[] = "kubelet/PLEG relist on demand";
    SidecarWorldOptions options = {.seed = 11, .minor = 36, .recorded_timing = TRUE};
    g_autoptr(World) world = world_new(&options);

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    node_world_add_ending_pod(world, "p", "v", "Always", NULL, NULL);
    while (!is_pending(world, relist))
        assert_true(sim_step(world->sim));
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    assert_false(is_pending(world, relist));
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SECONDS(60));
    assert_int_equal(the_pod(world)->phase, POD_RUNNING);
}

/* KVM-68: what a machine without power ran is gone: Never has failed, the others are started anew
 * and count it. */
TEST(power_fails)
{
    static const struct {
        const char *policy, *runs_for;
        PodPhase phase;
        int32_t restarts;
    } cases[] = {
        {"Never",     "60s", POD_FAILED,    0},
        {"Never",     NULL,  POD_FAILED,    0},
        {"OnFailure", "60s", POD_SUCCEEDED, 1},
        {"Always",    NULL,  POD_RUNNING,   0},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(World) world = world_with_pod(cases[i].policy, cases[i].runs_for, "0");
        node_world_run_for(world, SECONDS(30));
        assert_int_equal(the_pod(world)->phase, POD_RUNNING);
        assert_true(cluster_power_off(world->cluster, "a"));
        node_world_run_for(world, SECONDS(20));
        assert_true(cluster_power_on(world->cluster, "a"));
        node_world_run_for(world, SECONDS(120));
        assert_int_equal(the_pod(world)->phase, cases[i].phase);
        assert_int_equal(the_pod(world)->restarts, cases[i].restarts);
    }
}

/* ---- Changed definitions (KVM-102) ---- */

typedef struct {
    const char *name, *image; /* of a container of "p" */
} ImageChange;

static gboolean
set_image(Object *object, const void *arg)
{
    const ImageChange *change = arg;
    Pod *pod = POD(object);
    PodSpec *spec = pod_spec_for_nodes(pod->spec, pod->spec->tolerations, NULL);

    for (unsigned i = 0; i < spec->n_containers; i++)
        if (strcmp(spec->containers[i].name, change->name) == 0)
            spec->containers[i].image = change->image;
    pod_set_spec(pod, spec, pod->volumes);
    pod_spec_unref(spec);
    return TRUE;
}

static void
change_image(World *world, const char *name, const char *image)
{
    world_edit(world, KIND_POD, "p", set_image, &(ImageChange){name, world_intern(world, image)});
}

static gboolean
add_container(Object *object, const void *name)
{
    Pod *pod = POD(object);
    PodSpec *spec = pod_spec_for_nodes(pod->spec, pod->spec->tolerations, NULL);

    spec->containers = g_renew(PodContainer, spec->containers, 2);
    spec->containers[spec->n_containers++] = (PodContainer){name, spec->containers[0].image};
    pod_set_spec(pod, spec, pod->volumes);
    pod_spec_unref(spec);
    return TRUE;
}

/* Whatever the policy says, at once, and without a look at its back-off. */
TEST(a_changed_image_restarts)
{
    static const char *const policies[] = {"Always", "OnFailure", "Never"};

    for (unsigned i = 0; i < G_N_ELEMENTS(policies); i++) {
        g_autoptr(World) world = world_with_pod(policies[i], NULL, NULL);
        node_world_run_for(world, SECONDS(30));
        for (int32_t n = 1; n <= 3; n++) {
            SimTime ready_at = the_pod(world)->ready.changed_at;
            g_autofree char *image = g_strdup_printf("pause:%d", n + 1);
            change_image(world, "c", image);
            node_world_run_for(world, SECONDS(4));
            assert_int_equal(the_pod(world)->restarts, n);
            assert_int_equal(the_pod(world)->phase, POD_RUNNING);
            assert_int_equal(the_pod(world)->ready.changed_at, ready_at); /* it has no probe */
        }
        g_autofree char *events = world_events(world, the_pod(world)->meta.key);
        assert_non_null(
            strstr(events, "Killing x3: Container c definition changed, will be restarted"));
        assert_non_null(strstr(events, "Pulling x1: Pulling image \"pause:4\""));
        assert_non_null(strstr(events, "Started x4: Started container c"));
        assert_null(strstr(events, "BackOff"));
        assert_int_equal(world_count(world, "NodePublishVolume", NULL, NULL), 1);
        node_world_run_for(world, SECONDS(300));
        assert_int_equal(the_pod(world)->restarts, 3);
    }
}

/* Of two containers the other one goes on. */
TEST(a_changed_image_restarts_one)
{
    g_autoptr(World) world = world_with_pod("Always", NULL, NULL);

    world_edit(world, KIND_POD, "p", add_container, world_intern(world, "d"));
    node_world_run_for(world, SECONDS(30));
    assert_null(the_pod(world)->restarts_alone);
    change_image(world, "d", "pause:2");
    node_world_run_for(world, SECONDS(5));
    change_image(world, "d", "pause:3");
    node_world_run_for(world, SECONDS(5));
    assert_int_equal(the_pod(world)->restarts, 0);
    assert_string_equal(the_pod(world)->restarts_alone, "0 2");
    change_image(world, "c", "pause:2");
    node_world_run_for(world, SECONDS(5));
    assert_string_equal(the_pod(world)->restarts_alone, "1 2");
    g_autofree char *events = world_events(world, the_pod(world)->meta.key);
    assert_non_null(strstr(events, "Started x2: Started container c"));
    assert_non_null(strstr(events, "Started x3: Started container d"));
}

/* A new definition has no back-off yet. */
TEST(a_changed_image_ends_the_back_off)
{
    g_autoptr(World) world = world_with_pod("Always", "1s", "1");

    while (the_pod(world)->restarts < 4 || pod_is_ready(the_pod(world)))
        node_world_run_for(world, 100 * SIM_MS);
    change_image(world, "c", "pause:2");
    node_world_run_for(world, SECONDS(3)); /* of some 80 */
    assert_int_equal(the_pod(world)->restarts, 5);
}

/* ---- What annotations may say ---- */

typedef struct {
    const char *runs_for, *exit_code, *fails;
    const char *fault; /* NULL: fine */
} PodRunLifeCase;

static const PodRunLifeCase life_cases[] = {
    {"30s",                      NULL,    NULL,   NULL                           },
    {"0s",                       "0",     NULL,   NULL                           },
    {"uniform 10s 1m",           "1 1 0", NULL,   NULL                           },
    {"lognormal p50=30s p99=5m", NULL,    "0.25", NULL                           },
    {"exponential mean=2m",      "7",     "1",    NULL                           },
    {"30",                       NULL,    NULL,   "neither a duration"           },
    {"-3s",                      NULL,    NULL,   "neither a duration"           },
    {"soon",                     NULL,    NULL,   "neither a duration"           },
    {"uniform 10s",              NULL,    NULL,   "uniform"                      },
    {"lognormal p50=30s q99=5m", NULL,    NULL,   "q99"                          },
    {"30s",                      "256",   NULL,   "from 0 to 255"                },
    {"30s",                      "",      NULL,   "no exit code"                 },
    {"30s",                      "0,1",   NULL,   "from 0 to 255"                },
    {"30s",                      NULL,    "1.5",  "from 0 to 1"                  },
    {"30s",                      NULL,    "some", "from 0 to 1"                  },
    {NULL,                       "1",     NULL,   "needs \"kvolsim.io/runs-for\""},
    {NULL,                       NULL,    "0.5",  "needs \"kvolsim.io/runs-for\""},
};

TEST(annotations_are_checked)
{
    g_autoptr(Strings) strings = strings_new();

    for (unsigned i = 0; i < G_N_ELEMENTS(life_cases); i++) {
        const PodRunLifeCase *test = &life_cases[i];
        StringPair pairs[3];
        unsigned n = 0;
        const char *keys[] = {ANNOTATION_RUNS_FOR, ANNOTATION_EXIT_CODE, ANNOTATION_FAILS};
        const char *values[] = {test->runs_for, test->exit_code, test->fails};
        for (unsigned k = 0; k < G_N_ELEMENTS(keys); k++)
            if (values[k] != NULL)
                pairs[n++] = (StringPair){strings_intern(strings, keys[k]),
                                          strings_intern(strings, values[k])};
        g_autoptr(StringMap) annotations = string_map_new(pairs, n);
        g_autoptr(GError) error = NULL;
        ContainerLife life;
        gboolean ok = container_life_parse(annotations, &life, NULL, &error);
        assert_true(container_life_is_told(annotations));
        assert_int_equal(ok, test->fault == NULL);
        if (!ok && strstr(error->message, test->fault) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", test->fault, error->message);
        container_life_clear(&life);
    }
}

/* A quarter fails: of 4,000 draws 1,000, give or take six standard deviations (27 each); codes of
 * later runs follow the list. */
TEST(a_share_of_runs_fails)
{
    ContainerLife life = {
        .fails = 0.25, .n_codes = 2, .codes = {9, 4}
    };
    SimStream stream = sim_stream_from(5, 0, "test");
    unsigned failed = 0;

    for (uint64_t entity = 0; entity < 4000; entity++) {
        int code = container_life_exit_code(&life, stream, entity, 0);
        assert_true(code == 0 || code == 9);
        failed += code != 0;
    }
    assert_in_range(failed, 1000 - 6 * 27, 1000 + 6 * 27);
    life.fails = 1;
    assert_int_equal(container_life_exit_code(&life, stream, 1, 1), 4);
    assert_int_equal(container_life_exit_code(&life, stream, 1, 100), 4);
}

/* KVM-30 in the log of causes: a wanted volume waits for the next status of the node, and then for
 * the request that tells of it. */
TEST(the_wait_for_the_status_is_told)
{
    g_autoptr(World) world = world_new(&(SidecarWorldOptions){.seed = 11, .recorded_timing = TRUE});
    unsigned n = 0;

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_for(world, SECONDS(60));
    const Kubelet *kubelet = node_world_kubelet(world);
    const SimTrace *trace = sim_trace(world->sim);
    for (SimCauseId i = 1; i < sim_trace_length(trace); i++) {
        SimCause told = sim_trace_get(trace, i);
        if (told.wait != WAIT_API || told.detail != API_PATCH_STATUS + 1 || told.parent == 0)
            continue;
        SimCause round = sim_trace_get(trace, told.parent);
        n += round.wait == WAIT_POLL && round.detail == kubelet->node_status->label &&
             round.at <= told.at;
    }
    assert_int_equal(n, 1);
}
