/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "checks.h"

#include "models/api/quota.h"

/* Admission by LimitRanges and ResourceQuotas: LimitRanger and ResourceQuota, the last two plugins
 * for claims (API-120, API-155). A cluster without such objects costs only a look at a count. */

#define FORBIDDEN "persistentvolumeclaims \"%s\" is forbidden: "

/* ---- LimitRange (API-154) ---- */

static ApiCode
refuse_size(const LimitRange *range,
            const char *which,
            const char *path,
            int64_t bound,
            const Claim *claim,
            GString *message)
{
    char bound_text[QUANTITY_BUFFER], request[QUANTITY_BUFFER];

    object_format_quantity(&range->meta, path, bound, bound_text);
    object_format_quantity(&claim->meta, CLAIM_REQUEST, claim->request_bytes, request);
    g_string_printf(message,
                    FORBIDDEN "%s storage usage per PersistentVolumeClaim is %s, but request is %s",
                    object_name(&claim->meta), which, bound_text, request);
    return API_FORBIDDEN;
}

static ApiCode
check_limit_range(const LimitRange *range, const Claim *claim, GString *message)
{
    if (claim->request_bytes < range->min_bytes)
        return refuse_size(range, "minimum", LIMIT_RANGE_MIN, range->min_bytes, claim, message);
    if (range->max_bytes != 0 && claim->request_bytes > range->max_bytes)
        return refuse_size(range, "maximum", LIMIT_RANGE_MAX, range->max_bytes, claim, message);
    return API_OK;
}

static ApiCode
check_limit_ranges(ApiStore *self, const Claim *claim, GString *message)
{
    Objects *objects = self->objects;
    unsigned n =
        self->counts[KIND_LIMIT_RANGE] == 0 ? 0 : objects_n_keys(objects, KIND_LIMIT_RANGE);

    for (unsigned i = 0; i < n; i++) {
        const ObjectKey *key = objects_key_at(objects, KIND_LIMIT_RANGE, i);
        const Object *range = api_store_get(self, key);
        ApiCode code = range != NULL && key->namespace == claim->meta.key->namespace
                           ? check_limit_range(LIMIT_RANGE_CONST(range), claim, message)
                           : API_OK;
        if (code != API_OK)
            return code;
    }
    return API_OK;
}

/* ---- ResourceQuota ---- */

static gboolean
covers(const ApiStore *self, const ResourceQuota *quota, const Claim *claim)
{
    return resource_quota_covers(quota, claim, self->knows_class_scope);
}

/* Returns: (nullable): the next quota of the namespace, from *@slot on, that bounds @claim; NULL:
 * that may bound claims */
static const ResourceQuota *
next_quota(const ApiStore *self, const char *namespace, const Claim *claim, unsigned *slot)
{
    Objects *objects = self->objects;

    if (self->counts[KIND_RESOURCE_QUOTA] == 0)
        return NULL;
    while (*slot < objects_n_keys(objects, KIND_RESOURCE_QUOTA)) {
        const ObjectKey *key = objects_key_at(objects, KIND_RESOURCE_QUOTA, (*slot)++);
        const Object *quota = api_store_get(self, key);
        if (quota != NULL && key->namespace == namespace &&
            resource_quota_names_claims(RESOURCE_QUOTA_CONST(quota)) &&
            covers(self, RESOURCE_QUOTA_CONST(quota), claim))
            return RESOURCE_QUOTA_CONST(quota);
    }
    return NULL;
}

const ObjectKey *
quota_find(const ApiStore *self, const char *namespace)
{
    unsigned slot = 0;
    const ResourceQuota *quota = next_quota(self, namespace, NULL, &slot);

    return quota == NULL ? NULL : quota->meta.key;
}

/* How much a write adds to the use of a resource. A claim that uses less gives nothing back here
 * (API-153). */
