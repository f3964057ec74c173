/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/external-provisioner/capacity.h"
#include "models/external-provisioner/provisioner.h"

/* What only tests may call from outside of its file. */

/* ... about the items whose segment a term of @affinity names. */
void capacity_refresh_affinity(Capacity *self, const NodeSelector *affinity);
/* @segment: (out) (owned) (nullable): the term as a segment. Returns: FALSE: the term is none */
gboolean capacity_term_segment(const NodeSelectorTerm *term, StringMap **segment);
unsigned capacity_n_items(const Capacity *self);
gboolean capacity_item(const Capacity *self, unsigned i, CapacityItemView *view);
/* CAP-7: objects to delete. */
unsigned capacity_n_obsolete(const Capacity *self);
/* Segments of the cluster, in order. */
const TopologyTerms *capacity_segments(const Capacity *self);
/* Keys stay in the queue from now on. */
void capacity_hold(Capacity *self);
WorkQueue *capacity_queue(const Capacity *self);
/* PROV-20.6: the name of the volume for a claim with this uid. With --volume-name-uuid-length the
 * uid loses its dashes first. Returns: (owned) */
char *provisioner_volume_name(const ExternalProvisionerOptions *options, const char *uid);
/* PROV-21: the parameters that go to the driver. Returns: (owned); @error: (out) (owned): names an
 * unknown parameter with our prefix; NULL: there is none */
StringMap *class_pass_parameters(const StringMap *parameters, char **error);
/* PROV-34. @volume: NULL fails, as does a volume without a CSI source */
void plan_delete_volume(const ExternalProvisioner *self, Plan *plan, const Volume *volume);
