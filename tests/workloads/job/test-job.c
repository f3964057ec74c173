/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster/kube-controller-manager.h"
#include "models/workloads/job/private.h"
#include "models/workloads/ttl-after-finished/ttl-after-finished.h"
#include "tests/lib/test.h"
#include "tests/workloads/pods-world.h"

#include <string.h>

/* The Job controller, the controller of finished Jobs, and a Job "work" (WL-80..89). The test plays
 * the kubelets. */

#define SECONDS(n) ((n)*SIM_SECOND)

const ModelClass *const model_classes[] = {&job_controller_class, &ttl_after_finished_class, NULL};

/* The fields of a manifest: 0 keeps the default, -1 means none or zero where that makes sense. */
typedef struct {
    int32_t completions, parallelism, backoff_limit, deadline_s, ttl_s;
    gboolean indexed, suspend, replace_when_failed, on_failure;
} JobSpec;

static void
create_job(StorageWorld *world, const JobSpec *spec)
{
    Job *job = JOB(object_new(world_key(world, KIND_JOB, "work")));

    job->template = world_template(world, "work", "a");
    job->template->spec->restart_policy =
        storage_world_intern(world, spec->on_failure ? "OnFailure" : "Never");
    job->completions = spec->completions == 0 ? 1 : spec->completions;
    job->parallelism = spec->parallelism == 0 ? 1 : spec->parallelism;
    if (spec->backoff_limit != 0)
        job->backoff_limit = MAX(spec->backoff_limit, 0);
    if (spec->deadline_s != 0)
        job->active_deadline_s = spec->deadline_s;
    if (spec->ttl_s != 0)
        job->ttl_s = MAX(spec->ttl_s, 0);
    job->indexed = spec->indexed;
    job->suspend = spec->suspend;
    job->replace_when_failed = spec->replace_when_failed;
    storage_world_create(world, job);
}

static const Job *
the_job(const StorageWorld *world)
{
    const Object *job = world_stored(world, KIND_JOB, "work");

    assert_non_null(job);
    return JOB_CONST(job);
}

static void
job_begin(StorageWorld *world, const JobSpec *spec)
{
    storage_world_init(world, NULL);
    storage_world_start(world);
    create_job(world, spec);
    world_go_on(world, SIM_SECOND / 2);
}

/* Counts the pods that are neither over nor being deleted, in the order of their creation. @pod:
 * (out): the @n-th */
static unsigned
count_active(const StorageWorld *world, unsigned n, const Pod **pod)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < objects_n_keys(world->objects, KIND_POD); i++) {
        const Object *object =
            api_server_get(world->api, objects_key_at(world->objects, KIND_POD, i));
        if (object == NULL || !pod_is_active(POD_CONST(object)))
            continue;
        if (count++ == n && pod != NULL)
            *pod = POD_CONST(object);
    }
    return count;
}

/* The first active pod ends. */
static void
end_a_pod(StorageWorld *world, gboolean well)
{
    const Pod *pod = NULL;

    count_active(world, 0, &pod);
    assert_non_null(pod);
    const char *name = object_name(&pod->meta);
    if (pod->phase == POD_PENDING)
        world_start_pod(world, name);
    world_set_phase(world, name, well ? POD_SUCCEEDED : POD_FAILED, FALSE);
}

static gboolean
is(const WorkloadCondition *condition, const char *reason)
{
    return condition->status == CONDITION_TRUE && strcmp(condition->reason, reason) == 0;
}

/* ---- How many (WL-80, WL-82) ---- */

typedef struct {
    const char *name;
    JobSpec spec;
    unsigned begins_with; /* pods */
    unsigned n_made;      /* until it is complete, if all succeed one after the other */
} CountCase;

static const CountCase count_cases[] = {
    {"one",                        {0},                                                1, 1 },
    {"three, one by one",          {.completions = 3},                                 1, 3 },
    {"five, two at a time",        {.completions = 5, .parallelism = 2},               2, 5 },
    {"two, five at a time",        {.completions = 2, .parallelism = 5},               2, 2 },
    {"any success of three",       {.completions = -1, .parallelism = 3},              3, 3 },
    {"indexed",                    {.completions = 4, .parallelism = 3, .indexed = 1}, 3, 4 },
    {"nine at a time, in batches", {.completions = 20, .parallelism = 9},              9, 20},
};

