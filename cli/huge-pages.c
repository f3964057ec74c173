/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "huge-pages.h"

#include <glib.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE (2 * 1024 * 1024)
/* By so much the heap grows. What is not touched of it takes no memory. */
#define HEAP_STEP (8 * HUGE_PAGE)
/* Smaller blocks are of the heap, not mappings of their own: the most that malloc() allows. */
#define BLOCK_MAX (16 * HUGE_PAGE)

static char *
round_up(char *address)
{
    return address + (-(guintptr)address & (HUGE_PAGE - 1));
}

void
huge_pages_begin(HugePages *self)
{
    mallopt(M_TOP_PAD, HEAP_STEP);
    mallopt(M_TRIM_THRESHOLD, 4 * HEAP_STEP);
    mallopt(M_MMAP_THRESHOLD, BLOCK_MAX);
    self->advised = round_up(sbrk(0));
}

void
huge_pages_follow(HugePages *self)
{
    if (self->advised == NULL)
        return;
    char *end = sbrk(0);
    size_t grown = end > self->advised ? (size_t)(end - self->advised) : 0;

    if (grown < HUGE_PAGE)
        return;
    madvise(self->advised, grown, MADV_HUGEPAGE);
    self->advised = round_up(end);
}
