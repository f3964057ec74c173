/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of storage.k8s.io: StorageClass, VolumeAttributesClass, CSIDriver, CSINode,
 * VolumeAttachment and CSIStorageCapacity, with defaults and checks in Kubernetes' words. The
 * volume inside a VolumeAttachment is a PersistentVolume without an object around it; it never
 * changes (API-136), so its manifest is printed. */
#include "storage.h"

#include <string.h>

#include "fields.h"
#include "models/api/api-test.h"

static const FieldType binding_mode_type = {FIELD_WORDS("Immediate", "WaitForFirstConsumer")};

static const Field storage_class_fields[] = {
    FIELD("parameters", field_string_map, StorageClass, parameters, FIELD_SPEC),
    FIELD("allowedTopologies", field_topology_terms, StorageClass, allowed_topologies, FIELD_SPEC),
    FIELD("mountOptions", field_string_list, StorageClass, mount_options, FIELD_SPEC),
    FIELD("provisioner", field_string, StorageClass, provisioner, FIELD_REQUIRED),
    FIELD_FROM("reclaimPolicy",
               field_reclaim_policy,
               StorageClass,
               reclaim_policy,
               FIELD_SPEC,
               RECLAIM_DELETE),
    FIELD("volumeBindingMode", binding_mode_type, StorageClass, binding_mode, FIELD_SPEC),
    FIELD("allowVolumeExpansion", field_flag, StorageClass, allow_expansion, FIELD_SPEC),
    FIELDS_END,
};

static void
storage_class_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    static const char *const policies[] = {"Delete", "Retain", NULL};

    if (((const StorageClass *)object)->reclaim_policy == RECLAIM_RECYCLE)
        api_parser_check_word(parser, manifest, "reclaimPolicy", policies);
}

gboolean
storage_class_is_default(const StorageClass *self)
{
    return g_strcmp0(object_annotation(&self->meta, ANNOTATION_DEFAULT_CLASS), "true") == 0 ||
           g_strcmp0(object_annotation(&self->meta, ANNOTATION_BETA_DEFAULT_CLASS), "true") == 0;
}

const KindClass storage_class_kind = {
    .kind = "StorageClass",
    .api_version = "storage.k8s.io/v1",
    .resource = "storageclasses",
    .size = sizeof(StorageClass),
    .fields = storage_class_fields,
    .check = storage_class_check,
};

static const Field token_request_fields[] = {
    FIELD("audience", field_full_text, TokenRequest, audience, FIELD_SPEC),
    FIELD("expirationSeconds", field_int64, TokenRequest, expiration_s, FIELD_SPEC),
    FIELDS_END,
};

static const FieldType token_requests_type = {FIELD_LIST(TokenRequest, token_request_fields)};

/* ---- VolumeAttributesClass: VAC-1 ---- */

#define PARAMETERS_MAX 512
#define PARAMETERS_BYTES_MAX (256 * 1024)

static const Field attributes_class_fields[] = {
    FIELD("parameters", field_string_map, AttributesClass, parameters, FIELD_SPEC),
    FIELD("driverName", field_string, AttributesClass, driver, FIELD_REQUIRED),
    FIELDS_END,
};

static void
check_parameters(ApiParser *parser, const json_t *manifest, const StringMap *parameters)
{
    size_t n_bytes = 0;
    gsize length = api_parser_enter(parser, "parameters");
    const json_t *where = json_path_get(manifest, "parameters");

    if (parameters == NULL)
        api_parser_required(parser, manifest, "must contain at least one key/value pair");
    if (parameters != NULL && parameters->n_pairs > PARAMETERS_MAX)
        api_parser_fault(parser, where, NULL, "Too long: may not be more than %d bytes",
                         PARAMETERS_MAX);
    for (unsigned i = 0; parameters != NULL && i < parameters->n_pairs; i++) {
        if (parameters->pairs[i].key[0] == '\0')
            api_parser_fault(parser, where, NULL, "Invalid value: \"\": field can not be empty.");
        n_bytes += strlen(parameters->pairs[i].key) + strlen(parameters->pairs[i].value);
    }
    if (n_bytes > PARAMETERS_BYTES_MAX)
        api_parser_fault(parser, where, NULL, "Too long: may not be more than %d bytes",
                         PARAMETERS_BYTES_MAX);
    api_parser_leave(parser, length);
}

