/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of drivers and their answers: kept in memory or streamed as a journal, read again, and
 * played back as a driver that answers as in the journal. The calls give the run's picture of
 * attached and mounted volumes. A call that had nothing left to do is told from one that worked,
 * because their latencies differ. A playback notes the first call that differs. */
#include "call-log.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "models/api/map-json.h"
#include "run/files/columns.h"
#include "run/files/input.h"
#include "sim/strings.h"

struct CallLog {
    GArray *rows; /* of CallRow; strings owned by @strings */
    GStringChunk *strings;
    GHashTable *by_id;  /* call id -> index + 1, of calls in flight */
    GHashTable *staged; /* ids of volumes that were staged before */
    GHashTable *done;   /* facts: attached here, mounted there, deleted; see note_done() */
    SimTime (*work)(void *data);
    void *work_data;
    FILE *stream; /* NULL: all rows are kept */
};

/* ---- Answers as JSON ---- */

typedef enum { TEXT, WHOLE, NUMBER, TRUTH } FieldType;

#define FIELD(name, member, type)                                                                  \
    {                                                                                              \
        name, G_STRUCT_OFFSET(CsiResponse, member), type                                           \
    }
static const struct {
    const char *name;
    size_t offset;
    FieldType type;
} answer_fields[] = {
    FIELD("message", message, TEXT),
    FIELD("pluginName", plugin_name, TEXT),
    FIELD("vendorVersion", vendor_version, TEXT),
    FIELD("pluginCapabilities", plugin_capabilities, NUMBER),
    FIELD("controllerCapabilities", controller_capabilities, NUMBER),
    FIELD("nodeCapabilities", node_capabilities, NUMBER),
    FIELD("ready", ready, TRUTH),
    FIELD("volumeId", volume_id, TEXT),
    FIELD("capacityBytes", capacity_bytes, WHOLE),
    FIELD("sourceKind", source_kind, NUMBER),
    FIELD("sourceId", source_id, TEXT),
    FIELD("nodeExpansionRequired", node_expansion_required, TRUTH),
    FIELD("confirmed", confirmed, TRUTH),
    FIELD("nodeId", node_id, TEXT),
    FIELD("maxVolumesPerNode", max_volumes_per_node, WHOLE),
    FIELD("availableBytes", available_bytes, WHOLE),
    FIELD("maximumVolumeBytes", maximum_volume_bytes, WHOLE),
    FIELD("minimumVolumeBytes", minimum_volume_bytes, WHOLE),
    FIELD("totalBytes", total_bytes, WHOLE),
    FIELD("usedBytes", used_bytes, WHOLE),
    FIELD("totalInodes", total_inodes, WHOLE),
    FIELD("usedInodes", used_inodes, WHOLE),
    FIELD("availableInodes", available_inodes, WHOLE),
    FIELD("abnormal", abnormal, TRUTH),
    FIELD("conditionMessage", condition_message, TEXT),
    FIELD("snapshotId", snapshot_id, TEXT),
    FIELD("sizeBytes", size_bytes, WHOLE),
    FIELD("creationTime", creation_time, WHOLE),
    FIELD("readyToUse", ready_to_use, TRUTH),
    FIELD("nextToken", next_token, TEXT),
};

G_STATIC_ASSERT(sizeof(CsiPluginCapabilities) == sizeof(int) && sizeof(gboolean) == sizeof(int));

static json_t *
entries_json(const CsiResponse *response)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < response->n_entries; i++) {
        const CsiEntry *entry = &response->entries[i];
        json_t *nodes = json_array();
        for (unsigned k = 0;
             entry->published_node_ids != NULL && k < entry->published_node_ids->n_items; k++)
            json_array_append_new(nodes, json_string(entry->published_node_ids->items[k]));
        json_array_append_new(
            array, json_pack("{s:s?,s:I,s:o,s:b,s:s*,s:s*,s:I,s:b}", "volumeId", entry->volume_id,
                             "capacityBytes", (json_int_t)entry->capacity_bytes, "nodes", nodes,
                             "abnormal", entry->abnormal, "condition", entry->condition_message,
                             "snapshotId", entry->snapshot_id, "creationTime",
                             (json_int_t)entry->creation_time, "ready", entry->ready_to_use));
    }
    return array;
}

