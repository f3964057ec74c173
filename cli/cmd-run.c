/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli.h"
#include "huge-pages.h"
#include "run/results/results.h"

typedef struct {
    /* As given. */
    char *seed, *out, *format;
    int replications;
    gboolean no_attribution;
    char **set;
    /* While it runs. */
    int interrupts;              /* a signalfd of SIGINT, SIGTERM and SIGHUP; -1: none */
    gboolean is_terminal;        /* stderr is one: show progress */
    gint64 shown_at, started_at; /* us of the monotonic clock */
    gboolean was_shown;
    unsigned replication;
    HugePages heap;
} RunCommand;

#define REPLICATION "replication-"      /* a folder each, numbered */
#define SHOW_AFTER (G_USEC_PER_SEC / 2) /* short runs show nothing */
#define SHOW_EVERY (G_USEC_PER_SEC / 5)

static gboolean
is_interrupted(const RunCommand *self)
{
    struct signalfd_siginfo info;

    return self->interrupts >= 0 && read(self->interrupts, &info, sizeof info) == sizeof info;
}

static void
show_progress(RunCommand *self, SimTime now, uint64_t n_events)
{
    gint64 time = g_get_monotonic_time();
    char buffer[SIM_TIME_BUFFER];

    if (!self->is_terminal || time - self->started_at < SHOW_AFTER ||
        time - self->shown_at < SHOW_EVERY)
        return;
    double seconds = (double)(time - self->started_at) / G_USEC_PER_SEC;
    fprintf(stderr, "\r\033[K");
    if (self->replications > 1)
        fprintf(stderr, "replication %u of %d, ", self->replication + 1, self->replications);
    fprintf(stderr, "%s of virtual time, %" PRIu64 " events, %.1f s",
            sim_time_format(now / SIM_SECOND * SIM_SECOND, buffer), n_events, seconds);
    fflush(stderr);
    self->shown_at = time;
    self->was_shown = TRUE;
}

static void
hide_progress(RunCommand *self)
{
    if (self->was_shown)
        fprintf(stderr, "\r\033[K");
    self->was_shown = FALSE;
}

static gboolean
progress(void *data, SimTime now, uint64_t n_events)
{
    RunCommand *self = data;

    huge_pages_follow(&self->heap);
    show_progress(self, now, n_events);
    return !is_interrupted(self);
}

static gboolean
parse_seed(const RunCommand *self, const Scenario *scenario, uint64_t *seed)
{
    guint64 number = scenario->seed;
    g_autoptr(GError) error = NULL;

    if (self->seed != NULL &&
        !g_ascii_string_to_unsigned(self->seed, 10, 0, G_MAXINT64, &number, &error)) {
        cli_error("run: --seed: %s", error->message);
        return FALSE;
    }
    *seed = number;
    return TRUE;
}

/* The folder of one replication: the run's own if there is only one. (owned) */
static char *
replication_folder(const RunCommand *self, const char *folder, unsigned replication)
{
    g_autofree char *name = g_strdup_printf(REPLICATION "%u", replication);

    return self->replications == 1 ? g_strdup(folder) : g_build_filename(folder, name, NULL);
}

static ExitCode
write_run(RunCommand *self, const Run *run, const Stages *stages, const char *partial)
{
    g_autofree char *folder = replication_folder(self, partial, self->replication);
    g_autoptr(GError) error = NULL;

    if (g_mkdir_with_parents(folder, 0777) != 0) {
        cli_error("%s: %s", folder, g_strerror(errno));
        return EXIT_ERROR;
    }
    gboolean good = results_write_run(run, stages, folder, &error);
    hide_progress(self);
    if (good)
        return EXIT_DONE;
    if (g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_INTR))
        return EXIT_INTERRUPTED;
    cli_error("%s", error->message);
    return EXIT_ERROR;
}

