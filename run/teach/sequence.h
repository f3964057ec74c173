/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "narrator.h"

/* A run as messages between components: writes to the API server, news from watches, calls of
 * drivers. */
typedef enum {
    MESSAGE_WRITE,   /* a component, or the user: to the API server */
    MESSAGE_WATCH,   /* from the API server: news that made a component act */
    MESSAGE_CALL,    /* to the driver */
    MESSAGE_ANSWER,  /* from the driver */
    MESSAGE_ERROR,   /* the same, with an error */
    MESSAGE_WARNING, /* a Warning Event, to the API server */
    MESSAGE_SILENCE, /* no messages: @text names the wait */
    MESSAGE_MORE,    /* the rest is left out */
} MessageKind;

typedef struct {
    MessageKind kind;
    SimTime at;
    unsigned from, to; /* lanes */
    unsigned order;    /* order at one instant */
    SimCauseId cause;
    char *text; /* (owned) */
} Message;

typedef struct {
    GPtrArray *lanes; /* char *: "user", "API server", "kubelet node-a1", ... */
    GArray *messages; /* of Message, by time */
} Sequence;

typedef struct {
    const char *object;    /* "pod/web-0": only messages about it */
    const char *namespace; /* of @object; NULL or "": any */
    SimTime from, to;      /* the period to show; SIM_TIME_MAX: to the end */
    unsigned messages_max; /* the most messages that are shown; more are cut off, and a note says
                              so; 0: no limit */
} SequenceOptions;

/* Returns: (owned): %NULL if the run has no such object */
Sequence *sequence_new(const Narrator *narrator, const SequenceOptions *options);
void sequence_free(Sequence *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Sequence, sequence_free)

/* Columns of plots/sequence.gp, below @header. (owned) */
char *sequence_table(const Sequence *self, const char *header);
/* A sequenceDiagram of Mermaid. (owned) */
char *sequence_mermaid(const Sequence *self, const char *header);

/* News from a watch that made a component act. */
typedef struct {
    SimTime sent_at, arrived_at;
    ObjectKind kind; /* of the object that had changed */
} SequenceNews;
/* @entry: a number below narrator_n_seen(). Returns: FALSE: its component acted on something else
 */
gboolean sequence_find_news(const Narrator *narrator, unsigned entry, SequenceNews *news);
/* Returns: (static): a word for the kind: "call" */
const char *sequence_kind_name(MessageKind kind);
