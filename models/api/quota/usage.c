/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The use of a quota's resources by objects, and the match of its scopes: the evaluators in
 * Kubernetes' pkg/quota/v1/evaluator/core, and the one that only counts objects. The use of an
 * object is a function of the object and the resource's name, so a controller may add and subtract
 * objects one by one. Only pods depend on the time: once its grace is over by far, a deleted pod
 * uses nothing. */
#include "quota.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/api/pod-resources.h"

#define OF_CLASS ".storageclass.storage.k8s.io/"
#define CLAIMS "persistentvolumeclaims"
#define STORAGE "requests.storage"
#define COUNT "count/"
#define REQUESTS "requests."
#define LIMITS "limits."
#define HUGE_PAGES "hugepages-"

static ResourceAmount
usage_number(const char *resource, int64_t value)
{
    return (ResourceAmount){.name = resource, .value = value, .decimal = TRUE};
}

/* ---- Objects (API-157) ---- */

/* "deployments.apps", "pods" */
static gboolean
is_group_resource(const char *text, ObjectKind kind)
{
    const KindClass *class = kind_class(kind);
    size_t length = strlen(class->resource);
    const char *slash = strchr(class->api_version, '/');

    if (strncmp(text, class->resource, length) != 0)
        return FALSE;
    text += length;
    if (slash == NULL)
        return *text == '\0';
    return *text == '.' && strlen(text + 1) == (size_t)(slash - class->api_version) &&
           strncmp(text + 1, class->api_version, (size_t)(slash - class->api_version)) == 0;
}

static gboolean
counts_objects(const char *resource, ObjectKind kind)
{
    return kind != KIND_OTHER && kind_class(kind)->namespaced &&
           g_str_has_prefix(resource, COUNT) && is_group_resource(resource + strlen(COUNT), kind);
}

/* Older names of counted kinds that no model reads. */
static const char *const other_names[] = {"configmaps", "replicationcontrollers", NULL};

static gboolean
is_of_others(const char *resource)
{
    ObjectKind kind = 0;

    while (kind < KIND_OTHER && !counts_objects(resource, kind))
        kind++;
    return word_is_among(resource, other_names) ||
           (kind == KIND_OTHER && g_str_has_prefix(resource, COUNT));
}

static gboolean
counts_other(const char *resource, const ObjectResource *other)
{
    g_autofree char *name =
        g_strconcat(COUNT, other->resource, *other->group == '\0' ? "" : ".", other->group, NULL);

    return strcmp(resource, name) == 0 ||
           (*other->group == '\0' && word_is_among(resource, other_names) &&
            strcmp(resource, other->resource) == 0);
}

/* ---- Claims ---- */

/* "gold.storageclass.storage.k8s.io/requests.storage" is requests.storage of class gold. Returns:
 * (nullable): the part after the class; @length: of the class */
static const char *
split_class(const char *resource, size_t *length)
{
    const char *of_class = strstr(resource, OF_CLASS);

    if (of_class == NULL)
        return NULL;
    *length = (size_t)(of_class - resource);
    return of_class + strlen(OF_CLASS);
}

static gboolean
is_of_claims(const char *resource)
{
    size_t length;
    const char *of_class = split_class(resource, &length);
    const char *what = of_class != NULL ? of_class : resource;

    return strcmp(what, CLAIMS) == 0 || strcmp(what, STORAGE) == 0;
}

static gboolean
claim_is_of_class(const Claim *claim, const char *class, size_t length)
{
    const char *own = claim_class(claim);

    return length > 0 && strncmp(own, class, length) == 0 && own[length] == '\0';
}

static ResourceAmount
claim_usage(const Claim *claim, const char *resource)
{
    size_t length;
    const char *what = split_class(resource, &length);
    char buffer[QUANTITY_BUFFER];

    if (what != NULL && !claim_is_of_class(claim, resource, length))
        return usage_number(resource, 0);
    if (strcmp(what != NULL ? what : resource, STORAGE) != 0)
        return usage_number(resource, 1);
    object_format_quantity(&claim->meta, CLAIM_REQUEST, claim->request_bytes, buffer);
    return (ResourceAmount){.name = resource,
                            .value = MAX(claim->request_bytes, claim->allocated_bytes),
                            .decimal = !g_str_has_suffix(buffer, "i")};
}

