/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "apiserver.h"

/* Within the API server: the rules of writes (admission.c) and the ways out to watches (watch.c). */

Objects *api_server_objects(const ApiServer *self);
SimTime api_server_now(const ApiServer *self);
gboolean api_server_keeps_requests(const ApiServer *self); /* API-132 */

/**
 * admission_create:
 * @object: the new object, complete but for admission's additions
 * Sets what the server sets and admission adds. Returns: API_OK, or the refusal with words in @message
 */
ApiCode admission_create(ApiServer *self, Object *object, GString *message);
/* Whether @after may replace @before (API-130..138). */
ApiCode admission_update(ApiServer *self, const Object *before, Object *after, GString *message);

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
