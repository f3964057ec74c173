/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "stages.h"

/* events.jsonl: a line for each, in the order in which they were first written. */
void events_jsonl(const Run *run, const Stages *stages, ResultFile *file);

/**
 * event_list:
 * The Events that the API server has at the end, as `kubectl get events -A -o json` prints them: a
 * List by namespace and name, indented by four. Their resourceVersion and managedFields are not
 * modelled; a scheduler's instance is named after its process.
 */
void event_list(const Run *run, const Stages *stages, ResultFile *file);
