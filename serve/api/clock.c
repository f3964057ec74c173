/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Virtual time of a served run against the machine's clock. Time goes in slices of about 1 ms of
 * real time, so requests have their turn; the virtual length of a slice follows the real length of
 * the last one. A request that waits for an answer (a hold) lets time pass event by event and stop
 * right behind it, even if the clock stands. A goal ends the way at a time, an event, a write, a
 * decision or a condition. A lag of more than a second is forgotten. A clock may follow another
 * one, for two runs side by side. */
#include "clock.h"

#include <math.h>
#include <string.h>

/* How long one slice may take, in us of real time. */
#define SLICE_US 1000
/* Virtual time falls behind where the machine is too slow for the speed: more than this is not
 * caught up with (us). */
#define LAG_MAX_US G_USEC_PER_SEC
/* The longest sleep between two slices (ms). */
#define SLEEP_MAX_MS 100

struct ServeClock {
    Run *run; /* (borrowed) */
    double speed;
    unsigned n_holds;
    gboolean goes_on;  /* past the scenario's end */
    gboolean is_over;  /* the end is reached */
    guint source;      /* 0: the clock stands still */
    gint64 slice_ends; /* us: the end of the slice in real time; G_MAXINT64: it has none */
    SimTime slice;     /* virtual time that takes about SLICE_US at full speed */
    gint64 real_base;  /* us: at this real time it was ... */
    SimTime base;      /* ... this virtual time */
    SimTime end;       /* time never goes past it */
    ServeClock *leader, *follower; /* (borrowed): NULL: none */
    ClockGoal goal;
    ClockReached reached; /* NULL: no goal */
    void *reached_data;
    unsigned n_writes, n_told; /* n_told: entries of the story that were looked at */
};

static void arm(ServeClock *self, unsigned delay_ms);

static SimTime
now_of(const ServeClock *self)
{
    return sim_now(run_sim(self->run));
}

static SimTime
next_of(const ServeClock *self)
{
    return sim_next_event_at(run_sim(self->run));
}

/* ---- Time passes ---- */

/* Returns: where time stops, at the scenario's end or its own */
static SimTime
end_of(const ServeClock *self)
{
    return self->goes_on ? self->end : MIN(self->end, run_ends_at(self->run));
}

/* Returns: how far time may go now */
static SimTime
limit_of(const ServeClock *self)
{
    SimTime end = end_of(self);

    return self->reached != NULL ? MIN(end, self->goal.until) : end;
}

/* A run that waits for an idle world ends with its last event, so its clock goes from event to
 * event. */
static gboolean
waits_for_idle(const ServeClock *self)
{
    return !self->goes_on && run_scenario(self->run)->until_idle;
}

/* Lets time pass up to @to, but not past the end. */
static void
clock_pass(ServeClock *self, SimTime to)
{
    SimTime end = end_of(self);

    to = MAX(MIN(to, end), now_of(self));
    if (waits_for_idle(self))
        run_fire(self->run, to);
    else
        run_advance(self->run, to);
    if (waits_for_idle(self) && end < RUN_NO_END && next_of(self) >= RUN_NO_END)
        self->is_over = TRUE;
    if (now_of(self) >= end_of(self))
        self->is_over = TRUE;
}

/* Lets about SLICE_US of real time pass, at most up to @to. */
static void
pass_slice(ServeClock *self, SimTime to)
{
    gint64 begun = g_get_monotonic_time(), spent = 0;

    self->slice_ends = begun + SLICE_US;
    while (spent < SLICE_US && now_of(self) < to && !self->is_over) {
        SimTime next = next_of(self);
        gint64 before = g_get_monotonic_time();
        if (MIN(to, next) >= RUN_NO_END || (waits_for_idle(self) && next > to))
            break;
        clock_pass(self, MIN(to, MAX(sim_time_add(now_of(self), self->slice), next)));
        gint64 took = g_get_monotonic_time() - before;
        if (took > SLICE_US)
            self->slice = MAX(self->slice / 2, 1);
        else if (took < SLICE_US / 8)
            self->slice = MIN(self->slice * 2, SIM_HOUR);
        spent = g_get_monotonic_time() - begun;
    }
    self->slice_ends = G_MAXINT64;
}

