/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pod.h"

#include <string.h>

#include "container-life.h"
#include "pod-private.h"

static const char *const pod_phase_words[] = {"Pending", "Running", "Succeeded",
                                              "Failed",  "Unknown", NULL};
static const char *const condition_words[] = {"", "False", "True", "Unknown"};

ClaimTemplate *
claim_template_new(const char *name, Claim *claim)
{
    ClaimTemplate *self = g_new(ClaimTemplate, 1);

    *self = (ClaimTemplate){REF_COUNT_ONE, name, claim};
    return self;
}

static void
claim_template_free(ClaimTemplate *self)
{
    object_unref(&self->claim->meta);
    g_free(self);
}

REF_COUNTED_DEFINE(ClaimTemplate, claim_template, claim_template_free)

static gboolean
claim_template_equal(const ClaimTemplate *a, const ClaimTemplate *b)
{
    if (a == b)
        return TRUE;
    return a != NULL && b != NULL && g_strcmp0(a->name, b->name) == 0 &&
           object_equal(&a->claim->meta, &b->claim->meta);
}

ClaimTemplates *
claim_templates_new(ClaimTemplate *const *items, unsigned n)
{
    if (n == 0)
        return NULL;
    ClaimTemplates *self = g_malloc(sizeof *self + n * sizeof items[0]);
    self->refs = REF_COUNT_ONE;
    self->n_items = n;
    memcpy(self->items, items, n * sizeof items[0]);
    return self;
}

static void
claim_templates_free(ClaimTemplates *self)
{
    for (unsigned i = 0; i < self->n_items; i++)
        claim_template_unref(self->items[i]);
    g_free(self);
}

REF_COUNTED_DEFINE(ClaimTemplates, claim_templates, claim_templates_free)

/* The template's claim gets a key without a namespace, which no real claim has. */
static ClaimTemplate *
claim_template_parse(ApiParser *parser, const json_t *value, const char *name)
{
    ObjectKey *key = objects_key(parser->objects, KIND_CLAIM, NULL, name);

    return claim_template_new(key->name, CLAIM(api_parser_template(parser, value, key)));
}

static void
claim_templates_parse(ApiParser *parser, const json_t *value, void *field)
{
    ClaimTemplates **templates = field;
    g_autoptr(GPtrArray) found = g_ptr_array_new();

    if (!api_parser_expect(parser, value, JSON_ARRAY))
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        const char *name = json_path_string(item, "metadata.name");
        gsize length = api_parser_enter_index(parser, (unsigned)i);
        if (!api_parser_expect(parser, item, JSON_OBJECT)) {
            api_parser_leave(parser, length);
            continue;
        }
        if (name == NULL || name[0] == '\0')
            api_parser_required_at(parser, item, "metadata.name", NULL);
        g_ptr_array_add(found, claim_template_parse(parser, item, name == NULL ? "" : name));
        api_parser_leave(parser, length);
    }
    claim_templates_unref(*templates);
    *templates = claim_templates_new((ClaimTemplate *const *)found->pdata, found->len);
}

static json_t *
claim_templates_to_json(const void *field)
{
    const ClaimTemplates *templates = *(ClaimTemplates *const *)field;

    if (templates == NULL)
        return NULL;
    json_t *array = json_array();
    for (unsigned i = 0; i < templates->n_items; i++) {
        json_t *claim = object_to_json(&templates->items[i]->claim->meta);
        json_object_set_new(json_object_get(claim, "metadata"), "creationTimestamp", json_null());
        json_array_append_new(array, claim);
    }
    return array;
}

static void
claim_templates_clear(void *field)
{
    g_clear_pointer((ClaimTemplates **)field, claim_templates_unref);
}

static gboolean
claim_templates_equal(const void *a, const void *b)
{
    const ClaimTemplates *x = *(ClaimTemplates *const *)a, *y = *(ClaimTemplates *const *)b;

    if (x == y)
        return TRUE;
    if (x == NULL || y == NULL || x->n_items != y->n_items)
        return FALSE;
    for (unsigned i = 0; i < x->n_items; i++)
        if (!claim_template_equal(x->items[i], y->items[i]))
            return FALSE;
    return TRUE;
}

const FieldType field_claim_templates = {
    .name = "claim templates",
    .size = sizeof(ClaimTemplates *),
    .ref = field_counted_ref,
    .clear = claim_templates_clear,
    .equal = claim_templates_equal,
    .parse = claim_templates_parse,
    .to_json = claim_templates_to_json,
};

