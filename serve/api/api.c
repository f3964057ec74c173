/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes of the Kubernetes API: from a path and a method to the resource, its subresource and the
 * function that answers, and the forms of answers (JSON, YAML, protobuf, tables, metadata only)
 * that the client accepts. The verbs of a resource follow from the same table as discovery. A
 * server that shows the past refuses requests that would change it. Subresources that need a
 * running container are refused with a reason. */
#include <string.h>

#include "api-private.h"
#include "complete.h"
#include "made/made.h"
#include "models/api/fields.h"
#include "page.h"
#include "run/kubectl/print.h"
#include "run/results/snapshot.h"
#include "serve/api/openapi/custom.h"
#include "serve/api/protobuf/protobuf.h"
#include "table.h"
#include "versions.h"

/* ---- Targets ---- */

Target *
target_copy(const Target *self)
{
    Target *copy = g_new(Target, 1);

    *copy = *self;
    copy->exchange = exchange_ref(self->exchange);
    copy->api_version = g_strdup(self->api_version);
    copy->namespace = g_strdup(self->namespace);
    copy->name = g_strdup(self->name);
    copy->subresource = g_strdup(self->subresource);
    copy->qualified = g_strdup(self->qualified);
    copy->custom = custom_resources_ref(self->custom);
    return copy;
}

static void
target_clear(Target *self)
{
    exchange_unref(self->exchange);
    g_free(self->api_version);
    g_free(self->namespace);
    g_free(self->name);
    g_free(self->subresource);
    g_free(self->qualified);
    custom_resources_unref(self->custom);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Target, target_clear)

void
target_free(Target *self)
{
    if (self == NULL)
        return;
    target_clear(self);
    g_free(self);
}

StatusSubject
target_subject(const Target *self)
{
    return (StatusSubject){self->row->group, self->row->resource, self->row->kind, self->name};
}

gboolean
target_is(const Target *self, const char *subresource)
{
    return g_strcmp0(self->subresource, subresource) == 0;
}

void
target_set_version(const Target *self, json_t *object)
{
    versions_from_stored(self->row, object);
    json_object_set_new(object, "apiVersion", json_string(self->api_version));
    json_object_set_new(object, "kind", json_string(self->row->kind));
    if (ages_are_the_clients(self))
        ages_shift(self, object);
}

static void
answer_yaml(const Target *self, unsigned code, json_t *object)
{
    GString *text = g_string_new(NULL);

    print_yaml(text, object);
    g_autoptr(GBytes) body = g_string_free_to_bytes(text);
    exchange_answer(self->exchange, code, "application/yaml", body);
}

void
target_send(const Target *self, unsigned code, json_t *object)
{
    g_autoptr(GBytes) body = self->media == MEDIA_PROTOBUF ? protobuf_encode(object) : NULL;
    unsigned own = status_code(object);

    if (body == NULL) {
        exchange_answer_json(self->exchange, code, object);
        return;
    }
    json_decref(object);
    exchange_answer(self->exchange, own != 200 ? own : code, PROTOBUF_TYPE, body);
}

void
target_answer(const Target *self, unsigned code, json_t *object)
{
    static const ApiResource scale = {.group = "autoscaling", .resource = "scale", .kind = "Scale"};
    const ApiResource *row = target_is(self, "scale") ? &scale : self->row;
    json_auto_t *taken = object;
    const char *kind = json_path_string(taken, "kind");
    TableInclude include;

    complete_templates(object); /* a dry run's object has none */
    if (g_strcmp0(kind, "Status") == 0) {
        target_send(self, code, json_incref(taken));
    } else if (self->form == FORM_TABLE && g_strcmp0(kind, row->kind) == 0 &&
               table_include_parse(exchange_query(self->exchange, "includeObject"), &include)) {
        json_t *table = table_new(row, self->form_version, TRUE);
        json_t *version = json_object_get(json_object_get(taken, "metadata"), "resourceVersion");
        json_object_set(json_object_get(table, "metadata"), "resourceVersion", version);
        table_add(table, row, taken, include, snapshot_now(self->api->options.run));
        exchange_answer_json(self->exchange, code, table);
    } else if (self->form == FORM_METADATA) {
        target_send(self, code, table_metadata(taken));
    } else if (self->media == MEDIA_YAML) {
        answer_yaml(self, code, taken);
    } else {
        target_send(self, code, json_incref(taken));
    }
}

