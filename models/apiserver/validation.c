/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fields of a spec that never change once they are stored: ValidateUpdate() of the kind.
 * Components change other fields, which typed members show by comparing addresses; only when these
 * differ are the manifests compared, with the rules and words of Kubernetes. Fields that a gate
 * makes mutable are the caller's to tell. */
#include "checks.h"

#include <string.h>

#include "models/api/pod.h"

/* @field: a path. Returns: API_INVALID, with @detail in @message */
static ApiCode
validation_refuse(const Object *object,
                  const char *group,
                  const char *field,
                  const char *detail,
                  GString *message)
{
    g_string_printf(message, "%s%s \"%s\" is invalid: %s: %s",
                    kind_class(object_kind(object))->kind, group, object_name(object), field,
                    detail);
    return API_INVALID;
}

/* Of storage.k8s.io. */
static ApiCode
refuse_storage(const Object *object, const char *field, const char *detail, GString *message)
{
    return validation_refuse(object, ".storage.k8s.io", field, detail, message);
}

#define IMMUTABLE "Invalid value: field is immutable"

/* All faults together, as errors.ToAggregate() writes them. */
static ApiCode
refuse_all(const Object *object, GPtrArray *errors, GString *message)
{
    const char *version = strchr(kind_class(object_kind(object))->api_version, '/');

    g_autofree char *group =
        version == NULL
            ? g_strdup("")
            : g_strdup_printf(".%.*s",
                              (int)(version - kind_class(object_kind(object))->api_version),
                              kind_class(object_kind(object))->api_version);

    if (errors->len == 0)
        return API_OK;
    g_string_printf(message, "%s%s \"%s\" is invalid: %s", kind_class(object_kind(object))->kind,
                    group, object_name(object), errors->len > 1 ? "[" : "");
    for (unsigned i = 0; i < errors->len; i++)
        g_string_append_printf(message, "%s%s", i == 0 ? "" : ", ", (char *)errors->pdata[i]);
    if (errors->len > 1)
        g_string_append_c(message, ']');
    return API_INVALID;
}

/* Rules on manifests. */
static ApiCode
check_manifests(const Object *before,
                const Object *after,
                const UpdateGates *gates,
                GString *message)
{
    g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
    json_t *old = object_to_json(before), *new = object_to_json(after);

    if (object_kind(before) == KIND_CLAIM)
        check_claim_update(old, new, gates, errors);
    else if (object_kind(before) == KIND_VOLUME)
        check_volume_update(old, new, gates, errors);
    else
        check_attributes_class_update(old, new, errors);
    json_decref(old);
    json_decref(new);
    return refuse_all(before, errors, message);
}

/* API-134. Components change only other fields: that is seen without the manifests. */
static ApiCode
validation_check_volume(const Volume *before,
                        const Volume *after,
                        const UpdateGates *gates,
                        GString *message)
{
    gboolean affinity_is_kept = before->node_affinity == NULL ||
                                node_selector_equal(before->node_affinity, after->node_affinity);

    if (before->source == after->source && before->volume_mode == after->volume_mode &&
        before->attributes_class == after->attributes_class && affinity_is_kept)
        return API_OK;
    return check_manifests(&before->meta, &after->meta, gates, message);
}

/* API-135. */
static ApiCode
check_class(const StorageClass *before, const StorageClass *after, GString *message)
{
    if (!string_map_equal(before->parameters, after->parameters))
        return refuse_storage(&before->meta, "parameters",
                              "Forbidden: updates to parameters are forbidden.", message);
    if (before->provisioner != after->provisioner)
        return refuse_storage(&before->meta, "provisioner",
                              "Forbidden: updates to provisioner are forbidden.", message);
    if (before->reclaim_policy != after->reclaim_policy)
        return refuse_storage(&before->meta, "reclaimPolicy",
                              "Forbidden: updates to reclaimPolicy are forbidden.", message);
    if (before->binding_mode != after->binding_mode)
        return refuse_storage(&before->meta, "volumeBindingMode", IMMUTABLE, message);
    return API_OK;
}

