/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/apiserver/apiserver-test.h"
#include "tester.h"
#include "tests/lib/test.h"

/* The executor: what it does with steps, in which order at which instant, what errors mean, and
 * what is left after a crash at any moment. */

static gboolean
annotate_more(Object *object, const void *value)
{
    return object_set_annotation(object, "kvolsim.io/b", value);
}

/* ---- Order and time ---- */

static void
decide_three_writes(const void *self, Plan *plan)
{
    const char *value = plan_internf(plan, "x");

    plan_because(plan, "TEST-1");
    int put = plan_update(plan, tester_cached(self, plan), tester_annotate, value, PLAN_STOP);
    plan_update_result(plan, put, annotate_more, value, PLAN_STOP);
    plan_change(plan, &(PlanChange){.what = 7, .number = 42});
    plan_update_result(plan, put + 1, tester_annotate, value,
                       PLAN_STOP); /* changes nothing: not sent */
    plan_patch(plan, plan_key(plan), tester_annotate, NULL, PLAN_STOP);
}

TEST_WITH(tester_setup, tester_teardown, steps_follow_one_another_each_after_a_thought)
{
    TesterWorld *world = *state;

    tester_create_claim(world, "a");
    tester_start(world, decide_three_writes);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(
        world->log->str,
        "11ms PUT a 200, 22ms PUT a 200, 22ms change 7, 33ms PATCH a 200, 33ms a done");
    assert_int_equal(tester_model(world)->changed, 42);
}

static unsigned n_decisions;

static void
decide_and_count(const void *self, Plan *plan)
{
    n_decisions++;
    if (object_annotation(tester_cached(self, plan), "kvolsim.io/a") == NULL)
        plan_update(plan, tester_cached(self, plan), tester_annotate, plan_internf(plan, "x"),
                    PLAN_STOP);
}

/* A component decides as its request leaves: a write of another client before that changes the
 * decision. */
TEST_WITH(tester_setup, tester_teardown, decisions_are_made_as_the_request_leaves)
{
    TesterWorld *world = *state;
    ApiResponse response;

    sim_dist_unref(world->timing.think);
    world->timing.think = sim_dist_new_constant(5 * SIM_MS);
    tester_create_claim(world, "a");
    tester_start(world, decide_and_count);
    n_decisions = 0;
    tester_sync_key(world, "a");
    const char *value = strings_intern(objects_strings(world->objects), "other");
    api_server_commit(world->api,
                      &(ApiRequest){.verb = API_PATCH,
                                    .key = tester_claim_key(world, "a"),
                                    .edit = tester_annotate,
                                    .arg = value},
                      &response);
    sim_run_until(world->sim, SIM_SECOND);
    assert_int_equal(n_decisions, 2);
    assert_string_equal(world->log->str, "5ms a done"); /* it saw the annotation after 2 ms */
}

static void
decide_nothing(const void *self, Plan *plan)
{
    (void)self, (void)plan;
}

TEST_WITH(tester_setup, tester_teardown, a_plan_without_requests_takes_no_time)
{
    TesterWorld *world = *state;

    tester_start(world, decide_nothing);
    for (unsigned i = 0; i < 3; i++)
        tester_sync_key(world, strings_internf(objects_strings(world->objects), "%u", i));
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(world->log->str, "0s 0 done, 0s 1 done, 0s 2 done");
}

/* How many rounds a plan has begun, and how many were cleaned up. */
static unsigned n_begun, n_forgotten;

static void
round_forgotten(void *data)
{
    (void)data;
    n_forgotten++;
}

static void
decide_round(const void *self, Plan *plan)
{
    (void)self;
    assert_int_equal(plan_last_step(plan), -1);
    assert_int_equal(n_forgotten, n_begun);
    plan_because(plan, "a rule");
    plan_own(plan, &n_begun, round_forgotten);
    assert_int_equal(plan_get(plan, plan_key(plan), PLAN_GO_ON), 0); /* the first step there is */
    if (++n_begun < 100)
        plan_then_anew(plan, decide_round);
}

/* As in the attach/detach controller: its pass goes on as long as there are volumes to detach. */
TEST_WITH(tester_setup, tester_teardown, a_plan_that_goes_round_keeps_nothing_of_earlier_rounds)
{
    TesterWorld *world = *state;

    tester_start(world, decide_round);
    n_begun = n_forgotten = 0;
    assert_non_null(plan_start(&(PlanStart){.component = &tester_model(world)->base,
                                            .decide = decide_round,
                                            .key = tester_claim_key(world, "a"),
                                            .no_think = TRUE}));
    sim_run_until(world->sim, 100 * SIM_SECOND);
    assert_int_equal(n_begun, 100);
    assert_int_equal(n_forgotten, 100);
}

