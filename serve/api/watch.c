/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A watch reads the log of its resource at its own pace: a pull takes some bytes or some looks, so
 * other requests come in between. A client that falls behind the log is told 410 and is gone;
 * nothing is kept for it. An object may come into the view of a watch and leave it by its labels,
 * which decides the type of the event. Watches that want the same form share the line, which is
 * made once. */
#include <inttypes.h>
#include <string.h>

#include "api-private.h"
#include "made/made.h"
#include "models/api/fields.h"
#include "run/results/snapshot.h"
#include "serve/api/protobuf/protobuf.h"
#include "table.h"
#include "watch-start.h"

/* About how many bytes a watch sends at a time, and objects and changes it looks at: other requests
 * come in between. */
#define BYTES_PER_PULL (64 * 1024)
#define LOOKS_PER_PULL 1024
#define BOOKMARK_S 60

typedef struct {
    Target *target; /* (owned) */
    Selection selection;
    char *labels, *fields; /* (owned) */
    uint64_t next;         /* number of the next change */
    uint64_t version;      /* of the latest event sent */
    WatchStart *initial;   /* (owned): sent first; NULL: nothing is left of it */
    unsigned n_initial;    /* objects of it that are done */
    uint64_t present;      /* the next change when it began: what it sends first ends there */
    GQuark form; /* watches of the same form share the lines of their events; 0: it shares none */
    gboolean wants_bookmarks, ends_initial, is_over, has_columns, bookmark_is_due;
    TableInclude include;
    gint64 ends_at, bookmark_at; /* us, of the machine's clock */
} ServedWatch;

static void
watch_end(void *data)
{
    ServedWatch *self = data;

    store_unlisten(self->target->kind, self);
    g_ptr_array_remove_fast(self->target->api->watches, self);
    watch_start_unref(self->initial);
    g_free(self->labels);
    g_free(self->fields);
    target_free(self->target);
    g_free(self);
}

/* ---- Events ---- */

/* Returns: (owned): the object in the form that was asked for */
static json_t *
shaped(ServedWatch *self, json_t *object)
{
    const Target *target = self->target;
    json_t *copy = json_copy(object), *table;

    target_set_version(target, copy);
    if (target->form == FORM_METADATA) {
        json_t *metadata = table_metadata(copy);
        json_decref(copy);
        return metadata;
    }
    if (target->form != FORM_TABLE)
        return copy;
    table = table_new(target->row, target->form_version, !self->has_columns);
    self->has_columns = TRUE;
    json_object_set(json_object_get(table, "metadata"), "resourceVersion",
                    json_object_get(json_object_get(copy, "metadata"), "resourceVersion"));
    table_add(table, target->row, copy, self->include, snapshot_now(target->api->options.run));
    json_decref(copy);
    return table;
}

/* A line of JSON, or a frame of protobuf. @object: (taken) */
static void
append_shaped(ServedWatch *self, GString *text, const char *type, json_t *object)
{
    if (self->target->media == MEDIA_PROTOBUF) {
        g_autoptr(GByteArray) frame = g_byte_array_new();
        protobuf_append_event(frame, type, object);
        g_string_append_len(text, (const char *)frame->data, frame->len);
        json_decref(object);
        return;
    }
    json_auto_t *event = json_pack("{s:s, s:o}", "type", type, "object", object);
    char *json = json_dumps(event, JSON_COMPACT);

    g_string_append(text, json);
    g_string_append_c(text, '\n');
    free(json);
}

static void
append_event(ServedWatch *self, GString *text, const char *type, json_t *object)
{
    append_shaped(self, text, type, shaped(self, object));
}

