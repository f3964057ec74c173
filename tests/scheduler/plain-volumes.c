/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain-private.h"

#include <string.h>

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

/* ---- The pod's claims ---- */

static unsigned
n_claims(const Pod *pod)
{
    return pod->volumes == NULL ? 0 : pod->volumes->n_items;
}

/* NULL: missing */
static const Claim *
plain_volumes_claim_of(const PlainCluster *cluster, const Pod *pod, unsigned i)
{
    return (const Claim *)plain_find(cluster->claims, pod->meta.key->namespace,
                                     pod->volumes->items[i].claim_name);
}

static const Volume *
volume_named(const PlainCluster *cluster, const char *name)
{
    return (const Volume *)plain_find(cluster->volumes, NULL, name);
}

const char *
plain_text_or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static const StorageClass *
plain_volumes_class_of(const PlainCluster *cluster, const Claim *claim)
{
    return (const StorageClass *)plain_find(cluster->classes, NULL,
                                            plain_text_or_empty(claim->class_name));
}

/* VB-14 */
static gboolean
is_bound(const Claim *claim)
{
    return plain_text_or_empty(claim->volume_name)[0] != '\0' &&
           plain_label(claim->meta.annotations, "pv.kubernetes.io/bind-completed") != NULL;
}

static gboolean
is_delayed(const PlainCluster *cluster, const Claim *claim)
{
    const StorageClass *class = plain_volumes_class_of(cluster, claim);

    return !is_bound(claim) && class != NULL &&
           class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER &&
           plain_text_or_empty(claim->volume_name)[0] == '\0';
}

/* ---- What is refused before any node is looked at ---- */

/* VF-31 */
char *
plain_restrictions_before(const PlainCluster *cluster, const Pod *pod)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const PodVolume *volume = &pod->volumes->items[i];
        if (!volume->ephemeral && plain_volumes_claim_of(cluster, pod, i) == NULL)
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
    const Claim *claim = plain_volumes_claim_of(cluster, pod, i);
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
            plain_text_or_empty(claim->volume_name));
    if (claim->meta.deleted_at != TIME_UNSET)
        return g_strdup_printf("persistentvolumeclaim \"%s\" is being deleted", name);
    if (pod->volumes->items[i].ephemeral && !is_owned_by(claim, pod))
        return g_strdup_printf("PVC %s/%s was not created for pod %s/%s (pod is not owner)",
                               namespace, name, namespace, pod->meta.key->name);
    return NULL;
}

char *
plain_binding_before(const PlainCluster *cluster, const Pod *pod)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        char *why = claim_before(cluster, pod, i);
        if (why != NULL)
            return why;
    }
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = plain_volumes_claim_of(cluster, pod, i);
        if (!is_bound(claim) && !is_delayed(cluster, claim))
            return g_strdup("pod has unbound immediate PersistentVolumeClaims");
    }
    return NULL;
}

/* VF-22. All claims are bound, or wait, at this point. */
char *
plain_zone_before(const PlainCluster *cluster, const Pod *pod)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = plain_volumes_claim_of(cluster, pod, i);
        if (!pod->volumes->items[i].ephemeral && is_bound(claim) &&
            volume_named(cluster, claim->volume_name) == NULL)
            return g_strdup_printf("persistentvolume \"%s\" not found", claim->volume_name);
    }
    return NULL;
}

/* ---- Volumes that nodes have ---- */

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
gboolean
plain_volume_restrictions(Asked *asked)
{
    for (unsigned i = 0; i < n_claims(asked->pod); i++) {
        const Claim *claim = plain_volumes_claim_of(asked->cluster, asked->pod, i);
        if (asked->pod->volumes->items[i].ephemeral || (claim->access_modes & ACCESS_RWOP) == 0)
            continue;
        for (unsigned k = 0; k < asked->cluster->pods->len; k++) {
            if (pod_names_claim(asked->cluster->pods->pdata[k], claim))
                return plain_reject(
                    asked, FALSE,
                    "node has pod using PersistentVolumeClaim with the same name and "
                    "ReadWriteOncePod access mode");
        }
    }
    return TRUE;
}

