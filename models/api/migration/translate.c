/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translation between in-tree volumes or classes and those of CSI drivers: the part that is the
 * same for all plugins, over manifests. Whether a plugin has migrated, and whether it is gone,
 * follows from the release and its feature gates (MIG-1, MIG-2). The result is a manifest that is
 * parsed like any other, so no model knows of plugins; the input is never changed. */
#include <string.h>

#include "models/api/fields.h"
#include "private.h"
#include "sim/sim.h"
#include "sim/strings.h"

static const InTreePlugin *const plugins[] = {
    &plugin_aws_ebs, &plugin_azure_disk, &plugin_azure_file, &plugin_cinder,
    &plugin_gce_pd,  &plugin_portworx,   &plugin_vsphere,
};

const InTreePlugin *
in_tree_plugin_at(unsigned i)
{
    return i < G_N_ELEMENTS(plugins) ? plugins[i] : NULL;
}

const InTreePlugin *
in_tree_plugin_find(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(plugins); i++)
        if (g_strcmp0(plugins[i]->name, name) == 0)
            return plugins[i];
    return NULL;
}

const InTreePlugin *
in_tree_plugin_of_driver(const char *driver)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(plugins); i++)
        if (strcmp(plugins[i]->driver, driver) == 0)
            return plugins[i];
    return NULL;
}

const InTreePlugin *
in_tree_plugin_of_key(const char *key)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(plugins); i++)
        if (strcmp(plugins[i]->source, key) == 0)
            return plugins[i];
    return NULL;
}

const InTreePlugin *
in_tree_plugin_of_source(const json_t *source)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(plugins); i++)
        if (json_object_get(source, plugins[i]->source) != NULL)
            return plugins[i];
    return NULL;
}

const char *
in_tree_plugin_name(const InTreePlugin *self)
{
    return self->name;
}

const char *
in_tree_plugin_driver(const InTreePlugin *self)
{
    return self->driver;
}

const char *
in_tree_plugin_source(const InTreePlugin *self)
{
    return self->source;
}

const char *
in_tree_plugin_zone_key(const InTreePlugin *self)
{
    return self->zone_key;
}

/* ---- Manifests ---- */

gboolean
migration_fail(GError **error, const char *format, ...)
{
    FORMATTED(text, format);
    g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INVALID, text);
    return FALSE;
}

const char *
migration_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text == NULL ? "" : text;
}

void
migration_set(json_t *object, const char *key, const char *value)
{
    if (value != NULL && *value != '\0')
        json_object_set_new(object, key, json_string(value));
}

json_t *
migration_member(json_t *object, const char *key)
{
    json_t *member = json_object_get(object, key);

    if (member == NULL)
        json_object_set_new(object, key, member = json_object());
    return member;
}

json_t *
migration_secret(const char *name, const char *namespace)
{
    json_t *secret = json_object();

    migration_set(secret, "name", name);
    migration_set(secret, "namespace", namespace);
    return secret;
}

/* ---- Classes ---- */

typedef struct {
    const InTreePlugin *plugin;
    json_t *parameters;
    json_t *topologies; /* of the parameters zone and zones */
} ClassTranslation;

/* MIG-10 */
static void
translate_parameter(ClassTranslation *self, const char *given, const char *value)
{
    g_autofree char *key = g_ascii_strdown(given, -1);
    gboolean is_list = strcmp(key, "zones") == 0;

    if ((self->plugin->flags & PLUGIN_ZONE_PARAMETERS) != 0 &&
        (is_list || strcmp(key, "zone") == 0)) {
        char *one[] = {(char *)value, NULL};
        g_auto(GStrv) many = g_strsplit(value, ",", -1);
        json_decref(self->topologies);
        self->topologies =
            topology_of_zones(self->plugin->class_key, is_list && *value != '\0' ? many : one);
    } else if (self->plugin->parameter == NULL ||
               !self->plugin->parameter(self->parameters, key, given, value)) {
        json_object_set_new(self->parameters, given, json_string(value));
    }
}

static gboolean
translate_topologies(ClassTranslation *self, json_t *class, GError **error)
{
    const json_t *allowed = json_object_get(class, "allowedTopologies");
    gboolean is_allowed = json_array_size(allowed) > 0;

    if (self->topologies != NULL && is_allowed)
        return migration_fail(
            error, "cannot simultaneously set allowed topologies and zone/zones parameters");
    if (self->topologies != NULL)
        json_object_set(class, "allowedTopologies", self->topologies);
    else if (is_allowed && self->plugin->class_key != NULL)
        json_object_set_new(class, "allowedTopologies",
                            topology_translate_terms(allowed, self->plugin->class_key));
    return TRUE;
}

json_t *
in_tree_plugin_class_to_csi(const InTreePlugin *self, const json_t *class, GError **error)
{
    ClassTranslation translation = {self, json_object(), NULL};
    json_t *translated = class == NULL ? NULL : json_deep_copy(class);
    const char *key;
    json_t *value;

    json_object_foreach(json_object_get(translated, "parameters"), key, value)
        if (json_is_string(value))
            translate_parameter(&translation, key, json_string_value(value));
    if (translated == NULL) {
        migration_fail(error, "sc is nil");
    } else if (!translate_topologies(&translation, translated, error)) {
        g_clear_pointer(&translated, json_decref);
    } else {
        if (json_object_size(translation.parameters) > 0)
            json_object_set(translated, "parameters", translation.parameters);
        else
            json_object_del(translated, "parameters");
        if (self->finish_class != NULL)
            self->finish_class(translated);
    }
    json_decref(translation.parameters);
    json_decref(translation.topologies);
    return translated;
}

/* ---- Volumes ---- */

