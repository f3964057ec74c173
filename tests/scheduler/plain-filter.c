/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain-filter.h"

#include <string.h>

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

/* One node and one pod. */
typedef struct {
    const PlainCluster *cluster;
    const Pod *pod;
    const Node *node;
    GPtrArray *reasons;  /* of char (owned): of the plugin that rejected the node */
    gboolean unhelpable; /* UnschedulableAndUnresolvable */
} Asked;

/* ---- Lists of objects ---- */

static GPtrArray *
new_list(void)
{
    return g_ptr_array_new_with_free_func((GDestroyNotify)object_unref);
}

void
plain_cluster_init(PlainCluster *self)
{
    *self = (PlainCluster){new_list(), new_list(), new_list(), new_list(), new_list(),
                           new_list(), new_list(), new_list(), new_list(), new_list()};
}

void
plain_cluster_clear(PlainCluster *self)
{
    GPtrArray *const lists[] = {self->nodes,       self->csi_nodes, self->pods,    self->claims,
                                self->volumes,     self->classes,   self->drivers, self->capacities,
                                self->attachments, self->nominated};

    for (unsigned i = 0; i < G_N_ELEMENTS(lists); i++)
        g_ptr_array_unref(lists[i]);
}

void
plain_put(GPtrArray *objects, const Object *object)
{
    object_ref(object);
    for (unsigned i = 0; i < objects->len; i++) {
        if (((const Object *)objects->pdata[i])->key == object->key) {
            object_unref(objects->pdata[i]);
            objects->pdata[i] = (void *)object;
            return;
        }
    }
    g_ptr_array_add(objects, (void *)object);
}

void
plain_remove(GPtrArray *objects, const ObjectKey *key)
{
    for (unsigned i = 0; i < objects->len; i++) {
        if (((const Object *)objects->pdata[i])->key == key) {
            g_ptr_array_remove_index(objects, i);
            return;
        }
    }
}

static const Object *
find(const GPtrArray *objects, const char *namespace, const char *name)
{
    for (unsigned i = 0; i < objects->len; i++) {
        const Object *object = objects->pdata[i];
        if (strcmp(object->key->name, name) == 0 &&
            (namespace == NULL || strcmp(object->key->namespace, namespace) == 0))
            return object;
    }
    return NULL;
}

/* ---- Labels and selectors ---- */

static const char *
label(const StringMap *labels, const char *key)
{
    for (unsigned i = 0; labels != NULL && i < labels->n_pairs; i++) {
        if (strcmp(labels->pairs[i].key, key) == 0)
            return labels->pairs[i].value;
    }
    return NULL;
}

