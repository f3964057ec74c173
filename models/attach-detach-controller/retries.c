/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "controller.h"

#include "models/client/event-recorder.h"

/* An attach that times out again and again (ADC-3, ADC-56): a crowd waits for its attacher for
 * hours, and each pod's attach is tried every four minutes. A try that finds all as the last one
 * did comes to the same: it waits for its VolumeAttachment, fails, tells its pod and backs off. So
 * its plan is kept and waits once more, and neither its pod nor its VolumeAttachment is read.
 *
 * Invariant: while AttachPair.is_steady, an attach that begins now would wait at once, and tell the
 * pod in @told. Whatever could change that calls adc_disturb() as it changes; pods that go only
 * count up @n_pods_gone, as a pair may outlive its pod (ADC-36.1). An attach that is disturbed
 * under way goes on, as its plan is a plan like any other. */

/* Returns: whether the pod that is told is the only pod that wants the pair, and no newer pod has
 * its name */
static gboolean
tells_its_pod(const AttachDetachController *self, const AttachPair *pair)
{
    if (pair->pods == NULL || pair->pods->next != NULL || pair->told == NULL ||
        pair->told->next != NULL)
        return FALSE;
    const Object *pod = informer_get(self->pods, pair->pods->data), *told = pair->told->data;

    return pod != NULL && pod->key == told->key && object_uid_equal(pod->uid, told->uid);
}

/* Whether the try that just timed out would be the same again, and its end leaves actual state as
 * it is. */
static gboolean
is_steady(const AttachDetachController *self, const AttachPair *pair)
{
    const AttachVolume *volume = pair->volume;

    return pair->told_timeout != NULL && pair->state == ADC_UNCERTAIN && volume->has_spec &&
           pair->device_path == NULL && volume->pairs->next == NULL && tells_its_pod(self, pair) &&
           adc_is_unattached(self, pair);
}

void
adc_disturb(AttachPair *pair)
{
    pair->is_steady = FALSE;
    if (pair->aside == NULL)
        return;
    operation_forget_try(g_steal_pointer(&pair->aside));
    g_clear_slist(&pair->told, (GDestroyNotify)object_unref);
}

/* The recorder is asked first: the pod need not be touched for an Event that it drops. */
static void
tell_pod(const AttachDetachController *self, const AttachPair *pair)
{
    if (!event_recorder_is_full(self->base.events))
        event_recorder_record(self->base.events, pair->told->data, "Warning", "FailedAttachVolume",
                              pair->told_timeout);
}

gboolean
adc_attach_timed_out(void *data, Plan *plan)
{
    AttachDetachController *self = data;
    AttachPair *pair = plan_timed_out_operation(plan);

    if (!pair->is_steady) {
        if (!is_steady(self, pair))
            return FALSE;
        pair->is_steady = TRUE;
        pair->n_pods_gone = self->n_pods_gone;
    }
    tell_pod(self, pair);
    operation_put_aside(plan);
    adc_measure(self, plan, pair, FALSE, PLAN_FAILED);
    pair->aside = plan;
    pair->is_under_way = FALSE;
    adc_queue(self, pair);
    adc_queue_at(self, pair, operation_aside_until(plan) + 1);
    return TRUE;
}

gboolean
adc_plan_retry(const AttachDetachController *self, Plan *plan, AttachPair *pair)
{
    if (pair->aside == NULL || pair->n_pods_gone != self->n_pods_gone ||
        plans_are_whole(&self->base))
        return FALSE;
    SimTime until = operation_aside_until(pair->aside);

    plan_because(plan, "ADC-49.4");
    if (plan_now(plan) > until)
        plan_change(plan, &(PlanChange){.what = CHANGE_TRY_AGAIN, .pointer = pair});
    else
        plan_change(plan,
                    &(PlanChange){.what = CHANGE_RETRY_AT, .pointer = pair, .number = until + 1});
    return TRUE;
}

void
adc_retries_apply(AttachDetachController *self, const PlanChange *change)
{
    AttachPair *pair = (AttachPair *)change->pointer;

    if (change->what == CHANGE_TIMEOUT) {
        pair->timeout = change->text;
    } else if (change->what == CHANGE_TOLD_TIMEOUT) {
        pair->told_timeout = change->text;
    } else if (change->what == CHANGE_FORGET_TRY) {
        adc_disturb(pair);
    } else {
        adc_operation_begins(self, pair, pair->is_for_node);
        operation_try_again(g_steal_pointer(&pair->aside));
    }
}
