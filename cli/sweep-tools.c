/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep-tools.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct CliProgress {
    int interrupts; /* a signalfd; -1: none */
    gboolean is_terminal, was_shown;
    gint64 started_at, shown_at; /* us of the monotonic clock */
    unsigned done;               /* when last looked at */
};

#define SHOW_EVERY (G_USEC_PER_SEC / 5)
#define BAR_WIDTH 30

void
cli_print_faults(const GPtrArray *faults)
{
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        fprintf(stderr, "%s\n", text);
    }
}

ExitCode
cli_store_error(const GError *error)
{
    cli_error("%s", error->message);
    return g_error_matches(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_IO) ? EXIT_ERROR
                                                                           : EXIT_BAD_INPUT;
}

/* "1:02:03", "2:03" */
static char *
clock_text(double seconds)
{
    unsigned whole = seconds < 1e6 ? (unsigned)(seconds + 0.5) : 1000000;

    if (whole >= 3600)
        return g_strdup_printf("%u:%02u:%02u", whole / 3600, whole / 60 % 60, whole % 60);
    return g_strdup_printf("%u:%02u", whole / 60, whole % 60);
}

static void
show(CliProgress *self, const SweepProgress *progress)
{
    gint64 now = g_get_monotonic_time();
    char bar[BAR_WIDTH + 1] = "";

    if (progress->done < self->done) /* the next sweep of several */
        self->started_at = now;
    self->done = progress->done;
    if (!self->is_terminal || now - self->shown_at < SHOW_EVERY)
        return;
    double seconds = (double)(now - self->started_at) / G_USEC_PER_SEC;
    unsigned total = MAX(progress->total, 1), filled = progress->done * BAR_WIDTH / total;
    for (unsigned i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    double rate = seconds > 0 ? progress->done / seconds : 0;
    fprintf(stderr, "\r\033[K[%s] %u of %u runs", bar, progress->done, progress->total);
    if (rate > 0) {
        g_autofree char *left = clock_text((total - progress->done) / rate);
        fprintf(stderr, ", %.1f/s, %s left", rate, left);
    }
    fflush(stderr);
    self->shown_at = now;
    self->was_shown = TRUE;
}

static gboolean
go_on(void *data, const SweepProgress *progress)
{
    CliProgress *self = data;
    struct signalfd_siginfo info;

    show(self, progress);
    return self->interrupts < 0 || read(self->interrupts, &info, sizeof info) != sizeof info;
}

/* Blocked before the workers start, so that none of them is interrupted. */
static int
catch_interrupts(void)
{
    sigset_t signals;

    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

CliProgress *
cli_progress_new(void)
{
    CliProgress *self = g_new0(CliProgress, 1);

    self->interrupts = catch_interrupts();
    self->is_terminal = isatty(STDERR_FILENO);
    self->started_at = g_get_monotonic_time();
    return self;
}

/* Takes the bar away. */
static void
clear_bar(CliProgress *self)
{
    if (self->was_shown)
        fprintf(stderr, "\r\033[K");
    self->was_shown = FALSE;
}

void
cli_progress_free(CliProgress *self)
{
    if (self == NULL)
        return;
    clear_bar(self);
    if (self->interrupts >= 0)
        close(self->interrupts);
    g_free(self);
}

SweepRunOptions
cli_sweep_options(CliProgress *progress, const char *data_dir, int jobs)
{
    return (SweepRunOptions){
        .data_dir = data_dir,
        .jobs = jobs > 0 ? (unsigned)jobs : g_get_num_processors(),
        .n_shards = 1,
        .progress = go_on,
        .progress_data = progress,
    };
}

ExitCode
cli_sweep_error(const char *file, const GError *error)
{
    if (error->domain == SWEEP_STORE_ERROR)
        return cli_store_error(error);
    cli_error("%s: %s", file, error->message);
    return EXIT_BAD_INPUT;
}

ExitCode
cli_run_sweep(CliProgress *progress,
              const Sweep *sweep,
              SweepStore *store,
              int jobs,
              unsigned shard,
              unsigned n_shards)
{
    g_autofree char *data_dir = cli_data_dir();
    SweepRunOptions options = cli_sweep_options(progress, data_dir, jobs);
    g_autoptr(GError) error = NULL;

    options.shard = shard;
    options.n_shards = n_shards;
    SweepEnd end = sweep_run(sweep, store, &options, &error);
    clear_bar(progress);
    switch (end) {
    case SWEEP_DONE:
        return EXIT_DONE;
    case SWEEP_INTERRUPTED:
        return EXIT_INTERRUPTED;
    case SWEEP_FAILED:
        break;
    }
    return cli_sweep_error(sweep->scenario_file, error);
}

/* ---- Results ---- */

gboolean
cli_format_is_good(const char *command, const char *format)
{
    if (strcmp(format, "table") == 0 || strcmp(format, "json") == 0)
        return TRUE;
    cli_error("%s: --format: \"%s\" is none of table, json", command, format);
    return FALSE;
}

gboolean
cli_make_folder(const char *folder)
{
    if (g_mkdir_with_parents(folder, 0777) == 0)
        return TRUE;
    cli_error("%s: %s", folder, g_strerror(errno));
    return FALSE;
}

gboolean
cli_write_file(const char *folder, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_autoptr(GError) error = NULL;

    if (g_file_set_contents(path, text, -1, &error))
        return TRUE;
    cli_error("%s", error->message);
    return FALSE;
}

static char *
json_text(const json_t *json)
{
    return json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
}

gboolean
cli_write_json(const char *folder, const char *name, const json_t *json)
{
    char *text = json_text(json);
    g_autofree char *lines = g_strconcat(text, "\n", NULL);

    free(text);
    return cli_write_file(folder, name, lines);
}

void
cli_print_json(const json_t *json)
{
    char *text = json_text(json);

    puts(text);
    free(text);
}
