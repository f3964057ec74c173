/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/kubelet-private.h"
#include "tests/sidecar/world.h"

/* The cluster of tests/sidecar/world.h with the kubelet of node "a", for tests of the kubelet.
 * Scheduler, PV controller and attach/detach controller are played by commits that take no time. */

/* Adds the kubelet; from now on its loops run. */
void node_world_start(World *self);
/* As node_world_start(), on any node. */
void node_world_start_node(World *self, const char *node);

/* To that instant, also if nothing happens; for so long from now. */
void node_world_run_until(World *self, SimTime at);
void node_world_run_for(World *self, SimTime time);
/* Returns: (borrowed): of node "a"; NULL: it does not run */
Kubelet *node_world_kubelet(World *self);

/* A claim bound to a volume of the same name: of the driver, ReadWriteOnce, 1 GiB. @plugin: "csi",
 * "local", ... */
void node_world_add_volume(World *self, const char *name, const char *plugin);
/* As above, but the claim's phase is still Pending (RACE-11). */
void node_world_add_unbound(World *self, const char *name);
void node_world_bind(World *self, const char *name);
void node_world_set_access_modes(World *self, const char *name, uint32_t modes);
/* A CSI volume of another driver than the world's. */
void node_world_add_foreign_volume(World *self, const char *name, const char *driver);
void node_world_add_block_volume(World *self, const char *name);
/* As node_world_add_volume(), block or not. */
void node_world_add_other_volume(World *self, const char *name, const char *plugin, gboolean block);
/* The CSIDriver object. */
void node_world_add_driver(World *self, gboolean attach_required, gboolean republish);
/* The controller's side of attaching: a VolumeAttachment that is attached, and the Node's
 * volumesAttached. */
void node_world_attach(World *self, const char *volume, const char *node);

/* A pod that is bound to node @node, with the volumes of these claims: "one two"; NULL: none. */
void node_world_add_pod(World *self, const char *name, const char *node, const char *claims);
/* As above, with a restart policy and an annotation how long its containers run, how they end (each
 * nullable). */
void node_world_add_ending_pod(World *self,
                               const char *name,
                               const char *claims,
                               const char *policy,
                               const char *runs_for,
                               const char *exit_code);
/* As above, with one volume that is mounted read-only, or made for the pod: then the claim
 * "POD-VOLUME" must be there. */
void node_world_add_reading_pod(World *self, const char *name, const char *node, const char *claim);
/* On node "a", with one volume, as a device or mounted, whatever the volume's mode is. */
void node_world_add_pod_as(World *self, const char *name, const char *claim, gboolean device);
void
node_world_add_ephemeral_pod(World *self, const char *name, const char *node, const char *volume);
void node_world_set_running(World *self, const char *name);
/* The pod fails by itself, as far as the API is told. */
void node_world_set_failed(World *self, const char *name);
/* Deletes it with its grace, as a user does. @force: with none. */
void node_world_delete_pod(World *self, const char *name, gboolean force);

/* Returns: (owned): what the kubelet did but for reads, joined by ", "; and forgets it */
char *node_world_take_writes(World *self);
void node_world_assert_writes(World *self, const char *expected);
/* Returns: (owned): all that it did, a line each, with the instants */
char *node_world_log(World *self);
const Pod *node_world_pod(World *self, const char *name);
/* Returns: (owned): volumesInUse of node "a", joined by " " */
char *node_world_in_use(World *self);
void node_world_assert_in_use(World *self, const char *expected);