static ResourceAmount
added_usage(const Claim *before, const Claim *after, const char *resource)
{
    ResourceAmount usage = claim_usage(after, resource);

    if (before != NULL)
        usage.value -= claim_usage(before, resource).value;
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

/* API-152: refuses if used is unknown where hard is known. */
static ApiCode
check_status_is_known(const ResourceQuota *quota, const Claim *claim, GString *message)
{
    g_autoptr(GString) names = g_string_new(NULL);
    gboolean known = TRUE;

    for (unsigned i = 0; i < quota->status_hard->n_items; i++) {
        const char *resource = quota->status_hard->items[i].name;
        if (!quota_resource_is_of_claims(resource))
            continue;
        g_string_append_printf(names, "%s%s", names->len == 0 ? "" : ",", resource);
        known &= used_of(quota, resource) != NULL;
    }
    if (known)
        return API_OK;
    g_string_printf(message, FORBIDDEN "status unknown for quota: %s, resources: %s",
                    object_name(&claim->meta), object_name(&quota->meta), names->str);
    return API_FORBIDDEN;
}

/* API-152: whether there is room for the addition; the message names only exceeded resources. */
static ApiCode
check_quota(const ResourceQuota *quota, const Claim *before, const Claim *after, GString *message)
{
    g_autoptr(GString) requested = g_string_new(NULL), used = g_string_new(NULL),
                       limited = g_string_new(NULL);
    ApiCode code = check_status_is_known(quota, after, message);

    for (unsigned i = 0; code == API_OK && i < quota->status_hard->n_items; i++) {
        const ResourceAmount *hard = &quota->status_hard->items[i];
        ResourceAmount added = added_usage(before, after, hard->name);
        if (added.value == 0 || used_of(quota, hard->name)->value <= hard->value - added.value)
            continue;
        append_amount(requested, hard->name, &added);
        append_amount(used, hard->name, used_of(quota, hard->name));
        append_amount(limited, hard->name, hard);
    }
    if (code != API_OK || requested->len == 0)
        return code;
    g_string_printf(message, FORBIDDEN "exceeded quota: %s, requested: %s, used: %s, limited: %s",
                    object_name(&after->meta), object_name(&quota->meta), requested->str, used->str,
                    limited->str);
    return API_FORBIDDEN;
}

/* Returns: (owned): the quota's status.used after the addition; NULL if nothing is added */
static ResourceAmounts *
charged(const ResourceQuota *quota, const Claim *before, const Claim *after)
{
    g_autofree ResourceAmount *items =
        g_memdup2(quota->used->items, quota->used->n_items * sizeof(ResourceAmount));
    gboolean changed = FALSE;

    for (unsigned i = 0; i < quota->used->n_items; i++) {
        ResourceAmount added = added_usage(before, after, items[i].name);
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
charge(ApiStore *self, const ResourceQuota *quota, const Claim *before, const Claim *after)
{
    ResourceAmounts *used = charged(quota, before, after);

    if (used == NULL)
        return;
    Object *object = object_edit(&quota->meta);
    resource_amounts_unref(RESOURCE_QUOTA(object)->used);
    RESOURCE_QUOTA(object)->used = used;
    api_store_write(self, object);
}

/* Returns: (nullable): @before, if the quota has counted it */
static const Claim *
counted_before(const ApiStore *self, const ResourceQuota *quota, const Claim *before)
{
    return before != NULL && covers(self, quota, before) ? before : NULL;
}

gboolean
quota_handles(ApiVerb verb)
{
    return verb == API_CREATE || verb == API_UPDATE || verb == API_PATCH;
}

ApiCode
quota_admit_claim(ApiStore *self, const Claim *before, const Claim *after, GString *message)
{
    const char *namespace = after->meta.key->namespace;
    const ResourceQuota *quota;
    ApiCode code = before != NULL && object_is_deleted(&before->meta)
                       ? API_OK
                       : check_limit_ranges(self, after, message);

    for (unsigned slot = 0;
         code == API_OK && (quota = next_quota(self, namespace, after, &slot)) != NULL;)
        code = check_quota(quota, counted_before(self, quota, before), after, message);
    for (unsigned slot = 0;
         code == API_OK && (quota = next_quota(self, namespace, after, &slot)) != NULL;)
        charge(self, quota, counted_before(self, quota, before), after);
    return code;
}