static gboolean
list_has(const StringList *list, const char *text)
{
    for (unsigned i = 0; list != NULL && i < list->n_items; i++) {
        if (strcmp(list->items[i], text) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean
requirement_holds(const SelectRequirement *requirement, const StringMap *labels)
{
    const char *value = label(labels, requirement->key);

    switch (requirement->operator) {
    case SELECT_IN:
        return value != NULL && list_has(requirement->values, value);
    case SELECT_NOT_IN:
        return value == NULL || !list_has(requirement->values, value);
    case SELECT_EXISTS:
        return value != NULL;
    case SELECT_DOES_NOT_EXIST:
        return value == NULL;
    case SELECT_GT:
    case SELECT_LT:
        break; /* none of the clusters compared has such */
    }
    g_assert_not_reached();
}

static gboolean
selects(const LabelSelector *selector, const StringMap *labels)
{
    for (unsigned i = 0; selector != NULL && i < selector->n_requirements; i++) {
        if (!requirement_holds(&selector->requirements[i], labels))
            return FALSE;
    }
    return selector != NULL;
}

/* VB-30, VF-47 */
static gboolean
selects_node(const NodeSelector *selector, const StringMap *labels, const char *node_name)
{
    for (unsigned i = 0; selector != NULL && i < selector->n_terms; i++) {
        const NodeSelectorTerm *term = &selector->terms[i];
        gboolean says_something =
            term->field_name != NULL ||
            (term->expressions != NULL && term->expressions->n_requirements > 0);
        if (says_something &&
            (term->field_name == NULL ||
             (node_name != NULL && strcmp(term->field_name, node_name) == 0)) &&
            (term->expressions == NULL || selects(term->expressions, labels)))
            return TRUE;
    }
    return selector == NULL;
}

static const StringMap *
node_labels(const Asked *asked)
{
    return asked->node->meta.labels;
}

/* ---- Verdicts ---- */

static gboolean
reject(Asked *asked, gboolean unhelpable, const char *text)
{
    g_ptr_array_add(asked->reasons, g_strdup(text));
    asked->unhelpable = unhelpable;
    return FALSE;
}

/* ---- The pod's claims ---- */

static unsigned
n_claims(const Pod *pod)
{
    return pod->volumes == NULL ? 0 : pod->volumes->n_items;
}

/* NULL: missing */
static const Claim *
claim_of(const PlainCluster *cluster, const Pod *pod, unsigned i)
{
    return (const Claim *)find(cluster->claims, pod->meta.key->namespace,
                               pod->volumes->items[i].claim_name);
}

static const Volume *
volume_named(const PlainCluster *cluster, const char *name)
{
    return (const Volume *)find(cluster->volumes, NULL, name);
}

static const char *
text_or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static const StorageClass *
class_of(const PlainCluster *cluster, const Claim *claim)
{
    return (const StorageClass *)find(cluster->classes, NULL, text_or_empty(claim->class_name));
}

/* VB-14 */
static gboolean
is_bound(const Claim *claim)
{
    return text_or_empty(claim->volume_name)[0] != '\0' &&
           label(claim->meta.annotations, "pv.kubernetes.io/bind-completed") != NULL;
}

static gboolean
is_delayed(const PlainCluster *cluster, const Claim *claim)
{
    const StorageClass *class = class_of(cluster, claim);

    return !is_bound(claim) && class != NULL &&
           class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER &&
           text_or_empty(claim->volume_name)[0] == '\0';
}

/* ---- What is refused before any node is looked at ---- */

/* VF-31 */
static char *
restrictions_before(const PlainCluster *cluster, const Pod *pod)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const PodVolume *volume = &pod->volumes->items[i];
        if (!volume->ephemeral && claim_of(cluster, pod, i) == NULL)
            return g_strdup_printf("persistentvolumeclaim \"%s\" not found", volume->claim_name);
    }
    return NULL;
}

static gboolean
is_owned_by(const Claim *claim, const Pod *pod)
{
    const OwnerReferences *owners = claim->meta.owners;

    for (unsigned i = 0; owners != NULL && i < owners->n_items; i++) {
        if (owners->items[i].controller && object_uid_equal(owners->items[i].uid, pod->meta.uid))
            return TRUE;
    }
    return FALSE;
}

/* VB-13 */
static char *
claim_before(const PlainCluster *cluster, const Pod *pod, unsigned i)
{
    const Claim *claim = claim_of(cluster, pod, i);
    const char *name = pod->volumes->items[i].claim_name, *namespace = pod->meta.key->namespace;

    if (claim == NULL && pod->volumes->items[i].ephemeral)
        return g_strdup_printf("waiting for ephemeral volume controller to create the "
                               "persistentvolumeclaim \"%s\"",
                               name);
    if (claim == NULL)
        return g_strdup_printf("persistentvolumeclaim \"%s\" not found", name);
    if (claim->phase == CLAIM_LOST)
        return g_strdup_printf(
            "persistentvolumeclaim \"%s\" bound to non-existent persistentvolume \"%s\"", name,
            text_or_empty(claim->volume_name));
    if (claim->meta.deleted_at != TIME_UNSET)
        return g_strdup_printf("persistentvolumeclaim \"%s\" is being deleted", name);
    if (pod->volumes->items[i].ephemeral && !is_owned_by(claim, pod))
        return g_strdup_printf("PVC %s/%s was not created for pod %s/%s (pod is not owner)",
                               namespace, name, namespace, pod->meta.key->name);
    return NULL;
}

static char *
binding_before(const PlainCluster *cluster, const Pod *pod)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        char *why = claim_before(cluster, pod, i);
        if (why != NULL)
            return why;
    }
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = claim_of(cluster, pod, i);
        if (!is_bound(claim) && !is_delayed(cluster, claim))
            return g_strdup("pod has unbound immediate PersistentVolumeClaims");
    }
    return NULL;
}

/* VF-22. Whoever comes so far has claims that are bound or wait. */
static char *
zone_before(const PlainCluster *cluster, const Pod *pod)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = claim_of(cluster, pod, i);
        if (!pod->volumes->items[i].ephemeral && is_bound(claim) &&
            volume_named(cluster, claim->volume_name) == NULL)
            return g_strdup_printf("persistentvolume \"%s\" not found", claim->volume_name);
    }
    return NULL;
}

/* ---- The filters ---- */

static gboolean
tolerates(const Pod *pod, const char *key, const char *value, TaintEffect effect)
{
    const Tolerations *tolerations = pod->spec->tolerations;

    for (unsigned i = 0; tolerations != NULL && i < tolerations->n_items; i++) {
        const Toleration *toleration = &tolerations->items[i];
        gboolean any_key = toleration->exists && text_or_empty(toleration->key)[0] == '\0';
        if ((toleration->effect == -1 || toleration->effect == (int)effect) &&
            (any_key || strcmp(toleration->key, key) == 0) &&
            (toleration->exists || strcmp(text_or_empty(toleration->value), value) == 0))
            return TRUE;
    }
    return FALSE;
}

/* VF-40 */
static gboolean
node_unschedulable(Asked *asked)
{
    if (!asked->node->unschedulable ||
        tolerates(asked->pod, "node.kubernetes.io/unschedulable", "", TAINT_NO_SCHEDULE))
        return TRUE;
    return reject(asked, TRUE, "node(s) were unschedulable");
}

/* VF-42 */
static gboolean
taint_toleration(Asked *asked)
{
    const Taints *taints = asked->node->taints;

    for (unsigned i = 0; taints != NULL && i < taints->n_items; i++) {
        const Taint *taint = &taints->items[i];
        const char *value = text_or_empty(taint->value);
        if (taint->effect == TAINT_PREFER_NO_SCHEDULE ||
            tolerates(asked->pod, taint->key, value, taint->effect))
            continue;
        g_autofree char *text =
            g_strdup_printf("node(s) had untolerated taint {%s: %s}", taint->key, value);
        return reject(asked, TRUE, text);
    }
    return TRUE;
}

static gboolean
is_wanted(const Pod *pod, const Node *node)
{
    const StringMap *wanted = pod->spec->node_selector;

    for (unsigned i = 0; wanted != NULL && i < wanted->n_pairs; i++) {
        if (g_strcmp0(label(node->meta.labels, wanted->pairs[i].key), wanted->pairs[i].value) != 0)
            return FALSE;
    }
    return selects_node(pod->spec->required_nodes, node->meta.labels, node->meta.key->name);
}

