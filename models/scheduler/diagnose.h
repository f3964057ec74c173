/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "plugins/plugins.h"
#include "queue.h"

/* Why a pod finds no node: the answer of the filters for every node, including filters behind the
 * first that rejects it. It serves questions to a running scheduler and changes nothing. */

/* @node rejects the pod, by @plugin. @reason: as in the pod's condition, without the number */
typedef void (*NodeRefused)(void *data,
                            const NodeInfo *node,
                            PluginId plugin,
                            const Reason *reason);

typedef struct {
    unsigned n_nodes;
    char *text;       /* (owned): why no node is looked at; NULL: they are */
    QueuePlace place; /* PLACE_NONE: being tried, or on its way to a node */
    unsigned n_ahead; /* pods in activeQ */
    SimTime again_at; /* when it is tried again without any change; SIM_TIME_MAX: as it happens */
} Diagnosis;

/**
 * scheduler_diagnose:
 * @diagnosis: (out): free its text
 * Returns: FALSE: no scheduler works in the cluster
 */
gboolean scheduler_diagnose(
    const Cluster *cluster, const Pod *pod, NodeRefused refused, void *data, Diagnosis *diagnosis);
