/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The PVC protection controller: the finalizer that keeps a claim while a pod uses it. A rule table
 * decides from the claim and the cached pods; before the finalizer goes, the pods are listed at the
 * API server, because the cache may be late (PROT-23, PROT-24). Newer releases process the claims
 * of a namespace together, with one list for all (PROT-22). A pod in any phase uses a claim until
 * the pod is gone. A claim in use is not retried: the end of its pod is an event. */
#include "models/pvc-pv-protection/pvc-pv-protection.h"

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"

/* PROT-22: a claim on its way from the queue, where it counts as being processed, through its
 * namespace's list. */
typedef struct {
    ObjectKey *key;
    SimCauseId added_by;
    gboolean in_use; /* by the batch's list of pods */
} PvcProtectionEntry;

/* The claims of a namespace that are processed together, with one list of its pods. */
typedef struct {
    const char *namespace;
    GArray *entries; /* of Entry */
} Batch;

typedef struct {
    Protection head;
    Informer *claims, *pods;
    InformerIndex *pods_by_claim;
    gboolean is_batching; /* else each claim has a list of its own (PROT-22) */
    WorkQueue *queue;
    SimEventId collecting; /* 0: not */
    GHashTable *waiting;   /* namespace -> Batch, borrowed from @batches */
    GQueue batches;        /* of Batch, still filling: the namespace queue */
    /* The one namespace worker. */
    Batch *batch;     /* (owned): NULL: idle */
    unsigned at;      /* the entry being processed */
    gboolean listed;  /* the batch has its list of pods */
    gboolean busy;    /* a plan is under way */
    gboolean running; /* run_worker() is on the stack */
} PvcProtection;

/* Changes of private state. */
enum {
    CHANGE_PODS_LISTED,
    CHANGE_IN_USE, /* @number: the index of the batch's entry */
};

static void
batch_free(void *data)
{
    Batch *batch = data;

    if (batch == NULL)
        return;
    g_array_unref(batch->entries);
    g_free(batch);
}

static PvcProtectionEntry *
batch_entry(const Batch *batch, unsigned i)
{
    return &g_array_index(batch->entries, PvcProtectionEntry, i);
}

/* ---- Which pods use a claim: PROT-25 ---- */

/* The pod has stopped for good: its deletion takes no further time. */
static gboolean
pod_is_shut_down(const Pod *pod)
{
    return object_is_deleted(&pod->meta) && pod->meta.deletion_grace_s == 0;
}

/* An ephemeral volume's claim is used only by the pod that it was made for, not by another of that
 * name. */
static gboolean
volume_uses(Objects *objects, const Pod *pod, const PodVolume *volume, const Object *claim)
{
    if (!volume->ephemeral)
        return strings_same(volume->claim_name, claim->key->name);
    return !pod_is_shut_down(pod) && object_is_controlled_by(claim, &pod->meta) &&
           pod_claim_key(objects, pod, volume) == claim->key;
}

/* In whatever phase: a pod that has completed uses its claims until it is gone. */
static gboolean
pod_uses(const PvcProtection *self, const Object *object, const Object *claim)
{
    const Pod *pod = POD_CONST(object);

    if (pod->node_name == NULL || pod->volumes == NULL ||
        !strings_same(object->key->namespace, claim->key->namespace))
        return FALSE;
    for (unsigned i = 0; i < pod->volumes->n_items; i++)
        if (volume_uses(self->head.base.objects, pod, &pod->volumes->items[i], claim))
            return TRUE;
    return FALSE;
}

static gboolean
known_pod_uses(const PvcProtection *self, const Object *claim)
{
    unsigned n_pods;
    const Object *const *pods = informer_index_get(self->pods_by_claim, claim->key, &n_pods);

    for (unsigned i = 0; i < n_pods; i++)
        if (pod_uses(self, pods[i], claim))
            return TRUE;
    return FALSE;
}