static void
decide_get(const void *self, Plan *plan)
{
    (void)self;
    plan_get(plan, plan_key(plan), PLAN_GO_ON);
}

TEST_WITH(tester_setup, tester_teardown, workers_share_the_keys)
{
    TesterWorld *world = *state;

    tester_workers = 2;
    tester_start(world, decide_get);
    for (unsigned i = 0; i < 3; i++)
        tester_sync_key(world, strings_internf(objects_strings(world->objects), "%u", i));
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(
        world->log->str,
        "11ms GET 0 404, 11ms 0 done, 11ms GET 1 404, 11ms 1 done, 22ms GET 2 404, 22ms 2 done");
}

/* ---- Errors ---- */

static PlanErrors errors;

static void
decide_failing(const void *self, Plan *plan)
{
    (void)self;
    plan_patch(plan, plan_key(plan), tester_annotate, plan_internf(plan, "x"), errors);
    plan_change(plan, &(PlanChange){.what = 1});
}

static void
decide_after_failure(const void *self, Plan *plan)
{
    (void)self;
    tester_log("asked: %d %s", (int)plan_code(plan, plan_last_step(plan)),
               plan_message(plan, plan_last_step(plan)));
    plan_fail(plan, "in its own words");
}

static void
decide_failing_then(const void *self, Plan *plan)
{
    decide_failing(self, plan);
    plan_then(plan, decide_after_failure);
}

/* clang-format off */
static const struct {
    PlanErrors errors;
    PlanDecide decide;
    const char *log;
} error_cases[] = {
    {PLAN_STOP, decide_failing,
     "11ms PATCH a 404, 11ms a failed: persistentvolumeclaims \"a\" not found"},
    {PLAN_GO_ON, decide_failing, "11ms PATCH a 404, 11ms change 1, 11ms a done"},
    {PLAN_GONE_IS_FINE, decide_failing, "11ms PATCH a 404, 11ms change 1, 11ms a done"},
    {PLAN_EXISTS_IS_FINE, decide_failing,
     "11ms PATCH a 404, 11ms a failed: persistentvolumeclaims \"a\" not found"},
    {PLAN_DECIDE, decide_failing_then,
     "11ms PATCH a 404, 11ms asked: 404 persistentvolumeclaims \"a\" not found, 11ms a failed: in its own words"},
};
/* clang-format on */

TEST(an_error_means_what_its_step_says)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(error_cases); i++) {
        void *own;
        tester_setup(&own);
        TesterWorld *world = own;
        errors = error_cases[i].errors;
        tester_start(world, error_cases[i].decide);
        tester_sync_key(world, "a");
        sim_run_until(world->sim, SIM_SECOND);
        assert_string_equal(world->log->str, error_cases[i].log);
        tester_teardown(&own);
    }
}

typedef enum {
    RESPONSE_OF_A_REQUEST,
    UPDATE_OF_A_CHANGE,
    CHANGE_BY_A_CHANGE,
    CODE_OF_NO_STEP,
    CODE_OF_A_STEP_TO_COME,
    N_MISTAKES,
} Mistake;

static Mistake mistake;

static void
decide_by_mistake(const void *self, Plan *plan)
{
    int step = plan_get(plan, plan_key(plan), PLAN_GO_ON);

    (void)self;
    plan_change(plan, &(PlanChange){.what = 1});
    switch (mistake) {
    case RESPONSE_OF_A_REQUEST:
        plan_response(plan, step);
        return;
    case UPDATE_OF_A_CHANGE:
        plan_update_result(plan, step + 1, tester_annotate, NULL, PLAN_STOP);
        return;
    case CHANGE_BY_A_CHANGE:
        plan_change_result(plan, 1, step + 1);
        return;
    case CODE_OF_NO_STEP:
        plan_code(plan, plan_last_step(plan));
        return;
    case CODE_OF_A_STEP_TO_COME:
        plan_code(plan, step + 2);
        return;
    case N_MISTAKES:
        return; /* none: ends well */
    }
}

/* Each mistake ends the program, instead of reading data of another kind of step. Each runs in a
 * process of its own. */
