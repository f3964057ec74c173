/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "models/api/release.h"
#include "models/api/storage.h"

/* What only tests may call from outside of its file. */

PodVolumes *pod_volumes_new(const PodVolume *items,
                            unsigned n); /* takes the templates; NULL if none */
ClaimTemplates *claim_templates_new(const ClaimTemplate *items,
                                    unsigned n); /* takes the items; NULL if none */
/* Returns: (borrowed): "beta, on" */
const char *feature_gate_state_text(unsigned state);
CsiNodeDrivers *csi_node_drivers_new(const CsiNodeDriver *items,
                                     unsigned n); /* takes topology keys */
