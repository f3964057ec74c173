/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cluster.h"

/* Lists what the components of a cluster are doing at this instant. Changes nothing. */

typedef enum {
    DOING_PLAN,    /* a step of a plan is under way: a request, a call, a wait */
    DOING_QUEUED,  /* a key waits in a work queue for a worker */
    DOING_DELAYED, /* a key enters a work queue later: a back-off or a periodic check */
} DoingKind;

typedef struct {
    DoingKind kind;
    const Component *component;
    const char *queue;    /* of a key; NULL for plans */
    const ObjectKey *key; /* NULL: a plan without an object */
    const char *step;     /* of a plan: as PlanObserver names it; NULL: it is deciding */
    const char *rule;     /* of a plan; NULL: no rule yet */
    SimTime at;           /* start of a plan; end of a delay */
    unsigned failures;    /* of a key: consecutive failures */
} Doing;

typedef void (*DoingSeen)(void *data, const Doing *doing);
/* Visits components in the order of their start; of each, first its plans, then its queues. */
void cluster_inspect(const Cluster *self, DoingSeen seen, void *data);

/* A process of a cluster. */
typedef struct {
    const char *name;     /* "external-provisioner" */
    const char *instance; /* driver or node; NULL: one for the cluster */
    const char *node;     /* of a sidecar that runs beside the node plugin; NULL: none */
    unsigned replica;
    ProcessScope scope;
    gboolean is_running, is_hung, is_cut_off, is_off; /* is_off: its machine has no power */
    gboolean elects, leads;
    const GPtrArray *components; /* (borrowed): of Component; empty unless it runs */
} ProcessView;

typedef void (*ProcessSeen)(void *data, const ProcessView *process);
/* Visits the processes in the order of their start. */
void cluster_inspect_processes(const Cluster *self, ProcessSeen seen, void *data);
