/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "models/apiserver/apiserver-test.h"
#include "models/csi/modelled/modelled-test.h"
#include "models/kubelet/kubelet.h"
#include "node-world.h"
#include "tests/lib/test.h"

/* A kubelet dies at each moment of a volume's life, and comes back 10 s later: what it finds on its
 * disk, and what it does; and what a kubelet forgets without dying, or sees too late. */

#define CALL_TIME (100 * SIM_MS) /* of each call of the driver */

static void
all_calls_take_time(World *world, CsiModelledOptions *options)
{
    static const CsiMethod methods[] = {CSI_NODE_STAGE_VOLUME, CSI_NODE_PUBLISH_VOLUME,
                                        CSI_NODE_UNPUBLISH_VOLUME, CSI_NODE_UNSTAGE_VOLUME,
                                        CSI_NODE_GET_CAPABILITIES};

    for (unsigned i = 0; i < G_N_ELEMENTS(methods); i++)
        options->latency[methods[i]] = world_constant(world, CALL_TIME);
}

/* Pod "p" on node "a" with volume "v", which is attached. */
static World *
reconstruct_new_world(gboolean polling)
{
    SidecarWorldOptions options = {.seed = 7, .driver = all_calls_take_time, .polling = polling};
    World *world = world_new(&options);

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    return world;
}

typedef struct {
    CsiMethod method;
    gboolean begun;
} Awaited;

static void
call_begins(void *data, const CsiCallRecord *record)
{
    Awaited *awaited = data;

    awaited->begun |= record->request->method == awaited->method;
}

/* Half-way through the next call of the method, or just after it. @awaited lives as long as the
 * world. */
static void
run_to(World *world, Awaited *awaited, CsiMethod method, gboolean to_the_end)
{
    const CsiObserver observer = {.started = call_begins, .data = awaited};

    *awaited = (Awaited){.method = method};
    csi_driver_add_observer(csi_modelled_driver_base(world->driver), &observer);
    while (!awaited->begun)
        node_world_run_for(world, SIM_MS);
    node_world_run_for(world, to_the_end ? CALL_TIME + 5 * SIM_MS : CALL_TIME / 2);
}

static void
crash(World *world)
{
    g_free(node_world_take_writes(world));
    assert_true(cluster_crash(world->cluster, "kubelet", "a"));
    node_world_run_for(world, 5 * SIM_SECOND);
}

static void
come_back(World *world)
{
    node_world_run_for(world, 5 * SIM_SECOND);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    node_world_run_for(world, SIM_MINUTE);
}

