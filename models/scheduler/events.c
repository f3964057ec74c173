/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which changes in the cluster may help a rejected pod. Each row of the table names a plugin, a
 * resource, the actions it registers for and its queueing hint, which compares the object before
 * and after with the pod. The plugins that rejected a pod choose the rows; one row that says yes is
 * enough. A plugin without a hint is woken by each of its events. */
#include "events.h"

#include "disks.h"

/* ---- What an update is ---- */

static uint32_t
node_actions(const Node *before, const Node *after)
{
    uint32_t actions = 0;

    /* Cordoning is no event, uncordoning counts as a change of taints (SCH-W15). */
    if (!taints_equal(before->taints, after->taints) ||
        (before->unschedulable && !after->unschedulable))
        actions |= ACTION_NODE_TAINT;
    if (before->allocatable.cpu_milli != after->allocatable.cpu_milli ||
        before->allocatable.memory_bytes != after->allocatable.memory_bytes ||
        before->allocatable.pods != after->allocatable.pods)
        actions |= ACTION_NODE_ALLOCATABLE;
    if (!string_map_equal(before->meta.labels, after->meta.labels))
        actions |= ACTION_NODE_LABEL;
    return actions;
}

static unsigned
n_tolerations(const Pod *pod)
{
    return pod->spec->tolerations == NULL ? 0 : pod->spec->tolerations->n_items;
}

static gboolean
is_gated(const Pod *pod)
{
    return pod->spec->scheduling_gates != NULL && pod->spec->scheduling_gates->n_items > 0;
}

/* SCH-83: a status that the scheduler itself writes wakes no pod. */
static uint32_t
pod_actions(const Pod *before, const Pod *after)
{
    uint32_t actions = 0;

    if (!string_map_equal(before->meta.labels, after->meta.labels))
        actions |= ACTION_POD_LABEL;
    if (n_tolerations(before) != n_tolerations(after))
        actions |= ACTION_POD_TOLERATIONS;
    if (is_gated(before) && !is_gated(after))
        actions |= ACTION_POD_GATES;
    return actions;
}

ClusterEvent
cluster_event(EventResource resource, const Object *before, const Object *after, int minor)
{
    ClusterEvent event = {resource, ACTION_UPDATE, before, after, minor};

    if (before == NULL)
        event.actions = ACTION_ADD;
    else if (after == NULL)
        event.actions = ACTION_DELETE;
    else if (resource == EVENT_NODE)
        event.actions = node_actions((const Node *)before, (const Node *)after);
    else if (resource == EVENT_POD || resource == EVENT_OWN_POD)
        event.actions = pod_actions(POD_CONST(before), POD_CONST(after));
    return event;
}

/* ---- Hints: whether this event could make room for this pod ---- */

typedef gboolean (*Hint)(const ClusterEvent *event, const Pod *pod);

static gboolean
uses_claim(const Pod *pod, const char *claim_name, gboolean also_ephemeral)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const PodVolume *volume = &pod->volumes->items[i];
        if (volume->claim_name == claim_name && (also_ephemeral || !volume->ephemeral))
            return TRUE;
    }
    return FALSE;
}

static gboolean
claim_is_used(const ClusterEvent *event, const Pod *pod)
{
    return event->after->key->namespace == pod->meta.key->namespace &&
           uses_claim(pod, event->after->key->name, TRUE);
}

static gboolean
claim_is_used_plainly(const ClusterEvent *event, const Pod *pod)
{
    return event->after->key->namespace == pod->meta.key->namespace &&
           uses_claim(pod, event->after->key->name, FALSE);
}

static gboolean
topologies_changed(const ClusterEvent *event, const Pod *pod)
{
    (void)pod;
    return !node_selector_equal(STORAGE_CLASS(event->before)->allowed_topologies,
                                STORAGE_CLASS(event->after)->allowed_topologies);
}

