/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/quota/quota.h"
#include "models/api/workload.h"
#include "store.h"

/* The latest spec that got defaults: pods of a template share it. */
typedef struct {
    PodSpec *given, *limited; /* (owned): @limited: NULL: it needs none */
    const char *told;         /* interned: the annotation of its pods */
    uint64_t version;         /* of the LimitRanges */
} LimitedSpec;

void limited_spec_clear(LimitedSpec *self);
/* @item: of spec.limits: gets its defaults. */
void limit_range_complete(json_t *item);
/* @pod: gets the default requests and limits of its namespace's LimitRanges (API-193). */
void limit_ranges_set(const ApiStore *self, LimitedSpec *cache, Pod *pod);
/* Whether it keeps within them (API-194). Returns: API_OK, or API_FORBIDDEN with words in @message
 */
ApiCode limit_ranges_check_pod(const ApiStore *self, const Pod *pod, GString *message);
/* The same for the size of a claim (API-154). */
ApiCode limit_ranges_check_claim(const ApiStore *self, const Claim *claim, GString *message);
