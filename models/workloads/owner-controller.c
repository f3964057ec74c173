/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/owner-controller.h"

#include "models/workloads/pods.h"

/* WL-30: added to minReadySeconds, because conditions have whole seconds. */
#define READY_SKEW SIM_SECOND

void
owner_state_free(void *data)
{
    OwnerState *state = data;

    expectations_clear(&state->expected);
    g_free(state);
}

static const LabelSelector *
selector_of(const Object *object)
{
    return object_kind(object) == KIND_DISRUPTION_BUDGET ? DISRUPTION_BUDGET_CONST(object)->selector
                                                         : workload_selector(object);
}

const Object *
next_selecting(InformerIter *iter, const Object *object)
{
    const Object *next;

    while ((next = informer_iter_next(iter)) != NULL)
        if (next->key->namespace == object->key->namespace &&
            label_selector_matches(selector_of(next), object->labels))
            return next;
    return NULL;
}

void
wake_selecting(Workers *workers, const Informer *owners, const Object *object, SimTime delay)
{
    InformerIter iter;
    const Object *owner;

    informer_iter_init(&iter, owners);
    while ((owner = next_selecting(&iter, object)) != NULL)
        if (delay == 0)
            workers_add(workers, owner->key);
        else
            work_queue_add_after(workers_queue(workers), (ObjectKey *)owner->key, delay);
}

void
wake_when_available(Workers *workers,
                    const ObjectKey *owner,
                    int32_t min_ready_s,
                    const Object *before,
                    const Object *pod,
                    SimTime now)
{
    SimTime delay = min_ready_s * SIM_SECOND + READY_SKEW, since = POD_CONST(pod)->ready.changed_at;

    if (min_ready_s == 0 || !pod_is_ready(POD_CONST(pod)) ||
        (before == NULL ? since >= 0 || since == TIME_UNSET : pod_is_ready(POD_CONST(before))))
        return;
    if (before == NULL) /* the wait began before the run */
        delay += since - now;
    if (delay > 0)
        work_queue_add_after(workers_queue(workers), (ObjectKey *)owner, delay);
}

void
owner_changed(void *controller, const Object *before, const Object *after)
{
    OwnerController *self = controller;

    workers_add(self->workers, (before != NULL ? before : after)->key);
    if (after == NULL)
        g_hash_table_remove(self->states, before->key);
    else if (g_hash_table_lookup(self->states, after->key) == NULL)
        g_hash_table_insert(self->states, (void *)after->key, g_new0(OwnerState, 1));
}

static void
pod_went(const OwnerController *self, const ObjectKey *owner, const ObjectKey *pod)
{
    OwnerState *state = g_hash_table_lookup(self->states, owner);

    if (state != NULL)
        expectations_deletion_seen(&state->expected, pod);
    workers_add(self->workers, owner);
}

static int32_t
min_ready_s(const Object *owner)
{
    return object_kind(owner) == KIND_DAEMON_SET ? DAEMON_SET_CONST(owner)->min_ready_s
                                                 : REPLICA_SET_CONST(owner)->min_ready_s;
}

static void
own_pod_changed(const OwnerController *self,
                const ObjectKey *key,
                const Object *before,
                const Object *pod)
{
    OwnerState *state = g_hash_table_lookup(self->states, key);
    const Object *owner = informer_get(self->owners, key);

    if (before == NULL && state != NULL)
        expectations_creation_seen(&state->expected);
    workers_add(self->workers, key);
    if (owner != NULL)
        wake_when_available(self->workers, key, min_ready_s(owner), before, pod,
                            sim_now(self->base.sim));
}

void
owned_pod_changed(void *controller, const Object *before, const Object *after)
{
    const OwnerController *self = controller;
    ObjectKind kind = informer_kind(self->owners);
    const ObjectKey *was = before == NULL ? NULL : controller_of_kind(before, kind);
    const ObjectKey *is = after == NULL ? NULL : controller_of_kind(after, kind);

    if (was != NULL && was != is)
        pod_went(self, was, before->key);
    if (after == NULL)
        return;
    if (is != NULL && object_is_deleted(after))
        pod_went(self, is, after->key);
    else if (is != NULL)
        own_pod_changed(self, is, before, after);
    else if (object_controller(after) == NULL && !object_is_deleted(after) &&
             after->labels != NULL &&
             (before == NULL || was != NULL || !string_map_equal(before->labels, after->labels)))
        wake_selecting(self->workers, self->owners, after, 0);
}