/* The driver's calls since the kubelet is back. Returns: (owned) */
static char *
calls_of(World *world)
{
    g_autofree char *writes = node_world_take_writes(world);
    g_auto(GStrv) parts = g_strsplit(writes, ", ", -1);
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; parts[i] != NULL; i++) {
        if (g_str_has_prefix(parts[i], "Node") && !g_str_equal(parts[i], "NodeGetInfo"))
            g_string_append_printf(text, "%s%s", text->len == 0 ? "" : ", ", parts[i]);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

typedef enum {
    GOES_ON, /* the pod is still wanted when the kubelet is back */
    ENDS,    /* it is deleted before the kubelet dies, or meanwhile */
    FORCED,  /* ... without grace: nothing is left of it in the API */
} Meanwhile;

#define UP "NodeStageVolume, NodePublishVolume"
#define DOWN "NodeUnpublishVolume, NodeUnstageVolume"

static const struct {
    const char *title;
    CsiMethod dies_at;
    gboolean dies_after; /* it, not half-way through */
    Meanwhile meanwhile;
    const char *calls;
    unsigned n_targets; /* in the end */
    gboolean staged;
} cases[] = {
    {"KVM-V9 published, wanted",           CSI_NODE_PUBLISH_VOLUME,   TRUE,  GOES_ON, UP,   1, TRUE },
    {"being published, wanted",            CSI_NODE_PUBLISH_VOLUME,   FALSE, GOES_ON, UP,   1, TRUE },
    {"staged, wanted",                     CSI_NODE_STAGE_VOLUME,     TRUE,  GOES_ON, UP,   1, TRUE },
    {"being staged, wanted",               CSI_NODE_STAGE_VOLUME,     FALSE, GOES_ON, UP,   1, TRUE },
    {"published, deleted",                 CSI_NODE_PUBLISH_VOLUME,   TRUE,  ENDS,    DOWN, 0, FALSE},
    {"being published, deleted",           CSI_NODE_PUBLISH_VOLUME,   FALSE, ENDS,    DOWN, 0, FALSE},
    {"KVM-V10 published, forced",          CSI_NODE_PUBLISH_VOLUME,   TRUE,  FORCED,  DOWN, 0, FALSE},
    {"KVM-V10 being published, forced",    CSI_NODE_PUBLISH_VOLUME,   FALSE, FORCED,  DOWN, 0, FALSE},
    {"being unpublished, deleted",         CSI_NODE_UNPUBLISH_VOLUME, FALSE, ENDS,    DOWN, 0, FALSE},
    {"being unpublished, forced",          CSI_NODE_UNPUBLISH_VOLUME, FALSE, FORCED,  DOWN, 0, FALSE},
 /* No pod has a directory: nobody knows (KVM-60). */
    {"#121937 staged, deleted",            CSI_NODE_STAGE_VOLUME,     TRUE,  ENDS,    "",   0, TRUE },
    {"#121937 staged, forced",             CSI_NODE_STAGE_VOLUME,     TRUE,  FORCED,  "",   0, TRUE },
    {"#85476 unpublished, deleted",        CSI_NODE_UNPUBLISH_VOLUME, TRUE,  ENDS,    "",   0, TRUE },
    {"being unstaged: the driver ends it", CSI_NODE_UNSTAGE_VOLUME,   FALSE, ENDS,    "",   0, FALSE},
};

static void
reconstruct_delete_pod(World *world, Meanwhile how)
{
    if (how != GOES_ON && node_world_pod(world, "p") != NULL)
        node_world_delete_pod(world, "p", how == FORCED);
}

static void
tell_case(unsigned i, gboolean polling)
{
    Awaited awaited;
    g_autoptr(World) world = reconstruct_new_world(polling);
    gboolean on_the_way_back = cases[i].dies_at == CSI_NODE_UNPUBLISH_VOLUME ||
                               cases[i].dies_at == CSI_NODE_UNSTAGE_VOLUME;
    const char *node = world_intern(world, "a"), *volume = world_intern(world, "v");

    if (on_the_way_back) {
        node_world_run_for(world, 20 * SIM_SECOND);
        reconstruct_delete_pod(world, ENDS);
    }
    run_to(world, &awaited, cases[i].dies_at, cases[i].dies_after);
    crash(world);
    reconstruct_delete_pod(world, cases[i].meanwhile);
    come_back(world);
    g_autofree char *calls = calls_of(world), *in_use = node_world_in_use(world);
    assert_string_equal(calls, cases[i].calls);
    assert_int_equal(csi_modelled_driver_n_targets(world->driver, volume, node),
                     cases[i].n_targets);
    assert_int_equal(csi_modelled_driver_is_staged(world->driver, volume, node), cases[i].staged);
    assert_string_equal(
        in_use, cases[i].meanwhile == GOES_ON ? "kubernetes.io/csi/" WORLD_DRIVER "^v" : "");
    if (cases[i].meanwhile == GOES_ON)
        assert_true(pod_is_ready(node_world_pod(world, "p")));
    else
        assert_null(node_world_pod(world, "p"));
}

TEST(it_dies_and_comes_back)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        print_message("%s\n", cases[i].title);
        tell_case(i, FALSE);
        tell_case(i, TRUE);
    }
}

/* KVM-61: a refusal tells nothing about what another kubelet had done, so that the way back is gone
 * all the same. */
TEST(refused_but_there)
{
    static const CsiModelledError refusals[] = {
        {.method = CSI_NODE_STAGE_VOLUME,   .code = CSI_INTERNAL, .probability = 1},
        {.method = CSI_NODE_PUBLISH_VOLUME, .code = CSI_INTERNAL, .probability = 1}
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(refusals); i++) {
        g_autoptr(World) world = reconstruct_new_world(FALSE);
        const char *node = world_intern(world, "a"), *volume = world_intern(world, "v");
        node_world_run_for(world, 20 * SIM_SECOND);
        crash(world);
        csi_modelled_driver_set_errors(world->driver, &refusals[i], 1);
        come_back(world);
        node_world_delete_pod(world, "p", FALSE);
        node_world_run_for(world, SIM_MINUTE);
        assert_int_equal(csi_modelled_driver_n_targets(world->driver, volume, node), 0);
        assert_false(csi_modelled_driver_is_staged(world->driver, volume, node));
        assert_null(node_world_pod(world, "p"));
    }
}

/* KVM-33, KVM-65: as long as the Node cannot be read nothing is unmounted, and volumesInUse stays
 * as it is. */
static ApiCode
refuse_reading_node(void *data, const ApiRequest *request, GString *message)
{
    (void)data;
    if (request->verb != API_GET || request->key->kind != KIND_NODE)
        return API_OK;
    g_string_assign(message, "etcdserver: request timed out");
    return API_TIMEOUT;
}

