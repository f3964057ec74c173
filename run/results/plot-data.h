/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "stages.h"

/* Tables that pictures are drawn from, as small as a picture can show. */

/* Of each stage, what the mean object waited for: a column for each kind of wait, seconds. Nothing:
 * not attributed */
void plot_waits(const Run *run, const Stages *stages, ResultFile *file);
/* At up to 3,000 times: pods in each stage of their start, and calls in flight at the drivers'
 * controllers and nodes, at most. */
void plot_over_time(const Run *run, const Stages *stages, ResultFile *file);
/* At up to 200 times, of up to 400 nodes: volumes attached, and how many may be. */
void plot_node_volumes(const Run *run, const Stages *stages, ResultFile *file);
/* Requests of each second by client, the largest seven and the rest. Nothing: not counted */
void plot_client_rates(const Run *run, const Stages *stages, ResultFile *file);
/* Of the stages of pods' start: how long they took, as distributions in blocks of their own. */
void plot_distributions(const Run *run, const Stages *stages, ResultFile *file);
/* The same of schedule and pod-start of pods whose first claim was bound Immediate, then of those
 * with WaitForFirstConsumer. */
void plot_binding_modes(const Run *run, const Stages *stages, ResultFile *file);
