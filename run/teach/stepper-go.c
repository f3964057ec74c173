/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lets time pass for a stepper, event by event, to a goal or a breakpoint. Writes and the
 * narrator's entries are compared with the breakpoints as they come; the first reason to stop is
 * the one told. A decision that a plan makes twice counts once. Looking changes nothing in the run:
 * a run that is stepped ends as one that is not. */
#include <string.h>

#include "run/results/attribution.h"
#include "run/results/snapshot.h"
#include "stepper-private.h"

/* Checks for an interruption every few ms. */
#define EVENTS_PER_LOOK 1000

#define ANSWERED "answered" /* a server's answer, which is already printed */

void
breakpoint_free(Breakpoint *self)
{
    g_free(self->text);
    g_free(self->pattern);
    g_free(self);
}

static void G_GNUC_PRINTF(2, 3) stop(Stepper *self, const char *format, ...)
{
    va_list args;

    if (self->reason->len > 0) /* the first reason counts */
        return;
    va_start(args, format);
    g_string_append_vprintf(self->reason, format, args);
    va_end(args);
}

/* ---- Writes ---- */

static void
append_field(void *data, const char *path, const char *before, const char *after)
{
    Stepper *self = data;

    g_string_append_printf(self->changes, "    %s: %s -> %s\n", path, before != NULL ? before : "-",
                           after != NULL ? after : "-");
}

static void
append_name(GString *out, const ObjectKey *key)
{
    g_autofree char *kind = g_ascii_strdown(kind_class(key->kind)->kind, -1);

    g_string_append_printf(out, "%s/%s", kind, key->name);
}

static void
append_change(Stepper *self, const Object *before, const Object *after)
{
    append_name(self->changes, (after != NULL ? after : before)->key);
    g_string_append(self->changes, before == NULL  ? " is created\n"
                                   : after == NULL ? " is gone\n"
                                                   : " changes\n");
    if (before == NULL || after == NULL)
        return;
    SimTime start = sim_start(run_sim(self->run));
    json_auto_t *old_json = object_to_json_at(before, start);
    json_auto_t *new_json = object_to_json_at(after, start);
    snapshot_compare_fields(old_json, new_json, append_field, self);
}

static const Breakpoint *
find_object_breakpoint(const Stepper *self, const ObjectKey *key)
{
    for (unsigned i = 0; i < self->breakpoints->len; i++) {
        const Breakpoint *point = self->breakpoints->pdata[i];

        if (point->pattern != NULL && point->kind == key->kind &&
            g_pattern_match_simple(point->pattern, key->name))
            return point;
    }
    return NULL;
}

static void
stepper_see_write(void *data, const RunRecord *record)
{
    Stepper *self = data;
    const ObjectKey *key = record->object;
    const Goal *goal = self->goal;
    const Breakpoint *point = find_object_breakpoint(self, key);

    self->n_writes++;
    if (goal == NULL)
        return;
    if (goal->kind == GOAL_CONDITION && condition_concerns(goal->condition, key) &&
        condition_is_met(goal->condition, self->run))
        stop(self, "%s", condition_text(goal->condition));
    if (point != NULL)
        stop(self, "breakpoint %u, %s", point->number, point->text);
    if (point != NULL || goal->kind == GOAL_EVENT || goal->kind == GOAL_WRITE)
        append_change(self, record->before, record->after);
}

void
stepper_watch(Stepper *self)
{
    records_watch(run_records(self->run), RECORD_WRITE, stepper_see_write, self);
}

/* ---- Decisions ---- */

/* "PVC-21" means the rule with its rows and variants, but no rule with a longer number. */
static gboolean
rule_is(const char *rule, const char *wanted)
{
    gsize length = strlen(wanted);

    return rule != NULL && strncmp(rule, wanted, length) == 0 && !g_ascii_isdigit(rule[length]);
}

static gboolean
sight_is(const NarratorSight *sight, const char *wanted)
{
    gsize length = strlen(wanted);

    if (sight->is_step)
        return strcmp(sight->what, wanted) == 0 || rule_is(sight->rule, wanted);
    return sight->is_answer && strncmp(sight->what, wanted, length) == 0 &&
           sight->what[length] == ':';
}

/* A component decides, takes its time, and decides again as it sends the request: the same step
 * twice, a few ms apart. */
#define SECOND_THOUGHT (50 * SIM_MS)

static gboolean
is_second_thought(const Stepper *self, unsigned i)
{
    NarratorSight sight = narrator_seen(self->narrator, i);

    while (sight.is_step && i-- > 0) {
        NarratorSight before = narrator_seen(self->narrator, i);

        if (sight.at - before.at > SECOND_THOUGHT)
            break;
        if (before.is_step && before.who == sight.who && before.key == sight.key &&
            before.rule == sight.rule && before.what == sight.what)
            return TRUE;
    }
    return FALSE;
}

