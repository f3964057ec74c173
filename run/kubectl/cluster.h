/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kinds.h"
#include "kubectl.h"

/* Queries of a cluster and of a request; private to this folder. */

/* Returns: (borrowed): json_t, in the API server's order */
GPtrArray *cluster_objects(const KubectlCluster *self, const KubectlKind *kind);
/* @namespace: ignored for kinds without namespaces. Returns: (borrowed): NULL if there is no such
 * object */
json_t *cluster_find(const KubectlCluster *self,
                     const KubectlKind *kind,
                     const char *namespace,
                     const char *name);
/* Returns: the request's namespace; NULL: all */
const char *request_namespace(const KubectlRequest *self);
/* Returns: (static): the kind of that name; NULL with an error told */
const KubectlKind *request_kind(const KubectlRequest *self, const char *word);
/* Whether the request's namespace and selectors let @object through. @fault: (out) (owned): what is
 * wrong with the selector; else left alone */
gboolean
request_selects(const KubectlRequest *self, const KubectlKind *kind, json_t *object, char **fault);
/* Returns: (owned): the objects (json_t) of a kind that the request's namespace and selectors let
 * through; NULL with an error told */
GPtrArray *request_objects(const KubectlRequest *self, const KubectlKind *kind);

/* A kind and names that a command is asked for. */
typedef struct {
    const KubectlKind *kind;
    GPtrArray *names; /* const char * into the arguments; NULL: all objects */
} KubectlTarget;

/* Reads "pvc,pv", "pvc data spare", "pvc/data pod/web-0", "all". @several: (out): the table shows
 * several kinds, so names begin with their kind. Returns: (owned): of KubectlTarget; NULL with an
 * error told */
GPtrArray *request_targets(const KubectlRequest *self, char **args, gboolean *several);
/* @in_namespace: the message names the namespace */
void tell_nothing_found(const KubectlRequest *self, gboolean in_namespace);
void tell_not_found(const KubectlRequest *self, const KubectlKind *kind, const char *name);

/* @selector: "app=web,tier!=front,a in (b,c),!d". Returns: FALSE with @fault (owned) if it is no
 * selector, in Kubernetes' words */
gboolean
label_selector_text_matches(const char *selector, json_t *labels, gboolean *matches, char **fault);
/* @selector: "status.phase=Running,metadata.name!=a" */
gboolean field_selector_text_matches(const char *selector, json_t *object);

/* Whether -o names a known format, or is not given; if not, the error is told. */
gboolean check_output(const KubectlRequest *self);
/* Prints @items in the format of -o, which is no table. @is_list: print a List even of a single
 * item. Returns: the exit code of kubectl */
int print_objects(const KubectlRequest *self, json_t *items, gboolean is_list);
/* Appends the age of an Event: "2m (x3 over 5m)". */
void append_event_interval(GString *out, json_t *event, ValueTime now);
