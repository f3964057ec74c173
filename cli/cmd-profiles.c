/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim profiles: lists profiles of back ends, and shows one: its latencies as quantiles, its
 * limits and errors, each with the comment on its source in the file, and which calls callers make
 * of such a driver. A profile is loaded as part of a scenario, with the same checks. */
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/gnuplot.h"
#include "commands.h"
#include "run/files/input.h"
#include "run/files/list.h"
#include "run/scenario/driver-calls.h"

#define TIMING "timing-" /* durations of Kubernetes itself, not of a back end */
#define POINTS 99

/* ---- The list ---- */

/* The first sentence of the comment at the top of a profile. (owned) */
static char *
summary_of(const char *text)
{
    GString *summary = g_string_new(NULL);
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

    for (unsigned i = 0; lines[i] != NULL && lines[i][0] == '#'; i++)
        g_string_append_printf(summary, "%s%s", i > 0 ? " " : "", g_strstrip(lines[i] + 1));
    char *end = strstr(summary->str, ". ");
    if (end != NULL)
        end[1] = '\0';
    return g_string_free(summary, FALSE);
}

static ExitCode
cmd_profiles_list(const char *folder, gboolean is_json)
{
    g_autoptr(GPtrArray) names = list_files(folder, ".yaml", NULL);
    json_auto_t *rows = json_array();

    for (unsigned i = 0; names != NULL && i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *file = g_strdup_printf("%s/%s.yaml", folder, name);
        g_autofree char *text = NULL;
        if (g_str_has_prefix(name, TIMING) || !input_get_contents(file, &text, NULL, NULL))
            continue;
        g_autofree char *summary = summary_of(text);
        if (is_json)
            json_array_append_new(rows, json_pack("{s:s, s:s}", "name", name, "summary", summary));
        else
            printf("%-26s %s\n", name, summary);
    }
    if (is_json)
        cli_print_json(rows);
    return EXIT_DONE;
}

/* ---- One ---- */

/* Returns: (owned): NULL with the faults printed */
static Scenario *
load_scenario(const char *data_dir, const char *file)
{
    const ScenarioOptions options = {.data_dir = data_dir};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    for (unsigned i = 0; i < faults->len; i++) {
        const FileFault *fault = faults->pdata[i];
        cli_error("profiles: %s%s%s", fault->message, fault->hint != NULL ? ": " : "",
                  fault->hint != NULL ? fault->hint : "");
    }
    return scenario;
}

/* Loads the profile as part of a scenario, with the same checks. Returns: (owned): NULL with the
 * faults printed */
static Scenario *
cmd_profiles_load(const char *data_dir, const char *name)
{
    g_autofree char *file = NULL;
    g_autofree char *text = g_strdup_printf(
        "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: profile}\nspec:\n  until: 1s\n"
        "  nodes: [{count: 1, name: \"node-%%d\", zones: [a]}]\n"
        "  drivers: [{name: profile.kvolsim.io, profile: \"%s\"}]\n",
        name);
    int handle = g_file_open_tmp("kvolsim-profile-XXXXXX.yaml", &file, NULL);

    if (handle == -1 || !g_file_set_contents(file, text, -1, NULL)) {
        cli_error("profiles: no temporary file can be written");
        return NULL;
    }
    close(handle);
    Scenario *scenario = load_scenario(data_dir, file);
    g_unlink(file);
    return scenario;
}

/* The comment lines right above "  KEY:" in the file, joined. (owned) "" if there are none */
static char *
comment_of(char **lines, const char *key)
{
    g_autofree char *start = g_strdup_printf("  %s:", key);
    GString *comment = g_string_new(NULL);

    for (unsigned i = 0; lines[i] != NULL; i++) {
        const char *text = lines[i] + strspn(lines[i], " ");
        if (g_str_has_prefix(lines[i], start))
            return g_string_free(comment, FALSE);
        if (text[0] != '#') {
            g_string_truncate(comment, 0);
            continue;
        }
        g_string_append_printf(comment, "%s%s", comment->len > 0 ? " " : "",
                               text + 1 + strspn(text + 1, " "));
    }
    g_string_truncate(comment, 0);
    return g_string_free(comment, FALSE);
}

