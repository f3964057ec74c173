/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/pod-events.h"

#include "models/workloads/pods.h"

#define READY_SKEW                                                                                 \
    SIM_SECOND /* WL-30: added to minReadySeconds, because conditions have whole seconds */

Workers *
owner_workers_new(Component *component, const char *name, int n, PlanDecide sync)
{
    return workers_new(component, &(WorkersOptions){
                                      .name = name,
                                      .n_workers = (unsigned)n,
                                      .limit = rate_limit_default,
                                      .retry = TRUE,
                                      .sync = sync,
                                  });
}

void
wake_adopters(
    Informer *owners, SelectorOf selector_of, const Object *pod, WakeOwner wake, void *self)
{
    InformerIter iter;
    const Object *owner;

    if (pod->labels == NULL || informer_count(owners) == 0)
        return;
    informer_iter_init(&iter, owners);
    while ((owner = informer_iter_next(&iter)) != NULL)
        if (owner->key->namespace == pod->key->namespace &&
            label_selector_matches(selector_of(owner), pod->labels))
            wake(self, owner->key);
}

void
wake_when_available(Workers *workers,
                    const ObjectKey *owner,
                    int32_t min_ready_s,
                    const Object *before,
                    const Object *pod)
{
    if (min_ready_s > 0 && before != NULL && !pod_is_ready(POD_CONST(before)) &&
        pod_is_ready(POD_CONST(pod)))
        work_queue_add_after(workers_queue(workers), (ObjectKey *)owner,
                             min_ready_s * SIM_SECOND + READY_SKEW);
}

static void
wake_at_once(void *workers, const ObjectKey *owner)
{
    workers_add(workers, owner);
}

static void
pod_went(const PodOwners *self, const ObjectKey *owner, const ObjectKey *pod)
{
    Expectations *expected = g_hash_table_lookup(self->states, owner);

    if (expected != NULL)
        expectations_deletion_seen(expected, pod);
    workers_add(self->workers, owner);
}

static void
own_pod_changed(const PodOwners *self,
                const ObjectKey *key,
                const Object *before,
                const Object *pod)
{
    Expectations *expected = g_hash_table_lookup(self->states, key);
    const Object *owner = informer_get(self->owners, key);

    if (before == NULL && expected != NULL)
        expectations_creation_seen(expected);
    workers_add(self->workers, key);
    if (owner != NULL)
        wake_when_available(self->workers, key, self->min_ready_s(owner), before, pod);
}

void
pod_owners_changed(const PodOwners *self, const Object *before, const Object *after)
{
    const ObjectKey *was = before == NULL ? NULL : controller_of_kind(before, self->kind);
    const ObjectKey *is = after == NULL ? NULL : controller_of_kind(after, self->kind);

    if (was != NULL && was != is)
        pod_went(self, was, before->key);
    if (after == NULL)
        return;
    if (is != NULL && object_is_deleted(after))
        pod_went(self, is, after->key);
    else if (is != NULL)
        own_pod_changed(self, is, before, after);
    else if (object_controller(after) == NULL && !object_is_deleted(after) &&
             (before == NULL || was != NULL || !string_map_equal(before->labels, after->labels)))
        wake_adopters(self->owners, self->selector_of, after, wake_at_once, self->workers);
}
