/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <glib.h>

#include "run/results/results.h"
#include "tests/lib/test.h"

/* The numbers and times of new machines in scenarios/autoscaler-and-limits.yaml: 30 pods with a
 * volume each, five to a machine. */

typedef struct {
    const char *what;
    const char *set[4];
    unsigned n_before, n_after; /* at 150 s; at 200 s, after the first have joined */
} ScalerCase;

/* clang-format off */
static const ScalerCase cases[] = {
    {"one at a time if it does not know the limits", {NULL}, 1, 2},
    {"as many as it takes if it does", {"spec.nodes[0].autoscaler.attachLimits=known"}, 1, 6},
    {"as many as it takes if a node tells", {"spec.nodes[0].autoscaler.attachLimits=csi-node"}, 1,
     6},
    {"no more than it may",
     {"spec.nodes[0].autoscaler.attachLimits=known", "spec.nodes[0].autoscaler.max=3"}, 1, 3},
    {"a machine takes as long as it takes",
     {"spec.nodes[0].autoscaler.attachLimits=known", "spec.nodes[0].autoscaler.max=6", "spec.nodes[0].autoscaler.delay=10s"},
     6, 6},
    {"pods that fit on no such machine bring none", {"Pod/app.spec.nodeSelector={no: machine}"}, 1,
     1},
};
/* clang-format on */

static void
machines_come(void **state)
{
    const ScalerCase *row = *state;
    g_autofree char *file = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios",
                                             "autoscaler-and-limits.yaml", NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .set = row->set};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Scenario) scenario = scenario_load(file, &options, &faults);

    assert_non_null(scenario);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        Run *run = run_new(scenario, &(RunOptions){.seed = seed}, NULL);
        assert_non_null(run);
        const ApiServer *api = cluster_api(run_cluster(run));
        sim_run_until(run_sim(run), 150 * SIM_SECOND);
        assert_int_equal(api_server_count(api, KIND_NODE), row->n_before);
        sim_run_until(run_sim(run), 200 * SIM_SECOND);
        assert_int_equal(api_server_count(api, KIND_NODE), row->n_after);
        run_free(run);
    }
}
TEST_ROWS(cases, machines_come);
