/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <string.h>

#include "models/api/field.h"
#include "run/results/results.h"
#include "run/results/snapshot.h"
#include "run/scenario/scenario-test.h"
#include "tests/lib/test.h"

/* Runs that begin with the objects of a running cluster: what counts as a stage, and what does not.
 */

#define HEAD                                                                                       \
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: start}\nspec:\n"                  \
    "  nodes: [{name: 'n-%d', count: 3, zones: [a]}]\n"                                            \
    "  drivers: [{name: d.example.com, profile: aws-ebs-gp3}]\n"

#define PLAIN                                                                                      \
    "---\n"                                                                                        \
    "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: plain, namespace: default}\n"        \
    "spec:\n"                                                                                      \
    "  replicas: 1\n  selector: {matchLabels: {app: plain}}\n"                                     \
    "  template:\n"                                                                                \
    "    metadata: {labels: {app: plain}}\n"                                                       \
    "    spec: {containers: [{name: c, image: i}]}\n"

/* The cluster that is dumped: StatefulSets that have started, or are starting. */
static const char origin[] = HEAD "  until: 2m\n"
                                  "---\n"
                                  "apiVersion: storage.k8s.io/v1\nkind: StorageClass\n"
                                  "metadata: {name: disks}\nprovisioner: d.example.com\n"
                                  "volumeBindingMode: WaitForFirstConsumer\n"
                                  "---\n"
                                  "apiVersion: apps/v1\nkind: StatefulSet\n"
                                  "metadata: {name: web, namespace: default}\n"
                                  "spec:\n"
                                  "  serviceName: web\n  replicas: 3\n"
                                  "  podManagementPolicy: Parallel\n"
                                  "  selector: {matchLabels: {app: web}}\n"
                                  "  template:\n"
                                  "    metadata: {labels: {app: web}}\n"
                                  "    spec:\n"
                                  "      containers: [{name: c, image: i, volumeMounts: "
                                  "[{name: data, mountPath: /d}]}]\n"
                                  "  volumeClaimTemplates:\n"
                                  "    - metadata: {name: data}\n"
                                  "      spec:\n"
                                  "        accessModes: [ReadWriteOnce]\n"
                                  "        storageClassName: disks\n"
                                  "        resources: {requests: {storage: 1Gi}}\n" PLAIN;

/* The same cluster goes on from the dump, and grows by a pod; another pod starts anew. */
static const char successor[] =
    "apiVersion: kvolsim.io/v1\nkind: Scenario\nmetadata: {name: start}\nspec:\n"
    "  drivers: [{name: d.example.com, profile: aws-ebs-gp3}]\n"
    "  until: 5m\n"
    "  manifests: dump.json\n"
    "  workload:\n"
    "    - {at: 60s, scale: {name: web, replicas: 4}}\n"
    "    - {at: 90s, delete: {kind: Pod, name: plain-0}}\n";

typedef struct {
    char *folder;
    Scenario *scenario;
    Run *run;
} StartStateWorld;

static StartStateWorld
world_new(const char *text, json_t *dump /* taken */)
{
    StartStateWorld self = {.folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL)};
    g_autofree char *file = g_build_filename(self.folder, "scenario.yaml", NULL);
    g_autofree char *objects = g_build_filename(self.folder, "dump.json", NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;
    g_autoptr(GError) error = NULL;

    assert_true(g_file_set_contents(file, text, -1, NULL));
    if (dump != NULL) {
        json_t *list =
            json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", dump);
        assert_int_equal(json_dump_file(list, objects, 0), 0);
        json_decref(list);
    }
    self.scenario = scenario_load(file, &options, &faults);
    for (unsigned i = 0; i < faults->len; i++) {
        g_autofree char *message = file_fault_text(faults->pdata[i]);
        print_message("%s\n", message);
    }
    assert_non_null(self.scenario);
    self.run = run_new(self.scenario, &(RunOptions){.seed = 7}, &error);
    assert_null(error);
    remove(objects);
    remove(file);
    rmdir(self.folder);
    return self;
}

static void
start_state_world_clear(StartStateWorld *self)
{
    run_free(self->run);
    scenario_free(self->scenario);
    g_free(self->folder);
}

static json_t *
dump_at(SimTime at)
{
    StartStateWorld world = world_new(origin, NULL);

    assert_int_equal(run_advance(world.run, at), RUN_DONE);
    json_t *dump = snapshot_take(world.run);
    start_state_world_clear(&world);
    return dump;
}

static unsigned
start_state_count(const Stages *stages, Stage stage)
{
    return stages->samples[stage].values->len;
}

