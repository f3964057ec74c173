/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "tester.h"
#include "tests/lib/test.h"

/* The executor: steps that wait for a driver, a change or other plans. */

/* ---- Calls, polls, other plans ---- */

static void
waits_decide_call(const void *self, Plan *plan)
{
    CsiRequest request = {.method = CSI_DELETE_VOLUME, .volume_id = NULL};

    (void)self;
    plan_call(plan, tester_world->driver, &request, PLAN_STOP);
}

TEST_WITH(tester_setup, tester_teardown, a_driver_s_error_is_told_as_go_prints_it)
{
    TesterWorld *world = *state;

    tester_start(world, waits_decide_call);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_non_null(strstr(world->log->str, "a failed: rpc error: code = InvalidArgument desc = "));
}

static void
decide_wait_and_get(const void *self, Plan *plan)
{
    (void)self;
    tester_polling = plan;
    plan_wait(plan, 100 * SIM_MS, WAIT_POLL);
    plan_get(plan, plan_key(plan), PLAN_GO_ON);
}

TEST_WITH(tester_setup, tester_teardown, the_step_under_way_is_the_one_that_takes_time)
{
    TesterWorld *world = *state;
    const char *step, *rule;

    tester_start(world, decide_wait_and_get);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, 50 * SIM_MS);
    plan_under_way(tester_polling, &step, &rule);
    assert_string_equal(step, "wait");
    sim_run_until(world->sim, 105 * SIM_MS);
    plan_under_way(tester_polling, &step, &rule);
    assert_string_equal(step, "get");
    sim_run_until(world->sim, SIM_SECOND);
}

static int
claim_exists(const void *self, const Plan *plan)
{
    return tester_cached(self, plan) != NULL;
}

static void
decide_poll(const void *self, Plan *plan)
{
    (void)self;
    tester_polling = plan;
    plan_poll(plan, 300 * SIM_MS, 2 * SIM_SECOND, FALSE, claim_exists, PLAN_STOP);
}

static void
create_now(Sim *sim, void *data)
{
    (void)sim;
    tester_create_claim(data, "a");
}

static void
wake_now(Sim *sim, void *data)
{
    (void)sim, (void)data;
    plan_wake(tester_polling);
}

static void
sync_now(Sim *sim, void *data)
{
    (void)sim;
    tester_sync_key(data, "a");
}

static const SimEventType sync_event = {.name = "test/sync", .fire = sync_now};
static const SimEventType create_event = {.name = "test/create", .fire = create_now};
static const SimEventType wake_event = {.name = "test/wake", .fire = wake_now};

TEST_WITH(tester_setup, tester_teardown, a_poll_looks_on_its_grid)
{
    TesterWorld *world = *state;

    tester_start(world, decide_poll);
    tester_sync_key(world, "a");
    sim_at(world->sim, 1000 * SIM_MS, &create_event, world, WAIT_NONE);
    sim_at(world->sim, 1050 * SIM_MS, &wake_event, world, WAIT_NONE);
    sim_run_until(world->sim, 5 * SIM_SECOND);
    assert_string_equal(world->log->str, "1.2s a done");
}

TEST_WITH(tester_setup, tester_teardown, a_poll_gives_up)
{
    TesterWorld *world = *state;

    tester_start(world, decide_poll);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, 5 * SIM_SECOND);
    assert_string_equal(world->log->str, "2s a failed");
}

/* Kinds of polls, all of 300 ms for 2 s. */
typedef struct {
    const char *name;
    gboolean at_once, grows;
    PlanErrors errors;
    unsigned n_first_looks; /* before anything has changed */
} PollKind;

static const PollKind poll_kinds[] = {
    {"plain",          FALSE, FALSE, PLAN_STOP,  1},
    {"at once",        TRUE,  FALSE, PLAN_STOP,  0},
    {"woken",          FALSE, FALSE, PLAN_WOKEN, 0},
    {"growing",        FALSE, TRUE,  PLAN_STOP,  1},
    {"growing, woken", FALSE, TRUE,  PLAN_WOKEN, 0},
};

static const PollKind *poll_kind;

static void
decide_poll_of_a_kind(const void *self, Plan *plan)
{
    (void)self;
    tester_polling = plan;
    if (poll_kind->grows)
        plan_poll_growing(plan, 300 * SIM_MS, 1300, 0.1, SIM_SECOND, 2 * SIM_SECOND, claim_exists,
                          poll_kind->errors);
    else
        plan_poll(plan, 300 * SIM_MS, 2 * SIM_SECOND, poll_kind->at_once, claim_exists,
                  poll_kind->errors);
}

static void
wake_whoever_polls(void *data, const Object *before, const Object *after)
{
    (void)data, (void)before, (void)after;
    if (tester_polling != NULL)
        plan_wake(tester_polling);
}

/* A poll that begins at 100 ms, and a change at @changes_at. Returns: (owned): the log */
static char *
poll_story(SimTime changes_at, gboolean never_sleeps, uint64_t *n_events)
{
    void *state;

    tester_never_sleeps = never_sleeps;
    tester_setup(&state);
    TesterWorld *world = state;
    tester_start(world, decide_poll_of_a_kind);
    informer_add_handler(tester_model(world)->claims, wake_whoever_polls, NULL);
    sim_at(world->sim, 100 * SIM_MS, &sync_event, world, WAIT_NONE);
    sim_at(world->sim, changes_at, &create_event, world, WAIT_NONE);
    sim_run_until(world->sim, 5 * SIM_SECOND);
    *n_events = sim_events_fired(world->sim);
    char *log = g_strdup(world->log->str);
    tester_polling = NULL;
    tester_teardown(&state);
    tester_never_sleeps = FALSE;
    return log;
}

