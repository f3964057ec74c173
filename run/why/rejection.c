/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a node rejects a pod: the object at fault, and its facts. A table has a function for each
 * cause that the scheduler's filters give: places of volumes, resources, zone, class, company. An
 * object that is about to go and does not (a pod being deleted, an attachment) is asked first,
 * because its end would free the node. */
#include "unscheduled.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/migration/migration.h"
#include "models/scheduler/pod-counts.h"

/* Returns: (borrowed): the driver that makes or has made the pod's @i-th volume; NULL: none */
static const char *
rejection_driver_of(const Question *self, const Pod *pod, unsigned i)
{
    const PodVolume *item = &pod->volumes->items[i];
    const Claim *claim = item->source != NULL ? NULL : why_claim_of(self, pod, item);
    const Volume *volume = why_volume_of(self, claim);
    const Object *class =
        claim == NULL ? NULL : why_get(self, KIND_STORAGE_CLASS, NULL, claim_class(claim));

    if (item->source != NULL)
        return item->source->driver;
    if (volume != NULL && (volume->source == NULL || volume->source->driver != NULL))
        return volume->source == NULL ? NULL : volume->source->driver;
    if (volume != NULL)
        return volume->source->in_tree != NULL ? in_tree_plugin_name(volume->source->in_tree)
                                               : volume->source->flex_driver;
    return class == NULL ? NULL : STORAGE_CLASS(class)->provisioner;
}

static unsigned
count_volumes(const Pod *pod)
{
    return pod->volumes == NULL ? 0 : pod->volumes->n_items + pod->volumes->n_inline;
}

/* The pods on @node with volumes of this driver. Returns: their volumes' number */
static unsigned
list_holders(const Question *self, const NodeInfo *node, const char *driver, GString *holders)
{
    unsigned n = 0, n_named = 0;

    for (const CachedPod *each = node->pods; each != NULL; each = each->next_on_node) {
        const Pod *other = each->pod;
        gboolean is_named = FALSE;
        for (unsigned i = 0; i < count_volumes(other); i++) {
            if (g_strcmp0(rejection_driver_of(self, other, i), driver) != 0)
                continue;
            n++;
            if (!is_named && n_named++ < 3)
                g_string_append_printf(holders, "%s%s", n_named > 1 ? ", " : "",
                                       object_name(&other->meta));
            is_named = TRUE;
        }
    }
    if (n_named > 3)
        g_string_append(holders, why_words(self, N_(" and others")));
    else if (n_named == 0)
        g_string_append(holders, why_words(self, N_("attachments alone")));
    return n;
}

/* A pod that is to stay has the volume there. */
static gboolean
rejection_is_used(Question *self, const Volume *volume, const NodeInfo *node)
{
    const ObjectKey *key = volume->claim_ref.claim;
    const Object *claim = key == NULL ? NULL : api_server_get(self->api, key);
    const GPtrArray *pods = claim == NULL ? NULL : why_pods_of_claim(self, CLAIM_CONST(claim));

    for (unsigned i = 0; pods != NULL && i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        if (g_strcmp0(pod->node_name, node->key->name) == 0 && !object_is_deleted(&pod->meta))
            return TRUE;
    }
    return FALSE;
}

/* A volume without a pod takes up a place of the node, too: finds what keeps the first one there.
 */
static gboolean
ask_remains(Question *self, const NodeInfo *node, const char *driver)
{
    const GPtrArray *attachments = why_list(self, KIND_ATTACHMENT);

    for (unsigned i = 0; i < attachments->len; i++) {
        const Attachment *attachment = attachments->pdata[i];
        const Object *volume = why_get(self, KIND_VOLUME, NULL, attachment->volume_name);
        if (g_strcmp0(attachment->node_name, node->key->name) != 0 || volume == NULL ||
            g_strcmp0(attachment->attacher, driver) != 0 ||
            rejection_is_used(self, VOLUME_CONST(volume), node))
            continue;
        const unsigned n_links = self->why->chain->len;
        why_link(self, &attachment->meta, attachment->meta.created_at,
                 "has a place on %s, and no pod there uses it", node->key->name);
        if (object_is_deleted(&attachment->meta)
                ? why_ask_attachment(self, attachment)
                : why_ask_holder(self, VOLUME_CONST(volume), node->node))
            return TRUE;
        g_ptr_array_set_size(self->why->chain, (int)n_links);
    }
    return FALSE;
}

/* A pod with such a volume is to go, and does not. */
static gboolean
ask_leaving(Question *self, const NodeInfo *node, const char *driver)
{
    for (const CachedPod *each = node->pods; each != NULL; each = each->next_on_node)
        for (unsigned i = 0; i < count_volumes(each->pod); i++)
            if (object_is_deleted(&each->pod->meta) &&
                g_strcmp0(rejection_driver_of(self, each->pod, i), driver) == 0 &&
                why_ask_object(self, &each->pod->meta))
                return TRUE;
    return FALSE;
}