/* Event by event, as long as somebody waits for an answer: time stops right behind it. */
static void
pass_until_answered(ServeClock *self)
{
    gint64 begun = g_get_monotonic_time();

    while (self->n_holds > 0 && !self->is_over && g_get_monotonic_time() - begun < SLICE_US) {
        SimTime next = next_of(self);
        if (next > limit_of(self) || next >= RUN_NO_END)
            break;
        clock_pass(self, next);
    }
}

static void
set_base(ServeClock *self)
{
    self->real_base = g_get_monotonic_time();
    self->base = now_of(self);
}

/* Returns: the virtual time that it is by the speed */
static SimTime
due(ServeClock *self)
{
    double passed = (double)(g_get_monotonic_time() - self->real_base) * 1000 * self->speed;

    return sim_time_add(self->base,
                        passed > (double)SIM_TIME_MAX / 2 ? SIM_TIME_MAX / 2 : (SimTime)passed);
}

/* ---- Goals ---- */

/* Whether the story has a decision that was not looked at yet. */
static gboolean
has_decided(ServeClock *self)
{
    const Narrator *narrator = self->goal.one_decision;

    while (self->n_told < narrator_n_seen(narrator))
        if (narrator_seen(narrator, self->n_told++).is_decision)
            return TRUE;
    return FALSE;
}

static gboolean
goal_is_met(ServeClock *self)
{
    const ClockGoal *goal = &self->goal;

    if (goal->condition != NULL)
        return condition_is_met(goal->condition, self->run);
    return (goal->one_write && self->n_writes > 0) ||
           (goal->one_decision != NULL && has_decided(self));
}

/* Whether the goal has nothing but a time. */
static gboolean
clock_is_plain(const ClockGoal *goal)
{
    return goal->condition == NULL && !goal->one_event && !goal->one_write &&
           goal->one_decision == NULL;
}

static void
reach(ServeClock *self, gboolean is_met)
{
    ClockReached reached = self->reached;

    self->reached = NULL;
    set_base(self);
    reached(self->reached_data, is_met);
}

/* Event by event, where each may reach the goal. */
static void
seek(ServeClock *self)
{
    const ClockGoal *goal = &self->goal;
    gint64 begun = g_get_monotonic_time();

    if (clock_is_plain(goal)) {
        pass_slice(self, limit_of(self));
        if (now_of(self) >= goal->until || self->is_over || next_of(self) >= RUN_NO_END)
            reach(self, now_of(self) >= goal->until);
        return;
    }
    while (g_get_monotonic_time() - begun < SLICE_US) {
        SimTime next = next_of(self);
        if (goal_is_met(self)) {
            reach(self, TRUE);
            return;
        }
        if (self->is_over || next > limit_of(self) || next >= RUN_NO_END) {
            if (goal->until < RUN_NO_END)
                clock_pass(self, goal->until);
            reach(self, clock_is_plain(goal) || goal->one_event);
            return;
        }
        clock_pass(self, next);
        if (goal->one_event) {
            reach(self, TRUE);
            return;
        }
    }
}

void
serve_clock_seek(ServeClock *self, const ClockGoal *goal, ClockReached reached, void *data)
{
    if (self->reached != NULL)
        reach(self, FALSE);
    self->goal = *goal;
    self->reached = reached;
    self->reached_data = data;
    self->n_writes = 0;
    self->n_told = goal->one_decision != NULL ? narrator_n_seen(goal->one_decision) : 0;
    serve_clock_go_on(self);
    arm(self, 0);
}

/* ---- The main loop ---- */

/* Returns: the time to sleep in ms; 0: none; -1: until something changes */
static int
tick(ServeClock *self)
{
    if (self->leader != NULL && self->reached == NULL) {
        SimTime to = now_of(self->leader);
        self->goes_on = self->leader->goes_on;
        pass_slice(self, to);
        return now_of(self) < to && !self->is_over && (next_of(self) <= to || !waits_for_idle(self))
                   ? 0
                   : -1;
    }
    if (self->reached != NULL) {
        seek(self);
        return 0;
    }
    if (self->is_over)
        return -1;
    if (self->speed >= SPEED_MAX && self->goes_on && self->n_holds == 0 &&
        next_of(self) >= RUN_NO_END)
        return -1; /* nothing is to come: time would fly for nothing */
    if (self->speed >= SPEED_MAX) {
        pass_slice(self, limit_of(self));
        return 0;
    }
    if (self->speed <= 0) {
        pass_until_answered(self);
        return self->n_holds > 0 && !self->is_over ? 0 : -1;
    }
    SimTime to = due(self);
    pass_slice(self, to);
    if (next_of(self) <= to) {
        double behind = (double)(to - now_of(self)) / 1000 / self->speed;
        if (behind > LAG_MAX_US)
            set_base(self);
        return 0;
    }
    double wait = (double)(next_of(self) - now_of(self)) / 1e6 / self->speed;
    return (int)CLAMP(ceil(wait), 1, SLEEP_MAX_MS);
}