/* ---- Pods ---- */

/* "requests.nvidia.com/gpu": IsNativeResource() says no. */
static gboolean
is_extended(const char *resource)
{
    return g_str_has_prefix(resource, REQUESTS) && strchr(resource, '/') != NULL &&
           strstr(resource, "kubernetes.io/") == NULL;
}

static gboolean
is_of_pods(const char *resource)
{
    static const char *const names[] = {"cpu", "memory", "ephemeral-storage", NULL};
    const char *what = resource;

    if (g_str_has_prefix(resource, REQUESTS))
        what += strlen(REQUESTS);
    else if (g_str_has_prefix(resource, LIMITS))
        return word_is_among(resource + strlen(LIMITS), names);
    return strcmp(resource, "pods") == 0 || word_is_among(what, names) ||
           g_str_has_prefix(what, HUGE_PAGES) || is_extended(resource);
}

/* QuotaV1Pod(): a pod that has ended, or whose grace is over by far, uses nothing. */
static gboolean
pod_is_charged(const Pod *pod, SimTime now)
{
    SimTime grace = MAX(pod->meta.deletion_grace_s, 0) * SIM_SECOND;

    return !pod_is_terminal(pod) &&
           (!object_is_deleted(&pod->meta) || now <= sim_time_add(pod->meta.deleted_at, grace));
}

static ResourceAmount
pod_usage(const Pod *pod, const char *resource, SimTime now)
{
    gboolean limit = g_str_has_prefix(resource, LIMITS);
    const char *what = limit                                  ? resource + strlen(LIMITS)
                       : g_str_has_prefix(resource, REQUESTS) ? resource + strlen(REQUESTS)
                                                              : resource;
    PodAmount amount;

    if (!pod_is_charged(pod, now))
        return usage_number(resource, 0);
    if (strcmp(resource, "pods") == 0)
        return usage_number(resource, 1);
    if (!pod_spec_amount(pod->spec, limit, what, &amount))
        return usage_number(resource, 0);
    return (ResourceAmount){.name = resource,
                            .value = strcmp(what, "cpu") == 0 ? amount.milli : amount.value,
                            .decimal = amount.decimal};
}

/* ---- Services ---- */

#define NODE_PORTS "services.nodeports"
#define LOAD_BALANCERS "services.loadbalancers"

/* Ports without a node port count, too, unless the service wants none. */
static int64_t
count_node_ports(const json_t *service, gboolean is_balancer)
{
    gboolean wants_none =
        is_balancer && json_is_false(json_path_get(service, "spec.allocateLoadBalancerNodePorts"));
    int64_t n = 0;
    json_t *port;
    gsize i;

    json_array_foreach((json_t *)json_path_get(service, "spec.ports"), i, port)
        n += !wants_none || json_integer_value(json_object_get(port, "nodePort")) != 0;
    return n;
}

static ResourceAmount
service_usage(const Object *service, const char *resource)
{
    const char *type =
        service->manifest == NULL ? NULL : json_path_string(service->manifest, "spec.type");
    gboolean is_balancer = g_strcmp0(type, "LoadBalancer") == 0;

    if (strcmp(resource, LOAD_BALANCERS) == 0)
        return usage_number(resource, is_balancer);
    if (strcmp(resource, NODE_PORTS) == 0)
        return usage_number(resource, is_balancer || g_strcmp0(type, "NodePort") == 0
                                          ? count_node_ports(service->manifest, is_balancer)
                                          : 0);
    return usage_number(resource, 1);
}

/* ---- All of them ---- */

gboolean
quota_resource_is_of(const char *resource, ObjectKind kind)
{
    if (counts_objects(resource, kind))
        return TRUE;
    switch ((unsigned)kind) {
    case KIND_CLAIM:
        return is_of_claims(resource);
    case KIND_POD:
        return is_of_pods(resource);
    case KIND_SERVICE:
        return strcmp(resource, "services") == 0 || strcmp(resource, NODE_PORTS) == 0 ||
               strcmp(resource, LOAD_BALANCERS) == 0;
    case KIND_SECRET:
    case KIND_RESOURCE_QUOTA:
        return strcmp(resource, kind_class(kind)->resource) == 0;
    case KIND_OTHER:
        return is_of_others(resource);
    default:
        return FALSE;
    }
}

