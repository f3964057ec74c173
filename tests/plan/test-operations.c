/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/cluster/kube-controller-manager.h"
#include "models/plan/operations.h"
#include "models/plan/plan-test.h"
#include "tests/lib/storage-world.h"
#include "tests/lib/test.h"

#include <string.h>

/* Keyed operations with back-off: which may run at the same time, and when they may start again
 * (OP-1 to OP-8); '%' in events (OP-10). */

typedef struct {
    Component base;
    Operations *operations, *forgetful;
} OperationsTester;

static void
tester_init(void *data)
{
    OperationsTester *self = data;

    self->operations = operations_new(&self->base, 500 * SIM_MS, 122 * SIM_SECOND);
    self->forgetful = operations_new(&self->base, 0, 0);
}

static void
tester_clear(void *data)
{
    OperationsTester *self = data;

    operations_free(self->operations);
    operations_free(self->forgetful);
}

static const ModelClass tester_class = {
    .name = "tester",
    .process = &kube_controller_manager_process,
    .size = sizeof(OperationsTester),
    .event_source = "tester",
    .client_qps = kube_controller_manager_client_qps,
    .init = tester_init,
    .clear = tester_clear,
};

const ModelClass *const model_classes[] = {&tester_class, NULL};

/* ---- An operation that ends on command ---- */

#define N_OPERATIONS 8

typedef struct {
    StorageWorld world;
    Operations *operations;
    int outcomes[N_OPERATIONS]; /* 0: it runs; 1, -1: it ends, well or not */
    OperationKey keys[N_OPERATIONS];
} OperationsFixture;

static int
has_ended(const void *self, const Plan *plan)
{
    (void)self;
    return *(const int *)plan_operation(plan);
}

static void
decide(const void *self, Plan *plan)
{
    (void)self;
    plan_poll(plan, 1, SIM_TIME_MAX, FALSE, has_ended, PLAN_STOP);
}

static void
operations_setup(OperationsFixture *self, gboolean backs_off)
{
    *self = (OperationsFixture){0};
    storage_world_init(&self->world, NULL);
    storage_world_start(&self->world);
    OperationsTester *tester = cluster_model(self->world.cluster, &tester_class, NULL);
    self->operations = backs_off ? tester->operations : tester->forgetful;
}

/* "volume", "volume pod", "volume - node", "-": no volume */
static OperationKey
operations_key_of(const OperationsFixture *self, const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, " ", 3);
    const char *words[3] = {NULL, NULL, NULL};

    for (unsigned i = 0; parts[i] != NULL; i++)
        if (strcmp(parts[i], "-") != 0)
            words[i] = storage_world_intern(&self->world, parts[i]);
    return (OperationKey){.volume = words[0], .pod = words[1], .node = words[2]};
}

static OperationAnswer
plan_operations_start(OperationsFixture *self, unsigned number, const char *key, const char *kind)
{
    OperationsTester *tester = cluster_model(self->world.cluster, &tester_class, NULL);

    self->outcomes[number] = 0;
    self->keys[number] = operations_key_of(self, key);
    return operations_start(
        self->operations, self->keys[number],
        &(PlanStart){.component = &tester->base,
                     .decide = decide,
                     .key = objects_key(self->world.objects, KIND_NODE, NULL, "n"),
                     .operation = &self->outcomes[number],
                     .kind = kind});
}

static void
wait(OperationsFixture *self, SimTime time)
{
    storage_world_run(&self->world, sim_now(self->world.sim) + time);
}

static void
plan_operations_end(OperationsFixture *self, unsigned number, int outcome)
{
    Plan *plan = operations_plan(self->operations, self->keys[number]);

    assert_non_null(plan);
    self->outcomes[number] = outcome;
    plan_wake(plan);
    wait(self, 2);
}

/* ---- Stories ---- */

typedef enum {
    END_OF_STORY,
    START,   /* number, key, kind; answer */
    SUCCEED, /* number */
    FAIL,    /* number */
    WAIT,    /* ms */
    RUNNING, /* key; number: whether one runs */
    RECORDS, /* number: how many */
} OperationsStepKind;

