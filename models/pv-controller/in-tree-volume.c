/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A volume of an in-tree plugin that this controller provisions itself: whether the plugin takes
 * the claim, its zone, its size and its PersistentVolume. Plugins differ by a row of traits (access
 * modes, mount options, unit of size). The zone is that of the selected node, else it is chosen by
 * the claim's name among the allowed ones, as SelectZonesForVolume() does. The region of a zone,
 * which a cloud knows, is read from the labels of a node there. */
#include "in-tree-volume.h"

#include "models/api/pod.h"
#include "models/volume/turn.h"
#include "sim/strings.h"

#include <string.h>

#define LABEL_ZONE "topology.kubernetes.io/zone"
#define LABEL_REGION "topology.kubernetes.io/region"
#define BETA_LABEL_ZONE "failure-domain.beta.kubernetes.io/zone"

#define MEBIBYTE (INT64_C(1) << 20)
#define GIBIBYTE (INT64_C(1) << 30)

/* The differences between the plugins: GetAccessModes(), SupportsMountOption() and Provision() of
 * each. */
typedef struct {
    const char *name;
    uint32_t access_modes; /* AccessModes */
    gboolean takes_mount_options;
    const char *fs_type; /* unless the class names one; NULL: none */
    int64_t unit;        /* bytes; sizes are multiples */
} Traits;

static const Traits traits_table[] = {
    {"kubernetes.io/aws-ebs",         ACCESS_RWO,                           TRUE,  "ext4", GIBIBYTE},
    {"kubernetes.io/azure-disk",      ACCESS_RWO,                           TRUE,  "ext4", GIBIBYTE},
    {"kubernetes.io/azure-file",      ACCESS_RWO | ACCESS_ROX | ACCESS_RWX, TRUE,  NULL,   GIBIBYTE},
    {"kubernetes.io/cinder",          ACCESS_RWO,                           TRUE,  "ext4", GIBIBYTE},
    {"kubernetes.io/gce-pd",          ACCESS_RWO | ACCESS_ROX,              TRUE,  "ext4", GIBIBYTE},
    {"kubernetes.io/portworx-volume", ACCESS_RWO | ACCESS_RWX,              FALSE, NULL,   GIBIBYTE},
    {"kubernetes.io/vsphere-volume",  ACCESS_RWO,                           TRUE,  "ext4", MEBIBYTE},
};

static const Traits *
traits_of(const InTreePlugin *plugin)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(traits_table); i++)
        if (strcmp(traits_table[i].name, in_tree_plugin_name(plugin)) == 0)
            return &traits_table[i];
    g_assert_not_reached();
}

gboolean
in_tree_takes_mount_options(const InTreePlugin *plugin)
{
    return traits_of(plugin)->takes_mount_options;
}

/* Returns: (owned): "[ReadWriteOnce ReadOnlyMany]", as Go prints them */
static char *
modes_text(uint32_t modes)
{
    static const char *const words[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                        "ReadWriteOncePod"};
    GString *text = g_string_new("[");

    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if ((modes & 1u << i) != 0)
            g_string_append_printf(text, "%s%s", text->len > 1 ? " " : "", words[i]);
    g_string_append_c(text, ']');
    return g_string_free(text, FALSE);
}

const char *
in_tree_refusal(const InTreeQuery *query)
{
    const Traits *traits = traits_of(query->plugin);
    const Claim *claim = query->claim;

    if ((claim->access_modes & ~traits->access_modes) != 0) {
        g_autofree char *wanted = modes_text(claim->access_modes);
        g_autofree char *known = modes_text(traits->access_modes);
        return strings_internf(query->strings,
                               "invalid AccessModes %s: only AccessModes %s are supported", wanted,
                               known);
    }
    if (claim->selector != NULL)
        return strings_internf(query->strings,
                               "claim.Spec.Selector is not supported for dynamic provisioning");
    return NULL;
}

/* The value of a parameter, whose name does not care about capitals. NULL: none */
static const char *
parameter(const StorageClass *class, const char *name)
{
    for (unsigned i = 0; class->parameters != NULL && i < class->parameters->n_pairs; i++)
        if (g_ascii_strcasecmp(class->parameters->pairs[i].key, name) == 0)
            return class->parameters->pairs[i].value;
    return NULL;
}

/* ---- The zone: SelectZonesForVolume() in cloud-provider/volume/helpers/zones.go ---- */

static void
add_once(GPtrArray *zones, const char *zone)
{
    if (zone != NULL && *zone != '\0' &&
        !g_ptr_array_find_with_equal_func(zones, zone, g_str_equal, NULL))
        g_ptr_array_add(zones, (char *)zone);
}

static gboolean
is_zone_key(const InTreePlugin *plugin, const char *key)
{
    return strcmp(key, LABEL_ZONE) == 0 || strcmp(key, BETA_LABEL_ZONE) == 0 ||
           strcmp(key, in_tree_plugin_zone_key(plugin)) == 0;
}

static void
add_allowed(const InTreeQuery *query, GPtrArray *zones)
{
    const NodeSelector *allowed = query->class->allowed_topologies;

    for (unsigned i = 0; allowed != NULL && i < allowed->n_terms; i++) {
        const LabelSelector *expressions = allowed->terms[i].expressions;
        for (unsigned k = 0; expressions != NULL && k < expressions->n_requirements; k++) {
            const SelectRequirement *requirement = &expressions->requirements[k];
            if (!is_zone_key(query->plugin, requirement->key))
                continue;
            for (unsigned j = 0; requirement->values != NULL && j < requirement->values->n_items;
                 j++)
                add_once(zones, requirement->values->items[j]);
        }
    }
}

