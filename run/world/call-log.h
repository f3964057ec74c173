/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi-backend.h"
#include "models/csi/modelled/modelled-driver.h"

#include "run/files/columns.h"

#include <jansson.h>

/* The journal of a driver: every call with its start, end and answer. It is written to a file of
 * JSON lines and read back; a driver can then play it back and give each call the same answer at
 * the same virtual time. */
typedef struct CallLog CallLog;

typedef struct {
    CsiMethod method;
    CsiLatency kind;     /* the latency of a profile that this call is a sample of: a volume's later
                            stages are NodeStageVolumeFormatted, calls without work are Repeat */
    const char *subject; /* the volume's or snapshot's name or id; "" none */
    const char *node;    /* the plugin's node, or the node to attach to; "" none */
    const char
        *path; /* Stage, Unstage: the staging path; Publish, Unpublish: the target; "" none */
    SimTime started_at, ended_at; /* ended_at -1: still in flight at the end */
    SimTime work_ns;              /* the back end's own time; else ended_at - started_at */
    CsiCode code;
    gboolean is_block; /* only of calls that were watched */
    json_t *answer;
} CallRow;

CallLog *call_log_new(void);
void call_log_free(CallLog *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CallLog, call_log_free)
/* Records all calls of @driver from now on. @work: (nullable): called when a call ends; returns the
 * back end's own time in ns */
void call_log_watch(CallLog *self, CsiDriver *driver, SimTime (*work)(void *data), void *data);
/* Calls in the order of their start. */
unsigned call_log_n(const CallLog *self);
const CallRow *call_log_at(const CallLog *self, unsigned i);

extern const ResultTable journal_table;
/* @head: the first line, with what is needed to repeat the run. */
gboolean call_log_write(const CallLog *self, const char *file, json_t *head, GError **error);
/* From now on each call is written to @file when it ends, and then forgotten: for a driver without
 * an end. @head: as above */
gboolean call_log_stream(CallLog *self, const char *file, json_t *head, GError **error);
/* @head: (out) (owned). Returns: (owned): %NULL with %SIM_ERROR_INVALID, or a file error */
CallLog *call_log_read(const char *file, json_t **head, GError **error);

/**
 * call_log_replay:
 * A driver that plays the log back. It takes what it is asked one after the other: a call that
 * differs from the log's in method, subject, node or time is answered UNAVAILABLE, and the
 * difference kept.
 * @self: (borrowed), outlives the driver
 * Returns: (owned)
 */
CsiDriver *call_log_replay(
    const CallLog *self, Sim *sim, Strings *strings, const char *name, const CsiWaits *waits);
/* Returns: (borrowed): the first difference; NULL: none so far */
const char *call_log_difference(const CsiDriver *replay);

/* The state of the machine that the calls so far should lead to: mounts as "node path", and
 * attached volumes as ids. (owned), sorted. */
GPtrArray *call_log_believed_mounts(const CallLog *self);
GPtrArray *call_log_believed_attachments(const CallLog *self);
