/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The yardstick is kept as it was measured: neither warnings nor checkers are for it. */
#ifndef __clang_analyzer__
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#undef _GNU_SOURCE
#define main yardstick_mm1_main
#include "mm1.c.inc" /* from a folder that only the build knows */
#undef main

#include "yardstick.h"

double
yardstick_mm1_run(uint64_t seed_number, uint64_t n_objects)
{
    static sim_t queue;

    (void)yardstick_mm1_main;
    seed(seed_number);
    return run(&queue, n_objects, 0);
}
#endif
