/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Admission by ResourceQuotas, the last plugin (API-20, API-120): CheckRequest() in Kubernetes'
 * apiserver/pkg/admission/plugin/resourcequota. A cluster without quotas costs only a look at a
 * count. */
#include "checks.h"

#include "models/api/quota/quota.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/pod-resources.h"

static gboolean
covers(const ApiStore *self, const ResourceQuota *quota, const Object *object)
{
    return resource_quota_covers(quota, object_kind(object), object, self->knows_class_scope);
}

/* Returns: (nullable): the next quota of the namespace, from *@slot on, that bounds @object; NULL:
 * that may bound objects of the kind */
static const ResourceQuota *
next_quota(const ApiStore *self,
           const char *namespace,
           ObjectKind kind,
           const Object *object,
           unsigned *slot)
{
    Objects *objects = self->objects;

    if (self->counts[KIND_RESOURCE_QUOTA] == 0)
        return NULL;
    while (*slot < objects_n_keys(objects, KIND_RESOURCE_QUOTA)) {
        const ObjectKey *key = objects_key_at(objects, KIND_RESOURCE_QUOTA, (*slot)++);
        const Object *quota = api_store_get(self, key);
        if (quota != NULL && key->namespace == namespace &&
            resource_amounts_name_kind(RESOURCE_QUOTA_CONST(quota)->status_hard, kind) &&
            resource_quota_covers(RESOURCE_QUOTA_CONST(quota), kind, object,
                                  self->knows_class_scope))
            return RESOURCE_QUOTA_CONST(quota);
    }
    return NULL;
}

const ObjectKey *
quota_find(const ApiStore *self, const char *namespace, ObjectKind kind)
{
    unsigned slot = 0;
    const ResourceQuota *quota = next_quota(self, namespace, kind, NULL, &slot);

    return quota == NULL ? NULL : quota->meta.key;
}

/* How much a write adds to the use of a resource. An object that uses less gives nothing back here
 * (API-153). */
static ResourceAmount
added_usage(const Objects *objects, const Object *before, const Object *after, const char *resource)
{
    ResourceAmount usage = quota_usage(objects, after, resource, QUOTA_ALWAYS);

    if (before != NULL)
        usage.value -= quota_usage(objects, before, resource, QUOTA_ALWAYS).value;
    usage.value = MAX(usage.value, 0);
    return usage;
}

static const ResourceAmount *
used_of(const ResourceQuota *quota, const char *resource)
{
    return resource_amounts_find(quota->used, resource);
}

static void
append_amount(GString *list, const char *name, const ResourceAmount *amount)
{
    char buffer[QUANTITY_BUFFER];

    g_string_append_printf(list, "%s%s=%s", list->len == 0 ? "" : ",", name,
                           resource_amount_format(amount, buffer));
}

/* "deployments.apps" */
static void
begin_refusal(const ApiStore *self, const Object *object, GString *message)
{
    const ObjectKey *key = object->key;
    const char *version = kind_class(key->kind)->api_version;
    const char *slash = key->kind == KIND_OTHER ? NULL : strchr(version, '/');
    g_autofree char *group =
        key->kind == KIND_OTHER ? g_strdup(objects_resource_at(self->objects, key->resource)->group)
        : slash == NULL         ? g_strdup("")
                                : g_strndup(version, (gsize)(slash - version));

    g_string_printf(message,
                    "%s%s%s \"%s\" is forbidden: ", objects_resource_name(self->objects, key),
                    *group == '\0' ? "" : ".", group, object_name(object));
}

/* API-152: refuses if used is unknown where hard is known. */
static ApiCode
check_status_is_known(const ApiStore *self,
                      const ResourceQuota *quota,
                      const Object *object,
                      GString *message)
{
    g_autoptr(GString) names = g_string_new(NULL);
    gboolean known = TRUE;

    for (unsigned i = 0; i < quota->status_hard->n_items; i++) {
        const char *resource = quota->status_hard->items[i].name;
        if (!quota_resource_is_of(resource, object_kind(object)) ||
            (object_kind(object) == KIND_OTHER &&
             quota_usage(self->objects, object, resource, QUOTA_ALWAYS).value == 0))
            continue;
        g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ",", resource);
        known &= used_of(quota, resource) != NULL;
    }
    if (known)
        return API_OK;
    begin_refusal(self, object, message);
    g_string_append_printf(message, "status unknown for quota: %s, resources: %s",
                           object_name(&quota->meta), names->str);
    return API_FORBIDDEN;
}

/* Returns: (owned): the containers that lack the resource: "a,b"; empty: none */
static GString *
containers_without(const PodSpec *spec, const char *resource)
{
    static const char *const lists[] = {"containers", "initContainers"};
    gboolean limit = g_str_has_prefix(resource, "limits.");
    const char *what = limit                                     ? resource + strlen("limits.")
                       : g_str_has_prefix(resource, "requests.") ? resource + strlen("requests.")
                                                                 : resource;
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    GString *text = g_string_new(NULL);
    json_t *container;
    PodAmount amount;
    gsize i;

    for (gsize k = 0; k < G_N_ELEMENTS(lists); k++)
        json_array_foreach(json_object_get(spec->manifest, lists[k]), i, container)
            if (!container_amount(container, limit, what, &amount))
                g_ptr_array_add(names,
                                (char *)json_string_value(json_object_get(container, "name")));
    g_ptr_array_sort(names, strings_compare);
    for (unsigned k = 0; k < names->len; k++)
        g_string_append_printf(text, "%s%s", k == 0 ? "" : ",", (const char *)names->pdata[k]);
    return text;
}

