/* SPDX-License-Identifier: GPL-3.0-or-later */
/* recorded.json: objects with the times of their milestones, and numbers of requests by client,
 * verb and resource. A recording and a simulation have the same form, so that both can be compared.
 * A file is read fast first; only if there is a fault is it read again with positions. Times before
 * the start are not written. */
#include "recorded.h"

#include <string.h>

#include "run/files/input.h"
#include "run/files/rows.h"
#include "run/files/schema.h"
#include "run/import/import-test.h"

#define FORMAT "kvolsim-recorded/1"
#define FILE_NAME "recorded.json"
#define FAULTS_SHOWN 20

struct Recorded {
    SchemaReader memory;    /* of texts and objects */
    GPtrArray *objects;     /* of RecordedObject, in memory */
    GPtrArray *requests;    /* of RecordedRequests, in memory */
    GHashTable *by_request; /* "client\1verb\1resource" -> RecordedRequests */
    GPtrArray *missing;     /* of text */
    const char *start;
    SimTime until;
};

static const char *const kind_words[] = {
    [RECORDED_POD] = "Pod",
    [RECORDED_CLAIM] = "PersistentVolumeClaim",
    [RECORDED_VOLUME] = "PersistentVolume",
    [RECORDED_ATTACHMENT] = "VolumeAttachment",
    [N_RECORDED_KINDS] = NULL,
};

const char *
recorded_kind_name(RecordedKind kind)
{
    return kind_words[kind];
}

const char *
recorded_time_name(RecordedTime time)
{
    static const char *const names[] = {
#define RECORDED_NAME(member, text) [RECORDED_##member] = text,
        RECORDED_TIMES(RECORDED_NAME)
#undef RECORDED_NAME
    };

    return names[time];
}

/* ---- The file's fields ---- */

/* More than 11 days of recording are refused, which no audit log spans. */
#define SECONDS_MAX 1e6

static void
read_seconds(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    double seconds = json_number_value(value);

    if (json_is_number(value) && seconds >= type->min && seconds <= type->max)
        *(SimTime *)target = (SimTime)(seconds * (double)SIM_SECOND + 0.5);
    else
        schema_fault(reader, type->hint, "must be %s", type->wanted);
}

static void
read_format(SchemaReader *reader, const FileType *type, const json_t *value, void *target)
{
    (void)type;
    if (g_strcmp0(json_string_value(value), FORMAT) == 0)
        *(const char **)target = FORMAT;
    else
        schema_fault(reader, "write it with kvolsim import", "must be \"" FORMAT "\"");
}

typedef struct {
    const char *format, *start;
    SimTime until;
    SchemaList objects, requests;
    const char **missing;
} FileFields;

static void
init_object(void *target)
{
    RecordedObject *self = target;

    for (unsigned i = 0; i < N_RECORDED_TIMES; i++)
        self->at[i] = TIME_UNSET;
}

/* clang-format off */
#define END {NULL, NULL, 0, 0, NULL, NULL}

static const FileType format_type = SCHEMA_TEXT("text", "a format", read_format, "{}", char *);
static const FileType seconds_type = SCHEMA_TEXT("number", "seconds since the start, from 0 to 1000000", read_seconds,
    "{}", SimTime, .max = SECONDS_MAX);
static const FileType count_type = SCHEMA_TEXT("integer", "a number", schema_read_integer, "{}", int64_t,
    .max = 1e15);
static const FileType kind_type = SCHEMA_ENUM(kind_words);

