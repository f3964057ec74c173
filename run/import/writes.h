/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "audit.h"
#include "clients.h"
#include "models/api/object.h"
#include "recorded.h"
#include "report.h"
#include "sim/strings.h"

/* The writes of an audit log that matter, in order of time, with what their bodies tell. All else
 * of the log is only counted. */

/* What the answer's body says about its object. */
enum {
    FACT_DELETED = 1 << 0, /* deletionTimestamp */
    FACT_GONE = 1 << 1,    /* ... and nothing keeps it any more */
    FACT_UNSCHEDULABLE = 1 << 2,
    FACT_RUNNING = 1 << 3,
    FACT_READY = 1 << 4,
    FACT_STOPPED = 1 << 5, /* a terminal phase */
    FACT_SELECTED = 1 << 6,
    FACT_ASKED = 1 << 7,
    FACT_BOUND = 1 << 8,
    FACT_LOST = 1 << 9,
    FACT_RELEASED = 1 << 10,
    FACT_ATTACHED = 1 << 11,
    FACT_NODE_AWAITED = 1 << 12,
};

typedef struct {
    unsigned facts;
    const char *node, *volume; /* of pods, claims and attachments; NULL: none */
    const char *driver;        /* of volumes; NULL: none */
    const char *claim;         /* of volumes: "shop/data-cache-0"; NULL: none */
    const char *owner;         /* the controller: "ReplicaSet/web-5f85df69d4"; NULL: none */
    int64_t requested_bytes, capacity_bytes; /* of claims and volumes; -1: none */
} BodyFacts;

/* A kind whose writes matter. */
typedef struct {
    const KindClass *class;
    ObjectKind model;
} WriteKind;

typedef struct {
    SimTime received, done, at; /* at: the commit, see writes.c */
    const Sender *sender;
    const WriteKind *kind;
    const char *verb, *subresource;     /* interned; subresource "": none */
    const char *namespace, *name, *uid; /* interned; NULL: none, or not known */
    const char *query;                  /* interned: "fieldManager=kubectl-rollout"; "": none */
    gboolean has_body;                  /* the facts are known */
    int code;
    guint64 resource_version; /* of the answer's object; 0: not known */
    BodyFacts body;
    const char **claims;      /* (owned): of created pods; NULL-terminated; NULL: none */
    char *request, *response; /* (owned): bodies of writes from outside, without status and
                                 managedFields; NULL: none */
} RecordedWrite;

/* A call of a driver that failed, as an Event tells it. */
typedef struct {
    SimTime at;
    const char *driver, *method, *code; /* interned: "CreateVolume", "Internal"; driver: NULL: not
                                           known */
    const char *volume;                 /* as the message names it; NULL: none */
} DriverFailure;

/* The requests of one process: its silences are found in them. */
typedef struct {
    const char *name; /* "kube-scheduler"; "kubelet" */
    const char *node; /* of a kubelet; NULL: another process */
    GArray *requests; /* of SimTime: received, in order of time */
    GArray *ends;     /* of SimTime: its watches ended */
    GArray *starts;   /* of SimTime: the reads of all objects of a kind, as informers begin */
} ProcessWrites;

/* A kubelet looked for a claim by name, as it does for each new pod. */
typedef struct {
    SimTime at;
    const char *node, *namespace, *name; /* interned */
} ClaimLook;

typedef struct {
    Strings *strings;
    Senders *senders;
    GPtrArray *writes;    /* of RecordedWrite (owned), by time of the commit */
    GArray *failures;     /* of DriverFailure, by time */
    GArray *looks;        /* of ClaimLook */
    GPtrArray *processes; /* of ProcessWrites (owned), in the order of their first requests */
    AuditSummary summary;
} Writes;

/**
 * writes_read:
 * @files: (NULL-terminated): audit logs
 * @start: t = 0; requests are counted from then on
 * @recorded: (inout): gets the requests by client
 * Returns: (owned): NULL with @error, as audit_read()
 */
Writes *writes_read(const char *const *files,
                    SimTime start,
                    Recorded *recorded,
                    ImportReport *report,
                    GError **error);
void writes_free(Writes *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Writes, writes_free)
/* pod-names.c: names the pods that the log does not name at their creation. */
void writes_name_pods(Writes *self);
/* Returns: NULL: its writes do not matter */
const WriteKind *write_kind_named(const char *kind);
/* Returns: a RecordedKind; -1: its objects have no recording */
int write_kind_recorded(const WriteKind *kind);
