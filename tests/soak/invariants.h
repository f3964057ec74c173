/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* Invariants of every cluster, checked after each write and each CSI call. */
typedef struct Invariants Invariants;

/* Watches @run from now on. Returns: (owned): free it before @run */
Invariants *invariants_new(Run *run);
void invariants_free(Invariants *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Invariants, invariants_free)
/* To be called every INVARIANTS_LOOK_PERIOD of the run. */
#define INVARIANTS_LOOK_PERIOD (20 * SIM_SECOND)
void invariants_look(Invariants *self);
/* All existing pods must be ready now. */
void invariants_check_ready(Invariants *self);
/* The cluster is at rest: both sides of a binding name each other. */
void invariants_check_settled(Invariants *self);
/* Everything was deleted: only objects made by hand are left. */
void invariants_check_empty(Invariants *self);
/* ADC-27: whether the attacher tries an attachment for ever that its controller has forgotten. */
gboolean invariants_tries_forgotten(const Invariants *self);
/* Returns: (borrowed) (nullable): which invariant broke first: its message without names */
const char *invariants_first_kind(const Invariants *self);
/* Returns: (borrowed): a line for each of the first faults; empty if there are none */
const char *invariants_faults(const Invariants *self);
