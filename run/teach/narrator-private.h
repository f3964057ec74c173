/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* What a narrator keeps of a run, for those that tell it: as text (story.c), as a sequence of
 * messages, as a way through phases. */

typedef enum {
    ENTRY_STEP,   /* of a component's plan */
    ENTRY_CALL,   /* a driver has answered */
    ENTRY_CHANGE, /* of an object, as it is committed */
} EntryKind;

typedef enum {
    CHANGE_CREATED,
    CHANGE_FIELDS, /* that people look at */
    CHANGE_SMALL,  /* others */
    CHANGE_GOING,  /* its deletion was asked for */
    CHANGE_GONE,
} ChangeKind;

typedef struct {
    EntryKind kind;
    SimTime at;
    SimCauseId cause;
    const ObjectKey *key; /* what it is about; NULL: nothing in particular */
    const ObjectKey
        *subject;      /* what a step writes or tells of, which may be another object; NULL */
    const char *who;   /* component or driver; of changes the writer; NULL: somebody from outside */
    const char *where; /* the node of a component that has one; NULL */
    const char *rule;  /* of steps, and of changes that come of them; NULL: none told */
    const char *what;  /* static or interned: a verb, a CSI method, an Event's reason; an answer;
                          changed fields, or "" */
    const char *message;                    /* of an Event; NULL: it is none */
    gboolean is_event;                      /* of steps: an Event's reason or a CSI method */
    gboolean is_call, is_write, is_warning; /* of steps */
    gboolean is_idle;       /* of steps: a write that changes nothing, so it is not sent */
    gboolean is_forgotten;  /* of steps: decided anew before it was done */
    SimTime started_at;     /* of calls */
    gboolean is_small_talk; /* of calls: who are you, what can you do */
    CsiMethod method;
    CsiCode code;
    ChangeKind change;
    const char *verb; /* of changes: the writer's request; NULL: not known */
    SimTime sent_at;  /* of changes: when that request left, and why it did */
    SimCauseId sent_cause;
    SimTime
        done_at; /* of steps that write: when the change was made; TIME_UNSET: not yet, or never */
    const char *parts; /* of changes: "finalizers, claimRef": what else was changed; "" */
    const char *state_before,
        *state; /* of claims' and volumes' changes; static; NULL: none, or gone */
} Entry;

/* Two objects that belong together: what happens to one concerns the other. */
typedef struct {
    const ObjectKey *a, *b;
} Relation;

struct Narrator {
    Run *run;
    GArray *entries;      /* of Entry, by time */
    GArray *relations;    /* of Relation */
    GHashTable *thinking; /* plan -> the index of its step that may be decided anew */
    GHashTable *writers;  /* key -> 1 + the index of the last write that was sent */
};

/* "pod/web-0", of any namespace. Returns: (borrowed): NULL: no such object */
const ObjectKey *narrator_find_object(const Narrator *self, const char *text);
/* The object and all that belongs to it. Pods of the same claim do not belong to each other, nor
 * what belongs to those. (owned): of keys */
GHashTable *narrator_family(const Narrator *self, const ObjectKey *key);
/* Appends what most of the time between two moments passed with, on the chain of causes of the
 * later one. */
void narrator_append_wait(const Narrator *self,
                          SimCauseId cause,
                          SimTime from,
                          SimTime to,
                          const char *(*translate)(const char *english),
                          GString *out);
gboolean narrator_is_told(const Entry *entry, NarratorLevel level);
/* "pod/app"; the checksum in an attachment's name is cut if @is_short. (owned): NULL: @key is NULL
 */
char *narrator_key_text(const ObjectKey *key, gboolean is_short);
