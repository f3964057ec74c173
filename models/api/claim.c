/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PersistentVolumeClaims: their fields, checks and warnings. spec.dataSource and spec.dataSourceRef
 * are one member: the API server copies one to the other, unless the newer one has a namespace
 * (API-182). A claim is bound completely only with its annotation and its volumeName; the phase
 * alone says less. */
#include "claim.h"

#include <string.h>

#include "fields.h"
#include "models/api/local/volume-filling.h"
#include "volume.h"

static const char *const access_mode_words[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                                "ReadWriteOncePod", NULL};
static unsigned
access_mode_parse(const char *word)
{
    for (unsigned i = 0; access_mode_words[i] != NULL; i++)
        if (strcmp(access_mode_words[i], word) == 0)
            return 1u << i;
    return 0;
}

static void
access_modes_parse(ApiParser *parser, const json_t *value, void *field)
{
    uint32_t modes = 0;

    if (!api_parser_expect(parser, value, JSON_ARRAY))
        return;
    for (size_t i = 0; i < json_array_size(value); i++) {
        const json_t *item = json_array_get(value, i);
        if (!api_parser_expect(parser, item, JSON_STRING))
            continue;
        unsigned mode = access_mode_parse(json_string_value(item));
        if (mode == 0)
            api_parser_unsupported(parser, item, access_mode_words);
        modes |= mode;
    }
    *(uint32_t *)field = modes;
}

static json_t *
access_modes_to_json(const void *field)
{
    uint32_t modes = *(const uint32_t *)field;

    if (modes == 0)
        return NULL;
    json_t *array = json_array();
    for (unsigned i = 0; access_mode_words[i] != NULL; i++)
        if ((modes & 1u << i) != 0)
            json_array_append_new(array, json_string(access_mode_words[i]));
    return array;
}

/* A set, but printed in the order in which it was given. */
static json_t *
access_modes_over(const void *field, const json_t *manifest)
{
    uint32_t given = 0;

    for (size_t i = 0; i < json_array_size(manifest); i++)
        if (json_is_string(json_array_get(manifest, i)))
            given |= access_mode_parse(json_string_value(json_array_get(manifest, i)));
    if (given != 0 && given == *(const uint32_t *)field)
        return json_incref((json_t *)manifest); /* only counted */
    return access_modes_to_json(field);
}

const FieldType field_access_modes = {
    .size = sizeof(uint32_t),
    .parse = access_modes_parse,
    .to_json = access_modes_to_json,
    .over = access_modes_over,
};

void
access_modes_check(ApiParser *parser, const json_t *value, uint32_t modes)
{
    if ((modes & ACCESS_RWOP) != 0 && modes != ACCESS_RWOP)
        api_parser_fault_at(parser, value, "spec.accessModes", NULL,
                            "Forbidden: may not use ReadWriteOncePod with other access modes");
}

const FieldType field_volume_mode = {FIELD_WORDS("Filesystem", "Block")};

static const FieldType claim_phase_type = {FIELD_WORDS("Pending", "Bound", "Lost")};

static const Field data_source_fields[] = {
    FIELD("apiGroup", field_word, DataSource, api_group, FIELD_SPEC),
    FIELD("kind", field_string, DataSource, kind, FIELD_REQUIRED),
    FIELD("name", field_string, DataSource, name, FIELD_REQUIRED),
    FIELD("namespace", field_word, DataSource, namespace, FIELD_SPEC),
    FIELDS_END,
};

static void
data_source_form_parse(ApiParser *parser, const json_t *value, void *field, DataSourceForm form)
{
    DataSource *source = field;

    fields_parse(parser, value, data_source_fields, source);
    source->forms |= form;
}

static void
data_source_parse(ApiParser *parser, const json_t *value, void *field)
{
    data_source_form_parse(parser, value, field, DATA_SOURCE_REF);
}

static gboolean
data_source_equal(const void *a, const void *b)
{
    const DataSource *x = a, *y = b;

    return fields_equal(data_source_fields, a, b) && (x->kind == NULL || x->forms == y->forms);
}

gboolean
data_source_has_form(const DataSource *source, DataSourceForm form)
{
    if (source->forms != 0)
        return (source->forms & form) != 0;
    return form == DATA_SOURCE_REF || source->namespace == NULL || source->namespace[0] == '\0';
}

static json_t *
data_source_to_json(const void *field)
{
    return data_source_has_form(field, DATA_SOURCE_REF)
               ? fields_to_json(data_source_fields, field, NULL)
               : NULL;
}

static const FieldType field_data_source = {
    .size = sizeof(DataSource),
    .equal = data_source_equal,
    .parse = data_source_parse,
    .to_json = data_source_to_json,
};

