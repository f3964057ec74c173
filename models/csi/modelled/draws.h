/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "call.h"

/* The draws for a call as it arrives: its latency and injected errors. */

typedef struct {
    CsiModelledError error;
    unsigned n_times;
    GHashTable *n_times_of; /* BackendSubject -> times, with per_volume; NULL until used */
} ErrorState;

/* Returns: a CsiLatency: the kind of latency that the call has */
unsigned
luck_latency_kind(const CsiModelledDriver *self, const ModelledCall *call, CallVerdict verdict);
SimTime luck_latency(const CsiModelledDriver *self, const ModelledCall *call, unsigned latency);
/* The first error that applies fails the call. It is drawn on arrival, so other errors that are set
 * later leave calls in flight alone. */
void luck_error(CsiModelledDriver *self, ModelledCall *call);
gboolean luck_error_is_valid(const CsiModelledError *error);
void luck_clear_errors(CsiModelledDriver *self);
