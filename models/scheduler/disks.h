/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* Disks that pods name themselves, and that two pods of a node do not share (VF-34):
 * isVolumeConflict() in Kubernetes' volume_restrictions.go. */

/* Whether the pod has a GCE, EBS, iSCSI or RBD disk. */
gboolean pod_has_exclusive_disks(const Pod *self);
/* Whether a node cannot have both pods. */
gboolean pods_want_one_disk(const Pod *self, const Pod *other);
