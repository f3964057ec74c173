/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pod that no node can take. The scheduler's own filters give the rejecting nodes with all
 * reasons, not only the first; a table turns a filter's reason into a cause. The cause is the one
 * whose end would free a node: alone on some node beats one of several on many, and nodes where the
 * pod may never run count only if there are no others. */
#include "unscheduled.h"

#include <string.h>

#include "models/scheduler/scheduler.h"

static const char *const cause_ids[N_NODE_CAUSES] = {
    [NODE_CLAIM_LOST] = "claim-lost",
    [NODE_RWOP] = "rwop-in-use",
    [NODE_LIMIT] = "attach-limit",
    [NODE_NO_DRIVER] = "driver-not-registered",
    [NODE_ZONE] = "volume-zone",
    [NODE_CAPACITY] = "storage-capacity",
    [NODE_NO_VOLUME] = "no-volume",
    [NODE_RESOURCES] = "resources",
    [NODE_ANTI_AFFINITY] = "anti-affinity",
    [NODE_AFFINITY] = "pod-affinity",
    [NODE_SPREAD] = "topology-spread",
    [NODE_SELECTOR] = "node-selector",
    [NODE_SILENT] = "node-not-ready",
    [NODE_CORDONED] = "cordoned",
    [NODE_TAINT] = "taint",
    [NODE_PRESSURE] = "node-pressure",
};

/* The causes for what a filter says. Rows for one reason come before the row for the whole plugin.
 */
/* clang-format off */
static const struct {
    PluginId plugin;
    const char *reason; /* how the filter's reason begins; NULL: any */
    NodeCause cause;
} filter_rows[] = {
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/not-ready",           NODE_SILENT},
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/unreachable",         NODE_SILENT},
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/unschedulable",       NODE_CORDONED},
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/memory-pressure",     NODE_PRESSURE},
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/disk-pressure",       NODE_PRESSURE},
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/pid-pressure",        NODE_PRESSURE},
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/network-unavailable", NODE_PRESSURE},
    {PLUGIN_TAINT_TOLERATION,    NULL,                                                                    NODE_TAINT},
    {PLUGIN_NODE_UNSCHEDULABLE,  NULL,                                                                    NODE_CORDONED},
    {PLUGIN_NODE_NAME,           NULL,                                                                    NODE_SELECTOR},
    {PLUGIN_NODE_AFFINITY,       NULL,                                                                    NODE_SELECTOR},
    {PLUGIN_NODE_RESOURCES_FIT,  NULL,                                                                    NODE_RESOURCES},
    {PLUGIN_VOLUME_RESTRICTIONS, NULL,                                                                    NODE_RWOP},
    {PLUGIN_NODE_VOLUME_LIMITS,  "node(s) exceed max volume count",                                       NODE_LIMIT},
    {PLUGIN_NODE_VOLUME_LIMITS,  NULL,                                                                    NODE_NO_DRIVER},
    {PLUGIN_VOLUME_BINDING,      "node(s) did not have enough free storage",                              NODE_CAPACITY},
    {PLUGIN_VOLUME_BINDING,      "node(s) didn't find available persistent volumes",                      NODE_NO_VOLUME},
    {PLUGIN_VOLUME_BINDING,      "node(s) unavailable due to",                                            NODE_CLAIM_LOST},
    {PLUGIN_VOLUME_BINDING,      NULL,                                                                    NODE_ZONE},
    {PLUGIN_VOLUME_ZONE,         NULL,                                                                    NODE_ZONE},
    {PLUGIN_POD_TOPOLOGY_SPREAD, NULL,                                                                    NODE_SPREAD},
    {PLUGIN_INTER_POD_AFFINITY,  "node(s) didn't match pod anti-affinity",                                NODE_ANTI_AFFINITY},
    {PLUGIN_INTER_POD_AFFINITY,  "node(s) didn't satisfy existing pods anti-affinity",                    NODE_ANTI_AFFINITY},
    {PLUGIN_INTER_POD_AFFINITY,  NULL,                                                                    NODE_AFFINITY},
};
/* clang-format on */

static void
node_refused(void *data, const NodeInfo *node, PluginId plugin, const Reason *reason)
{
    GArray *answers = data;
    g_autofree char *text = reason->key == NULL
                                ? g_strdup(reason->text)
                                : g_strdup_printf("node(s) had untolerated taint {%s", reason->key);
    NodeAnswer *answer = NULL;
    unsigned row = 0;

    for (unsigned i = 0; i < answers->len && answer == NULL; i++)
        if (g_array_index(answers, NodeAnswer, i).node == node)
            answer = &g_array_index(answers, NodeAnswer, i);
    if (answer == NULL) {
        const NodeAnswer first = {.node = node};
        g_array_append_val(answers, first);
        answer = &g_array_index(answers, NodeAnswer, answers->len - 1);
    }
    while (row < G_N_ELEMENTS(filter_rows) - 1 &&
           (filter_rows[row].plugin != plugin ||
            (filter_rows[row].reason != NULL && !g_str_has_prefix(text, filter_rows[row].reason))))
        row++;
    answer->causes |= UINT32_C(1) << filter_rows[row].cause;
    answer->reason = reason->text;
    if (reason->key != NULL) {
        answer->taint_key = reason->key;
        answer->taint_value = reason->value;
    }
}

