/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* The answers of the scheduler's filters, worked out the slow way: node by node, rule by rule,
 * everything looked up anew in lists of objects. Written from the rule books alone; shares no code
 * with models/scheduler but the types of objects, so that the two can be compared. */

typedef struct {
    GPtrArray *nodes, *csi_nodes; /* all of Object (owned); in the order of their coming */
    GPtrArray *pods;              /* on nodes, or assumed there */
    GPtrArray *claims, *volumes;  /* as assumed */
    GPtrArray *classes, *drivers, *capacities, *attachments;
    GPtrArray
        *nominated; /* pods for whom a node is kept: their node_name; without claims and terms */
} PlainCluster;

void plain_cluster_init(PlainCluster *self);
void plain_cluster_clear(PlainCluster *self);
/* Adds @object, in the place of one of its name if there is one. Takes a reference. */
void plain_put(GPtrArray *objects, const Object *object);
void plain_remove(GPtrArray *objects, const ObjectKey *key);

/**
 * plain_filter:
 * @feasible: (out): of Node (borrowed), in the order of the cluster's
 * @nominees: (out): of char (owned): "node: pod pod ", a node and the pods that would have to leave
 * it, as good as any other Returns: (owned): why there is no node; NULL: there are some
 */
char *
plain_filter(const PlainCluster *cluster, const Pod *pod, GPtrArray *feasible, GPtrArray *nominees);

/* What the pod's unbound claims get on a node that fits: "c1=volume c2=new", by the names of the
 * claims. (owned) */
char *plain_choices(const PlainCluster *cluster, const Pod *pod, const Node *node);

/* VF-47: FALSE: the pod's terms all name nodes, and not this one. */
gboolean plain_looks_at(const Pod *pod, const Node *node);
