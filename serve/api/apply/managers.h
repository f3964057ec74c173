/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field-set.h"

/* The entries of metadata.managedFields. */

#define MANAGED_UPDATE "Update"
#define MANAGED_APPLY "Apply"

typedef struct {
    char *manager, *operation, *api_version;
    char *subresource; /* NULL: the object itself */
    char *time;        /* NULL: unknown */
    json_t *set;       /* (owned) */
} ManagerEntry;

/* Returns: (owned): of ManagerEntry; NULL: @managed_fields (nullable: none) is faulty. Of two
 * entries with one identity, the last */
GPtrArray *managers_read(const json_t *managed_fields);
/* Returns: (owned): the list, in Kubernetes' order; NULL: it is empty */
json_t *managers_print(GPtrArray *managers);
/* Returns: (borrowed): the entry with this identity; an Apply has one for all versions; NULL: none
 */
ManagerEntry *managers_find(const GPtrArray *managers, const ManagerEntry *like);
/* Returns: (borrowed): the entry, made if it is new, with an empty set */
ManagerEntry *managers_get(GPtrArray *managers, const ManagerEntry *like);
/* Replaces the set of an entry. @set: (owned) */
void manager_set(ManagerEntry *self, json_t *set);
/* Drops entries without fields. */
void managers_drop_empty(GPtrArray *managers);
/* Merges the oldest updates into one, so that at most ten stay. */
void managers_cap(GPtrArray *managers);
/* Returns: (owned): as messages show it: "\"kubectl\" using v1" */
char *manager_text(const ManagerEntry *self);
