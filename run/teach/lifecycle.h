/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* The way of claims and volumes through their phases, drawn into all ways that there are.
 * "Terminating" is no phase of theirs but what kubectl shows of one that is being deleted. */
typedef struct Lifecycle Lifecycle;

/**
 * lifecycle_new:
 * @object: "pvc/data", "pv/x", "pod/web-0": it and all claims and volumes that belong to it
 * @to: nothing later; SIM_TIME_MAX: to the end
 * Returns: (owned): %NULL if no object of the run is called so
 */
Lifecycle *lifecycle_new(const Narrator *narrator, const char *object, SimTime to);
void lifecycle_free(Lifecycle *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Lifecycle, lifecycle_free)

/* How many claims and volumes it shows. */
unsigned lifecycle_n_objects(const Lifecycle *self);
/* Columns of plots/lifecycle.gp, below @header. (owned) */
char *lifecycle_table(const Lifecycle *self, const char *header);
/* A stateDiagram-v2 of Mermaid. (owned) */
char *lifecycle_mermaid(const Lifecycle *self, const char *header);
