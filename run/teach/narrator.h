/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* Tells a run as a story: which component did what about which object, by which rule, what the
 * drivers answered, and how objects changed. It only watches: a run that is told is the same run.
 */
typedef struct Narrator Narrator;

typedef enum {
    NARRATOR_BEGINNER,  /* changes of objects, Events and calls, each rule once for each object,
                           without its id */
    NARRATOR_OPERATOR,  /* and all requests, with the rules' ids */
    NARRATOR_DEVELOPER, /* and what stays within a component: state, waits, plans beside plans */
} NarratorLevel;

/* @run is at its start. Returns: (owned) */
Narrator *narrator_new(Run *run);
void narrator_free(Narrator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Narrator, narrator_free)

typedef struct {
    NarratorLevel level;
    const char *object; /* "pod/web-0": only what concerns it; NULL: all */
    SimTime until;  /* now: nothing later but what is waited for then, if the run went on beyond;
                       SIM_TIME_MAX: tell all */
    unsigned first; /* nothing that was seen before this one: see narrator_n_seen(); 0: all */
    /* A text in the reader's language; static. NULL: English */
    const char *(*translate)(const char *english);
} NarratorOptions;

/* Appends the story so far. Returns: %FALSE if no object of the run is called @options->object */
gboolean narrator_tell(const Narrator *self, const NarratorOptions *options, GString *out);
/* Something that was seen, for who steps through a run: a component's step, a driver's answer, or a
 * change of an object. */
typedef struct {
    SimTime at;
    const ObjectKey *key; /* what it is about; NULL: nothing in particular */
    const char *who;      /* component or driver; NULL: somebody from outside */
    const char *rule;     /* NULL: none told */
    const char *what;     /* of steps: a verb, a method, the reason of an Event; of answers:
                             "CreateVolume: OK (1s)" */
    gboolean is_step, is_answer;
    gboolean is_decision; /* of steps: what others can see */
} NarratorSight;
unsigned narrator_n_seen(const Narrator *self);
NarratorSight narrator_seen(const Narrator *self, unsigned i);

/* Ids of the rules that fired, sorted, each once. (owned): GPtrArray of const char * */
GPtrArray *narrator_rules(const Narrator *self);

/* What came of calls of a driver that failed. */
typedef struct {
    const char *caller; /* the component (borrowed) */
    SimTime delays[4];  /* from each failure to the next call of the method */
    unsigned n_delays;  /* 0: it was never called again */
    GPtrArray *reasons; /* (owned): const char *: of the Events that were recorded meanwhile */
} NarratorRetries;

/* Looks at the calls of @method from the first that was answered @code on, up to one that was not.
 * Returns: %FALSE if there is none;
 * @retries->reasons is to be freed all the same */
gboolean
narrator_retries(const Narrator *self, CsiMethod method, CsiCode code, NarratorRetries *retries);

/* The next thing after @after that a component does about @object ("pvc/data") or what belongs to
 * it. @who, @what: (out) (borrowed). Returns: when; %SIM_TIME_MAX: nothing so far */
SimTime narrator_next_step(
    const Narrator *self, const char *object, SimTime after, const char **who, const char **what);