typedef struct {
    OperationsStepKind what;
    unsigned number;
    const char *key, *kind;
    OperationAnswer answer;
} StoryStep;

typedef struct {
    const char *title;
    gboolean backs_off;
    StoryStep steps[14];
} PlanOperationsStory;

#define STARTED(n, key, kind)                                                                      \
    {                                                                                              \
        START, n, key, kind, OPERATION_STARTED                                                     \
    }
#define EXISTS(n, key, kind)                                                                       \
    {                                                                                              \
        START, n, key, kind, OPERATION_RUNNING                                                     \
    }
#define TOO_EARLY(n, key, kind)                                                                    \
    {                                                                                              \
        START, n, key, kind, OPERATION_BACKOFF                                                     \
    }
#define ENDS(n)                                                                                    \
    {                                                                                              \
        SUCCEED, n, NULL, NULL, 0                                                                  \
    }
#define FAILS(n)                                                                                   \
    {                                                                                              \
        FAIL, n, NULL, NULL, 0                                                                     \
    }
#define PAUSE(ms)                                                                                  \
    {                                                                                              \
        WAIT, ms, NULL, NULL, 0                                                                    \
    }
#define RUNS(key, yes)                                                                             \
    {                                                                                              \
        RUNNING, yes, key, NULL, 0                                                                 \
    }
#define REMEMBERED(n)                                                                              \
    {                                                                                              \
        RECORDS, n, NULL, NULL, 0                                                                  \
    }

