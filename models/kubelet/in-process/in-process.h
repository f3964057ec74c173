/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/csi-plugin/csi-plugin.h"
#include "models/volume/in-process.h"

/* Volumes of plugins within the kubelet: in-tree plugins and FlexVolume. */

/* The volume as this kubelet has it: of the in-tree plugin if it does not migrate (MIG-80).
 * Returns: (owned) (nullable) */
const Object *kubelet_volume_seen(const Kubelet *self, const Object *pv);
/* The volume that stands in a pod, as a PersistentVolume. Returns: (owned) */
Object *kubelet_inline_volume(const Kubelet *self, const Object *pod, const PodVolume *volume);
/* Whether this kubelet has a plugin for the volume: its release does (INT-42), and the FlexVolume
 * driver is on the node (FLX-45). */
gboolean in_process_has_plugin(const Kubelet *self, const VolumeSource *source);
/* FLX-33: a FlexVolume driver that does not attach mounts into each pod alone. Returns: (borrowed):
 * NULL: no plugin matches; of other volumes as volume_plugin_find() */
const VolumePlugin *in_process_plugin(const Kubelet *self, const VolumeSource *source);
gboolean in_process_is_attachable(const Kubelet *self,
                                  const VolumePlugin *plugin,
                                  const VolumeSource *source);
/* INT-21: calls the driver of a volume that is not CSI; without one the work is a system call. */
void in_process_plan(const Kubelet *self, Plan *plan, FlexOperation operation, CsiPluginThen then);
/* INT-41: resizes the file system of such a volume to @bytes. */
void in_process_expand(const Kubelet *self, Plan *plan, int64_t bytes, CsiPluginThen then);
