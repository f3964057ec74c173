/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ValidatePersistentVolumeClaimUpdate() and its neighbours: what an update may change in metadata,
 * claims, volumes and VolumeAttributesClasses. Old and new object are compared as normalized JSON:
 * null and an empty list count as absent, and quantities are compared as numbers. All errors of an
 * update are collected, in Kubernetes' order and words. */
#include "update-checks.h"

#include <string.h>

#include "models/api/claim.h"
#include "models/api/fields.h"
#include "models/apiserver/apiserver-test.h"

#define CLASS_ANNOTATION "metadata.annotations." ANNOTATION_BETA_STORAGE_CLASS

static void G_GNUC_PRINTF(2, 3) add_error(GPtrArray *errors, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    g_ptr_array_add(errors, g_strdup_vprintf(format, args));
    va_end(args);
}

/* ---- Comparison: null and empty lists are as good as nothing, quantities are numbers ---- */

static void
normalize(json_t *value, gboolean are_quantities)
{
    static const char *const quantities[] = {"requests", "limits", "capacity", NULL};
    char canonical[QUANTITY_BUFFER];
    const char *key;
    json_t *item;
    void *next;
    size_t i;

    json_object_foreach_safe(value, next, key, item)
    {
        normalize(item, g_strv_contains(quantities, key));
        if (json_is_null(item) || (json_is_array(item) && json_array_size(item) == 0))
            json_object_del(value, key);
        else if (are_quantities && json_is_string(item) &&
                 quantity_canonical(json_string_value(item), canonical, NULL))
            json_object_set_new(value, key, json_string(canonical));
    }
    json_array_foreach(value, i, item)
        normalize(item, FALSE);
}

/* Returns: (owned): the member, normalized; an empty object if there is none */
static json_t *
member_of(const json_t *object, const char *path)
{
    const json_t *value = json_path_get(object, path);
    json_t *copy = value == NULL ? json_object() : json_deep_copy(value);

    normalize(copy, FALSE);
    return copy;
}

static gboolean
update_checks_is_same(const json_t *before, const json_t *after, const char *path)
{
    const json_t *was = json_path_get(before, path), *is = json_path_get(after, path);

    return was == NULL || is == NULL ? was == is : json_equal((json_t *)was, (json_t *)is);
}

/* As set by a manifest: null is not set. */
static gboolean
update_checks_is_set(const json_t *object, const char *path)
{
    return json_path_get(object, path) != NULL;
}

static void
copy_member(json_t *to, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);

    if (value != NULL)
        json_object_set(to, key, value);
    else
        json_object_del(to, key);
}

/* validation.ValidateImmutableField(). */
static void
add_immutable(GPtrArray *errors, const char *field, const char *value)
{
    if (value != NULL)
        add_error(errors, "%s: Invalid value: \"%s\": field is immutable", field, value);
    else
        add_error(errors, "%s: Invalid value: null: field is immutable", field);
}

/* ---- Metadata ---- */

void
check_metadata_update(const json_t *before, const json_t *after, GPtrArray *errors)
{
    static const char *const fixed[] = {"metadata.name", "metadata.namespace", "metadata.uid"};

    for (unsigned i = 0; i < G_N_ELEMENTS(fixed); i++)
        if (strcmp(json_path_text(before, fixed[i]), json_path_text(after, fixed[i])) != 0)
            add_immutable(errors, fixed[i], json_path_text(after, fixed[i]));
    if (json_path_text(after, "metadata.resourceVersion")[0] == '\0')
        add_error(errors,
                  "metadata.resourceVersion: Invalid value: 0x0: must be specified for an update");
}

/* ---- Claims ---- */

/* The class may move from the beta annotation into the spec: then the spec counts as unchanged. */
static gboolean
moves_class(const json_t *before, const json_t *after)
{
    const json_t *annotations = json_path_get(before, "metadata.annotations");
    const char *old =
        json_string_value(json_object_get(annotations, ANNOTATION_BETA_STORAGE_CLASS));
    const char *new = json_string_value(json_object_get(
        json_path_get(after, "metadata.annotations"), ANNOTATION_BETA_STORAGE_CLASS));

    return old != NULL && !update_checks_is_set(before, "spec.storageClassName") &&
           g_strcmp0(json_path_string(after, "spec.storageClassName"), old) == 0 &&
           (new == NULL || strcmp(new, old) == 0);
}

