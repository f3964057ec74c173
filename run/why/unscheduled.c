/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "question.h"

#include <string.h>

#include "models/api/field.h"
#include "models/scheduler/diagnose.h"
#include "models/scheduler/scheduler.h"

/* A pod that no node can take. The scheduler's own filters say which node rejects it, and for what
 * (all they have to say, not only the first). The cause is the one whose end would free a node. */

/* Causes in the order in which they win: what is special about storage first. */
typedef enum {
    NODE_CLAIM_LOST,
    NODE_RWOP,
    NODE_LIMIT,
    NODE_NO_DRIVER,
    NODE_ZONE,
    NODE_CAPACITY,
    NODE_NO_VOLUME,
    NODE_RESOURCES,
    NODE_ANTI_AFFINITY,
    NODE_AFFINITY,
    NODE_SPREAD,
    NODE_SELECTOR,
    NODE_SILENT,
    NODE_CORDONED,
    NODE_TAINT,
    N_NODE_CAUSES,
} NodeCause;

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
};

/* What a filter means. Rows with a reason come before that of the whole plugin. */
static const struct {
    PluginId plugin;
    const char *reason; /* how the filter's reason begins; NULL: any */
    NodeCause cause;
} filter_rows[] = {
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/not-ready",
     NODE_SILENT                                                                                                      },
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/unreachable",
     NODE_SILENT                                                                                                      },
    {PLUGIN_TAINT_TOLERATION,    "node(s) had untolerated taint {node.kubernetes.io/unschedulable",
     NODE_CORDONED                                                                                                    },
    {PLUGIN_TAINT_TOLERATION,    NULL,                                                              NODE_TAINT        },
    {PLUGIN_NODE_UNSCHEDULABLE,  NULL,                                                              NODE_CORDONED     },
    {PLUGIN_NODE_NAME,           NULL,                                                              NODE_SELECTOR     },
    {PLUGIN_NODE_AFFINITY,       NULL,                                                              NODE_SELECTOR     },
    {PLUGIN_NODE_RESOURCES_FIT,  NULL,                                                              NODE_RESOURCES    },
    {PLUGIN_VOLUME_RESTRICTIONS, NULL,                                                              NODE_RWOP         },
    {PLUGIN_NODE_VOLUME_LIMITS,  "node(s) exceed max volume count",                                 NODE_LIMIT        },
    {PLUGIN_NODE_VOLUME_LIMITS,  NULL,                                                              NODE_NO_DRIVER    },
    {PLUGIN_VOLUME_BINDING,      "node(s) did not have enough free storage",                        NODE_CAPACITY     },
    {PLUGIN_VOLUME_BINDING,      "node(s) didn't find available persistent volumes",                NODE_NO_VOLUME    },
    {PLUGIN_VOLUME_BINDING,      "node(s) unavailable due to",                                      NODE_CLAIM_LOST   },
    {PLUGIN_VOLUME_BINDING,      NULL,                                                              NODE_ZONE         },
    {PLUGIN_VOLUME_ZONE,         NULL,                                                              NODE_ZONE         },
    {PLUGIN_POD_TOPOLOGY_SPREAD, NULL,                                                              NODE_SPREAD       },
    {PLUGIN_INTER_POD_AFFINITY,  "node(s) didn't match pod anti-affinity",                          NODE_ANTI_AFFINITY},
    {PLUGIN_INTER_POD_AFFINITY,  "node(s) didn't satisfy existing pods anti-affinity",
     NODE_ANTI_AFFINITY                                                                                               },
    {PLUGIN_INTER_POD_AFFINITY,  NULL,                                                              NODE_AFFINITY     },
};

/* What one node says. */
typedef struct {
    const NodeInfo *node;
    uint32_t causes;                              /* 1 << NodeCause */
    const char *reason, *taint_key, *taint_value; /* the last one */
} NodeAnswer;

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

