/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/plan/operations.h"
#include "models/attach-detach-controller/attach-detach-controller.h"
#include "models/attach-detach-controller/controller.h"
#include "models/plan/plan-test.h"
#include "tests/conformance/engine.h"
#include "tests/conformance/stories/story.h"

#include <stdlib.h>
#include <string.h>

/* Stories of keyed operations with back-off: operations that end on command, by a component that
 * does nothing else. A crash of an operation is a failure of its plan. */

/* One operation as a story tells of it: asked for once, or again and again. */
typedef struct {
    char *name, *kind;
    OperationKey key;
    OperationAnswer first, last;
    SimTime delay;           /* from the first request to the accepted one */
    gboolean was_remembered; /* its failure: a back-off runs */
    gboolean was_running;    /* a request was refused because another one runs */
    int outcome;             /* 0: it runs; 1, -1: it ends, well or not */
} OperationsRun;

typedef struct {
    Case *self;
    AttachDetachController *controller;
    Operations *operations;
    gboolean backs_off;
    int64_t initial_ms, max_s;
    GPtrArray *runs;
    OperationKey key; /* the last one named */
    unsigned n_records_max;
    gboolean waited, waited_in_vain;
} OperationsStory;

static const WorldOptions world_options = {.only = &attach_detach_controller_class};

static const char *
operations_intern(const OperationsStory *self, const char *text)
{
    return strings_intern(objects_strings(self->self->objects), text);
}

static void
run_free(void *data)
{
    OperationsRun *run = data;

    g_free(run->name);
    g_free(run->kind);
    g_free(run);
}

/* ---- What is given ---- */

PHRASE(give_backoff)
{
    OperationsStory *self = story;

    self->backs_off = strcmp(words[1], "true") == 0;
}

PHRASE(give_initial)
{
    ((OperationsStory *)story)->initial_ms = atoi(words[1]);
}

PHRASE(give_max)
{
    ((OperationsStory *)story)->max_s = atoi(words[1]);
}

/* clang-format off */
static const Phrase given[] = {
    {"backoff_on_error: (true|false)", give_backoff,  0},
    {"initial_backoff_ms: (\\d+)",     give_initial,  0},
    {"max_backoff_s: (\\d+)",          give_max,      0},
    {"factor: 2",                      story_nothing, 0},
    {NULL,                             NULL,          0},
};
/* clang-format on */

/* ---- Steps ---- */

static int
has_ended(const void *component, const Plan *plan)
{
    (void)component;
    return *(const int *)plan_operation(plan);
}

static void
decide(const void *component, Plan *plan)
{
    (void)component;
    plan_poll(plan, 1, SIM_TIME_MAX, FALSE, has_ended, PLAN_STOP);
}

/* "volume-name", "(volume-name, pod)", "(volume-name, node1)", "the same pair", "": the last one */
static OperationKey
key_named(OperationsStory *self, const char *text)
{
    if (text[0] == '\0' || strstr(text, "same") != NULL)
        return self->key;
    g_autofree char *plain =
        g_strndup(text + (text[0] == '('), strcspn(text + 1, ")") + (text[0] != '('));
    g_auto(GStrv) parts = g_strsplit(plain, ", ", 3);
    self->key = (OperationKey){.volume = operations_intern(self, parts[0])};
    if (parts[1] != NULL && g_str_has_prefix(parts[1], "node"))
        self->key.node = operations_intern(self, parts[1]);
    else if (parts[1] != NULL)
        self->key.pod = operations_intern(self, parts[1]);
    return self->key;
}

static OperationAnswer
operations_ask(OperationsStory *self, OperationsRun *run)
{
    return operations_start(
        self->operations, run->key,
        &(PlanStart){.component = &self->controller->base,
                     .decide = decide,
                     .key = objects_key(self->self->objects, KIND_NODE, NULL, "n"),
                     .operation = &run->outcome,
                     .kind = operations_intern(self, run->kind)});
}

