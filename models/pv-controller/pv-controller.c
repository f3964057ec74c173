/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The PersistentVolume controller as a component: two queues with one worker each, the resync of
 * all claims and then all volumes (PVC-4), and operations by verb and uid with back-off (PVC-12). A
 * resync leaves out settled objects and keys that wait already: their syncs would write and tell
 * nothing and take no time. With polling nothing is left out; tests compare both.
 *
 * While the claims' worker waits for tokens, thousands of volumes wait for it; if a pass would only
 * queue claims that are queued already, it is passed over. */
#include "models/pv-controller/pv-controller-private.h"

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/pv-controller/pv-controller-test.h"
#include "sim/random.h"

#define IN_TREE_PREFIX                                                                             \
    "kubernetes.io/" /* provisioners within Kubernetes; CSI drivers have other names */

#define RESYNC "pv-controller/resync"
#define BACKOFF_FIRST (500 * SIM_MS)   /* PVC-12 */
#define BACKOFF_MAX (122 * SIM_SECOND) /* PVC-12: 2 min 2 s */

/* ---- What several files ask ---- */

const StorageClass *
pv_find_class(const PvController *self, const char *name)
{
    return (const StorageClass *)informer_find(self->classes, NULL, name);
}

gboolean
pv_refers_to_uid(const Volume *volume, const Claim *claim)
{
    return object_uid_equal(volume->claim_ref.uid, claim->meta.uid);
}

gboolean
pv_has_annotation(const Object *object, const char *name)
{
    return object_annotation(object, name) != NULL;
}

gboolean
pv_is_migrated(const Object *object)
{
    const char *driver = object_annotation(object, ANNOTATION_MIGRATED_TO);

    return driver != NULL && driver[0] != '\0';
}

gboolean
pv_is_in_tree(const char *provisioner)
{
    return g_str_has_prefix(provisioner, IN_TREE_PREFIX);
}

/* ---- Steps that several rules plan ---- */

void
pv_plan_store(const PvController *self, Plan *plan, const Object *object)
{
    PlanChange change = {.what = CHANGE_STORE, .key = object->key, .object = object};

    if (pv_cache_get(self->cache, object->key) != object)
        plan_change(plan, &change);
}

void
pv_plan_change_key(Plan *plan, int what, const ObjectKey *key)
{
    PlanChange change = {.what = what, .key = key};

    plan_change(plan, &change);
}

void
pv_plan_settle(const PvController *self, Plan *plan, const Object *object)
{
    if (plan_last_step(plan) >= 0) /* a GET */
        return;
    if (!pv_cache_is_settled(self->cache, object->key) ||
        pv_cache_get(self->cache, object->key) != object)
        pv_plan_change_key(plan, CHANGE_SETTLE, object->key);
}

int
pv_plan_kept(Plan *plan, int step)
{
    plan_change_result(plan, CHANGE_STORE, step);
    return step;
}

static Workers *
workers_of(const PvController *self, ObjectKind kind)
{
    return kind == KIND_VOLUME ? self->volume_workers : self->claim_workers;
}

void
pv_plan_gone(const PvController *self,
             Plan *plan,
             const ObjectKey *key,
             const ObjectKey *other,
             const char *rule)
{
    plan_because(plan, rule);
    pv_plan_change_key(plan, CHANGE_FORGET, key);
    if (other != NULL)
        plan_queue(plan, workers_of(self, other->kind), other);
}

const char pv_provision[] = "provision", pv_delete[] = "delete", pv_recycle[] = "recycle";

/* PVC-12: one operation of a name runs, and a name is a verb, an object and its uid. The verb
 * stands in the place of a pod. */
OperationKey
pv_operation_key(const char *verb, const Object *object)
{
    return (OperationKey){.volume = object->key->text, .pod = verb, .uid = object->uid};
}