/* spec.dataSource, the older of the two: the API server copies one to the other, unless there is a
 * namespace (API-182). */
static void
old_data_source_parse(ApiParser *parser, const json_t *value, void *field)
{
    data_source_form_parse(parser, value, field, DATA_SOURCE_OLD);
}

static json_t *
old_data_source_to_json(const void *field)
{
    return data_source_has_form(field, DATA_SOURCE_OLD)
               ? fields_to_json(data_source_fields, field, NULL)
               : NULL;
}

static const FieldType old_data_source_type = {
    .size = sizeof(DataSource),
    .equal = data_source_equal,
    .parse = old_data_source_parse,
    .to_json = old_data_source_to_json,
};

static const Field condition_fields[] = {
    FIELD("type", field_text, ClaimCondition, type, FIELD_REQUIRED),
    FIELD("status", field_text, ClaimCondition, status, FIELD_REQUIRED),
    FIELD("reason", field_string, ClaimCondition, reason, FIELD_STATUS),
    FIELD("message", field_string, ClaimCondition, message, FIELD_STATUS),
    FIELD("lastTransitionTime", field_time, ClaimCondition, changed_at, FIELD_STATUS),
    FIELD_WHOLE("lastProbeTime", field_null, FIELD_SPEC),
    FIELDS_END,
};

static const FieldType conditions_type = {
    FIELD_LIST(ClaimCondition, condition_fields),
    .keyed = TRUE,
};

static const Field claim_fields[] = {
    FIELD("spec.selector", field_label_selector, Claim, selector, FIELD_SPEC),
    FIELD("status.conditions", conditions_type, Claim, conditions, FIELD_STATUS),
    FIELD("spec.accessModes", field_access_modes, Claim, access_modes, FIELD_SPEC),
    FIELD("spec.dataSource", old_data_source_type, Claim, data_source, FIELD_SPEC),
    FIELD("spec.dataSourceRef", field_data_source, Claim, data_source, FIELD_SPEC),
    FIELD("spec.resources.requests.storage", field_quantity, Claim, request_bytes, FIELD_SPEC),
    FIELD("spec.storageClassName", field_string, Claim, class_name, FIELD_SPEC),
    FIELD("spec.volumeAttributesClassName", field_string, Claim, attributes_class, FIELD_SPEC),
    FIELD("spec.volumeMode", field_volume_mode, Claim, volume_mode, FIELD_SPEC),
    FIELD("spec.volumeName", field_word, Claim, volume_name, FIELD_SPEC),
    FIELD("status.phase", claim_phase_type, Claim, phase, FIELD_STATUS),
    FIELD("status.accessModes", field_access_modes, Claim, status_access_modes, FIELD_STATUS),
    FIELD("status.capacity.storage", field_size, Claim, capacity_bytes, FIELD_STATUS),
    FIELD("status.allocatedResources.storage", field_size, Claim, allocated_bytes, FIELD_STATUS),
    FIELD(
        "status.allocatedResourceStatuses.storage", field_word, Claim, resize_status, FIELD_STATUS),
    FIELD("status.currentVolumeAttributesClassName",
          field_string,
          Claim,
          current_attributes_class,
          FIELD_STATUS),
    FIELD("status.modifyVolumeStatus.targetVolumeAttributesClassName",
          field_word,
          Claim,
          modify_target,
          FIELD_STATUS),
    FIELD("status.modifyVolumeStatus.status", field_word, Claim, modify_status, FIELD_STATUS),
    FIELDS_END,
};

static void
check_claim_modes(ApiParser *parser, const json_t *manifest, const Claim *claim)
{
    const json_t *modes = json_path_get(manifest, "spec.accessModes");

    if (json_array_size(modes) == 0)
        api_parser_required_at(parser, modes == NULL ? manifest : modes, "spec.accessModes",
                               "at least 1 access mode is required");
    access_modes_check(parser, modes, claim->access_modes);
}

/* API-183: the words of validateDataSource(). */
static void
check_data_source(ApiParser *parser, const json_t *source, const char *path)
{
    const char *group = json_path_string(source, "apiGroup");
    const char *kind = json_path_string(source, "kind");
    const char *namespace = json_path_string(source, "namespace");
    gsize length = api_parser_enter(parser, path);

    if ((group == NULL || group[0] == '\0') && g_strcmp0(kind, "PersistentVolumeClaim") != 0)
        api_parser_fault(parser, source, NULL,
                         "Invalid value: \"%s\": must be 'PersistentVolumeClaim' when referencing "
                         "the default apiGroup",
                         kind == NULL ? "" : kind);
    if (!parser->any_api_group)
        api_parser_check_name(parser, source, "apiGroup", group, name_fault_subdomain);
    api_parser_check_name(parser, source, "namespace", namespace, name_fault_dns_label);
    api_parser_leave(parser, length);
}

