/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "config.h"

static const Command commands[] = {
    {"run",       cmd_run,       "SCENARIO",         "Run a scenario and print how long things took"                },
    {"check",     cmd_check,     "FILE…",          "Check scenario, sweep and manifest files without running them"},
    {"sweep",     cmd_sweep,     "FILE",             "Run a parameter study: every combination, many times"         },
    {"merge",     cmd_merge,     "DB…",            "Put the results of a sweep's shards together"                 },
    {"export",    cmd_export,    "DB",               "A sweep's results as CSV"                                     },
    {"whatif",    cmd_whatif,    "SCENARIO",         "Tell which flag or limit moves the start of pods most"        },
    {"tune",      cmd_tune,      "SCENARIO",         "Find the smallest flags that meet the scenario's slo"         },
    {"compare",   cmd_compare,   "RUN RUN",          "Two runs side by side, object by object"                      },
    {"calibrate", cmd_calibrate, "",                 "Measure this machine's loop devices and fit a profile"        },
    {"fit",       cmd_fit,       "FILE",             "Fit a profile to histograms or samples of a cluster"          },
    {"profiles",  cmd_profiles,  "[show NAME]",
     "List latency profiles of storage back ends, or explain one"                                                   },
    {"validate",  cmd_validate,  "SCENARIO",
     "Run a scenario with real loop devices, against its model"                                                     },
    {"plot",      cmd_plot,      "RUN",              "Draw pictures of a run's results"                             },
    {"report",    cmd_report,    "RUN",              "Make one HTML page of a run"                                  },
    {"get",       cmd_get,       "KIND [NAME] FILE", "Show objects at an instant of a run, as kubectl does"         },
    {"describe",  cmd_describe,  "KIND [NAME] FILE", "Describe them"                                                },
    {"events",    cmd_events,    "FILE",             "List Events up to an instant of a run"                        },
    {"diff",      cmd_diff,      "FILE",             "Tell how objects differ between two instants of a run"        },
    {"explain",   cmd_explain,   "FILE [OBJECT]",    "Tell a run as a story, with the rules behind it"              },
    {"why",       cmd_why,       "FILE OBJECT",      "Tell why a pod or claim is stuck, and what would help"        },
    {"step",      cmd_step,      "FILE",             "Step through a run at a prompt, and do things by hand"        },
    {"teach",     cmd_teach,     "[LESSON]",         "Lessons, with questions and tasks that are checked"           },
    {"loop",      cmd_loop,      "list|clean",       "What the loop driver left on this machine; take it back"      },
    {"schema",    cmd_schema,    "[KIND]",           "Print the JSON Schema of scenario or sweep files"             },
    {"version",   cmd_version,   "",                 "Print the version"                                            },
};

static void
print_usage(FILE *to)
{
    fprintf(to, "Usage: kvolsim COMMAND [OPTION…] [ARGUMENT…]\n\n"
                "Simulates the storage control plane of Kubernetes: how long claims take to bind "
                "and pods to start,\n"
                "and where that time goes.\n\nCommands:\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++)
        fprintf(to, "  %-9s %-16s %s\n", commands[i].name, commands[i].arguments,
                commands[i].summary);
    fprintf(to, "\n`kvolsim COMMAND --help` tells a command's options. Begin with: kvolsim run "
                "scenarios/quickstart.yaml\n"
                "Exit status: 0 done, 1 internal or I/O error, 2 bad input, 3 an slo or expect was "
                "not met,\n"
                "4 not permitted on this machine, 130 interrupted.\n");
}

void
cli_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("kvolsim: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

gboolean
cli_parse(int *argc,
          char ***argv,
          const GOptionEntry *entries,
          const char *arguments,
          const char *summary,
          const char *description)
{
    g_autoptr(GOptionContext) context = g_option_context_new(arguments);
    g_autofree char *command = g_strdup((*argv)[0]);
    g_autofree char *program = g_strdup_printf("kvolsim %s", command);
    g_autoptr(GError) error = NULL;

    g_set_prgname(program);
    g_option_context_set_summary(context, summary);
    g_option_context_set_description(context, description);
    g_option_context_add_main_entries(context, entries, NULL);
    if (g_option_context_parse(context, argc, argv, &error))
        return TRUE;
    cli_error("%s: %s (see kvolsim %s --help)", command, error->message, command);
    return FALSE;
}

static gboolean
is_installed(void)
{
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);

    if (length <= 0)
        return TRUE;
    path[length] = '\0';
    g_autofree char *folder = g_path_get_dirname(path);
    return strcmp(folder, KVOLSIM_BUILDDIR) != 0;
}

char *
cli_data_dir(void)
{
    return g_strdup(is_installed() ? KVOLSIM_DATADIR : KVOLSIM_SRCDIR);
}

char *
cli_locale_dir(void)
{
    return g_strdup(is_installed() ? KVOLSIM_LOCALEDIR : KVOLSIM_BUILDDIR "/po");
}

static const Command *
find_command(const char *name)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* A standard stream that is closed must not become the number of the next file that is opened: a
 * summary would go into a result file. What is written to this stdout fails, and close_stdout()
 * tells. */
static void
keep_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) == -1 &&
            open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY) == -1)
            _exit(EXIT_ERROR);
}

/* At the very end, also of --help: who reads only the exit status must hear of a full disk. */
static void
close_stdout(void)
{
    if (ferror(stdout) == 0 && fflush(stdout) == 0)
        return;
    cli_error("standard output: %s", g_strerror(errno));
    _exit(EXIT_ERROR);
}

int
main(int argc, char **argv)
{
    keep_standard_streams();
    atexit(close_stdout);
    setlocale(LC_CTYPE, ""); /* for file names in messages; numbers stay as they are everywhere */
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0)
        return cmd_version(argc - 1, argv + 1);

    const Command *command = find_command(argv[1]);
    if (command == NULL) {
        cli_error("no such command: \"%s\" (see kvolsim --help)", argv[1]);
        return EXIT_BAD_INPUT;
    }
    return command->run(argc - 1, argv + 1);
}