/* Returns: the cause without which most nodes could take the pod; @answer: (out): such a node */
static NodeCause
choose_cause(const GArray *answers, const NodeAnswer **answer)
{
    NodeCause chosen = N_NODE_CAUSES;
    unsigned n_most = 0;

    for (NodeCause cause = 0; cause < N_NODE_CAUSES; cause++) {
        unsigned n_alone = 0, n = 0;
        for (unsigned i = 0; i < answers->len; i++) {
            uint32_t causes = g_array_index(answers, NodeAnswer, i).causes;
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
    for (unsigned i = 0; i < answers->len; i++) {
        const NodeAnswer *each = &g_array_index(answers, NodeAnswer, i);
        if ((each->causes & UINT32_C(1) << chosen) != 0 &&
            (*answer == NULL || each->causes == UINT32_C(1) << chosen)) {
            *answer = each;
            if (each->causes == UINT32_C(1) << chosen)
                break;
        }
    }
    return chosen;
}

/* ---- The object at fault, and its facts ---- */

/* The pods that hold the places of a driver's volumes on a node. */
static void
link_limit(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;
    g_autoptr(GString) holders = g_string_new(NULL);
    const char *driver = NULL;
    unsigned n = 0;

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items && driver == NULL; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const Volume *volume = why_volume_of(self, claim);
        const Object *class =
            claim == NULL ? NULL : why_get(self, KIND_STORAGE_CLASS, NULL, claim_class(claim));
        driver = volume != NULL && volume->source != NULL ? volume->source->driver
                 : class != NULL                          ? STORAGE_CLASS(class)->provisioner
                                                          : NULL;
    }
    for (const CachedPod *each = node->pods; each != NULL; each = each->next_on_node) {
        const Pod *other = each->pod;
        for (unsigned i = 0; other->volumes != NULL && i < other->volumes->n_items; i++) {
            const Volume *volume =
                why_volume_of(self, why_claim_of(self, other, &other->volumes->items[i]));
            if (volume == NULL || volume->source == NULL ||
                g_strcmp0(volume->source->driver, driver) != 0)
                continue;
            if (n++ < 3)
                g_string_append_printf(holders, "%s%s", n > 1 ? ", " : "",
                                       object_name(&other->meta));
        }
    }
    const Object *csi_node = why_get(self, KIND_CSI_NODE, NULL, node->key->name);
    const CsiNodeDriver *entry = csi_node == NULL || driver == NULL
                                     ? NULL
                                     : csi_node_find_driver(CSI_NODE(csi_node), driver);
    why_link(self, &node->node->meta, TIME_UNSET,
             "has no place left for a volume of %s: its limit is %d, held by %s%s",
             driver == NULL ? "its driver" : driver, entry == NULL ? 0 : entry->allocatable_count,
             n > 0 ? holders->str : "attachments", n > 3 ? " and others" : "");
}

static void
link_resources(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;
    const NodeResources *all = &node->node->allocatable;
    char memory[QUANTITY_BUFFER], wanted[QUANTITY_BUFFER];

    if (node->n_pods >= all->pods)
        why_link(self, &node->node->meta, TIME_UNSET, "has all of its %d pods", all->pods);
    else if (pod->spec->cpu_milli > all->cpu_milli - node->requested_cpu_milli)
        why_link(self, &node->node->meta, TIME_UNSET,
                 "has %" G_GINT64_FORMAT "m of cpu left, and the pod asks for %" G_GINT64_FORMAT
                 "m",
                 all->cpu_milli - node->requested_cpu_milli, pod->spec->cpu_milli);
    else
        why_link(self, &node->node->meta, TIME_UNSET,
                 "has %s of memory left, and the pod asks for %s",
                 quantity_format(MAX(0, all->memory_bytes - node->requested_memory_bytes), memory),
                 quantity_format(pod->spec->memory_bytes, wanted));
}

/* The bound volume that the node cannot reach. */
static void
link_zone(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const Volume *volume = why_volume_of(self, claim);
        if (volume == NULL)
            continue;
        json_auto_t *affinity = volume_node_affinity(volume) == NULL
                                    ? NULL
                                    : field_node_selector.to_json(&volume->node_affinity);
        if (affinity == NULL || node_selector_matches(volume_node_affinity(volume),
                                                      node->node->meta.labels, node->key->name))
            continue;
        g_autofree char *text = json_dumps(affinity, JSON_COMPACT);
        why_link(self, &volume->meta, TIME_UNSET,
                 "is out of reach of %s and the pod may run nowhere else: it is only for %s",
                 node->key->name, text);
        return;
    }
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const Object *class =
            claim == NULL ? NULL : why_get(self, KIND_STORAGE_CLASS, NULL, claim_class(claim));
        if (class != NULL && STORAGE_CLASS(class)->allowed_topologies != NULL) {
            why_link(self, class, TIME_UNSET, "allows no volumes in reach of %s", node->key->name);
            return;
        }
    }
    why_link(self, &node->node->meta, TIME_UNSET, "is not in the zone of the pod's volume");
}

/* The pod that has the claim which is for one pod only. */
static void
link_rwop(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    (void)answer;
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const GPtrArray *users = claim == NULL ? NULL : why_pods_of_claim(self, claim);
        for (unsigned k = 0; users != NULL && (claim->access_modes & ACCESS_RWOP) && k < users->len;
             k++) {
            const Pod *other = users->pdata[k];
            if (other == pod || other->node_name == NULL)
                continue;
            why_link(self, &other->meta, TIME_UNSET, "has the ReadWriteOncePod claim %s",
                     object_name(&claim->meta));
            return;
        }
    }
}