/* VF-43 */
static gboolean
node_affinity(Asked *asked)
{
    if (is_wanted(asked->pod, asked->node))
        return TRUE;
    return reject(asked, TRUE, "node(s) didn't match Pod's node affinity/selector");
}

/* VF-50 */
static gboolean
resources_fit(Asked *asked)
{
    const PodSpec *asks = asked->pod->spec;
    NodeResources free = asked->node->allocatable;
    gboolean fits = TRUE;

    for (unsigned i = 0; i < asked->cluster->pods->len; i++) {
        const Pod *other = asked->cluster->pods->pdata[i];
        if (strcmp(other->node_name, asked->node->meta.key->name) != 0)
            continue;
        free.pods--;
        free.cpu_milli -= other->spec->cpu_milli;
        free.memory_bytes -= other->spec->memory_bytes;
    }
    if (free.pods < 1)
        fits = reject(asked, FALSE, "Too many pods");
    if (asks->cpu_milli > 0 && asks->cpu_milli > free.cpu_milli)
        fits = reject(asked, FALSE, "Insufficient cpu");
    if (asks->memory_bytes > 0 && asks->memory_bytes > free.memory_bytes)
        fits = reject(asked, FALSE, "Insufficient memory");
    return fits;
}

static gboolean
pod_names_claim(const Pod *pod, const Claim *claim)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        if (strcmp(pod->meta.key->namespace, claim->meta.key->namespace) == 0 &&
            strcmp(pod->volumes->items[i].claim_name, claim->meta.key->name) == 0)
            return TRUE;
    }
    return FALSE;
}

/* VF-31, VF-32: wherever the other pod is. */
static gboolean
volume_restrictions(Asked *asked)
{
    for (unsigned i = 0; i < n_claims(asked->pod); i++) {
        const Claim *claim = claim_of(asked->cluster, asked->pod, i);
        if (asked->pod->volumes->items[i].ephemeral || (claim->access_modes & ACCESS_RWOP) == 0)
            continue;
        for (unsigned k = 0; k < asked->cluster->pods->len; k++) {
            if (pod_names_claim(asked->cluster->pods->pdata[k], claim))
                return reject(asked, FALSE,
                              "node has pod using PersistentVolumeClaim with the same name and "
                              "ReadWriteOncePod access mode");
        }
    }
    return TRUE;
}

/* VF-5: "driver/handle"; (owned) NULL: not counted. @driver: (out): interned */
static char *
volume_name(const PlainCluster *cluster, const Claim *claim, const char **driver)
{
    const char *name = claim == NULL ? "" : text_or_empty(claim->volume_name);
    const Volume *volume = name[0] == '\0' ? NULL : volume_named(cluster, name);
    const StorageClass *class = claim == NULL ? NULL : class_of(cluster, claim);

    if (volume != NULL) {
        *driver = volume->source == NULL ? NULL : volume->source->driver;
        return *driver == NULL ? NULL : g_strdup_printf("%s/%s", *driver, volume->source->handle);
    }
    *driver = class == NULL ? NULL : class->provisioner;
    if (*driver == NULL || strncmp(*driver, "kubernetes.io/", strlen("kubernetes.io/")) == 0)
        return NULL;
    return g_strdup_printf("%s/claim %s", *driver, claim->meta.key->text);
}

/* Adds the names of the pod's volumes to a set from name to driver. */
static void
add_volume_names(const PlainCluster *cluster, const Pod *pod, GHashTable *names)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const char *driver;
        char *name = volume_name(cluster, claim_of(cluster, pod, i), &driver);
        if (name != NULL)
            g_hash_table_insert(names, name, (void *)driver);
    }
}

/* VF-3.6 */
static void
add_attached_names(const Asked *asked, GHashTable *names)
{
    for (unsigned i = 0; i < asked->cluster->attachments->len; i++) {
        const Attachment *attachment = asked->cluster->attachments->pdata[i];
        const Volume *volume =
            attachment->attacher == NULL || attachment->volume_name == NULL ||
                    strcmp(attachment->node_name, asked->node->meta.key->name) != 0
                ? NULL
                : volume_named(asked->cluster, attachment->volume_name);
        if (volume != NULL && volume->source != NULL && volume->source->driver != NULL)
            g_hash_table_insert(
                names, g_strdup_printf("%s/%s", attachment->attacher, volume->source->handle),
                (void *)attachment->attacher);
    }
}

static unsigned
count_of_driver(GHashTable *names, GHashTable *without, const char *driver)
{
    GHashTableIter iter;
    void *name, *of;
    unsigned n = 0;

    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, &of)) {
        if (strcmp(of, driver) == 0 && (without == NULL || !g_hash_table_contains(without, name)))
            n++;
    }
    return n;
}

