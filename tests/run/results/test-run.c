/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "run/results/results.h"
#include "sim/strings.h"
#include "tests/lib/test.h"

/* Whole runs of the ready scenarios. */

static Scenario *
results_run_load(const char *name, const char *const *set)
{
    const char *source = g_getenv("KVOLSIM_SRCDIR");
    g_autofree char *file = g_strdup_printf("%s/scenarios/%s.yaml", source, name);
    const ScenarioOptions options = {.data_dir = source, .set = set};
    g_autoptr(GPtrArray) faults = NULL;
    Scenario *scenario = scenario_load(file, &options, &faults);

    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *text = file_fault_text(faults->pdata[i]);
        print_message("%s\n", text);
    }
    assert_non_null(scenario);
    return scenario;
}

static Run *
results_run_execute(const Scenario *scenario, const RunOptions *options)
{
    g_autoptr(GError) error = NULL;
    Run *run = run_new(scenario, options, &error);

    assert_null(error);
    assert_int_equal(run_execute(run), RUN_DONE);
    return run;
}

/* The milestones of a run, as text. */
static char *
story(const Run *run)
{
    const Milestones *log = run_milestones(run);
    const ApiServer *api = cluster_api(run_cluster(run));
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < milestones_count(log); i++) {
        const Milestone milestone = milestones_at(log, i);
        g_string_append_printf(text, "%" G_GINT64_FORMAT " %s %s %s\n", milestone.at,
                               milestone.object->text,
                               milestone_name((MilestoneKind)milestone.kind),
                               milestone.node == NULL ? "" : milestone.node);
    }
    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent *event = api_server_event(api, i);
        if (event->count > 0)
            g_string_append_printf(text, "%" G_GINT64_FORMAT " %s %s %s %u\n", event->written_at,
                                   event->involved->text, event->reason, event->message,
                                   event->count);
    }
    g_string_append_printf(text, "%" G_GUINT64_FORMAT " writes\n",
                           api_server_resource_version(api));
    return g_string_free(text, FALSE);
}

static void
assert_same_story(const char *name,
                  const RunOptions *one,
                  const RunOptions *other,
                  const char *const *set)
{
    g_autoptr(Scenario) scenario = results_run_load(name, set);
    g_autoptr(Run) first = results_run_execute(scenario, one);
    g_autoptr(Run) second = results_run_execute(scenario, other);
    g_autofree char *told = story(first);
    g_autofree char *retold = story(second);

    assert_true(strlen(told) > 1000);
    if (strcmp(told, retold) == 0)
        return;
    g_auto(GStrv) lines = g_strsplit(told, "\n", -1);
    g_auto(GStrv) others = g_strsplit(retold, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL && others[i] != NULL; i++)
        if (strcmp(lines[i], others[i]) != 0)
            fail_msg("%s, line %u: \"%s\" and \"%s\"", name, i, lines[i], others[i]);
    fail_msg("%s: one story is longer", name);
}

TEST(sleeping_tickers_tell_the_same_story)
{
    static const char *const names[] = {
        "wait-for-first-consumer", "immediate",      "attach-limit",
        "zone-mismatch",           "static-binding", "file-storage"};

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            assert_same_story(names[i], &(RunOptions){.seed = seed},
                              &(RunOptions){.seed = seed, .polling = TRUE}, NULL);
}

TEST(the_same_seed_tells_the_same_story)
{
    assert_same_story("quickstart", &(RunOptions){.seed = 5}, &(RunOptions){.seed = 5}, NULL);
}

TEST(another_seed_tells_another_story)
{
    g_autoptr(Scenario) scenario = results_run_load("wait-for-first-consumer", NULL);
    g_autoptr(Run) first = results_run_execute(scenario, &(RunOptions){.seed = 1});
    g_autoptr(Run) second = results_run_execute(scenario, &(RunOptions){.seed = 2});
    g_autoptr(Run) third =
        results_run_execute(scenario, &(RunOptions){.seed = 1, .replication = 1});
    g_autofree char *told = story(first), *retold = story(second), *replicated = story(third);

    assert_string_not_equal(told, retold);
    assert_string_not_equal(told, replicated);
}

/* A run that stops anywhere frees everything: the sanitizer build looks for leaks. */
TEST(a_run_may_end_anywhere)
{
    g_autoptr(Scenario) scenario = results_run_load("burst-100", NULL);

    for (SimTime end = SIM_SECOND; end < 90 * SIM_SECOND; end += 3701 * SIM_MS) {
        g_autoptr(GError) error = NULL;
        g_autoptr(Run) run = run_new(scenario, &(RunOptions){.seed = (uint64_t)end}, &error);
        assert_non_null(run);
        sim_run_until(run_sim(run), end);
        g_autoptr(Stages) stages = stages_new(run);
        assert_int_equal(stages_pods(stages)->len, milestones_n_pods(run_milestones(run)));
    }
}

