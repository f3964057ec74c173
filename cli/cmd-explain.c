/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "look.h"
#include "run/narrator.h"
#include "run/rule-book.h"

static gboolean
parse_level(const char *word, NarratorLevel *level)
{
    static const char *const words[] = {"beginner", "operator", "developer"};

    *level = NARRATOR_OPERATOR;
    if (word == NULL)
        return TRUE;
    for (unsigned i = 0; i < G_N_ELEMENTS(words); i++)
        if (strcmp(word, words[i]) == 0) {
            *level = (NarratorLevel)i;
            return TRUE;
        }
    cli_error("explain: --level: \"%s\" is none (beginner, operator, developer)", word);
    return FALSE;
}

/* One rule a line, and what it says: for those who keep the books, and translators. */
static void
print_rules(const Narrator *narrator)
{
    g_autoptr(GPtrArray) rules = narrator_rules(narrator);

    for (unsigned i = 0; i < rules->len; i++) {
        const RuleBookEntry *rule = rule_book_find(rules->pdata[i]);

        printf("%s\t%s\n", (const char *)rules->pdata[i], rule != NULL ? rule->sentence : "");
    }
}

static ExitCode
explain(const LookOptions *options,
        const char *file,
        const char *object,
        NarratorLevel level,
        gboolean rules)
{
    g_autoptr(Look) look = look_open(options, file);
    g_autoptr(Narrator) narrator = look != NULL ? narrator_new(look->run) : NULL;
    g_autoptr(GString) out = g_string_new(NULL);

    if (look == NULL || !look_advance(look, "--at", options->at))
        return EXIT_BAD_INPUT;
    if (rules) {
        print_rules(narrator);
        return EXIT_DONE;
    }

    const NarratorOptions telling = {.level = level, .object = object, .until = SIM_TIME_MAX};
    if (!narrator_tell(narrator, &telling, out)) {
        cli_error("explain: the run has no \"%s\" (as kind/name: pod/web-0, pvc/data)", object);
        return EXIT_BAD_INPUT;
    }
    fputs(out->str, stdout);
    return EXIT_DONE;
}

int
cmd_explain(int argc, char **argv)
{
    g_auto(LookOptions) options = {0};
    g_autofree char *level_word = NULL;
    gboolean rules = FALSE;
    NarratorLevel level;
    const GOptionEntry more[] = {
        {"level", 0, 0, G_OPTION_ARG_STRING, &level_word,
         "beginner, operator (default) or developer",                                              "LEVEL"},
        {"rules", 0, 0, G_OPTION_ARG_NONE,   &rules,      "Only list the rules that were applied", NULL   },
        {NULL,    0, 0, G_OPTION_ARG_NONE,   NULL,        NULL,                                    NULL   },
    };
    g_autofree GOptionEntry *entries = look_entries(&options, more);

    if (!cli_parse(&argc, &argv, entries, "SCENARIO [OBJECT]",
                   "Tells a run as a story: who did what, by which rule, and what came of it.",
                   "OBJECT: kind/name; only what concerns it and what belongs to it."))
        return EXIT_BAD_INPUT;
    if (argc != 2 && argc != 3) {
        cli_error(
            "explain: one scenario file, and an object if you like (see kvolsim explain --help)");
        return EXIT_BAD_INPUT;
    }
    if (!parse_level(level_word, &level))
        return EXIT_BAD_INPUT;
    return explain(&options, argv[1], argc == 3 ? argv[2] : NULL, level, rules);
}
