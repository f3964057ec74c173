/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster/model.h"
#include "tests/lib/test.h"
#include "tests/plan/rule-walk.h"

/* The decision tables of all models: exactly one row applies to every possible set of facts, and
 * every row applies to some set. */

static void
table_is_sound(void **state)
{
    g_autofree char *fault = rules_fault(*state);

    if (fault != NULL)
        fail_msg("%s", fault);
}

int
main(void)
{
    g_autoptr(GArray) tests = g_array_new(FALSE, TRUE, sizeof(struct CMUnitTest));
    unsigned n_rows = 0;

    for (unsigned i = 0; model_classes[i] != NULL; i++)
        for (unsigned k = 0;
             model_classes[i]->rule_tables != NULL && model_classes[i]->rule_tables[k] != NULL;
             k++) {
            const RuleTable *table = model_classes[i]->rule_tables[k];
            const struct CMUnitTest test = {
                .name = table->name, .test_func = table_is_sound, .initial_state = (void *)table};

            g_array_append_val(tests, test);
            n_rows += table->n_rows;
        }
    print_message("# %u rows in %u tables\n", n_rows, tests->len);
    return _cmocka_run_group_tests("rule tables", (const struct CMUnitTest *)(void *)tests->data,
                                   tests->len, NULL, NULL);
}