PodVolumes *
pod_volumes_new_with_inline(const PodVolume *items, unsigned n, StringList *inline_drivers)
{
    if (n == 0 && inline_drivers == NULL)
        return NULL;
    PodVolumes *self = g_malloc(sizeof *self + n * sizeof(PodVolume));
    self->refs = REF_COUNT_ONE;
    self->n_items = n;
    self->inline_drivers = inline_drivers;
    if (n > 0)
        memcpy(self->items, items, n * sizeof items[0]);
    return self;
}

PodVolumes *
pod_volumes_new(const PodVolume *items, unsigned n)
{
    return pod_volumes_new_with_inline(items, n, NULL);
}

static void
pod_volumes_free(PodVolumes *self)
{
    for (unsigned i = 0; i < self->n_items; i++)
        claim_template_unref(self->items[i].claim_template);
    string_list_unref(self->inline_drivers);
    g_free(self);
}

REF_COUNTED_DEFINE(PodVolumes, pod_volumes, pod_volumes_free)

/* Both lists of containers, as far as a volume cares. */
static const char *const container_lists[] = {"containers", "initContainers",
                                              "ephemeralContainers"};

/* Whether an item of a list has this name. */
static gboolean
json_list_names(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (g_strcmp0(json_path_string(json_array_get(list, i), "name"), name) == 0)
            return TRUE;
    return FALSE;
}

gboolean
pod_json_mounts(const json_t *spec, const char *list, const char *volume)
{
    for (unsigned l = 0; l < G_N_ELEMENTS(container_lists); l++) {
        const json_t *containers = json_path_get(spec, container_lists[l]);
        for (size_t i = 0; i < json_array_size(containers); i++)
            if (json_list_names(json_path_get(json_array_get(containers, i), list), volume))
                return TRUE;
    }
    return FALSE;
}

static gboolean
pod_json_has_volume(const json_t *spec, const char *name)
{
    return json_list_names(json_path_get(spec, "volumes"), name);
}

static gboolean
claim_templates_have(const ClaimTemplates *templates, const char *name)
{
    for (unsigned i = 0; templates != NULL && i < templates->n_items; i++)
        if (g_strcmp0(templates->items[i]->name, name) == 0)
            return TRUE;
    return FALSE;
}

