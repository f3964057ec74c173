/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "models/api/object.h"

/* What happened in a real cluster, out of its audit log: the milestones of its pods, claims,
 * volumes and attachments, and its requests. The file recorded.json of a folder that import wrote;
 * a simulated run can be written in the same form. */

typedef enum {
    RECORDED_POD,
    RECORDED_CLAIM,
    RECORDED_VOLUME,
    RECORDED_ATTACHMENT,
    N_RECORDED_KINDS,
} RecordedKind;

/* Their meaning is that of run/world/milestones.h; detach-requested is the attachment's
 * deletionTimestamp, detached its end. */
#define RECORDED_TIMES(X)                                                                          \
    X(CREATED, "created")                                                                          \
    X(UNSCHEDULABLE, "unschedulable")                                                              \
    X(SCHEDULED, "scheduled")                                                                      \
    X(RUNNING, "running")                                                                          \
    X(READY, "ready")                                                                              \
    X(STOPPED, "stopped")                                                                          \
    X(SELECTED, "selected-node")                                                                   \
    X(ASKED, "provisioner-asked")                                                                  \
    X(BOUND, "bound")                                                                              \
    X(LOST, "lost")                                                                                \
    X(EXPANSION_ASKED, "expansion-asked")                                                          \
    X(NODE_AWAITED, "node-awaited")                                                                \
    X(EXPANDED, "expanded")                                                                        \
    X(RELEASED, "released")                                                                        \
    X(GROWN, "grown")                                                                              \
    X(ATTACH_REQUESTED, "attach-requested")                                                        \
    X(ATTACHED, "attached")                                                                        \
    X(DETACH_REQUESTED, "detach-requested")                                                        \
    X(DETACHED, "detached")                                                                        \
    X(DELETED, "deleted")                                                                          \
    X(GONE, "gone")

typedef enum {
#define RECORDED_MEMBER(member, text) RECORDED_##member,
    RECORDED_TIMES(RECORDED_MEMBER)
#undef RECORDED_MEMBER
        N_RECORDED_TIMES,
} RecordedTime;

/* One incarnation of an object. Texts are interned in the recording. */
typedef struct {
    int kind;              /* RecordedKind */
    const char *namespace; /* NULL: of volumes and attachments */
    const char *name;
    const char *workload; /* of pods: "StatefulSet/cache", their top controller; NULL: bare pods */
    const char *node;     /* of pods and attachments; NULL: not known */
    const char *volume;   /* of claims and attachments: the volume's name; NULL: not known */
    const char *claim;    /* of volumes and attachments: "shop/data-cache-0"; NULL: not known */
    const char *driver;   /* of volumes: the CSI driver; NULL: not known */
    const char **claims;  /* of pods: claims' names, NULL at the end; NULL: not known */
    SimTime at[N_RECORDED_TIMES]; /* the first of each; TIME_UNSET: not seen */
} RecordedObject;

typedef struct {
    const char *client;    /* "kube-scheduler", "kubelet", "external-attacher" */
    const char *verb;      /* as in the audit log: "patch" */
    const char *resource;  /* "pods/status" */
    int64_t count, failed; /* @failed of @count were answered with 400 or more */
} RecordedRequests;

typedef struct Recorded Recorded;

/* An empty recording. Returns: (owned) */
Recorded *recorded_new(void);
void recorded_free(Recorded *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Recorded, recorded_free)

/**
 * recorded_read:
 * @file: its path
 * Returns: (owned): NULL with a %FILE_FAULT error that has file and line: no JSON, another format,
 * or members that are wrong; all faults, one on a line
 */
Recorded *recorded_read(const char *file, GError **error);
/* Writes recorded.json into @folder, which exists, objects in the order they were added. @error:
 * %G_FILE_ERROR */
gboolean recorded_write(const Recorded *self, const char *folder, GError **error);

/* The copy of @text that lives as long as the recording; NULL for NULL. */
const char *recorded_text(Recorded *self, const char *text);
/* The same of @n texts, NULL at the end. */
const char **recorded_texts(Recorded *self, const char *const *texts, unsigned n);
/* Appends an object without times. @namespace: nullable. Returns: (borrowed): to be filled in */
RecordedObject *
recorded_add(Recorded *self, RecordedKind kind, const char *namespace, const char *name);
/* Sets a time unless an earlier write set it. */
void recorded_see(RecordedObject *object, RecordedTime time, SimTime at);
/* Adds @count requests, of which @failed failed. */
void recorded_count_requests(Recorded *self,
                             const char *client,
                             const char *verb,
                             const char *resource,
                             int64_t count,
                             int64_t failed);
/* Says what the recording cannot have, and why: one line of text. */
void recorded_miss(Recorded *self, const char *text);
/* @start: the instant of t = 0 in RFC 3339; @until: the recording's end since then */
void recorded_set_span(Recorded *self, const char *start, SimTime until);

/* Returns: (borrowed): of RecordedObject * */
const GPtrArray *recorded_objects(const Recorded *self);
/* Returns: (borrowed): of RecordedRequests * */
const GPtrArray *recorded_requests(const Recorded *self);
/* Returns: (borrowed): of const char * */
const GPtrArray *recorded_missing(const Recorded *self);
const char *recorded_start(const Recorded *self);

const char *recorded_kind_name(RecordedKind kind);