static const double quantiles[] = {0.5, 0.9, 0.99};

static void
print_latency(char **lines, CsiLatency kind, const SimDist *dist)
{
    g_autofree char *comment = comment_of(lines, csi_latency_name(kind));

    printf("%-26s", csi_latency_name(kind));
    for (unsigned i = 0; i < G_N_ELEMENTS(quantiles); i++)
        printf(" %11.3f", (double)sim_dist_quantile(dist, quantiles[i]) / (double)SIM_MS);
    printf("  %s\n", comment);
}

static void
print_rest(char **lines, const ScenarioDriver *driver)
{
    gboolean is_shown = FALSE;
    g_autoptr(GString) keys = g_string_new(NULL);

    for (unsigned i = 0; i < driver->n_topology; i++)
        g_string_append_printf(keys, "%s%s", i > 0 ? ", " : "", driver->topology[i].key);
    printf("\nattach required: %s; topology: %s; volumes per node: ",
           driver->model.controller_capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME ? "yes"
                                                                                           : "no",
           keys->len > 0 ? keys->str : "none");
    if (driver->model.attach_limit > 0)
        printf("%d\n", driver->model.attach_limit);
    else
        printf("no limit\n");
    /* Limits and errors are printed as in the file, with the comments on their sources. */
    for (unsigned i = 0; lines[i] != NULL; i++) {
        if (lines[i][0] != ' ' && lines[i][0] != '#' && lines[i][0] != '-' && lines[i][0] != '\0')
            is_shown =
                g_str_has_prefix(lines[i], "limits:") || g_str_has_prefix(lines[i], "slowdown:") ||
                g_str_has_prefix(lines[i], "errors:") || g_str_has_prefix(lines[i], "sidecars:") ||
                g_str_has_prefix(lines[i], "attachLimit");
        if (is_shown)
            printf("%s\n", lines[i]);
    }
}

static void
print_profile(char **lines, const ScenarioDriver *driver)
{
    for (unsigned i = 0; lines[i] != NULL && lines[i][0] == '#'; i++)
        printf("%s\n", lines[i] + MIN(strlen(lines[i]), 2));
    printf("\n%-26s %11s %11s %11s  WHERE FROM, HOW FAR TO TRUST IT\n", "LATENCY (ms)", "P50",
           "P90", "P99");
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++)
        if (driver->model.latency[kind] != NULL)
            print_latency(lines, kind, driver->model.latency[kind]);
    print_rest(lines, driver);
    printf("\nSources are named in models/profiles/README.md.\n");
}

/* Quantiles in seconds, with the comment on their source. (owned) */
static json_t *
latency_as_json(char **lines, CsiLatency kind, const SimDist *dist)
{
    g_autofree char *comment = comment_of(lines, csi_latency_name(kind));
    double seconds[G_N_ELEMENTS(quantiles)];

    for (unsigned i = 0; i < G_N_ELEMENTS(quantiles); i++)
        seconds[i] = (double)sim_dist_quantile(dist, quantiles[i]) / (double)SIM_SECOND;
    return json_pack("{s:f, s:f, s:f, s:s}", "p50", seconds[0], "p90", seconds[1], "p99",
                     seconds[2], "source", comment);
}

