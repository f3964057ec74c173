/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/api/field.h"
#include "models/api/workloads/job-policy.h"
#include "models/workloads/job/job.h"
#include "tests/lib/test.h"
#include "tests/workloads/pods-world.h"

#include <stdlib.h>
#include <string.h>

/* The policies of a Job "work" about failures and successes of its pods: JOB-1..4. The test plays
 * the kubelets. */

const ModelClass *const model_classes[] = {&job_controller_class, NULL};

/* Keeps the faults of a manifest: "path: message", one a line. */
static void
policies_keep_fault(ApiParser *parser, const json_t *where, const char *message, const char *hint)
{
    GString *faults = parser->data;

    (void)where, (void)hint;
    g_string_append_printf(faults, "%s%s", faults->len > 0 ? "\n" : "", message);
}

/* A Job with this spec. Returns: (owned) */
static Object *
read_job(const StorageWorld *world, const char *spec, GString *faults)
{
    g_autofree char *text = g_strdup_printf(
        "{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\", \"metadata\": {\"name\": \"work\"}, "
        "\"spec\": {%s, \"template\": {\"metadata\": {\"labels\": {\"app\": \"work\"}}, "
        "\"spec\": {\"restartPolicy\": \"Never\", \"containers\": [{\"name\": \"main\", "
        "\"image\": \"main\"}, {\"name\": \"side\", \"image\": \"side\"}]}}}}",
        spec);
    json_auto_t *manifest = json_loads(text, 0, NULL);
    g_autoptr(GString) path = g_string_new(NULL);
    ApiParser parser = {
        .objects = world->objects, .report = policies_keep_fault, .data = faults, .path = path};

    assert_non_null(manifest);
    return api_parser_object(&parser, manifest);
}

static const Job *
the_job(const StorageWorld *world)
{
    return JOB_CONST(world_stored(world, KIND_JOB, "work"));
}

/* ---- Stories ---- */

/* The active pod of this index (negative: of any). NULL: none */
static const Pod *
active_pod(const StorageWorld *world, int index)
{
    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const Object *object =
            api_server_get(world->api, objects_key_at(world->objects, KIND_POD, i));
        if (object == NULL || object_is_deleted(object) || pod_is_terminal(POD_CONST(object)))
            continue;
        const char *own = object_annotation(object, INDEX_OF_JOB);
        if (index < 0 || (own != NULL && atoi(own) == index))
            return POD_CONST(object);
    }
    return NULL;
}

typedef struct {
    int32_t exit_code;
    gboolean is_disrupted;
    SimTime now;
} End;

static gboolean
edit_end(Object *object, const void *data)
{
    const End *end = data;
    Pod *pod = POD(object);

    pod->phase = end->exit_code == 0 ? POD_SUCCEEDED : POD_FAILED;
    pod->exit_code = end->exit_code;
    pod->ready = (PodCondition){.changed_at = end->now, .status = CONDITION_FALSE};
    if (end->is_disrupted)
        pod->disruption = (PodCondition){
            .reason = "EvictionByEvictionAPI", .changed_at = end->now, .status = CONDITION_TRUE};
    return TRUE;
}

/* Plays "0=1 1=0 -=3 2!143": the pod of an index ("-": of any) ends with an exit code; "!": it was
 * disrupted. Waits for each pod, at most half an hour. Returns: the name of the last pod */
static const char *
play_ends(StorageWorld *world, const char *story)
{
    g_auto(GStrv) words = g_strsplit(story, " ", -1);
    const char *name = NULL;

    for (unsigned i = 0; words[i] != NULL; i++) {
        int index = words[i][0] == '-' ? -1 : atoi(words[i]);
        const char *sign = strpbrk(words[i], "=!");
        End end = {atoi(sign + 1), *sign == '!', 0};
        for (unsigned n = 0; active_pod(world, index) == NULL && n < 1800; n++)
            world_go_on(world, SIM_SECOND);
        const Pod *pod = active_pod(world, index);
        if (pod == NULL)
            fail_msg("%s: no pod for \"%s\"", story, words[i]);
        name = object_name(&pod->meta);
        world_start_pod(world, name);
        end.now = sim_now(world->sim);
        storage_world_patch_status(world, (ObjectKey *)pod->meta.key, edit_end, &end);
        world_go_on(world, 3 * SIM_SECOND);
    }
    return name;
}

