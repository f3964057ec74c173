/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "run/study/sweep.h"

/* Checks the scenario of every point, too. Returns: whether the file is sound */
static gboolean
check_sweep(const char *file, const ScenarioOptions *options, GPtrArray **faults)
{
    g_autoptr(Sweep) sweep = sweep_load(file, options->data_dir, faults);

    return sweep != NULL;
}

/* @last: the scenario checked before, which is freed first */
static gboolean
check_scenario(const char *file,
               const ScenarioOptions *options,
               GPtrArray **faults,
               Scenario **last)
{
    scenario_free(*last);
    *last = scenario_check(file, options, faults);
    return (*faults)->len == 0;
}

/* Does not free the last scenario: the process ends, and freeing a million values takes a third of
 * the time of checking them. */
static void
leave_last(Scenario *last)
{
#ifdef __SANITIZE_ADDRESS__
    scenario_free(last);
#else
    (void)last;
#endif
}

/* Objects are ignored for their kinds: "Service/web (dump.yaml:12)". */
static void
print_ignored(const GPtrArray *ignored)
{
    g_autoptr(GHashTable) counts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) firsts = g_ptr_array_new();

    for (unsigned i = 0; i < ignored->len; i++) {
        const char *text = ignored->pdata[i];
        g_autofree char *kind = g_strndup(text, strcspn(text, "/ "));
        unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(counts, kind));
        if (n == 0)
            g_ptr_array_add(firsts, (char *)text);
        g_hash_table_insert(counts, g_steal_pointer(&kind), GUINT_TO_POINTER(n + 1));
    }
    for (unsigned i = 0; i < firsts->len; i++) {
        const char *text = firsts->pdata[i];
        g_autofree char *kind = g_strndup(text, strcspn(text, "/ "));
        printf("ignored: %u of kind %s, the first %s\n",
               GPOINTER_TO_UINT(g_hash_table_lookup(counts, kind)), kind, text);
    }
}

static void
print_scenario(const Scenario *scenario)
{
    for (unsigned i = 0; i < scenario->warnings->len; i++)
        printf("warning: %s\n", (const char *)scenario->warnings->pdata[i]);
    print_ignored(scenario->ignored);
}

/* Returns: whether the file is sound */
static gboolean
check_file(const char *file, const ScenarioOptions *options, Scenario **last)
{
    g_autoptr(GPtrArray) faults = NULL;
    gboolean is_sweep = sweep_is_in_file(file);

    if (is_sweep && options->set != NULL) {
        cli_error("check: --set: %s is a sweep, which changes values with spec.set", file);
        return FALSE;
    }
    gboolean is_sound = is_sweep ? check_sweep(file, options, &faults)
                                 : check_scenario(file, options, &faults, last);

    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        puts(text);
    }
    if (!is_sweep)
        print_scenario(*last);
    return is_sound;
}

int
cmd_check(int argc, char **argv)
{
    g_auto(GStrv) set = NULL;
    const GOptionEntry entries[] = {
        CLI_OPTION("set", STRING_ARRAY, &set, "Change a value before checking", "PATH=VALUE"),
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *data_dir = cli_data_dir();
    Scenario *last = NULL;
    gboolean is_sound = TRUE;

    if (!cli_parse(
            &argc, &argv, entries, "FILE…",
            "Check scenario, sweep and manifest files without running them, and print a line "
            "for each fault.",
            "Warnings tell where a run will differ from a cluster that the manifests were taken "
            "from.\nExit status: 0 if all files are sound, 2 if not."))
        return EXIT_BAD_INPUT;
    if (argc < 2)
        return cli_bad_usage("check", "no file given");
    const ScenarioOptions options = {.data_dir = data_dir, .set = (const char *const *)set};
    for (int i = 1; i < argc; i++)
        is_sound = check_file(argv[i], &options, &last) && is_sound;
    leave_last(last);
    return is_sound ? EXIT_DONE : EXIT_BAD_INPUT;
}
