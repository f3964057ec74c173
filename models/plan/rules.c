/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rules.h"

gboolean
rule_applies(const Rule *self, uint32_t facts, const Release *release)
{
    return (facts & self->all) == self->all && (facts & self->none) == 0 &&
           (self->any == 0 || (facts & self->any) != 0) &&
           (self->since == 0 || release->minor >= self->since) &&
           (self->until == 0 || release->minor < self->until) &&
           (self->gate == NULL || release_has_gate(release, self->gate)) &&
           (self->no_gate == NULL || !release_has_gate(release, self->no_gate));
}

const Rule *
rules_find(const RuleTable *self, uint32_t facts, const Release *release)
{
    for (unsigned i = 0; i < self->n_rows; i++)
        if (rule_applies(&self->rows[i], facts, release))
            return &self->rows[i];
    g_error("%s: no rule for facts %#x", self->name, facts);
}
