/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* A picture: plots/<name>.gp draws it from a file of the run. */
static const struct {
    const char *name, *source, *meaning;
} pictures[] = {
    {"timeline", "objects.csv", "each pod's start, stage by stage"},
};

typedef struct {
    const char *name; /* of --format */
    const char *suffix;
    const char *terminal; /* gnuplot's */
} Format;

static const Format formats[] = {
    {"png",  "png", "pngcairo size 1200,800 font 'sans,11'"},
    {"svg",  "svg", "svg size 1200,800 font 'sans,11'"     },
    {"dumb", NULL,  "dumb size 120,40"                     },
};

static const Format *
find_format(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

/* A string in gnuplot's single quotes. (owned) */
static char *
quote(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "'", -1);
    g_autofree char *inner = g_strjoinv("''", parts);

    return g_strdup_printf("'%s'", inner);
}

static ExitCode
draw(const char *run, const char *picture, const char *source, const Format *format)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autofree char *script_name = g_strconcat(picture, ".gp", NULL);
    g_autofree char *script = g_build_filename(data_dir, "plots", script_name, NULL);
    g_autofree char *input = g_build_filename(run, source, NULL);
    g_autofree char *output_name = g_strconcat(picture, ".", format->suffix, NULL);
    g_autofree char *output =
        format->suffix == NULL ? NULL : g_build_filename(run, output_name, NULL);
    g_autofree char *quoted_input = quote(input);
    g_autofree char *quoted_output = quote(output == NULL ? "" : output);
    g_autofree char *settings =
        g_strdup_printf("set terminal %s; input = %s; if (%d) { set output %s }", format->terminal,
                        quoted_input, output != NULL, quoted_output);
    char *const argv[] = {(char *)"gnuplot", (char *)"-e", settings, script, NULL};
    g_autofree char *said = NULL;
    g_autofree char *printed = NULL;
    g_autoptr(GError) error = NULL;
    int status;

    if (!g_file_test(input, G_FILE_TEST_EXISTS)) {
        cli_error("plot: %s: no such file; is %s the --out folder of a run?", input, run);
        return EXIT_BAD_INPUT;
    }
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

ExitCode
cli_draw(const char *folder, const char *picture, const char *source, const char *format)
{
    return draw(folder, picture, source, find_format(format));
}

static ExitCode
draw_all(const char *run, const char *kind, const Format *format)
{
    gboolean is_known = FALSE;

    for (unsigned i = 0; i < G_N_ELEMENTS(pictures); i++) {
        if (kind != NULL && strcmp(kind, pictures[i].name) != 0)
            continue;
        is_known = TRUE;
        ExitCode code = draw(run, pictures[i].name, pictures[i].source, format);
        if (code != EXIT_DONE)
            return code;
    }
    if (!is_known)
        cli_error("plot: no such picture: \"%s\" (known: timeline)", kind);
    return is_known ? EXIT_DONE : EXIT_BAD_INPUT;
}

int
cmd_plot(int argc, char **argv)
{
    g_autofree char *format_name = NULL;
    const GOptionEntry entries[] = {
        {"format", 0, 0, G_OPTION_ARG_STRING, &format_name,
         "png (default), svg, or dumb: in the terminal", "FORMAT"},
        G_OPTION_ENTRY_NULL,
    };

    if (!cli_parse(&argc, &argv, entries, "RUN [PICTURE]",
                   "Draw pictures of a run's results into its folder, and print the files' names.",
                   "RUN is the --out folder of kvolsim run. Pictures:\n  timeline   each pod's "
                   "start, stage by stage"))
        return EXIT_BAD_INPUT;
    const Format *format = find_format(format_name == NULL ? "png" : format_name);
    if (format == NULL || argc < 2 || argc > 3) {
        if (format == NULL)
            cli_error("plot: --format: \"%s\" is none of png, svg, dumb", format_name);
        else
            cli_error(
                "plot: give the folder of a run, and perhaps a picture (see kvolsim plot --help)");
        return EXIT_BAD_INPUT;
    }
    return draw_all(argv[1], argc == 3 ? argv[2] : NULL, format);
}