static void
add_claims_of(const PvcProtection *self, GHashTable *used, const Object *pod)
{
    const PodVolumes *volumes = POD_CONST(pod)->volumes;

    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++) {
        ObjectKey *key = pod_claim_key(self->head.base.objects, POD_CONST(pod), &volumes->items[i]);
        const Object *claim = informer_get(self->claims, key);
        if (claim != NULL && pod_uses(self, pod, claim))
            g_hash_table_add(used, key);
    }
}

/* The claims that are used by pods of the list that the cache does not have. Returns: (owned): a
 * set of ObjectKey; NULL: the list is not longer than the cache */
static GHashTable *
claims_of_unknown_pods(const PvcProtection *self, const Plan *plan, int list)
{
    const Object *pod;

    if (plan_list_length(plan, list) <= informer_count(self->pods))
        return NULL;
    GHashTable *used = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (uint32_t slot = 0; (pod = plan_list_next(plan, list, &slot)) != NULL;) {
        const Object *known = informer_get(self->pods, pod->key);
        if (known == NULL || !object_uid_equal(known->uid, pod->uid))
            add_claims_of(self, used, pod);
    }
    return used;
}

/* By the list of step @list. A pod never changes the claims that it names, so the cache says which
 * of its pods to look at. @of_unknown: see above */
static gboolean
listed_pod_uses(const PvcProtection *self,
                const Plan *plan,
                int list,
                GHashTable *of_unknown,
                const Object *claim)
{
    unsigned n_pods;
    const Object *const *pods = informer_index_get(self->pods_by_claim, claim->key, &n_pods);

    if (of_unknown != NULL && g_hash_table_contains(of_unknown, claim->key))
        return TRUE;
    for (unsigned i = 0; i < n_pods; i++) {
        const Object *pod = plan_list_find(plan, list, pods[i]->key);
        if (pod != NULL && pod_uses(self, pod, claim))
            return TRUE;
    }
    return FALSE;
}

/* ---- One claim: PROT-23, PROT-24 ---- */

/* processPVC(). No retry while it is in use: the pod's end is an event (PROT-27). */
static const Rule claim_table[] = {
    {"PROT-20", 0,                                        SEEN,               FINALIZER_STAYS    },
    {"PROT-20", SEEN | GUARDED,                           GOING,              FINALIZER_STAYS    },
    {"PROT-20", DELETED,                                  GUARDED,            FINALIZER_STAYS    },
    {"PROT-23", SEEN,                                     GOING | GUARDED,    FINALIZER_ADD      },
    {"PROT-24", DELETED | GUARDED | USED,                 0,                  FINALIZER_STAYS    },
    {"PROT-24", DELETED | GUARDED,                        USED | LISTED,      FINALIZER_LIST_PODS},
    {"PROT-24", DELETED | GUARDED | LISTED,               USED | LISTED_USED, FINALIZER_REMOVE   },
    {"PROT-24", DELETED | GUARDED | LISTED | LISTED_USED, USED,               FINALIZER_STAYS    },
};

static const RuleBound claim_bounds[] = {
    {.given = LISTED_USED, .all = LISTED},
};

static const RuleTable claim_rules =
    RULE_TABLE("finalizers of claims", CLAIM_FACTS_END, claim_table, RULE_BOUNDS(claim_bounds));

/* The list, even an empty one, serves the rest of the batch. */
static void
pvc_protection_decide_listed(const void *component, Plan *plan)
{
    const PvcProtection *self = component;
    int list = plan_last_step(plan);
    g_autoptr(GHashTable) of_unknown = claims_of_unknown_pods(self, plan, list);
    gboolean in_use = FALSE;

    plan_because(plan, "PROT-24");
    plan_change(plan, &(PlanChange){.what = CHANGE_PODS_LISTED});
    for (unsigned i = self->at; i < self->batch->entries->len; i++) {
        const Object *claim = informer_get(self->claims, batch_entry(self->batch, i)->key);
        if (claim == NULL || !listed_pod_uses(self, plan, list, of_unknown, claim))
            continue;
        plan_change(plan, &(PlanChange){.what = CHANGE_IN_USE, .number = i});
        in_use |= i == self->at;
    }
    const Object *claim = informer_get(self->claims, plan_key(plan));
    if (claim != NULL && !in_use)
        plan_update(plan, claim, edit_remove_finalizer, self->head.finalizer, PLAN_STOP);
}

