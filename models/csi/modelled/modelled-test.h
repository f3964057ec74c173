/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/modelled/modelled-driver.h"

/* What only tests may call from outside of its file. */

/* Changes at run time. Calls in flight keep their draws and the limits that they wait for; counts
 * of errors restart. */
void
csi_modelled_driver_set_latency(CsiModelledDriver *self, CsiLatency latency, const SimDist *dist);
void csi_modelled_driver_set_errors(CsiModelledDriver *self,
                                    const CsiModelledError *errors,
                                    unsigned n_errors);
void csi_modelled_driver_set_limits(CsiModelledDriver *self,
                                    const CsiModelledLimit *limits,
                                    unsigned n_limits);
void csi_modelled_driver_set_attach_limit(CsiModelledDriver *self, int limit);
unsigned csi_modelled_driver_n_snapshots(const CsiModelledDriver *self);
int64_t csi_modelled_driver_used_bytes(const CsiModelledDriver *self);
/* Volumes attached to a node, by the node's name. */
unsigned csi_modelled_driver_n_published(const CsiModelledDriver *self, const char *node_name);
/* In the order of creation. @visit must not call the driver. */
void csi_modelled_driver_each_volume(const CsiModelledDriver *self,
                                     void (*visit)(void *data, const CsiModelledVolume *volume),
                                     void *data);
/* Returns: (owned): ids of the nodes that a volume is attached to, oldest first; NULL if there are
 * none */
StringList *csi_modelled_driver_published_nodes(const CsiModelledDriver *self,
                                                const char *volume_id);
gboolean csi_modelled_driver_is_staged(const CsiModelledDriver *self,
                                       const char *volume_id,
                                       const char *node_name);
