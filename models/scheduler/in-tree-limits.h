/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/migration/migration.h"
#include "models/api/pod.h"

/* How many disks of in-tree plugins a node takes, as long as they have not migrated (VF-7). */

gboolean in_tree_limit_counts(const InTreePlugin *plugin); /* NULL: no */
/* @driver: as in VolumeName. @max_pd_vols: KUBE_MAX_PD_VOLS; 0: not set. @minor: of the release; 0:
 * any. Returns: -1: no limit */
int32_t in_tree_limit(const Node *node, const char *driver, int32_t max_pd_vols, int minor);
