/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "paint.h"

#include <string.h>
#include <unistd.h>

#include "run/files/printable.h"

/* The painted parts of tables and messages, each with the number of ECMA-48's Select Graphic
 * Rendition. */
static const struct {
    const char *pattern;
    unsigned rendition;
} paints[] = {
    {"^kvolsim(?=: )",                               31}, /* red: a fault */
    {"^[^ :\n]+:[0-9]+(:[0-9]+)?(?=: )",             1 }, /* bold: its place */
    {"^(warning|ignored)(?=: )",                     33}, /* yellow */
    {"(?<=^slo     |^expect  )NOT MET",              31},
    {"(?<=^slo     |^expect  )met",                  32}, /* green */
    {"\\b(DIFFERS|differ)$",                         31},
    {"^[A-Z][A-Z-]+( [A-Z(]\\S*)*( {2,}| \\(|:).*$", 1 }, /* the head of a table */
};

gboolean
paint_choose(const char *when)
{
    if (when == NULL || strcmp(when, "auto") == 0)
        return TRUE;
    if (strcmp(when, "never") == 0)
        return g_setenv("NO_COLOR", "1", TRUE);
    g_unsetenv("NO_COLOR");
    return strcmp(when, "always") == 0 && g_setenv("CLICOLOR_FORCE", "1", TRUE);
}

static gboolean
paint_is_set(const char *variable)
{
    const char *value = g_getenv(variable);

    return value != NULL && *value != '\0';
}

static gboolean
is_painted(FILE *to)
{
    if (paint_is_set("NO_COLOR"))
        return FALSE;
    return paint_is_set("CLICOLOR_FORCE") ||
           (isatty(fileno(to)) && g_strcmp0(g_getenv("TERM"), "dumb") != 0);
}

void
plain_print(FILE *to, const char *text)
{
    g_autofree char *shown = printable(text, "\n\t");

    fputs(shown, to);
}

void
paint_print(FILE *to, const char *text)
{
    g_autofree char *painted = NULL, *shown = printable(text, "\n\t");

    for (unsigned i = 0; i < G_N_ELEMENTS(paints) && is_painted(to); i++) {
        g_autofree char *replacement = g_strdup_printf("\033[%um\\0\033[0m", paints[i].rendition);
        g_autoptr(GRegex) regex =
            g_regex_new(paints[i].pattern, G_REGEX_MULTILINE | G_REGEX_RAW, 0, NULL);
        char *before = painted != NULL ? painted : g_strdup(shown);
        painted = g_regex_replace(regex, before, -1, 0, replacement, 0, NULL);
        g_free(before);
    }
    fputs(painted != NULL ? painted : shown, to);
}
