/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kvolsim calibrate: measures loop devices, or fits and compares samples of an earlier calibration.
 * It writes the samples, one profile of all and one for each number of workers, with the machine
 * and its load in their heads, without which the numbers mean little. Two calibrations are compared
 * with the tolerances of validate. */
#include <math.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "cli/common/loop-folder.h"
#include "cli/common/progress.h"
#include "commands.h"
#include "run/measure/fit.h"
#include "run/measure/real-devices.h"

#define MEDIAN_APART 0.1 /* the same tolerances as the defaults of validate */
#define KS_APART 0.15

typedef struct {
    char *state_dir, *sizes, *workers, *out, *fs_type, *against, *from;
    int cycles, pause_ms, volumes;
    double hold;
    Progress *progress;
} Calibrate;

static gboolean
cmd_calibrate_go_on(void *data, unsigned done, unsigned total)
{
    Calibrate *self = data;

    progress_show(self->progress, "%u of %u groups of volumes", done, total);
    return !progress_is_interrupted(self->progress);
}

/* "16Mi,1Gi" or "1,4". Returns: (owned): of int64_t; NULL with the fault printed */
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

/* The machine and its load, without which the numbers mean little. (owned) */
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

/* @workers: see calibration_profile() */
static ExitCode
write_profile(const Calibrate *self,
              const GArray *samples,
              unsigned workers,
              const char *file,
              const char *where)
{
    g_autofree char *at_once = workers > 0 ? g_strdup_printf("%u at once", workers)
                                           : g_strdup_printf("%s at once", self->workers);
    g_autofree char *what =
        self->from != NULL ? g_strdup_printf("Loop devices, fitted to the samples of %s", where)
                           : g_strdup_printf("Loop devices, %s, sizes %s, %s: %s", self->fs_type,
                                             self->sizes, at_once, where);
    g_autofree char *text = calibration_profile(samples, workers, what);
    g_autoptr(GError) error = NULL;

    if (!g_file_set_contents(file, text, -1, &error))
        return cli_fail("%s", error->message);
    printf("%s\n", file);
    return EXIT_DONE;
}

/* NAME.yaml is fitted to all samples, NAME-N.yaml to the samples taken with N workers. */
static ExitCode
write_profiles(const Calibrate *self,
               const GArray *samples,
               const GArray *workers,
               const char *where)
{
    g_autofree char *all = g_strconcat(self->out, ".yaml", NULL);
    ExitCode code = write_profile(self, samples, 0, all, where);

    for (unsigned i = 0; code == EXIT_DONE && workers != NULL && i < workers->len; i++) {
        unsigned n = (unsigned)g_array_index(workers, int64_t, i);
        g_autofree char *file = g_strdup_printf("%s-%u.yaml", self->out, n);
        code = write_profile(self, samples, n, file, where);
    }
    return code;
}

static ExitCode
write_results(const Calibrate *self,
              const GArray *samples,
              const GArray *workers,
              const char *where)
{
    g_autofree char *csv = g_strconcat(self->out, ".csv", NULL);
    g_autoptr(GError) error = NULL;

    if (!calibration_write(samples, csv, where, &error))
        return cli_fail("%s", error->message);
    printf("%s\n", csv);
    return write_profiles(self, samples, workers, where);
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

/* Two calibrations of one machine differ. No model can come closer to the machine than that. */
static ExitCode
cmd_calibrate_compare(const GArray *now, const char *file)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) before = calibration_read(file, &error);
    unsigned n_apart = 0;

    if (before == NULL)
        return cli_bad_input("calibrate: --against: %s", error->message);
    g_autoptr(GArray) rows = calibration_compare(before, now);
    printf("\n%-26s %5s %5s %10s %10s %7s %6s %7s\n", "AGAINST THE EARLIER (ms)", "THEN", "NOW",
           "P50 THEN", "P50 NOW", "RATIO", "KS", "P");
    for (unsigned i = 0; i < rows->len; i++) {
        const CalibrationDifference *row = &g_array_index(rows, CalibrationDifference, i);
        double ratio = row->p50[1] / row->p50[0];
        gboolean is_apart = fabs(ratio - 1) > MEDIAN_APART || row->ks > KS_APART;
        n_apart += is_apart ? 1 : 0;
        printf("%-26s %5u %5u %10.3f %10.3f %7.2f %6.3f %7.2g  %s\n", csi_latency_name(row->kind),
               row->n[0], row->n[1], row->p50[0] * 1e3, row->p50[1] * 1e3, ratio, row->ks,
               row->ks_p, is_apart ? "apart" : "alike");
    }
    printf(
        "Two calibrations of this machine differ by more than %.0f %% in the median or %.2f in KS "
        "in %u of %u operations.\n",
        MEDIAN_APART * 100, KS_APART, n_apart, rows->len);
    return EXIT_DONE;
}

