/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies of requests: JSON, YAML or protobuf by the content type, to one JSON value. A fault is
 * told in the words of the server's decoder, with the beginning of the body. The depth of brackets
 * is counted before the parser runs. Unknown and duplicate fields are refused, warned of or
 * ignored, by fieldValidation. */
#include <string.h>

#include "api-private.h"
#include "models/api/schema/json-syntax.h"
#include "models/api/schema/strict-fields.h"
#include "run/files/file-fault.h"
#include "serve/api/protobuf/protobuf.h"

/* The deepest that objects and lists may be in each other; jansson's own limit is higher. */
#define DEPTH_MAX 200
/* How much of a body an error message shows. */
#define SUMMARY_MAX 30

/* Whether brackets are nested too deep, outside of strings. */
static gboolean
is_too_deep(const char *text, gsize length)
{
    unsigned depth = 0;
    gboolean in_string = FALSE;

    for (gsize i = 0; i < length; i++) {
        if (in_string) {
            if (text[i] == '\\')
                i++;
            else if (text[i] == '"')
                in_string = FALSE;
        } else if (text[i] == '"') {
            in_string = TRUE;
        } else if ((text[i] == '{' || text[i] == '[') && ++depth > DEPTH_MAX) {
            return TRUE;
        } else if ((text[i] == '}' || text[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return FALSE;
}

/* Returns: (owned): NULL with @fault */
static json_t *
read_yaml(const char *text, gsize length, char **fault)
{
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(GPtrArray) faults = file_faults_new();

    if (yaml_read(positions, "body", text, length, faults, documents) && documents->len == 1)
        return json_incref(documents->pdata[0]);
    const FileFault *first = faults->len > 0 ? faults->pdata[0] : NULL;
    *fault = first == NULL ? g_strdup("the body must be one document")
                           : g_strdup_printf("line %u: %s", first->line, first->message);
    return NULL;
}

static json_t *
refuse_type(void)
{
    return status_format(415,
                         "the body of the request was in an unknown format - accepted media types "
                         "include: application/json, application/yaml, "
                         "application/vnd.kubernetes.protobuf");
}

/* Returns: (owned): NULL with @fault */
static json_t *
body_read_json(const ExchangeRequest *request, char **fault)
{
    json_error_t error;
    json_t *json =
        json_loadb(request->body, request->length, JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);

    if (json == NULL)
        *fault = json_syntax_fault(request->body, request->length);
    if (json == NULL && *fault == NULL) /* JSON for Go */
        *fault = g_strdup(error.text);
    return json;
}

/* Returns: (owned): NULL with @fault or @refusal */
static json_t *
read_protobuf(const ExchangeRequest *request, char **fault, json_t **refusal)
{
    g_autoptr(GError) error = NULL;
    json_t *json = protobuf_decode((const guint8 *)request->body, request->length, &error);

    if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED))
        *refusal = refuse_type();
    else if (json == NULL)
        *fault = g_strdup(error->message);
    return json;
}

/* `curl -d` names this type unless it is told another: kvolsim's own paths take it. */
static gboolean
is_plain_curl(const ExchangeRequest *request)
{
    return strcmp(request->content_type, "application/x-www-form-urlencoded") == 0 &&
           g_str_has_prefix(request->path, "/kvolsim/");
}

/* The begin of a body, in an error message (summarizeData() in k8s.io/apiserver's handlers). */
static char *
summary_of(const ExchangeRequest *request)
{
    gsize shown = MIN(request->length, SUMMARY_MAX);
    GString *text = g_string_new(NULL);

    if (request->body[0] == '{')
        g_string_append_len(text, request->body, (gssize)shown);
    else
        for (gsize i = 0; i < shown; i++)
            g_string_append_printf(text, "%02x", (unsigned)(unsigned char)request->body[i]);
    if (shown < request->length)
        g_string_append(text, " ...");
    return g_string_free(text, FALSE);
}

/* Returns: (owned): a refusal of a body that cannot be read, in the words for the type that was
 * expected */
static json_t *
refuse_body(const ExchangeRequest *request, const char *kind, const char *fault)
{
    const char *type = request->content_type;
    gboolean is_patch = strcmp(request->method, "PATCH") == 0;

    if (is_patch && strcmp(type, "application/strategic-merge-patch+json") == 0)
        return status_format(400, "%s", fault);
    if (is_patch && g_str_has_suffix(type, "patch+json"))
        return status_format(400, "error decoding patch: %s", fault);
    if (kind == NULL || (*type != '\0' && !g_str_has_suffix(type, "json")))
        return status_format(400, "the body of the request cannot be read: %s", fault);
    g_autofree char *summary = summary_of(request);
    return status_format(400,
                         "the object provided is unrecognized (must be of type %s): couldn't get "
                         "version/kind; json parse error: %s (%s)",
                         kind, fault, summary);
}

json_t *
body_read(const Exchange *exchange, const char *kind, json_t **refusal)
{
    const ExchangeRequest *request = &exchange->request;
    const char *type = request->content_type;
    g_autofree char *fault = NULL;
    json_t *json = NULL;

    if (request->length == 0)
        return json_object();
    if (strcmp(type, "application/vnd.kubernetes.protobuf") == 0)
        json = read_protobuf(request, &fault, refusal);
    else if (is_too_deep(request->body, request->length))
        fault = g_strdup_printf("it is nested more than %d deep", DEPTH_MAX);
    else if (strcmp(type, "application/yaml") == 0 ||
             strcmp(type, "application/apply-patch+yaml") == 0)
        json = read_yaml(request->body, request->length, &fault);
    else if (*type == '\0' || g_str_has_suffix(type, "json") || strcmp(type, "*/*") == 0 ||
             is_plain_curl(request))
        json = body_read_json(request, &fault);
    else
        *refusal = refuse_type();
    if (fault != NULL)
        *refusal = refuse_body(request, kind, fault);
    return json;
}

char *
body_check_fields(const Target *target, json_t *body, gboolean is_text)
{
    const ExchangeRequest *request = &target->exchange->request;
    int minor = serve_store_apis(target->api->store)->minor;
    const char *mode = exchange_query(target->exchange, "fieldValidation");
    g_autoptr(GPtrArray) faults = g_ptr_array_new_with_free_func(g_free);

    if (target->type == NULL || g_strcmp0(mode, "Ignore") == 0) {
        strict_prune(target->type, minor, body);
        return NULL;
    }
    if (is_text && g_str_has_suffix(request->content_type, "json"))
        strict_fields(target->type, minor, request->body, request->length, faults);
    else
        strict_unknown_fields(target->type, minor, body, faults);
    strict_prune(target->type, minor, body);
    if (g_strcmp0(mode, "Strict") == 0)
        return faults->len > 0 ? strict_error(faults) : NULL;
    for (unsigned i = 0; i < faults->len; i++)
        exchange_warn(target->exchange, faults->pdata[i]);
    return NULL;
}

json_t *
body_fault(const Target *target, const json_t *body)
{
    const ExchangeRequest *request = &target->exchange->request;
    g_autofree char *fault = NULL;

    if (json_is_object(body))
        return NULL;
    fault = g_strdup_printf(
        "json: cannot unmarshal %s into Go value of type %s", strict_json_word(body),
        strcmp(request->method, "PATCH") == 0
            ? "map[string]interface {}"
            : "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; "
              "Kind string \"json:\\\"kind,omitempty\\\"\" }");
    return refuse_body(request, target->row->kind, fault);
}
