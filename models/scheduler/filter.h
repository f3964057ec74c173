/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "plugins/plugins.h"

/* The nodes that a pod fits on: the filters of its plugins, most of which need not be asked about
 * each node. */

/* Plugins whose filters are needed, in their order. */
typedef struct {
    const Plugin *plugins[N_PLUGINS];
    unsigned n;
} Filters;

typedef struct {
    const Plugin *failed; /* a filter ended in an error */
    uint32_t plugins;     /* plugins that rejected a node; filled if there is no feasible one */
    unsigned n_nodes, n_examined;
} FilterCounts;

/* Whether the plugin looks at nothing but the node and what the pod asks for (Ask). */
static inline gboolean
cycle_goes_by_ask(const Cycle *self, const Plugin *plugin)
{
    return (self->ask_plugins & UINT32_C(1) << (plugin - plugins)) != 0;
}

/* SCH-51, SCH-55, SCH-57: fills self->feasible, from the list of nodes from @start on, and if it
 * stays empty self->reasons. */
FilterCounts cycle_filter_nodes(Cycle *self, const Filters *active, unsigned start);

/* Plugins work out again what they know of the pods on nodes. */
void cycle_refresh(Cycle *self, const Filters *active);
/* SCH-59: the same, once with the pods that are nominated to the node and once without. */
Verdict cycle_ask_with_nominated(Cycle *self, const Filters *active, NodeInfo *node);
