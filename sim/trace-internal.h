/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "trace.h"

/* The engine adds an entry for nearly every event, so the code is inline. Chunks never move; only
 * the list of chunks grows. */
#define TRACE_CHUNK_BITS 16 /* 1 MiB of entries */
#define TRACE_CHUNK_LENGTH (1u << TRACE_CHUNK_BITS)

struct SimTrace {
    SimCold *cold;   /* (borrowed) (nullable) */
    SimCause *chunk; /* the chunk being filled */
    uint32_t length;
    GPtrArray *chunks;
    GPtrArray *labels;   /* of strings (owned), by number; the first is "" */
    GHashTable *numbers; /* label -> number */
};

void sim_trace_grow(SimTrace *self);

static inline SimCause *
sim_trace_entry(const SimTrace *self, SimCauseId id)
{
    SimCause *chunk = g_ptr_array_index(self->chunks, id >> TRACE_CHUNK_BITS);
    return &chunk[id % TRACE_CHUNK_LENGTH];
}

/* Appends without reading the parent: the caller knows that time has passed since. */
static inline SimCauseId
sim_trace_append(SimTrace *self, SimCauseId parent, SimTime at, SimWait wait, uint16_t detail)
{
    SimCauseId id = self->length;

    if (G_UNLIKELY(id % TRACE_CHUNK_LENGTH == 0))
        sim_trace_grow(self);
    self->chunk[id % TRACE_CHUNK_LENGTH] =
        (SimCause){.at = at, .parent = parent, .wait = wait, .detail = detail};
    self->length = id + 1;
    return id;
}
