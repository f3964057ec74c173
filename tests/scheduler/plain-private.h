/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "plain-filter.h"

/* What the files of the plain filter share. */

/* One node and one pod. */
typedef struct {
    const PlainCluster *cluster;
    const Pod *pod;
    const Node *node;
    GPtrArray *reasons;  /* of char (owned): of the plugin that rejected the node */
    gboolean unhelpable; /* UnschedulableAndUnresolvable */
} Asked;

/* ---- plain-plugins.c ---- */

const char *plain_label(const StringMap *labels, const char *key);
gboolean plain_selects(const LabelSelector *selector, const StringMap *labels);
gboolean
plain_selects_node(const NodeSelector *selector, const StringMap *labels, const char *node_name);
const StringMap *plain_node_labels(const Asked *asked);
/* Notes why. Returns: FALSE */
gboolean plain_reject(Asked *asked, gboolean unhelpable, const char *text);
/* Plugins: whether the node passes. */
gboolean plain_node_unschedulable(Asked *asked);
gboolean plain_taint_toleration(Asked *asked);
gboolean plain_node_affinity(Asked *asked);
gboolean plain_resources_fit(Asked *asked);
gboolean plain_topology_spread(Asked *asked);
gboolean plain_pod_affinity(Asked *asked);

/* ---- plain-volumes.c ---- */

const char *plain_text_or_empty(const char *text);
/* What is refused before any node is looked at. Returns: (owned): why; NULL: nothing */
char *plain_restrictions_before(const PlainCluster *cluster, const Pod *pod);
char *plain_binding_before(const PlainCluster *cluster, const Pod *pod);
char *plain_zone_before(const PlainCluster *cluster, const Pod *pod);
/* More plugins. */
gboolean plain_volume_restrictions(Asked *asked);
gboolean plain_volume_limits(Asked *asked);
gboolean plain_volume_binding(Asked *asked);
gboolean plain_volume_zone(Asked *asked);

/* ---- plain-filter.c ---- */

/* @namespace NULL: the kind has none. Returns: NULL: there is none */
const Object *plain_find(const GPtrArray *objects, const char *namespace, const char *name);
