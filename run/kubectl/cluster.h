/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kinds.h"
#include "kubectl.h"

/* What the commands ask a cluster; private to this folder. */

/* Returns: (borrowed): json_t, in the API server's order */
GPtrArray *cluster_objects(const KubectlCluster *self, const KubectlKind *kind);
/* @namespace: of kinds without one it is not looked at. Returns: (borrowed): NULL: not there */
json_t *cluster_find(const KubectlCluster *self,
                     const KubectlKind *kind,
                     const char *namespace,
                     const char *name);
/* The namespace that a request is about; NULL: all. */
const char *request_namespace(const KubectlRequest *self);
/* Returns: (static): the kind of that name; NULL with an error told */
const KubectlKind *request_kind(const KubectlRequest *self, const char *word);
/* Whether the request's namespace and selectors let @object through. @fault: (out) (owned): what is
 * wrong with the selector; else left alone */
gboolean
request_selects(const KubectlRequest *self, const KubectlKind *kind, json_t *object, char **fault);
/* Objects of a kind that the request's namespace and selectors let through. Returns: (owned):
 * json_t; NULL with an error told */
GPtrArray *request_objects(const KubectlRequest *self, const KubectlKind *kind);

/* What a command is asked for: a kind and names; no names: all objects. */
typedef struct {
    const KubectlKind *kind;
    GPtrArray *names; /* const char *, of the arguments' words; NULL: all */
} KubectlTarget;

/* Reads "pvc,pv", "pvc data spare", "pvc/data pod/web-0", "all". @several: whether kinds are told
 * with names. Returns: (owned): GPtrArray of KubectlTarget; NULL with an error told */
GPtrArray *request_targets(const KubectlRequest *self, char **args, gboolean *several);
/* @in_namespace: name the namespace */
void tell_nothing_found(const KubectlRequest *self, gboolean in_namespace);
void tell_not_found(const KubectlRequest *self, const KubectlKind *kind, const char *name);

/* "app=web,tier!=front,a in (b,c),!d". Returns: FALSE with @fault (owned) if it is none */
gboolean
label_selector_text_matches(const char *selector, json_t *labels, gboolean *matches, char **fault);
/* "status.phase=Running,metadata.name!=a" */
gboolean field_selector_text_matches(const char *selector, json_t *object);

/* When an event happened: as `kubectl events` sorts by. */
int events_run(const KubectlRequest *self);
/* "2m (x3 over 5m)" */
void append_event_interval(GString *out, json_t *event, ValueTime now);
