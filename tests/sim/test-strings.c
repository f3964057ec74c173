/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/strings.h"
#include "tests/lib/test.h"

#include <string.h>

/* Interned strings: equal texts have one address. */

#define N_TEXTS 100000 /* the table grows several times */

static int
strings_set_up(void **state)
{
    *state = strings_new();
    return 0;
}

static int
strings_tear_down(void **state)
{
    strings_free(*state);
    return 0;
}

TEST_WITH(strings_set_up, strings_tear_down, equal_texts_have_one_address)
{
    g_autofree const char **known = g_new(const char *, N_TEXTS);

    for (int i = 0; i < N_TEXTS; i++)
        known[i] = strings_internf(*state, "pvc-%d", i);
    for (int i = 0; i < N_TEXTS; i++) {
        g_autofree char *copy = g_strdup_printf("pvc-%d", i);
        assert_ptr_equal(strings_intern(*state, copy), known[i]);
        assert_ptr_equal(strings_find(*state, copy), known[i]);
    }
    assert_null(strings_find(*state, "pvc--1"));
}

/* A text that was just made has its address still. Two texts in one buffer have two. */
TEST_WITH(strings_set_up, strings_tear_down, texts_without_changes)
{
    const char *made[6]; /* more than are remembered */
    char buffer[16];

    for (int i = 0; i < 6; i++) {
        made[i] = strings_internf(*state, "timed out after %d s", i);
        for (int k = 0; k <= i; k++)
            assert_ptr_equal(strings_internf(*state, "%s", made[k]), made[k]);
    }
    g_strlcpy(buffer, "first", sizeof buffer);
    const char *first = strings_internf(*state, "%s", buffer);
    g_strlcpy(buffer, "second", sizeof buffer);
    const char *second = strings_internf(*state, "%s", buffer);
    assert_string_equal(first, "first");
    assert_string_equal(second, "second");
}

/* Formats of the fast way, and formats that only the slow way can write. */
TEST_WITH(strings_set_up, strings_tear_down, formats)
{
    g_autofree char *long_text = g_strnfill(1000, 'x');

    assert_string_equal(strings_internf(*state, "%s: %d of %u, 100 %%", "a", -3, 7u),
                        "a: -3 of 7, 100 %");
    assert_string_equal(strings_internf(*state, "%d", INT32_MIN), "-2147483648");
    assert_string_equal(strings_internf(*state, "%04x", 0xbeefu), "beef");
    assert_string_equal(strings_internf(*state, "%s", long_text), long_text);
}

/* A list finds an interned item by its address, and any other by its text. */
TEST_WITH(strings_set_up, strings_tear_down, lists_find_items)
{
    const char *items[] = {strings_intern(*state, "a"), strings_intern(*state, "b")};
    g_autoptr(StringList) list = string_list_new(items, 2);
    char copy[] = "b";

    assert_true(string_list_has_interned(list, strings_intern(*state, copy)));
    assert_false(string_list_has_interned(list, strings_intern(*state, "c")));
    assert_false(string_list_has_interned(NULL, items[0]));
    assert_true(string_list_has(list, copy));
    assert_false(string_list_has(list, "c"));
}
