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

/* Every plan's rules and steps, for the narrator and tests: called as a step is carried out. */
typedef void (*PlanObserver)(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step);

/* What all plans of a cluster share. */
typedef struct {
    uint64_t n_polls;      /* begun so far: their order among the ticks of an instant */
    PlanObserver observer; /* NULL: nobody looks */
    void *observer_data;
} PlanRuns;

/* What every model's struct begins with; filled in before init(). */
struct Component {
    const ModelClass *class;
    const char *name;
    /* Its class's: carries out a change of its own state that a plan asks for. */
    void (*apply_change)(void *self, const PlanChange *change);
    PlanRuns *runs;
    Cluster *cluster;
    Process *process;
    const void *options; /* of the process; its struct is in the process's header */
    Sim *sim;
    Objects *objects;
    Strings *strings;
    ApiServer *api;          /* for live reads of plans only; a model sees informers */
    ApiClient *client;       /* "persistent-volume-binder" */
    EventRecorder *events;   /* NULL: the model records none */
    ApiClient *event_client; /* NULL: events go through @client */
    CsiDriver *driver;       /* PER_DRIVER: its driver */
    const char *driver_name; /* PER_DRIVER; interned */
    const char
        *node_name;   /* PER_NODE, and of a sidecar that runs on nodes; interned; NULL: no node */
    unsigned replica; /* of several of its process: 0, 1, ... */
    LeaderElector *elector; /* PER_DRIVER: the component's, made by its Sidecar; NULL: none */
    uint64_t order; /* for tickers: unique, registry order then instance; + k for a model's k-th
                       ticker, k < 16 */
    GQueue plans;   /* of Plan, under way */
    GQueue workers; /* of Workers, in the order made */
    void **disk;    /* what it keeps on its machine: outlives crashes; NULL at first */
    gboolean started_late; /* after a crash, not with the cluster: its informers are synced, its
                              memory is empty */
    uint16_t label;        /* its class's name in the log of causes */
    gboolean joined; /* started late, and it never ran before: on a machine that has just joined */
    gboolean
        rebooted; /* its machine was off before: no container runs, nothing is mounted (KVM-68) */
    const Object *machine; /* PER_NODE: its Node as it joined first; NULL: it has none */
};