/* Values of 0 are left out. */
static json_t *
answer_json(const CsiResponse *response)
{
    json_t *object = json_object();

    for (unsigned i = 0; i < G_N_ELEMENTS(answer_fields); i++) {
        const void *at = G_STRUCT_MEMBER_P(response, answer_fields[i].offset);
        const char *name = answer_fields[i].name;
        FieldType type = answer_fields[i].type;
        if (type == TEXT && *(const char *const *)at != NULL)
            json_object_set_new(object, name, json_string(*(const char *const *)at));
        else if (type == WHOLE && *(const int64_t *)at != 0)
            json_object_set_new(object, name, json_integer(*(const int64_t *)at));
        else if ((type == NUMBER || type == TRUTH) && *(const int *)at != 0)
            json_object_set_new(object, name, json_integer(*(const int *)at));
    }
    if (response->publish_context != NULL)
        json_object_set_new(object, "publishContext", map_to_json(response->publish_context));
    if (response->volume_context != NULL)
        json_object_set_new(object, "volumeContext", map_to_json(response->volume_context));
    if (response->n_entries > 0)
        json_object_set_new(object, "entries", entries_json(response));
    return object;
}

/* ---- Lines ---- */

static gboolean
write_line(FILE *file, json_t *line)
{
    gboolean good = json_dumpf(line, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;

    json_decref(line);
    return good;
}

/* clang-format off */
#define column_nanoseconds column_count
#define json_text json_string
#define json_code json_string
#define json_nanoseconds json_integer
#define json_end json_integer
#define json_maybe_answer json_incref
static const ColumnType
    column_hash   = {"{\"type\": \"string\", \"pattern\": \"^[0-9a-f]{64}$\"}", FALSE, "text"},
    column_flag   = {"{\"type\": \"boolean\"}",                                 FALSE, "boolean"},
    column_code   = {"{\"type\": \"string\", \"pattern\": \"^[A-Z_]+$\"}",      FALSE, "word"},
    column_end    = {"{\"type\": \"integer\", \"minimum\": -1}",                FALSE, "integer"},
    column_maybe_answer = {"{\"type\": \"object\"}",                            TRUE,  "object"};

#define CALL_COLUMNS(X) \
    X("call",      text,        NULL,          "the CSI method", csi_method_name(row->method)) \
    X("kind",      text,        NULL,          "the latency of a profile that such calls have", csi_latency_name(row->kind)) \
    X("subject",   text,        NULL,          "the volume, or what a call without one is about", row->subject) \
    X("node",      text,        NULL,          "the node", row->node) \
    X("path",      text,        NULL,          "the path on the node", row->path) \
    X("startedAt", nanoseconds, "nanoseconds", "when it began, in virtual time", row->started_at) \
    X("endedAt",   end,         "nanoseconds", "when it ended; -1: it was under way at the end of the run", row->ended_at) \
    X("workNs",    nanoseconds, "nanoseconds", "the time of the devices, in real time", row->work_ns) \
    X("code",      code,        NULL,          "the gRPC code", csi_code_name(row->code)) \
    X("answer",    maybe_answer, NULL,          "the rest of the answer", row->answer)
static const Column journal_head[] = {
    COLUMN("kvolsim",     text,  NULL, "the version of the program")
    COLUMN("scenario",    text,  NULL, "its name")
    COLUMN("hash",        hash,  NULL, "the scenario's hash")
    COLUMN("seed",        count, NULL, "the seed")
    COLUMN("realDevices", flag,  NULL, "whether devices were at work")
    COLUMN_END
};
const ResultTable journal_table = {"journal.jsonl", "kvolsim validate: the run, then each driver call", (const Column[]){CALL_COLUMNS(COLUMN) COLUMN_END}, NULL, journal_head};
#define SET_MEMBER(name, type, unit, meaning, value) json_object_set_new(line, name, json_##type(value));
/* clang-format on */

static gboolean
write_row(FILE *file, const CallRow *row)
{
    json_t *line = json_object();

    CALL_COLUMNS(SET_MEMBER);
    return write_line(file, line);
}

/* ---- Keeping ---- */

CallLog *
call_log_new(void)
{
    CallLog *self = g_new0(CallLog, 1);

    self->rows = g_array_new(FALSE, FALSE, sizeof(CallRow));
    self->strings = g_string_chunk_new(4096);
    self->by_id = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    self->staged = g_hash_table_new(g_str_hash, g_str_equal);
    self->done = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return self;
}

void
call_log_free(CallLog *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->rows->len; i++)
        json_decref(g_array_index(self->rows, CallRow, i).answer);
    g_array_unref(self->rows);
    g_string_chunk_free(self->strings);
    g_hash_table_unref(self->by_id);
    g_hash_table_unref(self->staged);
    g_hash_table_unref(self->done);
    if (self->stream != NULL)
        fclose(self->stream);
    g_free(self);
}

