/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Defaults that the API server sets in bodies: constant ones from the schema, and defaults that
 * depend on other fields from a table of functions by type. Values that are there are never
 * changed. A function runs before the members of its type have their defaults, or after them if it
 * reads these. Types of custom resources have their own defaults elsewhere. */
#include "defaults.h"

#include <string.h>

#include "models/api/fields.h"
#include "models/apiserver/limit-ranges.h"

static gboolean
is_type(const SchemaType *type, const char *end)
{
    return type->name != NULL && g_str_has_suffix(type->name, end);
}

static void
set_missing(json_t *object, const char *field, json_t *value /* taken */)
{
    const json_t *old = json_object_get(object, field);

    if (old == NULL || json_is_null(old))
        json_object_set_new(object, field, value);
    else
        json_decref(value);
}

/* ---- What depends on other fields ---- */

/* Always for no tag and "latest". */
static void
default_pull_policy(json_t *container)
{
    const char *image = json_path_string(container, "image");
    const char *slash = image == NULL ? NULL : strrchr(image, '/');
    const char *rest = slash != NULL ? slash + 1 : image;
    const char *colon = rest == NULL ? NULL : strchr(rest, ':');
    gboolean is_fixed = rest != NULL && (strchr(rest, '@') != NULL ||
                                         (colon != NULL && strcmp(colon, ":latest") != 0));

    set_missing(container, "imagePullPolicy", json_string(is_fixed ? "IfNotPresent" : "Always"));
}

static void
default_volume(json_t *volume)
{
    if (json_object_size(volume) == 1 && json_object_get(volume, "name") != NULL)
        json_object_set_new(volume, "emptyDir", json_object());
}

/* Only of pods themselves: a container's requests are at least its limits. */
static void
default_requests(json_t *container)
{
    const json_t *limits = json_path_get(container, "resources.limits");
    json_t *resources = json_object_get(container, "resources"), *requests, *value;
    const char *name;

    if (json_object_size(limits) == 0)
        return;
    set_missing(resources, "requests", json_object());
    requests = json_object_get(resources, "requests");
    json_object_foreach((json_t *)limits, name, value)
        set_missing(requests, name, json_incref(value));
}

static void
default_pod(json_t *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    json_t *spec = json_object_get(pod, "spec"), *container;
    gsize k;

    if (!json_is_object(spec))
        return;
    set_missing(spec, "enableServiceLinks", json_true());
    for (gsize i = 0; i < G_N_ELEMENTS(lists); i++)
        json_array_foreach(json_object_get(spec, lists[i]), k, container)
            default_requests(container);
}

static void
default_service_port(json_t *port)
{
    const json_t *number = json_object_get(port, "port");

    if (number != NULL)
        set_missing(port, "targetPort", json_incref((json_t *)number));
}

static void
default_service(json_t *spec)
{
    const char *type = json_path_string(spec, "type");

    if (g_strcmp0(type, "ExternalName") != 0)
        set_missing(spec, "internalTrafficPolicy", json_string("Cluster"));
    if (g_strcmp0(type, "NodePort") == 0 || g_strcmp0(type, "LoadBalancer") == 0)
        set_missing(spec, "externalTrafficPolicy", json_string("Cluster"));
    if (g_strcmp0(type, "LoadBalancer") == 0)
        set_missing(spec, "allocateLoadBalancerNodePorts", json_true());
}

static void
default_rolling_update(json_t *strategy)
{
    if (g_strcmp0(json_path_string(strategy, "type"), "RollingUpdate") == 0)
        set_missing(strategy, "rollingUpdate", json_object());
}

