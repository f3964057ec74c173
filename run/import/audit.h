/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/schema/json-scan.h"
#include "sim/sim-time.h"

/* Reads audit logs of kube-apiserver: audit.k8s.io/v1, one event a line, or EventLists as a webhook
 * gets them. Files are read as a stream and in any order; what comes of an event is the caller's.
 */

/* An event of stage ResponseStarted, ResponseComplete or Panic: each request is seen once, and a
 * watch again when it ends. All parts are strings without quotes but for the bodies, and are
 * borrowed for the call. */
typedef struct {
    const char *file;
    guint64 line;
    JsonPart verb, uri, user, agent;
    JsonPart resource, subresource, group, namespace, name, uid; /* of objectRef */
    JsonPart resource_version;                                   /* of objectRef */
    JsonPart request, response; /* bodies as JSON; none at level Metadata */
    JsonPart details;           /* responseStatus.details: an object; none */
    int code;                   /* of the answer; 0: none */
    SimTime received, done;     /* since the epoch of api_time_parse() */
    SimTime watch_end;          /* of a watch that ended; TIME_UNSET: none */
    gboolean is_repeated;       /* seen before: only @watch_end is new */
} AuditEvent;

/* The lines and events that were not handed on, by reason. */
#define AUDIT_SKIPS(X)                                                                             \
    X(TRUNCATED, "lines that end too early")                                                       \
    X(BROKEN, "lines that are no JSON object")                                                     \
    X(LONG, "lines of more than 32 MiB")                                                           \
    X(FOREIGN, "lines that are no audit event")                                                    \
    X(INCOMPLETE, "events without a verb or a time")                                               \
    X(RECEIVED, "events of stage RequestReceived, which the stages after it repeat")               \
    X(TWICE, "events that another line has, too")

typedef enum {
#define AUDIT_SKIP_MEMBER(member, text) AUDIT_SKIP_##member,
    AUDIT_SKIPS(AUDIT_SKIP_MEMBER)
#undef AUDIT_SKIP_MEMBER
        N_AUDIT_SKIPS,
} AuditSkip;

typedef struct {
    guint64 bytes, lines, n_seen;
    struct {
        guint64 count;
        char *first; /* (owned): "audit.log:12"; NULL: none */
    } skipped[N_AUDIT_SKIPS];
    guint64 n_back;      /* events more than a second older than one before them in their file */
    char *first_back;    /* (owned): the place of the first one; NULL: none */
    guint64 n_bodies;    /* events with a response body */
    SimTime first, last; /* received times; SIM_TIME_MAX and 0 without events */
} AuditSummary;

void audit_summary_clear(AuditSummary *self);
const char *audit_skip_text(AuditSkip skip);

typedef void (*AuditSeen)(const AuditEvent *event, void *data);

/**
 * audit_read:
 * @files: (NULL-terminated): paths; plain, or compressed with gzip, xz or zstd
 * @summary: (out): to be cleared, also after an error
 * Returns: FALSE with @error if a file cannot be read, or has lines but not one audit event: the
 * message has file and line
 */
gboolean audit_read(
    const char *const *files, AuditSeen seen, void *data, AuditSummary *summary, GError **error);