#define TIME_FIELD(member, text) \
    {text, &seconds_type, RECORDED_##member * sizeof(SimTime), 0, NULL, NULL},
static const FileField time_fields[] = {RECORDED_TIMES(TIME_FIELD) END};
static const FileType times_type = SCHEMA_STRUCT("milestones", time_fields, SimTime[N_RECORDED_TIMES]);

#define AT(member) offsetof(RecordedObject, member)
static const FileField object_fields[] = {
    {"kind", &kind_type, AT(kind), SCHEMA_REQUIRED, NULL, NULL},
    {"namespace", &schema_string, AT(namespace), 0, NULL, NULL},
    {"name", &schema_string, AT(name), SCHEMA_REQUIRED, NULL, NULL},
    {"workload", &schema_string, AT(workload), 0, NULL, NULL},
    {"node", &schema_string, AT(node), 0, NULL, NULL},
    {"volume", &schema_string, AT(volume), 0, NULL, NULL},
    {"claim", &schema_string, AT(claim), 0, NULL, NULL},
    {"driver", &schema_string, AT(driver), 0, NULL, NULL},
    {"claims", &schema_strings, AT(claims), 0, NULL, NULL},
    {"milestones", &times_type, AT(at), SCHEMA_REQUIRED, NULL, NULL},
    END,
};
#undef AT
static const FileType object_type = SCHEMA_STRUCT("object", object_fields, RecordedObject, .init = init_object);
static const FileType objects_type = SCHEMA_LIST(object_type);

#define AT(member) offsetof(RecordedRequests, member)
static const FileField request_fields[] = {
    {"client", &schema_string, AT(client), SCHEMA_REQUIRED, NULL, NULL},
    {"verb", &schema_string, AT(verb), SCHEMA_REQUIRED, NULL, NULL},
    {"resource", &schema_string, AT(resource), SCHEMA_REQUIRED, NULL, NULL},
    {"count", &count_type, AT(count), SCHEMA_REQUIRED, NULL, NULL},
    {"failed", &count_type, AT(failed), 0, NULL, NULL},
    END,
};
#undef AT
static const FileType request_type = SCHEMA_STRUCT("requests", request_fields, RecordedRequests);
static const FileType requests_type = SCHEMA_LIST(request_type);

#define AT(member) offsetof(FileFields, member)
static const FileField file_fields[] = {
    {"format", &format_type, AT(format), SCHEMA_REQUIRED, NULL, NULL},
    {"start", &schema_string, AT(start), SCHEMA_REQUIRED, NULL, NULL},
    {"until", &seconds_type, AT(until), SCHEMA_REQUIRED, NULL, NULL},
    {"objects", &objects_type, AT(objects), SCHEMA_REQUIRED, NULL, NULL},
    {"requests", &requests_type, AT(requests), 0, NULL, NULL},
    {"missing", &schema_strings, AT(missing), 0, NULL, NULL},
    END,
};
#undef AT
static const FileType file_type = SCHEMA_STRUCT("recording", file_fields, FileFields);
/* clang-format on */

/* ---- Reading ---- */

/* Reads the text of the file. @is_located: with positions, five times as slow. */
static void
read_document(
    Recorded *self, const char *file, GBytes *bytes, gboolean is_located, GPtrArray *faults)
{
    g_autoptr(GPtrArray) documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    g_autoptr(YamlPositions) positions = yaml_positions_new();
    FileFields fields = {0};
    gsize length;
    const char *text = g_bytes_get_data(bytes, &length);

    schema_reader_init(&self->memory, positions, faults);
    self->memory.at.file = file;
    if (is_located ? !yaml_read(positions, file, text, length, faults, documents)
                   : !yaml_read_json(text, length, documents)) {
        if (faults->len == 0)
            schema_fault(&self->memory, NULL, "no JSON");
        return;
    }
    if (documents->len != 1)
        schema_fault(&self->memory, NULL, "must be one JSON object");
    else {
        SchemaJump jump = schema_go_file(&self->memory, documents->pdata[0]);
        schema_read(&self->memory, &file_type, documents->pdata[0], &fields);
        schema_come_back(&self->memory, jump);
    }
    recorded_set_span(self, fields.start, fields.until);
    for (unsigned i = 0; i < fields.objects.n; i++)
        g_ptr_array_add(self->objects, (RecordedObject *)fields.objects.items + i);
    for (unsigned i = 0; i < fields.requests.n; i++)
        g_ptr_array_add(self->requests, (RecordedRequests *)fields.requests.items + i);
    for (unsigned i = 0; fields.missing != NULL && fields.missing[i] != NULL; i++)
        recorded_miss(self, fields.missing[i]);
    self->memory.positions = NULL;
    self->memory.faults = NULL;
}

Recorded *
recorded_read(const char *file, GError **error)
{
    char *text;
    gsize length;

    if (!input_get_contents(file, &text, &length, error))
        return NULL;
    g_autoptr(GBytes) bytes = g_bytes_new_take(text, length);
    /* The second time to say where. */
    for (unsigned round = 0; round < 2; round++) {
        g_autoptr(GPtrArray) faults = file_faults_new();
        g_autoptr(Recorded) self = recorded_new();
        schema_reader_clear(&self->memory);
        read_document(self, file, bytes, round == 1, faults);
        if (faults->len == 0)
            return g_steal_pointer(&self);
        if (round == 1) {
            g_autofree char *all = file_faults_text(faults, FAULTS_SHOWN);
            g_set_error_literal(error, SIM_ERROR, SIM_ERROR_INVALID, all);
        }
    }
    return NULL;
}

/* ---- Writing ---- */

static void
write_text(ResultFile *file, const char *key, const char *value)
{
    if (value == NULL)
        return;
    row_key_bytes(file, key, strlen(key));
    append_json_text(file->text, value);
}

static void
write_object(ResultFile *file, const RecordedObject *object)
{
    row_open(file, '{');
    row_json_text(file, "kind", kind_words[object->kind]);
    write_text(file, ",\"namespace\": ", object->namespace);
    row_json_text(file, "name", object->name);
    write_text(file, ",\"workload\": ", object->workload);
    write_text(file, ",\"node\": ", object->node);
    write_text(file, ",\"volume\": ", object->volume);
    write_text(file, ",\"claim\": ", object->claim);
    write_text(file, ",\"driver\": ", object->driver);
    if (object->claims != NULL) {
        row_key(file, "claims");
        row_open(file, '[');
        for (unsigned i = 0; object->claims[i] != NULL; i++)
            row_item(file), append_json_text(file->text, object->claims[i]);
        row_close(file, ']');
    }
    row_key(file, "milestones");
    row_open(file, '{');
    for (RecordedTime time = 0; time < N_RECORDED_TIMES; time++)
        if (object->at[time] >= 0) { /* nor what was before the start */
            g_autofree char *key = g_strdup_printf(",\"%s\": ", recorded_time_name(time));
            row_key_bytes(file, key, strlen(key));
            append_seconds(file->text, object->at[time]);
        }
    row_close(file, '}');
    row_close(file, '}');
}

static void
write_requests(ResultFile *file, const RecordedRequests *row)
{
    row_open(file, '{');
    row_json_text(file, "client", row->client);
    row_json_text(file, "verb", row->verb);
    row_json_text(file, "resource", row->resource);
    row_json_unsigned(file, "count", (uint64_t)row->count);
    row_json_unsigned(file, "failed", (uint64_t)row->failed);
    row_close(file, '}');
}

/* A list with a line for each item. */
#define WRITE_LIST(file, items, write)                                                             \
    do {                                                                                           \
        append_literal((file)->text, "[");                                                         \
        for (unsigned i_ = 0; i_ < (items)->len; i_++) {                                           \
            append_text((file)->text, i_ == 0 ? "\n" : ",\n");                                     \
            (file)->goes_on = FALSE;                                                               \
            write((file), (items)->pdata[i_]);                                                     \
            result_file_end_row(file);                                                             \
        }                                                                                          \
        append_literal((file)->text, "]");                                                         \
        (file)->goes_on = TRUE;                                                                    \
    } while (0)

static void
write_line(ResultFile *file, const char *text)
{
    append_json_text(file->text, text);
}

gboolean
recorded_write(const Recorded *self, const char *folder, GError **error)
{
    g_autoptr(ResultFile) file = result_file_new(folder, FILE_NAME);

    row_open(file, '{');
    row_json_text(file, "format", FORMAT);
    row_json_text(file, "start", self->start != NULL ? self->start : "");
    row_json_seconds(file, "until", self->until);
    row_key(file, "objects");
    WRITE_LIST(file, self->objects, write_object);
    row_key(file, "requests");
    WRITE_LIST(file, self->requests, write_requests);
    row_key(file, "missing");
    WRITE_LIST(file, self->missing, write_line);
    row_close(file, '}');
    row_end(file);
    return result_file_finish(file, error);
}

/* ---- Contents ---- */

Recorded *
recorded_new(void)
{
    Recorded *self = g_new0(Recorded, 1);

    schema_reader_init(&self->memory, NULL, NULL);
    self->objects = g_ptr_array_new();
    self->requests = g_ptr_array_new();
    self->missing = g_ptr_array_new();
    self->by_request = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    return self;
}

void
recorded_free(Recorded *self)
{
    if (self == NULL)
        return;
    schema_reader_clear(&self->memory);
    g_ptr_array_unref(self->objects);
    g_ptr_array_unref(self->requests);
    g_ptr_array_unref(self->missing);
    g_hash_table_unref(self->by_request);
    g_free(self);
}

const char *
recorded_text(Recorded *self, const char *text)
{
    return text == NULL ? NULL : schema_intern(&self->memory, text);
}

const char **
recorded_texts(Recorded *self, const char *const *texts, unsigned n)
{
    const char **copy = schema_alloc(&self->memory, (n + 1) * sizeof *copy);

    for (unsigned i = 0; i < n; i++)
        copy[i] = recorded_text(self, texts[i]);
    return copy;
}

RecordedObject *
recorded_add(Recorded *self, RecordedKind kind, const char *namespace, const char *name)
{
    RecordedObject *object = schema_alloc(&self->memory, sizeof *object);

    init_object(object);
    object->kind = (int)kind;
    object->namespace =
        namespace == NULL || *namespace == '\0' ? NULL : recorded_text(self, namespace);
    object->name = recorded_text(self, name);
    g_ptr_array_add(self->objects, object);
    return object;
}

void
recorded_see(RecordedObject *object, RecordedTime time, SimTime at)
{
    if (object->at[time] == TIME_UNSET)
        object->at[time] = at;
}

void
recorded_count_requests(Recorded *self,
                        const char *client,
                        const char *verb,
                        const char *resource,
                        int64_t count,
                        int64_t failed)
{
    g_autofree char *key = g_strjoin("\1", client, verb, resource, NULL);
    RecordedRequests *row = g_hash_table_lookup(self->by_request, key);

    if (row == NULL) {
        row = schema_alloc(&self->memory, sizeof *row);
        row->client = recorded_text(self, client);
        row->verb = recorded_text(self, verb);
        row->resource = recorded_text(self, resource);
        g_ptr_array_add(self->requests, row);
        g_hash_table_insert(self->by_request, g_steal_pointer(&key), row);
    }
    row->count += count;
    row->failed += failed;
}

void
recorded_miss(Recorded *self, const char *text)
{
    g_ptr_array_add(self->missing, (char *)recorded_text(self, text));
}

void
recorded_set_span(Recorded *self, const char *start, SimTime until)
{
    self->start = recorded_text(self, start);
    self->until = until;
}

const GPtrArray *
recorded_objects(const Recorded *self)
{
    return self->objects;
}

const GPtrArray *
recorded_requests(const Recorded *self)
{
    return self->requests;
}

const GPtrArray *
recorded_missing(const Recorded *self)
{
    return self->missing;
}

const char *
recorded_start(const Recorded *self)
{
    return self->start;
}

SimTime
recorded_until(const Recorded *self)
{
    return self->until;
}
