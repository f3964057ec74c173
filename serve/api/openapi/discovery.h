/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/schema.h"

/* The resources of Kubernetes 1.32, of the snapshot controller and of local drivers, as discovery
 * tells them: one row per resource; subresources are a column of it. */

typedef struct {
    const char *group;    /* "": the legacy group */
    const char *version;  /* "v1" */
    const char *resource; /* "pods" */
    const char *kind;     /* "Pod"; in lower case it is the singular name */
    gboolean namespaced;
    const char *short_names;  /* with blanks between; NULL: none */
    const char *categories;   /* the same: "all" */
    const char *verbs;        /* the same, in the order in which they are told; never NULL */
    const char *subresources; /* the same: "scale status"; NULL: none */
    const json_t *custom; /* of a custom resource: its version in the definition; NULL: built in */
    const SchemaType *type; /* of a custom resource; NULL: any fields */
} ApiResource;

typedef struct CustomResources CustomResources;

/* Returns: the @n-th resource of the table, in the order of a real cluster's documents; %NULL:
 * there are no more */
const ApiResource *api_resource(unsigned n);
/* Returns: the resource of the path /apis/@group/@version/.../@resource; %NULL: none */
const ApiResource *api_resource_find(const char *group, const char *version, const char *resource);

/* What a server serves. */
typedef struct {
    gboolean (*serves)(const ApiResource *resource, const void *data); /* NULL: the whole table */
    const void *data;
    const CustomResources *custom; /* NULL: none */
} ServedApis;

/* Each returns (owned) a document. @legacy: of the legacy group (/api), else of all others. */
json_t *discovery_aggregated(const ServedApis *served, gboolean legacy); /* /api, /apis: v2 */
json_t *discovery_api_versions(const char *server_address);              /* /api: APIVersions */
json_t *discovery_groups(const ServedApis *served);                      /* /apis: APIGroupList */
/* /apis/@group: APIGroup; %NULL: there is no such group */
json_t *discovery_group(const ServedApis *served, const char *group);
/* /api/v1, /apis/@group/@version: APIResourceList; %NULL: there is no such version */
json_t *discovery_resources(const ServedApis *served, const char *group, const char *version);
