/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* Kubernetes' protobuf encoding of objects, in which kubectl sends what it makes itself (create
 * deployment, create namespace, ...): k8s.io/apimachinery's pkg/runtime/serializer/protobuf. */

/* Objects in each other, at most. */
#define PROTOBUF_DEPTH_MAX 64

/**
 * protobuf_decode:
 * @data: a body of type application/vnd.kubernetes.protobuf
 * Fields that the types of models/api/schema do not have are left out. As in JSON that Go writes,
 * values are missing that are zero, but for those that Go has as pointers.
 * Returns: (owned): the object with its apiVersion and kind; %NULL with @error
 * (G_IO_ERROR_INVALID_DATA; G_IO_ERROR_NOT_SUPPORTED: the kind has no form in protobuf)
 */
json_t *protobuf_decode(const guint8 *data, gsize length, GError **error);
