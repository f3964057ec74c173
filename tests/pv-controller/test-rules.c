/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pv-controller/rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the four above. */
#include <cmocka.h>

static const struct {
    const char *name;
    const PvRules *rules;
    uint32_t facts_end;
} tables[] = {
    {"unbound claims", &unbound_claim_rules, CLAIM_FACTS_END },
    {"bound claims",   &bound_claim_rules,   CLAIM_FACTS_END },
    {"volumes",        &volume_rules,        VOLUME_FACTS_END},
};

static void
exactly_one_rule_applies(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++)
        for (uint32_t facts = 0; facts < tables[i].facts_end; facts++)
            if (pv_rules_matching(tables[i].rules, facts) != 1)
                fail_msg("%s: %u rules for facts %#x", tables[i].name,
                         pv_rules_matching(tables[i].rules, facts), facts);
}

static void
every_rule_can_apply(void **state)
{
    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(tables); i++)
        for (unsigned k = 0; k < tables[i].rules->n_rules; k++) {
            const PvRule *rule = &tables[i].rules->rules[k];
            assert_ptr_equal(pv_rule_for(tables[i].rules, rule->all), rule);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_one_rule_applies),
        cmocka_unit_test(every_rule_can_apply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
