/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The garbage collector: deletes objects whose owners are all gone (WL-100, WL-101), holds owners
 * that wait for their dependents (WL-102), and takes references off dependents that are orphaned
 * (WL-103). Indexes by owner stand for the graph of the original. A rule table decides after the
 * dependent and then its owner were read from the API server, since the cache may be late; owners
 * that were not found are remembered by uid.
 *
 * Only kinds that models make with an owner are followed; owners of kinds that no model deletes are
 * taken to exist. */
#include "garbage-collector.h"

#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/plan/rules.h"

/* Kinds that models make with an owner. */
static const ObjectKind dependent_kinds[] = {
    KIND_POD, KIND_CLAIM, KIND_CONTROLLER_REVISION, KIND_CSI_NODE, KIND_REPLICA_SET,
    KIND_JOB, KIND_OTHER};

typedef struct {
    Component base;
    Informer *informers[N_KINDS];
    InformerIndex *by_owner[N_KINDS]; /* value: the owner's ObjectKey */
    Workers *workers[N_KINDS];
    Workers *owners[N_KINDS],
        *orphaned[N_KINDS]; /* owners that wait for their dependents, and that leave them */
    const char *foreground, *orphan; /* interned: finalizers */
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

/* Whether the collector's graph has the owner. Owners of kinds that no model deletes are taken to
 * exist. */
static gboolean
owner_is_known(const GarbageCollector *self, const OwnerReference *owner)
{
    const Informer *informer = owner->key == NULL ? NULL : self->informers[owner->key->kind];
    const Object *object = informer == NULL ? NULL : informer_get(informer, owner->key);

    return informer == NULL || (object != NULL && object_uid_equal(object->uid, owner->uid));
}

/* WL-102: the object is going, and waits for its dependents. */
static gboolean
waits(const GarbageCollector *self, const Object *object)
{
    return object != NULL && object_is_deleted(object) &&
           object_has_finalizer(object, self->foreground);
}

/* The same of an owner in the cache. */
static gboolean
owner_waits(const GarbageCollector *self, const OwnerReference *owner)
{
    gboolean may_wait = owner->key != NULL && self->owners[owner->key->kind] != NULL;
    const Informer *informer = may_wait ? self->informers[owner->key->kind] : NULL;

    return informer != NULL && waits(self, informer_get(informer, owner->key));
}

/* One of the owners, if all are absent or wait for their dependents; NULL: at least one stays.
 * Kubernetes then only removes the other references, which nothing here would notice. */
static const OwnerReference *
missing_owner(const GarbageCollector *self, const Object *object)
{
    gboolean has_known_owner = FALSE;
    const OwnerReference *missing = NULL;

    for (unsigned i = 0; object->owners != NULL && i < object->owners->n_items; i++) {
        const OwnerReference *owner = &object->owners->items[i];
        if (owner_is_known(self, owner) && !owner_waits(self, owner))
            has_known_owner = TRUE;
        else
            missing = owner;
    }
    return has_known_owner ? NULL : missing;
}

/* The dependents of a kind that the cache has. @n: (out). Returns: (borrowed) */
static const Object *const *
dependents_of(const GarbageCollector *self, ObjectKind kind, const Object *owner, unsigned *n)
{
    return informer_index_get(self->by_owner[kind], owner->key, n);
}

static void decide_orphaned(const void *data, Plan *plan);

static Workers *
new_workers(GarbageCollector *self, const char *name, PlanDecide sync)
{
    const KubeControllerManagerOptions *options = self->base.options;

    return workers_new(&self->base,
                       &(WorkersOptions){.name = name,
                                         .n_workers = (unsigned)options->concurrent_gc_syncs,
                                         .limit = rate_limit_default,
                                         .retry = TRUE,
                                         .sync = sync});
}

/* Made when it is needed for the first time, and its metrics with it. */
static void
leave_dependents(GarbageCollector *self, const ObjectKey *owner)
{
    Workers **workers = &self->orphaned[owner->kind];

    if (*workers == NULL)
        *workers = new_workers(self, "garbage_collector_attempt_to_orphan", decide_orphaned);
    workers_add(*workers, owner);
}

/* WL-100: looks at the dependents of an owner that has gone, or waits for them (WL-102). CGO-8:
 * they stand in a map. */
static void
owner_changed(void *data, const Object *before, const Object *after)
{
    GarbageCollector *self = data;

    if (after != NULL && object_is_deleted(after) && object_has_finalizer(after, self->orphan))
        leave_dependents(self, after->key);
    if (after != NULL && (!waits(self, after) || waits(self, before)))
        return;
    if (after != NULL)
        workers_add(self->owners[object_kind(after)], after->key);
    const ObjectKey *owner = (after != NULL ? after : before)->key;
    SimStream stream = sim_stream(self->base.sim, "garbage-collector/order");
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++) {
        ObjectKind kind = dependent_kinds[i];
        unsigned n;
        const Object *const *dependents = informer_index_get(self->by_owner[kind], owner, &n);
        g_autofree const Object **order = g_memdup2(dependents, n * sizeof dependents[0]);
        sim_shuffle((void **)order, n, object_place, stream, (uint64_t)sim_now(self->base.sim));
        for (unsigned k = 0; k < n; k++)
            workers_add(self->workers[kind], order[k]->key);
    }
}

