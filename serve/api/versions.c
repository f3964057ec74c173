/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Other versions of kinds than the stored one: Events, autoscalers, Ingresses, priority levels and
 * CustomResourceDefinitions, both ways over JSON. A member that the other version lacks is kept in
 * an annotation (metrics of autoscalers), so a round trip loses nothing. Members that both have are
 * left alone. */
#include "versions.h"
#include "models/api/fields.h"

#include <string.h>

/* Which way: from the stored version, or to it. */
typedef enum { FROM_STORED, TO_STORED } Way;

/* Members with other names: of the stored version, of the other one. */
typedef struct {
    const char *stored, *other;
} Rename;

static void
rename_member(json_t *object, const char *from, const char *to)
{
    json_t *value = json_object_get(object, from);

    if (value == NULL)
        return;
    json_object_set(object, to, value);
    json_object_del(object, from);
}

static void
rename_members(json_t *object, const Rename *names, gsize n, Way way)
{
    for (gsize i = 0; i < n; i++)
        rename_member(object, way == TO_STORED ? names[i].other : names[i].stored,
                      way == TO_STORED ? names[i].stored : names[i].other);
}

/* Returns: (borrowed): the member, which nobody shares from now on; NULL: it is no object */
static json_t *
own_member(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    if (!json_is_object(value))
        return NULL;
    json_object_set_new(object, name, json_deep_copy(value));
    return json_object_get(object, name);
}

static void
convert_event(json_t *event, Way way)
{
    static const Rename names[] = {
        {"involvedObject",     "regarding"               },
        {"message",            "note"                    },
        {"source",             "deprecatedSource"        },
        {"firstTimestamp",     "deprecatedFirstTimestamp"},
        {"lastTimestamp",      "deprecatedLastTimestamp" },
        {"count",              "deprecatedCount"         },
        {"reportingComponent", "reportingController"     },
    };

    rename_members(event, names, G_N_ELEMENTS(names), way);
}

static void
convert_priority_level(json_t *level, Way way)
{
    static const Rename names[] = {
        {"nominalConcurrencyShares", "assuredConcurrencyShares"}
    };

    rename_members(json_object_get(own_member(level, "spec"), "limited"), names,
                   G_N_ELEMENTS(names), way);
}

/* ---- Ingress: v1 against v1beta1 ---- */

/* {service: {name, port: {number or name}}} against {serviceName, servicePort} */
static void
convert_backend(json_t *backend, Way way)
{
    json_t *service = json_object_get(backend, "service"),
           *name = json_object_get(backend, "serviceName"),
           *port = json_object_get(backend, "servicePort");

    if (way == TO_STORED && name != NULL) {
        json_object_set_new(backend, "service",
                            json_pack("{s:O, s:{s:O*}}", "name", name, "port",
                                      json_is_integer(port) ? "number" : "name", port));
        json_object_del(backend, "serviceName");
        json_object_del(backend, "servicePort");
    } else if (way == FROM_STORED && service != NULL) {
        const json_t *given = json_object_get(service, "port");
        json_t *number = json_object_get(given, "number");

        json_object_set(backend, "serviceName", json_object_get(service, "name"));
        if (number == NULL)
            number = json_object_get(given, "name");
        if (number != NULL)
            json_object_set(backend, "servicePort", number);
        json_object_del(backend, "service");
    }
}

static void
convert_ingress(json_t *ingress, Way way)
{
    static const Rename names[] = {
        {"defaultBackend", "backend"}
    };
    json_t *spec = own_member(ingress, "spec"), *rule, *path;
    gsize i, j;

    rename_members(spec, names, G_N_ELEMENTS(names), way);
    convert_backend(json_object_get(spec, way == TO_STORED ? "defaultBackend" : "backend"), way);
    json_array_foreach(json_object_get(spec, "rules"), i, rule) {
        json_array_foreach(json_object_get(json_object_get(rule, "http"), "paths"), j, path) {
            convert_backend(json_object_get(path, "backend"), way);
            if (way == TO_STORED && json_object_get(path, "pathType") == NULL)
                json_object_set_new(path, "pathType", json_string("ImplementationSpecific"));
        }
    }
}

