/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resource quota controller: Controller and QuotaMonitor in pkg/controller/resourcequota/. It
 * writes the usage of the objects in a quota's namespace, by the informers' caches. Kubernetes
 * counts anew in each sync; here sums follow the informers' events, which gives the same, since
 * nothing else changes these caches. Only the time at which a deleted pod's grace is over brings no
 * event: pods past it are looked for in each sync. Kinds other than claims are watched once a quota
 * names them. */
#include "resource-quota-controller.h"

#include "models/api/fields.h"
#include "models/api/pod.h"
#include "models/api/quota/quota.h"
#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"
#include "sim/ticker.h"

typedef struct {
    ResourceAmounts *hard; /* spec.hard as it was counted for */
    ResourceAmount *used;  /* for each item of @hard */
} Count;

typedef struct {
    Component base;
    Informer *quotas;
    Informer *counted[N_KINDS];  /* NULL: no quota has named the kind yet */
    InformerIndex *by_namespace; /* of quotas; value: the namespace */
    InformerIndex *deleted_pods; /* by namespace; NULL: pods are not counted */
    GHashTable *counts;          /* ObjectKey of a quota -> Count */
    Workers *primary, *priority;
    SimTicker *resync;
} QuotaController;

/* ---- Counting ---- */

static void
count_free(void *data)
{
    Count *self = data;

    resource_amounts_unref(self->hard);
    g_free(self->used);
    g_free(self);
}

static gboolean
covers(const QuotaController *self, const ResourceQuota *quota, const Object *object)
{
    return object != NULL &&
           resource_quota_covers(quota, object_kind(object), object,
                                 quota_knows_class_scope(cluster_release(self->base.cluster)));
}

static void
count_kind(const QuotaController *self, const ResourceQuota *quota, ObjectKind kind, Count *count)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, self->counted[kind]);
    while ((object = informer_iter_next(&iter)) != NULL)
        if (object->key->namespace == quota->meta.key->namespace && covers(self, quota, object))
            quota_usages_add(count->used, count->hard, self->base.objects, object, QUOTA_ALWAYS, 1);
}

/* NULL: the quota bounds nothing. */
static Count *
count_new(const QuotaController *self, const ResourceQuota *quota)
{
    if (quota->hard == NULL)
        return NULL;
    Count *count = g_new0(Count, 1);
    count->hard = resource_amounts_ref(quota->hard);
    count->used = quota_usages_new(quota->hard);
    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        if (self->counted[kind] != NULL && resource_amounts_name_kind(quota->hard, kind))
            count_kind(self, quota, kind, count);
    return count;
}

/* The pods of the quota's namespace that are being deleted. */
static const Object *const *
deleted_pods(const QuotaController *self, const ResourceQuota *quota, unsigned *n)
{
    *n = 0;
    return self->deleted_pods == NULL || !resource_amounts_name_kind(quota->hard, KIND_POD)
               ? NULL
               : informer_index_get(self->deleted_pods, quota->meta.key->namespace, n);
}

/* Takes away what pods use that only their kubelets keep. */
static void
subtract_overdue(const QuotaController *self, const ResourceQuota *quota, ResourceAmount *used)
{
    SimTime now = sim_now(self->base.sim);
    unsigned n;
    const Object *const *pods = deleted_pods(self, quota, &n);

    for (unsigned i = 0; i < n; i++) {
        if (!covers(self, quota, pods[i]))
            continue;
        quota_usages_add(used, quota->hard, self->base.objects, pods[i], QUOTA_ALWAYS, -1);
        quota_usages_add(used, quota->hard, self->base.objects, pods[i], now, 1);
    }
}

/* Returns: (owned): status.used as it should be */
static ResourceAmounts *
wanted_used(const QuotaController *self, const ResourceQuota *quota)
{
    const Count *count = g_hash_table_lookup(self->counts, quota->meta.key);

    if (count == NULL)
        return NULL;
    g_autofree ResourceAmount *used =
        g_memdup2(count->used, count->hard->n_items * sizeof *count->used);
    subtract_overdue(self, quota, used);
    return resource_quota_used(quota, used);
}

static gboolean
quota_is_dirty(const QuotaController *self, const ResourceQuota *quota)
{
    g_autoptr(ResourceAmounts) used = wanted_used(self, quota);

    return !resource_amounts_equal(quota->hard, quota->status_hard) ||
           !resource_amounts_equal(used, quota->used);
}

/* ---- Syncs (API-153) ---- */

typedef struct {
    const ResourceAmounts *hard, *used;
} Status;

static gboolean
resource_quota_controller_set_status(Object *object, const void *data)
{
    ResourceQuota *quota = RESOURCE_QUOTA(object);
    const Status *status = data;

    resource_amounts_unref(quota->status_hard);
    resource_amounts_unref(quota->used);
    quota->status_hard = resource_amounts_ref(status->hard);
    quota->used = resource_amounts_ref(status->used);
    return TRUE;
}

