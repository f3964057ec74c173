/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HTTP for the API, with libsoup: access, requests, and streams. Requests are refused before their
 * body is read: unknown hosts and origins (a page of another site), a missing or wrong token,
 * bodies that are too large. The token is compared by digest, in constant time. Streams take turns
 * with requests, 32 of them or 2 ms at a time, and a stream whose client has not read the earlier
 * parts gets nothing more. */
#include "http.h"

#include <libsoup/soup.h>
#include <string.h>

#include "connections.h"
#include "serve/api/page.h"
#include "serve/api/status.h"

/* Connections that wait to be taken: a thousand watchers may come at once. */
#define HTTP_BACKLOG 4096
/* At most so many streams are served, and at most this long, before requests have their turn:
 * libsoup sends to all of them in the next round of the main loop. */
#define PUMP_STREAMS 32
#define PUMP_US 2000

struct HttpServer {
    SoupServer *soup;
    ServeEngines *engines; /* NULL: not yet */
    char *host, *address;
    guint8 digest[32]; /* of the token */
    gboolean has_token, has_tls, is_loopback;
    Connections *connections; /* (owned) */
    guint pump;               /* a source; 0: none */
    GQueue awake;             /* of SoupExchange (owned refs): streams with something to send */
    gboolean is_ending;
};

/* ---- Exchanges ---- */

typedef struct {
    Exchange base;
    HttpServer *server;
    SoupServerMessage *message;
    gboolean is_paused, is_streaming, is_writing, is_awake, stream_is_over;
} SoupExchange;

void
exchange_unref(Exchange *self)
{
    SoupExchange *exchange = (SoupExchange *)self;

    if (self == NULL || --self->refs > 0)
        return;
    g_free((char *)self->request.method);
    g_free((char *)self->request.path);
    g_free((char *)self->request.accept);
    g_free((char *)self->request.content_type);
    g_free((char *)self->request.user_agent);
    g_free((char *)self->request.command);
    g_free((char *)self->request.if_none_match);
    g_free((char *)self->request.body);
    g_hash_table_unref(self->request.query);
    g_ptr_array_unref(self->headers);
    g_free(exchange);
}

static void
http_go_on(SoupExchange *self)
{
    if (self->is_paused)
        soup_server_message_unpause(self->message);
    self->is_paused = FALSE;
}

static void
set_headers(SoupExchange *self, const char *content_type)
{
    SoupMessageHeaders *headers = soup_server_message_get_response_headers(self->message);
    const GPtrArray *own = self->base.headers;

    soup_message_headers_replace(headers, "Content-Type", content_type);
    soup_message_headers_replace(headers, "Cache-Control", "no-cache, private");
    soup_message_headers_replace(headers, "X-Content-Type-Options", "nosniff");
    for (unsigned i = 0; i + 1 < own->len; i += 2)
        soup_message_headers_append(headers, own->pdata[i], own->pdata[i + 1]);
}

static void
soup_answer(Exchange *exchange, unsigned code, const char *content_type, GBytes *body)
{
    SoupExchange *self = (SoupExchange *)exchange;

    if (self->message == NULL)
        return;
    soup_server_message_set_status(self->message, code, NULL);
    set_headers(self, content_type);
    if (g_bytes_get_size(body) > 0)
        soup_message_body_append_bytes(soup_server_message_get_response_body(self->message), body);
    soup_message_body_complete(soup_server_message_get_response_body(self->message));
    http_go_on(self);
}

/* Sends what comes next, unless the client has not taken what went before. */
static void
pump_one(SoupExchange *self)
{
    Exchange *exchange = &self->base;
    gboolean is_over = FALSE;

    if (self->message == NULL || exchange->is_over || self->is_writing || self->stream_is_over)
        return;
    SoupMessageBody *body = soup_server_message_get_response_body(self->message);
    g_autoptr(GBytes) bytes = exchange->stream_class->pull(exchange->stream_data, &is_over);
    if (bytes != NULL) {
        soup_message_body_append_bytes(body, bytes);
        self->is_writing = TRUE;
    }
    if (is_over) {
        self->stream_is_over = TRUE;
        soup_message_body_complete(body);
    }
    if (bytes != NULL || is_over)
        soup_server_message_unpause(self->message);
}