static void
as_many_as_are_wanted(void **state)
{
    const CountCase *test = *state;
    StorageWorld world;

    job_begin(&world, &test->spec);
    assert_int_equal(count_active(&world, 0, NULL), test->begins_with);
    assert_int_equal(the_job(&world)->active, test->begins_with);
    while (the_job(&world)->complete.status != CONDITION_TRUE) {
        unsigned most = (unsigned)test->spec.parallelism;
        assert_true(count_active(&world, 0, NULL) <= MAX(most, 1));
        assert_true(count_active(&world, 0, NULL) > 0);
        end_a_pod(&world, TRUE);
        world_go_on(&world, 3 * SIM_SECOND);
    }
    assert_int_equal(objects_n_keys(world.objects, KIND_POD), test->n_made);
    assert_true(is(&the_job(&world)->complete, "CompletionsReached"));
    assert_int_equal(the_job(&world)->succeeded, test->n_made);
    assert_int_equal(the_job(&world)->active, 0);
    assert_string_equal(world_event_message(&world, "Completed"), "Job completed");
    world_go_on(&world, SIM_HOUR);
    assert_int_equal(objects_n_keys(world.objects, KIND_POD), test->n_made);
    storage_world_clear(&world);
}
TEST_ROWS(count_cases, as_many_as_are_wanted);

/* WL-82: 500 pods in a sync, the rest in the next one, a second later (WL-81). */
TEST(bursts_of_500)
{
    static const JobSpec spec = {.completions = 700, .parallelism = 700};
    StorageWorld world;

    job_begin(&world, &spec);
    assert_int_equal(count_active(&world, 0, NULL), 500);
    world_go_on(&world, SIM_SECOND);
    assert_int_equal(count_active(&world, 0, NULL), 700);
    storage_world_clear(&world);
}

static gboolean
edit_parallelism(Object *object, const void *parallelism)
{
    JOB(object)->parallelism = *(const int32_t *)parallelism;
    return TRUE;
}

/* A change of the spec is handled at once. Surplus pods lose their finalizer too, else they could
 * not go. */
TEST(less_parallelism_deletes)
{
    static const JobSpec spec = {.completions = 9, .parallelism = 4};
    static const int32_t two = 2;
    StorageWorld world;

    job_begin(&world, &spec);
    storage_world_patch(&world, world_key(&world, KIND_JOB, "work"), edit_parallelism, &two);
    world_go_on(&world, 100 * SIM_MS);
    assert_int_equal(count_active(&world, 0, NULL), 2);
    world_go_on(&world, SECONDS(5));
    assert_int_equal(count_active(&world, 0, NULL), 2);
    assert_int_equal(the_job(&world)->failed, 0);
    assert_int_equal(world_count(&world, KIND_POD), 2);
    storage_world_clear(&world);
}

/* ---- Batches (WL-81) ---- */

/* A new Job is handled at once, changes of its pods a second later. */
TEST(pods_are_looked_at_a_second_later)
{
    static const JobSpec spec = {.completions = 2};
    StorageWorld world;

    storage_world_init(&world, NULL);
    storage_world_start(&world);
    create_job(&world, &spec);
    world_go_on(&world, 10 * SIM_MS);
    assert_int_equal(count_active(&world, 0, NULL), 1);
    world_go_on(&world, SECONDS(5));
    end_a_pod(&world, TRUE);
    world_go_on(&world, 990 * SIM_MS);
    assert_int_equal(the_job(&world)->succeeded, 0);
    world_go_on(&world, 20 * SIM_MS);
    assert_int_equal(the_job(&world)->succeeded, 1);
    assert_int_equal(count_active(&world, 0, NULL), 1);
    storage_world_clear(&world);
}

/* ---- Failures (WL-83) ---- */

/* 10 s, doubling to 10 min, from the last failure on; one failure more than the limit ends the Job.
 * */
