/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "history.h"
#include "invariants.h"

/* The invariants' files: invariants.c has those of writes, the others those of a time or a part. */

struct Invariants {
    Run *run;
    Sim *sim;
    ApiServer *api;
    Objects *objects;
    History *history;
    GString *faults;
    unsigned n_faults;
    char *first_kind; /* the first fault without its names and numbers; NULL: none */
    uint64_t resource_version;
    GHashTable *failures; /* a call -> Failures: since it last succeeded */
    GHashTable *steps;    /* a component, a step and an object -> Steps */
    GHashTable *turns;    /* key of a volume -> Turns */
    GHashTable *lags;     /* message -> at how many looks, one after the other */
    GHashTable *scaled;   /* keys of StatefulSets: no pod has changed since they were scaled */
    SimTime counted_at;   /* the use of a quota was lowered; TIME_UNSET: never */
    gboolean is_looking;  /* faults are lags only */
};

void invariants_fault(Invariants *self, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* Returns: (borrowed) (nullable): as the API server has it */
const Object *invariants_stored(const Invariants *self, ObjectKind kind, uint32_t slot);
const Object *invariants_find(const Invariants *self, ObjectKind kind, const char *name);
/* Returns: (borrowed): of a claim that is Bound; %NULL: there is none */
const Volume *invariants_volume_of_claim(const Invariants *self, const ObjectKey *claim_key);
/* Returns: (borrowed): %NULL: @volume (nullable) has none */
CsiModelledDriver *invariants_driver_of(const Invariants *self, const Volume *volume);

/* CSI calls: invariants-calls.c */
void invariants_call_started(void *self, const CsiCallRecord *record);
void invariants_call_answered(void *self, const CsiCallRecord *record);
void invariants_call_ended(void *self, const CsiCallRecord *record);
/* Whether the Node lists the volume in volumesAttached. */
gboolean
invariants_is_reported(const Invariants *self, const Volume *volume, const char *node_name);
const Attachment *
invariants_attachment_of(const Invariants *self, const Volume *volume, const char *node);
gboolean
invariants_keeps_others_away(const Invariants *self, const Volume *volume, const char *node);

/* ADC-27: whether its controller may have skipped it at its start. */
gboolean invariants_is_attachment_forgotten(const Invariants *self, const Attachment *attachment);
gboolean invariants_pod_has_claim(const Invariants *self, const Pod *pod, const ObjectKey *claim);
/* Volumes of ready pods are as large as was asked for. */
void invariants_check_grown(Invariants *self);
/* After a calm time whatever could proceed has done so: invariants-liveness.c */
void invariants_check_liveness(Invariants *self);
/* Whether nothing has happened to it for long enough. */
gboolean invariants_is_old(const Invariants *self, const Object *object);
/* Whether it is ready, open, and in no trouble. */
gboolean invariants_node_is_well(const Node *node);
/* Whether a pod on the node has the volume. */
gboolean invariants_is_used_on(const Invariants *self,
                               const char *node,
                               const char *driver,
                               const char *volume_id);
/* Whether a snapshot or a content belongs to a VolumeGroupSnapshot. */
gboolean invariants_is_group_member(const Object *object);
/* Marks of volumes, snapshots and nodes: invariants-states.c */
void invariants_check_states(Invariants *self);
/* Pods and statuses of workloads: invariants-workloads.c */
void invariants_check_workloads(Invariants *self);

/* Order and time: invariants-time.c. Whether neither the process nor the API server had a fault at
 * @since, nor a short time before. */
gboolean invariants_is_calm_for(const Invariants *self, const char *process, SimTime since);
void invariants_check_new_pod(Invariants *self, const Pod *pod);
void invariants_check_new_job(Invariants *self, const Object *job);
/* @pod: its deletion has begun */
void invariants_check_eviction(Invariants *self, const Pod *pod);
/* @snapshot: it has gone */
void invariants_check_restored(Invariants *self, const Object *snapshot);
void invariants_check_pace(Invariants *self, const CsiCallRecord *record);
/* Events: invariants-events.c. An ApiEventObserver. */
void invariants_saw_event(void *self, const ApiEventWrite *write, SimTime responds_at);
/* At rest: what has happened was told. */
void invariants_check_told(Invariants *self);
/* A PlanObserver. */
void invariants_saw_step(
    void *self, const Component *component, const Plan *plan, const char *rule, const char *step);
/* What workloads, budgets and quotas tell: invariants-workloads.c */
void invariants_check_statuses(Invariants *self);

/* The scheduler's promises as it binds a pod: invariants-binding.c */
void invariants_check_binding(Invariants *self, const Pod *pod);
