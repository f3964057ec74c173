/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "messages.h"

/* Within the messages: message-fields.c has the tables, messages.c walks over them. */

/* The structs that have a message's fields. */
typedef enum { REQUEST, RESPONSE, ENTRY, CAPABILITY, SOURCE, CONDITION } CsiPlace;

/* Parts of both CsiRequest and CsiResponse, or of CsiResponse and CsiEntry. */
typedef struct {
    const char *id;
    CsiSourceKind kind;
} CsiSource;
typedef struct {
    gboolean abnormal;
    const char *message;
} CsiCondition;

typedef enum {
    TEXT,
    TEXTS,
    MAP,
    MAPS,         /* topologies: one or any number */
    CAPABILITIES, /* the same */
    ENTRIES,
    TRUTH,
    COUNT, /* an unsigned or an enum: not negative */
    BYTES,
    TRUTH_OR_NONE, /* a message around the value; a truth is never left out */
    BYTES_OR_NONE,
    TIME,
    FLAGS, /* a mask of capabilities */
    USAGE,
    SECRETS,
    INSIDE,    /* a message whose fields are in @inside, at the offset */
    CASE,      /* the same, if the enum at the offset is @value */
    CONFIRMED, /* the fields of the request, if the truth at the offset is set */
} CsiFieldKind;

typedef struct {
    CsiPlace place;
    const char *name; /* of the field; with an underscore before a oneof's member */
    CsiFieldKind kind;
    size_t offset, n_offset; /* n_offset: of the number of items */
    CsiPlace inside;
    int value;
    const char *message; /* NULL: of any message */
} CsiField;

/* Returns: (static): where the field @name of a message called @message is in the struct @place;
 * NULL: it is not kept */
const CsiField *csi_message_field(CsiPlace place, const char *message, const char *name);

typedef struct {
    const ProtobufCMessageDescriptor *request, *response;
} CsiMessageTypes;
const CsiMessageTypes *csi_message_types(CsiMethod method);
