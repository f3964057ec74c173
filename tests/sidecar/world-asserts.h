/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/lib/test.h"
#include "world.h"

/* Compare the sidecar's requests, calls and Events with the expected ones. */

static inline void
assert_log(World *world, const char *expected)
{
    g_autofree char *log = world_take_log(world);

    assert_string_equal(log, expected);
}

static inline void
assert_times(World *world, const char *what, const char *expected)
{
    g_autofree char *times = world_times(world, what);

    assert_string_equal(times, expected);
}

static inline void
assert_events_of(World *world, const ObjectKey *involved, const char *expected)
{
    g_autofree char *events = world_events(world, involved);

    assert_string_equal(events, expected);
}
