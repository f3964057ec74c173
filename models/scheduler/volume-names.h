/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/client/process.h"

/* CSI volumes as the attach limits count them (VF-3, VF-5): a volume is its driver and its handle,
 * so a claim that two pods of a node share counts once. */
typedef struct {
    const char *driver; /* interned, or an in-tree plugin's own name; NULL: not counted */
    const void *handle; /* the volume's handle, interned; of a claim without a volume: the claim's
                           key, standing in */
} VolumeName;

static inline gboolean
volume_name_equal(VolumeName a, VolumeName b)
{
    return a.driver == b.driver && a.handle == b.handle;
}

/* The kinds that tell a claim's volume. Borrowed. */
typedef struct {
    Objects *objects;
    Informer *claims, *volumes, *classes;
    const Release *release;
} VolumeSources;

/* The volume of a claim, by the informers; no driver if the claim is missing or its volume does not
 * count. */
VolumeName volume_name_of_claim(const VolumeSources *sources, const ObjectKey *claim_key);

/* The same of a volume by its source (nullable): no driver if it is a CSI volume that stands in a
 * pod, or of a plugin without limit. */
VolumeName volume_name_of_source(const VolumeSource *source);

/* The volumes of one node: used by pods there, attached there, or both. */
typedef struct {
    VolumeName name;
    uint32_t n_pods, n_attachments;
} VolumeInUse;

typedef struct {
    const char *driver;
    uint32_t n_volumes;
} DriverCount;

typedef struct {
    GArray *volumes; /* of VolumeInUse; NULL: none yet */
    GArray *drivers; /* of DriverCount */
} NodeVolumes;

void node_volumes_clear(NodeVolumes *self);
/* Names without a driver are ignored. */
void node_volumes_add(NodeVolumes *self, VolumeName name, int n_pods, int n_attachments);
gboolean node_volumes_used_by_pods(const NodeVolumes *self, VolumeName name);
/* @other: (nullable): a second name of the driver; a volume that is there by both counts once */
uint32_t node_volumes_count(const NodeVolumes *self, const char *driver, const char *other);