void
target_refuse(const Target *self, json_t *status)
{
    target_send(self, 500, status);
}

/* ---- What is accepted ---- */

static gboolean
media_of(const char *name, AnswerMedia *media)
{
    static const struct {
        const char *name;
        AnswerMedia media;
    } rows[] = {
        {"application/json", MEDIA_JSON    },
        {"application/*",    MEDIA_JSON    },
        {"*/*",              MEDIA_JSON    },
        {"application/yaml", MEDIA_YAML    },
        {PROTOBUF_TYPE,      MEDIA_PROTOBUF},
    };

    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_ascii_strcasecmp(rows[i].name, name) == 0) {
            *media = rows[i].media;
            return TRUE;
        }
    return FALSE;
}

/* One of the media types of an Accept header. */
static gboolean
accepts(Target *self, const char *media)
{
    g_auto(GStrv) parts = g_strsplit(media, ";", -1);
    const char *as = NULL;

    for (unsigned i = 0; parts[i] != NULL; i++) {
        g_strstrip(parts[i]);
        if (g_str_has_prefix(parts[i], "as="))
            as = parts[i] + strlen("as=");
    }
    if (parts[0] == NULL)
        return FALSE;
    if (!media_of(parts[0], &self->media))
        return FALSE;
    self->form_version =
        strstr(media, "v=v1beta1") != NULL ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
    self->form = as == NULL                                           ? FORM_OBJECT
                 : strcmp(as, "Table") == 0                           ? FORM_TABLE
                 : g_str_has_prefix(as, "PartialObjectMetadata") != 0 ? FORM_METADATA
                                                                      : FORM_OBJECT;
    if (self->media == MEDIA_PROTOBUF && self->form != FORM_METADATA)
        return as == NULL && protobuf_has(self->type);
    return as == NULL || self->form != FORM_OBJECT;
}

/* Returns: FALSE: no form of the answer is accepted */
static gboolean
negotiate(Target *self)
{
    const char *header = self->exchange->request.accept;
    g_auto(GStrv) media = g_strsplit(*header == '\0' ? "*/*" : header, ",", -1);

    for (unsigned i = 0; media[i] != NULL; i++)
        if (accepts(self, g_strstrip(media[i])))
            return TRUE;
    return FALSE;
}

/* ---- Ways ---- */

/* Subresources that need a running container. */
static const struct {
    const char *name, *message;
} not_modelled[] = {
    {"log",         "no container runs in a simulated pod, so it has no log"              },
    {"exec",        "no container runs in a simulated pod: nothing can be executed in it" },
    {"attach",      "no container runs in a simulated pod: there is nothing to attach to" },
    {"portforward", "no container runs in a simulated pod: no port can be forwarded to it"},
    {"proxy",       "nothing listens on simulated pods, nodes and services"               },
};

static gboolean
has_subresource(const Target *self)
{
    g_auto(GStrv) list =
        api_resource_subresources(self->row, serve_store_apis(self->api->store)->minor);

    return g_strv_contains((const char *const *)list, self->subresource);
}

/* Returns: TRUE: it is answered */
static gboolean
refuse_subresource(const Target *self)
{
    if (self->subresource == NULL)
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(not_modelled); i++)
        if (strcmp(not_modelled[i].name, self->subresource) == 0 && has_subresource(self)) {
            target_refuse(self, status_format(501, "%s", not_modelled[i].message));
            return TRUE;
        }
    if (has_subresource(self))
        return FALSE;
    target_refuse(self, status_of(status_format(404, "the server could not find the requested "
                                                     "resource"),
                                  &(StatusSubject){"", "", "", NULL}));
    return TRUE;
}

