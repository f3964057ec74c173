/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slots.h"

#include <string.h>

static void
slots_grow(SimSlots *self, uint32_t page)
{
    uint32_t n_pages = MAX(page + 1, self->n_pages + self->n_pages / 4);

    self->pages = g_renew(char *, self->pages, n_pages);
    memset(self->pages + self->n_pages, 0, (n_pages - self->n_pages) * sizeof self->pages[0]);
    self->n_pages = n_pages;
}

/* Frees the next page if it is all zeros. */
static void
sweep_next(SimSlots *self, uint32_t made, gsize size)
{
    uint32_t page = self->next_swept % self->n_pages;

    while (self->pages[page] == NULL) /* the page that was made is there */
        page = (page + 1) % self->n_pages;
    self->next_swept = page + 1;
    const char *bytes = self->pages[page];
    if (page == made || bytes[0] != 0 || memcmp(bytes, bytes + 1, size - 1) != 0)
        return;
    g_free(self->pages[page]);
    self->pages[page] = NULL;
}

void *
sim_slots_place_slowly(SimSlots *self, uint32_t slot)
{
    uint32_t page = slot / SIM_SLOTS_PAGE;
    gsize size = (gsize)SIM_SLOTS_PAGE * self->element_size;

    if (page >= self->n_pages)
        slots_grow(self, page);
    if (self->pages[page] == NULL) {
        self->pages[page] = memset(sim_cold_take(self->cold, size), 0, size);
        /* Two for each that is made: pages of zeros are hardly ever more than the others. */
        for (unsigned i = 0; i < 2 && self->cold == NULL; i++)
            sweep_next(self, page, size);
    }
    return self->pages[page] + slot % SIM_SLOTS_PAGE * self->element_size;
}

void
sim_slots_clear(SimSlots *self)
{
    for (uint32_t i = 0; i < self->n_pages; i++)
        sim_cold_give(self->cold, self->pages[i]);
    g_free(self->pages);
    self->pages = NULL;
    self->n_pages = 0;
}
