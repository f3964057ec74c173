/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "models/plan/operations.h"
#include "models/volume/in-process.h"
#include "sim/ticker.h"

/* The desired and the actual state of the world (ADC-10, ADC-15), kept together: one AttachPair for
 * each volume and node that occurs in either, so that a change finds all that it concerns without a
 * search. */

/* ADC-17. */
typedef enum {
    ADC_DETACHED,
    ADC_UNCERTAIN,
    ADC_ATTACHED,
} AttachState;

typedef struct AttachVolume AttachVolume;
typedef struct AttachNode AttachNode;

/* What a retry reads and writes (retries.c) comes first: it has left the caches each time. */
typedef struct {
    void *controller;                /* that has the pair */
    uint64_t volume_hash, node_hash; /* of their names: entities for random draws */
    uint64_t place;                  /* in the walk of the pass under way (ADC-71) */
    ObjectKey *attachment;           /* the VolumeAttachment; made when first needed */
    /* Desired: wanted as long as there are pods. */
    GSList *pods;     /* of ObjectKey, as they came: mostly one */
    SimEventId timer; /* queues it for a later pass */
    Plan *aside; /* (borrowed): of an attach that is tried again as it is; NULL: none, or it runs */
    uint32_t n_pods_gone; /* of the controller, when @told was known to be right */
    SimCauseId queued_by; /* for the log of causes */
    AttachState state;    /* actual */
    bool is_steady;       /* see retries.c */
    bool multi_attach_reported;
    bool is_queued; /* the next pass looks at it */
    /* An operation is under way; and whether its key has the node (OP-3). */
    bool is_under_way, is_for_node;
    AttachVolume *volume;
    AttachNode *node;
    SimTime detach_requested_at; /* TIME_UNSET: not */
    GSList *told;                /* of Object (owned): the pods that hear of an attach (ADC-56) */
    const char *device_path;     /* interned: of an attach in process; NULL: CSI */
    /* Interned: the error of an attach that timed out, and what its pods are told: it may do so
     * hundreds of times. NULL: it never did */
    const char *timeout, *told_timeout;
} AttachPair;

/* A volume by its unique name (ADC-8). */
struct AttachVolume {
    const char *name;            /* interned: "kubernetes.io/csi/<driver>^<handle>" */
    uint64_t hash;               /* of the name: an entity for random draws */
    const char *driver, *handle; /* interned; driver NULL: not CSI */
    /* INT-10: the controller attaches it itself, by this driver. NULL: attaching does nothing */
    gboolean is_in_process;
    CsiDriver *backend;
    const char *flex_driver; /* interned; NULL: not FlexVolume */
    const ObjectKey
        *spec; /* the PersistentVolume; NULL: known from a node's status only (ADC-26) */
    const Object *inline_spec; /* (owned): of a volume that stands in a pod (ADC-72); else NULL */
    gboolean is_exclusive;     /* one node at a time (ADC-53) */
    /* Whether actual state has the PersistentVolume: not if only nodes named the volume (ADC-29) */
    gboolean has_spec;
    const char *device_path; /* interned; of CSI volumes "" (ADC-60); NULL: attached nowhere */
    GSList *pairs;           /* of AttachPair, as they came: mostly one */
};

struct AttachNode {
    const char *name;      /* interned */
    uint64_t hash;         /* of the name: an entity for random draws */
    gboolean is_managed;   /* ADC-9; stays */
    StringList *in_use;    /* ADC-22 */
    StringList *report;    /* volumesAttached as it should be */
    gboolean has_report;   /* something was attached here once */
    gboolean needs_update; /* the Node does not say so yet */
    GPtrArray *pairs;      /* of AttachPair */
    void *controller;      /* that has the node */
    SimEventId report_due; /* the kubelet's next report of its node; 0: not waited for */
    uint64_t n_reports;    /* the n of their draws */
};

