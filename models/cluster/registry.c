/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/attach-detach-controller/attach-detach-controller.h"
#include "models/ephemeral-volume/ephemeral-volume.h"
#include "models/expand-controller/expand-controller.h"
#include "models/external-attacher/external-attacher.h"
#include "models/external-health-monitor/external-health-monitor.h"
#include "models/external-provisioner/external-provisioner.h"
#include "models/external-resizer/external-resizer.h"
#include "models/external-snapshotter/external-snapshotter.h"
#include "models/garbage-collector/garbage-collector.h"
#include "models/kubelet/kubelet.h"
#include "models/local-path/local-path.h"
#include "models/local-static/local-static.h"
#include "models/local-volume/local-volume.h"
#include "models/namespace-controller/namespace-controller.h"
#include "models/node-lifecycle/node-lifecycle.h"
#include "models/pv-controller/pv-controller.h"
#include "models/pvc-pv-protection/pvc-pv-protection.h"
#include "models/resource-quota-controller/resource-quota-controller.h"
#include "models/scheduler/scheduler.h"
#include "models/snapshot-controller/snapshot-controller.h"
#include "models/workloads/cron-job/cron-job.h"
#include "models/workloads/daemon-set/daemon-set.h"
#include "models/workloads/deployment/deployment.h"
#include "models/workloads/disruption/disruption.h"
#include "models/workloads/job/job.h"
#include "models/workloads/replica-set/replica-set.h"
#include "models/workloads/stateful-set/stateful-set.h"
#include "models/workloads/ttl-after-finished/ttl-after-finished.h"

/* The order is part of every result: it orders the ticks of one instant. Append. */
const ModelClass *const model_classes[] = {
    &pv_controller_class,
    &pvc_protection_class,
    &pv_protection_class,
    &attach_detach_controller_class,
    &scheduler_class,
    &external_provisioner_class,
    &external_attacher_class,
    &kubelet_class,
    &stateful_set_controller_class,
    &garbage_collector_class,
    &ephemeral_volume_class,
    &expand_controller_class,
    &external_resizer_class,
    &resource_quota_controller_class,
    &node_lifecycle_class,
    &taint_eviction_class,
    &pod_gc_class,
    &replica_set_controller_class,
    &deployment_controller_class,
    &disruption_controller_class,
    &daemon_set_controller_class,
    &job_controller_class,
    &ttl_after_finished_class,
    &snapshot_controller_class,
    &external_snapshotter_class,
    &vac_protection_class,
    &external_health_monitor_class,
    &local_volume_controller_class,
    &local_volume_agent_class,
    &local_path_class,
    &local_static_class,
    &cron_job_controller_class,
    &namespace_controller_class,
    &replication_controller_class,
    NULL,
};
