/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/schema.h"

/* Kubernetes' protobuf encoding of objects (k8s.io/apimachinery's
 * pkg/runtime/serializer/protobuf), from the numbers in models/api/schema. Components written in Go
 * send and ask for it, and kubectl sends what it makes itself (create deployment, ...). */

#define PROTOBUF_TYPE "application/vnd.kubernetes.protobuf"
/* What a body begins with. */
#define PROTOBUF_MAGIC "k8s\0"
#define PROTOBUF_MAGIC_LENGTH 4
/* Objects in each other, at most. */
#define PROTOBUF_DEPTH_MAX 64

/* Whether objects of @type (nullable) can be written so: custom resources cannot. */
gboolean protobuf_has(const SchemaType *type);

/**
 * protobuf_decode: decode.c
 * @data: a body of PROTOBUF_TYPE
 * Fields that the types of models/api/schema do not have are left out. As in JSON that Go writes,
 * values are missing that are zero, but for required ones and those that Go has as pointers.
 * Returns: (owned): the object with its apiVersion and kind; %NULL with @error
 * (G_IO_ERROR_INVALID_DATA; G_IO_ERROR_NOT_SUPPORTED: the kind has no form in protobuf)
 */
json_t *protobuf_decode(const guint8 *data, gsize length, GError **error);

/* encode.c. Members that the type does not have, or that are of another type, are left out. */

/* Returns: (owned): an object or a list, as its apiVersion and kind tell; %NULL: it has no form in
 * protobuf */
GBytes *protobuf_encode(const json_t *object);
/* Returns: (owned): a message alone, without the envelope that tells its kind */
GBytes *protobuf_encode_message(const SchemaType *type, const json_t *value);
/* A list grows item by item, as large as it may be: adds one of @type (protobuf_has()) to @items.
 */
void protobuf_append_item(GByteArray *items, const SchemaType *type, const json_t *object);
/* Returns: (owned): @list: without items: {apiVersion, kind, metadata} */
GBytes *protobuf_encode_list(const json_t *list, const GByteArray *items);
/* Adds an event of a watch (PROTOBUF_TYPE ";stream=watch"). @type: "ADDED" */
void protobuf_append_event(GByteArray *stream, const char *type, const json_t *object);

/* openapi-document.c. The names of one form, the second of kubectl until 1.26. It is no media type
 * to Go (an @), so answers never have it. */
#define PROTOBUF_OPENAPI_TYPE "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
#define PROTOBUF_OPENAPI_TYPE_OLD "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
/* Returns: (owned): an OpenAPI document of version 2 */
GBytes *protobuf_encode_openapi(const json_t *document);
