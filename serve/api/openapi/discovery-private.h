/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "custom.h"

/* One version of a group: its resources. */
typedef struct {
    const char *group, *version;
    GPtrArray *resources; /* of ApiResource */
} GroupVersion;

/* All served resources: groups in the order of the table, then the groups of custom resources by
 * name. */
typedef struct {
    GArray *versions; /* of GroupVersion */
} Served;
void served_init(Served *self, const ServedApis *served);
void served_clear(Served *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Served, served_clear)

/* What a subresource takes and gives. @kind: "%s" is the resource's kind. @group, @version: "": the
 * resource's. */
typedef struct {
    const char *name, *group, *version, *kind, *verbs;
} Subresource;
/* Returns: (borrowed): the row of the resource; words outside of the table count as "status" */
const Subresource *subresource_find(const char *name);
/* Returns: (owned): its kind */
char *subresource_kind(const Subresource *row, const ApiResource *resource);
