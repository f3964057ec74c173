/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kubelet-private.h"

/* Graceful shutdown of the machine: NL-90 to NL-94. */

struct NodeShutdown {
    gboolean shutting_down, only_critical_left; /* the latter: its other pods have ended */
    SimEventId event; /* the end of the time that the pods under way may take */
};

/* With the kubelet. */
void shutdown_init(Kubelet *self);
void shutdown_clear(Kubelet *self);
void shutdown_begin(Kubelet *self); /* MACHINE_SHUTS_DOWN */
/* A pod has ended, or one of its volumes has: perhaps the last one that shutdown waits for. */
void shutdown_progressed(Kubelet *self);
