/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>

#include "run/scenario/scenario.h"
#include "tests/lib/test.h"

/* Good scenarios, spoilt in ways that are the same each time: whatever comes of it, it is a
 * scenario or faults, never a crash. */
#define N_OF_EACH 150

typedef void (*Spoil)(GRand *rand, GString *text);

static gsize
anywhere(GRand *rand, const GString *text)
{
    return text->len == 0 ? 0 : (gsize)g_rand_int_range(rand, 0, (gint32)text->len);
}

static void
truncate_it(GRand *rand, GString *text)
{
    g_string_truncate(text, anywhere(rand, text));
}

static void
flip_bytes(GRand *rand, GString *text)
{
    for (unsigned i = 0; i < 3; i++)
        text->str[anywhere(rand, text)] ^= (char)(1 << g_rand_int_range(rand, 0, 8));
}

static gsize
line_start(const GString *text, gsize at)
{
    while (at > 0 && text->str[at - 1] != '\n')
        at--;
    return at;
}

static gsize
line_end(const GString *text, gsize at)
{
    while (at < text->len && text->str[at] != '\n')
        at++;
    return MIN(at + 1, text->len);
}

static void
delete_lines(GRand *rand, GString *text)
{
    for (unsigned i = 0; i < 2 && text->len > 0; i++) {
        gsize at = anywhere(rand, text);
        gsize start = line_start(text, at);
        g_string_erase(text, (gssize)start, (gssize)(line_end(text, at) - start));
    }
}

static void
copy_line(GRand *rand, GString *text)
{
    gsize from = anywhere(rand, text), to = line_start(text, anywhere(rand, text));
    gsize start = line_start(text, from);
    g_autofree char *line = g_strndup(text->str + start, line_end(text, from) - start);

    g_string_insert(text, (gssize)to, line);
}

/* Another value where one was: the right shape, the wrong type. */
static void
change_value(GRand *rand, GString *text)
{
    static const char *const values[] = {
        "null",  "[]",   "{}", "true",   "-1",          "9223372036854775807",
        "1e308", "\"\"", "*x", "[[[]]]", "{a: {b: 1}}", "0",
    };
    gsize at = anywhere(rand, text);
    char *colon = strstr(text->str + at, ": ");

    if (colon == NULL)
        return;
    gsize start = (gsize)(colon - text->str) + 2;
    gsize length = strcspn(text->str + start, ",}\n");
    g_string_erase(text, (gssize)start, (gssize)length);
    g_string_insert(text, (gssize)start, values[g_rand_int_range(rand, 0, G_N_ELEMENTS(values))]);
}

static void
change_indent(GRand *rand, GString *text)
{
    gsize start = line_start(text, anywhere(rand, text));

    if (g_rand_boolean(rand))
        g_string_insert(text, (gssize)start, "  ");
    else
        g_string_erase(text, (gssize)start, (gssize)MIN(2, text->len - start));
}

static const Spoil spoils[] = {truncate_it, flip_bytes,   delete_lines,
                               copy_line,   change_value, change_indent};

static void
load_text(const GString *text)
{
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "spoilt.yaml", NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;

    assert_true(g_file_set_contents(file, text->str, (gssize)text->len, NULL));
    g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);
    assert_int_equal(scenario == NULL, faults->len > 0);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *line = file_fault_text(faults->pdata[i]);
        assert_true(g_str_has_prefix(line, file) || strstr(line, ".yaml") != NULL);
        assert_true(g_utf8_validate(line, -1, NULL));
    }
    g_remove(file);
    g_rmdir(folder);
}

static void
spoil(void **state)
{
    const char *name = *state;
    g_autofree char *file = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios", name, NULL);
    g_autofree char *good = NULL;
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);
    gsize length;

    assert_true(g_file_get_contents(file, &good, &length, NULL));
    for (unsigned i = 0; i < N_OF_EACH * G_N_ELEMENTS(spoils); i++) {
        g_autoptr(GString) text = g_string_new_len(good, (gssize)length);
        spoils[i % G_N_ELEMENTS(spoils)](rand, text);
        load_text(text);
    }
}

int
main(void)
{
    static const char *const names[] = {"attach-limit.yaml", "file-storage.yaml", "quickstart.yaml",
                                        "static-binding.yaml"};
    struct CMUnitTest tests[G_N_ELEMENTS(names)];

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        tests[i] = (struct CMUnitTest){
            .name = names[i], .test_func = spoil, .initial_state = (void *)names[i]};
    return _cmocka_run_group_tests("spoilt scenarios", tests, G_N_ELEMENTS(tests), NULL, NULL);
}
