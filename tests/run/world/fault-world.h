/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/results/results.h"

/* A small cluster for tests of faults: one pod of a StatefulSet with a volume, from creation to
 * deletion. */

#define SCALE_DOWN_AT (2400 * SIM_SECOND) /* the pod is deleted */
#define DELETE_CLAIM_AT (3600 * SIM_SECOND)
#define WORLD_ENDS_AT (3 * SIM_HOUR)

/* @faults: items of spec.faults; @actions: items of spec.workload; lines of YAML, or "". Returns:
 * (owned) */
Scenario *fault_world_new(const char *faults, const char *actions);
/* The first pod of the set; NULL: none. */
const Pod *fault_world_pod(const Run *run);
gboolean fault_world_is_ready(const Run *run);
/* The remaining objects, mounts and attachments as text; "": none. (owned) */
char *fault_world_rest(const Run *run);
/* The number of Events with this reason. */
unsigned fault_world_n_events(const Run *run, const char *reason);