/* Pods that have ended or are being deleted go, as kubelets and the garbage collector would do it.
 * */
static void
play_nodes(StorageWorld *world)
{
    for (unsigned i = 0; i < 4; i++) {
        for (uint32_t k = 0; k < objects_n_keys(world->objects, KIND_POD); k++) {
            const ObjectKey *key = objects_key_at(world->objects, KIND_POD, k);
            const Object *pod = api_server_get(world->api, key);
            if (pod != NULL && object_is_deleted(pod) && !pod_is_terminal(POD_CONST(pod)))
                world_stop_pod(world, key->name);
        }
        world_go_on(world, 2 * SIM_SECOND);
    }
}

#define RULES(rules) "\"podFailurePolicy\": {\"rules\": [" rules "]}"
#define ON_CODES(action, operator, values)                                                         \
    "{\"action\": \"" action "\", \"onExitCodes\": {\"operator\": \""                              \
    operator"\", \"values\": [" values "]}}"
#define ON_SIDE(action, values)                                                                    \
    "{\"action\": \"" action "\", \"onExitCodes\": {\"containerName\": \"side\", \"operator\": "   \
    "\"In\", \"values\": [" values "]}}"
#define ON_DISRUPTION(action)                                                                      \
    "{\"action\": \"" action "\", \"onPodConditions\": [{\"type\": \"DisruptionTarget\"}]}"
#define INDEXED(n)                                                                                 \
    "\"completionMode\": \"Indexed\", \"completions\": " #n ", \"parallelism\": " #n ", "
#define PER_INDEX(n) "\"backoffLimitPerIndex\": " #n
#define LIMIT(n) "\"backoffLimit\": " #n
#define SUCCESS(rules) "\"successPolicy\": {\"rules\": [" rules "]}"
#define OF(indexes) "{\"succeededIndexes\": \"" indexes "\"}"
#define SO_MANY(n) "{\"succeededCount\": " #n "}"
#define SO_MANY_OF(n, indexes) "{\"succeededCount\": " #n ", \"succeededIndexes\": \"" indexes "\"}"

typedef struct {
    const char *title, *spec, *story;
    const char *reason,
        *message; /* message of the Job's end; %s: the last pod's name. NULL: the Job goes on */
    int failed, succeeded;
    const char *failed_indexes; /* NULL: not in the status */
} PoliciesStoryCase;

#define TOO_OFTEN "BackoffLimitExceeded", "Job has reached the specified backoff limit"
#define BY_CODE(container, code, rule)                                                             \
    "PodFailurePolicy", "Container " container " for pod default/%s failed with exit code " #code  \
                        " matching FailJob rule at index " #rule
#define BY_DISRUPTION                                                                              \
    "PodFailurePolicy",                                                                            \
        "Pod default/%s has condition DisruptionTarget matching FailJob rule at index 0"
#define ALL_DONE "CompletionsReached", "Reached expected number of succeeded pods"
#define SOME_FAILED "FailedIndexes", "Job has failed indexes"
#define TOO_MANY                                                                                   \
    "MaxFailedIndexesExceeded", "Job has exceeded the specified maximal number of failed indexes"
#define ENOUGH(rule) "SuccessPolicy", "Matched rules at index " #rule
#define GOES_ON NULL, NULL

