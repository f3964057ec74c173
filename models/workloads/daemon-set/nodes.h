/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/workload.h"
#include "models/plan/rules.h"

/* Which nodes a DaemonSet wants its pods on, and how its pods say so. All functions are pure. */

/* Returns: (owned): the tolerations of the template and of every daemon pod (NL-44) */
Tolerations *daemon_tolerations(const DaemonSet *set, Strings *strings);

typedef enum {
    DAEMON_UNFIT, /* no pod may be there */
    DAEMON_STAYS, /* no pod is made, but an existing one may stay */
    DAEMON_RUNS,  /* a pod belongs there */
} DaemonFit;
/* @tolerations: from daemon_tolerations() */
DaemonFit daemon_fit(const DaemonSet *set, const Tolerations *tolerations, const Node *node);
extern const RuleTable daemon_fit_rules; /* DS-1 */

/* The template's spec, but for this one node (VF-47): this replaces the template's required node
 * affinity. Returns: (owned) */
PodSpec *daemon_pod_spec(const DaemonSet *set, const Tolerations *tolerations, const char *node);
/* The node that a pod is bound to or made for. NULL: none */
const char *daemon_pod_node(const Pod *pod);