static void
decide_quota(const void *data, Plan *plan)
{
    const QuotaController *self = data;
    const Object *object = informer_get(self->quotas, plan_key(plan));
    const ResourceQuota *quota = RESOURCE_QUOTA_CONST(object);

    plan_because(plan, "API-153");
    if (object == NULL || !quota_is_dirty(self, quota))
        return;
    Status *status = plan_new_arg(plan, Status);
    ResourceAmounts *used = wanted_used(self, quota);
    plan_own(plan, used, (GDestroyNotify)resource_amounts_unref);
    *status = (Status){quota->hard, used};
    plan_update_status(plan, object, resource_quota_controller_set_status, status, PLAN_STOP);
}

/* ---- Events ---- */

static void
index_by_namespace(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    index_emit(index, object->key->namespace);
}

/* A quota that is out of date and not queued waits for the next resync; so does one that time
 * alone will change. */
static void
wait_if_dirty(QuotaController *self, const ResourceQuota *quota)
{
    unsigned n_deleted;

    deleted_pods(self, quota, &n_deleted);
    if (n_deleted > 0 || quota_is_dirty(self, quota))
        sim_ticker_wake(self->resync);
}

static gboolean
lacks_status(const ResourceQuota *quota)
{
    if (!resource_amounts_equal(quota->hard, quota->status_hard))
        return TRUE;
    for (unsigned i = 0; quota->status_hard != NULL && i < quota->status_hard->n_items; i++) {
        const char *resource = quota->status_hard->items[i].name;
        if (quota_resource_kind(resource) != N_KINDS &&
            resource_amounts_find(quota->used, resource) == NULL)
            return TRUE;
    }
    return FALSE;
}

static void watch_kind(QuotaController *self, ObjectKind kind);

/* Only changes of a quota's spec matter: all others come from this controller or from admission. */
static void
spec_changed(void *data, const Object *before, const Object *after)
{
    QuotaController *self = data;
    const ResourceQuota *quota = RESOURCE_QUOTA_CONST(after);

    if (after == NULL) {
        g_hash_table_remove(self->counts, before->key);
        return;
    }
    if (before == NULL ||
        !resource_amounts_equal(RESOURCE_QUOTA_CONST(before)->hard, quota->hard)) {
        for (ObjectKind kind = 0; kind < N_KINDS; kind++)
            if (self->counted[kind] == NULL && resource_amounts_name_kind(quota->hard, kind))
                watch_kind(self, kind);
        Count *count = count_new(self, quota);
        if (count != NULL)
            g_hash_table_replace(self->counts, (void *)after->key, count);
        else
            g_hash_table_remove(self->counts, after->key);
        workers_add(lacks_status(quota) ? self->priority : self->primary, after->key);
    }
    wait_if_dirty(self, quota);
}

enum {
    GONE = 1 << 0,
    NEW = 1 << 1,
    OF_CLAIM = 1 << 2,
    FREED = 1 << 3, /* a pod has ended, or a service has another type */
    CHANGE_FACTS_END = 1 << 4,
};

#define RECOVER "RecoverVolumeExpansionFailure"

/* DefaultUpdateFilter(). RequiresQuotaReplenish(): with the gate, the test for a changed allocation
 * compares addresses, so any change of a claim will do. A new object was charged at admission.
 * Then: whether its quotas are counted. */
static const Rule change_table[] = {
    {"API-153", GONE,     0,                             TRUE,  .gate = NULL      },
    {"API-153", NEW,      GONE,                          FALSE, .gate = NULL      },
    {"API-153", OF_CLAIM, GONE | NEW,                    TRUE,  .gate = RECOVER   },
    {"API-153", OF_CLAIM, GONE | NEW,                    FALSE, .no_gate = RECOVER},
    {"API-153", FREED,    GONE | NEW | OF_CLAIM,         TRUE,  .gate = NULL      },
    {"API-153", 0,        GONE | NEW | OF_CLAIM | FREED, FALSE, .gate = NULL      },
};

static const RuleTable change_rules =
    RULE_TABLE("changed objects and their quotas", CHANGE_FACTS_END, change_table);

static const char *
service_type(const Object *service)
{
    return service->manifest == NULL ? NULL : json_path_string(service->manifest, "spec.type");
}

static gboolean
has_freed(const Object *before, const Object *after)
{
    if (before == NULL || after == NULL)
        return FALSE;
    if (object_kind(after) == KIND_POD)
        return !pod_is_terminal(POD_CONST(before)) && pod_is_terminal(POD_CONST(after));
    return object_kind(after) == KIND_SERVICE &&
           g_strcmp0(service_type(before), service_type(after)) != 0;
}

