/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "trace.h"

/* The engine adds an entry for nearly every event, so the code is inline. The latest entries stand
 * open; a block of them is packed when the next one begins. */
struct SimTrace {
    SimCold *cold; /* (borrowed) (nullable) */
    SimCause open[SIM_TRACE_BLOCK];
    uint32_t length, n_packed; /* entries: of all, of those that are packed */
    GPtrArray *blocks;         /* the packed blocks: each somewhere in a piece */
    GPtrArray *pieces;         /* (owned), by sim_cold_give() */
    uint8_t *free, *free_end;  /* room in the last piece */
    GPtrArray *labels;         /* of strings (owned), by number; the first is "" */
    GHashTable *numbers;       /* label -> number */
};

/* Packs the open block, unless that is done already, since its successor was withdrawn. */
void sim_trace_pack(SimTrace *self);

/* Appends without reading the parent: the caller knows that time has passed since. */
static inline SimCauseId
sim_trace_append(SimTrace *self, SimCauseId parent, SimTime at, SimWait wait, uint16_t detail)
{
    SimCauseId id = self->length;

    if (G_UNLIKELY(id % SIM_TRACE_BLOCK == 0 && id != self->n_packed))
        sim_trace_pack(self);
    self->open[id % SIM_TRACE_BLOCK] =
        (SimCause){.at = at, .parent = parent, .wait = wait, .detail = detail};
    self->length = id + 1;
    return id;
}

/* Takes back the last entry: nobody has asked for it. */
static inline void
sim_trace_withdraw(SimTrace *self, SimCauseId id)
{
    if (id == self->length - 1)
        self->length--;
}