TEST(failures_back_off)
{
    static const int waits_s[] = {10, 20, 40, 80, 160, 320, 600, 600};
    static const JobSpec spec = {.backoff_limit = G_N_ELEMENTS(waits_s)};
    StorageWorld world;

    job_begin(&world, &spec);
    for (unsigned i = 0; i < G_N_ELEMENTS(waits_s); i++) {
        end_a_pod(&world, FALSE);
        SimTime failed_at = sim_now(world.sim);
        while (count_active(&world, 0, NULL) == 0)
            world_go_on(&world, 100 * SIM_MS);
        /* Ends of pods have whole seconds. */
        assert_in_range(sim_now(world.sim) - failed_at, SECONDS(waits_s[i] - 1),
                        SECONDS(waits_s[i]) + 200 * SIM_MS);
        assert_int_equal(the_job(&world)->failed, i + 1);
        assert_int_equal(the_job(&world)->has_failed.status, CONDITION_ABSENT);
    }
    end_a_pod(&world, FALSE);
    world_go_on(&world, SECONDS(5));
    assert_true(is(&the_job(&world)->has_failed, "BackoffLimitExceeded"));
    assert_true(is(&the_job(&world)->failure_target, "BackoffLimitExceeded"));
    assert_string_equal(world_event_message(&world, "BackoffLimitExceeded"),
                        "Job has reached the specified backoff limit");
    world_go_on(&world, SIM_HOUR);
    assert_int_equal(objects_n_keys(world.objects, KIND_POD), G_N_ELEMENTS(waits_s) + 1);
    storage_world_clear(&world);
}

/* WL-80: 6 by default; with 0 the first failure ends the Job. */
TEST(the_limit_of_failures)
{
    static const struct {
        int32_t limit;
        unsigned n_pods;
    } cases[] = {
        {0,  7},
        {-1, 1},
        {2,  3},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const JobSpec spec = {.backoff_limit = cases[i].limit};
        StorageWorld world;
        job_begin(&world, &spec);
        while (the_job(&world)->has_failed.status != CONDITION_TRUE) {
            if (count_active(&world, 0, NULL) > 0)
                end_a_pod(&world, FALSE);
            world_go_on(&world, SECONDS(5));
        }
        assert_int_equal(objects_n_keys(world.objects, KIND_POD), cases[i].n_pods);
        storage_world_clear(&world);
    }
}

/* After a success the count of failures begins with one again. */
TEST(a_success_forgives)
{
    static const JobSpec spec = {.completions = 5};
    StorageWorld world;

    job_begin(&world, &spec);
    for (unsigned i = 0; i < 3; i++) {
        end_a_pod(&world, FALSE);
        world_go_on(&world, SECONDS(60));
    }
    end_a_pod(&world, TRUE);
    world_go_on(&world, SECONDS(3));
    end_a_pod(&world, FALSE);
    world_go_on(&world, SECONDS(8));
    assert_int_equal(count_active(&world, 0, NULL), 0);
    world_go_on(&world, SECONDS(3));
    assert_int_equal(count_active(&world, 0, NULL), 1);
    storage_world_clear(&world);
}

static gboolean
edit_restarts(Object *object, const void *restarts)
{
    POD(object)->restarts = *(const int32_t *)restarts;
    return TRUE;
}

/* With OnFailure the restarts of running pods count; with Never there are none. */
TEST(restarts_count_as_failures)
{
    static const struct {
        gboolean on_failure;
        int32_t limit, restarts;
        gboolean fails;
    } cases[] = {
        {TRUE,  3,  2, FALSE},
        {TRUE,  3,  3, TRUE },
        {TRUE,  -1, 0, FALSE},
        {TRUE,  -1, 1, TRUE },
        {FALSE, 3,  9, FALSE},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const JobSpec spec = {.backoff_limit = cases[i].limit, .on_failure = cases[i].on_failure};
        StorageWorld world;
        job_begin(&world, &spec);
        const char *name = object_name(&world_nth_pod(&world, 0)->meta);
        world_start_pod(&world, name);
        storage_world_patch_status(&world, world_key(&world, KIND_POD, name), edit_restarts,
                                   &cases[i].restarts);
        world_go_on(&world, SECONDS(2));
        assert_int_equal(is(&the_job(&world)->failure_target, "BackoffLimitExceeded"),
                         cases[i].fails);
        assert_int_equal(count_active(&world, 0, NULL), cases[i].fails ? 0 : 1);
        storage_world_clear(&world);
    }
}

/* ---- Finalizers and counting (WL-84) ---- */

