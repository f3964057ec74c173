/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim plot: draws pictures of a run's results, a sweep or a story, with gnuplot. A table has
 * the pictures and the files that they need; the index of the folder tells whether a file is there
 * and whole. All files are looked at before the first picture is drawn. Without a name, pictures
 * whose files a run does not have are left out. */
#include <inttypes.h>
#include <string.h>

#include "cli/common/gnuplot.h"
#include "cli/common/paint.h"
#include "cli/common/plot-story.h"
#include "cli/common/plot-sweep.h"
#include "commands.h"
#include "run/files/input.h"
#include "run/results/result-folder.h"
#include "run/results/results.h"
#include "run/world/run.h"

/* plots/<name>.gp draws a picture from a file of the folder, which the index there knows. */
/* clang-format off */
static const struct {
    const char *name, *index, *source, *meaning;
} pictures[] = {
    {"timeline",     "summary.json", "objects.csv",                "the start of each pod, stage by stage"},
    {"cdf",          "summary.json", "distributions.csv",          "what share of the pods had completed a stage, by time"},
    {"waits",        "summary.json", "waits.csv",                  "where the time went"},
    {"in-flight",    "summary.json", "over-time.csv",              "calls in flight and queues over time"},
    {"pending",      "summary.json", "over-time.csv",              "pending pods over time"},
    {"availability", "summary.json", "availability-over-time.csv", "when each workload lacked pods"},
    {"nodes",        "summary.json", "node-volumes.csv",           "volumes of each node over time, against its limit"},
    {"requests",     "summary.json", "client-rates.csv",           "requests to the API server over time, by client"},
    {"tornado",      "whatif.json",  "whatif.csv",                 "which flag or limit matters most (of kvolsim whatif)"},
    {"pareto",       "tune.json",    "tune.csv",                   "API load against time (of kvolsim tune)"},
    {"modes",        "summary.json", "binding-modes.csv",          "pods with Immediate and WaitForFirstConsumer claims"},
};
/* clang-format on */

static char *
picture_names(const char *separator, gboolean with_meaning)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++) {
        g_string_append_printf(text, "%s%s", i == 0 ? "" : separator, pictures[i].name);
        if (with_meaning)
            g_string_append_printf(text, "%*s%s", 13 - (int)strlen(pictures[i].name), "",
                                   pictures[i].meaning);
    }
    return g_string_free(text, FALSE);
}

/* A run with --no-attribution lacks some files: without a PICTURE, theirs are not drawn. Returns:
 * whether @picture can be drawn; FALSE with an error: its files are missing or damaged */
static gboolean
can_draw(const char *run, unsigned picture, gboolean is_asked_for, GError **error)
{
    g_autoptr(ResultFolder) folder = result_folder_open(run, pictures[picture].index, error);

    if (folder == NULL)
        return FALSE;
    return (is_asked_for || result_folder_has(folder, pictures[picture].source)) &&
           result_folder_check(folder, pictures[picture].source, error);
}

/* The folder may hold the results of one command, or of several. */
static gboolean
has_index(const char *run, unsigned picture)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(ResultFolder) folder = result_folder_open(run, pictures[picture].index, &error);

    return folder != NULL || !g_error_matches(error, RUN_ERROR, RUN_ERROR_NO_FILE);
}

/* @wanted: (out): which pictures to draw. All files are looked at before the first is drawn. */
static gboolean
cmd_plot_choose(const char *run, const char *kind, gboolean *wanted)
{
    gboolean is_any = FALSE, is_known = kind == NULL;
    unsigned n_wanted = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++)
        is_any |= has_index(run, i);
    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++) {
        g_autoptr(GError) error = NULL;
        if (kind == NULL ? is_any && !has_index(run, i) : strcmp(kind, pictures[i].name) != 0)
            continue;
        is_known = TRUE;
        wanted[i] = can_draw(run, i, kind != NULL, &error);
        n_wanted += wanted[i];
        if (error == NULL)
            continue;
        cli_error("plot: %s", error->message);
        return FALSE;
    }
    if (n_wanted > 0)
        return TRUE;
    if (is_known) {
        cli_error("plot: %s has no file to draw from; of a run with several replications give the "
                  "folder of one: %s/replication-0",
                  run, run);
        return FALSE;
    }
    g_autofree char *names = picture_names(", ", FALSE);
    cli_error("plot: no such picture: \"%s\" (known: %s)", kind, names);
    return FALSE;
}

