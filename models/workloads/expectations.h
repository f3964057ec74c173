/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/object.h"

/* What a controller has ordered and not seen yet (WL-4): as long as it waits for watch events of
 * its own creations and deletions it decides nothing new. All zero: it waits for nothing. */
typedef struct {
    int32_t n_creations, n_deletions;
    SimTime since;
    GHashTable *deletions; /* of const ObjectKey: whose; NULL: none yet */
} Expectations;

#define EXPECTATIONS_TIMEOUT (5 * SIM_MINUTE)

void expectations_clear(Expectations *self);
void expect_creations(Expectations *self, int32_t n, SimTime now);
/* @keys: of const ObjectKey */
void expect_deletions(Expectations *self, const GPtrArray *keys, SimTime now);
/* One was seen, or will never be. */
void expectations_creation_seen(Expectations *self);
void expectations_deletion_seen(Expectations *self, const ObjectKey *key);
/* Whether all were seen, or it has waited long enough. */
gboolean expectations_are_met(const Expectations *self, SimTime now);
