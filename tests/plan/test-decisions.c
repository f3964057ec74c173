/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster/model.h"
#include "tests/lib/test.h"
#include "tests/plan/rule-walk.h"

#include <stdlib.h>
#include <string.h>

/* Each decision table, once more: decisions.txt has it as one `if` after another, the form of
 * Kubernetes' code. Both forms decide alike for every set of facts that can occur, so a slip in one
 * of them is seen. */

typedef struct {
    char *name; /* "expand-controller: claims to expand" */
    const RuleTable *table;
    char **lines; /* of decisions.txt, below the name */
} Decisions;

static void
decisions_free(void *data)
{
    Decisions *self = data;

    g_free(self->name);
    g_strfreev(self->lines);
    g_free(self);
}

/* Returns: the value of @word in "zero one seven=7"; without a "=" it is the place in the list */
static int
decisions_value_of(const Decisions *self, const char *list, const char *word)
{
    g_auto(GStrv) words = g_strsplit(list, " ", 0);
    size_t length = strlen(word);

    for (unsigned i = 0; words[i] != NULL; i++)
        if (strncmp(words[i], word, length) == 0 && strchr("=", words[i][length]) != NULL)
            return words[i][length] == '=' ? atoi(words[i] + length + 1) : (int)i;
    fail_msg("%s: \"%s\" is not in \"%s\"", self->name, word, list);
    return 0;
}

static uint32_t
decisions_facts_of(const Decisions *self, const char *words)
{
    g_auto(GStrv) names = g_strsplit(words, "|", 0);
    uint32_t facts = 0;

    for (unsigned i = 0; names[i] != NULL; i++)
        facts |= 1u << decisions_value_of(self, self->lines[0] + strlen("facts "), names[i]);
    return facts;
}

static void
add_condition(const Decisions *self, Rule *rule, const char *word)
{
    if (g_str_has_prefix(word, "since:"))
        rule->since = (uint8_t)atoi(word + strlen("since:"));
    else if (g_str_has_prefix(word, "before:"))
        rule->until = (uint8_t)atoi(word + strlen("before:"));
    else if (g_str_has_prefix(word, "gate:"))
        rule->gate = g_intern_string(word + strlen("gate:"));
    else if (g_str_has_prefix(word, "no-gate:"))
        rule->no_gate = g_intern_string(word + strlen("no-gate:"));
    else if (word[0] == '!')
        rule->none |= decisions_facts_of(self, word + 1);
    else if (strchr(word, '|') != NULL)
        rule->any |= decisions_facts_of(self, word);
    else
        rule->all |= decisions_facts_of(self, word);
}

/* "large !gave-up -> RSZ-16.4 to-request"; the conditions of the last one may be "else". */
static Rule
read_if(const Decisions *self, const char *line)
{
    g_auto(GStrv) sides = g_strsplit(line, " -> ", 2);

    if (sides[1] == NULL)
        fail_msg("%s: \"%s\" has no \" -> \"", self->name, line);
    g_auto(GStrv) conditions = g_strsplit(sides[0], " ", 0);
    g_auto(GStrv) decision = g_strsplit(sides[1], " ", 2);
    Rule rule = {.id = g_intern_string(decision[0])};

    for (unsigned i = 0; conditions[i] != NULL; i++)
        if (!g_str_equal(conditions[i], "else"))
            add_condition(self, &rule, conditions[i]);
    rule.then = decisions_value_of(self, self->lines[1] + strlen("then "), decision[1]);
    return rule;
}

static void
both_forms_agree(void **state)
{
    const Decisions *self = *state;
    g_autoptr(GArray) ifs = g_array_new(FALSE, TRUE, sizeof(Rule));

    if (self->lines == NULL)
        fail_msg("decisions.txt does not have it");
    assert_true(g_str_has_prefix(self->lines[0], "facts "));
    assert_true(g_str_has_prefix(self->lines[1], "then "));
    for (unsigned i = 2; self->lines[i] != NULL && self->lines[i][0] != '\0'; i++) {
        const Rule rule = read_if(self, self->lines[i]);
        g_array_append_val(ifs, rule);
    }
    const RuleTable other = {.rows = (const Rule *)(void *)ifs->data, .n_rows = ifs->len};
    g_autofree char *fault = rules_differ(self->table, &other);
    if (fault != NULL)
        fail_msg("%s", fault);
}

/* Sections are separated by an empty line and begin with the table's name. */
static char **
lines_of(char **sections, const char *name)
{
    size_t length = strlen(name);

    for (unsigned i = 0; sections[i] != NULL; i++)
        if (strncmp(sections[i], name, length) == 0 && sections[i][length] == '\n')
            return g_strsplit(sections[i] + length + 1, "\n", 0);
    return NULL;
}

int
main(void)
{
    g_autoptr(GArray) tests = g_array_new(FALSE, TRUE, sizeof(struct CMUnitTest));
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(decisions_free);
    g_autofree char *file =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "plan", "decisions.txt", NULL);
    g_autofree char *text = NULL;
    g_autoptr(GError) error = NULL;

    if (!g_file_get_contents(file, &text, NULL, &error))
        g_error("%s", error->message);
    g_auto(GStrv) sections = g_strsplit(text, "\n\n", 0);
    for (unsigned i = 0; model_classes[i] != NULL; i++)
        for (const RuleTable *const *table = model_classes[i]->rule_tables;
             table != NULL && *table != NULL; table++) {
            Decisions *decisions = g_new0(Decisions, 1);

            decisions->name = g_strdup_printf("%s: %s", model_classes[i]->name, (*table)->name);
            decisions->table = *table;
            decisions->lines = lines_of(sections, decisions->name);
            g_ptr_array_add(all, decisions);
            const struct CMUnitTest test = {
                .name = decisions->name, .test_func = both_forms_agree, .initial_state = decisions};
            g_array_append_val(tests, test);
        }
    int n_failed = _cmocka_run_group_tests(
        "decisions", (const struct CMUnitTest *)(void *)tests->data, tests->len, NULL, NULL);
    return n_failed;
}
