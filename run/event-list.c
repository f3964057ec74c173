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

/* CGO-70: of objects without a namespace they stand in the default one. The uid is made up, the same in every run. */
static json_t *
json_metadata(const ApiEvent *event)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *name =
        g_strdup_printf("%s.%" PRIx64, event->involved->name,
                        (uint64_t)(API_EPOCH_S * SIM_SECOND + event->first_at));
    uint64_t hash = sim_hash_string(name);
    ObjectUid made_up = {hash, sim_hash_combine(hash, (uint64_t)event->written_at)};

    return json_pack("{s:o, s:s, s:s, s:s}", "creationTimestamp",
                     json_time(event->written_at, FALSE), "name", name, "namespace",
                     event->involved->namespace[0] == '\0' ? "default" : event->involved->namespace,
                     "uid", object_uid_format(made_up, uid));
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
json_event(const ApiEvent *event)
{
    json_t *json = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind",
                             "Event", "involvedObject", json_involved(event), "metadata",
                             json_metadata(event), "message", event->message, "reason",
                             event->reason, "reportingComponent", event->source, "type",
                             event->type);

    if (event->involved_version != 0)
        set_new_style(json, event);
    else
        set_old_style(json, event);
    return json;
}

static const char *
metadata_text(const json_t *event, const char *name)
{
    return json_string_value(json_object_get(json_object_get(event, "metadata"), name));
}

static int
compare_events(const void *a, const void *b)
{
    const json_t *one = *(json_t *const *)a, *other = *(json_t *const *)b;
    int by_namespace =
        strcmp(metadata_text(one, "namespace"), metadata_text(other, "namespace"));

    return by_namespace != 0
               ? by_namespace
               : strcmp(metadata_text(one, "name"), metadata_text(other, "name"));
}

char *
event_list(const Run *run)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    g_autoptr(GPtrArray) events = g_ptr_array_new();
    json_t *items = json_array();

    for (unsigned i = 0; i < api_server_n_events(api); i++)
        if (api_server_event(api, i)->count > 0) /* else recorded, but never written */
            g_ptr_array_add(events, json_event(api_server_event(api, i)));
    g_ptr_array_sort(events, compare_events);
    for (unsigned i = 0; i < events->len; i++)
        json_array_append_new(items, events->pdata[i]);
    json_t *list = json_pack("{s:s, s:o, s:s, s:{s:s}}", "apiVersion", "v1", "items", items, "kind",
                             "List", "metadata", "resourceVersion", "");
    char *dump = json_dumps(list, JSON_INDENT(4) | JSON_SORT_KEYS);
    char *text = g_strconcat(dump, "\n", NULL);
    free(dump);
    json_decref(list);
    return text;
}
