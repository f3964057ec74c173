/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdio.h>

#include "messages.h"

/* A line for each call. Secrets are in no line. */
typedef struct CsiCallsLog CsiCallsLog;

typedef enum {
    CSI_LOG_TEXT, /* for people */
    CSI_LOG_JSON, /* an object in each line */
    CSI_LOG_MOCK, /* "gRPCCall: {...}", as the mock driver of csi-test prints it for Kubernetes'
                     end-to-end tests */
    CSI_LOG_NONE,
} CsiLogFormat;

/* Returns: %FALSE: there is no such format */
gboolean csi_log_format_parse(const char *name, CsiLogFormat *format);

/* @to: (borrowed). Returns: (owned) */
CsiCallsLog *csi_calls_log_new(CsiLogFormat format, FILE *to);
void csi_calls_log_free(CsiCallsLog *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CsiCallsLog, csi_calls_log_free)

typedef struct {
    CsiMethod method;
    const CsiRequest *request;
    const ProtobufCMessage *message, *answer; /* either may be NULL */
    CsiCode code;
    const char *text; /* of the error */
    double seconds;
} CsiLoggedCall;

void csi_calls_log_add(CsiCallsLog *self, const CsiLoggedCall *call);
/* An event of the driver itself: written at once. */
void csi_calls_log_note(CsiCallsLog *self, const char *format, ...) G_GNUC_PRINTF(2, 3);
void csi_calls_log_flush(CsiCallsLog *self);
