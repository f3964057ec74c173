/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim check: reads scenarios and sweeps without running them and prints the faults: as lines,
 * JSON, GitHub annotations or SARIF. All formats print the same findings. A sweep is checked with
 * the scenario of every point. The last scenario is not freed, because that takes a third of the
 * time of the check; under a leak checker it is. */
#include <stdio.h>
#include <string.h>

#include "cli/common/cli.h"
#include "cli/common/paint.h"
#include "commands.h"
#include "config.h"
#include "run/files/printable.h"
#include "run/results/results.h"

#ifdef WITH_STUDY

#include "run/study/sweep.h"

/* Checks the scenario of every point, too. Returns: whether the file is sound */
static gboolean
check_sweep(const char *file, const ScenarioOptions *options, GPtrArray **faults)
{
    g_autoptr(Sweep) sweep = sweep_load(file, options->data_dir, faults);

    return sweep != NULL;
}

#else /* a sweep is then a scenario of an unknown kind */

#define sweep_is_in_file(file) FALSE
#define check_sweep(file, options, faults) FALSE

#endif

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

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define IS_LEAK_CHECKED
#endif
#elif defined __SANITIZE_ADDRESS__ /* gcc */
#define IS_LEAK_CHECKED
#endif

/* Does not free the last scenario: the process ends, and freeing a million values takes a third of
 * the time of checking them. */
static void
leave_last(Scenario *last)
{
#ifdef IS_LEAK_CHECKED
    scenario_free(last);
#else
    (void)last;
#endif
}

/* ---- What was found ---- */

/* A finding is an object: {file, line, column, level, path, message, hint}. A finding about the
 * whole file has no line and column; path and hint may be missing. */
typedef struct {
    const char *name;
    void (*print)(json_t *findings);
} CheckFormat;

static void
add_finding(json_t *findings,
            const char *file,
            unsigned line,
            unsigned column,
            const char *level,
            const char *message)
{
    json_t *finding =
        json_pack("{s:s, s:s, s:s}", "file", file, "level", level, "message", message);

    if (line != 0) {
        json_object_set_new(finding, "line", json_integer(line));
        json_object_set_new(finding, "column", json_integer(MAX(column, 1)));
    }
    json_array_append_new(findings, finding);
}

static void
add_faults(json_t *findings, const GPtrArray *faults)
{
    for (unsigned i = 0; i < faults->len; i++) {
        const FileFault *fault = faults->pdata[i];
        add_finding(findings, fault->file, fault->line, fault->column, "error", fault->message);
        json_t *finding = json_array_get(findings, json_array_size(findings) - 1);
        if (*fault->path != '\0')
            json_object_set_new(finding, "path", json_string(fault->path));
        if (fault->hint != NULL)
            json_object_set_new(finding, "hint", json_string(fault->hint));
    }
}

/* Objects are ignored for their kinds: "Service/web (dump.yaml:12)". */
static void
add_ignored(json_t *findings, const char *file, const GPtrArray *ignored)
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
        g_autofree char *message =
            g_strdup_printf("%u of kind %s, the first %s",
                            GPOINTER_TO_UINT(g_hash_table_lookup(counts, kind)), kind, text);
        add_finding(findings, file, 0, 0, "ignored", message);
    }
}

/* A warning begins with its place if it has one: "dump.yaml:12: ...". */
static void
add_warnings(json_t *findings, const char *file, const GPtrArray *warnings)
{
    for (unsigned i = 0; i < warnings->len; i++) {
        const char *text = warnings->pdata[i], *colon = strchr(text, ':');
        guint64 line = colon != NULL ? g_ascii_strtoull(colon + 1, NULL, 10) : 0;
        g_autofree char *at = line > 0 ? g_strndup(text, (gsize)(colon - text)) : g_strdup(file);
        add_finding(findings, at, (unsigned)line, 1, "warning", text);
    }
}

/* Returns: whether the file is sound */
static gboolean
check_file(const char *file, const ScenarioOptions *options, json_t *findings, Scenario **last)
{
    g_autoptr(GPtrArray) faults = NULL;
    gboolean is_sweep = sweep_is_in_file(file);

    if (is_sweep && options->set != NULL) {
        cli_error("check: --set: %s is a sweep, which changes values with spec.set", file);
        return FALSE;
    }
    gboolean is_sound = is_sweep ? check_sweep(file, options, &faults)
                                 : check_scenario(file, options, &faults, last);

    add_faults(findings, faults);
    if (!is_sweep) {
        add_warnings(findings, file, (*last)->warnings);
        add_ignored(findings, file, (*last)->ignored);
    }
    return is_sound;
}

/* ---- Formats ---- */

static const char *
cmd_check_text_of(json_t *finding, const char *member)
{
    return json_string_value(json_object_get(finding, member));
}

/* "path: message (hint)". Returns: (owned) */
static char *
cmd_check_words_of(json_t *finding)
{
    const char *path = cmd_check_text_of(finding, "path"),
               *hint = cmd_check_text_of(finding, "hint");

    return g_strconcat(path != NULL ? path : "", path != NULL ? ": " : "",
                       cmd_check_text_of(finding, "message"), hint != NULL ? " (" : NULL, hint, ")",
                       NULL);
}

