/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods, and the nodes that they are on. The first fact of a rule table that holds decides where the
 * question goes: the node, the deletion, the claims and mounts, the scheduler; a pod that is Ready
 * is asked about its claims' health and growth. A silent node is explained by its fault, a node
 * that is drained by the pod whose eviction is refused. */
#include "question.h"

#include <string.h>

enum {
    POD_IS_GONE = 1 << 0,      /* over */
    POD_NODE_MISSING = 1 << 1, /* its node is no object any more */
    POD_NODE_SILENT = 1 << 2,  /* its node is not Ready */
    POD_DELETED = 1 << 3,      /* it is being deleted */
    POD_READY = 1 << 4,
    POD_RUNS = 1 << 5,
    POD_GATED = 1 << 6,
    POD_OTHER_SCHEDULER = 1 << 7,
    POD_NAMED_NODE = 1 << 8, /* it names its node, and a claim of it waits for the scheduler */
    POD_ON_NODE = 1 << 9,
    POD_FACTS_END = 1 << 10,
};

typedef enum {
    SAY_OVER,
    SAY_NODE_MISSING,
    ASK_NODE,
    ASK_DELETION,
    ASK_USE,
    SAY_NOT_READY,
    SAY_GATED,
    SAY_OTHER_SCHEDULER,
    SAY_NAMED_NODE,
    ASK_MOUNTS,
    ASK_SCHEDULER,
} PodThen;

static const Rule pod_rows[] = {
    {"KVM-88", WHY_FIRST(POD_IS_GONE),         SAY_OVER           },
    {"NL-72",  WHY_FIRST(POD_NODE_MISSING),    SAY_NODE_MISSING   },
    {"NL-22",  WHY_FIRST(POD_NODE_SILENT),     ASK_NODE           },
    {"KVM-84", WHY_FIRST(POD_DELETED),         ASK_DELETION       },
    {"KVM-72", WHY_FIRST(POD_READY),           ASK_USE            },
    {"KVM-86", WHY_FIRST(POD_RUNS),            SAY_NOT_READY      },
    {"SCH-43", WHY_FIRST(POD_GATED),           SAY_GATED          },
    {"SCH-40", WHY_FIRST(POD_OTHER_SCHEDULER), SAY_OTHER_SCHEDULER},
    {"PVC-25", WHY_FIRST(POD_NAMED_NODE),      SAY_NAMED_NODE     },
    {"ADC-10", WHY_FIRST(POD_ON_NODE),         ASK_MOUNTS         },
    {"SCH-51", WHY_NONE(POD_FACTS_END),        ASK_SCHEDULER      },
};

const RuleTable why_pod_rules = RULE_TABLE("why: pods", POD_FACTS_END, pod_rows);

gboolean
why_is_silent(const Node *node)
{
    return node->ready.status == CONDITION_FALSE || node->ready.status == CONDITION_UNKNOWN;
}

/* Returns: (borrowed): a claim of the pod that gets its volume once a node is chosen; NULL: none */
static const Claim *
claim_without_node(Question *self, const Pod *pod)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        if (claim != NULL && claim->phase == CLAIM_PENDING && why_awaits_pod(self, claim))
            return claim;
    }
    return NULL;
}

static uint32_t
pod_facts_of(Question *self, const Pod *pod)
{
    const Object *node = why_get(self, KIND_NODE, NULL, pod->node_name);
    uint32_t facts = 0;

    facts |= pod_is_terminal(pod) ? POD_IS_GONE : 0;
    facts |= pod->node_name != NULL && node == NULL ? POD_NODE_MISSING : 0;
    facts |= node != NULL && why_is_silent((const Node *)node) ? POD_NODE_SILENT : 0;
    facts |= object_is_deleted(&pod->meta) ? POD_DELETED : 0;
    facts |= pod_is_ready(pod) ? POD_READY : 0;
    facts |= pod->phase == POD_RUNNING ? POD_RUNS : 0;
    facts |= pod->node_name == NULL && pod->spec->scheduling_gates != NULL ? POD_GATED : 0;
    facts |= pod->node_name == NULL && pod->spec->scheduler_name != NULL &&
                     strcmp(pod->spec->scheduler_name, "default-scheduler") != 0
                 ? POD_OTHER_SCHEDULER
                 : 0;
    facts |= pod->node_name != NULL && claim_without_node(self, pod) != NULL ? POD_NAMED_NODE : 0;
    facts |= pod->node_name != NULL ? POD_ON_NODE : 0;
    return facts;
}

