/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "garbage-collector.h"

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"

/* Kinds that models make with an owner. */
static const ObjectKind dependent_kinds[] = {KIND_POD, KIND_CLAIM, KIND_CONTROLLER_REVISION,
                                             KIND_CSI_NODE, KIND_REPLICA_SET};
/* Kinds that own them. */
static const ObjectKind owner_kinds[] = {KIND_STATEFUL_SET, KIND_POD,        KIND_NODE,
                                         KIND_REPLICA_SET,  KIND_DEPLOYMENT, KIND_DAEMON_SET,
                                         KIND_JOB};

typedef enum {
    CHANGE_OWNER_IS_ABSENT, /* @number: the low half of its uid */
} Change;

typedef struct {
    Component base;
    Informer *informers[N_KINDS];
    InformerIndex *by_owner[N_KINDS]; /* value: the owner's ObjectKey */
    Workers *workers[N_KINDS];
    GHashTable
        *absent_owners; /* set of int64_t: low halves of uids that the API server did not know */
} GarbageCollector;

static void
index_by_owner(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    for (unsigned i = 0; object->owners != NULL && i < object->owners->n_items; i++)
        if (object->owners->items[i].key != NULL)
            index_emit(index, object->owners->items[i].key);
}

/* Whether the collector's graph has the owner. Those of kinds that no model deletes are taken to be
 * there. */
static gboolean
owner_is_known(const GarbageCollector *self, const OwnerReference *owner)
{
    const Informer *informer = owner->key == NULL ? NULL : self->informers[owner->key->kind];
    const Object *object = informer == NULL ? NULL : informer_get(informer, owner->key);

    return informer == NULL || (object != NULL && object_uid_equal(object->uid, owner->uid));
}

/* Of an object all of whose owners are absent. NULL: none. As long as one is left, Kubernetes only
 * takes the dangling references away, which nothing here would notice. */
static const OwnerReference *
missing_owner(const GarbageCollector *self, const Object *object)
{
    gboolean has_known_owner = FALSE;
    const OwnerReference *missing = NULL;

    for (unsigned i = 0; object->owners != NULL && i < object->owners->n_items; i++) {
        const OwnerReference *owner = &object->owners->items[i];
        if (owner_is_known(self, owner))
            has_known_owner = TRUE;
        else
            missing = owner;
    }
    return has_known_owner ? NULL : missing;
}

/* WL-100: what an owner that went has owned is looked at. */
static void
owner_changed(void *data, const Object *before, const Object *after)
{
    GarbageCollector *self = data;

    if (after != NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++) {
        ObjectKind kind = dependent_kinds[i];
        unsigned n;
        const Object *const *dependents = informer_index_get(self->by_owner[kind], before->key, &n);
        for (unsigned k = 0; k < n; k++)
            workers_add(self->workers[kind], dependents[k]->key);
    }
}

/* A dependent whose owner went before it came. */
static void
dependent_changed(void *data, const Object *before, const Object *after)
{
    GarbageCollector *self = data;

    if (before == NULL && after->owners != NULL && missing_owner(self, after) != NULL)
        workers_add(self->workers[object_kind(after)], after->key);
}

static void
plan_delete_dependent(Plan *plan, const Object *object)
{
    plan_because(plan, "WL-101");
    plan_delete(plan, object->key, object->uid, -1, PLAN_GONE_IS_FINE);
}

/* What the API server has of the dependent: asked for in the first step. */
static const Object *
live_dependent(const Plan *plan)
{
    return plan_object(plan, 0);
}

static void
decide_by_owner(const void *data, Plan *plan)
{
    const GarbageCollector *self = data;
    const Object *object = live_dependent(plan);
    const OwnerReference *owner = missing_owner(self, object);
    int step = plan_last_step(plan);
    const Object *found = plan_object(plan, step);

    if (owner == NULL)
        return;
    if (found == NULL && plan_code(plan, step) != API_NOT_FOUND) {
        plan_fail(plan, "%s", plan_message(plan, step));
        return;
    }
    if (found != NULL && object_uid_equal(found->uid, owner->uid))
        return; /* our graph is behind */
    plan_change(plan,
                &(PlanChange){.what = CHANGE_OWNER_IS_ABSENT, .number = (int64_t)owner->uid.low});
    plan_delete_dependent(plan, object);
}

