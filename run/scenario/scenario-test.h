/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/scenario/effects.h"
#include "run/scenario/scenario.h"

/* What only tests may call from outside of its file. */

/* Returns: the row with the longest path above @path, or equal to it; NULL: none */
const FieldEffect *field_effect_find(const char *kind, const char *path);
/* @newest: (out): the newest time stamp in an object that a cluster printed; of its
 * deletionTimestamp, when the deletion was asked for. Returns: FALSE: it has none */
gboolean scenario_newest_time(const json_t *object, SimTime *newest);
