/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "rows.h"
#include "run/study/study-test.h"
#include "run/study/sweep-runner.h"
#include "run/study/whatif.h"
#include "tests/lib/test.h"

/* What can be turned in a scenario, and whether whatif says what runs by hand say. */

#define REPLICATIONS 3

static const char *const set[] = {"spec.workload[0].create.count=30", "spec.until=60s",
                                  "spec.expect=[]", NULL};

static Scenario *
whatif_load(const char *path, const char *const *changes)
{
    g_autofree char *file = source_file(path);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"), .set = changes};
    g_autoptr(GPtrArray) faults = NULL;

    return scenario_load(file, &options, &faults);
}

/* ---- Knobs ---- */

static const Knob *
find_knob(const GPtrArray *knobs, const char *name)
{
    for (unsigned i = 0; i < knobs->len; i++)
        if (g_str_equal(((const Knob *)knobs->pdata[i])->name, name))
            return knobs->pdata[i];
    fail_msg("there is no %s", name);
    return NULL;
}

TEST(have_the_values_of_the_scenario)
{
    static const struct {
        const char *name, *text;
        gboolean is_capacity;
    } cases[] = {
        {"kube-controller-manager kube-api-qps",            "20",  TRUE },
        {"kube-scheduler podMaxBackoffSeconds",             "10",  FALSE},
        {"external-provisioner worker-threads",             "7",   TRUE },
        {"external-attacher timeout",                       "15s", FALSE},
        {"kubelet kubeAPIQPS",                              "50",  TRUE },
        {"driver limit of CreateVolume…: calls at once",  "4",   FALSE},
        {"driver limit of CreateVolume…: calls a second", "2.5", FALSE},
        {"driver limit of CreateVolume…: burst of calls", "6",   FALSE},
        {"driver limit of all: calls at once",              "9",   FALSE},
        {"driver attach limit",                             "12",  FALSE},
    };
    const char *const changes[] = {"spec.drivers[0].sidecars.external-provisioner.worker-threads=7",
                                   "spec.drivers[0].limits=[{methods: [CreateVolume, "
                                   "DeleteVolume], concurrent: 4, rate: {qps: 2.5, burst: 6}}, "
                                   "{concurrent: 9, perNode: true}]",
                                   "spec.drivers[0].attachLimit=12", NULL};
    g_autoptr(Scenario) scenario = whatif_load("scenarios/burst-100.yaml", changes);
    g_autoptr(GPtrArray) knobs = knobs_of(scenario);

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const Knob *knob = find_knob(knobs, cases[i].name);
        assert_string_equal(knob->text, cases[i].text);
        assert_int_equal(knob->is_capacity, cases[i].is_capacity);
    }
    /* What is switched off by a zero, and how a lone process elects itself, cannot be halved. */
    for (unsigned i = 0; i < knobs->len; i++) {
        const Knob *knob = knobs->pdata[i];
        assert_true(knob->number > 0);
        assert_null(strstr(knob->name, "lease"));
        assert_false(g_str_has_suffix(knob->name, " replicas"));
    }
}

/* Each knob turned to twice its value changes itself, and no other. */
TEST(turn_themselves_alone)
{
    static const char *const files[] = {
        "scenarios/attach-limit.yaml",
        "scenarios/leader-election.yaml",
        "scenarios/driver-on-some-nodes.yaml",
        "scenarios/quickstart.yaml",
    };
    unsigned n_turned = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(files); i++) {
        g_autoptr(Scenario) scenario = whatif_load(files[i], NULL);
        g_autoptr(GPtrArray) knobs = knobs_of(scenario);
        for (unsigned k = 0; k < knobs->len; k++) {
            const Knob *knob = knobs->pdata[k];
            g_autofree char *text = knob_value_text(knob, 2 * knob->number);
            g_autoptr(GPtrArray) changes = g_ptr_array_new_with_free_func(g_free);
            knob_add_settings(knob, text, changes);
            g_ptr_array_add(changes, NULL);
            g_autoptr(Scenario) changed =
                whatif_load(files[i], (const char *const *)changes->pdata);
            if (changed == NULL) /* there is a highest value, or one flag must be below another */
                continue;
            g_autoptr(GPtrArray) after = knobs_of(changed);
            assert_int_equal(after->len, knobs->len);
            for (unsigned m = 0; m < knobs->len; m++) {
                const Knob *before = knobs->pdata[m], *now = after->pdata[m];
                assert_string_equal(now->name, before->name);
                assert_true(now->number == (m == k ? 2 * before->number : before->number));
            }
            n_turned++;
        }
    }
    assert_true(n_turned > 200);
}

