/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/local-static/local-static.h"

/* What only tests may call from outside of its file. */

/* LOC-45: whole GiB from ten GiB on, otherwise whole MiB from ten MiB on. */
int64_t local_static_round(int64_t bytes);
/* LOC-43: "local-pv-" and the FNV-1a of file, node and class. Returns: (owned) */
char *local_static_volume_name(const char *file, const char *node, const char *class);
