/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/scheduler/scheduler-world.h"

/* Wants 1 CPU; @node NULL: to be scheduled. Returns: (owned) */
Pod *pod_on(const StorageWorld *world, const char *name, const char *claim, const char *node);
/* The same with a label "app". */
Pod *app_pod(StorageWorld *world, const char *name, const char *app, const char *node);
LabelSelector *app_selector(StorageWorld *world, const char *app);
/* Changes of the cluster while a pod waits, each as its name says. */
typedef void Deed(StorageWorld *world);

extern Deed topologies_change, class_is_annotated, plugins_migrate, csi_node_is_annotated,
    driver_stops_checking, capacity_comes, pod_tolerates_more, nothing, new_class, new_late_class,
    claim_changes, other_claim_changes, new_volume, volume_moves, volume_changes, node_moves,
    node_gets_ssd, node_comes, small_node_comes, other_taint, taint_goes, uncordon, node_grows,
    limit_grows, csi_node_comes, other_pod_goes, plain_pod_goes, attachment_goes, capacity_grows,
    capacity_shrinks, pod_changes, gate_goes, node_gets_disk, node_without_zone_comes,
    other_node_goes, other_pod_changes, app_pod_comes, plain_pod_comes, pod_changes_app;