static const char *
call_log_keep(CallLog *self, const char *text)
{
    return g_string_chunk_insert_const(self->strings, text != NULL ? text : "");
}

static const char *
subject_of(const CsiRequest *request)
{
    if (request->name != NULL)
        return request->name;
    return request->volume_id != NULL     ? request->volume_id
           : request->snapshot_id != NULL ? request->snapshot_id
                                          : request->group_snapshot_id;
}

static const char *
call_log_path_of(const CsiRequest *request)
{
    gboolean is_staging =
        request->method == CSI_NODE_STAGE_VOLUME || request->method == CSI_NODE_UNSTAGE_VOLUME;

    return is_staging ? request->staging_path : request->target_path;
}

static CsiLatency
call_log_kind_of(const CallLog *self, const CsiRequest *request)
{
    if (request->method == CSI_CREATE_VOLUME && request->source_kind != CSI_SOURCE_NONE)
        return request->source_kind == CSI_SOURCE_SNAPSHOT ? CSI_LATENCY_CREATE_FROM_SNAPSHOT
                                                           : CSI_LATENCY_CREATE_FROM_VOLUME;
    if (request->method == CSI_NODE_STAGE_VOLUME && request->volume_id != NULL &&
        g_hash_table_contains(self->staged, request->volume_id))
        return CSI_LATENCY_STAGE_FORMATTED;
    return (CsiLatency)request->method;
}

static void
call_log_call_started(void *data, const CsiCallRecord *record)
{
    CallLog *self = data;
    const CsiRequest *request = record->request;
    const CallRow row = {
        .method = request->method,
        .kind = call_log_kind_of(self, request),
        .subject = call_log_keep(self, subject_of(request)),
        .node = call_log_keep(self, csi_request_node(request)),
        .path = call_log_keep(self, call_log_path_of(request)),
        .started_at = record->started_at,
        .ended_at = -1,
        .is_block =
            request->n_capabilities > 0 && request->capabilities[0].type == CSI_ACCESS_BLOCK,
    };

    g_array_append_val(self->rows, row);
    g_hash_table_insert(self->by_id, g_memdup2(&record->id, sizeof record->id),
                        GUINT_TO_POINTER(self->rows->len));
}

