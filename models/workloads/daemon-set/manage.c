/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pods on nodes: finds missing pods and surplus pods, manage() of daemon_controller.go. A rule
 * table judges each pod from its phase, the fit of its node and the back-off of the node (DS-8). A
 * surge allows two pods on a node, an old ready one and a new one that is not available yet (DS-5).
 * Pods without a node that were made for a node that is gone are deleted here, since no other
 * controller does (DS-9). */
#include "models/workloads/daemon-set/private.h"

enum {
    GOING = 1 << 0,
    FITS = 1 << 1, /* a pod may stay on the node */
    OVER = 1 << 2,
    FAILED = 1 << 3,
    BACKS_OFF = 1 << 4, /* a failed pod of this node was deleted lately */
    SECOND = 1 << 5,    /* an older one holds the node's place */
    SURGES = 1 << 6,
    POD_FACTS_END = 1 << 7,
};

typedef enum {
    POD_KEEP,
    POD_DELETE,
    POD_DELETE_SUCCEEDED, /* with an Event */
    POD_DELETE_FAILED,    /* with an Event */
    POD_WAIT,             /* until the back-off is over */
} ManagePodAction;

/* A pod on a node. A pod that is being deleted holds the node's place until it is gone. */
static const Rule pod_table[] = {
    {"DS-6", GOING,                            0,                     POD_KEEP            },
    {"DS-4", 0,                                GOING | FITS,          POD_DELETE          },
    {"DS-7", FITS | OVER,                      GOING | FAILED,        POD_DELETE_SUCCEEDED},
    {"DS-8", FITS | OVER | FAILED,             GOING | BACKS_OFF,     POD_DELETE_FAILED   },
    {"DS-8", FITS | OVER | FAILED | BACKS_OFF, GOING,                 POD_WAIT            },
    {"DS-4", FITS | SECOND,                    GOING | OVER | SURGES, POD_DELETE          },
    {"DS-5", FITS | SECOND | SURGES,           GOING | OVER,          POD_KEEP            },
    {"DS-4", FITS,                             GOING | OVER | SECOND, POD_KEEP            },
};

const RuleTable daemon_pod_rules = RULE_TABLE("pods of DaemonSets", POD_FACTS_END, pod_table);

/* DS-8: the time until a failed pod of the node may be deleted. Negative or 0: now */
static SimTime
backoff_left(const DaemonSetController *self, const DaemonSync *sync, const char *node, SimTime now)
{
    const DaemonState *state = g_hash_table_lookup(self->head.states, sync->set->meta.key);
    const DaemonFailure *failure = state == NULL || state->failures == NULL
                                       ? NULL
                                       : g_hash_table_lookup(state->failures, node);

    return failure == NULL || failure->generation != sync->set->observed_generation
               ? 0
               : failure->delay - (now - failure->at);
}

static gboolean
may_surge(const DaemonSet *set)
{
    return !set->on_delete && set->max_surge.value > 0;
}

static unsigned
pod_facts(const DaemonSetController *self,
          const DaemonSync *sync,
          const Pod *pod,
          DaemonFit fit,
          SimTime now)
{
    unsigned facts = (object_is_deleted(&pod->meta) ? GOING : 0) |
                     (fit != DAEMON_UNFIT ? FITS : 0) | (pod_is_terminal(pod) ? OVER : 0) |
                     (may_surge(sync->set) ? SURGES : 0);

    if (pod->phase == POD_FAILED)
        facts |= FAILED | (backoff_left(self, sync, daemon_pod_node(pod), now) > 0 ? BACKS_OFF : 0);
    return facts;
}

static void
plan_over(Plan *plan, const DaemonSync *sync, const Pod *pod, const char *rule, gboolean failed)
{
    const char *node = daemon_pod_node(pod);

    plan_because(plan, rule);
    if (failed)
        plan_change(plan, &(PlanChange){.what = DAEMON_FAILED,
                                        .key = sync->set->meta.key,
                                        .text = node,
                                        .number = sync->set->observed_generation});
    plan_event(plan, &sync->set->meta, failed ? "Warning" : "Normal",
               failed ? "FailedDaemonPod" : "SucceededDaemonPod",
               "Found %s daemon pod %s/%s on node %s, will try to %s it",
               failed ? "failed" : "succeeded", pod->meta.key->namespace, object_name(&pod->meta),
               node, failed ? "kill" : "delete");
}

