/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PersistentVolumes and their sources. A source is a CSI volume, or a plugin's name and the
 * identity by which clouds, limits and the scheduler know the volume; the rest stays in the
 * manifest. If the plugin has migrated, the source becomes that of the CSI driver as it is read,
 * with the original behind it (MIG-50): components then see the CSI volume, and the manifest is
 * printed as it was stored. */
#include "volume.h"

#include <string.h>

#include "fields.h"
#include "migration/migration.h"

/* A plugin's key in spec, and the path that identifies its volume: the plugin's GetVolumeName(). */
typedef struct {
    const char *plugin;
    const char *handle_path;
    const char *second_path; /* joined with @separator; NULL: none */
    char separator;
} VolumeSourceKind;

static const VolumeSourceKind source_kinds[] = {
    {"csi",                  "volumeHandle", NULL,     '\0'},
    {"local",                "path",         NULL,     '\0'},
    {"hostPath",             "path",         NULL,     '\0'},
    {"nfs",                  "server",       "path",   '/' },
    {"awsElasticBlockStore", "volumeID",     NULL,     '\0'},
    {"gcePersistentDisk",    "pdName",       NULL,     '\0'},
    {"azureDisk",            "diskURI",      NULL,     '\0'},
    {"azureFile",            "shareName",    NULL,     '\0'},
    {"cephfs",               "monitors",     NULL,     '\0'},
    {"cinder",               "volumeID",     NULL,     '\0'},
    {"fc",                   "targetWWNs",   NULL,     '\0'},
    {"flexVolume",           "driver",       NULL,     '\0'},
    {"flocker",              "datasetName",  NULL,     '\0'},
    {"glusterfs",            "endpoints",    "path",   ':' },
    {"iscsi",                "targetPortal", "iqn",    ':' },
    {"photonPersistentDisk", "pdID",         NULL,     '\0'},
    {"portworxVolume",       "volumeID",     NULL,     '\0'},
    {"quobyte",              "registry",     "volume", ':' },
    {"rbd",                  "pool",         "image",  ':' },
    {"scaleIO",              "volumeName",   NULL,     '\0'},
    {"storageos",            "volumeName",   NULL,     '\0'},
    {"vsphereVolume",        "volumePath",   NULL,     '\0'},
};

static const Field reference_fields[] = {
    FIELD("name", field_word, SecretReference, name, FIELD_SPEC),
    FIELD("namespace", field_word, SecretReference, namespace, FIELD_SPEC),
    FIELDS_END,
};

static const FieldType reference_type = {FIELD_STRUCT(SecretReference, reference_fields)};

#define SECRET(path, secret) FIELD(path, reference_type, VolumeSecrets, of[secret], FIELD_SPEC)
static const Field secrets_fields[] = {
    SECRET("controllerPublishSecretRef", SECRET_CONTROLLER_PUBLISH),
    SECRET("nodeStageSecretRef", SECRET_NODE_STAGE),
    SECRET("nodePublishSecretRef", SECRET_NODE_PUBLISH),
    SECRET("controllerExpandSecretRef", SECRET_CONTROLLER_EXPAND),
    SECRET("nodeExpandSecretRef", SECRET_NODE_EXPAND),
    FIELDS_END,
};
#undef SECRET

VolumeSecrets *
volume_secrets_new(const SecretReference *references)
{
    VolumeSecrets *self = NULL;

    for (unsigned i = 0; i < N_VOLUME_SECRETS; i++) {
        if (references[i].name == NULL)
            continue;
        if (self == NULL) {
            self = g_new0(VolumeSecrets, 1);
            self->refs = REF_COUNT_ONE;
        }
        self->of[i] = references[i];
    }
    return self;
}

static gboolean
volume_secrets_equal(const VolumeSecrets *a, const VolumeSecrets *b)
{
    static const VolumeSecrets none;

    return fields_equal(secrets_fields, a == NULL ? &none : a, b == NULL ? &none : b);
}

static UNREF_DEFINE(VolumeSecrets, volume_secrets, g_free)

