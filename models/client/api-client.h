/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "process.h"
#include "sim/token-bucket.h"

/* A client of the API server with its own token bucket (CGO-40): requests wait for their token in
 * the order in which they were made. */
typedef struct ApiClient ApiClient;

/* CGO-43: these stand for 0. */
#define API_CLIENT_DEFAULT_QPS 5
#define API_CLIENT_DEFAULT_BURST 10
#define API_CLIENT_UNLIMITED (-1.0)

/* @name: interned, as in the user agent. @qps: requests per second; below 0: no limit.
 * Returns: (owned) */
ApiClient *api_client_new(Process *process, const char *name, double qps, unsigned burst);
void api_client_free(ApiClient *self); /* replies on their way are dropped */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ApiClient, api_client_free)
const char *api_client_name(const ApiClient *self);

/* Takes a token, waits for it, sends. client and client_hash of @request are filled in here. The
 * reply comes unless the client is freed first; what @request borrows must live until the reply or
 * until @drop is called instead. */
void api_client_request(
    ApiClient *self, const ApiRequest *request, ApiReply reply, GDestroyNotify drop, void *data);
/* Carries @request out at this instant, without latency or tokens: the state that a cluster starts
 * with. client of @request is filled in here.
 * @response: (out): as api_server_commit() */
void api_client_commit(ApiClient *self, const ApiRequest *request, ApiResponse *response);
/* TIM-10: draws the component's own time before a request about @key. Counts on the key. */
SimTime api_client_think(ApiClient *self, ObjectKey *key);

/* The same after the latest answer about @key, if no request follows. Pure. */
SimTime api_client_own_time(const ApiClient *self, const ObjectKey *key);

/* The time that the latest answer about @key takes to the component: half of the own time. Pure. */
SimTime api_client_answer(const ApiClient *self, const ObjectKey *key);

/* For the event recorder, which sends by itself: the time that an Event takes to the server, half
 * of the own time; api_server_write_event() counts. */
SimTime api_client_think_event(const ApiClient *self, const ObjectKey *key);
/* Whether the process cannot reach the server now. */
gboolean api_client_is_cut_off(const ApiClient *self);
gboolean api_client_is_throttled(const ApiClient *self);
/* Returns: when the next token would be granted: now, or later. Takes none */
SimTime api_client_next_token(const ApiClient *self);
/* Takes a token. Returns: when it is granted */
SimTime api_client_reserve(ApiClient *self);
uint64_t api_client_hash(const ApiClient *self);
Sim *api_client_sim(const ApiClient *self);
ApiServer *api_client_api(const ApiClient *self);

/* The token bucket of a client. */
typedef struct {
    double qps, burst; /* qps 0: no limit */
    double tokens;     /* left now; below 0: so many requests wait for theirs */
} ApiClientBucket;
ApiClientBucket api_client_bucket(const ApiClient *self);