TEST(objects_of_the_start_have_no_stages)
{
    StartStateWorld world = world_new(successor, dump_at(SIM_MINUTE));
    assert_int_equal(run_execute(world.run), RUN_DONE);
    g_autoptr(Stages) stages = stages_new(world.run);

    /* Four pods were Ready. web-3 is new, and plain-0 is made anew. */
    assert_int_equal(stages_pods(stages)->len, 6);
    assert_int_equal(start_state_count(stages, STAGE_POD_START), 2);
    assert_int_equal(start_state_count(stages, STAGE_SCHEDULE), 2);
    assert_int_equal(start_state_count(stages, STAGE_STOP), 1);
    assert_int_equal(start_state_count(stages, STAGE_BIND), 1);
    assert_int_equal(start_state_count(stages, STAGE_PROVISION), 1);
    start_state_world_clear(&world);
}

/* The files of a run show no time for what happened before it. */
TEST(files_have_no_times_before_the_start)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL), *text = NULL, *pods = NULL;
    const RunOptions measured = {.seed = 7, .measured = TRUE};

    StartStateWorld world = world_new(successor, dump_at(SIM_MINUTE));
    run_free(world.run);
    world.run = run_new(world.scenario, &measured, &error);
    assert_int_equal(run_execute(world.run), RUN_DONE);
    g_autoptr(Stages) stages = stages_new(world.run);
    assert_true(results_write_run(world.run, stages, folder, &error));
    g_autofree char *milestones = g_build_filename(folder, "milestones.jsonl", NULL);
    g_autofree char *objects = g_build_filename(folder, "objects.csv", NULL);
    assert_true(g_file_get_contents(milestones, &text, NULL, NULL));
    assert_null(strstr(text, "\"t\":-"));
    assert_null(strstr(text, "\"name\":\"web-1\""));
    assert_non_null(strstr(text, "\"name\":\"web-3\""));
    assert_true(g_file_get_contents(objects, &pods, NULL, NULL));
    assert_non_null(strstr(pods, "\npod,default,web-1,0,n-"));
    assert_null(strstr(pods, ",-"));
    results_remove_run(folder);
    rmdir(folder);
    start_state_world_clear(&world);
}

/* The milestone at the end of a stage, if the object passed it before the run. */
static gboolean
is_of_start(const Milestones *log, const StageRecord *record, MilestoneKind created)
{
    for (uint32_t i = milestones_last(log, record->object); i != 0;) {
        const Milestone milestone = milestones_at(log, i - 1);
        if (milestone.kind == created && milestone.incarnation == record->incarnation)
            return milestone.at == TIME_UNSET;
        i = milestone.previous;
    }
    return FALSE;
}

/* Property: whenever the dump was taken, both ends of each stage lie in the run, and no stage that
 * begins with an object's creation is of an object of the start. */
TEST(stages_lie_in_the_run)
{
    unsigned n_mid_start = 0;

    for (SimTime at = SIM_SECOND; at < 30 * SIM_SECOND; at += 1700 * SIM_MS) {
        StartStateWorld world = world_new(successor, dump_at(at));
        assert_int_equal(run_execute(world.run), RUN_DONE);
        g_autoptr(Stages) stages = stages_new(world.run);
        const GArray *records = stages_records(stages);
        assert_true(records->len > 0);
        for (unsigned i = 0; i < records->len; i++) {
            const StageRecord *record = &g_array_index(records, StageRecord, i);
            const Milestones *log = run_milestones(world.run);
            Stage stage = record->stage;
            assert_true(record->from >= 0 && record->to >= record->from);
            gboolean pod_is_old =
                record->object->kind == KIND_POD && is_of_start(log, record, MILESTONE_POD_CREATED);
            gboolean claim_is_old = record->object->kind == KIND_CLAIM &&
                                    is_of_start(log, record, MILESTONE_CLAIM_CREATED);
            assert_false(pod_is_old && (stage == STAGE_SCHEDULE || stage == STAGE_POD_START));
            assert_false(claim_is_old && stage == STAGE_BIND);
            n_mid_start += pod_is_old && stage == STAGE_START;
        }
        assert_true(start_state_count(stages, STAGE_POD_START) >= 2);
        start_state_world_clear(&world);
    }
    assert_true(n_mid_start > 0);
}

/* ---- spec.start ---- */

static json_t *
start_state_find(json_t *objects, const char *kind, const char *name)
{
    json_t *object;
    size_t i;

    json_array_foreach(objects, i, object) {
        json_t *metadata = json_object_get(object, "metadata");
        if (strcmp(json_string_value(json_object_get(object, "kind")), kind) == 0 &&
            strcmp(json_string_value(json_object_get(metadata, "name")), name) == 0)
            return object;
    }
    fail_msg("there is no %s %s", kind, name);
    return NULL;
}

