/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "stages.h"

/**
 * chrome_trace:
 * Writes the run in Chrome's trace format (JSON), for Perfetto and chrome://tracing: a track for
 * each worker, node, pod, claim and volume, and arrows along the start of each pod. Times are in
 * microseconds since the run's start.
 */
void chrome_trace(const Run *run, const Stages *stages, ResultFile *file);