static void
check_container_mounts(ApiParser *parser,
                       const json_t *spec,
                       const json_t *container,
                       const char *list,
                       const ClaimTemplates *templates)
{
    const json_t *mounts = json_path_get(container, list);
    gsize length = api_parser_enter(parser, list);

    for (size_t i = 0; i < json_array_size(mounts); i++) {
        const json_t *mount = json_array_get(mounts, i);
        const char *name = json_path_string(mount, "name");
        if (name == NULL || name[0] == '\0' || pod_json_has_volume(spec, name) ||
            claim_templates_have(templates, name))
            continue;
        gsize inner = api_parser_enter_index(parser, (unsigned)i);
        gsize last = api_parser_enter(parser, "name");
        api_parser_fault(parser, json_path_get(mount, "name"), "add it to volumes",
                         "Not found: \"%s\"", name);
        api_parser_leave(parser, last);
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

static const char *const volume_known[] = {
    "name",
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "persistentVolumeClaim",
    "photonPersistentDisk",
    "portworxVolume",
    "projected",
    "quobyte",
    "rbd",
    "scaleIO",
    "secret",
    "storageos",
    "vsphereVolume",
    NULL,
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

/* Returns: whether the volume is one that storage cares about */
static gboolean
pod_volume_parse(ApiParser *parser, const json_t *value, PodVolume *volume)
{
    static const Field name_field[] = {
        FIELD("name", field_string, PodVolume, name, FIELD_REQUIRED),
        FIELDS_END,
    };
    const json_t *claim = json_path_get(value, "persistentVolumeClaim");
    const json_t *ephemeral = json_path_get(value, "ephemeral");

    fields_parse(parser, value, name_field, volume_known, volume);
    if (volume->name == NULL)
        return FALSE;
    const char *fault = name_fault_dns_label(volume->name);
    if (fault != NULL) {
        gsize length = api_parser_enter(parser, "name");
        api_parser_invalid(parser, json_path_get(value, "name"), NULL, fault);
        api_parser_leave(parser, length);
    }
    gsize length = api_parser_enter(parser, claim != NULL ? "persistentVolumeClaim" : "ephemeral");
    if (claim != NULL)
        fields_parse(parser, claim, claim_source_fields, NULL, volume);
    else if (ephemeral != NULL && api_parser_expect(parser, ephemeral, JSON_OBJECT))
        ephemeral_parse(parser, ephemeral, volume);
    api_parser_leave(parser, length);
    return volume->ephemeral || volume->claim_name != NULL;
}

/* spec.volumes is all that has exactly one source; those without are an emptyDir. */
static void
check_volume_sources(ApiParser *parser, const json_t *volume)
{
    unsigned n_sources = 0;

    for (void *member = json_first_member(volume); member != NULL;
         member = json_next_member(volume, member)) {
        const char *key = json_object_iter_key(member);
        json_t *value = json_object_iter_value(member);
        if (strcmp(key, "name") == 0 || json_is_null(value) || !word_is_among(key, volume_known))
            continue;
        if (++n_sources != 2)
            continue;
        gsize length = api_parser_enter(parser, key);
        api_parser_fault(parser, value, NULL, "Forbidden: may not specify more than 1 volume type");
        api_parser_leave(parser, length);
    }
}

static void
check_volume_name(ApiParser *parser, const json_t *array, size_t index)
{
    const char *name = json_path_string(json_array_get(array, index), "name");

    for (size_t i = 0; name != NULL && i < index; i++)
        if (g_strcmp0(json_path_string(json_array_get(array, i), "name"), name) == 0) {
            gsize length = api_parser_enter(parser, "name");
            api_parser_fault(parser, json_path_get(json_array_get(array, index), "name"), NULL,
                             "Duplicate value: \"%s\"", name);
            api_parser_leave(parser, length);
            return;
        }
}

/* Returns: (owned): the CSI drivers of inline volumes, in order; NULL: none */
static StringList *
inline_drivers_parse(ApiParser *parser, const json_t *array)
{
    g_autoptr(GPtrArray) drivers = g_ptr_array_new();

    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *driver = json_path_string(json_array_get(array, i), "csi.driver");
        if (driver != NULL)
            g_ptr_array_add(drivers,
                            (void *)strings_intern(objects_strings(parser->objects), driver));
    }
    return drivers->len == 0 ? NULL
                             : string_list_new((const char *const *)drivers->pdata, drivers->len);
}

static void
pod_volumes_parse(ApiParser *parser, const json_t *spec, void *field)
{
    PodVolumes **volumes = field;
    const json_t *array = json_path_get(spec, "volumes");
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(PodVolume));
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
                g_array_append_val(found, volume);
            }
            check_volume_sources(parser, value);
            check_volume_name(parser, array, i);
            api_parser_leave(parser, inner);
        }
    api_parser_leave(parser, length);
    pod_volumes_unref(*volumes);
    *volumes = pod_volumes_new_with_inline((const PodVolume *)(void *)found->data, found->len,
                                           inline_drivers_parse(parser, array));
}

