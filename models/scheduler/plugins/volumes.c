/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plugins.h"

#include "models/scheduler/in-tree-limits.h"

#include <string.h>

/* VolumeRestrictions, NodeVolumeLimits and VolumeZone. */

/* ---- VolumeRestrictions: a ReadWriteOncePod claim has one pod, anywhere ---- */

/* VF-30, VF-31. Runs before VolumeBinding, so a missing claim is reported here (VB-15). */
Verdict
volume_restrictions_pre_filter(Cycle *cycle)
{
    cycle->n_rwop_conflicts = 0;
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        if (claim->volume->ephemeral)
            continue;
        const Object *stored = informer_get(cycle->view->claims, claim->key);
        if (stored == NULL) {
            cycle_text(cycle, "persistentvolumeclaim \"%s\" not found", claim->key->name);
            return VERDICT_UNRESOLVABLE;
        }
        if ((CLAIM_CONST(stored)->access_modes & ACCESS_RWOP) != 0 &&
            scheduler_cache_claim_users(cycle->view->cache, claim->key) > 0)
            cycle->n_rwop_conflicts++;
    }
    return cycle->n_rwop_conflicts == 0 ? VERDICT_SKIP : VERDICT_OK;
}

/* VF-32: on every node. */
Verdict
volume_restrictions_filter(Cycle *cycle, const NodeInfo *node)
{
    (void)node;
    if (cycle->n_rwop_conflicts == 0) /* VF-33: the claim's pod is taken away for a moment */
        return VERDICT_OK;
    cycle_refuse(cycle, REFUSED_CLAIM);
    return VERDICT_UNSCHEDULABLE;
}

gboolean
volume_restrictions_ask(const Cycle *cycle, Ask *ask)
{
    ask->is_taken = cycle->n_rwop_conflicts > 0;
    return TRUE;
}

/* ---- NodeVolumeLimits: how many volumes of a driver a node takes ---- */

/* VF-6: a volume that several claims name counts once. */
static gboolean
is_counted_before(const Cycle *cycle, unsigned i)
{
    const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);

    for (unsigned k = 0; k < i; k++) {
        if (volume_name_equal(g_array_index(cycle->claims, CycleClaim, k).name, claim->name))
            return TRUE;
    }
    return FALSE;
}

/* VF-93: in 1.35 every driver with a CSIDriver, later only with preventPodSchedulingIfMissing. */
static gboolean
is_needed_on_node(const CycleView *view, const char *driver)
{
    const Object *object =
        view->scales_limits ? informer_find(view->csi_drivers, NULL, driver) : NULL;

    return object != NULL &&
           (view->minor == 35 || CSI_DRIVER_OBJECT(object)->prevents_scheduling_if_missing);
}

static void
count_volume(Cycle *cycle, const CycleClaim *claim)
{
    gboolean is_shared = scheduler_cache_claim_users(cycle->view->cache, claim->key) > 0;

    for (unsigned i = 0; i < cycle->limited->len; i++) {
        LimitedDriver *limited = &g_array_index(cycle->limited, LimitedDriver, i);
        if (limited->driver != claim->name.driver)
            continue;
        limited->n_volumes++;
        limited->is_shared = limited->is_shared || is_shared;
        return;
    }
    LimitedDriver limited = {claim->name.driver, 1, is_shared,
                             is_needed_on_node(cycle->view, claim->name.driver)};
    g_array_append_val(cycle->limited, limited);
}

static const CycleClaim *
find_unknown_volume(const Cycle *cycle)
{
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        const Object *stored = informer_get(cycle->view->claims, claim->key);
        if (stored == NULL ||
            (claim->volume->ephemeral && !object_is_controlled_by(stored, &cycle->pod->meta)))
            return claim;
    }
    return NULL;
}

/* VF-2, VF-5 */
Verdict
volume_limits_pre_filter(Cycle *cycle)
{
    const VolumeSources sources = {cycle->view->objects, cycle->view->claims, cycle->view->volumes,
                                   cycle->view->classes, cycle->view->release};

    g_array_set_size(cycle->limited, 0);
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        claim->name = volume_name_of_claim(&sources, claim->key);
        if (claim->name.driver != NULL && is_counted_before(cycle, i))
            claim->name.driver = NULL;
        if (claim->name.driver != NULL)
            count_volume(cycle, claim);
    }
    cycle->unknown_volume = find_unknown_volume(cycle);
    if (cycle->claims->len == 0)
        return VERDICT_SKIP;
    return cycle->limited->len > 0 || cycle->unknown_volume != NULL ? VERDICT_OK : VERDICT_ANY_NODE;
}