/* Why a volume may go (ADC-43, ADC-46). */
typedef enum {
    DETACH_IF_SAFE, /* the node does not use it, and is asked once more */
    DETACH_TIMED_OUT,
    DETACH_OUT_OF_SERVICE,
    N_DETACH_REASONS,
} DetachReason;

/* A pass under way. */
typedef struct {
    AttachPair *pair;    /* the detach loop has come to this pair; NULL: at its start */
    DetachReason reason; /* why it may go, while its node is told */
} AttachPass;

/* When what is attached is compared with the VolumeAttachments: ADC-50. */
typedef struct {
    SimTime last;          /* begin of the last one; does not count skipped passes yet */
    SimTime pass_ended_at; /* of the last pass; the grid of skipped passes begins there */
    gboolean is_due; /* a VolumeAttachment may disagree; without it a comparison finds nothing */
    SimEventId timer;
} AttachVerification;

/* A node that the pass tells at its end, and the plan's step that does (ADC-51). */
typedef struct {
    const AttachNode *node;
    int step;
} NodeReport;

typedef struct {
    Component base;
    Informer *pods, *nodes, *claims, *volumes, *attachments, *csi_drivers;
    InformerIndex *pods_by_claim;
    Workers *claim_queue;
    Operations *operations;
    SimTicker *reconciler, *populator;
    ObjectKey *pass_key;           /* of the reconciler's plans; made by the first pass */
    uint16_t label;                /* of the reconciler, in the log of causes */
    SimTime started_at, listed_at; /* the populator: its first pass, its last listing of all pods */
    GHashTable *unresolved; /* set of ObjectKey: pods with a volume that could not be looked up */
    GPtrArray *stale;       /* of ObjectKey: pods that went while a volume could not be looked up */
    uint32_t n_pods_gone;   /* from the cache, also if one of the same name took their place */
    gboolean must_drop_unattachable; /* a driver no longer requires attaching (ADC-36.2) */
    GHashTable *volumes_by_name;     /* interned name -> AttachVolume */
    GHashTable *nodes_by_name;       /* interned name -> AttachNode */
    GHashTable *pairs_by_attachment; /* ObjectKey -> AttachPair */
    /* Of AttachPair: what the next pass looks at; during a pass by place, as @looking_at. */
    GPtrArray *queued;
    GPtrArray *nodes_to_update; /* of AttachNode */
    GPtrArray *looking_at;      /* the same of the pass under way; NULL: none */
    SimTime pass_began_at;
    SimStream detach_order; /* of the pairs of a pass */
    AttachPass pass;
    GArray *reports; /* of NodeReport: of the pass */
    AttachVerification verification;
    uint64_t n_detaches[N_DETACH_REASONS]; /* begun; ADC-48 counts the forced ones */
    FlexDrivers *flex_drivers;
} AttachDetachController;

/* ADC-14. */
static inline gboolean
attach_pair_is_wanted(const AttachPair *pair)
{
    return pair->pods != NULL;
}

void attach_volume_free(void *volume);
void attach_node_free(void *node);
/* At the end: timers point at pairs. */
void adc_cancel_timers(AttachDetachController *self);
AttachNode *adc_node(AttachDetachController *self, const char *name); /* made if it is new */
AttachNode *adc_find_node(const AttachDetachController *self, const char *name);
/* Walks over all nodes in the order of their keys. @slot: 0 at first. Returns: NULL: the end */
AttachNode *adc_next_node(const AttachDetachController *self, uint32_t *slot);
AttachVolume *adc_volume(AttachDetachController *self, const char *driver, const char *handle);
/* Returns: NULL: not a CSI volume's name */
AttachVolume *adc_volume_by_name(AttachDetachController *self, const char *unique_name);
/* Of any plugin; made if it is new. All names interned. */
AttachVolume *adc_volume_named(AttachDetachController *self,
                               const char *name,
                               const char *driver,
                               const char *handle);
