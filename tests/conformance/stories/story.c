/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/conformance/stories/story.h"

#include <stdlib.h>
#include <string.h>

#include "tests/conformance/compare.h"

/* Words that a phrase's function may look at without asking how many there are. */
#define N_WORDS 4

void
story_nothing(void *story, char **words, int argument)
{
    (void)story, (void)words, (void)argument;
}

/* Returns: (owned): the words of @text; NULL: it is not of that form */
static char **
match(const char *pattern, const char *text)
{
    g_autofree char *whole = g_strdup_printf("^(?:%s)$", pattern);
    g_autoptr(GRegex) regex = g_regex_new(whole, 0, 0, NULL);
    g_autoptr(GMatchInfo) info = NULL;

    g_assert(regex != NULL);
    if (!g_regex_match(regex, text, 0, &info))
        return NULL;
    char **words = g_new0(char *, N_WORDS + 2 + (unsigned)g_regex_get_capture_count(regex));
    for (int i = 0; i < N_WORDS || i <= g_regex_get_capture_count(regex); i++) {
        char *word = g_match_info_fetch(info, i);
        words[i] = word == NULL ? g_strdup("") : word;
    }
    return words;
}

static gboolean
run_phrase(const Phrase *phrases, const char *text, void *story)
{
    for (const Phrase *phrase = phrases; phrase->pattern != NULL; phrase++) {
        g_auto(GStrv) words = match(phrase->pattern, text);
        if (words != NULL) {
            phrase->run(story, words, phrase->argument);
            return TRUE;
        }
    }
    return FALSE;
}

/* The length of a joint at @text; 0: there is none. */
static size_t
joint(const char *text)
{
    static const char *const joints[] = {", ", "; ", ": ", " and "};

    for (unsigned i = 0; i < G_N_ELEMENTS(joints); i++)
        if (g_str_has_prefix(text, joints[i]))
            return strlen(joints[i]);
    return 0;
}

/* Runs the longest phrase that @text begins with. Returns: the rest of the text; NULL: none */
static const char *
run_first(const Phrase *phrases, const char *text, void *story)
{
    for (size_t length = strlen(text); length > 0; length--) {
        if (text[length] != '\0' && joint(text + length) == 0)
            continue;
        g_autofree char *part = g_strndup(text, length);
        if (run_phrase(phrases, part, story))
            return text + length + joint(text + length);
    }
    return NULL;
}

static void
tell_sentence(
    Case *self, const char *path, const char *sentence, const Phrase *phrases, void *story)
{
    const char *rest = sentence;

    while (rest != NULL && rest[0] != '\0')
        rest = run_first(phrases, rest, story);
    if (rest == NULL)
        case_fail(self, "%s: not understood: %s", path, sentence);
}

static void
tell_members(Case *self, const char *path, const json_t *told, const Phrase *phrases, void *story)
{
    const char *name;
    json_t *item;

    json_object_foreach((json_t *)told, name, item) {
        char *value = json_is_string(item) ? strdup(json_string_value(item)) : case_json_text(item);
        g_autofree char *sentence = g_strdup_printf("%s: %s", name, value);
        tell_sentence(self, path, sentence, phrases, story);
        free(value);
    }
}

void
story_tell(Case *self, const char *path, const Phrase *phrases, void *story)
{
    const json_t *told = case_get(self, path), *item;
    size_t i;

    json_array_foreach(told, i, item) {
        if (json_is_string(item))
            tell_sentence(self, path, json_string_value(item), phrases, story);
        else if (json_is_object(item))
            tell_members(self, path, item, phrases, story);
        else
            case_fail(self, "%s: not a sentence", path);
    }
    tell_members(self, path, told, phrases, story);
}

void
story_expect_count(Case *self, const char *what, unsigned found, const char *expected)
{
    if (found != (unsigned)atoi(expected))
        case_fail(self, "%s: %u", what, found);
}