TEST(write_values_as_users_do)
{
    const Knob whole = {.type = FLAG_INT}, number = {.type = FLAG_NUMBER},
               time = {.type = FLAG_DURATION};
    const struct {
        const Knob *knob;
        double value;
        const char *text; /* NULL: none such */
    } cases[] = {
        {&whole,  2.5,   "2"   },
        {&whole,  0.5,   NULL  },
        {&whole,  3e9,   NULL  },
        {&number, 2.5,   "2.5" },
        {&number, 0.05,  "0.05"},
        {&time,   7.5e9, "7.5s"},
        {&time,   0.5,   NULL  },
        {&number, 1e13,  NULL  },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *text = knob_value_text(cases[i].knob, cases[i].value);
        if (cases[i].text == NULL)
            assert_null(text);
        else
            assert_string_equal(text, cases[i].text);
    }
}

/* ---- whatif ---- */

/* One study and its runs, for those tests that look at what it says. */
typedef struct {
    Whatif *whatif;
    SweepTable *table;
} WhatifFixture;

static Whatif *
new_whatif(void)
{
    g_autofree char *file = source_file("scenarios/burst-100.yaml");
    const WhatifOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                   .set = set,
                                   .stage = STAGE_POD_START,
                                   .statistic = "p99",
                                   .replications = REPLICATIONS};
    g_autoptr(GPtrArray) faults = NULL;
    Whatif *whatif = whatif_new(file, &options, &faults);

    assert_non_null(whatif);
    return whatif;
}

static SweepTable *
whatif_run(const Whatif *whatif, unsigned jobs)
{
    const SweepRunOptions options = {
        .data_dir = g_getenv("KVOLSIM_SRCDIR"), .jobs = jobs, .n_shards = 1};
    g_autoptr(SweepStore) store = sweep_store_create(":memory:", whatif_sweep(whatif), FALSE, NULL);

    assert_int_equal(sweep_run(whatif_sweep(whatif), store, &options, NULL), SWEEP_DONE);
    return sweep_store_table(store, NULL);
}

static int
whatif_set_up(void **state)
{
    WhatifFixture *fixture = g_new0(WhatifFixture, 1);

    fixture->whatif = new_whatif();
    fixture->table = whatif_run(fixture->whatif, 2);
    *state = fixture;
    return 0;
}

static int
whatif_tear_down(void **state)
{
    WhatifFixture *fixture = *state;

    sweep_table_free(fixture->table);
    whatif_free(fixture->whatif);
    g_free(fixture);
    return 0;
}
TEST_PROGRAM(whatif_set_up, whatif_tear_down);

/* The mean of the runs' p99 of pod-start, s, with one more change. */
static double
mean_by_hand(const char *change)
{
    const char *const changes[] = {set[0], set[1], set[2], change, NULL};
    g_autoptr(Scenario) scenario = whatif_load("scenarios/burst-100.yaml", changes);
    double sum = 0;

    for (unsigned i = 0; i < REPLICATIONS; i++) {
        const RunOptions options = {.seed = scenario->seed, .replication = i, .untraced = TRUE};
        g_autoptr(Run) one = run_new(scenario, &options, NULL);
        run_execute(one);
        g_autoptr(Stages) stages = stages_new(one);
        sum += (double)sim_sample_quantile(&stages->samples[STAGE_POD_START], 0.99) / SIM_SECOND;
    }
    return sum / REPLICATIONS;
}

static const WhatifRow *
whatif_find_row(const GArray *rows, const char *name)
{
    for (unsigned i = 0; i < rows->len; i++)
        if (g_str_equal(g_array_index(rows, WhatifRow, i).knob->name, name))
            return &g_array_index(rows, WhatifRow, i);
    fail_msg("there is no %s", name);
    return NULL;
}