/* @text: of the file, which is sound: all of its fields are in "content". (owned) */
static json_t *
profile_as_json(const char *name, const char *text, char **lines, const ScenarioDriver *driver)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autofree char *summary = summary_of(text);
    json_t *latency = json_object(), *topology = json_array();

    yaml_read(positions, name, text, strlen(text), NULL, documents);
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++)
        if (driver->model.latency[kind] != NULL)
            json_object_set_new(latency, csi_latency_name(kind),
                                latency_as_json(lines, kind, driver->model.latency[kind]));
    for (unsigned i = 0; i < driver->n_topology; i++)
        json_array_append_new(topology, json_string(driver->topology[i].key));
    return json_pack(
        "{s:s, s:s, s:o, s:b, s:o, s:o, s:O}", "name", name, "summary", summary, "latency", latency,
        "attachRequired",
        (driver->model.controller_capabilities & CSI_CONTROLLER_PUBLISH_UNPUBLISH_VOLUME) != 0,
        "topology", topology, "volumesPerNode",
        driver->model.attach_limit > 0 ? json_integer(driver->model.attach_limit) : json_null(),
        "content", documents->pdata[0]);
}

static char *
curves(const ScenarioDriver *driver)
{
    GString *text = g_string_new(NULL);

    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
        const SimDist *dist = driver->model.latency[kind];
        if (dist == NULL)
            continue;
        g_string_append_printf(text, "%s\"%s\"\n", text->len > 0 ? "\n\n" : "",
                               csi_latency_name(kind));
        for (unsigned i = 1; i <= POINTS; i++) {
            double q = (double)i / (POINTS + 1);
            g_string_append_printf(text, "%.2f %.9f\n", q,
                                   (double)sim_dist_quantile(dist, q) / (double)SIM_SECOND);
        }
    }
    return g_string_free(text, FALSE);
}

static ExitCode
cmd_profiles_draw(const ScenarioDriver *driver, const char *name, const char *out)
{
    const GnuplotFormat *format = gnuplot_format(out != NULL ? "png" : "dumb");
    g_autofree char *text = curves(driver);
    g_autofree char *output = out != NULL ? g_build_filename(out, "profile.png", NULL) : NULL;

    if (out != NULL && !cli_make_folder(out))
        return EXIT_ERROR;
    return gnuplot_draw_text("profile", text, name, format->terminal, "", output);
}

/* ---- Calls ---- */

typedef struct {
    const CsiUseClass *use;
    char *fault; /* NULL: the call is made */
} ProfilesCallRow;

static void
print_calls(const ProfilesCallRow *rows)
{
    printf("%-27s %-21s %-12s %s\n", "CALL", "BY", "RULE", "WHEN");
    for (CsiUse i = 0; i < CSI_N_USES; i++)
        if (rows[i].fault == NULL)
            printf("%-27s %-21s %-12s %s\n", csi_method_name(rows[i].use->method), rows[i].use->by,
                   rows[i].use->rule, rows[i].use->when);
    printf("\n%-27s %-21s %-12s %s\n", "NEVER", "BY", "RULE", "BECAUSE (WHEN)");
    for (CsiUse i = 0; i < CSI_N_USES; i++)
        if (rows[i].fault != NULL)
            printf("%-27s %-21s %-12s %s%s%s%s\n", csi_method_name(rows[i].use->method),
                   rows[i].use->by != NULL ? rows[i].use->by : "-", rows[i].use->rule,
                   rows[i].fault, *rows[i].use->when == '\0' ? "" : " (", rows[i].use->when,
                   *rows[i].use->when == '\0' ? "" : ")");
}

static json_t *
calls_as_json(const ProfilesCallRow *rows)
{
    json_t *calls = json_array();

    for (CsiUse i = 0; i < CSI_N_USES; i++)
        json_array_append_new(calls,
                              json_pack("{s:s, s:s?, s:s, s:s, s:b, s:s?}", "method",
                                        csi_method_name(rows[i].use->method), "by", rows[i].use->by,
                                        "when", rows[i].use->when, "rule", rows[i].use->rule,
                                        "made", rows[i].fault == NULL, "because", rows[i].fault));
    return calls;
}

