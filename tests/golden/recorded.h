/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "moments.h"

/* A recorded run: watch.jsonl, csi.jsonl and api.jsonl in @folder, each plain or as .gz. Returns:
 * (owned): NULL with an error if one can't be read */
Moments *recorded_moments(const char *folder, const GoldenWords *words, GError **error);