ObjectKind
quota_resource_kind(const char *resource)
{
    ObjectKind kind = 0;

    while (kind < N_KINDS && !quota_resource_is_of(resource, kind))
        kind++;
    return kind;
}

ResourceAmount
quota_usage(const Objects *objects, const Object *object, const char *resource, SimTime now)
{
    ObjectKind kind = object_kind(object);

    if (kind == KIND_OTHER)
        return usage_number(
            resource, counts_other(resource, objects_resource_at(objects, object->key->resource)));
    if (!quota_resource_is_of(resource, kind))
        return usage_number(resource, 0);
    if (counts_objects(resource, kind))
        return usage_number(resource, 1);
    if (kind == KIND_CLAIM)
        return claim_usage(CLAIM_CONST(object), resource);
    if (kind == KIND_POD)
        return pod_usage(POD_CONST(object), resource, now);
    return kind == KIND_SERVICE ? service_usage(object, resource) : usage_number(resource, 1);
}

ResourceAmount *
quota_usages_new(const ResourceAmounts *hard)
{
    ResourceAmount *used = g_new0(ResourceAmount, hard->n_items);

    for (unsigned i = 0; i < hard->n_items; i++)
        used[i] = usage_number(hard->items[i].name, 0);
    return used;
}

void
quota_usages_add(ResourceAmount *used,
                 const ResourceAmounts *hard,
                 const Objects *objects,
                 const Object *object,
                 SimTime now,
                 int sign)
{
    for (unsigned i = 0; object != NULL && i < hard->n_items; i++) {
        ResourceAmount usage = quota_usage(objects, object, hard->items[i].name, now);
        if (used[i].value == 0) /* zero takes the format of the addition */
            used[i].decimal = usage.decimal;
        used[i].value += sign * usage.value;
    }
}

ResourceAmounts *
resource_quota_used(const ResourceQuota *self, const ResourceAmount *counted)
{
    unsigned n = 0;

    if (self->hard == NULL)
        return NULL;
    g_autofree ResourceAmount *items = g_new(ResourceAmount, self->hard->n_items);
    for (unsigned i = 0; i < self->hard->n_items; i++) {
        const char *resource = self->hard->items[i].name;
        const ResourceAmount *there = resource_amounts_find(self->used, resource);
        if (quota_resource_kind(resource) != N_KINDS)
            items[n++] = counted[i];
        else if (there != NULL)
            items[n++] = *there;
    }
    return resource_amounts_new(items, n);
}

gboolean
resource_amounts_name_kind(const ResourceAmounts *self, ObjectKind kind)
{
    for (unsigned i = 0; self != NULL && i < self->n_items; i++)
        if (quota_resource_is_of(self->items[i].name, kind))
            return TRUE;
    return FALSE;
}

/* ---- Scopes ---- */

gboolean
quota_knows_class_scope(const Release *release)
{
    return release->minor >= 33 && release_has_gate(release, "VolumeAttributesClass");
}

/* Of @names (without NULL), @n_listed are among the scope's values. */
static gboolean
scope_holds(const SelectRequirement *scope, unsigned n, unsigned n_listed)
{
    switch (scope->operator) {
    case SELECT_IN:
        return n_listed > 0;
    case SELECT_NOT_IN:
        return n == 0 || n_listed < n;
    case SELECT_EXISTS:
        return n > 0;
    case SELECT_DOES_NOT_EXIST:
        return n == 0;
    case SELECT_GT:
    case SELECT_LT:
        break;
    }
    g_assert_not_reached();
}

static gboolean
names_are_in_scope(const SelectRequirement *scope, const char *const *names, unsigned n_names)
{
    unsigned n = 0, n_listed = 0;

    for (unsigned i = 0; i < n_names; i++) {
        if (names[i] == NULL || *names[i] == '\0')
            continue;
        n++;
        n_listed += scope->values != NULL && string_list_has(scope->values, names[i]);
    }
    return scope_holds(scope, n, n_listed);
}

