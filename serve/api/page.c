/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "page.h"

#include <string.h>

#include "status.h"

#define ROOT "/kvolsim/page/"

static const struct {
    const char *end, *type;
} types[] = {
    {".html", "text/html; charset=utf-8"      },
    {".css",  "text/css; charset=utf-8"       },
    {".js",   "text/javascript; charset=utf-8"},
    {".json", "application/json"              },
    {".svg",  "image/svg+xml"                 },
};

/* Returns: (owned): the path of the built-in file; NULL: the page has no such file */
static char *
resource_of(const char *path)
{
    const char *name = strcmp(path, "/") == 0              ? "index.html"
                       : g_str_has_prefix(path, "/page/")  ? path + strlen("/page/")
                       : strcmp(path, "/favicon.ico") == 0 ? "icon.svg"
                                                           : NULL;
    g_autofree char *resource = name != NULL ? g_strconcat(ROOT, name, NULL) : NULL;

    if (name == NULL || strchr(name, '/') != NULL ||
        !g_resources_get_info(resource, 0, NULL, NULL, NULL))
        return NULL;
    return g_steal_pointer(&resource);
}

gboolean
page_has(const char *path, const char *accept)
{
    g_autofree char *resource = resource_of(path);

    return resource != NULL && (strcmp(path, "/") != 0 || strstr(accept, "text/html") != NULL);
}

static void
set_headers(Exchange *exchange, const char *etag)
{
    exchange_header(exchange, "ETag", etag);
    exchange_header(exchange, "Content-Security-Policy",
                    "default-src 'self'; base-uri 'none'; form-action 'none'; "
                    "frame-ancestors 'none'; object-src 'none'");
    exchange_header(exchange, "Referrer-Policy", "no-referrer");
    exchange_header(exchange, "Cross-Origin-Opener-Policy", "same-origin");
}

gboolean
page_answer(Exchange *exchange)
{
    g_autofree char *resource = resource_of(exchange->request.path);
    const char *type = "application/octet-stream";

    if (!page_has(exchange->request.path, exchange->request.accept))
        return FALSE;
    if (strcmp(exchange->request.method, "GET") != 0) {
        exchange_answer_json(exchange, 405, status_method_not_allowed());
        return TRUE;
    }
    g_autoptr(GBytes) body = g_resources_lookup_data(resource, 0, NULL);
    g_autofree char *sum = g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, body);
    g_autofree char *etag = g_strdup_printf("\"%.32s\"", sum);
    set_headers(exchange, etag);
    if (strstr(exchange->request.if_none_match, etag) != NULL) {
        g_autoptr(GBytes) none = g_bytes_new(NULL, 0);
        exchange_answer(exchange, 304, type, none);
        return TRUE;
    }
    for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
        if (g_str_has_suffix(resource, types[i].end))
            type = types[i].type;
    exchange_answer(exchange, 200, type, body);
    return TRUE;
}
