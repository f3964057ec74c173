/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"
#include "run/calibration.h"
#include "run/fit.h"

#define MIB (INT64_C(1) << 20)

static volatile sig_atomic_t
    was_interrupted; /* set by a signal handler: there is no other way to tell */

typedef struct {
    char *state_dir, *sizes, *workers, *out, *fs_type, *against;
    int cycles, pause_ms;
    gboolean is_terminal, was_shown;
} Calibrate;

static void
interrupt(int number)
{
    (void)number;
    was_interrupted = 1;
}

void
cli_catch_interrupts(void)
{
    const struct sigaction action = {.sa_handler = interrupt};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

gboolean
cli_was_interrupted(void)
{
    return was_interrupted != 0;
}

static gboolean
show_progress(void *data, unsigned done, unsigned total)
{
    Calibrate *self = data;

    if (self->is_terminal)
        fprintf(stderr, "\r\033[K%u of %u volumes", done, total);
    self->was_shown = self->is_terminal;
    return !cli_was_interrupted();
}

/* "16Mi,1Gi" or "1,4". Returns: (owned): of int64_t; NULL: printed why */
static GArray *
parse_list(const char *option, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(int64_t));

    for (unsigned i = 0; words[i] != NULL; i++) {
        char *end;
        int64_t number = g_ascii_strtoll(words[i], &end, 10);
        int shift = strcmp(end, "Mi") == 0 ? 20 : strcmp(end, "Gi") == 0 ? 30 : 0;
        if (number < 1 || number > 1 << 20 || end == words[i] || (shift == 0 && *end != '\0')) {
            cli_error("calibrate: %s: \"%s\" is no number above 0 (sizes end in Mi or Gi)", option,
                      words[i]);
            return NULL;
        }
        number <<= shift;
        g_array_append_val(numbers, number);
    }
    return g_steal_pointer(&numbers);
}

/* The surroundings, which explain more of a measurement than its digits. (owned) */
static char *
surroundings(const char *state_dir)
{
    g_autofree char *load = NULL;
    struct utsname system;

    uname(&system);
    g_file_get_contents("/proc/loadavg", &load, NULL, NULL);
    g_auto(GStrv) parts = g_strsplit(load != NULL ? load : "?", " ", 2);
    return g_strdup_printf("%s %s, %u processors, load %s, %s", system.sysname, system.release,
                           g_get_num_processors(), parts[0], state_dir);
}

static ExitCode
write_results(const Calibrate *self,
              const GArray *samples,
              const GArray *workers,
              const char *where)
{
    g_autofree char *csv = g_strconcat(self->out, ".csv", NULL);
    g_autoptr(GError) error = NULL;

    if (!calibration_write(samples, csv, where, &error)) {
        cli_error("%s", error->message);
        return EXIT_ERROR;
    }
    printf("%s\n", csv);
    for (unsigned i = 0; i < workers->len; i++) {
        unsigned n = (unsigned)g_array_index(workers, int64_t, i);
        g_autofree char *file = g_strdup_printf("%s-%u.yaml", self->out, n);
        g_autofree char *what = g_strdup_printf("Loop devices, %s, sizes %s, %u at once: %s",
                                                self->fs_type, self->sizes, n, where);
        g_autofree char *text = calibration_profile(samples, n, what);
        if (!g_file_set_contents(file, text, -1, &error)) {
            cli_error("%s", error->message);
            return EXIT_ERROR;
        }
        printf("%s\n", file);
    }
    return EXIT_DONE;
}

static void
print_table(const GArray *samples)
{
    printf("\n%-26s %6s %10s %10s %10s  FIT\n", "OPERATION (ms)", "N", "P50", "P90", "P99");
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
        g_autoptr(GArray) seconds = calibration_select(samples, kind, 0, 0);
        double *sorted = (double *)seconds->data;
        Fit fit;
        if (seconds->len == 0)
            continue;
        fit_samples(sorted, seconds->len, &fit);
        g_autofree char *comment = fit_comment(&fit);
        printf("%-26s %6u %10.3f %10.3f %10.3f  %s\n", csi_latency_name(kind), seconds->len,
               fit_quantile(sorted, seconds->len, 0.5) * 1e3,
               fit_quantile(sorted, seconds->len, 0.9) * 1e3,
               fit_quantile(sorted, seconds->len, 0.99) * 1e3, comment);
    }
    g_autofree char *concurrency = calibration_concurrency(samples, "  ");
    if (concurrency[0] != '\0')
        printf("\nMedians with more volumes at once, against those with the fewest:\n%s",
               concurrency);
}