static void
add_parameters(const InTreeQuery *query, GPtrArray *zones)
{
    const char *zone = parameter(query->class, "zone"), *list = parameter(query->class, "zones");
    g_auto(GStrv) words = g_strsplit(list == NULL ? "" : list, ",", -1);

    add_once(zones, zone);
    for (unsigned i = 0; words[i] != NULL; i++)
        add_once(zones, strings_intern(query->strings, g_strstrip(words[i])));
}

static void
add_zones_of_nodes(const InTreeQuery *query, GPtrArray *zones)
{
    InformerIter iter;
    const Object *node;

    if (query->nodes == NULL)
        return;
    informer_iter_init(&iter, query->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        add_once(zones, object_label(node, LABEL_ZONE));
}

/* The cloud knows the region of a zone; here the nodes there tell it. */
static const char *
region_of(const InTreeQuery *query, const char *zone)
{
    InformerIter iter;
    const Object *node;

    if (query->nodes == NULL)
        return NULL;
    informer_iter_init(&iter, query->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        if (g_strcmp0(object_label(node, LABEL_ZONE), zone) == 0 &&
            object_label(node, LABEL_REGION) != NULL)
            return object_label(node, LABEL_REGION);
    return NULL;
}

/* Parameters that a class must not combine. Static; NULL: nothing is wrong */
static const char *
zones_error(const InTreeQuery *query)
{
    gboolean zone = parameter(query->class, "zone") != NULL;
    gboolean zones = parameter(query->class, "zones") != NULL;

    if (zone && zones)
        return "both zone and zones StorageClass parameters must not be used at the same time";
    if ((zone || zones) && query->node != NULL)
        return "zone[s] cannot be specified in StorageClass if VolumeBindingMode is set to "
               "WaitForFirstConsumer. Please specify allowedTopologies in StorageClass for "
               "constraining zones";
    if ((zone || zones) && query->class->allowed_topologies != NULL)
        return "zone[s] cannot be specified in StorageClass if allowedTopologies specified";
    return NULL;
}

const char *
in_tree_choose_place(const InTreeQuery *query, InTreePlace *place)
{
    g_autoptr(GPtrArray) zones = g_ptr_array_new();

    *place = (InTreePlace){NULL, NULL};
    if (in_tree_plugin_zone_key(query->plugin) == NULL)
        return NULL;
    const char *error = zones_error(query);
    if (error != NULL)
        return error;
    if (query->node != NULL) {
        add_once(zones, object_label(query->node, LABEL_ZONE));
    } else {
        add_parameters(query, zones);
        add_allowed(query, zones);
        if (zones->len == 0)
            add_zones_of_nodes(query, zones);
    }
    if (zones->len == 0)
        return NULL;
    qsort(zones->pdata, zones->len, sizeof(void *), strings_compare);
    place->zone = zones->pdata[volume_turn(object_name(&query->claim->meta), zones->len)];
    place->region = region_of(query, place->zone);
    return NULL;
}

/* ---- The volume ---- */

int64_t
in_tree_size(const InTreeQuery *query)
{
    int64_t unit = traits_of(query->plugin)->unit;

    return (query->claim->request_bytes + unit - 1) / unit * unit;
}

/* Labels and node affinity of the place. */
static void
set_place(const InTreeQuery *query, Volume *volume, const InTreePlace *place)
{
    const char *zone_key = strings_intern(query->strings, LABEL_ZONE);
    const char *region_key = strings_intern(query->strings, LABEL_REGION);

    if (place->zone == NULL)
        return;
    g_autoptr(StringMap) zone = string_map_with(NULL, zone_key, place->zone);
    g_autoptr(StringMap) both =
        place->region == NULL ? NULL : string_map_with(zone, region_key, place->region);
    const StringMap *segment = both != NULL ? both : zone;
    volume->meta.labels = string_map_ref(segment);
    volume->node_affinity = node_selector_from_segments(&segment, 1);
}

Volume *
in_tree_volume_new(const InTreeQuery *query,
                   ObjectKey *key,
                   const char *id,
                   int64_t bytes,
                   const InTreePlace *place)
{
    Volume *volume = VOLUME(object_new(key));
    const Claim *claim = query->claim;
    const char *fs_type = parameter(query->class, "fstype");
    VolumeSource source = {
        .plugin = in_tree_plugin_source(query->plugin),
        .handle = id,
        .backend_id = id,
        .in_tree = query->plugin,
    };

    if (claim->volume_mode == VOLUME_FILESYSTEM)
        source.fs_type = fs_type != NULL
                             ? fs_type
                             : strings_intern(query->strings, traits_of(query->plugin)->fs_type);
    volume->source = volume_source_new(&source);
    volume->capacity_bytes = bytes;
    volume->access_modes = claim->access_modes;
    volume->volume_mode = claim->volume_mode;
    volume->mount_options = string_list_ref(query->class->mount_options);
    volume->reclaim_policy = query->class->reclaim_policy;
    set_place(query, volume, place);
    return volume;
}
