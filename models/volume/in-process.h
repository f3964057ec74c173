/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib-object.h>

#include "models/csi/flex-call.h"
#include "models/plan/plan.h"

/* Volumes that Kubernetes itself attaches and mounts: the calls that an operation of an in-tree
 * plugin or of FlexVolume makes, for the attach/detach controller and the kubelet alike. A driver
 * of the run does the work (cluster_backend()). */

/* What a volume plugin is asked for. */
typedef enum {
    FLEX_ATTACH,
    FLEX_CHECK_ATTACHED,
    FLEX_DETACH,
    FLEX_MOUNT_DEVICE,
    FLEX_UNMOUNT_DEVICE,
    FLEX_SET_UP,
    FLEX_TEAR_DOWN,
    FLEX_EXPAND_VOLUME,
    FLEX_EXPAND_FILE_SYSTEM,
    FLEX_N_OPERATIONS,
} FlexOperation;

/* What a process remembers of FlexVolume drivers until they are probed again (FLX-23, FLX-41). */
typedef struct FlexDrivers FlexDrivers;

FlexDrivers *flex_drivers_new(void);
void flex_drivers_free(FlexDrivers *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FlexDrivers, flex_drivers_free)

typedef struct {
    const char *error;   /* interned; NULL: it is done */
    CsiCode code;        /* of the call that failed */
    gboolean by_default; /* the driver does not support the call: Kubernetes does the work */
    const char *device;  /* of an attach: interned; "": none */
    int64_t bytes;       /* of an expansion: the new size; 0: not told */
    GCallback after;     /* of the work */
    const void *data;    /* of the work */
} InProcessResult;

/* The mode of such a call: the widest that the volume has. */
CsiAccessMode in_process_access_mode(uint32_t modes);
/* The same of a volume. One that stands in a pod has no modes: then one writer, or readers if it is
 * read-only. */
CsiAccessMode in_process_volume_mode(const Volume *volume);

/* Decides what follows, as a PlanDecide. */
typedef void (*InProcessThen)(const void *self, Plan *plan, const InProcessResult *result);

typedef struct {
    CsiDriver *driver;       /* borrowed; NULL: the work takes no time */
    const char *flex_driver; /* interned; NULL: an in-tree plugin */
    unsigned flex_changes;   /* of the driver's files on this machine until now */
    FlexOperation operation;
    gboolean waits_for_attach; /* of FLEX_MOUNT_DEVICE: a device must exist */
    const char *device;        /* that the attach has named; interned or NULL */
    const FlexDrivers *known;
    int note;           /* PlanChange.what with which the component calls in_process_note() */
    CsiRequest request; /* all but the method; its capabilities point to one capability */
    InProcessThen then;
    GCallback after;  /* for @then; may be NULL */
    const void *data; /* the same; borrowed */
} InProcessWork;

/* For apply_change(): what a call has shown of its driver. */
void in_process_note(FlexDrivers *known, const PlanChange *change);
/* Adds the first call. Uses the plan's notes; @work is copied. */
void in_process_begin(const void *self, Plan *plan, const InProcessWork *work);
