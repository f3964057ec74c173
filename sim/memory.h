/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Memory for structs that come and go with every event: a list of free blocks for each size, so
 * taking and giving back is a few instructions. One per run, so there are no locks; the system gets
 * the memory back at the end of the run. Under AddressSanitizer every block comes from malloc(), so
 * that it finds uses after the end. */
typedef struct SimMemory SimMemory;

#define SIM_MEMORY_GRAIN 16 /* sizes are rounded up to multiples; blocks are aligned so */
#define SIM_MEMORY_MAX 2048 /* larger blocks come from malloc() */

SimMemory *sim_memory_new(void);
void sim_memory_destroy(SimMemory *self); /* also frees all blocks that are still taken */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimMemory, sim_memory_destroy)

typedef struct SimMemoryBlock SimMemoryBlock;
struct SimMemoryBlock {
    SimMemoryBlock *next;
};

struct SimMemory {
    SimMemoryBlock *free[SIM_MEMORY_MAX / SIM_MEMORY_GRAIN + 1];
    char *fresh, *fresh_end; /* the untouched rest of the newest chunk */
    SimMemoryBlock *chunks;
};

void *sim_memory_take_fresh(SimMemory *self, size_t size);

/* Returns: (owned): an uninitialised block; give it back with the same @size */
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
