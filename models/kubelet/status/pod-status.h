/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/pods.h"

/* The status manager: pkg/kubelet/status. */

struct StatusManager {
    gboolean reporting_pod;
    SimEventId report_retry; /* reports wait for it */
    GQueue reports;          /* workers whose status is to be written; by their report_link */
    unsigned n_in_round;     /* the first status of the round, which it writes (KVM-89) */
};

/* With the kubelet; its reports go with their workers. */
void pod_status_init(Kubelet *self);
void pod_status_free(Kubelet *self);

extern const RuleTable kubelet_view_rules; /* SEQ-9, SEQ-10 */

/* Looks at what the worker has to tell by now; tells it if that is new, or if it has finished. */
void pod_status_changed(PodWorker *worker);
/* Somebody else wrote its status: the kubelet tells again what it knows. */
void pod_status_reconcile(PodWorker *worker);
