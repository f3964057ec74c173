/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Documents of the server itself: the list of paths, metrics of the API server's job, and OpenID's
 * configuration and keys. Metrics are those of the run's scrape, without the label of the job and
 * without families of other jobs. */
#include <string.h>

#include "made.h"
#include "models/api/fields.h"
#include "run/world/telemetry.h"
#include "serve/api/openapi/openapi.h"
#include "sim/strings.h"

/* ---- Metrics ---- */

/* Appends a line of a scrape without its label job, if that is @job. Returns: FALSE: it is of
 * another */
static gboolean
append_sample(const char *line, const char *job, GString *text)
{
    g_autofree char *label = g_strdup_printf("job=\"%s\"", job);
    const char *at = strstr(line, label), *rest = at == NULL ? NULL : at + strlen(label);

    if (at == NULL || (at[-1] != '{' && at[-1] != ','))
        return FALSE;
    if (at[-1] == '{' && *rest == '}') {
        g_string_append_len(text, line, at - 1 - line);
        rest++;
    } else if (*rest == ',') {
        g_string_append_len(text, line, at - line);
        rest++;
    } else {
        g_string_append_len(text, line, at - 1 - line);
    }
    g_string_append_printf(text, "%s\n", rest);
    return TRUE;
}

void
paths_append_metrics(const ServeApi *self, const char *job, GString *text)
{
    g_autoptr(ResultFile) file = result_file_new_in_memory();
    g_autoptr(GString) head = g_string_new(NULL); /* comments of a family, until it has a sample */

    telemetry_append_text(run_telemetry(self->options.run), file);
    g_auto(GStrv) lines = g_strsplit(file->text->str, "\n", -1);
    for (unsigned i = 0; lines[i] != NULL; i++) {
        if (g_str_has_prefix(lines[i], "# HELP"))
            g_string_truncate(head, 0);
        if (*lines[i] == '#') {
            g_string_append_printf(head, "%s\n", lines[i]);
            continue;
        }
        gsize before = text->len;
        if (!append_sample(lines[i], job, text) || head->len == 0)
            continue;
        g_string_insert(text, (gssize)before, head->str);
        g_string_truncate(head, 0);
    }
}

static void
answer_metrics(ServeApi *self, Exchange *exchange)
{
    GString *text = g_string_new(NULL);

    paths_append_metrics(self, "kube-apiserver", text);
    g_autoptr(GBytes) body = g_string_free_to_bytes(text);
    exchange_answer(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", body);
}

/* ---- Documents ---- */

/* "/": all paths, in order. */
static void
answer_paths(ServeApi *self, Exchange *exchange)
{
    static const char *const fixed[] = {"/.well-known/openid-configuration",
                                        "/api",
                                        "/api/v1",
                                        "/apis",
                                        "/apis/",
                                        "/healthz",
                                        "/healthz/etcd",
                                        "/healthz/log",
                                        "/healthz/ping",
                                        "/livez",
                                        "/livez/etcd",
                                        "/livez/log",
                                        "/livez/ping",
                                        "/metrics",
                                        "/openapi/v2",
                                        "/openapi/v3",
                                        "/openapi/v3/",
                                        "/openid/v1/jwks",
                                        "/readyz",
                                        "/readyz/etcd",
                                        "/readyz/log",
                                        "/readyz/ping",
                                        "/version"};
    json_auto_t *groups = discovery_groups(serve_store_apis(self->store));
    g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
    json_t *group, *version, *list = json_array();
    gsize i, k;

    for (i = 0; i < G_N_ELEMENTS(fixed); i++)
        g_ptr_array_add(paths, g_strdup(fixed[i]));
    json_array_foreach(json_object_get(groups, "groups"), i, group) {
        g_ptr_array_add(paths, g_strdup_printf("/apis/%s", json_path_string(group, "name")));
        json_array_foreach(json_object_get(group, "versions"), k, version)
            g_ptr_array_add(paths,
                            g_strdup_printf("/apis/%s", json_path_string(version, "groupVersion")));
    }
    g_ptr_array_sort(paths, strings_compare);
    for (i = 0; i < paths->len; i++)
        json_array_append_new(list, json_string(paths->pdata[i]));
    exchange_answer_json(exchange, 200, json_pack("{s:o}", "paths", list));
}

static void
answer_configuration(ServeApi *self, Exchange *exchange)
{
    (void)self;
    exchange_answer_json(exchange, 200, token_configuration());
}

static void
answer_keys(ServeApi *self, Exchange *exchange)
{
    (void)self;
    exchange_answer_json(exchange, 200, json_pack("{s:[]}", "keys"));
}

static const struct {
    const char *path;
    void (*answer)(ServeApi *self, Exchange *exchange);
} rows[] = {
    {"/",                                 answer_paths        },
    {"/metrics",                          answer_metrics      },
    {"/.well-known/openid-configuration", answer_configuration},
    {"/openid/v1/jwks",                   answer_keys         },
};

gboolean
paths_answer(ServeApi *self, Exchange *exchange)
{
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
        if (strcmp(rows[i].path, exchange->request.path) != 0)
            continue;
        if (strcmp(exchange->request.method, "GET") == 0)
            rows[i].answer(self, exchange);
        else
            exchange_answer_json(exchange, 405, status_method_not_allowed());
        return TRUE;
    }
    return FALSE;
}
