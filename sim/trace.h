/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cold.h"
#include "sim-time.h"

/* Why time passed. The log of causes is a forest: each entry says when something happened, which
 * earlier entry released it, and what kind of wait lay between the two. Walking back from any entry
 * gives a chain of intervals that add up exactly; time attribution reads it. An entry takes some
 * five bytes. */
typedef uint32_t SimCauseId; /* index into the log; 0: the start of the run */
typedef uint16_t SimWait;    /* the kind of wait; numbered by the models, 0: no time passed */

typedef struct {
    SimTime at;
    SimCauseId parent;
    SimWait wait;    /* between the parent's @at and this one's */
    uint16_t detail; /* of the model's choice: a label (below), a method, a reason */
} SimCause;

/* The @wait of an entry that is not a link of a chain: see sim_trace_releaser(). The models' waits
 * are below it. */
#define SIM_RELEASED ((SimWait)31)

typedef struct SimTrace SimTrace;

/* @cold: (borrowed) (nullable): of its entries. Returns: (owned) */
SimTrace *sim_trace_new(SimCold *cold);
void sim_trace_free(SimTrace *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTrace, sim_trace_free)

/* Slow: for many entries see SimTraceReader. */
uint32_t sim_trace_length(const SimTrace *self);

/* Labels: names for details, numbered from 1 in the order in which they come; the same text has the
 * same number. 0 means no label, also for labels that come when there are no numbers left. */
uint16_t sim_trace_label(SimTrace *self, const char *text);
unsigned sim_trace_n_labels(const SimTrace *self);                      /* with that for 0 */
const char *sim_trace_label_text(const SimTrace *self, uint16_t label); /* "" for 0 */

/* ---- Reading ---- */

#define SIM_TRACE_BLOCK 128 /* entries that are packed together */

/* Keeps unpacked blocks, for walks that come to the same entries again and again. */
typedef struct {
    const SimTrace *trace;               /* (borrowed): does not grow meanwhile */
    uint32_t *numbers;                   /* by place: the number of the block + 1; 0: none */
    SimCause (*blocks)[SIM_TRACE_BLOCK]; /* by place: the number of the block, as far as it fits */
    uint32_t place_mask;
} SimTraceReader;

/* @blocks_max: that it keeps; a power of two. Returns: (owned) */
SimTraceReader *sim_trace_reader_new(const SimTrace *trace, unsigned blocks_max);
void sim_trace_reader_free(SimTraceReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimTraceReader, sim_trace_reader_free)
void sim_trace_reader_load(SimTraceReader *self, uint32_t block); /* for sim_trace_read() */

/* Returns: (borrowed): the entry, valid until the next call */
static inline const SimCause *
sim_trace_read(SimTraceReader *self, SimCauseId id)
{
    uint32_t block = id / SIM_TRACE_BLOCK, place = block & self->place_mask;

    if (G_UNLIKELY(self->numbers[place] != block + 1))
        sim_trace_reader_load(self, block);
    return &self->blocks[place][id % SIM_TRACE_BLOCK];
}

/**
 * sim_trace_releaser:
 * Returns: for a wait in a queue, the cause of the job whose end ended the wait; 0: not known.
 * sim_resume_after() keeps it
 */
static inline SimCauseId
sim_trace_releaser(SimTraceReader *self, SimCauseId id)
{
    if (id < 2) /* the start of the run releases nothing */
        return 0;
    const SimCause *companion = sim_trace_read(self, id - 1);
    return companion->wait == SIM_RELEASED ? companion->parent : 0;
}
