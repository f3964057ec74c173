/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim/slots.h"
#include "watch.h"

/* What the API server stores, by kind and slot, and its one revision (API-1). A commit tells the
 * observers at once, and the watches after their delays. */
typedef struct {
    Sim *sim;                    /* (borrowed) */
    Objects *objects;            /* (borrowed) */
    WatchHub *watches;           /* (owned) */
    uint64_t revision;           /* resource version of the latest write */
    GArray *observers;           /* of ApiObserver with its data */
    gboolean is_importing;       /* see api_server_is_importing() */
    gboolean is_dry;             /* see api_server_try() */
    gboolean implies_namespaces; /* the cluster's beginning is over: see namespace_imply() */
    gboolean knows_class_scope;  /* API-156 */
    gboolean names_containers;   /* API-159 */
    /* API-196: (owned) (nullable): of ObjectKey: accounts that are not stored, and may be named all
     * the same. NULL: all accounts are there */
    GHashTable *named_accounts;
    gboolean marks_victims; /* gate PodDisruptionConditions */
    unsigned counts[N_KINDS];
    SimSlots stored[N_KINDS]; /* of Object (owned), by slot; NULL: no such object now */
} ApiStore;

void api_store_init(ApiStore *self, Sim *sim, Objects *objects, const ApiLatency *latency);
void api_store_clear(ApiStore *self);
void api_store_observe(ApiStore *self, ApiObserver observer, void *data);

/* Returns: (nullable) (borrowed): the stored version; %NULL: there is no such object */
static inline const Object *
api_store_get(const ApiStore *self, const ObjectKey *key)
{
    return sim_slots_pointer(&self->stored[key->kind], key->slot);
}

/**
 * api_store_commit:
 * @after: (taken): the new version; with WATCH_DELETED the last state
 * @responds_at: when the writer has its answer; watch delays count from then
 * @n: the count of the watch delays' draws
 * Returns: (owned): @after
 */
const Object *
api_store_commit(ApiStore *self, WatchType type, Object *after, SimTime responds_at, uint32_t n);
/* Stores a change that the server makes by itself, at once. Takes @after. */
void api_store_write(ApiStore *self, Object *after);
