/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "serve/api/api-private.h"

/* What nobody stores, made of the run when a client asks: usage of pods and nodes (metrics.k8s.io
 * and what a kubelet's own server tells), tokens of ServiceAccounts, Endpoints, and documents of
 * the server itself. */

/* ---- usage.c: what pods use, drawn from their names and requests ---- */

typedef struct {
    int64_t cpu_n;  /* 1e-9 processors */
    int64_t memory; /* bytes */
} Usage;

/* Whether its containers run. */
gboolean usage_pod_runs(const json_t *pod);
/* @container: of a pod that runs */
Usage usage_of_container(const json_t *pod, const json_t *container);
Usage usage_of_pod(const json_t *pod);
/* What a machine's own processes use. */
Usage usage_of_system(const json_t *node);
/* Calls @see for each pod that runs on @node; NULL: on any. */
void usage_each_pod(ServeApi *api,
                    const char *node,
                    void (*see)(void *data, const json_t *pod),
                    void *data);

/* ---- metrics.c: metrics.k8s.io/v1beta1 ---- */

/* Whether the objects of @target are made when they are read. */
gboolean made_has(const Target *target);
/* As store_get() and store_list(). */
json_t *made_get(const Target *target);
/* Returns: (owned): metrics-server's refusal of an object that is not there */
json_t *made_not_found(const Target *target);
void
made_list(const Target *target, const char *namespace, const char *after, StoreSee see, void *data);

/* ---- kubelet.c: /api/v1/nodes/NAME/proxy/... ---- */

/* @parts: of the path, behind the first "/". Returns: FALSE: it is no such path */
gboolean kubelet_answer(ServeApi *self, Exchange *exchange, char **parts);

/* ---- tokens.c ---- */

/* POST of serviceaccounts/NAME/token. */
void token_create(const Target *target);
/* Returns: (owned): the status of a TokenReview with @token */
json_t *token_review(ServeApi *api, const char *token);
/* Returns: (owned): /.well-known/openid-configuration; no key verifies the tokens */
json_t *token_configuration(void);

/* ---- paths.c ---- */

/* Appends a scrape of one process of the control plane: as its own /metrics, without the label that
 * tells processes apart. */
void paths_append_metrics(const ServeApi *self, const char *job, GString *text);
/* "/", "/metrics", keys of tokens. Returns: FALSE: another path */
gboolean paths_answer(ServeApi *self, Exchange *exchange);

/* ---- ages.c ---- */

/* Whether the client prints ages that it counts from its own clock. */
gboolean ages_are_the_clients(const Target *target);
/* Moves the times that become ages. @object: a private copy that shares its members */
void ages_shift(const Target *target, json_t *object);

/* ---- classes.c ---- */

/* The PriorityClasses of the system are there from now on. */
void classes_make(ServeApi *self);
/* Returns: (owned): a refusal to delete such an object; %NULL: it may be deleted */
json_t *classes_deletion_fault(const Target *target);

/* ---- endpoints.c ---- */

typedef struct EndpointsKeeper EndpointsKeeper;

/* Endpoints and EndpointSlices are up to date from now on: made at the first call, kept as long as
 * somebody may see them change. */
void endpoints_refresh(ServeApi *self);
void endpoints_keeper_free(EndpointsKeeper *self);
