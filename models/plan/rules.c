/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rules.h"
#include "models/plan/plan-test.h"

/* Right unless a row wants and forbids the same fact: rule_applies() tells that it never applies */
static inline gboolean
has_all_and_none(const Rule *self, uint32_t facts)
{
    return (facts & (self->all | self->none)) == self->all;
}

gboolean
rule_applies(const Rule *self, uint32_t facts, const Release *release)
{
    return has_all_and_none(self, facts) && (facts & self->none) == 0 &&
           (self->any == 0 || (facts & self->any) != 0) &&
           (self->since == 0 || release->minor >= self->since) &&
           (self->until == 0 || release->minor < self->until) &&
           (self->gate == NULL || release_has_gate(release, self->gate)) &&
           (self->no_gate == NULL || !release_has_gate(release, self->no_gate));
}

const Rule *
rules_find(const RuleTable *self, uint32_t facts, const Release *release)
{
    const Rule *end = self->rows + self->n_rows;

    for (const Rule *rule = self->rows; rule < end; rule++)
        if (has_all_and_none(rule, facts) && rule_applies(rule, facts, release))
            return rule;
    g_error("%s: no rule for facts %#x", self->name, facts);
}
