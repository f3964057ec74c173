/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/kubelet/kubelet-private.h"
#include "node-world.h"

#define MS(ms) ((ms)*SIM_MS)
#define UNIQUE(name) "kubernetes.io/csi/" WORLD_DRIVER "^" name

static World *
new_world(void (*driver)(World *world, CsiModelledOptions *options))
{
    WorldOptions options = {.seed = 7, .driver = driver};

    return world_new(&options);
}

static void
assert_writes(World *world, const char *expected)
{
    g_autofree char *writes = node_world_take_writes(world);

    assert_string_equal(writes, expected);
}

static void
assert_events(World *world, const char *pod, const char *expected)
{
    g_autofree char *events = world_events(world, world_key(world, KIND_POD, pod));

    assert_string_equal(events, expected);
}

static void
assert_in_use(World *world, const char *expected)
{
    g_autofree char *in_use = node_world_in_use(world);

    assert_string_equal(in_use, expected);
}

static void
run_for(World *world, SimTime time)
{
    world_run(world, sim_now(world->sim) + time);
}

/* ---- Rules ---- */

static void
exactly_one_rule_of_a_mount_applies(void **state)
{
    (void)state;
    for (unsigned facts = 0; facts < volume_manager_facts_end; facts++)
        assert_int_equal(volume_manager_rules_matching(facts), 1);
}

/* ---- Sequences ---- */

#define STARTED "Pulling x1: Pulling image \"pause\"; Pulled x1: Successfully pulled image \"pause\" in 0s (0s " \
                "including waiting). Image size: 0 bytes.; Created x1: Created container: c; Started x1: Started container c"

/* SEQ-9, SEQ-10, KVM-76 to KVM-82. */
static void
up_and_down(void **state)
{
    g_autoptr(World) world = new_world(NULL);

    (void)state;
    node_world_add_volume(world, "v", "csi");
    node_world_start(world);
    node_world_add_pod(world, "p", "a", "v");
    run_for(world, MS(200));
    assert_writes(world, "CREATE PersistentVolumeClaim, PATCH_STATUS PersistentVolumeClaim, CREATE PersistentVolume, CREATE Pod, PATCH_STATUS Pod");
}
