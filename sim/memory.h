/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Memory for what comes and goes with every event: a list of free blocks per size, so that taking
 * and giving back is a few instructions. One per run, hence no locks; freed blocks go back to the
 * system with the whole. Under AddressSanitizer each block is malloc()'s own, so that nothing is
 * used after its end unseen. */
typedef struct SimMemory SimMemory;

#define SIM_MEMORY_GRAIN 16 /* sizes are rounded up to multiples; blocks are aligned so */
#define SIM_MEMORY_MAX 2048 /* larger blocks are malloc()'s */

SimMemory *sim_memory_new(void);
void sim_memory_destroy(SimMemory *self); /* and all blocks that are still taken */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimMemory, sim_memory_destroy)

typedef struct SimMemoryBlock SimMemoryBlock;
struct SimMemoryBlock {
    SimMemoryBlock *next;
};

struct SimMemory {
    SimMemoryBlock *free[SIM_MEMORY_MAX / SIM_MEMORY_GRAIN + 1];
    char *fresh, *fresh_end; /* what was never taken of the newest chunk */
    SimMemoryBlock *chunks;
};

void *sim_memory_take_fresh(SimMemory *self, size_t size);

/* Returns: (owned): a block that holds anything; give it back with the same @size */
static inline void *
sim_memory_take(SimMemory *self, size_t size)
{
#ifndef __SANITIZE_ADDRESS__
    size_t list = (size + SIM_MEMORY_GRAIN - 1) / SIM_MEMORY_GRAIN;
    SimMemoryBlock *block;

    if (size <= SIM_MEMORY_MAX && (block = self->free[list]) != NULL) {
        self->free[list] = block->next;
        return block;
    }
#endif
    return sim_memory_take_fresh(self, size);
}

/* @block: from sim_memory_take() with this @size, or NULL */
static inline void
sim_memory_give(SimMemory *self, void *block, size_t size)
{
#ifndef __SANITIZE_ADDRESS__
    size_t list = (size + SIM_MEMORY_GRAIN - 1) / SIM_MEMORY_GRAIN;

    if (block != NULL && size <= SIM_MEMORY_MAX) {
        ((SimMemoryBlock *)block)->next = self->free[list];
        self->free[list] = block;
        return;
    }
#else
    (void)self;
    (void)size;
#endif
    g_free(block);
}

#define sim_memory_new_struct(memory, Type) ((Type *)sim_memory_take((memory), sizeof(Type)))
