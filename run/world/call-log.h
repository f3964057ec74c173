/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi-backend.h"
#include "models/csi/modelled/modelled-driver.h"

#include <jansson.h>

/* The journal of a driver: every call with when it began and ended, and the answer. Written to a
 * file of JSON lines, read again, and played back by a driver that answers each call as it was
 * answered then, at the same virtual time. */
typedef struct CallLog CallLog;

typedef struct {
    CsiMethod method;
    CsiLatency kind; /* the latency of a profile that this is a sample of: a volume's later stages
                      * are NodeStageVolumeFormatted, calls that find all done Repeat */
    const char *subject; /* the volume's or snapshot's name or id; "" none */
    const char *node;    /* whose plugin was called, or that is attached to; "" none */
    const char
        *path; /* Stage, Unstage: the staging path; Publish, Unpublish: the target; "" none */
    SimTime started_at, ended_at; /* ended_at -1: it was still going on at the end */
    SimTime work_ns;              /* what it took the back end itself; else ended_at - started_at */
    CsiCode code;
    gboolean is_block; /* known of calls that were watched only */
    json_t *answer;
} CallRow;

CallLog *call_log_new(void);
void call_log_free(CallLog *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CallLog, call_log_free)
/* Keeps all calls of @driver from now on. @work: (nullable): asked as a call ends: ns of the back
 * end's own time */
void call_log_watch(CallLog *self, CsiDriver *driver, SimTime (*work)(void *data), void *data);
/* In the order in which the calls were made. */
unsigned call_log_n(const CallLog *self);
const CallRow *call_log_at(const CallLog *self, unsigned i);

/* @head: the first line, what repeats the run. */
gboolean call_log_write(const CallLog *self, const char *file, json_t *head, GError **error);
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

/* What the calls so far should have led to on the machine: mounts, as "node path", and attached
 * volumes, as ids. (owned), sorted. */
GPtrArray *call_log_believed_mounts(const CallLog *self);
GPtrArray *call_log_believed_attachments(const CallLog *self);