static json_t *
ephemeral_to_json(const PodVolume *volume)
{
    json_t *claim = object_to_json(&volume->claim_template->claim->meta);
    json_t *metadata = json_object_get(claim, "metadata");

    json_object_del(claim, "apiVersion");
    json_object_del(claim, "kind");
    json_object_del(claim, "status");
    json_object_del(metadata, "name");
    json_object_set_new(metadata, "creationTimestamp", json_null());
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

static const PodVolume *
pod_volumes_find(const PodVolumes *volumes, const char *name)
{
    for (unsigned i = 0; volumes != NULL && i < volumes->n_items; i++)
        if (g_strcmp0(volumes->items[i].name, name) == 0)
            return &volumes->items[i];
    return NULL;
}

/* Over spec, of which the volumes are one key. Those that only the pod has, as a StatefulSet's
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
        if (volume != NULL)
            json_array_append_new(array, pod_volume_to_json(volume));
        else
            json_array_append(array, value);
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

static void
pod_volumes_clear(void *field)
{
    g_clear_pointer((PodVolumes **)field, pod_volumes_unref);
}

static gboolean
pod_volume_equal(const PodVolume *a, const PodVolume *b)
{
    return g_strcmp0(a->name, b->name) == 0 && g_strcmp0(a->claim_name, b->claim_name) == 0 &&
           !a->read_only == !b->read_only && !a->ephemeral == !b->ephemeral &&
           !a->mounted == !b->mounted && !a->device == !b->device &&
           claim_template_equal(a->claim_template, b->claim_template);
}

static gboolean
pod_volumes_equal(const void *a, const void *b)
{
    const PodVolumes *x = *(PodVolumes *const *)a, *y = *(PodVolumes *const *)b;

    if (x == y)
        return TRUE;
    if (x == NULL || y == NULL || x->n_items != y->n_items ||
        !string_list_equal(x->inline_drivers, y->inline_drivers))
        return FALSE;
    for (unsigned i = 0; i < x->n_items; i++)
        if (!pod_volume_equal(&x->items[i], &y->items[i]))
            return FALSE;
    return TRUE;
}

const FieldType field_pod_volumes = {
    .name = "pod volumes",
    .size = sizeof(PodVolumes *),
    .ref = field_counted_ref,
    .clear = pod_volumes_clear,
    .equal = pod_volumes_equal,
    .parse = pod_volumes_parse,
    .over = pod_volumes_over,
};

static const Field template_fields[] = {
    FIELD("metadata.labels", field_labels, PodTemplate, labels, FIELD_SPEC),
    FIELD("metadata.annotations", field_string_map, PodTemplate, annotations, FIELD_SPEC),
    FIELD("spec", field_pod_spec, PodTemplate, spec, FIELD_REQUIRED),
    FIELD("spec", field_pod_volumes, PodTemplate, volumes, FIELD_SPEC | FIELD_PART),
    FIELDS_END,
};
static const char *const template_ignored[] = {
    "metadata.creationTimestamp",
    "metadata.finalizers",
    "metadata.generateName",
    "metadata.name",
    "metadata.namespace",
    "metadata.ownerReferences",
    NULL,
};

PodTemplate *
pod_template_new(void)
{
    PodTemplate *self = g_new0(PodTemplate, 1);

    self->refs = REF_COUNT_ONE;
    self->spec = pod_spec_new();
    return self;
}

static void
pod_template_free(PodTemplate *self)
{
    fields_clear(template_fields, self);
    json_decref(self->manifest);
    g_free(self);
}

REF_COUNTED_DEFINE(PodTemplate, pod_template, pod_template_free)

static void
pod_template_parse(ApiParser *parser, const json_t *value, void *field)
{
    PodTemplate **slot = field;
    PodTemplate *template = pod_template_new();

    template->manifest = json_incref((json_t *)value); /* kept as it is */
    fields_parse(parser, value, template_fields, template_ignored, template);
    pod_template_unref(*slot);
    *slot = template;
}

static json_t *
pod_template_to_json(const void *field)
{
    const PodTemplate *template = *(PodTemplate *const *)field;

    return template == NULL ? NULL : fields_to_json(template_fields, template, template->manifest);
}

static void
pod_template_clear(void *field)
{
    g_clear_pointer((PodTemplate **)field, pod_template_unref);
}

/* What no model reads tells templates apart all the same: another argument of a container makes
 * other pods. */
static gboolean
prints_same(const PodTemplate *a, const PodTemplate *b)
{
    json_t *x = pod_template_to_json(&a), *y = pod_template_to_json(&b);
    gboolean same = json_equal(x, y);

    json_decref(x);
    json_decref(y);
    return same;
}

static gboolean
pod_template_equal(const void *a, const void *b)
{
    const PodTemplate *x = *(PodTemplate *const *)a, *y = *(PodTemplate *const *)b;

    return x == y || (x != NULL && y != NULL && fields_equal(template_fields, x, y) &&
                      (x->manifest == y->manifest || prints_same(x, y)));
}

const FieldType field_pod_template = {
    .name = "pod template",
    .size = sizeof(PodTemplate *),
    .ref = field_counted_ref,
    .clear = pod_template_clear,
    .equal = pod_template_equal,
    .parse = pod_template_parse,
    .to_json = pod_template_to_json,
};

static void
condition_status_parse(ApiParser *parser, const json_t *value, void *field)
{
    static const char *const words[] = {"False", "True", "Unknown", NULL};

    if (!api_parser_expect(parser, value, JSON_STRING))
        return;
    for (unsigned i = CONDITION_FALSE; i <= CONDITION_UNKNOWN; i++)
        if (strcmp(condition_words[i], json_string_value(value)) == 0) {
            *(uint8_t *)field = (uint8_t)i;
            return;
        }
    api_parser_unsupported(parser, value, words);
}