/* clang-format off */
static const PoliciesStoryCase stories[] = {
  /* JOB-2 */
    {"any failure counts", LIMIT(1), "-=1 -=1", TOO_OFTEN, 2, 0, NULL},
    {"one code ends the Job", RULES(ON_CODES("FailJob", "In", "42")), "-=1 -=42",
     BY_CODE("main", 42, 0), 2, 0, NULL},
    {"all codes but some end it", RULES(ON_CODES("FailJob", "NotIn", "1,2")), "-=2 -=3",
     BY_CODE("main", 3, 0), 2, 0, NULL},
    {"a disruption is no failure", LIMIT(0) ", " RULES(ON_DISRUPTION("Ignore")), "-!143 -!143 -=0",
     ALL_DONE, 0, 1, NULL},
    {"but a failure is", LIMIT(0) ", " RULES(ON_DISRUPTION("Ignore")), "-!143 -=143", TOO_OFTEN, 1,
     0, NULL},
    {"a disruption ends it", RULES(ON_DISRUPTION("FailJob")), "-=1 -!143", BY_DISRUPTION, 2, 0,
     NULL},
    {"the first rule that matches",
     RULES(ON_CODES("Count", "In", "42") ", " ON_CODES("FailJob", "NotIn", "7")), "-=42 -=7 -=8",
     BY_CODE("main", 8, 1), 3, 0, NULL},
    {"of one container", RULES(ON_SIDE("FailJob", "9")), "-=9", BY_CODE("side", 9, 0), 1, 0, NULL},
    {"what counts as without a rule", LIMIT(1) ", " RULES(ON_CODES("Count", "In", "1")), "-=1 -=1",
     TOO_OFTEN, 2, 0, NULL},
 /* JOB-1 */
    {"each index has a limit of its own", INDEXED(2) PER_INDEX(1), "0=1 1=1 0=0 1=0", ALL_DONE, 2,
     2, ""},
    {"an index that fails is given up, the others go on", INDEXED(3) PER_INDEX(1),
     "1=1 1=1 0=0 2=0", SOME_FAILED, 2, 2, "1"},
    {"so far it goes on", INDEXED(3) PER_INDEX(0), "1=1 0=0", GOES_ON, 1, 1, "1"},
    {"too many have failed", INDEXED(4) PER_INDEX(0) ", \"maxFailedIndexes\": 1", "0=1 2=1",
     TOO_MANY, 4, 0, "0,2"}, /* and two pods are stopped, which counts as failed */
    {"one code gives an index up",
     INDEXED(2) PER_INDEX(5) ", " RULES(ON_CODES("FailIndex", "In", "3")), "0=1 0=3 1=0",
     SOME_FAILED, 2, 1, "0"},
    {"a disruption costs an index nothing",
     INDEXED(1) PER_INDEX(0) ", " RULES(ON_DISRUPTION("Ignore")), "0!143 0!143 0=0", ALL_DONE, 0, 1,
     ""},
    {"the limit of all holds beside it", INDEXED(3) LIMIT(1) ", " PER_INDEX(5), "0=1 1=1",
     TOO_OFTEN, 3, 0, ""}, /* two, and a third that is stopped */
  /* JOB-3: a pod that is stopped because of a success has not failed */
    {"one index is enough", INDEXED(3) SUCCESS(OF("1")), "0=0 1=0", ENOUGH(0), 0, 2, NULL},
    {"two of three, the second rule", INDEXED(4) SUCCESS(OF("3") ", " SO_MANY_OF(2, "0-2")),
     "0=0 2=0", ENOUGH(1), 0, 2, NULL},
    {"any two", INDEXED(4) SUCCESS(SO_MANY(2)), "3=0 1=0", ENOUGH(0), 0, 2, NULL},
    {"not yet", INDEXED(4) SUCCESS(OF("0,3")), "3=0 1=0", GOES_ON, 0, 2, NULL},
    {"a failed index may come first", INDEXED(2) PER_INDEX(0) ", " SUCCESS(OF("1")), "0=1 1=0",
     SOME_FAILED, 1, 1, "0"},
};
/* clang-format on */

static void
expect_end(StorageWorld *world, const PoliciesStoryCase *row, const char *last)
{
    const Job *job = the_job(world);
    gboolean is_good = row->reason != NULL && (strcmp(row->reason, "SuccessPolicy") == 0 ||
                                               strcmp(row->reason, "CompletionsReached") == 0);
    const WorkloadCondition *first = is_good ? &job->success_met : &job->failure_target;
    const WorkloadCondition *then = is_good ? &job->complete : &job->has_failed;

    if (row->reason == NULL) {
        assert_false(job_is_finished(job));
        assert_int_equal(job->success_met.status, CONDITION_ABSENT);
        assert_int_equal(job->failure_target.status, CONDITION_ABSENT);
        return;
    }
    g_autoptr(GString) message = g_string_new(row->message);
    g_string_replace(message, "%s", last, 0);
    assert_int_equal(first->status, CONDITION_TRUE);
    assert_string_equal(first->reason, row->reason);
    assert_string_equal(first->message, message->str);
    assert_int_equal(then->status, CONDITION_TRUE);
    assert_string_equal(then->reason, row->reason);
    assert_string_equal(then->message, message->str);
    assert_int_equal(job->completed_at != TIME_UNSET, is_good);
    if (is_good)
        assert_string_equal(world_event_message(world, "Completed"), "Job completed");
    else
        assert_string_equal(world_event_message(world, row->reason), message->str);
    assert_int_equal(job->active, 0);
}