/* Calls that make a fact true, and the calls that end it. */
static const struct {
    CsiMethod begins, ends; /* CSI_N_METHODS: no call */
    gboolean at_path;       /* each path separately */
} doings[] = {
    {CSI_CONTROLLER_PUBLISH_VOLUME, CSI_CONTROLLER_UNPUBLISH_VOLUME, FALSE},
    {CSI_NODE_STAGE_VOLUME,         CSI_NODE_UNSTAGE_VOLUME,         FALSE},
    {CSI_NODE_PUBLISH_VOLUME,       CSI_NODE_UNPUBLISH_VOLUME,       TRUE },
    {CSI_DELETE_VOLUME,             CSI_N_METHODS,                   FALSE},
    {CSI_DELETE_SNAPSHOT,           CSI_N_METHODS,                   FALSE},
};

/* Notes a successful call. Returns: whether the call had nothing left to do */
static gboolean
note_done(CallLog *self, const CallRow *row)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(doings); i++) {
        gboolean begins = row->method == doings[i].begins;
        if (!begins && row->method != doings[i].ends)
            continue;
        char *key = g_strdup_printf("%u %s %s %s", i, row->subject, row->node,
                                    doings[i].at_path ? row->path : "");
        if (begins)
            return !g_hash_table_add(self->done, key);
        gboolean was_done = g_hash_table_remove(self->done, key);
        g_free(key);
        return !was_done;
    }
    return FALSE;
}

/* The row is written, and forgotten with all others once no call is under way. */
static void
write_ended(CallLog *self, CallRow *row)
{
    write_row(self->stream, row);
    g_clear_pointer(&row->answer, json_decref);
    if (g_hash_table_size(self->by_id) == 0)
        g_array_set_size(self->rows, 0);
}

static void
call_log_call_ended(void *data, const CsiCallRecord *record)
{
    CallLog *self = data;
    unsigned at = GPOINTER_TO_UINT(g_hash_table_lookup(self->by_id, &record->id));

    if (at == 0)
        return;
    CallRow *row = &g_array_index(self->rows, CallRow, at - 1);
    row->ended_at = record->ended_at;
    row->work_ns =
        self->work != NULL ? self->work(self->work_data) : row->ended_at - row->started_at;
    row->code = record->response->code;
    row->answer = answer_json(record->response);
    if (row->code == CSI_OK && note_done(self, row))
        row->kind = CSI_LATENCY_REPEAT;
    if (row->method == CSI_NODE_STAGE_VOLUME && row->code == CSI_OK)
        g_hash_table_add(self->staged, (void *)row->subject);
    g_hash_table_remove(self->by_id, &record->id);
    if (self->stream != NULL)
        write_ended(self, row);
}

void
call_log_watch(CallLog *self, CsiDriver *driver, SimTime (*work)(void *data), void *data)
{
    const CsiObserver observer = {
        .started = call_log_call_started, .ended = call_log_call_ended, .data = self};

    self->work = work;
    self->work_data = data;
    csi_driver_add_observer(driver, &observer);
}

unsigned
call_log_n(const CallLog *self)
{
    return self->rows->len;
}

const CallRow *
call_log_at(const CallLog *self, unsigned i)
{
    return &g_array_index(self->rows, CallRow, i);
}

/* ---- Files ---- */

gboolean
call_log_write(const CallLog *self, const char *path, json_t *head, GError **error)
{
    FILE *file = fopen(path, "we");
    gboolean good = file != NULL && write_line(file, json_incref(head));

    for (unsigned i = 0; good && i < self->rows->len; i++)
        good = write_row(file, call_log_at(self, i));
    int code = errno;
    if (file != NULL && fclose(file) != 0) {
        code = errno;
        good = FALSE;
    }
    if (!good)
        g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(code), "%s: %s", path,
                    g_strerror(code));
    return good;
}

gboolean
call_log_stream(CallLog *self, const char *path, json_t *head, GError **error)
{
    self->stream = fopen(path, "we");
    if (self->stream != NULL && setvbuf(self->stream, NULL, _IOLBF, BUFSIZ) == 0 &&
        write_line(self->stream, json_incref(head)))
        return TRUE;
    g_set_error(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "%s: %s", path,
                g_strerror(errno));
    return FALSE;
}

