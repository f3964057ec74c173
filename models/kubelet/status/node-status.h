/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/kubelet-private.h"

/* The status of the Node: pkg/kubelet/nodestatus, kubelet_node_status.go. */

struct NodeStatus {
    /* Node status has a client without limit (KVM-10); made with the first report. */
    ApiClient *heartbeats;
    gboolean reporting;
    gboolean told_unschedulable; /* NL-27: the last Event about that */
    uint16_t label;              /* of the loop, in the log of causes */
};

/* Makes the loop. */
void node_status_init(Kubelet *self);
void node_status_clear(Kubelet *self);
/* CHANGE_REPORTED_IN_USE: the Node has the list. */
void node_status_apply(Kubelet *self, const PlanChange *change);
