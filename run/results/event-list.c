/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events of a run as JSON lines and as `kubectl get events -o json` prints them. A run has more
 * Events than other objects, so each is written directly, without a tree of JSON. The list is
 * sorted by namespace and name. An Event's name is its object's name and a time, so these two are
 * compared; the text of whole names is made only where one object's name continues another as a
 * time would. */
#include "event-list.h"

#include <string.h>

#include "models/api/field.h"
#include "results.h"
#include "run/files/rows.h"
#include "sim/random.h"

/* CGO-70: Events of objects without a namespace are in the default namespace. */
static const char *
namespace_of(const ApiEvent *event)
{
    const char *namespace = event->involved->namespace;

    return namespace[0] == '\0' ? "default" : namespace;
}

/* An Event with its times in the calendar. */
static ApiEvent
event_at(const Run *run, unsigned i)
{
    ApiEvent event = *api_server_event(cluster_api(run_cluster(run)), i);
    SimTime start = sim_start(run_sim(run));

    event.first_at += start;
    event.last_at += start;
    event.written_at += start;
    return event;
}

static void
append_event_name(GString *text, const ApiEvent *event)
{
    append_text(text, event->involved->name);
    append_literal(text, ".");
    append_hex(text, (uint64_t)api_time_unix(0, event->first_at));
}

static void
append_time(GString *text, SimTime at, gboolean with_micros)
{
    append_literal(text, "\"");
    const char *time = api_time_format(at, with_micros, append_place(text, API_TIME_BUFFER));
    append_took(text, strlen(time));
    append_literal(text, "\"");
}

static void
append_uid(GString *text, ObjectUid uid)
{
    append_literal(text, "\"");
    object_uid_format(uid, append_place(text, OBJECT_UID_BUFFER));
    append_took(text, OBJECT_UID_BUFFER - 1);
    append_literal(text, "\"");
}

/* ---- Types of columns ---- */

/* clang-format off */
#define DATE "\"pattern\": \"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\\\.[0-9]+)?Z$\"}"
#define SERIES "{\"count\": {\"type\": \"integer\", \"minimum\": 2}, \"lastObservedTime\": {\"type\": \"string\", " DATE "}"
static const ColumnType
    column_v1           = {"{\"const\": \"v1\"}",                                        FALSE, "`v1`"},
    column_event        = {"{\"const\": \"Event\"}",                                     FALSE, "`Event`"},
    column_event_list   = {"{\"const\": \"List\"}",                                      FALSE, "`List`"},
    column_event_type   = {"{\"enum\": [\"Normal\", \"Warning\"]}",                      FALSE, "`Normal`, `Warning`"},
    column_date         = {"{\"type\": \"string\", " DATE,                               FALSE, "RFC 3339"},
    column_null_date    = {"{\"type\": [\"string\", \"null\"], " DATE,                   FALSE, "RFC 3339 or `null`"},
    column_maybe_count  = {"{\"type\": \"integer\", \"minimum\": 1}",                    TRUE,  "integer"},
    column_maybe_series = {"{\"type\": \"object\", \"properties\": " SERIES ", \"required\": [\"count\", \"lastObservedTime\"], \"additionalProperties\": false}", TRUE, "object"};
/* clang-format on */
#define column_event_name column_text
#define column_instance column_text
#define column_uid column_text
#define column_null_micros column_null_date
#define member_v1 member_text
#define member_event member_text
#define member_event_list member_text
#define member_event_type member_text

static void
member_event_name(ResultFile *file, const char *key, gsize n, const ApiEvent *event)
{
    row_key_bytes(file, key, n);
    append_literal(file->text, "\"");
    append_event_name(file->text, event);
    append_literal(file->text, "\"");
}

static void
member_uid(ResultFile *file, const char *key, gsize n, ObjectUid uid)
{
    row_key_bytes(file, key, n);
    append_uid(file->text, uid);
}

