/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <gio/gio.h>

/* The connections of a server, kept from harming each other: limits their number, closes silent
 * ones and ones whose client has gone, and limits the memory of bodies that are still being read. A
 * client that goes is noticed at once, even while nobody reads from its socket. */
typedef struct Connections Connections;

#define HTTP_CONNECTIONS_MAX 10500
/* A connection that sends nothing, or never ends its request, is closed after so many seconds. */
#define HTTP_IDLE_S 90
#define HTTP_BODY_S 30
/* The most bytes that unfinished bodies may hold together; beyond it the oldest connection is
 * closed. */
#define HTTP_BODIES_MAX (64 * 1024 * 1024)

typedef enum {
    CONNECTION_WAITS,   /* for a request, or the rest of its head */
    CONNECTION_READS,   /* the body */
    CONNECTION_BUSY,    /* the request is answered, in case the client has only stopped sending */
    CONNECTION_STREAMS, /* the answer has no end */
} ConnectionState;

/* Returns: (owned) */
Connections *connections_new(void);
void connections_free(Connections *self);
/* A request begins; nothing of it is read yet. The first one of a connection tells that it is
 * there.
 * @socket: (borrowed) (nullable): told when it goes */
void connections_begin(Connections *self, GSocket *socket);
/* Ignores sockets that it does not know. @socket: (nullable) */
void connections_set(Connections *self, GSocket *socket, ConnectionState state);
/* The answer has no end. @end: called once if the client goes, before another state is set */
void connections_stream(Connections *self, GSocket *socket, void (*end)(void *data), void *data);
/* @length more bytes of a body have come. Returns: the length of the body so far */
gsize connections_read(Connections *self, GSocket *socket, gsize length);
/* Ends a connection, whatever is under way: libsoup meets an error. */
void connections_cut(GSocket *socket);
