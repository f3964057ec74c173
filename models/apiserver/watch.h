/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "latency.h"

/* The watches of all clients, by kind and filter. */
typedef struct WatchHub WatchHub;

/* @latency: (borrowed): for how long a list takes */
WatchHub *watch_hub_new(Sim *sim, const ApiLatency *latency);
void watch_hub_free(WatchHub *self);
/* Sends a version to all watches of it; @responds_at: when the writer has its answer; @n: the
 * draw's count */
void watch_hub_send(
    WatchHub *self, WatchType type, const Object *object, SimTime responds_at, uint32_t n);
/* See api_server_watch(). */
ApiWatch *watch_hub_watch(WatchHub *self,
                          ObjectKind kind,
                          const char *filter,
                          uint64_t entity,
                          ApiWatchEvent event,
                          void *data);
/* See api_server_break_watches() and api_server_repair_watches(). */
void watch_hub_break(WatchHub *self, uint64_t entity);
void watch_hub_repair(WatchHub *self, uint64_t entity, WatchRepair how);
