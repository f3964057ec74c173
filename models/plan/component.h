/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/client/event-recorder.h"
#include "models/client/leader-election.h"
#include "models/client/workqueue.h"
#include "models/csi/csi.h"

typedef struct Cluster Cluster;
typedef struct Component Component;
typedef struct ModelClass ModelClass;
typedef struct Plan Plan;
typedef struct PlanChange PlanChange;

/* Called for every step of every plan as it is carried out: for the narrator and tests. */
typedef void (*PlanObserver)(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step);

/* State that all plans of a cluster share. */
typedef struct {
    uint64_t n_polls;      /* polls begun so far: orders them within an instant */
    PlanObserver observer; /* NULL: none */
    void *observer_data;
} PlanRuns;

/* The head of every model's struct; filled in before init(). */
struct Component {
    const ModelClass *class;
    const char *name;
    /* ModelClass.apply_change: carries out a plan's change of the model's own state. */
    void (*apply_change)(void *self, const PlanChange *change);
    PlanRuns *runs;
    Cluster *cluster;
    Process *process;
    const void *options; /* of the process; its struct is in the process's header */
    Sim *sim;
    Objects *objects;
    Strings *strings;
    ApiClient *client;       /* "persistent-volume-binder" */
    EventRecorder *events;   /* NULL: the model records none */
    ApiClient *event_client; /* NULL: events go through @client */
    CsiDriver *driver;       /* PER_DRIVER: its driver */
    const char *driver_name; /* PER_DRIVER; interned */
    const char
        *node_name;   /* PER_NODE, and of a sidecar that runs on nodes; interned; NULL: no node */
    unsigned replica; /* of several of its process: 0, 1, ... */
    const ObjectKey *pod;   /* PER_DRIVER: the Pod it runs in; NULL: not in a Pod of the cluster */
    LeaderElector *elector; /* PER_DRIVER: the component's, made by its Sidecar; NULL: none */
    uint64_t order;    /* for tickers: unique, registry order then instance; + k for a model's k-th
                          ticker, k < 16 */
    GQueue plans;      /* of Plan, under way */
    GQueue workers;    /* of Workers, in the order made */
    GPtrArray *wakers; /* (owned): of rows that wake workers; NULL: none */
    void **disk;       /* its state on the machine's disk: survives crashes; NULL at first */
    gboolean
        started_late; /* started after a crash: its informers are synced, its memory is empty */
    uint16_t label;   /* its class's name in the log of causes */
    gboolean joined;  /* started late for the first time: its machine has just joined */
    gboolean
        rebooted; /* its machine was powered off: no container runs, nothing is mounted (KVM-68) */
    const Object *machine; /* PER_NODE: its Node as it first joined; NULL: none */
};
