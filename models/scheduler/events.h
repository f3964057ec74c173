/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "plugins/plugins.h"

/* A change in the cluster, as it concerns pods that found no node (SCH-60..68). */
typedef enum {
    EVENT_NODE,
    EVENT_POD,     /* of a pod on a node */
    EVENT_OWN_POD, /* of the waiting pod itself */
    EVENT_CLAIM,
    EVENT_VOLUME,
    EVENT_CLASS,
    EVENT_CSI_NODE,
    EVENT_CAPACITY,
    EVENT_ATTACHMENT,
    EVENT_CSI_DRIVER,
} EventResource;

typedef enum {
    ACTION_ADD = 1 << 0,
    ACTION_UPDATE = 1 << 1,
    ACTION_DELETE = 1 << 2,
    ACTION_NODE_TAINT = 1 << 3,
    ACTION_NODE_ALLOCATABLE = 1 << 4,
    ACTION_NODE_LABEL = 1 << 5,
    ACTION_POD_LABEL = 1 << 6,
    ACTION_POD_TOLERATIONS = 1 << 7,
    ACTION_POD_GATES = 1 << 8,
} EventActions;

typedef struct {
    EventResource resource;
    uint32_t actions; /* EventActions: an update of a node or pod may be several, or none */
    const Object *before, *after;
    int minor; /* of the release: later plugins register for more */
} ClusterEvent;

/* The event of an object that was added, changed or deleted. */
ClusterEvent
cluster_event(EventResource resource, const Object *before, const Object *after, int minor);
/* The plugins that registered for it: 1 << PluginId. */
uint32_t cluster_event_plugins(const ClusterEvent *event);
/* SCH-66: the same without hints: plugins are not asked whether the event helps, and hear of more
 * changes of nodes. */
uint32_t cluster_event_plugins_unasked(const ClusterEvent *event);
/* SCH-66: whether the pod would fit on the changed node, by requests, labels and taints alone. */
gboolean cluster_event_fits(const ClusterEvent *event, const Pod *pod, const NodeInfo *node);
/* SCH-66: whether a pod that has got a node may satisfy @pod's affinity. */
gboolean cluster_event_is_company(const ClusterEvent *event, const Pod *pod, uint32_t rejected_by);
/* SCH-63: whether the event may help @pod, which the plugins of @rejected_by rejected. Returns: the
 * rule; static; NULL: no */
const char *cluster_event_helps(const ClusterEvent *event, const Pod *pod, uint32_t rejected_by);
