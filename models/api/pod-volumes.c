/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volumes of a pod: first claims, with generic ephemeral ones, then inline volumes that a
 * driver or the controller has to handle. Volumes that the kubelet makes alone (emptyDir, secrets)
 * stay in the manifest. The mounts of containers are checked against all of them; a device has to
 * be the volume of a claim. Pods of one template share the list. */
#include <string.h>

#include "migration/migration.h"
#include "models/api/api-test.h"
#include "pod-private.h"

PodVolumes *
pod_volumes_new_with_inline(const PodVolume *items, unsigned n, unsigned n_inline)
{
    unsigned n_all = n + n_inline;

    if (n_all == 0)
        return NULL;
    PodVolumes *self = g_malloc(sizeof *self + n_all * sizeof(PodVolume));
    self->refs = REF_COUNT_ONE;
    self->n_items = n;
    self->n_inline = n_inline;
    memcpy(self->items, items, n_all * sizeof items[0]);
    return self;
}

PodVolumes *
pod_volumes_new(const PodVolume *items, unsigned n)
{
    return pod_volumes_new_with_inline(items, n, 0);
}

PodVolume *
pod_volumes_copy_items(const PodVolumes *self)
{
    unsigned n_all = self == NULL ? 0 : self->n_items + self->n_inline;
    PodVolume *items = n_all == 0 ? NULL : g_memdup2(self->items, n_all * sizeof items[0]);

    for (unsigned i = 0; i < n_all; i++) {
        if (items[i].claim_template != NULL)
            object_ref(&items[i].claim_template->meta);
        volume_source_ref(items[i].source);
    }
    return items;
}

gboolean
pod_volumes_has_inline(const PodVolumes *self, const char *driver)
{
    for (unsigned i = 0; self != NULL && i < self->n_inline; i++)
        if (self->items[self->n_items + i].source->is_inline &&
            g_strcmp0(self->items[self->n_items + i].source->driver, driver) == 0)
            return TRUE;
    return FALSE;
}

Object *
pod_volume_as_volume(Objects *objects, const PodVolume *self, const Release *release)
{
    VolumeSource *source = self->source;
    gboolean has_migrated =
        source->origin != NULL && in_tree_plugin_is_migrated(source->in_tree, release);
    const char *name = has_migrated ? source->inline_name : self->name;
    Object *object = object_new(objects_key(objects, KIND_VOLUME, NULL, name));

    if (source->origin != NULL && !has_migrated) /* MIG-80 */
        source = source->origin;
    VOLUME(object)->source = volume_source_ref(source);
    VOLUME(object)->access_modes = has_migrated ? source->csi_modes : 0;
    return object;
}

static void
unref_items(const PodVolumes *self)
{
    for (unsigned i = 0; i < self->n_items + self->n_inline; i++) {
        object_unref((const Object *)self->items[i].claim_template);
        volume_source_unref(self->items[i].source);
    }
}

static void
pod_volumes_free(PodVolumes *self)
{
    unref_items(self);
    g_free(self);
}

REF_COUNTED_DEFINE(PodVolumes, pod_volumes, pod_volumes_free)

PodVolumes *
pod_volumes_keep(const PodVolumes *self, SimCold *cold)
{
    if (self == NULL || cold == NULL)
        return pod_volumes_ref(self);
    gsize size = (self->n_items + self->n_inline) * sizeof self->items[0];
    PodVolumes *kept = sim_cold_take(cold, sizeof *kept + size);
    g_autofree PodVolume *items = pod_volumes_copy_items(self); /* takes the references */
    *kept = *self;
    memcpy(kept->items, items, size);
    return kept;
}

void
pod_volumes_unkeep(PodVolumes *self, const SimCold *cold)
{
    if (cold == NULL)
        pod_volumes_unref(self);
    else if (self != NULL)
        unref_items(self);
}

/* The lists of containers that may mount volumes. */
static const char *const container_lists[] = {"containers", "initContainers",
                                              "ephemeralContainers"};

/* Whether a container of a pod's spec has @volume in @list: "volumeMounts" or "volumeDevices". */
static gboolean
pod_json_mounts(const json_t *spec, const char *list, const char *volume)
{
    for (unsigned l = 0; l < G_N_ELEMENTS(container_lists); l++) {
        const json_t *containers = json_path_get(spec, container_lists[l]);
        for (size_t i = 0; i < json_array_size(containers); i++)
            if (json_list_find(json_path_get(json_array_get(containers, i), list), "name",
                               volume) != NULL)
                return TRUE;
    }
    return FALSE;
}

static gboolean
pod_json_has_volume(const json_t *spec, const char *name)
{
    return json_list_find(json_path_get(spec, "volumes"), "name", name) != NULL;
}

static gboolean
claim_templates_have(const ClaimTemplates *templates, const char *name)
{
    for (unsigned i = 0; templates != NULL && i < templates->n_items; i++)
        if (g_strcmp0(object_name(&templates->items[i]->meta), name) == 0)
            return TRUE;
    return FALSE;
}