/* VB-8 */
static gboolean
migration_changed(const ClusterEvent *event, const Pod *pod)
{
    const char *const annotation = "storage.alpha.kubernetes.io/migrated-plugins";

    (void)pod;
    return g_strcmp0(object_annotation(event->before, annotation),
                     object_annotation(event->after, annotation)) != 0;
}

/* Only pods with inline volumes of the driver are woken, not those with claims. */
static gboolean
inline_driver_stopped_checking(const ClusterEvent *event, const Pod *pod)
{
    return CSI_DRIVER_OBJECT(event->before)->storage_capacity &&
           !CSI_DRIVER_OBJECT(event->after)->storage_capacity &&
           pod_volumes_has_inline(pod->volumes, event->after->key->name);
}

static gboolean
capacity_grew(const ClusterEvent *event, const Pod *pod)
{
    (void)pod;
    return storage_capacity_limit(STORAGE_CAPACITY(event->after)) >
           storage_capacity_limit(STORAGE_CAPACITY(event->before));
}

static gboolean
class_waits(const ClusterEvent *event, const Pod *pod)
{
    (void)pod;
    return STORAGE_CLASS(event->after)->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER;
}

static gboolean
zones_changed(const ClusterEvent *event, const Pod *pod)
{
    (void)pod;
    return volume_zones_differ(event->before->labels, event->after->labels);
}

static gboolean
pod_had_volumes(const ClusterEvent *event, const Pod *pod)
{
    const Pod *gone = POD_CONST(event->before);

    (void)pod;
    if (gone->node_name == NULL || gone->volumes == NULL)
        return FALSE;
    for (unsigned i = 0; i < gone->volumes->n_inline; i++)
        if (gone->volumes->items[gone->volumes->n_items + i].source->in_tree != NULL)
            return TRUE;
    return gone->volumes->n_items > 0;
}

static gboolean
pod_shared_claim(const ClusterEvent *event, const Pod *pod)
{
    const Pod *gone = POD_CONST(event->before);

    if (pods_want_one_disk(pod, gone)) /* VF-34 */
        return TRUE;
    if (gone->meta.key->namespace != pod->meta.key->namespace)
        return FALSE;
    for (unsigned i = 0; gone->volumes != NULL && i < gone->volumes->n_items; i++) {
        const PodVolume *volume = &gone->volumes->items[i];
        if (!volume->ephemeral && uses_claim(pod, volume->claim_name, FALSE))
            return TRUE;
    }
    return FALSE;
}

static gboolean
node_became_wanted(const ClusterEvent *event, const Pod *pod)
{
    return pod_wants_node(pod, (const Node *)event->after) &&
           (event->before == NULL || !pod_wants_node(pod, (const Node *)event->before));
}

static gboolean
would_fit_if_empty(const Pod *pod, const NodeResources *allocatable)
{
    return allocatable->pods >= 1 && pod->spec->cpu_milli <= allocatable->cpu_milli &&
           pod->spec->memory_bytes <= allocatable->memory_bytes;
}

static gboolean
node_grew(const ClusterEvent *event, const Pod *pod)
{
    const NodeResources *after = &((const Node *)event->after)->allocatable;

    if (!would_fit_if_empty(pod, after))
        return FALSE;
    if (event->before == NULL)
        return TRUE;
    const NodeResources *before = &((const Node *)event->before)->allocatable;
    return after->pods > before->pods ||
           (pod->spec->cpu_milli > 0 && after->cpu_milli > before->cpu_milli) ||
           (pod->spec->memory_bytes > 0 && after->memory_bytes > before->memory_bytes);
}

static gboolean
node_became_tolerated(const ClusterEvent *event, const Pod *pod)
{
    return pod_untolerated_taint(pod, (const Node *)event->after) == NULL &&
           (event->before == NULL ||
            pod_untolerated_taint(pod, (const Node *)event->before) != NULL);
}