/* ---- HorizontalPodAutoscaler: autoscaling/v2 against v1 ---- */

/* The share of a processor that v1 has a member for. Returns: its place; -1: none */
static int
find_cpu(const json_t *metrics, const char *member)
{
    for (gsize i = 0; i < json_array_size(metrics); i++) {
        const json_t *resource = json_object_get(json_array_get(metrics, i), "resource");
        const char *name = json_path_string(resource, "name");
        if (g_strcmp0(name, "cpu") == 0 &&
            json_object_get(json_object_get(resource, member), "averageUtilization") != NULL)
            return (int)i;
    }
    return -1;
}

/* @list: "metrics", @member: "target", @share: "targetCPUUtilizationPercentage". v1 has no other
 * metrics: they are kept in an annotation, as in Kubernetes (there in words of v1, here in words of
 * v2). */
static void
convert_metrics(json_t *part,
                json_t *annotations,
                const char *list,
                const char *member,
                const char *share,
                Way way)
{
    g_autofree char *key =
        g_strdup_printf("autoscaling.alpha.kubernetes.io/%s",
                        strcmp(list, "metrics") == 0 ? "metrics" : "current-metrics");
    json_t *metrics = json_object_get(part, list), *percentage = json_object_get(part, share);

    if (way == FROM_STORED && metrics != NULL) {
        int cpu = find_cpu(metrics, member);
        if (cpu >= 0) {
            const json_t *resource =
                json_object_get(json_array_get(metrics, (gsize)cpu), "resource");
            json_object_set(
                part, share,
                json_object_get(json_object_get(resource, member), "averageUtilization"));
            json_array_remove(metrics, (gsize)cpu);
        }
        if (json_array_size(metrics) > 0) {
            char *text = json_dumps(metrics, JSON_COMPACT);
            json_object_set_new(annotations, key, json_string(text));
            free(text);
        }
        json_object_del(part, list);
    } else if (way == TO_STORED && metrics == NULL) {
        const char *text = json_string_value(json_object_get(annotations, key));
        json_t *others = text == NULL ? NULL : json_loads(text, 0, NULL);

        metrics = json_is_array(others) ? json_incref(others) : json_array();
        json_decref(others);
        if (percentage != NULL)
            json_array_insert_new(metrics, 0,
                                  json_pack("{s:s, s:{s:s, s:{s:s, s:O}}}", "type", "Resource",
                                            "resource", "name", "cpu", member, "type",
                                            "Utilization", "averageUtilization", percentage));
        if (json_array_size(metrics) > 0)
            json_object_set(part, list, metrics);
        json_decref(metrics);
        json_object_del(part, share);
        json_object_del(annotations, key);
    }
}

static void
convert_autoscaler(json_t *autoscaler, Way way)
{
    json_t *metadata = own_member(autoscaler, "metadata"), *spec = own_member(autoscaler, "spec"),
           *status = own_member(autoscaler, "status");
    json_t *annotations = json_object_get(metadata, "annotations");

    annotations = json_is_object(annotations) ? json_incref(annotations) : json_object();
    convert_metrics(spec, annotations, "metrics", "target", "targetCPUUtilizationPercentage", way);
    convert_metrics(status, annotations, "currentMetrics", "current",
                    "currentCPUUtilizationPercentage", way);
    if (json_object_size(annotations) > 0)
        json_object_set(metadata, "annotations", annotations);
    else
        json_object_del(metadata, "annotations");
    json_decref(annotations);
}

/* ---- CustomResourceDefinition: v1 against v1beta1 ---- */

static void
convert_columns(json_t *columns, Way way)
{
    static const Rename names[] = {
        {"jsonPath", "JSONPath"}
    };
    json_t *column;
    gsize i;

    json_array_foreach(columns, i, column) {
        rename_members(column, names, G_N_ELEMENTS(names), way);
    }
}

/* Members common to all versions may stand beside their list in v1beta1. */
static const Rename common[] = {
    {"schema",                   "validation"              },
    {"subresources",             "subresources"            },
    {"additionalPrinterColumns", "additionalPrinterColumns"},
};

static gboolean
all_have(const json_t *versions, const char *name, json_t *value)
{
    for (gsize i = 0; i < json_array_size(versions); i++)
        if (!json_equal(json_object_get(json_array_get(versions, i), name), value))
            return FALSE;
    return value != NULL;
}

