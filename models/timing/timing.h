/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/distribution.h"

/* How long requests, watches and loops take. models/profiles/timing-1.32.yaml holds the recorded
 * values, under the same field names. Components borrow the distributions. */
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
    double load;             /* TIM-4: of a request's duration, for which later requests wait */
    /* TIM-90 to TIM-94: from the start of a process to its first work, after a crash */
    SimDist *sidecar_start, *scheduler_start, *manager_start, *kubelet_start;
    /* TIM-95, TIM-96: a pod's sandbox, and the pull of an image; NULL: they take no time */
    SimDist *pod_sandbox, *image_pull;
    double watch_order; /* TIM-9: the probability that a watch event waits for earlier events of
                           other kinds */
    SimTime watch_lead; /* TIM-7: how long before the end of the response the write is committed at
                           most */
    /* TIM-24: a scheduling cycle: the pod alone, also if that refuses it; and the filters */
    SimDist *cycle, *cycle_filter;
    SimTime cycle_node;         /* ... for each node that they look at */
    SimTime cycle_score;        /* ... and the choice among several nodes */
    SimTime loop_pass;          /* TIM-39: SimTickerOptions.cost of loops that only look */
    SimTime attach_detach_pass; /* ... of the attach/detach controller's reconciler */
    SimTime relist_pass;        /* ... of a kubelet's relist, which asks the runtime */
    SimTime status_pass;        /* ... of a kubelet's report of its Node's status */
} Timing;

void timing_clear(Timing *self);
/* A copy with tables in place of the distributions: each pod draws from them a hundred times. */
void timing_init_tables(Timing *self, const Timing *exact);