static SimTime
created_at(json_t *object)
{
    SimTime time;

    assert_true(api_time_parse(json_string_value(json_object_get(
                                   json_object_get(object, "metadata"), "creationTimestamp")),
                               &time));
    return time;
}

/* The dump is a minute old, its newest time stamp a few seconds less. */
TEST(time_goes_on_from_the_newest_stamp)
{
    json_t *dump = dump_at(SIM_MINUTE), *object;
    SimTime newest = TIME_UNSET, time;
    size_t i;

    json_array_foreach(dump, i, object)
        if (json_object_get(json_object_get(object, "metadata"), "uid") != NULL &&
            scenario_newest_time(object, &time))
            newest = MAX(newest, time);
    SimTime web_created = created_at(start_state_find(dump, "Pod", "web-1"));
    StartStateWorld world = world_new(successor, dump);
    assert_true(newest > 0 && newest <= SIM_MINUTE);
    assert_int_equal(world.scenario->start, newest);
    assert_int_equal(snapshot_now(world.run), api_time_unix(newest, 0));
    assert_int_equal(run_execute(world.run), RUN_DONE);
    json_t *after = snapshot_take(world.run);
    assert_int_equal(created_at(start_state_find(after, "Pod", "web-1")), web_created);
    /* made 60 s and 90 s after the start */
    SimTime scaled = created_at(start_state_find(after, "Pod", "web-3")) - newest;
    SimTime made_anew = created_at(start_state_find(after, "Pod", "plain-0")) - newest;
    assert_in_range(scaled, 60 * SIM_SECOND - SIM_SECOND, 62 * SIM_SECOND);
    assert_in_range(made_anew, 90 * SIM_SECOND - SIM_SECOND, 93 * SIM_SECOND);
    json_decref(after);
    start_state_world_clear(&world);
}

/* A member of an object that has the time at which the model wrote it, in every kind of field. */
static void
add_times(json_t *value, GString *text, SimTime start)
{
    const char *key;
    json_t *member;
    SimTime time;
    size_t i;

    json_array_foreach(value, i, member)
        add_times(member, text, start);
    json_object_foreach(value, key, member) {
        if (json_is_string(member) && api_time_parse(json_string_value(member), &time))
            g_string_append_printf(text, "%s %" G_GINT64_FORMAT "\n", key, time - start);
        else
            add_times(member, text, start);
    }
}

/* Property: the start moves time stamps and nothing else. */
TEST(the_start_only_moves_time_stamps)
{
    static const char *const starts[] = {"2026-01-01T00:00:00Z", "1999-12-31T23:59:58Z",
                                         "2026-11-22T17:58:54+02:00"};
    g_autofree char *first_times = NULL;

    for (unsigned i = 0; i < G_N_ELEMENTS(starts); i++) {
        g_autofree char *line = g_strdup_printf("  start: %s\n  until: 2m\n", starts[i]);
        g_auto(GStrv) parts = g_strsplit(origin, "  until: 2m\n", 2);
        g_autofree char *text = g_strjoinv(line, parts);
        StartStateWorld world = world_new(text, NULL);
        GString *times = g_string_new(NULL);
        SimTime start;
        assert_true(api_time_parse(starts[i], &start));
        assert_int_equal(world.scenario->start, start);
        assert_int_equal(run_execute(world.run), RUN_DONE);
        json_t *objects = snapshot_take(world.run);
        add_times(objects, times, start);
        json_decref(objects);
        start_state_world_clear(&world);
        g_autofree char *own_times = g_string_free(times, FALSE);
        if (first_times == NULL)
            first_times = g_steal_pointer(&own_times);
        else
            assert_string_equal(own_times, first_times);
    }
    assert_true(strlen(first_times) > 2000);
}

TEST(a_start_must_be_a_time)
{
    g_autofree char *folder = g_dir_make_tmp("kvolsim-XXXXXX", NULL);
    g_autofree char *file = g_build_filename(folder, "scenario.yaml", NULL);
    const ScenarioOptions options = {.data_dir = g_getenv("KVOLSIM_SRCDIR")};
    g_autoptr(GPtrArray) faults = NULL;

    assert_true(g_file_set_contents(file, HEAD "  start: yesterday\n", -1, NULL));
    assert_null(scenario_load(file, &options, &faults));
    remove(file);
    rmdir(folder);
    assert_int_equal(faults->len, 1);
    g_autofree char *text = file_fault_text(faults->pdata[0]);
    assert_non_null(strstr(text, ":7:3: spec.start: must be a time as in RFC 3339 (write it as in "
                                 "\"2026-01-01T00:00:00Z\")"));
}