static void
gather_common(json_t *spec, json_t *versions)
{
    json_t *version;
    gsize i;

    for (gsize k = 0; k < G_N_ELEMENTS(common); k++) {
        json_t *value = json_object_get(json_array_get(versions, 0), common[k].stored);
        if (!all_have(versions, common[k].stored, value))
            continue;
        json_object_set(spec, common[k].other, value);
        json_array_foreach(versions, i, version)
            json_object_del(version, common[k].stored);
    }
}

static void
spread_common(json_t *spec, json_t *versions)
{
    json_t *version;
    gsize i;

    for (gsize k = 0; k < G_N_ELEMENTS(common); k++) {
        json_t *value = json_object_get(spec, common[k].other);
        json_array_foreach(versions, i, version) {
            if (value != NULL && json_object_get(version, common[k].stored) == NULL)
                json_object_set_new(version, common[k].stored, json_deep_copy(value));
        }
        json_object_del(spec, common[k].other);
    }
}

static void
convert_definition(json_t *definition, Way way)
{
    json_t *spec = own_member(definition, "spec"), *name = json_object_get(spec, "version"),
           *version, *versions;
    gsize i;

    if (way == TO_STORED && json_array_size(json_object_get(spec, "versions")) == 0 && name != NULL)
        json_object_set_new(
            spec, "versions",
            json_pack("[{s:O, s:b, s:b}]", "name", name, "served", 1, "storage", 1));
    versions = json_object_get(spec, "versions");
    if (way == TO_STORED) {
        spread_common(spec, versions);
        json_object_del(spec, "version");
    }
    json_array_foreach(versions, i, version)
        convert_columns(json_object_get(version, "additionalPrinterColumns"), way);
    if (way == TO_STORED || versions == NULL)
        return;
    gather_common(spec, versions);
    json_object_set(spec, "version", json_object_get(json_array_get(versions, 0), "name"));
}

/* ---- All ---- */

static const struct {
    const char *version, *kind; /* of the other version */
    const char *stored;         /* the apiVersion of the stored one */
    void (*convert)(json_t *object, Way way);
} rows[] = {
    {"events.k8s.io/v1",                     "Event",                      "v1",                      convert_event         },
    {"events.k8s.io/v1beta1",                "Event",                      "v1",                      convert_event         },
    {"autoscaling/v1",                       "HorizontalPodAutoscaler",    "autoscaling/v2",          convert_autoscaler    },
    {"networking.k8s.io/v1beta1",            "Ingress",                    "networking.k8s.io/v1",    convert_ingress       },
    {"extensions/v1beta1",                   "Ingress",                    "networking.k8s.io/v1",    convert_ingress       },
    {"apiextensions.k8s.io/v1beta1",         "CustomResourceDefinition",   "apiextensions.k8s.io/v1",
     convert_definition                                                                                                     },
    {"flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration",
     "flowcontrol.apiserver.k8s.io/v1",                                                               convert_priority_level},
    {"flowcontrol.apiserver.k8s.io/v1beta2", "PriorityLevelConfiguration",
     "flowcontrol.apiserver.k8s.io/v1",                                                               convert_priority_level},
};

/* Returns: its place; -1: none */
static int
versions_find_row(const ApiResource *row)
{
    for (gsize i = 0; row->api_version != NULL && i < G_N_ELEMENTS(rows); i++)
        if (strcmp(rows[i].kind, row->kind) == 0 && strcmp(rows[i].version, row->api_version) == 0)
            return (int)i;
    return -1;
}

gboolean
versions_differ(const ApiResource *row)
{
    return versions_find_row(row) >= 0;
}

void
versions_from_stored(const ApiResource *row, json_t *object)
{
    int i = versions_find_row(row);

    if (i >= 0)
        rows[i].convert(object, FROM_STORED);
}

void
versions_to_stored(const ApiResource *row, json_t *object)
{
    int i = versions_find_row(row);

    if (i < 0)
        return;
    rows[i].convert(object, TO_STORED);
    json_object_set_new(object, "apiVersion", json_string(rows[i].stored));
}