/* The pods that have the places of a driver's volumes on a node. */
static gboolean
ask_limit(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;
    const Object *csi_node = why_get(self, KIND_CSI_NODE, NULL, node->key->name);

    for (unsigned i = 0; i < count_volumes(pod); i++) {
        g_autoptr(GString) holders = g_string_new(NULL);
        const char *driver = rejection_driver_of(self, pod, i);
        const CsiNodeDriver *entry = csi_node == NULL || driver == NULL
                                         ? NULL
                                         : csi_node_find_driver(CSI_NODE(csi_node), driver);
        unsigned n = driver == NULL ? 0 : list_holders(self, node, driver, holders);
        if (driver == NULL ||
            (entry != NULL && (int32_t)n < entry->allocatable_count && i + 1 < count_volumes(pod)))
            continue;
        if (ask_leaving(self, node, driver) ||
            ((entry == NULL ? n == 0 : (int32_t)n < entry->allocatable_count) &&
             ask_remains(self, node, driver)))
            return TRUE;
        if (entry == NULL)
            why_link(self, &node->node->meta, TIME_UNSET,
                     "has no place left for a volume of %s, held by %s", driver, holders->str);
        else
            why_link(self, &node->node->meta, TIME_UNSET,
                     "has no place left for a volume of %s: its limit is %d, held by %s", driver,
                     entry->allocatable_count, holders->str);
        return FALSE;
    }
    return FALSE;
}

static gboolean
ask_resources(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;
    const NodeResources *all = &node->node->allocatable;
    const Pod *greatest = NULL;
    char left[QUANTITY_BUFFER], wanted[QUANTITY_BUFFER];
    g_autofree char *holder = NULL;

    for (const CachedPod *each = node->pods; each != NULL; each = each->next_on_node) {
        if (object_is_deleted(&each->pod->meta) && !pod_is_terminal(each->pod) &&
            why_ask_object(self, &each->pod->meta))
            return TRUE;
        if (greatest == NULL || each->pod->spec->cpu_milli > greatest->spec->cpu_milli)
            greatest = each->pod;
    }
    holder = greatest == NULL
                 ? g_strdup("")
                 : g_strdup_printf(why_words(self, N_("; of its pods (%d) %s asks for most")),
                                   node->n_pods, object_name(&greatest->meta));
    const int64_t cpu = all->cpu_milli - node->requested_cpu_milli;
    if (node->n_pods >= all->pods) {
        why_link(self, &node->node->meta, TIME_UNSET, "has all the pods that it takes: %d",
                 all->pods);
    } else if (pod->spec->cpu_milli > cpu) {
        g_autofree char *has = g_strdup_printf("%" G_GINT64_FORMAT "m", cpu);
        g_autofree char *asked = g_strdup_printf("%" G_GINT64_FORMAT "m", pod->spec->cpu_milli);
        why_link(self, &node->node->meta, TIME_UNSET,
                 "has %s of cpu left, and the pod asks for %s%s", has, asked, holder);
    } else {
        why_link(self, &node->node->meta, TIME_UNSET,
                 "has %s of memory left, and the pod asks for %s%s",
                 quantity_format(MAX(0, all->memory_bytes - node->requested_memory_bytes), left),
                 quantity_format(pod->spec->memory_bytes, wanted), holder);
    }
    return FALSE;
}

/* Why a volume that was made for the claim is where its pod is not: no pod was there yet, or the
 * driver did not make it near the node that the scheduler had chosen. Returns: (owned): "": unknown
 */
static char *
how_it_got_there(const Question *self, const Claim *claim, const Volume *volume)
{
    const Object *class = why_get(self, KIND_STORAGE_CLASS, NULL, claim_class(claim));
    const char *chosen = object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE);
    const Object *node = why_get(self, KIND_NODE, NULL, chosen);

    if (class == NULL || object_annotation(&volume->meta, ANNOTATION_PROVISIONED_BY) == NULL)
        return g_strdup("");
    if (STORAGE_CLASS(class)->binding_mode == BINDING_IMMEDIATE)
        return g_strdup_printf(
            why_words(self, N_("; its storageclass/%s makes volumes before a pod is there")),
            object_name(class));
    if (node == NULL ||
        node_selector_matches(volume_node_affinity(volume), node->labels, object_name(node)))
        return g_strdup("");
    return g_strdup_printf(
        why_words(self, N_("; it was to be near %s, and driver/%s made it elsewhere")), chosen,
        STORAGE_CLASS(class)->provisioner);
}

