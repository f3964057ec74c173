/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"

/* What the scheduler promises as it binds a pod. It decided a while ago, maybe minutes: what it can
 * have known is older than that. */

#define WATCH_DELAY SIM_SECOND /* longer than any */

typedef struct {
    Invariants *self;
    const Pod *pod;
    const Node *node;
    SimTime decided_at;
} Binding;

static gboolean
is_there(const Binding *binding, const Pod *other)
{
    return other != NULL && other->meta.key != binding->pod->meta.key && !pod_is_terminal(other) &&
           other->node_name == binding->pod->node_name;
}

/* VF-50 */
static void
check_room(const Binding *binding)
{
    const NodeResources *room = &binding->node->allocatable;
    int64_t cpu_milli = binding->pod->spec->cpu_milli;
    int64_t memory_bytes = binding->pod->spec->memory_bytes;
    int32_t n_pods = 1;

    for (uint32_t i = 0; i < objects_n_keys(binding->self->objects, KIND_POD); i++) {
        const Pod *other = POD_CONST(invariants_stored(binding->self, KIND_POD, i));
        if (!is_there(binding, other))
            continue;
        cpu_milli += other->spec->cpu_milli;
        memory_bytes += other->spec->memory_bytes;
        n_pods++;
    }
    if (cpu_milli > room->cpu_milli || memory_bytes > room->memory_bytes || n_pods > room->pods)
        invariants_fault(binding->self,
                         "pod %s: no room on %s for %d pods with %" G_GINT64_FORMAT
                         "m and %" G_GINT64_FORMAT " bytes",
                         binding->pod->meta.key->text, binding->pod->node_name, n_pods, cpu_milli,
                         memory_bytes);
}

/* VB-94: it reaches all volumes of the pod. */
static void
check_reach(const Binding *binding)
{
    const Pod *pod = binding->pod;

    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const Volume *volume = invariants_volume_of_claim(
            binding->self, pod_claim_key(binding->self->objects, pod, &pod->volumes->items[i]));
        if (volume != NULL && !node_selector_matches(volume->node_affinity,
                                                     binding->node->meta.labels, pod->node_name))
            invariants_fault(binding->self, "pod %s: volume %s is out of reach of %s",
                             pod->meta.key->text, volume->meta.key->name, pod->node_name);
    }
}

/* SCH-40: a cordoned node has that taint, too, but later. */
static void
check_taints(const Binding *binding)
{
    static const Taint cordon = {.key = "node.kubernetes.io/unschedulable",
                                 .effect = TAINT_NO_SCHEDULE};
    const Taints *taints = binding->node->taints;
    const Tolerations *tolerations = binding->pod->spec->tolerations;
    const char *text = binding->pod->meta.key->text;

    if (binding->node->unschedulable && tolerations_find(tolerations, &cordon) == NULL)
        invariants_fault(binding->self, "pod %s: bound to %s, which is cordoned", text,
                         binding->pod->node_name);
    for (unsigned i = 0; taints != NULL && i < taints->n_items; i++)
        if (taints->items[i].effect != TAINT_PREFER_NO_SCHEDULE &&
            tolerations_find(tolerations, &taints->items[i]) == NULL)
            invariants_fault(binding->self, "pod %s: does not tolerate taint %s of %s", text,
                             taints->items[i].key, binding->pod->node_name);
}

/* VF-47: the labels that it wants are the node's; these worlds never change them. */
static void
check_selection(const Binding *binding)
{
    const PodSpec *spec = binding->pod->spec;
    const StringMap *labels = binding->node->meta.labels;

    if ((spec->node_selector != NULL && !string_map_contains(labels, spec->node_selector)) ||
        !node_selector_matches(spec->required_nodes, labels, binding->pod->node_name))
        invariants_fault(binding->self, "pod %s: bound to %s, which it does not select",
                         binding->pod->meta.key->text, binding->pod->node_name);
}

/* Whether a required anti-affinity of @pod forbids it the node's domain because of @other. */
static gboolean
keeps_away(const Binding *binding, const PodAffinityTerm *term, const Pod *other)
{
    const Node *node = (const Node *)invariants_find(binding->self, KIND_NODE, other->node_name);
    const char *domain = string_map_get(binding->node->meta.labels, term->topology_key);

    return term->anti && term->weight == 0 && term->namespaces == NULL && domain != NULL &&
           node != NULL && other->meta.key->namespace == binding->pod->meta.key->namespace &&
           label_selector_matches(term->selector, other->meta.labels) &&
           g_strcmp0(string_map_get(node->meta.labels, term->topology_key), domain) == 0;
}

/* VF-70: a pod keeps away from the pods that it names, if it could know of them. */
static void
check_anti_affinity(const Binding *binding)
{
    for (uint32_t i = 0; i < objects_n_keys(binding->self->objects, KIND_POD); i++) {
        const Pod *other = POD_CONST(invariants_stored(binding->self, KIND_POD, i));
        if (other == NULL || other == binding->pod || other->meta.key == binding->pod->meta.key ||
            other->node_name == NULL || pod_is_terminal(other) ||
            other->scheduled.changed_at == TIME_UNSET ||
            other->scheduled.changed_at + WATCH_DELAY >= binding->decided_at)
            continue;
        for (unsigned k = 0; k < binding->pod->spec->n_pod_terms; k++)
            if (keeps_away(binding, &binding->pod->spec->pod_terms[k], other))
                invariants_fault(binding->self, "pod %s: bound to %s, too near to %s",
                                 binding->pod->meta.key->text, binding->pod->node_name,
                                 other->meta.key->text);
    }
}

