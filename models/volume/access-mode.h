/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi.h"
#include "models/plan/rules.h"

extern const RuleTable access_mode_rules; /* EA-20 */

/**
 * sidecar_access_mode:
 * @modes: of a volume
 * @multi_writer: the driver has SINGLE_NODE_MULTI_WRITER
 * @error: (out): static, in the words of the sidecars' common library; %NULL: there is a mode
 * Returns: the one mode that the driver is told, as that library chooses it; CSI_MODE_UNKNOWN with
 * @error
 */
CsiAccessMode sidecar_access_mode(uint32_t modes, gboolean multi_writer, const char **error);