/* A new dependent whose owner has gone already. */
static void
dependent_changed(void *data, const Object *before, const Object *after)
{
    GarbageCollector *self = data;

    if (before == NULL && after->owners != NULL && missing_owner(self, after) != NULL)
        workers_add(self->workers[object_kind(after)], after->key);
    for (unsigned i = 0; before != NULL && before->owners != NULL && i < before->owners->n_items;
         i++) { /* one less for its owner to wait for */
        const OwnerReference *owner = &before->owners->items[i];
        if ((after == NULL || after->owners != before->owners) && owner_waits(self, owner))
            workers_add(self->owners[owner->key->kind], owner->key);
    }
}

enum {
    READ_LIVE = 1 << 0,     /* the API server has the dependent */
    READ_FAILED = 1 << 1,   /* the API server could not be asked */
    IS_ORPHAN = 1 << 2,     /* all owners that it names are unknown to the cache */
    IS_GOING = 1 << 3,      /* it is being deleted */
    IS_ANOTHER = 1 << 4,    /* another object of that name than the cache has */
    OWNER_ABSENT = 1 << 5,  /* an owner of that uid was asked for before, and not found */
    OWNER_ASKED = 1 << 6,   /* this plan has asked for the owner */
    OWNER_LIVE = 1 << 7,    /* ... and found it: the cache is behind */
    OWNER_UNKNOWN = 1 << 8, /* ... and the API server could not be asked */
    OWNER_WAITS = 1 << 9,   /* ... and found it waiting for its dependents (WL-102) */
    OWNS_OTHERS = 1 << 10,  /* the object has dependents of its own */
    DEPENDENT_FACTS_END = 1 << 11,
};

typedef enum {
    DEPENDENT_STAYS,
    DEPENDENT_FAIL, /* to be tried again */
    DEPENDENT_ASK_OWNER,
    DEPENDENT_DELETE,
    DEPENDENT_NOTE_AND_DELETE, /* the owner's absence is remembered */
    DEPENDENT_DELETE_FOREGROUND,
} DependentAction;

enum {
    ORPHAN = READ_LIVE | IS_ORPHAN,
    ASKED = ORPHAN | OWNER_ASKED,
    NOT_NOW = IS_GOING | IS_ANOTHER,
};