static ExitCode
run_once(RunCommand *self,
         const Scenario *scenario,
         uint64_t seed,
         Results *results,
         const char *partial)
{
    const RunOptions options = {.seed = seed,
                                .replication = self->replication,
                                .untraced = self->no_attribution,
                                .measured = partial != NULL, /* only files tell of metrics */
                                .progress = progress,
                                .progress_data = self};
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &options, &error);

    if (g_error_matches(error, RUN_ERROR, RUN_ERROR_INTERRUPTED)) {
        hide_progress(self);
        return EXIT_INTERRUPTED;
    }
    if (run == NULL) {
        cli_error("%s: %s", scenario->file, error->message);
        return EXIT_BAD_INPUT;
    }
    RunEnd end = run_execute(run);
    hide_progress(self);
    if (end == RUN_INTERRUPTED || is_interrupted(self))
        return EXIT_INTERRUPTED;

    g_autoptr(Stages) stages = stages_new(run);
    results_add(results, run, stages);
    return partial == NULL ? EXIT_DONE : write_run(self, run, stages, partial);
}

static void
remove_tree(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;

    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        remove_tree(child);
    }
    g_remove(path);
}

/* "replication-12" */
static gboolean
is_replication(const char *name)
{
    const char *number = name + strlen(REPLICATION);

    return g_str_has_prefix(name, REPLICATION) && *number != '\0' &&
           strspn(number, "0123456789") == strlen(number);
}

/* Of one replication or of several: what the new run has fewer of must not stay and pass for its
 * own. */
static void
remove_earlier_results(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;

    results_remove_run(path);
    while (folder != NULL && (name = g_dir_read_name(folder)) != NULL) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        if (is_replication(name))
            remove_tree(child);
    }
}

static ExitCode
move_each(const char *partial, const char *folder)
{
    g_autoptr(GDir) from = g_dir_open(partial, 0, NULL);
    const char *name;

    while (from != NULL && (name = g_dir_read_name(from)) != NULL) {
        g_autofree char *source = g_build_filename(partial, name, NULL);
        g_autofree char *target = g_build_filename(folder, name, NULL);
        if (g_rename(source, target) != 0) {
            cli_error("%s: %s", target, g_strerror(errno));
            return EXIT_ERROR;
        }
    }
    return EXIT_DONE;
}

/* The results of a run that was broken off are not left behind, and those of an earlier run stay
 * until the new ones are complete: they are written beside the folder and moved into it, file by
 * file, at the end. Of two runs into one folder one after the other does so: all files there are of
 * the last one. */
static ExitCode
move_results(const char *partial, const char *folder)
{
    if (g_rename(partial, folder) == 0)
        return EXIT_DONE;

    int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock == -1 || flock(lock, LOCK_EX) == -1) {
        cli_error("%s: %s", folder, g_strerror(errno));
        if (lock != -1)
            close(lock);
        return EXIT_ERROR;
    }
    remove_earlier_results(folder);
    ExitCode code = move_each(partial, folder);
    close(lock);
    remove_tree(partial);
    return code;
}

static ExitCode
run_all(RunCommand *self,
        const Scenario *scenario,
        uint64_t seed,
        Results *results,
        const char *partial)
{
    for (self->replication = 0; self->replication < (unsigned)self->replications;
         self->replication++) {
        ExitCode code = run_once(self, scenario, seed, results, partial);
        if (code != EXIT_DONE)
            return code;
    }
    if (partial == NULL)
        return EXIT_DONE;

    g_autoptr(GError) error = NULL;
    if (!results_write_summary(results, partial, &error)) {
        cli_error("%s", error->message);
        return EXIT_ERROR;
    }
    return move_results(partial, self->out);
}