static void
story(void **state)
{
    const PoliciesStoryCase *row = *state;
    g_autoptr(GString) faults = g_string_new(NULL);
    StorageWorld world;

    storage_world_init(&world, NULL);
    storage_world_start(&world);
    storage_world_create(&world, read_job(&world, row->spec, faults));
    assert_string_equal(faults->str, "");
    world_go_on(&world, SIM_SECOND);
    const char *last = play_ends(&world, row->story);
    play_nodes(&world);
    expect_end(&world, row, last);
    assert_int_equal(the_job(&world)->failed, row->failed);
    assert_int_equal(the_job(&world)->succeeded, row->succeeded);
    if (row->failed_indexes == NULL)
        assert_null(the_job(&world)->failed_indexes);
    else
        assert_string_equal(the_job(&world)->failed_indexes, row->failed_indexes);
    storage_world_clear(&world);
}
TEST_ROWS(stories, story);

/* JOB-1: each index has its own back-off of 10 s, 20 s, ..., and each pod tells how often its index
 * has failed before it. */
TEST(indexes_back_off_one_by_one)
{
    static const struct {
        const char *end;
        int waits_s;                    /* until the next pod of its index exists */
        const char *failures, *ignored; /* as its annotation tells */
    } cases[] = {
        {"0=1",   10, "1", NULL},
        {"0!143", 20, "1", "1" },
        {"1=1",   10, "1", NULL},
        {"0=1",   40, "2", "1" },
    };
    g_autoptr(GString) faults = g_string_new(NULL);
    StorageWorld world;

    storage_world_init(&world, NULL);
    storage_world_start(&world);
    storage_world_create(
        &world,
        read_job(&world, INDEXED(2) PER_INDEX(9) ", " RULES(ON_DISRUPTION("Ignore")), faults));
    world_go_on(&world, SIM_SECOND);
    assert_string_equal(object_annotation(&active_pod(&world, 0)->meta, INDEX_FAILURES), "0");
    assert_null(object_annotation(&active_pod(&world, 0)->meta, INDEX_IGNORED_FAILURES));
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        int index = cases[i].end[0] - '0', seconds = 3;
        play_ends(&world, cases[i].end);
        for (; active_pod(&world, index) == NULL; seconds++)
            world_go_on(&world, SIM_SECOND);
        assert_in_range(seconds, cases[i].waits_s,
                        cases[i].waits_s + 2); /* looked at once a second */
        const Object *pod = &active_pod(&world, index)->meta;
        assert_string_equal(object_annotation(pod, INDEX_FAILURES), cases[i].failures);
        assert_int_equal(
            g_strcmp0(object_annotation(pod, INDEX_IGNORED_FAILURES), cases[i].ignored), 0);
        assert_non_null(active_pod(&world, 1 - index)); /* the other index is not disturbed */
    }
    storage_world_clear(&world);
}

/* JOB-4: a Job of another controller is left alone. */
TEST(managed_elsewhere)
{
    static const struct {
        const char *spec;
        unsigned n_pods;
    } cases[] = {
        {"\"managedBy\": \"kueue.x-k8s.io/multikueue\"",    0},
        {"\"managedBy\": \"kubernetes.io/job-controller\"", 1},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(GString) faults = g_string_new(NULL);
        StorageWorld world;
        storage_world_init(&world, NULL);
        storage_world_start(&world);
        storage_world_create(&world, read_job(&world, cases[i].spec, faults));
        world_go_on(&world, SIM_MINUTE);
        assert_int_equal(world_count(&world, KIND_POD), cases[i].n_pods);
        assert_int_equal(the_job(&world)->started_at != TIME_UNSET, cases[i].n_pods > 0);
        storage_world_clear(&world);
    }
}

/* ---- Manifests ---- */