static void
member_date(ResultFile *file, const char *key, gsize n, SimTime at)
{
    row_key_bytes(file, key, n);
    append_time(file->text, at, FALSE);
}

/* ---- events.jsonl ---- */

/* clang-format off */
#define EVENT_COLUMNS(X, OBJECT, END) \
    X("apiVersion",         v1,         NULL, "as in Kubernetes", "v1") \
    X("kind",               event,      NULL, "as in Kubernetes", "Event") \
    OBJECT("metadata") \
        X("name",           event_name, NULL, "the object's name and the time of the first occurrence", event) \
        X("namespace",      text,       NULL, "the object's namespace, else `default`", namespace_of(event)) \
    END \
    OBJECT("involvedObject") \
        X("kind",           text,       NULL, "the object's kind", class->kind) \
        X("apiVersion",     text,       NULL, "the kind's version", class->api_version) \
        X("name",           text,       NULL, "the object's name", event->involved->name) \
        X("uid",            uid,        NULL, "its uid", event->involved_uid) \
        X("namespace",      maybe_text, NULL, "its namespace, if it has one", event->involved->namespace) \
    END \
    X("type",               event_type, NULL, "whether something went wrong", event->type) \
    X("reason",             text,       NULL, "what happened, in a word", event->reason) \
    X("message",            text,       NULL, "what happened, in a sentence", event->message) \
    OBJECT("source") \
        X("component",      text,       NULL, "the component that recorded it", event->source) \
    END \
    X("firstTimestamp",     date,       NULL, "when it first happened", event->first_at) \
    X("lastTimestamp",      date,       NULL, "when it last happened", event->last_at) \
    X("count",              ordinal,    NULL, "how often it happened", event->count)
const ResultTable events_table = RESULT_TABLE("events.jsonl", "kvolsim run: the Kubernetes Events", NULL, EVENT_COLUMNS(COLUMN, COLUMN_OBJECT, COLUMN_END));
/* clang-format on */

void
events_jsonl(const Run *run, const Stages *stages, ResultFile *file)
{
    const ApiServer *api = cluster_api(run_cluster(run));

    (void)stages;
    results_append_header(file->text, run, "{\"run\":\"", "\"}");
    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent dated = event_at(run, i), *event = &dated;
        const KindClass *class = kind_class(event->involved->kind);
        if (event->count == 0) /* recorded, but never written */
            continue;
        row_open(file, '{');
        EVENT_COLUMNS(JSON_MEMBER, JSON_OBJECT, JSON_END);
        row_close(file, '}');
        row_end(file);
    }
}

/* ---- The order of the list: by namespace and name ---- */

/* Compares names as if a dot followed each, so that Events of "web.a" do not come between Events of
 * "web". @is_nested: (out): one name continues the other as a time would, as "web" and "web.18" */
static int
event_list_compare_names(const char *one, const char *other, gboolean *is_nested)
{
    for (; *one != '\0' && *one == *other; one++)
        other++;
    unsigned char a = *one == '\0' ? '.' : (unsigned char)*one;
    unsigned char b = *other == '\0' ? '.' : (unsigned char)*other;
    *is_nested = a == b && *one != *other;
    return a - b;
}

/* An Event's name is the object's name and the time of the first occurrence, which are compared
 * without the text of the whole name where possible. */
static int
event_list_compare_rows(const void *a, const void *b, void *run)
{
    const unsigned one = *(const unsigned *)a, other = *(const unsigned *)b;
    const ApiServer *api = cluster_api(run_cluster(run));
    const ApiEvent *x = api_server_event(api, one), *y = api_server_event(api, other);
    const char *x_space = namespace_of(x), *y_space = namespace_of(y);
    int by_namespace = x_space == y_space ? 0 : strcmp(x_space, y_space);
    gboolean is_nested = FALSE;
    int by_name = by_namespace != 0 ? by_namespace
                  : x->involved == y->involved
                      ? 0
                      : event_list_compare_names(x->involved->name, y->involved->name, &is_nested);

    if (is_nested) {
        g_autoptr(GString) x_name = g_string_new(NULL), y_name = g_string_new(NULL);
        const ApiEvent x_dated = event_at(run, one), y_dated = event_at(run, other);
        append_event_name(x_name, &x_dated);
        append_event_name(y_name, &y_dated);
        by_name = strcmp(x_name->str, y_name->str);
    }
    if (by_name != 0)
        return by_name;
    if (x->first_at != y->first_at)
        return x->first_at < y->first_at ? -1 : 1;
    return one < other ? -1 : one > other;
}