static OperationsRun *
stories_operations_start(OperationsStory *self,
                         const char *name,
                         const char *kind,
                         OperationKey key)
{
    OperationsRun *run = g_new0(OperationsRun, 1);

    *run = (OperationsRun){.name = g_strdup(name), .kind = g_strdup(kind), .key = key};
    run->first = run->last = operations_ask(self, run);
    g_ptr_array_add(self->runs, run);
    return run;
}

static OperationsRun *
find_run(const OperationsStory *self, const char *name)
{
    for (unsigned i = self->runs->len; i > 0; i--) {
        OperationsRun *run = self->runs->pdata[i - 1];
        if (strcmp(run->name, name) == 0)
            return run;
    }
    case_fail(self->self, "no operation \"%s\" was started", name);
    return NULL;
}

static void
operations_end(OperationsStory *self, OperationsRun *run, int outcome)
{
    Plan *plan = run == NULL ? NULL : operations_plan(self->operations, run->key);

    if (plan == NULL || run->last != OPERATION_STARTED) {
        case_fail(self->self, "%s does not run", run == NULL ? "it" : run->name);
        return;
    }
    run->outcome = outcome;
    plan_wake(plan);
    case_wait(self->self, 2);
    run->was_remembered = operations_backoff_until(self->operations, run->key) > 0;
    self->n_records_max = MAX(self->n_records_max, operations_n_records(self->operations));
}

static int
outcome_of(const char *word)
{
    return strstr(word, "fail") != NULL || strstr(word, "crash") != NULL ? -1 : 1;
}

PHRASE(start_number)
{
    stories_operations_start(story, words[1], "operation", key_named(story, words[2]));
}

PHRASE(end_number)
{
    operations_end(story, find_run(story, words[1]), outcome_of(words[2]));
}

/* Every so many milliseconds, or every one, until it is accepted. */
PHRASE(keep_trying)
{
    OperationsStory *self = story;
    OperationsRun *run =
        stories_operations_start(self, words[1], "operation", key_named(self, words[2]));
    SimTime period = MAX(atoi(words[3]), 1) * SIM_MS;

    while (run->last != OPERATION_STARTED && run->delay < 2 * self->max_s * SIM_SECOND) {
        run->was_running = run->was_running || run->last == OPERATION_RUNNING;
        case_wait(self->self, period);
        run->delay += period;
        run->last = operations_ask(self, run);
    }
}

PHRASE(start_kind)
{
    stories_operations_start(story, words[1], words[1], key_named(story, words[2]));
}

PHRASE(run_kind)
{
    operations_end(story,
                   stories_operations_start(story, words[1], words[1], key_named(story, words[2])),
                   outcome_of(words[3]));
}

/* "umount" for pod1, pod2 and pod3: of the volume that all share. @argument: it goes on running */
PHRASE(run_kind_for_pods)
{
    OperationsStory *self = story;
    g_auto(GStrv) parts = g_strsplit_set(words[2], ", ", -1);

    for (unsigned i = 0; parts[i] != NULL; i++) {
        if (!g_str_has_prefix(parts[i], "pod"))
            continue;
        OperationKey key = {.volume = operations_intern(self, "volume"),
                            .pod = operations_intern(self, parts[i])};
        OperationsRun *run = stories_operations_start(self, parts[i], words[1], key);
        if (!argument)
            operations_end(self, run, outcome_of(words[3]));
    }
}

PHRASE(run_kind_on_volume)
{
    OperationsStory *self = story;

    operations_end(
        self,
        stories_operations_start(self, "whole", words[1],
                                 (OperationKey){.volume = operations_intern(self, "volume")}),
        outcome_of(words[2]));
}

PHRASE(start_kind_on_volume)
{
    OperationsStory *self = story;

    stories_operations_start(self, "whole", words[1],
                             (OperationKey){.volume = operations_intern(self, "volume")});
}

PHRASE(pass_time)
{
    case_wait(((OperationsStory *)story)->self, atoi(words[1]) * SIM_MS + 1);
}

