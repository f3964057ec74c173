/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Documents that clients read before anything else: version, health, discovery, OpenAPI. A document
 * is made once, and again when a CustomResourceDefinition changes; a client that has it already, by
 * its ETag, is told so. kubectl before 1.27 and helm want the OpenAPI of version 2, as protobuf. */
#include <string.h>

#include "api-private.h"
#include "serve/api/openapi/openapi.h"
#include "serve/api/protobuf/protobuf.h"

static json_t *
version_document(const ServeApi *self)
{
    int minor = run_scenario(self->options.run)->minor_version;
    g_autofree char *text = g_strdup_printf("%d", minor), *git = g_strdup_printf("v1.%d.0", minor);

    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "major", "1", "minor", text,
                     "gitVersion", git, "gitCommit", "", "gitTreeState", "clean", "buildDate",
                     "1970-01-01T00:00:00Z", "goVersion", "kvolsim", "compiler", "kvolsim",
                     "platform", "linux/amd64");
}

static gboolean
is_health(const char *path)
{
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/livez") == 0 ||
           strcmp(path, "/readyz") == 0 || g_str_has_prefix(path, "/livez/") ||
           g_str_has_prefix(path, "/readyz/") || g_str_has_prefix(path, "/healthz/");
}

typedef enum { DOCUMENT_JSON, DOCUMENT_AGGREGATED, DOCUMENT_PROTOBUF } DocumentForm;
static const char *const document_types[] = {
    [DOCUMENT_JSON] = "application/json",
    [DOCUMENT_AGGREGATED] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    [DOCUMENT_PROTOBUF] = PROTOBUF_OPENAPI_TYPE,
};

static gboolean
wants_aggregated(const Exchange *exchange)
{
    return strstr(exchange->request.accept, "as=APIGroupDiscoveryList") != NULL &&
           strstr(exchange->request.accept, "v=v2;") != NULL;
}

/* Returns: (owned): the document of @path; NULL: there is none */
static json_t *
make_document(const ServeApi *self, const char *path, gboolean is_aggregated)
{
    const ServedApis *apis = serve_store_apis(self->store);
    g_auto(GStrv) parts = g_strsplit(path + 1, "/", 5);
    unsigned n = g_strv_length(parts);

    if (is_aggregated)
        return discovery_aggregated(apis, strcmp(path, "/api") == 0);
    if (strcmp(path, "/version") == 0)
        return version_document(self);
    if (strcmp(path, "/api") == 0)
        return discovery_api_versions(self->options.address);
    if (strcmp(path, "/apis") == 0)
        return discovery_groups(apis);
    if (strcmp(path, "/openapi/v2") == 0)
        return openapi_v2(apis);
    if (strcmp(path, "/openapi/v3") == 0)
        return openapi_v3_index(apis);
    if (g_str_has_prefix(path, "/openapi/v3/"))
        return openapi_v3_document(apis, path + strlen("/openapi/v3/"));
    if (n == 2 && strcmp(parts[0], "apis") == 0)
        return discovery_group(apis, parts[1]);
    if (n == 2 && strcmp(parts[0], "api") == 0)
        return discovery_resources(apis, "", parts[1]);
    if (n == 3 && strcmp(parts[0], "apis") == 0)
        return discovery_resources(apis, parts[1], parts[2]);
    return NULL;
}

/* Whether the path may have a document. */
static gboolean
is_document(const char *path)
{
    g_auto(GStrv) parts = g_strsplit(path, "/", 6);
    unsigned n = g_strv_length(parts);

    return strcmp(path, "/version") == 0 || strcmp(path, "/api") == 0 ||
           strcmp(path, "/apis") == 0 || g_str_has_prefix(path, "/openapi/v") ||
           (n == 3 && (strcmp(parts[1], "apis") == 0 || strcmp(parts[1], "api") == 0)) ||
           (n == 4 && strcmp(parts[1], "apis") == 0);
}

