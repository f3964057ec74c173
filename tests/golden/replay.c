/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "replay.h"
#include "packed.h"

#include <string.h>

struct GoldenReplay {
    json_t *requests, *steps, *initial; /* (owned): lists of lines */
};

static void
replay_add_line(void *data, json_t *line)
{
    json_array_append(data, line);
}

static void
add_request(void *data, json_t *line)
{
    const char *client = json_string_value(json_object_get(line, "client"));

    if (g_strcmp0(client, "lab") == 0 || g_strcmp0(client, "kubectl") == 0)
        json_array_append(data, line);
}

GoldenReplay *
replay_read(const char *run, GError **error)
{
    g_autoptr(GoldenReplay) self = g_new0(GoldenReplay, 1);

    self->requests = json_array();
    self->steps = json_array();
    self->initial = json_array();
    if (!packed_lines(run, "api.jsonl", NULL, add_request, self->requests, error) ||
        !packed_lines(run, "watch.jsonl", "\"initial\":true", replay_add_line, self->initial,
                      error))
        return NULL;
    if (packed_exists(run, "steps.jsonl") &&
        !packed_lines(run, "steps.jsonl", NULL, replay_add_line, self->steps, error))
        return NULL;
    return g_steal_pointer(&self);
}

void
replay_free(GoldenReplay *self)
{
    if (self == NULL)
        return;
    json_decref(self->requests);
    json_decref(self->steps);
    json_decref(self->initial);
    g_free(self);
}

static gboolean
is_text(const json_t *line, const char *member, const char *text)
{
    return g_strcmp0(json_string_value(json_object_get(line, member)), text) == 0;
}

static gboolean
replay_fits(const json_t *request, const ReplayAsked *asked)
{
    const char *name = json_string_value(json_object_get(request, "name"));
    double at = json_number_value(json_object_get(request, "t"));

    if (at < asked->from || at >= asked->until || !is_text(request, "client", asked->client) ||
        (asked->verb != NULL && !is_text(request, "verb", asked->verb)) ||
        (asked->resource != NULL && !is_text(request, "resource", asked->resource)))
        return FALSE;
    if (asked->name == NULL)
        return TRUE;
    name = name == NULL ? "" : name;
    return asked->is_prefix ? g_str_has_prefix(name, asked->name) : strcmp(name, asked->name) == 0;
}

/* The log is in order of completion. */
const json_t *
replay_take(GoldenReplay *self, const ReplayAsked *asked)
{
    json_t *first = NULL;
    size_t i;
    json_t *request;

    if (self == NULL)
        return NULL;
    json_array_foreach(self->requests, i, request) {
        if (json_object_get(request, "taken") == NULL && replay_fits(request, asked) &&
            (first == NULL || json_number_value(json_object_get(request, "t")) <
                                  json_number_value(json_object_get(first, "t"))))
            first = request;
    }
    if (first != NULL)
        json_object_set_new(first, "taken", json_true());
    return first;
}

const json_t *
replay_take_step(GoldenReplay *self, const char *what)
{
    size_t i;
    json_t *step;

    if (self == NULL)
        return NULL;
    json_array_foreach(self->steps, i, step) {
        if (json_object_get(step, "taken") != NULL || !is_text(step, "do", what))
            continue;
        json_object_set_new(step, "taken", json_true());
        return step;
    }
    return NULL;
}

const json_t *
replay_initial(const GoldenReplay *self)
{
    return self->initial;
}

const json_t *
replay_find_initial(const GoldenReplay *self, const char *kind, const char *name)
{
    size_t i;
    json_t *line;

    if (self == NULL)
        return NULL;
    json_array_foreach(self->initial, i, line)
        if (is_text(line, "kind", kind) && is_text(line, "name", name))
            return json_object_get(line, "object");
    return NULL;
}