/* API-136. */
static ApiCode
validation_check_attachment(const Attachment *before, const Attachment *after, GString *message)
{
    return before->attacher == after->attacher && before->node_name == after->node_name &&
                   before->volume_name == after->volume_name
               ? API_OK
               : refuse_storage(&before->meta, "spec", IMMUTABLE, message);
}

static ApiCode
check_capacity(const StorageCapacity *before, const StorageCapacity *after, GString *message)
{
    if (!label_selector_equal(before->topology, after->topology))
        return refuse_storage(&before->meta, "nodeTopology", IMMUTABLE, message);
    if (before->class_name != after->class_name)
        return refuse_storage(&before->meta, "storageClassName", IMMUTABLE, message);
    return API_OK;
}

static ApiCode
check_driver(const CsiDriverObject *before, const CsiDriverObject *after, GString *message)
{
    if (before->attach_required != after->attach_required)
        return refuse_storage(&before->meta, "spec.attachedRequired", IMMUTABLE, message);
    if (!string_list_equal(before->lifecycle_modes, after->lifecycle_modes))
        return refuse_storage(&before->meta, "spec.volumeLifecycleModes", IMMUTABLE, message);
    if (after->allocatable_period_s != 0 && after->allocatable_period_s < 10) /* API-187 */
        return refuse_storage(&before->meta, "spec.nodeAllocatableUpdatePeriodSeconds",
                              "Invalid value: must be greater than or equal to 10 seconds",
                              message);
    return API_OK;
}

/* WL-24. */
static ApiCode
validation_check_stateful_set(const StatefulSet *before, const StatefulSet *after, GString *message)
{
    return label_selector_equal(before->selector, after->selector) &&
                   field_equal(&field_claim_templates, &before->claim_templates,
                               &after->claim_templates) &&
                   before->parallel == after->parallel &&
                   before->service_name == after->service_name &&
                   before->revision_history_limit == after->revision_history_limit
               ? API_OK
               : validation_refuse(
                     &before->meta, ".apps", "spec",
                     "Forbidden: updates to statefulset spec for fields other than 'replicas', "
                     "'ordinals', 'template', 'updateStrategy', "
                     "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
                     "forbidden",
                     message);
}

/* API-192 */
static ApiCode
check_priority_class(const PriorityClass *before, const PriorityClass *after, GString *message)
{
    const char *field = before->value != after->value                           ? "value"
                        : before->preemption_policy != after->preemption_policy ? "preemptionPolicy"
                                                                                : NULL;

    return field == NULL ? API_OK
                         : validation_refuse(&before->meta, ".scheduling.k8s.io", field,
                                             before->value != after->value
                                                 ? "Forbidden: may not be changed in an update."
                                                 : IMMUTABLE,
                                             message);
}

ApiCode
validation_update(const Object *before,
                  const Object *after,
                  const UpdateGates *gates,
                  GString *message)
{
    switch ((int)object_kind(before)) {
    case KIND_VOLUME:
        return validation_check_volume(VOLUME_CONST(before), VOLUME_CONST(after), gates, message);
    case KIND_CLAIM:
    case KIND_ATTRIBUTES_CLASS:
        return check_manifests(before, after, gates, message);
    case KIND_STORAGE_CLASS:
        return check_class((const StorageClass *)before, (const StorageClass *)after, message);
    case KIND_ATTACHMENT:
        return validation_check_attachment((const Attachment *)before, (const Attachment *)after,
                                           message);
    case KIND_STORAGE_CAPACITY:
        return check_capacity((const StorageCapacity *)before, (const StorageCapacity *)after,
                              message);
    case KIND_CSI_DRIVER:
        return check_driver((const CsiDriverObject *)before, (const CsiDriverObject *)after,
                            message);
    case KIND_PRIORITY_CLASS:
        return check_priority_class(PRIORITY_CLASS_CONST(before), PRIORITY_CLASS_CONST(after),
                                    message);
    case KIND_STATEFUL_SET:
        return validation_check_stateful_set((const StatefulSet *)before,
                                             (const StatefulSet *)after, message);
    default: /* every field that models write may change */
        return API_OK;
    }
}
