/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep-tools.h"

#define BAR_WIDTH 30

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

static gboolean
sweep_tools_go_on(void *data, const SweepProgress *sweep)
{
    Progress *progress = data;
    double rate = progress_rate(progress, sweep->done);

    if (progress_is_due(progress)) {
        unsigned total = MAX(sweep->total, 1), filled = sweep->done * BAR_WIDTH / total;
        g_autofree char *bar = g_strnfill(filled, '#');
        g_autofree char *rest = g_strnfill(BAR_WIDTH - filled, '.');
        g_autofree char *left = rate > 0 ? clock_text((total - sweep->done) / rate) : g_strdup("?");

        progress_show(progress, "[%s%s] %u of %u runs, %.1f/s, %s left", bar, rest, sweep->done,
                      sweep->total, rate, left);
    }
    return !progress_is_interrupted(progress);
}

SweepRunOptions
cli_sweep_options(Progress *progress, const char *data_dir, int jobs)
{
    return (SweepRunOptions){
        .data_dir = data_dir,
        .jobs = jobs > 0 ? (unsigned)jobs : g_get_num_processors(),
        .n_shards = 1,
        .progress = sweep_tools_go_on,
        .progress_data = progress,
    };
}

ExitCode
cli_sweep_error(const char *file, const GError *error)
{
    if (error->domain == SWEEP_STORE_ERROR)
        return cli_store_error(error);
    return cli_bad_input("%s: %s", file, error->message);
}

ExitCode
cli_run_sweep(Progress *progress,
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
    progress_hide(progress);
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
