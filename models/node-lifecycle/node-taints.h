/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

#define TAINT_NOT_READY "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"
#define TAINT_UNSCHEDULABLE "node.kubernetes.io/unschedulable"
#define TAINT_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"

gboolean node_has_taint(const Node *self, const char *key, TaintEffect effect);

/* Taints of one effect that the node controller looks after: those of these keys it has to have, of the others it must not. */
typedef struct {
    TaintEffect effect;
    gboolean not_ready, unreachable;
    gboolean unschedulable; /* TAINT_NO_SCHEDULE only */
    SimTime now;
    Strings *strings;
} WantedTaints;

gboolean node_has_wanted_taints(const Node *self, const WantedTaints *wanted);
/* An ObjectEdit; @arg: a WantedTaints. */
gboolean node_set_wanted_taints(Object *object, const void *arg);
