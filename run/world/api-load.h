/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "record.h"
#include "run/files/columns.h"
#include "run/files/result-file.h"

/* Requests to the API server by client, second by second: the price of a higher limit. Answered
 * requests and writes of Events count in the second of their arrival. Watches do not count;
 * heartbeats without news are not modelled. */

/* The words for a request in metrics, tables and audit logs. */
typedef struct {
    const char *verb, *method; /* "LIST" and HTTP's "GET" */
    const char *subresource;   /* "status"; "" for none */
    const char *audit;         /* "update" */
    const char *text;          /* "PUT status" */
} ApiVerbWords;
extern const ApiVerbWords api_verb_words[N_API_VERBS];

typedef struct {
    const char *client;   /* "external-attacher"; for Events of an own client: their source */
    const char *verb;     /* "PATCH" */
    const char *audit;    /* "patch" */
    const char *resource; /* "volumeattachments/status" */
    uint64_t total, failed;
    SimLog *counts; /* of uint32_t, by second since the first request of the row */
    int64_t first;  /* the second of that request */
} ApiLoadRow;

typedef struct ApiLoad ApiLoad;

/* Counts requests and Events from now on. Returns: (owned): to be freed after the cluster */
ApiLoad *api_load_new(Records *records, Sim *sim);
void api_load_free(ApiLoad *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ApiLoad, api_load_free)

/* (borrowed): of ApiLoadRow pointers, in the order of their first request */
const GPtrArray *api_load_rows(const ApiLoad *self);
/* The maximum of requests in one second, of all clients; @total: (out): all requests */
unsigned api_load_peak(const ApiLoad *self, uint64_t *total);
void api_load_append_table(const ApiLoad *self, GString *text);
extern const ResultTable requests_table;
void api_load_append_csv(const ApiLoad *self, ResultFile *file);
