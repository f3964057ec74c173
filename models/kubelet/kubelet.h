/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* Flags of a kubelet: the fields of KubeletConfiguration, and two times of the container runtime
 * below it. */
typedef struct {
    SimTime node_status_update_frequency;
    SimTime node_status_report_frequency;
    SimTime sync_frequency;
    double kube_api_qps;
    int32_t kube_api_burst;
    double event_record_qps;
    int32_t event_burst;
    gboolean enable_controller_attach_detach;
    int32_t max_pods;
    SimTime container_start; /* from mounted volumes to running containers, image there already */
    SimTime container_stop;  /* from the signal to stopped containers */
    gboolean serialize_image_pulls;
    SimTime shutdown_grace_period, shutdown_grace_period_critical_pods;
    gboolean containers_outlive_kubelet;
    SimTime eviction_pressure_transition_period;
    const char *eviction_hard, *eviction_soft, *eviction_soft_grace, *eviction_minimum_reclaim;
    gboolean merge_default_eviction_settings, local_storage_isolation;
    SimTime volume_stats_agg_period; /* 0: nobody asks how full volumes are */
} KubeletOptions;

/* EVM-10, of 1.30 and later. */
#define EVICTION_HARD_DEFAULT                                                                      \
    "memory.available=100Mi,nodefs.available=10%,nodefs.inodesFree=5%,imagefs.available=15%,"      \
    "imagefs.inodesFree=5%"

extern const ProcessClass kubelet_process;
extern const ModelClass kubelet_class;
