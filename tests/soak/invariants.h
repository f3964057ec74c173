/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* What holds in every cluster whatever happens to it, looked at after every write and every CSI
 * call. */
typedef struct Invariants Invariants;

/* Watches @run from now on. Returns: (owned): to be freed before @run */
Invariants *invariants_new(Run *run);
void invariants_free(Invariants *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Invariants, invariants_free)
/* All pods there are must be ready now. */
void invariants_check_ready(Invariants *self);
/* Nothing moves any more: both sides of a binding know each other. */
void invariants_check_settled(Invariants *self);
/* Everything was deleted: nothing is left but what was made by hand. */
void invariants_check_empty(Invariants *self);
/* Returns: (borrowed): a line for each of the first faults; empty: none */
const char *invariants_faults(const Invariants *self);