/* The requests show the order: named in the status, finalizer removed, counted. */
TEST(counted_once_and_for_all)
{
    static const JobSpec spec = {.completions = 2};
    StorageWorld world;

    job_begin(&world, &spec);
    const char *name = object_name(&world_nth_pod(&world, 0)->meta);
    assert_true(object_has_finalizer(&world_pod(&world, name)->meta, FINALIZER_JOB_TRACKING));
    storage_world_log(&world);
    end_a_pod(&world, TRUE);
    world_go_on(&world, 1100 * SIM_MS);
    const char *log = storage_world_log(&world);
    g_autofree char *patch = g_strdup_printf("PATCH pod/%s", name);
    const char *named = strstr(log, "PUT/st other/work"), *released = strstr(log, patch);
    assert_non_null(named);
    assert_non_null(released);
    assert_true(named < released);
    assert_non_null(strstr(released, "PUT/st other/work"));
    assert_false(object_has_finalizer(&world_pod(&world, name)->meta, FINALIZER_JOB_TRACKING));
    assert_int_equal(the_job(&world)->succeeded, 1);
    assert_null(the_job(&world)->uncounted_succeeded);
    storage_world_clear(&world);
}

/* A pod that is over and deleted is held by its finalizer until it is counted. */
TEST(what_is_deleted_is_counted_first)
{
    static const JobSpec spec = {.completions = 2};
    StorageWorld world;

    job_begin(&world, &spec);
    const char *name = object_name(&world_nth_pod(&world, 0)->meta);
    end_a_pod(&world, TRUE);
    storage_world_delete(&world, world_key(&world, KIND_POD, name));
    assert_non_null(world_pod(&world, name));
    world_go_on(&world, SECONDS(2));
    assert_null(world_pod(&world, name));
    assert_int_equal(the_job(&world)->succeeded, 1);
    storage_world_clear(&world);
}

/* At most 500 names in a sync, the rest in a later one. Each pod is counted once. */
TEST(counts_500_at_most)
{
    static const JobSpec spec = {.completions = 600, .parallelism = 600};
    StorageWorld world;
    int32_t most = 0;

    job_begin(&world, &spec);
    world_go_on(&world, SECONDS(3));
    for (unsigned i = 0; i < 600; i++)
        world_set_phase(&world, object_name(&world_nth_pod(&world, i)->meta), POD_SUCCEEDED, FALSE);
    while (the_job(&world)->succeeded == 0)
        world_go_on(&world, 50 * SIM_MS);
    most = the_job(&world)->succeeded;
    assert_int_equal(most, 500);
    world_go_on(&world, SECONDS(5));
    assert_int_equal(the_job(&world)->succeeded, 600);
    assert_true(is(&the_job(&world)->complete, "CompletionsReached"));
    storage_world_clear(&world);
}

/* Pods of a deleted Job lose the finalizer, so that they can be deleted. */
TEST(a_gone_job_lets_go)
{
    static const JobSpec spec = {.completions = 3, .parallelism = 3};
    StorageWorld world;

    job_begin(&world, &spec);
    storage_world_delete(&world, world_key(&world, KIND_JOB, "work"));
    world_go_on(&world, SECONDS(1));
    for (unsigned i = 0; i < 3; i++)
        assert_false(object_has_finalizer(&world_nth_pod(&world, i)->meta, FINALIZER_JOB_TRACKING));
    storage_world_clear(&world);
}

/* The controller dies between any two of its writes: in the end each pod is counted once. */
TEST(a_crash_loses_no_count)
{
    static const JobSpec spec = {.completions = 3, .parallelism = 3};

    for (SimTime at = 0; at < 60 * SIM_MS; at += 3 * SIM_MS) {
        const StorageWorldOptions options = {.seed = 5, .slow = TRUE};
        StorageWorld world;
        storage_world_init(&world, &options);
        storage_world_start(&world);
        create_job(&world, &spec);
        world_go_on(&world, SECONDS(3));
        for (unsigned i = 0; i < 3; i++)
            world_set_phase(&world, object_name(&world_nth_pod(&world, i)->meta), POD_SUCCEEDED,
                            FALSE);
        world_go_on(&world, SIM_SECOND + at);
        assert_true(cluster_crash(world.cluster, "kube-controller-manager", NULL));
        assert_true(cluster_restart(world.cluster, "kube-controller-manager", NULL));
        world_go_on(&world, SECONDS(10));
        assert_int_equal(the_job(&world)->succeeded, 3);
        assert_int_equal(objects_n_keys(world.objects, KIND_POD), 3);
        assert_true(is(&the_job(&world)->complete, "CompletionsReached"));
        storage_world_clear(&world);
    }
}

