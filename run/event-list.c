/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "event-list.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/random.h"

static json_t *
json_time(SimTime at, gboolean with_micros)
{
    char text[API_TIME_BUFFER];

    return json_string(api_time_format(at, with_micros, text));
}

static json_t *
json_involved(const ApiEvent *event)
{
    char uid[OBJECT_UID_BUFFER];
    const KindClass *class = kind_class(event->involved->kind);
    json_t *involved = json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", class->api_version, "kind",
                                 class->kind, "name", event->involved->name, "uid",
                                 object_uid_format(event->involved_uid, uid));

    if (event->involved->namespace[0] != '\0')
        json_object_set_new(involved, "namespace", json_string(event->involved->namespace));
    return involved;
}

/* An Event and what the list is ordered by. */
typedef struct {
    const ApiEvent *event;
    const char *namespace, *name;
} Row;

/* CGO-70: of objects without a namespace they stand in the default one. */
static Row
row_of(const ApiEvent *event, GStringChunk *names)
{
    g_autofree char *name = g_strdup_printf("%s.%" PRIx64, event->involved->name,
                                            (uint64_t)(API_EPOCH_S * SIM_SECOND + event->first_at));
    const char *namespace = event->involved->namespace;

    return (Row){event, namespace[0] == '\0' ? "default" : namespace,
                 g_string_chunk_insert(names, name)};
}

/* The uid is made up, the same in every run. */
static json_t *
json_metadata(const Row *row)
{
    char uid[OBJECT_UID_BUFFER];
    const ApiEvent *event = row->event;
    uint64_t hash = sim_hash_string(row->name);
    ObjectUid made_up = {hash, sim_hash_combine(hash, (uint64_t)event->written_at)};

    return json_pack("{s:o, s:s, s:s, s:s}", "creationTimestamp",
                     json_time(event->written_at, FALSE), "name", row->name, "namespace",
                     row->namespace, "uid", object_uid_format(made_up, uid));
}

/* What the scheduler was doing, in the words of its events.k8s.io Events. */
static const char *
action_of(const ApiEvent *event)
{
    if (g_str_equal(event->reason, "Scheduled"))
        return "Binding";
    return g_str_equal(event->reason, "Preempted") ? "Preempting" : "Scheduling";
}

/* API-171: events.k8s.io's as core/v1 shows them. */
static void
set_new_style(json_t *json, const ApiEvent *event)
{
    g_autofree char *instance = g_strdup_printf("%s-control-plane", event->source);

    json_object_set_new(json, "action", json_string(action_of(event)));
    json_object_set_new(json, "eventTime", json_time(event->first_at, TRUE));
    json_object_set_new(json, "firstTimestamp", json_null());
    json_object_set_new(json, "lastTimestamp", json_null());
    json_object_set_new(json, "reportingInstance", json_string(instance));
    json_object_set_new(json, "source", json_object());
    if (event->count > 1)
        json_object_set_new(json, "series",
                            json_pack("{s:i, s:o}", "count", (int)event->count, "lastObservedTime",
                                      json_time(event->last_at, TRUE)));
}

static void
set_old_style(json_t *json, const ApiEvent *event)
{
    json_object_set_new(json, "count", json_integer(event->count));
    json_object_set_new(json, "eventTime", json_null());
    json_object_set_new(json, "firstTimestamp", json_time(event->first_at, FALSE));
    json_object_set_new(json, "lastTimestamp", json_time(event->last_at, FALSE));
    json_object_set_new(json, "reportingInstance", json_string(""));
    json_object_set_new(json, "source", json_pack("{s:s}", "component", event->source));
}

static json_t *
json_event(const Row *row)
{
    const ApiEvent *event = row->event;
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind",
                             "Event", "involvedObject", json_involved(event), "metadata",
                             json_metadata(row), "message", event->message, "reason", event->reason,
                             "reportingComponent", event->source, "type", event->type);

    if (event->involved_version != 0)
        set_new_style(json, event);
    else
        set_old_style(json, event);
    return json;
}

static int
compare_rows(const void *a, const void *b)
{
    const Row *one = a, *other = b;
    int by_namespace = strcmp(one->namespace, other->namespace);

    return by_namespace != 0 ? by_namespace : strcmp(one->name, other->name);
}

#define INDENT "    "

/* As it would stand in the list if that were written as a whole. */
static void
append_row(GString *text, const Row *row)
{
    json_t *json = json_event(row);
    char *dump = json_dumps(json, JSON_INDENT(4) | JSON_SORT_KEYS);

    for (const char *line = dump; line != NULL;) {
        const char *end = strchr(line, '\n');
        g_string_append(text, "\n" INDENT INDENT);
        g_string_append_len(text, line, end == NULL ? -1 : end - line);
        line = end == NULL ? NULL : end + 1;
    }
    free(dump);
    json_decref(json);
}

/* Row by row: a list of a million Events as one value would take gigabytes. */
char *
event_list(const Run *run)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
    g_autoptr(GStringChunk) names = g_string_chunk_new(16 * 1024);
    GString *text = g_string_new("{\n" INDENT "\"apiVersion\": \"v1\",\n" INDENT "\"items\": [");

    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        if (api_server_event(api, i)->count == 0) /* recorded, but never written */
            continue;
        Row row = row_of(api_server_event(api, i), names);
        g_array_append_val(rows, row);
    }
    g_array_sort(rows, compare_rows);
    for (unsigned i = 0; i < rows->len; i++) {
        append_row(text, &g_array_index(rows, Row, i));
        g_string_append(text, i + 1 < rows->len ? "," : "\n" INDENT);
    }
    g_string_append(text,
                    "],\n" INDENT "\"kind\": \"List\",\n" INDENT "\"metadata\": {\n" INDENT INDENT
                    "\"resourceVersion\": \"\"\n" INDENT "}\n}\n");
    return g_string_free(text, FALSE);
}
