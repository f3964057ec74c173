/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "store.h"

/* Shared by the store's files: store.c keeps resources and their changes;
 * store-list.c lists objects. */

struct ServeStore {
    Run *run; /* (borrowed) */
    ApiServer *api;
    int minor;
    GHashTable *kinds;       /* "group/resource" -> StoreKind (owned) */
    CustomResources *custom; /* (owned): of the present definitions; NULL: none */
    ServedApis apis;         /* ... */
    unsigned generation;
    GHashTable *managers; /* uid -> json_t: managedFields */
    /* (borrowed): the stores that keep a log; of KIND_OTHER by the number of the resource */
    StoreKind *of_run[N_KINDS], *events;
    GPtrArray *others;
};

/* Returns: (owned): of json_t (owned) by "namespace/name" */
GTree *store_places_new(void);
void store_set_version(json_t *object, uint64_t version);
/* Whether the place "namespace/name" is in the namespace; NULL: any. */
gboolean store_is_in(const char *place, const char *namespace);
