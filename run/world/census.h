/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"
#include "sim/metrics.h"

/* Counts of the cluster's objects, for the metrics that the real components work out at each scrape
 * from what their informers know (MET-58, MET-61, MET-63, MET-90, MET-111, MET-131). A scrape does
 * not look at all objects: what one adds to the counts changes with its writes. */
typedef struct Census Census;

/* All borrowed; they outlive it. To be told of every write from the first one on. Returns: (owned)
 */
Census *census_new(const Cluster *cluster, Objects *objects, SimMetrics *metrics);
void census_free(Census *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Census, census_free)

/* Whose candidates write a Lease of kube-system; NULL: an external-provisioner's, which has but the
 * driver's name. */
const ProcessClass *census_lease_process(const ObjectKey *lease);

/* As an ApiObserver has it. */
void census_object_written(Census *self, const Object *before, const Object *after);
/* Before a scrape: brings up to date what depends on several objects. */
void census_count(Census *self);
