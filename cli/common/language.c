/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "language.h"

#include <libintl.h>
#include <locale.h>
#include <string.h>

#include "cli.h"

#define DOMAIN "kvolsim"

static const struct {
    const char *name;   /* of --lang */
    const char *locale; /* of its catalogue of messages; NULL: it needs none */
} languages[] = {
    {"en", NULL   },
    {"zh", "zh_CN"},
};

/* The same order as gettext: $LANGUAGE, unless the locale for messages is C; else that locale.
 * setlocale() cannot tell: many machines have only the locales C and C.UTF-8. */
static const char *
environment_language(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    const char *locale = NULL, *preferred = g_getenv("LANGUAGE");

    for (unsigned i = 0; i < G_N_ELEMENTS(variables) && (locale == NULL || *locale == '\0'); i++)
        locale = g_getenv(variables[i]);
    if (locale == NULL || *locale == '\0' || strcmp(locale, "C") == 0 ||
        strcmp(locale, "POSIX") == 0)
        return "en";
    return preferred != NULL && *preferred != '\0' ? preferred : locale;
}

static const char *
translate(const char *english)
{
    return *english != '\0' ? dgettext(DOMAIN, english) : english;
}

/* Sets the language of messages only: numbers are the same in every language. */
static gboolean
has_messages(const char *locale)
{
    g_autofree char *folder = cli_locale_dir();

    g_setenv("LANGUAGE", locale, TRUE);
    bindtextdomain(DOMAIN, folder);
    bind_textdomain_codeset(DOMAIN, "UTF-8");
    /* gettext ignores $LANGUAGE in the locale C; Debian 13's gettext ignores it in all named C.*,
     * and many machines have no other locale. glibc takes C.UTF-8 for C_CN.UTF-8, and gettext sees
     * another name. The translation of the empty text is the catalogue's header: if there is one,
     * there is a catalogue. */
    return (setlocale(LC_MESSAGES, "C_CN.UTF-8") != NULL ||
            setlocale(LC_MESSAGES, "C.UTF-8") != NULL) &&
           *dgettext(DOMAIN, "") != '\0';
}

gboolean
language_choose(const char *name, Translation *translation)
{
    const char *wanted = name != NULL ? name : environment_language();

    *translation = NULL;
    for (unsigned i = 0; i < G_N_ELEMENTS(languages); i++) {
        gsize length = strlen(languages[i].name);

        if (strncmp(wanted, languages[i].name, length) != 0 || g_ascii_isalpha(wanted[length]))
            continue;
        if (languages[i].locale == NULL)
            return TRUE;
        if (has_messages(languages[i].locale)) {
            *translation = translate;
            return TRUE;
        }
        if (name != NULL)
            cli_error("--lang %s: the messages are missing (%s.mo), or the locale C.UTF-8", name,
                      DOMAIN);
        return name == NULL;
    }
    if (name != NULL)
        cli_error("--lang: \"%s\" is none of en, zh", name);
    return name == NULL;
}

Translation
language_for(const char *name)
{
    Translation translation = NULL;

    for (unsigned i = 0; name != NULL && i < G_N_ELEMENTS(languages); i++)
        if (strcmp(languages[i].name, name) == 0 && languages[i].locale != NULL &&
            has_messages(languages[i].locale))
            translation = translate;
    if (translation == NULL)
        setlocale(LC_MESSAGES, "C");
    return translation;
}