static gboolean
condition_status_equal(const void *a, const void *b)
{
    return *(const uint8_t *)a == *(const uint8_t *)b;
}

static json_t *
condition_status_to_json(const void *field)
{
    return json_string(condition_words[*(const uint8_t *)field]);
}

static const FieldType condition_status_type = {
    .name = "condition status",
    .size = sizeof(uint8_t),
    .equal = condition_status_equal,
    .parse = condition_status_parse,
    .to_json = condition_status_to_json,
};

static const Field condition_fields[] = {
    FIELD("status", condition_status_type, PodCondition, status, FIELD_REQUIRED),
    FIELD("reason", field_word, PodCondition, reason, FIELD_SPEC),
    FIELD("message", field_word, PodCondition, message, FIELD_SPEC),
    FIELD("lastTransitionTime", field_time, PodCondition, changed_at, FIELD_SPEC),
    FIELDS_END,
};
static const char *const condition_ignored[] = {"type", "lastProbeTime", "lastHeartbeatTime",
                                                "observedGeneration", NULL};

static void
condition_parse(ApiParser *parser, const json_t *value, void *field)
{
    fields_parse(parser, value, condition_fields, condition_ignored, field);
}

static gboolean
condition_equal(const void *a, const void *b)
{
    const PodCondition *x = a, *y = b;

    return x->status == y->status &&
           (x->status == CONDITION_ABSENT || fields_equal(condition_fields, x, y));
}

/* @also: a time that nobody writes, or not yet; Kubernetes prints such ones as null. */
static json_t *
condition_over(const void *field, const json_t *manifest, const char *also)
{
    const char *const times[] = {"lastTransitionTime", also};

    if (((const PodCondition *)field)->status == CONDITION_ABSENT)
        return NULL;
    json_t *condition = fields_to_json(condition_fields, field, manifest);
    for (unsigned i = 0; i < G_N_ELEMENTS(times); i++)
        if (json_object_get(condition, times[i]) == NULL)
            json_object_set_new(condition, times[i], json_null());
    return condition;
}

static json_t *
node_condition_over(const void *field, const json_t *manifest)
{
    return condition_over(field, manifest, "lastHeartbeatTime");
}

static json_t *
pod_condition_over(const void *field, const json_t *manifest)
{
    return condition_over(field, manifest, "lastProbeTime");
}

static json_t *
node_condition_to_json(const void *field)
{
    return node_condition_over(field, NULL);
}

static json_t *
pod_condition_to_json(const void *field)
{
    return pod_condition_over(field, NULL);
}

const FieldType field_node_condition = {
    .name = "condition",
    .size = sizeof(PodCondition),
    .equal = condition_equal,
    .parse = condition_parse,
    .to_json = node_condition_to_json,
    .over = node_condition_over,
};

const FieldType field_pod_condition = {
    .name = "condition",
    .size = sizeof(PodCondition),
    .equal = condition_equal,
    .parse = condition_parse,
    .to_json = pod_condition_to_json,
    .over = pod_condition_over,
};

static const FieldType pod_phase_type = {
    .name = "pod phase",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = pod_phase_words,
};

static const Field pod_fields[] = {
    FIELD("spec", field_pod_spec, Pod, spec, FIELD_REQUIRED),
    FIELD("spec", field_pod_volumes, Pod, volumes, FIELD_SPEC | FIELD_PART),
    FIELD("spec.nodeName", field_word, Pod, node_name, FIELD_SPEC),
    FIELD("spec.hostname", field_word, Pod, hostname, FIELD_SPEC),
    FIELD("status.nominatedNodeName", field_word, Pod, nominated_node, FIELD_STATUS),
    FIELD("status.reason", field_word, Pod, reason, FIELD_STATUS),
    FIELD("status.message", field_word, Pod, message, FIELD_STATUS),
    FIELD("status.conditions[PodReadyToStartContainers]",
          field_pod_condition,
          Pod,
          ready_to_start,
          FIELD_STATUS),
    FIELD("status.conditions[Initialized]", field_pod_condition, Pod, initialized, FIELD_STATUS),
    FIELD("status.conditions[Ready]", field_pod_condition, Pod, ready, FIELD_STATUS),
    FIELD("status.conditions[ContainersReady]",
          field_pod_condition,
          Pod,
          containers_ready,
          FIELD_STATUS),
    FIELD("status.conditions[PodScheduled]", field_pod_condition, Pod, scheduled, FIELD_STATUS),
    FIELD(
        "status.conditions[DisruptionTarget]", field_pod_condition, Pod, disruption, FIELD_STATUS),
    FIELD("status.startTime", field_time, Pod, started_at, FIELD_STATUS),
    FIELD("status.restarts", field_count, Pod, restarts, FIELD_STATUS | FIELD_INTERNAL),
    FIELD("status.exitCode", field_count, Pod, exit_code, FIELD_STATUS | FIELD_INTERNAL),
    FIELD("status.phase", pod_phase_type, Pod, phase, FIELD_STATUS),
    FIELDS_END,
};

