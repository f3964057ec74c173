/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/scenario/scenario.h"

/* Options, errors, exit codes, input and output files of all commands. */

/* The exit status of the program. Users' scripts rely on it: changing one is a breaking change. */
typedef enum {
    EXIT_DONE = 0,
    EXIT_ERROR = 1, /* internal, or input and output */
    EXIT_BAD_INPUT = 2,
    EXIT_NOT_MET = 3,       /* an slo or expect, or a comparison differs */
    EXIT_NOT_PERMITTED = 4, /* on this machine */
    EXIT_INTERRUPTED = 130, /* by SIGINT or SIGHUP */
    EXIT_TERMINATED = 143,  /* by SIGTERM */
} ExitCode;

/* Call it first: makes sure that the standard streams are open, that a failed write to the
 * standard output becomes EXIT_ERROR, that the file "-" in @argv can be read more than once, and
 * that "scenarios/..." is found from any folder. */
void cli_begin(int argc, char **argv);
/* @code: what a command returned. Returns: the exit status of the program */
int cli_end(int code);

/**
 * cli_parse:
 * @arguments, @summary, @description: for --help; the last may be %NULL
 *
 * Removes @entries and --help from @argc and @argv, and stores their values. Prints what is wrong.
 * Returns: %FALSE: the command ends with %EXIT_BAD_INPUT
 */
gboolean cli_parse(int *argc,
                   char ***argv,
                   const GOptionEntry *entries,
                   const char *arguments,
                   const char *summary,
                   const char *description);
/* Returns: (owned): free with g_free(): the rows of @one, then those of @other (%NULL: none) */
GOptionEntry *cli_join_entries(const GOptionEntry *one, const GOptionEntry *other);
/* Frees the texts and lists of texts that cli_parse() stored for @entries. */
void cli_free_values(const GOptionEntry *entries);

/* Rows of @entries: --@name @value; @type as in G_OPTION_ARG_@type. */
#define CLI_OPTION(name, type, to, meaning, value)                                                 \
    {                                                                                              \
        name, 0, 0, G_OPTION_ARG_##type, to, meaning, value                                        \
    }
#define CLI_FORMAT_OPTION(to) CLI_OPTION("format", STRING, to, "table (default) or json", "FORMAT")
#define CLI_JOBS_OPTION(to)                                                                        \
    {                                                                                              \
        "jobs", 'j', 0, G_OPTION_ARG_INT, to,                                                      \
            "Make N runs at once; default: one for each processor", "N"                            \
    }

/* Prints "kvolsim: message" to stderr. */
void cli_error(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same. Returns: %EXIT_BAD_INPUT */
ExitCode cli_bad_input(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same. Returns: %EXIT_ERROR */
ExitCode cli_fail(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Prints @message, and that `kvolsim @command --help` tells more. Returns: %EXIT_BAD_INPUT */
ExitCode cli_bad_usage(const char *command, const char *message);

/* Each checks one argument of @command, and prints what is wrong with it. Returns: whether it is
 * good */
gboolean cli_has_one(const char *command, int argc, const char *what); /* "scenario", "file" */
gboolean cli_is_between(const char *command, const char *option, int value, int min, int max);
/* @format: of --format: "json", "table" or NULL, which means table */
gboolean cli_parse_format(const char *command, const char *format, gboolean *is_json);
/* @text: of --seed; NULL: the seed of @scenario */
gboolean cli_parse_seed(const char *text, const Scenario *scenario, uint64_t *seed);
/* Stores the time that @text means ("12.5s"); nothing if it is %NULL. @option is for the message */
gboolean cli_parse_time(const char *option, const char *text, SimTime *time);

/**
 * cli_load_scenario:
 * @set: (nullable): the values of --set
 * Returns: (owned): %NULL with the faults printed
 */
Scenario *cli_load_scenario(const char *file, char *const *set);
/* The same: a scenario of one node whose driver @name has @profile, the name or the file of one. */
Scenario *cli_load_profile(const char *profile, const char *name, char *const *set);
/* Prints faults to stderr, one per line. */
void cli_print_faults(const GPtrArray *faults);

/* The root of scenarios/, plots/ and models/profiles/: in the source tree if the program is not
 * installed. (owned) */
char *cli_data_dir(void);
/* The catalogues of messages are in <folder>/<locale>/LC_MESSAGES/kvolsim.mo. (owned) */
char *cli_locale_dir(void);
/* Becomes kvolsim-network, which has the command argv[0]. Returns: an ExitCode, only if that fails
 */
int cli_run_network_program(int argc, char **argv);

/* Blocks SIGINT, SIGTERM, SIGHUP and @another (0: no other) in this thread and in threads that it
 * starts. Returns: (owned): a non-blocking signalfd to read them from; -1: error */
int cli_open_signals(int another);

/* The run that a result file is of: "# kvolsim VERSION scenario NAME hash HASH seed N replication
 * N" is its first line. */
typedef struct {
    char scenario[256], hash[80], seed[32];
    unsigned replication;
} Origin;

/* Returns: %FALSE: the file at @path does not begin with such a line */
gboolean cli_read_origin(const char *path, Origin *origin);

/* Each writes a file or makes a folder, and prints what went wrong. Returns: whether it worked */
gboolean cli_make_folder(const char *folder);
gboolean cli_write_file(const char *folder, const char *name, const char *text);
gboolean cli_write_json(const char *folder, const char *name, const json_t *json);
/* The same; @json gets the size and digest of the file @of in the folder. */
gboolean cli_write_index(const char *folder, const char *name, json_t *json, const char *of);
void cli_print_json(const json_t *json);