/* Two calibrations of one machine: how far apart they are is what no model can be better than. */
static ExitCode
compare(const GArray *now, const char *file)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) before = calibration_read(file, &error);

    if (before == NULL) {
        cli_error("calibrate: --against: %s", error->message);
        return EXIT_BAD_INPUT;
    }
    printf("\n%-26s %10s %10s %7s %6s\n", "AGAINST THE EARLIER (ms)", "P50 THEN", "P50 NOW",
           "RATIO", "KS");
    for (CsiLatency kind = 0; kind < CSI_N_LATENCIES; kind++) {
        g_autoptr(GArray) a = calibration_select(before, kind, 0, 0);
        g_autoptr(GArray) b = calibration_select(now, kind, 0, 0);
        double *x = (double *)a->data, *y = (double *)b->data;
        Fit fit;
        if (a->len == 0 || b->len == 0)
            continue;
        fit_samples(x, a->len, &fit);
        fit_samples(y, b->len, &fit);
        double then = fit_quantile(x, a->len, 0.5), this_time = fit_quantile(y, b->len, 0.5);
        printf("%-26s %10.3f %10.3f %7.2f %6.3f\n", csi_latency_name(kind), then * 1e3,
               this_time * 1e3, this_time / then, fit_ks_two(x, a->len, y, b->len));
    }
    return EXIT_DONE;
}

/* Whatever a broken-off calibration left is taken back. */
static void
end_backend(LoopBackend *backend)
{
    g_autofree char *folder = g_strdup(loop_ledger_folder(loop_backend_ledger(backend)));

    loop_backend_close(backend);
    if (!loop_remains_clean(folder, 10 * G_USEC_PER_SEC, NULL, NULL, NULL))
        cli_error("something is left in %s: see kvolsim loop list, kvolsim loop clean", folder);
}

static ExitCode
measure(Calibrate *self, LoopBackend *backend, const GArray *sizes, const GArray *workers)
{
    g_autofree unsigned *numbers = g_new(unsigned, workers->len);
    CalibrationOptions options = {
        .sizes = (const int64_t *)sizes->data,
        .n_sizes = sizes->len,
        .workers = numbers,
        .n_workers = workers->len,
        .cycles = (unsigned)self->cycles,
        .pause = self->pause_ms / 1e3,
        .seed = 1,
        .fs_type = self->fs_type,
        .progress = show_progress,
        .progress_data = self,
    };
    g_autoptr(GError) error = NULL;
    g_autofree char *where = surroundings(self->state_dir);

    for (unsigned i = 0; i < workers->len; i++)
        numbers[i] = (unsigned)g_array_index(workers, int64_t, i);
    g_autoptr(GArray) samples = calibration_measure(backend, &options, &error);
    if (self->was_shown)
        fprintf(stderr, "\r\033[K");
    if (samples == NULL) {
        cli_error("calibrate: %s",
                  error != NULL ? error->message : "interrupted; nothing was written");
        return error != NULL ? EXIT_ERROR : EXIT_INTERRUPTED;
    }
    ExitCode code = write_results(self, samples, workers, where);
    print_table(samples);
    return code == EXIT_DONE && self->against != NULL ? compare(samples, self->against) : code;
}