/* Streams take turns with requests: thousands of them may have something to send at once. */
static gboolean
on_pump(void *data)
{
    HttpServer *self = data;
    gint64 end = g_get_monotonic_time() + PUMP_US;

    for (unsigned i = 0;
         i < PUMP_STREAMS && !g_queue_is_empty(&self->awake) && g_get_monotonic_time() < end; i++) {
        SoupExchange *exchange = g_queue_pop_head(&self->awake);
        exchange->is_awake = FALSE;
        pump_one(exchange);
        exchange_unref(&exchange->base);
    }
    if (!g_queue_is_empty(&self->awake))
        return G_SOURCE_CONTINUE;
    self->pump = 0;
    return G_SOURCE_REMOVE;
}

static void
soup_wake(Exchange *exchange)
{
    SoupExchange *self = (SoupExchange *)exchange;
    HttpServer *server = self->server;

    if (self->is_awake || self->is_writing)
        return;
    self->is_awake = TRUE;
    g_queue_push_tail(&server->awake, exchange_ref(exchange));
    if (server->pump == 0)
        server->pump = g_idle_add_full(G_PRIORITY_DEFAULT, on_pump, server, NULL);
}

static void
on_wrote_chunk(SoupServerMessage *message, SoupExchange *self)
{
    (void)message;
    if (!self->is_writing)
        return;
    self->is_writing = FALSE;
    soup_wake(&self->base);
}

/* The client has gone. What is left to send is the end, which libsoup fails to, or not. */
static void
end_stream(void *data)
{
    SoupExchange *self = data;

    if (self->message == NULL || self->stream_is_over)
        return;
    self->stream_is_over = TRUE;
    soup_message_body_complete(soup_server_message_get_response_body(self->message));
    soup_server_message_unpause(self->message);
}

static void
soup_stream(Exchange *exchange, const char *content_type)
{
    SoupExchange *self = (SoupExchange *)exchange;
    SoupMessageHeaders *headers = soup_server_message_get_response_headers(self->message);

    self->is_streaming = TRUE;
    connections_stream(self->server->connections, soup_server_message_get_socket(self->message),
                       end_stream, self);
    soup_server_message_set_status(self->message, 200, NULL);
    set_headers(self, content_type);
    soup_message_headers_set_encoding(headers, SOUP_ENCODING_CHUNKED);
    soup_message_body_set_accumulate(soup_server_message_get_response_body(self->message), FALSE);
    g_signal_connect(self->message, "wrote-chunk", G_CALLBACK(on_wrote_chunk), self);
    http_go_on(self);
}

static const ExchangeClass soup_class = {soup_answer, soup_stream, soup_wake};

/* The answer was sent, or the client has gone. */
static void
on_finished(SoupServerMessage *message, SoupExchange *self)
{
    Exchange *exchange = &self->base;

    g_signal_handlers_disconnect_by_data(message, self);
    if (self->is_streaming)
        connections_set(self->server->connections, soup_server_message_get_socket(message),
                        CONNECTION_BUSY);
    exchange->is_over = TRUE;
    self->message = NULL;
    if (exchange->stream_class != NULL)
        exchange->stream_class->end(exchange->stream_data);
    exchange->stream_class = NULL;
    exchange_unref(exchange);
}

/* ---- Who may ask ---- */

static void
http_refuse(SoupServerMessage *message, unsigned code, const char *text)
{
    json_auto_t *status = status_format(code, "%s", text);
    char *json = json_dumps(status, JSON_COMPACT);

    soup_server_message_set_status(message, code, NULL);
    soup_server_message_set_response(message, "application/json", SOUP_MEMORY_COPY, json,
                                     strlen(json));
    soup_message_headers_replace(soup_server_message_get_response_headers(message), "Connection",
                                 "close");
    free(json);
}

/* Refuses a request whose body nobody should wait for, and closes the connection. libsoup has
 * written nothing yet; through TLS the client learns no reason. */
static void
refuse_at_once(const HttpServer *self, SoupServerMessage *message, unsigned code, const char *text)
{
    GSocket *socket = soup_server_message_get_socket(message);
    json_auto_t *status = status_format(code, "%s", text);
    char *json = json_dumps(status, JSON_COMPACT);
    g_autofree char *answer =
        g_strdup_printf("HTTP/1.1 %u Refused\r\nContent-Type: application/json\r\n"
                        "Connection: close\r\nContent-Length: %zu\r\n\r\n%s",
                        code, strlen(json), json);

    free(json);
    http_refuse(message, code, text);
    if (!self->has_tls)
        g_socket_send(socket, answer, strlen(answer), NULL, NULL);
    connections_cut(socket);
}

