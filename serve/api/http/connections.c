/* SPDX-License-Identifier: GPL-3.0-or-later */
/* libsoup tells neither of a client that goes while its answer is made or streamed, nor does
 * libsoup 3.2 close each socket whose client has gone. So one epoll descriptor has all sockets,
 * edge by edge, and wakes the main loop for those alone that hang up: thousands of silent watchers
 * cost nothing. */
#include "connections.h"

#include <glib-unix.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SWEEP_S 5
#define EVENTS_PER_WAIT 64

typedef struct {
    GSocket *socket; /* (borrowed): told when it goes */
    ConnectionState state;
    gint64 since;            /* us */
    gsize n_body;            /* bytes of the body so far; CONNECTION_READS */
    gboolean has_hung_up;    /* the client sends no more */
    void (*end)(void *data); /* CONNECTION_STREAMS: ends the stream; NULL: it was called */
    void *data;
} HttpConnection;

struct Connections {
    GHashTable *connections; /* GSocket -> Connection (owned) */
    gsize n_bodies;          /* bytes of all unfinished bodies */
    int epoll;
    guint sweep, hang_ups; /* sources; 0: none */
};

/* ---- Ends ---- */

static gboolean
close_socket(void *data)
{
    g_socket_close(data, NULL);
    return G_SOURCE_REMOVE;
}

/* Not before libsoup has returned from its signal; a shutdown alone would let the client go on
 * sending. */
void
connections_cut(GSocket *socket)
{
    g_socket_shutdown(socket, FALSE, TRUE, NULL);
    g_idle_add_full(G_PRIORITY_HIGH, close_socket, g_object_ref(socket), g_object_unref);
}

static void
forget_body(Connections *self, HttpConnection *connection)
{
    self->n_bodies -= connection->n_body;
    connection->n_body = 0;
}

static void
on_socket_gone(void *data, GObject *socket)
{
    Connections *self = data;
    HttpConnection *connection = g_hash_table_lookup(self->connections, socket);

    if (connection != NULL)
        forget_body(self, connection);
    g_hash_table_remove(self->connections, socket);
}

/* libsoup 3.2 may keep closed sockets for ever. */
static void
forget_closed(Connections *self)
{
    GHashTableIter iter;
    void *value;

    g_hash_table_iter_init(&iter, self->connections);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        HttpConnection *connection = value;
        if (!g_socket_is_closed(connection->socket))
            continue;
        forget_body(self, connection);
        g_object_weak_unref(G_OBJECT(connection->socket), on_socket_gone, self);
        g_hash_table_iter_remove(&iter);
    }
}

/* ---- Clients that go ---- */

/* Whether the client has gone, and all that it sent is read. */
static gboolean
is_at_end(const HttpConnection *self)
{
    char byte;

    return recv(g_socket_get_fd(self->socket), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* libsoup does not look at the socket of a stream that has nothing to send. */
static void
end_stream(HttpConnection *self)
{
    void (*end)(void *data) = g_steal_pointer(&self->end);

    if (end != NULL)
        end(self->data);
}

static void
end_if_hung_up(HttpConnection *self)
{
    if (!self->has_hung_up || self->state == CONNECTION_BUSY)
        return;
    if (self->state == CONNECTION_STREAMS)
        end_stream(self);
    else if (is_at_end(self))
        connections_cut(self->socket);
}

static gboolean
on_hang_ups(int fd, GIOCondition condition, void *data)
{
    Connections *self = data;
    struct epoll_event events[EVENTS_PER_WAIT];
    int n = epoll_wait(fd, events, EVENTS_PER_WAIT, 0);

    (void)condition;
    for (int i = 0; i < n; i++) {
        HttpConnection *connection = g_hash_table_lookup(self->connections, events[i].data.ptr);
        if (connection == NULL)
            continue;
        connection->has_hung_up = TRUE;
        if ((events[i].events & EPOLLERR) != 0 && connection->state != CONNECTION_STREAMS)
            connections_cut(connection->socket);
        else /* what is being sent meets the error itself */
            end_if_hung_up(connection);
    }
    return G_SOURCE_CONTINUE;
}

static gboolean
on_sweep(void *data)
{
    Connections *self = data;
    gint64 now = g_get_monotonic_time();
    GHashTableIter iter;
    void *value;

    forget_closed(self);
    g_hash_table_iter_init(&iter, self->connections);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        HttpConnection *connection = value;
        gint64 limit_s = connection->state == CONNECTION_WAITS ? HTTP_IDLE_S : HTTP_BODY_S;
        if (connection->state <= CONNECTION_READS &&
            now - connection->since > limit_s * G_USEC_PER_SEC)
            connections_cut(connection->socket);
        else
            end_if_hung_up(connection);
    }
    return G_SOURCE_CONTINUE;
}

/* ---- Limits ---- */

/* Makes room: clients that have gone, and wait for nothing but their answer. */
static void
cut_hung_up(Connections *self)
{
    GHashTableIter iter;
    void *value;

    forget_closed(self);
    if (g_hash_table_size(self->connections) < HTTP_CONNECTIONS_MAX)
        return;
    g_hash_table_iter_init(&iter, self->connections);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        const HttpConnection *connection = value;
        if (connection->has_hung_up)
            connections_cut(connection->socket);
    }
}

