/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kubelet as a component: its flags, its start and its end, and the way of each change of
 * state to the room that carries it out. It decides nothing about pods or volumes; it makes the
 * rooms in the order in which they need each other, hands the pod workers' calls to the rooms
 * below them, and frees them.
 *
 * A kubelet that starts with the cluster knows its pods at once; one that starts later registers
 * its Node first and looks at its pods after the runtime is up (TIM-94). The order of events at
 * the start is part of every result: append. */
#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/kubelet/eviction/eviction.h"
#include "models/kubelet/eviction/pressure.h"
#include "models/kubelet/measure.h"
#include "models/kubelet/plugin-manager/plugin-manager.h"
#include "models/kubelet/pod-workers/pod-worker.h"
#include "models/kubelet/restart.h"
#include "models/kubelet/runtime/runtime.h"
#include "models/kubelet/shutdown.h"
#include "models/kubelet/status/node-status.h"
#include "models/kubelet/status/pod-status.h"
#include "models/kubelet/volume-manager/operation-executor.h"

#define AT(member) offsetof(KubeletOptions, member)
#define FIRST_LOOK (970 * SIM_MS) /* TIM-94: from the first NodeGetInfo */

/* clang-format off */
static const ProcessFlag flags[] = {
    {"nodeStatusUpdateFrequency", FLAG_DURATION, AT(node_status_update_frequency), "10s",
     "time between two checks of the node's own status (KVM-7)"},
    {"nodeStatusReportFrequency", FLAG_DURATION, AT(node_status_report_frequency), "5m",
     "time between two reports of an unchanged status (KVM-7)"},
    {"syncFrequency", FLAG_DURATION, AT(sync_frequency), "1m",
     "time between two syncs of a pod (KVM-8)"},
    {"kubeAPIQPS", FLAG_NUMBER, AT(kube_api_qps), "50", "requests per second (KVM-10)"},
    {"kubeAPIBurst", FLAG_INT, AT(kube_api_burst), "100", "requests at once (KVM-10)"},
    {"eventRecordQPS", FLAG_NUMBER, AT(event_record_qps), "50", "events per second (KVM-10)"},
    {"eventBurst", FLAG_INT, AT(event_burst), "100", "events at once (KVM-10)"},
    {"enableControllerAttachDetach", FLAG_BOOL, AT(enable_controller_attach_detach), "true",
     "the attach/detach controller attaches, not the kubelet (KVM-69)"},
    {"maxPods", FLAG_INT, AT(max_pods), "110", "pods on the node"},
    {"containerStart", FLAG_DURATION, AT(container_start), "15ms",
     "time from mounted volumes to running containers: of the runtime, not of the kubelet (TIM-46)"},
    {"containerStop", FLAG_DURATION, AT(container_stop), "8ms",
     "time from the signal to stopped containers: of the runtime, not of the kubelet (TIM-49)"},
    {"serializeImagePulls", FLAG_BOOL, AT(serialize_image_pulls), "true",
     "one image is pulled after the other (KVM-101)"},
    {"shutdownGracePeriod", FLAG_DURATION, AT(shutdown_grace_period), "0s",
     "time for pods to end when the machine shuts down; 0s: they just die (NL-90)"},
    {"shutdownGracePeriodCriticalPods", FLAG_DURATION, AT(shutdown_grace_period_critical_pods),
     "0s", "part of that time for critical pods alone (NL-92)"},
    {"containersOutliveKubelet", FLAG_BOOL, AT(containers_outlive_kubelet), "true",
     "a restarted kubelet finds its containers running; false: the runtime dies with it"},
    {"evictionPressureTransitionPeriod", FLAG_DURATION, AT(eviction_pressure_transition_period),
     "5m", "time for which the Node still reports past pressure (NL-25)"},
    {"evictionHard", FLAG_MAP, AT(eviction_hard), EVICTION_HARD_DEFAULT,
     "free resources below which the kubelet evicts pods at once (EVM-10)"},
    {"evictionSoft", FLAG_MAP, AT(eviction_soft), "",
     "free resources below which it evicts pods after a time (EVM-11)"},
    {"evictionSoftGracePeriod", FLAG_MAP, AT(eviction_soft_grace), "", "that time (EVM-11)"},
    {"evictionMinimumReclaim", FLAG_MAP, AT(eviction_minimum_reclaim), "",
     "what is to be free beside that before it stops (EVM-12)"},
    {"mergeDefaultEvictionSettings", FLAG_BOOL, AT(merge_default_eviction_settings), "false",
     "evictionHard adds to the defaults (EVM-10)"},
    {"localStorageCapacityIsolation", FLAG_BOOL, AT(local_storage_isolation), "true",
     "pods over their limits of local storage are evicted (EVM-20)"},
    {"volumeStatsAggPeriod", FLAG_DURATION, AT(volume_stats_agg_period), "0s",
     "time between two questions how full a pod's volumes are, and up to as much more; 0s: none; Kubernetes has 1m (KVM-9)"},
    {NULL, FLAG_BOOL, 0, NULL, NULL},
};
/* clang-format on */

