/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/apiserver/apiserver.h"

/* client-go's EventCorrelator: combines events about one object that differ only in their words,
 * and drops most of too many (CGO-71 to CGO-74). Few objects have so many events, so the recorder
 * asks it only about objects with EVENTS_MANY; it learns the earlier events from the API server. */
typedef struct EventCorrelator EventCorrelator;

#define EVENTS_MANY 9 /* fewer than either filter lets through */

/* @api: borrowed. Returns: (owned) */
EventCorrelator *event_correlator_new(Sim *sim, ApiServer *api);
void event_correlator_free(EventCorrelator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventCorrelator, event_correlator_free)

/**
 * event_correlator_judge:
 * @event: (inout): as it would be written now, without the correlator; its message, count and
 * first_at may change
 * @index: (inout): the event of the API server that it repeats; API_NEW_EVENT: none
 * @known: the events that were written about the object before
 * Returns: whether it is written
 */
gboolean event_correlator_judge(EventCorrelator *self,
                                ApiEvent *event,
                                unsigned *index,
                                const unsigned *known,
                                unsigned n_known);
/* The event that was let through as a new one has @index now. */
void event_correlator_written(EventCorrelator *self, const ApiEvent *event, unsigned index);
