/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "csi.h"

/* For back ends: the part that all drivers share (ids of calls, deadlines, observers). A back end
 * embeds CsiDriver as the first member of its driver, and CsiCall as the first member of its
 * calls. */

/* Kinds of waits in the log of causes; numbered by the models. */
typedef struct {
    SimWait latency;   /* the back end works */
    SimWait throttled; /* its limits make the call wait */
} CsiWaits;

/* The detail of a wait for a method; 0 is for waits without one. */
#define CSI_WAIT_DETAIL(method) ((uint16_t)((unsigned)(method) + 1))

typedef struct CsiCall CsiCall;

typedef struct {
    const char *name;
    size_t call_size; /* of its calls, CsiCall included; zeroed */
    /* Starts the call. csi_call_finish() must follow in a later event. */
    void (*start)(CsiDriver *driver, CsiCall *call);
    /* The caller is gone, by its deadline or because it died. The back end may go on, or finish the
     * call at once. */
    void (*caller_gone)(CsiDriver *driver, CsiCall *call);
    /* The call ends or vanishes: frees its members beyond CsiCall, and cancels its events. */
    void (*call_clear)(CsiDriver *driver, CsiCall *call);
    void (*close)(CsiDriver *driver); /* all calls will be cleared now */
    void (*free)(CsiDriver *driver); /* frees the driver's own members; calls are cleared already */
    /* csi_driver_foresee_node_info(); may be NULL */
    gboolean (*foresee_node_info)(CsiDriver *driver, const char *node_name, CsiResponse *response);
    /* csi_driver_adopt(); may be NULL */
    gboolean (*adopt)(CsiDriver *driver, const CsiRequest *request);
    /* csi_driver_add_node() */
    void (*add_node)(CsiDriver *driver,
                     const char *name,
                     const char *node_id,
                     const StringMap *segments);
    /* csi_driver_n_volumes() */
    unsigned (*n_volumes)(const CsiDriver *driver);
} CsiDriverClass;

struct CsiCall {
    CsiDriver *driver;
    const CsiRequest *request; /* the copy below */
    CsiCallRecord record;
    CsiReply reply;
    void *data;
    SimEventId deadline;
    gboolean has_caller;
    /* A deep copy (owned); its arrays stand beside it unless they are large. */
    CsiRequest own_request;
    CsiCapability own_capability;
    void *arrays; /* NULL: only the one capability */
};

struct CsiDriver {
    const CsiDriverClass *class;
    Sim *sim;
    Strings *strings;
    const char *name; /* interned */
    CsiWaits waits;
    GArray *slots;      /* of CsiSlot: calls in flight, by the low half of their ids */
    uint32_t free_slot; /* 1 + the place that became free last; 0: none is free */
    GArray *observers;  /* of CsiObserver */
    unsigned n_in_flight;
    gboolean starting; /* inside class->start(): no reply may leave */
};

void csi_driver_init(CsiDriver *self,
                     const CsiDriverClass *class,
                     Sim *sim,
                     Strings *strings,
                     const char *name,
                     const CsiWaits *waits);

/* The connection breaks: the caller, if there still is one, gets @response now; the back end goes
 * on. */
void csi_call_disconnect(CsiCall *call, const CsiResponse *response);
/* Returns: (owned): the ids of the calls in flight, by their places */
GArray *csi_driver_calls(const CsiDriver *self);
/* Returns: (borrowed): NULL: the call has ended */
CsiCall *csi_driver_find_call(const CsiDriver *self, CsiCallId id);
/* Ends @call with @response: observers, the caller unless gone, then @call is freed. */
void csi_call_finish(CsiCall *call, const CsiResponse *response);
