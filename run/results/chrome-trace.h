/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "stages.h"

/**
 * chrome_trace:
 * The run in Chrome's trace format (JSON), which Perfetto and chrome://tracing open: a track for
 * each worker, node, pod, claim and volume, and arrows along each pod's start. Times are
 * microseconds since the run's start.
 */
void chrome_trace(const Run *run, const Stages *stages, ResultFile *file);
