/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which pods a sync of a StatefulSet makes, deletes and replaces (WL-40, steps 5 to 9). Rule tables
 * judge each replica, each pod out of range, and each pod of a rolling update. OrderedReady stops
 * at the first pod that is not steady, so at most one pod changes in a sync; Parallel takes batches
 * that double. A rolling update replaces one pod in a sync in both cases, from the highest ordinal
 * down to the partition (WL-50). */
#include "models/workloads/stateful-set/private.h"

#define BATCH_MAX 500 /* WL-5 */

/* ---- Replicas ---- */

enum {
    THERE = 1 << 0,
    OVER = 1 << 1,
    GOING = 1 << 2,
    LACKS = 1 << 3,    /* it is pending; a claim is missing, being deleted, or wrongly owned */
    STEADY = 1 << 4,   /* running, ready, available, and not going */
    WRONG = 1 << 5,    /* its label, its volumes, or an owner of its claims */
    PARALLEL = 1 << 6, /* else OrderedReady, which puts right only pods that it need not wait for */
    REPLICA_FACTS_END = 1 << 7,
};

/* Columns of all tables here: all of these hold, none of these, then, and if not 0 one of these. */
static const Rule replica_table[] = {
    {"WL-41", 0,                    THERE,                                    ITEM_CREATE, 0                },
    {"WL-41", THERE | OVER,         GOING,                                    ITEM_DELETE, 0                },
    {"WL-41", THERE | OVER | GOING, 0,                                        ITEM_NONE,   0                },
    {"WL-41", THERE | LACKS,        OVER,                                     ITEM_CLAIMS, 0                },
    {"WL-41", THERE | GOING,        OVER | LACKS,                             ITEM_NONE,   0                },
    {"WL-41", THERE | WRONG,        OVER | LACKS | GOING,                     ITEM_UPDATE, PARALLEL | STEADY},
    {"WL-41", THERE | WRONG,        OVER | LACKS | GOING | PARALLEL | STEADY, ITEM_NONE,   0                },
    {"WL-41", THERE,                OVER | LACKS | GOING | WRONG,             ITEM_NONE,   0                },
};

const RuleTable stateful_replica_rules =
    RULE_TABLE("replicas of StatefulSets", REPLICA_FACTS_END, replica_table);

/* Looks at the claims only where a rule asks for them: that costs more than all the rest. */
static unsigned
replica_facts(const StatefulSetController *self, const SetView *view, const Pod *pod, SimTime now)
{
    const StatefulSet *set = view->set;
    unsigned facts = set->parallel ? PARALLEL : 0;

    if (pod == NULL)
        return facts;
    facts |= THERE;
    if (object_is_deleted(&pod->meta))
        facts |= GOING;
    if (pod_is_terminal(pod))
        return facts | OVER;
    if (pod->phase == POD_PENDING && (stateful_lacks_claims(self, set, pod->meta.key) ||
                                      !stateful_claims_are_right(self, set, pod)))
        return facts | LACKS;
    if (stateful_is_healthy(pod) && stateful_is_available(set, pod, now))
        facts |= STEADY;
    if ((facts & GOING) == 0 && (facts & (PARALLEL | STEADY)) != 0 &&
        stateful_needs_update(self, set, pod))
        facts |= WRONG;
    return facts;
}

/* The decision about one pod, and whether OrderedReady may go on past it. */
typedef struct {
    PlanStart start; /* if is_work */
    gboolean is_work, is_steady;
} Judgement;

typedef Judgement (*JudgePosition)(const StatefulSetController *self,
                                   const SetView *view,
                                   int32_t position,
                                   SimTime now);

static Judgement
judge_replica(const StatefulSetController *self, const SetView *view, int32_t position, SimTime now)
{
    const Pod *pod = view->replicas[position];
    unsigned facts = replica_facts(self, view, pod, now);
    ItemAction action = (ItemAction)rules_find(&stateful_replica_rules, facts, NULL)->then;
    Judgement judgement = {.is_work = action != ITEM_NONE, .is_steady = (facts & STEADY) != 0};

    if (action == ITEM_CREATE)
        judgement.start = stateful_creation_start(self, view, position);
    else if (action != ITEM_NONE)
        judgement.start =
            stateful_item_start(self, view->set, action, (ObjectKey *)pod->meta.key, NULL);
    return judgement;
}

