/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"
#include "models/api/storage.h"
#include "models/cluster/cluster.h"

/* Which volume a call of a driver, or a name in a node's status, is about. A volume that stands in
 * a pod has no PersistentVolume: it is called as the one that it is for its driver (MIG-45), else
 * by its handle (CSI) or its unique name, so pods that share it share it here. */
typedef struct VolumeNames VolumeNames;

/* @cluster, @objects: (borrowed). Returns: (owned) */
VolumeNames *volume_names_new(const Cluster *cluster, Objects *objects);
void volume_names_free(VolumeNames *self);

void volume_names_add(VolumeNames *self, const Volume *volume);
/* Adds the volumes that stand in the pod. Returns: (owned): their keys; NULL: there are none */
const ObjectKey **volume_names_add_pod(VolumeNames *self, const Pod *pod);

/* Each returns (borrowed): NULL: no such volume is known. Texts are interned */
const ObjectKey *
volume_names_of_id(const VolumeNames *self, const CsiDriver *driver, const char *id);
const ObjectKey *volume_names_of_unique_name(const VolumeNames *self, const char *name);
const ObjectKey *volume_names_of_attachment(const VolumeNames *self, const Attachment *attachment);
