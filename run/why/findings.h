/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "why.h"

/**
 * why_findings:
 * What is stuck at the end of a run, by cause. What only takes time is left out.
 * Returns: (owned): an array, the cause of most objects first, of {"cause": "attach-limit",
 *   "objects": 6, "first": "pod/app-6", "fault": "node/node-1", "text": of the fault,
 *   "unblock": what would help, "command": the same as a command, or absent}
 */
json_t *why_findings(const WhyView *view);
