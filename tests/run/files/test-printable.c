/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "run/files/printable.h"
#include "tests/lib/test.h"

/* No text of a stranger commands a terminal or begins a line; all that can be read stays. */
TEST(control_characters_are_escaped)
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

    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *shown = printable(cases[i].text, cases[i].keep);

        assert_string_equal(shown, cases[i].shown);
    }
}
