/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdint.h>

#include "sim/cold.h"

/* The old part of a hash table that only grows: what is hardly ever looked up again lies in memory
 * for logs. A filter of ten bits for each entry stays, and tells that nearly all new keys are not
 * here. */
typedef struct SimFrozen SimFrozen;

typedef struct {
    uint32_t hash;
    uint32_t value; /* not 0 */
} SimFrozenEntry;

#define SIM_FROZEN_PART 16384 /* entries that are frozen together */

/* @cold: (borrowed): outlives it */
SimFrozen *sim_frozen_new(SimCold *cold);
void sim_frozen_free(SimFrozen *self);
/* @entries: SIM_FROZEN_PART of them */
void sim_frozen_add(SimFrozen *self, const SimFrozenEntry *entries);
/* @is_it: whether a value of this hash is the wanted one. Returns: it; 0: there is none */
uint32_t sim_frozen_find(const SimFrozen *self,
                         uint32_t hash,
                         gboolean (*is_it)(const void *data, uint32_t value),
                         const void *data);