/* A bound volume that the node cannot reach. */
static gboolean
ask_zone(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const Volume *volume = why_volume_of(self, claim);
        const NodeSelector *affinity = volume == NULL ? NULL : volume_node_affinity(volume);
        if (affinity == NULL ||
            node_selector_matches(affinity, node->node->meta.labels, node->key->name))
            continue;
        json_auto_t *json = field_type_to_json(&field_node_selector, &affinity, NULL, 0);
        g_autofree char *text = why_selector(json);
        g_autofree char *story = how_it_got_there(self, claim, volume);
        why_link(self, &volume->meta, TIME_UNSET,
                 "is out of reach of %s and the pod may run nowhere else: it is only for %s%s",
                 node->key->name, text, story);
        return FALSE;
    }
    why_link(self, &node->node->meta, TIME_UNSET, "is not in the zone of the pod's volume");
    return FALSE;
}

/* No volume is there for a claim that waits for its pod, and none can be made near the node. */
static gboolean
ask_no_volume(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const NodeInfo *node = answer->node;

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const Object *object =
            claim == NULL ? NULL : why_get(self, KIND_STORAGE_CLASS, NULL, claim_class(claim));
        const StorageClass *class = object == NULL ? NULL : STORAGE_CLASS(object);
        if (claim == NULL || claim->phase == CLAIM_BOUND)
            continue;
        if (class != NULL && class->allowed_topologies != NULL &&
            !node_selector_matches(class->allowed_topologies, node->node->meta.labels, NULL)) {
            json_auto_t *json =
                field_type_to_json(&field_node_selector, &class->allowed_topologies, NULL, 0);
            g_autofree char *text = why_selector(json);
            why_link(self, object, TIME_UNSET,
                     "allows volumes only in %s, and %s is in none of these places", text,
                     node->key->name);
            return why_because(self, "class-topology");
        }
        if (why_ask_no_volume(self, claim, node->node))
            return TRUE;
    }
    return FALSE;
}

/* The pod that has the claim which is for one pod only. */
static gboolean
ask_rwop(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    (void)answer;
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Claim *claim = why_claim_of(self, pod, &pod->volumes->items[i]);
        const GPtrArray *users = claim == NULL ? NULL : why_pods_of_claim(self, claim);
        for (unsigned k = 0; users != NULL && (claim->access_modes & ACCESS_RWOP) && k < users->len;
             k++) {
            const Pod *other = users->pdata[k];
            if (other == pod || other->node_name == NULL || pod_is_terminal(other))
                continue;
            if (object_is_deleted(&other->meta) && why_ask_pod(self, other))
                return TRUE;
            why_link(self, &other->meta, why_placed_at(other), "has the ReadWriteOncePod claim %s",
                     object_name(&claim->meta));
            return FALSE;
        }
    }
    return FALSE;
}

static gboolean
ask_capacity(Question *self, const Pod *pod, const NodeAnswer *answer)
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
        return FALSE;
    }
    return FALSE;
}

/* ---- Other pods ---- */

static gboolean
are_together(const Question *self, const Pod *pod, const NodeInfo *node, const char *topology_key)
{
    const Object *other = why_get(self, KIND_NODE, NULL, pod->node_name);
    const char *there =
        other == NULL || other->labels == NULL ? NULL : string_map_get(other->labels, topology_key);
    const StringMap *labels = node->node->meta.labels;

    return there != NULL && labels != NULL &&
           g_strcmp0(there, string_map_get(labels, topology_key)) == 0;
}

/* Whether a required term of @pod keeps @other away from the places where @pod is. */
static gboolean
keeps_away(const Question *self, const Pod *pod, const Pod *other, const NodeInfo *node)
{
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        if (term->anti && term->weight == 0 &&
            pod_term_matches(term, pod->meta.key->namespace, other) &&
            are_together(self, pod->node_name != NULL ? pod : other, node, term->topology_key))
            return TRUE;
    }
    return FALSE;
}

static gboolean
ask_neighbours(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const GPtrArray *pods = why_list(self, KIND_POD);

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *other = pods->pdata[i];
        if (other == pod || other->node_name == NULL || pod_is_terminal(other) ||
            (!keeps_away(self, pod, other, answer->node) &&
             !keeps_away(self, other, pod, answer->node)))
            continue;
        if (object_is_deleted(&other->meta) && why_ask_pod(self, other))
            return TRUE;
        why_link(self, &other->meta, why_placed_at(other), "is on %s, and %s may not be near it",
                 other->node_name, object_name(&pod->meta));
        return FALSE;
    }
    why_link(self, &answer->node->node->meta, TIME_UNSET,
             "is not where the pod's anti-affinity allows it");
    return FALSE;
}

