/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/field.h"

/* LocalVolume: the custom resource of a driver for volumes on the nodes' own disks, as ZFSVolume of
 * openebs/zfs-localpv. The driver's controller writes it, the agent of its node carries it out. */

#define LOCAL_VOLUME_NAMESPACE "kube-system"
#define FINALIZER_LOCAL_VOLUME "local.kvolsim.io/finalizer" /* of the agent that has made it */

typedef enum {
    LOCAL_VOLUME_PENDING,
    LOCAL_VOLUME_READY,
    LOCAL_VOLUME_FAILED,
} LocalVolumeState;

typedef struct {
    Object meta;
    const char *node;       /* spec.ownerNodeID: the node that has it, or is to make it; interned */
    const char *pool;       /* spec.poolName; NULL: none given */
    int64_t capacity_bytes; /* spec.capacity */
    uint32_t state;         /* LocalVolumeState; no sub-resource: spec and state change together */
} LocalVolume;

#define LOCAL_VOLUME(object) ((LocalVolume *)(object))
#define LOCAL_VOLUME_CONST(object) ((const LocalVolume *)(object))
