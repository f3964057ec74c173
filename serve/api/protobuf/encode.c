/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages grow at the end of one array. A message within another is first written to its own
 * array, because its length comes before it. Fields are in the order of the types' table: readers
 * take any order. */
#include <string.h>

#include "models/api/field.h"
#include "models/api/fields.h"
#include "protobuf.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void
put_varint(GByteArray *out, uint64_t value)
{
    guint8 bytes[10];
    unsigned n = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (guint8)(value | 0x80);
    bytes[n++] = (guint8)value;
    g_byte_array_append(out, bytes, n);
}

static void
put_number(GByteArray *out, unsigned field, uint64_t value)
{
    put_varint(out, field << 3 | WIRE_VARINT);
    put_varint(out, value);
}

static void
put_bytes(GByteArray *out, unsigned field, const void *data, gsize length)
{
    put_varint(out, field << 3 | WIRE_BYTES);
    put_varint(out, length);
    g_byte_array_append(out, data, (guint)length);
}

static void
put_text(GByteArray *out, unsigned field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

static void
put_message(GByteArray *out, unsigned field, const GByteArray *message)
{
    put_bytes(out, field, message->data, message->len);
}

/* ---- Values ---- */

static void
put_double(GByteArray *out, unsigned field, double number)
{
    uint64_t bits;
    guint8 bytes[8];

    memcpy(&bits, &number, sizeof bits);
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (guint8)(bits >> (8 * i));
    put_varint(out, field << 3 | WIRE_FIXED64);
    g_byte_array_append(out, bytes, sizeof bytes);
}

/* {seconds, nanos} */
static void
put_time(GByteArray *out, const char *text)
{
    SimTime time;

    if (!api_time_parse(text, &time))
        return;
    int64_t nanos = ((time % SIM_SECOND) + SIM_SECOND) % SIM_SECOND;
    put_number(out, 1, (uint64_t)((time - nanos) / SIM_SECOND + API_EPOCH_S));
    put_number(out, 2, (uint64_t)nanos);
}

/* {type, intVal, strVal} */
static void
put_int_or_string(GByteArray *out, const json_t *value)
{
    put_number(out, 1, json_is_string(value));
    put_number(out, 2, (uint64_t)json_integer_value(value));
    put_text(out, 3, json_is_string(value) ? json_string_value(value) : "");
}

/* {raw}, or {string} of a quantity that is a number */
static void
put_json(GByteArray *out, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

    put_text(out, 1, text);
    free(text);
}

static void put_field(GByteArray *out, const SchemaField *row, const json_t *value);

/* Which of several types @value is of. NULL: of none */
static const SchemaField *
encode_choose(const SchemaType *type, const json_t *value)
{
    for (const SchemaField *row = type->choices; row->name != NULL; row++)
        if (row->type->shape == SCHEMA_STRUCT ? json_is_object(value)
            : row->type->shape == SCHEMA_LIST ? json_is_array(value)
                                              : json_is_boolean(value))
            return row;
    return NULL;
}

/* Where a message has a truth value beside a struct, the struct means true. */
static void
put_choice(GByteArray *out, const SchemaType *type, const json_t *value)
{
    const SchemaField *chosen = encode_choose(type, value);

    for (const SchemaField *row = type->choices; row->name != NULL; row++)
        if (row != chosen && row->type->shape == SCHEMA_BOOL)
            put_number(out, row->number, TRUE);
    if (chosen != NULL)
        put_field(out, chosen, value);
}

static void
put_struct(GByteArray *out, const SchemaType *type, const json_t *value, unsigned place);

/* The inside of a value that is a message. */
static void
put_inside(GByteArray *out, const SchemaType *type, const json_t *value)
{
    const SchemaField items = {.name = "items", .type = type, .number = 1};

    switch ((int)type->shape) {
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        put_time(out, json_string_value(value));
        return;
    case SCHEMA_QUANTITY:
        if (json_is_string(value))
            put_text(out, 1, json_string_value(value));
        else
            put_json(out, value);
        return;
    case SCHEMA_INT_OR_STRING:
        put_int_or_string(out, value);
        return;
    case SCHEMA_ANY:
        if (type->choices != NULL)
            put_choice(out, type, value);
        else
            put_json(out, value);
        return;
    case SCHEMA_LIST: /* a map's value */
        put_field(out, &items, value);
        return;
    default:
        put_struct(out, type, value, 0);
    }
}

/* Any value but a list that stands in a struct, or a map. */
static void
put_value(GByteArray *out, unsigned field, const SchemaType *type, const json_t *value)
{
    switch ((int)type->shape) {
    case SCHEMA_STRING:
        put_text(out, field, json_string_value(value));
        return;
    case SCHEMA_BYTES: {
        gsize length;
        g_autofree guchar *data = g_base64_decode(json_string_value(value), &length);
        put_bytes(out, field, data, length);
        return;
    }
    case SCHEMA_BOOL:
        put_number(out, field, json_is_true(value));
        return;
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        put_number(out, field, (uint64_t)json_integer_value(value));
        return;
    case SCHEMA_DOUBLE:
        put_double(out, field, json_number_value(value));
        return;
    default: {
        g_autoptr(GByteArray) inside = g_byte_array_new();
        put_inside(inside, type, value);
        put_message(out, field, inside);
    }
    }
}

/* Whether the value can be of the type: a body that a client wrote may hold anything where no model
 * reads. */
static gboolean
encode_fits(const SchemaType *type, const json_t *value)
{
    switch (type->shape) {
    case SCHEMA_STRING:
    case SCHEMA_BYTES:
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return json_is_string(value);
    case SCHEMA_BOOL:
        return json_is_boolean(value);
    case SCHEMA_INT32:
    case SCHEMA_INT64:
        return json_is_integer(value);
    case SCHEMA_DOUBLE:
        return json_is_number(value);
    case SCHEMA_QUANTITY:
    case SCHEMA_INT_OR_STRING:
        return json_is_string(value) || json_is_number(value);
    case SCHEMA_ANY:
        return value != NULL && (type->choices == NULL || encode_choose(type, value) != NULL);
    case SCHEMA_LIST:
        return json_is_array(value);
    case SCHEMA_STRUCT:
    case SCHEMA_MAP:
        return json_is_object(value);
    }
    g_assert_not_reached();
}

static void
put_field(GByteArray *out, const SchemaField *row, const json_t *value)
{
    const SchemaType *type = row->type;
    const char *key;
    json_t *member;
    gsize i;

    if (!encode_fits(type, value) || row->number == 0)
        return;
    if (type->shape == SCHEMA_LIST) {
        json_array_foreach((json_t *)value, i, member) {
            if (encode_fits(type->element, member))
                put_value(out, row->number, type->element, member);
        }
    } else if (type->shape == SCHEMA_MAP) {
        json_object_foreach((json_t *)value, key, member) {
            g_autoptr(GByteArray) entry = g_byte_array_new();
            put_text(entry, 1, key);
            if (encode_fits(type->element, member))
                put_value(entry, 2, type->element, member);
            put_message(out, row->number, entry);
        }
    } else {
        put_value(out, row->number, type, value);
    }
}

/* The message within the message of @place that has the field, directly or in a message further in.
 * 0: no message has it */
static unsigned
inner_place(const SchemaField *row, unsigned place)
{
    unsigned inner = row->message;

    while (inner != 0 && inner >> 8 != place)
        inner >>= 8;
    return inner;
}

/* The fields that stand at @place, see SchemaField.message. A message within has its place where
 * its first field stands in the table; one without fields is left out. */
static void
put_struct(GByteArray *out, const SchemaType *type, const json_t *value, unsigned place)
{
    for (const SchemaField *row = type->fields; row->name != NULL; row++) {
        unsigned inner = row->message == place ? 0 : inner_place(row, place);

        if (row->message == place)
            put_field(out, row, json_object_get(value, row->name));
        for (const SchemaField *other = type->fields; inner != 0 && other < row; other++)
            if (inner_place(other, place) == inner)
                inner = 0;
        if (inner == 0)
            continue;
        g_autoptr(GByteArray) message = g_byte_array_new();
        put_struct(message, type, value, inner);
        if (message->len > 0)
            put_message(out, inner & 0xff, message);
    }
}

GBytes *
protobuf_encode_message(const SchemaType *type, const json_t *value)
{
    GByteArray *out = g_byte_array_new();

    put_struct(out, type, value, 0);
    return g_byte_array_free_to_bytes(out);
}

/* ---- Objects, lists, events ---- */

/* @is_list: (out): a list of objects of the type */
static const SchemaType *
type_of(const json_t *object, gboolean *is_list)
{
    const char *api_version = json_path_string(object, "apiVersion"),
               *kind = json_path_string(object, "kind");
    g_autofree char *of_items =
        kind != NULL && g_str_has_suffix(kind, "List") ? g_strndup(kind, strlen(kind) - 4) : NULL;

    *is_list = of_items != NULL && json_is_array(json_object_get(object, "items"));
    const SchemaType *type =
        api_version == NULL ? NULL : schema_find(api_version, *is_list ? of_items : kind);
    return protobuf_has(type) ? type : NULL;
}

/* Returns: (owned): runtime.Unknown: {typeMeta: {apiVersion, kind}, raw} behind four bytes */
static GBytes *
envelope(const json_t *named, const GByteArray *raw)
{
    g_autoptr(GByteArray) type = g_byte_array_new();
    GByteArray *out = g_byte_array_new();

    g_byte_array_append(out, (const guint8 *)PROTOBUF_MAGIC, PROTOBUF_MAGIC_LENGTH);
    put_text(type, 1, json_path_string(named, "apiVersion"));
    put_text(type, 2, json_path_string(named, "kind"));
    put_message(out, 1, type);
    put_message(out, 2, raw);
    return g_byte_array_free_to_bytes(out);
}

void
protobuf_append_item(GByteArray *items, const SchemaType *type, const json_t *object)
{
    g_autoptr(GByteArray) item = g_byte_array_new();

    put_struct(item, type, object, 0);
    put_message(items, 2, item);
}

GBytes *
protobuf_encode_list(const json_t *list, const GByteArray *items)
{
    const SchemaType *type = schema_member(schema_find("v1", "Status"), "metadata");
    g_autoptr(GByteArray) raw = g_byte_array_new(), metadata = g_byte_array_new();

    put_struct(metadata, type, json_object_get(list, "metadata"), 0);
    put_message(raw, 1, metadata);
    g_byte_array_append(raw, items->data, items->len);
    return envelope(list, raw);
}

GBytes *
protobuf_encode(const json_t *object)
{
    g_autoptr(GByteArray) raw = g_byte_array_new();
    gboolean is_list;
    const SchemaType *type = type_of(object, &is_list);
    json_t *item;
    gsize i;

    if (type == NULL)
        return NULL;
    if (!is_list) {
        put_struct(raw, type, object, 0);
        return envelope(object, raw);
    }
    json_array_foreach(json_object_get(object, "items"), i, item) {
        protobuf_append_item(raw, type, item);
    }
    return protobuf_encode_list(object, raw);
}

/* A frame: four bytes of length, then WatchEvent: {type, object: {raw}}. */
void
protobuf_append_event(GByteArray *stream, const char *type, const json_t *object)
{
    g_autoptr(GByteArray) event = g_byte_array_new(), any = g_byte_array_new();
    g_autoptr(GBytes) bytes = protobuf_encode(object);
    gsize length = 0;
    const void *data = bytes != NULL ? g_bytes_get_data(bytes, &length) : "";

    put_bytes(any, 1, data, length);
    put_text(event, 1, type);
    put_message(event, 2, any);
    guint32 head = GUINT32_TO_BE(event->len);
    g_byte_array_append(stream, (const guint8 *)&head, sizeof head);
    g_byte_array_append(stream, event->data, event->len);
}