/* API-159: a quota of processors or memory wants each container to tell its own.
 * enforcePodContainerConstraints(); the names of containers came with 1.24 (#107210). */
static ApiCode
check_constraints(const ApiStore *self,
                  const ResourceQuota *quota,
                  const Object *object,
                  GString *message)
{
    static const char *const told[] = {
        "cpu", "memory", "requests.cpu", "limits.cpu", "limits.memory", "requests.memory", NULL};
    g_autoptr(GString) missing = g_string_new(NULL);

    if (object_kind(object) != KIND_POD || POD_CONST(object)->spec->manifest == NULL)
        return API_OK;
    for (unsigned i = 0; i < quota->status_hard->n_items; i++) {
        const char *resource = quota->status_hard->items[i].name;
        g_autoptr(GString) names = word_is_among(resource, told)
                                       ? containers_without(POD_CONST(object)->spec, resource)
                                       : g_string_new(NULL);
        if (names->len == 0)
            continue;
        if (self->names_containers)
            g_string_append_printf(missing, "%s%s for: %s", missing->len == 0 ? "" : "; ", resource,
                                   names->str);
        else
            g_string_append_printf(missing, "%s%s", missing->len == 0 ? "" : ",", resource);
    }
    if (missing->len == 0)
        return API_OK;
    begin_refusal(self, object, message);
    g_string_append_printf(message, "failed quota: %s: must specify %s", object_name(&quota->meta),
                           missing->str);
    return API_FORBIDDEN;
}

/* API-152: whether there is room for the addition; the message names only exceeded resources. */
static ApiCode
quota_check_quota(const ApiStore *self,
                  const ResourceQuota *quota,
                  const Object *before,
                  const Object *after,
                  GString *message)
{
    g_autoptr(GString) requested = g_string_new(NULL), used = g_string_new(NULL),
                       limited = g_string_new(NULL);

    for (unsigned i = 0; i < quota->status_hard->n_items; i++) {
        const ResourceAmount *hard = &quota->status_hard->items[i];
        ResourceAmount added = added_usage(self->objects, before, after, hard->name);
        if (added.value == 0 || used_of(quota, hard->name)->value <= hard->value - added.value)
            continue;
        append_amount(requested, hard->name, &added);
        append_amount(used, hard->name, used_of(quota, hard->name));
        append_amount(limited, hard->name, hard);
    }
    if (requested->len == 0)
        return API_OK;
    begin_refusal(self, after, message);
    g_string_append_printf(message, "exceeded quota: %s, requested: %s, used: %s, limited: %s",
                           object_name(&quota->meta), requested->str, used->str, limited->str);
    return API_FORBIDDEN;
}

/* Returns: (owned): the quota's status.used after the addition; NULL if nothing is added */
static ResourceAmounts *
charged(const ApiStore *self, const ResourceQuota *quota, const Object *before, const Object *after)
{
    g_autofree ResourceAmount *items =
        g_memdup2(quota->used->items, quota->used->n_items * sizeof(ResourceAmount));
    gboolean changed = FALSE;

    for (unsigned i = 0; i < quota->used->n_items; i++) {
        ResourceAmount added = added_usage(self->objects, before, after, items[i].name);
        if (added.value == 0 || resource_amounts_find(quota->status_hard, items[i].name) == NULL)
            continue;
        if (items[i].value == 0)
            items[i].decimal = added.decimal;
        items[i].value += added.value;
        items[i].text = NULL;
        changed = TRUE;
    }
    return changed ? resource_amounts_new(items, quota->used->n_items) : NULL;
}

static void
charge(ApiStore *self, const ResourceQuota *quota, const Object *before, const Object *after)
{
    ResourceAmounts *used = charged(self, quota, before, after);

    if (used == NULL)
        return;
    Object *object = object_edit(&quota->meta);
    resource_amounts_unref(RESOURCE_QUOTA(object)->used);
    RESOURCE_QUOTA(object)->used = used;
    api_store_write(self, object);
}

/* Returns: (nullable): @before, if the quota has counted it */
static const Object *
counted_before(const ApiStore *self, const ResourceQuota *quota, const Object *before)
{
    return before != NULL && covers(self, quota, before) ? before : NULL;
}

gboolean
quota_handles(ObjectKind kind, ApiVerb verb)
{
    return verb == API_CREATE || ((kind == KIND_CLAIM || kind == KIND_SERVICE) &&
                                  (verb == API_UPDATE || verb == API_PATCH));
}

ApiCode
quota_admit(ApiStore *self, const Object *before, const Object *after, GString *message)
{
    const char *namespace = after->key->namespace;
    ObjectKind kind = object_kind(after);
    const ResourceQuota *quota;
    ApiCode code = API_OK;

    if (self->counts[KIND_RESOURCE_QUOTA] == 0)
        return API_OK;
    for (unsigned slot = 0;
         code == API_OK && (quota = next_quota(self, namespace, kind, after, &slot)) != NULL;) {
        code = check_constraints(self, quota, after, message);
        if (code == API_OK)
            code = check_status_is_known(self, quota, after, message);
    }
    for (unsigned slot = 0;
         code == API_OK && (quota = next_quota(self, namespace, kind, after, &slot)) != NULL;)
        code = quota_check_quota(self, quota, counted_before(self, quota, before), after, message);
    for (unsigned slot = 0;
         code == API_OK && (quota = next_quota(self, namespace, kind, after, &slot)) != NULL;)
        charge(self, quota, counted_before(self, quota, before), after);
    return code;
}
