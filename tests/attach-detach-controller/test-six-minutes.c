/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "tests/attach-detach-controller/attach-world.h"
#include "tests/lib/test.h"

#include <string.h>

/* How long a volume of a dead node is away, to the nanosecond: which pass of the reconciler does
 * what follows from when its last pass with something to do ended, from when it hears of things,
 * and from what requests take. Here all of these are constant:
 *
 *     WATCH   until a watch tells of what has happened
 *     THINK   the controller's own time before a request leaves
 *     WRITE   a request, arrival to answer
 *
 * A pass that finds nothing to do takes no time, so passes come at E, E + 100 ms, ... from the end
 * E of the last one that did something (ADC-1). The six minutes begin with the first pass that
 * wants the detach (ADC-42) and are over in the first that is more than 360 s later: not that at
 * 360.0 s, but that at 360.1 s (ADC-43). */

#define WATCH (3 * SIM_MS)
#define THINK (2 * SIM_MS)
#define WRITE (4 * SIM_MS)
#define PERIOD (100 * SIM_MS)
#define SIX_MINUTES (360 * SIM_SECOND)

/* When requests arrived. */
typedef struct {
    SimTime told;     /* the last patch of node-1's status */
    SimTime detached; /* DELETE of its VolumeAttachment */
    SimTime attached; /* POST of node-2's */
} Arrivals;

static void
six_minutes_request_answered(void *data,
                             const ApiRequest *request,
                             ApiCode code,
                             SimTime arrived_at)
{
    Arrivals *arrivals = data;

    /* The check of ADC-50 may come when the VolumeAttachment has gone and the detach has not looked
     * yet. */
    assert_true(code == API_OK || (code == API_NOT_FOUND && request->verb == API_GET));
    if (request->verb == API_PATCH_STATUS && strcmp(request->key->name, "node-1") == 0)
        arrivals->told = arrived_at;
    else if (request->verb == API_DELETE)
        arrivals->detached = arrived_at;
    else if (request->verb == API_CREATE && strcmp(request->key->name, &VA_2[strlen("va/")]) == 0)
        arrivals->attached = arrived_at;
}

static void
set_constant(SimDist **place, SimTime value)
{
    sim_dist_unref(*place);
    *place = sim_dist_new_constant(value);
}

/* Returns: the end of the last pass that did something: it told node-1 that the volume is attached
 */
static SimTime
six_minutes_setup(StorageWorld *world, Arrivals *arrivals, uint64_t seed, gboolean polling)
{
    *arrivals = (Arrivals){0};
    storage_world_init(world, &(StorageWorldOptions){.seed = seed, .polling = polling});
    set_constant(&world->timing.write, WRITE);
    set_constant(&world->timing.think, THINK);
    set_constant(&world->timing.watch, WATCH);
    api_server_observe_requests(world->api, six_minutes_request_answered, arrivals);
    attached_pod(world);
    return arrivals->told + WRITE;
}

/* The first pass at @heard or later. */
static SimTime
pass_from(SimTime heard, SimTime end)
{
    return end + (heard - end + PERIOD - 1) / PERIOD * PERIOD;
}

/* A random instant of the next second, so that it meets the loops anywhere. */
static void
wait_a_while(StorageWorld *world, uint64_t n)
{
    go_on(world, (SimTime)sim_random_below(sim_stream(world->sim, "test"), 0, n, SIM_SECOND));
}

/* Its kubelet says no more; a user deletes the pod with force, and another one waits on node-2.
 * Returns: the pass that first wants the detach */
static SimTime
node_dies(StorageWorld *world, SimTime end)
{
    wait_a_while(world, 0);
    storage_world_patch_status(world, key(world, KIND_NODE, "node-1"), edit_not_ready, NULL);
    wait_a_while(world, 1);
    create_pod(world, "b", "node-2");
    remove_pod(world, "a");
    return pass_from(sim_now(world->sim) + WATCH, end);
}

/* The pass tells the node, and starts the detach once that is answered; the detach's operation
 * deletes the VolumeAttachment, and looks 500 to 550 ms later whether it has gone (ADC-3): between
 * the fifth and the sixth pass after the one that told the node, which ended when the node had
 * answered. The sixth attaches. */
static void
assert_moves_in(const Arrivals *arrivals, SimTime pass)
{
    SimTime told = pass + THINK, end = told + WRITE;

    assert_int_equal(arrivals->told, told);
    assert_int_equal(arrivals->detached, end + THINK);
    assert_int_equal(arrivals->attached, end + 6 * PERIOD + THINK);
}

static void
forced_detach_to_the_tick(uint64_t seed, gboolean polling)
{
    StorageWorld world;
    Arrivals arrivals;
    SimTime end = six_minutes_setup(&world, &arrivals, seed, polling);
    SimTime asked = node_dies(&world, end);
    SimTime forced = asked + SIX_MINUTES + PERIOD;

    storage_world_run(&world, forced - 1);
    assert_int_equal(arrivals.detached, 0);
    storage_world_run(&world, forced + 2 * SIM_SECOND);
    assert_moves_in(&arrivals, forced);
    storage_world_clear(&world);
}

/* ADC-43, with ADC-1, ADC-42: forced in the first pass that comes more than six minutes after the
 * one that asked. */
TEST(six_minutes)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        forced_detach_to_the_tick(seed, FALSE);
    for (uint64_t seed = 1; seed <= 3; seed++)
        forced_detach_to_the_tick(seed, TRUE);
}

/* ADC-43: with the taint the first pass that hears of it does. */
TEST(out_of_service_is_shorter)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        StorageWorld world;
        Arrivals arrivals;
        SimTime end = six_minutes_setup(&world, &arrivals, seed, seed % 10 == 0);
        node_dies(&world, end);
        go_on(&world, 30 * SIM_SECOND);
        wait_a_while(&world, 2);
        assert_int_equal(arrivals.detached, 0);
        SimTime heard = sim_now(world.sim) + WATCH;
        storage_world_patch(&world, key(&world, KIND_NODE, "node-1"), edit_out_of_service,
                            word(&world, "node.kubernetes.io/out-of-service"));
        go_on(&world, 2 * SIM_SECOND);
        assert_moves_in(&arrivals, pass_from(heard, end));
        storage_world_clear(&world);
    }
}

/* The clock starts when the detach is wanted, not when the node dies; being wanted and attached
 * again resets it (ADC-49.2). */
TEST(clock_starts_anew)
{
    StorageWorld world;
    Arrivals arrivals;

    SimTime end = six_minutes_setup(&world, &arrivals, 7, FALSE);
    node_dies(&world, end);
    go_on(&world, 5 * SIM_MINUTE);
    create_pod(&world, "c", "node-1"); /* it will never run there */
    go_on(&world, 10 * SIM_MINUTE);
    assert_int_equal(arrivals.detached, 0);
    wait_a_while(&world, 3);
    SimTime heard = sim_now(world.sim) + WATCH;
    remove_pod(&world, "c");
    go_on(&world, 7 * SIM_MINUTE);
    assert_moves_in(&arrivals, pass_from(heard, end) + SIX_MINUTES + PERIOD);
    storage_world_clear(&world);
}
