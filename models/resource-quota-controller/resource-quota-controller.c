/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "resource-quota-controller.h"

#include "models/api/quota.h"
#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"
#include "sim/ticker.h"

/* Controller and QuotaMonitor in pkg/controller/resourcequota/. */

/* The usage of the claims in a quota's namespace, by the informer's cache. Kubernetes counts anew
 * in each sync; here sums follow the informer's events, which gives the same: nothing else changes
 * this cache. */
typedef struct {
    ResourceAmounts *hard; /* spec.hard as it was counted for */
    ResourceAmount *used;  /* for each item of @hard */
} Count;

typedef struct {
    Component base;
    Informer *quotas, *claims;
    InformerIndex *by_namespace; /* of quotas; value: the namespace */
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
covers(const QuotaController *self, const ResourceQuota *quota, const Claim *claim)
{
    return resource_quota_covers(quota, claim,
                                 quota_knows_class_scope(cluster_release(self->base.cluster)));
}

/* NULL: the quota bounds nothing. */
static Count *
count_new(const QuotaController *self, const ResourceQuota *quota)
{
    InformerIter iter;
    const Object *claim;

    if (quota->hard == NULL)
        return NULL;
    Count *count = g_new0(Count, 1);
    count->hard = resource_amounts_ref(quota->hard);
    count->used = claim_usages_new(quota->hard);
    informer_iter_init(&iter, self->claims);
    while ((claim = informer_iter_next(&iter)) != NULL)
        if (claim->key->namespace == quota->meta.key->namespace &&
            covers(self, quota, CLAIM_CONST(claim)))
            claim_usages_add(count->used, count->hard, CLAIM_CONST(claim), 1);
    return count;
}

/* Returns: (owned): status.used as it should be */
static ResourceAmounts *
wanted_used(const QuotaController *self, const ResourceQuota *quota)
{
    const Count *count = g_hash_table_lookup(self->counts, quota->meta.key);

    return count == NULL ? NULL : resource_quota_used(quota, count->used);
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
set_status(Object *object, const void *data)
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
    plan_update_status(plan, object, set_status, status, PLAN_STOP);
}

/* ---- Events ---- */

static void
index_by_namespace(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    index_emit(index, object->key->namespace);
}

/* A quota that is out of date and not queued waits for the next resync. */
static void
wait_if_dirty(QuotaController *self, const ResourceQuota *quota)
{
    if (quota_is_dirty(self, quota))
        sim_ticker_wake(self->resync);
}

static gboolean
lacks_status(const ResourceQuota *quota)
{
    if (!resource_amounts_equal(quota->hard, quota->status_hard))
        return TRUE;
    for (unsigned i = 0; quota->status_hard != NULL && i < quota->status_hard->n_items; i++) {
        const char *resource = quota->status_hard->items[i].name;
        if (quota_resource_is_of_claims(resource) &&
            resource_amounts_find(quota->used, resource) == NULL)
            return TRUE;
    }
    return FALSE;
}

/* Only changes of a quota's spec matter: all others come from this controller or from admission. */
static void
quota_changed(void *data, const Object *before, const Object *after)
{
    QuotaController *self = data;
    const ResourceQuota *quota = RESOURCE_QUOTA_CONST(after);

    if (after == NULL) {
        g_hash_table_remove(self->counts, before->key);
        return;
    }
    if (before == NULL ||
        !resource_amounts_equal(RESOURCE_QUOTA_CONST(before)->hard, quota->hard)) {
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
    CLAIM_GONE = 1 << 0,
    CLAIM_NEW = 1 << 1,
    CLAIM_FACTS_END = 1 << 2,
};

#define RECOVER "RecoverVolumeExpansionFailure"

/* RequiresQuotaReplenish(): with the gate, the test for a changed allocation compares addresses, so
 * any change will do. A new claim was charged at admission. Then: whether its quotas are counted.
 */
static const Rule claim_table[] = {
    {"API-153", CLAIM_GONE, 0,                      TRUE,  .gate = NULL      },
    {"API-153", CLAIM_NEW,  CLAIM_GONE,             FALSE, .gate = NULL      },
    {"API-153", 0,          CLAIM_GONE | CLAIM_NEW, TRUE,  .gate = RECOVER   },
    {"API-153", 0,          CLAIM_GONE | CLAIM_NEW, FALSE, .no_gate = RECOVER},
};

static const RuleTable claim_rules =
    RULE_TABLE("changed claims and their quotas", CLAIM_FACTS_END, claim_table);

static void
claim_changed(void *data, const Object *before, const Object *after)
{
    QuotaController *self = data;
    const ObjectKey *key = after != NULL ? after->key : before->key;
    uint32_t facts = (after == NULL ? CLAIM_GONE : 0u) | (before == NULL ? CLAIM_NEW : 0u);
    unsigned n;

    if (g_hash_table_size(self->counts) == 0)
        return;
    gboolean is_counted =
        rules_find(&claim_rules, facts, cluster_release(self->base.cluster))->then;
    const Object *const *quotas = informer_index_get(self->by_namespace, key->namespace, &n);
    for (unsigned i = 0; i < n; i++) {
        const ResourceQuota *quota = RESOURCE_QUOTA_CONST(quotas[i]);
        Count *count = g_hash_table_lookup(self->counts, quota->meta.key);
        if (count != NULL && covers(self, quota, CLAIM_CONST(before)))
            claim_usages_add(count->used, count->hard, CLAIM_CONST(before), -1);
        if (count != NULL && covers(self, quota, CLAIM_CONST(after)))
            claim_usages_add(count->used, count->hard, CLAIM_CONST(after), 1);
        if (is_counted && resource_quota_names_claims(quota))
            workers_add(self->primary, quota->meta.key);
        wait_if_dirty(self, quota);
    }
}

static gboolean
resync_pass(void *data)
{
    QuotaController *self = data;
    SimStream stream = sim_stream(self->base.sim, "resource-quota-controller/resync order");
    g_autoptr(GPtrArray) quotas = g_ptr_array_new();
    InformerIter iter;
    const Object *quota;

    informer_iter_init(&iter, self->quotas);
    while ((quota = informer_iter_next(&iter)) != NULL)
        g_ptr_array_add(quotas, (void *)quota->key);
    sim_shuffle(quotas->pdata, quotas->len, object_key_place, stream,
                (uint64_t)sim_now(self->base.sim)); /* CGO-8 */
    for (unsigned i = 0; i < quotas->len; i++)
        workers_add(self->primary, quotas->pdata[i]);
    return FALSE; /* a quota that is out of date then wakes it */
}

/* ---- The component ---- */

static SimTicker *
resync_ticker_new(QuotaController *self)
{
    const KubeControllerManagerOptions *options = self->base.options;
    SimTime period = MAX(options->resource_quota_sync_period, 1 * SIM_MS);
    SimStream stream = sim_stream(self->base.sim, "resource-quota-controller/resync");

    return sim_ticker_new(self->base.sim, &(SimTickerOptions){
                                              .name = "resource-quota-controller/resync",
                                              .period = period,
                                              .cost = process_timing(self->base.process)->loop_pass,
                                              .phase = self->base.started_late
                                                           ? 0
                                                           : (SimTime)sim_random_below(
                                                                 stream, 0, 0, (uint64_t)period),
                                              .order = self->base.order,
                                              .wait = WAIT_POLL,
                                              .pass = resync_pass,
                                              .self = self,
                                          });
}

static Workers *
workers(QuotaController *self, const char *name)
{
    const KubeControllerManagerOptions *options = self->base.options;

    return workers_new(&self->base,
                       &(WorkersOptions){
                           .name = name,
                           .n_workers = (unsigned)options->concurrent_resource_quota_syncs,
                           .limit = rate_limit_default,
                           .retry = TRUE,
                           .sync = decide_quota,
                       });
}

static void
init(void *data)
{
    QuotaController *self = data;

    self->counts = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, count_free);
    self->primary = workers(self, "resourcequota_primary");
    self->priority = workers(self, "resourcequota_priority");
    self->resync = resync_ticker_new(self);
    self->claims = process_informer(self->base.process, KIND_CLAIM, NULL);
    self->quotas = process_informer(self->base.process, KIND_RESOURCE_QUOTA, NULL);
    self->by_namespace = informer_add_index(self->quotas, index_by_namespace);
    informer_add_handler(self->claims, claim_changed,
                         self); /* first: it does nothing as long as there are no quotas */
    informer_add_handler(self->quotas, quota_changed, self);
}

static void
clear(void *data)
{
    QuotaController *self = data;

    sim_ticker_free(self->resync);
    g_hash_table_unref(self->counts);
}

const ModelClass resource_quota_controller_class = {
    .name = "resourcequota-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(QuotaController),
    .client_qps = kube_controller_manager_client_qps,
    .rule_tables = RULE_TABLES(&claim_rules),
    .init = init,
    .clear = clear,
};
