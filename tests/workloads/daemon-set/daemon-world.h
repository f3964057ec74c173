/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/workloads/pods-world.h"

/* A set "agent" on nodes "n-0", "n-1", ... */

/* Starts a world with @n_nodes nodes. */
void daemon_begin(StorageWorld *world, unsigned n_nodes);
ObjectKey *daemon_node_key(const StorageWorld *world, unsigned i);
/* Adds a node that is ready at once, without the taint of a new Node. */
void daemon_add_node(StorageWorld *world, unsigned i);
/* ObjectEdit of a Node: @taint is its only Taint; NULL: none */
gboolean daemon_edit_taint(Object *object, const void *taint);

/* Returns: (owned): the set, to be created */
DaemonSet *daemon_new(const StorageWorld *world);
const DaemonSet *daemon_stored(const StorageWorld *world);
void daemon_change_template(StorageWorld *world, const char *image);
/* The same, and all nodes follow. */
void daemon_change_image(StorageWorld *world, const char *image);

/* Schedulers and kubelets: each pod runs on its node, each pod that is deleted goes. */
void daemon_play(StorageWorld *world);
/* Pods of this image that are not being deleted. */
unsigned daemon_count_image(const StorageWorld *world, const char *image);
