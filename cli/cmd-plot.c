/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plot-story.h"
#include "plot-sweep.h"

/* A picture: plots/<name>.gp draws it from a file of the run. */
static const struct {
    const char *name, *source, *meaning;
} pictures[] = {
    {"timeline",  "objects.csv",       "each pod's start, stage by stage"                   },
    {"cdf",       "distributions.csv", "what share of the pods was through after how long"  },
    {"waits",     "waits.csv",         "where the time went"                                },
    {"in-flight", "over-time.csv",     "calls in flight and queues over time"               },
    {"pending",   "over-time.csv",     "pending pods over time"                             },
    {"nodes",     "node-volumes.csv",  "volumes of each node over time, against its limit"  },
    {"requests",  "client-rates.csv",  "requests to the API server over time, by client"    },
    {"tornado",   "whatif.csv",        "which flag or limit matters most: of kvolsim whatif"},
    {"pareto",    "tune.csv",          "API load against time: of kvolsim tune"             },
    {"modes",     "binding-modes.csv", "pods with Immediate and WaitForFirstConsumer claims"},
};

typedef struct {
    const char *name; /* of --format */
    const char *suffix;
    const char *terminal; /* gnuplot's */
} Format;

static const Format formats[] = {
    {"png",  "png", "pngcairo size 1200,800 font 'sans,11'"              },
    {"svg",  "svg", "svg size 1200,800 font 'sans,11' background 'white'"},
    {"dumb", NULL,  "dumb size 120,40"                                   },
    {"page", "svg", "svg size 960,600 font 'sans,13'"                    }, /* within report.html */
};

static const Format *
find_format(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

char *
cli_gnuplot_quote(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "'", -1);
    g_autofree char *inner = g_strjoinv("''", parts);

    return g_strdup_printf("'%s'", inner);
}

/* "burst-100, seed 1" of "# kvolsim VERSION scenario burst-100 hash HASH seed 1 replication 0".
 * (owned) */
static char *
run_title(const char *input)
{
    char line[1024] = "";
    FILE *file = fopen(input, "r");
    const char *scenario, *hash, *seed, *replication;

    if (file != NULL && fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        fclose(file);
    scenario = strstr(line, " scenario ");
    hash = strstr(line, " hash ");
    seed = strstr(line, " seed ");
    replication = strstr(line, " replication ");
    if (scenario == NULL || hash == NULL || seed == NULL || replication == NULL)
        return g_strdup("?");
    return g_strdup_printf("%.*s,%.*s", (int)(hash - scenario - 10), scenario + 10,
                           (int)(replication - seed), seed);
}

ExitCode
cli_gnuplot(const char *picture,
            const char *input,
            const char *title,
            const char *terminal,
            const char *more_settings,
            const char *output)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autofree char *script_name = g_strconcat(picture, ".gp", NULL);
    g_autofree char *script = g_build_filename(data_dir, "plots", script_name, NULL);
    g_autofree char *quoted_input = cli_gnuplot_quote(input);
    g_autofree char *quoted_output = cli_gnuplot_quote(output == NULL ? "" : output);
    g_autofree char *quoted_title = cli_gnuplot_quote(title);
    g_autofree char *settings = g_strdup_printf(
        "set terminal %s; input = %s; run_title = %s; if (%d) { set output %s }; %s", terminal,
        quoted_input, quoted_title, output != NULL, quoted_output, more_settings);
    char *const argv[] = {(char *)"gnuplot", (char *)"-e", settings, script, NULL};
    g_autofree char *said = NULL;
    g_autofree char *printed = NULL;
    g_autoptr(GError) error = NULL;
    int status;

    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &printed, &said,
                      &status, &error)) {
        cli_error("plot: gnuplot could not be started: %s (on Debian: apt-get install gnuplot-nox)",
                  error->message);
        return EXIT_ERROR;
    }
    if (!g_spawn_check_wait_status(status, NULL)) {
        cli_error("plot: gnuplot failed: %s", said);
        return EXIT_ERROR;
    }
    if (output == NULL)
        fputs(printed, stdout);
    else
        printf("%s\n", output);
    return EXIT_DONE;
}

