/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "metrics.h"

#define TIME 1e-9 /* of nanoseconds in seconds */

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

const SimFamily metric_families[N_METRICS] = {
    [METRIC_API_REQUESTS] =
        {"apiserver_request_total",
                               "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, "
         "version, resource, scope, component, and HTTP response code.",                                                                 SIM_COUNTER,   1,    "code,component,dry_run,group,resource,scope,subresource,verb,version",
                               NULL                                                                                                                                                                                                                  },
    [METRIC_API_DURATION] =
        {"apiserver_request_duration_seconds",
                               "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, "
         "version, resource, subresource, scope and component.",                                                                         SIM_HISTOGRAM, TIME, "component,dry_run,group,resource,scope,subresource,verb,version",
                               etcd_bounds                                                                                                                                                                                                           },
    [METRIC_API_SLI] = {"apiserver_request_sli_duration_seconds",
                               "[ALPHA] Response latency distribution (not counting webhook duration and "
                        "priority & fairness queue wait times) in seconds for each verb, group, "
                        "version, resource, subresource, scope and component.",                                                          SIM_HISTOGRAM, TIME,
                               "component,group,resource,scope,subresource,verb,version",                                                                                                                                             sli_bounds     },
    [METRIC_API_OBJECTS] = {"apiserver_storage_objects",
                               "[STABLE] Number of stored objects at the time of last check split by "
                            "kind. In case of a fetching error, the value will be -1.",                                                  SIM_GAUGE,     1,    "resource",                                                             NULL           },
    [METRIC_API_CACHE_EVENTS] =
        {"apiserver_watch_cache_events_received_total",
                               "[ALPHA] Counter of events received in watch cache broken by resource type.",                             SIM_COUNTER,
                               1,                                                                                                                             "resource",                                                             NULL           },
    [METRIC_API_CACHE_DISPATCHED] =
        {"apiserver_watch_cache_events_dispatched_total",
                               "[ALPHA] Counter of events dispatched in watch cache broken by resource type.",
                               SIM_COUNTER,                                                                                                             1,    "resource",                                                             NULL           },
    [METRIC_API_CACHE_VERSION] =
        {"apiserver_watch_cache_resource_version",
                               "[ALPHA] Current resource version of watch cache broken by resource type.",                               SIM_GAUGE,     1,
                               "resource",                                                                                                                                                                                            NULL           },
    [METRIC_QUEUE_ADDS] = {"workqueue_adds_total",
                               "[ALPHA] Total number of adds handled by workqueue",                                                      SIM_COUNTER,   1,
                               "name",                                                                                                                                                                                                NULL           },
    [METRIC_QUEUE_DEPTH] = {"workqueue_depth",                                                  "[ALPHA] Current depth of workqueue", SIM_GAUGE,     1,
                               "name",                                                                                                                                                                                                NULL           },
    [METRIC_QUEUE_DURATION] =
        {"workqueue_queue_duration_seconds",
                               "[ALPHA] How long in seconds an item stays in workqueue before being requested.",
                               SIM_HISTOGRAM,                                                                                                           TIME, "name",                                                                 wq_bounds      },
    [METRIC_QUEUE_WORK] = {"workqueue_work_duration_seconds",
                               "[ALPHA] How long in seconds processing an item from workqueue takes.",
                               SIM_HISTOGRAM,                                                                                                           TIME, "name",                                                                 wq_bounds      },
    [METRIC_QUEUE_RETRIES] = {"workqueue_retries_total",
                               "[ALPHA] Total number of retries handled by workqueue",                                                   SIM_COUNTER,
                               1,                                                                                                                             "name",                                                                 NULL           },
    [METRIC_QUEUE_UNFINISHED] =
        {"workqueue_unfinished_work_seconds",
                               "[ALPHA] How many seconds of work has done that is in progress and hasn't been observed "
         "by work_duration. Large values indicate stuck threads. One can deduce the number of "
         "stuck threads by observing the rate at which this increases.",                                                                 SIM_GAUGE,     TIME, "name",                                                                 NULL           },
    [METRIC_QUEUE_LONGEST] =
        {"workqueue_longest_running_processor_seconds",
                               "[ALPHA] How many seconds has the longest running processor for workqueue been running.",
                               SIM_GAUGE,                                                                                                               TIME, "name",                                                                 NULL           },
    [METRIC_CLIENT_REQUESTS] =
        {"rest_client_requests_total",
                               "[ALPHA] Number of HTTP requests, partitioned by status code, method, and host.",
                               SIM_COUNTER,                                                                                                             1,    "code,host,method",                                                     NULL           },
    [METRIC_CLIENT_DURATION] =
        {"rest_client_request_duration_seconds",
                               "[ALPHA] Request latency in seconds. Broken down by verb, and host.",                                     SIM_HISTOGRAM, TIME,
                               "host,verb",                                                                                                                                                                                           rest_bounds    },
    [METRIC_CLIENT_LIMITER] =
        {"rest_client_rate_limiter_duration_seconds",
                               "[ALPHA] Client side rate limiter latency in seconds. Broken down by verb, and host.",
                               SIM_HISTOGRAM,                                                                                                           TIME, "host,verb",                                                            rest_bounds    },
    [METRIC_CLIENT_RETRIES] =
        {"rest_client_request_retries_total",
                               "[ALPHA] Number of request retries, partitioned by status code, verb, and host.",
                               SIM_COUNTER,                                                                                                             1,    "code,host,verb",                                                       NULL           },
    [METRIC_SCHEDULER_ATTEMPTS] =
        {"scheduler_schedule_attempts_total",
                               "[STABLE] Number of attempts to schedule pods, by the result. 'unschedulable' means a pod "
         "could not be scheduled, while 'error' means an internal scheduler problem.",                                                   SIM_COUNTER,   1,    "profile,result",                                                       NULL           },
    [METRIC_SCHEDULER_ATTEMPT] =
        {"scheduler_scheduling_attempt_duration_seconds",
                               "[STABLE] Scheduling attempt latency in seconds (scheduling algorithm + binding)",
                               SIM_HISTOGRAM,                                                                                                           TIME, "profile,result",                                                       sched_bounds   },
    [METRIC_SCHEDULER_SLI] =
        {"scheduler_pod_scheduling_sli_duration_seconds",
                               "[BETA] E2e latency for a pod being scheduled, from the time the pod enters the "
         "scheduling queue and might involve multiple scheduling attempts.",                                                             SIM_HISTOGRAM, TIME, "attempts",                                                             sli20_bounds   },
    [METRIC_SCHEDULER_POD_ATTEMPTS] =
        {"scheduler_pod_scheduling_attempts",
                               "[STABLE] Number of attempts to successfully schedule a pod.",                                            SIM_HISTOGRAM, 1,    "",
                               powers_bounds                                                                                                                                                                                                         },
    [METRIC_SCHEDULER_ALGORITHM] = {"scheduler_scheduling_algorithm_duration_seconds",
                               "[ALPHA] Scheduling algorithm latency in seconds",                                                        SIM_HISTOGRAM, TIME, "",                                                                     sched_bounds   },
    [METRIC_SCHEDULER_PENDING] =
        {"scheduler_pending_pods",
                               "[STABLE] Number of pending pods, by the queue type. 'active' means number of pods in "
         "activeQ; 'backoff' means number of pods in backoffQ; 'unschedulable' means number of "
         "pods in unschedulablePods that the scheduler attempted to schedule and failed; 'gated' "
         "is the number of unschedulable pods that the scheduler never attempted to schedule "
         "because they are gated.",                                                                                                      SIM_GAUGE,     1,    "queue",                                                                NULL           },
    [METRIC_SCHEDULER_INCOMING] =
        {"scheduler_queue_incoming_pods_total",
                               "[STABLE] Number of pods added to scheduling queues by event and queue type.",                            SIM_COUNTER,
                               1,                                                                                                                             "event,queue",                                                          NULL           },
    [METRIC_SCHEDULER_UNSCHEDULABLE] =
        {"scheduler_unschedulable_pods",
                               "[ALPHA] The number of unschedulable pods broken down by plugin name. A pod will "
         "increment the gauge for all plugins that caused it to not schedule and so this metric "
         "have meaning only when broken down by plugin.",                                                                                SIM_GAUGE,     1,    "plugin,profile",                                                       NULL           },
    [METRIC_SCHEDULER_STAGE_ERROR] = {"scheduler_volume_scheduling_stage_error_total",
                               "[ALPHA] Volume scheduling stage error count",                                                            SIM_COUNTER,   1,
                               "operation",                                                                                                                                                                                           NULL           },
    [METRIC_PREEMPTION_ATTEMPTS] = {"scheduler_preemption_attempts_total",
                               "[STABLE] Total preemption attempts in the cluster till now",                                             SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_PREEMPTION_VICTIMS] = {"scheduler_preemption_victims",
                               "[STABLE] Number of selected preemption victims",                                                         SIM_HISTOGRAM,
                               1,                                                                                                                             "",                                                                     victim_bounds  },
    [METRIC_SCHEDULER_CACHE] =
        {"scheduler_scheduler_cache_size",
                               "[ALPHA] Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
                               SIM_GAUGE,                                                                                                               1,    "type",                                                                 NULL           },
    [METRIC_STORAGE_OPERATION] = {"storage_operation_duration_seconds",
                               "[ALPHA] Storage operation duration",                                                                     SIM_HISTOGRAM, TIME,
                               "migrated,operation_name,status,volume_plugin",                                                                                                                                                        stor_bounds    },
    [METRIC_VOLUME_OPERATION] = {"volume_operation_total_seconds",
                               "[ALPHA] Storage operation end to end duration in seconds",                                               SIM_HISTOGRAM, TIME, "operation_name,plugin_name",                                           stor_bounds    },
    [METRIC_CSI_SIDECAR] =
        {"csi_sidecar_operations_seconds",
                               "[ALPHA] Container Storage Interface operation duration with gRPC error code status total",
                               SIM_HISTOGRAM,                                                                                                           TIME, "driver_name,grpc_status_code,method_name",                             stor_bounds    },
    [METRIC_CSI_KUBELET] =
        {"csi_operations_seconds",
                               "[ALPHA] Container Storage Interface operation duration with gRPC error code status total",
                               SIM_HISTOGRAM,                                                                                                           TIME, "driver_name,grpc_status_code,method_name,migrated",                    stor_bounds    },
    [METRIC_PROVISIONED] = {"controller_persistentvolumeclaim_provision_total",
                               "Total number of persistent volumes provisioned succesfully. Broken "
                            "down by storage class name and source of the claim.",                                                       SIM_COUNTER,   1,    "class,source",                                                         NULL           },
    [METRIC_PROVISION_FAILED] = {"controller_persistentvolumeclaim_provision_failed_total",
                               "Total number of persistent volume provision failed attempts. "
                                 "Broken down by storage class name and source of the claim.",                                           SIM_COUNTER,   1,    "class,source",                                                         NULL           },
    [METRIC_PROVISION_DURATION] =
        {"controller_persistentvolumeclaim_provision_duration_seconds",
                               "Latency in seconds to provision persistent volumes. Failed provisioning attempts are "
         "ignored. Broken down by storage class name and source of the claim.",                                                          SIM_HISTOGRAM, TIME, "class,source",                                                         def_bounds     },
    [METRIC_VOLUME_DELETED] = {"controller_persistentvolume_delete_total",
                               "Total number of persistent volumes deleted succesfully. Broken "
                               "down by storage class name.",                                                                            SIM_COUNTER,   1,    "class",                                                                NULL           },
    [METRIC_VOLUME_DELETE_FAILED] = {"controller_persistentvolume_delete_failed_total",
                               "Total number of persistent volume delete failed attempts. "
                                     "Broken down by storage class name.",                                                               SIM_COUNTER,   1,    "class",                                                                NULL           },
    [METRIC_VOLUME_DELETE_DURATION] =
        {"controller_persistentvolume_delete_duration_seconds",
                               "Latency in seconds to delete persistent volumes. Failed deletion attempts are ignored. "
         "Broken down by storage class name.",                                                                                           SIM_HISTOGRAM, TIME, "class",                                                                def_bounds     },
    [METRIC_PV_TOTAL] = {"pv_collector_total_pv_count",
                               "[ALPHA] Gauge measuring total number of persistent volumes",                                             SIM_COLLECTED, 1,    "plugin_name,volume_mode",                                              NULL           },
    [METRIC_PV_BOUND] = {"pv_collector_bound_pv_count",
                               "[ALPHA] Gauge measuring number of persistent volume currently bound",
                               SIM_COLLECTED,                                                                                                           1,    "storage_class",                                                        NULL           },
    [METRIC_PV_UNBOUND] = {"pv_collector_unbound_pv_count",
                               "[ALPHA] Gauge measuring number of persistent volume currently unbound",
                               SIM_COLLECTED,                                                                                                           1,    "storage_class",                                                        NULL           },
    [METRIC_PVC_BOUND] =
        {"pv_collector_bound_pvc_count",
                               "[ALPHA] Gauge measuring number of persistent volume claim currently bound",                              SIM_COLLECTED,
                               1,                                                                                                                             "namespace,storage_class,volume_attributes_class",                      NULL           },
    [METRIC_PVC_UNBOUND] =
        {"pv_collector_unbound_pvc_count",
                               "[ALPHA] Gauge measuring number of persistent volume claim currently unbound",
                               SIM_COLLECTED,                                                                                                           1,    "namespace,storage_class,volume_attributes_class",                      NULL           },
    [METRIC_CAPACITY_GOAL] = {"csistoragecapacities_desired_goal",
                               "[ALPHA] Number of CSIStorageCapacity objects that are supposed to "
                              "be managed automatically.",                                                                               SIM_GAUGE,     1,    "",                                                                     NULL           },
    [METRIC_CAPACITY_CURRENT] = {"csistoragecapacities_desired_current",
                               "[ALPHA] Number of CSIStorageCapacity objects that exist and are "
                                 "supposed to be managed automatically.",                                                                SIM_GAUGE,     1,    "",                                                                     NULL           },
    [METRIC_CAPACITY_OBSOLETE] =
        {"csistoragecapacities_obsolete",
                               "[ALPHA] Number of CSIStorageCapacity objects that exist and will be deleted "
         "automatically. Objects that exist and may need an update are not considered obsolete and "
         "therefore not included in this value.",                                                                                        SIM_GAUGE,     1,    "",                                                                     NULL           },
    [METRIC_RETROACTIVE] =
        {"retroactive_storageclass_total",
                               "[ALPHA] Total number of retroactive StorageClass assignments to persistent volume claim",
                               SIM_COUNTER,                                                                                                             1,    "",                                                                     NULL           },
    [METRIC_RETROACTIVE_ERRORS] = {"retroactive_storageclass_errors_total",
                               "[ALPHA] Total number of failed retroactive StorageClass "
                                   "assignments to persistent volume claim",                                                             SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_EPHEMERAL_CREATED] = {"ephemeral_volume_controller_create_total",
                               "[ALPHA] Number of PersistentVolumeClaim creation requests",                                              SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_EPHEMERAL_FAILED] = {"ephemeral_volume_controller_create_failures_total",
                               "[ALPHA] Number of PersistentVolumeClaim creation requests",                                              SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_POD_GC] = {"pod_gc_collector_force_delete_pods_total",
                               "[ALPHA] Number of pods that are being forcefully deleted since the Pod GC "
                       "Controller started.",                                                                                            SIM_COUNTER,   1,    "namespace,reason",                                                     NULL           },
    [METRIC_GC_SYNC_ERRORS] = {"garbagecollector_controller_resources_sync_error_total",
                               "[ALPHA] Number of garbage collector resources sync errors",                                              SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_EVICTED_NODES] = {"node_collector_evictions_total",
                               "[STABLE] Number of Node evictions that happened since current "
                              "instance of NodeController started.",                                                                     SIM_COUNTER,   1,    "zone",                                                                 NULL           },
    [METRIC_TAINT_EVICTIONS] =
        {"taint_eviction_controller_pod_deletions_total",
                               "[ALPHA] Total number of Pods deleted by TaintEvictionController since its start.",
                               SIM_COUNTER,                                                                                                             1,    "",                                                                     NULL           },
    [METRIC_FORCED_DETACHES] =
        {"attach_detach_controller_attachdetach_controller_forced_detaches",
                               "[ALPHA] Number of times the A/D Controller performed a forced detach",                                   SIM_COUNTER,   1,
                               "reason",                                                                                                                                                                                              NULL           },
    [METRIC_ADC_VOLUMES] = {"attachdetach_controller_total_volumes",
                               "[ALPHA] Number of volumes in A/D Controller",                                                            SIM_COLLECTED, 1,
                               "plugin_name,state",                                                                                                                                                                                   NULL           },
    [METRIC_VOLUMES_IN_USE] = {"storage_count_attachable_volumes_in_use",
                               "[ALPHA] Measure number of volumes in use",                                                               SIM_COLLECTED, 1,
                               "node,volume_plugin",                                                                                                                                                                                  NULL           },
    [METRIC_KUBELET_VOLUMES] = {"volume_manager_total_volumes",
                               "[ALPHA] Number of volumes in Volume Manager",                                                            SIM_COLLECTED, 1,
                               "plugin_name,state",                                                                                                                                                                                   NULL           },
    [METRIC_KUBELET_PLUGINS] = {"plugin_manager_total_plugins",
                               "[ALPHA] Number of plugins in Plugin Manager",                                                            SIM_COLLECTED, 1,
                               "socket_path,state",                                                                                                                                                                                   NULL           },
    [METRIC_KUBELET_RECONSTRUCTED] =
        {"reconstruct_volume_operations_total",
                               "[ALPHA] The number of volumes that were attempted to be reconstructed from the operating "
         "system during kubelet startup. This includes both successful and failed reconstruction.",                                      SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_KUBELET_RECONSTRUCT_ERRORS] =
        {"reconstruct_volume_operations_errors_total",
                               "[ALPHA] The number of volumes that failed reconstruction from the operating system "
         "during kubelet startup.",                                                                                                      SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_KUBELET_FORCE_CLEANED] =
        {"force_cleaned_failed_volume_operations_total",
                               "[ALPHA] The number of volumes that were force cleaned after their reconstruction failed "
         "during kubelet startup. This includes both successful and failed cleanups.",                                                   SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_KUBELET_FORCE_CLEAN_ERRORS] =
        {"force_cleaned_failed_volume_operation_errors_total",
                               "[ALPHA] The number of volumes that failed force cleanup after their reconstruction "
         "failed during kubelet startup.",                                                                                               SIM_COUNTER,   1,    "",                                                                     NULL           },
    [METRIC_KUBELET_SHUTDOWN_START] =
        {"kubelet_graceful_shutdown_start_time_seconds",
                               "[ALPHA] Last graceful shutdown start time since unix epoch in seconds",                                  SIM_GAUGE,     TIME,
                               "",                                                                                                                                                                                                    NULL           },
    [METRIC_KUBELET_SHUTDOWN_END] =
        {"kubelet_graceful_shutdown_end_time_seconds",
                               "[ALPHA] Last graceful shutdown end time since unix epoch in seconds",                                    SIM_GAUGE,     TIME, "",
                               NULL                                                                                                                                                                                                                  },
    [METRIC_KUBELET_CAPACITY] = {"kubelet_volume_stats_capacity_bytes",
                               "[ALPHA] Capacity in bytes of the volume",                                                                SIM_COLLECTED, 1,
                               "namespace,persistentvolumeclaim",                                                                                                                                                                     NULL           },
    [METRIC_POD_START] = {"kubelet_pod_start_duration_seconds",
                               "[ALPHA] Duration in seconds from kubelet seeing a pod for the first "
                          "time to the pod starting to run",                                                                             SIM_HISTOGRAM, TIME, "",                                                                     podstart_bounds},
    [METRIC_POD_START_SLI] =
        {"kubelet_pod_start_sli_duration_seconds",
                               "[ALPHA] Duration in seconds to start a pod, excluding time to pull images and run init "
         "containers, measured from pod creation timestamp to when all its containers are reported "
         "as started and observed via watch",                                                                                            SIM_HISTOGRAM, TIME, "",                                                                     podstart_bounds},
    [METRIC_POD_START_TOTAL] =
        {"kubelet_pod_start_total_duration_seconds",
                               "[ALPHA] Duration in seconds to start a pod since creation, including time to pull images "
         "and run init containers, measured from pod creation timestamp to when all its containers "
         "are reported as started and observed via watch",                                                                               SIM_HISTOGRAM, TIME, "",                                                                     podstart_bounds},
    [METRIC_KUBELET_RUNNING] = {"kubelet_running_pods",
                               "[ALPHA] Number of pods that have a running pod sandbox",                                                 SIM_GAUGE,
                               1,                                                                                                                             "",                                                                     NULL           },
    [METRIC_ZONE_SIZE] = {"node_collector_zone_size",
                               "[ALPHA] Gauge measuring number of registered Nodes per zones.",                                          SIM_GAUGE,     1,    "zone",                                                                 NULL           },
    [METRIC_ZONE_HEALTH] = {"node_collector_zone_health",
                               "[ALPHA] Gauge measuring percentage of healthy nodes per zone.",                                          SIM_GAUGE,     1,    "zone",                                                                 NULL           },
    [METRIC_ZONE_UNHEALTHY] = {"node_collector_unhealthy_nodes_in_zone",
                               "[ALPHA] Gauge measuring number of not Ready Nodes per zones.",                                           SIM_GAUGE,     1,    "zone",                                                                 NULL           },
    [METRIC_LEADER] = {"leader_election_master_status",
                               "[ALPHA] Gauge of if the reporting system is master of the relevant lease, "
                       "0 indicates backup, 1 indicates master. 'name' is the string used to "
                       "identify the lease. Please make sure to group by name.",                                                         SIM_GAUGE,     1,    "name",                                                                 NULL           },
    [METRIC_PROCESS_START] = {"process_start_time_seconds",
                               "Start time of the process since unix epoch in seconds.",                                                 SIM_GAUGE,
                               1,                                                                                                                             "",                                                                     NULL           },
};