static gboolean
read_row(CallLog *self, json_t *line)
{
    CallRow row = {0};
    const char *method, *kind, *subject, *node, *path, *code;
    json_int_t started_at, ended_at, work_ns;

    if (json_unpack(line, "{s:s,s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:s}", "call", &method, "kind", &kind,
                    "subject", &subject, "node", &node, "path", &path, "startedAt", &started_at,
                    "endedAt", &ended_at, "workNs", &work_ns, "code", &code) != 0 ||
        !csi_method_parse(method, &row.method) || !csi_latency_parse(kind, &row.kind) ||
        !csi_code_parse(code, &row.code))
        return FALSE;
    row.subject = call_log_keep(self, subject);
    row.node = call_log_keep(self, node);
    row.path = call_log_keep(self, path);
    row.started_at = started_at;
    row.ended_at = ended_at;
    row.work_ns = work_ns;
    row.answer = json_incref(json_object_get(line, "answer"));
    g_array_append_val(self->rows, row);
    return TRUE;
}

CallLog *
call_log_read(const char *path, json_t **head, GError **error)
{
    g_autoptr(CallLog) self = call_log_new();
    g_autofree char *text = NULL;

    if (!input_get_contents(path, &text, NULL, error))
        return NULL;
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    *head = json_loads(lines[0] != NULL ? lines[0] : "", 0, NULL);
    for (unsigned i = 1; lines[0] != NULL && lines[i] != NULL && lines[i][0] != '\0'; i++) {
        json_t *line = json_loads(lines[i], 0, NULL);
        gboolean good = line != NULL && read_row(self, line);
        json_decref(line);
        if (good)
            continue;
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s:%u: this is no call of a journal",
                    path, i + 1);
        json_decref(*head);
        *head = NULL;
        return NULL;
    }
    if (*head == NULL) {
        g_set_error(error, SIM_ERROR, SIM_ERROR_INVALID, "%s:1: this is no journal", path);
        return NULL;
    }
    return g_steal_pointer(&self);
}

/* ---- What the calls lead to ---- */

/* Adds the results of calls of the method @adds and removes those of @removes, in order; only calls
 * with OK count. */
static GPtrArray *
fold(const CallLog *self, char *(*adds)(const CallRow *row), char *(*removes)(const CallRow *row))
{
    g_autoptr(GPtrArray) order = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) at = g_hash_table_new(g_str_hash, g_str_equal);
    GPtrArray *left = g_ptr_array_new_with_free_func(g_free);

    for (unsigned i = 0; i < self->rows->len; i++) {
        const CallRow *row = call_log_at(self, i);
        if (row->ended_at < 0 || row->code != CSI_OK)
            continue;
        char *added = adds(row);
        g_autofree char *removed = removes(row);
        if (added != NULL) {
            g_ptr_array_add(order, added);
            g_hash_table_replace(at, added, added);
        }
        if (removed != NULL)
            g_hash_table_remove(at, removed);
    }
    for (unsigned i = 0; i < order->len; i++)
        if (g_hash_table_lookup(at, order->pdata[i]) == order->pdata[i])
            g_ptr_array_add(left, g_strdup(order->pdata[i]));
    g_ptr_array_sort(left, strings_compare);
    return left;
}

static char *
mounted(const CallRow *row)
{
    return (row->method == CSI_NODE_STAGE_VOLUME && !row->is_block) ||
                   row->method == CSI_NODE_PUBLISH_VOLUME
               ? g_strdup_printf("%s %s", row->node, row->path)
               : NULL;
}

static char *
unmounted(const CallRow *row)
{
    return row->method == CSI_NODE_UNSTAGE_VOLUME || row->method == CSI_NODE_UNPUBLISH_VOLUME
               ? g_strdup_printf("%s %s", row->node, row->path)
               : NULL;
}