/* What part of the time is drawn. */
typedef struct {
    SimTime from, to; /* to: 0: all of it */
} Zoom;

static ExitCode
draw(const char *run,
     const char *picture,
     const char *source,
     const Format *format,
     const Zoom *zoom)
{
    g_autofree char *input = g_build_filename(run, source, NULL);
    g_autofree char *output_name = g_strconcat(picture, ".", format->suffix, NULL);
    g_autofree char *output =
        format->suffix == NULL ? NULL : g_build_filename(run, output_name, NULL);
    g_autofree char *title = run_title(input);

    if (!g_file_test(input, G_FILE_TEST_EXISTS)) {
        cli_error("plot: %s: no such file; is %s the --out folder of a run?", input, run);
        return EXIT_BAD_INPUT;
    }
    g_autofree char *zoomed =
        zoom == NULL || zoom->to == 0
            ? g_strdup("")
            : g_strdup_printf("zoom_from = %" PRId64 " / 1e9; zoom_to = %" PRId64 " / 1e9",
                              zoom->from, zoom->to);
    return cli_gnuplot(picture, input, title, format->terminal, zoomed, output);
}

ExitCode
cli_draw(const char *folder, const char *picture, const char *source, const char *format)
{
    return draw(folder, picture, source, find_format(format), NULL);
}

static char *
picture_names(const char *separator, gboolean with_meaning)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++) {
        g_string_append_printf(text, "%s%s", i == 0 ? "" : separator, pictures[i].name);
        if (with_meaning)
            g_string_append_printf(text, "%*s%s", 11 - (int)strlen(pictures[i].name), "",
                                   pictures[i].meaning);
    }
    return g_string_free(text, FALSE);
}

/* What a run without attribution has not is passed over when all are drawn. */
static gboolean
is_there(const char *run, unsigned picture)
{
    g_autofree char *input = g_build_filename(run, pictures[picture].source, NULL);

    return g_file_test(input, G_FILE_TEST_EXISTS);
}

static ExitCode
draw_all(const char *run, const char *kind, const Format *format, const Zoom *zoom)
{
    gboolean is_known = FALSE, is_any = FALSE;

    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++)
        is_any |= is_there(run, i);
    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++) {
        if (kind == NULL ? is_any && !is_there(run, i) : strcmp(kind, pictures[i].name) != 0)
            continue;
        is_known = TRUE;
        ExitCode code = draw(run, pictures[i].name, pictures[i].source, format, zoom);
        if (code != EXIT_DONE)
            return code;
    }
    if (is_known)
        return EXIT_DONE;
    g_autofree char *names = picture_names(", ", FALSE);
    cli_error("plot: no such picture: \"%s\" (known: %s)", kind, names);
    return EXIT_BAD_INPUT;
}

static gboolean
parse_zoom(const char *from, const char *to, Zoom *zoom)
{
    g_autoptr(GError) error = NULL;

    *zoom = (Zoom){0, 0};
    if (from != NULL && !sim_time_parse(from, &zoom->from, &error)) {
        cli_error("plot: --from: %s", error->message);
        return FALSE;
    }
    if (to != NULL && !sim_time_parse(to, &zoom->to, &error)) {
        cli_error("plot: --to: %s", error->message);
        return FALSE;
    }
    if ((from != NULL || to != NULL) && zoom->to <= zoom->from) {
        cli_error("plot: --to must be given, and later than --from");
        return FALSE;
    }
    return TRUE;
}

static ExitCode
plot(const PlotStory *story, const PlotSweep *sweep, int argc, char **argv, const char *format_name)
{
    const Format *format = find_format(format_name);
    const char *picture = argc == 3 ? argv[2] : NULL;
    Zoom zoom;

    if (argc < 2 || argc > 3) {
        cli_error("plot: give the folder of a run or the file of a sweep, and perhaps a picture "
                  "(see kvolsim plot --help)");
        return EXIT_BAD_INPUT;
    }
    if (format != NULL ? strcmp(format_name, "page") == 0 : strcmp(format_name, "mermaid") != 0) {
        cli_error("plot: --format: \"%s\" is none of png, svg, dumb, mermaid", format_name);
        return EXIT_BAD_INPUT;
    }
    if (picture != NULL && plot_story_has(picture))
        return plot_story_draw(story, argv[1], picture, format_name);
    if (format == NULL || story->object != NULL) {
        cli_error("plot: %s is for sequence and lifecycle only",
                  format == NULL ? "--format mermaid" : "--object");
        return EXIT_BAD_INPUT;
    }
    if (g_file_test(argv[1], G_FILE_TEST_IS_REGULAR))
        return plot_sweep_draw(sweep, argv[1], picture, format->suffix, format->terminal);
    if (!parse_zoom(story->from, story->to, &zoom))
        return EXIT_BAD_INPUT;
    return draw_all(argv[1], picture, format, &zoom);
}