static void
append_bookmark(ServedWatch *self, GString *text)
{
    g_autofree char *version = g_strdup_printf("%" PRIu64, self->version);
    json_t *metadata = json_pack("{s:s, s:n}", "resourceVersion", version, "creationTimestamp");
    gboolean is_metadata = self->target->form == FORM_METADATA;
    const char *api_version = is_metadata ? "meta.k8s.io/v1" : self->target->api_version,
               *kind = is_metadata ? "PartialObjectMetadata" : self->target->row->kind;

    if (self->ends_initial)
        json_object_set_new(metadata, "annotations",
                            json_pack("{s:s}", "k8s.io/initial-events-end", "true"));
    self->ends_initial = FALSE;
    append_shaped(self, text, "BOOKMARK",
                  json_pack("{s:s, s:s, s:o}", "kind", kind, "apiVersion", api_version, "metadata",
                            metadata));
}

static void
append_gone(ServedWatch *self, GString *text)
{
    append_shaped(self, text, "ERROR",
                  status_format(410, "too old resource version: the watch was too slow, or came "
                                     "too late"));
}

static gboolean
is_in_view(const ServedWatch *self, json_t *object)
{
    const Target *target = self->target;

    if (object == NULL)
        return FALSE;
    if (*target->namespace != '\0' &&
        g_strcmp0(json_path_string(object, "metadata.namespace"), target->namespace) != 0)
        return FALSE;
    if (target->name != NULL &&
        g_strcmp0(json_path_string(object, "metadata.name"), target->name) != 0)
        return FALSE;
    return selection_takes(&self->selection, object);
}

/* The type of the change for this watch: an object may come into its view, and leave it. NULL:
 * nothing
 */
static const char *
event_type(const ServedWatch *self, StoreChange *change)
{
    gboolean is_seen = !change->is_gone && is_in_view(self, change->json);
    gboolean was_seen = FALSE;

    if (!change->is_new) {
        if (self->selection.labels == NULL && self->selection.fields == NULL) {
            was_seen = is_in_view(self, change->json);
        } else {
            store_change_old(self->target->kind, change);
            was_seen = is_in_view(self, change->old);
        }
    }
    return is_seen ? (was_seen ? "MODIFIED" : "ADDED") : was_seen ? "DELETED" : NULL;
}

/* Whole objects in one version and medium look the same to all watches. Returns: 0: this watch gets
 * something else */
static GQuark
form_of(const Target *target)
{
    if (target->form != FORM_OBJECT || ages_are_the_clients(target))
        return 0;
    g_autofree char *form = g_strdup_printf("%s %s", target->api_version,
                                            target->media == MEDIA_PROTOBUF ? "protobuf" : "json");
    return g_quark_from_string(form);
}

/* Appends an event that may be kept at @line, or is kept there now. */
static void
append_kept(ServedWatch *self, GString *text, GBytes **line, const char *type, json_t *object)
{
    gsize length;

    if (*line == NULL) {
        g_autoptr(GString) made = g_string_new(NULL);
        append_event(self, made, type, object);
        *line = g_bytes_new(made->str, made->len);
    }
    const char *bytes = g_bytes_get_data(*line, &length);
    g_string_append_len(text, bytes, (gssize)length);
}

/* Most watches of a resource want the same lines: made once. With a selector the type may differ.
 */
static void
append_change(ServedWatch *self, GString *text, StoreChange *change)
{
    const char *type = event_type(self, change);

    if (type == NULL)
        return;
    if (self->form == 0 || self->selection.labels != NULL || self->selection.fields != NULL) {
        append_event(self, text, type, change->json);
        return;
    }
    GBytes *kept = g_datalist_id_get_data(&change->lines, self->form), *line = kept;
    append_kept(self, text, &line, type, change->json);
    if (kept == NULL)
        g_datalist_id_set_data_full(&change->lines, self->form, line,
                                    (GDestroyNotify)g_bytes_unref);
}