/* "[::1]:8001" without the port. (owned) */
static char *
host_of(const char *authority)
{
    const char *end = *authority == '[' ? strchr(authority, ']') : strrchr(authority, ':');

    if (end == NULL)
        return g_strdup(authority);
    return *authority == '[' ? g_strndup(authority + 1, (gsize)(end - authority - 1))
                             : g_strndup(authority, (gsize)(end - authority));
}

gboolean
http_host_is_loopback(const char *host)
{
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(host);

    return g_ascii_strcasecmp(host, "localhost") == 0 ||
           (address != NULL && g_inet_address_get_is_loopback(address));
}

/* A page of another site may know a name that leads here; the browser then says that name. */
static gboolean
host_is_known(const HttpServer *self, const char *authority)
{
    g_autofree char *host = host_of(authority);

    return !self->is_loopback || http_host_is_loopback(host) ||
           g_ascii_strcasecmp(host, self->host) == 0;
}

static gboolean
origin_is_own(const char *origin, const char *authority)
{
    const char *at = strstr(origin, "://");

    return at != NULL && g_ascii_strcasecmp(at + strlen("://"), authority) == 0;
}

/* Compares whole digests: the time tells nothing about the token. */
static gboolean
token_is_good(const HttpServer *self, const char *header)
{
    static const char bearer[] = "Bearer ";
    guint8 digest[32];
    gsize length = sizeof digest;
    unsigned differences = 0;

    if (header == NULL || !g_str_has_prefix(header, bearer))
        return FALSE;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(checksum, (const guchar *)header + strlen(bearer), -1);
    g_checksum_get_digest(checksum, digest, &length);
    for (gsize i = 0; i < sizeof digest; i++)
        differences |= (unsigned)(digest[i] ^ self->digest[i]);
    return differences == 0;
}

