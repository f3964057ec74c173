/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "store.h"

/* Shared by the store's files: store.c keeps resources, their changes and plain objects;
 * store-list.c lists objects, also those that nobody stores. */

struct ServeStore {
    Run *run; /* (borrowed) */
    ApiServer *api;
    int minor;
    GHashTable *kinds;       /* "group/resource" -> StoreKind (owned) */
    CustomResources *custom; /* (owned): of the present definitions; NULL: none */
    ServedApis apis;         /* ... */
    unsigned generation;
    gboolean is_built; /* it has its first objects */
    uint64_t plain_version;
    uint64_t n_plain;                    /* uids given */
    GHashTable *managers;                /* uid -> json_t: managedFields */
    StoreKind *of_run[N_KINDS], *events; /* (borrowed): those that keep a log */
    uint64_t n_event_changes; /* writes of Events: they make no resource version in the run */
};

/* The namespaces that every cluster has, and those that objects of the run are in. Returns:
 * (owned): set of names (borrowed) */
GHashTable *store_namespaces(const ServeStore *self);

/* first-objects.c: what the API server and controllers that are not modelled make in every
 * cluster: the Service "kubernetes", the ServiceAccounts "default", the ConfigMaps
 * "kube-root-ca.crt". */
void store_add_first_objects(ServeStore *self);
/* The namespace is new. */
void store_add_first_objects_in(ServeStore *self, const char *namespace);
/* Returns: (owned): the Service "kubernetes", which the run does not have */
json_t *store_first_service(const ServeStore *self);

void store_set_version(json_t *object, uint64_t version);
/* Whether the place "namespace/name" is in the namespace; NULL: any. */
gboolean store_is_in(const char *place, const char *namespace);
