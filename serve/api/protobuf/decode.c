/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Protobuf to JSON, with the numbers of fields from the schema: the bodies of kubectl and
 * client-go. Unknown fields are skipped; a text that is cut off, no UTF-8 or too deep is a fault of
 * the whole body. Zero values of plain fields are left out, as Go prints them. A number where a
 * message belongs is read as an empty message, so no read goes outside the body. */
#include "protobuf.h"

#include <gio/gio.h>
#include <math.h>
#include <string.h>

#include "models/api/field.h"
#include "models/api/fields.h"

/* The rest of a message. */
typedef struct {
    const guint8 *at, *end;
    unsigned depth;
    GError **error;
} DecodeMessage;

typedef enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5,
} WireType;

/* A field as it stands in a message. */
typedef struct {
    unsigned number;
    WireType type;
    uint64_t value;      /* of numbers */
    DecodeMessage bytes; /* WIRE_BYTES */
} WireField;

static gboolean
decode_fail(const DecodeMessage *message, const char *text)
{
    if (message->error != NULL && *message->error == NULL)
        g_set_error(message->error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "protobuf: %s", text);
    return FALSE;
}

static gboolean
decode_has_failed(const DecodeMessage *message)
{
    return *message->error != NULL;
}

static gboolean
read_varint(DecodeMessage *self, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (self->at >= self->end)
            return decode_fail(self, "a number is cut off");
        uint64_t byte = *self->at++;
        *value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return TRUE;
    }
    return decode_fail(self, "a number is too long");
}

static gboolean
read_fixed(DecodeMessage *self, unsigned length, uint64_t *value)
{
    *value = 0;
    if ((gsize)(self->end - self->at) < length)
        return decode_fail(self, "a number is cut off");
    for (unsigned i = 0; i < length; i++)
        *value |= (uint64_t)self->at[i] << (8 * i);
    self->at += length;
    return TRUE;
}

/* Returns: FALSE: the message is over, or faulty */
static gboolean
read_field(DecodeMessage *self, WireField *field)
{
    uint64_t tag, length;

    /* A number that is read as a message is an empty one. */
    *field = (WireField){
        .bytes = {self->end, self->end, self->depth + 1, self->error}
    };
    if (self->at >= self->end || !read_varint(self, &tag))
        return FALSE;
    field->number = (unsigned)(tag >> 3);
    field->type = (WireType)(tag & 7);
    switch (field->type) {
    case WIRE_VARINT:
        return read_varint(self, &field->value);
    case WIRE_FIXED64:
        return read_fixed(self, 8, &field->value);
    case WIRE_FIXED32:
        return read_fixed(self, 4, &field->value);
    case WIRE_BYTES:
        if (!read_varint(self, &length))
            return FALSE;
        if (length > (uint64_t)(self->end - self->at))
            return decode_fail(self, "a message is cut off");
        field->bytes = (DecodeMessage){self->at, self->at + length, self->depth + 1, self->error};
        self->at += length;
        return field->bytes.depth <= PROTOBUF_DEPTH_MAX ||
               decode_fail(self, "messages are nested too deep");
    }
    return decode_fail(self, "a field has an unknown type");
}

/* ---- Values ---- */

/* Returns: (owned): NULL: it is no string, or no UTF-8 */
static json_t *
string_of(const WireField *field)
{
    const char *text = (const char *)field->bytes.at;
    gsize length = (gsize)(field->bytes.end - field->bytes.at);

    if (field->type != WIRE_BYTES || !g_utf8_validate_len(text, length, NULL)) {
        decode_fail(&field->bytes, "a text is no UTF-8");
        return NULL;
    }
    return json_stringn(text, length);
}

/* Times: {seconds, nanos}. The zero time of Go is an empty message. */
static json_t *
decode_time_of(const WireField *field, gboolean micro)
{
    DecodeMessage message = field->bytes;
    int64_t seconds = 0, nanos = 0;
    WireField part;
    char buffer[API_TIME_BUFFER];

    if (field->type != WIRE_BYTES || message.at == message.end)
        return NULL;
    while (read_field(&message, &part)) {
        if (part.number == 1)
            seconds = (int64_t)part.value;
        else if (part.number == 2)
            nanos = (int64_t)part.value;
    }
    if (seconds < -INT64_C(62135596800) || seconds > INT64_C(9000000000) || nanos < 0 ||
        nanos >= SIM_SECOND)
        return NULL;
    SimTime time = (seconds - API_EPOCH_S) * SIM_SECOND + nanos;
    return json_string(api_time_format(time, micro, buffer));
}

/* Quantity: {string}. */
static json_t *
decode_quantity_of(const WireField *field)
{
    DecodeMessage message = field->bytes;
    json_t *text = NULL;
    WireField part;

    while (field->type == WIRE_BYTES && read_field(&message, &part))
        if (part.number == 1) {
            json_decref(text);
            text = string_of(&part);
        }
    return text;
}