static const char *const pod_ignored[] = {
    IGNORED_ALWAYS,
    "status.containerStatuses",
    "status.ephemeralContainerStatuses",
    "status.hostIP",
    "status.hostIPs",
    "status.initContainerStatuses",
    "status.observedGeneration",
    "status.podIP",
    "status.podIPs",
    "status.qosClass",
    "status.resize",
    "status.resourceClaimStatuses",
    NULL,
};

static void
pod_set_defaults(Object *object)
{
    Pod *pod = POD(object);
    PodCondition *conditions[] = {&pod->scheduled, &pod->initialized,    &pod->containers_ready,
                                  &pod->ready,     &pod->ready_to_start, &pod->disruption};

    pod->spec = pod_spec_new();
    pod->started_at = TIME_UNSET;
    for (unsigned i = 0; i < G_N_ELEMENTS(conditions); i++)
        conditions[i]->changed_at = TIME_UNSET;
}

void
pod_check_life(ApiParser *parser, const json_t *manifest, const StringMap *annotations)
{
    g_autoptr(GError) error = NULL;
    ContainerLife life;
    const char *which;

    if (!container_life_is_told(annotations))
        return;
    if (container_life_parse(annotations, &life, &which, &error)) {
        container_life_clear(&life);
        return;
    }
    const json_t *values = json_path_get(manifest, "metadata.annotations");
    const json_t *value = json_object_get(values, which);
    gsize length = api_parser_enter(parser, "metadata.annotations");
    gsize inner = api_parser_enter(parser, which);
    api_parser_fault(parser, value != NULL ? value : values,
                     "for example " ANNOTATION_RUNS_FOR ": 30s, or \"uniform 10s 1m\"", "%s",
                     error->message);
    api_parser_leave(parser, inner);
    api_parser_leave(parser, length);
}

static void
pod_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const json_t *spec = json_path_get(manifest, "spec");
    gsize length = api_parser_enter(parser, "spec");

    if (json_is_object(spec))
        pod_check_mounts(parser, spec, NULL);
    api_parser_leave(parser, length);
    pod_check_life(parser, manifest, object->annotations);
}

const KindClass pod_kind = {
    .kind = "Pod",
    .api_version = "v1",
    .resource = "pods",
    .size = sizeof(Pod),
    .fields = pod_fields,
    .namespaced = TRUE,
    .set_defaults = pod_set_defaults,
    .ignored = pod_ignored,
    .check = pod_check,
};

void
pod_set_spec(Pod *self, const PodSpec *spec, const PodVolumes *volumes)
{
    PodSpec *old_spec = self->spec;
    PodVolumes *old_volumes = self->volumes;

    self->spec = pod_spec_ref(spec);
    self->volumes = pod_volumes_ref(volumes);
    pod_spec_unref(old_spec);
    pod_volumes_unref(old_volumes);
}

gboolean
pod_is_terminal(const Pod *self)
{
    return self->phase == POD_SUCCEEDED || self->phase == POD_FAILED;
}

gboolean
pod_is_ready(const Pod *self)
{
    return self->ready.status == CONDITION_TRUE;
}

ObjectKey *
pod_claim_key(Objects *objects, const Pod *self, const PodVolume *volume)
{
    const ObjectKey *key = self->meta.key;
    char buffer[512];

    if (!volume->ephemeral)
        return objects_key(objects, KIND_CLAIM, key->namespace, volume->claim_name);
    g_snprintf(buffer, sizeof buffer, "%s-%s", key->name, volume->name); /* VB-9 */
    return objects_key(objects, KIND_CLAIM, key->namespace, buffer);
}

const char *
pod_phase_name(PodPhase phase)
{
    return pod_phase_words[phase];
}
