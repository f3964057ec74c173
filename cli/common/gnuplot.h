/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"

/* Finds and runs gnuplot with the scripts in plots/. */

typedef struct {
    const char *name;     /* of --format; "page", "narrow": for report.html on wide and narrow
                           * screens */
    const char *suffix;   /* of the picture's file; NULL: it is printed in the terminal */
    const char *terminal; /* gnuplot's */
} GnuplotFormat;

/* Returns: (borrowed): NULL: there is no such format */
const GnuplotFormat *gnuplot_format(const char *name);
/* Whether its pictures are parts of a report, whose names nobody is told. */
gboolean gnuplot_is_of_page(const GnuplotFormat *format);
/* A string in gnuplot's single quotes. (owned) */
char *gnuplot_quote(const char *text);

/**
 * gnuplot_draw_text:
 * @picture: the script is plots/@picture.gp
 * @text: the data that it reads, from a temporary file
 * @terminal: gnuplot's
 * @settings: more assignments that the script reads; may be empty
 * @output: the file to draw into, whose name is printed; %NULL: the standard output
 */
ExitCode gnuplot_draw_text(const char *picture,
                           const char *text,
                           const char *title,
                           const char *terminal,
                           const char *settings,
                           const char *output);
/* Draws plots/@picture.gp from @source, a result file in @folder; the picture goes there, too. */
ExitCode gnuplot_draw_results(const char *folder,
                              const char *picture,
                              const char *source,
                              const GnuplotFormat *format,
                              const char *settings);