/* ---- Pods out of range, the highest first ---- */

enum {
    LEAVING = 1 << 0,
    AVAILABLE = 1 << 1,
    LOWEST = 1 << 2,  /* the lowest one that is not healthy */
    AT_ONCE = 1 << 3, /* the set is Parallel */
    CONDEMNED_FACTS_END = 1 << 4,
};

static const Rule condemned_table[] = {
    {"WL-42", LEAVING, 0,                                      ITEM_NONE,   0                 },
    {"WL-42", AT_ONCE, LEAVING,                                ITEM_DELETE, 0                 },
    {"WL-42", 0,       LEAVING | AT_ONCE,                      ITEM_DELETE, AVAILABLE | LOWEST},
    {"WL-42", 0,       LEAVING | AT_ONCE | AVAILABLE | LOWEST, ITEM_NONE,   0                 },
};

const RuleTable stateful_condemned_rules =
    RULE_TABLE("StatefulSets' pods out of range", CONDEMNED_FACTS_END, condemned_table);

static Judgement
judge_condemned(const StatefulSetController *self,
                const SetView *view,
                int32_t position,
                SimTime now)
{
    const Pod *pod = g_array_index(view->condemned, const Pod *, (unsigned)position);
    unsigned facts = (object_is_deleted(&pod->meta) ? LEAVING : 0) |
                     (stateful_is_available(view->set, pod, now) ? AVAILABLE : 0) |
                     (pod == view->first_unhealthy ? LOWEST : 0) |
                     (view->set->parallel ? AT_ONCE : 0);
    ItemAction action = (ItemAction)rules_find(&stateful_condemned_rules, facts, NULL)->then;
    Judgement judgement = {.is_work = action != ITEM_NONE};

    if (judgement.is_work)
        judgement.start =
            stateful_item_start(self, view->set, action, (ObjectKey *)pod->meta.key, NULL);
    return judgement;
}

/* WL-61: the claims of these pods get new owners before the pods go. Returns: whether there is
 * something to do */
static gboolean
plan_claims_of_condemned(const StatefulSetController *self, Plan *plan, const SetView *view)
{
    gboolean is_work = FALSE;

    plan_because(plan, "WL-61");
    for (unsigned i = 0; i < view->condemned->len; i++) {
        const Pod *pod = g_array_index(view->condemned, const Pod *, i);
        if (stateful_claims_are_right(self, view->set, pod))
            continue;
        PlanStart start =
            stateful_item_start(self, view->set, ITEM_OWNERS, (ObjectKey *)pod->meta.key, NULL);
        plan_gather(plan, &start, 1, PLAN_DECIDE);
        is_work = TRUE;
    }
    return is_work;
}

/* ---- Rolling updates: one pod a sync, from the highest down to the partition ---- */

enum {
    PRESENT = 1 << 0,
    OLD = 1 << 1, /* of another revision than the template's */
    DELETED = 1 << 2,
    HEALTHY = 1 << 3, /* running, ready, and not going */
    ROLL_FACTS_END = 1 << 4,
};

typedef enum {
    ROLL_ON, /* go on to the next lower pod */
    ROLL_REPLACE,
    ROLL_WAIT,
} RollAction;

/* A missing pod is made by this sync, of the right template. */
static const Rule roll_table[] = {
    {"WL-50", 0,                 PRESENT,                 ROLL_WAIT   },
    {"WL-50", PRESENT | DELETED, 0,                       ROLL_WAIT   },
    {"WL-50", PRESENT | OLD,     DELETED,                 ROLL_REPLACE},
    {"WL-50", PRESENT | HEALTHY, DELETED | OLD,           ROLL_ON     },
    {"WL-50", PRESENT,           DELETED | OLD | HEALTHY, ROLL_WAIT   },
};

const RuleTable stateful_roll_rules =
    RULE_TABLE("rolling updates of StatefulSets", ROLL_FACTS_END, roll_table);

