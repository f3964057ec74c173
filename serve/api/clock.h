/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/teach/condition.h"
#include "run/teach/narrator.h"

/* The clock of a served run: lets virtual time pass in the main loop, at a speed, in slices of a
 * few milliseconds, so that requests are answered in between. */
typedef struct ServeClock ServeClock;

#define SPEED_MAX G_MAXDOUBLE /* as fast as it goes */

/* @speed: virtual by real time; 0: time stands still; SPEED_MAX. @run: (borrowed). Returns: (owned)
 */
ServeClock *serve_clock_new(Run *run, double speed);
void serve_clock_free(ServeClock *self);
/* For the run's progress(), every SERVE_REPORT_EVERY events: FALSE: the slice is over. */
gboolean serve_clock_goes(const ServeClock *self);
#define SERVE_REPORT_EVERY 128
double serve_clock_speed(const ServeClock *self);
void serve_clock_set_speed(ServeClock *self, double speed);
/* Returns: FALSE: @text is no speed: a number from 0 on, or "max" */
gboolean serve_clock_parse_speed(const char *text, double *speed);

/* Time stops at the scenario's end, until somebody acts. */
gboolean serve_clock_is_over(const ServeClock *self);
void serve_clock_go_on(ServeClock *self);

/* As long as somebody waits for an answer, time passes at any speed, 0 too. */
void serve_clock_hold(ServeClock *self);
void serve_clock_release(ServeClock *self);

/* Time never goes past @end, whatever is asked for. */
void serve_clock_set_end(ServeClock *self, SimTime end);
/* From now on the clock follows @leader. It stops following if one of the two is freed, or if
 * @leader gets another follower. */
void serve_clock_follow(ServeClock *self, ServeClock *leader);
/* Time stands still for ever; a goal that was set is given up: it is reached now. */
void serve_clock_stop(ServeClock *self);

/* Moves the clock up to the present, and on to the next instant at which nothing else happens. An
 * action then comes at the same place in a replay, in which it is scheduled from the start. */
void serve_clock_next_instant(ServeClock *self);

/* How far to go. */
typedef struct {
    SimTime until;              /* SIM_TIME_MAX: no limit */
    const Condition *condition; /* (borrowed) until the answer; NULL: none */
    gboolean one_event, one_write;
    const Narrator *one_decision; /* up to the next decision that it tells of; NULL: no matter */
} ClockGoal;
/* Told when a goal is reached; @is_met: its condition is, or it has none. */
typedef void (*ClockReached)(void *data, gboolean is_met);
/* Lets time pass as fast as it goes up to a goal, then at the speed of before. A goal that was set
 * earlier is given up: it is reached now. */
void serve_clock_seek(ServeClock *self, const ClockGoal *goal, ClockReached reached, void *data);
