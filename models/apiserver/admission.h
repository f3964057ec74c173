/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "claim-strategy.h"
#include "gated-fields.h"
#include "limit-ranges.h"
#include "store.h"

/* Admission plugins, and the defaults that the server sets. */
typedef struct {
    ApiStore *store; /* (borrowed) */
    ClaimGates claim_gates;
    GatedFields *gated;        /* (owned) */
    gboolean error_codes;      /* MutableCSINodeAllocatableCount */
    gboolean phase_times;      /* PersistentVolumeLastPhaseTransitionTime */
    gboolean single_pod_mode;  /* ReadWriteOncePod */
    gboolean scheduling_gates; /* PodSchedulingReadiness */
    gboolean counts_pods;      /* pods have a generation (API-3) */
    gboolean ends_nomination;  /* ClearingNominatedNodeNameAfterBinding */
    gboolean copies_topology;  /* PodTopologyLabelsAdmission */
    gboolean keeps_requests;   /* API-132, see ApiServerOptions */
    gboolean refuses_defaults; /* API-121 */
    PodSpec *given, *admitted; /* (owned): the spec of the latest new pod, before and after */
    LimitedSpec limited;
} Admission;

/* @store: (borrowed), with the release's gates */
void admission_init(Admission *self, ApiStore *store, const Release *release);
void admission_clear(Admission *self);
/* Forgets specs of earlier pods. */
void admission_forget(Admission *self);
/* @object: the new object, complete but for what admission adds. Returns: API_OK, or the refusal
 * with words in @message */
ApiCode admission_create(Admission *self, Object *object, GString *message);
/* API-22: a pod gets its node. @node: its name */
void admission_bind(const Admission *self, Pod *pod, const char *node);
/* Whether @after may replace @before (API-130..138). @status: the write is one of the status. It
 * may change @after */
ApiCode admission_update(
    Admission *self, const Object *before, Object *after, gboolean status, GString *message);
