/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "serve/api/engines.h"

/* The server: HTTP/1.1 on a socket, for the runs of a server, in the default main context. It keeps
 * others out: requests from pages of other sites, names that only point here (DNS rebinding),
 * callers without the token; and it has limits for everything that a stranger can make grow. */
typedef struct HttpServer HttpServer;

typedef struct {
    const char *host;  /* "127.0.0.1" */
    guint16 port;      /* 0: any free one */
    const char *token; /* callers must have it (Authorization: Bearer); NULL: none */
    const char *tls_certificate, *tls_key; /* files in PEM; NULL: no TLS */
} HttpServerOptions;

/* Returns: whether only this machine can reach @host, an address or "localhost" */
gboolean http_host_is_loopback(const char *host);
/**
 * http_server_new: it answers nothing before http_server_serve()
 * Returns: (owned): %NULL with @error (G_IO_ERROR): the address is taken, or none; the certificate
 * is none
 */
HttpServer *http_server_new(const HttpServerOptions *options, GError **error);
/* @engines: (borrowed): outlive the server */
void http_server_serve(HttpServer *self, ServeEngines *engines);
/* Ends all exchanges. */
void http_server_free(HttpServer *self);
/* Returns: "127.0.0.1:8001": where it listens */
const char *http_server_address(const HttpServer *self);