static void
pvc_protection_decide_claim(const void *component, Plan *plan)
{
    const PvcProtection *self = component;
    const Object *claim = informer_get(self->claims, plan_key(plan));
    uint32_t facts = protection_facts(&self->head, claim);

    facts |= claim != NULL && known_pod_uses(self, claim) ? USED : 0;
    facts |= self->listed ? LISTED : 0;
    facts |= self->listed && batch_entry(self->batch, self->at)->in_use ? LISTED_USED : 0;
    const Rule *rule = rules_find(&claim_rules, facts, NULL);
    plan_because(plan, rule->id);
    switch ((FinalizerAction)rule->then) {
    case FINALIZER_STAYS:
        return;
    case FINALIZER_ADD:
        plan_update(plan, claim, edit_add_finalizer, self->head.finalizer, PLAN_STOP);
        return;
    case FINALIZER_REMOVE:
        plan_update(plan, claim, edit_remove_finalizer, self->head.finalizer, PLAN_STOP);
        return;
    case FINALIZER_LIST_PODS:
        plan_list(plan, KIND_POD, PLAN_STOP);
        plan_then(plan, pvc_protection_decide_listed);
        return;
    }
    g_assert_not_reached();
}

static void
pvc_protection_apply_change(void *component, const PlanChange *change)
{
    PvcProtection *self = component;

    if (change->what == CHANGE_PODS_LISTED)
        self->listed = TRUE;
    else
        batch_entry(self->batch, (unsigned)change->number)->in_use = TRUE;
}

/* ---- The collector and the namespace worker: PROT-22 ---- */

static void claim_processed(void *component, Plan *plan, PlanEnd end, const char *message);

/* The collector: moves up to @n_max keys from the queue to the lists of their namespaces. */
static void
collect_keys(PvcProtection *self, unsigned n_max)
{
    PvcProtectionEntry entry = {0};

    while (n_max-- > 0 && (entry.key = work_queue_get(self->queue, &entry.added_by)) != NULL) {
        Batch *batch = g_hash_table_lookup(self->waiting, entry.key->namespace);
        if (batch == NULL) {
            batch = g_new0(Batch, 1);
            batch->namespace = entry.key->namespace;
            batch->entries = g_array_new(FALSE, FALSE, sizeof(PvcProtectionEntry));
            g_hash_table_insert(self->waiting, (void *)batch->namespace, batch);
            g_queue_push_tail(&self->batches, batch);
        }
        g_array_append_val(batch->entries, entry);
    }
}

/* Takes the whole list of the next namespace. Returns: whether there is a claim to process */
static gboolean
next_entry(PvcProtection *self)
{
    while (self->batch == NULL || self->at == self->batch->entries->len) {
        g_clear_pointer(&self->batch, batch_free);
        if (!self->is_batching)
            collect_keys(self, 1);
        self->batch = g_queue_pop_head(&self->batches);
        if (self->batch == NULL)
            return FALSE;
        g_hash_table_remove(self->waiting, self->batch->namespace);
        self->at = 0;
        self->listed = FALSE;
    }
    return TRUE;
}

/* A plan without requests ends within plan_start(): hence a loop instead of recursion. */
static void
run_worker(PvcProtection *self)
{
    Sim *sim = self->head.base.sim;
    SimCauseId run_by = sim_cause(sim);

    if (self->running)
        return;
    self->running = TRUE;
    while (!self->busy && next_entry(self)) {
        const PvcProtectionEntry *entry = batch_entry(self->batch, self->at);
        PlanStart start = {
            .component = &self->head.base,
            .decide = pvc_protection_decide_claim,
            .key = entry->key,
            .done = claim_processed,
        };
        self->busy = TRUE;
        sim_resume(sim, entry->added_by, WAIT_WORKERS, 0);
        plan_start(&start);
    }
    self->running = FALSE;
    sim_set_cause(sim, run_by);
}