static void
attributes_class_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const AttributesClass *class = ATTRIBUTES_CLASS_CONST(object);
    g_autofree char *lower = class->driver == NULL ? NULL : g_ascii_strdown(class->driver, -1);

    api_parser_check_name(parser, manifest, "driverName", lower, name_fault_qualified);
    check_parameters(parser, manifest, class->parameters);
}

const KindClass attributes_class_kind = {
    .kind = "VolumeAttributesClass",
    .api_version = "storage.k8s.io/v1beta1",
    .resource = "volumeattributesclasses",
    .size = sizeof(AttributesClass),
    .fields = attributes_class_fields,
    .check = attributes_class_check,
};

static const Field csi_driver_fields[] = {
    /* clang-format off */
    FIELD("spec.volumeLifecycleModes", field_string_list, CsiDriverObject, lifecycle_modes, FIELD_SPEC),
    FIELD("spec.tokenRequests", token_requests_type, CsiDriverObject, token_requests, FIELD_SPEC),
    FIELD_FROM("spec.attachRequired", field_bool, CsiDriverObject, attach_required, FIELD_SPEC, TRUE),
    FIELD("spec.podInfoOnMount", field_bool, CsiDriverObject, pod_info_on_mount, FIELD_SPEC),
    FIELD("spec.storageCapacity", field_bool, CsiDriverObject, storage_capacity, FIELD_SPEC),
    FIELD("spec.requiresRepublish", field_bool, CsiDriverObject, requires_republish, FIELD_SPEC),
    FIELD("spec.seLinuxMount", field_bool, CsiDriverObject, selinux_mount, FIELD_SPEC),
    FIELD("spec.fsGroupPolicy", field_string, CsiDriverObject, fs_group_policy, FIELD_SPEC),
    FIELD("spec.preventPodSchedulingIfMissing", field_flag, CsiDriverObject, prevents_scheduling_if_missing, FIELD_SPEC),
    FIELD("spec.nodeAllocatableUpdatePeriodSeconds", field_count, CsiDriverObject, allocatable_period_s, FIELD_SPEC),
    FIELDS_END,
    /* clang-format on */
};

static void
csi_driver_set_defaults(Object *object)
{
    CSI_DRIVER_OBJECT(object)->fs_group_policy = "ReadWriteOnceWithFSType";
}

/* validateTokenRequests() */
static void
check_token_requests(ApiParser *parser, const json_t *list)
{
    const json_t *request;
    gsize i;

    json_array_foreach(list, i, request) {
        const json_t *seconds = json_object_get(request, "expirationSeconds");
        const char *audience = json_path_string(request, "audience");
        gsize outer = api_parser_enter_index(parser, (unsigned)i);
        if (json_is_integer(seconds) && json_integer_value(seconds) < 10 * 60)
            api_parser_invalid_at(parser, request, "expirationSeconds", NULL,
                                  "may not specify a duration less than 10 minutes");
        else if (json_is_integer(seconds) && json_integer_value(seconds) > INT64_C(1) << 32)
            api_parser_invalid_at(parser, request, "expirationSeconds", NULL,
                                  "may not specify a duration larger than 2^32 seconds");
        for (gsize k = 0; k < i && audience != NULL; k++)
            if (g_strcmp0(json_path_string(json_array_get(list, k), "audience"), audience) == 0)
                api_parser_fault(parser, request, NULL, "Duplicate value: \"%s\"", audience);
        api_parser_leave(parser, outer);
    }
}

static void
csi_driver_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    static const char *const policies[] = {"File", "None", "ReadWriteOnceWithFSType", NULL};
    static const char *const modes[] = {"Ephemeral", "Persistent", NULL};
    const CsiDriverObject *driver = (const CsiDriverObject *)object;
    const json_t *list = json_path_get(manifest, "spec.volumeLifecycleModes");
    gsize length;

    api_parser_check_word(parser, manifest, "spec.fsGroupPolicy", policies);
    length = api_parser_enter(parser, "spec.volumeLifecycleModes");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *mode = json_array_get(list, i);
        if (json_is_string(mode) && !word_is_among(json_string_value(mode), modes))
            api_parser_unsupported(parser, mode, modes);
    }
    api_parser_leave(parser, length);

    length = api_parser_enter(parser, "spec.tokenRequests");
    check_token_requests(parser, json_path_get(manifest, "spec.tokenRequests"));
    api_parser_leave(parser, length);

    if (driver->allocatable_period_s != 0 && driver->allocatable_period_s < 10) /* API-187 */
        api_parser_fault_at(parser,
                            json_path_get(manifest, "spec.nodeAllocatableUpdatePeriodSeconds"),
                            "spec.nodeAllocatableUpdatePeriodSeconds", NULL,
                            "must be greater than or equal to 10 seconds");
}

