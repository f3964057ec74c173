/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"
#include "serve/api/openapi/discovery.h"

/* The objects of the run as its API shows them. Each resource has a log of its latest changes, for
 * watches. */
typedef struct ServeStore ServeStore;

/* The number of changes that the log of a resource holds: a watch that is further behind must list
 * again (410). */
#define CHANGES_MAX 8192

/* A change of an object. */
typedef struct {
    uint64_t version;             /* the resource version that it made */
    const Object *before, *after; /* (owned): of the run; NULL before: new; NULL after: gone */
    gboolean is_new, is_gone;
    gboolean is_made; /* its JSON is all there is */
    unsigned event;   /* 1 + the index of the component's Event that it is about; 0: none */
    json_t
        *json; /* (owned): the object after it; its last state if it is gone. NULL: not made yet */
    json_t *old; /* the same before it; NULL: not there */
    GData
        *lines; /* (owned): kept here by watches: its event without selectors in a form -> GBytes */
} StoreChange;

/* Told of each change of a resource, at its instant. */
typedef struct {
    void (*changed)(void *data);
    void *data;
} StoreListener;

/* A resource of a group, in all its versions. */
typedef struct {
    ServeStore *store;
    char *group, *resource;
    gboolean namespaced;
    gboolean has_events; /* also Events that components write */
    ObjectKind kind;
    unsigned number;      /* KIND_OTHER: of the resource among the run's Objects; else 0 */
    GPtrArray *sorted;    /* of ObjectKey, as etcd lists them; NULL: not sorted */
    GTree *made;          /* "namespace/name" -> json_t: see store_put_made(); NULL: none yet */
    StoreChange *changes; /* a ring of CHANGES_MAX; NULL: nobody has asked for the resource yet */
    uint64_t n_changes;   /* so far: the change @i is at i % CHANGES_MAX */
    uint64_t since;       /* the log began at this resource version */
    GArray *listeners;    /* of StoreListener */
} StoreKind;

/* @run: (borrowed): outlives it. Returns: (owned) */
ServeStore *serve_store_new(Run *run);
void serve_store_free(ServeStore *self);
/* Returns: (owned): "apps/v1"; "v1" of the legacy group */
char *store_api_version(const char *group, const char *version);
/* The served resources: those of the run's release and of CustomResourceDefinitions. Valid until
 * such a definition changes: serve_store_generation() changes then, too. */
const ServedApis *serve_store_apis(const ServeStore *self);
unsigned serve_store_generation(const ServeStore *self);

/**
 * serve_store_kind:
 * @row: (out): the resource in that version, borrowed as long as serve_store_generation() stays
 * Returns: (borrowed): %NULL: it is not served
 */
StoreKind *serve_store_kind(ServeStore *self,
                            const char *group,
                            const char *version,
                            const char *resource,
                            const ApiResource **row);

/* Returns: the resource version of the latest change */
uint64_t store_version(const StoreKind *kind);
/* Returns: (owned): the object with its managedFields; %NULL: there is none. @namespace: "": none
 */
json_t *store_get(StoreKind *kind, const char *namespace, const char *name);
/* Returns: (owned): an object of the run, as store_get() has it */
json_t *store_print(const StoreKind *kind, const Object *object);
/* Returns: (borrowed): the same object as the run has it; %NULL: there is none, or it is a
 * component's Event or a kubelet's Lease */
const Object *store_object(const StoreKind *kind, const char *namespace, const char *name);
/* Calls @see for each object in etcd's order, from behind @after on ("namespace/name"; NULL: all),
 * until it returns FALSE. @namespace: NULL: of all. @object: (taken) */
typedef gboolean (*StoreSee)(void *data, const char *place, json_t *object);
void
store_list(StoreKind *kind, const char *namespace, const char *after, StoreSee see, void *data);
/* Returns: how many objects such a list has */
unsigned store_count(StoreKind *kind, const char *namespace, const char *after);
gboolean serve_store_has_namespace(const ServeStore *self, const char *name);

/* Begins the log of changes, unless it has begun. */
void store_log(StoreKind *kind);
/* Returns: (borrowed): the change number @i with its json; %NULL: it is forgotten, or still to come
 */
StoreChange *store_change(StoreKind *kind, uint64_t i);
/* Fills in the member old. */
void store_change_old(StoreKind *kind, StoreChange *change);
/* @number: (out): of the first change after @version. Returns: %FALSE: older ones are forgotten */
gboolean store_find_change(const StoreKind *kind, uint64_t version, uint64_t *number);
void store_listen(StoreKind *kind, const StoreListener *listener);
void store_unlisten(StoreKind *kind, const void *data);
/* Tells all listeners of all kinds, as if something had changed. */
void serve_store_wake(const ServeStore *self);

/* ---- Objects that are made of others, as Endpoints are of Services and pods: no object of the
 * run, so that a run without clients goes without. ---- */
/* Returns: (borrowed) (nullable) */
json_t *store_made(const StoreKind *kind, const char *namespace, const char *name);
/* @object: (taken): gets a resource version, and a uid and a time if it is new. Returns:
 * (borrowed): what is stored */
json_t *store_put_made(StoreKind *kind, json_t *object);
void store_remove_made(StoreKind *kind, const char *namespace, const char *name);

/* Keeps metadata.managedFields of an object of the run. @object: has its namespace, name and uid.
 * @fields: (taken) (nullable) */
void store_set_managers(StoreKind *kind, const json_t *object, json_t *fields);

/* The present instant: "2026-01-01T00:00:00Z". (owned) */
char *serve_store_now(const ServeStore *self);