static void
print_lines(json_t *findings)
{
    g_autoptr(GString) text = g_string_new(NULL);
    size_t i;
    json_t *finding;

    json_array_foreach(findings, i, finding) {
        g_autofree char *raw = cmd_check_words_of(finding), *words = printable(raw, "");
        g_autofree char *file = printable(cmd_check_text_of(finding, "file"), "");
        json_t *line = json_object_get(finding, "line");
        if (strcmp(cmd_check_text_of(finding, "level"), "error") != 0)
            g_string_append_printf(text, "%s: %s\n", cmd_check_text_of(finding, "level"), words);
        else if (line == NULL)
            g_string_append_printf(text, "%s: %s\n", file, words);
        else
            g_string_append_printf(text,
                                   "%s:%" JSON_INTEGER_FORMAT ":%" JSON_INTEGER_FORMAT ": %s\n",
                                   file, json_integer_value(line),
                                   json_integer_value(json_object_get(finding, "column")), words);
    }
    paint_print(stdout, text->str);
}

/* @special: the characters to be escaped. Returns: (owned) */
static char *
escape_for_github(const char *text, const char *special)
{
    GString *out = g_string_new(NULL);

    for (; *text != '\0'; text++)
        if (strchr(special, *text) != NULL)
            g_string_append_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
        else
            g_string_append_c(out, *text);
    return g_string_free(out, FALSE);
}

/* https://docs.github.com/actions/reference/workflow-commands-for-github-actions */
static void
print_github(json_t *findings)
{
    size_t i;
    json_t *finding;

    json_array_foreach(findings, i, finding) {
        g_autofree char *words = cmd_check_words_of(finding);
        g_autofree char *message = escape_for_github(words, "%\r\n");
        g_autofree char *file = escape_for_github(cmd_check_text_of(finding, "file"), "%\r\n:,");
        const char *level = cmd_check_text_of(finding, "level");
        json_t *line = json_object_get(finding, "line");
        printf("::%s file=%s", strcmp(level, "ignored") == 0 ? "notice" : level, file);
        if (line != NULL)
            printf(",line=%" JSON_INTEGER_FORMAT ",col=%" JSON_INTEGER_FORMAT,
                   json_integer_value(line),
                   json_integer_value(json_object_get(finding, "column")));
        printf("::%s\n", message);
    }
}

/* SARIF 2.1.0, https://docs.oasis-open.org/sarif/sarif/v2.1.0/ */
static void
print_sarif(json_t *findings)
{
    json_auto_t *results = json_array();
    size_t i;
    json_t *finding;

    json_array_foreach(findings, i, finding) {
        g_autofree char *words = cmd_check_words_of(finding);
        const char *level = cmd_check_text_of(finding, "level");
        json_t *line = json_object_get(finding, "line");
        json_t *place =
            json_pack("{s:{s:s}}", "artifactLocation", "uri", cmd_check_text_of(finding, "file"));
        if (line != NULL)
            json_object_set_new(place, "region",
                                json_pack("{s:O, s:O}", "startLine", line, "startColumn",
                                          json_object_get(finding, "column")));
        json_array_append_new(
            results, json_pack("{s:s, s:s, s:{s:s}, s:[{s:o}]}", "ruleId", "scenario", "level",
                               strcmp(level, "ignored") == 0 ? "note" : level, "message", "text",
                               words, "locations", "physicalLocation", place));
    }
    json_auto_t *log = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:[{s:s}]}}, s:O}]}", "$schema",
                                 "https://json.schemastore.org/sarif-2.1.0.json", "version",
                                 "2.1.0", "runs", "tool", "driver", "name", "kvolsim", "version",
                                 results_version(), "rules", "id", "scenario", "results", results);
    cli_print_json(log);
}

static void
cmd_check_print_json(json_t *findings)
{
    json_auto_t *report = json_pack("{s:O}", "findings", findings);

    cli_print_json(report);
}

static const CheckFormat formats[] = {
    {"table",  print_lines         },
    {"json",   cmd_check_print_json},
    {"github", print_github        },
    {"sarif",  print_sarif         },
};

static const CheckFormat *
find_format(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++)
        if (name == NULL || strcmp(formats[i].name, name) == 0)
            return &formats[i];
    cli_error("check: --format: \"%s\" is none of table, json, github, sarif", name);
    return NULL;
}

int
cmd_check(int argc, char **argv)
{
    g_auto(GStrv) set = NULL;
    g_autofree char *format_name = NULL;
    const GOptionEntry entries[] = {
        CLI_OPTION("set", STRING_ARRAY, &set, "Change a value before checking", "PATH=VALUE"),
        CLI_OPTION("format", STRING, &format_name,
                   "table (default), json, github (annotations of a workflow) or sarif", "FORMAT"),
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *data_dir = cli_data_dir();
    json_auto_t *findings = json_array();
    Scenario *last = NULL;
    gboolean is_sound = TRUE;

    if (!cli_parse(
            &argc, &argv, entries, "FILE…",
            "Check scenario, sweep and manifest files without running them, and print a line "
            "for each fault.",
            "Warnings tell where a run will differ from a cluster that the manifests were taken "
            "from.\nExit status: 0 if all files are sound, 2 if not."))
        return EXIT_BAD_INPUT;
    const CheckFormat *format = find_format(format_name);
    if (format == NULL)
        return EXIT_BAD_INPUT;
    if (argc < 2)
        return cli_bad_usage("check", "no file given");
    const ScenarioOptions options = {.data_dir = data_dir, .set = (const char *const *)set};
    for (int i = 1; i < argc; i++)
        is_sound = check_file(argv[i], &options, findings, &last) && is_sound;
    format->print(findings);
    leave_last(last);
    return is_sound ? EXIT_DONE : EXIT_BAD_INPUT;
}