static ExitCode
calibrate(Calibrate *self)
{
    g_autoptr(GArray) sizes = parse_list("--sizes", self->sizes);
    g_autoptr(GArray) workers = sizes == NULL ? NULL : parse_list("--workers", self->workers);
    g_autofree char *folder = g_canonicalize_filename(self->state_dir, NULL);
    const LoopOptions options = {.state_dir = folder, .default_type = self->fs_type};
    g_autoptr(GError) error = NULL;

    if (workers == NULL)
        return EXIT_BAD_INPUT;
    if (self->cycles < 1 || self->pause_ms < 0) {
        cli_error("calibrate: --cycles must be at least 1, --pause at least 0");
        return EXIT_BAD_INPUT;
    }
    LoopBackend *backend = cli_loop_open(&options, &error);
    if (backend == NULL) {
        cli_error("calibrate: %s", error->message);
        return cli_loop_exit(error);
    }
    cli_catch_interrupts();
    ExitCode code = measure(self, backend, sizes, workers);
    end_backend(backend);
    return code;
}

LoopBackend *
cli_loop_open(const LoopOptions *options, GError **error)
{
    g_autoptr(LoopBackend) backend = loop_backend_open(options, error);

    if (backend != NULL && loop_backend_n_volumes(backend) > 0) {
        g_set_error(error, LOOP_ERROR, CSI_ABORTED,
                    "%s has volumes of an earlier run: kvolsim loop clean takes them back",
                    options->state_dir);
        return NULL;
    }
    return g_steal_pointer(&backend);
}

int
cmd_calibrate(int argc, char **argv)
{
    Calibrate self = {.cycles = 100, .pause_ms = 20, .is_terminal = isatty(STDERR_FILENO)};
    const GOptionEntry entries[] = {
        {"sizes",     0, 0, G_OPTION_ARG_STRING,   &self.sizes,     "Sizes of volumes (default: 64Mi)",
         "LIST"                                                                                               },
        {"workers",   0, 0, G_OPTION_ARG_STRING,   &self.workers,   "Volumes at once (default: 1,4)",
         "LIST"                                                                                               },
        {"cycles",    0, 0, G_OPTION_ARG_INT,      &self.cycles,
         "Volumes for each size and number of workers (default: 100)",                                  "N"   },
        {"pause",     0, 0, G_OPTION_ARG_INT,      &self.pause_ms,
         "Mean time between a volume's operations (default: 20)",                                       "MS"  },
        {"fs-type",   0, 0, G_OPTION_ARG_STRING,   &self.fs_type,   "ext4 (default), ext3 or xfs",
         "TYPE"                                                                                               },
        {"out",       0, 0, G_OPTION_ARG_FILENAME, &self.out,
         "Write NAME.csv and a profile NAME-N.yaml for each number of workers (default: "
         "calibration)",                                                                                "NAME"},
        {"against",   0, 0, G_OPTION_ARG_FILENAME, &self.against,
         "Compare with the samples of an earlier calibration",                                          "CSV" },
        {"state-dir", 0, 0, G_OPTION_ARG_FILENAME, &self.state_dir,
         "The folder of the loop driver (default: " CLI_STATE_DIR ")",                                  "DIR" },
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "",
                  "Measure how long the operations of volumes take on this machine's loop devices, "
                  "and fit a profile to it.",
                  "Needs root. Nothing but the state folder is touched, and all is taken back at "
                  "the end, also after "
                  "Ctrl-C.\nExit status: 0 done, 1 an operation failed or I/O error, 2 bad input, "
                  "4 not permitted, 130 interrupted.")) {
        self.state_dir = self.state_dir != NULL ? self.state_dir : g_strdup(CLI_STATE_DIR);
        self.sizes = self.sizes != NULL ? self.sizes : g_strdup("64Mi");
        self.workers = self.workers != NULL ? self.workers : g_strdup("1,4");
        self.fs_type = self.fs_type != NULL ? self.fs_type : g_strdup("ext4");
        self.out = self.out != NULL ? self.out : g_strdup("calibration");
        code = argc > 1 ? EXIT_BAD_INPUT : calibrate(&self);
        if (argc > 1)
            cli_error("calibrate: takes no argument (see kvolsim calibrate --help)");
    }
    g_free(self.state_dir);
    g_free(self.sizes);
    g_free(self.workers);
    g_free(self.fs_type);
    g_free(self.out);
    g_free(self.against);
    return code;
}
