/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>
#include <protobuf-c/protobuf-c.h>

#include "models/csi/csi.h"

/* CSI's messages on the wire, and as the structs of csi.h. One table says where each field of a
 * message is in the structs; it is read in both directions. */
typedef struct {
    ProtobufCMessage *message; /* as on the wire; NULL: not a field of this method */
    CsiRequest request;        /* what was read; valid until csi_message_clear() */
    CsiResponse response;
    char *fault; /* (owned): why it cannot be used; NULL: it can */
    gboolean is_unpacked;
    GArray *owned;
} CsiMessage;

/**
 * csi_message_read_request:
 * @self: (out): csi_message_clear(). With a fault, the request has only its method
 * @strings: its strings are interned here
 * @bytes: from anybody: malformed bytes, strings that are no UTF-8 or too long, and negative counts
 * are a fault
 */
void csi_message_read_request(
    CsiMessage *self, Strings *strings, CsiMethod method, const uint8_t *bytes, size_t n_bytes);
/* The answer of a driver to @method. @epoch: ns since 1970 at virtual time 0 */
void csi_message_read_response(CsiMessage *self,
                               Strings *strings,
                               CsiMethod method,
                               const uint8_t *bytes,
                               size_t n_bytes,
                               int64_t epoch);
/* @self: (out): its message has strings of @request, which are interned and live on; so it is with
 * answers. */
void csi_message_write_request(CsiMessage *self, const CsiRequest *request);
/* The message of an answer that is %CSI_OK. @request: an answer repeats some of its fields;
 * @epoch: as above */
void csi_message_write_response(CsiMessage *self,
                                const CsiRequest *request,
                                const CsiResponse *response,
                                int64_t epoch);
void csi_message_clear(CsiMessage *self);

/* A message as JSON, with the names of its fields and without secrets and unset fields. As Go
 * prints it: a oneof is a nested member. @message: NULL: an empty object. Returns: (owned) */
json_t *csi_message_json(const ProtobufCMessage *message);