/* A device is a volume of a claim: isMatchedDevice() in validation.go. */
static gboolean
pod_json_volume_can_be_device(const json_t *spec, const char *name)
{
    const json_t *volume = json_list_find(json_path_get(spec, "volumes"), "name", name);

    return volume == NULL || json_path_get(volume, "persistentVolumeClaim") != NULL ||
           json_path_get(volume, "ephemeral") != NULL;
}

static void
check_container_mounts(ApiParser *parser,
                       const json_t *spec,
                       const json_t *container,
                       const char *list,
                       const ClaimTemplates *templates)
{
    const json_t *mounts = json_path_get(container, list);
    gboolean devices = g_str_equal(list, "volumeDevices");
    gsize length = api_parser_enter(parser, list);

    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *mount = json_array_get(mounts, i);
        const char *name = json_path_string(mount, "name");
        if (name == NULL || name[0] == '\0' || claim_templates_have(templates, name))
            continue;
        gboolean found = pod_json_has_volume(spec, name);
        if (found && (!devices || pod_json_volume_can_be_device(spec, name)))
            continue;
        gsize inner = api_parser_enter_index(parser, (unsigned)i);
        if (found)
            api_parser_fault_at(parser, json_path_get(mount, "name"), "name",
                                "use volumeMounts, or a claim",
                                "Invalid value: \"%s\": can only use volume source type of "
                                "PersistentVolumeClaim or Ephemeral for block mode",
                                name);
        else
            api_parser_fault_at(parser, json_path_get(mount, "name"), "name", "add it to volumes",
                                "Not found: \"%s\"", name);
        api_parser_leave(parser, inner);
    }
    api_parser_leave(parser, length);
}

void
pod_check_mounts(ApiParser *parser, const json_t *spec, const ClaimTemplates *templates)
{

    for (unsigned l = 0; l < G_N_ELEMENTS(container_lists); l++) {
        const json_t *containers = json_path_get(spec, container_lists[l]);
        gsize length = api_parser_enter(parser, container_lists[l]);
        for (size_t i = 0; i < json_array_size(containers); i++) {
            const json_t *container = json_array_get(containers, i);
            gsize inner = api_parser_enter_index(parser, (unsigned)i);
            check_container_mounts(parser, spec, container, "volumeMounts", templates);
            check_container_mounts(parser, spec, container, "volumeDevices", templates);
            api_parser_leave(parser, inner);
        }
        api_parser_leave(parser, length);
    }
}

static const Field claim_source_fields[] = {
    FIELD("claimName", field_string, PodVolume, claim_name, FIELD_REQUIRED),
    FIELD("readOnly", field_flag, PodVolume, read_only, FIELD_SPEC),
    FIELDS_END,
};

static void
ephemeral_parse(ApiParser *parser, const json_t *source, PodVolume *volume)
{
    const json_t *template = json_path_get(source, "volumeClaimTemplate");

    if (template == NULL) {
        api_parser_required_at(parser, source, "volumeClaimTemplate", NULL);
        return;
    }
    gsize length = api_parser_enter(parser, "volumeClaimTemplate");
    if (api_parser_expect(parser, template, JSON_OBJECT)) {
        volume->claim_template = claim_template_parse(parser, template, volume->name);
        volume->ephemeral = TRUE;
    }
    if (parser->key != NULL && parser->key->kind == KIND_POD)
        volume->claim_name = strings_internf(objects_strings(parser->objects), "%s-%s",
                                             parser->key->name, volume->name);
    api_parser_leave(parser, length);
}

/* Returns: whether the models know this kind of volume */
static gboolean
pod_volume_parse(ApiParser *parser, const json_t *value, PodVolume *volume)
{
    static const Field name_field[] = {
        FIELD("name", field_string, PodVolume, name, FIELD_REQUIRED),
        FIELDS_END,
    };
    const json_t *claim = json_path_get(value, "persistentVolumeClaim");
    const json_t *ephemeral = json_path_get(value, "ephemeral");

    fields_parse(parser, value, name_field, volume);
    if (volume->name == NULL)
        return FALSE;
    const char *fault = name_fault_dns_label(volume->name);
    if (fault != NULL)
        api_parser_invalid_at(parser, value, "name", NULL, fault);
    if (claim == NULL && ephemeral == NULL) {
        volume->source = volume_source_parse_inline(parser, value);
        return volume->source != NULL;
    }
    gsize length = api_parser_enter(parser, claim != NULL ? "persistentVolumeClaim" : "ephemeral");
    if (claim != NULL)
        fields_parse(parser, claim, claim_source_fields, volume);
    else if (api_parser_expect(parser, ephemeral, JSON_OBJECT))
        ephemeral_parse(parser, ephemeral, volume);
    api_parser_leave(parser, length);
    return volume->ephemeral || volume->claim_name != NULL;
}