/* The dependent as it is now: it may have gone, have come anew, or have been given to somebody
 * else. */
static void
decide_by_dependent(const void *data, Plan *plan)
{
    const GarbageCollector *self = data;
    const Object *seen = informer_get(self->informers[plan_key(plan)->kind], plan_key(plan));
    const Object *object = live_dependent(plan);

    if (object == NULL) {
        if (plan_code(plan, 0) != API_NOT_FOUND)
            plan_fail(plan, "%s", plan_message(plan, 0));
        return;
    }
    const OwnerReference *owner = missing_owner(self, object);
    if (owner == NULL || object_is_deleted(object) ||
        (seen != NULL && !object_uid_equal(seen->uid, object->uid)))
        return;
    int64_t uid = (int64_t)owner->uid.low;
    if (g_hash_table_contains(self->absent_owners, &uid)) {
        plan_delete_dependent(plan, object);
        return;
    }
    plan_because(plan, "WL-101");
    plan_get(plan, owner->key, PLAN_GO_ON);
    plan_then(plan, decide_by_owner);
}

static void
decide_dependent(const void *data, Plan *plan)
{
    const GarbageCollector *self = data;
    const Object *object = informer_get(self->informers[plan_key(plan)->kind], plan_key(plan));

    if (object == NULL || object_is_deleted(object) || missing_owner(self, object) == NULL)
        return;
    plan_because(plan, "WL-101");
    plan_get(plan, object->key, PLAN_GO_ON);
    plan_then(plan, decide_by_dependent);
}

static void
apply_change(void *data, const PlanChange *change)
{
    GarbageCollector *self = data;

    switch ((Change)change->what) {
    case CHANGE_OWNER_IS_ABSENT:
        g_hash_table_add(self->absent_owners, g_memdup2(&change->number, sizeof change->number));
        break;
    }
}

/* API-100a: twice the rate of the other controllers, the same burst. */
static double
client_qps(const void *options, unsigned *burst)
{
    return 2 * kube_controller_manager_client_qps(options, burst);
}

static void
init(void *data)
{
    GarbageCollector *self = data;
    const KubeControllerManagerOptions *options = self->base.options;

    self->absent_owners = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(owner_kinds); i++)
        self->informers[owner_kinds[i]] =
            process_informer(self->base.process, owner_kinds[i], NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++) {
        ObjectKind kind = dependent_kinds[i];
        self->informers[kind] = process_informer(self->base.process, kind, NULL);
        self->by_owner[kind] = informer_add_index(self->informers[kind], index_by_owner);
        self->workers[kind] =
            workers_new(&self->base, &(WorkersOptions){
                                         .name = "garbage_collector_attempt_to_delete",
                                         .n_workers = (unsigned)options->concurrent_gc_syncs,
                                         .limit = rate_limit_default,
                                         .retry = TRUE,
                                         .sync = decide_dependent,
                                     });
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++)
        informer_add_handler(self->informers[dependent_kinds[i]], dependent_changed, self);
    for (unsigned i = 0; i < G_N_ELEMENTS(owner_kinds); i++)
        informer_add_handler(self->informers[owner_kinds[i]], owner_changed, self);
}

static void
clear(void *data)
{
    GarbageCollector *self = data;

    for (unsigned i = 0; i < N_KINDS; i++)
        workers_free(self->workers[i]);
    g_hash_table_unref(self->absent_owners);
}

const ModelClass garbage_collector_class = {
    .name = "generic-garbage-collector",
    .process = &kube_controller_manager_process,
    .size = sizeof(GarbageCollector),
    .client_qps = client_qps,
    .init = init,
    .clear = clear,
    .apply_change = apply_change,
};