static void
link_capacity(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;
    const GPtrArray *capacities = why_list(self, KIND_STORAGE_CAPACITY);

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const Object *class =
            claim == NULL ? NULL : why_get(self, KIND_STORAGE_CLASS, NULL, claim_class(claim));
        int64_t most = -1;
        if (class == NULL || claim->phase == CLAIM_BOUND)
            continue;
        for (unsigned k = 0; k < capacities->len; k++) {
            const StorageCapacity *capacity = capacities->pdata[k];
            if (strcmp(capacity->class_name, object_name(class)) == 0 &&
                label_selector_matches(capacity->topology, node->node->meta.labels))
                most = MAX(most, storage_capacity_limit(capacity));
        }
        char room[QUANTITY_BUFFER], wanted[QUANTITY_BUFFER];
        quantity_format(claim->request_bytes, wanted);
        if (most < 0)
            why_link(self, class, TIME_UNSET,
                     "has no CSIStorageCapacity for %s, so there is no room for %s of %s",
                     node->key->name, wanted, object_name(&claim->meta));
        else
            why_link(self, class, TIME_UNSET, "has room for %s near %s; %s asks for %s",
                     quantity_format(most, room), node->key->name, object_name(&claim->meta),
                     wanted);
        return;
    }
}

static void
link_neighbours(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;
    const CachedPod *first = node->pods;

    (void)pod;
    if (first == NULL)
        why_link(self, &node->node->meta, TIME_UNSET, "is not where the pod's affinity allows it");
    else
        why_link(self, &node->node->meta, TIME_UNSET, "has %s, which the pod may not share it with",
                 object_name(&first->pod->meta));
}

static void
link_selector(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    json_auto_t *labels = pod->spec->node_selector != NULL
                              ? field_string_map.to_json(&pod->spec->node_selector)
                              : NULL;
    json_auto_t *affinity = pod->spec->required_nodes != NULL
                                ? field_node_selector.to_json(&pod->spec->required_nodes)
                                : NULL;
    g_autofree char *text = json_dumps(labels != NULL ? labels : affinity, JSON_COMPACT);

    why_link(self, &pod->meta, TIME_UNSET, "asks for nodes with %s, as %s is not",
             text == NULL ? "another name" : text, answer->node->key->name);
}

/* The claim for which no volume is there. */
static gboolean
ask_unbound(Question *self, const Pod *pod)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        if (claim != NULL && claim->phase != CLAIM_BOUND)
            return why_ask_claim(self, claim, NULL);
    }
    return FALSE;
}

static void
link_taint(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    (void)pod;
    why_link(self, &answer->node->node->meta, TIME_UNSET,
             "has the taint %s%s%s, which the pod does not tolerate", answer->taint_key,
             *answer->taint_value != '\0' ? "=" : "", answer->taint_value);
}

static void
link_other(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    (void)pod;
    why_link(self, &answer->node->node->meta, TIME_UNSET, "rejects the pod: %s", answer->reason);
}

static gboolean
tell_cause(Question *self, const Pod *pod, NodeCause cause, const NodeAnswer *answer)
{
    static void (*const links[N_NODE_CAUSES])(Question *, const Pod *, const NodeAnswer *) = {
        [NODE_LIMIT] = link_limit,       [NODE_RESOURCES] = link_resources,
        [NODE_ZONE] = link_zone,         [NODE_RWOP] = link_rwop,
        [NODE_CAPACITY] = link_capacity, [NODE_ANTI_AFFINITY] = link_neighbours,
        [NODE_SELECTOR] = link_selector, [NODE_TAINT] = link_taint,
    };

    if (cause == NODE_NO_VOLUME)
        return ask_unbound(self, pod) || why_because(self, "no-volume");
    if (cause == NODE_SILENT || cause == NODE_CORDONED)
        return why_ask_node(self, answer->node->node) || why_because(self, cause_ids[cause]);
    (links[cause] != NULL ? links[cause] : link_other)(self, pod, answer);
    return why_because(self, cause_ids[cause]);
}

gboolean
why_ask_unscheduled(Question *self, const Pod *pod)
{
    g_autoptr(GArray) answers = g_array_new(FALSE, TRUE, sizeof(NodeAnswer));
    const NodeAnswer *answer = NULL;
    Diagnosis diagnosis;

    if (why_ask_process(self, "kube-scheduler", NULL))
        return TRUE;
    if (!scheduler_diagnose(self->cluster, pod, node_refused, answers, &diagnosis))
        return why_because(self, "scheduling");
    g_autofree char *text = diagnosis.text;
    if (diagnosis.n_nodes == 0) {
        why_link_named(self, "process/kube-scheduler", TIME_UNSET, "knows no node");
        return why_because(self, "no-nodes");
    }
    if (text != NULL || answers->len < diagnosis.n_nodes)
        return why_because(self, "scheduling");
    NodeCause cause = choose_cause(answers, &answer);
    return tell_cause(self, pod, cause, answer);
}