/* Until nothing runs: it returns at once, or as soon as the last one has ended. */
PHRASE(wait_for_all)
{
    OperationsStory *self = story;

    self->waited = TRUE;
    self->waited_in_vain = operations_is_running(self->operations, self->key);
}

#define KEY "(\\([^)]*\\)|[^,]+)"
#define PODS "(pod\\d+(?:(?:, | and )pod\\d+)*)"
/* clang-format off */
static const Phrase steps[] = {
    {"(?:start|retry) op ?(\\d*)(?: on " KEY ")?",                          start_number,       0},
    {"op ?(\\w+) on (\\([^)]*\\)|\\S+)(?: starts)?",                         start_number,       0},
    {"(?:it )?keeps? (?:it )?running|running",                              story_nothing,      0},
    {"op ?(\\w*) (crashes|fails|succeeds|ends|finishes|completes)",         end_number,         0},
    {"keep trying op ?(\\d*)(?: on (\\([^)]*\\)|[^, ]+))?(?: every (\\d+) ms)?", keep_trying,    0},
    {"wait",                                                                wait_for_all,       0},
    {"wait (\\d+) ms",                                                      pass_time,          0},
    {"op \"(\\w+)\" on " KEY " (fails|succeeds)",                           run_kind,           0},
    {"start \"(\\w+)\" on the whole volume(?: \\(no pod\\))?",              start_kind_on_volume, 0},
    {"(?:start|retry) \"(\\w+)\"(?: within the backoff period| on " KEY ")", start_kind,         0},
    {"\"(\\w+)\" for " PODS " (fails?|succeeds?)",                          run_kind_for_pods,  FALSE},
    {"\"(\\w+)\" for " PODS " still running",                               run_kind_for_pods,  TRUE},
    {"\"(\\w+)\" on the whole volume (fails|succeeds)",                     run_kind_on_volume, 0},
    {NULL,                                                                  NULL,               0},
};
/* clang-format on */

/* ---- Then ---- */

static void
expect_accepted(OperationsStory *self, const OperationsRun *run, SimTime delay)
{
    if (run == NULL)
        return;
    if (run->last != OPERATION_STARTED)
        case_fail(self->self, "%s is refused", run->name);
    else if (run->delay < delay || run->delay > delay + 2 * SIM_MS)
        case_fail(self->self, "%s is accepted after %" G_GINT64_FORMAT " ms", run->name,
                  run->delay / SIM_MS);
}

static const OperationsRun *
last_run(const OperationsStory *self)
{
    return self->runs->len == 0 ? NULL : self->runs->pdata[self->runs->len - 1];
}

PHRASE(then_all_accepted)
{
    OperationsStory *self = story;

    if (self->runs->len == 0)
        case_fail(self->self, "nothing was started");
    for (unsigned i = 0; i < self->runs->len; i++)
        expect_accepted(self, self->runs->pdata[i], 0);
}

PHRASE(then_accepted)
{
    OperationsStory *self = story;

    expect_accepted(self, words[1][0] == '\0' ? last_run(self) : find_run(self, words[1]),
                    atoi(words[2]) * SIM_MS);
}

/* @argument: the answer to the first request. */
PHRASE(then_refused)
{
    OperationsStory *self = story;
    const OperationsRun *run = find_run(self, words[1]);

    if (run != NULL && run->first != (OperationAnswer)argument)
        case_fail(self->self, "%s is answered with %d", words[1], (int)run->first);
}

PHRASE(then_last_refused)
{
    OperationsStory *self = story;
    const OperationsRun *run = last_run(self);

    if (run == NULL || run->first != (OperationAnswer)argument)
        case_fail(self->self, "the last one is answered with %d",
                  run == NULL ? -1 : (int)run->first);
}

/* Kept trying: a back-off was all that was in its way. */
PHRASE(then_only_backoff)
{
    OperationsStory *self = story;
    const OperationsRun *run = find_run(self, words[1]);

    if (run == NULL)
        return;
    if (run->first != OPERATION_BACKOFF || run->was_running || run->last != OPERATION_STARTED)
        case_fail(self->self, "%s was not refused by back-off only", run->name);
}