SimTime
why_placed_at(const Pod *pod)
{
    return pod->scheduled.changed_at != TIME_UNSET ? pod->scheduled.changed_at
                                                   : pod->meta.created_at;
}

static gboolean
ask_over(Question *self, const Pod *pod)
{
    g_autofree char *message = g_strdup(pod->message != NULL ? pod->message : "");
    size_t length = strlen(g_strchomp(message)); /* evictions end with ". " */

    if (length > 0 && message[length - 1] == '.')
        message[length - 1] = '\0';
    why_link(self, &pod->meta, pod->ready.changed_at, "is %s%s%s%s%s", pod_phase_name(pod->phase),
             pod->reason != NULL ? ": " : "", pod->reason != NULL ? pod->reason : "",
             *message != '\0' ? ": " : "", message);
    if (object_is_deleted(&pod->meta))
        return why_ask_deletion(self, &pod->meta);
    return pod->phase == POD_FAILED && why_because(self, "pod-failed");
}

/* The pod is Ready: what its claims ask for, and whether their volumes are well. */
static gboolean
ask_use(Question *self, const Pod *pod)
{
    unsigned n_links = self->why->chain->len;

    why_link(self, &pod->meta, pod->ready.changed_at, "is Ready");
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        if (claim != NULL && (why_ask_health(self, claim) || why_ask_change(self, claim)))
            return TRUE;
    }
    g_ptr_array_set_size(self->why->chain, (int)n_links);
    return FALSE;
}

/* The budget that forbids the eviction of the pod. */
static const DisruptionBudget *
budget_of(Question *self, const Object *pod)
{
    const GPtrArray *budgets = why_list(self, KIND_DISRUPTION_BUDGET);

    for (unsigned i = 0; i < budgets->len; i++) {
        const DisruptionBudget *budget = budgets->pdata[i];
        if (budget->meta.key->namespace == pod->key->namespace &&
            budget->disruptions_allowed <= 0 &&
            label_selector_matches(budget->selector, pod->labels))
            return budget;
    }
    return NULL;
}

/* A drain of the node that is not over. */
static gboolean
ask_drain(Question *self, const Node *node)
{
    g_autoptr(GArray) drains = run_drains(self->run);

    for (unsigned i = 0; i < drains->len; i++) {
        const RunDrain *drain = &g_array_index(drains, RunDrain, i);
        const Object *pod = drain->pod == NULL ? NULL : api_server_get(self->api, drain->pod);
        if (g_strcmp0(drain->node, object_name(&node->meta)) != 0 || pod == NULL)
            continue;
        const DisruptionBudget *budget = budget_of(self, pod);
        why_link(self, &node->meta, drain->since, "is being drained, and %s is still there",
                 object_name(pod));
        if (drain->refusal == NULL)
            return why_ask_object(self, pod) || why_because(self, "terminating");
        if (budget != NULL)
            return why_ask_budget(self, budget);
        why_link(self, pod, TIME_UNSET, "is not evicted: %s", drain->refusal);
        return why_because(self, "budget");
    }
    return FALSE;
}

gboolean
why_ask_node(Question *self, const Node *node)
{
    const char *name = object_name(&node->meta);
    const RunFault *fault = why_fault_of(self, FAULT_OF_NODE, NULL, name);

    if (why_is_silent(node) && fault != NULL) {
        why_link(self, &node->meta, fault->since,
                 "is not Ready: its kubelet is silent since the fault \"%s\"",
                 scenario_fault_name(fault->action->fault));
        return why_until(self, "node-not-ready", fault->until);
    }
    if (why_is_silent(node)) {
        why_link(self, &node->meta, node->ready.changed_at, "is not Ready: its kubelet is silent");
        return why_because(self, "node-not-ready");
    }
    if (ask_drain(self, node))
        return TRUE;
    if (!node->unschedulable)
        return FALSE;
    why_link(self, &node->meta, TIME_UNSET, "is cordoned");
    return why_because(self, "cordoned");
}