gboolean
invariants_pod_has_claim(const Invariants *self, const Pod *pod, const ObjectKey *claim)
{
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++)
        if (pod_claim_key(self->objects, pod, &pod->volumes->items[i]) == claim)
            return TRUE;
    return FALSE;
}

/* VF-30: no other pod that has a node has the claim, even if it is on its way out. */
static void
check_one_pod(const Binding *binding, const ObjectKey *key)
{
    const Claim *claim = CLAIM_CONST(api_server_get(binding->self->api, key));

    if (claim == NULL || (claim->access_modes & ACCESS_RWOP) == 0)
        return;
    for (uint32_t i = 0; i < objects_n_keys(binding->self->objects, KIND_POD); i++) {
        const Pod *other = POD_CONST(invariants_stored(binding->self, KIND_POD, i));
        if (other != NULL && other->meta.key != binding->pod->meta.key && !pod_is_terminal(other) &&
            other->node_name != NULL && invariants_pod_has_claim(binding->self, other, key))
            invariants_fault(binding->self, "pod %s: its claim %s is for one pod, and %s has it",
                             binding->pod->meta.key->text, key->text, other->meta.key->text);
    }
}

/* ---- Limits of volumes ---- */

/* The driver and the identity of a claim's volume, as the scheduler counts it: by its class until
 * it is bound (VF-5). Returns: (owned): NULL: not counted */
static char *
counted_volume(const Invariants *self, const ObjectKey *key, const char *driver)
{
    const Claim *claim = CLAIM_CONST(api_server_get(self->api, key));
    const Volume *volume = invariants_volume_of_claim(self, key);
    const StorageClass *class = NULL;

    if (claim == NULL)
        return NULL;
    class = (const StorageClass *)invariants_find(self, KIND_STORAGE_CLASS, claim_class(claim));
    gboolean is_of_class = class != NULL && g_str_equal(class->provisioner, driver);
    if (volume == NULL)
        return is_of_class ? g_strdup(key->text) : NULL;
    if (volume->source == NULL || g_strcmp0(volume->source->driver, driver) != 0)
        return NULL;
    if (class != NULL && class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER && !is_of_class)
        return NULL;
    return g_strdup(volume->source->handle);
}

/* Also volumes of in-tree plugins that stand in the pod and have migrated (VF-8). */
static void
add_volumes(const Invariants *self, const Pod *pod, const char *driver, GHashTable *volumes)
{
    const PodVolumes *all = pod->volumes;

    for (unsigned i = all == NULL ? 0 : all->n_items;
         all != NULL && i < all->n_items + all->n_inline; i++)
        if (all->items[i].source->inline_name != NULL &&
            g_strcmp0(all->items[i].source->driver, driver) == 0)
            g_hash_table_add(volumes, g_strdup(all->items[i].source->handle));
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++) {
        const ObjectKey *key = pod_claim_key(self->objects, pod, &pod->volumes->items[i]);
        char *volume = counted_volume(self, key, driver);
        if (volume != NULL)
            g_hash_table_add(volumes, volume);
    }
}

/* VF-3: with its volumes the node has no more of the driver's than its CSINode allows. Volumes of
 * pods that are older than the limit are not counted (VF-9). */
static void
check_limit(const Binding *binding, const CsiNodeDriver *driver)
{
    Invariants *self = binding->self;
    SimTime known_at = history_registered_at(self->history, driver->name, binding->pod->node_name);
    g_autoptr(GHashTable) volumes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

    if (driver->allocatable_count < 0 || known_at == TIME_UNSET ||
        known_at + WATCH_DELAY >= binding->decided_at)
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *other = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (is_there(binding, other) && other->meta.created_at > known_at + WATCH_DELAY)
            add_volumes(self, other, driver->name, volumes);
    }
    unsigned n_before = g_hash_table_size(volumes);
    add_volumes(self, binding->pod, driver->name, volumes);
    if (g_hash_table_size(volumes) > n_before &&
        g_hash_table_size(volumes) > (unsigned)driver->allocatable_count)
        invariants_fault(self, "pod %s: %u volumes of %s on %s, which takes %d",
                         binding->pod->meta.key->text, g_hash_table_size(volumes), driver->name,
                         binding->pod->node_name, driver->allocatable_count);
}

static void
check_limits(const Binding *binding)
{
    const CsiNode *csi_node =
        (const CsiNode *)invariants_find(binding->self, KIND_CSI_NODE, binding->pod->node_name);

    for (unsigned i = 0;
         csi_node != NULL && csi_node->drivers != NULL && i < csi_node->drivers->n_items; i++)
        check_limit(binding, &csi_node->drivers->items[i]);
}

void
invariants_check_binding(Invariants *self, const Pod *pod)
{
    const Object *node = invariants_find(self, KIND_NODE, pod->node_name);
    Binding binding = {self, pod, (const Node *)node,
                       history_decided_at(self->history, pod->meta.key)};

    if (node == NULL) /* it may have gone a moment ago */
        return;
    check_reach(&binding);
    if (binding.decided_at == TIME_UNSET) /* not by the scheduler */
        return;
    /* its cache is as old as watches make it, and no other instance binds pods still */
    if (!invariants_is_calm_for(self, "kube-scheduler", binding.decided_at))
        return;
    check_room(&binding);
    check_anti_affinity(&binding);
    check_selection(&binding);
    check_limits(&binding);
    if (history_node_changed_at(self->history, pod->node_name) + WATCH_DELAY < binding.decided_at)
        check_taints(&binding);
    for (unsigned i = 0; pod->volumes != NULL && i < pod->volumes->n_items; i++)
        if (pod->volumes->items[i].claim_name != NULL)
            check_one_pod(&binding, pod_claim_key(self->objects, pod, &pod->volumes->items[i]));
}
