/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "calls.h"

/* Why an object is not where somebody wants it: a chain of waits down to the object at fault, from
 * facts about the cluster, its drivers and its processes, not from the words of Events. A row of
 * causes.c tells what would help. */

/* An object of the chain. What is no object of the API has a name, too: "driver/csi.example.com",
 * "process/kube-scheduler". */
typedef struct {
    char *object;    /* "pod/web-0" */
    char *namespace; /* NULL: none */
    char *text;      /* "is Pending: no node can take it" */
    SimTime since;   /* TIME_UNSET: unknown */
} WhyLink;

typedef enum {
    WHY_WRONG,
    WHY_SLOW,     /* all goes on, and takes too long */
    WHY_PATIENCE, /* nothing is wrong, but time passes */
} WhyMood;

typedef struct Why Why;
struct Why {
    GPtrArray *chain;    /* of WhyLink, from the object that was asked about to the one at fault */
    const char *cause;   /* static: "attach-limit"; "none": nothing is wrong */
    const char *unblock; /* static: what would help, a sentence; "" */
    char *command;       /* ... as a command; NULL: none is known */
    SimTime ends_at;     /* when it ends by itself; SIM_TIME_MAX: never, or unknown */
    WhyMood mood;
    GPtrArray
        *waiting; /* of char *: other objects that wait for the object at fault; may be empty */
};

/* Whom to ask. */
typedef struct {
    const Run *run;
    const WhyCalls *calls; /* what drivers refuse; NULL: nobody watched */
    /* Returns: (static): the text in the reader's language. NULL: English */
    const char *(*translate)(const char *english);
} WhyView;

/* What is stuck, by cause. */
typedef struct {
    Why *first;         /* of the first of them */
    GPtrArray *objects; /* of char *: "pod/web-0", all that wait for this */
} WhyGroup;

/**
 * why_ask:
 * @object: "pod/web-0", "pvc/data", "node/node-1"; in @namespace, or (NULL) in any; or
 *   "driver/NAME", "process/NAME"
 * Returns: (owned): %NULL if there is no such object, and nobody would make it
 */
Why *why_ask(const WhyView *view, const char *namespace, const char *object);
/* Everything that is stuck, at most @limit objects of each kind. Returns: (owned): of WhyGroup;
 * causes of most objects first, causes that only need time last */
GPtrArray *why_ask_all(const WhyView *view, unsigned limit);
/* Appends all that is stuck, a paragraph for each cause; or that nothing is. */
void why_tell_all(const WhyView *view, GString *out);
/* "web-0 is on node-1, ...": the object at fault in the words of the last link. */
const WhyLink *why_fault(const Why *self);
/* Appends the chain, the cause and the way out, a line each. */
void why_tell(const WhyView *view, const Why *self, GString *out);
/* Returns: (owned): the same as JSON, times in ns; docs/results.md */
json_t *why_to_json(const WhyView *view, const Why *self);
/* Of why_ask_all(); each as above, with all its objects */
json_t *why_groups_to_json(const WhyView *view, const GPtrArray *groups);
void why_free(Why *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Why, why_free)
