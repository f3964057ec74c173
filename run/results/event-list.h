/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/columns.h"
#include "run/files/result-file.h"
#include "stages.h"

extern const ResultTable events_table, event_list_table;
/* events.jsonl: a line for each Event, in the order of their first writes. */
void events_jsonl(const Run *run, const Stages *stages, ResultFile *file);

/**
 * event_list:
 * Writes the Events in the API server at the end as `kubectl get events -A -o json`: a List, sorted
 * by namespace and name, indented by four. Events have no resourceVersion and managedFields; the
 * instance of a scheduler has the name of its process.
 */
void event_list(const Run *run, const Stages *stages, ResultFile *file);