/* VF-3, VF-4 */
static gboolean
volume_limits(Asked *asked)
{
    const CsiNode *csi_node =
        (const CsiNode *)find(asked->cluster->csi_nodes, NULL, asked->node->meta.key->name);
    g_autoptr(GHashTable) new = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) of_pods = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) all = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    add_volume_names(asked->cluster, asked->pod, new);
    for (unsigned i = 0; i < asked->cluster->pods->len; i++) {
        const Pod *other = asked->cluster->pods->pdata[i];
        if (strcmp(other->node_name, asked->node->meta.key->name) != 0)
            continue;
        add_volume_names(asked->cluster, other, of_pods);
        add_volume_names(asked->cluster, other, all);
    }
    add_attached_names(asked, all);
    for (unsigned i = 0;
         csi_node != NULL && csi_node->drivers != NULL && i < csi_node->drivers->n_items; i++) {
        const CsiNodeDriver *driver = &csi_node->drivers->items[i];
        unsigned n_new = count_of_driver(new, of_pods, driver->name);
        if (driver->allocatable_count >= 0 && n_new > 0 &&
            count_of_driver(all, NULL, driver->name) + n_new > (unsigned)driver->allocatable_count)
            return reject(asked, FALSE, "node(s) exceed max volume count");
    }
    return TRUE;
}

/* ---- VolumeBinding ---- */

/* VB-40.2 */
static gboolean
is_reserved_for(const Volume *volume, const Claim *claim)
{
    const ClaimReference *ref = &volume->claim_ref;

    return ref->claim == claim->meta.key &&
           (!object_uid_is_set(ref->uid) || object_uid_equal(ref->uid, claim->meta.uid));
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
    return strcmp((*(const Object *const *)a)->key->name, (*(const Object *const *)b)->key->name);
}

/* VB-40.1 to VB-40.6 */
static gboolean
is_candidate(const Volume *volume, const Claim *claim, const GPtrArray *excluded)
{
    return !g_ptr_array_find((GPtrArray *)excluded, volume, NULL) &&
           strcmp(text_or_empty(volume->class_name), claim->class_name) == 0 &&
           (volume->claim_ref.claim == NULL || is_reserved_for(volume, claim)) &&
           volume->capacity_bytes >= claim->request_bytes &&
           volume->volume_mode == claim->volume_mode && volume->meta.deleted_at == TIME_UNSET;
}

/* VB-40.7 to VB-41 */
static const Volume *
match(const PlainCluster *cluster, const Claim *claim, const Node *node, const GPtrArray *excluded)
{
    g_autoptr(GPtrArray) volumes = g_ptr_array_new();
    const Volume *best = NULL;

    for (unsigned i = 0; i < cluster->volumes->len; i++)
        g_ptr_array_add(volumes, cluster->volumes->pdata[i]);
    g_ptr_array_sort(volumes, by_name);
    for (unsigned i = 0; i < volumes->len; i++) {
        const Volume *volume = volumes->pdata[i];
        gboolean reached = selects_node(volume->node_affinity, node->meta.labels, NULL);
        if (!is_candidate(volume, claim, excluded))
            continue;
        if (volume->claim_ref.claim != NULL)
            return reached ? volume : NULL;
        if (volume->phase == VOLUME_AVAILABLE && reached &&
            (claim->selector == NULL || selects(claim->selector, volume->meta.labels)) &&
            (claim->access_modes & ~volume->access_modes) == 0 &&
            (best == NULL || volume->capacity_bytes < best->capacity_bytes))
            best = volume;
    }
    return best;
}

/* VB-51 */
static gboolean
has_capacity(const PlainCluster *cluster, const Claim *claim, const Node *node)
{
    const StorageClass *class = class_of(cluster, claim);
    const CsiDriverObject *driver =
        (const CsiDriverObject *)find(cluster->drivers, NULL, class->provisioner);

    if (claim->request_bytes == 0 || driver == NULL || !driver->storage_capacity)
        return TRUE;
    for (unsigned i = 0; i < cluster->capacities->len; i++) {
        const StorageCapacity *capacity = cluster->capacities->pdata[i];
        int64_t limit =
            capacity->maximum_bytes >= 0 ? capacity->maximum_bytes : capacity->capacity_bytes;
        if (strcmp(capacity->class_name, class->meta.key->name) == 0 && limit >= 0 &&
            limit >= claim->request_bytes && selects(capacity->topology, node->meta.labels))
            return TRUE;
    }
    return FALSE;
}

#define NO_VOLUMES "node(s) didn't find available persistent volumes to bind"
#define NO_STORAGE "node(s) did not have enough free storage"

/* VB-50. NULL: it can be made */
static const char *
provision(const PlainCluster *cluster, const Claim *claim, const Node *node)
{
    const StorageClass *class = class_of(cluster, claim);
    const char *provisioner = text_or_empty(class->provisioner);

    if (provisioner[0] == '\0' || strcmp(provisioner, "kubernetes.io/no-provisioner") == 0)
        return NO_VOLUMES;
    if (class->allowed_topologies != NULL && class->allowed_topologies->n_terms > 0 &&
        !selects_node(class->allowed_topologies, node->meta.labels, NULL))
        return NO_VOLUMES;
    return has_capacity(cluster, claim, node) ? NULL : NO_STORAGE;
}

/* The delayed claims of the pod, the smallest first; of equals the first of the pod's (VB-23).
 * (owned) */
static GPtrArray *
delayed_claims(const PlainCluster *cluster, const Pod *pod)
{
    GPtrArray *sorted = g_ptr_array_new();

    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = claim_of(cluster, pod, i);
        unsigned at = 0;
        if (is_bound(claim))
            continue;
        while (at < sorted->len &&
               ((const Claim *)sorted->pdata[at])->request_bytes <= claim->request_bytes)
            at++;
        g_ptr_array_insert(sorted, (int)at, (void *)claim);
    }
    return sorted;
}

static const char *
selected_node(const Claim *claim)
{
    return label(claim->meta.annotations, "volume.kubernetes.io/selected-node");
}

