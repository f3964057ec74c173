/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plugin LimitRanger: the sizes of claims, the requests and limits of containers and pods
 * (API-154, API-155, API-193, API-194). Bounds of pods are read from the manifests: few clusters
 * have any, and then a pod's spec is read once for all pods of its template. */
#include "limit-ranges.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/pod-resources.h"

#define ANNOTATION_LIMIT_RANGER "kubernetes.io/limit-ranger"

/* Returns: (nullable): the next LimitRange of the namespace, from *@slot on */
static const LimitRange *
next_range(const ApiStore *self, const char *namespace, unsigned *slot)
{
    Objects *objects = self->objects;

    if (self->counts[KIND_LIMIT_RANGE] == 0)
        return NULL;
    while (*slot < objects_n_keys(objects, KIND_LIMIT_RANGE)) {
        const ObjectKey *key = objects_key_at(objects, KIND_LIMIT_RANGE, (*slot)++);
        const Object *range = api_store_get(self, key);
        if (range != NULL && key->namespace == namespace)
            return LIMIT_RANGE_CONST(range);
    }
    return NULL;
}

/* Returns: (nullable) (borrowed): the bounds of this type */
static json_t *
item_of_type(const LimitRange *range, const char *type)
{
    return json_list_find(json_path_get(range->meta.manifest, "spec.limits"), "type", type);
}

/* ---- Claims (API-154) ---- */

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
                    "persistentvolumeclaims \"%s\" is forbidden: %s storage usage per "
                    "PersistentVolumeClaim is %s, but request is %s",
                    object_name(&claim->meta), which, bound_text, request);
    return API_FORBIDDEN;
}

static ApiCode
apiserver_limit_ranges_check_claim(const LimitRange *range, const Claim *claim, GString *message)
{
    if (claim->request_bytes < range->min_bytes)
        return refuse_size(range, "minimum", LIMIT_RANGE_MIN, range->min_bytes, claim, message);
    if (range->max_bytes != 0 && claim->request_bytes > range->max_bytes)
        return refuse_size(range, "maximum", LIMIT_RANGE_MAX, range->max_bytes, claim, message);
    return API_OK;
}

ApiCode
limit_ranges_check_claim(const ApiStore *self, const Claim *claim, GString *message)
{
    const LimitRange *range;
    ApiCode code = API_OK;

    for (unsigned slot = 0;
         code == API_OK && (range = next_range(self, claim->meta.key->namespace, &slot)) != NULL;)
        code = apiserver_limit_ranges_check_claim(range, claim, message);
    return code;
}

/* ---- Defaults of containers (API-193) ---- */

/* Returns: (owned) */
static json_t *
canonical(json_t *quantity)
{
    char buffer[QUANTITY_BUFFER];

    return json_is_string(quantity) && quantity_canonical(json_string_value(quantity), buffer, NULL)
               ? json_string(buffer)
               : json_incref(quantity);
}

static json_t *
member_object(json_t *object, const char *name)
{
    if (!json_is_object(json_object_get(object, name)))
        json_object_set_new(object, name, json_object());
    return json_object_get(object, name);
}

/* SetDefaults_LimitRangeItem(): the limit is at most max, and the request is the limit, or at least
 * min. */
void
limit_range_complete(json_t *item)
{
    if (g_strcmp0(json_path_string(item, "type"), "Container") != 0)
        return;
    json_t *limits = member_object(item, "default");
    json_t *requests = member_object(item, "defaultRequest");
    json_object_update_missing(limits, json_object_get(item, "max"));
    json_object_update_missing(requests, limits);
    json_object_update_missing(requests, json_object_get(item, "min"));
    if (json_object_size(limits) == 0)
        json_object_del(item, "default");
    if (json_object_size(requests) == 0)
        json_object_del(item, "defaultRequest");
}

/* Adds what is missing, and tells it: "cpu, memory request for container c". */
static void
merge_list(json_t *list, const json_t *defaults, const char *what, GString *told)
{
    g_autoptr(GPtrArray) added = g_ptr_array_new();
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)defaults, key, value)
        if (json_object_get(list, key) == NULL) {
            json_object_set_new(list, key, canonical(value));
            g_ptr_array_add(added, (char *)key);
        }
    g_ptr_array_sort(added, strings_compare);
    for (unsigned i = 0; i < added->len; i++)
        g_string_append_printf(told, "%s%s",
                               i > 0            ? ", "
                               : told->len == 0 ? ""
                                                : "; ",
                               (const char *)added->pdata[i]);
    if (added->len > 0)
        g_string_append(told, what);
}

static void
merge_container(json_t *container,
                const json_t *requests,
                const json_t *limits,
                const char *kind,
                GString *told)
{
    const char *name = json_path_string(container, "name");
    g_autofree char *request = g_strdup_printf(" request for %s %s", kind, name);
    g_autofree char *limit = g_strdup_printf(" limit for %s %s", kind, name);
    json_t *resources = member_object(container, "resources");

    json_object_update_missing(member_object(resources, "requests"),
                               json_object_get(resources, "limits"));
    merge_list(json_object_get(resources, "requests"), requests, request, told);
    merge_list(member_object(resources, "limits"), limits, limit, told);
}