const SecretReference *
volume_source_secret(const VolumeSource *self, VolumeSecret secret)
{
    const SecretReference *reference =
        self == NULL || self->secrets == NULL ? NULL : &self->secrets->of[secret];

    return reference == NULL || reference->name == NULL ? NULL : reference;
}

static const Field csi_fields[] = {
    FIELD("volumeAttributes", field_string_map, VolumeSource, attributes, FIELD_SPEC),
    FIELD("driver", field_string, VolumeSource, driver, FIELD_REQUIRED),
    FIELD("volumeHandle", field_string, VolumeSource, handle, FIELD_REQUIRED),
    FIELD("fsType", field_word, VolumeSource, fs_type, FIELD_SPEC),
    FIELD("readOnly", field_flag, VolumeSource, read_only, FIELD_SPEC),
    FIELDS_END,
};

static void
csi_source_parse(ApiParser *parser, const json_t *value, VolumeSource *source)
{
    VolumeSecrets secrets = {0};

    fields_parse(parser, value, csi_fields, source);
    if (json_is_object(value))
        fields_parse(parser, value, secrets_fields, &secrets);
    source->secrets = volume_secrets_new(secrets.of);
}

static json_t *
csi_source_to_json(const VolumeSource *source, const json_t *old)
{
    json_t *value = fields_to_json(csi_fields, source, old);

    if (value != NULL && source->secrets != NULL)
        fields_print(secrets_fields, source->secrets, value, 0);
    return value;
}

/* CSIVolumeSource: other keys than in a PersistentVolume, and only one secret, in the pod's
 * namespace. */
static const Field inline_fields[] = {
    FIELD("volumeAttributes", field_string_map, VolumeSource, attributes, FIELD_SPEC),
    FIELD("driver", field_string, VolumeSource, driver, FIELD_REQUIRED),
    FIELD("fsType", field_word, VolumeSource, fs_type, FIELD_SPEC),
    FIELD("readOnly", field_flag, VolumeSource, read_only, FIELD_SPEC),
    FIELDS_END,
};

static VolumeSource *
inline_csi_parse(ApiParser *parser, const json_t *value)
{
    SecretReference secrets[N_VOLUME_SECRETS] = {{0}};
    VolumeSource source = {.plugin = "csi", .is_inline = TRUE};

    fields_parse(parser, value, inline_fields, &source);
    secrets[SECRET_NODE_PUBLISH].name =
        api_parser_intern(parser, json_path_string(value, "nodePublishSecretRef.name"));
    source.secrets = volume_secrets_new(secrets);
    return volume_source_new(&source);
}

VolumeSource *
volume_source_new(const VolumeSource *value)
{
    VolumeSource *self = g_new(VolumeSource, 1);

    *self = *value;
    self->refs = REF_COUNT_ONE;
    return self;
}

VolumeSource *
volume_source_without_origin(const VolumeSource *self)
{
    VolumeSource source = *self;

    source.attributes = string_map_ref(self->attributes);
    source.secrets = self->secrets == NULL ? NULL : volume_secrets_new(self->secrets->of);
    source.origin = NULL;
    source.csi_affinity = NULL;
    source.in_tree = NULL;
    return volume_source_new(&source);
}

static void
volume_source_free(VolumeSource *self)
{
    string_map_unref(self->attributes);
    volume_secrets_unref(self->secrets);
    volume_source_unref(self->origin);
    node_selector_unref(self->csi_affinity);
    g_free(self);
}

REF_COUNTED_DEFINE(VolumeSource, volume_source, volume_source_free)

static const VolumeSourceKind *
source_kind_find(const char *plugin)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(source_kinds); i++)
        if (strcmp(source_kinds[i].plugin, plugin) == 0)
            return &source_kinds[i];
    return NULL;
}

/* What the scheduler compares beside the identity: the target without its portal, and the monitors
 * (VF-34). */