static ExitCode
cmd_calibrate_measure(Calibrate *self,
                      LoopBackend *backend,
                      const GArray *sizes,
                      const GArray *workers)
{
    g_autofree unsigned *numbers = g_new(unsigned, workers->len);
    CalibrationOptions options = {
        .sizes = (const int64_t *)sizes->data,
        .n_sizes = sizes->len,
        .workers = numbers,
        .n_workers = workers->len,
        .volumes = (unsigned)self->volumes,
        .cycles = (unsigned)self->cycles,
        .pause = self->pause_ms / 1e3,
        .hold = self->hold,
        .seed = 1,
        .fs_type = self->fs_type,
        .progress = cmd_calibrate_go_on,
        .progress_data = self,
    };
    g_autoptr(GError) error = NULL;
    g_autofree char *where = surroundings(self->state_dir);

    for (unsigned i = 0; i < workers->len; i++)
        numbers[i] = (unsigned)g_array_index(workers, int64_t, i);
    g_autoptr(GArray) samples = calibration_measure(backend, &options, &error);
    progress_hide(self->progress);
    if (samples == NULL) {
        cli_error("calibrate: %s",
                  error != NULL ? error->message : "interrupted; nothing was written");
        return error != NULL ? EXIT_ERROR : EXIT_INTERRUPTED;
    }
    ExitCode code = write_results(self, samples, workers, where);
    print_table(samples);
    return code == EXIT_DONE && self->against != NULL
               ? cmd_calibrate_compare(samples, self->against)
               : code;
}

/* Fits or compares the samples of an earlier calibration. */
static ExitCode
reuse(const Calibrate *self)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) samples = calibration_read(self->from, &error);

    if (samples == NULL || samples->len == 0)
        return cli_bad_input("calibrate: --from: %s",
                             error != NULL ? error->message : "no samples");
    ExitCode code = self->out == NULL ? EXIT_DONE : write_profiles(self, samples, NULL, self->from);
    print_table(samples);
    return code == EXIT_DONE && self->against != NULL
               ? cmd_calibrate_compare(samples, self->against)
               : code;
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
    if (self->cycles < 1 || self->volumes < 1 || self->pause_ms < 0 || !(self->hold >= 0))
        return cli_bad_input(
            "calibrate: --cycles and --volumes must be at least 1, --pause and --hold at least 0");
    g_autoptr(Progress) progress = self->progress = progress_new();
    LoopBackend *backend = loop_folder_open(&options, &error);
    if (backend == NULL)
        return loop_folder_fail("calibrate", error);
    ExitCode code = cmd_calibrate_measure(self, backend, sizes, workers);
    loop_folder_close(backend);
    return code;
}

int
cmd_calibrate(int argc, char **argv)
{
    Calibrate self = {.cycles = 60, .volumes = 10, .pause_ms = 100, .hold = 8};
    const GOptionEntry entries[] = {
        CLI_OPTION("sizes", STRING, &self.sizes, "Sizes of volumes (default: 64Mi)", "LIST"),
        CLI_OPTION("workers", STRING, &self.workers,
                   "Numbers of volumes that go through their lives together (default: 1,2,4)",
                   "LIST"),
        CLI_OPTION("cycles", INT, &self.cycles,
                   "Volumes for each size and number of workers (default: 60)", "N"),
        CLI_OPTION("pause", INT, &self.pause_ms, "Mean pause between two operations (default: 100)",
                   "MS"),
        CLI_OPTION("volumes", INT, &self.volumes,
                   "Volumes that exist at once; take as many as the scenario has (default: 10)",
                   "N"),
        CLI_OPTION("hold", DOUBLE, &self.hold,
                   "Mean time that a volume is in use, while others go on (default: 8)", "SECONDS"),
        CLI_OPTION("fs-type", STRING, &self.fs_type, "ext4 (default), ext3 or xfs", "TYPE"),
        CLI_OPTION("out", FILENAME, &self.out,
                   "Write NAME.csv, a profile NAME.yaml, and NAME-N.yaml for each number of "
                   "workers (default: calibration)",
                   "NAME"),
        CLI_OPTION("against", FILENAME, &self.against,
                   "Compare with the samples of an earlier calibration", "CSV"),
        CLI_OPTION("from", FILENAME, &self.from,
                   "Measure nothing: use the samples of an earlier calibration, and write a "
                   "profile only with --out",
                   "CSV"),
        LOOP_FOLDER_OPTION(&self.state_dir),
        G_OPTION_ENTRY_NULL,
    };
    ExitCode code = EXIT_BAD_INPUT;

    if (cli_parse(&argc, &argv, entries, "",
                  "Measure how long the operations of volumes take on this machine's loop devices, "
                  "and fit a profile to it.",
                  "Needs root, except with --from. It touches the state folder only, and leaves "
                  "nothing there, also after Ctrl-C.\n"
                  "Exit status: 0 done, 1 an operation failed or I/O error, 2 bad input, 4 not "
                  "permitted, 130 interrupted.")) {
        self.state_dir = self.state_dir != NULL ? self.state_dir : g_strdup(LOOP_FOLDER_DEFAULT);
        self.sizes = self.sizes != NULL ? self.sizes : g_strdup("64Mi");
        self.workers = self.workers != NULL ? self.workers : g_strdup("1,2,4");
        self.fs_type = self.fs_type != NULL ? self.fs_type : g_strdup("ext4");
        if (argc > 1)
            code = cli_bad_usage("calibrate", "takes no argument");
        else if (self.from != NULL)
            code = reuse(&self);
        else {
            self.out = self.out != NULL ? self.out : g_strdup("calibration");
            code = calibrate(&self);
        }
    }
    cli_free_values(entries);
    return code;
}