static gboolean
node_became_schedulable(const ClusterEvent *event, const Pod *pod)
{
    (void)pod;
    return !((const Node *)event->after)->unschedulable &&
           (event->before == NULL || ((const Node *)event->before)->unschedulable);
}

/* VF-74: one of the pod's constraints counted it before, or counts it now, but not both. */
static gboolean
spread_changed(const ClusterEvent *event, const Pod *pod)
{
    const Object *other = event->after == NULL ? event->before : event->after;

    if (other->key->namespace != pod->meta.key->namespace)
        return FALSE;
    for (unsigned i = 0; i < pod->spec->n_spread; i++) {
        const LabelSelector *selector = pod->spec->spread[i].selector;
        gboolean was =
            event->before != NULL && label_selector_matches(selector, event->before->labels);
        gboolean is =
            event->after != NULL && label_selector_matches(selector, event->after->labels);
        if (was != is)
            return TRUE;
    }
    return FALSE;
}

static gboolean
has_spread_labels(const Object *node, const Pod *pod)
{
    for (unsigned i = 0; node != NULL && i < pod->spec->n_spread; i++) {
        if (object_label(node, pod->spec->spread[i].topology_key) == NULL)
            return FALSE;
    }
    return node != NULL;
}

static gboolean
spread_labels_differ(const ClusterEvent *event, const Pod *pod)
{
    for (unsigned i = 0; i < pod->spec->n_spread; i++) {
        const char *key = pod->spec->spread[i].topology_key;
        if (object_label(event->before, key) != object_label(event->after, key))
            return TRUE;
    }
    return FALSE;
}

/* A node that counts comes, goes, moves to another domain, or changes its taints. */
static gboolean
spread_node_changed(const ClusterEvent *event, const Pod *pod)
{
    gboolean counted = has_spread_labels(event->before, pod);
    gboolean counts = has_spread_labels(event->after, pod);

    if (event->before == NULL || event->after == NULL || counted != counts)
        return counted || counts;
    return counts && (spread_labels_differ(event, pod) ||
                      !taints_equal(((const Node *)event->before)->taints,
                                    ((const Node *)event->after)->taints));
}

/* All required terms of affinity match it (VF-71). */
static gboolean
is_wanted_company(const Pod *pod, const Object *other)
{
    gboolean any = FALSE;

    for (unsigned i = 0; other != NULL && i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        if (term->weight != 0 || term->anti)
            continue;
        if (!pod_term_matches(term, pod->meta.key->namespace, POD_CONST(other)))
            return FALSE;
        any = TRUE;
    }
    return any;
}

/* A node enters a domain of a term of affinity, or leaves one of a term of anti-affinity. */
static gboolean
company_node_changed(const ClusterEvent *event, const Pod *pod)
{
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        const char *is = object_label(event->after, term->topology_key);
        const char *was =
            event->before == NULL ? NULL : object_label(event->before, term->topology_key);
        if (term->weight != 0)
            continue;
        if (event->before == NULL ? term->anti || is != NULL
                                  : is != was && (term->anti ? was : is) != NULL)
            return TRUE;
    }
    return FALSE;
}

/* A pod goes that the waiting one must avoid, or one comes that it wants. */
static gboolean
company_changed(const ClusterEvent *event, const Pod *pod)
{
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        const char *namespace = pod->meta.key->namespace;
        if (term->weight != 0 || !term->anti)
            continue;
        gboolean was =
            event->before != NULL && pod_term_matches(term, namespace, POD_CONST(event->before));
        gboolean is =
            event->after != NULL && pod_term_matches(term, namespace, POD_CONST(event->after));
        if (was && !is)
            return TRUE;
    }
    if (event->after != NULL)
        return is_wanted_company(pod, event->after) && !is_wanted_company(pod, event->before);
    const Pod *gone = POD_CONST(event->before);
    for (unsigned i = 0; i < gone->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &gone->spec->pod_terms[i];
        if (term->weight == 0 && term->anti &&
            pod_term_matches(term, gone->meta.key->namespace, pod))
            return TRUE;
    }
    return FALSE;
}