/* ---- After errors (WL-85) ---- */

/* 1 s, doubling to a minute. */
TEST(errors_back_off)
{
    static const int waits_s[] = {1, 2, 4, 8, 16, 32, 60, 60};
    static const JobSpec spec = {0};
    StorageWorld world;
    PodsRefusal refusal = {.kind = KIND_POD, .n = G_N_ELEMENTS(waits_s)};

    storage_world_init(&world, NULL);
    world_refuse(&world, &refusal);
    storage_world_start(&world);
    create_job(&world, &spec);
    world_go_on(&world, 5 * SIM_MS);
    for (unsigned i = 0; i < G_N_ELEMENTS(waits_s); i++) {
        assert_int_equal(refusal.n_seen, i + 1);
        world_go_on(&world, SECONDS(waits_s[i]) - 10 * SIM_MS);
        assert_int_equal(refusal.n_seen, i + 1);
        world_go_on(&world, 10 * SIM_MS);
    }
    assert_int_equal(count_active(&world, 0, NULL), 1);
    assert_string_equal(world_event_message(&world, "FailedCreate"),
                        "Error creating: refused by the test");
    storage_world_clear(&world);
}

/* ---- Deleted pods (WL-86) ---- */

TEST(what_goes_is_replaced)
{
    for (gboolean when_failed = FALSE; when_failed <= TRUE; when_failed++) {
        const JobSpec spec = {.replace_when_failed = when_failed};
        StorageWorld world;
        job_begin(&world, &spec);
        const char *name = object_name(&world_nth_pod(&world, 0)->meta);
        world_start_pod(&world, name);
        world_go_on(&world, SECONDS(5));
        storage_world_delete(&world, world_key(&world, KIND_POD, name));
        world_go_on(&world, SECONDS(14));
        /* A deleted pod counts as failed, so its successor waits for 10 s, or for its end. */
        assert_int_equal(count_active(&world, 0, NULL), when_failed ? 0 : 1);
        assert_int_equal(the_job(&world)->failed, when_failed ? 0 : 1);
        world_set_phase(&world, name, POD_FAILED, FALSE);
        world_stop_pod(&world, name);
        world_go_on(&world, SECONDS(14));
        assert_int_equal(count_active(&world, 0, NULL), 1);
        assert_int_equal(the_job(&world)->failed, 1);
        storage_world_clear(&world);
    }
}

/* ---- Time (WL-87, WL-88) ---- */

TEST(out_of_time)
{
    static const JobSpec spec = {.deadline_s = 100, .completions = 2, .parallelism = 2};
    StorageWorld world;

    job_begin(&world, &spec);
    world_play_nodes(&world);
    world_go_on(&world, SECONDS(99));
    assert_int_equal(the_job(&world)->failure_target.status, CONDITION_ABSENT);
    assert_int_equal(count_active(&world, 0, NULL), 2);
    world_go_on(&world, SECONDS(1));
    assert_true(is(&the_job(&world)->failure_target, "DeadlineExceeded"));
    assert_int_equal(count_active(&world, 0, NULL), 0);
    /* WL-89: the Job is not Failed as long as pods are being deleted. */
    world_go_on(&world, SECONDS(60));
    assert_int_equal(the_job(&world)->has_failed.status, CONDITION_ABSENT);
    assert_int_equal(the_job(&world)->terminating, 2);
    world_play_nodes(&world);
    world_go_on(&world, SECONDS(3));
    assert_true(is(&the_job(&world)->has_failed, "DeadlineExceeded"));
    assert_int_equal(the_job(&world)->failed, 2);
    assert_string_equal(world_event_message(&world, "DeadlineExceeded"),
                        "Job was active longer than specified deadline");
    storage_world_clear(&world);
}