static void
append_initial(ServedWatch *self, GString *text)
{
    const GPtrArray *objects = self->initial->objects;

    for (unsigned looks = 0;
         self->n_initial < objects->len && text->len < BYTES_PER_PULL && looks < LOOKS_PER_PULL;
         looks++) {
        unsigned i = self->n_initial++;
        if (!is_in_view(self, objects->pdata[i]))
            continue;
        if (self->form != 0)
            append_kept(self, text, watch_start_line(self->initial, self->form, i), "ADDED",
                        objects->pdata[i]);
        else
            append_event(self, text, "ADDED", objects->pdata[i]);
    }
    if (self->n_initial >= objects->len)
        g_clear_pointer(&self->initial, watch_start_unref);
}

static void
append_changes(ServedWatch *self, GString *text)
{
    StoreKind *kind = self->target->kind;

    for (unsigned looks = 0; !self->is_over && self->next < kind->n_changes &&
                             text->len < BYTES_PER_PULL && looks < LOOKS_PER_PULL;
         looks++) {
        StoreChange *change = store_change(kind, self->next);
        if (change == NULL) {
            append_gone(self, text);
            self->is_over = TRUE;
            return;
        }
        append_change(self, text, change);
        self->version = change->version;
        self->next++;
    }
}

/* A bookmark ends what a watch sends first, and tells now and then how far it is. */
static void
append_due_bookmark(ServedWatch *self, GString *text)
{
    uint64_t behind = self->ends_initial ? self->present : self->target->kind->n_changes;

    if (self->initial != NULL || self->next < behind ||
        !(self->ends_initial || self->bookmark_is_due))
        return;
    if (!self->ends_initial)
        self->bookmark_is_due = FALSE;
    append_bookmark(self, text);
}

static GBytes *
watch_pull(void *data, gboolean *is_over)
{
    ServedWatch *self = data;
    GString *text = g_string_new(NULL);

    if (self->target->api->is_retired && !self->is_over) {
        append_gone(self, text);
        self->is_over = TRUE;
    }
    if (self->initial != NULL)
        append_initial(self, text);
    if (self->initial == NULL)
        append_changes(self, text);
    append_due_bookmark(self, text);
    *is_over = self->is_over;
    if (text->len > 0)
        return g_string_free_to_bytes(text);
    g_string_free(text, TRUE);
    if (!self->is_over && (self->initial != NULL || self->next < self->target->kind->n_changes))
        exchange_wake(self->target->exchange); /* what it looked at was not for this watch */
    return NULL;
}

static const ExchangeStreamClass watch_class = {watch_pull, watch_end};

/* ---- The beginning and the end ---- */

static void
on_change(void *data)
{
    ServedWatch *self = data;

    exchange_wake(self->target->exchange);
}

/* One source for all watches: the main loop looks at each source in each of its rounds. */
static gboolean
on_second(void *data)
{
    ServeApi *api = data;
    gint64 now = g_get_monotonic_time();

    for (unsigned i = 0; i < api->watches->len; i++) {
        ServedWatch *self = api->watches->pdata[i];
        gboolean ends = !self->is_over && now >= self->ends_at;
        if (!ends && (!self->wants_bookmarks || now < self->bookmark_at))
            continue;
        self->bookmark_at = now + BOOKMARK_S * G_USEC_PER_SEC;
        self->bookmark_is_due = self->wants_bookmarks;
        self->is_over |= ends;
        exchange_wake(self->target->exchange);
    }
    if (api->watches->len > 0)
        return G_SOURCE_CONTINUE;
    api->watch_source = 0;
    return G_SOURCE_REMOVE;
}

/* Returns: (owned): the name of the only object that is watched; NULL: there may be others */
static char *
only_name(const ServedWatch *self)
{
    static const char by_name[] = "metadata.name=";
    const char *fields = self->selection.fields;

    if (self->target->name != NULL)
        return g_strdup(self->target->name);
    if (fields == NULL || !g_str_has_prefix(fields, by_name) || strchr(fields, ',') != NULL)
        return NULL;
    fields += strlen(by_name);
    return g_strdup(fields + (*fields == '='));
}

