/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "monitor.h"

/* The driver's capabilities are known. If they do not suffice, the real process ends and starts
 * again and again (EHM-2). */
static void
start_working(void *data)
{
    ExternalHealthMonitor *self = data;

    if (sidecar_offers(self->sidecar, CSI_USE_LIST_CONDITIONS) ||
        sidecar_offers(self->sidecar, CSI_USE_GET_VOLUME))
        monitor_start(self);
}

static void
init(void *data)
{
    ExternalHealthMonitor *self = data;

    self->options = self->base.options;
    self->sidecar = sidecar_new(&(SidecarOptions){
        .component = &self->base,
        .n_sync_polls = 1,
        .ready = start_working,
    });
}

static void
clear(void *data)
{
    ExternalHealthMonitor *self = data;

    sidecar_free(self->sidecar);
    monitor_end(self);
}

#define AT(member) offsetof(ExternalHealthMonitorOptions, member)

G_STATIC_ASSERT(offsetof(ExternalHealthMonitorOptions, common) == 0); /* SIDECAR_FLAG */
static const ProcessFlag flags[] = {
    SIDECAR_CLIENT_FLAGS,
    SIDECAR_FLAG("worker-threads",
                 FLAG_INT,
                 n_workers,
                 "10",
                 "Volumes asked for at once by ControllerGetVolume (EHM-20)"),
    SIDECAR_FLAG("timeout", FLAG_DURATION, timeout, "15s", "Deadline of a check (EHM-3)"),
    {"monitor-interval",         FLAG_DURATION, AT(monitor_interval),         "1m",
                                                                               "Rest of a worker after each ControllerGetVolume (EHM-20)"                         },
    {"list-volumes-interval",    FLAG_DURATION, AT(list_volumes_interval),    "5m",
                                                                               "Time between two passes by ListVolumes (EHM-10)"                                  },
    {"volume-list-add-interval", FLAG_DURATION, AT(volume_list_add_interval), "5m",
                                                                               "Time between two searches for volumes to queue (EHM-22)"                          },
    SIDECAR_ELECTION_FLAGS(ExternalHealthMonitorOptions),
    {NULL,                       FLAG_BOOL,     0,                            NULL, NULL},
};

static const ProcessElection election = {
    .offset = offsetof(ExternalHealthMonitorOptions, election),
    .lock = "external-health-monitor-leader-", /* EHM-4 */
    .has_host_name = TRUE,
};

const ProcessClass external_health_monitor_process = {
    SIDECAR_PROCESS(
        "external-health-monitor-controller", ExternalHealthMonitorOptions, flags, election),
    .is_optional = TRUE,                        /* EHM-1 */
    .startup = offsetof(Timing, sidecar_start), /* as the attacher's, TIM-91 */
};

const ModelClass external_health_monitor_class = {
    .name = "external-health-monitor-controller",
    .process = &external_health_monitor_process,
    .size = sizeof(ExternalHealthMonitor),
    .event_source = "csi-pv-monitor-controller", /* EHM-5 */
    .event_style = EVENTS_CORE,
    .before_driver = '-',
    .client_qps = sidecar_client_qps,
    .rule_tables = RULE_TABLES(&monitor_condition_rules, &monitor_volume_rules),
    .init = init,
    .clear = clear,
    .apply_change = monitor_apply,
};
