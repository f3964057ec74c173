/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "cli/common/cli.h"
#include "commands.h"
#include "models/api/fields.h"

typedef struct {
    const char *name;
    const char *arguments; /* for the usage line */
    const char *summary;
    int (*run)(int argc, char **argv); /* NULL: it is not built */
    const char *why_not;
} Command;

/* Loading the libraries of networks, devices, prompts and built-in files (gRPC, libsoup, libmount,
 * libblkid, readline, GIO) takes longer than most runs, so the commands that need them are in a
 * program of their own. */
#define SLOW_TO_LOAD cli_run_network_program

/* clang-format off */
static const Command commands[] = {
    {"run",        "SCENARIO",          "Run a scenario and print how long things took",                        cmd_run},
    {"check",      "FILE…",             "Check scenario, sweep and manifest files without running them",        cmd_check},
    {"sweep",      "FILE",              "Run a parameter study: every combination, many times",                 OF_STUDY(cmd_sweep)},
    {"merge",      "DB…",               "Merge the result files of a sweep's shards",                           OF_STUDY(cmd_merge)},
    {"export",     "DB",                "Print the results of a sweep as CSV",                                  OF_STUDY(cmd_export)},
    {"whatif",     "SCENARIO",          "Find the flag or limit that moves the start of pods most",             OF_STUDY(cmd_whatif)},
    {"tune",       "SCENARIO",          "Find the smallest flags that meet the scenario's slo",                 OF_STUDY(cmd_tune)},
    {"compare",    "RUN RUN…",          "Show runs side by side, object by object",                             cmd_compare},
    {"replay",     "FOLDER|JOURNAL",    "Compare a real cluster's recording with simulations",                  OF_IMPORT(SLOW_TO_LOAD)},
    {"calibrate",  "",                  "Measure this machine's loop devices and fit a profile",                OF_LOOP(SLOW_TO_LOAD)},
    {"fit",        "FILE",              "Fit a profile to histograms or samples of a cluster",                  cmd_fit},
    {"profiles",   "[show NAME]",       "List latency profiles of storage back ends, or explain one",           cmd_profiles},
    {"validate",   "SCENARIO",          "Run a scenario with real loop devices, and compare it with its model", OF_LOOP(SLOW_TO_LOAD)},
    {"plot",       "RUN",               "Draw pictures of a run's results",                                     cmd_plot},
    {"report",     "RUN",               "Make one HTML page of a run",                                          SLOW_TO_LOAD},
    {"import",     "FILE…",             "Make a scenario of your cluster: dumps, audit log, metrics",           OF_IMPORT(cmd_import)},
    {"get",        "KIND [NAME] FILE",  "Show objects at an instant of a run, as kubectl does",                 cmd_get},
    {"describe",   "KIND [NAME] FILE",  "Describe objects at an instant of a run, as kubectl does",             cmd_describe},
    {"events",     "FILE",              "List Events up to an instant of a run",                                cmd_events},
    {"diff",       "FILE",              "Show how objects differ between two instants of a run",                cmd_diff},
    {"explain",    "FILE [OBJECT]",     "Tell a run as a story, with the rules behind it",                      OF_TEACH(cmd_explain)},
    {"why",        "FILE [OBJECT]",     "Tell why an object is stuck, and what would help",                     cmd_why},
    {"step",       "FILE",              "Step through a run at a prompt, and change things by hand",            OF_TEACH(SLOW_TO_LOAD)},
    {"serve",      "SCENARIO",          "Serve a simulated cluster to kubectl and other clients",               OF_SERVE(SLOW_TO_LOAD)},
    {"csi",        "",                  "Serve the fake driver on a CSI socket",                                OF_CSI(SLOW_TO_LOAD)},
    {"teach",      "[LESSON]",          "Take a lesson, with questions and tasks that are checked",             OF_TEACH(SLOW_TO_LOAD)},
    {"loop",       "list|clean",        "List what the loop driver left on this machine, or remove it",         OF_LOOP(SLOW_TO_LOAD)},
    {"schema",     "[KIND]",            "Print the JSON Schema of scenario, sweep or result files",             cmd_schema},
    {"completion", "bash|zsh|fish",     "Print the completion of commands and options for a shell",             SLOW_TO_LOAD},
    {"version",    "",                  "Print the version",                                                    cmd_version},
};
/* clang-format on */

static void
print_usage(FILE *to)
{
    fprintf(to, "Usage: kvolsim COMMAND [OPTION…] [ARGUMENT…]\n\n"
                "Simulates the storage control plane of Kubernetes: how long claims take to bind "
                "and pods to start,\n"
                "and where that time goes.\n\nCommands:\n");
    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++)
        /* printf counts bytes, a terminal letters: "…" has three bytes. */
        fprintf(to, "  %-10s %s%*s %s\n", commands[i].name, commands[i].arguments,
                (int)(16 - g_utf8_strlen(commands[i].arguments, -1)), "", commands[i].summary);
    fprintf(to, "\n`kvolsim COMMAND --help` lists a command's options. Begin with: kvolsim run "
                "scenarios/quickstart.yaml\n"
                "Exit status: 0 done, 1 internal or I/O error, 2 bad input, 3 an slo or expect was "
                "not met,\n"
                "4 not permitted on this machine, 130 interrupted, 143 terminated.\n");
}

/* Returns: NULL: there is none, which is told */
static const Command *
find_command(const char *name)
{
    const char *names[G_N_ELEMENTS(commands) + 1];

    for (unsigned i = 0; i < G_N_ELEMENTS(commands); i++) {
        names[i] = commands[i].name;
        if (strcmp(names[i], name) == 0)
            return &commands[i];
    }
    names[G_N_ELEMENTS(commands)] = "help";
    const char *nearest = name_nearest(name, names, G_N_ELEMENTS(names));
    if (name[0] == '-')
        cli_error("no command before the option \"%s\" (see kvolsim --help)", name);
    else if (nearest != NULL)
        cli_error("no such command: \"%s\" (did you mean \"%s\"?)", name, nearest);
    else
        cli_error("no such command: \"%s\" (see kvolsim --help)", name);
    return NULL;
}

static int
run_command(const Command *command, int argc, char **argv)
{
    if (command->run != NULL)
        return command->run(argc, argv);
    cli_error("%s: this program was built without it: %s", command->name, command->why_not);
    return EXIT_NOT_PERMITTED;
}

/* As COMMAND --help. */
static int
print_help(char *name)
{
    char help[] = "--help";
    char *words[] = {name, help, NULL};
    const Command *command = find_command(name);

    return command == NULL ? EXIT_BAD_INPUT : run_command(command, 2, words);
}

int
main(int argc, char **argv)
{
    cli_begin(argc, argv);
    if (argc < 2) {
        print_usage(stderr);
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "help") == 0 && argc > 2)
        return print_help(argv[2]);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0)
        return cmd_version(argc - 1, argv + 1);

    const Command *command = find_command(argv[1]);
    return command == NULL ? EXIT_BAD_INPUT : cli_end(run_command(command, argc - 1, argv + 1));
}