const KindClass csi_driver_kind = {
    .kind = "CSIDriver",
    .api_version = "storage.k8s.io/v1",
    .resource = "csidrivers",
    .size = sizeof(CsiDriverObject),
    .fields = csi_driver_fields,
    .set_defaults = csi_driver_set_defaults,
    .check = csi_driver_check,
};

static const Field node_driver_fields[] = {
    FIELD("topologyKeys", field_string_list, CsiNodeDriver, topology_keys, FIELD_OR_NULL),
    FIELD("name", field_string, CsiNodeDriver, name, FIELD_REQUIRED),
    FIELD("nodeID", field_string, CsiNodeDriver, node_id, FIELD_REQUIRED),
    FIELD("allocatable.count", field_int_or_unset, CsiNodeDriver, allocatable_count, FIELD_NATURAL),
    FIELDS_END,
};

REF_LIST_DEFINE(CsiNodeDrivers, CsiNodeDriver, csi_node_drivers)

static void
check_drivers(ApiParser *parser, const json_t *array, void *items, unsigned n)
{
    const CsiNodeDriver *drivers = items;

    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < i; j++)
            if (drivers[i].name != NULL && drivers[j].name == drivers[i].name)
                api_parser_fault(parser, json_array_get(array, i), NULL, "Duplicate value: \"%s\"",
                                 drivers[i].name);
}

static const FieldType node_drivers_type = {
    FIELD_LIST(CsiNodeDriver, node_driver_fields),
    .finish = check_drivers,
};

static const Field csi_node_fields[] = {
    FIELD("spec.drivers", node_drivers_type, CsiNode, drivers, FIELD_OR_NULL),
    FIELDS_END,
};

const KindClass csi_node_kind = {
    .kind = "CSINode",
    .api_version = "storage.k8s.io/v1",
    .resource = "csinodes",
    .size = sizeof(CsiNode),
    .fields = csi_node_fields,
};

const CsiNodeDriver *
csi_node_find_driver(const CsiNode *self, const char *driver)
{
    if (self == NULL || self->drivers == NULL)
        return NULL;
    for (unsigned i = 0; i < self->drivers->n_items; i++) {
        const CsiNodeDriver *item = &self->drivers->items[i];
        if (item->name == driver || g_strcmp0(item->name, driver) == 0)
            return item;
    }
    return NULL;
}

gboolean
csi_node_set_driver(CsiNode *self, const char *driver, const CsiNodeDriver *entry)
{
    g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(CsiNodeDriver));
    const CsiNodeDriver *old = csi_node_find_driver(self, driver);
    const CsiNodeDrivers *drivers = self->drivers;

    if (old == NULL && entry == NULL)
        return FALSE;
    if (old != NULL && entry != NULL && fields_equal(node_driver_fields, old, entry)) {
        string_list_unref(entry->topology_keys);
        return FALSE;
    }
    for (unsigned i = 0; drivers != NULL && i < drivers->n_items; i++) {
        CsiNodeDriver item = drivers->items[i];
        if (old == &drivers->items[i]) {
            if (entry != NULL)
                g_array_append_vals(items, entry, 1);
            continue;
        }
        string_list_ref(item.topology_keys);
        g_array_append_val(items, item);
    }
    if (old == NULL)
        g_array_append_vals(items, entry, 1);
    CsiNodeDrivers *changed =
        csi_node_drivers_new((const CsiNodeDriver *)(void *)items->data, items->len);
    fields_clear(csi_node_fields, self);
    self->drivers = changed;
    return TRUE;
}

static const Field error_fields[] = {
    FIELD("message", field_string, VolumeError, message, FIELD_SPEC),
    FIELD("time", field_time, VolumeError, at, FIELD_SPEC),
    FIELD("errorCode", field_count, VolumeError, code, FIELD_SPEC),
    FIELDS_END,
};

static void
error_parse(ApiParser *parser, const json_t *value, void *field)
{
    VolumeError *error = field;

    fields_parse(parser, value, error_fields, error);
    if (error->message == NULL)
        /* an error without words is an error, too */
        error->message = api_parser_intern(parser, "");
}

const FieldType field_volume_error = {
    FIELD_STRUCT(VolumeError, error_fields),
    .parse = error_parse,
};