/* A crash of an operation counts as its failure. A wait for all ends when nothing runs. */
static const PlanOperationsStory stories[] = {
    {"ops-NestedPendingOperations-02 two volumes",
     FALSE,                                                                  {STARTED(1, "v1", "a"), STARTED(2, "v2", "a")}                                            },
    {"ops-NestedPendingOperations-03 two pods",
     FALSE,                                                                  {STARTED(1, "v p1", "a"), STARTED(2, "v p2", "a")}                                        },
    {"ops-NestedPendingOperations-04 one",                             TRUE, {STARTED(1, "v", "a"), RUNS("v", TRUE)}                                                   },
    {"ops-NestedPendingOperations-06 after a crash",
     FALSE,                                                                  {STARTED(1, "v", "a"), FAILS(1), STARTED(2, "v", "a")}                                    },
    {"ops-NestedPendingOperations-07 the first runs",
     FALSE,                                                                  {STARTED(1, "v", "a"), EXISTS(2, "v", "a")}                                               },
    {"ops-NestedPendingOperations-08 again when it ended",
     FALSE,                                                                  {STARTED(1, "v", "a"), EXISTS(2, "v", "a"), ENDS(1), STARTED(3, "v", "a")}                },
    {"ops-NestedPendingOperations-09 nothing to wait for",
     FALSE,                                                                  {RUNS("v", FALSE), REMEMBERED(0)}                                                         },
    {"ops-NestedPendingOperations-10 something to wait for",
     FALSE,                                                                  {STARTED(1, "v", "a"), RUNS("v", TRUE), ENDS(1), RUNS("v", FALSE), REMEMBERED(0)}         },
    {"ops-NestedPendingOperations-11 success leaves no delay",
     TRUE,                                                                   {STARTED(1, "v", "a"), ENDS(1), STARTED(2, "v", "a")}                                     },
    {"ops-NestedPendingOperations-12 a crash does",
     TRUE,                                                                   {STARTED(1, "v", "a"), FAILS(1), TOO_EARLY(2, "v", "a"), PAUSE(500), STARTED(2, "v", "a")}},
    {"ops-NestedPendingOperations-13 running is no back-off",
     TRUE,                                                                   {STARTED(1, "v", "a"), EXISTS(2, "v", "a")}                                               },
    {"ops-NestedPendingOperations-15 nothing to wait for",             TRUE, {RUNS("v", FALSE), REMEMBERED(0)}                                                         },
    {"ops-NestedPendingOperations-17 another kind",
     TRUE,                                                                   {STARTED(1, "v", "mount_volume"), FAILS(1), TOO_EARLY(2, "v", "mount_volume"),
      STARTED(3, "v", "unmount_volume")}                                                                                                                     },
    {"ops-NestedPendingOperations-18 same volume and pod",
     FALSE,                                                                  {STARTED(1, "v p", "a"), EXISTS(2, "v p", "a")}                                           },
    {"ops-NestedPendingOperations-19 same volume and pod, again",
     FALSE,                                                                  {STARTED(1, "v p", "a"), EXISTS(2, "v p", "a"), ENDS(1), STARTED(2, "v p", "a"),
      EXISTS(3, "v p", "a")}                                                                                                                                },
    {"ops-NestedPendingOperations-22 the retry takes the record over",
     TRUE,                                                                   {STARTED(1, "v p1", "umount"), STARTED(2, "v p2", "umount"), STARTED(3, "v p3", "umount"),
      FAILS(1), FAILS(2), FAILS(3), STARTED(4, "v", "mount"), FAILS(4), PAUSE(501),
      STARTED(5, "v p2", "umount"), ENDS(5), REMEMBERED(2), STARTED(6, "v p2", "mount")}                                                                     },
    {"OP-1 without a volume nothing matches",
     TRUE,                                                                   {STARTED(1, "-", "a"), STARTED(2, "-", "a"), RUNS("-", FALSE)}                            },
    {"OP-1 one that runs wins over an equal key",
     TRUE,                                                                   {STARTED(1, "v - n1", "a"), FAILS(1), STARTED(2, "v - n2", "a"), EXISTS(3, "v", "a"),
      STARTED(4, "v - n1", "b"), EXISTS(5, "v - n2", "b")}                                                                                                   },
    {"OP-2 another kind resets a back-off that runs",
     TRUE,                                                                   {STARTED(1, "v", "detach"), FAILS(1), STARTED(2, "v", "attach"), FAILS(2), PAUSE(400),
      TOO_EARLY(3, "v", "attach"), PAUSE(101), STARTED(3, "v", "attach")}                                                                                    },
    {"OP-2 one that is over keeps its kind and its back-off",
     TRUE,                                                                   {STARTED(1, "v", "detach"), FAILS(1), PAUSE(501), STARTED(2, "v", "attach"), FAILS(2),
      PAUSE(900), TOO_EARLY(3, "v", "detach"), STARTED(4, "v", "attach")}                                                                                    },
    {"OP-4 a failure is not pending",
     TRUE,                                                                   {STARTED(1, "v", "a"), FAILS(1), RUNS("v", FALSE), REMEMBERED(1)}                         },
    {"OP-6 a back-off does not decay",
     TRUE,                                                                   {STARTED(1, "v", "a"), FAILS(1), PAUSE(3600000), STARTED(2, "v", "a"), FAILS(2), PAUSE(900),
      TOO_EARLY(3, "v", "a"), PAUSE(101), STARTED(3, "v", "a")}                                                                                              },
};

static void
take_step(OperationsFixture *fixture, const PlanOperationsStory *story, unsigned i)
{
    const StoryStep *step = &story->steps[i];
    OperationAnswer answer;

    switch (step->what) {
    case START:
        answer = plan_operations_start(fixture, step->number, step->key, step->kind);
        if (answer != step->answer)
            fail_msg("%s, step %u: answer %d", story->title, i + 1, (int)answer);
        return;
    case SUCCEED:
        plan_operations_end(fixture, step->number, 1);
        return;
    case FAIL:
        plan_operations_end(fixture, step->number, -1);
        return;
    case WAIT:
        wait(fixture, step->number * SIM_MS);
        return;
    case RUNNING:
        assert_int_equal(
            operations_is_running(fixture->operations, operations_key_of(fixture, step->key)),
            step->number);
        return;
    case RECORDS:
        assert_int_equal(operations_n_records(fixture->operations), step->number);
        return;
    case END_OF_STORY:
        break;
    }
    g_assert_not_reached();
}

