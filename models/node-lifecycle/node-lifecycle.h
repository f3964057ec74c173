/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* What becomes of a node whose kubelet is silent, and of its pods: three controllers of
 * kube-controller-manager. */

/* Looks at the heartbeats every 5 s: conditions, taints (NL-20 to NL-37). */
extern const ModelClass node_lifecycle_class;
/* Deletes pods that do not tolerate a NoExecute taint, or no longer (NL-40 to NL-45). */
extern const ModelClass taint_eviction_class;
/* Deletes the pods that nobody else can: every 20 s (NL-70 to NL-73). */
extern const ModelClass pod_gc_class;
