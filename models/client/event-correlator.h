/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/apiserver/apiserver.h"

/* What client-go makes of events of which there are many about one object: those that differ only
 * in their words are combined, and of too many most are dropped (CGO-71 to CGO-74). Few objects
 * ever have so many, so it is asked only about those that had EVENTS_MANY; what came before it
 * learns from the API server. */
typedef struct EventCorrelator EventCorrelator;

#define EVENTS_MANY 9 /* less than either filter lets through */

/* @api: borrowed. Returns: (owned) */
EventCorrelator *event_correlator_new(Sim *sim, ApiServer *api);
void event_correlator_free(EventCorrelator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventCorrelator, event_correlator_free)

/**
 * event_correlator_judge:
 * @event: (inout): as it would be written now, without the correlator; its message, count and
 * first_at may change
 * @index: (inout): which event of the API server it repeats; API_NEW_EVENT: none
 * @known: the events that were written about the object before
 * Returns: whether it is written
 */
gboolean event_correlator_judge(EventCorrelator *self,
                                ApiEvent *event,
                                unsigned *index,
                                const unsigned *known,
                                unsigned n_known);
/* What it let through as a new event is that of @index now. */
void event_correlator_written(EventCorrelator *self, const ApiEvent *event, unsigned index);