static gboolean
why_ask_claims(Question *self, const Pod *pod)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const PodVolume *volume = &pod->volumes->items[i];
        const Claim *claim = why_claim_of(self, pod, volume);

        if (volume->claim_name == NULL)
            continue;
        if (claim == NULL && volume->ephemeral) {
            why_link(self, &pod->meta, TIME_UNSET, "waits for its ephemeral claim %s",
                     pod_claim_key(self->objects, pod, volume)->name);
            return why_ask_refusal(self, &pod->meta, volume->claim_template) ||
                   why_ask_process(self, "kube-controller-manager", NULL) ||
                   why_because(self, "claim-missing");
        }
        if (claim == NULL) {
            g_autofree char *name = g_strconcat("persistentvolumeclaim/", volume->claim_name, NULL);
            why_link_named(self, name, pod->meta.created_at, "does not exist");
            return why_because(self, "claim-missing");
        }
        if (volume->ephemeral && why_owner(self, &claim->meta, KIND_POD) != &pod->meta) {
            why_link(self, &claim->meta, TIME_UNSET,
                     "has the name of the pod's ephemeral claim, and is not its own");
            return why_because(self, "claim-not-owned");
        }
        if ((claim->phase != CLAIM_BOUND || object_is_deleted(&claim->meta)) &&
            why_ask_claim(self, claim, pod))
            return TRUE;
    }
    return FALSE;
}

static gboolean
ask_scheduler(Question *self, const Pod *pod)
{
    why_link(self, &pod->meta, pod->meta.created_at, "is Pending, without a node");
    return why_ask_claims(self, pod) || why_ask_unscheduled(self, pod);
}

/* Its volumes are mounted. An image that it needs is asked for, and not there yet. */
static gboolean
ask_images(Question *self, const Pod *pod)
{
    const ApiEvent *asked = why_event(self, &pod->meta, "Pulling"),
                   *pulled = why_event(self, &pod->meta, "Pulled");

    if (asked == NULL || (pulled != NULL && pulled->last_at >= asked->last_at))
        return FALSE;
    why_link_named(self, "process/kubelet", asked->last_at, "pulls images on %s", pod->node_name);
    return why_because(self, "image-pull");
}

static gboolean
ask_pod_once(Question *self, const Object *object)
{
    const Pod *pod = POD_CONST(object);
    const uint32_t facts = pod_facts_of(self, pod);

    switch ((PodThen)rules_find(&why_pod_rules, facts, NULL)->then) {
    case SAY_OVER:
        return ask_over(self, pod);
    case SAY_NODE_MISSING:
        why_link(self, &pod->meta, why_placed_at(pod), "is on %s, which is no node any more",
                 pod->node_name);
        return why_because(self, "node-missing");
    case ASK_NODE:
        why_link(self, &pod->meta, why_placed_at(pod),
                 object_is_deleted(&pod->meta) ? N_("is on %s, and cannot be stopped")
                                               : N_("is on %s"),
                 pod->node_name);
        return why_ask_node(self, (const Node *)why_get(self, KIND_NODE, NULL, pod->node_name));
    case ASK_DELETION:
        why_link(self, &pod->meta, why_deleted_since(&pod->meta), "is being stopped");
        return why_ask_deletion(self, &pod->meta);
    case ASK_USE:
        return ask_use(self, pod);
    case SAY_NOT_READY:
        if (pod->restarts > 0) {
            why_link(self, &pod->meta, pod->ready.changed_at,
                     "crashes: ends of its containers so far: %d", pod->restarts);
            return why_because(self, "crash-loop");
        }
        why_link(self, &pod->meta, pod->started_at, "is Running, and not Ready yet");
        return why_because(self, "starting");
    case SAY_GATED:
        why_link(self, &pod->meta, pod->meta.created_at, "has the scheduling gate %s",
                 pod->spec->scheduling_gates->items[0]);
        return why_because(self, "gated");
    case SAY_OTHER_SCHEDULER:
        why_link(self, &pod->meta, pod->meta.created_at, "waits for the scheduler %s",
                 pod->spec->scheduler_name);
        return why_because(self, "scheduler-other");
    case SAY_NAMED_NODE:
        why_link(self, &pod->meta, why_placed_at(pod),
                 "is on %s without the scheduler's doing, so no node is chosen for its claim %s",
                 pod->node_name, object_name(&claim_without_node(self, pod)->meta));
        return why_because(self, "node-named");
    case ASK_MOUNTS:
        why_link(self, &pod->meta, why_placed_at(pod), "is Pending on %s", pod->node_name);
        return why_ask_claims(self, pod) || why_ask_mounts(self, pod) ||
               why_ask_process(self, "kubelet", pod->node_name) || ask_images(self, pod) ||
               why_because(self, "starting");
    case ASK_SCHEDULER:
        return ask_scheduler(self, pod);
    }
    g_assert_not_reached();
}

gboolean
why_ask_pod(Question *self, const Pod *pod)
{
    return why_once(self, &pod->meta, ask_pod_once);
}