static ExitCode
draw_all(const char *run, const char *kind, const GnuplotFormat *format, const char *zoom)
{
    gboolean wanted[G_N_ELEMENTS(pictures)] = {FALSE};

    if (!cmd_plot_choose(run, kind, wanted))
        return EXIT_BAD_INPUT;
    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++) {
        ExitCode code = !wanted[i] ? EXIT_DONE
                                   : gnuplot_draw_results(run, pictures[i].name, pictures[i].source,
                                                          format, zoom);
        if (code != EXIT_DONE)
            return code;
    }
    return EXIT_DONE;
}

/* Settings for gnuplot from --from and --to. Returns: (owned): NULL with the fault printed */
static char *
zoom_settings(const char *from_text, const char *to_text)
{
    SimTime from = 0, to = 0;

    if (from_text == NULL && to_text == NULL)
        return g_strdup("");
    if (!cli_parse_time("plot: --from", from_text, &from) ||
        !cli_parse_time("plot: --to", to_text, &to))
        return NULL;
    if (to <= from) {
        cli_error("plot: --to must be given, and later than --from");
        return NULL;
    }
    return g_strdup_printf("zoom_from = %" PRId64 " / 1e9; zoom_to = %" PRId64 " / 1e9", from, to);
}

/* The last lines that the run printed; empty if there is no summary. */
static void
tell_notices(const char *run)
{
    g_autofree char *path = g_build_filename(run, "summary.json", NULL);
    json_auto_t *summary = input_check_regular(path, NULL) ? json_load_file(path, 0, NULL) : NULL;
    g_autoptr(GString) lines = g_string_new(NULL);

    if (summary != NULL)
        results_append_notices(summary, lines);
    plain_print(stderr, lines->str);
}

