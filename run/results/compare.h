/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* Two runs side by side, from their result folders alone. Objects are paired by kind, name and
 * incarnation (and replication): the same object drew the same luck in both, so the difference of a
 * pair is the change's alone. */

typedef struct Comparison Comparison;

/**
 * comparison_new:
 * @one, @other: folders that kvolsim run --out wrote
 * Returns: (owned): %NULL with an error that names the file
 */
Comparison *comparison_new(const char *one, const char *other, GError **error);
void comparison_free(Comparison *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Comparison, comparison_free)

/* For people, and for programs. (owned) */
char *comparison_table(const Comparison *self);
json_t *comparison_json(const Comparison *self);
