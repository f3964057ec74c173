/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "condition.h"
#include "run/why/why.h"
#include "stepper.h"

/* Shared by the stepper's files: stepper.c reads commands and shows objects; stepper-go.c lets time
 * pass; stepper-hand.c acts by hand. */

typedef struct {
    unsigned number;
    char *text;    /* as given */
    char *pattern; /* of an object's name; NULL: a word */
    ObjectKind kind;
} Breakpoint;

/* The goal of letting time pass. */
typedef enum {
    GOAL_EVENT,
    GOAL_WRITE,
    GOAL_DECISION,
    GOAL_TIME,
    GOAL_CONDITION,
    GOAL_ANSWER, /* to an action by hand */
    GOAL_END,
} GoalKind;

typedef struct {
    GoalKind kind;
    SimTime until;              /* SIM_TIME_MAX: the end */
    const Condition *condition; /* GOAL_CONDITION */
    unsigned performer;         /* GOAL_ANSWER */
    gboolean only_begins;       /* GOAL_ANSWER: the action goes on later */
} Goal;

struct Stepper {
    StepperOptions options;
    Run *run;
    Narrator *narrator;
    WhyCalls *calls;
    GPtrArray *breakpoints; /* of Breakpoint (owned) */
    unsigned n_breakpoints; /* numbers given so far */
    GPtrArray *scenarios;   /* of Scenario (owned): one for each action by hand */
    gboolean is_traced, is_over;
    /* While time passes: */
    const Goal *goal;
    GString *changes; /* changes of objects in this event */
    unsigned n_writes;
    GString *reason; /* why to stop; empty: go on */
    SimTime stopped_at;
    const char *command, *rest; /* the present command: its name, and the line behind it */
    GString *out, *errors;
    GPtrArray *acts;                /* of HandAct (owned): actions by hand */
    unsigned n_answers, n_refusals; /* to the present command */
};

void breakpoint_free(Breakpoint *self);
/* Observes writes from now on. */
void stepper_watch(Stepper *self);
/* Lets time pass, and tells where and why it stopped. */
StepperAnswer stepper_go(Stepper *self, const Goal *goal);
StepperAnswer stepper_refuse(Stepper *self, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Commands of stepper-hand.c. @words: their arguments; ends with NULL */
StepperAnswer hand_create(Stepper *self, char **words);
StepperAnswer hand_delete(Stepper *self, char **words);
StepperAnswer hand_patch(Stepper *self, char **words);
StepperAnswer hand_scale(Stepper *self, char **words);
StepperAnswer hand_drain(Stepper *self, char **words);
StepperAnswer hand_taint(Stepper *self, char **words);
StepperAnswer hand_mark(Stepper *self, char **words);
StepperAnswer hand_item(Stepper *self, char **words);
