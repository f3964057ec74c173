/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/cluster/cluster.h"
#include "models/csi/modelled/modelled-driver.h"
#include "models/plan/operations.h"

/* The executor: what it does with steps, in which order, at which instant, and what is left after a
 * crash at any moment. */

static const ProcessFlag no_flags[] = {
    {NULL, FLAG_BOOL, 0, NULL, NULL}
};

static const ProcessClass test_process = {
    .name = "test",
    .scope = PER_CLUSTER,
    .options_size = sizeof(int),
    .flags = no_flags,
    .startup = SIM_SECOND,
};

/* A model whose one queue runs what the test at hand gives it. */
typedef struct {
    Component base;
    Informer *claims;
    Workers *workers;
    Operations *operations;
    int64_t changed; /* by plan_change() */
} Tester;

/* What the test at hand decides; the tester's classes are constant, so it hangs on the Objects of
 * the world: one a world. */
typedef struct {
    Sim *sim;
    Objects *objects;
    Timing timing;
    Cluster *cluster;
    ApiServer *api;
    CsiDriver *driver;
    GString *log;
} World;

static PlanDecide current_decide; /* tests are no part of the program: one at a time */
static World *current_world;
static unsigned current_workers;
static gboolean current_retry;
static gboolean current_polling; /* loops never sleep */
static Plan *polling;            /* the plan that polls; NULL: none */

static void G_GNUC_PRINTF(1, 2) log_line(const char *format, ...)
{
    char buffer[SIM_TIME_BUFFER];
    va_list args;

    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    g_string_append_printf(current_world->log, "%s%s %s", current_world->log->len == 0 ? "" : ", ",
                           sim_time_format(sim_now(current_world->sim), buffer), text);
}

static void
decide(const void *self, Plan *plan)
{
    current_decide(self, plan);
}

static void
tester_done(void *self, ObjectKey *key, PlanEnd end, const char *message)
{
    (void)self;
    polling = NULL;
    log_line("%s %s%s%s", key->name, end == PLAN_DONE ? "done" : "failed",
             message == NULL ? "" : ": ", message == NULL ? "" : message);
}

static void
tester_init(void *data)
{
    Tester *self = data;

    self->claims = process_informer(self->base.process, KIND_CLAIM, NULL);
    self->operations = operations_new(&self->base, 500 * SIM_MS, 122 * SIM_SECOND);
    self->workers =
        workers_new(&self->base, &(WorkersOptions){
                                     .name = "test",
                                     .n_workers = current_workers,
                                     .limit = {.base = SIM_SECOND, .max = 8 * SIM_SECOND},
                                     .retry = current_retry,
                                     .sync = decide,
                                     .done = tester_done,
    });
}

static void
tester_clear(void *data)
{
    Tester *self = data;

    workers_free(self->workers);
    operations_free(self->operations);
}

static void
tester_apply(void *data, const PlanChange *change)
{
    Tester *self = data;

    self->changed = change->number;
    log_line("change %d", change->what);
}

static const ModelClass tester_class = {
    .name = "tester",
    .process = &test_process,
    .size = sizeof(Tester),
    .event_source = "tester",
    .init = tester_init,
    .clear = tester_clear,
    .apply_change = tester_apply,
};

const ModelClass *const model_classes[] = {&tester_class, NULL};

static void *
default_options(void *data, const ProcessClass *class)
{
    const World *world = data;

    return process_options_new(class, objects_strings(world->objects));
}

static void
see_request(void *data, const ApiRequest *request, ApiCode code, SimTime arrived_at)
{
    static const char *const verbs[] = {"GET",   "LIST",     "POST",   "PUT", "PUT/st",
                                        "PATCH", "PATCH/st", "DELETE", "BIND"};

    (void)data, (void)arrived_at;
    log_line("%s %s %d", verbs[request->verb], request->key->name, (int)code);
}