/* VB-22: those with a node, in the order of the pod's volumes. */
static void
add_selected(const PlainCluster *cluster, const Pod *pod, GPtrArray *claims)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = claim_of(cluster, pod, i);
        if (!is_bound(claim) && selected_node(claim) != NULL)
            g_ptr_array_add(claims, (void *)claim);
    }
}

/* VB-22 to VB-24. @chosen: of Object: the volume of each claim of @sorted, or the claim. Returns:
 * the reason; NULL: all met */
static const char *
find_volumes(const PlainCluster *cluster,
             const Pod *pod,
             const GPtrArray *sorted,
             const Node *node,
             GPtrArray *chosen)
{
    g_autoptr(GPtrArray) taken = g_ptr_array_new();
    g_autoptr(GPtrArray) to_provision = g_ptr_array_new();

    add_selected(cluster, pod, to_provision);
    for (unsigned i = 0; i < to_provision->len; i++) {
        if (strcmp(selected_node(to_provision->pdata[i]), node->meta.key->name) != 0)
            return NO_VOLUMES;
    }
    for (unsigned i = 0; i < sorted->len; i++) {
        const Claim *claim = sorted->pdata[i];
        const Volume *volume =
            selected_node(claim) != NULL ? NULL : match(cluster, claim, node, taken);
        if (volume == NULL && selected_node(claim) == NULL)
            g_ptr_array_add(to_provision, (void *)claim);
        if (volume != NULL)
            g_ptr_array_add(taken, (void *)volume);
        g_ptr_array_add(chosen, volume == NULL ? (void *)claim : (void *)volume);
    }
    for (unsigned i = 0; i < to_provision->len; i++) {
        const char *why = provision(cluster, to_provision->pdata[i], node);
        if (why != NULL)
            return why;
    }
    return NULL;
}

/* VB-20, VB-21 */
static gboolean
volume_binding(Asked *asked)
{
    g_autoptr(GPtrArray) sorted = delayed_claims(asked->cluster, asked->pod);
    g_autoptr(GPtrArray) chosen = g_ptr_array_new();
    const char *bound_conflict = NULL;

    for (unsigned i = 0; i < n_claims(asked->pod) && bound_conflict == NULL; i++) {
        const Claim *claim = claim_of(asked->cluster, asked->pod, i);
        const Volume *volume =
            is_bound(claim) ? volume_named(asked->cluster, claim->volume_name) : NULL;
        if (is_bound(claim) && volume == NULL)
            bound_conflict =
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
        else if (volume != NULL && !selects_node(volume->node_affinity, node_labels(asked), NULL))
            bound_conflict = "node(s) had volume node affinity conflict";
    }
    const char *conflict = find_volumes(asked->cluster, asked->pod, sorted, asked->node, chosen);
    if (bound_conflict != NULL)
        reject(asked, TRUE, bound_conflict);
    if (conflict != NULL)
        reject(asked, TRUE, conflict);
    return bound_conflict == NULL && conflict == NULL;
}

char *
plain_choices(const PlainCluster *cluster, const Pod *pod, const Node *node)
{
    g_autoptr(GPtrArray) sorted = delayed_claims(cluster, pod);
    g_autoptr(GPtrArray) chosen = g_ptr_array_new();
    GString *text = g_string_new(NULL);

    find_volumes(cluster, pod, sorted, node, chosen);
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = claim_of(cluster, pod, i);
        for (unsigned k = 0; k < sorted->len; k++) {
            if (sorted->pdata[k] == claim)
                g_string_append_printf(text, "%s=%s ", claim->meta.key->name,
                                       chosen->pdata[k] == claim
                                           ? "new"
                                           : ((const Object *)chosen->pdata[k])->key->name);
        }
    }
    return g_string_free(text, FALSE);
}

/* ---- VolumeZone ---- */

/* VF-23. (owned) NULL: the label says nothing */
static char **
zones_of_label(const char *value)
{
    char **zones = g_strsplit(value, "__", -1);

    for (unsigned i = 0; zones[i] != NULL; i++) {
        if (g_strstrip(zones[i])[0] == '\0') {
            g_strfreev(zones);
            return NULL;
        }
    }
    return zones;
}

/* VF-25 */
static const char *
zone_of_node(const Asked *asked, const char *key)
{
    const char *value = label(node_labels(asked), key);

    if (value == NULL && strcmp(key, BETA_ZONE) == 0)
        return label(node_labels(asked), ZONE);
    if (value == NULL && strcmp(key, BETA_REGION) == 0)
        return label(node_labels(asked), REGION);
    return value;
}

static gboolean
zone_allows(const Asked *asked, const Volume *volume, const char *key)
{
    const char *value = label(volume->meta.labels, key);
    g_auto(GStrv) zones = value == NULL || value[0] == '\0' ? NULL : zones_of_label(value);
    const char *zone = zone_of_node(asked, key);

    return zones == NULL || (zone != NULL && g_strv_contains((const char *const *)zones, zone));
}

static gboolean
volume_zone(Asked *asked)
{
    static const char *const keys[] = {BETA_ZONE, BETA_REGION, ZONE, REGION};
    gboolean has_zone = FALSE;

    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        has_zone = has_zone || label(node_labels(asked), keys[i]) != NULL;
    for (unsigned i = 0; has_zone && i < n_claims(asked->pod); i++) {
        const Claim *claim = claim_of(asked->cluster, asked->pod, i);
        if (asked->pod->volumes->items[i].ephemeral || !is_bound(claim))
            continue;
        const Volume *volume = volume_named(asked->cluster, claim->volume_name);
        for (unsigned k = 0; k < G_N_ELEMENTS(keys); k++) {
            if (!zone_allows(asked, volume, keys[k]))
                return reject(asked, TRUE, "node(s) had no available volume zone");
        }
    }
    return TRUE;
}

