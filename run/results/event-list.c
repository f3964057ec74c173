/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "event-list.h"

#include <string.h>

#include "models/api/field.h"
#include "results.h"
#include "sim/append.h"
#include "sim/random.h"

/* A run has more Events than anything else, so each is written as it stands, without a tree of
 * JSON. */

/* CGO-70: of objects without a namespace they stand in the default one. */
static const char *
namespace_of(const ApiEvent *event)
{
    const char *namespace = event->involved->namespace;

    return namespace[0] == '\0' ? "default" : namespace;
}

static void
append_event_name(GString *text, const ApiEvent *event)
{
    append_text(text, event->involved->name);
    append_literal(text, ".");
    append_hex(text, (uint64_t)(API_EPOCH_S * SIM_SECOND + event->first_at));
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

/* A text, and the literal that stands before it. */
#define append_member(text, before, value)                                                         \
    do {                                                                                           \
        append_literal(text, before);                                                              \
        append_json_text(text, value);                                                             \
    } while (0)

/* ---- events.jsonl ---- */

static void
append_line(GString *text, const ApiEvent *event)
{
    const KindClass *class = kind_class(event->involved->kind);

    append_literal(text, "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"");
    append_event_name(text, event);
    append_member(text, "\",\"namespace\":", namespace_of(event));
    append_member(text, "},\"involvedObject\":{\"kind\":", class->kind);
    append_member(text, ",\"apiVersion\":", class->api_version);
    append_member(text, ",\"name\":", event->involved->name);
    append_literal(text, ",\"uid\":");
    append_uid(text, event->involved_uid);
    if (event->involved->namespace[0] != '\0')
        append_member(text, ",\"namespace\":", event->involved->namespace);
    append_member(text, "},\"type\":", event->type);
    append_member(text, ",\"reason\":", event->reason);
    append_member(text, ",\"message\":", event->message);
    append_member(text, ",\"source\":{\"component\":", event->source);
    append_literal(text, "},\"firstTimestamp\":");
    append_time(text, event->first_at, FALSE);
    append_literal(text, ",\"lastTimestamp\":");
    append_time(text, event->last_at, FALSE);
    append_literal(text, ",\"count\":");
    append_unsigned(text, event->count);
    append_literal(text, "}\n");
}

void
events_jsonl(const Run *run, const Stages *stages, ResultFile *file)
{
    const ApiServer *api = cluster_api(run_cluster(run));

    (void)stages;
    results_append_header(file->text, run, "{\"run\":\"", "\"}");
    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        if (api_server_event(api, i)->count == 0) /* recorded, but never written */
            continue;
        append_line(file->text, api_server_event(api, i));
        result_file_end_row(file);
    }
}

/* ---- The order of the list: by namespace and name ---- */

/* What has Events. Theirs are called after it, with the time of the first: so the objects are put
 * in order, which are far fewer, and each one's Events by their times. */
typedef struct {
    const ObjectKey *involved;
    const char *namespace; /* of the Events */
    uint32_t number;       /* of this one, as it came */
} Named;

typedef struct {
    uint32_t rank;  /* of what it is about: the same for objects of one name and different kinds */
    uint32_t index; /* at the API server */
    SimTime first_at;
} Row;

/* As if a point followed each name, so that none of "web.a" comes between those of "web". */
static int
compare_names(const char *one, const char *other)
{
    if (one == other)
        return 0;
    for (; *one != '\0' && *one == *other; one++)
        other++;
    unsigned char a = *one == '\0' ? '.' : (unsigned char)*one;
    unsigned char b = *other == '\0' ? '.' : (unsigned char)*other;
    if (a != b)
        return a < b ? -1 : 1;
    return (*one != '\0') - (*other != '\0');
}

static int
compare_named(const void *a, const void *b)
{
    const Named *one = a, *other = b;
    int by_namespace =
        one->namespace == other->namespace ? 0 : strcmp(one->namespace, other->namespace);

    return by_namespace != 0 ? by_namespace
                             : compare_names(one->involved->name, other->involved->name);
}

static int
compare_rows(const void *a, const void *b)
{
    const Row *one = a, *other = b;

    if (one->rank != other->rank)
        return one->rank < other->rank ? -1 : 1;
    if (one->first_at != other->first_at)
        return one->first_at < other->first_at ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

/* Letter by letter, where a name goes on after a point as if with a time: "web" and "web.18". */
static int
compare_rows_by_name(const void *a, const void *b, void *data)
{
    const ApiServer *api = data;
    const Row *one = a, *other = b;
    const ApiEvent *event = api_server_event(api, one->index);
    const ApiEvent *other_event = api_server_event(api, other->index);
    int by_namespace = strcmp(namespace_of(event), namespace_of(other_event));
    g_autoptr(GString) name = g_string_new(NULL), other_name = g_string_new(NULL);

    if (by_namespace != 0)
        return by_namespace;
    append_event_name(name, event);
    append_event_name(other_name, other_event);
    int by_name = strcmp(name->str, other_name->str);
    return by_name != 0 ? by_name : compare_rows(a, b);
}

/* Numbers of what has Events, from 1, by kind and slot. */
typedef struct {
    uint32_t *of[N_KINDS]; /* (owned) */
    GArray *named;         /* of Named */
} Numbers;

static uint32_t
number_of(Numbers *self, const Run *run, const ApiEvent *event)
{
    const ObjectKey *key = event->involved;

    if (self->of[key->kind] == NULL)
        self->of[key->kind] = g_new0(uint32_t, objects_n_keys(run_objects(run), key->kind));
    uint32_t *number = &self->of[key->kind][key->slot];
    if (*number == 0) {
        Named named = {key, namespace_of(event), self->named->len};
        g_array_append_val(self->named, named);
        *number = self->named->len;
    }
    return *number - 1;
}

/* Returns: (owned): the rank of each that has Events. @nested: (out): the name of one is the
 * beginning of another's */
static uint32_t *
rank(GArray *all, gboolean *nested)
{
    uint32_t *ranks = g_new(uint32_t, all->len + 1), place = 0;

    *nested = FALSE;
    g_array_sort(all, compare_named);
    for (unsigned i = 0; i < all->len; i++) {
        const Named *named = &g_array_index(all, Named, i);
        const Named *before = i == 0 ? named : &g_array_index(all, Named, i - 1);
        gsize length = strlen(before->involved->name);
        gboolean is_other = i > 0 && compare_named(before, named) != 0;
        if (is_other && strcmp(before->namespace, named->namespace) == 0 &&
            strncmp(before->involved->name, named->involved->name, length) == 0 &&
            named->involved->name[length] == '.')
            *nested = TRUE;
        place += is_other;
        ranks[named->number] = place;
    }
    return ranks;
}

/* Returns: (owned): of Row, in the order of the list */
static GArray *
order_events(const Run *run)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    GArray *rows = g_array_new(FALSE, FALSE, sizeof(Row));
    Numbers numbers = {.named = g_array_new(FALSE, FALSE, sizeof(Named))};
    gboolean nested;

    for (unsigned i = 0; i < api_server_n_events(api); i++) {
        const ApiEvent *event = api_server_event(api, i);
        if (event->count == 0) /* recorded, but never written */
            continue;
        Row row = {number_of(&numbers, run, event), i, event->first_at};
        g_array_append_val(rows, row);
    }
    g_autofree uint32_t *ranks = rank(numbers.named, &nested);
    for (unsigned i = 0; i < rows->len; i++) {
        Row *row = &g_array_index(rows, Row, i);
        row->rank = ranks[row->rank];
    }
    if (nested)
        g_array_sort_with_data(rows, compare_rows_by_name, (void *)api);
    else
        g_array_sort(rows, compare_rows);
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        g_free(numbers.of[kind]);
    g_array_unref(numbers.named);
    return rows;
}

/* ---- events.json ---- */

#define INDENT "    "
#define LINE_2 "\n" INDENT INDENT
#define LINE_3 LINE_2 INDENT
#define LINE_4 LINE_3 INDENT

static void
append_involved(GString *text, const ApiEvent *event)
{
    const KindClass *class = kind_class(event->involved->kind);

    append_member(text,
                  LINE_3 "\"involvedObject\": {" LINE_4 "\"apiVersion\": ", class->api_version);
    append_member(text, "," LINE_4 "\"kind\": ", class->kind);
    append_member(text, "," LINE_4 "\"name\": ", event->involved->name);
    if (event->involved->namespace[0] != '\0')
        append_member(text, "," LINE_4 "\"namespace\": ", event->involved->namespace);
    append_literal(text, "," LINE_4 "\"uid\": ");
    append_uid(text, event->involved_uid);
    append_literal(text, LINE_3 "},");
}

/* The uid is made up, the same in every run. */
static void
append_metadata(GString *text, const ApiEvent *event, GString *name)
{
    g_string_truncate(name, 0);
    append_event_name(name, event);
    uint64_t hash = sim_hash_string(name->str);

    append_literal(text, LINE_3 "\"metadata\": {" LINE_4 "\"creationTimestamp\": ");
    append_time(text, event->written_at, FALSE);
    append_member(text, "," LINE_4 "\"name\": ", name->str);
    append_member(text, "," LINE_4 "\"namespace\": ", namespace_of(event));
    append_literal(text, "," LINE_4 "\"uid\": ");
    append_uid(text, (ObjectUid){hash, sim_hash_combine(hash, (uint64_t)event->written_at)});
    append_literal(text, LINE_3 "},");
}

/* What the scheduler was doing, in the words of its events.k8s.io Events. */
static const char *
action_of(const ApiEvent *event)
{
    if (strcmp(event->reason, "Scheduled") == 0)
        return "Binding";
    return strcmp(event->reason, "Preempted") == 0 ? "Preempting" : "Scheduling";
}

/* Of events.k8s.io's Events, if it was seen again. */
static void
append_series(GString *text, const ApiEvent *event)
{
    if (event->count < 2)
        return;
    append_literal(text, LINE_3 "\"series\": {" LINE_4 "\"count\": ");
    append_unsigned(text, event->count);
    append_literal(text, "," LINE_4 "\"lastObservedTime\": ");
    append_time(text, event->last_at, TRUE);
    append_literal(text, LINE_3 "},");
}

/* The keys from "action" to "firstTimestamp". API-171: Events of events.k8s.io as core/v1 shows
 * them, which have an action, a time with microseconds and a series instead of a count. */
static void
append_first_keys(GString *text, const ApiEvent *event)
{
    if (event->involved_version != 0) {
        append_member(text, LINE_3 "\"action\": ", action_of(event));
        append_literal(text, "," LINE_3 "\"apiVersion\": \"v1\"," LINE_3 "\"eventTime\": ");
        append_time(text, event->first_at, TRUE);
        append_literal(text, "," LINE_3 "\"firstTimestamp\": null,");
    } else {
        append_literal(text, LINE_3 "\"apiVersion\": \"v1\"," LINE_3 "\"count\": ");
        append_unsigned(text, event->count);
        append_literal(text, "," LINE_3 "\"eventTime\": null," LINE_3 "\"firstTimestamp\": ");
        append_time(text, event->first_at, FALSE);
        append_literal(text, ",");
    }
}

/* From "reportingInstance" to "source". */
static void
append_source(GString *text, const ApiEvent *event)
{
    append_literal(text, "," LINE_3 "\"reportingInstance\": \"");
    if (event->involved_version != 0) {
        append_text(text, event->source);
        append_literal(text, "-control-plane\",");
        append_series(text, event);
        append_literal(text, LINE_3 "\"source\": {}");
    } else {
        append_member(text, "\"," LINE_3 "\"source\": {" LINE_4 "\"component\": ", event->source);
        append_literal(text, LINE_3 "}");
    }
}

/* As it would stand in the list if that were written as a whole, the keys in order of the alphabet.
 * @name: for the Event's name, used again and again */
static void
append_item(GString *text, const ApiEvent *event, GString *name)
{
    append_literal(text, LINE_2 "{");
    append_first_keys(text, event);
    append_involved(text, event);
    append_literal(text, LINE_3 "\"kind\": \"Event\"," LINE_3 "\"lastTimestamp\": ");
    if (event->involved_version != 0)
        append_literal(text, "null");
    else
        append_time(text, event->last_at, FALSE);
    append_member(text, "," LINE_3 "\"message\": ", event->message);
    append_literal(text, ",");
    append_metadata(text, event, name);
    append_member(text, LINE_3 "\"reason\": ", event->reason);
    append_member(text, "," LINE_3 "\"reportingComponent\": ", event->source);
    append_source(text, event);
    append_member(text, "," LINE_3 "\"type\": ", event->type);
    append_literal(text, LINE_2 "}");
}

void
event_list(const Run *run, const Stages *stages, ResultFile *file)
{
    const ApiServer *api = cluster_api(run_cluster(run));
    g_autoptr(GArray) rows = order_events(run);
    g_autoptr(GString) name = g_string_new(NULL);

    (void)stages;
    append_literal(file->text, "{\n" INDENT "\"apiVersion\": \"v1\",\n" INDENT "\"items\": [");
    for (unsigned i = 0; i < rows->len; i++) {
        append_text(file->text, i == 0 ? "" : ",");
        append_item(file->text, api_server_event(api, g_array_index(rows, Row, i).index), name);
        result_file_end_row(file);
    }
    append_text(file->text, rows->len == 0 ? "" : "\n" INDENT);
    append_literal(file->text, "],\n" INDENT "\"kind\": \"List\",\n" INDENT "\"metadata\": {" LINE_2
                               "\"resourceVersion\": \"\"\n" INDENT "}\n}\n");
}
