/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/files/printable.h"

/* No text of a stranger commands a terminal or begins a line; all that can be read stays. */
static void
control_characters_are_escaped(void **state)
{
    static const struct {
        const char *text, *keep, *shown;
    } cases[] = {
        {"",                     "",   ""                    },
        {"plain, \"quoted\" \\", "",   "plain, \"quoted\" \\"},
        {"声明 ok é",         "",   "声明 ok é"        },
        {"\x1b[31mred",          "",   "\\x1b[31mred"        },
        {"a\nb\tc\r",            "",   "a\\nb\\tc\\x0d"      },
        {"a\nb\x07",             "\n", "a\nb\\x07"           },
        {"\x7f",                 "",   "\\x7f"               },
        {"\xc2\x9b"
         "31m",         "",   "\\xc2\\x9b31m"       }, /* U+009B, CSI */
        {"\xff\xfe",             "",   "\\xff\\xfe"          },
        {"cut \xe5\xa3",         "",   "cut \\xe5\\xa3"      },
    };

    (void)state;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *shown = printable(cases[i].text, cases[i].keep);

        assert_string_equal(shown, cases[i].shown);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_escaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
