/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/object.h"

/* Creations and deletions that a controller has ordered, but has not seen in its watch yet (WL-4).
 * Until it has seen them it decides nothing new. All zero: it waits for nothing. */
typedef struct {
    int32_t n_creations, n_deletions;
    SimTime since;
    GHashTable *deletions; /* of const ObjectKey: of the pods; NULL: none yet */
} Expectations;

#define EXPECTATIONS_TIMEOUT (5 * SIM_MINUTE)

void expectations_clear(Expectations *self);
void expect_creations(Expectations *self, int32_t n, SimTime now);
/* @keys: of const ObjectKey */
void expect_deletions(Expectations *self, const GPtrArray *keys, SimTime now);
/* One order was seen, or has failed. */
void expectations_creation_seen(Expectations *self);
void expectations_deletion_seen(Expectations *self, const ObjectKey *key);
/* Whether all orders were seen, or the wait has timed out. */
gboolean expectations_are_met(const Expectations *self, SimTime now);