static char *
attached(const CallRow *row)
{
    return row->method == CSI_CONTROLLER_PUBLISH_VOLUME ? g_strdup(row->subject) : NULL;
}

static char *
detached(const CallRow *row)
{
    return row->method == CSI_CONTROLLER_UNPUBLISH_VOLUME ? g_strdup(row->subject) : NULL;
}

GPtrArray *
call_log_believed_mounts(const CallLog *self)
{
    return fold(self, mounted, unmounted);
}

GPtrArray *
call_log_believed_attachments(const CallLog *self)
{
    return fold(self, attached, detached);
}

/* ---- Playing back ---- */

typedef struct {
    CsiDriver base;
    const CallLog *log;
    unsigned next;
    char *difference;
} CallLogReplay;

typedef struct {
    CsiCall base;
    const CallRow *row; /* Returns: NULL: no call fits */
    SimEventId end;
} ReplayCall;

static StringList *
read_nodes(Strings *strings, const json_t *array)
{
    StringList *list = NULL;

    for (gsize i = 0; i < json_array_size(array); i++) {
        const char *node = json_string_value(json_array_get(array, i));
        StringList *longer = string_list_with(list, strings_intern(strings, node));
        string_list_unref(list);
        list = longer;
    }
    return list;
}

static void
read_entries(Strings *strings, const json_t *array, GArray *entries)
{
    for (gsize i = 0; i < json_array_size(array); i++) {
        const json_t *from = json_array_get(array, i);
        const CsiEntry entry = {
            .volume_id =
                strings_intern(strings, json_string_value(json_object_get(from, "volumeId"))),
            .capacity_bytes = json_integer_value(json_object_get(from, "capacityBytes")),
            .published_node_ids = read_nodes(strings, json_object_get(from, "nodes")),
            .abnormal = json_is_true(json_object_get(from, "abnormal")),
            .condition_message =
                strings_intern(strings, json_string_value(json_object_get(from, "condition"))),
            .snapshot_id =
                strings_intern(strings, json_string_value(json_object_get(from, "snapshotId"))),
            .creation_time = json_integer_value(json_object_get(from, "creationTime")),
            .ready_to_use = json_is_true(json_object_get(from, "ready")),
        };
        g_array_append_val(entries, entry);
    }
}

static void
read_answer(Strings *strings, const json_t *answer, CsiResponse *response)
{
    for (unsigned i = 0; i < G_N_ELEMENTS(answer_fields); i++) {
        void *at = G_STRUCT_MEMBER_P(response, answer_fields[i].offset);
        const json_t *value = json_object_get(answer, answer_fields[i].name);
        if (value == NULL)
            continue;
        if (answer_fields[i].type == TEXT)
            *(const char **)at = strings_intern(strings, json_string_value(value));
        else if (answer_fields[i].type == WHOLE)
            *(int64_t *)at = json_integer_value(value);
        else
            *(int *)at = (int)json_integer_value(value);
    }
}

static void
replay_end(Sim *sim, void *data)
{
    ReplayCall *call = data;
    CsiDriver *driver = call->base.driver;
    CsiResponse response = {.code = CSI_UNAVAILABLE,
                            .message = "the journal tells of another call"};

    (void)sim;
    call->end = 0;
    if (call->row == NULL) {
        csi_call_finish(&call->base, &response);
        return;
    }
    const json_t *answer = call->row->answer;
    g_autoptr(StringMap) publish =
        map_from_json(driver->strings, json_object_get(answer, "publishContext"));
    g_autoptr(StringMap) volume =
        map_from_json(driver->strings, json_object_get(answer, "volumeContext"));
    g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(CsiEntry));
    response = (CsiResponse){
        .code = call->row->code, .publish_context = publish, .volume_context = volume};
    read_answer(driver->strings, answer, &response);
    read_entries(driver->strings, json_object_get(answer, "entries"), entries);
    response.entries = (const CsiEntry *)entries->data;
    response.n_entries = entries->len;
    csi_call_finish(&call->base, &response);
    for (unsigned i = 0; i < entries->len; i++)
        string_list_unref((StringList *)g_array_index(entries, CsiEntry, i).published_node_ids);
}

