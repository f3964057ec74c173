/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "messages.h"

/* Connections to CSI drivers on sockets: makes calls, any number at once. For one thread. */
typedef struct CsiClient CsiClient;

CsiClient *csi_client_new(void);
/* @endpoint: "unix:///path", or a path. Returns: the number of the connection, from 0. Nothing is
 * sent yet: calls wait for a driver to listen there */
unsigned csi_client_connect(CsiClient *self, const char *endpoint);
/* Calls under way are cancelled: there will be no reply. %NULL is fine */
void csi_client_free(CsiClient *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsiClient, csi_client_free)

/* @text: of an error, "" otherwise; @bytes: the answer of %CSI_OK; both valid during the reply */
typedef void (*CsiClientReply)(
    void *data, CsiCode code, const char *text, const uint8_t *bytes, size_t n_bytes);

/* @message: packed before this returns. @timeout_ns: 0: none. @reply: called once, from
 * csi_client_wait() */
void csi_client_call(CsiClient *self,
                     unsigned connection,
                     CsiMethod method,
                     const ProtobufCMessage *message,
                     int64_t timeout_ns,
                     CsiClientReply reply,
                     void *data);
/* Gives replies that have come; if there are none, waits for one, until @until_us of the monotonic
 * clock at most. Returns: whether there were any */
gboolean csi_client_wait(CsiClient *self, int64_t until_us);
