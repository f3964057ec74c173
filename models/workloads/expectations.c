/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/expectations.h"

void
expectations_clear(Expectations *self)
{
    g_clear_pointer(&self->deletions, g_hash_table_unref);
    *self = (Expectations){0};
}

void
expect_creations(Expectations *self, int32_t n, SimTime now)
{
    expectations_clear(self);
    self->n_creations = n;
    self->since = now;
}

void
expect_deletions(Expectations *self, const GPtrArray *keys, SimTime now)
{
    expectations_clear(self);
    self->n_deletions = (int32_t)keys->len;
    self->since = now;
    self->deletions = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (unsigned i = 0; i < keys->len; i++)
        g_hash_table_add(self->deletions, keys->pdata[i]);
}

void
expectations_creation_seen(Expectations *self)
{
    self->n_creations--;
}

void
expectations_deletion_seen(Expectations *self, const ObjectKey *key)
{
    if (self->deletions != NULL && g_hash_table_remove(self->deletions, key))
        self->n_deletions--;
}

gboolean
expectations_are_met(const Expectations *self, SimTime now)
{
    return (self->n_creations <= 0 && self->n_deletions <= 0) ||
           now - self->since > EXPECTATIONS_TIMEOUT;
}
