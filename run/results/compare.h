/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* Compares two runs by their result folders alone. Objects pair by kind, name, incarnation and
 * replication: the same object drew the same luck in both runs, so the difference of a pair comes
 * from the change alone. */

typedef struct Comparison Comparison;

/**
 * comparison_new:
 * @one, @other: folders written by kvolsim run --out
 * Returns: (owned): %NULL with an error that names the file
 */
Comparison *comparison_new(const char *one, const char *other, GError **error);
void comparison_free(Comparison *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Comparison, comparison_free)

/* For people; for programs. (owned) */
char *comparison_table(const Comparison *self);
json_t *comparison_json(const Comparison *self);
