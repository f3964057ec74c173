/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/volume/operations.h"
#include "sim/ticker.h"

/* The desired and the actual state of the world (ADC-10, ADC-15), kept together: one AttachPair for each volume and node
 * that either of them has, so that a change finds all that it concerns without a search. */

typedef enum {
    ADC_DETACHED,
    ADC_UNCERTAIN,
    ADC_ATTACHED,
} AttachState;

typedef struct AttachVolume AttachVolume;
typedef struct AttachNode AttachNode;

typedef struct {
    AttachVolume *volume;
    AttachNode *node;
    uint64_t serial;       /* passes look at pairs in this order: that of becoming */
    ObjectKey *attachment; /* the VolumeAttachment; made when first needed */
    /* Desired: wanted as long as there are pods. */
    GPtrArray *pods; /* of ObjectKey; NULL: none */
    gboolean multi_attach_reported;
    /* Actual. */
    AttachState state;
    SimTime detach_requested_at; /* 0: not */
    gboolean is_queued;          /* the next pass looks at it */
    SimCauseId queued_by;        /* for the log of causes */
    /* The operation under way. */
    const char *operation; /* its name; NULL: none */
    GPtrArray *told;  /* of Object (owned): the pods that hear of an attach (ADC-56); NULL: none */
    SimEventId timer; /* puts it before a later pass */
} AttachPair;

/* A volume by its unique name (ADC-8). */
struct AttachVolume {
    const char *name;            /* interned: "kubernetes.io/csi/<driver>^<handle>" */
    const char *driver, *handle; /* interned */
    const ObjectKey
        *spec; /* the PersistentVolume; NULL: known from a node's status only (ADC-26) */
    gboolean is_exclusive; /* one node at a time (ADC-53) */
    GPtrArray *pairs;      /* of AttachPair */
};

struct AttachNode {
    const char *name;      /* interned */
    gboolean is_managed;   /* ADC-9; stays */
    StringList *in_use;    /* ADC-22 */
    StringList *report;    /* volumesAttached as it should be */
    gboolean needs_update; /* ... and is not yet */
    GPtrArray *pairs;      /* of AttachPair */
    void *controller;      /* whose event it is: */
    SimEventId report_due; /* the kubelet's next report of its node; 0: nobody waits for it */
    uint64_t n_reports;    /* the n of their draws */
};

/* A pass under way. */
typedef struct {
    /* Whose node is being told that it goes: so far is the detach loop; NULL: at its start. */
    AttachPair *pair;
    gboolean verify;  /* ... and whether the node is asked before the detach (ADC-46) */
} AttachPass;

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
    uint16_t label;                /* of the reconciler, in the log of causes */
    SimTime started_at, listed_at; /* the populator: its first pass, its last listing of all pods */
    GHashTable *unresolved; /* set of ObjectKey: pods with a volume that could not be looked up */
    GPtrArray *stale;       /* of ObjectKey: pods that went when that was so */
    GHashTable *volumes_by_name;     /* interned name -> AttachVolume */
    GHashTable *nodes_by_name;       /* interned name -> AttachNode */
    GHashTable *pairs_by_attachment; /* ObjectKey -> AttachPair */
    GPtrArray *queued;               /* of AttachPair, by serial: what the next pass looks at */
    uint64_t n_pairs;                /* made so far */
    GPtrArray *nodes_to_update;      /* of AttachNode */
    GPtrArray *looking_at;           /* the same of the pass under way; NULL: none */
    AttachPass pass;
    GArray *reports; /* of NodeReport: of the pass */
} AttachDetachController;

static inline gboolean
attach_pair_is_wanted(const AttachPair *pair)
{
    return pair->pods != NULL && pair->pods->len > 0;
}

void adc_state_init(AttachDetachController *self);
void adc_state_clear(AttachDetachController *self);
AttachNode *adc_node(AttachDetachController *self, const char *name); /* made if it is new */
AttachNode *adc_find_node(const AttachDetachController *self, const char *name);
AttachVolume *adc_volume(AttachDetachController *self, const char *driver, const char *handle);
AttachVolume *adc_volume_by_name(AttachDetachController *self,
                                 const char *unique_name); /* NULL: not a CSI volume's */
AttachPair *adc_pair(AttachDetachController *self, AttachVolume *volume, AttachNode *node);
AttachPair *adc_find_pair(const AttachVolume *volume, const AttachNode *node);
/* The key of its VolumeAttachment (ADC-59). */
ObjectKey *adc_attachment_key(AttachDetachController *self, AttachPair *pair);
/* What its next operation is called (OP-3): an exclusive volume has one at a time in the whole cluster. */
const char *adc_operation_name(const AttachDetachController *self, const AttachPair *pair);
gboolean adc_is_in_use(const AttachPair *pair);
/* The operation under way; NULL: none */
Plan *adc_plan(const AttachDetachController *self, const AttachPair *pair);
/* Returns: the index of the first of @pairs, which stand by serial, that is not below @serial */
unsigned attach_pairs_from(const GPtrArray *pairs, uint64_t serial);
/* Puts all pairs behind those that the next pass looks at: as a loop that never sleeps. */
void adc_queue_all(AttachDetachController *self);
/* ADC-36.1: takes the pod from the first pair that has it. Returns: whether there was one */
gboolean adc_delete_pod_somewhere(AttachDetachController *self, const ObjectKey *pod);

/* The next pass looks at the pair; or one from @at on. */
void adc_queue(AttachDetachController *self, AttachPair *pair);
void adc_queue_at(AttachDetachController *self, AttachPair *pair, SimTime at);

/* Desired state (ADC-11, ADC-12). */
void adc_add_pod(AttachDetachController *self, AttachPair *pair, const ObjectKey *pod);
void adc_delete_pod(AttachDetachController *self, AttachPair *pair, const ObjectKey *pod);
/* Actual state (ADC-16 to ADC-22). */
void adc_set_attached(AttachDetachController *self, AttachPair *pair, gboolean confirmed);
void adc_set_detached(AttachDetachController *self, AttachPair *pair);
void adc_report(AttachDetachController *self, AttachPair *pair, gboolean attached);
void adc_set_in_use(AttachDetachController *self, AttachNode *node, const StringList *in_use);
/* Forgets the pair if nothing is left of it. */
void adc_settle(AttachDetachController *self, AttachPair *pair);
