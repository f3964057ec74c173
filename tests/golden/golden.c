/* SPDX-License-Identifier: GPL-3.0-or-later */

/* golden DIR...: replays recordings of a real control plane and compares. A folder holds
 * scenario.yaml, the neutral timeline, and run1, run2, ... with what was seen. Each recorded run is
 * compared with simulated runs that repeat its input at its own instants. Each recorded value must
 * lie within what --seeds of them produce, 20 ms wider (TIM-60); each count of requests and calls
 * within the simulated range; of a burst, each client's k-th request and Event within the simulated
 * k-th, a token wider (TIM-80). */
#include <stdio.h>

#include "checks.h"
#include "recorded.h"
#include "simulated.h"
#include "table.h"

typedef struct {
    int n_seeds;
    int n_more;          /* seeds to try in all where something is missed; 0: no more */
    int shift_ms;        /* see checks_shift(); 0: not wanted */
    gboolean is_verbose; /* prints what agrees, too */
    gboolean is_table;   /* a row of the table in docs/fidelity.md for each folder */
    char *data_dir;      /* NULL: the sources; see timeline_read() */
} Golden;

typedef struct {
    unsigned n_runs, n_compared;
    unsigned n_missed;                   /* with the first seeds */
    unsigned n_left;                     /* with more seeds, too */
    unsigned n_noise;                    /* of these: stalls of the recording machine */
    unsigned n_moved_out, n_moved_noise; /* see checks_shift() */
} Total;

static gboolean
golden_simulate(const Scenario *scenario,
                int from,
                int to,
                const GoldenWords *words,
                Checks *checks,
                Table *table,
                GError **error)
{
    for (int seed = from; seed <= to; seed++) {
        g_autoptr(Moments) moments = simulated_moments(scenario, (uint64_t)seed, words, error);
        if (moments == NULL)
            return FALSE;
        checks_see(checks, moments);
        if (table != NULL)
            table_add_simulated(table, moments);
    }
    return TRUE;
}

static gboolean
compare_run(const Golden *self,
            const Timeline *timeline,
            const char *path,
            Table *table,
            Total *total,
            GError **error)
{
    g_autofree const char **nodes = timeline_node_names(timeline);
    g_autofree char *run = g_path_get_basename(path), *folder = g_path_get_dirname(path);
    g_autofree char *recording = g_path_get_basename(folder);
    g_autoptr(GoldenWords) words = words_new(nodes);
    g_autoptr(Scenario) scenario = timeline_scenario(timeline, path, error);
    g_autoptr(Moments) recorded = scenario == NULL ? NULL : recorded_moments(path, words, error);

    if (recorded == NULL)
        return FALSE;
    g_autoptr(Stalls) stalls = stalls_read(path, &scenario->timing, error);
    if (stalls == NULL)
        return FALSE;
    g_autoptr(Checks) checks = checks_new(recorded);
    if (table != NULL)
        table_add_recorded(table, recorded);
    if (!golden_simulate(scenario, 1, self->n_seeds, words, checks, table, error))
        return FALSE;
    unsigned n_missed = checks_settle(checks), n_left = n_missed;
    for (int seed = self->n_seeds + 1; n_left > 0 && seed <= self->n_more; seed++) {
        if (!golden_simulate(scenario, seed, seed, words, checks, NULL, error))
            return FALSE;
        n_left = checks_settle(checks);
    }
    total->n_noise += checks_explain(checks, stalls);
    checks_shift(checks, self->shift_ms / 1e3, stalls, &total->n_moved_out, &total->n_moved_noise);
    if (!self->is_table)
        checks_print(checks, recording, run, self->is_verbose);
    total->n_runs++;
    total->n_compared += checks_count(checks);
    total->n_missed += n_missed;
    total->n_left += n_left;
    return TRUE;
}

/* Returns: FALSE with an error: the recording can't be compared */
static gboolean
compare_folder(const Golden *self, const char *folder, Table *table, Total *total, GError **error)
{
    g_autoptr(Timeline) timeline = timeline_read(folder, self->data_dir, error);

    if (timeline == NULL)
        return FALSE;
    for (unsigned i = 1;; i++) {
        g_autofree char *name = g_strdup_printf("run%u", i);
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!g_file_test(path, G_FILE_TEST_IS_DIR))
            break;
        if (!compare_run(self, timeline, path, table, total, error))
            return FALSE;
    }
    if (total->n_runs > 0)
        return TRUE;
    g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "there is no run1");
    return FALSE;
}

