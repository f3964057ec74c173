/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/lib/test.h"

#include <glib.h>

/* The linker names the ends of a section that is called as a variable may be. */
extern const TestCases *const __start_test_cases[], *const __stop_test_cases[];

/* Compilers order the variables of a section as they like. */
static int
compare_lines(const void *a, const void *b)
{
    const TestCases *const *first = a, *const *second = b;

    return (*first)->line < (*second)->line ? -1 : (*first)->line > (*second)->line;
}

static void
add_cases(GArray *tests, const TestCases *cases)
{
    struct CMUnitTest test = {cases->name, cases->run, cases->set_up, cases->tear_down, NULL};

    if (cases->rows == NULL)
        g_array_append_val(tests, test);
    for (size_t i = 0; i < cases->n_rows; i++) {
        const char *const *row = (const void *)((const char *)cases->rows + i * cases->row_size);
        test.name = *row;
        test.initial_state = (void *)row; /* only read */
        g_array_append_val(tests, test);
    }
}

int
main(void)
{
    size_t n = (size_t)(__stop_test_cases - __start_test_cases);
    g_autofree const TestCases **all = g_memdup2(__start_test_cases, n * sizeof *all);
    g_autoptr(GArray) tests = g_array_new(FALSE, FALSE, sizeof(struct CMUnitTest));
    CMFixtureFunction set_up = NULL, tear_down = NULL;

    qsort(all, n, sizeof *all, compare_lines);
    for (size_t i = 0; i < n; i++) {
        if (all[i]->run != NULL) {
            add_cases(tests, all[i]);
        } else {
            set_up = all[i]->set_up;
            tear_down = all[i]->tear_down;
        }
    }
    return _cmocka_run_group_tests(g_get_prgname(), (const struct CMUnitTest *)(void *)tests->data,
                                   tests->len, set_up, tear_down);
}
