/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/daemon-set/private.h"

/* The status of a DaemonSet: updateDaemonSetStatus() of daemon_controller.go. */

static gboolean
status_edit_status(Object *object, const void *data)
{
    const DaemonStatus *status = data;
    DaemonSet *set = DAEMON_SET(object);
    g_autoptr(Object) before = object_edit(object);

    set->observed_generation = MAX(status->observed, set->observed_generation);
    set->current_scheduled = status->current;
    set->misscheduled = status->misscheduled;
    set->desired_scheduled = status->desired;
    set->ready = status->ready;
    set->available = status->available;
    set->unavailable = status->unavailable;
    set->updated_scheduled = status->updated;
    return !object_equal(before, object);
}

/* DS-40: the oldest pod of each node counts. DS-41: no generation is observed while the set waits
 * for its orders. */
static void
count_status(const DaemonSetController *self, DaemonSync *sync, SimTime now)
{
    DaemonStatus *status = &sync->status;
    InformerIter iter;
    const Object *node;

    *status = (DaemonStatus){.observed = sync->is_held ? 0 : (int32_t)sync->set->meta.generation};
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL) {
        gboolean is_wanted =
            daemon_fit(sync->set, sync->tolerations, (const Node *)node) == DAEMON_RUNS;
        const GPtrArray *pods = g_hash_table_lookup(sync->on_node, node->key->name);
        status->desired += is_wanted;
        status->misscheduled += !is_wanted && pods != NULL;
        if (!is_wanted || pods == NULL)
            continue;
        const Pod *pod = pods->pdata[0];
        status->current++;
        status->ready += pod_is_ready(pod);
        status->available += pod_is_available(pod, sync->set->min_ready_s, now);
        status->updated += daemon_pod_is_updated(sync, pod);
    }
    status->unavailable = status->desired - status->available;
}

static void
decide_end_of_sync(const void *data, Plan *plan)
{
    const DaemonSync *sync = plan_notes(plan);

    (void)data;
    if (sync->error != NULL)
        plan_fail(plan, "%s", sync->error);
    else if (sync->set->min_ready_s > 0 && sync->status.ready != sync->status.available) /* DS-42 */
        plan_requeue_after(plan, sync->set->min_ready_s * SIM_SECOND);
}

void
daemon_decide_status(const void *data, Plan *plan)
{
    DaemonSync *sync = plan_notes(plan);

    count_status(data, sync, plan_now(plan));
    sync->write = (StatusWrite){status_edit_status, &sync->status, PLAN_STOP, decide_end_of_sync};
    plan_because(plan, "DS-40");
    status_write_plan(&sync->write, plan, &sync->set->meta);
}
