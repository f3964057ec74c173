/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The families of metrics of all components, as Kubernetes registers them: names, labels, help,
 * buckets. A table only; MET-n names the rule for each set of buckets. Series count nanoseconds and
 * print seconds. */
#include "metrics.h"

#define TIME 1e-9 /* series count nanoseconds, and print seconds */

/* MET-1 */
static const double stor_bounds[] = {
    0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600, 0,
};
/* MET-2 */
static const double sched_bounds[] = {
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064,  0.128,
    0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384, 0,
};
/* MET-3 */
static const double sli20_bounds[] = {
    0.01,  0.02,  0.04,  0.08,   0.16,   0.32,   0.64,    1.28,    2.56,    5.12, 10.24,
    20.48, 40.96, 81.92, 163.84, 327.68, 655.36, 1310.72, 2621.44, 5242.88, 0,
};
/* MET-6 */
static const double wq_bounds[] = {
    1e-08, 1e-07, 1e-06, 9.999999999999999e-06, 9.999999999999999e-05, 0.001, 0.01, 0.1, 1, 10, 0,
};
/* MET-7 */
static const double rest_bounds[] = {
    0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 0,
};
/* MET-8 */
static const double etcd_bounds[] = {
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
    3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60,  0,
};
/* MET-141, SLI */
static const double sli_bounds[] = {
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60, 0,
};
/* MET-9 */
static const double podstart_bounds[] = {
    0.5, 1,   2,   3,   4,   5,   6,   8,   10,   20,   30,   45,   60,
    120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600, 0,
};
/* MET-10 */
static const double def_bounds[] = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 0,
};
/* MET-25 */
static const double powers_bounds[] = {
    1, 2, 4, 8, 16, 0,
};
/* MET-32 */
static const double victim_bounds[] = {
    1, 2, 4, 8, 16, 32, 64, 0,
};