/* ---- PodTopologySpread ---- */

static const Node *
node_of(const PlainCluster *cluster, const Pod *pod)
{
    return (const Node *)find(cluster->nodes, NULL, pod->node_name);
}

/* VF-64 */
static gboolean
is_eligible(const Pod *pod, const Node *node)
{
    for (unsigned i = 0; i < pod->spec->n_spread; i++) {
        if (pod->spec->spread[i].do_not_schedule &&
            label(node->meta.labels, pod->spec->spread[i].topology_key) == NULL)
            return FALSE;
    }
    return is_wanted(pod, node);
}

/* Pods that count, on eligible nodes of this domain. */
static int
count_in_domain(const Asked *asked, const SpreadConstraint *constraint, const char *domain)
{
    int n = 0;

    for (unsigned i = 0; i < asked->cluster->pods->len; i++) {
        const Pod *other = asked->cluster->pods->pdata[i];
        const Node *node = node_of(asked->cluster, other);
        if (node != NULL && is_eligible(asked->pod, node) &&
            strcmp(label(node->meta.labels, constraint->topology_key), domain) == 0 &&
            strcmp(other->meta.key->namespace, asked->pod->meta.key->namespace) == 0 &&
            other->meta.deleted_at == TIME_UNSET &&
            selects(constraint->selector, other->meta.labels))
            n++;
    }
    return n;
}

/* VF-63 */
static int
smallest_count(const Asked *asked, const SpreadConstraint *constraint)
{
    g_autoptr(GHashTable) domains = g_hash_table_new(g_str_hash, g_str_equal);
    int min = INT32_MAX;

    for (unsigned i = 0; i < asked->cluster->nodes->len; i++) {
        const Node *node = asked->cluster->nodes->pdata[i];
        if (!is_eligible(asked->pod, node))
            continue;
        const char *domain = label(node->meta.labels, constraint->topology_key);
        g_hash_table_add(domains, (void *)domain);
        min = MIN(min, count_in_domain(asked, constraint, domain));
    }
    return (int)g_hash_table_size(domains) < MAX(constraint->min_domains, 1) ? 0 : min;
}

static gboolean
topology_spread(Asked *asked)
{
    for (unsigned i = 0; i < asked->pod->spec->n_spread; i++) {
        const SpreadConstraint *constraint = &asked->pod->spec->spread[i];
        if (!constraint->do_not_schedule)
            continue;
        const char *domain = label(node_labels(asked), constraint->topology_key);
        if (domain == NULL)
            return reject(asked, TRUE,
                          "node(s) didn't match pod topology spread constraints (missing "
                          "required label)");
        int skew = count_in_domain(asked, constraint, domain) +
                   (selects(constraint->selector, asked->pod->meta.labels) ? 1 : 0) -
                   smallest_count(asked, constraint);
        if (skew > constraint->max_skew)
            return reject(asked, FALSE, "node(s) didn't match pod topology spread constraints");
    }
    return TRUE;
}

/* ---- InterPodAffinity ---- */

/* Whether a term of @owner is about @other. */
static gboolean
term_is_about(const PodAffinityTerm *term, const Pod *owner, const Pod *other)
{
    const char *namespace = other->meta.key->namespace;

    return (term->namespaces == NULL ? strcmp(owner->meta.key->namespace, namespace) == 0
                                     : list_has(term->namespaces, namespace)) &&
           selects(term->selector, other->meta.labels);
}

static gboolean
wants_all_of(const Pod *pod, const Pod *other)
{
    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        if (term->weight == 0 && !term->anti && !term_is_about(term, pod, other))
            return FALSE;
    }
    return TRUE;
}

static gboolean
shares_domain(const Asked *asked, const Pod *other, const char *key)
{
    const Node *node = node_of(asked->cluster, other);
    const char *domain = label(node_labels(asked), key);

    return node != NULL && domain != NULL && g_strcmp0(label(node->meta.labels, key), domain) == 0;
}

/* VF-71: is there a pod that all required terms are about in the domain of each? */
static gboolean
has_company(const Asked *asked)
{
    const Pod *pod = asked->pod;
    gboolean all_there = TRUE, any_anywhere = FALSE;

    for (unsigned i = 0; i < pod->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &pod->spec->pod_terms[i];
        gboolean is_there = FALSE;
        if (term->weight != 0 || term->anti)
            continue;
        if (label(node_labels(asked), term->topology_key) == NULL)
            return FALSE;
        for (unsigned k = 0; k < asked->cluster->pods->len; k++) {
            const Pod *other = asked->cluster->pods->pdata[k];
            const Node *node = node_of(asked->cluster, other);
            if (node == NULL || !wants_all_of(pod, other) ||
                label(node->meta.labels, term->topology_key) == NULL)
                continue;
            any_anywhere = TRUE;
            is_there = is_there || shares_domain(asked, other, term->topology_key);
        }
        all_there = all_there && is_there;
    }
    return all_there || (!any_anywhere && wants_all_of(pod, pod));
}

