/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zones and regions of in-tree volumes, and the drivers' own keys for them, in the node affinity of
 * volumes and the allowed topologies of classes: in_tree_volume.go of csi-translation-lib. A volume
 * keeps the older names of its labels if it uses them and not the new ones (MIG-21). Values are
 * sorted and each stands once, so equal volumes give equal terms. */
#include <string.h>

#include "models/api/fields.h"
#include "models/api/migration/migration-test.h"
#include "private.h"

#define ZONE "topology.kubernetes.io/zone"
#define REGION "topology.kubernetes.io/region"
#define BETA_ZONE "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

typedef struct {
    const char *zone, *region;
} PlaceLabels;

static json_t *
terms_of(const json_t *volume)
{
    const json_t *affinity = json_object_get(json_object_get(volume, "spec"), "nodeAffinity");

    return json_object_get(json_object_get(affinity, "required"), "nodeSelectorTerms");
}

/* Each once, sorted. */
static GPtrArray *
values_of(const json_t *volume, const char *key)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *values = g_ptr_array_new();
    const json_t *term, *requirement, *value;
    size_t i, k, m;

    json_array_foreach(terms_of(volume), i, term)
        json_array_foreach(json_object_get(term, "matchExpressions"), k, requirement) {
            if (strcmp(migration_text(requirement, "key"), key) != 0)
                continue;
            json_array_foreach(json_object_get(requirement, "values"), m, value)
                if (json_is_string(value) &&
                    g_hash_table_add(seen, (char *)json_string_value(value)))
                    g_ptr_array_add(values, (char *)json_string_value(value));
        }
    g_ptr_array_sort(values, strings_compare);
    return values;
}

static gboolean
topology_has_key(const json_t *volume, const char *key)
{
    const json_t *term, *requirement;
    size_t i, k;

    json_array_foreach(terms_of(volume), i, term)
        json_array_foreach(json_object_get(term, "matchExpressions"), k, requirement)
            if (strcmp(migration_text(requirement, "key"), key) == 0)
                return TRUE;
    return FALSE;
}

static const char *
label_of(const json_t *volume, const char *label)
{
    return json_string_value(json_object_get(json_path_get(volume, "metadata.labels"), label));
}

/* MIG-21: the older names, if the volume uses them and not the new ones. */
static PlaceLabels
topology_labels_of(const json_t *volume)
{
    gboolean is_beta = !topology_has_key(volume, ZONE) &&
                       (topology_has_key(volume, BETA_ZONE) ||
                        (label_of(volume, ZONE) == NULL && label_of(volume, BETA_ZONE) != NULL));

    return is_beta ? (PlaceLabels){BETA_ZONE, BETA_REGION} : (PlaceLabels){ZONE, REGION};
}

void
topology_replace(json_t *volume, const char *old_key, const char *new_key)
{
    json_t *term, *requirement;
    size_t i, k;

    json_array_foreach(terms_of(volume), i, term)
        json_array_foreach(json_object_get(term, "matchExpressions"), k, requirement)
            if (strcmp(migration_text(requirement, "key"), old_key) == 0)
                json_object_set_new(requirement, "key", json_string(new_key));
}

static json_t *
requirement_new(const char *key, char **values, unsigned n)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(list, json_string(values[i]));
    return json_pack("{s:s, s:s, s:o}", "key", key, "operator", "In", "values", list);
}

static void
add_requirement(json_t *term, json_t *requirement)
{
    json_t *all = json_object_get(term, "matchExpressions");

    if (all == NULL) {
        all = json_array();
        json_object_set_new(term, "matchExpressions", all);
    }
    json_array_append_new(all, requirement);
}

gboolean
topology_add(json_t *volume, const char *key, char **zones, GError **error)
{
    g_autoptr(GPtrArray) valid = g_ptr_array_new_with_free_func(g_free);
    json_t *term;
    size_t i;

    for (unsigned k = 0; zones[k] != NULL; k++) {
        g_autofree char *zone = g_strstrip(g_strdup(zones[k]));
        if (*zone != '\0' && !g_ptr_array_find_with_equal_func(valid, zone, g_str_equal, NULL))
            g_ptr_array_add(valid, g_steal_pointer(&zone));
    }
    g_ptr_array_sort(valid, strings_compare);
    if (valid->len == 0)
        return migration_fail(error, "there are no valid zones to add to pv");
    json_t *required = migration_member(
        migration_member(migration_member(volume, "spec"), "nodeAffinity"), "required");
    json_t *terms = json_object_get(required, "nodeSelectorTerms");
    if (json_array_size(terms) == 0)
        json_object_set_new(required, "nodeSelectorTerms", terms = json_pack("[{}]"));
    json_array_foreach(terms, i, term)
        add_requirement(term, requirement_new(key, (char **)valid->pdata, valid->len));
    return TRUE;
}

/* A place that the volume names, in its node affinity or else by a label, under the driver's key.
 * @separator: of several values in the label; NULL: it is one */