/* Every request takes 10 ms, a thought 1 ms, a watch event comes 2 ms after the answer. */
static int
setup(void **state)
{
    World *world = g_new0(World, 1);
    const SimOptions options = {.seed = 1, .polling = current_polling};
    CsiModelledOptions driver;

    current_world = world;
    current_workers = 1;
    current_retry = FALSE;
    world->log = g_string_new(NULL);
    world->sim = sim_new(&options);
    world->objects = objects_new(1);
    timing_init_instant(&world->timing);
    sim_dist_unref(world->timing.write);
    sim_dist_unref(world->timing.think);
    sim_dist_unref(world->timing.watch);
    world->timing.write = sim_dist_new_constant(10 * SIM_MS);
    world->timing.think = sim_dist_new_constant(SIM_MS);
    world->timing.watch = sim_dist_new_constant(2 * SIM_MS);
    world->cluster = cluster_new(&(ClusterOptions){.sim = world->sim,
                                                   .objects = world->objects,
                                                   .timing = &world->timing,
                                                   .minor_version = 32});
    world->api = cluster_api(world->cluster);
    api_server_observe_requests(world->api, see_request, NULL);
    csi_modelled_options_init(&driver);
    driver.name = strings_intern(objects_strings(world->objects), "csi.test");
    world->driver = csi_modelled_driver_base(
        csi_modelled_driver_new(world->sim, objects_strings(world->objects), &driver, NULL));
    *state = world;
    return 0;
}

static int
teardown(void **state)
{
    World *world = *state;

    cluster_free(world->cluster);
    csi_driver_free(world->driver);
    sim_free(world->sim);
    objects_free(world->objects);
    timing_clear(&world->timing);
    g_string_free(world->log, TRUE);
    g_free(world);
    return 0;
}

static ObjectKey *
claim_key(const World *world, const char *name)
{
    return objects_key(world->objects, KIND_CLAIM, "default", name);
}

static Object *
new_claim(const World *world, const char *name)
{
    Object *object = object_new(claim_key(world, name));

    CLAIM(object)->request_bytes = 1;
    CLAIM(object)->access_modes = ACCESS_RWO;
    return object;
}

static void
create_claim(World *world, const char *name)
{
    g_autoptr(Object) object = new_claim(world, name);
    ApiResponse response;

    api_server_commit(
        world->api,
        &(ApiRequest){.verb = API_CREATE, .key = (ObjectKey *)object->key, .object = object},
        &response);
    assert_int_equal(response.code, API_OK);
}

static Tester *
tester(const World *world)
{
    return cluster_model(world->cluster, &tester_class, NULL);
}

static void
start(World *world, PlanDecide decide_one)
{
    current_decide = decide_one;
    cluster_start(world->cluster, default_options, world);
}

static void
sync_key(World *world, const char *name)
{
    workers_add(tester(world)->workers, claim_key(world, name));
}

static gboolean
annotate(Object *object, const void *value)
{
    return object_set_annotation(object, "kvolsim.io/a", value);
}

static gboolean
annotate_more(Object *object, const void *value)
{
    return object_set_annotation(object, "kvolsim.io/b", value);
}

static const Object *
cached(const void *self, const Plan *plan)
{
    return informer_get(((const Tester *)self)->claims, plan_key(plan));
}

/* ---- Order and time ---- */

static void
decide_three_writes(const void *self, Plan *plan)
{
    const char *value = plan_internf(plan, "x");

    plan_because(plan, "TEST-1");
    int put = plan_update(plan, cached(self, plan), annotate, value, PLAN_STOP);
    plan_update_result(plan, put, annotate_more, value, PLAN_STOP);
    plan_change(plan, &(PlanChange){.what = 7, .number = 42});
    plan_update_result(plan, put + 1, annotate, value, PLAN_STOP); /* changes nothing: not sent */
    plan_patch(plan, plan_key(plan), annotate, NULL, PLAN_STOP);
}

static void
steps_follow_one_another_each_after_a_thought(void **state)
{
    World *world = *state;

    create_claim(world, "a");
    start(world, decide_three_writes);
    sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(
        world->log->str,
        "11ms PUT a 200, 22ms PUT a 200, 22ms change 7, 33ms PATCH a 200, 33ms a done");
    assert_int_equal(tester(world)->changed, 42);
}

static unsigned n_decisions;

static void
decide_and_count(const void *self, Plan *plan)
{
    n_decisions++;
    if (object_annotation(cached(self, plan), "kvolsim.io/a") == NULL)
        plan_update(plan, cached(self, plan), annotate, plan_internf(plan, "x"), PLAN_STOP);
}

/* A component acts on what it sees as its request leaves: another's write that comes in the
 * meantime changes its mind. */