TEST(deleted_after_its_time)
{
    static const struct {
        int32_t ttl_s;
        gboolean well;
        SimTime after; /* the latest end; 0: never */
    } cases[] = {
        {-1,  TRUE,  SECONDS(1)  },
        {100, TRUE,  SECONDS(100)},
        {100, FALSE, SECONDS(100)},
        {0,   TRUE,  0           },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        const JobSpec spec = {.ttl_s = cases[i].ttl_s, .backoff_limit = -1};
        StorageWorld world;
        job_begin(&world, &spec);
        end_a_pod(&world, cases[i].well);
        SimTime ended_at = sim_now(world.sim);
        world_go_on(&world, SECONDS(2));
        while (world_stored(&world, KIND_JOB, "work") != NULL &&
               sim_now(world.sim) < ended_at + SIM_HOUR)
            world_go_on(&world, 100 * SIM_MS);
        SimTime took = sim_now(world.sim) - ended_at;
        if (cases[i].after == 0)
            assert_true(took >= SIM_HOUR);
        else
            assert_in_range(took, cases[i].after, cases[i].after + SECONDS(2));
        storage_world_clear(&world);
    }
}

static gboolean
edit_suspend(Object *object, const void *suspend)
{
    JOB(object)->suspend = *(const gboolean *)suspend;
    return TRUE;
}

/* The pods of a suspended Job are deleted and do not count as failures. A resumed Job that is not
 * finished gets a new start time. */
TEST(suspended_and_resumed)
{
    static const JobSpec spec = {.completions = 2, .parallelism = 2, .deadline_s = 100};
    static const gboolean yes = TRUE, no = FALSE;
    StorageWorld world;
    ObjectKey *key;

    job_begin(&world, &spec);
    key = world_key(&world, KIND_JOB, "work");
    world_go_on(&world, SECONDS(50));
    storage_world_patch(&world, key, edit_suspend, &yes);
    world_go_on(&world, SECONDS(2));
    assert_int_equal(count_active(&world, 0, NULL), 0);
    assert_true(is(&the_job(&world)->suspended, "JobSuspended"));
    assert_string_equal(world_event_message(&world, "Suspended"), "Job suspended");
    world_go_on(&world, SECONDS(30));
    storage_world_patch(&world, key, edit_suspend, &no);
    world_go_on(&world, SECONDS(2));
    assert_int_equal(count_active(&world, 0, NULL), 2);
    assert_int_equal(the_job(&world)->suspended.status, CONDITION_FALSE);
    assert_string_equal(world_event_message(&world, "Resumed"), "Job resumed");
    world_go_on(&world, SECONDS(90));
    assert_int_equal(count_active(&world, 0, NULL), 2);
    world_go_on(&world, SECONDS(15));
    assert_true(is(&the_job(&world)->failure_target, "DeadlineExceeded"));
    assert_int_equal(the_job(&world)->failed, 2);
    storage_world_clear(&world);
}

/* ---- Indexed ---- */

/* Names, label, annotation and hostname; pods of failed indexes are made again, the lowest first.
 * */
TEST(indexes)
{
    static const JobSpec spec = {.completions = 4, .parallelism = 2, .indexed = TRUE};
    StorageWorld world;

    job_begin(&world, &spec);
    const Pod *pod = world_nth_pod(&world, 1);
    assert_true(g_str_has_prefix(object_name(&pod->meta), "work-1-"));
    assert_string_equal(object_label(&pod->meta, INDEX_OF_JOB), "1");
    assert_string_equal(object_annotation(&pod->meta, INDEX_OF_JOB), "1");
    assert_string_equal(pod->hostname, "work-1");
    world_set_phase(&world, object_name(&world_nth_pod(&world, 0)->meta), POD_FAILED, FALSE);
    world_set_phase(&world, object_name(&pod->meta), POD_SUCCEEDED, FALSE);
    world_go_on(&world, SECONDS(12));
    assert_string_equal(the_job(&world)->completed_indexes, "1");
    assert_int_equal(the_job(&world)->succeeded, 1);
    assert_int_equal(the_job(&world)->failed, 1);
    assert_int_equal(pod_job_index(world_nth_pod(&world, 2)), 0);
    assert_int_equal(pod_job_index(world_nth_pod(&world, 3)), 2);
    while (count_active(&world, 0, NULL) > 0) {
        end_a_pod(&world, TRUE);
        world_go_on(&world, SECONDS(3));
    }
    assert_string_equal(the_job(&world)->completed_indexes, "0-3");
    assert_true(is(&the_job(&world)->complete, "CompletionsReached"));
    storage_world_clear(&world);
}

