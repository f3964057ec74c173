/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pods.h"

#define CRITICAL_PRIORITY 2000000000 /* system-cluster-critical */

PodWorker *
pod_worker_find(const Kubelet *self, const Object *pod)
{
    for (unsigned i = 0; i < self->workers->len; i++) {
        PodWorker *worker = self->workers->pdata[i];
        if (worker->key == pod->key && object_uid_equal(worker->uid, pod->uid))
            return worker;
    }
    return NULL;
}

gboolean
pod_worker_is_critical(const Object *pod)
{
    return POD_CONST(pod)->spec->priority >= CRITICAL_PRIORITY;
}

gboolean
pod_worker_has_mount(const PodWorker *self, MountState at_least)
{
    for (unsigned i = 0; i < self->n_mounts; i++)
        if (self->mounts[i].state >= at_least)
            return TRUE;
    return FALSE;
}

void
pod_worker_wake(PodWorker *self)
{
    if (self->plan != NULL)
        plan_wake(self->plan);
}