static gboolean
http_is_number(const char *text)
{
    return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* The page asks for the token itself: its files tell nothing of the run. */
static gboolean
is_page(SoupServerMessage *message)
{
    const char *accept =
        soup_message_headers_get_list(soup_server_message_get_request_headers(message), "Accept");

    return strcmp(soup_server_message_get_method(message), "GET") == 0 &&
           page_has(g_uri_get_path(soup_server_message_get_uri(message)),
                    accept != NULL ? accept : "");
}

static const char too_large[] = "the body of the request is larger than 3 MiB";

/* Refuses what is not to be answered. */
static void
admit(const HttpServer *self, SoupServerMessage *message)
{
    SoupMessageHeaders *headers = soup_server_message_get_request_headers(message);
    const char *authority = soup_message_headers_get_one(headers, "Host");
    const char *origin = soup_message_headers_get_one(headers, "Origin");
    const char *site = soup_message_headers_get_one(headers, "Sec-Fetch-Site");
    const char *encoding = soup_message_headers_get_list(headers, "Transfer-Encoding");
    const char *length = soup_message_headers_get_list(headers, "Content-Length");

    if (encoding != NULL && g_ascii_strcasecmp(encoding, "chunked") != 0)
        refuse_at_once(self, message, 501, "a body is plain or chunked");
    else if (encoding != NULL && length != NULL)
        refuse_at_once(self, message, 400, "a chunked body has no Content-Length");
    else if (length != NULL && !http_is_number(length))
        refuse_at_once(self, message, 400, "a request has one Content-Length");
    else if (soup_message_headers_get_content_length(headers) > SERVE_BODY_MAX)
        refuse_at_once(self, message, 413, too_large);
    else if (authority == NULL || *authority == '\0')
        http_refuse(message, 400, "the request has no Host");
    else if (!host_is_known(self, authority))
        http_refuse(message, 403, "this Host is not served here");
    else if (origin != NULL && !origin_is_own(origin, authority))
        http_refuse(message, 403, "requests of other sites are not served");
    else if (g_strcmp0(site, "cross-site") == 0 || g_strcmp0(site, "same-site") == 0)
        http_refuse(message, 403, "requests of other sites are not served");
    else if (self->has_token && !is_page(message) &&
             !token_is_good(self, soup_message_headers_get_one(headers, "Authorization")))
        http_refuse(message, 401, "Unauthorized");
}

/* ---- Requests ---- */

/* Nothing of the request is read yet. */
static void
on_request_started(SoupServer *soup, SoupServerMessage *message, HttpServer *self)
{
    (void)soup;
    connections_begin(self->connections, soup_server_message_get_socket(message));
}

/* A part of the body is there; nobody has said how much comes, if it is chunked. */
static void
on_got_chunk(SoupServerMessage *message, GBytes *chunk, HttpServer *self)
{
    gsize length = connections_read(self->connections, soup_server_message_get_socket(message),
                                    g_bytes_get_size(chunk));

    if (length > SERVE_BODY_MAX)
        refuse_at_once(self, message, 413, too_large);
}

/* The head of a request is there. */
static void
on_early(
    SoupServer *server, SoupServerMessage *message, const char *path, GHashTable *query, void *data)
{
    HttpServer *self = data;

    (void)server;
    (void)path;
    (void)query;
    g_signal_connect(message, "got-chunk", G_CALLBACK(on_got_chunk), self);
    connections_set(self->connections, soup_server_message_get_socket(message), CONNECTION_READS);
    admit(self, message);
}

static char *
header_of(SoupServerMessage *message, const char *name)
{
    const char *value =
        soup_message_headers_get_list(soup_server_message_get_request_headers(message), name);

    return g_strdup(value != NULL ? value : "");
}

static char *
media_of(SoupServerMessage *message)
{
    const char *type = soup_message_headers_get_content_type(
        soup_server_message_get_request_headers(message), NULL);

    return g_ascii_strdown(type != NULL ? type : "", -1);
}

static void
copy_parameter(void *key, void *value, void *data)
{
    g_hash_table_insert(data, g_strdup(key), g_strdup(value));
}

/* Parameters without a value, as in /readyz?verbose: libsoup leaves them out. */
static void
copy_bare_parameters(const char *query, GHashTable *parameters)
{
    g_auto(GStrv) words = g_strsplit(query != NULL ? query : "", "&", -1);

    for (unsigned i = 0; words[i] != NULL; i++) {
        g_autofree char *name =
            strchr(words[i], '=') == NULL ? g_uri_unescape_string(words[i], NULL) : NULL;
        if (name != NULL && *name != '\0' && g_utf8_validate(name, -1, NULL) &&
            !g_hash_table_contains(parameters, name))
            g_hash_table_insert(parameters, g_steal_pointer(&name), g_strdup(""));
    }
}

/* Returns: (owned): NULL: its path is none */
static SoupExchange *
exchange_new(HttpServer *server, SoupServerMessage *message, GHashTable *query)
{
    GUri *uri = soup_server_message_get_uri(message);
    char *path = g_uri_unescape_string(g_uri_get_path(uri), "/");

    if (path == NULL || !g_utf8_validate(path, -1, NULL)) {
        g_free(path);
        return NULL;
    }
    SoupExchange *self = g_new0(SoupExchange, 1);
    g_autoptr(GBytes) body =
        soup_message_body_flatten(soup_server_message_get_request_body(message));
    gsize length;
    const char *bytes = g_bytes_get_data(body, &length);
    char *copy = g_malloc(length + 1);
    if (length > 0)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    *self = (SoupExchange){
        .base = {.class = &soup_class,
                 .request = {.method = g_strdup(soup_server_message_get_method(message)),
                             .path = path,
                             .query =
                                 g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free),
                             .accept = header_of(message, "Accept"),
                             .content_type = media_of(message),
                             .user_agent = header_of(message, "User-Agent"),
                             .command = header_of(message, "Kubectl-Command"),
                             .if_none_match = header_of(message, "If-None-Match"),
                             .body = copy,
                             .length = length},
                 .headers = g_ptr_array_new_with_free_func(g_free),
                 .refs = 1},
        .server = server,
        .message = message
    };
    if (query != NULL)
        g_hash_table_foreach(query, copy_parameter, self->base.request.query);
    copy_bare_parameters(g_uri_get_query(uri), self->base.request.query);
    return self;
}

static void
on_request(
    SoupServer *soup, SoupServerMessage *message, const char *path, GHashTable *query, void *data)
{
    HttpServer *self = data;
    SoupExchange *exchange = exchange_new(self, message, query);

    (void)soup;
    (void)path;
    connections_set(self->connections, soup_server_message_get_socket(message), CONNECTION_BUSY);
    if (exchange == NULL || self->engines == NULL) {
        exchange_unref((Exchange *)exchange);
        http_refuse(message, exchange == NULL ? 400 : 503, "this request cannot be answered");
        return;
    }
    g_signal_connect(message, "finished", G_CALLBACK(on_finished), exchange);
    serve_engines_handle(self->engines, &exchange->base);
    if (!exchange->base.is_over && !exchange->is_streaming) {
        exchange->is_paused = TRUE;
        soup_server_message_pause(message);
    }
}

