/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/rules.h"

/* Which nodes a DaemonSet wants its pods on, and how it says so in them. Pure. */

/* Returns: (owned): the template's tolerations, and those that every daemon pod has (NL-44) */
Tolerations *daemon_tolerations(const DaemonSet *set, Strings *strings);

typedef enum {
    DAEMON_UNFIT, /* no pod may be there */
    DAEMON_STAYS, /* none is made, but one that is there may stay */
    DAEMON_RUNS,  /* a pod belongs there */
} DaemonFit;
/* @tolerations: as of daemon_tolerations() */
DaemonFit daemon_fit(const DaemonSet *set, const Tolerations *tolerations, const Node *node);
extern const RuleTable daemon_fit_rules; /* DS-1 */

/* Of one node and no other (VF-47): replaces what the template requires. Returns: (owned) */
PodSpec *daemon_pod_spec(const DaemonSet *set, const Tolerations *tolerations, const char *node);
/* Where a pod is, or is made for; NULL: nowhere. */
const char *daemon_pod_node(const Pod *pod);