/* attemptToDeleteItem() in garbagecollector.go. */
static const Rule dependent_table[] = {
    {"WL-101", 0,                                 READ_LIVE | READ_FAILED,              DEPENDENT_STAYS,             0      },
    {"WL-101", READ_FAILED,                       0,                                    DEPENDENT_FAIL,              0      },
    {"WL-101", READ_LIVE,                         IS_ORPHAN,                            DEPENDENT_STAYS,             0      },
    {"WL-101", ORPHAN,                            OWNER_ASKED,                          DEPENDENT_STAYS,             NOT_NOW},
    {"WL-101", ORPHAN,                            OWNER_ASKED | NOT_NOW | OWNER_ABSENT, DEPENDENT_ASK_OWNER,         0      },
    {"WL-101", ORPHAN | OWNER_ABSENT,             OWNER_ASKED | NOT_NOW,                DEPENDENT_DELETE,            0      },
    {"WL-101", ASKED | OWNER_UNKNOWN,             0,                                    DEPENDENT_FAIL,              0      },
    {"WL-101", ASKED | OWNER_LIVE,                OWNER_WAITS,                          DEPENDENT_STAYS,             0      },
    {"WL-102", ASKED | OWNER_WAITS,               OWNS_OTHERS,                          DEPENDENT_DELETE,            0      },
    {"WL-102", ASKED | OWNER_WAITS | OWNS_OTHERS, 0,                                    DEPENDENT_DELETE_FOREGROUND, 0      },
    {"WL-101", ASKED,                             OWNER_UNKNOWN | OWNER_LIVE,           DEPENDENT_NOTE_AND_DELETE,   0      },
};

static const RuleBound dependent_bounds[] = {
    {.given = READ_FAILED, .none = READ_LIVE },
    {.given = OWNER_LIVE,  .all = OWNER_ASKED, .none = OWNER_UNKNOWN},
    {.given = OWNER_UNKNOWN,                    .all = OWNER_ASKED                },
    {.given = OWNER_WAITS,                    .all = OWNER_LIVE  },
};

static const RuleTable dependent_rules = RULE_TABLE("dependents without an owner",
                                                    DEPENDENT_FACTS_END,
                                                    dependent_table,
                                                    RULE_BOUNDS(dependent_bounds));

#define STEP_DEPENDENT 0 /* reads it: it may have gone, or have been given to another owner */
#define STEP_OWNER 1     /* reads its owner */

static uint32_t
owner_facts(const GarbageCollector *self, const Plan *plan, const OwnerReference *owner)
{
    const Object *found = plan_object(plan, STEP_OWNER);
    uint32_t facts = OWNER_ASKED;

    facts |= found == NULL && plan_code(plan, STEP_OWNER) != API_NOT_FOUND ? OWNER_UNKNOWN : 0;
    if (found != NULL && owner != NULL && object_uid_equal(found->uid, owner->uid))
        facts |= OWNER_LIVE | (waits(self, found) ? OWNER_WAITS : 0u);
    return facts;
}

static gboolean
has_dependents(const GarbageCollector *self, const Object *object)
{
    unsigned n = 0;

    for (unsigned i = 0; n == 0 && i < G_N_ELEMENTS(dependent_kinds); i++)
        dependents_of(self, dependent_kinds[i], object, &n);
    return n > 0;
}

/* @owner: of @object, one that is missing or waits; NULL: it is no orphan */
static uint32_t
dependent_facts(const GarbageCollector *self,
                const Plan *plan,
                const Object *object,
                const OwnerReference *owner)
{
    const Object *seen = informer_get(self->informers[plan_key(plan)->kind], plan_key(plan));
    uint32_t facts = READ_LIVE | (owner == NULL ? 0u : IS_ORPHAN);

    facts |= object != NULL && has_dependents(self, object) ? OWNS_OTHERS : 0;
    if (object == NULL)
        return plan_code(plan, STEP_DEPENDENT) == API_NOT_FOUND ? 0 : READ_FAILED;
    if (plan_last_step(plan) == STEP_OWNER)
        return facts | owner_facts(self, plan, owner);
    facts |= object_is_deleted(object) ? IS_GOING : 0;
    facts |= seen != NULL && !object_uid_equal(seen->uid, object->uid) ? IS_ANOTHER : 0;
    if (owner != NULL &&
        g_hash_table_contains(self->absent_owners, &(int64_t){(int64_t)owner->uid.low}))
        facts |= OWNER_ABSENT;
    return facts;
}