TEST(steps_are_not_taken_for_others)
{
    for (mistake = 0; mistake <= N_MISTAKES; mistake++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            void *own;
            int nowhere = open("/dev/null", O_WRONLY); /* GLib's message would count as a failure */
            dup2(nowhere, STDOUT_FILENO);
            dup2(nowhere, STDERR_FILENO);
            signal(SIGABRT, SIG_DFL); /* cmocka's handler would go on with its tests */
            tester_setup(&own);
            tester_start(own, decide_by_mistake);
            tester_sync_key(own, "a");
            sim_run_until(((TesterWorld *)own)->sim, SIM_SECOND);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (mistake == N_MISTAKES)
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        else
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

/* CGO-23: a failure queues its key again with the limiter's delay: 1, 2, 4 s here. */
TEST_WITH(tester_setup, tester_teardown, failed_keys_come_again)
{
    TesterWorld *world = *state;

    tester_retries = TRUE;
    errors = PLAN_STOP;
    tester_start(world, decide_failing);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, 8 * SIM_SECOND);
    g_auto(GStrv) lines = g_strsplit(world->log->str, ", ", -1);
    assert_int_equal(g_strv_length(lines), 8);
    assert_string_equal(lines[2], "1.022s PATCH a 404");
    assert_string_equal(lines[4], "3.033s PATCH a 404");
    assert_string_equal(lines[6], "7.044s PATCH a 404");
}

/* ---- Crashes ---- */

/* Wherever the process dies, requests that have reached the server are committed once, and no
 * others; the restarted process does the rest. Three writes: PUT, PUT, PATCH, the last taking the
 * first annotation away again. */
TEST(a_crash_leaves_what_was_committed)
{
    static const struct {
        SimTime crash_at;
        unsigned n_writes;
    } cases[] = {
        {0,               0},
        {1 * SIM_MS - 1,  0},
        {2 * SIM_MS,      1},
        {10 * SIM_MS,     1},
        {12 * SIM_MS - 1, 1},
        {12 * SIM_MS + 1, 2},
        {21 * SIM_MS,     2},
        {30 * SIM_MS,     3},
        {40 * SIM_MS,     3},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        void *own;
        tester_setup(&own);
        TesterWorld *world = own;
        tester_create_claim(world, "a");
        tester_start(world, decide_three_writes);
        uint64_t before = api_server_resource_version(world->api);
        tester_sync_key(world, "a");
        sim_run_until(world->sim, cases[i].crash_at);
        cluster_crash(world->cluster, "test", NULL);
        assert_null(tester_model(world));
        sim_run_until(world->sim, SIM_SECOND);
        if (api_server_resource_version(world->api) != before + cases[i].n_writes)
            fail_msg("case %u: %u writes", i,
                     (unsigned)(api_server_resource_version(world->api) - before));
        cluster_restart(world->cluster, "test", NULL);
        sim_run_until(world->sim, 3 * SIM_SECOND);
        assert_non_null(tester_model(world));
        assert_true(tester_model(world)->base.started_late);
        tester_teardown(&own);
    }
}

/* ---- Why a plan fails ---- */

#define REFUSAL "refused by the test"

static ApiCode
refuse_all(void *data, const ApiRequest *request, GString *message)
{
    (void)data, (void)request;
    g_string_assign(message, REFUSAL);
    return API_ERROR;
}

static void
decide_refused(const void *self, Plan *plan)
{
    (void)self;
    plan_because(plan, "TEST-1");
    plan_patch(plan, plan_key(plan), tester_annotate, NULL, PLAN_STOP);
}

static void
note_end(void *self, Plan *plan, PlanEnd end, const char *message)
{
    (void)self, (void)plan;
    tester_log("alone %s: %s", end == PLAN_FAILED ? "failed" : "done", message);
}

/* The words of a refusal cost a string for ever: they are kept only for a listener. */
TEST(only_a_listener_hears_why_a_plan_fails)
{
    static const struct {
        const char *title;
        gboolean is_queued, listens;
        const char *log;
    } rows[] = {
        {"a queue",                             TRUE,  TRUE,  "11ms PATCH a 500, 11ms a failed: " REFUSAL    },
        {"a queue that nobody listens to",      TRUE,  FALSE, "11ms PATCH a 500"                             },
        {"a plan alone",                        FALSE, TRUE,  "11ms PATCH a 500, 11ms alone failed: " REFUSAL},
        {"a plan alone that nobody listens to", FALSE, FALSE, "11ms PATCH a 500"                             },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(rows); i++) {
        void *own;
        tester_setup(&own);
        TesterWorld *world = own;
        tester_is_deaf = rows[i].is_queued && !rows[i].listens;
        tester_create_claim(world, "a");
        tester_start(world, decide_refused);
        api_server_set_fault(world->api, refuse_all, NULL);
        if (rows[i].is_queued)
            tester_sync_key(world, "a");
        else
            plan_start(&(PlanStart){.component = &tester_model(world)->base,
                                    .decide = decide_refused,
                                    .key = tester_claim_key(world, "a"),
                                    .done = rows[i].listens ? note_end : NULL});
        sim_run_until(world->sim, SIM_SECOND);
        gboolean is_kept = strings_find(objects_strings(world->objects), REFUSAL) != NULL;
        if (strcmp(world->log->str, rows[i].log) != 0 || is_kept != rows[i].listens)
            fail_msg("%s: %s, %s", rows[i].title, world->log->str, is_kept ? "kept" : "not kept");
        tester_teardown(&own);
    }
}