static void
show_calls(const Scenario *scenario, gboolean is_json)
{
    json_auto_t *drivers = json_object();

    for (unsigned i = 0; i < scenario->n_drivers; i++) {
        ProfilesCallRow rows[CSI_N_USES];
        const char *driver = scenario->drivers[i].name;
        for (CsiUse use = 0; use < CSI_N_USES; use++)
            rows[use] =
                (ProfilesCallRow){csi_use_class(use),
                                  scenario_driver_call_fault(scenario, &scenario->drivers[i], use)};
        if (is_json)
            json_object_set_new(drivers, driver, calls_as_json(rows));
        else if (scenario->n_drivers > 1)
            printf("%s%s\n", i == 0 ? "" : "\n", driver);
        if (!is_json)
            print_calls(rows);
        for (CsiUse use = 0; use < CSI_N_USES; use++)
            g_free(rows[use].fault);
    }
    if (is_json) {
        cli_print_json(drivers);
    }
}

static gboolean
is_scenario(const char *text)
{
    return g_regex_match_simple("^kind: *Scenario *$", text, G_REGEX_MULTILINE, 0);
}

/* ---- The command ---- */

typedef struct {
    const char *out;
    gboolean calls, is_json;
} ShowOptions;

static ExitCode
show(const char *data_dir, const char *folder, const char *name, const ShowOptions *options)
{
    g_autofree char *file = g_str_has_suffix(name, ".yaml")
                                ? g_strdup(name)
                                : g_strdup_printf("%s/%s.yaml", folder, name);
    g_autofree char *path =
        g_str_has_suffix(name, ".yaml") ? g_canonicalize_filename(name, NULL) : g_strdup(name);
    g_autofree char *text = NULL;

    if (!input_get_contents(file, &text, NULL, NULL))
        return cli_bad_input("profiles: no profile \"%s\": see kvolsim profiles", name);
    g_autoptr(Scenario) scenario = options->calls && is_scenario(text)
                                       ? load_scenario(data_dir, path)
                                       : cmd_profiles_load(data_dir, path);
    if (scenario == NULL)
        return EXIT_BAD_INPUT;
    if (options->calls) {
        show_calls(scenario, options->is_json);
        return EXIT_DONE;
    }
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    if (options->is_json) {
        json_auto_t *json = profile_as_json(name, text, lines, &scenario->drivers[0]);
        cli_print_json(json);
        return EXIT_DONE;
    }
    print_profile(lines, &scenario->drivers[0]);
    return cmd_profiles_draw(&scenario->drivers[0], name, options->out);
}

int
cmd_profiles(int argc, char **argv)
{
    g_autofree char *out = NULL;
    g_autofree char *format = NULL;
    ShowOptions options = {0};
    const GOptionEntry entries[] = {
        CLI_OPTION("out", FILENAME, &out,
                   "Draw profile.png into this folder instead of the terminal", "DIR"),
        CLI_OPTION("calls", NONE, &options.calls,
                   "Show the calls that Kubernetes makes, and those that it never makes", NULL),
        CLI_FORMAT_OPTION(&format),
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(
            &argc, &argv, entries, "[show NAME]",
            "List the latency profiles of storage back ends, or explain one: each number with "
            "its source and how far to trust it,\nand a picture of its distributions.",
            "NAME is one of the list, or a YAML file of your own; with --calls also a scenario.") ||
        !cli_parse_format("profiles", format, &options.is_json))
        return EXIT_BAD_INPUT;
    if (options.is_json && out != NULL)
        return cli_bad_usage("profiles", "--format json draws no picture for --out");
    g_autofree char *data_dir = cli_data_dir();
    g_autofree char *folder = g_build_filename(data_dir, "models", "profiles", NULL);
    if (argc == 1)
        return cmd_profiles_list(folder, options.is_json);
    options.out = out;
    if (argc == 3 && strcmp(argv[1], "show") == 0)
        return show(data_dir, folder, argv[2], &options);
    return cli_bad_usage("profiles", "give no argument, or show and a name");
}
