/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "stages.h"

/* Tables that pictures are drawn from, as small as a picture can show. Each (owned). */

/* Of each stage, what the mean object waited for: a column for each kind of wait, seconds. NULL: not attributed */
char *plot_waits(const Run *run, const Stages *stages);
/* At up to 3,000 times: pods in each stage of their start, and calls in flight at the drivers' controllers and nodes, at most. */
char *plot_over_time(const Run *run, const Stages *stages);
/* At up to 200 times, of up to 400 nodes: volumes attached, and how many may be. */
char *plot_node_volumes(const Run *run, const Stages *stages);
/* Requests of each second by client, the largest seven and the rest. NULL: not counted */
char *plot_client_rates(const Run *run, const Stages *stages);
/* Of the stages of pods' start: how long they took, as distributions in blocks of their own. */
char *plot_distributions(const Run *run, const Stages *stages);
/* The same of schedule and pod-start of pods whose first claim was bound Immediate, then of those with WaitForFirstConsumer. */
char *plot_binding_modes(const Run *run, const Stages *stages);
