/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet-private.h"

/* As a kubelet starts: first this, then it hears of its pods, then that. */
void reconstruct_volumes(Kubelet *self);
/* All pods are known: those found on the disk alone are gone, and the populator reads all others.
 */
void reconstruct_sources_ready(Kubelet *self);