static void
count_change(Count *count,
             const QuotaController *self,
             const ResourceQuota *quota,
             const Object *before,
             const Object *after)
{
    if (covers(self, quota, before))
        quota_usages_add(count->used, count->hard, self->base.objects, before, QUOTA_ALWAYS, -1);
    if (covers(self, quota, after))
        quota_usages_add(count->used, count->hard, self->base.objects, after, QUOTA_ALWAYS, 1);
}

static void
resource_quota_controller_object_changed(void *data, const Object *before, const Object *after)
{
    QuotaController *self = data;
    const ObjectKey *key = after != NULL ? after->key : before->key;
    uint32_t facts = (after == NULL ? GONE : 0u) | (before == NULL ? NEW : 0u) |
                     (key->kind == KIND_CLAIM ? OF_CLAIM : 0u) |
                     (has_freed(before, after) ? FREED : 0u);
    unsigned n;

    if (g_hash_table_size(self->counts) == 0)
        return;
    gboolean is_counted =
        rules_find(&change_rules, facts, cluster_release(self->base.cluster))->then;
    const Object *const *quotas = informer_index_get(self->by_namespace, key->namespace, &n);
    for (unsigned i = 0; i < n; i++) {
        const ResourceQuota *quota = RESOURCE_QUOTA_CONST(quotas[i]);
        Count *count = g_hash_table_lookup(self->counts, quota->meta.key);
        if (count != NULL)
            count_change(count, self, quota, before, after);
        if (is_counted && resource_amounts_name_kind(quota->status_hard, key->kind))
            workers_add(self->primary, quota->meta.key);
        wait_if_dirty(self, quota);
    }
}

/* Quotas are counted themselves, too: by count/resourcequotas. */
static void
quota_changed(void *data, const Object *before, const Object *after)
{
    QuotaController *self = data;

    if (self->counted[KIND_RESOURCE_QUOTA] != NULL)
        resource_quota_controller_object_changed(
            data, before, after); /* a new one is not among the counted quotas yet */
    spec_changed(data, before, after);
}

static void
index_deleted(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    if (object_is_deleted(object))
        index_emit(index, object->key->namespace);
}

/* A handler is called at once for all that is there: these objects are counted by the quota that
 * names the kind, and by no other. */
static void
watch_kind(QuotaController *self, ObjectKind kind)
{
    self->counted[kind] = process_informer(self->base.process, kind, NULL);
    if (kind == KIND_POD)
        self->deleted_pods = informer_add_index(self->counted[kind], index_deleted);
    if (kind != KIND_RESOURCE_QUOTA)
        informer_add_handler(self->counted[kind], resource_quota_controller_object_changed, self);
}

static gboolean
resource_quota_controller_resync_pass(void *data)
{
    QuotaController *self = data;
    SimStream stream = sim_stream(self->base.sim, "resource-quota-controller/resync order");
    g_autoptr(GPtrArray) quotas = g_ptr_array_new();
    gboolean waits = FALSE; /* for the end of some pod's grace */
    InformerIter iter;
    const Object *quota;
    unsigned n_deleted;

    informer_iter_init(&iter, self->quotas);
    while ((quota = informer_iter_next(&iter)) != NULL) {
        g_ptr_array_add(quotas, (void *)quota->key);
        deleted_pods(self, RESOURCE_QUOTA_CONST(quota), &n_deleted);
        waits |= n_deleted > 0;
    }
    sim_shuffle(quotas->pdata, quotas->len, object_key_place, stream,
                (uint64_t)sim_now(self->base.sim)); /* CGO-8 */
    for (unsigned i = 0; i < quotas->len; i++)
        workers_add(self->primary, quotas->pdata[i]);
    return waits; /* a quota that is out of date then wakes it */
}

/* ---- The component ---- */

#define SELF QuotaController
static const ComponentPart parts[] = {
    HAS_TABLE(counts, count_free),
    /* First: it does nothing as long as there are no quotas. */
    HAS_INFORMER(
        counted[KIND_CLAIM], KIND_CLAIM, .changed = resource_quota_controller_object_changed),
    HAS_INFORMER(quotas,
                 KIND_RESOURCE_QUOTA,
                 WITH_INDEX(by_namespace, index_by_namespace),
                 .changed = quota_changed),
    HAS_WORKERS(primary, "resourcequota_primary", decide_quota, KCM_SYNCS(KIND_RESOURCE_QUOTA)),
    HAS_WORKERS(priority, "resourcequota_priority", decide_quota, KCM_SYNCS(KIND_RESOURCE_QUOTA)),
    HAS_TICKER(resync,
               "resource-quota-controller/resync",
               resource_quota_controller_resync_pass,
               .period_flag = KCM_FLAG(resource_quota_sync_period),
               .phase = ticker_phase_drawn),
};

const ModelClass resource_quota_controller_class = {
    KCM_MODEL("resourcequota-controller"),
    .rule_tables = RULE_TABLES(&change_rules),
    PARTS(parts),
};