/* Spans are printed after the run, when crashed components are gone: the run owns the names in
 * them. */
TEST(spans_outlive_components)
{
    g_autoptr(Scenario) scenario = results_run_load("leader-election", NULL);
    g_autoptr(Run) run = results_run_execute(scenario, &(RunOptions){.seed = 1, .measured = TRUE});
    const SimLog *spans = sim_metrics_spans(sim_metrics(run_sim(run)));
    const Strings *strings = objects_strings(run_objects(run));

    assert_true(spans->len > 0);
    for (unsigned i = 0; i < spans->len; i++) {
        const SimSpan *span = &sim_log_index(spans, SimSpan, i);
        assert_ptr_equal(strings_find(strings, span->job), span->job);
        assert_ptr_equal(strings_find(strings, span->subject), span->subject);
    }
}

static gboolean
stop_at_once(void *data, SimTime now, uint64_t n_events)
{
    (void)now, (void)n_events;
    ++*(unsigned *)data;
    return FALSE;
}

TEST(progress_breaks_off)
{
    const char *const set[] = {"spec.until=1000h", NULL};
    g_autoptr(Scenario) scenario = results_run_load("burst-100", set);
    unsigned n_calls = 0;
    const RunOptions options = {
        .seed = 1, .polling = TRUE, .progress = stop_at_once, .progress_data = &n_calls};
    g_autoptr(GError) error = NULL;
    g_autoptr(Run) run = run_new(scenario, &options, &error);

    assert_int_equal(run_execute(run), RUN_INTERRUPTED);
    assert_int_equal(n_calls, 1);
}

/* The stages of a pod's start follow one another: they add up to pod-start, to the nanosecond. */
TEST(stages_add_up)
{
    static const char *const names[] = {
        "quickstart", "immediate",   "attach-limit", "file-storage", "static-binding",
        "burst-100",  "image-pulls", "flexvolume",   "inline-disks", "in-tree-disks"};
    static const Stage parts[] = {STAGE_SCHEDULE, STAGE_ATTACH, STAGE_STAGE,
                                  STAGE_PUBLISH,  STAGE_PULL,   STAGE_START};
    unsigned n_started = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
        g_autoptr(Scenario) scenario = results_run_load(names[i], NULL);
        g_autoptr(Run) run = results_run_execute(scenario, &(RunOptions){.seed = 1});
        g_autoptr(Stages) stages = stages_new(run);
        const GArray *pods = stages_pods(stages);
        for (unsigned k = 0; k < pods->len; k++) {
            const PodTimes *pod = &g_array_index(pods, PodTimes, k);
            SimTime sum = 0;
            if (pod->ready == TIME_UNSET)
                continue;
            for (unsigned p = 0; p < G_N_ELEMENTS(parts); p++) {
                SimTime part = pod_times_stage(pod, parts[p]);
                assert_true(part == TIME_UNSET || part >= 0);
                sum += part == TIME_UNSET ? 0 : part;
            }
            assert_int_equal(sum, pod_times_stage(pod, STAGE_POD_START));
            n_started++;
        }
    }
    assert_true(n_started > 200);
}

/* Volumes that stand in pods and those that Kubernetes itself attaches pass the stages of a start,
 * too.
 * @attach: the driver's latency, which the longest attach has, by the controller or by the kubelet
 * (KVM-69); 0: nothing is attached */
TEST(volumes_of_all_kinds_have_stages)
{
    static const struct {
        const char *scenario;
        SimTime attach;
        const char *set[2];
    } rows[] = {
        {"inline-disks",   3 * SIM_SECOND},
        {"inline-volumes", 0             },
        {"flexvolume",     2 * SIM_SECOND},
        {"flexvolume",
         2 * SIM_SECOND,
         {"spec.nodes[0].kubelet.enableControllerAttachDetach=false"}},
        {"in-tree-disks",                4 * SIM_SECOND               },
        {"in-tree-provisioning",                4 * SIM_SECOND},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        g_autoptr(Scenario) scenario = results_run_load(rows[i].scenario, rows[i].set);
        g_autoptr(Run) run = results_run_execute(scenario, &(RunOptions){.seed = 1});
        g_autoptr(Stages) stages = stages_new(run);
        const GArray *pods = stages_pods(stages);
        SimTime attach = 0;
        for (unsigned k = 0; k < pods->len; k++) {
            const PodTimes *pod = &g_array_index(pods, PodTimes, k);
            if (pod->ready == TIME_UNSET)
                continue;
            assert_true(pod_times_stage(pod, STAGE_PUBLISH) > 0);
            attach = MAX(attach, pod_times_stage(pod, STAGE_ATTACH));
        }
        assert_true(attach >= rows[i].attach && (attach > 0) == (rows[i].attach > 0));
    }
}