static const struct {
    const char *spec, *faults;
} broken[] = {
    {RULES("{}"),                                                                                        "spec.podFailurePolicy.rules[0].action: Required value: valid values: [\"Count\" "
                  "\"FailIndex\" \"FailJob\" \"Ignore\"]\n"
                  "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes "
                  "and OnPodConditions is required"                                                              },
    {RULES("{\"action\": \"Ignore\", \"onExitCodes\": {\"operator\": \"In\", \"values\": [1]}, "
           "\"onPodConditions\": [{\"type\": \"DisruptionTarget\"}]}"),
     "spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes and "
     "OnPodConditions is not supported"                                                                                           },
    {RULES(ON_CODES("FailIndex",                                                                         "In",                      "1")),
     "spec.podFailurePolicy.rules[0].action: Invalid value: \"FailIndex\": requires the "
     "backoffLimitPerIndex to be set"},
    {RULES(ON_CODES("Stop",                                                                   "In",                                                                                            "1")),
     "spec.podFailurePolicy.rules[0].action: Unsupported value: \"Stop\": "
     "supported values: \"Count\", \"FailIndex\", \"FailJob\", \"Ignore\""},
    {RULES(ON_CODES("Count",                            "In","")), "spec.podFailurePolicy.rules[0].onExitCodes.values: "
                                         "Invalid value: []: at least one value is required"},
    {RULES(ON_CODES("Count",                                                                                                  "In",                                                                                                      "3,0,3")),
     "spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for "
     "the In operator\n"
     "spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 3\n"
     "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [3,0,3]: must be ordered"},
    {RULES("{\"action\": \"Count\", \"onExitCodes\": {\"containerName\": \"none\", \"values\": "
           "[1]}}"),
     "spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid values: [\"In\" "
     "\"NotIn\"]\n"
     "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: \"none\": "
     "must be one of the container or initContainer names in the pod template"                                                                       },
    {"\"podReplacementPolicy\": \"TerminatingOrFailed\", " RULES(""),
     "spec.podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: "
     "\"Failed\""},
    {PER_INDEX(1),       "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"                               },
    {"\"maxFailedIndexes\": 1",
     "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified\n"
     "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode"},
    {INDEXED(3) PER_INDEX(-1) ", \"maxFailedIndexes\": 4",
     "spec.backoffLimitPerIndex: Invalid value: -1: must be greater than or equal to 0\n"
     "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified\n"
     "spec.maxFailedIndexes: Invalid value: 4: must be less than or equal to completions"                                                                                                               },
    {"\"completionMode\": \"Indexed\", \"completions\": 200000, " PER_INDEX(1),
     "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"      },
    {SUCCESS(SO_MANY(1)),                        "spec.successPolicy: Invalid value: "
                          "{\"rules\":[{\"succeededCount\":1}]}: requires indexed completion mode"                                                                     },
    {INDEXED(3) SUCCESS(""),               "spec.successPolicy.rules: Required value: at least one rules must be "
                             "specified when the successPolicy is specified"},
    {INDEXED(3) SUCCESS("{}"),        "spec.successPolicy.rules[0]: Required value: at least one of "
                               "succeededCount or succeededIndexes must be specified"                          },
    {INDEXED(3) SUCCESS(OF("0-") ", " OF("1,0") ", " OF("3") ", " OF("0-1-2")),
     "spec.successPolicy.rules[0].succeededIndexes: Invalid value: \"0-\": "
     "error parsing succeededIndexes: cannot convert string to integer for index: \"\"\n"
     "spec.successPolicy.rules[1].succeededIndexes: Invalid value: \"1,0\": "
     "error parsing succeededIndexes: non-increasing order, previous: 1, current: 0\n"
     "spec.successPolicy.rules[2].succeededIndexes: Invalid value: \"3\": "
     "error parsing succeededIndexes: too large index: \"3\"\n"
     "spec.successPolicy.rules[3].succeededIndexes: Invalid value: \"0-1-2\": "
     "error parsing succeededIndexes: the fragment \"0-1-2\" violates the requirement that an "
     "index interval can have at most two "
     "parts separated by '-'"},
    {INDEXED(3) SUCCESS(SO_MANY_OF(3,                       "0-1") ", " SO_MANY(4)),
     "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: "
     "must be less than or equal to 2 (the number of indexes in the specified succeededIndexes "
     "field)\n"
     "spec.successPolicy.rules[1].succeededCount: Invalid value: 4: "
     "must be less than or equal to 3 (the number of specified completions)"},
    {"\"managedBy\": \"somebody\"",              "spec.managedBy: Invalid value: \"somebody\": must be a "
                                    "domain-prefixed path (such as \"acme.io/foo\")"            },
};