/* API-156: the class that it wants, the one it has, and the one under way all count. */
static gboolean
claim_is_in_class_scope(const Claim *claim, const SelectRequirement *scope)
{
    const char *const names[] = {claim->attributes_class, claim->current_attributes_class,
                                 claim->modify_target};

    return names_are_in_scope(scope, names, G_N_ELEMENTS(names));
}

static gboolean
is_cross_namespace(const json_t *term)
{
    const json_t *weighted = json_object_get(term, "podAffinityTerm");

    term = weighted != NULL ? weighted : term;
    return json_array_size(json_object_get(term, "namespaces")) > 0 ||
           json_object_get(term, "namespaceSelector") != NULL;
}

static gboolean
uses_cross_namespace_affinity(const PodSpec *spec)
{
    static const char *const kinds[] = {"affinity.podAffinity", "affinity.podAntiAffinity"};
    const char *key;
    json_t *terms, *term;
    gsize i;

    for (gsize k = 0; spec->manifest != NULL && k < G_N_ELEMENTS(kinds); k++)
        json_object_foreach((json_t *)json_path_get(spec->manifest, kinds[k]), key, terms)
            json_array_foreach(terms, i, term)
                if (is_cross_namespace(term))
                    return TRUE;
    return FALSE;
}

static gboolean
has_deadline(const PodSpec *spec)
{
    return json_is_integer(json_object_get(spec->manifest, "activeDeadlineSeconds"));
}

static gboolean
is_best_effort(const PodSpec *spec)
{
    return spec->manifest == NULL ? spec->cpu_milli == 0 && spec->memory_bytes == 0
                                  : strcmp(pod_json_quality(spec->manifest), "BestEffort") == 0;
}

static const struct {
    const char *scope;
    gboolean (*holds)(const PodSpec *spec); /* NULL: PriorityClass */
    gboolean wanted;
} pod_scopes[] = {
    {"Terminating",               has_deadline,                  TRUE },
    {"NotTerminating",            has_deadline,                  FALSE},
    {"BestEffort",                is_best_effort,                TRUE },
    {"NotBestEffort",             is_best_effort,                FALSE},
    {"CrossNamespacePodAffinity", uses_cross_namespace_affinity, TRUE },
    {"PriorityClass",             NULL,                          TRUE },
};

/* @pod: NULL: whether some pod may be */
static gboolean
pod_is_in_scope(const Pod *pod, const SelectRequirement *scope)
{
    for (gsize i = 0; i < G_N_ELEMENTS(pod_scopes); i++) {
        if (strcmp(pod_scopes[i].scope, scope->key) != 0)
            continue;
        if (pod == NULL)
            return TRUE;
        return pod_scopes[i].holds != NULL
                   ? pod_scopes[i].holds(pod->spec) == pod_scopes[i].wanted
                   : names_are_in_scope(scope, &pod->spec->priority_class, 1);
    }
    return FALSE;
}

static gboolean
scopes_cover(const LabelSelector *scopes,
             ObjectKind kind,
             const Object *object,
             gboolean knows_class_scope)
{
    for (unsigned i = 0; scopes != NULL && i < scopes->n_requirements; i++) {
        const SelectRequirement *scope = &scopes->requirements[i];
        gboolean holds =
            kind == KIND_POD
                ? pod_is_in_scope(POD_CONST(object), scope)
                : kind == KIND_CLAIM && knows_class_scope &&
                      strcmp(scope->key, "VolumeAttributesClass") == 0 &&
                      (object == NULL || claim_is_in_class_scope(CLAIM_CONST(object), scope));
        if (!holds)
            return FALSE;
    }
    return TRUE;
}

gboolean
resource_quota_covers(const ResourceQuota *self,
                      ObjectKind kind,
                      const Object *object,
                      gboolean knows_class_scope)
{
    return scopes_cover(self->scopes, kind, object, knows_class_scope) &&
           scopes_cover(self->scope_selector, kind, object, knows_class_scope);
}
