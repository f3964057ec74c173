/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rule-walk.h"
#include "models/plan/plan-test.h"

#define GATES_MAX 4
#define FIRST_MINOR 18

static gboolean
can_occur(const RuleTable *self, uint32_t facts)
{
    for (unsigned i = 0; i < self->n_bounds; i++) {
        const RuleBound *bound = &self->bounds[i];
        uint32_t chosen = facts & bound->one_of;

        if ((facts & bound->given) != bound->given)
            continue;
        if ((facts & bound->all) != bound->all || (facts & bound->none) != 0)
            return FALSE;
        if (bound->one_of != 0 && (chosen == 0 || (chosen & (chosen - 1)) != 0))
            return FALSE;
    }
    return TRUE;
}

typedef char *(*RuleWalkLook)(const RuleTable *self,
                              uint32_t facts,
                              const Release *release,
                              void *data);

static char *
walk_release(const RuleTable *self, const Release *release, RuleWalkLook look, void *data)
{
    char *fault = NULL;

    for (uint32_t facts = 0; facts < self->facts_end && fault == NULL; facts++)
        if (can_occur(self, facts))
            fault = look(self, facts, release, data);
    return fault;
}

static void
add_gate(const char **gates, unsigned *n_gates, const char *gate)
{
    for (unsigned i = 0; i < *n_gates; i++)
        if (gate == NULL || g_str_equal(gates[i], gate))
            return;
    if (gate != NULL) {
        g_assert(*n_gates < GATES_MAX);
        gates[(*n_gates)++] = gate;
    }
}

/* Every setting of the rows' gates, in this release. */
static char *
walk_gates(const RuleTable *self, int minor, RuleWalkLook look, void *data)
{
    const char *gates[GATES_MAX] = {NULL};
    unsigned n_gates = 0;
    char *fault = NULL;

    for (unsigned i = 0; i < self->n_rows; i++) {
        add_gate(gates, &n_gates, self->rows[i].gate);
        add_gate(gates, &n_gates, self->rows[i].no_gate);
    }
    for (unsigned setting = 0; setting < 1u << n_gates && fault == NULL; setting++) {
        StringPair pairs[GATES_MAX];

        for (unsigned i = 0; i < n_gates; i++)
            pairs[i] = (StringPair){gates[i], setting >> i & 1 ? "true" : "false"};
        g_autoptr(StringMap) map = string_map_new(pairs, n_gates);
        const Release release = {minor, map};
        fault = walk_release(self, &release, look, data);
    }
    return fault;
}

/* All sets, in all releases that the rows tell apart. Returns: (owned): what @look found first */
static char *
rule_walk_walk(const RuleTable *self, RuleWalkLook look, void *data)
{
    char *fault = walk_gates(self, FIRST_MINOR, look, data);

    for (unsigned i = 0; i < self->n_rows && fault == NULL; i++) {
        if (self->rows[i].since > FIRST_MINOR)
            fault = walk_gates(self, self->rows[i].since, look, data);
        if (self->rows[i].until > FIRST_MINOR && fault == NULL)
            fault = walk_gates(self, self->rows[i].until, look, data);
    }
    return fault;
}

/* @data: notes the rows that have applied. */
static char *
expect_one(const RuleTable *self, uint32_t facts, const Release *release, void *data)
{
    gboolean *applied = data;
    const Rule *first = NULL;

    for (unsigned i = 0; i < self->n_rows; i++) {
        if (!rule_applies(&self->rows[i], facts, release))
            continue;
        if (first != NULL)
            return g_strdup_printf("%s: facts %#x in 1.%d: both %s and %s apply", self->name, facts,
                                   release->minor, first->id, self->rows[i].id);
        first = &self->rows[i];
        applied[i] = TRUE;
    }
    if (first != NULL)
        return NULL;
    return g_strdup_printf("%s: facts %#x in 1.%d: no row applies", self->name, facts,
                           release->minor);
}

char *
rules_fault(const RuleTable *self)
{
    g_autofree gboolean *applied = g_new0(gboolean, self->n_rows);
    g_autofree char *fault = rule_walk_walk(self, expect_one, applied);

    for (unsigned i = 0; i < self->n_rows && fault == NULL; i++)
        if (!applied[i])
            fault = g_strdup_printf("%s: %s never applies", self->name, self->rows[i].id);
    return g_steal_pointer(&fault);
}

/* @data: the table of ifs. */
static char *
expect_same(const RuleTable *self, uint32_t facts, const Release *release, void *data)
{
    const RuleTable *ifs = data;
    const Rule *row = rules_find(self, facts, release);

    for (unsigned i = 0; i < ifs->n_rows; i++) {
        const Rule *other = &ifs->rows[i];

        if (!rule_applies(other, facts, release))
            continue;
        if (g_str_equal(row->id, other->id) && row->then == other->then)
            return NULL;
        return g_strdup_printf("%s: facts %#x in 1.%d: the row %s says %d, and the ifs %s %d",
                               self->name, facts, release->minor, row->id, row->then, other->id,
                               other->then);
    }
    return g_strdup_printf("%s: facts %#x in 1.%d: no if holds", self->name, facts, release->minor);
}

char *
rules_differ(const RuleTable *self, const RuleTable *ifs)
{
    return rule_walk_walk(self, expect_same, (void *)ifs);
}
