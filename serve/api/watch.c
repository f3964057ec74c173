/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <string.h>

#include "api-private.h"
#include "models/api/fields.h"
#include "run/results/snapshot.h"
#include "serve/api/protobuf/protobuf.h"
#include "table.h"

/* A watch reads the log of its resource at its own pace. Whoever falls behind the log is told 410
 * and is rid of; nothing is kept for it. */

/* How many events one line of thought sends at most: other requests come in between. */
#define EVENTS_PER_PULL 128

typedef struct {
    Target *target; /* (owned) */
    Selection selection;
    char *labels, *fields; /* (owned) */
    uint64_t next;         /* number of the next change */
    uint64_t version;      /* of the latest event sent */
    GPtrArray *initial;    /* of json_t: sent first; NULL: none left */
    unsigned n_initial;    /* sent so far */
    gboolean wants_bookmarks, ends_initial, is_over, has_columns, bookmark_is_due;
    TableInclude include;
    guint timeout, bookmark; /* sources; 0: none */
} Watch;

static void
watch_end(void *data)
{
    Watch *self = data;

    store_unlisten(self->target->kind, self);
    self->target->api->n_watches--;
    if (self->timeout != 0)
        g_source_remove(self->timeout);
    if (self->bookmark != 0)
        g_source_remove(self->bookmark);
    if (self->initial != NULL)
        g_ptr_array_unref(self->initial);
    g_free(self->labels);
    g_free(self->fields);
    target_free(self->target);
    g_free(self);
}

/* ---- Events ---- */

/* Returns: (owned): the object in the form that was asked for */
static json_t *
shaped(Watch *self, json_t *object)
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
append_shaped(Watch *self, GString *text, const char *type, json_t *object)
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
append_event(Watch *self, GString *text, const char *type, json_t *object)
{
    append_shaped(self, text, type, shaped(self, object));
}

static void
append_bookmark(Watch *self, GString *text)
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
append_gone(Watch *self, GString *text)
{
    append_shaped(self, text, "ERROR",
                  status_format(410, "too old resource version: the watch was too slow, or came "
                                     "too late"));
}

static gboolean
is_in_view(const Watch *self, json_t *object)
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

/* What the change is for this watch: an object may come into its view, and leave it. NULL: nothing
 */
static const char *
event_type(const Watch *self, StoreChange *change)
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

static gboolean
is_plain(const Watch *self)
{
    return self->target->form == FORM_OBJECT && self->target->media != MEDIA_PROTOBUF &&
           strcmp(self->target->row->group, self->target->kind->group) == 0 &&
           self->selection.labels == NULL && self->selection.fields == NULL;
}

/* Most watches of a resource want the same lines: made once. */
static void
append_change(Watch *self, GString *text, StoreChange *change)
{
    const char *type = event_type(self, change);

    if (type == NULL)
        return;
    if (!is_plain(self)) {
        append_event(self, text, type, change->json);
        return;
    }
    if (change->line == NULL) {
        g_autoptr(GString) line = g_string_new(NULL);
        append_event(self, line, type, change->json);
        change->line = g_bytes_new(line->str, line->len);
    }
    gsize length;
    const char *bytes = g_bytes_get_data(change->line, &length);
    g_string_append_len(text, bytes, (gssize)length);
}

static void
append_initial(Watch *self, GString *text)
{
    for (unsigned i = 0; self->initial != NULL && i < EVENTS_PER_PULL; i++) {
        if (self->n_initial >= self->initial->len) {
            g_clear_pointer(&self->initial, g_ptr_array_unref);
            if (self->ends_initial)
                append_bookmark(self, text);
            break;
        }
        append_event(self, text, "ADDED", self->initial->pdata[self->n_initial++]);
    }
}

static GBytes *
watch_pull(void *data, gboolean *is_over)
{
    Watch *self = data;
    StoreKind *kind = self->target->kind;
    GString *text = g_string_new(NULL);

    if (self->target->api->is_retired && !self->is_over) {
        append_gone(self, text);
        self->is_over = TRUE;
    }
    append_initial(self, text);
    for (unsigned i = 0; self->initial == NULL && !self->is_over && i < EVENTS_PER_PULL &&
                         self->next < kind->n_changes;
         i++) {
        StoreChange *change = store_change(kind, self->next);
        if (change == NULL) {
            append_gone(self, text);
            self->is_over = TRUE;
            break;
        }
        append_change(self, text, change);
        self->version = change->version;
        self->next++;
    }
    if (self->bookmark_is_due && self->initial == NULL && self->next >= kind->n_changes) {
        self->bookmark_is_due = FALSE;
        append_bookmark(self, text);
    }
    *is_over = self->is_over;
    if (text->len > 0)
        return g_string_free_to_bytes(text);
    g_string_free(text, TRUE);
    return NULL;
}

static const ExchangeStreamClass watch_class = {watch_pull, watch_end};

/* ---- The beginning and the end ---- */

static void
on_change(void *data)
{
    Watch *self = data;

    exchange_wake(self->target->exchange);
}

static gboolean
on_timeout(void *data)
{
    Watch *self = data;

    self->timeout = 0;
    self->is_over = TRUE;
    self->bookmark_is_due = self->wants_bookmarks;
    exchange_wake(self->target->exchange);
    return G_SOURCE_REMOVE;
}

static gboolean
on_bookmark(void *data)
{
    Watch *self = data;

    self->bookmark_is_due = TRUE;
    exchange_wake(self->target->exchange);
    return G_SOURCE_CONTINUE;
}

static gboolean
see_initial(void *data, const char *place, json_t *object)
{
    Watch *self = data;

    (void)place;
    if (is_in_view(self, object))
        g_ptr_array_add(self->initial, object);
    else
        json_decref(object);
    return TRUE;
}

static void
list_initial(Watch *self)
{
    const char *namespace = self->target->namespace;

    self->initial = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    store_list(self->target->kind, *namespace == '\0' ? NULL : namespace, NULL, see_initial, self);
    self->version = store_version(self->target->kind);
    self->next = self->target->kind->n_changes;
}

/* Where the watch begins. Returns: (owned): a refusal; NULL: it has begun */
static json_t *
find_start(Watch *self)
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
watch_start_timers(Watch *self)
{
    const char *text = exchange_query(self->target->exchange, "timeoutSeconds");
    gint64 timeout_s = text == NULL ? 0 : g_ascii_strtoll(text, NULL, 10);

    if (timeout_s <= 0 || timeout_s > 86400)
        timeout_s = 3600;
    self->timeout = g_timeout_add_seconds((guint)timeout_s, on_timeout, self);
    if (self->wants_bookmarks)
        self->bookmark = g_timeout_add_seconds(60, on_bookmark, self);
}

void
watch_begin(const Target *target)
{
    Selection selection;
    json_t *fault = selection_read(target, &selection);

    if (fault == NULL && target->api->n_watches >= SERVE_WATCHES_MAX)
        fault = status_format(429, "there are %u watches already", target->api->n_watches);
    if (fault != NULL) {
        target_refuse(target, fault);
        return;
    }
    Watch *self = g_new0(Watch, 1);
    self->target = target_copy(target);
    self->labels = g_strdup(selection.labels);
    self->fields = g_strdup(selection.fields);
    self->selection = (Selection){self->labels, self->fields};
    self->wants_bookmarks = exchange_flag(target->exchange, "allowWatchBookmarks");
    if (!table_include_parse(exchange_query(target->exchange, "includeObject"), &self->include))
        self->include = TABLE_METADATA;
    target->api->n_watches++;
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