/* Returns: (owned): the numbers (unsigned) of the written Events in the order of the list */
static GArray *
order_events(const Run *run)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(unsigned));

    for (unsigned i = 0; i < api_server_n_events(api); i++)
        if (api_server_event(api, i)->count > 0) /* else recorded, but never written */
            g_array_append_val(rows, i);
    g_array_sort_with_data(rows, event_list_compare_rows, (void *)run);
    return rows;
}

/* ---- events.json ---- */

/* API-171: core/v1 shows Events of events.k8s.io with an action, a time in microseconds, and a
 * series instead of a count. */
static gboolean
is_new(const ApiEvent *event)
{
    return event->involved_version != 0;
}

/* The action of the scheduler's Events in events.k8s.io. */
static const char *
action_of(const ApiEvent *event)
{
    if (strcmp(event->reason, "Scheduled") == 0)
        return "Binding";
    return strcmp(event->reason, "Preempted") == 0 ? "Preempting" : "Scheduling";
}

/* The uid of the Event itself is invented, the same in every run. @name: a buffer */
static ObjectUid
uid_of(const ApiEvent *event, GString *name)
{
    g_string_truncate(name, 0);
    append_event_name(name, event);
    uint64_t hash = sim_hash_string(name->str);
    return (ObjectUid){hash, sim_hash_combine(hash, (uint64_t)event->written_at)};
}

/* 0: none */
static void
member_maybe_count(ResultFile *file, const char *key, gsize n, uint64_t count)
{
    if (count > 0)
        member_count(file, key, n, count);
}

static void
append_null_time(ResultFile *file, const char *key, gsize n, SimTime at, gboolean with_micros)
{
    row_key_bytes(file, key, n);
    if (at == TIME_UNSET)
        append_literal(file->text, "null");
    else
        append_time(file->text, at, with_micros);
}

#define member_null_date(file, key, n, at) append_null_time((file), (key), (n), (at), FALSE)
#define member_null_micros(file, key, n, at) append_null_time((file), (key), (n), (at), TRUE)

static void
member_instance(ResultFile *file, const char *key, gsize n, const ApiEvent *event)
{
    row_key_bytes(file, key, n);
    append_literal(file->text, "\"");
    if (is_new(event)) {
        append_text(file->text, event->source);
        append_literal(file->text, "-control-plane");
    }
    append_literal(file->text, "\"");
}

/* Only Events of events.k8s.io that occurred more than once have a series. */
static void
member_maybe_series(ResultFile *file, const char *key, gsize n, const ApiEvent *event)
{
    if (!is_new(event) || event->count < 2)
        return;
    row_key_bytes(file, key, n);
    row_open(file, '{');
    row_json_unsigned(file, "count", event->count);
    row_key(file, "lastObservedTime");
    append_time(file->text, event->last_at, TRUE);
    row_close(file, '}');
}