/* Returns: whether it is deleted */
static gboolean
plan_pod(const DaemonSetController *self,
         Plan *plan,
         const DaemonSync *sync,
         const Pod *pod,
         unsigned facts)
{
    const Rule *rule = rules_find(&daemon_pod_rules, facts, NULL);

    switch ((ManagePodAction)rule->then) {
    case POD_KEEP:
        return FALSE;
    case POD_DELETE:
        return TRUE;
    case POD_DELETE_SUCCEEDED:
    case POD_DELETE_FAILED:
        plan_over(plan, sync, pod, rule->id, rule->then == POD_DELETE_FAILED);
        return TRUE;
    case POD_WAIT:
        plan_requeue_after(plan, backoff_left(self, sync, daemon_pod_node(pod), plan_now(plan)));
        return FALSE;
    }
    g_assert_not_reached();
}

/* DS-5: a surge allows two pods on a node: an old one that is ready, and a new one that is not
 * available yet. */
static void
choose_surplus(DaemonSync *sync, const GPtrArray *pods, SimTime now)
{
    const Pod *new_pod = NULL, *old_pod = NULL;

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        const Pod **kind = daemon_pod_is_updated(sync, pod) ? &new_pod : &old_pod;
        if (!pod_is_active(pod))
            continue;
        if (*kind == NULL)
            *kind = pod;
        else
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
    if (new_pod != NULL && old_pod != NULL &&
        (!pod_is_ready(old_pod) || pod_is_available(new_pod, sync->set->min_ready_s, now)))
        g_ptr_array_add(sync->deletes, (ObjectKey *)old_pod->meta.key);
}

static void
choose_on_node(const DaemonSetController *self, Plan *plan, DaemonSync *sync, const Node *node)
{
    DaemonFit fit = daemon_fit(sync->set, sync->tolerations, node);
    const char *name = node->meta.key->name;
    const GPtrArray *pods = g_hash_table_lookup(sync->on_node, name);
    unsigned second = 0;

    if (fit == DAEMON_RUNS && pods == NULL)
        g_ptr_array_add(sync->wanting, (char *)name);
    for (unsigned i = 0; pods != NULL && i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        unsigned facts = second | pod_facts(self, sync, pod, fit, plan_now(plan));
        if (plan_pod(self, plan, sync, pod, facts))
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
        if ((facts & (GOING | OVER)) == 0)
            second = SECOND;
    }
    if (may_surge(sync->set) && fit != DAEMON_UNFIT && pods != NULL)
        choose_surplus(sync, pods, plan_now(plan));
}

static gboolean
has_node(const DaemonSetController *self, const char *name)
{
    const ObjectKey *key = objects_find_key(self->head.base.objects, KIND_NODE, NULL, name);

    return key != NULL && informer_get(self->nodes, key) != NULL;
}

/* DS-9: deletes pods that are not bound and were made for a node that is gone. Nobody else does. */
static void
choose_lost(const DaemonSetController *self, DaemonSync *sync)
{
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        const char *node = daemon_pod_node(pod);
        if (pod->node_name == NULL && !object_is_deleted(&pod->meta) &&
            (node == NULL || !has_node(self, node)))
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
}

void
daemon_decide_nodes(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    DaemonSync *sync = plan_notes(plan);
    const DaemonState *state = g_hash_table_lookup(self->head.states, plan_key(plan));
    InformerIter iter;
    const Object *node;

    if (state == NULL)
        return;
    sync->is_held = !expectations_are_met(&state->base.expected, plan_now(plan));
    if (sync->is_held) {
        daemon_decide_status(data, plan);
        return;
    }
    daemon_begin_pods(sync);
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        choose_on_node(self, plan, sync, (const Node *)node);
    choose_lost(self, sync);
    daemon_shuffle_nodes(self, sync->wanting);
    daemon_shuffle_pods(self, sync->deletes);
    daemon_plan_pods(self, plan, sync, "DS-4", daemon_decide_update);
}
