/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib/gstdio.h>
#include <string.h>

#include "rows.h"
#include "run/study/sweep-report.h"
#include "run/study/sweep-runner.h"
#include "tests/lib/test.h"

/* The rows of a sweep depend on the sweep alone: not on how many work at it, how it is shared out,
 * or how often it stops. */

typedef struct {
    char *folder;
    Sweep *sweep;
    char *whole; /* the rows of a run in one go by one worker */
} RunsFixture;

static Sweep *
runs_load(const char *path)
{
    g_autofree char *file = source_file(path);
    g_autoptr(GPtrArray) faults = NULL;
    Sweep *sweep = sweep_load(file, g_getenv("KVOLSIM_SRCDIR"), &faults);

    if (sweep == NULL) {
        g_autofree char *text = file_fault_text(faults->pdata[0]);
        fail_msg("%s", text);
    }
    return sweep;
}

typedef struct {
    unsigned stop_after; /* runs of one call; 0: never */
} Stop;

static gboolean
runs_go_on(void *data, const SweepProgress *progress)
{
    const Stop *stop = data;

    return stop->stop_after == 0 || progress->done < stop->stop_after;
}

static SweepEnd
run_part(const Sweep *sweep,
         const char *file,
         unsigned jobs,
         unsigned shard,
         unsigned n_shards,
         unsigned stop_after)
{
    Stop stop = {stop_after};
    const SweepRunOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                     .jobs = jobs,
                                     .shard = shard,
                                     .n_shards = n_shards,
                                     .progress = runs_go_on,
                                     .progress_data = &stop};
    g_autoptr(GError) error = NULL;
    g_autoptr(SweepStore) store = sweep_store_create(file, sweep, TRUE, &error);

    assert_non_null(store);
    SweepEnd end = sweep_run(sweep, store, &options, &error);
    assert_null(error);
    return end;
}

/* The rows of a sweep in one go. (owned) */
static char *
rows_of(const RunsFixture *fixture, const Sweep *sweep, unsigned jobs)
{
    g_autofree char *file = g_build_filename(fixture->folder, "one-go.sqlite", NULL);

    g_unlink(file);
    assert_int_equal(run_part(sweep, file, jobs, 0, 1, 0), SWEEP_DONE);
    char *rows = all_rows(file);
    g_unlink(file);
    return rows;
}

static int
runs_set_up(void **state)
{
    RunsFixture *fixture = g_new0(RunsFixture, 1);

    fixture->folder = scratch_folder();
    fixture->sweep = runs_load("tests/run/study/small.yaml");
    fixture->whole = rows_of(fixture, fixture->sweep, 1);
    *state = fixture;
    return 0;
}

static int
runs_tear_down(void **state)
{
    RunsFixture *fixture = *state;

    scratch_remove(fixture->folder);
    g_free(fixture->folder);
    sweep_free(fixture->sweep);
    g_free(fixture->whole);
    g_free(fixture);
    return 0;
}
TEST_PROGRAM(runs_set_up, runs_tear_down);

TEST(has_a_row_for_each_run)
{
    const RunsFixture *fixture = *state;
    g_auto(GStrv) lines = g_strsplit(fixture->whole, "\n", -1);
    unsigned n_observations = 0;

    for (unsigned i = 0; lines[i] != NULL; i++)
        n_observations += g_regex_match_simple("^\\d+\\|\\d+\\|\\d+\\|\\d+\\|", lines[i], 0, 0);
    /* 4 points, 6 replications; 4 measures, and 2 batches of the two that are of a stage. */
    assert_int_equal(n_observations, 4 * 6 * (4 + 2 * 2));
    assert_true(g_str_has_prefix(fixture->whole, "ok|\n"));
}

TEST(any_number_of_workers_gives_the_same)
{
    const RunsFixture *fixture = *state;

    for (unsigned jobs = 2; jobs <= 5; jobs++) {
        g_autofree char *rows = rows_of(fixture, fixture->sweep, jobs);
        assert_string_equal(rows, fixture->whole);
    }
}