/* Asked twice at most: with the dependent as it is now, and with its owner. */
static void
garbage_collector_decide_read(const void *data, Plan *plan)
{
    const GarbageCollector *self = data;
    const Object *object = plan_object(plan, STEP_DEPENDENT);
    const OwnerReference *owner = object == NULL ? NULL : missing_owner(self, object);
    const Rule *rule =
        rules_find(&dependent_rules, dependent_facts(self, plan, object, owner), NULL);

    plan_because(plan, rule->id);
    switch ((DependentAction)rule->then) {
    case DEPENDENT_STAYS:
        return;
    case DEPENDENT_FAIL:
        plan_fail(plan, "%s", plan_last_message(plan));
        return;
    case DEPENDENT_ASK_OWNER:
        plan_get(plan, owner->key, PLAN_GO_ON);
        plan_then(plan, garbage_collector_decide_read);
        return;
    case DEPENDENT_NOTE_AND_DELETE:
        plan_change(plan, &(PlanChange){.number = (int64_t)owner->uid.low});
        plan_delete(plan, object->key, object->uid, -1, PLAN_GONE_IS_FINE);
        return;
    case DEPENDENT_DELETE:
        plan_delete(plan, object->key, object->uid, -1, PLAN_GONE_IS_FINE);
        return;
    case DEPENDENT_DELETE_FOREGROUND:
        plan_delete_foreground(plan, object->key, object->uid, PLAN_GONE_IS_FINE);
        return;
    }
    g_assert_not_reached();
}

static gboolean
edit_remove_owner(Object *object, const void *owner)
{
    return object_remove_owner(object, owner);
}

/* The cache may have a newer version when the patch is made: the plan keeps this one. */
static void
plan_remove_owner(Plan *plan, const Object *dependent, const Object *owner)
{
    plan_keep(plan, owner);
    plan_patch(plan, dependent->key, edit_remove_owner, owner, PLAN_GONE_IS_FINE);
}

/* Returns: (borrowed): an owner that waits for the object; NULL: none */
static const Object *
waiting_owner(const GarbageCollector *self, const Object *object)
{
    for (unsigned i = 0; object->owners != NULL && i < object->owners->n_items; i++) {
        const OwnerReference *owner = &object->owners->items[i];
        if (owner_waits(self, owner))
            return informer_get(self->informers[owner->key->kind], owner->key);
    }
    return NULL;
}

static void
decide_dependent(const void *data, Plan *plan)
{
    const GarbageCollector *self = data;
    const Object *object = informer_get(self->informers[plan_key(plan)->kind], plan_key(plan));

    if (object == NULL || object_is_deleted(object))
        return;
    if (missing_owner(self, object) != NULL) {
        plan_because(plan, "WL-101");
        plan_get(plan, object->key, PLAN_GO_ON);
        plan_then(plan, garbage_collector_decide_read);
        return;
    }
    const Object *waiting = waiting_owner(self, object);
    if (waiting == NULL)
        return;
    plan_because(plan, "WL-102");
    plan_get(plan, object->key, PLAN_GONE_IS_FINE);
    plan_remove_owner(plan, object, waiting);
}

/* ---- Owners that wait, and owners that leave their dependents ---- */

/* removeFinalizer() reads the object first. */
static void
plan_release(Plan *plan, const char *finalizer)
{
    plan_get(plan, plan_key(plan), PLAN_GONE_IS_FINE);
    plan_patch(plan, plan_key(plan), edit_remove_finalizer, finalizer, PLAN_GONE_IS_FINE);
}

