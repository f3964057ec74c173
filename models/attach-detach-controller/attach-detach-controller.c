/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attach-detach controller as a component: its informers, the changes by which plans alter its
 * private state, and its start. When the informers are synced, actual state is read from Nodes and
 * VolumeAttachments before the loops begin (ADC-25 to ADC-27). The controller has a client of its
 * own, whose bucket its Events share (ADC-6). */
#include "attach-detach-controller.h"

#include "controller.h"
#include "models/metrics/metrics.h"

#define BACKOFF_FIRST (500 * SIM_MS)   /* ADC-4 */
#define BACKOFF_MAX (122 * SIM_SECOND) /* ADC-4 */

/* ADC-48, ADC-68: a metric counts the forced detaches by reason. */
static void
count_detach(AttachDetachController *self, DetachReason reason)
{
    SimMetrics *metrics = sim_metrics(self->base.sim);

    self->n_detaches[reason]++;
    if (metrics != NULL && reason != DETACH_IF_SAFE)
        sim_series_add(metric_series(metrics, METRIC_FORCED_DETACHES,
                                     process_job(self->base.process),
                                     reason == DETACH_TIMED_OUT ? "timeout" : "out-of-service"),
                       1);
}

static void
attach_detach_controller_apply_change(void *data, const PlanChange *change)
{
    AttachDetachController *self = data;
    AttachPair *pair = (AttachPair *)change->pointer;
    AttachNode *node = (AttachNode *)change->pointer;

    switch ((AttachDetachChange)change->what) {
    case CHANGE_REQUEST_DETACH:
        adc_request_detach(self, pair);
        break;
    case CHANGE_RESET_REQUEST:
        adc_reset_detach_request(pair);
        break;
    case CHANGE_UNREPORT:
        adc_report(self, pair, FALSE);
        break;
    case CHANGE_REPORT_AGAIN:
        adc_report(self, pair, TRUE);
        adc_queue(self, pair);
        break;
    case CHANGE_NODE_UPDATED:
        adc_begin_report(self, node);
        break;
    case CHANGE_REPORTED:
        g_array_append_vals(self->reports, &(NodeReport){node, (int)change->number}, 1);
        break;
    case CHANGE_NODE_OUTDATED:
        adc_report_again(self, node);
        break;
    case CHANGE_MULTI_ATTACH_TOLD:
        pair->multi_attach_reported = TRUE;
        break;
    case CHANGE_LOOKED_AT:
    case CHANGE_TELL_NODE:
        self->pass = (AttachPass){.pair = pair, .reason = (DetachReason)change->number};
        break;
    case CHANGE_DETACHING:
        count_detach(self, (DetachReason)change->number);
        break;
    case CHANGE_ADD_POD:
        adc_add_pod_volumes(self, POD_CONST(change->object));
        break;
    case CHANGE_OPERATION:
        adc_operation_begins(self, pair,
                             (change->number ? adc_detach_key(pair) : adc_attach_key(pair)).node !=
                                 NULL);
        break;
    case CHANGE_TELL:
        pair->told = g_slist_append(pair->told, (void *)object_ref(change->object));
        break;
    case CHANGE_RETRY_AT:
        adc_queue_at(self, pair, change->number);
        break;
    case CHANGE_FLEX_DRIVER:
        in_process_note(self->flex_drivers, change);
        break;
    case CHANGE_DEVICE_PATH:
        pair->device_path = change->text;
        break;
    case CHANGE_TIMEOUT:
    case CHANGE_TOLD_TIMEOUT:
    case CHANGE_TRY_AGAIN:
    case CHANGE_FORGET_TRY:
        adc_retries_apply(self, change);
        break;
    case CHANGE_VERIFIED:
    case CHANGE_NOT_ATTACHED:
        adc_verification_apply(self, change);
        break;
    }
}

/* ADC-25: the informers are synced. */
static void
attach_detach_controller_filled(void *data)
{
    AttachDetachController *self = data;

    self->operations = operations_new(&self->base, BACKOFF_FIRST, BACKOFF_MAX);
    self->detach_order = sim_stream(self->base.sim, "attach-detach-controller/detach order");
    self->reports = g_array_new(FALSE, FALSE, sizeof(NodeReport));
    adc_reconciler_start(self);
    adc_populator_start(self);
    informer_add_handler(self->nodes, adc_node_changed, self);
    adc_populate_actual_state(self);
    informer_add_handler(self->pods, adc_pod_changed, self);
    adc_populate_specs_of_pods(self);
    informer_add_handler(self->claims, adc_claim_changed, self);
    informer_add_handler(self->attachments, adc_attachment_changed, self);
    informer_add_handler(self->csi_drivers, adc_csi_driver_changed, self);
    adc_verification_start(self);
}

static void
attach_detach_controller_clear(void *data)
{
    AttachDetachController *self = data;

    sim_cancel(self->base.sim, self->verification.timer);
    adc_cancel_timers(self);
}

#define SELF AttachDetachController
static const ComponentPart parts[] = {
    HAS_STATE(reconciler, NULL, sim_ticker_free),
    HAS_STATE(populator, NULL, sim_ticker_free),
    HAS_STATE(operations, NULL, operations_free),
    HAS_TABLE(pairs_by_attachment, NULL),
    HAS_TABLE(volumes_by_name, attach_volume_free),
    HAS_TABLE(nodes_by_name, attach_node_free),
    HAS_TABLE(unresolved, NULL),
    HAS_ARRAY(queued, NULL),
    HAS_ARRAY(nodes_to_update, NULL),
    HAS_ARRAY(stale, NULL),
    HAS_STATE(looking_at, NULL, g_ptr_array_unref),
    HAS_STATE(reports, NULL, g_array_unref),
    HAS_STATE(flex_drivers, flex_drivers_new, flex_drivers_free),
    HAS_INFORMER(pods, KIND_POD, WITH_INDEX(pods_by_claim, index_pods_by_claim)),
    HAS_INFORMER(nodes, KIND_NODE),
    HAS_INFORMER(claims, KIND_CLAIM),
    HAS_INFORMER(volumes, KIND_VOLUME),
    HAS_INFORMER(attachments, KIND_ATTACHMENT),
    HAS_INFORMER(csi_drivers, KIND_CSI_DRIVER),
    HAS_WORKERS(claim_queue, "pvcs", adc_decide_claim, .n_workers = 1), /* ADC-5 */
};

/* ADC-6: a separate client; its Events share its bucket. */
const ModelClass attach_detach_controller_class = {
    KCM_MODEL("attachdetach-controller"),
    .event_source = "attachdetach-controller",
    .rule_tables = RULE_TABLES(
        &adc_detach_rules, &adc_attach_rules, &adc_look_rules, &adc_end_rules, &adc_pod_rules),
    PARTS(parts),
    .filled = attach_detach_controller_filled,
    .clear = attach_detach_controller_clear,
    .apply_change = attach_detach_controller_apply_change,
};
