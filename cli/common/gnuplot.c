/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws a picture with gnuplot: a script of plots/, a file of data, a terminal. The picture is
 * drawn beside its place and moved when it is complete to the last byte, since gnuplot does not
 * tell of a full disk. Bitmaps within SVG are marked, so that browsers do not smooth them. */
#include "gnuplot.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const GnuplotFormat formats[] = {
    {"png",    "png",        "pngcairo size 1200,800 font 'sans,11'"              },
    {"svg",    "svg",        "svg size 1200,800 font 'sans,11' background 'white'"},
    {"dumb",   NULL,         "dumb size 120,40"                                   },
    {"page",   "page.svg",   "svg size 960,600 font 'sans,13'"                    },
    {"narrow", "narrow.svg", "svg size 400,480 font 'sans,11'"                    },
};

gboolean
gnuplot_is_of_page(const GnuplotFormat *format)
{
    return strcmp(format->name, "page") == 0 || strcmp(format->name, "narrow") == 0;
}

const GnuplotFormat *
gnuplot_format(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(formats); i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

char *
gnuplot_quote(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "'", -1);
    g_autofree char *inner = g_strjoinv("''", parts);

    return g_strdup_printf("'%s'", inner);
}

/* Whether the picture is there to its last byte: gnuplot does not tell of a full disk. */
static gboolean
is_complete(const char *file)
{
    static const char *const ends[] = {"IEND", "</svg>"};
    g_autofree char *bytes = NULL;
    gsize n;

    if (!g_file_get_contents(file, &bytes, &n, NULL))
        return FALSE;
    for (gsize at = n - MIN(n, 16); at < n; at++)
        for (unsigned i = 0; i < G_N_ELEMENTS(ends); i++)
            if (g_str_has_prefix(bytes + at, ends[i])) /* a NUL is behind the bytes */
                return TRUE;
    return FALSE;
}

/* A heat map is a bitmap of a pixel for each value in an SVG file. Browsers would smooth it, and
 * show values between two rows that are none. */
static gboolean
sharpen(const char *file, GError **error)
{
    g_autofree char *text = NULL;

    if (!g_file_get_contents(file, &text, NULL, error))
        return FALSE;
    if (!g_str_has_prefix(text, "<?xml") || strstr(text, "<image ") == NULL)
        return TRUE;
    g_autoptr(GString) svg = g_string_new(text);
    g_string_replace(svg, "<image ", "<image style='image-rendering: pixelated' ", 0);
    return g_file_set_contents(file, svg->str, (gssize)svg->len, error);
}

/* The picture is drawn beside its place. @complaint: (nullable): of gnuplot, which failed */
static ExitCode
put_in_place(const char *partial, const char *output, const char *complaint)
{
    ExitCode code = EXIT_DONE;
    g_autoptr(GError) error = NULL;

    if (complaint != NULL)
        code = cli_fail("plot: %s: gnuplot could not draw it: %s", output, complaint);
    else if (!is_complete(partial))
        code = cli_fail("plot: %s: the picture is incomplete: is the disk full?", output);
    else if (!sharpen(partial, &error))
        code = cli_fail("plot: %s", error->message);
    else if (g_rename(partial, output) != 0)
        code = cli_fail("plot: %s: %s", output, g_strerror(errno));
    if (code != EXIT_DONE)
        g_unlink(partial);
    return code;
}

/* The last line that gnuplot has written. @text is changed */
static const char *
last_line(char *text)
{
    const char *end = strrchr(g_strchomp(text), '\n');

    return end == NULL ? text : end + 1;
}

/* @input: the file that the script reads */
static ExitCode
gnuplot_draw(const char *picture,
             const char *input,
             const char *title,
             const char *terminal,
             const char *settings,
             const char *output)
{
    g_autofree char *data_dir = cli_data_dir();
    g_autofree char *script_name = g_strconcat(picture, ".gp", NULL);
    g_autofree char *script = g_build_filename(data_dir, "plots", script_name, NULL);
    g_autofree char *quoted_input = gnuplot_quote(input);
    g_autofree char *partial = g_strconcat(output == NULL ? "" : output, ".partial", NULL);
    g_autofree char *quoted_output = gnuplot_quote(partial);
    g_autofree char *quoted_title = gnuplot_quote(title);
    g_autofree char *commands = g_strdup_printf(
        "set terminal %s; input = %s; run_title = %s; if (%d) { set output %s }; %s", terminal,
        quoted_input, quoted_title, output != NULL, quoted_output, settings);
    char *const argv[] = {(char *)"gnuplot", (char *)"-e", commands, script, NULL};
    g_autofree char *complaint = NULL;
    g_autofree char *printed = NULL;
    g_autoptr(GError) error = NULL;
    int status;

    if (!g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, &printed,
                      &complaint, &status, &error))
        return cli_fail(
            "plot: gnuplot could not be started: %s (on Debian: apt-get install gnuplot-nox)",
            error->message);
    const char *failure = g_spawn_check_wait_status(status, NULL) ? NULL : last_line(complaint);
    if (output != NULL)
        return put_in_place(partial, output, failure);
    if (failure != NULL)
        return cli_fail("plot: %s: gnuplot could not draw it: %s", picture, failure);
    fputs(printed, stdout);
    return EXIT_DONE;
}

/* @output: (nullable): a picture in the terminal has no name */
static ExitCode
tell_name(ExitCode code, const char *output)
{
    if (code == EXIT_DONE && output != NULL)
        printf("%s\n", output);
    return code;
}

ExitCode
gnuplot_draw_text(const char *picture,
                  const char *text,
                  const char *title,
                  const char *terminal,
                  const char *settings,
                  const char *output)
{
    g_autofree char *input = NULL;
    g_autoptr(GError) error = NULL;
    int file = g_file_open_tmp("kvolsim-XXXXXX.dat", &input, &error);
    ExitCode code = EXIT_ERROR;

    if (file != -1 && g_file_set_contents(input, text, -1, &error))
        code = tell_name(gnuplot_draw(picture, input, title, terminal, settings, output), output);
    if (error != NULL)
        cli_error("plot: %s", error->message);
    if (file != -1) {
        close(file);
        g_unlink(input);
    }
    return code;
}

ExitCode
gnuplot_draw_results(const char *folder,
                     const char *picture,
                     const char *source,
                     const GnuplotFormat *format,
                     const char *settings)
{
    g_autofree char *input = g_build_filename(folder, source, NULL);
    g_autofree char *name = g_strconcat(picture, ".", format->suffix, NULL);
    g_autofree char *output = format->suffix == NULL ? NULL : g_build_filename(folder, name, NULL);
    Origin origin;
    g_autofree char *title = cli_read_origin(input, &origin)
                                 ? g_strdup_printf("%s, seed %s", origin.scenario, origin.seed)
                                 : g_strdup("?");

    if (!g_file_test(input, G_FILE_TEST_EXISTS))
        return cli_bad_input("plot: %s: no such file; is %s the --out folder of a run?", input,
                             folder);
    return tell_name(gnuplot_draw(picture, input, title, format->terminal, settings, output),
                     gnuplot_is_of_page(format) ? NULL : output);
}
