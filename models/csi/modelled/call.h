/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "limits.h"
#include "state.h"

/* A call on its way through the driver (call.c). */

typedef enum {
    VERDICT_GO,
    VERDICT_REPEAT, /* all done already: answer as the first time */
    VERDICT_REFUSE,
} CallVerdict;

struct ModelledCall {
    CsiCall base;
    BackendVolume *volume; /* NULL: the method is about none */
    Snapshot *snapshot;    /* the subject, or the source of CreateVolume */
    BackendGroup *group;   /* NULL: the method is about none */
    BackendNode *node;     /* the node that serves the call, or that the volume is attached to */
    VolumeNode *volume_node;
    BackendVolume *source_volume; /* of a clone */
    gboolean is_served;           /* by a component */
    BackendSubject *subject;
    uint64_t entity;
    uint32_t n;        /* how often this method was called for this subject before */
    gboolean *lock;    /* NULL: none */
    gboolean *awaited; /* the lock that it waits for; NULL: it does not */
    gboolean uses_snapshot;
    gboolean fails; /* an error is injected */
    CsiCode error_code;
    const char *error_message;
    gboolean error_after_effect;
    SimTime latency;
    gboolean is_sharing; /* served beside others; only with a Sharing: */
    CsiSlowdown slowdown;
    double work_left; /* ns that it would still take alone */
    SimCauseId served_cause;
    CsiCode refusal_code;
    const char *refusal;
    SimEventId event;         /* token, or service */
    Limits *limits;           /* the limits that were in force as it came */
    unsigned limit;           /* the one that it passes now */
    gboolean has_token;       /* of that limit */
    struct SimStation *queue; /* the queue in which it waits */
    uint32_t held;            /* mask of limits whose server it has */
    GArray *entries;          /* of CsiEntry */
};

static inline CsiModelledDriver *
driver_of(const ModelledCall *call)
{
    return (CsiModelledDriver *)call->base.driver;
}

/* The back end will be done with the call at @at. */
void modelled_schedule_end(ModelledCall *call, SimTime at);

/* The call arrives. */
void modelled_begin(ModelledCall *call);
/* It has passed the limits and is served from now on. */
void modelled_serve(ModelledCall *call);
/* The back end is done with it. */
void modelled_end(Sim *sim, void *call);
/* The caller is answered with this error after @delay; the call has no effect. */
void modelled_fail(ModelledCall *call, CsiCode code, const char *message, SimTime delay);
void modelled_fail_now(ModelledCall *call, CsiCode code, const char *message);

/* See CsiDriverClass. */
void modelled_start(CsiDriver *driver, CsiCall *base);
void modelled_caller_gone(CsiDriver *driver, CsiCall *base);
void modelled_call_clear(CsiDriver *driver, CsiCall *base);
