/* SPDX-License-Identifier: GPL-3.0-or-later */
/* VolumeRestrictions and VolumeZone. The first keeps a ReadWriteOncePod claim to one pod anywhere,
 * and some in-tree disks to one pod on a node. The second compares zones and regions in the labels
 * of bound volumes with the node's; a node without any such label passes (VF-25). A claim that is
 * missing or not bound yet is rejected in PreFilter, for all nodes at once. */
#include "plugins.h"

#include "models/scheduler/disks.h"

#include <string.h>

/* ---- VolumeRestrictions: a ReadWriteOncePod claim has one pod, anywhere; some disks that pods
 * name themselves have one pod on a node ---- */

/* VF-30, VF-31. Runs before VolumeBinding, so a missing claim is reported here (VB-15). */
Verdict
volume_restrictions_pre_filter(Cycle *cycle)
{
    cycle->n_rwop_conflicts = 0;
    cycle->has_disks = pod_has_exclusive_disks(cycle->pod);
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
    return cycle->n_rwop_conflicts == 0 && !cycle->has_disks ? VERDICT_SKIP : VERDICT_OK;
}

/* VF-34: first the disks; VF-32: the claim on every node. */
Verdict
volume_restrictions_filter(Cycle *cycle, const NodeInfo *node)
{
    for (const CachedPod *other = cycle->has_disks ? node->pods : NULL; other != NULL;
         other = other->next_on_node) {
        if (!pods_want_one_disk(cycle->pod, other->pod))
            continue;
        cycle_reason(cycle, "node(s) had no available disk");
        return VERDICT_UNSCHEDULABLE;
    }
    if (cycle->n_rwop_conflicts == 0) /* VF-33: the claim's pod is taken away for a moment */
        return VERDICT_OK;
    cycle_refuse(cycle, REFUSED_CLAIM);
    return VERDICT_UNSCHEDULABLE;
}

gboolean
volume_restrictions_ask(const Cycle *cycle, Ask *ask)
{
    ask->is_taken = cycle->n_rwop_conflicts > 0;
    return !cycle->has_disks;
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

/* Walks the zones. @zone NULL: whether each zone has a name; otherwise whether one of them is
 * @zone. */
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