static int32_t
limit_in(const Object *csi_node, const char *driver)
{
    const CsiNodeDriver *entry = csi_node_find_driver((const CsiNode *)csi_node, driver);

    return entry == NULL ? 0 : MAX(entry->allocatable_count, 0);
}

/* Of any driver, also one that the pod does not use. */
static gboolean
limit_grew(const ClusterEvent *event, const Pod *pod)
{
    const CsiNodeDrivers *drivers = ((const CsiNode *)event->after)->drivers;

    (void)pod;
    for (unsigned i = 0; drivers != NULL && i < drivers->n_items; i++)
        if (limit_in(event->after, drivers->items[i].name) >
            limit_in(event->before, drivers->items[i].name))
            return TRUE;
    return FALSE;
}

/* ---- The table ---- */

typedef struct {
    const char *rule;
    PluginId plugin;
    EventResource resource;
    uint32_t actions;
    Hint helps; /* NULL: always */
    int since;  /* release 1.since; 0: the first */
} Registration;

/* The events that plugins register for, and when they help (SCH-Q1..Q33, SCH-Q35; a change of
 * taints always helps: SCH-68). Of several rows for one plugin and event one must say yes. Left
 * out: events that no modelled pod waits for (SCH-Q26). DefaultPreemption registers for none
 * (SCH-Q34): the plugins whose rejection it could mend do. */