int
cmd_plot(int argc, char **argv)
{
    g_auto(PlotStory) story = {0};
    g_auto(PlotSweep) sweep = {0};
    g_autofree char *format_name = NULL;
    const GOptionEntry entries[] = {
        {"format",   0, 0, G_OPTION_ARG_STRING,       &format_name,
         "png (default), svg, or dumb: in the terminal; mermaid: text of a story's picture, for "
         "documents",                                                                                      "FORMAT"         },
        {"object",   0, 0, G_OPTION_ARG_STRING,       &story.object,    "Of a story: whose, as pod/web-0",
         "KIND/NAME"                                                                                                        },
        {"from",     0, 0, G_OPTION_ARG_STRING,       &story.from,      "Draw only what was from then on", "TIME"           },
        {"to",       0, 0, G_OPTION_ARG_STRING,       &story.to,        "Draw only what was until then",   "TIME"           },
        {"scenario", 0, 0, G_OPTION_ARG_FILENAME,     &story.scenario,
         "Of a story: the scenario that RUN is of, if it does not come with kvolsim",                      "FILE"           },
        {"set",      0, 0, G_OPTION_ARG_STRING_ARRAY, &story.look.set,  "Of a story: as the run had it",
         "PATH=VALUE"                                                                                                       },
        {"seed",     0, 0, G_OPTION_ARG_STRING,       &story.look.seed,
         "Of a story of a scenario file: another seed than its own",                                       "N"              },
        {"out",      0, 0, G_OPTION_ARG_FILENAME,     &story.out,
         "Of a story: the folder for the picture (default: RUN, or here)",                                 "DIR"            },
        {"measure",  0, 0, G_OPTION_ARG_STRING,       &sweep.measure,   "Of a sweep: draw this measure",
         "MEASURE"                                                                                                          },
        {"along",    0, 0, G_OPTION_ARG_STRING,       &sweep.along,     "Of a sweep: over this parameter",
         "PARAMETER"                                                                                                        },
        {"by",       0, 0, G_OPTION_ARG_STRING,       &sweep.by,
         "Of a sweep: a curve or row for each value of this one",                                          "PARAMETER"      },
        {"against",  0, 0, G_OPTION_ARG_STRING,       &sweep.against,
         "Of a sweep's front: the measure that is the price, such as requests",                            "MEASURE"        },
        {"only",     0, 0, G_OPTION_ARG_STRING_ARRAY, &sweep.only,
         "Of a sweep: hold another parameter at this value",                                               "PARAMETER=VALUE"},
        G_OPTION_ENTRY_NULL,
    };
    g_autofree char *names = picture_names("\n  ", TRUE);
    g_autofree char *stories = plot_story_names("\n  ");
    g_autofree char *sweeps = plot_sweep_names("\n  ");
    g_autofree char *description =
        g_strdup_printf("RUN is the --out folder of kvolsim run, whatif or tune. Pictures:\n  "
                        "%s\nStories, for which the "
                        "scenario is run once more; RUN may be a scenario file, too:\n  %s\nOr RUN "
                        "is the result file of "
                        "kvolsim sweep. Pictures, drawn beside it:\n  %s",
                        names, stories, sweeps);

    if (!cli_parse(&argc, &argv, entries, "RUN [PICTURE]",
                   "Draw pictures of a run's or a sweep's results, and print the files' names.",
                   description))
        return EXIT_BAD_INPUT;
    return plot(&story, &sweep, argc, argv, format_name != NULL ? format_name : "png");
}