/* @spec: gets the defaults of one LimitRange. Returns: (owned): what was set; empty: nothing */
static GString *
merge_range(const LimitRange *range, json_t *spec)
{
    json_auto_t *item = json_deep_copy(item_of_type(range, "Container"));
    GString *told = g_string_new(NULL);
    json_t *container;
    gsize i;

    if (item == NULL)
        return told;
    limit_range_complete(item);
    const json_t *requests = json_object_get(item, "defaultRequest");
    const json_t *limits = json_object_get(item, "default");
    if (requests == NULL)
        return told;
    json_array_foreach(json_object_get(spec, "containers"), i, container)
        merge_container(container, requests, limits, "container", told);
    json_array_foreach(json_object_get(spec, "initContainers"), i, container)
        merge_container(container, requests, limits, "init container", told);
    return told;
}

/* A number of the LimitRanges as they are; 0: there are none. */
static uint64_t
ranges_version(const ApiStore *self, const char *namespace)
{
    const LimitRange *range;
    uint64_t version = 0;

    for (unsigned slot = 0; (range = next_range(self, namespace, &slot)) != NULL;)
        version = sim_hash_combine(version + 1, range->meta.resource_version);
    return version;
}

void
limited_spec_clear(LimitedSpec *self)
{
    g_clear_pointer(&self->given, pod_spec_unref);
    g_clear_pointer(&self->limited, pod_spec_unref);
}

static void
limit_spec(const ApiStore *self, LimitedSpec *cache, const PodSpec *spec, const char *namespace)
{
    json_t *manifest = json_deep_copy(spec->manifest);
    const LimitRange *range;

    limited_spec_clear(cache);
    cache->given = pod_spec_ref(spec);
    cache->told = NULL;
    for (unsigned slot = 0; (range = next_range(self, namespace, &slot)) != NULL;) {
        g_autoptr(GString) told = merge_range(range, manifest);
        if (told->len > 0)
            cache->told = strings_internf(objects_strings(self->objects),
                                          "LimitRanger plugin set: %s", told->str);
    }
    if (cache->told != NULL)
        cache->limited = pod_spec_with_resources(spec, manifest);
    else
        json_decref(manifest);
}

void
limit_ranges_set(const ApiStore *self, LimitedSpec *cache, Pod *pod)
{
    const char *namespace = pod->meta.key->namespace;
    uint64_t version = ranges_version(self, namespace);
    json_t *spec = json_object_get(pod->meta.manifest, "spec");

    if (version == 0 || pod->spec->manifest == NULL)
        return;
    if (cache->given != pod->spec || cache->version != version)
        limit_spec(self, cache, pod->spec, namespace);
    cache->version = version;
    if (cache->limited == NULL)
        return;
    if (json_object_get(spec, "containers") != NULL) { /* the pod prints its own */
        json_t *manifest = json_copy(pod->meta.manifest);
        json_object_set_new(manifest, "spec", json_copy(spec));
        json_object_update_existing(json_object_get(manifest, "spec"), cache->limited->manifest);
        json_decref(pod->meta.manifest);
        pod->meta.manifest = manifest;
    }
    pod_set_spec(pod, cache->limited, pod->volumes);
    object_set_annotation(&pod->meta,
                          strings_intern(objects_strings(self->objects), ANNOTATION_LIMIT_RANGER),
                          cache->told);
}

/* ---- Bounds of containers and pods (API-194) ---- */

/* The bounded thing: a container, or a pod. */
typedef struct {
    const char *type;
    const json_t *container; /* NULL: the pod */
    const PodSpec *spec;
} Bounded;

/* A bound, and what is asked for. */
typedef struct {
    const char *resource, *type;
    PodAmount enforced, request, limit;
    gboolean has_request, has_limit;
    char enforced_text[QUANTITY_BUFFER], request_text[QUANTITY_BUFFER], limit_text[QUANTITY_BUFFER];
} Bound;

static void
amount_format(const PodAmount *amount, char *buffer)
{
    if (amount->milli % 1000 != 0)
        quantity_format_milli(amount->milli, buffer);
    else if (amount->decimal)
        quantity_format_decimal(amount->value, buffer);
    else
        quantity_format(amount->value, buffer);
}

static gboolean
amount_less(const PodAmount *a, const PodAmount *b)
{
    return MAX(a->milli, b->milli) == INT64_MAX ? a->value < b->value : a->milli < b->milli;
}

static gboolean
bounded_amount(const Bounded *self, gboolean limit, const char *resource, PodAmount *amount)
{
    return self->container != NULL ? container_amount(self->container, limit, resource, amount)
                                   : pod_spec_amount(self->spec, limit, resource, amount);
}

static gboolean
bound_init(Bound *self, const Bounded *bounded, const char *resource, const json_t *enforced)
{
    *self = (Bound){.resource = resource, .type = bounded->type};
    if (!pod_amount_read(enforced, &self->enforced))
        return FALSE;
    self->has_request = bounded_amount(bounded, FALSE, resource, &self->request);
    self->has_limit = bounded_amount(bounded, TRUE, resource, &self->limit);
    amount_format(&self->enforced, self->enforced_text);
    amount_format(&self->request, self->request_text);
    amount_format(&self->limit, self->limit_text);
    return TRUE;
}

