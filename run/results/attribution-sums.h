/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "attribution.h"

/* The time of the stages of one run by cause, in numbers: a run has some hundred sums, and its
 * chains have a thousand steps for each pod. */
typedef struct AttributionSums AttributionSums;

/* @trace: (borrowed): does not grow meanwhile. Returns: (owned) */
AttributionSums *attribution_sums_new(const SimTrace *trace);
void attribution_sums_free(AttributionSums *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(AttributionSums, attribution_sums_free)

void attribution_sums_add(AttributionSums *self, const StageRecord *record);
/* After the last record. Takes NULL. */
void attribution_sums_end(AttributionSums *self);

/* @link: as long as all intervals of its cause together */
typedef void (*AttributionSumTaker)(void *data, Stage stage, const ChainLink *link);
/* Calls @take for each cause. */
void attribution_sums_each(const AttributionSums *self, AttributionSumTaker take, void *data);
