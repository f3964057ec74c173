/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/scenario/scenario.h"

/* The neutral timeline of a recording (scenario.yaml), and the scenario that repeats it. */
typedef struct Timeline Timeline;

/* How long before a recording the initial objects were created; it does not show what happened to
 * them until then. */
#define TIMELINE_LEAD (2500 * SIM_MS)

/* @data_dir: (borrowed): the folder that has models/profiles; NULL: that of the sources. Returns:
 * (owned): %NULL with an error if the file can't be read */
Timeline *timeline_read(const char *folder, const char *data_dir, GError **error);
void timeline_free(Timeline *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Timeline, timeline_free)
/* @run: the folder of a recorded run, whose input is repeated with its own instants; NULL: the
 * planned ones. Returns: (owned): %NULL with an error that names a step, a key or a flag that is
 * not known */
Scenario *timeline_scenario(const Timeline *self, const char *run, GError **error);
/* Returns: (transfer container): the names (borrowed) of its nodes; ends with NULL */
const char **timeline_node_names(const Timeline *self);