/* The pods that an affinity asks for: there are none, or they are stuck themselves. */
static gboolean
ask_company(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const GPtrArray *pods = why_list(self, KIND_POD);

    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        const Pod *company = NULL;
        if (term->anti || term->weight != 0)
            continue;
        for (unsigned k = 0; k < pods->len; k++) {
            const Pod *other = pods->pdata[k];
            if (other != pod && !pod_is_terminal(other) &&
                pod_term_matches(term, pod->meta.key->namespace, other) &&
                (company == NULL || company->node_name == NULL))
                company = other;
        }
        json_auto_t *selector =
            term->selector == NULL
                ? NULL
                : field_type_to_json(&field_label_selector, &term->selector, NULL, 0);
        g_autofree char *text = why_selector(selector);
        if (company == NULL) {
            why_link(self, &pod->meta, TIME_UNSET,
                     "asks to be near a pod with %s, and there is none", text);
            return FALSE;
        }
        if (company->node_name == NULL) {
            why_link(self, &pod->meta, TIME_UNSET, "asks to be near %s, which has no node",
                     object_name(&company->meta));
            return why_ask_object(self, &company->meta);
        }
        if (are_together(self, company, answer->node, term->topology_key))
            continue;
        why_link(self, &company->meta, why_placed_at(company),
                 "is on %s: %s asks to be near it, and can be on no other node of that %s",
                 company->node_name, object_name(&pod->meta), term->topology_key);
        return FALSE;
    }
    return FALSE;
}

static gboolean
ask_selector(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    json_auto_t *labels =
        pod->spec->node_selector != NULL
            ? field_type_to_json(&field_string_map, &pod->spec->node_selector, NULL, 0)
            : NULL;
    json_auto_t *affinity =
        pod->spec->required_nodes != NULL
            ? field_type_to_json(&field_node_selector, &pod->spec->required_nodes, NULL, 0)
            : NULL;
    g_autofree char *text = why_selector(labels != NULL ? labels : affinity);

    why_link(self, &pod->meta, TIME_UNSET, "asks for nodes with %s, as %s is not",
             *text == '\0' ? why_words(self, N_("another name")) : text, answer->node->key->name);
    return FALSE;
}

static gboolean
ask_taint(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    const Node *node = answer->node->node;

    (void)pod;
    for (unsigned i = 0; i < cluster_n_drivers(self->cluster); i++) {
        const NodePluginOptions *plugin = cluster_node_plugin(self->cluster, i);
        const char *driver = csi_driver_name(cluster_driver(self->cluster, i));
        if (g_strcmp0(plugin->removes_taint, answer->taint_key) != 0 ||
            why_is_registered(self, driver, object_name(&node->meta)))
            continue;
        why_link(self, &node->meta, TIME_UNSET, "has the taint %s until %s is registered there",
                 answer->taint_key, driver);
        return why_ask_driver(self, driver, NULL, object_name(&node->meta));
    }
    why_link(self, &node->meta, TIME_UNSET, "has the taint %s%s%s, which the pod does not tolerate",
             answer->taint_key, *answer->taint_value != '\0' ? "=" : "", answer->taint_value);
    return FALSE;
}

static gboolean
ask_node(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    (void)pod;
    return why_ask_node(self, answer->node->node);
}

static gboolean
ask_plugin(Question *self, const Pod *pod, const NodeAnswer *answer)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const char *driver = rejection_driver_of(self, pod, i);
        if (driver != NULL && !why_is_registered(self, driver, answer->node->key->name))
            return why_ask_driver(self, driver, NULL, answer->node->key->name);
    }
    return FALSE;
}

gboolean
why_ask_rejection(Question *self, const Pod *pod, NodeCause cause, const NodeAnswer *answer)
{
    static gboolean (*const rows[N_NODE_CAUSES])(Question *, const Pod *, const NodeAnswer *) = {
        [NODE_SILENT] = ask_node,         [NODE_CORDONED] = ask_node,
        [NODE_LIMIT] = ask_limit,         [NODE_RESOURCES] = ask_resources,
        [NODE_NO_DRIVER] = ask_plugin,    [NODE_ZONE] = ask_zone,
        [NODE_RWOP] = ask_rwop,           [NODE_CAPACITY] = ask_capacity,
        [NODE_NO_VOLUME] = ask_no_volume, [NODE_ANTI_AFFINITY] = ask_neighbours,
        [NODE_AFFINITY] = ask_company,    [NODE_SELECTOR] = ask_selector,
        [NODE_TAINT] = ask_taint,         [NODE_PRESSURE] = ask_taint,
    };
    const unsigned n_links = self->why->chain->len;

    if (rows[cause] != NULL && rows[cause](self, pod, answer))
        return TRUE;
    if (self->why->chain->len == n_links)
        why_link(self, &answer->node->node->meta, TIME_UNSET, "rejects the pod: %s",
                 answer->reason);
    return FALSE;
}
