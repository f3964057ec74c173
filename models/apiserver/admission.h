/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "claim-strategy.h"
#include "store.h"

/* Admission plugins, and the defaults that the server sets. */
typedef struct {
    ApiStore *store; /* (borrowed) */
    ClaimGates claim_gates;
    gboolean mutable_limits;   /* MutableCSINodeAllocatableCount */
    gboolean limit_scaling;    /* VolumeLimitScaling has its field */
    gboolean keeps_requests;   /* API-132, see ApiServerOptions */
    gboolean refuses_defaults; /* API-121 */
    PodSpec *given, *admitted; /* (owned): the spec of the latest new pod, before and after */
} Admission;

void admission_clear(Admission *self);
/* @object: the new object, complete but for what admission adds. Returns: API_OK, or the refusal
 * with words in @message */
ApiCode admission_create(Admission *self, Object *object, GString *message);
/* Whether @after may replace @before (API-130..138). @status: the write is one of the status. It
 * may change @after */
ApiCode admission_update(
    Admission *self, const Object *before, Object *after, gboolean status, GString *message);
