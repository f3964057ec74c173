/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/scenario/scenario.h"

/* The neutral timeline of a recording (scenario.yaml), and the scenario that repeats it. */
typedef struct Timeline Timeline;

/* The initial objects were created so long before a recording begins; what was done about them
 * until then is not in it. */
#define TIMELINE_LEAD (2500 * SIM_MS)

/* Returns: (owned): the text of a file, or what is compressed in that with ".gz" behind its name */
char *timeline_text(const char *folder, const char *name, GError **error);
/* Returns: (owned): %NULL with an error if the file can't be read */
Timeline *timeline_read(const char *folder, GError **error);
void timeline_free(Timeline *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Timeline, timeline_free)
/* Returns: (owned): %NULL if a step of it is not modelled yet: the error says which */
Scenario *timeline_scenario(const Timeline *self, GError **error);
/* Returns: (transfer container): names of its nodes, borrowed; ends with NULL */
const char **timeline_node_names(const Timeline *self);
