/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "models/csi/loop/loop-backend.h"

/* What users' scripts rely on (DESIGN §10): changing one is a breaking change. */
typedef enum {
    EXIT_DONE = 0,
    EXIT_ERROR = 1, /* internal, or input and output */
    EXIT_BAD_INPUT = 2,
    EXIT_NOT_MET = 3,       /* an slo or expect */
    EXIT_NOT_PERMITTED = 4, /* on this machine */
    EXIT_INTERRUPTED = 130,
} ExitCode;

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name. Returns: an ExitCode */
    const char *arguments;             /* for the usage line */
    const char *summary;               /* one line */
} Command;

int cmd_profiles(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_fit(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_loop(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_describe(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_why(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_plot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_schema(int argc, char **argv);
int cmd_validate(int argc, char **argv);
int cmd_step(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_teach(int argc, char **argv);
int cmd_version(int argc, char **argv);

/**
 * cli_parse:
 * Parses @entries and --help out of @argv, and puts the other arguments in @rest. Prints what is
 * wrong.
 * @arguments, @summary, @description: for --help; the last may be %NULL
 * Returns: %FALSE: end with %EXIT_BAD_INPUT
 */
gboolean cli_parse(int *argc,
                   char ***argv,
                   const GOptionEntry *entries,
                   const char *arguments,
                   const char *summary,
                   const char *description);
/* Prints "kvolsim: message" to stderr. */
void cli_error(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* What an error of the loop driver (LOOP_ERROR) means for the exit code. */
ExitCode cli_loop_exit(const GError *error);
/* The back end of a folder without volumes; whatever else a dead process left there is taken back.
 * Returns: (owned): NULL with @error */
LoopBackend *cli_loop_open(const LoopOptions *options, GError **error);
/* Ctrl-C and kill are noted from now on, for who asks. */
void cli_catch_interrupts(void);
gboolean cli_was_interrupted(void);
/* Draws plots/@picture.gp from @source, a file in @folder: into a file there, whose name is
 * printed, or if @format is "dumb" onto the standard output. */
ExitCode cli_draw(const char *folder, const char *picture, const char *source, const char *format);
/* Draws plots/@picture.gp from @input with gnuplot's @terminal and further @settings, into @output,
 * whose name is printed; NULL: onto the standard output. */
ExitCode cli_gnuplot(const char *picture,
                     const char *input,
                     const char *title,
                     const char *terminal,
                     const char *settings,
                     const char *output);
/* A string in gnuplot's single quotes. (owned) */
char *cli_gnuplot_quote(const char *text);
#define CLI_STATE_DIR                                                                              \
    "/var/lib/kvolsim" /* of the loop driver, unless --state-dir says otherwise                    \
                        */

/* The root of scenarios/, plots/ and models/profiles/: the source tree's if the program runs
 * uninstalled. (owned) */
char *cli_data_dir(void);
/* Where catalogues of messages are: <it>/<locale>/LC_MESSAGES/kvolsim.mo. (owned) */
char *cli_locale_dir(void);
/* @name: of --lang: "en", "zh"; NULL: what the environment says. @translation: (out): NULL:
 * English. Returns: FALSE: there is no such language, and that was printed */
gboolean cli_language(const char *name, const char *(**translation)(const char *english));
