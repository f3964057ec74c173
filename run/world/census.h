/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "sim/metrics.h"

/* Counts of the cluster's objects, for metrics that the real components compute at each scrape from
 * their informers (MET-58, MET-61, MET-63, MET-90, MET-111, MET-131). A scrape does not walk over
 * all objects: the counts follow the writes. */
typedef struct Census Census;

/* All arguments are borrowed and outlive the census. It must see every write from the first one on.
 * Returns: (owned) */
Census *census_new(const Cluster *cluster, Objects *objects, SimMetrics *metrics);
void census_free(Census *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Census, census_free)

/* The process whose candidates write a Lease in kube-system; NULL: an external-provisioner, whose
 * Lease has only the driver's name. */
const ProcessClass *census_lease_process(const ObjectKey *lease);

/* The node's kubelet tells of volumes what drivers say: their capacity is not the census's to tell.
 * @node: interned; again is fine */
void census_leave_usage(Census *self, const char *node);

/* An ApiObserver. */
void census_object_written(Census *self, const Object *before, const Object *after);
/* Before a scrape: updates counts that depend on several objects. */
void census_count(Census *self);
