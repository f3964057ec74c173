/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "apiserver.h"
#include "models/api/claim.h"

/* Within the API server: the rules of writes (admission.c) and the ways out to watches (watch.c). */

SimTime api_server_now(const ApiServer *self);
gboolean api_server_keeps_requests(const ApiServer *self); /* API-132 */
gboolean api_server_chooses_defaults(const ApiServer *self); /* API-121 */

/**
 * admission_create:
 * @object: the new object, complete but for admission's additions
 * Sets what the server sets and admission adds. Returns: API_OK, or the refusal with words in @message
 */
ApiCode admission_create(ApiServer *self, Object *object, GString *message);
/* Whether @after may replace @before (API-130..138). */
ApiCode admission_update(ApiServer *self, const Object *before, Object *after, GString *message);
/* Whether what never changes in @after is as in @before (API-134..136). Returns: API_OK, or API_INVALID with words in @message */
ApiCode validation_update(const Object *before, const Object *after, GString *message);

/**
 * quota_admit_claim:
 * @before: NULL: @after is created; else it is to replace @before by a write that is not of the status
 * What LimitRanges and ResourceQuotas of the namespace say (API-150..155). If they all agree, the quotas' status is charged at
 * once (API-153). Returns: API_OK, or API_FORBIDDEN with words in @message
 */
ApiCode
quota_admit_claim(ApiServer *self, const Claim *before, const Claim *after, GString *message);
/* Returns: (borrowed): a quota of the namespace that bounds claims; NULL: none */
const ObjectKey *quota_find(const ApiServer *self, const char *namespace);

/* Stores a change that the server makes by itself, at once. Takes @after. */
void api_server_store(ApiServer *self, Object *after);

typedef struct WatchHub WatchHub;
WatchHub *watch_hub_new(Sim *sim, const Timing *timing);
void watch_hub_free(WatchHub *self);
/* Sends a version to all watches that it concerns; @responds_at: when the writer has its answer; @n: the draw's count */
void watch_hub_send(
    WatchHub *self, WatchType type, const Object *object, SimTime responds_at, uint32_t n);
ApiWatch *watch_hub_watch(WatchHub *self,
                          ObjectKind kind,
                          const char *filter,
                          uint64_t entity,
                          ApiWatchEvent event,
                          void *data);