TEST(interrupted_and_resumed_gives_the_same)
{
    const RunsFixture *fixture = *state;
    g_autofree char *file = g_build_filename(fixture->folder, "resumed.sqlite", NULL);
    unsigned n_calls = 1;

    while (run_part(fixture->sweep, file, 2, 0, 1, 3) == SWEEP_INTERRUPTED)
        n_calls++;
    assert_true(n_calls > 2);
    g_autofree char *rows = all_rows(file);
    assert_string_equal(rows, fixture->whole);
}

TEST(finds_nothing_left_to_do)
{
    const RunsFixture *fixture = *state;
    g_autofree char *file = g_build_filename(fixture->folder, "again.sqlite", NULL);

    assert_int_equal(run_part(fixture->sweep, file, 1, 0, 1, 0), SWEEP_DONE);
    /* Would be broken off after the first run. */
    assert_int_equal(run_part(fixture->sweep, file, 1, 0, 1, 1), SWEEP_DONE);
}

TEST(more_replications_later_give_the_same_as_at_once)
{
    const RunsFixture *fixture = *state;
    g_autofree char *file = g_build_filename(fixture->folder, "more.sqlite", NULL);

    fixture->sweep->replications.count = 2;
    assert_int_equal(run_part(fixture->sweep, file, 2, 0, 1, 0), SWEEP_DONE);
    fixture->sweep->replications.count = 6;
    assert_int_equal(run_part(fixture->sweep, file, 2, 0, 1, 0), SWEEP_DONE);
    g_autofree char *rows = all_rows(file);
    assert_string_equal(rows, fixture->whole);
}

/* (owned) */
static char *
merged_shards(const RunsFixture *fixture, const Sweep *sweep, unsigned n_shards)
{
    g_autofree char *merged = g_strdup_printf("%s/merged.sqlite", fixture->folder);
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GError) error = NULL;

    for (unsigned i = 0; i < n_shards; i++) {
        g_ptr_array_add(files, g_strdup_printf("%s/shard-%u.sqlite", fixture->folder, i));
        g_unlink(files->pdata[i]);
        assert_int_equal(run_part(sweep, files->pdata[i], 1, i, n_shards, 0), SWEEP_DONE);
    }
    g_unlink(merged);
    g_autoptr(SweepStore) store =
        sweep_store_create_like(merged, files->pdata[n_shards - 1], &error);
    assert_non_null(store);
    /* The last one first, and each twice. */
    for (unsigned i = 2 * n_shards; i-- > 0;)
        assert_true(sweep_store_merge(store, files->pdata[i % n_shards], &error));
    g_clear_pointer(&store, sweep_store_free);
    return all_rows(merged);
}

TEST(shards_merge_into_the_same)
{
    const RunsFixture *fixture = *state;

    for (unsigned n_shards = 1; n_shards <= 30; n_shards += 7) { /* 29: some are empty */
        g_autofree char *rows = merged_shards(fixture, fixture->sweep, n_shards);
        assert_string_equal(rows, fixture->whole);
    }
}

/* Until the interval is narrow enough: who decides sees the same numbers, whoever made them in
 * whichever order. */
TEST(a_rule_to_stop_gives_the_same)
{
    const RunsFixture *fixture = *state;
    g_autoptr(Sweep) sweep = runs_load("tests/run/study/small.yaml");
    g_autofree char *file = g_build_filename(fixture->folder, "rule.sqlite", NULL);

    sweep->replications =
        (SweepReplications){.count = 3, .max = 40, .measure = 0, .relative_width = 0.08};
    g_autofree char *whole = rows_of(fixture, sweep, 1);
    g_autofree char *two = rows_of(fixture, sweep, 2);
    g_autofree char *shards = merged_shards(fixture, sweep, 3);
    while (run_part(sweep, file, 2, 0, 1, 5) == SWEEP_INTERRUPTED)
        continue;
    g_autofree char *resumed = all_rows(file);
    assert_string_equal(two, whole);
    assert_string_equal(shards, whole);
    assert_string_equal(resumed, whole);

    /* It stopped where it should: narrow enough or at the most, and no point at the least only
     * because of the others. */
    g_autoptr(SweepStore) store = sweep_store_open(file, NULL);
    g_autoptr(SweepTable) table = sweep_store_table(store, NULL);
    unsigned least = 40, most = 0;
    for (unsigned point = 0; point < table->n_points; point++) {
        const GArray *values = table->values[point * table->measures->len];
        Estimate found = estimate((const double *)values->data, values->len, 0.95);
        assert_true(found.n == 40 || found.half <= 0.08 * found.mean);
        least = MIN(least, found.n);
        most = MAX(most, found.n);
    }
    assert_true(least < most);
}

