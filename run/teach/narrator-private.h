/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* The record of a run that a narrator keeps, for the story as text (story.c), as a sequence of
 * messages (sequence.c), and as a path through phases (lifecycle.c). */

typedef enum {
    ENTRY_STEP,   /* a step of a component's plan */
    ENTRY_CALL,   /* an answer of a driver */
    ENTRY_CHANGE, /* a committed change of an object */
} EntryKind;

typedef enum {
    CHANGE_CREATED,
    CHANGE_FIELDS, /* of fields that people look at */
    CHANGE_SMALL,  /* of other fields */
    CHANGE_GOING,  /* its deletion was requested */
    CHANGE_GONE,
} ChangeKind;

typedef struct {
    EntryKind kind;
    SimTime at;
    SimCauseId cause;
    const ObjectKey *key;     /* the object concerned; NULL: none */
    const ObjectKey *subject; /* the object that a step writes or reports; NULL */
    const char *who;          /* component or driver; of changes the writer; NULL: from outside */
    const char *where;        /* the component's node; NULL */
    const char *rule;         /* of steps and their changes; NULL: none */
    const char *what;    /* static or interned: a verb, a CSI method, the reason of an Event, an
                            answer, or changed fields */
    const char *message; /* of an Event; else NULL */
    gboolean is_event;   /* of steps: an Event's reason or a CSI method */
    gboolean is_call, is_write, is_warning; /* of steps */
    gboolean is_idle;       /* of steps: a write that changes nothing and is not sent */
    gboolean is_forgotten;  /* of steps: decided again before it was done */
    SimTime started_at;     /* of calls */
    gboolean is_small_talk; /* of calls: about the plugin itself */
    CsiMethod method;
    CsiCode code;
    ChangeKind change;
    const char *verb; /* of changes: the writer's request; NULL: unknown */
    SimTime sent_at;  /* of changes: when that request was sent, and its cause */
    SimCauseId sent_cause;
    SimTime done_at;   /* of steps that write: the time of the change; TIME_UNSET: none yet */
    const char *parts; /* of changes: the other changed fields: "finalizers, claimRef" */
    const char *state_before, *state; /* static: phases of a claim or volume; NULL: none, or gone */
} Entry;

/* Two objects that belong together: news of one concerns the other. */
typedef struct {
    const ObjectKey *a, *b;
} Relation;

struct Narrator {
    Run *run;
    SimLog *entries;      /* of Entry, by time */
    SimLog *relations;    /* of Relation */
    GHashTable *thinking; /* plan -> the index of its step that may be decided again */
    GHashTable *writers;  /* key -> 1 + the index of the last write that was sent */
};

/* @text: "pod/web-0". @namespace: NULL or "": any. Returns: (borrowed): NULL if there is no such
 * object */
const ObjectKey *
narrator_find_object(const Narrator *self, const char *namespace, const char *text);
/* Returns: (owned): the object and all objects that belong to it (keys). Pods that share a claim do
 * not belong together */
GHashTable *narrator_family(const Narrator *self, const ObjectKey *key);
/* Appends the longest wait between two times, on the chain of causes of the later one. */
void narrator_append_wait(const Narrator *self,
                          SimCauseId cause,
                          SimTime from,
                          SimTime to,
                          const char *(*translate)(const char *english),
                          GString *out);
gboolean narrator_is_told(const Entry *entry, NarratorLevel level);
/* Returns: (owned): "pod/app"; NULL for NULL. @is_short: cut the checksum in the name of an
 * attachment */
char *narrator_key_text(const ObjectKey *key, gboolean is_short);