const ProcessClass kubelet_process = {
    .name = "kubelet",
    .scope = PER_NODE,
    .options_size = sizeof(KubeletOptions),
    .flags = flags,
    .startup = offsetof(Timing, kubelet_start), /* TIM-94: to the first NodeGetInfo */
    .renews_lease = TRUE,
    .check = eviction_check_flags,
};

static double
kubelet_client_qps(const void *options, unsigned *burst)
{
    const KubeletOptions *kubelet = options;

    *burst = (unsigned)kubelet->kube_api_burst;
    return kubelet->kube_api_qps;
}

static void
look_at_pods(Kubelet *self)
{
    informer_add_handler(process_informer(self->base.process, KIND_POD, self->base.node_name),
                         pod_worker_on_pod, self);
    reconstruct_sources_ready(self);
}

static void
first_look(Sim *sim, void *data)
{
    Kubelet *self = data;

    (void)sim;
    self->first_look = 0;
    look_at_pods(self);
}

static const SimEventType first_look_event = {
    .name = "kubelet/first look at pods",
    .fire = first_look,
};

/* Each start has these Events, as the kubelet learns that all is well. */
static void
add_node_events(Plan *plan, const Object *node)
{
    static const char *const reasons[] = {"NodeHasSufficientMemory", "NodeHasNoDiskPressure",
                                          "NodeHasSufficientPID"};

    plan_event(plan, node, "Normal", "Starting", "Starting kubelet.");
    for (unsigned i = 0; i < G_N_ELEMENTS(reasons); i++)
        plan_event(plan, node, "Normal", reasons[i], "Node %s status is now: %s", node->key->name,
                   reasons[i]);
}

/* Returns: (owned): the Node of a machine that has just started, as the kubelet registers it */
static Object *
new_node(const Kubelet *self)
{
    Object *object = object_edit_as(self->base.machine, self->node_key);
    Node *node = NODE(object);

    g_clear_pointer(&node->volumes_in_use, string_list_unref);
    g_clear_pointer(&node->volumes_attached, string_list_unref);
    object->uid = (ObjectUid){0};
    return object;
}

/* The server refuses while the Node exists. If somebody has deleted it, this creates it again
 * (NL-102). */
static void
decide_register(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const Object *node = informer_get(self->nodes, self->node_key);

    plan_because(plan, "KVM-60a");
    if (node != NULL) {
        add_node_events(plan, node);
        plan_create(plan, object_edit_as(node, self->node_key), PLAN_GO_ON);
    } else if (self->base.machine != NULL) {
        plan_create(plan, new_node(self), PLAN_GO_ON);
    }
}

/* TIM-94: the pods must wait until the runtime is known to be up. */
static void
start_again(Kubelet *self)
{
    plan_start(&(PlanStart){
        .component = &self->base,
        .decide = decide_register,
        .key = self->node_key,
    });
    self->first_look = sim_after(self->base.sim, FIRST_LOOK, &first_look_event, self, WAIT_STARTUP);
}

/* Before a scrape: of all kubelets together. */
static void
measure(void *data)
{
    plugin_manager_measure(data);
    volume_stats_measure(data);
}

static void
kubelet_init(void *data)
{
    Kubelet *self = data;
    Process *process = self->base.process;
    const char *node = self->base.node_name;

    self->options = self->base.options;
    self->born_at = sim_now(self->base.sim);
    self->node_key = objects_key(self->base.objects, KIND_NODE, NULL, node);
    self->sync_phase = kubelet_draw_phase(self, LOOP_SYNC, SIM_SECOND);
    self->nodes = process_informer(process, KIND_NODE, node);
    self->workers = g_ptr_array_new_with_free_func(pod_worker_free);
    self->pod_calls = &pod_worker_calls;
    pod_status_init(self);
    shutdown_init(self);
    pressure_init(self);
    node_status_init(self);
    eviction_init(self);
    pressure_begin(self);
    plugin_manager_init(self);
    kubelet_measure_begin(self, measure);
    reconstruct_volumes(self);
    informer_add_handler(self->nodes, volume_reconciler_on_node, self);
    if (self->base.started_late) {
        start_again(self);
    } else {
        look_at_pods(self);
        volume_manager_adopt_devices(self);
    }
}