static RollAction
judge_roll(const SetView *view, const Pod *pod)
{
    unsigned facts = 0;

    if (pod != NULL)
        facts =
            PRESENT | (object_is_deleted(&pod->meta) ? DELETED : 0) |
            (stateful_is_healthy(pod) ? HEALTHY : 0) |
            (g_strcmp0(object_label(&pod->meta, LABEL_REVISION), view->update_revision->name) ? OLD
                                                                                              : 0);
    return (RollAction)rules_find(&stateful_roll_rules, facts, NULL)->then;
}

/* Returns: whether there is something to do */
static gboolean
plan_rolling(const StatefulSetController *self, Plan *plan, const SetView *view, SetStatus *status)
{
    int32_t i = view->n_replicas - 1, least = MAX(view->set->partition, 0);

    while (i >= least && judge_roll(view, view->replicas[i]) == ROLL_ON)
        i--;
    if (view->set->on_delete || i < least || judge_roll(view, view->replicas[i]) != ROLL_REPLACE)
        return FALSE;
    PlanStart start = stateful_item_start(self, view->set, ITEM_DELETE,
                                          (ObjectKey *)view->replicas[i]->meta.key, NULL);
    plan_because(plan, "WL-50");
    plan_gather(plan, &start, 1, PLAN_DECIDE);
    status->current--;
    return TRUE;
}

/* ---- OrderedReady: at most one pod a sync ---- */

/* Returns: whether there is something to do */
static gboolean
plan_ordered(const StatefulSetController *self, Plan *plan, const SetView *view, SetStatus *status)
{
    gboolean is_work = FALSE;

    for (int32_t i = 0; i < view->n_replicas; i++) {
        Judgement replica = judge_replica(self, view, i, plan_now(plan));
        plan_because(plan, "WL-41");
        if (replica.is_work)
            plan_gather(plan, &replica.start, 1, PLAN_DECIDE);
        is_work |= replica.is_work;
        if (!replica.is_steady)
            return is_work;
    }
    is_work |= plan_claims_of_condemned(self, plan, view);
    if (view->condemned->len == 0)
        return plan_rolling(self, plan, view, status) || is_work;
    Judgement highest = judge_condemned(self, view, 0, plan_now(plan));
    if (highest.is_work) {
        plan_because(plan, "WL-42");
        plan_gather(plan, &highest.start, 1, PLAN_DECIDE);
    }
    return is_work || highest.is_work;
}

/* ---- Parallel: slow start (WL-5) ---- */

/* Batches of 1, 2, 4, ... of @n positions, including positions without work. The batch with the
 * first error is the last. Returns: whether there is something to do */
static gboolean
plan_batches(const StatefulSetController *self,
             Plan *plan,
             const SetView *view,
             int32_t n,
             JudgePosition judge)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));
    gboolean is_work = FALSE;

    for (int32_t first = 0, size = 1; first < n; first += size, size = MIN(2 * size, BATCH_MAX)) {
        g_array_set_size(starts, 0);
        for (int32_t i = first; i < MIN(first + size, n); i++) {
            Judgement judgement = judge(self, view, i, plan_now(plan));
            if (judgement.is_work)
                g_array_append_val(starts, judgement.start);
        }
        if (starts->len > 0)
            plan_gather(plan, (const PlanStart *)starts->data, starts->len, PLAN_DECIDE);
        is_work |= starts->len > 0;
    }
    return is_work;
}

static gboolean
plan_parallel(const StatefulSetController *self, Plan *plan, const SetView *view, SetStatus *status)
{
    plan_because(plan, "WL-41");
    gboolean is_work = plan_batches(self, plan, view, view->n_replicas, judge_replica);

    is_work |= plan_claims_of_condemned(self, plan, view);
    plan_because(plan, "WL-42");
    is_work |= plan_batches(self, plan, view, (int32_t)view->condemned->len, judge_condemned);
    is_work |= plan_rolling(self, plan, view, status); /* one pod at a time, too (WL-W3) */
    return is_work;
}

gboolean
stateful_plan_pods(const StatefulSetController *self,
                   Plan *plan,
                   const SetView *view,
                   SetStatus *status)
{
    return view->set->parallel ? plan_parallel(self, plan, view, status)
                               : plan_ordered(self, plan, view, status);
}