TEST(refuses_what_does_not_belong)
{
    const RunsFixture *fixture = *state;
    g_autofree char *file = g_build_filename(fixture->folder, "other.sqlite", NULL);
    g_autofree char *text_file = g_build_filename(fixture->folder, "text.sqlite", NULL);
    g_autoptr(GError) error = NULL;

    assert_int_equal(run_part(fixture->sweep, file, 1, 0, 1, 0), SWEEP_DONE);
    assert_null(sweep_store_create(file, fixture->sweep, FALSE, &error));
    assert_true(g_error_matches(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_EXISTS));
    g_clear_error(&error);

    g_autoptr(Sweep) other = runs_load("tests/run/study/small.yaml");
    other->seed++;
    other->identity[0] = 'x';
    assert_null(sweep_store_create(file, other, TRUE, &error));
    assert_true(g_error_matches(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_FOREIGN));
    g_clear_error(&error);

    assert_true(
        g_file_set_contents(text_file, "point,replication\n1,1\nand so on and on\n", -1, NULL));
    assert_null(sweep_store_open(text_file, &error));
    assert_true(g_error_matches(error, SWEEP_STORE_ERROR, SWEEP_STORE_ERROR_FOREIGN));
}

/* Common random numbers: the same change of the provisioner's worker threads seen under the same
 * luck, and under two kinds. */
static double
variance_of_difference(gboolean independent)
{
    g_autoptr(Sweep) sweep = runs_load("scenarios/sweeps/provisioner-tuning.yaml");
    g_autoptr(GError) error = NULL;
    unsigned baseline = (unsigned)sweep->baseline, other = baseline;

    /* Only two of its points: the baseline, and that with 20 workers. */
    for (unsigned i = 0; i < sweep->n_points; i++)
        if (g_str_equal(sweep->points[i].labels[0], "20") &&
            g_str_equal(sweep->points[i].labels[1], sweep->points[baseline].labels[1]) &&
            g_str_equal(sweep->points[i].labels[2], sweep->points[baseline].labels[2]))
            other = i;
    assert_int_not_equal(other, baseline);
    sweep->points[0] = sweep->points[other];
    sweep->points[1] = sweep->points[baseline];
    sweep->n_points = 2;
    sweep->replications.count = 60;
    sweep->independent = independent;
    g_autoptr(SweepStore) store = sweep_store_create(":memory:", sweep, FALSE, &error);
    const SweepRunOptions options = {
        .data_dir = g_getenv("KVOLSIM_SRCDIR"), .jobs = 2, .n_shards = 1};
    assert_int_equal(sweep_run(sweep, store, &options, &error), SWEEP_DONE);
    g_autoptr(SweepTable) table = sweep_store_table(store, &error);
    assert_string_equal(sweep->measures[2].name, "provision mean");
    PairedEstimate pair = sweep_table_pairs(table, 1, 0, 2);
    assert_int_equal(pair.difference.n, 60);
    return pair.difference.deviation * pair.difference.deviation;
}

TEST(common_random_numbers_cut_the_variance)
{
    double common = variance_of_difference(FALSE), independent = variance_of_difference(TRUE);

    print_message(
        "# variance of the difference: %g with common random numbers, %g without: 1/%.1f\n", common,
        independent, independent / common);
    assert_true(independent >= 5 * common);
}