static void
kubelet_clear(void *data)
{
    Kubelet *self = data;

    kubelet_measure_end(self);
    flex_drivers_free(self->flex_drivers);
    sim_cancel(self->base.sim, self->first_look);
    shutdown_clear(self);
    pressure_clear(self);
    eviction_clear(self);
    pod_status_free(self);
    plugin_manager_clear(self);
    node_status_clear(self);
    volume_manager_free(self->volume_manager);
    g_ptr_array_unref(self->workers);
    pod_runtime_free(self);
}

static void
kubelet_apply_change(void *data, const PlanChange *change)
{
    Kubelet *self = data;

    switch ((KubeletChange)change->what) {
    case CHANGE_STATUS ... CHANGE_FINISHED:
        pod_worker_apply(change);
        return;
    case CHANGE_POPULATE_ERROR ... CHANGE_POPULATE_VOLUME:
        volume_populator_apply(self, change);
        return;
    case CHANGE_IN_ACTUAL ... CHANGE_DIRECTORY:
        volume_manager_apply(self, change);
        return;
    case CHANGE_FLEX_KNOWN:
        if (self->flex_drivers == NULL)
            self->flex_drivers = flex_drivers_new();
        in_process_note(self->flex_drivers, change);
        return;
    case CHANGE_ADOPTED:
        volume_manager_apply_adopted(self, change);
        return;
    case CHANGE_EXPANDED ... CHANGE_ONLY_OFFLINE:
        volume_expansion_apply(change);
        return;
    case CHANGE_NODE_READ:
        reconstruct_apply(self, change);
        return;
    case CHANGE_REPORTED_IN_USE:
        node_status_apply(self, change);
        return;
    case CHANGE_CONNECTED ... CHANGE_PROBED:
        plugin_registration_apply(change);
        return;
    case CHANGE_EVICTED:
        eviction_apply(self, change);
        return;
    case CHANGE_VOLUME_TOLD:
        volume_stats_apply(self, change);
        return;
    case CHANGE_FILES_GROUP ... CHANGE_FILES_MOUNTED:
        csi_client_apply(change);
        return;
    }
    g_assert_not_reached();
}

static void
machine_event(void *data, const MachineEvent *event)
{
    Kubelet *self = data;

    switch (event->what) {
    case MACHINE_FLEX_CHANGED:
        volume_populator_plugins_changed(self);
        return;
    case MACHINE_PLUGIN_CHANGED:
        plugin_manager_changed(self, event->driver);
        return;
    case MACHINE_PRESSURE_CHANGED:
        pressure_changed(self);
        return;
    case MACHINE_SHUTS_DOWN:
        shutdown_begin(self);
        return;
    }
    g_assert_not_reached();
}

const ModelClass kubelet_class = {
    .name = "kubelet",
    .process = &kubelet_process,
    .size = sizeof(Kubelet),
    .event_source = "kubelet", /* KVM-22 */
    .event_style = EVENTS_CORE,
    .separate_event_client = TRUE, /* API-109 */
    .client_qps = kubelet_client_qps,
    .rule_tables = RULE_TABLES(&kubelet_new_pod_rules,
                               &kubelet_changed_pod_rules,
                               &kubelet_step_rules,
                               &kubelet_sync_rules,
                               &kubelet_view_rules,
                               &kubelet_claim_rules,
                               &kubelet_volume_rules,
                               &kubelet_mount_rules,
                               &kubelet_mount_step_rules,
                               &csi_lifecycle_rules,
                               &csi_fs_group_rules,
                               &csi_walk_rules,
                               &csi_selinux_rules,
                               &csi_conflict_rules,
                               &kubelet_expansion_rules,
                               &kubelet_eviction_rules,
                               &kubelet_local_limit_rules,
                               &kubelet_admit_rules),
    .init = kubelet_init,
    .clear = kubelet_clear,
    .apply_change = kubelet_apply_change,
    .machine_event = machine_event,
    .free_disk = kubelet_free_disk,
};