static void
pod_volumes_parse(ApiParser *parser, const json_t *spec, void *field)
{
    PodVolumes **volumes = field;
    const json_t *array = json_path_get(spec, "volumes");
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(PodVolume));
    unsigned n_inline = 0;
    gsize length = api_parser_enter(parser, "volumes");

    if (array != NULL && api_parser_expect(parser, array, JSON_ARRAY))
        for (size_t i = 0; i < json_array_size(array); i++) {
            const json_t *value = json_array_get(array, i);
            PodVolume volume = {0};
            gsize inner = api_parser_enter_index(parser, (unsigned)i);
            if (pod_volume_parse(parser, value, &volume)) {
                volume.device = pod_json_mounts(spec, "volumeDevices", volume.name);
                volume.mounted =
                    volume.device || pod_json_mounts(spec, "volumeMounts", volume.name);
                if (volume.source == NULL)
                    g_array_insert_val(found, found->len - n_inline, volume);
                else
                    g_array_append_val(found, volume), n_inline++;
            }
            api_parser_leave(parser, inner);
        }
    api_parser_leave(parser, length);
    pod_volumes_unref(*volumes);
    *volumes = pod_volumes_new_with_inline((const PodVolume *)(void *)found->data,
                                           found->len - n_inline, n_inline);
}

static json_t *
ephemeral_to_json(const PodVolume *volume)
{
    const Object *template = &volume->claim_template->meta;
    json_t *claim = object_to_json(template), *metadata = json_object_get(claim, "metadata");

    json_object_del(claim, "apiVersion");
    json_object_del(claim, "kind");
    json_object_del(claim, "status");
    template_metadata_tidy(template, metadata);
    return json_pack("{s:o}", "volumeClaimTemplate", claim);
}

static json_t *
pod_volume_to_json(const PodVolume *volume)
{
    if (volume->claim_template != NULL)
        return json_pack("{s:s, s:o}", "name", volume->name, "ephemeral",
                         ephemeral_to_json(volume));
    return json_pack("{s:s, s:o}", "name", volume->name, "persistentVolumeClaim",
                     fields_to_json(claim_source_fields, volume, NULL));
}

/* Over the manifest's item of that name. */
static json_t *
pod_volume_over(const PodVolume *volume, const json_t *manifest)
{
    const char *source = volume->claim_template != NULL ? "ephemeral" : "persistentVolumeClaim";
    json_t *item = pod_volume_to_json(volume);

    json_object_update_missing(json_object_get(item, source), json_object_get(manifest, source));
    return item;
}

static const PodVolume *
pod_volumes_find(const PodVolumes *volumes, const char *name)
{
    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (g_strcmp0(volumes->items[i].name, name) == 0)
            return &volumes->items[i];
    return NULL;
}

/* Over spec, which has the volumes as one key. Volumes that the manifest lacks, as a StatefulSet's
 * claims, stand first; then the manifest's, in its order. */
static json_t *
pod_volumes_over(const void *field, const json_t *manifest)
{
    const PodVolumes *volumes = *(PodVolumes *const *)field;
    const json_t *old = json_path_get(manifest, "volumes");
    json_t *array = json_array();

    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (!pod_json_has_volume(manifest, volumes->items[i].name))
            json_array_append_new(array, pod_volume_to_json(&volumes->items[i]));
    for (size_t i = 0; i < json_array_size(old); i++) {
        json_t *value = json_array_get(old, i);
        const PodVolume *volume = pod_volumes_find(volumes, json_path_string(value, "name"));
        json_array_append_new(array,
                              volume != NULL ? pod_volume_over(volume, value) : json_incref(value));
    }
    json_t *spec = manifest == NULL ? json_object() : json_copy((json_t *)manifest); /* only read */
    if (json_array_size(array) > 0)
        json_object_set(spec, "volumes", array);
    else
        json_object_del(spec, "volumes");
    json_decref(array);
    if (json_object_size(spec) == 0)
        g_clear_pointer(&spec, json_decref);
    return spec;
}

static const FieldType template_type = {FIELD_OBJECT};

static gboolean
pod_volume_equal(const PodVolume *a, const PodVolume *b)
{
    return g_strcmp0(a->name, b->name) == 0 && g_strcmp0(a->claim_name, b->claim_name) == 0 &&
           !a->read_only == !b->read_only && !a->ephemeral == !b->ephemeral &&
           !a->mounted == !b->mounted && !a->device == !b->device &&
           volume_source_same(a->source, b->source) &&
           field_equal(&template_type, &a->claim_template, &b->claim_template);
}

static gboolean
pod_volumes_equal(const PodVolumes *a, const PodVolumes *b)
{
    if (a->n_items != b->n_items || a->n_inline != b->n_inline)
        return FALSE;
    for (unsigned i = 0; i < a->n_items + a->n_inline; i++)
        if (!pod_volume_equal(&a->items[i], &b->items[i]))
            return FALSE;
    return TRUE;
}

const FieldType field_pod_volumes = {
    FIELD_SHARED(pod_volumes),
    .parse = pod_volumes_parse,
    .over = pod_volumes_over,
};
