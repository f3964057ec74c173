/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The bare heap and the bare M/M/1 queue of yardstick/, in the same process and built with the same
 * options: so that both sides of a ratio are measured in turns under the same conditions. */
typedef struct YardstickHold YardstickHold;

/* A heap of @n_pending events, warmed up. */
YardstickHold *yardstick_hold_new(size_t n_pending);
void yardstick_hold_run(YardstickHold *self, size_t n_holds);
void yardstick_hold_free(YardstickHold *self);

/* Returns: the mean time in the system */
double yardstick_mm1_run(uint64_t seed, uint64_t n_objects);
