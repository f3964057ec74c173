/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/lib/test.h"

#include <glib.h>
#include <string.h>

/* Logs of two runs that must agree: a failure shows where they part. */
static inline void
assert_same_log(uint64_t seed, const char *one, const char *other)
{
    size_t same = 0;

    while (one[same] != '\0' && one[same] == other[same])
        same++;
    if (one[same] != other[same])
        fail_msg("seed %u: after %.*s: %.300s\nand: %.300s", (unsigned)seed, (int)MIN(same, 300),
                 one + same - MIN(same, 300), one + same, other + same);
}

/* Loops that sleep while nothing changes do what loops do that poll. @live returns (owned) a log,
 * which has @event in it. */
static inline void
assert_sleeping_equals_polling(char *(*live)(uint64_t seed, gboolean polling),
                               uint64_t n_seeds,
                               const char *event)
{
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        g_autofree char *asleep = live(seed, FALSE), *polling = live(seed, TRUE);

        assert_non_null(strstr(asleep, event));
        assert_same_log(seed, asleep, polling);
    }
}
