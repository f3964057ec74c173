/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* A run that is stepped through by commands, one line each: lets time pass up to the next event,
 * write or decision, up to a time or a condition, or until something that was asked for happens;
 * shows objects as kubectl does, and who would act next; does things by hand. Knows neither
 * terminals nor files but those that commands name. */
typedef struct Stepper Stepper;

typedef enum {
    STEPPER_DONE,
    STEPPER_REFUSED, /* the line makes no sense, or asks for what is not there; told in @errors */
    STEPPER_INTERRUPTED, /* broken off; the run stands where it was then */
    STEPPER_QUIT,
} StepperAnswer;

typedef struct {
    Run *run; /* (borrowed), at its start; outlives the stepper but for stepper_free() of it */
    const char *file;        /* of the scenario; what is done by hand is read against it */
    ScenarioOptions options; /* as it was loaded with; (borrowed) */
    const char *(*translate)(const char *english); /* of the story; NULL: English */
    /* Asked now and then while time passes: whether somebody wants it to stop. NULL: never */
    gboolean (*is_interrupted)(void *data);
    void *data;
} StepperOptions;

/* Returns: (owned) */
Stepper *stepper_new(const StepperOptions *options);
/* After its run: what was done by hand is part of that. */
void stepper_free(Stepper *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Stepper, stepper_free)

/* Carries a line out. @out, @errors: what it has to say is appended. An empty line and one that
 * begins with # do nothing. */
StepperAnswer stepper_command(Stepper *self, const char *line, GString *out, GString *errors);

/* Words that could stand at @start of @line and begin with what stands there up to @end: commands,
 * kinds, objects, rules. Returns: (owned): sorted, ends with NULL */
char **stepper_complete(const Stepper *self, const char *line, unsigned start, unsigned end);

/* "12.345s" for a prompt: milliseconds, rounded down. Writes to @buffer (SIM_TIME_BUFFER). */
const char *stepper_time(const Stepper *self, char *buffer);