static void
list_initial(ServedWatch *self)
{
    const Target *target = self->target;
    g_autofree char *name = only_name(self);

    if (name != NULL && *name != '\0' && (*target->namespace != '\0' || !target->row->namespaced))
        self->initial = watch_start_of_one(target->kind, target->namespace, name);
    else
        self->initial = watch_start_get(target->api, target->kind, target->namespace);
    self->version = self->initial->version;
    self->next = self->initial->next;
    self->present = target->kind->n_changes;
}

/* Where the watch begins. Returns: (owned): a refusal; NULL: it has begun */
static json_t *
find_start(ServedWatch *self)
{
    const Exchange *exchange = self->target->exchange;
    const char *text = exchange_query(exchange, "resourceVersion");
    gboolean sends_initial = exchange_flag(exchange, "sendInitialEvents");
    char *end = NULL;
    uint64_t version = text == NULL ? 0 : g_ascii_strtoull(text, &end, 10);

    if (text != NULL && *end != '\0')
        return status_format(400,
                             "Invalid value: \"%s\": strconv.ParseUint: parsing \"%s\": invalid "
                             "syntax",
                             text, text);
    if (sends_initial || version == 0) {
        self->ends_initial = sends_initial && self->wants_bookmarks;
        list_initial(self);
        return NULL;
    }
    self->version = version;
    return store_find_change(self->target->kind, version, &self->next)
               ? NULL
               : status_format(410, "too old resource version: %" PRIu64 " (%" PRIu64 ")", version,
                               store_version(self->target->kind));
}

static void
watch_start_timers(ServedWatch *self)
{
    const char *text = exchange_query(self->target->exchange, "timeoutSeconds");
    gint64 timeout_s = text == NULL ? 0 : g_ascii_strtoll(text, NULL, 10),
           now = g_get_monotonic_time();
    ServeApi *api = self->target->api;

    if (timeout_s <= 0 || timeout_s > 86400)
        timeout_s = 3600;
    self->ends_at = now + timeout_s * G_USEC_PER_SEC;
    self->bookmark_at = now + BOOKMARK_S * G_USEC_PER_SEC;
    if (api->watch_source == 0)
        api->watch_source = g_timeout_add_seconds(1, on_second, api);
}

void
watches_free(ServeApi *self)
{
    if (self->watch_source != 0)
        g_source_remove(self->watch_source);
    g_ptr_array_unref(self->watches);
    watch_starts_free(self);
}

void
watch_begin(const Target *target)
{
    Selection selection;
    json_t *fault = selection_read(target, &selection);

    if (fault == NULL && target->api->watches->len >= SERVE_WATCHES_MAX)
        fault = status_format(429, "there are %u watches already", target->api->watches->len);
    if (fault != NULL) {
        target_refuse(target, fault);
        return;
    }
    ServedWatch *self = g_new0(ServedWatch, 1);
    self->target = target_copy(target);
    self->labels = g_strdup(selection.labels);
    self->fields = g_strdup(selection.fields);
    self->selection = (Selection){self->labels, self->fields};
    self->wants_bookmarks = exchange_flag(target->exchange, "allowWatchBookmarks");
    if (!table_include_parse(exchange_query(target->exchange, "includeObject"), &self->include))
        self->include = TABLE_METADATA;
    self->form = form_of(target);
    g_ptr_array_add(target->api->watches, self);
    store_log(target->kind);
    fault = find_start(self);
    if (fault != NULL) {
        target_refuse(target, fault);
        watch_end(self);
        return;
    }
    store_listen(target->kind, &(StoreListener){on_change, self});
    watch_start_timers(self);
    exchange_stream(target->exchange,
                    target->media == MEDIA_PROTOBUF ? PROTOBUF_TYPE ";stream=watch"
                                                    : "application/json",
                    &watch_class, self);
    exchange_wake(target->exchange);
}
