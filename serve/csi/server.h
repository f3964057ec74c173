/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "plugin.h"

/* CSI over gRPC on a socket: gRPC's core library moves bytes on one thread and hands over to the
 * thread that calls csi_server_run(), where the plugin works. */
typedef struct CsiServer CsiServer;

#define CSI_SERVER_ERROR (csi_server_error_quark())
GQuark csi_server_error_quark(void);
typedef enum {
    CSI_SERVER_ERROR_ENDPOINT, /* it is none */
    CSI_SERVER_ERROR_TAKEN,    /* another process listens there */
    CSI_SERVER_ERROR_IO,
} CsiServerError;

typedef struct {
    const char *endpoint; /* "unix:///path", or a path */
    gboolean has_controller, has_node;
    unsigned calls_max; /* at once; more are refused as RESOURCE_EXHAUSTED */
    int64_t drain_ns;   /* how long csi_server_stop() waits for calls */
} CsiServerOptions;

/* Makes the socket, for its owner only (0600). A socket on which nobody listens is replaced.
 * Returns: (owned): %NULL with
 * @error */
CsiServer *csi_server_new(const CsiServerOptions *options, GError **error);
void csi_server_free(CsiServer *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsiServer, csi_server_free)

/* Serves callers until csi_server_stop(). @plugin: its answer() is csi_server_answer(), its wake()
 * csi_server_wake() with
 * @self */
void csi_server_run(CsiServer *self, CsiPlugin *plugin);
void csi_server_answer(void *call, CsiCode code, const char *text, const ProtobufCMessage *message);

/* The following may be called in any thread. */

void csi_server_wake(void *self);
/* Takes no more calls, and ends when its calls are answered or after the options' time; the second
 * request ends it at once. */
void csi_server_stop(CsiServer *self);
/* Returns: (owned): see csi_plugin_metrics(); %NULL: it does not run */
char *csi_server_metrics(CsiServer *self);