/* The two must be the same, unless there is a namespace: then there is only the newer one. */
static void
check_data_sources(ApiParser *parser, const json_t *manifest)
{
    static const char *const keys[] = {"apiGroup", "kind", "name"};
    const json_t *old = json_path_get(manifest, "spec.dataSource");
    const json_t *reference = json_path_get(manifest, "spec.dataSourceRef");
    const char *namespace = json_path_string(reference, "namespace");
    gboolean same = TRUE;

    if (old != NULL)
        check_data_source(parser, old, "spec.dataSource");
    if (reference != NULL)
        check_data_source(parser, reference, "spec.dataSourceRef");
    if (old == NULL || reference == NULL)
        return;
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        same = same &&
               g_strcmp0(json_path_string(old, keys[i]), json_path_string(reference, keys[i])) == 0;
    if (namespace != NULL && namespace[0] != '\0')
        api_parser_fault_at(parser, old, "spec", NULL,
                            "Invalid value: dataSource: may not be specified when "
                            "dataSourceRef.namespace is specified");
    else if (!same)
        api_parser_fault_at(parser, old, "spec", NULL,
                            "Invalid value: dataSource: must match dataSourceRef");
}

/* Names without a prefix, and names below kubernetes.io, belong to the server: of these a claim may
 * ask for storage only. Returns: FALSE after reporting a fault */
static gboolean
check_resource_name(ApiParser *parser, const json_t *where, const char *name)
{
    static const char *const known[] = {"storage", NULL};
    const char *fault = name_fault_qualified(name);
    json_t *value = json_string(name);
    gboolean right = TRUE;

    if (fault != NULL) {
        api_parser_fault(parser, where, NULL, "Invalid value: \"%s\": %s", name, fault);
        right = FALSE;
    } else if ((strchr(name, '/') == NULL || strstr(name, "kubernetes.io/") != NULL) &&
               strcmp(name, "storage") != 0) {
        api_parser_unsupported(parser, value, known);
        right = FALSE;
    }
    json_decref(value);
    return right;
}

static void
check_amount(ApiParser *parser, const json_t *value, const char *name)
{
    char canonical[QUANTITY_BUFFER];
    int64_t units = 0;
    gsize length = api_parser_enter_member(parser, name);

    if (api_parser_quantity(parser, value, &units, canonical) && units < 0)
        api_parser_invalid(parser, value, NULL, "must be a valid resource quantity");
    api_parser_leave(parser, length);
}

void
claim_check_status(ApiParser *parser, const json_t *manifest)
{
    static const char *const states[] = {"ControllerResizeInProgress", "ControllerResizeInfeasible",
                                         "NodeResizePending",          "NodeResizeInProgress",
                                         "NodeResizeInfeasible",       NULL};
    const json_t *statuses = json_path_get(manifest, "status.allocatedResourceStatuses");
    const json_t *amounts = json_path_get(manifest, "status.allocatedResources");
    const json_t *capacity = json_path_get(manifest, "status.capacity");
    gsize length = api_parser_enter(parser, "status.capacity");
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)capacity, key, value)
        check_amount(parser, value, key);
    api_parser_leave(parser, length);
    length = api_parser_enter(parser, "status.allocatedResourceStatus");

    json_object_foreach((json_t *)statuses, key, value) {
        check_resource_name(parser, statuses, key);
        if (!word_is_among(json_string_value(value), states))
            api_parser_unsupported(parser, value, states);
    }
    api_parser_leave(parser, length);
    length = api_parser_enter(parser, "status.allocatedResources");
    json_object_foreach((json_t *)amounts, key, value)
        if (check_resource_name(parser, amounts, key))
            check_amount(parser, value, key);
    api_parser_leave(parser, length);
}

static void
check_usage(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const char *text = string_map_get(object->annotations, ANNOTATION_USAGE);
    g_autoptr(GError) error = NULL;
    VolumeFilling filling;

    if (text == NULL || volume_filling_parse(text, &filling, &error))
        return;
    api_parser_fault_at(parser, json_path_get(manifest, "metadata.annotations"),
                        "metadata.annotations." ANNOTATION_USAGE,
                        "for example \"start=1Gi step=100Mi every=1m\"", "%s", error->message);
}

static void
check_files(ApiParser *parser, const json_t *manifest, const Claim *claim)
{
    const json_t *values = json_path_get(manifest, "metadata.annotations");
    const json_t *value = json_object_get(values, ANNOTATION_FILES);

    if (value == NULL || claim_files(claim) >= 0)
        return;
    api_parser_fault_at(parser, value, "metadata.annotations." ANNOTATION_FILES,
                        "for example \"1M\"", "must be a number of files");
}