static StringMap *
compared_parse(ApiParser *parser, const json_t *value, const char *plugin)
{
    const json_t *monitors = json_path_get(value, "monitors");
    const char *iqn = json_path_string(value, "iqn");
    StringMap *map = NULL;

    if (strcmp(plugin, "iscsi") == 0 && iqn != NULL)
        return string_map_with(NULL, "iqn", api_parser_intern(parser, iqn));
    for (size_t i = 0; strcmp(plugin, "rbd") == 0 && i < json_array_size(monitors); i++) {
        const char *monitor = json_string_value(json_array_get(monitors, i));
        if (monitor == NULL)
            continue;
        StringMap *with =
            string_map_with(map, api_parser_intern(parser, monitor), api_parser_intern(parser, ""));
        string_map_unref(map);
        map = with;
    }
    return map;
}

/* Reads a source that is not CSI: its name and its identity. */
static void
in_tree_source_parse(ApiParser *parser,
                     const json_t *value,
                     const VolumeSourceKind *kind,
                     VolumeSource *source)
{
    const json_t *handle = json_path_get(value, kind->handle_path);
    const char *first = json_string_value(handle);
    gboolean is_rbd = strcmp(kind->plugin, "rbd") == 0;
    const char *second =
        kind->second_path == NULL ? NULL : json_path_string(value, kind->second_path);
    g_autofree char *joined = NULL;

    if (!api_parser_expect(parser, value, JSON_OBJECT))
        return;
    if (handle == NULL && is_rbd)
        first = "rbd"; /* the API server's default */
    else if (handle == NULL && json_path_get(value, "wwids") == NULL)
        api_parser_required_at(parser, value, kind->handle_path, NULL);
    if (kind->second_path != NULL && second == NULL)
        api_parser_required_at(parser, value, kind->second_path, NULL);
    if (second != NULL)
        joined = g_strdup_printf("%s%c%s", first == NULL ? "" : first, kind->separator, second);
    if (joined != NULL || first != NULL)
        source->handle = api_parser_intern(parser, joined != NULL ? joined : first);
    if (strcmp(kind->plugin, "flexVolume") == 0) { /* its volumes have no name of their own */
        source->flex_driver = source->handle;
        source->handle = NULL;
    }
    source->fs_type = api_parser_intern(parser, json_path_string(value, "fsType"));
    source->read_only = json_is_true(json_path_get(value, "readOnly"));
    source->attributes = compared_parse(parser, value, kind->plugin);
}

static void
volume_source_parse(ApiParser *parser, const json_t *spec, void *field)
{
    VolumeSource **source = field;
    VolumeSource found = {0};

    if (!api_parser_expect(parser, spec, JSON_OBJECT))
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(source_kinds); i++) {
        const VolumeSourceKind *kind = &source_kinds[i];
        const json_t *value = json_path_get(spec, kind->plugin);
        if (value == NULL)
            continue;
        gsize length = api_parser_enter(parser, kind->plugin);
        if (found.plugin != NULL) {
            api_parser_fault(parser, value, NULL,
                             "Forbidden: may not specify more than 1 volume type");
        } else {
            found.plugin = kind->plugin;
            found.in_tree = in_tree_plugin_of_key(kind->plugin);
            if (strcmp(kind->plugin, "csi") == 0)
                csi_source_parse(parser, value, &found);
            else
                in_tree_source_parse(parser, value, kind, &found);
        }
        api_parser_leave(parser, length);
    }
    volume_source_unref(*source);
    *source = found.plugin == NULL ? NULL : volume_source_new(&found);
    if (found.plugin == NULL)
        api_parser_required(parser, spec, "must specify a volume type");
}

const VolumeSource *
volume_in_process_source(const Volume *self)
{
    const VolumeSource *source = self->source;

    if (source == NULL || source->origin != NULL)
        return source == NULL ? NULL : source->origin;
    return strcmp(source->plugin, "csi") == 0 ? NULL : source;
}

const char *
volume_backend_id(const Volume *self)
{
    return volume_source_backend_id(self->source, self->meta.key->name);
}

const char *
volume_source_backend_id(const VolumeSource *self, const char *name)
{
    if (self == NULL || self->handle == NULL) /* FlexVolume is told this name (FLX-13) */
        return name;
    return self->backend_id != NULL ? self->backend_id : self->handle;
}