#define COUNTER(id, name, labels, help) [METRIC_##id] = {name, help, SIM_COUNTER, 1, labels, NULL}
#define GAUGE(id, unit, name, labels, help)                                                        \
    [METRIC_##id] = {name, help, SIM_GAUGE, unit, labels, NULL}
#define COLLECTED(id, name, labels, help)                                                          \
    [METRIC_##id] = {name, help, SIM_COLLECTED, 1, labels, NULL, 0}
/* A claim's: 0 is a value as any. */
#define USAGE(id, name, help)                                                                      \
    [METRIC_##id] = {name, help, SIM_COLLECTED, 1, "namespace,persistentvolumeclaim", NULL, -1}
#define HISTOGRAM(id, unit, bounds, name, labels, help)                                            \
    [METRIC_##id] = {name, help, SIM_HISTOGRAM, unit, labels, bounds}

/* A row: the name, the labels, and below them the help text. */
/* clang-format off */
const SimFamily metric_families[N_METRICS] = {
    COUNTER(API_REQUESTS, "apiserver_request_total",
            "code,component,dry_run,group,resource,scope,subresource,verb,version",
            "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, "
            "group, version, resource, scope, component, and HTTP response code."),
    HISTOGRAM(API_DURATION, TIME, etcd_bounds, "apiserver_request_duration_seconds",
              "component,dry_run,group,resource,scope,subresource,verb,version",
              "[STABLE] Response latency distribution in seconds for each verb, dry run value, "
              "group, version, resource, subresource, scope and component."),
    HISTOGRAM(API_SLI, TIME, sli_bounds, "apiserver_request_sli_duration_seconds",
              "component,group,resource,scope,subresource,verb,version",
              "[ALPHA] Response latency distribution (not counting webhook duration and priority "
              "& fairness queue wait times) in seconds for each verb, group, version, resource, "
              "subresource, scope and component."),
    GAUGE(API_OBJECTS, 1, "apiserver_storage_objects", "resource",
          "[STABLE] Number of stored objects at the time of last check split by kind. In case of "
          "a fetching error, the value will be -1."),
    COUNTER(API_CACHE_EVENTS, "apiserver_watch_cache_events_received_total", "resource",
            "[ALPHA] Counter of events received in watch cache broken by resource type."),
    COUNTER(API_CACHE_DISPATCHED, "apiserver_watch_cache_events_dispatched_total", "resource",
            "[ALPHA] Counter of events dispatched in watch cache broken by resource type."),
    GAUGE(API_CACHE_VERSION, 1, "apiserver_watch_cache_resource_version", "resource",
          "[ALPHA] Current resource version of watch cache broken by resource type."),
    COUNTER(QUEUE_ADDS, "workqueue_adds_total", "name",
            "[ALPHA] Total number of adds handled by workqueue"),
    GAUGE(QUEUE_DEPTH, 1, "workqueue_depth", "name",
          "[ALPHA] Current depth of workqueue"),
    HISTOGRAM(QUEUE_DURATION, TIME, wq_bounds, "workqueue_queue_duration_seconds", "name",
              "[ALPHA] How long in seconds an item stays in workqueue before being requested."),
    HISTOGRAM(QUEUE_WORK, TIME, wq_bounds, "workqueue_work_duration_seconds", "name",
              "[ALPHA] How long in seconds processing an item from workqueue takes."),
    COUNTER(QUEUE_RETRIES, "workqueue_retries_total", "name",
            "[ALPHA] Total number of retries handled by workqueue"),
    GAUGE(QUEUE_UNFINISHED, TIME, "workqueue_unfinished_work_seconds", "name",
          "[ALPHA] How many seconds of work has done that is in progress and hasn't been observed "
          "by work_duration. Large values indicate stuck threads. One can deduce the number of "
          "stuck threads by observing the rate at which this increases."),
    GAUGE(QUEUE_LONGEST, TIME, "workqueue_longest_running_processor_seconds", "name",
          "[ALPHA] How many seconds has the longest running processor for workqueue been running."),
    COUNTER(CLIENT_REQUESTS, "rest_client_requests_total", "code,host,method",
            "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host."),
    HISTOGRAM(CLIENT_DURATION, TIME, rest_bounds, "rest_client_request_duration_seconds",
              "host,verb",
              "[ALPHA] Request latency in seconds. Broken down by verb, and host."),
    HISTOGRAM(CLIENT_LIMITER, TIME, rest_bounds, "rest_client_rate_limiter_duration_seconds",
              "host,verb",
              "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and "
              "host."),
    COUNTER(CLIENT_RETRIES, "rest_client_request_retries_total", "code,host,verb",
            "[ALPHA] Number of request retries, partitioned by status code, verb, and host."),
    COUNTER(SCHEDULER_ATTEMPTS, "scheduler_schedule_attempts_total", "profile,result",
            "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a "
            "pod could not be scheduled, while 'error' means an internal scheduler problem."),
    HISTOGRAM(SCHEDULER_ATTEMPT, TIME, sched_bounds,
              "scheduler_scheduling_attempt_duration_seconds",
              "profile,result",
              "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)"),
    HISTOGRAM(SCHEDULER_SLI, TIME, sli20_bounds, "scheduler_pod_scheduling_sli_duration_seconds",
              "attempts",
              "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the "
              "scheduling queue and might involve multiple scheduling attempts."),
    HISTOGRAM(SCHEDULER_POD_ATTEMPTS, 1, powers_bounds, "scheduler_pod_scheduling_attempts", "",
              "[STABLE] Number of attempts to successfully schedule a pod."),
    HISTOGRAM(SCHEDULER_ALGORITHM, TIME, sched_bounds,
              "scheduler_scheduling_algorithm_duration_seconds",
              "",
              "[ALPHA] Scheduling algorithm latency in seconds"),
    GAUGE(SCHEDULER_PENDING, 1, "scheduler_pending_pods", "queue",
          "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in "
          "activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of "
          "pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' "
          "is the number of unschedulable pods that the scheduler never attempted to schedule "
          "because they are gated."),
    COUNTER(SCHEDULER_INCOMING, "scheduler_queue_incoming_pods_total", "event,queue",
            "[STABLE] Number of pods added to scheduling queues by event and queue type."),
    GAUGE(SCHEDULER_UNSCHEDULABLE, 1, "scheduler_unschedulable_pods", "plugin,profile",
          "[ALPHA] The number of unschedulable pods broken down by plugin name. A pod will "
          "increment the gauge for all plugins that caused it to not schedule and so this metric "
          "have meaning only when broken down by plugin."),
    COUNTER(SCHEDULER_STAGE_ERROR, "scheduler_volume_scheduling_stage_error_total", "operation",
            "[ALPHA] Volume scheduling stage error count"),
    COUNTER(PREEMPTION_ATTEMPTS, "scheduler_preemption_attempts_total", "",
            "[STABLE] Total preemption attempts in the cluster till now"),
    HISTOGRAM(PREEMPTION_VICTIMS, 1, victim_bounds, "scheduler_preemption_victims", "",
              "[STABLE] Number of selected preemption victims"),
    GAUGE(SCHEDULER_CACHE, 1, "scheduler_scheduler_cache_size", "type",
          "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache."),
    HISTOGRAM(STORAGE_OPERATION, TIME, stor_bounds, "storage_operation_duration_seconds",
              "migrated,operation_name,status,volume_plugin",
              "[ALPHA] Storage operation duration"),
    HISTOGRAM(VOLUME_OPERATION, TIME, stor_bounds, "volume_operation_total_seconds",
              "operation_name,plugin_name",
              "[ALPHA] Storage operation end to end duration in seconds"),
    HISTOGRAM(CSI_SIDECAR, TIME, stor_bounds, "csi_sidecar_operations_seconds",
              "driver_name,grpc_status_code,method_name",
              "[ALPHA] Container Storage Interface operation duration with gRPC error code status "
              "total"),
    HISTOGRAM(CSI_KUBELET, TIME, stor_bounds, "csi_operations_seconds",
              "driver_name,grpc_status_code,method_name,migrated",
              "[ALPHA] Container Storage Interface operation duration with gRPC error code status "
              "total"),
    COUNTER(PROVISIONED, "controller_persistentvolumeclaim_provision_total", "class,source",
            "Total number of persistent volumes provisioned succesfully. Broken down by storage "
            "class name and source of the claim."),
    COUNTER(PROVISION_FAILED, "controller_persistentvolumeclaim_provision_failed_total",
            "class,source",
            "Total number of persistent volume provision failed attempts. Broken down by storage "
            "class name and source of the claim."),
    HISTOGRAM(PROVISION_DURATION, TIME, def_bounds,
              "controller_persistentvolumeclaim_provision_duration_seconds",
              "class,source",
              "Latency in seconds to provision persistent volumes. Failed provisioning attempts "
              "are ignored. Broken down by storage class name and source of the claim."),
    COUNTER(VOLUME_DELETED, "controller_persistentvolume_delete_total", "class",
            "Total number of persistent volumes deleted succesfully. Broken down by storage class "
            "name."),
    COUNTER(VOLUME_DELETE_FAILED, "controller_persistentvolume_delete_failed_total", "class",
            "Total number of persistent volume delete failed attempts. Broken down by storage "
            "class name."),
    HISTOGRAM(VOLUME_DELETE_DURATION, TIME, def_bounds,
              "controller_persistentvolume_delete_duration_seconds",
              "class",
              "Latency in seconds to delete persistent volumes. Failed deletion attempts are "
              "ignored. Broken down by storage class name."),
    COLLECTED(PV_TOTAL, "pv_collector_total_pv_count", "plugin_name,volume_mode",
              "[ALPHA] Gauge measuring total number of persistent volumes"),
    COLLECTED(PV_BOUND, "pv_collector_bound_pv_count", "storage_class",
              "[ALPHA] Gauge measuring number of persistent volume currently bound"),
    COLLECTED(PV_UNBOUND, "pv_collector_unbound_pv_count", "storage_class",
              "[ALPHA] Gauge measuring number of persistent volume currently unbound"),
    COLLECTED(PVC_BOUND, "pv_collector_bound_pvc_count",
              "namespace,storage_class,volume_attributes_class",
              "[ALPHA] Gauge measuring number of persistent volume claim currently bound"),
    COLLECTED(PVC_UNBOUND, "pv_collector_unbound_pvc_count",
              "namespace,storage_class,volume_attributes_class",
              "[ALPHA] Gauge measuring number of persistent volume claim currently unbound"),
    GAUGE(CAPACITY_GOAL, 1, "csistoragecapacities_desired_goal", "",
          "[ALPHA] Number of CSIStorageCapacity objects that are supposed to be managed "
          "automatically."),
    GAUGE(CAPACITY_CURRENT, 1, "csistoragecapacities_desired_current", "",
          "[ALPHA] Number of CSIStorageCapacity objects that exist and are supposed to be managed "
          "automatically."),
    GAUGE(CAPACITY_OBSOLETE, 1, "csistoragecapacities_obsolete", "",
          "[ALPHA] Number of CSIStorageCapacity objects that exist and will be deleted "
          "automatically. Objects that exist and may need an update are not considered obsolete "
          "and therefore not included in this value."),
    COUNTER(RETROACTIVE, "retroactive_storageclass_total", "",
            "[ALPHA] Total number of retroactive StorageClass assignments to persistent volume "
            "claim"),
    COUNTER(RETROACTIVE_ERRORS, "retroactive_storageclass_errors_total", "",
            "[ALPHA] Total number of failed retroactive StorageClass assignments to persistent "
            "volume claim"),
    COUNTER(EPHEMERAL_CREATED, "ephemeral_volume_controller_create_total", "",
            "[ALPHA] Number of PersistentVolumeClaim creation requests"),
    COUNTER(EPHEMERAL_FAILED, "ephemeral_volume_controller_create_failures_total", "",
            "[ALPHA] Number of PersistentVolumeClaim creation requests"),
    COUNTER(POD_GC, "pod_gc_collector_force_delete_pods_total", "namespace,reason",
            "[ALPHA] Number of pods that are being forcefully deleted since the Pod GC Controller "
            "started."),
    COUNTER(GC_SYNC_ERRORS, "garbagecollector_controller_resources_sync_error_total", "",
            "[ALPHA] Number of garbage collector resources sync errors"),
    COUNTER(EVICTED_NODES, "node_collector_evictions_total", "zone",
            "[STABLE] Number of Node evictions that happened since current instance of "
            "NodeController started."),
    COUNTER(TAINT_EVICTIONS, "taint_eviction_controller_pod_deletions_total", "",
            "[ALPHA] Total number of Pods deleted by TaintEvictionController since its start."),
    COUNTER(FORCED_DETACHES, "attach_detach_controller_attachdetach_controller_forced_detaches",
            "reason",
            "[ALPHA] Number of times the A/D Controller performed a forced detach"),
    COLLECTED(ADC_VOLUMES, "attachdetach_controller_total_volumes", "plugin_name,state",
              "[ALPHA] Number of volumes in A/D Controller"),
    COLLECTED(VOLUMES_IN_USE, "storage_count_attachable_volumes_in_use", "node,volume_plugin",
              "[ALPHA] Measure number of volumes in use"),
    COLLECTED(KUBELET_VOLUMES, "volume_manager_total_volumes", "plugin_name,state",
              "[ALPHA] Number of volumes in Volume Manager"),
    COLLECTED(KUBELET_PLUGINS, "plugin_manager_total_plugins", "socket_path,state",
              "[ALPHA] Number of plugins in Plugin Manager"),
    GAUGE(SELINUX_ERRORS, 1, "volume_manager_selinux_volume_context_mismatch_errors_total",
          "access_mode,volume_plugin",
          "[ALPHA] Number of errors when a Pod uses a volume that is already mounted with a "
          "different SELinux context than the Pod needs. Kubelet can't start such a Pod then and "
          "it will retry, therefore value of this metric may not represent the actual nr. of "
          "Pods."),
    GAUGE(SELINUX_WARNINGS, 1, "volume_manager_selinux_volume_context_mismatch_warnings_total",
          "access_mode,volume_plugin",
          "[ALPHA] Number of errors when a Pod uses a volume that is already mounted with a "
          "different SELinux context than the Pod needs. They are not errors yet, but they will "
          "become real errors when SELinuxMountReadWriteOncePod feature is expanded to all volume "
          "access modes."),
    GAUGE(SELINUX_ADMITTED, 1, "volume_manager_selinux_volumes_admitted_total",
          "access_mode,volume_plugin",
          "[ALPHA] Number of volumes whose SELinux context was fine and will be mounted with "
          "mount -o context option."),
    COUNTER(KUBELET_RECONSTRUCTED, "reconstruct_volume_operations_total", "",
            "[ALPHA] The number of volumes that were attempted to be reconstructed from the "
            "operating system during kubelet startup. This includes both successful and failed "
            "reconstruction."),
    COUNTER(KUBELET_RECONSTRUCT_ERRORS, "reconstruct_volume_operations_errors_total", "",
            "[ALPHA] The number of volumes that failed reconstruction from the operating system "
            "during kubelet startup."),
    COUNTER(KUBELET_FORCE_CLEANED, "force_cleaned_failed_volume_operations_total", "",
            "[ALPHA] The number of volumes that were force cleaned after their reconstruction "
            "failed during kubelet startup. This includes both successful and failed cleanups."),
    COUNTER(KUBELET_FORCE_CLEAN_ERRORS, "force_cleaned_failed_volume_operation_errors_total", "",
            "[ALPHA] The number of volumes that failed force cleanup after their reconstruction "
            "failed during kubelet startup."),
    GAUGE(KUBELET_SHUTDOWN_START, TIME, "kubelet_graceful_shutdown_start_time_seconds", "",
          "[ALPHA] Last graceful shutdown start time since unix epoch in seconds"),
    GAUGE(KUBELET_SHUTDOWN_END, TIME, "kubelet_graceful_shutdown_end_time_seconds", "",
          "[ALPHA] Last graceful shutdown end time since unix epoch in seconds"),
    COLLECTED(KUBELET_CAPACITY, "kubelet_volume_stats_capacity_bytes",
              "namespace,persistentvolumeclaim",
              "[ALPHA] Capacity in bytes of the volume"),
    USAGE(KUBELET_AVAILABLE, "kubelet_volume_stats_available_bytes",
          "[ALPHA] Number of available bytes in the volume"),
    USAGE(KUBELET_USED, "kubelet_volume_stats_used_bytes",
          "[ALPHA] Number of used bytes in the volume"),
    USAGE(KUBELET_INODES, "kubelet_volume_stats_inodes",
          "[ALPHA] Maximum number of inodes in the volume"),
    USAGE(KUBELET_INODES_FREE, "kubelet_volume_stats_inodes_free",
          "[ALPHA] Number of free inodes in the volume"),
    USAGE(KUBELET_INODES_USED, "kubelet_volume_stats_inodes_used",
          "[ALPHA] Number of used inodes in the volume"),
    USAGE(KUBELET_ABNORMAL, "kubelet_volume_stats_health_status_abnormal",
          "[ALPHA] Abnormal volume health status. The count is either 1 or 0. 1 indicates the "
          "volume is unhealthy, 0 indicates volume is healthy"),
    HISTOGRAM(KUBELET_QUESTION, TIME, def_bounds, "kubelet_volume_metric_collection_duration_seconds",
              "metric_source", "[ALPHA] Duration in seconds to calculate volume stats"),
    HISTOGRAM(POD_START, TIME, podstart_bounds, "kubelet_pod_start_duration_seconds", "",
              "[ALPHA] Duration in seconds from kubelet seeing a pod for the first time to the "
              "pod starting to run"),
    HISTOGRAM(POD_START_SLI, TIME, podstart_bounds, "kubelet_pod_start_sli_duration_seconds", "",
              "[ALPHA] Duration in seconds to start a pod, excluding time to pull images and run "
              "init containers, measured from pod creation timestamp to when all its containers "
              "are reported as started and observed via watch"),
    HISTOGRAM(POD_START_TOTAL, TIME, podstart_bounds, "kubelet_pod_start_total_duration_seconds",
              "",
              "[ALPHA] Duration in seconds to start a pod since creation, including time to pull "
              "images and run init containers, measured from pod creation timestamp to when all "
              "its containers are reported as started and observed via watch"),
    GAUGE(KUBELET_RUNNING, 1, "kubelet_running_pods", "",
          "[ALPHA] Number of pods that have a running pod sandbox"),
    COUNTER(KUBELET_EVICTIONS, "kubelet_evictions", "eviction_signal",
            "[ALPHA] Cumulative number of pod evictions by eviction signal"),
    GAUGE(ZONE_SIZE, 1, "node_collector_zone_size", "zone",
          "[ALPHA] Gauge measuring number of registered Nodes per zones."),
    GAUGE(ZONE_HEALTH, 1, "node_collector_zone_health", "zone",
          "[ALPHA] Gauge measuring percentage of healthy nodes per zone."),
    GAUGE(ZONE_UNHEALTHY, 1, "node_collector_unhealthy_nodes_in_zone", "zone",
          "[ALPHA] Gauge measuring number of not Ready Nodes per zones."),
    GAUGE(LEADER, 1, "leader_election_master_status", "name",
          "[ALPHA] Gauge of if the reporting system is master of the relevant lease, 0 indicates "
          "backup, 1 indicates master. 'name' is the string used to identify the lease. Please "
          "make sure to group by name."),
    GAUGE(PROCESS_START, 1, "process_start_time_seconds", "",
          "Start time of the process since unix epoch in seconds."),
};
/* clang-format on */
