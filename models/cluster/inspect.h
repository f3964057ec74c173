/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"

/* What the components of a cluster are doing at this instant: for who looks while time stands
 * still. Changes nothing. */

typedef enum {
    DOING_PLAN,    /* a step of a plan is under way: a request, a call, a wait */
    DOING_QUEUED,  /* a key waits in a work queue for a worker */
    DOING_DELAYED, /* a key is added to a work queue later: a back-off, or something looked at every
                      now and then */
} DoingKind;

typedef struct {
    DoingKind kind;
    const Component *component;
    const char *queue;    /* of keys; NULL: of plans */
    const ObjectKey *key; /* NULL: a plan about nothing in particular */
    const char *step;     /* of plans: as PlanObserver has it; NULL: it decides now */
    const char *rule;     /* of plans; NULL: none told */
    SimTime at;           /* of plans: since when; of delayed keys: until when */
    unsigned failures;    /* of keys: in a row */
} Doing;

typedef void (*DoingSeen)(void *data, const Doing *doing);
/* Components in the order in which they were started; of each its plans, then its queues. */
void cluster_inspect(const Cluster *self, DoingSeen seen, void *data);
