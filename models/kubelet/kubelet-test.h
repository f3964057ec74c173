/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/volume-manager/operation-executor.h"

/* What only tests may call from outside of its file. */

/* RSZ-53: the claim wants to be told how an expansion goes. */
gboolean volume_expansion_is_told(const Claim *claim);
/* @name: interned. Returns: (borrowed): NULL: none */
NodeVolume *node_volume_find(const Kubelet *self, const char *name);
void node_volume_mount_changed(PodMount *mount, MountState state);
/* The files in the volumes' directories cannot be read any more (KVM-62); @disk: Component.disk */
void volume_directories_spoil(void *disk);
