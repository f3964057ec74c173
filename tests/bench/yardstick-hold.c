/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The yardstick is kept as it was measured: neither warnings nor checkers are for it. */
#ifndef __clang_analyzer__
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wswitch-enum"
#undef _GNU_SOURCE
#define main yardstick_hold_main
#include "hold.c.inc" /* from a folder that only the build knows */
#undef main

#include "yardstick.h"

struct YardstickHold {
    quad16_q queue;
    uint64_t sequence;
};

YardstickHold *
yardstick_hold_new(size_t n_pending)
{
    YardstickHold *self = calloc(1, sizeof *self);

    (void)yardstick_hold_main;
    fill_inc("exp");
    q16_init(&self->queue, n_pending);
    for (size_t i = 0; i < n_pending; i++)
        q16_push(&self->queue, (ev_t){draw(), self->sequence++, i, 0});
    return self;
}

void
yardstick_hold_run(YardstickHold *self, size_t n_holds)
{
    hold_quad16(&self->queue, n_holds, &self->sequence);
}

void
yardstick_hold_free(YardstickHold *self)
{
    q16_free(&self->queue);
    free(self);
}
#endif