/* clang-format off */
static const Registration registrations[] = {
    {"SCH-Q1",  PLUGIN_VOLUME_BINDING,      EVENT_CLASS,      ACTION_ADD,                                                         NULL},
    {"SCH-Q2",  PLUGIN_VOLUME_BINDING,      EVENT_CLASS,      ACTION_UPDATE,                                                      topologies_changed},
    {"SCH-Q3",  PLUGIN_VOLUME_BINDING,      EVENT_CLAIM,      ACTION_ADD | ACTION_UPDATE,                                         claim_is_used},
    {"SCH-Q4",  PLUGIN_VOLUME_BINDING,      EVENT_VOLUME,     ACTION_ADD | ACTION_UPDATE,                                         NULL},
    {"SCH-Q5",  PLUGIN_VOLUME_BINDING,      EVENT_NODE,       ACTION_ADD | ACTION_NODE_LABEL | ACTION_NODE_TAINT,                 NULL},
    {"SCH-Q6",  PLUGIN_VOLUME_BINDING,      EVENT_CSI_NODE,   ACTION_ADD,                                                         NULL},
    {"SCH-Q7",  PLUGIN_VOLUME_BINDING,      EVENT_CSI_NODE,   ACTION_UPDATE,                                                      migration_changed},
    {"SCH-Q8",  PLUGIN_VOLUME_BINDING,      EVENT_CSI_DRIVER, ACTION_UPDATE,                                                      inline_driver_stopped_checking},
    {"SCH-Q9",  PLUGIN_VOLUME_BINDING,      EVENT_CAPACITY,   ACTION_ADD,                                                         NULL},
    {"SCH-Q10", PLUGIN_VOLUME_BINDING,      EVENT_CAPACITY,   ACTION_UPDATE,                                                      capacity_grew},
    {"SCH-Q11", PLUGIN_VOLUME_ZONE,         EVENT_CLASS,      ACTION_ADD,                                                         class_waits},
    {"SCH-Q12", PLUGIN_VOLUME_ZONE,         EVENT_NODE,       ACTION_ADD | ACTION_NODE_LABEL | ACTION_NODE_TAINT,                 NULL},
    {"SCH-Q13", PLUGIN_VOLUME_ZONE,         EVENT_CLAIM,      ACTION_ADD | ACTION_UPDATE,                                         claim_is_used_plainly},
    {"SCH-Q14", PLUGIN_VOLUME_ZONE,         EVENT_VOLUME,     ACTION_ADD,                                                         NULL},
    {"SCH-Q15", PLUGIN_VOLUME_ZONE,         EVENT_VOLUME,     ACTION_UPDATE,                                                      zones_changed},
    {"SCH-Q16", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_CSI_NODE,   ACTION_ADD,                                                         NULL},
    {"SCH-Q35", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_CSI_NODE,   ACTION_UPDATE,                                                      limit_grew, 33},
    {"SCH-Q17", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_POD,        ACTION_DELETE,                                                      pod_had_volumes},
    {"SCH-Q18", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_CLAIM,      ACTION_ADD,                                                         claim_is_used},
    {"SCH-Q19", PLUGIN_NODE_VOLUME_LIMITS,  EVENT_ATTACHMENT, ACTION_DELETE,                                                      NULL, 32},
    {"SCH-Q20", PLUGIN_VOLUME_RESTRICTIONS, EVENT_POD,        ACTION_DELETE,                                                      pod_shared_claim},
    {"SCH-Q21", PLUGIN_VOLUME_RESTRICTIONS, EVENT_NODE,       ACTION_ADD | ACTION_NODE_TAINT,                                     NULL},
    {"SCH-Q22", PLUGIN_VOLUME_RESTRICTIONS, EVENT_CLAIM,      ACTION_ADD,                                                         claim_is_used_plainly},
    {"SCH-Q23", PLUGIN_NODE_AFFINITY,       EVENT_NODE,       ACTION_ADD | ACTION_NODE_LABEL,                                     node_became_wanted},
    {"SCH-68",  PLUGIN_NODE_AFFINITY,       EVENT_NODE,       ACTION_NODE_TAINT,                                                  NULL},
    {"SCH-Q24", PLUGIN_NODE_RESOURCES_FIT,  EVENT_POD,        ACTION_DELETE,                                                      NULL},
    {"SCH-Q25", PLUGIN_NODE_RESOURCES_FIT,  EVENT_NODE,       ACTION_ADD | ACTION_NODE_ALLOCATABLE,                               node_grew},
    {"SCH-68",  PLUGIN_NODE_RESOURCES_FIT,  EVENT_NODE,       ACTION_NODE_TAINT,                                                  NULL},
    {"SCH-Q27", PLUGIN_TAINT_TOLERATION,    EVENT_NODE,       ACTION_ADD | ACTION_NODE_TAINT,                                     node_became_tolerated},
    {"SCH-Q28", PLUGIN_TAINT_TOLERATION,    EVENT_OWN_POD,    ACTION_POD_TOLERATIONS,                                             NULL},
    {"SCH-Q29", PLUGIN_NODE_UNSCHEDULABLE,  EVENT_NODE,       ACTION_ADD | ACTION_NODE_TAINT,                                     node_became_schedulable},
    {"SCH-Q29", PLUGIN_NODE_UNSCHEDULABLE,  EVENT_OWN_POD,    ACTION_POD_TOLERATIONS,                                             NULL},
    {"SCH-Q30", PLUGIN_NODE_NAME,           EVENT_NODE,       ACTION_ADD | ACTION_NODE_TAINT,                                     NULL},
    {"SCH-Q31", PLUGIN_POD_TOPOLOGY_SPREAD, EVENT_POD,        ACTION_ADD | ACTION_DELETE | ACTION_POD_LABEL,                      spread_changed},
    {"SCH-Q31", PLUGIN_POD_TOPOLOGY_SPREAD, EVENT_OWN_POD,    ACTION_POD_LABEL | ACTION_POD_TOLERATIONS,                          NULL},
    {"SCH-Q31", PLUGIN_POD_TOPOLOGY_SPREAD, EVENT_NODE,       ACTION_ADD | ACTION_DELETE | ACTION_NODE_LABEL | ACTION_NODE_TAINT, spread_node_changed},
    {"SCH-Q32", PLUGIN_INTER_POD_AFFINITY,  EVENT_POD,        ACTION_ADD | ACTION_DELETE | ACTION_POD_LABEL,                      company_changed},
    {"SCH-Q32", PLUGIN_INTER_POD_AFFINITY,  EVENT_NODE,       ACTION_ADD | ACTION_NODE_LABEL,                                     company_node_changed},
    {"SCH-68",  PLUGIN_INTER_POD_AFFINITY,  EVENT_NODE,       ACTION_NODE_TAINT,                                                  NULL},
    {"SCH-Q33", PLUGIN_SCHEDULING_GATES,    EVENT_OWN_POD,    ACTION_POD_GATES,                                                   NULL},
};
/* clang-format on */

