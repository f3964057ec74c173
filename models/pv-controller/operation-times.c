/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/metrics/metrics.h"
#include "models/pv-controller/pv-controller-private.h"

/* The metric volume_operation_total_seconds: the time from the first attempt to provision a volume
 * until its claim is bound, and from the first attempt to delete a volume until it is gone
 * (PVC-84). Kept only while metrics are measured; a new controller starts without it. */

GHashTable *
pv_operation_times_new(const PvController *self)
{
    return sim_metrics(self->base.sim) == NULL
               ? NULL
               : g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

/* Returns: the plugin's name in the metric: taken from the class, not from the annotation, which
 * some provisioners extend by a random uid */
static const char *
operation_times_plugin_of(const PvController *self, const char *class_name)
{
    const StorageClass *class = pv_find_class(self, class_name);

    return class == NULL ? "N/A" : pv_driver_of(self, class->provisioner);
}

void
pv_plan_time_operation(const PvController *self, Plan *plan, const char *verb, const Object *object)
{
    const char *class_name = object_kind(object) == KIND_VOLUME ? volume_class(VOLUME_CONST(object))
                                                                : claim_class(CLAIM_CONST(object));

    if (self->operation_times != NULL && !g_hash_table_contains(self->operation_times, object->key))
        plan_change(plan, &(PlanChange){.what = CHANGE_TIME,
                                        .key = object->key,
                                        .pointer = verb,
                                        .text = operation_times_plugin_of(self, class_name)});
}

void
pv_plan_timed(const PvController *self, Plan *plan, const Object *object)
{
    if (self->operation_times != NULL && g_hash_table_contains(self->operation_times, object->key))
        pv_plan_change_key(plan, CHANGE_TIMED, object->key);
}

void
pv_operation_begun(PvController *self, const PlanChange *change)
{
    OperationTime *time = g_new0(OperationTime, 1);

    *time = (OperationTime){change->pointer, change->text, sim_now(self->base.sim)};
    g_hash_table_replace(self->operation_times, (void *)change->key, time);
}

void
pv_operation_done(PvController *self, const ObjectKey *key)
{
    const OperationTime *time =
        self->operation_times == NULL ? NULL : g_hash_table_lookup(self->operation_times, key);

    if (time == NULL)
        return;
    sim_series_observe(metric_series(sim_metrics(self->base.sim), METRIC_VOLUME_OPERATION,
                                     process_job(self->base.process), time->verb, time->plugin),
                       sim_now(self->base.sim) - time->begun_at);
    g_hash_table_remove(self->operation_times, key);
}

/* A claim that goes leaves no measurement; a volume that goes was deleted. */
void
pv_operation_object_gone(PvController *self, const ObjectKey *key)
{
    if (key->kind == KIND_VOLUME)
        pv_operation_done(self, key);
    else if (self->operation_times != NULL)
        g_hash_table_remove(self->operation_times, key);
}
