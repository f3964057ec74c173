/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "printable.h"

#include <string.h>

char *
printable(const char *text, const char *keep)
{
    GString *shown = g_string_new(NULL);

    while (*text != '\0') {
        size_t n_plain = 0;
        while (text[n_plain] >= ' ' && text[n_plain] <= '~')
            n_plain++;
        g_string_append_len(shown, text, (gssize)n_plain);
        text += n_plain;
        if (*text == '\0')
            break;
        gunichar letter = g_utf8_get_char_validated(text, -1);
        gboolean is_utf8 = letter != (gunichar)-1 && letter != (gunichar)-2;
        const char *next = is_utf8 ? g_utf8_next_char(text) : text + 1;

        if (is_utf8 && (!g_unichar_iscntrl(letter) || (*text > 0 && strchr(keep, *text) != NULL)))
            g_string_append_len(shown, text, next - text);
        else if (*text == '\n' || *text == '\t')
            g_string_append(shown, *text == '\n' ? "\\n" : "\\t");
        else
            for (; text < next; text++)
                g_string_append_printf(shown, "\\x%02x", (unsigned char)*text);
        text = next;
    }
    return g_string_free(shown, FALSE);
}