static gboolean
keeps_owner(const Object *dependent, const Object *owner)
{
    for (unsigned i = 0; i < dependent->owners->n_items; i++)
        if (object_uid_equal(dependent->owners->items[i].uid, owner->uid) &&
            dependent->owners->items[i].block_owner_deletion)
            return TRUE;
    return FALSE;
}

/* WL-102: processDeletingDependentsItem() */
static void
decide_owner(const void *data, Plan *plan)
{
    const GarbageCollector *self = data;
    const Object *owner = informer_get(self->informers[plan_key(plan)->kind], plan_key(plan));
    gboolean is_kept = FALSE;

    if (!waits(self, owner))
        return;
    plan_because(plan, "WL-102");
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++) {
        unsigned n;
        const Object *const *dependents = dependents_of(self, dependent_kinds[i], owner, &n);
        for (unsigned k = 0; k < n; k++) {
            if (!keeps_owner(dependents[k], owner))
                continue;
            is_kept = TRUE;
            if (!waits(self, dependents[k]))
                plan_queue(plan, self->workers[dependent_kinds[i]], dependents[k]->key);
        }
    }
    if (!is_kept)
        plan_release(plan, self->foreground);
}

/* WL-103: attemptToOrphan() */
static void
decide_orphaned(const void *data, Plan *plan)
{
    const GarbageCollector *self = data;
    const Object *owner = informer_get(self->informers[plan_key(plan)->kind], plan_key(plan));

    if (owner == NULL || !object_is_deleted(owner) || !object_has_finalizer(owner, self->orphan))
        return;
    plan_because(plan, "WL-103");
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++) {
        unsigned n;
        const Object *const *dependents = dependents_of(self, dependent_kinds[i], owner, &n);
        for (unsigned k = 0; k < n; k++)
            plan_remove_owner(plan, dependents[k], owner);
    }
    plan_release(plan, self->orphan);
}

/* The low half of the uid of an owner that is absent. */
static void
garbage_collector_apply_change(void *data, const PlanChange *change)
{
    GarbageCollector *self = data;

    g_hash_table_add(self->absent_owners, g_memdup2(&change->number, sizeof change->number));
}

/* API-100a: twice the rate of the other controllers, the same burst. */
static double
garbage_collector_client_qps(const void *options, unsigned *burst)
{
    return 2 * kube_controller_manager_client_qps(options, burst);
}

static void
garbage_collector_init(void *data)
{
    GarbageCollector *self = data;

    self->absent_owners = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (ObjectKind kind = 0; kind < N_KINDS; kind++) {
        if (!kind_owns_others(kind))
            continue;
        self->informers[kind] = process_informer(self->base.process, kind, NULL);
        self->owners[kind] = new_workers(self, "garbage_collector_attempt_to_delete", decide_owner);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++) {
        ObjectKind kind = dependent_kinds[i];
        self->informers[kind] = process_informer(self->base.process, kind, NULL);
        self->by_owner[kind] = informer_add_index(self->informers[kind], index_by_owner);
        self->workers[kind] =
            new_workers(self, "garbage_collector_attempt_to_delete", decide_dependent);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(dependent_kinds); i++)
        informer_add_handler(self->informers[dependent_kinds[i]], dependent_changed, self);
    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        if (kind_owns_others(kind))
            informer_add_handler(self->informers[kind], owner_changed, self);
}

#define SELF GarbageCollector
static const ComponentPart parts[] = {
    HAS_TEXT(foreground, FINALIZER_FOREGROUND),
    HAS_TEXT(orphan, FINALIZER_ORPHAN),
    HAS_STATE(absent_owners, NULL, g_hash_table_unref),
};

const ModelClass garbage_collector_class = {
    .name = "generic-garbage-collector",
    .process = &kube_controller_manager_process,
    .client_qps = garbage_collector_client_qps,
    .rule_tables = RULE_TABLES(&dependent_rules),
    PARTS(parts),
    .init = garbage_collector_init,
    .apply_change = garbage_collector_apply_change,
};