static gboolean
on_tick(void *data)
{
    ServeClock *self = data;
    int sleep;

    self->source = 0;
    sleep = tick(self);
    if (self->follower != NULL)
        arm(self->follower, 0);
    if (sleep >= 0)
        arm(self, (unsigned)sleep);
    return G_SOURCE_REMOVE;
}

static void
arm(ServeClock *self, unsigned delay_ms)
{
    if (self->source != 0)
        g_source_remove(self->source);
    self->source = delay_ms == 0 ? g_idle_add_full(G_PRIORITY_LOW, on_tick, self, NULL)
                                 : g_timeout_add(delay_ms, on_tick, self);
}

/* ---- For others ---- */

void
serve_clock_set_end(ServeClock *self, SimTime end)
{
    self->end = end;
}

void
serve_clock_follow(ServeClock *self, ServeClock *leader)
{
    if (leader->follower != NULL)
        leader->follower->leader = NULL;
    leader->follower = self;
    self->leader = leader;
    arm(self, 0);
}

void
serve_clock_stop(ServeClock *self)
{
    if (self->reached != NULL)
        reach(self, FALSE);
    if (self->follower != NULL)
        self->follower->leader = NULL;
    self->follower = NULL;
    self->speed = 0;
    self->end = now_of(self);
}

void
serve_clock_next_instant(ServeClock *self)
{
    Sim *sim = run_sim(self->run);

    if (self->speed > 0 && self->speed < SPEED_MAX && self->reached == NULL)
        clock_pass(self, due(self));
    serve_clock_go_on(self);
    for (;;) {
        SimTime at = now_of(self) + 1;
        gboolean is_free = sim_next_event_at(sim) > at;
        clock_pass(self, at);
        if (is_free)
            break;
    }
    arm(self, 0);
}

void
serve_clock_hold(ServeClock *self)
{
    self->n_holds++;
    arm(self, 0);
}

void
serve_clock_release(ServeClock *self)
{
    self->n_holds--;
}

gboolean
serve_clock_is_over(const ServeClock *self)
{
    return self->is_over;
}

void
serve_clock_go_on(ServeClock *self)
{
    if (self->is_over)
        set_base(self);
    self->goes_on = TRUE;
    self->is_over = FALSE;
}

gboolean
serve_clock_goes(const ServeClock *self)
{
    return g_get_monotonic_time() < self->slice_ends;
}

double
serve_clock_speed(const ServeClock *self)
{
    return self->speed;
}

void
serve_clock_set_speed(ServeClock *self, double speed)
{
    self->speed = speed;
    set_base(self);
    arm(self, 0);
}

gboolean
serve_clock_parse_speed(const char *text, double *speed)
{
    char *end;

    if (strcmp(text, "max") == 0) {
        *speed = SPEED_MAX;
        return TRUE;
    }
    *speed = g_ascii_strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*speed) && *speed >= 0 && *speed <= 1e9;
}

static void
clock_see_write(void *data, const RunRecord *record)
{
    (void)record;
    ((ServeClock *)data)->n_writes++;
}

ServeClock *
serve_clock_new(Run *run, double speed)
{
    ServeClock *self = g_new0(ServeClock, 1);

    *self = (ServeClock){
        .run = run, .speed = speed, .slice = SIM_MS, .slice_ends = G_MAXINT64, .end = SIM_TIME_MAX};
    records_watch(run_records(run), RECORD_WRITE, clock_see_write, self);
    set_base(self);
    arm(self, 0);
    return self;
}

void
serve_clock_free(ServeClock *self)
{
    if (self == NULL)
        return;
    if (self->leader != NULL)
        self->leader->follower = NULL;
    if (self->follower != NULL)
        self->follower->leader = NULL;
    if (self->source != 0)
        g_source_remove(self->source);
    g_free(self);
}