/* Whenever the change comes: before the poll begins, between two looks, at a look, or too late. A
 * poll that sleeps from the beginning has one event less. */
TEST(a_poll_that_sleeps_ends_as_one_that_does_not)
{
    uint64_t n_events, n_events_of_plain = 0;

    for (unsigned i = 0; i < G_N_ELEMENTS(poll_kinds); i++) {
        poll_kind = &poll_kinds[i];
        for (SimTime at = 40 * SIM_MS; at < 2400 * SIM_MS; at += 13 * SIM_MS) {
            g_autofree char *asleep = poll_story(at, FALSE, &n_events);
            g_autofree char *awake = poll_story(at, TRUE, &n_events);
            if (strcmp(asleep, awake) != 0)
                fail_msg("%s, change at %d ms: %s but %s", poll_kind->name, (int)(at / SIM_MS),
                         asleep, awake);
        }
        g_autofree char *in_vain = poll_story(4 * SIM_SECOND, FALSE, &n_events);
        assert_non_null(strstr(in_vain, "failed"));
        if (i == 0)
            n_events_of_plain = n_events;
        assert_int_equal(n_events + 1, n_events_of_plain + poll_kind->n_first_looks);
    }
}

static void
decide_child(const void *self, Plan *plan)
{
    plan_get(plan, tester_claim_key(tester_world, plan_operation(plan)), PLAN_STOP);
    (void)self;
}

static void
decide_gather(const void *self, Plan *plan)
{
    PlanStart starts[3];

    for (unsigned i = 0; i < 3; i++)
        starts[i] = (PlanStart){
            .component = (Component *)self,
            .decide = decide_child,
            .key = plan_key(plan),
            .operation = (void *)plan_internf(plan, "child-%u", i),
        };
    tester_create_claim(tester_world, "child-0"); /* the test makes it */
    plan_gather(plan, starts, 3, PLAN_STOP);
}

static void
decide_after_noted_gather(const void *self, Plan *plan)
{
    const int *gather = plan_notes(plan);

    (void)self;
    for (unsigned i = 0; i < plan_gathered(plan, *gather); i++)
        tester_log("child-%u %s", i, plan_gathered_well(plan, *gather, i) ? "well" : "not");
    assert_int_equal(plan_gathered(plan, *gather + 1), 0); /* never begun */
}

/* Asked twice, as every plan with a request: each time it begins without notes. */
static void
decide_noted_gather(const void *self, Plan *plan)
{
    int *gather;

    assert_null(plan_notes(plan));
    gather = plan_new_notes(plan, int, NULL);
    plan_get(plan, plan_key(plan), PLAN_GO_ON);
    for (unsigned k = 0; k < 2; k++) {
        PlanStart starts[2];
        for (unsigned i = 0; i < 2; i++)
            starts[i] = (PlanStart){
                .component = (Component *)self,
                .decide = decide_child,
                .key = plan_key(plan),
                .operation = (void *)plan_internf(plan, "child-%u", i),
            };
        int step = plan_gather(plan, starts, 2, PLAN_DECIDE);
        *gather = k == 0 ? step : *gather;
    }
    plan_then(plan, decide_after_noted_gather);
}

TEST_WITH(tester_setup, tester_teardown, notes_lead_to_what_a_gathering_brought)
{
    TesterWorld *world = *state;

    tester_create_claim(world, "child-0");
    tester_start(world, decide_noted_gather);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_non_null(strstr(world->log->str, "child-0 well"));
    assert_non_null(strstr(world->log->str, "child-1 not"));
}

TEST_WITH(tester_setup, tester_teardown, a_gathering_waits_for_all_and_fails_with_one)
{
    TesterWorld *world = *state;

    tester_start(world, decide_gather);
    tester_sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(world->log->str,
                        "11ms GET child-0 200, 11ms GET child-1 404, 11ms GET child-2 404, 11ms a "
                        "failed: persistentvolumeclaims \"child-2\" not found");
}

static void
waits_operation_done(void *self, Plan *plan, PlanEnd end, const char *message)
{
    (void)self, (void)plan, (void)message;
    tester_log("operation %s", end == PLAN_DONE ? "done" : "failed");
}

static void
decide_operation(const void *self, Plan *plan)
{
    const Tester *tester_of = self;

    plan_start_operation(plan, tester_of->operations,
                         (OperationKey){.volume = strings_intern(tester_of->base.strings, "one")},
                         &(PlanStart){.component = (Component *)self,
                                      .decide = decide_child,
                                      .key = plan_key(plan),
                                      .operation = (void *)"missing",
                                      .done = waits_operation_done});
}

/* PVC-12: one at a time; after a failure not before the back-off is over. */
TEST_WITH(tester_setup, tester_teardown, operations_are_one_at_a_time_and_back_off)
{
    static const SimTime at[] = {
        0, 5 * SIM_MS, 100 * SIM_MS, 511 * SIM_MS, 600 * SIM_MS, 1500 * SIM_MS, 1700 * SIM_MS};
    TesterWorld *world = *state;

    tester_start(world, decide_operation);
    for (unsigned i = 0; i < G_N_ELEMENTS(at); i++)
        sim_at(world->sim, at[i], &sync_event, world, WAIT_NONE);
    sim_run_until(world->sim, 5 * SIM_SECOND);
    g_auto(GStrv) lines = g_strsplit(world->log->str, ", ", -1);
    unsigned n_failed = 0;
    for (unsigned i = 0; lines[i] != NULL; i++)
        n_failed += g_str_has_suffix(lines[i], "operation failed");
    assert_int_equal(
        n_failed,
        3); /* tried at 0, 600 ms, 1.7 s: 511 ms is still within the first 500 ms after 11 ms */
}