static json_t *
in_tree_source_to_json(const VolumeSource *source)
{
    const VolumeSourceKind *kind = source_kind_find(source->plugin);
    json_t *object = json_object();
    const char *handle = source->handle == NULL ? "" : source->handle;

    g_assert(kind != NULL);
    const char *second = kind->second_path == NULL ? NULL : strchr(handle, kind->separator);
    if (second == NULL) {
        json_object_set_new(object, kind->handle_path, json_string(handle));
    } else {
        json_object_set_new(object, kind->handle_path,
                            json_stringn(handle, (size_t)(second - handle)));
        json_object_set_new(object, kind->second_path, json_string(second + 1));
    }
    if (source->fs_type != NULL)
        json_object_set_new(object, "fsType", json_string(source->fs_type));
    if (source->read_only)
        json_object_set_new(object, "readOnly", json_true());
    return object;
}

/* Over spec, which has the source as one key. It never changes (API-134), so the manifest has all
 * of it. */
static json_t *
volume_source_over(const void *field, const json_t *manifest)
{
    const VolumeSource *source = *(VolumeSource *const *)field;

    if (source == NULL)
        return json_incref((json_t *)manifest); /* only counted */
    if (source->origin != NULL)                 /* MIG-50: what is stored does not change */
        source = source->origin;
    json_t *spec = manifest == NULL ? json_object() : json_deep_copy(manifest);
    const json_t *old = json_path_get(spec, source->plugin);
    json_t *value = NULL;
    if (strcmp(source->plugin, "csi") == 0)
        value = csi_source_to_json(source, old);
    else if (old == NULL)
        value = in_tree_source_to_json(source);
    if (value != NULL)
        json_object_set_new(spec, source->plugin, value);
    return spec;
}

static gboolean
volume_source_equal(const VolumeSource *a, const VolumeSource *b)
{
    return g_strcmp0(a->plugin, b->plugin) == 0 && fields_equal(csi_fields, a, b) &&
           volume_secrets_equal(a->secrets, b->secrets);
}

gboolean
volume_source_same(const VolumeSource *a, const VolumeSource *b)
{
    return a == b || (a != NULL && b != NULL && volume_source_equal(a, b));
}

static const FieldType volume_source_type = {
    FIELD_SHARED(volume_source),
    .parse = volume_source_parse,
    .over = volume_source_over,
};

static const FieldType volume_phase_type = {
    FIELD_WORDS("Pending", "Available", "Bound", "Released", "Failed"),
};

const FieldType field_reclaim_policy = {FIELD_WORDS("Retain", "Delete", "Recycle")};

static void
claim_reference_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const Field fields[] = {
        FIELD("uid", field_uid, ClaimReference, uid, FIELD_SPEC),
        FIELDS_END,
    };
    ClaimReference *reference = field;
    const char *namespace = json_path_string(value, "namespace");
    const char *name = json_path_string(value, "name");
    const char *version = json_path_string(value, "resourceVersion");

    fields_parse(parser, value, fields, reference);
    if (!json_is_object(value))
        return;
    if (name == NULL || name[0] == '\0')
        api_parser_required_at(parser, value, "name", NULL);
    else
        reference->claim = objects_key(parser->objects, KIND_CLAIM, namespace, name);
    if (version != NULL)
        reference->resource_version = g_ascii_strtoull(version, NULL, 10);
}

static gboolean
claim_reference_equal(const void *a, const void *b)
{
    const ClaimReference *x = a, *y = b;

    return x->claim == y->claim && object_uid_equal(x->uid, y->uid) &&
           x->resource_version == y->resource_version;
}

static json_t *
claim_reference_to_json(const void *field)
{
    const ClaimReference *reference = field;

    if (reference->claim == NULL)
        return NULL;
    json_t *object = json_pack("{s:s, s:s, s:s}", "apiVersion", claim_kind.api_version, "kind",
                               claim_kind.kind, "name", reference->claim->name);
    if (reference->claim->namespace[0] != '\0')
        json_object_set_new(object, "namespace", json_string(reference->claim->namespace));
    json_t *uid = field_uid_to_json(&reference->uid);
    if (uid != NULL)
        json_object_set_new(object, "uid", uid);
    if (reference->resource_version > 0) {
        g_autofree char *version =
            g_strdup_printf("%" G_GUINT64_FORMAT, reference->resource_version);
        json_object_set_new(object, "resourceVersion", json_string(version));
    }
    return object;
}

