/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/migration/migration.h"
#include "models/api/storage.h"
#include "models/client/informer.h"

/* What an in-tree plugin makes of a class and a claim (INT-31 to INT-33). Pure: the answers of the
 * cloud are the caller's. */

/* Where a volume is; NULL: the cluster has no zones, or no regions. Interned */
typedef struct {
    const char *zone, *region;
} InTreePlace;

typedef struct {
    Strings *strings;
    const InTreePlugin *plugin;
    const StorageClass *class;
    const Claim *claim;
    const Informer *nodes; /* NULL: there are none */
    const Object *node;    /* that is selected; NULL: none */
} InTreeQuery;

/* INT-31. Returns: why the plugin makes no such volume, interned; NULL: it does */
const char *in_tree_refusal(const InTreeQuery *query);
gboolean in_tree_takes_mount_options(const InTreePlugin *plugin);
/* INT-32. @place: (out). Returns: an error, static; NULL: none */
const char *in_tree_choose_place(const InTreeQuery *query, InTreePlace *place);
/* INT-33: the size that the plugin asks the cloud for, in bytes. */
int64_t in_tree_size(const InTreeQuery *query);
/* INT-33. @id: of the new disk. Returns: (owned): without what all provisioned volumes have */
Volume *in_tree_volume_new(const InTreeQuery *query,
                           ObjectKey *key,
                           const char *id,
                           int64_t bytes,
                           const InTreePlace *place);