/* VF-1. In a whole cycle VolumeBinding rejects such a claim first. */
static Verdict
reject_unknown_volume(Cycle *cycle)
{
    const ObjectKey *key = cycle->unknown_volume->key;

    if (informer_get(cycle->view->claims, key) == NULL) {
        cycle_reason(cycle,
                     strings_internf(objects_strings(cycle->view->objects),
                                     "looking up PVC %s: persistentvolumeclaim \"%s\" not found",
                                     key->text, key->name));
        return VERDICT_UNRESOLVABLE;
    }
    cycle_text(cycle, "PVC %s was not created for pod %s (pod is not owner)", key->text,
               cycle->pod->meta.key->text);
    return VERDICT_ERROR;
}

/* How many more volumes of a driver the node would have with this pod. A claim that no pod uses yet
 * cannot be among the node's volumes, so only shared claims are searched for. */
static uint32_t
count_new_volumes(const Cycle *cycle, const NodeInfo *node, const LimitedDriver *limited)
{
    uint32_t n = 0;

    if (!limited->is_shared)
        return limited->n_volumes;
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        if (claim->name.driver == limited->driver &&
            !node_volumes_used_by_pods(&node->volumes, claim->name))
            n++;
    }
    return n;
}

gboolean
volume_limits_ask(const Cycle *cycle, Ask *ask)
{
    if (cycle->unknown_volume != NULL || cycle->limited->len > 1)
        return FALSE;
    if (cycle->limited->len == 0)
        return TRUE;
    const LimitedDriver *limited = &g_array_index(cycle->limited, LimitedDriver, 0);
    if (limited->is_needed)
        return FALSE;
    ask->driver = limited->driver;
    ask->n_volumes = limited->n_volumes;
    return !limited->is_shared;
}

/* -1: none given (VF-5, VF-8) */
static int32_t
limit_of(const Cycle *cycle, const NodeInfo *node, const char *driver)
{
    const CsiNodeDrivers *drivers = node->csi_node == NULL ? NULL : node->csi_node->drivers;
    int32_t limit = in_tree_limit(node->node, driver, cycle->view->max_pd_vols);

    if (limit >= 0)
        return limit;

    for (unsigned i = 0; drivers != NULL && i < drivers->n_items; i++) {
        if (drivers->items[i].name == driver)
            return drivers->items[i].allocatable_count;
    }
    return -1;
}

/* VF-93. Returns: NULL: none */
static const char *
missing_driver(const Cycle *cycle, const NodeInfo *node)
{
    for (unsigned i = 0; i < cycle->limited->len; i++) {
        const LimitedDriver *limited = &g_array_index(cycle->limited, LimitedDriver, i);
        if (limited->is_needed && csi_node_find_driver(node->csi_node, limited->driver) == NULL)
            return limited->driver;
    }
    return NULL;
}

/* VF-3. A volume of the pod that is still attached to the node without a pod counts twice (VF-4) */
Verdict
volume_limits_filter(Cycle *cycle, const NodeInfo *node)
{
    if (cycle->unknown_volume != NULL)
        return reject_unknown_volume(cycle);
    const char *missing = missing_driver(cycle, node);
    if (missing != NULL) {
        cycle_reason(cycle, strings_internf(objects_strings(cycle->view->objects),
                                            "%s CSI driver is not installed on the node", missing));
        return VERDICT_UNSCHEDULABLE;
    }
    for (unsigned i = 0; i < cycle->limited->len; i++) {
        const LimitedDriver *limited = &g_array_index(cycle->limited, LimitedDriver, i);
        int32_t limit = limit_of(cycle, node, limited->driver);
        if (limit < 0)
            continue;
        uint32_t n_new = count_new_volumes(cycle, node, limited);
        if (n_new > 0 &&
            node_volumes_count(&node->volumes, limited->driver) + n_new > (uint32_t)limit) {
            cycle_refuse(cycle, REFUSED_VOLUMES);
            return VERDICT_UNSCHEDULABLE;
        }
    }
    return VERDICT_OK;
}

/* ---- VolumeZone: zones and regions in the labels of bound volumes ---- */

typedef struct {
    const char *key;
    const char *values; /* "a" or "a__b" (VF-23) */
} ZoneRequirement;

static const char *const zone_keys[] = {
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
};

/* The next of the zones in @values, trimmed: @start, @length. Returns: what follows; NULL: there
 * was no further zone */
static const char *
next_zone(const char *values, const char **start, size_t *length)
{
    if (values == NULL)
        return NULL;
    const char *end = strstr(values, "__");
    const char *stop = end == NULL ? values + strlen(values) : end;

    while (values < stop && g_ascii_isspace(*values))
        values++;
    while (stop > values && g_ascii_isspace(stop[-1]))
        stop--;
    *start = values;
    *length = (size_t)(stop - values);
    return end == NULL ? "" : end + 2;
}