AttachPair *adc_pair(AttachVolume *volume, AttachNode *node);
AttachPair *adc_find_pair(const AttachVolume *volume, const AttachNode *node);
/* The key of its VolumeAttachment (ADC-59). */
ObjectKey *adc_attachment_key(AttachDetachController *self, AttachPair *pair);
/* OP-3: an exclusive volume has one operation at a time in the whole cluster. A detach knows only
 * the spec in actual state; without one the volume counts as shared (ADC-53). */
OperationKey adc_attach_key(const AttachPair *pair);
OperationKey adc_detach_key(const AttachPair *pair);
gboolean adc_is_in_use(const AttachPair *pair);
/* ADC-71: the pods that want the pair, in the order of a walk over a map. Returns: (owned): of
 * ObjectKey */
GPtrArray *adc_pods_of(const AttachDetachController *self, const AttachPair *pair);
/* The key of the operation under way. */
OperationKey adc_key_under_way(const AttachPair *pair);
/* The operation under way; NULL: none */
Plan *adc_plan(const AttachDetachController *self, const AttachPair *pair);
/* Returns: the index of the first of @pairs, which are sorted by place, from @place on */
unsigned attach_pairs_from(const GPtrArray *pairs, uint64_t place);
/* The pass that begins looks at what is queued. */
void adc_begin_walk(AttachDetachController *self);
/* Queues all pairs, as a loop that never sleeps. */
void adc_queue_all(AttachDetachController *self);

/* The next pass looks at the pair; or one from @at on. */
void adc_queue(AttachDetachController *self, AttachPair *pair);
void adc_queue_at(AttachDetachController *self, AttachPair *pair, SimTime at);

/* ---- Desired state ---- */

void adc_manage_node(AttachNode *node); /* ADC-9 */
/* ADC-13. Returns: FALSE: it has volumes, so it stays managed */
gboolean adc_delete_node(AttachNode *node);
/* ADC-11. Returns: FALSE: the node is not managed; nothing is stored */
gboolean adc_add_pod(AttachDetachController *self, AttachPair *pair, const ObjectKey *pod);
/* ADC-12. Fine if it is not there. */
void adc_delete_pod(AttachDetachController *self, AttachPair *pair, const ObjectKey *pod);
/* ADC-36.1: takes the pod from the first pair that has it. Returns: whether there was one */
gboolean adc_delete_pod_somewhere(AttachDetachController *self, const ObjectKey *pod);

/* ---- Actual state ---- */

/* ADC-16, ADC-20: attached, or (@confirmed FALSE) perhaps. @has_spec: the caller knows the
 * PersistentVolume. @device_path: interned */
void adc_set_attached(AttachDetachController *self,
                      AttachPair *pair,
                      gboolean has_spec,
                      const char *device_path,
                      gboolean confirmed);
void adc_set_detached(AttachDetachController *self, AttachPair *pair); /* ADC-21 */
/* ADC-18, ADC-19. Returns: FALSE: it was (not) reported before, or nothing is attached */
gboolean adc_report(AttachDetachController *self, AttachPair *pair, gboolean attached);
/* The Node is to be told, though nothing has changed. Returns: FALSE: there was never anything to
 * tell */
gboolean adc_report_again(AttachDetachController *self, AttachNode *node);
/* The Node is being told. Returns: FALSE: that was not needed */
gboolean adc_begin_report(AttachDetachController *self, AttachNode *node);
/* ADC-23. Returns: ns since the first request; -1: nothing is attached */
SimTime adc_request_detach(AttachDetachController *self, AttachPair *pair);
void adc_reset_detach_request(AttachPair *pair);
void adc_set_in_use(AttachDetachController *self,
                    AttachNode *node,
                    const StringList *in_use); /* ADC-22 */
/* Forgets the pair if nothing is left of it. */
void adc_settle(AttachDetachController *self, AttachPair *pair);