/* The retry of a kind: the second one of its name. */
PHRASE(then_retry_refused)
{
    OperationsStory *self = story;

    for (unsigned i = 0; i < self->runs->len; i++)
        if (((const OperationsRun *)self->runs->pdata[i])->first == OPERATION_BACKOFF)
            return;
    case_fail(self->self, "no back-off refused anything");
}

PHRASE(then_crash_is_error)
{
    OperationsStory *self = story;

    for (unsigned i = 0; i < self->runs->len; i++) {
        const OperationsRun *run = self->runs->pdata[i];
        if (run->outcome == -1 && run->was_remembered == self->backs_off)
            return;
    }
    case_fail(self->self, "no failure was remembered");
}

/* @argument: whether it waits for something. */
PHRASE(then_waits)
{
    OperationsStory *self = story;

    if (!self->waited || self->waited_in_vain != argument ||
        operations_is_running(self->operations, self->key))
        case_fail(self->self, "the wait is wrong");
}

PHRASE(then_no_record)
{
    OperationsStory *self = story;
    const OperationsRun *run = find_run(self, words[1]);

    if (run == NULL)
        return;
    if (operations_may_start(self->operations, run->key, operations_intern(self, run->kind)) !=
            OPERATION_STARTED ||
        operations_n_records(self->operations) >= self->n_records_max)
        case_fail(self->self, "a record for %s is left", words[1]);
}

/* clang-format off */
static const Phrase then[] = {
    {"both accepted|all accepted",                                          then_all_accepted,   0                },
    {"op(\\d+) accepted()",                                                 then_accepted,       0                },
    {"op(\\d+) is refused only by backoff, then accepted",                  then_only_backoff,   0                },
    {"refused: already exists",                                             then_last_refused,   OPERATION_RUNNING},
    {"although failed records for .* come first",                           story_nothing,       0                },
    {"the record of .* was cleaned up properly",                            story_nothing,       0                },
    {"accepted(?: at once)?()()",                                           then_accepted,       0                },
    {"(?:op )?\"?(\\w+)\"? accepted(?: at once| as soon as op \\d+ is gone)?()", then_accepted,  0                },
    {"op (\\d+) accepted after the (\\d+) ms backoff",                      then_accepted,       0                },
    {"op (\\d+) refused: already exists(?: \\(not a backoff error\\))?",    then_refused,        OPERATION_RUNNING},
    {"op (\\d+) refused with a backoff error",                              then_refused,        OPERATION_BACKOFF},
    {"retry refused with a backoff error",                                  then_retry_refused,  0                },
    {"(?:the refusal itself causes )?no (?:backoff|delay)()()",             then_accepted,       0                },
    {"crash counts as an error",                                            then_crash_is_error, 0                },
    {"returns (?:immediately|at once)",                                     then_waits,          FALSE            },
    {"wait returns only after the end of the operation",                    then_waits,          TRUE             },
    {"the (whole)-volume operation was accepted()",                         then_accepted,       0                },
    {"no record for (pod\\d+) is left afterwards",                          then_no_record,      0                },
    {NULL,                                                                  NULL,                0                },
};
/* clang-format on */

void
story_operations(Case *case_)
{
    OperationsStory self = {.self = case_, .initial_ms = 500, .max_s = 122};

    story_tell(case_, "given", given, &self);
    case_world_new(case_, &world_options);
    case_start(case_, &world_options);
    self.controller = case_model(case_, &attach_detach_controller_class);
    self.operations = self.backs_off
                          ? operations_new(&self.controller->base, self.initial_ms * SIM_MS,
                                           self.max_s * SIM_SECOND)
                          : operations_new(&self.controller->base, 0, 0);
    self.key.volume = operations_intern(&self, "volume-name");
    self.runs = g_ptr_array_new_with_free_func(run_free);
    story_tell(case_, "steps", steps, &self);
    story_tell(case_, "then", then, &self);
    plans_abandon(&self.controller->base);
    operations_free(self.operations);
    g_ptr_array_unref(self.runs);
}
