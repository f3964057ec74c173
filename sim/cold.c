/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_TMPFILE */
#endif
#include "cold.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* The file grows by this much. */
#define PIECE_SIZE ((gsize)16 << 20)
/* So much may be taken until what was taken leaves memory. */
#define WARM_SIZE ((gsize)4 << 20)
#define ALIGNMENT 64 /* of the keys of objects */

struct SimCold {
    int file;
    GPtrArray *pieces;   /* mappings of the file */
    gsize n_used;        /* bytes of the last piece */
    gsize n_warm;        /* bytes taken since the last release */
    GPtrArray *ordinary; /* (owned): blocks that found no room in the file */
    gboolean is_full;
};

SimCold *
sim_cold_new(const char *folder)
{
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (file < 0)
        return NULL;
    SimCold *self = g_new0(SimCold, 1);
    *self = (SimCold){.file = file,
                      .pieces = g_ptr_array_new(),
                      .n_used = PIECE_SIZE,
                      .ordinary = g_ptr_array_new_with_free_func(g_free)};
    return self;
}

void
sim_cold_free(SimCold *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->pieces->len; i++)
        munmap(self->pieces->pdata[i], PIECE_SIZE);
    g_ptr_array_unref(self->pieces);
    g_ptr_array_unref(self->ordinary);
    close(self->file);
    g_free(self);
}

/* Room in the file is taken first: a full disk would kill a writer to the mapping. */
static gboolean
add_piece(SimCold *self)
{
    off_t at = (off_t)(self->pieces->len * PIECE_SIZE);

    if (self->is_full || posix_fallocate(self->file, at, (off_t)PIECE_SIZE) != 0)
        return FALSE;
    void *piece = mmap(NULL, PIECE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, self->file, at);
    if (piece == MAP_FAILED)
        return FALSE;
    g_ptr_array_add(self->pieces, piece);
    self->n_used = 0;
    return TRUE;
}

/* The pages stay in the system's cache for files as long as there is room, and can be read. */
static void
cold_release(SimCold *self)
{
    for (unsigned i = 0; i < self->pieces->len; i++)
        madvise(self->pieces->pdata[i], PIECE_SIZE, MADV_DONTNEED);
    self->n_warm = 0;
}

void *
sim_cold_take(SimCold *self, gsize size)
{
    if (self == NULL)
        return g_malloc(size);
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > PIECE_SIZE || (size > PIECE_SIZE - self->n_used && !add_piece(self))) {
        self->is_full = self->is_full || size <= PIECE_SIZE;
        g_ptr_array_add(self->ordinary, g_malloc(size));
        return self->ordinary->pdata[self->ordinary->len - 1];
    }
    if (self->n_warm > WARM_SIZE)
        cold_release(self);
    void *block = (char *)self->pieces->pdata[self->pieces->len - 1] + self->n_used;
    self->n_used += size;
    self->n_warm += size;
    return block;
}

void
sim_cold_give(SimCold *self, void *block)
{
    if (self == NULL)
        g_free(block);
}

SimLog *
sim_log_new(SimCold *cold, gsize element_size)
{
    SimLog *self = g_new0(SimLog, 1);

    *self = (SimLog){.cold = cold, .blocks = g_ptr_array_new(), .element_size = element_size};
    return self;
}

void
sim_log_free(SimLog *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->blocks->len; i++)
        sim_cold_give(self->cold, self->blocks->pdata[i]);
    g_ptr_array_unref(self->blocks);
    g_free(self);
}

void *
sim_log_append(SimLog *self)
{
    if (self->len % SIM_LOG_BLOCK == 0)
        g_ptr_array_add(self->blocks,
                        sim_cold_take(self->cold, SIM_LOG_BLOCK * self->element_size));
    self->len++;
    return sim_log_at(self, self->len - 1);
}