/* Keys in alphabetical order. */
/* clang-format off */
#define ITEM_COLUMNS(X, OBJECT, END) \
    X("action",                maybe_text,   NULL, "as in events.k8s.io", is_new(event) ? action_of(event) : NULL) \
    X("apiVersion",            v1,           NULL, "as in Kubernetes", "v1") \
    X("count",                 maybe_count,  NULL, "how often it happened", is_new(event) ? 0 : event->count) \
    X("eventTime",             null_micros,  NULL, "when it first happened", is_new(event) ? event->first_at : TIME_UNSET) \
    X("firstTimestamp",        null_date,    NULL, "when it first happened", is_new(event) ? TIME_UNSET : event->first_at) \
    OBJECT("involvedObject") \
        X("apiVersion",        text,         NULL, "the kind's version", class->api_version) \
        X("kind",              text,         NULL, "the object's kind", class->kind) \
        X("name",              text,         NULL, "the object's name", event->involved->name) \
        X("namespace",         maybe_text,   NULL, "its namespace, if it has one", event->involved->namespace) \
        X("uid",               uid,          NULL, "its uid", event->involved_uid) \
    END \
    X("kind",                  event,        NULL, "as in Kubernetes", "Event") \
    X("lastTimestamp",         null_date,    NULL, "when it last happened", is_new(event) ? TIME_UNSET : event->last_at) \
    X("message",               text,         NULL, "what happened, in a sentence", event->message) \
    OBJECT("metadata") \
        X("creationTimestamp", date,         NULL, "when it was written", event->written_at) \
        X("name",              event_name,   NULL, "the object's name and the time of the first occurrence", event) \
        X("namespace",         text,         NULL, "the object's namespace, else `default`", namespace_of(event)) \
        X("uid",               uid,          NULL, "the Event's uid", uid_of(event, name)) \
    END \
    X("reason",                text,         NULL, "what happened, in a word", event->reason) \
    X("reportingComponent",    text,         NULL, "the component that recorded it", event->source) \
    X("reportingInstance",     instance,     NULL, "its process, as in events.k8s.io", event) \
    X("series",                maybe_series, NULL, "how often and when it last happened, as in events.k8s.io", event) \
    OBJECT("source") \
        X("component",         maybe_text,   NULL, "the component that recorded it", is_new(event) ? NULL : event->source) \
    END \
    X("type",                  event_type,   NULL, "whether something went wrong", event->type)
#define LIST_COLUMNS(X, OBJECT, ITEMS, END) \
    X("apiVersion",            v1,           NULL, "as in Kubernetes", "v1") \
    ITEMS("items") \
    X("kind",                  event_list,   NULL, "as in Kubernetes", "List") \
    OBJECT("metadata") \
        X("resourceVersion",   text,         NULL, "empty", "") \
    END
#define COLUMN_ITEMS(name) COLUMN_LIST(name) ITEM_COLUMNS(COLUMN, COLUMN_OBJECT, COLUMN_END) COLUMN_END
#define JSON_ITEMS(name) row_key(file, name); append_items(run, file);
const ResultTable event_list_table = RESULT_TABLE("events.json", "kvolsim run: the Events as kubectl get events -A -o json prints them", NULL, LIST_COLUMNS(COLUMN, COLUMN_OBJECT, COLUMN_ITEMS, COLUMN_END));
/* clang-format on */

static void
append_items(const Run *run, ResultFile *file)
{
    g_autoptr(GArray) rows = order_events(run);
    g_autoptr(GString) name = g_string_new(NULL);

    row_open(file, '[');
    for (unsigned i = 0; i < rows->len; i++) {
        const ApiEvent dated = event_at(run, g_array_index(rows, unsigned, i)), *event = &dated;
        const KindClass *class = kind_class(event->involved->kind);
        row_item(file);
        row_open(file, '{');
        ITEM_COLUMNS(JSON_MEMBER, JSON_OBJECT, JSON_END);
        row_close(file, '}');
        result_file_end_row(file);
    }
    row_close(file, ']');
}

void
event_list(const Run *run, const Stages *stages, ResultFile *file)
{
    (void)stages;
    file->indent = 4;
    row_open(file, '{');
    LIST_COLUMNS(JSON_MEMBER, JSON_OBJECT, JSON_ITEMS, JSON_END);
    row_close(file, '}');
    row_end(file);
}
