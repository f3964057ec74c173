/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deletes all objects of a namespace that is being deleted, kind by kind, then the namespace:
 * pkg/controller/namespace/namespace_controller.go and
 * deletion/namespaced_resources_deleter.go. */
#include "models/namespace-controller/namespace-controller.h"

#include "models/api/release.h"
#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/namespace-controller/remaining.h"
#include "models/plan/plan.h"

/* NSC-1: namespaceDeletionGracePeriod */
#define GRACE_PERIOD (5 * SIM_SECOND)
/* NSC-5: finalizerEstimateSeconds */
#define FINALIZER_ESTIMATE (15 * SIM_SECOND)

typedef struct {
    Component base;
    Informer *namespaces;
    Workers *workers;
} NamespaceController;

typedef struct {
    const Namespace *namespace; /* kept by the plan: as it is stored */
    const char *name;
    ObjectKind kind;    /* whose objects are looked at */
    gboolean is_second; /* the second look at them: what is left after the deletion? */
    SimTime grace;      /* the longest of the pods that the first look found */
    Remaining remaining;
} NamespaceSync;

static void
namespace_controller_sync_clear(void *data)
{
    NamespaceSync *sync = data;

    remaining_clear(&sync->remaining);
}

/* ---- The end of a sync ---- */

static gboolean
edit_finalize(Object *object, const void *arg)
{
    Namespace *self = NAMESPACE(object);
    StringList *rest = string_list_without(self->finalizers, arg);
    gboolean changed = !string_list_equal(rest, self->finalizers);

    string_list_unref(self->finalizers);
    self->finalizers = rest;
    return changed;
}

static gboolean
edit_conditions(Object *object, const void *arg)
{
    const WorkloadCondition *conditions = arg;
    gboolean changed = FALSE;

    for (unsigned i = 0; i < N_NAMESPACE_CONDITIONS; i++) {
        changed |= !workload_condition_equal(&NAMESPACE(object)->conditions[i], &conditions[i]);
        NAMESPACE(object)->conditions[i] = conditions[i];
    }
    return changed;
}

/* NSC-5, NSC-7: what is left tells when the namespace is looked at again. */
static void
decide_end(const void *data, Plan *plan)
{
    const NamespaceController *self = data;
    const NamespaceSync *sync = plan_notes(plan);

    if (sync->remaining.faults->len > 0) {
        plan_fail(plan, "deletion of namespace %s failed: %s", sync->name,
                  (const char *)sync->remaining.faults->pdata[0]);
        return;
    }
    if (!remaining_is_empty(&sync->remaining)) {
        plan_because(plan, "NSC-5");
        plan_requeue_after(plan, (sync->remaining.estimate / SIM_SECOND / 2 + 1) * SIM_SECOND);
        return;
    }
    plan_because(plan, "NSC-7");
    plan_patch(plan, sync->namespace->meta.key, edit_finalize,
               strings_intern(self->base.strings, FINALIZER_KUBERNETES), PLAN_GONE_IS_FINE);
}

/* NSC-6. An error of this write is only logged. */
static void
plan_conditions(const NamespaceController *self, Plan *plan, NamespaceSync *sync)
{
    WorkloadCondition *conditions =
        plan_alloc(plan, N_NAMESPACE_CONDITIONS * sizeof(WorkloadCondition));

    for (unsigned i = 0; i < N_NAMESPACE_CONDITIONS; i++)
        conditions[i] = sync->namespace->conditions[i];
    plan_because(plan, "NSC-6");
    if (remaining_conditions(&sync->remaining, self->base.strings, plan_now(plan), conditions))
        plan_update_status(plan, &sync->namespace->meta, edit_conditions, conditions, PLAN_GO_ON);
    plan_then(plan, decide_end);
}

/* ---- Kind by kind ---- */

static void namespace_controller_decide_listed(const void *data, Plan *plan);

static gboolean
pods_remain(const NamespaceController *self, const NamespaceSync *sync)
{
    return sync->remaining.n_objects[KIND_POD] > 0 &&
           release_has_gate(cluster_release(self->base.cluster), "OrderedNamespaceDeletion");
}

/* Looks at the next kind of objects that have namespaces; pods come first. */
static void
plan_next_kind(const NamespaceController *self, Plan *plan, NamespaceSync *sync)
{
    while (sync->kind < N_KINDS && !kind_class(sync->kind)->namespaced)
        sync->kind++;
    if (sync->kind == N_KINDS || (sync->kind > KIND_POD && pods_remain(self, sync))) {
        plan_conditions(self, plan, sync);
        return;
    }
    plan_because(plan, "NSC-3");
    plan_list(plan, sync->kind, PLAN_STOP);
    plan_then(plan, namespace_controller_decide_listed);
}

