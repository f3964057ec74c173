/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "model.h"

/* Flags of kube-controller-manager; its controllers share them. Each controller has its own client
 * (API-109). */
typedef struct {
    double kube_api_qps;
    int32_t kube_api_burst;
    SimTime pvclaimbinder_sync_period;
    gboolean enable_dynamic_provisioning;
    SimTime attach_detach_reconcile_sync_period;
    gboolean disable_attach_detach_reconcile_sync;
    gboolean disable_force_detach_on_timeout;
    int32_t concurrent_syncs[N_KINDS]; /* of the controller of a kind */
    int32_t concurrent_ttl_after_finished_syncs;
    int32_t concurrent_gc_syncs;
    int32_t concurrent_ephemeralvolume_syncs;
    SimTime resource_quota_sync_period;
    LeaderElectionOptions election;
    SimTime node_monitor_period;
    SimTime node_monitor_grace_period;
    SimTime node_startup_grace_period;
    double node_eviction_rate, secondary_node_eviction_rate, unhealthy_zone_threshold;
    int32_t large_cluster_size_threshold;
    int32_t terminated_pod_gc_threshold;
} KubeControllerManagerOptions;

/* The place of a flag, for rows of parts. */
#define KCM_FLAG(member) offsetof(KubeControllerManagerOptions, member)
#define KCM_SYNCS(kind) .n_flag = KCM_FLAG(concurrent_syncs[kind])

extern const ProcessClass kube_controller_manager_process;
double kube_controller_manager_client_qps(const void *options, unsigned *burst);
/* The members of a ModelClass that all its controllers have; a few have another client_qps. */
#define KCM_MODEL(model_name)                                                                      \
    .name = model_name, .process = &kube_controller_manager_process,                               \
    .client_qps = kube_controller_manager_client_qps