static void
place_to_csi(json_t *volume, const char *label, const char *key, const char *separator)
{
    g_autoptr(GPtrArray) values = values_of(volume, label);
    const char *text = label_of(volume, label);

    if (values->len > 0) {
        topology_replace(volume, label, key);
    } else if (text != NULL) {
        g_auto(GStrv) zones = g_strsplit(text, separator != NULL ? separator : "\n", -1);
        topology_add(volume, key, zones, NULL);
    }
}

/* MIG-22 */
void
topology_to_csi(json_t *volume, const InTreePlugin *plugin)
{
    PlaceLabels labels = topology_labels_of(volume);

    if (plugin->region_key != NULL) { /* MIG-23 */
        place_to_csi(volume, labels.zone, plugin->zone_key, NULL);
        place_to_csi(volume, labels.region, plugin->region_key, NULL);
        return;
    }
    place_to_csi(volume, labels.zone, plugin->zone_key, ZONE_SEPARATOR);
    if (strcmp(labels.region, BETA_REGION) == 0)
        topology_replace(volume, BETA_REGION, REGION);
}

static void
add_label(json_t *volume, const char *label, const char *value)
{
    json_t *labels = migration_member(migration_member(volume, "metadata"), "labels");

    if (json_object_get(labels, label) == NULL)
        json_object_set_new(labels, label, json_string(value));
}

/* The zones of a term; NULL: it names the region already. */
static GPtrArray *
zones_of_term(const json_t *term, const PlaceLabels *labels)
{
    g_autoptr(GPtrArray) zones = g_ptr_array_new();
    const json_t *requirement, *value;
    size_t i, k;

    json_array_foreach(json_object_get(term, "matchExpressions"), i, requirement) {
        if (strcmp(migration_text(requirement, "key"), labels->region) == 0)
            return NULL;
        if (strcmp(migration_text(requirement, "key"), labels->zone) == 0)
            json_array_foreach(json_object_get(requirement, "values"), k, value)
                if (json_is_string(value))
                    g_ptr_array_add(zones, (char *)json_string_value(value));
    }
    g_ptr_array_add(zones, NULL);
    return g_steal_pointer(&zones);
}

/* Adds labels and terms for regions, derived from the zones. */
static gboolean
topology_add_regions(json_t *volume, RegionOfZones region_of, GError **error)
{
    PlaceLabels labels = topology_labels_of(volume);
    json_t *term;
    size_t i;

    if (json_array_size(terms_of(volume)) == 0)
        return TRUE;
    json_array_foreach(terms_of(volume), i, term) {
        g_autoptr(GPtrArray) zones = zones_of_term(term, &labels);
        if (zones == NULL)
            continue;
        g_autofree char *region = region_of((char **)zones->pdata, error);
        if (region == NULL)
            return FALSE;
        add_requirement(term, requirement_new(labels.region, &region, 1));
    }
    g_autoptr(GPtrArray) regions = values_of(volume, labels.region);
    if (regions->len == 1)
        add_label(volume, labels.region, regions->pdata[0]);
    return TRUE;
}

/* MIG-24 */
gboolean
topology_from_csi(json_t *volume, const InTreePlugin *plugin, GError **error)
{
    PlaceLabels labels = topology_labels_of(volume);

    topology_replace(volume, plugin->zone_key, labels.zone);
    if (plugin->region_key != NULL)
        topology_replace(volume, plugin->region_key, labels.region);
    if (plugin->region != NULL && !topology_add_regions(volume, plugin->region, error))
        return FALSE;
    g_autoptr(GPtrArray) zones = values_of(volume, labels.zone);
    g_autoptr(GPtrArray) regions = values_of(volume, labels.region);
    if (plugin->region_key != NULL && regions->len > 0)
        add_label(volume, labels.region, regions->pdata[0]);
    if (zones->len > 0) {
        g_ptr_array_add(zones, NULL);
        g_autofree char *all = g_strjoinv(ZONE_SEPARATOR, (char **)zones->pdata);
        add_label(volume, labels.zone, plugin->region_key != NULL ? zones->pdata[0] : all);
    }
    return TRUE;
}

char **
topology_zones_of_label(const json_t *volume)
{
    const char *label = label_of(volume, BETA_ZONE);

    if (label == NULL || *label == '\0')
        label = label_of(volume, ZONE);
    return g_strsplit(label == NULL ? "" : label, ZONE_SEPARATOR, -1);
}

/* MIG-25 */
json_t *
topology_translate_terms(const json_t *terms, const char *zone_key)
{
    json_t *translated = json_deep_copy(terms), *term, *requirement;
    size_t i, k;

    json_array_foreach(translated, i, term)
        json_array_foreach(json_object_get(term, "matchLabelExpressions"), k, requirement) {
            const char *key = migration_text(requirement, "key");
            if (strcmp(key, ZONE) == 0 || strcmp(key, BETA_ZONE) == 0)
                json_object_set_new(requirement, "key", json_string(zone_key));
        }
    return translated;
}

json_t *
topology_of_zones(const char *zone_key, char **zones)
{
    json_t *values = json_array();

    for (unsigned i = 0; zones[i] != NULL; i++)
        json_array_append_new(values, json_string(zones[i]));
    return json_pack("[{s:[{s:s, s:o}]}]", "matchLabelExpressions", "key", zone_key, "values",
                     values);
}
