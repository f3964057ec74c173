/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The disruption controller: from a PodDisruptionBudget and its pods to the number of disruptions
 * that are allowed (WL-114). Expected pods are the sum of spec.replicas over the owners, not the
 * pods that exist. A rule table counts each pod: an eviction that was granted counts as a
 * disruption until the pod is being deleted, for at most two minutes. A budget with such evictions
 * is looked at again when the first of them expires. */
#include "models/workloads/disruption/disruption.h"

#include "models/api/field.h"
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/plan.h"
#include "models/workloads/owner-controller.h"
#include "models/workloads/pods.h"

/* WL-114: how long an eviction counts if the pod stays. */
#define EVICTION_TIMEOUT (2 * SIM_MINUTE)

typedef struct {
    Component base;
    Informer *budgets, *pods;
    Informer *scaled[N_KINDS]; /* of kinds with spec.replicas; else NULL */
    Workers *workers;
} DisruptionController;

typedef struct {
    int32_t generation, healthy, desired, expected, allowed;
    StringMap *disrupted; /* (owned) */
    SimTime now;
} BudgetStatus;

/* ---- Handlers ---- */

static void
disruption_pod_changed(void *data, const Object *before, const Object *after)
{
    DisruptionController *self = data;

    if (informer_count(self->budgets) == 0)
        return;
    if (after != NULL)
        wake_selecting(self->workers, self->budgets, after, 0);
    if (before != NULL && (after == NULL || !string_map_equal(before->labels, after->labels)))
        wake_selecting(self->workers, self->budgets, before, 0);
}

/* ---- Counting (WL-114) ---- */

/* Returns: the key of the object's controller; NULL: it has none with spec.replicas */
static const ObjectKey *
scaled_controller(const DisruptionController *self, const Object *object)
{
    const OwnerReference *owner = object_controller(object);

    return owner == NULL || owner->key == NULL || self->scaled[owner->key->kind] == NULL
               ? NULL
               : owner->key;
}

/* spec.replicas of the StatefulSet, ReplicaSet or Deployment that @pod belongs to. @owner: (out):
 * its key. Negative: there is none */
static int32_t
scale_of(const DisruptionController *self, const Pod *pod, const ObjectKey **owner)
{
    const Object *object = &pod->meta;
    const ObjectKey *next = scaled_controller(self, object);

    if (next == NULL)
        return -1;
    for (; next != NULL; next = scaled_controller(self, object)) {
        *owner = next;
        object = informer_get(self->scaled[next->kind], next);
        if (object == NULL)
            return -1;
    }
    return workload_wanted(object);
}

static GPtrArray *
find_pods(const DisruptionController *self, const DisruptionBudget *budget)
{
    GPtrArray *pods = g_ptr_array_new();
    InformerIter iter;
    const Object *pod;

    informer_iter_init(&iter, self->pods);
    while ((pod = informer_iter_next(&iter)) != NULL)
        if (pod->key->namespace == budget->meta.key->namespace &&
            label_selector_matches(budget->selector, pod->labels))
            g_ptr_array_add(pods, (Object *)pod);
    return pods;
}

/* The sum of spec.replicas over all owners of the pods. */
static int32_t
expected_scale(const DisruptionController *self, const GPtrArray *pods)
{
    g_autoptr(GHashTable) owners = g_hash_table_new(g_direct_hash, g_direct_equal);
    int32_t sum = 0;

    for (unsigned i = 0; i < pods->len; i++) {
        const ObjectKey *owner = NULL;
        int32_t scale = scale_of(self, pods->pdata[i], &owner);
        if (scale >= 0 && g_hash_table_add(owners, (void *)owner))
            sum += scale;
    }
    return sum;
}

static void
count_expected(const DisruptionController *self,
               const DisruptionBudget *budget,
               const GPtrArray *pods,
               BudgetStatus *status)
{
    if (budget->max_unavailable.is_set) {
        status->expected = expected_scale(self, pods);
        status->desired = MAX(
            status->expected - int_or_percent_of(&budget->max_unavailable, status->expected, TRUE),
            0);
    } else if (budget->min_available.is_percent) {
        status->expected = expected_scale(self, pods);
        status->desired = int_or_percent_of(&budget->min_available, status->expected, TRUE);
    } else {
        status->expected = (int32_t)pods->len;
        status->desired = budget->min_available.value;
    }
}

enum {
    GOING = 1 << 0,
    EVICTED = 1 << 1, /* the status tells when its eviction was granted */
    EXPIRED = 1 << 2, /* ... long ago */
    READY = 1 << 3,
    COUNT_FACTS_END = 1 << 4,
};

typedef enum {
    COUNT_NOT,
    COUNT_HEALTHY,
    COUNT_DISRUPTED,
} DisruptionCountAction;

static const Rule count_table[] = {
    {"WL-114", GOING,                     0,                       COUNT_NOT      },
    {"WL-114", EVICTED,                   GOING | EXPIRED,         COUNT_DISRUPTED},
    {"WL-114", EVICTED | EXPIRED | READY, GOING,                   COUNT_HEALTHY  },
    {"WL-114", EVICTED | EXPIRED,         GOING | READY,           COUNT_NOT      },
    {"WL-114", READY,                     GOING | EVICTED,         COUNT_HEALTHY  },
    {"WL-114", 0,                         GOING | EVICTED | READY, COUNT_NOT      },
};

