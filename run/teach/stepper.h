/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* Steps through a run by commands, one line each: lets time pass to the next event, write or
 * decision, to a time or a condition, or to a breakpoint; shows objects as kubectl does, and the
 * next actions of components; acts by hand. Knows no terminals, and only the files that commands
 * name. */
typedef struct Stepper Stepper;

typedef enum {
    STEPPER_DONE,
    STEPPER_REFUSED,     /* the line makes no sense, or names unknown objects; see @errors */
    STEPPER_INTERRUPTED, /* interrupted; the run stays where it is */
    STEPPER_QUIT,
} StepperAnswer;

typedef struct {
    Run *run;                /* (borrowed): at its start; free it before the stepper */
    const char *file;        /* of the scenario; actions by hand are checked against it */
    ScenarioOptions options; /* (borrowed): the options it was loaded with */
    const char *(*translate)(const char *english); /* of the story; NULL: English */
    /* Asked now and then while time passes; TRUE interrupts. NULL: never */
    gboolean (*is_interrupted)(void *data);
    void *data;
} StepperOptions;

/* Returns: (owned) */
Stepper *stepper_new(const StepperOptions *options);
/* Call after run_free(): the run refers to actions by hand. */
void stepper_free(Stepper *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stepper, stepper_free)

/* Carries out a line. Appends to @out and @errors. Empty lines and lines that begin with # do
 * nothing. */
StepperAnswer stepper_command(Stepper *self, const char *line, GString *out, GString *errors);

/* Returns: (owned): the words that complete @line between @start and @end: commands, kinds,
 * objects, rules; sorted, ends with NULL */
char **stepper_complete(const Stepper *self, const char *line, unsigned start, unsigned end);

/* "12.345s" for a prompt: milliseconds, rounded down. Writes to @buffer (SIM_TIME_BUFFER). */
const char *stepper_time(const Stepper *self, char *buffer);
