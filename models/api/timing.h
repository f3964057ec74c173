/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/distribution.h"

/* How long the machinery itself takes: a profile (models/profiles/timing-1.32.yaml holds the recorded one), read by run/.
 * All borrowed by those who draw. The fields' names are the profile's. */
typedef struct {
    SimDist *write;        /* TIM-1: a write, arrival to response */
    SimDist *think;        /* TIM-10: a component's own time before a request or call */
    SimDist *watch;        /* TIM-7: a watch event, counted from the end of the response; may be negative */
    double create_factor;  /* TIM-2: of TIM-1, by verb */
    double update_factor;
    double patch_factor;
    double delete_factor;
    double read_factor;    /* TIM-6 */
    double not_found_factor; /* TIM-5 */
    SimTime watch_lead;    /* TIM-7: how long before the end of the response the write is committed at most */
} Timing;

void timing_clear(Timing *self);
/* Everything takes no time: for tests of rules. */
void timing_init_instant(Timing *self);