/* While the operation ran, resyncs may have left its volume alone. */
static void
operation_over(void *component, Plan *plan, PlanEnd end, const char *message)
{
    PvController *self = component;
    const ObjectKey *key = plan_key(plan);

    (void)end;
    (void)message;
    if (key->kind != KIND_VOLUME || pv_cache_volume(self->cache, key) == NULL)
        return;
    pv_cache_unsettle(self->cache, key);
    sim_ticker_wake(self->resync);
}

void
pv_plan_operation(
    const PvController *self, Plan *plan, const char *verb, const Object *object, PlanDecide decide)
{
    PlanStart start = {
        .component = (Component *)&self->base,
        .decide = decide,
        .key = (ObjectKey *)object->key,
        .decides_once = verb != pv_provision, /* the others begin with a GET */
        .done = operation_over,
    };

    plan_start_operation(plan, self->operations, pv_operation_key(verb, object), &start);
}

/* ---- The component ---- */

static void
pv_controller_apply_change(void *component, const PlanChange *change)
{
    PvController *self = component;

    switch (change->what) {
    case CHANGE_STORE:
        if (change->object != NULL)
            pv_cache_store(self->cache, change->object);
        break;
    case CHANGE_FORGET:
        pv_operation_object_gone(self, change->key);
        pv_cache_forget(self->cache, change->key);
        break;
    case CHANGE_TIME:
        pv_operation_begun(self, change);
        return;
    case CHANGE_TIMED:
        pv_operation_done(self, change->key);
        return;
    case CHANGE_SETTLE:
        pv_cache_settle(self->cache, change->key);
        return;
    case CHANGE_WAIT:
        pv_cache_wait_for_claim(self->cache, change->key);
        return;
    default:
        g_assert_not_reached();
    }
    if (!pv_cache_is_at_rest(self->cache))
        sim_ticker_wake(self->resync);
}

/* PVC-2: all kinds of events are handled alike. The cache may know the volume as waiting for its
 * claim: not this version. */
static void
volume_event(void *component, const Object *before, const Object *after)
{
    PvController *self = component;
    const ObjectKey *key = (after == NULL ? before : after)->key;

    pv_cache_end_wait(self->cache, key);
    workers_add(self->volume_workers, key);
}

static void
collect_all(GPtrArray *keys, const Informer *informer)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL)
        g_ptr_array_add(keys, (void *)object->key);
}

static void
collect_unsettled(const PvController *self,
                  GPtrArray *keys,
                  const Informer *informer,
                  ObjectKind kind)
{
    const WorkQueue *queue = workers_queue(workers_of(self, kind));

    for (uint32_t slot = 0; pv_cache_next_unsettled(self->cache, kind, &slot); slot++) {
        if (work_queue_has(queue, slot)) /* its key is not even looked at */
            continue;
        ObjectKey *key = objects_key_at(self->base.objects, kind, slot);
        if (informer_get(informer, key) != NULL)
            g_ptr_array_add(keys, key);
    }
}

/* PVC-37: the order is a hash map's, different each time. Two kinds of objects are left out.
 * Settled ones (cache.h): their syncs would change, send and tell nothing and take no time. Those
 * that wait in the queue already: while the worker waits for a token these are thousands, for
 * hours, and each has its own place in the order, whichever others there are. With polling nothing
 * is left out. */
static void
enqueue_kind(PvController *self, const Informer *informer, ObjectKind kind)
{
    SimStream stream = sim_stream(self->base.sim, "pv-controller/resync order");
    WorkQueue *queue = workers_queue(workers_of(self, kind));
    g_autoptr(GPtrArray) keys = g_ptr_array_new();

    if (sim_is_polling(self->base.sim))
        collect_all(keys, informer);
    else
        collect_unsettled(self, keys, informer, kind);
    sim_shuffle(keys->pdata, keys->len, object_key_place, stream,
                (uint64_t)sim_now(self->base.sim));
    for (unsigned i = 0; i < keys->len; i++)
        work_queue_add_again(queue, keys->pdata[i], self->resync_label);
}

