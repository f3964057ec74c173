/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "schema.h"

/* The resources of Kubernetes 1.32, of the snapshot controller and of local drivers, as discovery
 * tells them: one row per resource; subresources are a column of it. */

/* What CustomResourceDefinitions serve, in the order in which discovery tells it. */
#define CUSTOM_VERBS "delete deletecollection get list patch create update watch"

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

/* Returns: the @n-th resource of the table, in the order of a real cluster's documents; %NULL:
 * there are no more */
const ApiResource *api_resource(unsigned n);
/* Returns: the resource of the path /apis/@group/@version/.../@resource; %NULL: none */
const ApiResource *api_resource_find(const char *group, const char *version, const char *resource);