/* Walks the zones. @zone NULL: whether each has a name; else whether one of them is @zone. */
static gboolean
zones_hold(const char *values, const char *zone)
{
    const char *start, *rest = values;
    size_t length;

    for (;;) {
        gboolean last = strstr(rest, "__") == NULL;
        rest = next_zone(rest, &start, &length);
        if (zone == NULL && length == 0)
            return FALSE;
        if (zone != NULL && strlen(zone) == length && strncmp(start, zone, length) == 0)
            return TRUE;
        if (last)
            return zone == NULL;
    }
}

static void
add_requirements(Cycle *cycle, const StringMap *labels)
{
    for (unsigned i = 0; labels != NULL && i < G_N_ELEMENTS(zone_keys); i++) {
        const char *values = string_map_get(labels, zone_keys[i]);
        if (values != NULL && zones_hold(values, NULL)) {
            ZoneRequirement requirement = {zone_keys[i], values};
            g_array_append_val(cycle->zones, requirement);
        }
    }
}

/* VF-22, of one claim; VolumeBinding has accepted it already. */
static Verdict
zone_of_claim(Cycle *cycle, const CycleClaim *claim)
{
    const Claim *stored = CLAIM_CONST(informer_get(cycle->view->claims, claim->key));

    if (stored == NULL) {
        cycle_text(cycle, "persistentvolumeclaim \"%s\" not found", claim->key->name);
        return VERDICT_UNRESOLVABLE;
    }
    const char *volume_name = claim_volume_name(stored);
    if (volume_name[0] == '\0') {
        const StorageClass *class = cycle_find_class(cycle, stored);
        if (claim_class(stored)[0] == '\0')
            cycle_text(cycle, "PersistentVolumeClaim had no pv name and storageClass name");
        else if (class == NULL)
            cycle_text(cycle, "storageclass.storage.k8s.io \"%s\" not found", claim_class(stored));
        else if (class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER)
            return VERDICT_OK;
        else if (class->binding_mode == BINDING_UNSET)
            cycle_text(cycle, "VolumeBindingMode not set for StorageClass \"%s\"",
                       object_name(&class->meta));
        else
            cycle_text(cycle, "PersistentVolume had no name");
        return VERDICT_UNRESOLVABLE;
    }
    const Object *volume = informer_find(cycle->view->volumes, NULL, volume_name);
    if (volume == NULL) {
        cycle_text(cycle, "persistentvolume \"%s\" not found", volume_name);
        return VERDICT_UNRESOLVABLE;
    }
    add_requirements(cycle, volume->labels);
    return VERDICT_OK;
}

/* VF-24: without zones there is nothing to filter. */
Verdict
volume_zone_pre_filter(Cycle *cycle)
{
    g_array_set_size(cycle->zones, 0);
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        if (claim->volume->ephemeral)
            continue;
        Verdict verdict = zone_of_claim(cycle, claim);
        if (verdict != VERDICT_OK)
            return verdict;
    }
    return cycle->zones->len == 0 ? VERDICT_SKIP : VERDICT_OK;
}

static const char *
node_zone(const StringMap *labels, const char *key)
{
    const char *value = string_map_get(labels, key);

    if (value == NULL && key == zone_keys[0])
        value = string_map_get(labels, zone_keys[2]);
    if (value == NULL && key == zone_keys[1])
        value = string_map_get(labels, zone_keys[3]);
    return value;
}

/* VF-25 */
Verdict
volume_zone_filter(Cycle *cycle, const NodeInfo *node)
{
    const StringMap *labels = node->node->meta.labels;
    gboolean has_any = FALSE;

    for (unsigned i = 0; i < G_N_ELEMENTS(zone_keys) && !has_any; i++)
        has_any = string_map_has(labels, zone_keys[i]);
    if (!has_any)
        return VERDICT_OK;
    for (unsigned i = 0; i < cycle->zones->len; i++) {
        const ZoneRequirement *requirement = &g_array_index(cycle->zones, ZoneRequirement, i);
        const char *zone = node_zone(labels, requirement->key);
        if (zone == NULL || !zones_hold(requirement->values, zone)) {
            cycle_reason(cycle, "node(s) had no available volume zone");
            return VERDICT_UNRESOLVABLE;
        }
    }
    return VERDICT_OK;
}

gboolean
volume_zones_differ(const StringMap *before, const StringMap *after)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(zone_keys); i++) {
        if (g_strcmp0(string_map_get(before, zone_keys[i]), string_map_get(after, zone_keys[i])) !=
            0)
            return TRUE;
    }
    return FALSE;
}