/* Whether syncs of all unsettled volumes would do nothing but queue claims that are queued already,
 * and settle volumes; each claim for one volume, so that their order does not matter. */
static gboolean
volumes_wait_or_rest(const PvController *self)
{
    const WorkQueue *claims = workers_queue(self->claim_workers);
    uint32_t claim;
    gboolean is_only;

    for (uint32_t slot = 0; pv_cache_next_unsettled(self->cache, KIND_VOLUME, &slot); slot++) {
        if (pv_cache_waits_for_claim(self->cache, slot, &claim, &is_only)) {
            if (!is_only || !work_queue_has(claims, claim))
                return FALSE;
            continue;
        }
        const ObjectKey *key = objects_key_at(self->base.objects, KIND_VOLUME, slot);
        if (informer_get(self->volumes, key) != NULL && !pv_volume_rests(self, key))
            return FALSE;
    }
    return TRUE;
}

/* While the claims' worker waits for tokens, thousands of volumes wait for it, for hours. If they
 * are all that a resync would look at, and the volumes' worker would take them one after the other
 * at this instant, this comes to the same. */
static void
pass_over_volumes(PvController *self)
{
    WorkQueue *volumes = workers_queue(self->volume_workers),
              *claims = workers_queue(self->claim_workers);
    Sim *sim = self->base.sim;
    SimCauseId cause = sim_cause(sim);
    unsigned n_passed = 0;
    uint32_t claim;
    gboolean is_only;

    for (uint32_t slot = 0; pv_cache_next_unsettled(self->cache, KIND_VOLUME, &slot); slot++) {
        if (pv_cache_waits_for_claim(self->cache, slot, &claim, &is_only)) {
            work_queue_pass(volumes, slot, self->resync_label);
            work_queue_add_had(claims, claim);
        } else {
            const ObjectKey *key = objects_key_at(self->base.objects, KIND_VOLUME, slot);
            if (informer_get(self->volumes, key) == NULL)
                continue;
            work_queue_pass(volumes, slot, self->resync_label);
            pv_cache_settle(self->cache, key);
        }
        n_passed++;
    }
    sim_set_cause(sim, cause);
    sim_count_left_out(sim, MIN(n_passed, 2)); /* a dispatch; and one as the first key is done */
}

/* PVC-4: all claims, then all volumes. The ticker sleeps when all are settled. */
static gboolean
pv_controller_resync_pass(void *component)
{
    PvController *self = component;
    gboolean again = !pv_cache_is_at_rest(self->cache);

    enqueue_kind(self, self->claims, KIND_CLAIM);
    if (workers_are_idle(self->volume_workers) && volumes_wait_or_rest(self))
        pass_over_volumes(self);
    else
        enqueue_kind(self, self->volumes, KIND_VOLUME);
    return again;
}

static void
copy_informer(PvController *self, const Informer *informer)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL)
        pv_cache_store(self->cache, object);
}

/* PVC-63, as planned at the last sync; or PVC-70.5, and nothing is to be written. */
static gboolean
sync_volume_at_once(void *component, const ObjectKey *key)
{
    PvController *self = component;
    uint32_t claim;
    gboolean is_only;

    if (pv_cache_waits_for_claim(self->cache, key->slot, &claim, &is_only)) {
        workers_add(self->claim_workers, objects_key_at(self->base.objects, KIND_CLAIM, claim));
        return TRUE;
    }
    if (!pv_volume_rests(self, key))
        return FALSE;
    pv_cache_settle(self->cache, key);
    return TRUE;
}

static Workers *
worker_new(PvController *self,
           const char *name,
           PlanDecide sync,
           gboolean (*sync_at_once)(void *self, const ObjectKey *key))
{
    WorkersOptions options = {
        .name = name,
        .n_workers = 1,
        .limit = rate_limit_default,
        .retry = self->release->minor >= 36, /* PVC-10 */
        .sync = sync,
        .sync_at_once = sync_at_once,
    };

    return workers_new(&self->base, &options);
}

