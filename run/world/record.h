/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/cluster.h"

/* Each occurrence of a run becomes one record, and each log of the run subscribes to the kinds of
 * records that it reads: milestones, readiness, load, metrics, the narrator, a server's changes. */

typedef enum {
    RECORD_WRITE,         /* a committed write, before any watch sees it */
    RECORD_REQUEST,       /* an answered request, also a refused one; writes of Events aside */
    RECORD_EVENT,         /* a committed write of an Event */
    RECORD_CALL_STARTED,  /* a call of a driver */
    RECORD_CALL_ANSWERED, /* the caller has an answer, or its time is out */
    RECORD_STEP,          /* a step of a component's plan */
    N_RECORD_KINDS,
} RecordKind;

/* sim_cause() is its cause until the subscribers have seen it. Asking makes an entry in the log of
 * causes, so a record does not carry it. */
typedef struct {
    RecordKind kind;
    const ObjectKey *object; /* what it is about; NULL: calls name their volume by its id */
    union {
        struct {                  /* WRITE */
            const Object *before; /* NULL: a new object */
            const Object *after;  /* NULL: it is gone */
        };
        struct { /* REQUEST */
            const ApiRequest *request;
            SimTime arrived_at;
            ApiCode code;
        };
        struct { /* EVENT */
            const ApiEventWrite *event;
            SimTime responds_at;
        };
        const CsiCallRecord *call;
        struct { /* STEP */
            const Component *component;
            const Plan *plan;
            const char *rule, *step;
        };
    };
} RunRecord;

typedef void (*RecordSee)(void *data, const RunRecord *record);

typedef struct Records Records;

/* @cluster: (borrowed). Returns: (owned): to be freed after @cluster */
Records *records_new(Cluster *cluster);
void records_free(Records *self);
/* The driver's calls are recorded from now on. */
void records_add_driver(Records *self, CsiDriver *driver);
/* @see is called for each record of @kind from now on; subscribers of a kind in the order in which
 * they came. */
void records_watch(Records *self, RecordKind kind, RecordSee see, void *data);