static void
default_job(json_t *job)
{
    json_t *spec = json_object_get(job, "spec");

    if (!json_is_object(spec))
        return;
    if (json_path_get(spec, "completions") == NULL && json_path_get(spec, "parallelism") == NULL)
        set_missing(spec, "completions", json_integer(1));
    set_missing(spec, "parallelism", json_integer(1));
    set_missing(spec, "backoffLimit",
                json_integer(json_path_get(spec, "backoffLimitPerIndex") != NULL ? G_MAXINT32 : 6));
    set_missing(spec, "completionMode", json_string("NonIndexed"));
    set_missing(spec, "suspend", json_false());
    set_missing(spec, "podReplacementPolicy",
                json_string(json_path_get(spec, "podFailurePolicy") != NULL
                                ? "Failed"
                                : "TerminatingOrFailed"));
}

/* Users and groups are of the group of roles; accounts of none. */
static void
default_subject(json_t *subject)
{
    if (g_strcmp0(json_path_string(subject, "kind"), "ServiceAccount") != 0)
        set_missing(subject, "apiGroup", json_string("rbac.authorization.k8s.io"));
}

static void
default_network_policy(json_t *spec)
{
    json_t *types = json_pack("[s]", "Ingress");

    if (json_array_size(json_object_get(spec, "egress")) > 0)
        json_array_append_new(types, json_string("Egress"));
    set_missing(spec, "policyTypes", types);
}

static void
default_claim_templates(json_t *spec)
{
    json_t *template;
    gsize i;

    json_array_foreach(json_object_get(spec, "volumeClaimTemplates"), i, template) {
        set_missing(template, "apiVersion", json_string("v1"));
        set_missing(template, "kind", json_string("PersistentVolumeClaim"));
    }
}

static const struct {
    const char *type;
    void (*set)(json_t *object);
    gboolean is_last; /* after its members have theirs */
} functions[] = {
    {"core.v1.Container",                 default_pull_policy,     FALSE},
    {"core.v1.EphemeralContainer",        default_pull_policy,     FALSE},
    {"core.v1.Volume",                    default_volume,          FALSE},
    {"core.v1.Pod",                       default_pod,             TRUE },
    {"core.v1.ServicePort",               default_service_port,    FALSE},
    {"core.v1.ServiceSpec",               default_service,         FALSE},
    {"core.v1.LimitRangeItem",            limit_range_complete,    FALSE},
    {"apps.v1.DeploymentStrategy",        default_rolling_update,  FALSE},
    {"apps.v1.StatefulSetUpdateStrategy", default_rolling_update,  FALSE},
    {"apps.v1.DaemonSetUpdateStrategy",   default_rolling_update,  FALSE},
    {"apps.v1.StatefulSetSpec",           default_claim_templates, FALSE},
    {"batch.v1.Job",                      default_job,             FALSE},
    {"rbac.v1.Subject",                   default_subject,         FALSE},
    {"networking.v1.NetworkPolicySpec",   default_network_policy,  FALSE},
};

static void
call_functions(json_t *object, const SchemaType *type, gboolean is_last)
{
    for (gsize i = 0; i < G_N_ELEMENTS(functions); i++)
        if (functions[i].is_last == is_last && is_type(type, functions[i].type))
            functions[i].set(object);
}

static void
set_fields(json_t *object, const SchemaType *type)
{
    for (const SchemaField *field = type->fields; field->name != NULL; field++)
        if (field->set != NULL && json_object_get(object, field->name) == NULL)
            json_object_set_new(object, field->name, json_loads(field->set, JSON_DECODE_ANY, NULL));
}

void
defaults_set(json_t *object, const SchemaType *type)
{
    json_t *member;
    void *next;
    const char *name;
    gsize i;

    if (type == NULL || type->custom)
        return;
    if (type->shape == SCHEMA_LIST) {
        json_array_foreach(object, i, member)
            defaults_set(member, type->element);
        return;
    }
    if (type->shape != SCHEMA_STRUCT || !json_is_object(object))
        return;
    set_fields(object, type);
    call_functions(object, type, FALSE);
    json_object_foreach_safe(object, next, name, member)
        defaults_set(member, schema_member(type, name));
    call_functions(object, type, TRUE);
}