static void
pv_controller_init(void *component)
{
    PvController *self = component;

    self->release = cluster_release(self->base.cluster);
    self->attributes_classes = release_has_gate(self->release, "VolumeAttributesClass");
    self->operation_times = pv_operation_times_new(self);
    self->operations = operations_new(&self->base, BACKOFF_FIRST, BACKOFF_MAX);
    self->claim_workers = worker_new(self, "claims", pv_controller_sync_claim, NULL);
    self->volume_workers =
        worker_new(self, "volumes", pv_controller_sync_volume, sync_volume_at_once);
}

static void
pv_controller_filled(void *component)
{
    PvController *self = component;

    copy_informer(self, self->volumes);
    copy_informer(self, self->claims);
    self->resync_label = sim_label(self->base.sim, RESYNC);
    if (!pv_cache_is_at_rest(self->cache))
        sim_ticker_wake(self->resync);
}

#define SELF PvController
static const ComponentPart parts[] = {
    HAS_TEXT(words.yes, "yes"),
    HAS_TEXT(words.bound_by_controller, ANNOTATION_BOUND_BY_CONTROLLER),
    HAS_TEXT(words.bind_completed, ANNOTATION_BIND_COMPLETED),
    HAS_TEXT(words.storage_provisioner, ANNOTATION_STORAGE_PROVISIONER),
    HAS_TEXT(words.beta_storage_provisioner, ANNOTATION_BETA_STORAGE_PROVISIONER),
    HAS_TEXT(words.provisioned_by, ANNOTATION_PROVISIONED_BY),
    HAS_TEXT(words.migrated_to, ANNOTATION_MIGRATED_TO),
    HAS_TEXT(words.in_tree_finalizer, FINALIZER_IN_TREE_DELETION),
    HAS_TEXT(words.provisioner_finalizer, FINALIZER_PROVISIONER),
    HAS_STATE(operations, NULL, operations_free),
    HAS_STATE(cache, pv_cache_new, pv_cache_free),
    HAS_TABLE(gone_scrub_pods, g_free),
    HAS_STATE(operation_times, NULL, g_hash_table_unref),
    HAS_INFORMER(classes, KIND_STORAGE_CLASS),
    HAS_INFORMER(pods, KIND_POD, WITH_INDEX(pods_by_claim, index_pods_by_claim)),
    HAS_INFORMER(nodes, KIND_NODE),
    /* PVC-1: changes of other kinds are not heard of. */
    HAS_INFORMER(volumes, KIND_VOLUME, .changed = volume_event),
    HAS_INFORMER(claims, KIND_CLAIM, WAKES(claim_workers)),
    HAS_INFORMER(pods, KIND_POD, .changed = pv_recycler_event),
    /* TIM-54; one that starts later resyncs at once (PVC-3). */
    HAS_TICKER(resync,
               RESYNC,
               pv_controller_resync_pass,
               .period_flag = KCM_FLAG(pvclaimbinder_sync_period),
               .phase = ticker_phase_drawn),
};

PvCache *
pv_controller_cache(void *component)
{
    PvController *self = component;

    return self->cache;
}

void
pv_controller_hold(void *component)
{
    PvController *self = component;

    workers_hold(self->claim_workers);
    workers_hold(self->volume_workers);
}

const ModelClass pv_controller_class = {
    KCM_MODEL("persistent-volume-binder"),
    .event_source = "persistentvolume-controller",
    .event_style = EVENTS_CORE,
    .rule_tables = RULE_TABLES(&unbound_claim_rules,
                               &bound_claim_rules,
                               &volume_rules,
                               &pv_lookup_rules,
                               &pv_provision_rules,
                               &pv_note_rules,
                               &pv_policy_rules,
                               &pv_delete_rules,
                               &pv_recycle_rules),
    PARTS(parts),
    .init = pv_controller_init,
    .filled = pv_controller_filled,
    .apply_change = pv_controller_apply_change,
};
