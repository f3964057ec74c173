/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memory.h"

#include <stdint.h>

#define CHUNK_SIZE (64 * 1024)
#define CACHE_LINE 64
/* Stands in front of a chunk: a link to the chunk before, padded so that blocks are aligned. */
#define CHUNK_HEADER CACHE_LINE

SimMemory *
sim_memory_new(void)
{
    return g_new0(SimMemory, 1);
}

void
sim_memory_destroy(SimMemory *self)
{
    if (self == NULL)
        return;
    while (self->chunks != NULL) {
        SimMemoryBlock *chunk = self->chunks;
        self->chunks = chunk->next;
        g_aligned_free(chunk);
    }
    g_free(self);
}

#ifndef __SANITIZE_ADDRESS__
static void
add_chunk(SimMemory *self)
{
    SimMemoryBlock *chunk = g_aligned_alloc(1, CHUNK_HEADER + CHUNK_SIZE, CACHE_LINE);

    chunk->next = self->chunks;
    self->chunks = chunk;
    self->fresh = (char *)chunk + CHUNK_HEADER;
    self->fresh_end = self->fresh + CHUNK_SIZE;
}
#endif

void *
sim_memory_take_fresh(SimMemory *self, size_t size)
{
#ifndef __SANITIZE_ADDRESS__
    if (size <= SIM_MEMORY_MAX) {
        size_t rounded = (size + SIM_MEMORY_GRAIN - 1) / SIM_MEMORY_GRAIN * SIM_MEMORY_GRAIN;
        if (rounded % CACHE_LINE == 0) /* then it needs no more lines than necessary */
            self->fresh += -(uintptr_t)self->fresh % CACHE_LINE;
        if (self->fresh_end - self->fresh < (ptrdiff_t)rounded)
            add_chunk(self); /* the rest of the old chunk is less than a block */
        void *block = self->fresh;
        self->fresh += rounded;
        return block;
    }
#else
    (void)self;
#endif
    return g_malloc(size);
}
