/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* kube-scheduler: which node a pod gets, and for late-binding claims which volume or which node
 * their volume is made for.
 *
 *   queue.*      who is tried next, and when again
 *   cache.*      nodes with the pods that are on them or assumed there; volume-names.*,
 * pod-counts.*: what of them is counted cycle.*      one attempt at one pod: filters, scores,
 * message; plugins/: a table of plugins binding.*    volumes that are chosen but not written yet,
 * and whether a claim is bound events.*     what each change in the cluster means to pods that
 * found no node requeue.c    moves pods through the queue; attempt.c a pod's way from its pop to
 * its binding, as plans scheduler.c  hears of changes; flags, start and end */

/* Its flags; those without a dash are fields of its configuration file. */
typedef struct {
    double kube_api_qps;
    int32_t kube_api_burst;
    int32_t percentage_of_nodes_to_score;
    int32_t pod_initial_backoff_s;
    int32_t pod_max_backoff_s;
    int32_t bind_timeout_s;
    int32_t max_pd_vols; /* KUBE_MAX_PD_VOLS; 0: not set */
    SimTime pod_max_in_unschedulable;
    const char *shape; /* of VolumeBinding's score */
    LeaderElectionOptions election;
} KubeSchedulerOptions;

extern const ModelClass scheduler_class;
