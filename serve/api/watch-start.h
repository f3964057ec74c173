/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api-private.h"

/* The objects that a watch without a resource version sends first. Watches that begin at about the
 * same time share one list, and the lines that are made of it: thousands of clients may come at
 * once, as after an outage. A shared list is a little old for the later ones; they hear of what has
 * changed since then next. */
typedef struct {
    uint64_t version;   /* of the latest change in it */
    uint64_t next;      /* the number of the first change after it */
    GPtrArray *objects; /* of json_t */
    GData *lines; /* form -> GPtrArray of GBytes: of each object's event; NULL: not made yet */
    unsigned refs;
} WatchStart;

/* @namespace: "": of all. Returns: (owned) */
WatchStart *watch_start_get(ServeApi *api, StoreKind *kind, const char *namespace);
/* Returns: (owned): with the object of that name alone, if it is there */
WatchStart *watch_start_of_one(StoreKind *kind, const char *namespace, const char *name);
void watch_start_unref(WatchStart *self);
/* Returns: (borrowed): where the event of object @i in the form @form is kept */
GBytes **watch_start_line(WatchStart *self, GQuark form, unsigned i);
/* The server keeps none any longer. */
void watch_starts_free(ServeApi *api);
