/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

/* Worlds small enough for all their interleavings: one claim, one volume, one pod, two processes
 * whose messages may fare badly. */
typedef struct {
    const char *name; /* NULL: the end of the list */
    const char *processes[2];
    const char *(*driver_of)(const char *process); /* NULL: it is no sidecar */
    const char *text;                              /* of trial.h */
} SmallWorld;

extern const SmallWorld small_worlds[];

/* A row of a table of rules that does what another row does. */
typedef struct {
    const SmallWorld *world;
    const char *table;   /* NULL: the end of the list */
    unsigned row, other; /* from 0 */
} PlantedBug;

extern const PlantedBug planted_bugs[];
