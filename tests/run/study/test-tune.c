/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "rows.h"
#include "run/results/results.h"
#include "run/study/study-test.h"
#include "run/study/tune.h"
#include "tests/lib/test.h"

/* tune's answer meets the slo and is minimal: one step less in any flag misses it. Judged by runs
 * of their own, as `kvolsim run --replications` judges: nothing of tune's own measuring is trusted.
 */

#define REPLICATIONS 3
#define COUNT "spec.workload[0].create.count=20"
#define SLO(text) "spec.slo=[" text "]"

typedef struct {
    const char *what;
    const char *const set[6];
    const char *const flags[4]; /* the first NULL: all */
} TuneCase;

/* clang-format off */
static const TuneCase cases[] = {
    {"the 99th percentile of a burst",
     {COUNT, "spec.until=90s", SLO("{stage: pod-start, quantile: 0.99, below: 15s}")}, {NULL}},
    {"the median, of two flags",
     {COUNT, "spec.until=90s", SLO("{stage: pod-start, quantile: 0.5, below: 12s}")},
     {"external-attacher kube-api-*", NULL}},
    {"two promises at once",
     {COUNT, "spec.until=90s", SLO("{stage: provision, quantile: 0.9, below: 4s}, {stage: pod-start, quantile: 1, below: 25s}")},
     {"external-*", NULL}},
    {"a slow driver needs workers",
     {COUNT, "spec.until=90s", "spec.drivers[0].latency.CreateVolume=4s", SLO("{stage: pod-start, quantile: 0.9, below: 20s}")},
     {"*worker-threads", "external-provisioner kube-api-qps", NULL}},
};
/* clang-format on */

static Tune *
new_tune(const TuneCase *row, unsigned jobs, TuneOptions *options)
{
    g_autofree char *file = source_file("scenarios/burst-100.yaml");
    g_autoptr(GPtrArray) faults = NULL;

    *options = (TuneOptions){
        .data_dir = g_getenv("KVOLSIM_SRCDIR"),
        .set = row->set,
        .flags = row->flags[0] == NULL ? NULL : row->flags,
        .replications = REPLICATIONS,
        .run = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .jobs = jobs, .n_shards = 1}
    };
    Tune *tune = tune_new(file, options, &faults);
    if (tune == NULL) {
        g_autofree char *text = file_fault_text(faults->pdata[0]);
        fail_msg("%s", text);
    }
    return tune;
}

/* Whether all the slos are met, as summaries tell; @arrived: (out): objects at the end of the first
 * one's stage, of all runs */
static gboolean
meets(char **set, unsigned *arrived)
{
    g_autofree char *file = source_file("scenarios/burst-100.yaml");
    g_autoptr(GPtrArray) settings = g_ptr_array_new();
    g_autoptr(GPtrArray) faults = NULL;

    for (unsigned i = 0; set[i] != NULL; i++)
        g_ptr_array_add(settings, set[i]);
    g_ptr_array_add(settings, (char *)"spec.expect=[]"); /* the slos alone decide */
    g_ptr_array_add(settings, NULL);
    const ScenarioOptions changed = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                     .set = (const char *const *)settings->pdata};
    g_autoptr(Scenario) scenario = scenario_load(file, &changed, &faults);
    assert_non_null(scenario);
    g_autoptr(Results) results = results_new(scenario, scenario->seed);
    for (unsigned i = 0; i < REPLICATIONS; i++) {
        const RunOptions options = {.seed = scenario->seed, .replication = i};
        g_autoptr(Run) run = run_new(scenario, &options, NULL);
        run_execute(run);
        g_autoptr(Stages) stages = stages_new(run);
        results_add(results, run, stages);
    }
    Stage stage;
    assert_true(stage_find(scenario->slos[0].stage, &stage));
    *arrived = sim_sample_count(results_stage(results, stage));
    return results_are_good(results);
}

static void
is_minimal(void **state)
{
    const TuneCase *row = *state;
    TuneOptions options;
    g_autoptr(Tune) tune = new_tune(row, 2, &options);
    g_auto(GStrv) answer = NULL;
    unsigned arrived, n_checked = 0;

    assert_int_equal(tune_run(tune, NULL), TUNE_FOUND);
    answer = tune_settings(tune, -1);
    assert_true(meets(answer, &arrived));
    assert_int_equal(arrived, 20 * REPLICATIONS);
    for (unsigned i = 0; i < tune_n_flags(tune); i++) {
        g_autofree char *less = tune_value_below(tune, i);
        unsigned arrived_less;
        if (less == NULL) { /* there is no less */
            g_autofree char *value = tune_value(tune, i);
            assert_string_equal(value, "1");
            continue;
        }
        g_auto(GStrv) lower = tune_settings(tune, (int)i);
        if (meets(lower, &arrived_less) && arrived_less == arrived)
            fail_msg("%s could be %s", tune_flag(tune, i)->name, less);
        n_checked++;
    }
    assert_true(n_checked > 0);
}
TEST_ROWS(cases, is_minimal);

TEST(any_number_of_workers_gives_the_same)
{
    TuneOptions options[2];
    char *texts[2];

    for (unsigned i = 0; i < 2; i++) {
        g_autoptr(Tune) tune = new_tune(&cases[1], i == 0 ? 1 : 3, &options[i]);
        assert_int_equal(tune_run(tune, NULL), TUNE_FOUND);
        texts[i] = tune_csv(tune);
    }
    assert_string_equal(texts[0], texts[1]);
    g_free(texts[0]);
    g_free(texts[1]);
}

/* A driver's call takes 0.8 s: no flag makes a pod start in one. */
TEST(says_if_it_cannot_be)
{
    static const TuneCase never = {
        NULL,
        {COUNT,                                                "spec.until=90s", SLO("{stage: pod-start, quantile: 0.5, below: 1s}")},
        {NULL}
    };
    TuneOptions options;
    g_autoptr(Tune) tune = new_tune(&never, 2, &options);

    assert_int_equal(tune_run(tune, NULL), TUNE_NOT_MET);
    g_autofree char *text = tune_text(tune);
    assert_non_null(strstr(text, "No step of the"));
    json_t *json = tune_json(tune);
    assert_true(json_is_false(json_object_get(json, "met")));
    assert_true(json_is_null(json_object_get(json, "then")));
    json_decref(json);
}

TEST(says_what_is_missing)
{
    static const struct {
        const char *set[3], *flag, *expected;
    } broken[] = {
        {{COUNT, NULL},                                               NULL, "there is none: what should be met?"},
        {{SLO("{stage: pod-start, quantile: 0.5, below: 1s}"), NULL},
         "nonsense",                                                        "there is no flag of these names"   },
        {{SLO("{stage: pod-strat, quantile: 0.5, below: 1s}"), NULL}, NULL, "pod-strat"                         },
    };
    g_autofree char *file = source_file("scenarios/burst-100.yaml");

    for (unsigned i = 0; i < G_N_ELEMENTS(broken); i++) {
        const char *const flags[] = {broken[i].flag, NULL};
        const TuneOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                     .set = (const char *const *)broken[i].set,
                                     .flags = broken[i].flag == NULL ? NULL : flags,
                                     .replications = 1};
        g_autoptr(GPtrArray) faults = NULL;
        assert_null(tune_new(file, &options, &faults));
        assert_true(faults->len > 0);
        g_autofree char *text = file_fault_text(faults->pdata[0]);
        assert_non_null(strstr(text, broken[i].expected));
    }
}
