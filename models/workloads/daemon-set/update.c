/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updates after a change of the template: which old pods are deleted, and which new pods come
 * beside them (rollingUpdate() of update.go). A rule table judges each node: its old and its new
 * pod, whether they are available, and whether the set surges. Nodes without a serving pod count
 * towards maxUnavailable or maxSurge before others are chosen; pods that are not available anyway
 * do not wait for the limit. */
#include "models/workloads/daemon-set/private.h"

static void
decide_end(const void *data, Plan *plan)
{
    const DaemonSync *sync = plan_notes(plan);

    if (sync->error == NULL)
        daemon_plan_history(data, plan, sync);
    plan_then(plan, daemon_decide_status);
}

/* Finds a node's new pod and old pod that are not being deleted. Returns: FALSE if there are
 * several of a kind */
static gboolean
find_by_revision(const DaemonSync *sync,
                 const GPtrArray *pods,
                 const Pod **new_pod,
                 const Pod **old_pod)
{
    *new_pod = *old_pod = NULL;
    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        const Pod **kind = daemon_pod_is_updated(sync, pod) ? new_pod : old_pod;
        if (object_is_deleted(&pod->meta))
            continue;
        if (*kind != NULL)
            return FALSE;
        *kind = pod;
    }
    return TRUE;
}

static int32_t
count_desired(const DaemonSetController *self, const DaemonSync *sync)
{
    InformerIter iter;
    const Object *node;
    int32_t n = 0;

    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        n += daemon_fit(sync->set, sync->tolerations, (const Node *)node) == DAEMON_RUNS;
    return n;
}

/* ---- One node ---- */

enum {
    SURGES = 1 << 0,
    UNCLEAR = 1 << 1, /* several old pods, or several new ones: left to manage.c */
    OLD = 1 << 2,
    NEW = 1 << 3,
    OLD_AVAILABLE = 1 << 4,
    NEW_AVAILABLE = 1 << 5,
    WANTED = 1 << 6, /* a pod belongs on the node */
    UPDATE_FACTS_END = 1 << 7,
};

typedef enum {
    UPDATE_NOTHING,
    UPDATE_COUNT,     /* the node counts towards maxUnavailable, or maxSurge */
    UPDATE_DELETE,    /* the old pod goes at once */
    UPDATE_CREATE,    /* a new pod comes at once */
    UPDATE_CANDIDATE, /* ... within the limit */
    UPDATE_UNWANTED,  /* the old pod goes if others are available */
} UpdateAction;

/* DS-20: old pods go first. DS-21: new pods come first. rollingUpdate() of update.go */
static const Rule update_table[] = {
    {"DS-20", UNCLEAR,                               SURGES,                                 UPDATE_COUNT    },
    {"DS-20", 0,                                     SURGES | UNCLEAR | OLD | NEW,           UPDATE_COUNT    },
    {"DS-20", OLD | NEW,                             SURGES | UNCLEAR,                       UPDATE_COUNT    },
    {"DS-20", NEW,                                   SURGES | UNCLEAR | OLD | NEW_AVAILABLE, UPDATE_COUNT    },
    {"DS-20", NEW | NEW_AVAILABLE,                   SURGES | UNCLEAR | OLD,                 UPDATE_NOTHING  },
    {"DS-20", OLD,                                   SURGES | UNCLEAR | NEW | OLD_AVAILABLE, UPDATE_DELETE   },
    {"DS-20", OLD | OLD_AVAILABLE,                   SURGES | UNCLEAR | NEW,                 UPDATE_CANDIDATE},
    {"DS-21", SURGES | UNCLEAR,                      0,                                      UPDATE_COUNT    },
    {"DS-21", SURGES,                                UNCLEAR | OLD,                          UPDATE_NOTHING  },
    {"DS-21", SURGES | OLD | NEW | NEW_AVAILABLE,    UNCLEAR,                                UPDATE_DELETE   },
    {"DS-21", SURGES | OLD | NEW,                    UNCLEAR | NEW_AVAILABLE,                UPDATE_COUNT    },
    {"DS-21", SURGES | OLD,                          UNCLEAR | NEW | WANTED | OLD_AVAILABLE, UPDATE_DELETE   },
    {"DS-21", SURGES | OLD | OLD_AVAILABLE,          UNCLEAR | NEW | WANTED,                 UPDATE_UNWANTED },
    {"DS-21", SURGES | OLD | WANTED,                 UNCLEAR | NEW | OLD_AVAILABLE,          UPDATE_CREATE   },
    {"DS-21", SURGES | OLD | WANTED | OLD_AVAILABLE, UNCLEAR | NEW,                          UPDATE_CANDIDATE},
};

