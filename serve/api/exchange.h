/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>
#include <jansson.h>

/* A request over HTTP and its answer, whatever server carries it. Whoever handles it answers once:
 * at once, later, or with a stream. */
typedef struct Exchange Exchange;

typedef struct {
    const char *method; /* "GET" */
    const char *path;   /* decoded: "/api/v1/pods" */
    GHashTable *query;  /* text -> text, decoded; a parameter given twice has its first value */
    const char *accept; /* "" if there is none, as the next three */
    const char *content_type; /* without parameters */
    const char *user_agent;
    const char *if_none_match;
    const char *command; /* "kubectl describe": what kubectl says of itself; NULL: nothing */
    const char *body;
    gsize length;
} ExchangeRequest;

/* A stream of lines. */
typedef struct {
    /* Returns: (owned): what comes next, some lines; %NULL: nothing yet. @is_over: (out): that was
     * the last */
    GBytes *(*pull)(void *data, gboolean *is_over);
    void (*end)(void *data); /* the stream is over, or the client has gone: frees @data */
} ExchangeStreamClass;

/* What a server must be able to do. */
typedef struct {
    void (*answer)(Exchange *self, unsigned code, const char *content_type, GBytes *body);
    void (*stream)(Exchange *self, const char *content_type);
    void (*wake)(Exchange *self);
} ExchangeClass;

struct Exchange {
    const ExchangeClass *class;
    ExchangeRequest request;
    GPtrArray
        *headers;     /* of char *: names and values of the answer's additional headers, in turn */
    gboolean is_over; /* it is answered, or the client has gone: an answer changes nothing */
    const ExchangeStreamClass *stream_class; /* NULL: no stream */
    void *stream_data;
    int64_t ages_moved_ns;  /* see ages_shift() ... */
    gint64 ages_counted_us; /* ... as of this time of the machine; 0: not yet */
    unsigned refs;
};

/* An answer that comes later holds the exchange until then. */
Exchange *exchange_ref(Exchange *self);
void exchange_unref(Exchange *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Exchange, exchange_unref)

/* Returns: (borrowed): a query parameter; %NULL: not given */
const char *exchange_query(const Exchange *self, const char *name);
/* Whether a query parameter is true, in any word of Go's strconv.ParseBool(). */
gboolean exchange_flag(const Exchange *self, const char *name);
/* Adds a header to the answer. */
void exchange_header(Exchange *self, const char *name, const char *value);
/* Adds a warning, which kubectl prints: Warning: 299 - "text" */
void exchange_warn(Exchange *self, const char *text);
void exchange_answer(Exchange *self, unsigned code, const char *content_type, GBytes *body);
void exchange_answer_text(Exchange *self, unsigned code, const char *text);
/* @json: (taken). A Status is sent with its own code. */
void exchange_answer_json(Exchange *self, unsigned code, json_t *json);
void exchange_refuse(Exchange *self, unsigned code, const char *text);
/* @data: (taken): freed with the class's end() */
void exchange_stream(Exchange *self,
                     const char *content_type,
                     const ExchangeStreamClass *class,
                     void *data);
/* Asks for what comes next, as soon as the client can take it. */
void exchange_wake(Exchange *self);