/* Where the pod may never run, whatever becomes of the node: its own wishes, and its volumes. */
#define FIXED_CAUSES                                                                               \
    (UINT32_C(1) << NODE_ZONE | UINT32_C(1) << NODE_SELECTOR | UINT32_C(1) << NODE_NO_VOLUME)

/* Returns: the cause whose removal would let most of these nodes take the pod; N_NODE_CAUSES: there
 * are no nodes. @excluded: leaves out nodes with one of these causes */
static NodeCause
choose_among(const GArray *answers, uint32_t excluded)
{
    NodeCause chosen = N_NODE_CAUSES;
    unsigned n_most = 0;

    for (NodeCause cause = 0; cause < N_NODE_CAUSES; cause++) {
        unsigned n_alone = 0, n = 0;
        for (unsigned i = 0; i < answers->len; i++) {
            uint32_t causes = g_array_index(answers, NodeAnswer, i).causes;
            if ((causes & excluded) != 0)
                continue;
            n += (causes & UINT32_C(1) << cause) != 0;
            n_alone += causes == UINT32_C(1) << cause;
        }
        /* alone on some node beats being one of several on many */
        unsigned weight = n_alone > 0 ? answers->len + 1 : n;
        if (weight <= n_most)
            continue;
        n_most = weight;
        chosen = cause;
    }
    return chosen;
}

/* If the pod may run on some nodes, what these have against it is the cause. @answer: (out): such
 * a node */
static NodeCause
choose_cause(const GArray *answers, const NodeAnswer **answer)
{
    uint32_t excluded = FIXED_CAUSES;
    NodeCause chosen = choose_among(answers, excluded);

    if (chosen == N_NODE_CAUSES) {
        excluded = 0;
        chosen = choose_among(answers, 0);
    }
    for (unsigned i = 0; i < answers->len; i++) {
        const NodeAnswer *each = &g_array_index(answers, NodeAnswer, i);
        if ((each->causes & excluded) != 0 || (each->causes & UINT32_C(1) << chosen) == 0)
            continue;
        if (each->causes == UINT32_C(1) << chosen) {
            *answer = each;
            break;
        }
        if (*answer == NULL)
            *answer = each;
    }
    return chosen;
}

/* A pod that is being deleted to make room: the pod waits until it is gone. */
static gboolean
ask_victims(Question *self, const Pod *pod)
{
    const GPtrArray *pods = why_list(self, KIND_POD);

    for (unsigned i = 0; pod->nominated_node != NULL && i < pods->len; i++) {
        const Pod *victim = pods->pdata[i];
        if (g_strcmp0(victim->node_name, pod->nominated_node) != 0 || pod_is_terminal(victim) ||
            !object_is_deleted(&victim->meta))
            continue;
        why_link(self, &pod->meta, TIME_UNSET, "is to get the room of %s on %s",
                 object_name(&victim->meta), pod->nominated_node);
        return why_ask_pod(self, victim);
    }
    return FALSE;
}

/* A node could take the pod now. */
static gboolean
ask_queue(Question *self, const Pod *pod, const Diagnosis *diagnosis)
{
    const Doing *doing = why_doing(self, &scheduler_class, NULL, pod->meta.key);

    if (doing != NULL && doing->kind == DOING_PLAN &&
        api_client_next_token(doing->component->client) > self->now)
        return why_ask_work(self, &scheduler_class, NULL, pod->meta.key, "scheduling");
    switch (diagnosis->place) {
    case PLACE_UNSCHEDULABLE:
        why_link_named(self, "process/kube-scheduler", TIME_UNSET,
                       "has put %s aside: a node could take it now, and nothing has told the "
                       "scheduler to try again",
                       object_name(&pod->meta));
        return why_until(self, "scheduling", diagnosis->again_at);
    case PLACE_BACKOFF:
    case PLACE_ERRORS:
        return why_until(self, "backing-off", diagnosis->again_at);
    case PLACE_ACTIVE:
        why_link_named(self, "process/kube-scheduler", TIME_UNSET, "has %u pods in its queue",
                       diagnosis->n_ahead);
        return why_because(self, "scheduling");
    case PLACE_NONE:
        if (doing != NULL && doing->step != NULL)
            why_link_named(self, "process/kube-scheduler", doing->at, "is at it: %s", doing->step);
        return why_because(self, "scheduling");
    }
    g_assert_not_reached();
}

gboolean
why_ask_unscheduled(Question *self, const Pod *pod)
{
    g_autoptr(GArray) answers = g_array_new(FALSE, TRUE, sizeof(NodeAnswer));
    const NodeAnswer *answer = NULL;
    Diagnosis diagnosis;

    if (why_ask_process(self, "kube-scheduler", NULL) || ask_victims(self, pod))
        return TRUE;
    if (!scheduler_diagnose(self->cluster, pod, node_refused, answers, &diagnosis))
        return why_ask_lease(self, "kube-scheduler", NULL) || why_because(self, "scheduling");
    g_autofree char *text = diagnosis.text;
    if (diagnosis.n_nodes == 0) {
        why_link_named(self, "process/kube-scheduler", TIME_UNSET, "knows no node");
        return why_because(self, "no-nodes");
    }
    if (text != NULL || answers->len < diagnosis.n_nodes)
        return ask_queue(self, pod, &diagnosis);
    NodeCause cause = choose_cause(answers, &answer);
    return why_ask_rejection(self, pod, cause, answer) || why_because(self, cause_ids[cause]);
}
