/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* A run as messages between components: who writes what to the API server, whom a watch tells of
 * it, who calls the driver. */
typedef enum {
    MESSAGE_WRITE,   /* a component, or the user: to the API server */
    MESSAGE_WATCH,   /* from the API server: what made a component act */
    MESSAGE_CALL,    /* to the driver */
    MESSAGE_ANSWER,  /* from the driver */
    MESSAGE_ERROR,   /* the same, refused */
    MESSAGE_WARNING, /* a Warning Event, to the API server */
    MESSAGE_SILENCE, /* nobody says anything: @text tells what the time passed with */
    MESSAGE_MORE,    /* what follows is left out */
} MessageKind;

typedef struct {
    MessageKind kind;
    SimTime at;
    unsigned from, to; /* lanes */
    unsigned order;    /* among those of an instant */
    SimCauseId cause;
    char *text; /* (owned) */
} Message;

typedef struct {
    GPtrArray *lanes; /* char *: "user", "API server", "kubelet node-a1", ... */
    GArray *messages; /* of Message, by time */
} Sequence;

typedef struct {
    const char *object;    /* "pod/web-0": only what concerns it */
    SimTime from, to;      /* only these; SIM_TIME_MAX: to the end */
    unsigned messages_max; /* then it breaks off, and says so; 0: no end */
} SequenceOptions;

/* Returns: (owned): %NULL if no object of the run is called so */
Sequence *sequence_new(const Narrator *narrator, const SequenceOptions *options);
void sequence_free(Sequence *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sequence, sequence_free)

/* Columns of plots/sequence.gp, below @header. (owned) */
char *sequence_table(const Sequence *self, const char *header);
/* A sequenceDiagram of Mermaid. (owned) */
char *sequence_mermaid(const Sequence *self, const char *header);
