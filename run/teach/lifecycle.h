/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* The path of claims and volumes through their phases, drawn into the diagram of all possible
 * paths. "Terminating" is not a phase: kubectl shows it for objects that are being deleted. */
typedef struct Lifecycle Lifecycle;

/**
 * lifecycle_new:
 * @object: "pvc/data", "pv/x", "pod/web-0": shows it and all claims and volumes that belong to it
 * @namespace: of @object; NULL: any
 * @to: the end; SIM_TIME_MAX: of the run
 * Returns: (owned): %NULL if the run has no such object
 */
Lifecycle *
lifecycle_new(const Narrator *narrator, const char *namespace, const char *object, SimTime to);
void lifecycle_free(Lifecycle *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Lifecycle, lifecycle_free)

/* Returns: the number of claims and volumes shown */
unsigned lifecycle_n_objects(const Lifecycle *self);
/* Columns of plots/lifecycle.gp, below @header. (owned) */
char *lifecycle_table(const Lifecycle *self, const char *header);
/* A stateDiagram-v2 of Mermaid. (owned) */
char *lifecycle_mermaid(const Lifecycle *self, const char *header);