static const SimEventType replay_end_event = {.name = "csi/replayed call ended",
                                              .fire = replay_end};

static gboolean
call_log_is_same(const CallRow *row, const CsiRequest *request, SimTime now)
{
    const char *subject = subject_of(request), *path = call_log_path_of(request);
    const char *node = csi_request_node(request);

    return row->method == request->method && row->started_at == now &&
           g_strcmp0(row->subject, subject != NULL ? subject : "") == 0 &&
           g_strcmp0(row->node, node != NULL ? node : "") == 0 &&
           g_strcmp0(row->path, path != NULL ? path : "") == 0;
}

static void
note_difference(CallLogReplay *self, const CallRow *row, const CsiRequest *request, SimTime now)
{
    char at[SIM_TIME_BUFFER];
    const char *subject = subject_of(request);

    if (self->difference == NULL)
        self->difference =
            g_strdup_printf("call %u at %s: %s of %s, but the journal has %s of %s", self->next,
                            sim_time_format(now, at), csi_method_name(request->method),
                            subject != NULL ? subject : "nothing",
                            row == NULL ? "none" : csi_method_name(row->method),
                            row == NULL ? "nothing" : row->subject);
}

static void
replay_start(CsiDriver *driver, CsiCall *base)
{
    CallLogReplay *self = (CallLogReplay *)driver;
    ReplayCall *call = (ReplayCall *)base;
    SimTime now = sim_now(driver->sim);
    const CallRow *row =
        self->next < call_log_n(self->log) ? call_log_at(self->log, self->next) : NULL;

    self->next++;
    if (row == NULL || !call_log_is_same(row, base->request, now))
        note_difference(self, row, base->request, now);
    else
        call->row = row;
    if (call->row != NULL && call->row->ended_at < 0)
        return; /* the call never ended */
    call->end = sim_at_detail(driver->sim, call->row != NULL ? MAX(call->row->ended_at, now) : now,
                              &replay_end_event, call, driver->waits.latency,
                              CSI_WAIT_DETAIL(base->request->method));
}

static void
replay_caller_gone(CsiDriver *driver, CsiCall *call)
{
    (void)driver, (void)call;
}

static void
replay_call_clear(CsiDriver *driver, CsiCall *call)
{
    sim_cancel(driver->sim, ((ReplayCall *)call)->end);
}

static void
replay_close(CsiDriver *driver)
{
    (void)driver;
}

static void
replay_free(CsiDriver *driver)
{
    g_free(((CallLogReplay *)driver)->difference);
}

static void
replay_add_node(CsiDriver *driver, const char *name, const char *node_id, const StringMap *segments)
{
    (void)driver, (void)name, (void)node_id, (void)segments;
}

static const CsiDriverClass replay_class = {
    .name = "replay",
    .call_size = sizeof(ReplayCall),
    .start = replay_start,
    .caller_gone = replay_caller_gone,
    .call_clear = replay_call_clear,
    .close = replay_close,
    .free = replay_free,
    .add_node = replay_add_node,
};

CsiDriver *
call_log_replay(
    const CallLog *self, Sim *sim, Strings *strings, const char *name, const CsiWaits *waits)
{
    CallLogReplay *replay = g_new0(CallLogReplay, 1);

    csi_driver_init(&replay->base, &replay_class, sim, strings, name, waits);
    replay->log = self;
    return &replay->base;
}

const char *
call_log_difference(const CsiDriver *replay)
{
    return replay->class == &replay_class ? ((const CallLogReplay *)replay)->difference : NULL;
}
