/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/distribution.h"

/* How long the machinery itself takes: a profile (models/profiles/timing-1.32.yaml holds the
 * recorded one), read by run/. All borrowed by those who draw. The fields' names are the profile's.
 */
typedef struct {
    SimDist *write; /* TIM-1: a write, arrival to response */
    SimDist *think; /* TIM-10: a component's own time before a request or call */
    SimDist
        *watch; /* TIM-7: a watch event, counted from the end of the response; may be negative */
    double create_factor; /* TIM-2: of TIM-1, by verb */
    double update_factor;
    double patch_factor;
    double delete_factor;
    double read_factor;      /* TIM-6 */
    double not_found_factor; /* TIM-5 */
    double event_factor;     /* of TIM-1, for an Event */
    double stall_rate;       /* TIM-4: from so many requests a second on, ... */
    double stall_chance;     /* ... a request is held up with this chance ... */
    SimDist *stall;          /* ... for this long; NULL: never */
    double watch_order; /* TIM-9: the chance that a watch event waits for other kinds' before it */
    SimTime watch_lead; /* TIM-7: how long before the end of the response the write is committed at
                           most */
} Timing;

void timing_clear(Timing *self);
/* The same with tables in the place of the distributions (nullable), which are drawn from a hundred
 * times for a pod. */
void timing_init_tables(Timing *self, const Timing *exact);
/* Everything takes no time: for tests of rules. */
void timing_init_instant(Timing *self);