/* Returns: whether the file begins as a database does */
static gboolean
is_sweep(const char *path)
{
    char head[16] = "";
    FILE *file = input_check_regular(path, NULL) ? fopen(path, "rb") : NULL;

    if (file == NULL)
        return FALSE;
    gboolean is_read = fread(head, 1, sizeof head, file) == sizeof head;
    fclose(file);
    return is_read && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

/* Options that would change nothing. Returns: (nullable): the first that is given */
static const char *
story_option(const PlotStory *story)
{
    return story->object != NULL      ? "--object"
           : story->namespace != NULL ? "--namespace"
           : story->scenario != NULL  ? "--scenario"
           : story->look.set != NULL  ? "--set"
           : story->look.seed != NULL ? "--seed"
           : story->out != NULL       ? "--out"
                                      : NULL;
}

static const char *
sweep_option(const PlotSweep *sweep)
{
    return sweep->measure != NULL   ? "--measure"
           : sweep->along != NULL   ? "--along"
           : sweep->by != NULL      ? "--by"
           : sweep->against != NULL ? "--against"
           : sweep->only != NULL    ? "--only"
                                    : NULL;
}

static ExitCode
plot(const PlotStory *story, const PlotSweep *sweep, int argc, char **argv, const char *format_name)
{
    const GnuplotFormat *format = gnuplot_format(format_name);
    const char *picture = argc == 3 ? argv[2] : NULL;

    if (argc < 2 || argc > 3)
        return cli_bad_usage(
            "plot", "give the folder of a run or the file of a sweep, and a picture if you like");
    if (format != NULL ? gnuplot_is_of_page(format) : strcmp(format_name, "mermaid") != 0)
        return cli_bad_input("plot: --format: \"%s\" is none of png, svg, dumb, mermaid",
                             format_name);
    if (picture != NULL && plot_story_has(picture))
        return sweep_option(sweep) == NULL
                   ? plot_story_draw(story, argv[1], picture, format_name)
                   : cli_bad_input("plot: %s is for sweeps only", sweep_option(sweep));
    if (format == NULL || story_option(story) != NULL)
        return cli_bad_input("plot: %s is for sequence and lifecycle only",
                             format == NULL ? "--format mermaid" : story_option(story));
    if (g_file_test(argv[1], G_FILE_TEST_IS_REGULAR) && !is_sweep(argv[1]))
        return cli_bad_input("plot: %s holds no results; of a scenario: kvolsim run %s --out RUN, "
                             "then kvolsim plot RUN; of a sweep: kvolsim sweep %s --out DB, then "
                             "kvolsim plot DB",
                             argv[1], argv[1], argv[1]);
    if (g_file_test(argv[1], G_FILE_TEST_IS_REGULAR))
        return story->from == NULL && story->to == NULL
                   ? plot_sweep_draw(sweep, argv[1], picture, format)
                   : cli_bad_input("plot: --from and --to are for runs only");
    if (sweep_option(sweep) != NULL)
        return cli_bad_input("plot: %s is for sweeps only", sweep_option(sweep));
    g_autofree char *zoom = zoom_settings(story->from, story->to);
    if (zoom == NULL)
        return EXIT_BAD_INPUT;
    ExitCode code = draw_all(argv[1], picture, format, zoom);
    if (code == EXIT_DONE)
        tell_notices(argv[1]);
    return code;
}

int
cmd_plot(int argc, char **argv)
{
    PlotStory story = {0};
    PlotSweep sweep = {0};
    char *format_name = NULL;
    const GOptionEntry entries[] = {
        CLI_OPTION("format", STRING, &format_name,
                   "png (default), svg, dumb (in the terminal), or mermaid (a story as text for "
                   "documents)",
                   "FORMAT"),
        CLI_OPTION("object", STRING, &story.object, "For a story: the object, such as pod/web-0",
                   "KIND/NAME"),
        {"namespace", 'n', 0, G_OPTION_ARG_STRING, &story.namespace,
           "For a story: of the object (default: any)", "NAMESPACE"},
        CLI_OPTION("from", STRING, &story.from, "Draw from this time on", "TIME"),
        CLI_OPTION("to", STRING, &story.to, "Draw up to this time", "TIME"),
        CLI_OPTION("scenario", FILENAME, &story.scenario,
                   "For a story: the scenario of RUN, if it does not come with kvolsim", "FILE"),
        CLI_OPTION("set", STRING_ARRAY, &story.look.set, "For a story: each --set that the run had",
                   "PATH=VALUE"),
        CLI_OPTION("seed", STRING, &story.look.seed,
                   "For a story of a scenario file: use this seed instead of its own", "N"),
        CLI_OPTION("out", FILENAME, &story.out,
                   "For a story: the folder for the picture (default: RUN, or the current folder)",
                   "DIR"),
        CLI_OPTION("measure", STRING, &sweep.measure, "For a sweep: draw this measure", "MEASURE"),
        CLI_OPTION("along", STRING, &sweep.along, "For a sweep: over this parameter", "PARAMETER"),
        CLI_OPTION("by", STRING, &sweep.by,
                   "For a sweep: a curve or row for each value of this parameter", "PARAMETER"),
        CLI_OPTION("against", STRING, &sweep.against,
                   "For the picture pareto of a sweep: the measure of the cost, such as requests",
                   "MEASURE"),
        CLI_OPTION("only", STRING_ARRAY, &sweep.only,
                   "For a sweep: hold another parameter at this value", "PARAMETER=VALUE"),
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *names = picture_names("\n  ", TRUE);
    g_autofree char *stories = plot_story_names("\n  ");
    g_autofree char *sweeps = plot_sweep_names("\n  ");
    g_autofree char *description =
        g_strdup_printf("RUN is the --out folder of kvolsim run, whatif or tune. Pictures:\n"
                        "  %s\nStories, which run the scenario once more; here RUN may also be a "
                        "scenario file:\n  %s\n"
                        "If RUN is the result file of kvolsim sweep, pictures are drawn beside "
                        "it:\n  %s",
                        names, stories, sweeps);

    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "RUN [PICTURE]",
                  "Draw pictures of a run's or a sweep's results, and print the files' names.",
                  description))
        code = plot(&story, &sweep, argc, argv, format_name != NULL ? format_name : "png");
    cli_free_values(entries);
    return code;
}