/* NSC-5: of the pods that are not over. */
static SimTime
pod_grace(const Object *object)
{
    if (object_kind(object) != KIND_POD || pod_is_terminal(POD_CONST(object)))
        return 0;
    return POD_CONST(object)->spec->grace_s * SIM_SECOND;
}

static gboolean
is_in(const Object *object, const char *namespace)
{
    return strcmp(object->key->namespace, namespace) == 0;
}

/* Counts the objects that the second look finds. */
static void
count_rest(Plan *plan, NamespaceSync *sync, int step)
{
    uint32_t slot = 0;
    const Object *object;
    gboolean has_finalizers = FALSE;
    unsigned n = 0;

    while ((object = plan_list_next(plan, step, &slot)) != NULL)
        if (is_in(object, sync->name)) {
            remaining_add(&sync->remaining, object);
            has_finalizers |= object->finalizers != NULL;
            n++;
        }
    if (n == 0)
        return;
    if (sync->grace == 0 && !has_finalizers)
        g_ptr_array_add(sync->remaining.faults,
                        g_strdup_printf("unexpected items still remain in namespace: %s for gvr: "
                                        "%s, Resource=%s",
                                        sync->name, kind_class(sync->kind)->api_version,
                                        kind_class(sync->kind)->resource));
    sync->remaining.estimate =
        MAX(sync->remaining.estimate, sync->grace > 0 ? sync->grace : FINALIZER_ESTIMATE);
}

static void
namespace_controller_decide_listed(const void *data, Plan *plan)
{
    NamespaceSync *sync = plan_notes(plan);
    int step = plan_last_step(plan);
    uint32_t slot = 0;
    const Object *object;
    unsigned n = 0;

    if (sync->is_second) {
        count_rest(plan, sync, step);
    } else {
        plan_because(plan, "NSC-4");
        sync->grace = 0;
        while ((object = plan_list_next(plan, step, &slot)) != NULL) {
            if (!is_in(object, sync->name))
                continue;
            n++;
            sync->grace = MAX(sync->grace, pod_grace(object));
            plan_delete(plan, object->key, object->uid, -1, PLAN_GO_ON);
        }
    }
    if (n > 0) {
        sync->is_second = TRUE;
        plan_because(plan, "NSC-4");
        plan_list(plan, sync->kind, PLAN_STOP);
        plan_then(plan, namespace_controller_decide_listed);
        return;
    }
    sync->is_second = FALSE;
    sync->kind++;
    plan_next_kind(data, plan, sync);
}

/* ---- Beginning ---- */

static void
decide_fresh(const void *data, Plan *plan)
{
    const NamespaceController *self = data;
    const Object *fresh = plan_object(plan, plan_last_step(plan));

    if (fresh == NULL || !object_is_deleted(fresh))
        return;
    NamespaceSync *sync = plan_new_notes(plan, NamespaceSync, namespace_controller_sync_clear);
    sync->namespace = NAMESPACE_CONST(plan_keep(plan, fresh));
    sync->name = object_name(fresh);
    remaining_init(&sync->remaining, self->base.objects);
    if (sync->namespace->finalizers != NULL)
        plan_next_kind(data, plan, sync);
}

static void
decide_namespace(const void *data, Plan *plan)
{
    const NamespaceController *self = data;

    if (informer_get(self->namespaces, plan_key(plan)) == NULL)
        return;
    plan_because(plan, "NSC-2");
    plan_get(plan, plan_key(plan), PLAN_GONE_IS_FINE);
    plan_then(plan, decide_fresh);
}

/* NSC-1 */
static void
namespace_changed(void *data, const Object *before, const Object *after)
{
    const NamespaceController *self = data;

    (void)before;
    if (after != NULL && object_is_deleted(after))
        work_queue_add_after(workers_queue(self->workers), (ObjectKey *)after->key, GRACE_PERIOD);
}

/* NSC-9: newNamespaceController() */
static double
namespace_controller_client_qps(const void *options, unsigned *burst)
{
    double qps = kube_controller_manager_client_qps(options, burst);

    *burst *= 100;
    return 20 * qps;
}

#define SELF NamespaceController
static const ComponentPart parts[] = {
    HAS_INFORMER(namespaces, KIND_NAMESPACE, .changed = namespace_changed),
    HAS_WORKERS(
        workers,
        "namespace",
        decide_namespace,
        KCM_SYNCS(KIND_NAMESPACE),
        /* NSC-8: nsControllerRateLimiter() */
        .limit = {.base = 5 * SIM_MS, .max = SIM_MINUTE, .bucket_qps = 10, .bucket_burst = 100}),
};

const ModelClass namespace_controller_class = {
    .name = "namespace-controller",
    .process = &kube_controller_manager_process,
    .client_qps = namespace_controller_client_qps,
    PARTS(parts),
};