/* VF-5: "driver/handle"; (owned) NULL: not counted. @driver: (out): interned */
static char *
plain_volumes_volume_name(const PlainCluster *cluster, const Claim *claim, const char **driver)
{
    const char *name = claim == NULL ? "" : plain_text_or_empty(claim->volume_name);
    const Volume *volume = name[0] == '\0' ? NULL : volume_named(cluster, name);
    const StorageClass *class = claim == NULL ? NULL : plain_volumes_class_of(cluster, claim);

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
        char *name =
            plain_volumes_volume_name(cluster, plain_volumes_claim_of(cluster, pod, i), &driver);
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
gboolean
plain_volume_limits(Asked *asked)
{
    const CsiNode *csi_node =
        (const CsiNode *)plain_find(asked->cluster->csi_nodes, NULL, asked->node->meta.key->name);
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
            return plain_reject(asked, FALSE, "node(s) exceed max volume count");
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
           strcmp(plain_text_or_empty(volume->class_name), claim->class_name) == 0 &&
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
        gboolean reached = plain_selects_node(volume->node_affinity, node->meta.labels, NULL);
        if (!is_candidate(volume, claim, excluded))
            continue;
        if (volume->claim_ref.claim != NULL)
            return reached ? volume : NULL;
        if (volume->phase == VOLUME_AVAILABLE && reached &&
            (claim->selector == NULL || plain_selects(claim->selector, volume->meta.labels)) &&
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
    const StorageClass *class = plain_volumes_class_of(cluster, claim);
    const CsiDriverObject *driver =
        (const CsiDriverObject *)plain_find(cluster->drivers, NULL, class->provisioner);

    if (claim->request_bytes == 0 || driver == NULL || !driver->storage_capacity)
        return TRUE;
    for (unsigned i = 0; i < cluster->capacities->len; i++) {
        const StorageCapacity *capacity = cluster->capacities->pdata[i];
        int64_t limit =
            capacity->maximum_bytes >= 0 ? capacity->maximum_bytes : capacity->capacity_bytes;
        if (strcmp(capacity->class_name, class->meta.key->name) == 0 && limit >= 0 &&
            limit >= claim->request_bytes && plain_selects(capacity->topology, node->meta.labels))
            return TRUE;
    }
    return FALSE;
}

#define NO_VOLUMES "node(s) didn't find available persistent volumes to bind"
#define NO_STORAGE "node(s) did not have enough free storage"

/* VB-50. NULL: it can be made */
static const char *
plain_volumes_provision(const PlainCluster *cluster, const Claim *claim, const Node *node)
{
    const StorageClass *class = plain_volumes_class_of(cluster, claim);
    const char *provisioner = plain_text_or_empty(class->provisioner);

    if (provisioner[0] == '\0' || strcmp(provisioner, "kubernetes.io/no-provisioner") == 0)
        return NO_VOLUMES;
    if (class->allowed_topologies != NULL && class->allowed_topologies->n_terms > 0 &&
        !plain_selects_node(class->allowed_topologies, node->meta.labels, NULL))
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
        const Claim *claim = plain_volumes_claim_of(cluster, pod, i);
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
    return plain_label(claim->meta.annotations, "volume.kubernetes.io/selected-node");
}

/* VB-22: those with a node, in the order of the pod's volumes. */
static void
add_selected(const PlainCluster *cluster, const Pod *pod, GPtrArray *claims)
{
    for (unsigned i = 0; i < n_claims(pod); i++) {
        const Claim *claim = plain_volumes_claim_of(cluster, pod, i);
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
        const char *why = plain_volumes_provision(cluster, to_provision->pdata[i], node);
        if (why != NULL)
            return why;
    }
    return NULL;
}

/* VB-20, VB-21 */
gboolean
plain_volume_binding(Asked *asked)
{
    g_autoptr(GPtrArray) sorted = delayed_claims(asked->cluster, asked->pod);
    g_autoptr(GPtrArray) chosen = g_ptr_array_new();
    const char *bound_conflict = NULL;

    for (unsigned i = 0; i < n_claims(asked->pod) && bound_conflict == NULL; i++) {
        const Claim *claim = plain_volumes_claim_of(asked->cluster, asked->pod, i);
        const Volume *volume =
            is_bound(claim) ? volume_named(asked->cluster, claim->volume_name) : NULL;
        if (is_bound(claim) && volume == NULL)
            bound_conflict =
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
        else if (volume != NULL &&
                 !plain_selects_node(volume->node_affinity, plain_node_labels(asked), NULL))
            bound_conflict = "node(s) had volume node affinity conflict";
    }
    const char *conflict = find_volumes(asked->cluster, asked->pod, sorted, asked->node, chosen);
    if (bound_conflict != NULL)
        plain_reject(asked, TRUE, bound_conflict);
    if (conflict != NULL)
        plain_reject(asked, TRUE, conflict);
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
        const Claim *claim = plain_volumes_claim_of(cluster, pod, i);
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
    const char *value = plain_label(plain_node_labels(asked), key);

    if (value == NULL && strcmp(key, BETA_ZONE) == 0)
        return plain_label(plain_node_labels(asked), ZONE);
    if (value == NULL && strcmp(key, BETA_REGION) == 0)
        return plain_label(plain_node_labels(asked), REGION);
    return value;
}

static gboolean
zone_allows(const Asked *asked, const Volume *volume, const char *key)
{
    const char *value = plain_label(volume->meta.labels, key);
    g_auto(GStrv) zones = value == NULL || value[0] == '\0' ? NULL : zones_of_label(value);
    const char *zone = zone_of_node(asked, key);

    return zones == NULL || (zone != NULL && g_strv_contains((const char *const *)zones, zone));
}

gboolean
plain_volume_zone(Asked *asked)
{
    static const char *const keys[] = {BETA_ZONE, BETA_REGION, ZONE, REGION};
    gboolean has_zone = FALSE;

    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        has_zone = has_zone || plain_label(plain_node_labels(asked), keys[i]) != NULL;
    for (unsigned i = 0; has_zone && i < n_claims(asked->pod); i++) {
        const Claim *claim = plain_volumes_claim_of(asked->cluster, asked->pod, i);
        if (asked->pod->volumes->items[i].ephemeral || !is_bound(claim))
            continue;
        const Volume *volume = volume_named(asked->cluster, claim->volume_name);
        for (unsigned k = 0; k < G_N_ELEMENTS(keys); k++) {
            if (!zone_allows(asked, volume, keys[k]))
                return plain_reject(asked, TRUE, "node(s) had no available volume zone");
        }
    }
    return TRUE;
}