static void
on_request_finished(SoupServer *soup, SoupServerMessage *message, void *data)
{
    const HttpServer *self = data;

    (void)soup;
    connections_set(self->connections, soup_server_message_get_socket(message), CONNECTION_WAITS);
}

/* ---- The server ---- */

static gboolean
listen_at(HttpServer *self, const HttpServerOptions *options, GError **error)
{
    g_autoptr(GInetAddress) address = g_inet_address_new_from_string(
        g_ascii_strcasecmp(options->host, "localhost") == 0 ? "127.0.0.1" : options->host);

    if (address == NULL) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_INVALID_ARGUMENT, "%s is no address",
                    options->host);
        return FALSE;
    }
    g_autoptr(GSocketAddress) wanted = g_inet_socket_address_new(address, options->port);
    g_autoptr(GSocket) socket = g_socket_new(g_inet_address_get_family(address),
                                             G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, error);
    if (socket == NULL || !g_socket_bind(socket, wanted, TRUE, error))
        return FALSE;
    g_socket_set_listen_backlog(socket, HTTP_BACKLOG);
    if (!g_socket_listen(socket, error) ||
        !soup_server_listen_socket(self->soup, socket,
                                   options->tls_certificate != NULL ? SOUP_SERVER_LISTEN_HTTPS : 0,
                                   error))
        return FALSE;
    /* soup_server_get_uris() knows it, too, and leaks it */
    g_autoptr(GSocketAddress) local = g_socket_get_local_address(socket, error);
    if (local == NULL)
        return FALSE;
    unsigned port = g_inet_socket_address_get_port(G_INET_SOCKET_ADDRESS(local));
    gboolean is_v6 = g_inet_address_get_family(address) == G_SOCKET_FAMILY_IPV6;
    self->host = g_strdup(options->host);
    self->is_loopback = g_inet_address_get_is_loopback(address);
    self->address = g_strdup_printf(is_v6 ? "[%s]:%u" : "%s:%u", options->host, port);
    return TRUE;
}

static void
set_token(HttpServer *self, const char *token)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    gsize length = sizeof self->digest;

    if (token == NULL)
        return;
    self->has_token = TRUE;
    g_checksum_update(checksum, (const guchar *)token, -1);
    g_checksum_get_digest(checksum, self->digest, &length);
}

HttpServer *
http_server_new(const HttpServerOptions *options, GError **error)
{
    HttpServer *self = g_new0(HttpServer, 1);
    gboolean is_good = TRUE;

    *self = (HttpServer){
        .soup = soup_server_new("server-header", "kvolsim", NULL),
        .connections = connections_new(),
        .awake = G_QUEUE_INIT,
    };
    set_token(self, options->token);
    if (options->tls_certificate != NULL) {
        self->has_tls = TRUE;
        g_autoptr(GTlsCertificate) certificate =
            g_tls_certificate_new_from_files(options->tls_certificate, options->tls_key, error);
        is_good = certificate != NULL;
        if (!is_good)
            g_prefix_error(error, "--tls-cert %s, --tls-key %s: ", options->tls_certificate,
                           options->tls_key);
        else
            soup_server_set_tls_certificate(self->soup, certificate);
    }
    soup_server_add_early_handler(self->soup, NULL, on_early, self, NULL);
    soup_server_add_handler(self->soup, NULL, on_request, self, NULL);
    g_signal_connect(self->soup, "request-started", G_CALLBACK(on_request_started), self);
    g_signal_connect(self->soup, "request-finished", G_CALLBACK(on_request_finished), self);
    if (!is_good || !listen_at(self, options, error)) {
        http_server_free(self);
        return NULL;
    }
    return self;
}

void
http_server_serve(HttpServer *self, ServeEngines *engines)
{
    self->engines = engines;
}

void
http_server_free(HttpServer *self)
{
    if (self == NULL)
        return;
    soup_server_disconnect(self->soup);
    g_object_unref(self->soup);
    connections_free(self->connections);
    if (self->pump != 0)
        g_source_remove(self->pump);
    g_queue_clear_full(&self->awake, (GDestroyNotify)exchange_unref);
    g_free(self->host);
    g_free(self->address);
    g_free(self);
}

const char *
http_server_address(const HttpServer *self)
{
    return self->address;
}