/* IntOrString: {type, intVal, strVal}. */
static json_t *
int_or_string_of(const WireField *field)
{
    DecodeMessage message = field->bytes;
    json_t *text = NULL;
    WireField part;
    int64_t number = 0;
    gboolean is_text = FALSE;

    while (field->type == WIRE_BYTES && read_field(&message, &part)) {
        if (part.number == 1)
            is_text = part.value != 0;
        else if (part.number == 2)
            number = (int32_t)part.value;
        else if (part.number == 3 && text == NULL)
            text = string_of(&part);
    }
    if (is_text && text != NULL)
        return text;
    json_decref(text);
    return json_integer(number);
}

/* RawExtension, FieldsV1: {raw}: JSON. */
static json_t *
raw_of(const WireField *field)
{
    DecodeMessage message = field->bytes;
    json_t *json = NULL;
    WireField part;

    while (field->type == WIRE_BYTES && read_field(&message, &part))
        if (part.number == 1 && part.type == WIRE_BYTES && json == NULL)
            json = json_loadb((const char *)part.bytes.at, (gsize)(part.bytes.end - part.bytes.at),
                              JSON_DECODE_ANY, NULL);
    return json;
}

static json_t *
decode_bytes_of(const WireField *field)
{
    if (field->type != WIRE_BYTES)
        return NULL;
    g_autofree char *text =
        g_base64_encode(field->bytes.at, (gsize)(field->bytes.end - field->bytes.at));
    return json_string(text);
}

static json_t *
double_of(const WireField *field)
{
    double number;

    memcpy(&number, &field->value, sizeof number);
    if (!isfinite(number))
        return NULL;
    if (fabs(number) < 1e15 && number >= trunc(number) && number <= trunc(number))
        return json_integer((json_int_t)number); /* as Go prints it */
    return json_real(number);
}

static json_t *message_of(const SchemaType *type, DecodeMessage message);
static void decode_add_value(json_t *object, const SchemaField *row, const WireField *field);

/* One of several types: where the message has a struct, that is the value. */
static json_t *
choice_of(const SchemaType *type, const WireField *field)
{
    json_t *found = json_object(), *value = NULL;
    DecodeMessage message = field->bytes;
    WireField part;

    while (field->type == WIRE_BYTES && read_field(&message, &part))
        for (const SchemaField *row = type->choices; row->name != NULL; row++)
            if (row->number == part.number)
                decode_add_value(found, row, &part);
    for (const SchemaField *row = type->choices; row->name != NULL; row++)
        if (json_object_get(found, row->name) != NULL &&
            (value == NULL || row->type->shape == SCHEMA_STRUCT))
            value = json_object_get(found, row->name);
    json_incref(value);
    json_decref(found);
    return value;
}

/* Returns: (owned): NULL: it has no value, or is faulty */
static json_t *
decode_value_of(const SchemaType *type, const WireField *field)
{
    switch (type->shape) {
    case SCHEMA_STRING:
        return string_of(field);
    case SCHEMA_BYTES:
        return decode_bytes_of(field);
    case SCHEMA_BOOL:
        return json_boolean(field->value != 0);
    case SCHEMA_INT32:
        return json_integer((int32_t)field->value);
    case SCHEMA_INT64:
        return json_integer((json_int_t)field->value);
    case SCHEMA_DOUBLE:
        return double_of(field);
    case SCHEMA_TIME:
    case SCHEMA_MICRO_TIME:
        return decode_time_of(field, type->shape == SCHEMA_MICRO_TIME);
    case SCHEMA_QUANTITY:
        return decode_quantity_of(field);
    case SCHEMA_INT_OR_STRING:
        return int_or_string_of(field);
    case SCHEMA_ANY:
        return type->choices != NULL ? choice_of(type, field) : raw_of(field);
    case SCHEMA_STRUCT:
        return field->type == WIRE_BYTES ? message_of(type, field->bytes) : NULL;
    case SCHEMA_LIST:
    case SCHEMA_MAP:
        break;
    }
    return NULL;
}

/* A map's value that is a list is a message {items}. */
static json_t *
items_of(const SchemaType *type, const WireField *field)
{
    DecodeMessage message = field->bytes;
    json_t *list = json_array();
    WireField part;

    while (field->type == WIRE_BYTES && read_field(&message, &part)) {
        json_t *item = part.number == 1 ? decode_value_of(type->element, &part) : NULL;
        if (item != NULL)
            json_array_append_new(list, item);
    }
    return list;
}

/* An entry of a map: {key, value}; a missing value is the zero one. */
static void
decode_add_entry(json_t *map, const SchemaType *type, const WireField *field)
{
    DecodeMessage message = field->bytes;
    json_t *key = NULL, *value = NULL;
    WireField part;

    while (field->type == WIRE_BYTES && read_field(&message, &part)) {
        if (part.number == 1 && key == NULL)
            key = string_of(&part);
        else if (part.number == 2 && value == NULL)
            value = type->element->shape == SCHEMA_LIST ? items_of(type->element, &part)
                                                        : decode_value_of(type->element, &part);
    }
    if (value == NULL && type->element->shape == SCHEMA_STRING)
        value = json_string("");
    if (value != NULL)
        json_object_set_new(map, key != NULL ? json_string_value(key) : "", value);
    json_decref(key);
}