/* A slow sender holds memory; the newest body may yet end. */
static void
cut_oldest_body(Connections *self)
{
    GHashTableIter iter;
    void *value;
    HttpConnection *oldest = NULL;

    g_hash_table_iter_init(&iter, self->connections);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        HttpConnection *connection = value;
        if (connection->n_body > 0 && (oldest == NULL || connection->since < oldest->since))
            oldest = connection;
    }
    if (oldest == NULL)
        return;
    forget_body(self, oldest);
    connections_cut(oldest->socket);
}

/* ---- Requests ---- */

void
connections_begin(Connections *self, GSocket *socket)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = socket};

    if (socket == NULL || g_hash_table_contains(self->connections, socket))
        return;
    if (g_hash_table_size(self->connections) >= HTTP_CONNECTIONS_MAX)
        cut_hung_up(self);
    if (g_hash_table_size(self->connections) >= HTTP_CONNECTIONS_MAX) {
        connections_cut(socket);
        return;
    }
    HttpConnection *connection = g_new0(HttpConnection, 1);
    *connection = (HttpConnection){.socket = socket, .since = g_get_monotonic_time()};
    g_hash_table_insert(self->connections, socket, connection);
    g_object_weak_ref(G_OBJECT(socket), on_socket_gone, self);
    epoll_ctl(self->epoll, EPOLL_CTL_ADD, g_socket_get_fd(socket), &event);
}

void
connections_set(Connections *self, GSocket *socket, ConnectionState state)
{
    HttpConnection *connection = g_hash_table_lookup(self->connections, socket);

    if (connection == NULL)
        return;
    forget_body(self, connection);
    connection->state = state;
    connection->end = NULL;
    connection->since = g_get_monotonic_time();
    if (state != CONNECTION_READS) /* the rest of the body may be there already */
        end_if_hung_up(connection);
}

void
connections_stream(Connections *self, GSocket *socket, void (*end)(void *data), void *data)
{
    HttpConnection *connection = g_hash_table_lookup(self->connections, socket);

    connections_set(self, socket, CONNECTION_STREAMS);
    if (connection == NULL)
        return;
    connection->end = end;
    connection->data = data;
}

gsize
connections_read(Connections *self, GSocket *socket, gsize length)
{
    HttpConnection *connection = g_hash_table_lookup(self->connections, socket);

    if (connection == NULL)
        return 0;
    connection->n_body += length;
    self->n_bodies += length;
    gsize n_body = connection->n_body;
    while (self->n_bodies > HTTP_BODIES_MAX)
        cut_oldest_body(self);
    return n_body;
}

/* ---- The whole ---- */

Connections *
connections_new(void)
{
    Connections *self = g_new0(Connections, 1);

    self->connections = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self->epoll >= 0)
        self->hang_ups = g_unix_fd_add(self->epoll, G_IO_IN, on_hang_ups, self);
    self->sweep = g_timeout_add_seconds(SWEEP_S, on_sweep, self);
    return self;
}

static void
forget_connection(void *key, void *value, void *data)
{
    (void)value;
    g_object_weak_unref(key, on_socket_gone, data);
}

void
connections_free(Connections *self)
{
    g_hash_table_foreach(self->connections, forget_connection, self);
    g_hash_table_unref(self->connections);
    g_source_remove(self->sweep);
    if (self->hang_ups != 0)
        g_source_remove(self->hang_ups);
    if (self->epoll >= 0)
        close(self->epoll);
    g_free(self);
}