/* VF-72: a required anti-affinity term of @owner, about @other, and the two would be neighbours. */
static gboolean
repels(const Asked *asked, const Pod *owner, const Pod *other, const Pod *neighbour)
{
    for (unsigned i = 0; i < owner->spec->n_pod_terms; i++) {
        const PodAffinityTerm *term = &owner->spec->pod_terms[i];
        if (term->weight == 0 && term->anti && term_is_about(term, owner, other) &&
            shares_domain(asked, neighbour, term->topology_key))
            return TRUE;
    }
    return FALSE;
}

/* VF-70 */
static gboolean
pod_affinity(Asked *asked)
{
    const GPtrArray *pods = asked->cluster->pods;

    if (!has_company(asked))
        return reject(asked, TRUE, "node(s) didn't match pod affinity rules");
    for (unsigned i = 0; i < pods->len; i++) {
        if (repels(asked, asked->pod, pods->pdata[i], pods->pdata[i]))
            return reject(asked, FALSE, "node(s) didn't match pod anti-affinity rules");
    }
    for (unsigned i = 0; i < pods->len; i++) {
        if (repels(asked, pods->pdata[i], asked->pod, pods->pdata[i]))
            return reject(asked, FALSE, "node(s) didn't satisfy existing pods anti-affinity rules");
    }
    return TRUE;
}

/* ---- All nodes ---- */

/* SCH-51 */
static gboolean
passes_alone(Asked *asked)
{
    static gboolean (*const filters[])(Asked *) = {
        node_unschedulable, taint_toleration, node_affinity, resources_fit,   volume_restrictions,
        volume_limits,      volume_binding,   volume_zone,   topology_spread, pod_affinity,
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(filters); i++) {
        if (!filters[i](asked))
            return FALSE;
    }
    return TRUE;
}

/* SCH-59: with those for whom the node is kept as if they were there, and without. */
static gboolean
passes(Asked *asked)
{
    g_autoptr(GPtrArray) pods = g_ptr_array_copy(asked->cluster->pods, NULL, NULL);
    PlainCluster fuller = *asked->cluster;
    Asked with_nominated = *asked;

    for (unsigned i = 0; i < fuller.nominated->len; i++) {
        const Pod *other = fuller.nominated->pdata[i];
        if (strcmp(other->node_name, asked->node->meta.key->name) == 0 &&
            other->spec->priority >= asked->pod->spec->priority &&
            other->meta.key != asked->pod->meta.key)
            g_ptr_array_add(pods, (void *)other);
    }
    g_ptr_array_set_free_func(pods, NULL);
    fuller.pods = pods;
    with_nominated.cluster = &fuller;
    if (pods->len > asked->cluster->pods->len && !passes_alone(&with_nominated)) {
        asked->unhelpable = with_nominated.unhelpable;
        return FALSE;
    }
    return passes_alone(asked);
}

static gint
compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* SCH-90: equal reasons counted, sorted as text. (owned) */
static char *
count_reasons(GPtrArray *reasons)
{
    g_autoptr(GPtrArray) items = g_ptr_array_new_with_free_func(g_free);

    g_ptr_array_sort(reasons, compare_texts);
    for (unsigned i = 0, n; i < reasons->len; i += n) {
        for (n = 1; i + n < reasons->len && g_str_equal(reasons->pdata[i], reasons->pdata[i + n]);)
            n++;
        g_ptr_array_add(items, g_strdup_printf("%u %s", n, (const char *)reasons->pdata[i]));
    }
    g_ptr_array_sort(items, compare_texts);
    g_ptr_array_add(items, NULL);
    return g_strjoinv(", ", (char **)items->pdata);
}

/* ---- Preemption ---- */

static int64_t
started(const Pod *pod)
{
    return pod->started_at == TIME_UNSET ? INT64_MAX : pod->started_at;
}

static gint
by_importance(gconstpointer a, gconstpointer b)
{
    const Pod *x = *(const Pod *const *)a, *y = *(const Pod *const *)b;

    if (x->spec->priority != y->spec->priority)
        return x->spec->priority > y->spec->priority ? -1 : 1;
    if (started(x) != started(y))
        return started(x) < started(y) ? -1 : 1;
    return strcmp(x->meta.key->text, y->meta.key->text);
}

/* Whether the node takes the pod in a cluster without @absent. */
static gboolean
passes_without(const PlainCluster *cluster,
               const Pod *pod,
               const Node *node,
               const GPtrArray *absent,
               GPtrArray *reasons)
{
    g_autoptr(GPtrArray) pods = g_ptr_array_new();
    PlainCluster reduced = *cluster;
    Asked asked = {&reduced, pod, node, reasons, FALSE};

    for (unsigned i = 0; i < cluster->pods->len; i++) {
        if (!g_ptr_array_find((GPtrArray *)absent, cluster->pods->pdata[i], NULL))
            g_ptr_array_add(pods, cluster->pods->pdata[i]);
    }
    reduced.pods = pods;
    return passes(&asked);
}

/* SCH-112. (owned): NULL: the node does not do; why not is added to @reasons */
static GPtrArray *
find_victims(const PlainCluster *cluster, const Pod *pod, const Node *node, GPtrArray *reasons)
{
    g_autoptr(GPtrArray) lower = g_ptr_array_new(), unused = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < cluster->pods->len; i++) {
        const Pod *other = cluster->pods->pdata[i];
        if (strcmp(other->node_name, node->meta.key->name) == 0 &&
            other->spec->priority < pod->spec->priority)
            g_ptr_array_add(lower, (void *)other);
    }
    if (lower->len == 0)
        g_ptr_array_add(reasons, g_strdup("No preemption victims found for incoming pod"));
    if (lower->len == 0 || !passes_without(cluster, pod, node, lower, reasons))
        return NULL;
    g_ptr_array_sort(lower, by_importance);
    GPtrArray *victims = g_ptr_array_copy(lower, NULL, NULL);
    for (unsigned i = 0; i < lower->len; i++) {
        unsigned at;
        g_ptr_array_find(victims, lower->pdata[i], &at);
        g_ptr_array_remove_index(victims, at);
        if (!passes_without(cluster, pod, node, victims, unused))
            g_ptr_array_insert(victims, (int)at, lower->pdata[i]);
    }
    return victims;
}

