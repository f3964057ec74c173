/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/claim.h"
#include "models/csi/csi.h"

/* The state of an expansion in the status of a claim. The resizer and the kubelet meet there. */

/* status.allocatedResourceStatuses[storage]; bits, so that rules name sets of them. An unknown word
 * counts as none. */
typedef enum {
    RESIZE_NONE = 1 << 0,
    RESIZE_CONTROLLER_IN_PROGRESS = 1 << 1,
    RESIZE_CONTROLLER_INFEASIBLE = 1 << 2,
    RESIZE_NODE_PENDING = 1 << 3,
    RESIZE_NODE_IN_PROGRESS = 1 << 4,
    RESIZE_NODE_INFEASIBLE = 1 << 5,
} ResizeStatus;

ResizeStatus claim_resize_status(const Claim *claim);

#define CONDITION_RESIZING "Resizing"
#define CONDITION_FS_RESIZE_PENDING "FileSystemResizePending"
#define CONDITION_CONTROLLER_RESIZE_ERROR "ControllerResizeError"
#define CONDITION_NODE_RESIZE_ERROR "NodeResizeError"

/* The classes of a failed expansion (RSZ-34, CSI-62). To the kubelet the first two are one. */
typedef enum {
    RESIZE_ERROR_NOT_FINAL,  /* the driver may still do it */
    RESIZE_ERROR_FINAL,      /* the driver has not done it */
    RESIZE_ERROR_INFEASIBLE, /* the driver will never do it at that size */
} ResizeError;

ResizeError resize_error_class(CsiCode code);

/* The kinds of conditions that are merged. */
typedef enum {
    CONDITIONS_OF_RESIZE, /* as the resizer does it (RSZ-39) */
    CONDITIONS_OF_MODIFY,
    CONDITIONS_OF_NODE_RESIZE, /* the kubelet's conditions of a resize: a condition with the same
                                  status stays as it is */
} ConditionsKind;

/* Puts each of @news (@n items) in the place of the old condition of its type, or at the end. Other
 * old conditions of @kind stay only if @keep; conditions of other kinds always stay. Returns:
 * (owned): NULL: no condition is left */
ClaimConditions *claim_conditions_merge(const ClaimConditions *old,
                                        ConditionsKind kind,
                                        const ClaimCondition *news,
                                        unsigned n,
                                        gboolean keep);

/* A change of a claim's status, the argument of the edit below. Zeroed, it changes nothing but
 * drops the conditions of resizing; with keep_conditions it does not. */
typedef struct {
    ResizeStatus status;     /* 0: stays */
    const char *status_name; /* interned; of @status */
    int64_t allocated_bytes; /* 0: stays */
    int64_t capacity_bytes;  /* 0: stays */
    gboolean keep_conditions;
    gboolean by_kubelet;      /* CONDITIONS_OF_NODE_RESIZE */
    ClaimCondition condition; /* the new one; type NULL: none */
} ResizeMark;

gboolean resize_mark_apply(Object *claim, const void *mark); /* an ObjectEdit */
void resize_mark_set_status(ResizeMark *self, ResizeStatus status, Strings *strings);
/* The condition is True since @now, in whole seconds as the API keeps it. @message: interned or
 * NULL */
void resize_mark_set_condition(
    ResizeMark *self, const char *type, const char *message, SimTime now, Strings *strings);