/* ---- Messages ---- */

/* Other types are messages in protobuf: they are there, or not. */
static gboolean
is_scalar(const SchemaType *type)
{
    return type->shape <= SCHEMA_DOUBLE;
}

static gboolean
is_zero(const json_t *value)
{
    return json_is_false(value) || (json_is_integer(value) && json_integer_value(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_real(value) && !(json_real_value(value) > 0 || json_real_value(value) < 0));
}

static void
decode_add_value(json_t *object, const SchemaField *row, const WireField *field)
{
    json_t *old = json_object_get(object, row->name), *value;
    const SchemaType *type = row->type;

    if (type->shape == SCHEMA_LIST || type->shape == SCHEMA_MAP) {
        if (old == NULL) {
            old = type->shape == SCHEMA_LIST ? json_array() : json_object();
            json_object_set_new(object, row->name, old);
        }
        if (type->shape == SCHEMA_MAP) {
            decode_add_entry(old, type, field);
            return;
        }
        value = decode_value_of(type->element, field);
        if (value != NULL)
            json_array_append_new(old, value);
        return;
    }
    value = decode_value_of(type, field);
    if (value != NULL && is_scalar(type) && is_zero(value) && !row->pointer && !row->required)
        json_decref(value);
    else if (value != NULL)
        json_object_set_new(object, row->name, value);
}

/* Whether the message at @place, as SchemaField.message tells it, has fields of the struct. */
static gboolean
is_embedded(const SchemaType *type, unsigned place)
{
    for (const SchemaField *row = type->fields; row->name != NULL; row++)
        if (row->message == place || row->message >> 8 == place)
            return TRUE;
    return FALSE;
}

/* Reads the fields of @message into @object of @type. @place: where in the type's message it
 * stands, as SchemaField.message tells it */
static void
read_message(json_t *object, const SchemaType *type, unsigned place, DecodeMessage message)
{
    WireField field;

    while (read_field(&message, &field)) {
        const SchemaField *row = type->fields;
        unsigned inner = place << 8 | field.number;

        while (row->name != NULL && (row->number != field.number || row->message != place))
            row++;
        if (row->name != NULL)
            decode_add_value(object, row, &field);
        else if (field.number > 0 && field.number < 256 && place < 256 &&
                 field.type == WIRE_BYTES && is_embedded(type, inner))
            read_message(object, type, inner, field.bytes);
    }
}

static json_t *
message_of(const SchemaType *type, DecodeMessage message)
{
    json_t *object = json_object();

    if (type->fields != NULL)
        read_message(object, type, 0, message);
    return object;
}

/* ---- The envelope: runtime.Unknown ---- */

/* TypeMeta: {apiVersion, kind}. */
static void
read_type(DecodeMessage message, json_t *type)
{
    WireField field;

    while (read_field(&message, &field)) {
        json_t *text = field.number == 1 || field.number == 2 ? string_of(&field) : NULL;
        if (text != NULL)
            json_object_set_new(type, field.number == 1 ? "apiVersion" : "kind", text);
    }
}

gboolean
protobuf_has(const SchemaType *type)
{
    for (const SchemaField *field = type != NULL ? type->fields : NULL;
         field != NULL && field->name != NULL; field++)
        if (field->number != 0)
            return TRUE;
    return FALSE;
}

static json_t *
decode_raw(json_t *object, const DecodeMessage *raw, GError **error)
{
    const char *api_version = json_path_string(object, "apiVersion"),
               *kind = json_path_string(object, "kind");
    const SchemaType *type =
        api_version == NULL || kind == NULL ? NULL : schema_find(api_version, kind);

    if (!protobuf_has(type)) {
        g_set_error(error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                    "protobuf: no type is known for %s %s", api_version != NULL ? api_version : "",
                    kind != NULL ? kind : "");
        return NULL;
    }
    read_message(object, type, 0, *raw);
    return object;
}

json_t *
protobuf_decode(const guint8 *data, gsize length, GError **error)
{
    GError *fault = NULL;
    DecodeMessage message = {data, data + length, 0, &fault}, raw = {data, data, 0, &fault};
    json_t *object = json_object();
    WireField field;

    if (length < PROTOBUF_MAGIC_LENGTH ||
        memcmp(data, PROTOBUF_MAGIC, PROTOBUF_MAGIC_LENGTH) != 0) {
        decode_fail(&message, "the body does not begin as Kubernetes' protobuf does");
    } else {
        message.at += PROTOBUF_MAGIC_LENGTH;
        while (read_field(&message, &field)) {
            if (field.type == WIRE_BYTES && field.number == 1)
                read_type(field.bytes, object);
            else if (field.type == WIRE_BYTES && field.number == 2)
                raw = field.bytes;
        }
    }
    if (!decode_has_failed(&message))
        decode_raw(object, &raw, &fault);
    if (fault == NULL)
        return object;
    json_decref(object);
    g_propagate_error(error, fault);
    return NULL;
}