static void G_GNUC_PRINTF(2, 3) add_error(GPtrArray *errors, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *error = g_strdup_vprintf(format, args);
    va_end(args);
    if (g_ptr_array_find_with_equal_func(errors, error, g_str_equal, NULL))
        g_free(error);
    else
        g_ptr_array_add(errors, error);
}

static void
check_min(const Bound *self, GPtrArray *errors)
{
    const char *but = amount_less(&self->request, &self->enforced)                    ? "request"
                      : self->has_limit && amount_less(&self->limit, &self->enforced) ? "limit"
                                                                                      : NULL;

    if (!self->has_request)
        add_error(errors, "minimum %s usage per %s is %s.  No request is specified", self->resource,
                  self->type, self->enforced_text);
    else if (but != NULL)
        add_error(errors, "minimum %s usage per %s is %s, but %s is %s", self->resource, self->type,
                  self->enforced_text, but, *but == 'r' ? self->request_text : self->limit_text);
}

static void
check_max(const Bound *self, GPtrArray *errors)
{
    const char *but = amount_less(&self->enforced, &self->limit) ? "limit"
                      : self->has_request && amount_less(&self->enforced, &self->request)
                          ? "request"
                          : NULL;

    if (!self->has_limit)
        add_error(errors, "maximum %s usage per %s is %s.  No limit is specified", self->resource,
                  self->type, self->enforced_text);
    else if (but != NULL)
        add_error(errors, "maximum %s usage per %s is %s, but %s is %s", self->resource, self->type,
                  self->enforced_text, but, *but == 'r' ? self->request_text : self->limit_text);
}

static void
check_ratio(const Bound *self, GPtrArray *errors)
{
    const char *missing = !self->has_request || self->request.milli == 0 ? "request"
                          : !self->has_limit || self->limit.milli == 0   ? "limit"
                                                                         : NULL;

    if (missing != NULL) {
        add_error(errors,
                  "%s max limit to request ratio per %s is %s, but no %s is specified or %s is 0",
                  self->resource, self->type, self->enforced_text, missing, missing);
        return;
    }
    double ratio = (double)self->limit.milli / (double)self->request.milli;
    if (ratio * 1000 > (double)self->enforced.milli)
        add_error(errors, "%s max limit to request ratio per %s is %s, but provided ratio is %f",
                  self->resource, self->type, self->enforced_text, ratio);
}

static void
check_bounds(const json_t *item, const Bounded *bounded, GPtrArray *errors)
{
    static const struct {
        const char *list;
        void (*check)(const Bound *bound, GPtrArray *errors);
    } checks[] = {
        {"min",                  check_min  },
        {"max",                  check_max  },
        {"maxLimitRequestRatio", check_ratio}
    };

    for (gsize i = 0; i < G_N_ELEMENTS(checks); i++) {
        json_t *list = json_object_get(item, checks[i].list), *enforced;
        g_autoptr(GPtrArray) names = g_ptr_array_new();
        const char *name;
        Bound bound;
        json_object_foreach(list, name, enforced)
            g_ptr_array_add(names, (char *)name);
        g_ptr_array_sort(names, strings_compare);
        for (unsigned k = 0; k < names->len; k++)
            if (bound_init(&bound, bounded, names->pdata[k],
                           json_object_get(list, names->pdata[k])))
                checks[i].check(&bound, errors);
    }
}

static void
apiserver_limit_ranges_check_pod(const LimitRange *range, const PodSpec *spec, GPtrArray *errors)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const json_t *item = item_of_type(range, "Container");
    json_t *container;
    gsize i;

    for (gsize list = 0; list < G_N_ELEMENTS(lists); list++)
        json_array_foreach(json_object_get(spec->manifest, lists[list]), i, container)
            check_bounds(item, &(Bounded){"Container", container, spec}, errors);
    check_bounds(item_of_type(range, "Pod"), &(Bounded){"Pod", NULL, spec}, errors);
}

ApiCode
limit_ranges_check_pod(const ApiStore *self, const Pod *pod, GString *message)
{
    const LimitRange *range;

    for (unsigned slot = 0; pod->spec->manifest != NULL &&
                            (range = next_range(self, pod->meta.key->namespace, &slot)) != NULL;) {
        g_autoptr(GPtrArray) errors = g_ptr_array_new_with_free_func(g_free);
        apiserver_limit_ranges_check_pod(range, pod->spec, errors);
        if (errors->len == 0)
            continue;
        g_string_printf(message, "pods \"%s\" is forbidden: %s", object_name(&pod->meta),
                        errors->len > 1 ? "[" : "");
        for (unsigned i = 0; i < errors->len; i++)
            g_string_append_printf(message, "%s%s", i == 0 ? "" : ", ",
                                   (const char *)errors->pdata[i]);
        g_string_append(message, errors->len > 1 ? "]" : "");
        return API_FORBIDDEN;
    }
    return API_OK;
}