/* API-122: the class may be set once; if the annotation names a class, only to that class. */
static gboolean
sets_class(const json_t *before, const json_t *after)
{
    const char *old = json_string_value(json_object_get(
        json_path_get(before, "metadata.annotations"), ANNOTATION_BETA_STORAGE_CLASS));
    const char *class = json_path_string(after, "spec.storageClassName");

    return class != NULL && !update_checks_is_set(before, "spec.storageClassName") &&
           (old == NULL || strcmp(old, class) == 0);
}

static void
check_claim_class(const json_t *before,
                  const json_t *after,
                  json_t *old_spec,
                  json_t *new_spec,
                  GPtrArray *errors)
{
    const json_t *old = json_object_get(json_path_get(before, "metadata.annotations"),
                                        ANNOTATION_BETA_STORAGE_CLASS);
    const json_t *new = json_object_get(json_path_get(after, "metadata.annotations"),
                                        ANNOTATION_BETA_STORAGE_CLASS);

    if (moves_class(before, after)) {
        json_object_del(new_spec, "storageClassName");
        return;
    }
    if (g_strcmp0(json_string_value(old), json_string_value(new)) != 0)
        add_immutable(errors, CLASS_ANNOTATION, new == NULL ? "" : json_string_value(new));
    if (sets_class(before, after))
        copy_member(new_spec, old_spec, "storageClassName");
}

static int64_t
size_at(const json_t *object, const char *path)
{
    const char *text = json_path_string(object, path);
    int64_t value = 0;

    if (text != NULL)
        quantity_parse(text, &value, NULL, NULL);
    return value;
}

static void
check_claim_size(const json_t *before,
                 const json_t *after,
                 const UpdateGates *gates,
                 GPtrArray *errors)
{
    static const char path[] = "spec.resources.requests.storage";
    int64_t size = size_at(after, path);

    if (size >= size_at(before, path))
        return;
    if (!gates->recovers)
        add_error(errors, "%s: Forbidden: field can not be less than previous value", path);
    else if (size <= size_at(before, "status.capacity.storage"))
        add_error(errors, "%s: Forbidden: field can not be less than status.capacity", path);
}

/* @to_nothing_else: claims may not change to "" either */
static void
check_attributes_class_name(const json_t *before,
                            const json_t *after,
                            const UpdateGates *gates,
                            gboolean to_nothing_else,
                            GPtrArray *errors)
{
    static const char path[] = "spec.volumeAttributesClassName";

    if (update_checks_is_same(before, after, path))
        return;
    if (!gates->attributes_classes)
        add_error(
            errors,
            "%s: Forbidden: update is forbidden when the VolumeAttributesClass feature gate is "
            "disabled",
            path);
    if (!update_checks_is_set(before, path))
        return;
    if (!update_checks_is_set(after, path))
        add_error(errors, "%s: Forbidden: update from non-nil value to nil is forbidden", path);
    else if (to_nothing_else && json_path_text(after, path)[0] == '\0')
        add_error(errors,
                  "%s: Forbidden: update from non-nil value to an empty string is forbidden", path);
}

void
check_claim_update(const json_t *before,
                   const json_t *after,
                   const UpdateGates *gates,
                   GPtrArray *errors)
{
    json_t *old_spec = member_of(before, "spec"), *new_spec = member_of(after, "spec");
    gboolean is_bound = strcmp(json_path_text(after, "status.phase"), "Bound") == 0;
    const json_t *old_requests = json_path_get(old_spec, "resources.requests");
    json_t *new_requests = json_object_get(json_object_get(new_spec, "resources"), "requests");

    if (json_path_text(old_spec, "volumeName")[0] == '\0')
        copy_member(old_spec, new_spec, "volumeName");
    check_claim_class(before, after, old_spec, new_spec, errors);
    if (is_bound && new_requests != NULL)
        copy_member(new_requests, old_requests, "storage");
    if (is_bound && update_checks_is_set(new_spec, "volumeAttributesClassName"))
        copy_member(new_spec, old_spec, "volumeAttributesClassName");
    if (!json_equal(old_spec, new_spec))
        add_error(errors, "spec: Forbidden: spec is immutable after creation except "
                          "resources.requests and volumeAttributesClassName for bound claims");
    json_decref(old_spec);
    json_decref(new_spec);
    check_claim_size(before, after, gates, errors);
    if (!update_checks_is_same(before, after, "spec.volumeMode"))
        add_immutable(errors, "volumeMode", json_path_string(after, "spec.volumeMode"));
    check_attributes_class_name(before, after, gates, TRUE, errors);
}

static void
update_checks_keep_fault(ApiParser *parser,
                         const json_t *where,
                         const char *message,
                         const char *hint)
{
    (void)where;
    (void)hint;
    g_ptr_array_add(parser->data, g_strdup(message));
}

