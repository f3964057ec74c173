/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi.h"

/* A volume's modes as the one mode of the driver, as the sidecars' common library turns them
 * (EA-20).
 * @multi_writer: the driver has SINGLE_NODE_MULTI_WRITER.
 * Returns: CSI_MODE_UNKNOWN with @error (out, static) in its words; @error is NULL if all is well
 */
CsiAccessMode sidecar_access_mode(uint32_t access_modes, gboolean multi_writer, const char **error);
