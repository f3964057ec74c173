/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kube-controller-manager.h"

#define AT(member) offsetof(KubeControllerManagerOptions, member)

/* clang-format off */
static const ProcessFlag flags[] = {
    {"kube-api-qps",                         FLAG_NUMBER,   AT(kube_api_qps),                         "20",
     "requests per second of each controller's client (API-100)"},
    {"kube-api-burst",                       FLAG_INT,      AT(kube_api_burst),                       "30",
     "requests that each controller's client may send at once (API-100)"},
    {"pvclaimbinder-sync-period",            FLAG_DURATION, AT(pvclaimbinder_sync_period),            "15s",
     "time between two resyncs of all volumes and claims (PVC-4)"},
    {"enable-dynamic-provisioning",          FLAG_BOOL,     AT(enable_dynamic_provisioning),          "true",
     "ask provisioners for volumes of claims with a class (PVC-60)"},
    {"attach-detach-reconcile-sync-period",  FLAG_DURATION, AT(attach_detach_reconcile_sync_period),  "1m",
     "time between two verifications of attached volumes (ADC-2)"},
    {"disable-attach-detach-reconcile-sync", FLAG_BOOL,     AT(disable_attach_detach_reconcile_sync), "false",
     "do not verify attached volumes (ADC-2)"},
    {"disable-force-detach-on-timeout",      FLAG_BOOL,     AT(disable_force_detach_on_timeout),      "false",
     "never detach a volume that a node still reports in use (ADC-43)"},
    {"concurrent-statefulset-syncs",         FLAG_INT,      AT(concurrent_syncs[KIND_STATEFUL_SET]),         "5",
     "StatefulSets that are synced at once"},
    {"concurrent-deployment-syncs",          FLAG_INT,      AT(concurrent_syncs[KIND_DEPLOYMENT]),          "5",
     "Deployments that are synced at once (WL-3)"},
    {"concurrent-replicaset-syncs",          FLAG_INT,      AT(concurrent_syncs[KIND_REPLICA_SET]),          "5",
     "ReplicaSets that are synced at once (WL-3)"},
    {"concurrent-rc-syncs",                  FLAG_INT,      AT(concurrent_syncs[KIND_REPLICATION_CONTROLLER]), "5",
     "ReplicationControllers that are synced at once (WL-3)"},
    {"concurrent-daemonset-syncs",           FLAG_INT,      AT(concurrent_syncs[KIND_DAEMON_SET]),           "2",
     "DaemonSets that are synced at once (WL-3)"},
    {"concurrent-job-syncs",                 FLAG_INT,      AT(concurrent_syncs[KIND_JOB]),                 "5",
     "Jobs that are synced at once (WL-3)"},
    {"concurrent-cron-job-syncs",            FLAG_INT,      AT(concurrent_syncs[KIND_CRON_JOB]),            "5",
     "CronJobs that are synced at once (WL-3)"},
    {"concurrent-namespace-syncs",           FLAG_INT,      AT(concurrent_syncs[KIND_NAMESPACE]),           "10",
     "namespaces that are emptied at once (NSC-2)"},
    {"concurrent-ttl-after-finished-syncs",  FLAG_INT,      AT(concurrent_ttl_after_finished_syncs),  "5",
     "finished Jobs that are checked at once (WL-3)"},
    {"concurrent-gc-syncs",                  FLAG_INT,      AT(concurrent_gc_syncs),                  "20",
     "objects that the garbage collector checks at once"},
    {"concurrent-ephemeralvolume-syncs",     FLAG_INT,      AT(concurrent_ephemeralvolume_syncs),     "5",
     "pods whose ephemeral volumes get their claims at once (EPH-1)"},
    {"concurrent-resource-quota-syncs",      FLAG_INT,      AT(concurrent_syncs[KIND_RESOURCE_QUOTA]),      "5",
     "ResourceQuotas that are counted at once (API-153)"},
    {"resource-quota-sync-period",           FLAG_DURATION, AT(resource_quota_sync_period),           "5m",
     "time between two counts for all ResourceQuotas (API-153)"},
    {"node-monitor-period",                  FLAG_DURATION, AT(node_monitor_period),                  "5s",
     "time between two checks of the nodes' heartbeats (NL-4)"},
    {"node-monitor-grace-period",            FLAG_DURATION, AT(node_monitor_grace_period),            "50s",
     "silence after which a node is not ready; 40s before 1.32 (NL-5)"},
    {"node-startup-grace-period",            FLAG_DURATION, AT(node_startup_grace_period),            "60s",
     "the same for a node that never reported (NL-6)"},
    {"node-eviction-rate",                   FLAG_NUMBER,   AT(node_eviction_rate),                   "0.1",
     "nodes tainted for eviction, per second and zone (NL-7)"},
    {"secondary-node-eviction-rate",         FLAG_NUMBER,   AT(secondary_node_eviction_rate),         "0.01",
     "... in a large zone with many unready nodes (NL-8)"},
    {"unhealthy-zone-threshold",             FLAG_NUMBER,   AT(unhealthy_zone_threshold),             "0.55",
     "share of unready nodes that counts as many (NL-9)"},
    {"large-cluster-size-threshold",         FLAG_INT,      AT(large_cluster_size_threshold),         "50",
     "a zone with more nodes is large (NL-10)"},
    {"terminated-pod-gc-threshold",          FLAG_INT,      AT(terminated_pod_gc_threshold),          "12500",
     "number of ended pods that stay; 0: all (NL-70)"},
    ELECTION_FLAGS("leader-elect", "leader-elect", KubeControllerManagerOptions, election, "2s"),
    {NULL,                                   FLAG_BOOL,     0,                                        NULL,    NULL},
};
/* clang-format on */

static const ProcessElection election = {
    .offset = AT(election),
    .lock = "kube-controller-manager",
    .always = TRUE,
};

const ProcessClass kube_controller_manager_process = {
    .name = "kube-controller-manager",
    .scope = PER_CLUSTER,
    .options_size = sizeof(KubeControllerManagerOptions),
    .flags = flags,
    .startup = offsetof(Timing, manager_start), /* TIM-93 */
    .election = &election,
};

double
kube_controller_manager_client_qps(const void *options, unsigned *burst)
{
    const KubeControllerManagerOptions *kcm = options;

    *burst = (unsigned)kcm->kube_api_burst;
    return kcm->kube_api_qps;
}
