/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/external-provisioner/topology.h"

/* What only tests may call from outside of its file. */

/* TOPO-5: segments with fewer keys first, then by keys and values. Returns: as strcmp() */
int topology_pair_compare(const StringPair *a, const StringPair *b);
int topology_segment_compare(const StringMap *a, const StringMap *b);
