/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a driver says of a mounted volume: csi_metrics.go, and NodeGetVolumeStats of csi_client.go
 * (CSP-19 to CSP-21, CSP-30). A question is one call in the plan of its caller; its notes keep the
 * answer while the driver is asked whether the volume's condition counts. A driver without the
 * capability is asked nothing, and an answer without bytes tells nothing. */
#include "csi-plugin.h"
#include "models/csi/uses.h"
#include "models/kubelet/measure.h"
#include "models/kubelet/plugin-manager/plugin-manager.h"

typedef struct {
    const CsiMetricsOf *of;
    CsiMetricsThen then;
    CsiDriver *driver;
    SimTime began;
    CsiResponse usage; /* while the driver is asked whether its condition counts */
} MetricsRun;

static void
metrics_end(const Kubelet *self, Plan *plan, const CsiResponse *usage, const char *error)
{
    const MetricsRun *run = plan_notes(plan);

    run->then(self, plan, run->of, usage, error);
}

static void
metrics_add_call(const Kubelet *self, Plan *plan, CsiRequest request)
{
    const MetricsRun *run = plan_notes(plan);

    request.served_by = self->base.node_name;
    request.deadline = run->began + CSI_CALLS_TIMEOUT;
    plan_call(plan, run->driver, &request, PLAN_DECIDE);
}

/* CSP-30 */
static void
decide_condition(const void *data, Plan *plan)
{
    MetricsRun *run = plan_notes(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "CSP-30");
    if (plan_has_failed(plan)) {
        metrics_end(data, plan, NULL, plan_last_message(plan));
        return;
    }
    if ((response->node_capabilities & CSI_NODE_VOLUME_CONDITION) == 0)
        run->usage.condition_message = NULL;
    else if (run->usage.condition_message == NULL)
        run->usage.condition_message = "";
    metrics_end(data, plan, &run->usage, NULL);
}

static void
metrics_tell(const Kubelet *self, Plan *plan, const CsiResponse *usage)
{
    MetricsRun *run = plan_notes(plan);

    run->usage = *usage;
    if (!kubelet_watches_health(self)) {
        run->usage.condition_message = NULL;
        metrics_end(self, plan, &run->usage, NULL);
        return;
    }
    metrics_add_call(self, plan, (CsiRequest){.method = CSI_NODE_GET_CAPABILITIES});
    plan_then(plan, decide_condition);
}

/* CSP-21: a driver that tells neither bytes nor inodes tells nothing. */
static void
metrics_decide_told(const void *data, Plan *plan)
{
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "CSP-21");
    if (plan_has_failed(plan))
        metrics_end(data, plan, NULL, plan_last_message(plan));
    else if (response->total_bytes == 0 && response->total_inodes == 0)
        metrics_end(data, plan, NULL, "failed to get usage from response. usage is nil");
    else
        metrics_tell(data, plan, response);
}

static void
ask_for_usage(const Kubelet *self, Plan *plan)
{
    const MetricsRun *run = plan_notes(plan);
    CsiRequest request = {
        .method = CSI_NODE_GET_VOLUME_STATS,
        .volume_id = run->of->handle,
        .target_path = run->of->path,
    };
    const char *missing = csi_request_missing(&request, NEEDS_VOLUME | NEEDS_TARGET_PATH);

    if (missing != NULL) {
        plan_because(plan, "CSP-13");
        metrics_end(self, plan, NULL, plan_internf(plan, "missing %s", missing));
        return;
    }
    metrics_add_call(self, plan, request);
    plan_then(plan, metrics_decide_told);
}

static void
decide_asked(const void *data, Plan *plan)
{
    const Kubelet *self = data;
    const MetricsRun *run = plan_notes(plan);
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "CSP-20");
    if (plan_has_failed(plan))
        metrics_end(self, plan, NULL, plan_last_message(plan));
    else if (!csi_use_is_on_node(CSI_USE_STATS, response->node_capabilities))
        metrics_end(self, plan, NULL,
                    plan_internf(plan, "metrics are not supported for %s", run->of->driver));
    else
        ask_for_usage(self, plan);
}

const char *
csi_metrics_path(const Kubelet *self, const PodMount *mount)
{
    const Volume *pv = VOLUME_CONST(mount->volume->pv);
    char uid[OBJECT_UID_BUFFER];

    if (pv->volume_mode != VOLUME_BLOCK)
        return csi_spec_target_path(self->base.strings, pv, mount->worker->uid);
    return strings_internf(self->base.strings, "%s/%s",
                           csi_spec_global_map_path(self->base.strings, pv->meta.key->name),
                           object_uid_format(mount->worker->uid, uid));
}

void
csi_metrics_get(const Kubelet *self, Plan *plan, const CsiMetricsOf *of, CsiMetricsThen then)
{
    MetricsRun *run = plan_notes(plan); /* of the volume before */

    if (run == NULL)
        run = plan_new_notes(plan, MetricsRun, NULL);
    *run = (MetricsRun){.of = of,
                        .then = then,
                        .driver = plugin_registration_driver(self, of->driver),
                        .began = plan_now(plan)};
    plan_because(plan, "CSP-19");
    if (run->driver == NULL) {
        plan_because(plan, "REG-28");
        metrics_end(self, plan, NULL,
                    plan_internf(plan,
                                 "driver name %s not found in the list of registered CSI drivers",
                                 of->driver));
        return;
    }
    metrics_add_call(self, plan, (CsiRequest){.method = CSI_NODE_GET_CAPABILITIES});
    plan_then(plan, decide_asked);
}

SimTime
csi_metrics_began(Plan *plan)
{
    return ((const MetricsRun *)plan_notes(plan))->began;
}