TEST(broken_manifests)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    for (unsigned i = 0; i < G_N_ELEMENTS(broken); i++) {
        g_autoptr(GString) faults = g_string_new(NULL);
        Object *job = read_job(&world, broken[i].spec, faults);
        assert_string_equal(faults->str, broken[i].faults);
        if (job != NULL)
            object_unref(job);
    }
    storage_world_clear(&world);
}

/* The printed Job is the given one and the server's additions. */
TEST(policies_are_printed)
{
    g_autoptr(GString) faults = g_string_new(NULL);
    StorageWorld world;

    storage_world_init(&world, NULL);
    Object *job = read_job(&world,
                           INDEXED(2) PER_INDEX(1) ", " RULES(ON_DISRUPTION("Ignore")) ", " SUCCESS(
                               "{\"succeededCount\": 1}"),
                           faults);
    json_auto_t *json = object_to_json(job);
    const json_t *spec = json_object_get(json, "spec");
    json_auto_t *rules = json_loads("{\"rules\": [{\"action\": \"Ignore\", \"onPodConditions\": "
                                    "[{\"type\": \"DisruptionTarget\", "
                                    "\"status\": \"True\"}]}]}",
                                    0, NULL);
    assert_true(json_equal(json_object_get(spec, "podFailurePolicy"), rules));
    json_auto_t *success = json_loads("{\"rules\": [{\"succeededCount\": 1}]}", 0, NULL);
    assert_true(json_equal(json_object_get(spec, "successPolicy"), success));
    assert_int_equal(json_integer_value(json_object_get(spec, "backoffLimitPerIndex")), 1);
    assert_int_equal(json_integer_value(json_object_get(spec, "backoffLimit")), INT32_MAX);
    assert_string_equal(json_string_value(json_object_get(spec, "podReplacementPolicy")), "Failed");
    g_autoptr(GString) again = g_string_new(NULL);
    Object *other = read_job(&world,
                             INDEXED(2) PER_INDEX(1) ", " RULES(
                                 ON_DISRUPTION("Count")) ", " SUCCESS("{\"succeededCount\": 1}"),
                             again);
    assert_true(object_spec_equal(job, job));
    assert_false(object_spec_equal(job, other));
    object_unref(job);
    object_unref(other);
    storage_world_clear(&world);
}

/* WL-84: a pod whose finalizer was removed is not counted twice. Once it is gone another pod may
 * have its name, and counts, though no watch has told that the first one lost its finalizer. */
TEST(a_name_counts_again)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        StorageWorld world;
        g_autoptr(GString) faults = g_string_new(NULL);
        storage_world_init(&world, &(StorageWorldOptions){.slow = TRUE, .seed = seed});
        storage_world_start(&world);
        storage_world_create(&world, read_job(&world, "\"completions\": 2", faults));
        assert_string_equal(faults->str, "");
        world_go_on(&world, SIM_SECOND);
        const char *name = object_name(&active_pod(&world, -1)->meta);
        g_autoptr(StringMap) labels = string_map_ref(active_pod(&world, -1)->meta.labels);
        storage_world_delete(&world, world_key(&world, KIND_POD, name)); /* never ran */
        while (world_pod(&world, name) != NULL)
            world_go_on(&world, 10 * SIM_US);
        api_server_break_watches(world.api, 0);
        api_server_repair_watches(world.api, 0, WATCHES_RELIST);
        world_go_on(&world, 5 * SIM_SECOND);
        assert_int_equal(the_job(&world)->failed, 1);

        Pod *pod = storage_world_pod(&world, name, NULL, NULL);
        pod->meta.labels = g_steal_pointer(&labels);
        object_set_owner(&pod->meta, &the_job(&world)->meta, TRUE, TRUE);
        object_add_finalizer(&pod->meta, storage_world_intern(&world, FINALIZER_JOB_TRACKING));
        storage_world_create(&world, pod);
        world_start_pod(&world, name);
        world_set_phase(&world, name, POD_SUCCEEDED, FALSE);
        world_go_on(&world, 5 * SIM_SECOND);
        assert_int_equal(the_job(&world)->succeeded, 1);
        storage_world_clear(&world);
    }
}
