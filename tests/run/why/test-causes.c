/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "run/why/question.h"
#include "tests/plan/rule-walk.h"

/* The tables of why: exactly one row for each set of facts, and a way out of each cause. */

static void
one_row_applies_to_all_facts(void **state)
{
    (void)state;
    for (unsigned i = 0; why_tables[i] != NULL; i++) {
        g_autofree char *fault = rules_fault(why_tables[i]);
        if (fault != NULL)
            fail_msg("%s", fault);
    }
}

static void
causes_are_sorted_and_tell_a_way_out(void **state)
{
    (void)state;
    assert_string_equal(why_cause_at(0)->id, "none");
    for (unsigned i = 1; i < why_n_causes(); i++) {
        const Cause *cause = why_cause_at(i);
        if (i > 1)
            assert_true(strcmp(why_cause_at(i - 1)->id, cause->id) < 0);
        assert_true(g_str_has_suffix(cause->unblock, ".") ||
                    g_str_has_suffix(cause->unblock, "..."));
        assert_ptr_equal(why_cause_find(cause->id), cause);
    }
}

/* What stands in braces is filled in, or is a part of a patch. */
static void
commands_name_the_object_at_fault(void **state)
{
    (void)state;
    for (unsigned i = 0; i < why_n_causes(); i++) {
        const char *command = why_cause_at(i)->command;
        if (command == NULL)
            continue;
        assert_true(g_str_has_prefix(command, "kubectl "));
        assert_non_null(strstr(command, "{name}"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_applies_to_all_facts),
        cmocka_unit_test(causes_are_sorted_and_tell_a_way_out),
        cmocka_unit_test(commands_name_the_object_at_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
