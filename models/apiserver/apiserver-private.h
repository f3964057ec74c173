/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "apiserver.h"
#include "models/api/claim.h"

/* Within the API server: the rules of writes (admission.c) and the ways out to watches (watch.c).
 */

SimTime api_server_now(const ApiServer *self);
gboolean api_server_keeps_requests(const ApiServer *self);   /* API-132 */
gboolean api_server_chooses_defaults(const ApiServer *self); /* API-121 */

/**
 * admission_create:
 * @object: the new object, complete but for admission's additions
 * Sets what the server sets and admission adds. Returns: API_OK, or the refusal with words in
 * @message
 */
ApiCode admission_create(ApiServer *self, Object *object, GString *message);
/* The spec of the latest pod that was created, and what admission made of it. */
typedef struct {
    PodSpec *given, *result; /* (owned): NULL: none yet */
} AdmittedSpec;
AdmittedSpec *api_server_admitted_spec(ApiServer *self);
void admitted_spec_clear(AdmittedSpec *self);
/* Whether @after may replace @before (API-130..138). */
ApiCode admission_update(ApiServer *self, const Object *before, Object *after, GString *message);
/* Whether what never changes in @after is as in @before (API-134..136). Returns: API_OK, or
 * API_INVALID with words in @message */
ApiCode validation_update(const Object *before, const Object *after, GString *message);

/**
 * quota_admit_claim:
 * @before: NULL: @after is created; else it is to replace @before by a write that is not of the
 * status What LimitRanges and ResourceQuotas of the namespace say (API-150..155). If they all
 * agree, the quotas' status is charged at once (API-153). Returns: API_OK, or API_FORBIDDEN with
 * words in @message
 */
ApiCode
quota_admit_claim(ApiServer *self, const Claim *before, const Claim *after, GString *message);
/* Returns: (borrowed): a quota of the namespace that bounds claims; NULL: none */
const ObjectKey *quota_find(const ApiServer *self, const char *namespace);

/* Stores a change that the server makes by itself, at once. Takes @after. */
void api_server_store(ApiServer *self, Object *after);

typedef struct WatchHub WatchHub;

/* ---- trouble.c ---- */

typedef struct ApiTrouble ApiTrouble;
typedef struct ApiCall ApiCall;

/* Of a server in trouble. Returns: whether it has taken care of the call that has just arrived,
 * which may have grown slower */
gboolean trouble_meets_arrival(ApiTrouble *self, ApiCall *call);
/* As a call is about to be committed. Returns: whether it is lost before that */
gboolean trouble_loses(const ApiTrouble *self, ApiCall *call);
gboolean trouble_is_down(const ApiTrouble *self);
/* As a call is answered: it may get another answer, and others its seat. */
void trouble_meets_response(ApiTrouble *self, ApiCall *call);
double trouble_slowness(const ApiTrouble *self);
void trouble_free(ApiTrouble *self);

/* A request under way. */
struct ApiCall {
    ApiServer *server; /* may be gone at the end of a run: not for freeing */
    SimMemory *memory;
    ApiRequest request;
    ApiReply reply;
    GDestroyNotify drop;
    void *data;
    SimTime arrived_at, responds_at;
    const Object *object; /* of the response */
    char *message;        /* (owned): of the response; NULL: none */
    ApiCode code;
    uint32_t n;        /* the request's number among those about its key: the n of its draws */
    gboolean has_seat; /* ApiTrouble's */
};

Sim *api_server_sim(const ApiServer *self);
ApiTrouble *api_server_trouble(const ApiServer *self);
void api_server_set_trouble(ApiServer *self, ApiTrouble *trouble /* taken */);
WatchHub *api_server_watches(const ApiServer *self);
void api_call_free(void *call);
/* It takes its course; it has waited until now for leave to. */
void api_call_go_on(ApiCall *call);
/* It is answered after @delay, with no effect. */
void api_call_refuse(ApiCall *call, ApiCode code, const char *message, SimTime delay);
/* A draw of how long a LIST of @entity takes. */
SimTime api_server_draw_list(const ApiServer *self, uint64_t entity, uint32_t n);

/* @api: (borrowed): for how long a list takes, and the newest resource version */
WatchHub *watch_hub_new(const ApiServer *api, Sim *sim, const Timing *timing);
void watch_hub_free(WatchHub *self);
/* Sends a version to all watches that it concerns; @responds_at: when the writer has its answer;
 * @n: the draw's count */
void watch_hub_send(
    WatchHub *self, WatchType type, const Object *object, SimTime responds_at, uint32_t n);
ApiWatch *watch_hub_watch(WatchHub *self,
                          ObjectKind kind,
                          const char *filter,
                          uint64_t entity,
                          ApiWatchEvent event,
                          void *data);
void watch_hub_break(WatchHub *self, uint64_t entity);
void watch_hub_repair(WatchHub *self, uint64_t entity, WatchRepair how);

/* eviction.c: whether the budgets let a pod go (WL-113); counts it in its budget. API_OK: it shall
 * be deleted; else @message tells */
ApiCode eviction_admit(ApiServer *self, const Pod *pod, GString *message);
/* The condition DisruptionTarget. Returns: whether it is new */
gboolean eviction_tell(const ApiServer *self, Pod *pod);
