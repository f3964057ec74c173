/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "tests/kubelet/node-world.h"
#include "tests/lib/test.h"

/* A pod waits for its volume to be attached, sync after sync, and each reads its claim and its
 * volume. With sleeping loops a sync waits again with the plan of the last one (wait-again.c), and
 * reads that find the same versions are short (volume-populator.c); with polling both are whole.
 * Whatever changes meanwhile, both do the same at the same instants. */

#define MINUTES(n) ((n)*SIM_MINUTE)

static gboolean
wait_again_set_phase(Object *object, const void *arg)
{
    CLAIM(object)->phase = *(const ClaimPhase *)arg;
    return TRUE;
}

static gboolean
clear_claim_ref(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->claim_ref = (ClaimReference){0};
    return TRUE;
}

static gboolean
wait_again_grow(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->capacity_bytes *= 2;
    return TRUE;
}

static void
unbind(World *world)
{
    world_edit_status(world, KIND_CLAIM, "v", wait_again_set_phase, &(ClaimPhase){CLAIM_LOST});
}

static void
unbind_and_bind(World *world)
{
    unbind(world);
    node_world_bind(world, "v");
}

static void
delete_claim(World *world)
{
    world_edit(world, KIND_CLAIM, "v", edit_remove_finalizer, FINALIZER_PVC_PROTECTION);
    world_delete(world, KIND_CLAIM, "v");
}

static void
wait_again_delete_volume(World *world)
{
    world_edit(world, KIND_VOLUME, "v", edit_remove_finalizer, FINALIZER_PV_PROTECTION);
    world_delete(world, KIND_VOLUME, "v");
}

static void
release_volume(World *world)
{
    world_edit(world, KIND_VOLUME, "v", clear_claim_ref, NULL);
}

static void
grow_volume(World *world)
{
    world_edit(world, KIND_VOLUME, "v", wait_again_grow, NULL);
}

static void
wait_again_delete_pod(World *world)
{
    node_world_delete_pod(world, "p", FALSE);
}

static gboolean
label(Object *object, const void *arg)
{
    object_set_annotation(object, arg, arg);
    return TRUE;
}

static void
edit_pod(World *world)
{
    world_edit(world, KIND_POD, "p", label, world_intern(world, "edited"));
}

static void
add_reader(World *world)
{
    node_world_add_pod(world, "q", "a", "v");
}

/* Columns: what happens after five minutes; the error of a later sync, NULL: none; whether the pod
 * runs once the volume is attached. The volume was desired before, so it is mounted whatever the
 * claim says now; but the back end's volume has not grown. */
static const struct {
    void (*change)(World *world);
    const char *error;
    gboolean runs;
} cases[] = {
    {NULL,                     NULL,                   TRUE },
    {unbind,                   "PVC is not bound",     TRUE },
    {unbind_and_bind,          NULL,                   TRUE },
    {delete_claim,             "\"v\" not found",      FALSE},
    {wait_again_delete_volume, "failed to fetch PV v", FALSE},
    {release_volume,           "nil pv.Spec.ClaimRef", TRUE },
    {grow_volume,              "NodeExpand failed",    FALSE},
    {wait_again_delete_pod,    NULL,                   FALSE},
    {edit_pod,                 NULL,                   TRUE },
    {add_reader,               NULL,                   TRUE },
};

/* Case @i: its change at @change_at, the attachment at @attach_at. Returns: (owned): all that the
 * kubelet did, and the pod's Events */
static char *
wait_again_life(unsigned i,
                SimTime change_at,
                SimTime attach_at,
                uint64_t seed,
                gboolean polling,
                gboolean *runs)
{
    SidecarWorldOptions options = {.seed = seed, .recorded_timing = TRUE, .polling = polling};
    g_autoptr(World) world = world_new(&options);

    node_world_add_driver(world, TRUE, FALSE);
    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    node_world_run_until(world, change_at);
    if (cases[i].change != NULL)
        cases[i].change(world);
    node_world_run_until(world, attach_at);
    if (cases[i].change != wait_again_delete_volume)
        node_world_attach(world, "v", "a");
    node_world_run_for(world, MINUTES(1));
    const Pod *pod = node_world_pod(world, "p");
    *runs = pod != NULL && pod_is_ready(pod);
    g_autofree char *log = node_world_log(world),
                    *events = world_events(world, world_key(world, KIND_POD, "p"));
    return g_strconcat(log, events, NULL);
}

TEST(again_equals_anew)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            gboolean runs, runs_polling;
            g_autofree char *sleeping =
                                wait_again_life(i, MINUTES(5), MINUTES(9), seed, FALSE, &runs),
                            *polling = wait_again_life(i, MINUTES(5), MINUTES(9), seed, TRUE,
                                                       &runs_polling);
            assert_string_equal(sleeping, polling);
            assert_int_equal(runs, runs_polling);
            assert_int_equal(runs, cases[i].runs);
            assert_int_equal(cases[i].error != NULL, strstr(sleeping, "FailedMount") != NULL);
            assert_true(cases[i].error == NULL || strstr(sleeping, cases[i].error) != NULL);
        }
    }
}

static void
assert_same_life(unsigned i, SimTime change_at, SimTime attach_at)
{
    gboolean runs;
    g_autofree char *sleeping = wait_again_life(i, change_at, attach_at, 1, FALSE, &runs),
                    *polling = wait_again_life(i, change_at, attach_at, 1, TRUE, &runs);

    assert_string_equal(sleeping, polling);
}

/* The first wait ends after 123 s, and its back-off 10 to 16 s later. Some volumes are mounted
 * between the last look of the wait and its end. */
TEST(at_every_instant)
{
    for (SimTime at = 120 * SIM_SECOND; at < 124 * SIM_SECOND; at += 50 * SIM_MS)
        assert_same_life(0, at, at);
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (SimTime at = 121 * SIM_SECOND; at < 143 * SIM_SECOND; at += 1100 * SIM_MS)
            assert_same_life(i, at, at + 6 * SIM_SECOND);
    }
}
