/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/kubelet/csi-plugin/csi-plugin.h"

/* What only tests may call from outside of its file. */

/* CSP-9: whether the pod's name and so on are part of the volume's context. */
gboolean csi_spec_tells_pod(const CsiDriverObject *driver);
/* KVM-44: the first of @modes, in the order in which they are kept. @multi: the driver has
 * SINGLE_NODE_MULTI_WRITER */
CsiAccessMode csi_spec_access_mode(uint32_t modes, gboolean multi);
/* KVM-42, KVM-57. Interned; NULL: not a CSI volume, or one without a handle */
const char *csi_spec_staging_path(Strings *strings, const Volume *volume);
/* Beside the staging path. Returns: (owned) */
StringMap *csi_saved_device_data(Strings *strings, const VolumeSource *source);