TEST(tells_what_runs_by_hand_tell)
{
    const WhatifFixture *fixture = *state;
    g_autoptr(GArray) rows = whatif_rows(fixture->whatif, fixture->table);
    const WhatifRow *row = whatif_find_row(rows, "external-attacher kube-api-qps");
    double now = mean_by_hand(NULL);

    assert_string_equal(row->knob->text, "5");
    assert_string_equal(row->halved.text, "2.5");
    assert_string_equal(row->doubled.text, "10");
    double halved = mean_by_hand("spec.drivers[0].sidecars.external-attacher.kube-api-qps=2.5");
    double doubled = mean_by_hand("spec.drivers[0].sidecars.external-attacher.kube-api-qps=10");
    assert_true(fabs(row->halved.change.difference.mean - (halved - now)) < 1e-6);
    assert_true(fabs(row->doubled.change.difference.mean - (doubled - now)) < 1e-6);
    /* A burst of pods waits for requests: fewer a second are slower, more are faster, and nothing
     * else matters as much. */
    assert_true(halved > now && doubled < now);
    assert_true(row->halved.change.difference.mean > row->halved.change.difference.half);
    assert_ptr_equal(row, &g_array_index(rows, WhatifRow, 0));
    /* Nobody resizes anything here. */
    assert_false(whatif_find_row(rows, "external-resizer workers")->has_effect);
    /* Of one there is no half. */
    assert_null(whatif_find_row(rows, "kube-scheduler podInitialBackoffSeconds")->halved.text);
}

/* Fast because the slow ones never arrive is no gain: it is told. */
TEST(tells_of_those_that_never_arrive)
{
    g_autofree char *file = source_file("scenarios/burst-100.yaml");
    const char *const short_run[] = {set[0], "spec.until=12s", set[2], NULL};
    const WhatifOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR"),
                                   .set = short_run,
                                   .stage = STAGE_POD_START,
                                   .statistic = "p99",
                                   .replications = 2};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(Whatif) whatif = whatif_new(file, &options, &faults);
    g_autoptr(SweepTable) table = whatif_run(whatif, 2);
    g_autoptr(GArray) rows = whatif_rows(whatif, table);
    const WhatifRow *row = whatif_find_row(rows, "external-attacher kube-api-qps");

    assert_true(row->halved.arrived < 0 && row->doubled.arrived > 0);
    g_autofree char *text = whatif_text(whatif, table);
    assert_non_null(strstr(text, " arrive)"));
}

TEST(any_number_of_workers_gives_the_same)
{
    const WhatifFixture *fixture = *state;
    g_autoptr(SweepTable) table = whatif_run(fixture->whatif, 3);
    g_autofree char *first = whatif_csv(fixture->whatif, fixture->table);
    g_autofree char *second = whatif_csv(fixture->whatif, table);

    assert_string_equal(first, second);
}

TEST(is_read_by_programs)
{
    const WhatifFixture *fixture = *state;
    g_autoptr(GArray) rows = whatif_rows(fixture->whatif, fixture->table);
    json_t *json = whatif_json(fixture->whatif, fixture->table);
    const json_t *flags = json_object_get(json, "flags"), *first = json_array_get(flags, 0);
    const json_t *halved = json_object_get(first, "halved");

    assert_int_equal(json_array_size(flags), rows->len);
    assert_string_equal(json_string_value(json_object_get(first, "flag")),
                        g_array_index(rows, WhatifRow, 0).knob->name);
    assert_string_equal(json_string_value(json_array_get(json_object_get(first, "paths"), 0)),
                        "spec.drivers[0].sidecars.external-attacher.kube-api-qps");
    double change = json_number_value(json_object_get(halved, "change"));
    assert_true(json_number_value(json_object_get(halved, "low")) < change &&
                json_number_value(json_object_get(halved, "high")) > change);
    assert_true(fabs(json_number_value(json_object_get(halved, "mean")) - change -
                     json_number_value(json_object_get(json, "now"))) < 1e-6);
    json_decref(json);
}
