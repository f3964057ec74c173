/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "sim/cold.h"

/* An array by slot that grows on demand, in pages. An element that was never placed is zero. Pages
 * of objects that are gone do not stay in memory: in ordinary memory a page is freed some time
 * after the last element of it became zero; in memory for logs it stays as it is, and leaves the
 * process. Zeroed memory, but for @element_size and @cold, is an empty array. */
typedef struct {
    SimCold *cold; /* (borrowed) (nullable) */
    char **pages;  /* (owned): NULL: all elements are zero */
    uint32_t n_pages;
    uint32_t next_swept; /* the page that is looked at next, whether it can be freed */
    uint32_t element_size;
} SimSlots;

#define SIM_SLOTS_PAGE 128 /* elements */

/* Frees the pages, not what elements point to. */
void sim_slots_clear(SimSlots *self);
void *sim_slots_place_slowly(SimSlots *self, uint32_t slot);

/* Returns: (nullable) (borrowed): the element; %NULL: it was never placed, so it is zero */
static inline void *
sim_slots_find(const SimSlots *self, uint32_t slot)
{
    uint32_t page = slot / SIM_SLOTS_PAGE;

    if (page >= self->n_pages || self->pages[page] == NULL)
        return NULL;
    return self->pages[page] + slot % SIM_SLOTS_PAGE * self->element_size;
}

/* Returns: (borrowed): the element, made if need be; until another is made, or, if it is not all
 * zero, as long as it is not */
static inline void *
sim_slots_place(SimSlots *self, uint32_t slot)
{
    void *place = sim_slots_find(self, slot);

    return place != NULL ? place : sim_slots_place_slowly(self, slot);
}

/* Of an array of pointers. Returns: (nullable): the pointer */
static inline void *
sim_slots_pointer(const SimSlots *self, uint32_t slot)
{
    void **place = sim_slots_find(self, slot);

    return place == NULL ? NULL : *place;
}

/* Returns: a slot beyond all that were placed */
static inline uint32_t
sim_slots_end(const SimSlots *self)
{
    return self->n_pages * SIM_SLOTS_PAGE;
}

/* Returns: the first slot from @slot on that has a place; sim_slots_end(): there is none */
static inline uint32_t
sim_slots_next(const SimSlots *self, uint32_t slot)
{
    uint32_t page = slot / SIM_SLOTS_PAGE;

    if (page < self->n_pages && self->pages[page] != NULL)
        return slot;
    while (page < self->n_pages && self->pages[page] == NULL)
        page++;
    return page * SIM_SLOTS_PAGE;
}

/* Walks all slots from 0 on that have a place. */
#define SIM_SLOTS_EACH(slots, slot)                                                                \
    for (uint32_t slot = 0; (slot = sim_slots_next(slots, slot)) < sim_slots_end(slots); slot++)