static void
look_at_sight(Stepper *self, const Goal *goal, unsigned number)
{
    const NarratorSight seen = narrator_seen(self->narrator, number), *sight = &seen;

    if (is_second_thought(self, number))
        return;
    for (unsigned i = 0; i < self->breakpoints->len; i++) {
        const Breakpoint *point = self->breakpoints->pdata[i];

        if (point->pattern == NULL && sight_is(sight, point->text))
            stop(self, "breakpoint %u, %s", point->number, point->text);
    }
    if (goal->kind == GOAL_DECISION && sight->is_decision)
        stop(self, "a decision");
}

/* ---- Time passes ---- */

/* Tells the entries from @first on. */
static void
tell_seen(Stepper *self, unsigned first)
{
    const NarratorOptions telling = {.level = NARRATOR_OPERATOR,
                                     .until = SIM_TIME_MAX,
                                     .first = first,
                                     .translate = self->options.translate};

    narrator_tell(self->narrator, &telling, self->out);
}

/* Stops at an event just fired, and tells its name and its wait. */
static void
tell_event(Stepper *self, const SimPending *event)
{
    const SimTrace *trace = sim_trace(run_sim(self->run));
    const char *detail = attribution_detail(trace, event->wait, event->detail);

    stop(self, "event %s%s%s%s%s", event->name, event->wait != WAIT_NONE ? ", after " : "",
         event->wait != WAIT_NONE ? attribution_wait(event->wait) : "", *detail != '\0' ? ": " : "",
         detail);
}

static void
tell_end(Stepper *self)
{
    unsigned n;
    const ExpectResult *results = run_expects(self->run, &n);

    self->is_over = TRUE;
    stop(self, "the scenario's end (`until TIME` goes on)");
    for (unsigned i = 0; i < n; i++)
        g_string_append_printf(self->out, "expect  %-7s  %s: found %" G_GINT64_FORMAT "\n",
                               results[i].is_met ? "met" : "NOT MET", results[i].expect->text,
                               results[i].count);
}

/* Fires one event. Returns: FALSE if the goal is reached, or nothing is left */
static gboolean
go_one_event(Stepper *self, const Goal *goal, unsigned *n_told)
{
    SimPending event = {0};

    g_string_truncate(self->changes, 0);
    self->n_writes = 0;
    if (goal->kind == GOAL_EVENT)
        sim_pending(run_sim(self->run), &event, 1);
    switch (run_step(self->run, goal->until)) {
    case RUN_STEP_OVER:
        tell_end(self);
        return FALSE;
    case RUN_STEP_LATER:
        stop(self, "%s",
             goal->until == SIM_TIME_MAX ? "nothing is left to happen"
             : goal->only_begins         ? ANSWERED
             : goal->kind == GOAL_ANSWER ? "no answer yet"
             : goal->kind != GOAL_TIME ? "nothing of the kind within an hour; the scenario is over"
                                       : "as asked for");
        return FALSE;
    case RUN_STEP_FIRED:
        break;
    }
    for (unsigned i = *n_told; i < narrator_n_seen(self->narrator); i++)
        look_at_sight(self, goal, i);
    if (goal->kind == GOAL_EVENT)
        tell_event(self, &event);
    if (goal->kind == GOAL_WRITE && self->n_writes > 0)
        stop(self, "%u write%s", self->n_writes, self->n_writes > 1 ? "s" : "");
    if (goal->kind == GOAL_ANSWER && run_has_performed(self->run, goal->performer))
        stop(self, ANSWERED);
    if (self->is_traced || (self->reason->len > 0 && goal->kind != GOAL_ANSWER))
        tell_seen(self, *n_told);
    *n_told = narrator_n_seen(self->narrator);
    return self->reason->len == 0;
}

/* "12.345s (+1.2s) pod/app Ready" */
static void
tell_stop(Stepper *self, SimTime started_at)
{
    SimTime now = sim_now(run_sim(self->run));
    char at[SIM_TIME_BUFFER], since[SIM_TIME_BUFFER];

    g_string_append_printf(self->out, "%s (+%s) %s\n", stepper_time(self, at),
                           sim_time_format((now - started_at) / SIM_MS * SIM_MS, since),
                           self->reason->str);
    g_string_append(self->out, self->changes->str);
}

StepperAnswer
stepper_go(Stepper *self, const Goal *goal)
{
    SimTime started_at = sim_now(run_sim(self->run));
    unsigned n_told = narrator_n_seen(self->narrator), n_events = 0;
    gboolean is_interrupted = FALSE;

    g_string_truncate(self->reason, 0);
    g_string_truncate(self->changes, 0);
    self->goal = goal;
    while (go_one_event(self, goal, &n_told)) {
        if (self->options.is_interrupted != NULL && ++n_events % EVENTS_PER_LOOK == 0 &&
            self->options.is_interrupted(self->options.data)) {
            is_interrupted = TRUE;
            g_string_truncate(self->changes, 0);
            stop(self, "interrupted");
            break;
        }
    }
    self->goal = NULL;
    if (goal->kind != GOAL_ANSWER || strcmp(self->reason->str, ANSWERED) != 0)
        tell_stop(self, started_at);
    self->stopped_at = sim_now(run_sim(self->run));
    return is_interrupted ? STEPPER_INTERRUPTED : STEPPER_DONE;
}