static int
compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int64_t
sum_of_priorities(const GPtrArray *victims)
{
    int64_t sum = 0;

    for (unsigned i = 0; i < victims->len; i++)
        sum += ((const Pod *)victims->pdata[i])->spec->priority + (INT64_C(1) << 31);
    return sum;
}

/* SCH-113. Below 0: the first is better */
static int
compare_victims(const GPtrArray *a, const GPtrArray *b)
{
    const Pod *highest_of_a = a->pdata[0], *highest_of_b = b->pdata[0];
    int order = compare_numbers(highest_of_a->spec->priority, highest_of_b->spec->priority);

    if (order == 0)
        order = compare_numbers(sum_of_priorities(a), sum_of_priorities(b));
    if (order == 0)
        order = compare_numbers(a->len, b->len);
    return order != 0 ? order : compare_numbers(started(highest_of_b), started(highest_of_a));
}

static void
add_nominee(GPtrArray *nominees, const Node *node, const GPtrArray *victims)
{
    GString *text = g_string_new(node->meta.key->name);

    g_string_append(text, ": ");
    for (unsigned i = 0; i < victims->len; i++)
        g_string_append_printf(text, "%s ", ((const Object *)victims->pdata[i])->key->name);
    g_ptr_array_add(nominees, g_string_free(text, FALSE));
}

/* SCH-93. @helpable: of Node. Returns: (owned): what is said; NULL: nothing, there are nominees */
static char *
preempt(const PlainCluster *cluster, const Pod *pod, const GPtrArray *helpable, GPtrArray *nominees)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) best = NULL;
    unsigned n_nodes = cluster->nodes->len;

    if (pod->spec->preemption_policy == PREEMPT_NEVER)
        return g_strdup(" preemption: not eligible due to preemptionPolicy=Never.");
    for (unsigned i = 0; i < helpable->len; i++) {
        g_autoptr(GPtrArray) victims = find_victims(cluster, pod, helpable->pdata[i], reasons);
        int order = victims == NULL ? 1 : best == NULL ? -1 : compare_victims(victims, best);
        if (order < 0)
            g_ptr_array_set_size(nominees, 0);
        if (order <= 0)
            add_nominee(nominees, helpable->pdata[i], victims);
        if (order < 0) {
            g_clear_pointer(&best, g_ptr_array_unref);
            best = g_steal_pointer(&victims);
        }
    }
    if (best != NULL)
        return NULL;
    for (unsigned i = helpable->len; i < n_nodes; i++)
        g_ptr_array_add(reasons, g_strdup("Preemption is not helpful for scheduling"));
    g_autofree char *text = count_reasons(reasons);
    return g_strdup_printf(" preemption: 0/%u nodes are available: %s.", n_nodes, text);
}

static char *
message(const PlainCluster *cluster,
        const Pod *pod,
        const GPtrArray *helpable,
        const char *why,
        GPtrArray *nominees)
{
    g_autofree char *preemption = preempt(cluster, pod, helpable, nominees);

    return g_strdup_printf("0/%u nodes are available: %s.%s", cluster->nodes->len, why,
                           preemption == NULL ? "" : preemption);
}

gboolean
plain_looks_at(const Pod *pod, const Node *node)
{
    const NodeSelector *required = pod->spec->required_nodes;
    gboolean is_named = required == NULL || required->n_terms == 0;

    for (unsigned i = 0; required != NULL && i < required->n_terms; i++) {
        const char *name = required->terms[i].field_name;
        is_named = is_named || name == NULL || strcmp(name, node->meta.key->name) == 0;
    }
    return is_named;
}

char *
plain_filter(const PlainCluster *cluster, const Pod *pod, GPtrArray *feasible, GPtrArray *nominees)
{
    g_autoptr(GPtrArray) reasons = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) helpable = g_ptr_array_new();
    g_autofree char *why = restrictions_before(cluster, pod);

    if (cluster->nodes->len == 0)
        return g_strdup("no nodes available to schedule pods");
    if (why == NULL)
        why = binding_before(cluster, pod);
    if (why == NULL)
        why = zone_before(cluster, pod);
    if (why != NULL)
        return message(cluster, pod, helpable, why, nominees);
    for (unsigned i = 0; i < cluster->nodes->len; i++) {
        Asked asked = {cluster, pod, cluster->nodes->pdata[i], reasons, FALSE};
        if (!plain_looks_at(pod, asked.node)) /* SCH-53 */
            g_ptr_array_add(reasons, g_strdup("node(s) didn't satisfy plugin(s) [NodeAffinity]"));
        else if (passes(&asked))
            g_ptr_array_add(feasible, (void *)asked.node);
        else if (!asked.unhelpable)
            g_ptr_array_add(helpable, (void *)asked.node);
    }
    if (feasible->len > 0)
        return NULL;
    why = count_reasons(reasons);
    return message(cluster, pod, helpable, why, nominees);
}
