/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi.h"

/* What only tests may call from outside of its file. */

const char *csi_access_mode_name(CsiAccessMode mode); /* "SINGLE_NODE_WRITER" */
