/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "run/results/attribution.h"
#include "run/results/results.h"
#include "tests/lib/test.h"

/* The stages of snapshots, and of claims that are made of something. */

typedef struct {
    Scenario *scenario;
    Run *run;
    Stages *stages;
} SnapshotsWorld;

static SnapshotsWorld
world_new(const char *name)
{
    g_autofree char *file = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios", name, NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;
    SnapshotsWorld self = {.scenario = scenario_load(file, &options, &faults)};

    assert_non_null(self.scenario);
    self.run = run_new(self.scenario, &(RunOptions){.seed = 1, .measured = TRUE}, &error);
    assert_null(error);
    assert_int_equal(run_execute(self.run), RUN_DONE);
    self.stages = stages_new(self.run);
    return self;
}

static void
snapshots_world_clear(SnapshotsWorld *self)
{
    stages_free(self->stages);
    run_free(self->run);
    scenario_free(self->scenario);
}

/* Which scenario has which stages: a claim of a snapshot is in restore, and in no bind. */
static const struct {
    const char *name;
    unsigned n_bind, n_restore, n_snapshot;
} cases[] = {
    {"snapshot-and-restore.yaml", 1, 1, 1},
    {"immediate.yaml",            1, 0, 0},
};

TEST(stages_only_where_they_occur)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        SnapshotsWorld world = world_new(cases[i].name);
        const SimSample *samples = world.stages->samples;
        print_message("%s\n", cases[i].name);
        assert_int_equal(samples[STAGE_BIND].values->len, cases[i].n_bind);
        assert_int_equal(samples[STAGE_RESTORE].values->len, cases[i].n_restore);
        assert_int_equal(samples[STAGE_SNAPSHOT].values->len, cases[i].n_snapshot);
        assert_int_equal(stages_snapshots(world.stages)->len, cases[i].n_snapshot);
        snapshots_world_clear(&world);
    }
}

/* The points of a snapshot follow one another, and each poll of the driver lies between the content
 * and the end: seven calls after 0, 1, 2, 4, 8, 16 and 32 s (SNAP-48). */
TEST(points_of_a_snapshot_follow_one_another)
{
    SnapshotsWorld world = world_new("snapshot-and-restore.yaml");
    const SnapshotTimes *times = &g_array_index(stages_snapshots(world.stages), SnapshotTimes, 0);
    const Milestones *log = run_milestones(world.run);
    unsigned n_calls = 0;

    assert_true(times->created < times->content_created);
    assert_true(times->content_created < times->taken);
    assert_true(times->taken < times->ready);
    assert_true(times->ready < times->deleted);
    assert_true(times->deleted < times->gone);
    for (uint32_t i = milestones_last(log, times->snapshot); i != 0;) {
        const Milestone milestone = milestones_at(log, i - 1);
        if (milestone.kind == MILESTONE_SNAPSHOT_CREATE_ENDED) {
            assert_true(milestone.at > times->content_created && milestone.at < times->ready);
            n_calls++;
        }
        i = milestone.previous;
    }
    assert_int_equal(n_calls, 7);
    snapshots_world_clear(&world);
}

static SimTime
total_of(const GArray *rows, SimWait wait, const char *detail)
{
    SimTime total = 0;

    for (unsigned i = 0; i < rows->len; i++) {
        const AttributionRow *row = &g_array_index(rows, AttributionRow, i);
        total += row->wait == wait && strstr(row->detail, detail) != NULL ? row->total : 0;
    }
    return total;
}

/* The driver needs 900 ms for each of seven calls; between them the sidecar waits for 63 s. The
 * claim waits for 127 s in the provisioner's own back-off. All causes add up to the stage. */
TEST(causes_of_a_snapshot_add_up)
{
    SnapshotsWorld world = world_new("snapshot-and-restore.yaml");
    g_autoptr(Attribution) attribution = attribution_new();
    SimTime sum;

    attribution_add(attribution, world.run, world.stages);
    g_autoptr(GArray) taken = attribution_rows(attribution, STAGE_SNAPSHOT, &sum);
    assert_int_equal(sum, sim_sample_max(&world.stages->samples[STAGE_SNAPSHOT]));
    assert_int_equal(total_of(taken, WAIT_DRIVER, "CreateSnapshot"), 7 * 900 * SIM_MS);
    assert_int_equal(total_of(taken, WAIT_BACKOFF, "external-snapshotter/"), 63 * SIM_SECOND);
    g_autoptr(GArray) restored = attribution_rows(attribution, STAGE_RESTORE, &sum);
    assert_int_equal(sum, sim_sample_max(&world.stages->samples[STAGE_RESTORE]));
    assert_int_equal(total_of(restored, WAIT_BACKOFF, "external-provisioner/"), 127 * SIM_SECOND);
    snapshots_world_clear(&world);
}