static const RuleBound count_bounds[] = {
    {.given = EXPIRED, .all = EVICTED},
};

static const RuleTable count_rules = RULE_TABLE(
    "pods of disruption budgets", COUNT_FACTS_END, count_table, RULE_BOUNDS(count_bounds));

/* @expires_at: (out): of EVICTED */
static unsigned
count_facts(const char *evicted_at, const Pod *pod, SimTime start, SimTime now, SimTime *expires_at)
{
    unsigned facts = (object_is_deleted(&pod->meta) ? GOING : 0) | (pod_is_ready(pod) ? READY : 0);

    if (evicted_at != NULL && api_time_parse(evicted_at, expires_at)) {
        *expires_at += EVICTION_TIMEOUT - start;
        facts |= EVICTED | (*expires_at <= now ? EXPIRED : 0);
    }
    return facts;
}

/* Returns: the first time at which a granted eviction stops counting; TIME_UNSET: no eviction
 * counts */
static SimTime
count_healthy(const DisruptionBudget *budget,
              const GPtrArray *pods,
              SimTime start,
              SimTime now,
              BudgetStatus *status)
{
    SimTime first = TIME_UNSET, expires_at;

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        const char *name = object_name(&pod->meta);
        const char *evicted_at = string_map_get(budget->disrupted, name);
        unsigned facts = count_facts(evicted_at, pod, start, now, &expires_at);
        StringMap *before = status->disrupted;
        switch ((DisruptionCountAction)rules_find(&count_rules, facts, NULL)->then) {
        case COUNT_NOT:
            break;
        case COUNT_HEALTHY:
            status->healthy++;
            break;
        case COUNT_DISRUPTED:
            status->disrupted = string_map_with(before, name, evicted_at);
            string_map_unref(before);
            first = first == TIME_UNSET ? expires_at : MIN(first, expires_at);
            break;
        }
    }
    return first;
}

static gboolean
disruption_edit_status(Object *object, const void *data)
{
    const BudgetStatus *status = data;
    DisruptionBudget *budget = DISRUPTION_BUDGET(object);
    gboolean changed = budget->current_healthy != status->healthy ||
                       budget->desired_healthy != status->desired ||
                       budget->expected_pods != status->expected ||
                       budget->disruptions_allowed != status->allowed ||
                       budget->observed_generation != status->generation ||
                       !string_map_equal(budget->disrupted, status->disrupted);

    if (!changed)
        return FALSE;
    budget->current_healthy = status->healthy;
    budget->desired_healthy = status->desired;
    budget->expected_pods = status->expected;
    budget->disruptions_allowed = status->allowed;
    budget->observed_generation = status->generation;
    string_map_unref(budget->disrupted);
    budget->disrupted = string_map_ref(status->disrupted);
    ConditionStatus allowed = status->allowed > 0 ? CONDITION_TRUE : CONDITION_FALSE;
    if (budget->allowed.status != allowed)
        budget->allowed.changed_at = whole_seconds(status->now);
    budget->allowed.status = allowed;
    budget->allowed.updated_at = TIME_UNSET;
    budget->allowed.reason = status->allowed > 0 ? "SufficientPods" : "InsufficientPods";
    budget->allowed.message = NULL;
    return TRUE;
}

static void
status_free(void *data)
{
    BudgetStatus *status = data;

    string_map_unref(status->disrupted);
    g_free(status);
}

static void
decide_budget(const void *data, Plan *plan)
{
    const DisruptionController *self = data;
    const DisruptionBudget *budget =
        DISRUPTION_BUDGET_CONST(informer_get(self->budgets, plan_key(plan)));

    if (budget == NULL)
        return;
    g_autoptr(GPtrArray) pods = find_pods(self, budget);
    BudgetStatus *status = g_new0(BudgetStatus, 1);
    plan_own(plan, status, status_free);
    status->now = plan_now(plan);
    status->generation = (int32_t)budget->meta.generation;
    count_expected(self, budget, pods, status);
    SimTime recheck = count_healthy(budget, pods, plan_run_start(plan), status->now, status);
    if (status->expected > 0)
        status->allowed = MAX(status->healthy - status->desired, 0);
    plan_because(plan, "WL-114");
    if (pods->len == 0)
        plan_event(plan, &budget->meta, "Normal", "NoPods", "No matching pods found");
    plan_update_status(plan, &budget->meta, disruption_edit_status, status, PLAN_STOP);
    if (recheck != TIME_UNSET)
        plan_requeue_after(plan, recheck - status->now);
}

static void
disruption_filled(void *data)
{
    DisruptionController *self = data;

    for (ObjectKind kind = 0; kind < N_KINDS; kind++)
        if (kind_scales(kind))
            self->scaled[kind] = process_informer(self->base.process, kind, NULL);
}

#define SELF DisruptionController
static const ComponentPart parts[] = {
    HAS_INFORMER(budgets, KIND_DISRUPTION_BUDGET, WAKES(workers)),
    HAS_INFORMER(pods, KIND_POD, .changed = disruption_pod_changed),
    HAS_WORKERS(workers, "disruption", decide_budget, .n_workers = 1),
};

const ModelClass disruption_controller_class = {
    KCM_MODEL("disruption-controller"), .event_source = "controllermanager",      PARTS(parts),
    .filled = disruption_filled,        .rule_tables = RULE_TABLES(&count_rules),
};
