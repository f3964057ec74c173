/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"

/* Nodes whose kubelet is silent, and their pods: three controllers of kube-controller-manager. */

/* Looks at the heartbeats every 5 s: conditions, taints (NL-20 to NL-37). */
extern const ModelClass node_lifecycle_class;
/* Deletes pods that do not, or no longer, tolerate a NoExecute taint (NL-40 to NL-45). */
extern const ModelClass taint_eviction_class;
/* Every 20 s deletes pods that no kubelet can finish (NL-70 to NL-73). */
extern const ModelClass pod_gc_class;