static unsigned
left_over(const Total *total)
{
    return total->n_left - total->n_noise;
}

static void
print_total(const Golden *self, const char *name, const Total *total)
{
    double n = MAX(total->n_compared, 1);

    printf("TOTAL\t%s\t%u compared\t%u missed with %d seeds (%.3f %%)", name, total->n_compared,
           total->n_missed, self->n_seeds, 100 * total->n_missed / n);
    if (self->n_more > self->n_seeds)
        printf("\t%u with %d (%.3f %%)", total->n_left, self->n_more, 100 * total->n_left / n);
    printf("\t%u explained by stalls\t%u left (%.3f %%)", total->n_noise, left_over(total),
           100 * left_over(total) / n);
    if (self->shift_ms > 0)
        printf("\tof %u misses of values moved by %d ms %u explained", total->n_moved_out,
               self->shift_ms, total->n_moved_noise);
    printf("\n");
}

static void
add_total(Total *all, const Total *total)
{
    all->n_runs += total->n_runs;
    all->n_compared += total->n_compared;
    all->n_missed += total->n_missed;
    all->n_left += total->n_left;
    all->n_noise += total->n_noise;
    all->n_moved_out += total->n_moved_out;
    all->n_moved_noise += total->n_moved_noise;
}

static unsigned
compare_folders(const Golden *self, char *const *folders, int n, Total *all)
{
    unsigned n_skipped = 0;

    for (int i = 0; i < n; i++) {
        g_autofree char *name = g_path_get_basename(folders[i]);
        g_autoptr(Table) table = self->is_table ? table_new() : NULL;
        g_autoptr(GError) error = NULL;
        Total total = {0};
        if (!compare_folder(self, folders[i], table, &total, &error)) {
            fprintf(self->is_table ? stderr : stdout, "SKIPPED\t%s\t%s\n", name, error->message);
            n_skipped++;
            continue;
        }
        if (table != NULL)
            table_print_row(table, name, total.n_compared, total.n_missed);
        else
            print_total(self, name, &total);
        add_total(all, &total);
        fflush(stdout);
    }
    return n_skipped;
}

int
main(int argc, char **argv)
{
    Golden self = {.n_seeds = 200};
    const GOptionEntry entries[] = {
        {"seeds",   0,   0, G_OPTION_ARG_INT,      &self.n_seeds,    "Simulated runs that make the range",  "N" },
        {"more",    0,   0, G_OPTION_ARG_INT,      &self.n_more,     "So many where a value is missed",     "N" },
        {"shift",   0,   0, G_OPTION_ARG_INT,      &self.shift_ms,   "Tell what stalls explain wrongly",    "MS"},
        {"data",    0,   0, G_OPTION_ARG_FILENAME, &self.data_dir,   "The folder that has models/profiles",
         "DIR"                                                                                                  },
        {"verbose", 'v', 0, G_OPTION_ARG_NONE,     &self.is_verbose, "Also print what agrees",              NULL},
        {"table",   0,   0, G_OPTION_ARG_NONE,     &self.is_table,   "A table in Markdown instead",         NULL},
        G_OPTION_ENTRY_NULL,
    };
    g_autoptr(GOptionContext) context =
        g_option_context_new("DIR... - compare with recordings of a real control plane");
    g_autoptr(GError) error = NULL;
    Total all = {0};

    g_option_context_add_main_entries(context, entries, NULL);
    if (!g_option_context_parse(context, &argc, &argv, &error)) {
        fprintf(stderr, "golden: %s\n", error->message);
        return 2;
    }
    if (self.is_table)
        table_print_head();
    unsigned n_skipped = compare_folders(&self, argv + 1, argc - 1, &all);
    if (!self.is_table)
        print_total(&self, "all", &all);
    printf("%u passed, %u failed, %u skipped\n", all.n_compared - left_over(&all), left_over(&all),
           n_skipped);
    return left_over(&all) > 0 || n_skipped > 0;
}
