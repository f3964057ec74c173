/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/sidecar.h"

/* The sidecar that turns claims into volumes and Released volumes into nothing:
 * external-provisioner v5.2 with its controller library sig-storage-lib v11. One per driver, or on
 * each of its nodes. */

/* Its flags, under their own names. Flags that are not modelled are stored and ignored. */
typedef struct {
    SidecarFlags common;
    const char *volume_name_prefix;
    int32_t volume_name_uuid_length;
    gboolean extra_create_metadata;
    gboolean immediate_topology, strict_topology;
    const char *default_fstype;
    gboolean controller_publish_readonly;
    const char *feature_gates;
    int32_t cloning_protection_threads;
    gboolean prevent_volume_mode_conversion;
    gboolean enable_capacity;
    gboolean capacity_for_immediate_binding;
    SimTime capacity_poll_interval;
    int32_t capacity_threads;
    double kube_api_capacity_qps;
    int32_t kube_api_capacity_burst;
    int32_t capacity_ownerref_level;
    OwnerReferences *capacity_owners; /* not a flag: the owners of capacity objects; NULL: the
                                         sidecar's pod is not known (CAP-3) */
    LeaderElectionOptions election;
    gboolean node_deployment; /* one on each node */
    gboolean node_deployment_immediate_binding;
    SimTime node_deployment_base_delay, node_deployment_max_delay;
} ExternalProvisionerOptions;

extern const ProcessClass external_provisioner_process;
extern const ModelClass external_provisioner_class;
