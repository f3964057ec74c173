/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/apiserver/apiserver.h"

/* An API server without latency, and the writes that its tests make. */
typedef struct {
    Sim *sim;
    Objects *objects;
    Timing timing;
    ApiServer *api;
} ApiServerWorld;

const char *world_intern(const ApiServerWorld *world, const char *text);
int world_setup(void **state);
int world_teardown(void **state);
/* An empty API server, of new objects, in place of the present one. @options: without those of the
 * world */
void world_renew(ApiServerWorld *world, ApiServerOptions options);
ObjectKey *world_claim_key(const ApiServerWorld *world);
ObjectKey *world_pod_key(const ApiServerWorld *world);
ApiResponse world_commit(ApiServerWorld *world, const ApiRequest *request);
ApiResponse world_create(ApiServerWorld *world, Object *object);
ApiResponse world_delete(ApiServerWorld *world, ObjectKey *key, int32_t grace_s);
gboolean world_annotate(Object *object, const void *value);
gboolean world_finalize(Object *object, const void *finalizer);
gboolean world_unfinalize(Object *object, const void *finalizer);
ApiResponse world_patch(ApiServerWorld *world, ObjectKey *key, ObjectEdit edit, const void *arg);
ApiResponse world_put(
    ApiServerWorld *world, const Object *base, ObjectEdit edit, const void *arg, ApiVerb verb);
Object *world_new_claim(const ApiServerWorld *world);
Object *world_new_pod(const ApiServerWorld *world, const char *node);