void
check_claim_status_update(const json_t *before, const json_t *after, GPtrArray *errors)
{
    g_autoptr(GString) path = g_string_new(NULL);
    ApiParser parser = {.report = update_checks_keep_fault, .data = errors, .path = path};

    check_metadata_update(before, after, errors);
    if (json_path_text(after, "metadata.resourceVersion")[0] == '\0')
        add_error(errors, "resourceVersion: Required value");
    if (json_array_size(json_path_get(after, "spec.accessModes")) == 0)
        add_error(errors, "Spec.accessModes: Required value");
    claim_check_status(&parser, after);
}

/* ---- Volumes ---- */

/* Returns: (owned): the volume's source: the spec without all the rest */
static json_t *
source_of(const json_t *volume)
{
    static const char *const others[] = {"capacity",
                                         "accessModes",
                                         "claimRef",
                                         "persistentVolumeReclaimPolicy",
                                         "storageClassName",
                                         "mountOptions",
                                         "volumeMode",
                                         "nodeAffinity",
                                         "volumeAttributesClassName"};
    json_t *spec = member_of(volume, "spec");

    for (unsigned i = 0; i < G_N_ELEMENTS(others); i++)
        json_object_del(spec, others[i]);
    return spec;
}

/* Only the secret of the expansion may be added later. */
static gboolean
source_is_same(const json_t *before, const json_t *after)
{
    static const char secret[] = "controllerExpandSecretRef";
    json_t *old = source_of(before), *new = source_of(after);
    json_t *old_csi = json_object_get(old, "csi"), *new_csi = json_object_get(new, "csi");

    if (old_csi != NULL && new_csi != NULL && json_object_get(old_csi, secret) == NULL)
        json_object_del(new_csi, secret);
    gboolean same = json_equal(old, new);
    json_decref(old);
    json_decref(new);
    return same;
}

/* Labels of nodes that have a newer name. */
static const struct {
    const char *beta, *stable;
} renamed[] = {
    {"failure-domain.beta.kubernetes.io/zone",   "topology.kubernetes.io/zone"     },
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"   },
    {"beta.kubernetes.io/os",                    "kubernetes.io/os"                },
    {"beta.kubernetes.io/arch",                  "kubernetes.io/arch"              },
    {"beta.kubernetes.io/instance-type",         "node.kubernetes.io/instance-type"},
};

static gboolean
is_renamed(const char *old, const char *new)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(renamed); i++)
        if (strcmp(renamed[i].beta, old) == 0 && strcmp(renamed[i].stable, new) == 0)
            return TRUE;
    return FALSE;
}

static gboolean
affinity_is_kept(const json_t *before, const json_t *after)
{
    json_t *old = member_of(before, "spec.nodeAffinity"), *term, *expression;
    json_t *new = member_of(after, "spec.nodeAffinity");
    const json_t *new_terms = json_path_get(new, "required.nodeSelectorTerms");
    size_t i, k;

    json_array_foreach(json_path_get(old, "required.nodeSelectorTerms"), i, term)
        json_array_foreach(json_object_get(term, "matchExpressions"), k, expression) {
            const json_t *other = json_array_get(
                json_object_get(json_array_get(new_terms, i), "matchExpressions"), k);
            if (is_renamed(json_path_text(expression, "key"), json_path_text(other, "key")))
                copy_member(expression, other, "key");
        }
    gboolean kept = json_equal(old, new);
    json_decref(old);
    json_decref(new);
    return kept;
}

void
check_volume_update(const json_t *before,
                    const json_t *after,
                    const UpdateGates *gates,
                    GPtrArray *errors)
{
    if (!source_is_same(before, after))
        add_error(errors, "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is "
                          "immutable after creation");
    if (!update_checks_is_same(before, after, "spec.volumeMode"))
        add_immutable(errors, "volumeMode", json_path_string(after, "spec.volumeMode"));
    if (update_checks_is_set(before, "spec.nodeAffinity") && !affinity_is_kept(before, after))
        add_error(errors,
                  "nodeAffinity: Invalid value: field is immutable, except for updating from "
                  "beta label to GA");
    check_attributes_class_name(before, after, gates, FALSE, errors);
}

/* ---- VolumeAttributesClasses ---- */

void
check_attributes_class_update(const json_t *before, const json_t *after, GPtrArray *errors)
{
    if (strcmp(json_path_text(before, "driverName"), json_path_text(after, "driverName")) != 0)
        add_error(errors, "driverName: Forbidden: updates to driverName are forbidden.");
    if (!update_checks_is_same(before, after, "parameters"))
        add_error(errors, "parameters: Forbidden: updates to parameters are forbidden.");
}
