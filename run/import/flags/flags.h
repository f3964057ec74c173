/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/import/dump.h"

/* Flags of processes: of sidecars from the Deployments, StatefulSets and DaemonSets of drivers, or
 * from their pods; of the control plane from its static pods. Flags that no model has are counted
 * in the report by name; their values are never written. */

/**
 * flags_of_drivers:
 * @drivers: members of a scenario's drivers[], with names: each gets the member "sidecars" that its
 * workloads tell: flags, or false for a sidecar that it does not have
 * @dump: (nullable)
 * @manifests: NULL-terminated paths of the drivers' own manifests, which win over the dump
 *
 * A workload belongs to the driver whose name it contains, else to the driver whose name is most
 * like its own; a manifest with a single CSIDriver belongs to that driver.
 * @error: a file error, or %SIM_ERROR_INVALID with file and line
 */
gboolean flags_of_drivers(json_t *drivers,
                          const Dump *dump,
                          const char *const *manifests,
                          ImportReport *report,
                          GError **error);

/* Returns: (owned): the member "components" of a scenario; %NULL: the dump has no pod of the
 * control plane, or its flags are the defaults */
json_t *flags_of_components(const Dump *dump, ImportReport *report);
/* Returns: (owned): the member "featureGates" of spec.kubernetes, of the gates that matter here;
 * %NULL: none is set */
json_t *flags_feature_gates(const Dump *dump);