static gboolean
is_registered(const Registration *registration, const ClusterEvent *event)
{
    return registration->resource == event->resource && registration->since <= event->minor &&
           (registration->actions & event->actions) != 0;
}

uint32_t
cluster_event_plugins(const ClusterEvent *event)
{
    uint32_t result = 0;

    for (unsigned i = 0; event->actions != 0 && i < G_N_ELEMENTS(registrations); i++) {
        if (is_registered(&registrations[i], event))
            result |= UINT32_C(1) << registrations[i].plugin;
    }
    return result;
}

/* SCH-69: plugins that register for new nodes hear of labels and taints, too. Of waiting pods only
 * their own changes count. */
static gboolean
is_registered_unasked(const Registration *registration, const ClusterEvent *event)
{
    uint32_t actions = registration->actions;

    if (registration->resource == EVENT_NODE && (actions & ACTION_ADD) != 0)
        actions |= ACTION_NODE_LABEL | ACTION_NODE_TAINT;
    return registration->resource == event->resource && registration->since <= event->minor &&
           (actions & event->actions) != 0;
}

uint32_t
cluster_event_plugins_unasked(const ClusterEvent *event)
{
    uint32_t result = 0;

    for (unsigned i = 0; event->actions != 0 && i < G_N_ELEMENTS(registrations); i++) {
        if (is_registered_unasked(&registrations[i], event))
            result |= UINT32_C(1) << registrations[i].plugin;
    }
    return result;
}

gboolean
cluster_event_fits(const ClusterEvent *event, const Pod *pod, const NodeInfo *info)
{
    const Node *node = (const Node *)event->after;
    const NodeResources *has = &node->allocatable;

    return info->n_pods < has->pods &&
           (pod->spec->cpu_milli == 0 ||
            pod->spec->cpu_milli <= node_info_left(has->cpu_milli, info->requested_cpu_milli)) &&
           (pod->spec->memory_bytes == 0 ||
            pod->spec->memory_bytes <=
                node_info_left(has->memory_bytes, info->requested_memory_bytes)) &&
           (pod->node_name == NULL || pod->node_name == node->meta.key->name) &&
           pod_wants_node(pod, node) && pod_untolerated_taint(pod, node) == NULL;
}

gboolean
cluster_event_is_company(const ClusterEvent *event, const Pod *pod, uint32_t rejected_by)
{
    const Pod *other = POD_CONST(event->after);

    if ((rejected_by & UINT32_C(1) << PLUGIN_POD_TOPOLOGY_SPREAD) != 0 &&
        other->meta.key->namespace == pod->meta.key->namespace)
        return TRUE;
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        if (term->weight == 0 && !term->anti &&
            pod_term_matches(term, pod->meta.key->namespace, other))
            return TRUE;
    }
    return FALSE;
}

const char *
cluster_event_helps(const ClusterEvent *event, const Pod *pod, uint32_t rejected_by)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(registrations); i++) {
        const Registration *registration = &registrations[i];
        if ((rejected_by & (UINT32_C(1) << registration->plugin)) == 0 ||
            !is_registered(registration, event))
            continue;
        if (registration->helps == NULL || registration->helps(event, pod))
            return registration->rule;
    }
    return NULL;
}
