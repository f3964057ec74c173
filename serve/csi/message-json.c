/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages as JSON, for logs. */
#include "messages.h"

#include <string.h>

static json_t *
value_json(const ProtobufCFieldDescriptor *field, const void *at)
{
    switch ((int)field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return json_string(*(const char *const *)at);
    case PROTOBUF_C_TYPE_MESSAGE:
        return csi_message_json(*(const ProtobufCMessage *const *)at);
    case PROTOBUF_C_TYPE_BOOL:
        return json_boolean(*(const protobuf_c_boolean *)at);
    case PROTOBUF_C_TYPE_INT64:
        return json_integer(*(const int64_t *)at);
    case PROTOBUF_C_TYPE_INT32:
    case PROTOBUF_C_TYPE_ENUM:
        return json_integer(*(const int32_t *)at);
    default: /* CSI has no others */
        return json_null();
    }
}

/* As Go names it: "volume_expansion" is "VolumeExpansion". */
static char *
camel(const char *name)
{
    g_autoptr(GString) text = g_string_new(NULL);

    for (const char *p = name; *p != '\0'; p++) {
        if (*p != '_')
            g_string_append_c(text, p == name || p[-1] == '_' ? g_ascii_toupper(*p) : *p);
    }
    return g_string_free(g_steal_pointer(&text), FALSE);
}

static gboolean
is_map(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_MESSAGE &&
           g_str_has_suffix(((const ProtobufCMessageDescriptor *)field->descriptor)->short_name,
                            "Entry") &&
           ((const ProtobufCMessageDescriptor *)field->descriptor)->n_fields == 2 &&
           strcmp(((const ProtobufCMessageDescriptor *)field->descriptor)->fields[0].name, "key") ==
               0;
}

static json_t *
repeated_json(const ProtobufCFieldDescriptor *field, const void *items, size_t n)
{
    size_t size = field->type == PROTOBUF_C_TYPE_ENUM ? sizeof(int32_t) : sizeof(void *);
    json_t *to = is_map(field) ? json_object() : json_array();

    for (size_t i = 0; i < n; i++) {
        const void *at = (const char *)items + i * size;
        if (!is_map(field)) {
            json_array_append_new(to, value_json(field, at));
            continue;
        }
        const ProtobufCMessage *entry = *(const ProtobufCMessage *const *)at;
        const ProtobufCFieldDescriptor *pair = entry->descriptor->fields;
        const char *key =
            *(const char *const *)(const void *)((const char *)entry + pair[0].offset);
        json_object_set_new(to, key, value_json(&pair[1], (const char *)entry + pair[1].offset));
    }
    return to;
}

static gboolean
message_json_is_set(const ProtobufCFieldDescriptor *field,
                    const ProtobufCMessage *message,
                    const void *at)
{
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0)
        return *(const int *)(const void *)((const char *)message + field->quantifier_offset) ==
               (int)field->id;
    switch ((int)field->type) {
    case PROTOBUF_C_TYPE_STRING:
        return (*(const char *const *)at)[0] != '\0';
    case PROTOBUF_C_TYPE_MESSAGE:
        return *(const void *const *)at != NULL;
    case PROTOBUF_C_TYPE_BOOL:
        return *(const protobuf_c_boolean *)at;
    case PROTOBUF_C_TYPE_INT64:
        return *(const int64_t *)at != 0;
    default:
        return *(const int32_t *)at != 0;
    }
}

json_t *
csi_message_json(const ProtobufCMessage *message)
{
    json_t *to = json_object();

    for (unsigned i = 0; message != NULL && i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        const char *at = (const char *)message + field->offset;
        if (strcmp(field->name, "secrets") == 0)
            continue;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            size_t n =
                *(const size_t *)(const void *)((const char *)message + field->quantifier_offset);
            if (n > 0)
                json_object_set_new(
                    to, field->name,
                    repeated_json(field, *(const void *const *)(const void *)at, n));
        } else if (message_json_is_set(field, message, at) &&
                   (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
            /* The oneofs of CSI are "type" and "access_type"; Go's printer keeps their Go names. */
            g_autofree char *name = camel(field->name);
            json_t *inner = json_object();
            json_object_set_new(inner, name, value_json(field, at));
            json_object_set_new(to,
                                strcmp(field->name, "block") == 0 ||
                                        strcmp(field->name, "mount") == 0
                                    ? "AccessType"
                                    : "Type",
                                inner);
        } else if (message_json_is_set(field, message, at)) {
            json_object_set_new(to, field->name, value_json(field, at));
        }
    }
    return to;
}