static void
print_results(const RunCommand *self, Results *results)
{
    if (g_strcmp0(self->format, "json") == 0) {
        json_t *summary = results_summary(results);
        char *text = json_dumps(summary, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        puts(text);
        free(text);
        json_decref(summary);
        return;
    }
    g_autofree char *table = results_table(results);
    fputs(table, stdout);
}

/* Ctrl-C and kill come through a file descriptor, so that nothing happens in between. */
static void
catch_interrupts(RunCommand *self)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    self->interrupts = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

static Scenario *
load(const RunCommand *self, const char *file)
{
    g_autofree char *data_dir = cli_data_dir();
    const ScenarioOptions options = {.data_dir = data_dir, .set = (const char *const *)self->set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        fprintf(stderr, "%s\n", text);
    }
    return scenario;
}

static ExitCode
run_scenario_file(RunCommand *self, const char *file)
{
    g_autoptr(Scenario) scenario = load(self, file);
    uint64_t seed;

    if (scenario == NULL || !parse_seed(self, scenario, &seed))
        return EXIT_BAD_INPUT;

    g_autoptr(Results) results = results_new(scenario, seed);
    g_autofree char *partial =
        self->out == NULL ? NULL : g_strdup_printf("%s.partial-%d", self->out, (int)getpid());
    if (partial != NULL && g_mkdir_with_parents(partial, 0777) != 0) {
        cli_error("%s: %s", partial, g_strerror(errno));
        return EXIT_ERROR;
    }
    ExitCode code = run_all(self, scenario, seed, results, partial);
    if (code != EXIT_DONE) {
        if (partial != NULL)
            remove_tree(partial);
        if (code == EXIT_INTERRUPTED)
            cli_error("interrupted; nothing was written");
        return code;
    }
    print_results(self, results);
    return results_are_good(results) ? EXIT_DONE : EXIT_NOT_MET;
}

static gboolean
arguments_are_good(const RunCommand *self, int argc)
{
    if (argc != 2)
        cli_error("run: %s (see kvolsim run --help)",
                  argc < 2 ? "no scenario given" : "more than one scenario given");
    else if (self->replications < 1 || self->replications > 1000000)
        cli_error("run: --replications: %d is not between 1 and 1000000", self->replications);
    else if (self->format != NULL && strcmp(self->format, "table") != 0 &&
             strcmp(self->format, "json") != 0)
        cli_error("run: --format: \"%s\" is neither table nor json", self->format);
    else if (self->out != NULL && self->out[0] == '\0')
        cli_error("run: --out: no folder given");
    else if (self->out != NULL && g_file_test(self->out, G_FILE_TEST_EXISTS) &&
             !g_file_test(self->out, G_FILE_TEST_IS_DIR))
        cli_error("run: --out: %s is not a folder", self->out);
    else
        return TRUE;
    return FALSE;
}

int
cmd_run(int argc, char **argv)
{
    RunCommand self = {.replications = 1,
                       .interrupts = -1,
                       .is_terminal = isatty(STDERR_FILENO),
                       .started_at = g_get_monotonic_time()};
    const GOptionEntry entries[] = {
        {"seed",           0, 0, G_OPTION_ARG_STRING,       &self.seed,
         "The seed of all random numbers, instead of the scenario's",                                               "N"         },
        {"set",            0, 0, G_OPTION_ARG_STRING_ARRAY, &self.set,
         "Change a value of the scenario, e.g. spec.nodes[0].count=5",                                              "PATH=VALUE"},
        {"replications",   0, 0, G_OPTION_ARG_INT,          &self.replications,
         "Run so many times with other random numbers",                                                             "N"         },
        {"out",            0, 0, G_OPTION_ARG_FILENAME,     &self.out,            "Write results into this folder", "DIR"       },
        {"format",         0, 0, G_OPTION_ARG_STRING,       &self.format,
         "How to print the summary: table (default) or json",                                                       "FORMAT"    },
        {"no-attribution", 0, 0, G_OPTION_ARG_NONE,         &self.no_attribution,
         "Keep no log of causes, and do not tell where the time went: for very large runs",                         NULL        },
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "SCENARIO",
                  "Run a scenario and print how long things took, stage by stage.",
                  "The same scenario and seed give the same results, byte for byte.\n"
                  "Exit status: 0 done, 1 I/O error, 2 bad input, 3 an slo or expect was not met, "
                  "130 interrupted.") &&
        arguments_are_good(&self, argc)) {
        catch_interrupts(&self);
        huge_pages_begin(&self.heap);
        code = run_scenario_file(&self, argv[1]);
    }
    if (self.interrupts >= 0)
        close(self.interrupts);
    g_free(self.seed);
    g_free(self.out);
    g_free(self.format);
    g_strfreev(self.set);
    return code;
}