static SimSample *
pulls_of(const Stages *stages)
{
    return (SimSample *)&stages->samples[STAGE_PULL]; /* sorting changes nothing */
}

/* KVM-100, KVM-101, TIM-95: seven pods on two nodes pull two images of 20 s each. One node pulls
 * both: one after the other, or side by side. The sandbox, 0.4 s, and the start come first. Nobody
 * pulls again after the power cut. */
TEST(a_node_pulls_an_image_once)
{
    const char *const parallel[] = {"spec.nodes[0].kubelet.serializeImagePulls=false", NULL};
    const SimTime alone = 20 * SIM_SECOND, before = 415 * SIM_MS;
    g_autoptr(Scenario) scenario = results_run_load("image-pulls", NULL);
    g_autoptr(Scenario) other = results_run_load("image-pulls", parallel);
    g_autoptr(Run) run = results_run_execute(scenario, &(RunOptions){.seed = 1});
    g_autoptr(Run) run_of_other = results_run_execute(other, &(RunOptions){.seed = 1});
    g_autoptr(Stages) stages = stages_new(run);
    g_autoptr(Stages) stages_of_other = stages_new(run_of_other);

    assert_int_equal(sim_sample_count(pulls_of(stages)), 7);
    assert_true(sim_sample_max(pulls_of(stages)) > alone + 10 * SIM_SECOND);
    assert_true(sim_sample_max(pulls_of(stages)) < 2 * alone + before);
    assert_int_equal(sim_sample_count(pulls_of(stages_of_other)), 7);
    assert_true(sim_sample_max(pulls_of(stages_of_other)) < alone + before + SIM_SECOND);
    assert_true(sim_sample_max(pulls_of(stages_of_other)) >= alone + before);
}

/* Numbered copies of a volume and a claim that name each other: volume-2 names claim-2. */
TEST(copies_name_their_own)
{
    const char *const set[] = {"spec.workload[0].create.count=5", "spec.until=20.1s", NULL};
    g_autoptr(Scenario) scenario = results_run_load("published/pub-2", set);
    g_autoptr(Run) run = results_run_execute(scenario, &(RunOptions){.seed = 1});
    const ApiServer *api = cluster_api(run_cluster(run));
    const Objects *objects = run_objects(run);

    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *claim = g_strdup_printf("claim-%u", i);
        g_autofree char *volume = g_strdup_printf("volume-%u", i);
        const ObjectKey *claim_key = objects_find_key(objects, KIND_CLAIM, "default", claim);
        const ObjectKey *volume_key = objects_find_key(objects, KIND_VOLUME, NULL, volume);
        const Claim *copy = CLAIM_CONST(api_server_get(api, claim_key));
        assert_string_equal(claim_volume_name(copy), volume);
        assert_ptr_equal(VOLUME_CONST(api_server_get(api, volume_key))->claim_ref.claim, claim_key);
    }
}

/* The ready scenarios by name, sorted: to add one takes just a file. */
static GPtrArray *
scenario_names(void)
{
    g_autofree char *folder = g_build_filename(g_getenv("KVOLSIM_SRCDIR"), "scenarios", NULL);
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    const char *file;

    assert_non_null(files);
    while ((file = g_dir_read_name(files)) != NULL)
        if (g_str_has_suffix(file, ".yaml"))
            g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".yaml")));
    g_ptr_array_sort(names, strings_compare);
    return names;
}

static void
assert_meets_expectations(const char *name, uint64_t seed)
{
    g_autoptr(Scenario) scenario = results_run_load(name, NULL);
    g_autoptr(Run) run = results_run_execute(scenario, &(RunOptions){.seed = seed});
    unsigned n;
    const ExpectResult *results = run_expects(run, &n);

    assert_true(n > 0);
    for (unsigned i = 0; i < n; i++)
        if (!results[i].is_met)
            fail_msg("%s, seed %" G_GUINT64_FORMAT ": %s: found %" G_GINT64_FORMAT, name, seed,
                     results[i].expect->text, results[i].count);
}

TEST(scenarios_meet_their_expectations)
{
    g_autoptr(GPtrArray) names = scenario_names();

    assert_true(names->len >= 20);
    for (unsigned i = 0; i < names->len; i++)
        for (uint64_t seed = 1; seed <= 10; seed++)
            assert_meets_expectations(names->pdata[i], seed);
}
