/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "trouble.h"
#include "verbs.h"

/* The parts of the API server. apiserver.c puts them together; requests (request.c) and Events
 * (events.c) take their way through them. No other file needs this. */
struct ApiServer {
    ApiLatency latency;
    ApiStore store;
    Admission admission;
    ApiVerbs verbs;
    ApiTrouble *trouble;          /* (owned): NULL: none so far */
    const ApiRequest *committing; /* NULL: none */
    uint64_t n_requests[N_API_VERBS];
    ApiFault fault;
    void *fault_data;
    GArray *request_observers; /* of ApiRequestObserver with its data */
    SimLog *events;            /* of ApiEvent */
    GArray *event_observers;   /* of ApiEventObserver with its data */
};

/* request.c */
extern const ApiCallClass api_call_class;
void api_server_init_requests(ApiServer *self);
void api_server_clear_requests(ApiServer *self);

/* events.c */
void api_server_init_events(ApiServer *self);
void api_server_clear_events(ApiServer *self);
