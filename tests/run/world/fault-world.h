/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/results/results.h"

/* A small cluster with one pod of a StatefulSet and its volume, from its creation to nothing: what
 * every fault is put into. */

#define SCALE_DOWN_AT (2400 * SIM_SECOND) /* the pod has to go */
#define DELETE_CLAIM_AT (3600 * SIM_SECOND)
#define WORLD_ENDS_AT (3 * SIM_HOUR)

/* @faults: items of spec.faults, and @actions of spec.workload, as lines of YAML, or "". Returns:
 * (owned) */
Scenario *fault_world_new(const char *faults, const char *actions);
/* The first pod of the set; NULL: there is none. */
const Pod *fault_world_pod(const Run *run);
gboolean fault_world_is_ready(const Run *run);
/* What is left of all of it: "" if nothing is. (owned) */
char *fault_world_rest(const Run *run);
/* How many Events have this reason. */
unsigned fault_world_n_events(const Run *run, const char *reason);
