/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>

#include "run/scenario/scenario.h"
#include "sim/strings.h"
#include "tests/lib/test.h"

/* Files in tests/run/scenario/broken, each wrong in another way, and what is said about each: all
 * faults, and nothing else. */

static char *
faults_text(const GPtrArray *faults)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *line = file_fault_text(faults->pdata[i]);
        g_string_append_printf(text, "%s\n", line);
    }
    return g_string_free(text, FALSE);
}

static char *
expected_text(const char *file)
{
    g_autofree char *base = g_strndup(file, strcspn(file, "."));
    g_autofree char *name = g_strconcat(base, ".expected", NULL);
    char *text = NULL;

    assert_true(g_file_get_contents(name, &text, NULL, NULL));
    return text;
}

static void
says_what_is_wrong(void **state)
{
    const char *file = *state;
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);
    g_autofree char *expected = expected_text(file);
    g_autofree char *text = faults_text(faults);

    assert_null(scenario);
    assert_string_equal(text, expected);
}

/* Messages name the file as it was given, so all are loaded from their folder. */
static GPtrArray *
broken_files(void)
{
    g_autofree char *folder =
        g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "tests", "run", "scenario", "broken", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
    const char *name;

    if (dir == NULL || g_chdir(folder) != 0)
        return files;
    while ((name = g_dir_read_name(dir)) != NULL)
        if (!g_str_has_suffix(name, ".expected"))
            g_ptr_array_add(files, g_strdup(name));
    g_ptr_array_sort(files, strings_compare);
    return files;
}

int
main(void)
{
    g_autoptr(GPtrArray) files = broken_files();
    g_autofree struct CMUnitTest *tests = g_new0(struct CMUnitTest, files->len + 1);

    if (files->len < 50)
        g_error("only %u broken files", files->len);
    for (unsigned i = 0; i < files->len; i++)
        tests[i] = (struct CMUnitTest){
            .name = files->pdata[i],
            .test_func = says_what_is_wrong,
            .initial_state = files->pdata[i],
        };
    return _cmocka_run_group_tests("broken scenarios", tests, files->len, NULL, NULL);
}