static void
claim_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const Claim *claim = CLAIM_CONST(object);
    const json_t *spec = json_path_get(manifest, "spec");
    const json_t *request = json_path_get(manifest, "spec.resources.requests.storage");

    check_claim_modes(parser, manifest, claim);
    gsize length = api_parser_enter(parser, "spec.resources[storage]");
    if (request == NULL)
        api_parser_required(parser, manifest, NULL);
    else
        api_parser_check_positive(parser, request, claim->request_bytes);
    api_parser_leave(parser, length);
    length = api_parser_enter(parser, "spec");
    api_parser_check_name(parser, spec, "storageClassName", claim->class_name,
                          name_fault_subdomain);
    if (!parser->no_attributes_classes)
        api_parser_check_name(parser, spec, "volumeAttributesClassName", claim->attributes_class,
                              name_fault_subdomain);
    api_parser_leave(parser, length);
    check_data_sources(parser, manifest);
    claim_check_status(parser, manifest);
    check_usage(parser, manifest, object);
    check_files(parser, manifest, claim);
}

static void
warn_of_fraction(const json_t *manifest, const char *which, GPtrArray *warnings)
{
    g_autofree char *path = g_strdup_printf("spec.resources.%s", which);
    const char *text = json_path_string(json_path_get(manifest, path), "storage");
    char canonical[QUANTITY_BUFFER];
    int64_t value, milli;

    if (text != NULL && quantity_parse(text, &value, &milli, NULL) && milli % 1000 != 0 &&
        quantity_canonical(text, canonical, NULL))
        g_ptr_array_add(
            warnings, g_strdup_printf("%s[storage]: fractional byte value \"%s\" is invalid, must "
                                      "be an integer",
                                      path, canonical));
}

void
claim_warnings(const json_t *manifest, GPtrArray *warnings)
{
    const json_t *annotations = json_path_get(manifest, "metadata.annotations");

    if (json_object_get(annotations, ANNOTATION_BETA_STORAGE_CLASS) != NULL)
        g_ptr_array_add(warnings,
                        g_strdup("metadata.annotations[" ANNOTATION_BETA_STORAGE_CLASS
                                 "]: deprecated since v1.8; use \"storageClassName\" attribute "
                                 "instead"));
    warn_of_fraction(manifest, "requests", warnings);
    warn_of_fraction(manifest, "limits", warnings);
}

const KindClass claim_kind = {
    .kind = "PersistentVolumeClaim",
    .api_version = "v1",
    .resource = "persistentvolumeclaims",
    .size = sizeof(Claim),
    .fields = claim_fields,
    .namespaced = TRUE,
    .check = claim_check,
};

const char *
claim_class(const Claim *self)
{
    const char *class = object_annotation(&self->meta, ANNOTATION_BETA_STORAGE_CLASS);

    if (class != NULL)
        return class;
    return self->class_name == NULL ? "" : self->class_name;
}

int64_t
claim_files(const Claim *self)
{
    const char *text = object_annotation(&self->meta, ANNOTATION_FILES);
    int64_t n_files;

    return text != NULL && quantity_parse(text, &n_files, NULL, NULL) && n_files >= 0 ? n_files
                                                                                      : -1;
}

const char *
claim_volume_name(const Claim *self)
{
    return self->volume_name == NULL ? "" : self->volume_name;
}

gboolean
claim_is_bind_completed(const Claim *self)
{
    return string_map_has(self->meta.annotations, ANNOTATION_BIND_COMPLETED);
}

gboolean
claim_is_fully_bound(const Claim *self)
{
    return self->volume_name != NULL && self->volume_name[0] != '\0' &&
           claim_is_bind_completed(self);
}

const char *
claim_phase_name(ClaimPhase phase)
{
    return claim_phase_type.words[phase];
}

REF_LIST_DEFINE(ClaimConditions, ClaimCondition, claim_conditions)

UNREF_DEFINE(ClaimConditions, claim_conditions, g_free)

const ClaimCondition *
claim_conditions_find(const ClaimConditions *self, const char *type)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++)
        if (strcmp(self->items[i].type, type) == 0)
            return &self->items[i];
    return NULL;
}

gboolean
claim_set_conditions(Claim *self, ClaimConditions *conditions)
{
    gboolean changed = !field_equal(&conditions_type, &self->conditions, &conditions);

    claim_conditions_unref(self->conditions);
    self->conditions = conditions;
    return changed;
}

gboolean
claim_condition_is_true(const Claim *self, const char *type)
{
    const ClaimCondition *condition = claim_conditions_find(self->conditions, type);

    return condition != NULL && strcmp(condition->status, "True") == 0;
}