static void
operations_tell_story(void **state)
{
    const PlanOperationsStory *story = *state;
    OperationsFixture fixture;

    operations_setup(&fixture, story->backs_off);
    for (unsigned i = 0; story->steps[i].what != END_OF_STORY; i++)
        take_step(&fixture, story, i);
    storage_world_clear(&fixture.world);
}
TEST_ROWS(stories, operations_tell_story);

/* ADC-V3, OP-5, OP-8: an operation that fails at once, asked for at every millisecond. */
TEST(tries_of_one_that_always_fails)
{
    static const SimTime at_ms[] = {0,     500,   1500,   3500,   7500,  15500,
                                    31500, 63500, 127500, 249500, 371500};
    SimTime started_at = 0;
    OperationsFixture fixture;

    operations_setup(&fixture, TRUE);
    for (unsigned i = 0; i < G_N_ELEMENTS(at_ms); i++) {
        OperationKey key = operations_key_of(&fixture, "v");
        while (operations_may_start(fixture.operations, key, "a") != OPERATION_STARTED)
            wait(&fixture, SIM_MS);
        SimTime now = sim_now(fixture.world.sim);
        if (i == 0)
            started_at = now;
        assert_in_range(now - started_at, at_ms[i] * SIM_MS,
                        at_ms[i] * SIM_MS + (i + 1) * 2 * SIM_MS);
        assert_int_equal(plan_operations_start(&fixture, 0, "v", "a"), OPERATION_STARTED);
        plan_operations_end(&fixture, 0, -1);
        SimTime delay =
            operations_backoff_until(fixture.operations, key) - sim_now(fixture.world.sim);
        assert_in_range(delay, MIN(500 * SIM_MS << i, 122 * SIM_SECOND) - 2,
                        MIN(500 * SIM_MS << i, 122 * SIM_SECOND));
    }
    storage_world_clear(&fixture.world);
}

/* OP-5: refused at the last instant of the back-off, and not a nanosecond longer. */
TEST(the_last_instant_of_a_back_off)
{
    OperationsFixture fixture;

    operations_setup(&fixture, TRUE);
    OperationKey key = operations_key_of(&fixture, "v");
    assert_int_equal(plan_operations_start(&fixture, 0, "v", "a"), OPERATION_STARTED);
    plan_operations_end(&fixture, 0, -1);
    wait(&fixture, operations_backoff_until(fixture.operations, key) - sim_now(fixture.world.sim));
    assert_int_equal(operations_may_start(fixture.operations, key, "a"), OPERATION_BACKOFF);
    assert_int_equal(plan_operations_start(&fixture, 1, "v", "a"), OPERATION_BACKOFF);
    wait(&fixture, 1);
    assert_int_equal(operations_may_start(fixture.operations, key, "a"), OPERATION_STARTED);
    storage_world_clear(&fixture.world);
}

static const struct {
    const char *text, *expected;
} messages[] = {
    {"no sign at all", "no sign at all"               },
    {"",               ""                             },
    {"50% of",         "50%!o(MISSING)f"              },
    {"/vol%2Fa",       "/vol%!F(MISSING)a"            },
    {"100%",           "100%!(NOVERB)"                },
    {"100%%",          "100%"                         },
    {"%s and %d",      "%!s(MISSING) and %!d(MISSING)"},
    {"%-5.2f|",        "%!f(MISSING)|"                },
    {"5 % ",           "5 %!(NOVERB)"                 },
    {"%é",            "%!é(MISSING)"                },
};

/* OP-10. */
TEST(events_are_formats)
{
    OperationsFixture fixture;

    operations_setup(&fixture, FALSE);
    for (unsigned i = 0; i < G_N_ELEMENTS(messages); i++)
        assert_string_equal(
            operation_event_message(objects_strings(fixture.world.objects), messages[i].text),
            messages[i].expected);
    storage_world_clear(&fixture.world);
}
