/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "filter.h"

/* Informers and indexes of @process; cache, binder and options are the caller's to set. */
void cycle_view_init(CycleView *self, Process *process, Sim *sim, Objects *objects);

/* One attempt to find a node (SCH-50.3..8): pure but for its own buffers. */
Cycle *cycle_new(const CycleView *view);
void cycle_free(Cycle *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Cycle, cycle_free)

/* The first part of cycle_run(), also for tests of single plugins: sets the pod and its claims. */
void cycle_begin(Cycle *self, const Pod *pod, uint32_t attempts);

/* The outcome. */
typedef struct {
    const char *node_name;     /* NULL: none */
    const char *rule;          /* static: the rule that decided */
    gboolean is_error;         /* else rejected */
    uint32_t plugins;          /* rejected: by these, 1 << PluginId */
    char *message;             /* (owned): why there is no node */
    const char *nominated;     /* a node that will do once its victims are gone; NULL: none */
    GPtrArray *victims;        /* (owned) of Pod; NULL: none */
    gboolean keeps_nomination; /* the nomination of an earlier attempt stays */
    unsigned n_examined;       /* nodes tried: how far the start index moves (SCH-55) */
    gboolean is_scored;        /* several nodes would do */
} CycleResult;

/**
 * cycle_run:
 * @start: where in the list of nodes to begin (SCH-55)
 * Afterwards, with a node, self->choices has its volumes and claims; they own nothing.
 */
CycleResult cycle_run(Cycle *self, const Pod *pod, uint32_t attempts, unsigned start);

/* SCH-90: "1 a, 2 b": the reasons as text, sorted as strings. (owned) */
char *reasons_format(const Reason *reasons, unsigned n);
