/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* Compares two or more runs by their result folders alone, each with the first. Objects pair by
 * kind, name, incarnation and replication: the same object drew the same luck in both runs, so the
 * difference of a pair comes from the change alone. */

typedef struct Comparison Comparison;

#define COMPARISON_MAX 26 /* runs have letters */

/**
 * comparison_new:
 * @folders: written by kvolsim run --out, ends with %NULL: two to COMPARISON_MAX; the first is the
 * base
 * Returns: (owned): %NULL with an error that names the file
 */
Comparison *comparison_new(const char *const *folders, GError **error);
void comparison_free(Comparison *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Comparison, comparison_free)

/* For people; for programs: {a, b, stages ...} of two runs, {base, compared: [of each]} of more.
 * (owned) */
char *comparison_table(const Comparison *self);
json_t *comparison_json(const Comparison *self);