/* Keeps the manifest's untyped members if it names the same claim. */
static json_t *
claim_reference_over(const void *field, const json_t *manifest)
{
    json_t *fresh = claim_reference_to_json(field);

    if (fresh == NULL || !json_is_object(manifest) ||
        g_strcmp0(json_path_string(manifest, "name"), json_path_string(fresh, "name")) != 0 ||
        g_strcmp0(json_path_string(manifest, "namespace"), json_path_string(fresh, "namespace")) !=
            0)
        return fresh;
    json_object_del(fresh, "apiVersion");
    json_object_del(fresh, "kind");
    json_t *rest = json_copy((json_t *)manifest); /* only read */
    json_object_del(rest, "uid");                 /* typed: a claim that was let go of has none */
    json_object_del(rest, "resourceVersion");
    json_object_update_missing_new(fresh, rest);
    return fresh;
}

static const FieldType claim_reference_type = {
    .size = sizeof(ClaimReference),
    .equal = claim_reference_equal,
    .parse = claim_reference_parse,
    .over = claim_reference_over,
};

static const Field volume_fields[] = {
    /* clang-format off */
    FIELD("spec", volume_source_type, Volume, source, FIELD_SPEC | FIELD_PART | FIELD_REQUIRED),
    FIELD("spec.nodeAffinity.required", field_node_selector, Volume, node_affinity, FIELD_SPEC),
    FIELD("spec.mountOptions", field_string_list, Volume, mount_options, FIELD_SPEC),
    FIELD("spec.accessModes", field_access_modes, Volume, access_modes, FIELD_REQUIRED),
    FIELD("spec.capacity.storage", field_quantity, Volume, capacity_bytes, FIELD_SPEC),
    FIELD("spec.claimRef", claim_reference_type, Volume, claim_ref, FIELD_SPEC),
    FIELD("spec.persistentVolumeReclaimPolicy", field_reclaim_policy, Volume, reclaim_policy, FIELD_SPEC),
    FIELD("spec.storageClassName", field_word, Volume, class_name, FIELD_SPEC),
    FIELD("spec.volumeAttributesClassName", field_string, Volume, attributes_class, FIELD_SPEC),
    FIELD("spec.volumeMode", field_volume_mode, Volume, volume_mode, FIELD_SPEC),
    FIELD("status.phase", volume_phase_type, Volume, phase, FIELD_STATUS),
    FIELD("status.message", field_word, Volume, message, FIELD_STATUS),
    FIELD("status.reason", field_word, Volume, reason, FIELD_STATUS),
    FIELD("status.lastPhaseTransitionTime", field_time, Volume, phase_changed_at, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

static void
check_capacity(ApiParser *parser, const json_t *manifest, const Volume *volume)
{
    const json_t *capacity = json_path_get(manifest, "spec.capacity");
    const json_t *storage = json_path_get(manifest, "spec.capacity.storage");

    if (capacity == NULL) {
        api_parser_required_at(parser, json_path_get(manifest, "spec"), "spec.capacity", NULL);
    } else if (storage == NULL) {
        api_parser_fault_at(parser, capacity, "spec.capacity", NULL,
                            "Unsupported value: no \"storage\": supported values: \"storage\"");
    } else {
        gsize length = api_parser_enter(parser, "spec.capacity[storage]");
        api_parser_check_positive(parser, storage, volume->capacity_bytes);
        api_parser_leave(parser, length);
    }
}

/* validatePathNoBacksteps(). */
static void
check_path(ApiParser *parser, const json_t *spec, const char *key)
{
    const char *path = json_path_string(spec, key);
    g_auto(GStrv) parts = g_strsplit(path == NULL ? "" : path, "/", -1);

    if (g_strv_contains((const char *const *)parts, ".."))
        api_parser_invalid_at(parser, spec, key, NULL, "must not contain '..'");
}

static void
check_host_path(ApiParser *parser, const json_t *spec, const Volume *volume)
{
    static const char *const types[] = {
        "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
        "File", "FileOrCreate", "Socket",     NULL};
    const char *path = json_path_string(spec, "hostPath.path");
    g_autofree char *clean = path == NULL ? NULL : g_canonicalize_filename(path, "/");

    api_parser_check_word(parser, spec, "hostPath.type", types);
    if (clean != NULL && strcmp(clean, "/") == 0 && volume->reclaim_policy == RECLAIM_RECYCLE)
        api_parser_fault_at(parser, json_path_get(spec, "persistentVolumeReclaimPolicy"),
                            "persistentVolumeReclaimPolicy", NULL,
                            "Forbidden: may not be 'recycle' for a hostPath mount of '/'");
}

/* VAC-3. */
static void
check_attributes_class(ApiParser *parser, const json_t *spec, const Volume *volume)
{
    const char *name = volume->attributes_class;

    if (name == NULL)
        return;
    if (name[0] == '\0')
        api_parser_required_at(parser, spec, "volumeAttributesClassName",
                               "an empty string is disallowed");
    api_parser_check_name(parser, spec, "volumeAttributesClassName", name, name_fault_subdomain);
    if (volume->source == NULL || strcmp(volume->source->plugin, "csi") != 0)
        api_parser_required_at(parser, spec, "csi",
                               "has to be specified when using volumeAttributesClassName");
}

static void
volume_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const Volume *volume = VOLUME_CONST(object);
    const json_t *spec = json_path_get(manifest, "spec");
    const json_t *modes = json_path_get(manifest, "spec.accessModes");

    if (!json_is_object(spec))
        return;
    /* The spec of an inline volume has no object around it, and may have no capacity:
     * ValidatePersistentVolumeSpec() in Kubernetes' validation.go. */
    if (json_path_get(manifest, "metadata") != NULL)
        check_capacity(parser, manifest, volume);
    if (json_is_array(modes) && json_array_size(modes) == 0)
        api_parser_required_at(parser, modes, "spec.accessModes", NULL);
    access_modes_check(parser, modes, volume->access_modes);
    gsize inside = api_parser_enter(parser, "spec");
    api_parser_check_name(parser, spec, "storageClassName", volume->class_name,
                          name_fault_subdomain);
    check_path(parser, spec, "hostPath.path");
    check_path(parser, spec, "local.path");
    check_host_path(parser, spec, volume);
    if (!parser->no_attributes_classes)
        check_attributes_class(parser, spec, volume);
    api_parser_leave(parser, inside);
    const json_t *affinity = json_path_get(manifest, "spec.nodeAffinity");
    if (affinity != NULL && json_path_get(affinity, "required") == NULL)
        api_parser_required_at(parser, affinity, "spec.nodeAffinity.required",
                               "must specify required node constraints");
    if (volume->source != NULL && strcmp(volume->source->plugin, "local") == 0 && affinity == NULL)
        api_parser_required_at(parser, spec, "spec.nodeAffinity",
                               "Local volume requires node affinity");
}

/* Takes @origin. @translated: (nullable): the PersistentVolume that it becomes. Returns: (owned) */
static VolumeSource *
migrated_source(ApiParser *parser, VolumeSource *origin, const json_t *translated)
{
    VolumeSource source = {.plugin = "csi", .in_tree = origin->in_tree, .origin = origin};
    const json_t *affinity = json_path_get(translated, "spec.nodeAffinity.required");

    if (translated == NULL)
        return origin;
    origin->backend_id =
        api_parser_intern(parser, json_path_string(translated, "spec.csi.volumeHandle"));
    if (!in_tree_plugin_is_migrated(origin->in_tree, parser->migrates))
        return origin;
    csi_source_parse(parser, json_path_get(translated, "spec.csi"), &source);
    if (affinity != NULL)
        field_type_parse(&field_node_selector, parser, affinity, &source.csi_affinity);
    if (json_path_get(translated, "spec.accessModes") != NULL)
        field_type_parse(&field_access_modes, parser, json_path_get(translated, "spec.accessModes"),
                         &source.csi_modes);
    return volume_source_new(&source);
}

/* MIG-50: from here on all components see the CSI volume, unless their node's kubelet does not
 * migrate; what is printed is the manifest. A volume that does not translate stays as it is. */
static void
migrate(ApiParser *parser, const json_t *manifest, Object *object)
{
    Volume *volume = VOLUME(object);
    VolumeSource *origin = volume->source;

    if (parser->migrates == NULL || origin == NULL || origin->in_tree == NULL)
        return;
    json_t *translated = in_tree_plugin_volume_to_csi(origin->in_tree, manifest, NULL);
    volume->source = migrated_source(parser, origin, translated);
    json_decref(translated);
}

/* ---- Volumes that stand in a pod ---- */

/* Sources that need neither provisioning nor attaching: the kubelet sets them up at once. */
static gboolean
volume_is_plain(const char *plugin)
{
    return strcmp(plugin, "local") == 0 || strcmp(plugin, "hostPath") == 0;
}

static VolumeSource *
inline_in_tree_parse(ApiParser *parser, const json_t *value, const VolumeSourceKind *kind)
{
    VolumeSource source = {.plugin = kind->plugin, .in_tree = in_tree_plugin_of_key(kind->plugin)};

    in_tree_source_parse(parser, value, kind, &source);
    return volume_source_new(&source);
}

/* MIG-45. Takes @origin; @volume: of the pod. */
static VolumeSource *
migrated_inline_source(ApiParser *parser, VolumeSource *origin, const json_t *volume)
{
    json_t *pv = in_tree_plugin_inline_to_csi(
        origin->in_tree, volume, parser->key == NULL ? "" : parser->key->namespace, NULL);
    VolumeSource *source = migrated_source(parser, origin, pv);

    if (source != origin)
        source->inline_name = api_parser_intern(parser, json_path_string(pv, "metadata.name"));
    json_decref(pv);
    return source;
}

VolumeSource *
volume_source_parse_inline(ApiParser *parser, const json_t *volume)
{
    const VolumeSourceKind *kind = NULL;
    VolumeSource *origin = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(source_kinds) && kind == NULL; i++)
        if (!volume_is_plain(source_kinds[i].plugin) &&
            json_path_get(volume, source_kinds[i].plugin) != NULL)
            kind = &source_kinds[i];
    if (kind == NULL)
        return NULL;
    const json_t *value = json_path_get(volume, kind->plugin);
    gsize length = api_parser_enter(parser, kind->plugin);
    gboolean is_csi = strcmp(kind->plugin, "csi") == 0;
    if (api_parser_expect(parser, value, JSON_OBJECT))
        origin =
            is_csi ? inline_csi_parse(parser, value) : inline_in_tree_parse(parser, value, kind);
    api_parser_leave(parser, length);
    return origin == NULL || origin->in_tree == NULL || parser->migrates == NULL
               ? origin
               : migrated_inline_source(parser, origin, volume);
}
const KindClass volume_kind = {
    .kind = "PersistentVolume",
    .api_version = "v1",
    .resource = "persistentvolumes",
    .size = sizeof(Volume),
    .fields = volume_fields,
    .check = volume_check,
    .finish = migrate,
};

const NodeSelector *
volume_node_affinity(const Volume *self)
{
    return self->source != NULL && self->source->csi_affinity != NULL ? self->source->csi_affinity
                                                                      : self->node_affinity;
}

uint32_t
volume_access_modes(const Volume *self)
{
    return self->source != NULL && self->source->csi_modes != 0 ? self->source->csi_modes
                                                                : self->access_modes;
}

const char *
volume_class(const Volume *self)
{
    const char *class = object_annotation(&self->meta, ANNOTATION_BETA_STORAGE_CLASS);

    if (class != NULL)
        return class;
    return self->class_name == NULL ? "" : self->class_name;
}

gboolean
volume_is_bound_to(const Volume *self, const Claim *claim)
{
    return self->claim_ref.claim == claim->meta.key &&
           (!object_uid_is_set(self->claim_ref.uid) ||
            object_uid_equal(self->claim_ref.uid, claim->meta.uid));
}

const char *
volume_phase_name(VolumePhase phase)
{
    return volume_phase_type.words[phase];
}