static void
decisions_are_made_as_the_request_leaves(void **state)
{
    World *world = *state;
    ApiResponse response;

    sim_dist_unref(world->timing.think);
    world->timing.think = sim_dist_new_constant(5 * SIM_MS);
    create_claim(world, "a");
    start(world, decide_and_count);
    n_decisions = 0;
    sync_key(world, "a");
    const char *value = strings_intern(objects_strings(world->objects), "other");
    api_server_commit(
        world->api,
        &(ApiRequest){
            .verb = API_PATCH, .key = claim_key(world, "a"), .edit = annotate, .arg = value},
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

static void
a_plan_without_requests_takes_no_time(void **state)
{
    World *world = *state;

    start(world, decide_nothing);
    for (unsigned i = 0; i < 3; i++)
        sync_key(world, strings_internf(objects_strings(world->objects), "%u", i));
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(world->log->str, "0s 0 done, 0s 1 done, 0s 2 done");
}

/* How many rounds a plan has begun, and how many left nothing behind. */
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

/* A pass of the attach/detach controller goes on for as long as there are volumes to detach. */
static void
a_plan_that_goes_round_keeps_nothing_of_earlier_rounds(void **state)
{
    World *world = *state;

    start(world, decide_round);
    n_begun = n_forgotten = 0;
    assert_non_null(plan_start(&(PlanStart){.component = &tester(world)->base,
                                            .decide = decide_round,
                                            .key = claim_key(world, "a"),
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

static void
workers_share_the_keys(void **state)
{
    World *world = *state;

    current_workers = 2;
    start(world, decide_get);
    for (unsigned i = 0; i < 3; i++)
        sync_key(world, strings_internf(objects_strings(world->objects), "%u", i));
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
    plan_patch(plan, plan_key(plan), annotate, plan_internf(plan, "x"), errors);
    plan_change(plan, &(PlanChange){.what = 1});
}

static void
decide_after_failure(const void *self, Plan *plan)
{
    (void)self;
    log_line("asked: %d %s", (int)plan_code(plan, plan_last_step(plan)),
             plan_message(plan, plan_last_step(plan)));
    plan_fail(plan, "in its own words");
}

static void
decide_failing_then(const void *self, Plan *plan)
{
    decide_failing(self, plan);
    plan_then(plan, decide_after_failure);
}

static const struct {
    PlanErrors errors;
    PlanDecide decide;
    const char *log;
} error_cases[] = {
    {PLAN_STOP,           decide_failing,
     "11ms PATCH a 404, 11ms a failed: persistentvolumeclaims \"a\" not found"               },
    {PLAN_GO_ON,          decide_failing,      "11ms PATCH a 404, 11ms change 1, 11ms a done"},
    {PLAN_GONE_IS_FINE,   decide_failing,      "11ms PATCH a 404, 11ms change 1, 11ms a done"},
    {PLAN_EXISTS_IS_FINE, decide_failing,
     "11ms PATCH a 404, 11ms a failed: persistentvolumeclaims \"a\" not found"               },
    {PLAN_DECIDE,         decide_failing_then,
     "11ms PATCH a 404, 11ms asked: 404 persistentvolumeclaims \"a\" not found, 11ms a failed: in "
     "its own words"                                                                         },
};

static void
an_error_means_what_its_step_says(void **state)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(error_cases); i++) {
        void *own;
        setup(&own);
        World *world = own;
        errors = error_cases[i].errors;
        start(world, error_cases[i].decide);
        sync_key(world, "a");
        sim_run_until(world->sim, SIM_SECOND);
        assert_string_equal(world->log->str, error_cases[i].log);
        teardown(&own);
    }
    (void)state;
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
        plan_update_result(plan, step + 1, annotate, NULL, PLAN_STOP);
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

/* Each ends the program rather than reading what another kind of step keeps in the same place. In a
 * process of its own. */
static void
steps_are_not_taken_for_others(void **state)
{
    (void)state;
    for (mistake = 0; mistake <= N_MISTAKES; mistake++) {
        int status;
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            void *own;
            int nowhere = open("/dev/null", O_WRONLY); /* GLib's words would count as a failure */
            dup2(nowhere, STDOUT_FILENO);
            dup2(nowhere, STDERR_FILENO);
            signal(SIGABRT, SIG_DFL); /* cmocka's handler would go on with its tests */
            setup(&own);
            start(own, decide_by_mistake);
            sync_key(own, "a");
            sim_run_until(((World *)own)->sim, SIM_SECOND);
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
static void
failed_keys_come_again(void **state)
{
    World *world = *state;

    current_retry = TRUE;
    errors = PLAN_STOP;
    start(world, decide_failing);
    sync_key(world, "a");
    sim_run_until(world->sim, 8 * SIM_SECOND);
    g_auto(GStrv) lines = g_strsplit(world->log->str, ", ", -1);
    assert_int_equal(g_strv_length(lines), 8);
    assert_string_equal(lines[2], "1.022s PATCH a 404");
    assert_string_equal(lines[4], "3.033s PATCH a 404");
    assert_string_equal(lines[6], "7.044s PATCH a 404");
}

/* ---- Calls, polls, other plans ---- */

static void
decide_call(const void *self, Plan *plan)
{
    CsiRequest request = {.method = CSI_DELETE_VOLUME, .volume_id = NULL};

    (void)self;
    plan_call(plan, current_world->driver, &request, PLAN_STOP);
}

static void
a_driver_s_error_is_told_as_go_prints_it(void **state)
{
    World *world = *state;

    start(world, decide_call);
    sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_non_null(strstr(world->log->str, "a failed: rpc error: code = InvalidArgument desc = "));
}

static int
claim_exists(const void *self, const Plan *plan)
{
    return cached(self, plan) != NULL;
}

static void
decide_poll(const void *self, Plan *plan)
{
    (void)self;
    polling = plan;
    plan_poll(plan, 300 * SIM_MS, 2 * SIM_SECOND, FALSE, claim_exists, PLAN_STOP);
}

static void
create_now(Sim *sim, void *data)
{
    (void)sim;
    create_claim(data, "a");
}

static void
wake_now(Sim *sim, void *data)
{
    (void)sim, (void)data;
    plan_wake(polling);
}

static void
sync_now(Sim *sim, void *data)
{
    (void)sim;
    sync_key(data, "a");
}

static const SimEventType sync_event = {.name = "test/sync", .fire = sync_now};
static const SimEventType create_event = {.name = "test/create", .fire = create_now};
static const SimEventType wake_event = {.name = "test/wake", .fire = wake_now};

static void
a_poll_looks_on_its_grid(void **state)
{
    World *world = *state;

    start(world, decide_poll);
    sync_key(world, "a");
    sim_at(world->sim, 1000 * SIM_MS, &create_event, world, WAIT_NONE);
    sim_at(world->sim, 1050 * SIM_MS, &wake_event, world, WAIT_NONE);
    sim_run_until(world->sim, 5 * SIM_SECOND);
    assert_string_equal(world->log->str, "1.2s a done");
}

static void
a_poll_gives_up(void **state)
{
    World *world = *state;

    start(world, decide_poll);
    sync_key(world, "a");
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
    polling = plan;
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
    if (polling != NULL)
        plan_wake(polling);
}

/* A poll that begins at 100 ms, and a change at @changes_at. Returns: (owned): what came of it */
static char *
poll_story(SimTime changes_at, gboolean never_sleeps, uint64_t *n_events)
{
    void *state;

    current_polling = never_sleeps;
    setup(&state);
    World *world = state;
    start(world, decide_poll_of_a_kind);
    informer_add_handler(tester(world)->claims, wake_whoever_polls, NULL);
    sim_at(world->sim, 100 * SIM_MS, &sync_event, world, WAIT_NONE);
    sim_at(world->sim, changes_at, &create_event, world, WAIT_NONE);
    sim_run_until(world->sim, 5 * SIM_SECOND);
    *n_events = sim_events_fired(world->sim);
    char *log = g_strdup(world->log->str);
    polling = NULL;
    teardown(&state);
    current_polling = FALSE;
    return log;
}

/* Whenever what it waits for comes: before it begins, between two looks, at one, or too late. And
 * who sleeps from the beginning on has one event less. */
static void
a_poll_that_sleeps_ends_as_one_that_does_not(void **state)
{
    uint64_t n_events, n_events_of_plain = 0;

    (void)state;
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
    plan_get(plan, claim_key(current_world, plan_operation(plan)), PLAN_STOP);
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
    create_claim(current_world, "child-0"); /* the test's own doing */
    plan_gather(plan, starts, 3, PLAN_STOP);
}

static void
decide_after_noted_gather(const void *self, Plan *plan)
{
    const int *gather = plan_notes(plan);

    (void)self;
    for (unsigned i = 0; i < plan_gathered(plan, *gather); i++)
        log_line("child-%u %s", i, plan_gathered_well(plan, *gather, i) ? "well" : "not");
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

static void
notes_lead_to_what_a_gathering_brought(void **state)
{
    World *world = *state;

    create_claim(world, "child-0");
    start(world, decide_noted_gather);
    sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_non_null(strstr(world->log->str, "child-0 well"));
    assert_non_null(strstr(world->log->str, "child-1 not"));
}

static void
a_gathering_waits_for_all_and_fails_with_one(void **state)
{
    World *world = *state;

    start(world, decide_gather);
    sync_key(world, "a");
    sim_run_until(world->sim, SIM_SECOND);
    assert_string_equal(world->log->str,
                        "11ms GET child-0 200, 11ms GET child-1 404, 11ms GET child-2 404, 11ms a "
                        "failed: persistentvolumeclaims \"child-2\" not found");
}

static void
operation_done(void *self, Plan *plan, PlanEnd end, const char *message)
{
    (void)self, (void)plan, (void)message;
    log_line("operation %s", end == PLAN_DONE ? "done" : "failed");
}

static void
decide_operation(const void *self, Plan *plan)
{
    const Tester *tester_of = self;

    plan_start_operation(plan, tester_of->operations,
                         (OperationKey){strings_intern(tester_of->base.strings, "one"), NULL, NULL},
                         &(PlanStart){.component = (Component *)self,
                                      .decide = decide_child,
                                      .key = plan_key(plan),
                                      .operation = (void *)"missing",
                                      .done = operation_done});
}

/* PVC-12: one at a time; after a failure not before the back-off is over. */
static void
operations_are_one_at_a_time_and_back_off(void **state)
{
    static const SimTime at[] = {
        0, 5 * SIM_MS, 100 * SIM_MS, 511 * SIM_MS, 600 * SIM_MS, 1500 * SIM_MS, 1700 * SIM_MS};
    World *world = *state;

    start(world, decide_operation);
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

/* ---- Crashes ---- */

/* Wherever the process dies, what reached the server is committed, once, and nothing else happens;
 * the restarted one does the rest. Three writes: PUT, PUT, PATCH, the last taking the first
 * annotation away again. */
static void
a_crash_leaves_what_was_committed(void **state)
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

    (void)state;
    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        void *own;
        setup(&own);
        World *world = own;
        create_claim(world, "a");
        start(world, decide_three_writes);
        uint64_t before = api_server_resource_version(world->api);
        sync_key(world, "a");
        sim_run_until(world->sim, cases[i].crash_at);
        cluster_crash(world->cluster, "test", NULL);
        assert_null(tester(world));
        sim_run_until(world->sim, SIM_SECOND);
        if (api_server_resource_version(world->api) != before + cases[i].n_writes)
            fail_msg("case %u: %u writes", i,
                     (unsigned)(api_server_resource_version(world->api) - before));
        cluster_restart(world->cluster, "test", NULL);
        sim_run_until(world->sim, 3 * SIM_SECOND);
        assert_non_null(tester(world));
        assert_true(tester(world)->base.started_late);
        teardown(&own);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steps_follow_one_another_each_after_a_thought),
        TEST(decisions_are_made_as_the_request_leaves),
        TEST(a_plan_without_requests_takes_no_time),
        TEST(a_plan_that_goes_round_keeps_nothing_of_earlier_rounds),
        TEST(workers_share_the_keys),
        cmocka_unit_test(an_error_means_what_its_step_says),
        cmocka_unit_test(steps_are_not_taken_for_others),
        TEST(failed_keys_come_again),
        TEST(a_driver_s_error_is_told_as_go_prints_it),
        TEST(a_poll_looks_on_its_grid),
        TEST(a_poll_gives_up),
        cmocka_unit_test(a_poll_that_sleeps_ends_as_one_that_does_not),
        TEST(a_gathering_waits_for_all_and_fails_with_one),
        TEST(notes_lead_to_what_a_gathering_brought),
        TEST(operations_are_one_at_a_time_and_back_off),
        cmocka_unit_test(a_crash_leaves_what_was_committed),
    };

    return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
