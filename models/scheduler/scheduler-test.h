/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/scheduler/binding.h"
#include "models/scheduler/filter.h"
#include "models/scheduler/plugins/plugins.h"
#include "models/scheduler/queue.h"
#include "models/scheduler/scheduler-private.h"

/* What only tests may call from outside of its file. */

const Object *assume_cache_api(const AssumeCache *self, const ObjectKey *key);
/* VB-73. Returns: %NULL: assumed; (owned): why not, in Kubernetes' words */
char *assume_cache_assume(AssumeCache *self, const Object *object);
void assume_cache_restore(AssumeCache *self, const ObjectKey *key); /* VB-74 */
/* SCH-54: how many nodes are enough. */
unsigned feasible_nodes_to_find(unsigned n_nodes, int32_t percentage);
int64_t
capacity_score(const ClassUse *uses, unsigned n, const ShapePoint *shape, unsigned n_points);
/* An attempt at a pod that is out of the queue. @queued is taken. */
Attempt *attempt_new(const Pod *pod, QueuedPod *queued);
void attempt_free(void *attempt);
/* The binding cycle, of an attempt with a node and choices (assumed). */
void scheduler_decide_bind_volumes(const void *self, Plan *plan);
/* SCH-33: how long a pod waits after this many attempts. */
SimTime scheduling_queue_backoff(const SchedulingQueue *self, uint32_t attempts);
