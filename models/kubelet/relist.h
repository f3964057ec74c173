/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet-private.h"

/* KVM-84: whether the runtime was listed since the pod's last step ended. */
gboolean relist_is_newer(const PodWorker *worker);
/* The pod goes on with the next relist. @on_demand: its sync asks for one (KVM-105), if the release
 * does that */
void relist_await(PodWorker *worker, gboolean on_demand);
/* The loop's pass: all pods that wait go on. Returns: FALSE: none is left */
gboolean relist_pass(void *kubelet);
