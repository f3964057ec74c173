/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* The resources of Kubernetes 1.18 to 1.36, of the snapshot controller and of local drivers, as
 * discovery tells them: one row per resource and version, made of kubernetes.types; subresources
 * are a column of it. */

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
    const char *subresources; /* the same: "scale status resize:33", from release 1.33 on; NULL:
                                 none */
    const json_t *custom; /* of a custom resource: its version in the definition; NULL: built in */
    const struct SchemaType *type; /* NULL: any fields */
    guint8 since, until;     /* the first and last minor release that serves it; 0: no limit */
    gboolean is_off;         /* served only where somebody has turned it on */
    const char *stored_in;   /* the group that has its objects; NULL: its own */
    const char *api_version; /* of a built-in kind: "apps/v1" */
} ApiResource;

/* Returns: the @n-th resource of the table, in the order of a real cluster's documents; %NULL:
 * there are no more */
const ApiResource *api_resource(unsigned n);
/* Returns: the resource of the path /apis/@group/@version/.../@resource; %NULL: none */
const ApiResource *api_resource_find(const char *group, const char *version, const char *resource);
/* Whether that minor release has it, turned on or not. 0: some release has */
gboolean api_resource_is_in(const ApiResource *self, int minor);
/* Returns: (owned): the subresources that it has in that minor release; 0: in any */
char **api_resource_subresources(const ApiResource *self, int minor);
/* Returns: the resource of a kind in the first of its versions; %NULL: none */
const ApiResource *api_resource_of_kind(const char *group, const char *kind);
