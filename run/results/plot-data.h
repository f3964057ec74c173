/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/columns.h"
#include "run/files/result-file.h"
#include "stages.h"

/* Tables for plots, no finer than a picture can show. */

extern const ResultTable waits_table, over_time_table, node_volumes_table, client_rates_table;

/* The waits of the mean object in each stage, in seconds: a column for each kind of wait. Empty if
 * nothing was attributed. */
void plot_waits(const Run *run, const Stages *stages, ResultFile *file);
/* Pods in each stage of their start, and the most calls in flight at drivers' controllers and
 * nodes, at up to 3,000 times. */
void plot_over_time(const Run *run, const Stages *stages, ResultFile *file);
/* Attached volumes and limits of up to 400 nodes, at up to 200 times. */
void plot_node_volumes(const Run *run, const Stages *stages, ResultFile *file);
/* Requests per second of the seven largest clients and of the rest. Empty if requests were not
 * counted. */
void plot_client_rates(const Run *run, const Stages *stages, ResultFile *file);
/* Distributions of the stages of pods' start, a block each. */
void plot_distributions(const Run *run, const Stages *stages, ResultFile *file);
/* Distributions of schedule and pod-start: of pods whose first claim was bound Immediate, then
 * WaitForFirstConsumer. */
void plot_binding_modes(const Run *run, const Stages *stages, ResultFile *file);