/* A volume without an object: only a spec. */
static void
inline_volume_parse(ApiParser *parser, const json_t *value, void *field)
{
    json_t *manifest = json_pack("{s:O}", "spec", value);

    if (api_parser_expect(parser, value, JSON_OBJECT))
        *(Object **)field = api_parser_template(
            parser, manifest, objects_key(parser->objects, KIND_VOLUME, NULL, "inline"));
    json_decref(manifest);
}

/* It never changes (API-136), so a manifest has all of it. */
static json_t *
inline_volume_over(const void *field, const json_t *manifest)
{
    static const char *const unset[] = {"capacity", "persistentVolumeReclaimPolicy", "volumeMode"};
    const Object *volume = *(Object *const *)field;

    if (manifest != NULL || volume == NULL)
        return json_incref((json_t *)manifest); /* only counted */
    json_t *object = object_to_json(volume);
    json_t *spec = json_incref(json_object_get(object, "spec"));
    json_decref(object);
    for (unsigned i = 0; i < G_N_ELEMENTS(unset); i++)
        json_object_del(spec, unset[i]);
    return spec;
}

static const FieldType inline_volume_type = {
    FIELD_OBJECT,
    .parse = inline_volume_parse,
    .over = inline_volume_over,
};

static const Field attachment_fields[] = {
    FIELD(
        "spec.source.inlineVolumeSpec", inline_volume_type, Attachment, inline_volume, FIELD_SPEC),
    FIELD("status.attachmentMetadata", field_string_map, Attachment, metadata, FIELD_STATUS),
    FIELD("spec.attacher", field_string, Attachment, attacher, FIELD_REQUIRED),
    FIELD("spec.nodeName", field_string, Attachment, node_name, FIELD_REQUIRED),
    FIELD("spec.source.persistentVolumeName", field_word, Attachment, volume_name, FIELD_SPEC),
    FIELD("status.attached", field_bool, Attachment, attached, FIELD_STATUS),
    FIELD("status.attachError", field_volume_error, Attachment, attach_error, FIELD_STATUS),
    FIELD("status.detachError", field_volume_error, Attachment, detach_error, FIELD_STATUS),
    FIELDS_END,
};

static void
attachment_check(ApiParser *parser, const json_t *manifest, const Object *object G_GNUC_UNUSED)
{
    gboolean has_volume = json_path_get(manifest, "spec.source.persistentVolumeName") != NULL;
    gboolean has_inline = json_path_get(manifest, "spec.source.inlineVolumeSpec") != NULL;

    if (has_volume == has_inline)
        api_parser_required_at(
            parser, manifest, "spec.source",
            "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
}

const KindClass attachment_kind = {
    .kind = "VolumeAttachment",
    .api_version = "storage.k8s.io/v1",
    .resource = "volumeattachments",
    .size = sizeof(Attachment),
    .fields = attachment_fields,
    .check = attachment_check,
};

static const Field storage_capacity_fields[] = {
    FIELD("nodeTopology", field_label_selector, StorageCapacity, topology, FIELD_SPEC),
    FIELD("storageClassName", field_string, StorageCapacity, class_name, FIELD_REQUIRED),
    FIELD("capacity", field_quantity, StorageCapacity, capacity_bytes, FIELD_SPEC),
    FIELD("maximumVolumeSize", field_quantity, StorageCapacity, maximum_bytes, FIELD_SPEC),
    FIELDS_END,
};

static void
storage_capacity_set_defaults(Object *object)
{
    STORAGE_CAPACITY(object)->capacity_bytes = -1;
    STORAGE_CAPACITY(object)->maximum_bytes = -1;
}

/* A negative quantity would mean none. */
static void
storage_capacity_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const StorageCapacity *capacity = (const StorageCapacity *)object;
    const char *const paths[] = {"capacity", "maximumVolumeSize"};
    const int64_t values[] = {capacity->capacity_bytes, capacity->maximum_bytes};

    for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++) {
        const char *text = json_path_string(manifest, paths[i]);
        int64_t value;
        if (values[i] >= 0 || text == NULL || !quantity_parse(text, &value, NULL, NULL))
            continue;
        api_parser_invalid_at(parser, manifest, paths[i], NULL,
                              "must be greater than or equal to 0");
    }
}

const KindClass storage_capacity_kind = {
    .kind = "CSIStorageCapacity",
    .api_version = "storage.k8s.io/v1",
    .resource = "csistoragecapacities",
    .size = sizeof(StorageCapacity),
    .fields = storage_capacity_fields,
    .namespaced = TRUE,
    .set_defaults = storage_capacity_set_defaults,
    .check = storage_capacity_check,
};