static void
claim_processed(void *component, Plan *plan, PlanEnd end, const char *message)
{
    PvcProtection *self = component;
    ObjectKey *key = plan_key(plan);

    (void)message;
    if (end == PLAN_FAILED)
        work_queue_add_rate_limited(self->queue, key);
    else
        work_queue_forget(self->queue, key);
    work_queue_done(self->queue, key);
    self->busy = FALSE;
    self->at++;
    run_worker(self);
}

static void
pvc_protection_collect(Sim *sim, void *component)
{
    PvcProtection *self = component;

    (void)sim;
    self->collecting = 0;
    if (self->is_batching)
        collect_keys(self, UINT_MAX);
    run_worker(self);
}

static const SimEventType collect_event = {
    .name = "pvc-protection/collect",
    .fire = pvc_protection_collect,
};

/* Deferred: other handlers of the same event come first. */
static void
queue_ready(void *component)
{
    PvcProtection *self = component;

    if (self->collecting == 0)
        self->collecting = sim_after(self->head.base.sim, 0, &collect_event, self, WAIT_NONE);
}

/* ---- Events ---- */

static void
claim_event(void *component, const Object *before, const Object *after)
{
    PvcProtection *self = component;

    (void)before;
    if (after != NULL && protection_has_work(self, after))
        work_queue_add(self->queue, (ObjectKey *)after->key);
}

/* PROT-25: no container runs. A deleted pod that never came to Running has started none. */
static gboolean
pod_is_terminated(const Pod *pod)
{
    return pod_is_terminal(pod) || (object_is_deleted(&pod->meta) && pod->phase != POD_RUNNING);
}

/* PROT-21: a running pod on a node holds its claims; pods that ended, went, or have no node release
 * theirs. */
static void
enqueue_claims(PvcProtection *self, const Pod *pod, gboolean is_gone)
{
    if (pod->volumes == NULL || (!is_gone && !pod_is_terminated(pod) && pod->node_name != NULL))
        return;
    for (unsigned i = 0; i < pod->volumes->n_items; i++)
        work_queue_add(self->queue,
                       pod_claim_key(self->head.base.objects, pod, &pod->volumes->items[i]));
}

static void
pvc_protection_pod_event(void *component, const Object *before, const Object *after)
{
    PvcProtection *self = component;

    if (after == NULL) {
        enqueue_claims(self, POD_CONST(before), TRUE);
        return;
    }
    enqueue_claims(self, POD_CONST(after), FALSE);
    /* Another pod of that name: the end of the former one was not seen (CGO-15). */
    if (before != NULL && !object_uid_equal(before->uid, after->uid))
        enqueue_claims(self, POD_CONST(before), TRUE);
}

static void
pvc_protection_init(void *component)
{
    PvcProtection *self = component;

    self->is_batching = cluster_release(self->head.base.cluster)->minor >= 32;
    self->queue = work_queue_new(&(WorkQueueOptions){
        .sim = self->head.base.sim,
        .name = "pvcprotection",
        .limit = rate_limit_default,
        .ready = queue_ready,
        .self = self,
    });
}

static void
pvc_protection_clear(void *component)
{
    PvcProtection *self = component;

    sim_cancel(self->head.base.sim, self->collecting);
    g_queue_clear_full(&self->batches, batch_free);
}

#define SELF PvcProtection
static const ComponentPart parts[] = {
    HAS_TEXT(head.finalizer, FINALIZER_PVC_PROTECTION),
    HAS_TABLE(waiting, NULL),
    HAS_STATE(queue, NULL, work_queue_free),
    HAS_STATE(batch, NULL, batch_free),
    HAS_INFORMER(pods, KIND_POD, WITH_INDEX(pods_by_claim, index_pods_by_claim)),
    HAS_INFORMER(claims, KIND_CLAIM, .changed = claim_event),
    HAS_INFORMER(pods, KIND_POD, .changed = pvc_protection_pod_event),
};

const ModelClass pvc_protection_class = {
    KCM_MODEL("pvc-protection-controller"),
    .rule_tables = RULE_TABLES(&claim_rules),
    PARTS(parts),
    .init = pvc_protection_init,
    .clear = pvc_protection_clear,
    .apply_change = pvc_protection_apply_change,
};