/* Discovery tells what a resource takes; a collection is deleted in one namespace at a time. */
static gboolean
is_allowed(const Target *self)
{
    static const struct {
        const char *method, *of_one, *of_all;
    } verbs[] = {
        {"GET",    "get",    "list"            },
        {"POST",   "create", "create"          },
        {"PUT",    "update", NULL              },
        {"PATCH",  "patch",  NULL              },
        {"DELETE", "delete", "deletecollection"},
    };
    const char *method = self->exchange->request.method, *verb = NULL;
    gboolean is_one = self->name != NULL;

    if (self->subresource != NULL)
        return TRUE; /* these have verbs of their own */
    for (gsize i = 0; i < G_N_ELEMENTS(verbs); i++)
        if (strcmp(verbs[i].method, method) == 0)
            verb = is_one ? verbs[i].of_one : verbs[i].of_all;
    if (!is_one && self->row->namespaced && *self->namespace == '\0' &&
        strcmp(method, "DELETE") == 0)
        return FALSE;
    g_auto(GStrv) words = g_strsplit(self->row->verbs, " ", -1);
    return verb != NULL && g_strv_contains((const char *const *)words, verb);
}

static void
answer_collection(const Target *self)
{
    const char *method = self->exchange->request.method;

    if (strcmp(method, "GET") == 0 && exchange_flag(self->exchange, "watch"))
        watch_begin(self);
    else if (strcmp(method, "GET") == 0)
        read_list(self);
    else if (strcmp(method, "POST") == 0 && strcmp(self->row->resource, "bindings") == 0)
        write_binding(self);
    else if (strcmp(method, "POST") == 0)
        write_create(self);
    else if (strcmp(method, "DELETE") == 0)
        write_delete_collection(self);
    else
        target_refuse(self, status_method_not_allowed());
}

static void
answer_object(const Target *self)
{
    const char *method = self->exchange->request.method;

    if (strcmp(method, "GET") == 0 && exchange_flag(self->exchange, "watch"))
        watch_begin(self);
    else if (strcmp(method, "GET") == 0)
        read_object(self);
    else if (strcmp(method, "POST") == 0 && target_is(self, "eviction"))
        write_eviction(self);
    else if (strcmp(method, "POST") == 0 && target_is(self, "token"))
        token_create(self);
    else if (strcmp(method, "POST") == 0 && target_is(self, "binding"))
        write_binding(self);
    else if (strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0)
        write_change(self);
    else if (strcmp(method, "DELETE") == 0 && self->subresource == NULL)
        write_delete(self);
    else
        target_refuse(self, status_method_not_allowed());
}

/* @parts: behind the version: "namespaces", "shop", "pods", "web-0", "status". Returns: FALSE: it
 * is no path of a resource */
static gboolean
read_path(Target *self, const char *group, const char *version, char **parts)
{
    unsigned n = g_strv_length(parts);
    gboolean in_namespace = n >= 3 && strcmp(parts[0], "namespaces") == 0 &&
                            strcmp(parts[2], "status") != 0 && strcmp(parts[2], "finalize") != 0;
    char **rest = in_namespace ? parts + 2 : parts;

    if (rest[0] == NULL)
        return FALSE;
    self->kind = serve_store_kind(self->api->store, group, version, rest[0], &self->row);
    if (self->kind == NULL || g_strv_length(rest) > 3 || (in_namespace && !self->row->namespaced) ||
        (rest[1] != NULL && *rest[1] == '\0'))
        return FALSE;
    if (rest[1] != NULL && self->row->namespaced && !in_namespace)
        return FALSE;
    self->custom = custom_resources_ref(serve_store_apis(self->api->store)->custom);
    self->api_version = store_api_version(group, version);
    self->type = self->row->custom != NULL ? self->row->type
                                           : schema_find(self->api_version, self->row->kind);
    self->namespace = g_strdup(in_namespace ? parts[1] : "");
    self->name = g_strdup(rest[1]);
    self->subresource = rest[1] != NULL ? g_strdup(rest[2]) : NULL;
    return TRUE;
}