static gboolean
edit_size(Object *object, const void *size)
{
    JOB(object)->completions = JOB(object)->parallelism = *(const int32_t *)size;
    return TRUE;
}

/* An Indexed Job may shrink: what succeeded beyond its last index does not count, and is let go. */
TEST(fewer_indexes)
{
    static const JobSpec spec = {.completions = 3, .parallelism = 3, .indexed = TRUE};
    static const int32_t two = 2;
    StorageWorld world;

    job_begin(&world, &spec);
    storage_world_patch(&world, world_key(&world, KIND_JOB, "work"), edit_size, &two);
    world_set_phase(&world, object_name(&world_nth_pod(&world, 2)->meta), POD_SUCCEEDED, FALSE);
    world_go_on(&world, SECONDS(3));
    assert_int_equal(the_job(&world)->succeeded, 0);
    end_a_pod(&world, TRUE);
    world_go_on(&world, SECONDS(3));
    assert_false(object_has_finalizer(&world_nth_pod(&world, 2)->meta, FINALIZER_JOB_TRACKING));
    storage_world_clear(&world);
}

TEST(index_sets)
{
    static const struct {
        const char *text;
        int32_t below, n;
        const char *printed; /* NULL: empty */
    } cases[] = {
        {NULL,        9, 0, NULL       },
        {"",          9, 0, NULL       },
        {"0",         9, 1, "0"        },
        {"0,1",       9, 2, "0,1"      },
        {"0-2",       9, 3, "0-2"      },
        {"1,3-5,7,8", 9, 6, "1,3-5,7,8"},
        {"0-8",       4, 4, "0-3"      },
        {"5",         4, 0, NULL       },
        {"x",         4, 0, NULL       },
        {"2-",        4, 0, NULL       },
    };
    g_autoptr(Strings) strings = strings_new();

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        IndexSet set = {0};
        index_set_parse(&set, cases[i].text, cases[i].below);
        assert_int_equal(set.n, cases[i].n);
        const char *printed = index_set_format(&set, strings);
        if (cases[i].printed == NULL)
            assert_null(printed);
        else
            assert_string_equal(printed, cases[i].printed);
        index_set_clear(&set);
    }
}

/* ---- Adoption ---- */

/* A Job with its own selector adopts matching pods that have the finalizer and no owner, and counts
 * them. */
TEST(adopts)
{
    StorageWorld world;

    storage_world_init(&world, NULL);
    storage_world_start(&world);
    Pod *orphan = storage_world_pod(&world, "orphan", NULL, NULL);
    object_set_label(&orphan->meta, storage_world_intern(&world, "app"),
                     storage_world_intern(&world, "work"));
    storage_world_create(&world, orphan);
    Job *job = JOB(object_new(world_key(&world, KIND_JOB, "work")));
    job->template = world_template(&world, "work", "a");
    job->template->spec->restart_policy = storage_world_intern(&world, "Never");
    job->selector = world_selector(&world, "work");
    job->manual_selector = TRUE;
    job->completions = 1;
    storage_world_create(&world, job);
    world_go_on(&world, SIM_SECOND);
    assert_true(
        object_is_controlled_by(&world_pod(&world, "orphan")->meta, &the_job(&world)->meta));
    assert_true(object_has_finalizer(&world_pod(&world, "orphan")->meta, FINALIZER_JOB_TRACKING));
    assert_int_equal(count_active(&world, 0, NULL), 1);
    end_a_pod(&world, TRUE);
    world_go_on(&world, SECONDS(3));
    assert_true(is(&the_job(&world)->complete, "CompletionsReached"));
    storage_world_clear(&world);
}

/* WL-3 */
TEST(flags_have_kubernetes_defaults)
{
    assert_string_equal(
        process_class_flag(&kube_controller_manager_process, "concurrent-job-syncs")->default_value,
        "5");
    assert_string_equal(
        process_class_flag(&kube_controller_manager_process, "concurrent-ttl-after-finished-syncs")
            ->default_value,
        "5");
}