static GBytes *
get_document(ServeApi *self, const char *path, DocumentForm form)
{
    g_autofree char *key = g_strdup_printf("%s %d", path, form);

    if (self->generation != serve_store_generation(self->store)) {
        self->generation = serve_store_generation(self->store);
        g_hash_table_remove_all(self->documents);
    }
    GBytes *text = g_hash_table_lookup(self->documents, key);
    if (text != NULL)
        return text;
    json_auto_t *document = make_document(self, path, form == DOCUMENT_AGGREGATED);
    if (document == NULL)
        return NULL;
    if (form == DOCUMENT_PROTOBUF) {
        text = protobuf_encode_openapi(document);
    } else {
        char *json = json_dumps(document, JSON_COMPACT);
        GString *line = g_string_new(json);
        free(json);
        text = g_string_free_to_bytes(g_string_append_c(line, '\n'));
    }
    g_hash_table_insert(self->documents, g_steal_pointer(&key), text);
    return text;
}

/* kubectl before 1.27 and helm want the OpenAPI of version 2, as protobuf. */
static gboolean
wants_protobuf(const Exchange *exchange, const char *path)
{
    const char *accept = exchange->request.accept;

    return strcmp(path, "/openapi/v2") == 0 && (strstr(accept, PROTOBUF_OPENAPI_TYPE) != NULL ||
                                                strstr(accept, PROTOBUF_OPENAPI_TYPE_OLD) != NULL);
}

static void
answer_health(Exchange *exchange, const char *check)
{
    g_autofree char *text =
        g_strdup_printf("[+]ping ok\n[+]log ok\n[+]etcd ok\n%s check passed\n", check);

    exchange_answer_text(exchange, 200,
                         g_hash_table_contains(exchange->request.query, "verbose") ? text : "ok");
}

/* A client that has the document already is told so. */
static void
answer_document(Exchange *exchange, const char *type, GBytes *text)
{
    g_autofree char *hash = g_compute_checksum_for_bytes(G_CHECKSUM_SHA512, text);
    g_autofree char *upper = g_ascii_strup(hash, -1);
    g_autofree char *tag = g_strdup_printf("\"%s\"", upper);
    g_autoptr(GBytes) nothing = g_bytes_new_static("", 0);

    exchange_header(exchange, "ETag", tag);
    exchange_header(exchange, "Vary", "Accept");
    if (strcmp(exchange->request.if_none_match, tag) == 0)
        exchange_answer(exchange, 304, type, nothing);
    else
        exchange_answer(exchange, 200, type, text);
}

gboolean
documents_answer(ServeApi *self, Exchange *exchange)
{
    const char *path = exchange->request.path;
    gsize length = strlen(path);
    g_autofree char *bare =
        length > 1 && path[length - 1] == '/' ? g_strndup(path, length - 1) : g_strdup(path);
    gboolean is_aggregated =
        (strcmp(bare, "/api") == 0 || strcmp(bare, "/apis") == 0) && wants_aggregated(exchange);

    if (!is_health(bare) && !is_document(bare))
        return FALSE;
    if (strcmp(exchange->request.method, "GET") != 0) {
        exchange_answer_json(exchange, 405, status_method_not_allowed());
        return TRUE;
    }
    if (is_health(bare)) {
        answer_health(exchange, bare + 1);
        return TRUE;
    }
    DocumentForm form = is_aggregated                    ? DOCUMENT_AGGREGATED
                        : wants_protobuf(exchange, bare) ? DOCUMENT_PROTOBUF
                                                         : DOCUMENT_JSON;
    GBytes *text = get_document(self, bare, form);
    if (text == NULL)
        exchange_answer_text(exchange, 404, "404 page not found\n");
    else if (is_aggregated || g_str_has_prefix(bare, "/openapi/"))
        answer_document(exchange, document_types[form], text);
    else
        exchange_answer(exchange, 200, "application/json", text);
    return TRUE;
}