TEST(waits_for_its_node)
{
    g_autoptr(World) world = reconstruct_new_world(FALSE);

    node_world_run_for(world, 20 * SIM_SECOND);
    crash(world);
    node_world_delete_pod(world, "p", TRUE);
    api_server_set_fault(world->api, refuse_reading_node, NULL);
    come_back(world);
    g_autofree char *none = calls_of(world), *in_use = node_world_in_use(world);
    assert_string_equal(none, "");
    assert_string_equal(in_use, "kubernetes.io/csi/" WORLD_DRIVER "^v");
    api_server_set_fault(world->api, NULL, NULL);
    /* Registration reads the Node as well: its registrar has exited several times, and is started
     * again 40 s after the last (REG-4, REG-18). */
    node_world_run_for(world, 4 * SIM_MINUTE);
    g_autofree char *calls = calls_of(world), *left = node_world_in_use(world);
    assert_string_equal(calls, DOWN);
    assert_string_equal(left, "");
}

/* A second death in the middle of the clean-up loses nothing either. */
TEST(dies_twice)
{
    Awaited awaited;
    g_autoptr(World) world = reconstruct_new_world(FALSE);

    node_world_run_for(world, 20 * SIM_SECOND);
    crash(world);
    node_world_delete_pod(world, "p", TRUE);
    assert_true(cluster_restart(world->cluster, "kubelet", "a"));
    run_to(world, &awaited, CSI_NODE_UNPUBLISH_VOLUME, FALSE);
    crash(world);
    come_back(world);
    g_autofree char *calls = calls_of(world);
    assert_string_equal(calls, DOWN);
}

/* KVM-15b: the original does so, too. A retry whose first question fails takes the volume for not
 * staged, though an earlier call may have staged it; nobody undoes that. */
TEST(a_failed_question_forgets_a_device)
{
    static const CsiModelledError stages_late[] = {
        {.method = CSI_NODE_STAGE_VOLUME,
         .code = CSI_ABORTED,
         .probability = 1,
         .after_effect = TRUE},
    };
    static const CsiModelledError is_away[] = {
        {.method = CSI_NODE_GET_CAPABILITIES, .code = CSI_UNAVAILABLE, .probability = 1},
    };
    SidecarWorldOptions options = {.seed = 1, .recorded_timing = TRUE};
    g_autoptr(World) world = world_new(&options);
    const char *name = world_intern(world, "v"), *node = world_intern(world, "a");

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    csi_modelled_driver_set_errors(world->driver, stages_late, G_N_ELEMENTS(stages_late));
    node_world_add_pod(world, "p", "a", "v");
    for (unsigned i = 0; i < 600 && !csi_modelled_driver_is_staged(world->driver, name, node); i++)
        node_world_run_for(world, 100 * SIM_MS);
    csi_modelled_driver_set_errors(world->driver, is_away, G_N_ELEMENTS(is_away));
    node_world_run_for(world, 10 * SIM_SECOND);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_for(world, SIM_MINUTE);
    assert_null(node_world_pod(world, "p"));
    assert_true(csi_modelled_driver_is_staged(world->driver, name, node));
}

/* ---- Cut off ---- */

/* A pod goes just before the network does. The watches come back some seconds after the network:
 * until then the cached Node is out of date, and right by chance as soon as another pod wants the
 * volume (KVM-30). */
static char *
life_with_a_cut(gboolean polling, SimTime cut_at, SimTime back_at)
{
    SidecarWorldOptions options = {.seed = 1, .recorded_timing = TRUE, .polling = polling};
    g_autoptr(World) world = world_new(&options);

    node_world_add_volume(world, "v", "csi");
    node_world_attach(world, "v", "a");
    node_world_start(world);
    node_world_run_until(world, SIM_SECOND);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_until(world, cut_at - SIM_SECOND);
    node_world_delete_pod(world, "p", FALSE);
    node_world_run_until(world, cut_at);
    assert_true(cluster_cut_off(world->cluster, "a"));
    node_world_run_until(world, back_at);
    assert_true(cluster_reconnect(world->cluster, "a"));
    node_world_run_until(world, back_at + 2 * SIM_SECOND);
    node_world_add_pod(world, "q", "a", "v");
    node_world_run_until(world, back_at + 90 * SIM_SECOND);
    return node_world_log(world);
}

TEST(sleeping_equals_polling_after_a_cut)
{
    for (SimTime cut_at = 20 * SIM_SECOND; cut_at < 40 * SIM_SECOND; cut_at += SIM_SECOND)
        for (SimTime length = 20 * SIM_SECOND; length < 40 * SIM_SECOND; length += SIM_SECOND) {
            g_autofree char *asleep = life_with_a_cut(FALSE, cut_at, cut_at + length),
                            *polling = life_with_a_cut(TRUE, cut_at, cut_at + length);
            assert_string_equal(asleep, polling);
        }
}
