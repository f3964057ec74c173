/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods whose volumes the populator has to read, or to take out of desired state; and the errors
 * that it found. */
#include "volume-manager.h"

#define ERRORS_MAX 11 /* KVM-11: the 10 of a set that takes one more */

/* KVM-19, step 2. */
void
volume_manager_reprocess(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;

    if (!worker->queued) {
        worker->queued = TRUE;
        g_ptr_array_add(self->volume_manager->unprocessed, worker);
    }
    sim_ticker_wake(self->volume_manager->populator);
}

void
volume_manager_remove(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;

    if (worker->n_mounts == 0)
        return;
    if (!g_ptr_array_find(self->volume_manager->stopping, worker, NULL))
        g_ptr_array_add(self->volume_manager->stopping, worker);
    sim_ticker_wake(self->volume_manager->populator);
}

void
volume_manager_forget(PodWorker *worker)
{
    Kubelet *self = worker->kubelet;

    g_ptr_array_remove(self->volume_manager->unprocessed, worker);
    g_ptr_array_remove(self->volume_manager->stopping, worker);
    g_ptr_array_remove(self->volume_manager->populating, worker);
    if (self->volume_manager->populate.worker == worker &&
        self->volume_manager->populate_plan != NULL)
        plan_cancel(self->volume_manager->populate_plan);
}

void
volume_manager_add_error(PodWorker *self, const char *text)
{
    if (self->errors == NULL)
        self->errors = g_ptr_array_new();
    if (self->errors->len >= ERRORS_MAX || g_ptr_array_find(self->errors, text, NULL))
        return;
    g_ptr_array_add(self->errors, (void *)text);
    pod_worker_wake(self);
}

void
volume_manager_clear_errors(PodWorker *self)
{
    g_clear_pointer(&self->errors, g_ptr_array_unref);
}
