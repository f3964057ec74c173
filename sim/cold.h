/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Memory for logs: blocks that are filled once and hardly ever read again. They lie in a file
 * without a name and leave the process's memory soon; reading brings them back. All functions take
 * NULL, which is ordinary memory. */
typedef struct SimCold SimCold;

/**
 * sim_cold_new:
 * @folder: where its file is made; needs room for all that is taken: afterwards blocks are ordinary
 * memory
 * Returns: (owned): %NULL: no file can be made there
 */
SimCold *sim_cold_new(const char *folder);
/* All its blocks end with it. */
void sim_cold_free(SimCold *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimCold, sim_cold_free)

/* Returns: (owned): uninitialised */
void *sim_cold_take(SimCold *self, gsize size);
/* Only of NULL's blocks the memory is free at once. */
void sim_cold_give(SimCold *self, void *block);

/* An array that only grows, in blocks: elements never move. */
typedef struct {
    SimCold *cold;     /* (borrowed) (nullable) */
    GPtrArray *blocks; /* (owned), by sim_cold_give() */
    gsize element_size;
    unsigned len;
} SimLog;

#define SIM_LOG_BLOCK 512 /* elements */

SimLog *sim_log_new(SimCold *cold, gsize element_size);
void sim_log_free(SimLog *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SimLog, sim_log_free)
/* Returns: (borrowed): the place of a new element: uninitialised */
void *sim_log_append(SimLog *self);

static inline void *
sim_log_at(const SimLog *self, unsigned i)
{
    return (char *)self->blocks->pdata[i / SIM_LOG_BLOCK] + i % SIM_LOG_BLOCK * self->element_size;
}

#define sim_log_index(log, Type, i) (*(Type *)sim_log_at((log), (i)))