static void
refuse_unknown(Exchange *exchange)
{
    exchange_answer_json(exchange, 404,
                         status_of(status_format(404, "the server could not find the requested "
                                                      "resource"),
                                   &(StatusSubject){"", "", "", NULL}));
}

static void
answer_resource(ServeApi *self, Exchange *exchange, char **parts)
{
    gboolean is_legacy = strcmp(parts[0], "api") == 0;
    unsigned n = g_strv_length(parts), n_head = is_legacy ? 2 : 3;
    g_auto(Target) target = {.api = self, .exchange = exchange_ref(exchange)};

    if (kubelet_answer(self, exchange, parts))
        return;
    if (n <= n_head ||
        !read_path(&target, is_legacy ? "" : parts[1], parts[n_head - 1], parts + n_head)) {
        refuse_unknown(exchange);
        return;
    }
    if (!negotiate(&target)) {
        target_refuse(&target, status_format(406, "only the following media types are accepted: "
                                                  "application/json, application/yaml, "
                                                  "application/vnd.kubernetes.protobuf"));
        return;
    }
    if (refuse_subresource(&target) || review_answer(&target))
        return;
    if (strcmp(target.row->resource, "endpoints") == 0 ||
        strcmp(target.row->resource, "endpointslices") == 0)
        endpoints_refresh(self);
    if (!is_allowed(&target))
        target_refuse(&target, status_method_not_allowed());
    else if (target.name == NULL)
        answer_collection(&target);
    else
        answer_object(&target);
}

/* Whether a request would change the past, or wait for it to change. */
static gboolean
changes_past(const Exchange *exchange)
{
    const char *method = exchange->request.method, *path = exchange->request.path;

    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return exchange_flag(exchange, "watch");
    return strcmp(path, "/kvolsim/v1/clock") != 0 && strcmp(path, "/kvolsim/v1/read") != 0;
}

void
serve_api_handle(ServeApi *self, Exchange *exchange)
{
    const char *path = exchange->request.path;
    g_auto(GStrv) parts = g_strsplit(path + (*path == '/'), "/", 12);

    if (self->options.is_past && changes_past(exchange)) {
        exchange_refuse(exchange, 403,
                        "the past cannot be changed; POST /kvolsim/v1/branch makes it the present");
        return;
    }
    if (page_answer(exchange) || documents_answer(self, exchange) || own_answer(self, exchange) ||
        paths_answer(self, exchange))
        return;
    if (parts[0] != NULL && (strcmp(parts[0], "api") == 0 || strcmp(parts[0], "apis") == 0))
        answer_resource(self, exchange, parts);
    else
        exchange_answer_text(exchange, 404, "404 page not found\n");
}

void
serve_api_retire(ServeApi *self)
{
    self->is_retired = TRUE;
    serve_store_wake(self->store);
}

unsigned
serve_api_n_watches(const ServeApi *self)
{
    return self->watches->len;
}

ServeApi *
serve_api_new(const ServeApiOptions *options)
{
    ServeApi *self = g_new0(ServeApi, 1);

    self->options = *options;
    self->store = serve_store_new(options->run);
    self->stage = serve_stage_new(options->run, options->narrator);
    classes_make(self);
    self->watches = g_ptr_array_new();
    self->documents =
        g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    return self;
}

void
serve_api_free(ServeApi *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->documents);
    watches_free(self);
    endpoints_keeper_free(self->endpoints);
    serve_stage_free(self->stage);
    serve_store_free(self->store);
    g_free(self);
}
