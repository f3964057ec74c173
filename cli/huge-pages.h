/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

/* The heap of the process in huge pages, where the kernel has them to give (madvise or always in
 * /sys/kernel/mm/transparent_hugepage/enabled): what a large run touches lies strewn over
 * gigabytes, and with pages of 4 KiB the processor looks up where nearly every time. For programs
 * that do one run: of memory that others have it knows nothing. */
typedef struct {
    char *advised; /* so far the kernel knows; NULL: huge pages are not asked for */
} HugePages;

/* From now on the heap grows in large steps. */
void huge_pages_begin(HugePages *self);
/* To be called now and then: tells the kernel of what the heap has grown by. Costs next to nothing
 * if it has not. */
void huge_pages_follow(HugePages *self);
