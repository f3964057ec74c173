/* SPDX-License-Identifier: GPL-3.0-or-later */
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
apply_change(void *data, const PlanChange *change)
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

static void
init_informers(AttachDetachController *self)
{
    Process *process = self->base.process;

    self->pods = process_informer(process, KIND_POD, NULL);
    self->nodes = process_informer(process, KIND_NODE, NULL);
    self->claims = process_informer(process, KIND_CLAIM, NULL);
    self->volumes = process_informer(process, KIND_VOLUME, NULL);
    self->attachments = process_informer(process, KIND_ATTACHMENT, NULL);
    self->csi_drivers = process_informer(process, KIND_CSI_DRIVER, NULL);
    self->pods_by_claim = informer_add_index(self->pods, index_pods_by_claim);
}

/* ADC-25: the informers are synced. */
static void
init(void *data)
{
    AttachDetachController *self = data;

    init_informers(self);
    self->operations = operations_new(&self->base, BACKOFF_FIRST, BACKOFF_MAX);
    self->claim_queue =
        workers_new(&self->base, &(WorkersOptions){.name = "pvcs",
                                                   .n_workers = 1,
                                                   .limit = rate_limit_default,
                                                   .retry = TRUE,
                                                   .sync = adc_decide_claim}); /* ADC-5 */
    adc_state_init(self);
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
clear(void *data)
{
    AttachDetachController *self = data;

    sim_cancel(self->base.sim, self->verification.timer);
    sim_ticker_free(self->reconciler);
    sim_ticker_free(self->populator);
    operations_free(self->operations);
    adc_state_clear(self);
}

/* ADC-6: a client of its own, whose bucket its Events share. */
const ModelClass attach_detach_controller_class = {
    .name = "attachdetach-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(AttachDetachController),
    .event_source = "attachdetach-controller",
    .client_qps = kube_controller_manager_client_qps,
    .rule_tables = RULE_TABLES(
        &adc_detach_rules, &adc_attach_rules, &adc_look_rules, &adc_end_rules, &adc_pod_rules),
    .init = init,
    .clear = clear,
    .apply_change = apply_change,
};
