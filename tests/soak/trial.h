/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* One world: the text of a scenario, and what must hold of it. The text begins with a comment that
 * says what to expect, so that a file alone can be tried:
 *
 *     # soak: easy small deletes-at=1200
 *
 * easy: enough room and no lasting fault: all pods are ready before the end. small: cheap enough to
 * be run with tickers that poll. deletes-at: seconds from which on everything is deleted; without
 * it nobody looks whether the world is empty at its end. */
typedef struct {
    char *text; /* (owned) */
    gboolean is_easy, is_small;
    gint64 delete_at_s; /* 0: never */
} TrialWorld;

/* Returns: (owned): by its comment */
TrialWorld *world_new(const char *text);
void world_free(TrialWorld *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TrialWorld, world_free)

typedef enum {
    TRIAL_REPEATS = 1 << 0, /* a second run gives the same bytes */
    TRIAL_POLLS = 1 << 1,   /* so do tickers that never sleep; small worlds only */
    TRIAL_CUT = 1 << 2,     /* a run that ends anywhere frees everything */
    TRIAL_ALL = TRIAL_REPEATS | TRIAL_POLLS | TRIAL_CUT,
} TrialChecks;

typedef struct {
    GString *faults; /* a line each; empty if there are none */
    char *kind;      /* of the first fault, without its names and numbers; NULL: none */
} Trial;

/* @folder: for its files. Returns: (owned) */
Trial *trial_run(const TrialWorld *world, TrialChecks checks, const char *folder);
/* Loads it, with faults for those of the file. Returns: (owned): NULL if it is refused */
Scenario *trial_load(const TrialWorld *world, const char *folder, Trial **trial);
/* One run with its invariants, and nothing else. @begun: called before time passes. Returns:
 * (owned)
 */
Trial *trial_watch(const TrialWorld *world,
                   const Scenario *scenario,
                   void (*begun)(void *data, Run *run),
                   void *data);
/* Removes a folder of trial_run() or trial_load() with its files. */
void trial_remove_folder(const char *folder);
/* Prints what every component and driver does, a line each. With `diff` against @polling the first
 * line shows where a ticker that sleeps goes astray. */
void trial_log(const TrialWorld *world, const char *folder, gboolean polling);
void trial_free(Trial *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trial, trial_free)

/* The same in a process of its own, which may crash or hang (then the kind of fault is the signal).
 * Several may run at once. */
typedef struct TrialProcess TrialProcess;
TrialProcess *trial_start(const TrialWorld *world, TrialChecks checks);
int trial_pid(const TrialProcess *self);
/* Waits for its end, unless that was seen, with this @status. Returns: (owned) */
Trial *trial_finish(TrialProcess *self /* taken */, const int *status);