const RuleTable daemon_update_rules =
    RULE_TABLE("updates of DaemonSets", UPDATE_FACTS_END, update_table);

/* @old_pod: (out): NULL: none, or several */
static unsigned
node_facts(const DaemonSync *sync,
           const Node *node,
           const GPtrArray *pods,
           gboolean surges,
           SimTime now,
           const Pod **old_pod)
{
    int32_t min_ready_s = sync->set->min_ready_s;
    unsigned facts = surges ? SURGES : 0;
    const Pod *new_pod;

    if (!find_by_revision(sync, pods, &new_pod, old_pod))
        return facts | UNCLEAR;
    if (new_pod != NULL)
        facts |= NEW | (pod_is_available(new_pod, min_ready_s, now) ? NEW_AVAILABLE : 0);
    if (*old_pod != NULL)
        facts |= OLD | (pod_is_available(*old_pod, min_ready_s, now) ? OLD_AVAILABLE : 0);
    if (daemon_fit(sync->set, sync->tolerations, node) == DAEMON_RUNS)
        facts |= WANTED;
    return facts;
}

/* ---- All nodes ---- */

static gboolean
serves(unsigned facts)
{
    return (facts & ((facts & OLD) != 0 ? OLD_AVAILABLE : NEW_AVAILABLE)) != 0;
}

static void
add_first(GPtrArray *to, const GPtrArray *from, int32_t n)
{
    for (int32_t i = 0; i < MIN(n, (int32_t)from->len); i++)
        g_ptr_array_add(to, from->pdata[i]);
}

static void
choose_updates(const DaemonSetController *self, DaemonSync *sync, SimTime now)
{
    g_autoptr(GPtrArray) candidates = g_ptr_array_new(), unwanted = g_ptr_array_new();
    int32_t desired = count_desired(self, sync), n_counted = 0, n_available = 0;
    int32_t max_surge = int_or_percent_of(&sync->set->max_surge, desired, TRUE);
    int32_t max_unavailable = int_or_percent_of(&sync->set->max_unavailable, desired, TRUE);
    gboolean surges = max_surge > 0;
    const Pod *old_pod;
    InformerIter iter;
    const Object *node;

    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL) {
        char *name = (char *)node->key->name;
        const GPtrArray *pods = g_hash_table_lookup(sync->on_node, name);
        if (pods == NULL)
            continue;
        unsigned facts = node_facts(sync, (const Node *)node, pods, surges, now, &old_pod);
        ObjectKey *old_key = old_pod == NULL ? NULL : (ObjectKey *)old_pod->meta.key;
        n_available += serves(facts);
        switch ((UpdateAction)rules_find(&daemon_update_rules, facts, NULL)->then) {
        case UPDATE_NOTHING:
            break;
        case UPDATE_COUNT:
            n_counted++;
            break;
        case UPDATE_DELETE:
            g_ptr_array_add(sync->deletes, old_key);
            break;
        case UPDATE_CREATE:
            g_ptr_array_add(sync->wanting, name);
            break;
        case UPDATE_CANDIDATE:
            g_ptr_array_add(candidates, surges ? (void *)name : old_key);
            break;
        case UPDATE_UNWANTED:
            g_ptr_array_add(unwanted, old_key);
            break;
        }
    }
    daemon_shuffle_nodes(self, sync->wanting);
    daemon_shuffle_pods(self, sync->deletes);
    daemon_shuffle_pods(self, unwanted);
    if (surges)
        daemon_shuffle_nodes(self, candidates);
    else
        daemon_shuffle_pods(self, candidates);
    add_first(sync->deletes, unwanted, n_available - desired);
    add_first(surges ? sync->wanting : sync->deletes, candidates,
              (surges ? max_surge : MAX(max_unavailable, 1)) - n_counted);
}

void
daemon_decide_update(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    DaemonSync *sync = plan_notes(plan);
    const DaemonState *state = g_hash_table_lookup(self->head.states, plan_key(plan));

    /* DS-22, DS-23 */
    if (sync->error != NULL || state == NULL || sync->set->on_delete ||
        !expectations_are_met(&state->base.expected, plan_now(plan))) {
        decide_end(data, plan);
        return;
    }
    daemon_look(self, sync);
    daemon_begin_pods(sync);
    choose_updates(self, sync, plan_now(plan));
    daemon_plan_pods(self, plan, sync, sync->set->max_surge.value > 0 ? "DS-21" : "DS-20",
                     decide_end);
}
