/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* Tells a run as a story: what each component did to which object, by which rule; what drivers
 * answered; how objects changed. A narrator only observes: the run stays the same. */
typedef struct Narrator Narrator;

typedef enum {
    NARRATOR_BEGINNER,  /* changes of objects, Events and calls; each rule once per object, without
                           its id */
    NARRATOR_OPERATOR,  /* and all requests, with ids of rules */
    NARRATOR_DEVELOPER, /* and the inside of components: state, waits, parallel plans */
} NarratorLevel;

/* @run: (borrowed): at its start. Returns: (owned) */
Narrator *narrator_new(Run *run);
void narrator_free(Narrator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Narrator, narrator_free)

typedef struct {
    NarratorLevel level;
    const char *object;    /* "pod/web-0": only entries about it; NULL: all */
    const char *namespace; /* of @object; NULL or "": any */
    SimTime until;  /* ends the story, but for the event waited for then; SIM_TIME_MAX: tells all */
    unsigned first; /* the first entry to tell, see narrator_n_seen(); 0: all */
    /* Returns: (static): the text in the reader's language. NULL: English */
    const char *(*translate)(const char *english);
} NarratorOptions;

/* Appends the story so far. Returns: %FALSE if the run has no @options->object */
gboolean narrator_tell(const Narrator *self, const NarratorOptions *options, GString *out);
/* The same for programs: {entries[], untilNs, next}; docs/results.md. Each entry has its own rule.
 * Returns: (owned): %NULL if the run has no @options->object */
json_t *narrator_json(const Narrator *self, const NarratorOptions *options);
/* An entry, for stepping through a run: a step of a component, an answer of a driver, or a change
 * of an object. */
typedef struct {
    SimTime at;
    const ObjectKey *key; /* the object concerned; NULL: none */
    const char *who;      /* component or driver; NULL: from outside */
    const char *where;    /* its node; NULL: none */
    const char *rule;     /* NULL: none */
    const char *what;     /* of steps: a verb, a method, the reason of an Event; of answers:
                             "CreateVolume: OK (1s)"; of changes: the fields; "": others */
    const char *message;  /* of an Event; NULL: none */
    const char *verb;     /* of changes: the writer's request; NULL: unknown */
    SimTime since;        /* of answers: the begin of the call; of changes: the time of the request;
                             otherwise at */
    gboolean is_step, is_answer;
    gboolean is_call, is_warning; /* of steps */
    gboolean is_failure;          /* of answers */
    gboolean is_new, is_gone;     /* of changes: the object */
    gboolean is_small;            /* nobody is told but developers */
    gboolean is_decision;         /* of steps: visible outside of the component */
} NarratorSight;
unsigned narrator_n_seen(const Narrator *self);
NarratorSight narrator_seen(const Narrator *self, unsigned i);

/* Returns: (owned): the ids (const char *) of the rules that fired, sorted, each once */
GPtrArray *narrator_rules(const Narrator *self);

/* The retries of a failed call of a driver. */
typedef struct {
    const char *caller; /* (borrowed): the component */
    SimTime delays[4];  /* from each failure to the next call of the method */
    unsigned n_delays;  /* 0: no retries */
    GPtrArray *reasons; /* (owned): of const char *: reasons of the Events meanwhile */
} NarratorRetries;

/* Looks at the calls of @method, from the first answer @code to the first other answer. Returns:
 * %FALSE if there is no such call; free @retries->reasons in any case */
gboolean
narrator_retries(const Narrator *self, CsiMethod method, CsiCode code, NarratorRetries *retries);

/* Finds the next step after @after of a component about @object ("pvc/data") of @namespace (NULL:
 * any), or about an object that belongs to it. @who, @what: (out) (borrowed). Returns: its time;
 * %SIM_TIME_MAX if there is none so far */
SimTime narrator_next_step(const Narrator *self,
                           const char *namespace,
                           const char *object,
                           SimTime after,
                           const char **who,
                           const char **what);
