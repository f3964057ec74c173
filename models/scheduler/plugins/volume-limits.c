/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NodeVolumeLimits: how many volumes of a driver a node takes. The volumes of an in-tree plugin
 * count apart, by the plugin's name; on a node that migrates them they count as its driver's
 * (VF-94). */
#include "plugins.h"

#include "models/scheduler/in-tree-limits.h"

#include <string.h>

/* VF-93: in 1.35 every driver with a CSIDriver, later only with preventPodSchedulingIfMissing. */
static gboolean
is_needed_on_node(const CycleView *view, const char *driver)
{
    const Object *object =
        view->scales_limits ? informer_find(view->csi_drivers, NULL, driver) : NULL;

    return object != NULL &&
           (view->minor == 35 || CSI_DRIVER_OBJECT(object)->prevents_scheduling_if_missing);
}

static LimitedDriver
limited_driver(const CycleView *view, const char *name)
{
    const InTreePlugin *plugin = in_tree_plugin_find(name);
    const char *csi = plugin == NULL ? name
                                     : strings_intern(objects_strings(view->objects),
                                                      in_tree_plugin_driver(plugin));

    return (LimitedDriver){
        .driver = name,
        .plugin = plugin != NULL ? plugin : in_tree_plugin_of_driver(name),
        .csi = csi,
        .is_needed = is_needed_on_node(view, csi),
    };
}

static LimitedDriver *
limited_of(Cycle *cycle, const char *name)
{
    for (unsigned i = 0; i < cycle->limited->len; i++) {
        LimitedDriver *limited = &g_array_index(cycle->limited, LimitedDriver, i);
        if (limited->driver == name)
            return limited;
    }
    const LimitedDriver limited = limited_driver(cycle->view, name);
    g_array_append_val(cycle->limited, limited);
    return &g_array_index(cycle->limited, LimitedDriver, cycle->limited->len - 1);
}

/* VF-6: a volume that several of the pod's volumes name counts once. */
static void
volume_limits_count_volume(Cycle *cycle, VolumeName name, gboolean is_shared)
{
    for (unsigned i = 0; i < cycle->names->len; i++)
        if (volume_name_equal(g_array_index(cycle->names, VolumeName, i), name))
            return;
    g_array_append_val(cycle->names, name);
    LimitedDriver *limited = limited_of(cycle, name.driver);
    limited->n_volumes++;
    limited->is_shared = limited->is_shared || is_shared;
}

/* Returns: whether the release migrates some of these plugins */
static gboolean
count_inline(Cycle *cycle)
{
    const PodVolumes *volumes = cycle->pod->volumes;
    gboolean can_migrate = FALSE;

    for (unsigned i = 0; volumes != NULL && i < volumes->n_inline; i++) {
        const VolumeSource *source = volumes->items[volumes->n_items + i].source;
        const VolumeName name = volume_name_of_source(source);
        can_migrate |= source->in_tree != NULL;
        if (name.driver != NULL)
            volume_limits_count_volume(cycle, name, TRUE);
    }
    return can_migrate;
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
    g_array_set_size(cycle->names, 0);
    for (unsigned i = 0; i < cycle->claims->len; i++) {
        const CycleClaim *claim = &g_array_index(cycle->claims, CycleClaim, i);
        const VolumeName name = volume_name_of_claim(&sources, claim->key);
        if (name.driver != NULL)
            volume_limits_count_volume(
                cycle, name, scheduler_cache_claim_users(cycle->view->cache, claim->key) > 0);
    }
    gboolean can_migrate = count_inline(cycle);
    cycle->unknown_volume = find_unknown_volume(cycle);
    if (cycle->claims->len == 0 && !can_migrate)
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

/* VF-94: isCSIMigrationOn(): the control plane migrates, and the node's CSINode says that its
 * kubelet does. */
static gboolean
is_migrated_on(const CycleView *view, const NodeInfo *node, const InTreePlugin *plugin)
{
    const char *list = node->csi_node == NULL
                           ? NULL
                           : object_annotation(&node->csi_node->meta, ANNOTATION_MIGRATED_PLUGINS);

    if (plugin == NULL || list == NULL ||
        (view->release != NULL && !in_tree_plugin_is_migrated(plugin, view->release)))
        return FALSE;
    g_auto(GStrv) names = g_strsplit(list, ",", -1);
    return g_strv_contains((const char *const *)names, in_tree_plugin_name(plugin));
}

/* Volumes that count together on a node, by one or two names. */
typedef struct {
    const char *driver, *other; /* other NULL: none */
    gboolean by_csi;            /* against the CSINode's number */
} CountedTogether;

static CountedTogether
counted_together(const Cycle *cycle, const NodeInfo *node, const LimitedDriver *limited)
{
    gboolean is_in_tree = limited->driver != limited->csi;

    if (!is_migrated_on(cycle->view, node, limited->plugin))
        return (CountedTogether){limited->driver, NULL, !is_in_tree};
    return (CountedTogether){limited->csi, in_tree_plugin_name(limited->plugin), TRUE};
}

static gboolean
is_on_node(const NodeInfo *node, const CountedTogether *together, const void *handle)
{
    const VolumeName one = {together->driver, handle}, other = {together->other, handle};

    return node_volumes_used_by_pods(&node->volumes, one) ||
           (together->other != NULL && node_volumes_used_by_pods(&node->volumes, other));
}

/* How many more the node would have with this pod. A claim that no pod uses yet cannot be among the
 * node's volumes, so only shared claims are searched for. */
static uint32_t
count_new_volumes(const Cycle *cycle,
                  const NodeInfo *node,
                  const LimitedDriver *limited,
                  const CountedTogether *together)
{
    uint32_t n = 0;

    if (!limited->is_shared && together->other == NULL)
        return limited->n_volumes;
    for (unsigned i = 0; i < cycle->names->len; i++) {
        VolumeName name = g_array_index(cycle->names, VolumeName, i);
        if ((name.driver == together->driver || name.driver == together->other) &&
            !is_on_node(node, together, name.handle))
            n++;
    }
    return n;
}

/* -1: none given (VF-5, VF-8) */
static int32_t
limit_of(const Cycle *cycle, const NodeInfo *node, const CountedTogether *together)
{
    const CsiNodeDrivers *drivers = node->csi_node == NULL ? NULL : node->csi_node->drivers;

    if (!together->by_csi) /* VF-7 */
        return in_tree_limit(node->node, together->driver, cycle->view->max_pd_vols,
                             cycle->view->minor);
    for (unsigned i = 0; drivers != NULL && i < drivers->n_items; i++) {
        if (drivers->items[i].name == together->driver)
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
        if (limited->is_needed && counted_together(cycle, node, limited).by_csi &&
            csi_node_find_driver(node->csi_node, limited->csi) == NULL)
            return limited->csi;
    }
    return NULL;
}

static gboolean
has_too_many(const Cycle *cycle, const NodeInfo *node, const LimitedDriver *limited)
{
    const CountedTogether together = counted_together(cycle, node, limited);
    int32_t limit = limit_of(cycle, node, &together);

    if (limit < 0)
        return FALSE;
    uint32_t n_new = count_new_volumes(cycle, node, limited, &together);
    return n_new > 0 &&
           node_volumes_count(&node->volumes, together.driver, together.other) + n_new >
               (uint32_t)limit;
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
        if (has_too_many(cycle, node, &g_array_index(cycle->limited, LimitedDriver, i))) {
            cycle_refuse(cycle, REFUSED_VOLUMES);
            return VERDICT_UNSCHEDULABLE;
        }
    }
    return VERDICT_OK;
}