/* (owned): NULL with @error */
static json_t *
csi_source(const InTreePlugin *self, const MigrationOrigin *origin, GError **error)
{
    g_autofree char *handle = self->handle != NULL
                                  ? self->handle(origin, error)
                                  : g_strdup(migration_text(origin->source, self->id));
    json_t *csi, *attributes = json_object();

    if (handle == NULL) {
        json_decref(attributes);
        return NULL;
    }
    csi = json_pack("{s:s, s:s}", "driver", self->driver, "volumeHandle", handle);
    migration_set(csi, "fsType", migration_text(origin->source, "fsType"));
    if ((self->flags & PLUGIN_READ_ONLY) != 0 &&
        json_is_true(json_object_get(origin->source, "readOnly")))
        json_object_set_new(csi, "readOnly", json_true());
    if (self->to_csi != NULL && !self->to_csi(origin, csi, attributes, error))
        g_clear_pointer(&csi, json_decref);
    if (csi != NULL && json_object_size(attributes) > 0)
        json_object_set(csi, "volumeAttributes", attributes);
    json_decref(attributes);
    return csi;
}

json_t *
in_tree_plugin_volume_to_csi(const InTreePlugin *self, const json_t *volume, GError **error)
{
    MigrationOrigin origin = {.volume = volume,
                              .source =
                                  json_object_get(json_object_get(volume, "spec"), self->source),
                              .name = migration_text(json_object_get(volume, "metadata"), "name"),
                              .namespace = ""};

    if (origin.source == NULL) {
        migration_fail(error, "pv is nil or %s not defined on pv", self->source);
        return NULL;
    }
    json_t *csi = csi_source(self, &origin, error);
    if (csi == NULL)
        return NULL;
    json_t *translated = json_deep_copy(volume), *spec = json_object_get(translated, "spec");
    json_object_del(spec, self->source);
    json_object_set_new(spec, "csi", csi);
    if (self->zone_key != NULL)
        topology_to_csi(translated, self);
    if (self->finish_volume != NULL)
        self->finish_volume(translated);
    return translated;
}

/* MIG-45 */
static const char *
inline_mode(const InTreePlugin *self, const json_t *source)
{
    if ((self->flags & PLUGIN_SHARED) != 0)
        return "ReadWriteMany";
    return (self->flags & PLUGIN_READERS) != 0 && json_is_true(json_object_get(source, "readOnly"))
               ? "ReadOnlyMany"
               : "ReadWriteOnce";
}

json_t *
in_tree_plugin_inline_to_csi(const InTreePlugin *self,
                             const json_t *volume,
                             const char *namespace,
                             GError **error)
{
    MigrationOrigin origin = {.source = json_object_get(volume, self->source),
                              .name = migration_text(volume, "name"),
                              .namespace = namespace};

    if (origin.source == NULL) {
        migration_fail(error, "volume is nil or %s not defined on volume", self->source);
        return NULL;
    }
    json_t *csi = csi_source(self, &origin, error);
    if (csi == NULL)
        return NULL;
    const char *handle = migration_text(csi, "volumeHandle");
    const char *id =
        (self->flags & PLUGIN_NAMED_BY_ID) != 0 ? migration_text(origin.source, self->id) : handle;
    g_autofree char *name = (self->flags & PLUGIN_NAMED_BY_HANDLE) != 0
                                ? g_strdup(handle)
                                : g_strdup_printf("%s-%s", self->driver, id);
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:o, s:[s]}}", "apiVersion", "v1", "kind",
                     "PersistentVolume", "metadata", "name", name, "spec", "csi", csi,
                     "accessModes", inline_mode(self, origin.source));
}

json_t *
in_tree_plugin_volume_from_csi(const InTreePlugin *self, const json_t *volume, GError **error)
{
    const json_t *csi = json_object_get(json_object_get(volume, "spec"), "csi");

    if (csi == NULL) {
        migration_fail(error, "pv is nil or CSI source not defined on pv");
        return NULL;
    }
    json_t *translated = json_deep_copy(volume), *spec = json_object_get(translated, "spec");
    json_t *source = json_object();
    if (self->id != NULL)
        migration_set(source, self->id, migration_text(csi, "volumeHandle"));
    migration_set(source, "fsType", migration_text(csi, "fsType"));
    if (json_is_true(json_object_get(csi, "readOnly")))
        json_object_set_new(source, "readOnly", json_true());
    gboolean is_done = (self->from_csi == NULL || self->from_csi(translated, csi, source, error)) &&
                       (self->zone_key == NULL || topology_from_csi(translated, self, error));
    json_object_del(spec, "csi");
    json_object_set_new(spec, self->source, source);
    if (!is_done)
        g_clear_pointer(&translated, json_decref);
    return translated;
}

char *
in_tree_plugin_repair_handle(const InTreePlugin *self,
                             const char *handle,
                             const char *node_id,
                             GError **error)
{
    return self->repair != NULL ? self->repair(handle, node_id, error) : g_strdup(handle);
}

/* ---- Releases ---- */

/* MIG-1 */
gboolean
in_tree_plugin_is_migrated(const InTreePlugin *self, const Release *release)
{
    return release_has_gate(release, "CSIMigration") && release_has_gate(release, self->migration);
}

/* MIG-2 */
gboolean
in_tree_plugin_is_gone(const InTreePlugin *self, const Release *release)
{
    g_autofree char *complete = g_strconcat(self->migration, "Complete", NULL); /* until 1.21 */

    return in_tree_plugin_is_migrated(self, release) &&
           (release->minor >= self->gone || release_has_gate(release, self->unregister) ||
            (feature_gate_find(complete) != NULL && release_has_gate(release, complete)));
}
