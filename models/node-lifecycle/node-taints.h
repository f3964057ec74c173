/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

#define TAINT_NOT_READY "node.kubernetes.io/not-ready"
#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"
#define TAINT_UNSCHEDULABLE "node.kubernetes.io/unschedulable"
#define TAINT_MEMORY_PRESSURE "node.kubernetes.io/memory-pressure"
#define TAINT_DISK_PRESSURE "node.kubernetes.io/disk-pressure"
#define TAINT_PID_PRESSURE "node.kubernetes.io/pid-pressure"
#define TAINT_NETWORK_UNAVAILABLE "node.kubernetes.io/network-unavailable"
#define TAINT_OUT_OF_SERVICE "node.kubernetes.io/out-of-service"

/* The keys of the taints that the node controller manages: bits, in the order in which it adds
 * them. The first four belong to NodeTrouble. With the effect NoExecute only two of them are
 * managed. */
typedef enum {
    MANAGED_TROUBLE = 1u << 0,
    MANAGED_NOT_READY = 1u << N_NODE_TROUBLES,
    MANAGED_UNREACHABLE = MANAGED_NOT_READY << 1,
    MANAGED_UNSCHEDULABLE = MANAGED_NOT_READY << 2,
} ManagedTaint;

/* The managed taints of one effect that a Node must have; other managed taints are removed. */
typedef struct {
    TaintEffect effect;
    unsigned keys; /* of ManagedTaint */
    SimTime now;
    Strings *strings;
} WantedTaints;

gboolean node_has_wanted_taints(const Node *self, const WantedTaints *wanted);
/* An ObjectEdit; @arg: a WantedTaints. */
gboolean node_set_wanted_taints(Object *object, const void *arg);
