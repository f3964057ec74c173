/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "api-client.h"

/* client-go's event recorder: recording never waits; one sender writes the events one after the
 * other through a client (CGO-70). Repeated events are counted. */
typedef struct EventRecorder EventRecorder;

typedef enum {
    EVENTS_CORE, /* core/v1: every repeat is a PATCH of the count (CGO-73) */
    EVENTS_NEW,  /* events.k8s.io/v1: the scheduler's; series (API-171) */
} EventStyle;

/* @client: borrowed; @source: the component in the Event, static. Returns: (owned) */
EventRecorder *event_recorder_new(ApiClient *client, const char *source, EventStyle style);
void event_recorder_free(EventRecorder *self); /* events that are not sent are lost */
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventRecorder, event_recorder_free)

/* Whether the next event is dropped (CGO-70). */
gboolean event_recorder_is_full(const EventRecorder *self);
/* Records an event; it is dropped if the recorder's queue is full (CGO-70). @type, @reason: static
 * or interned; @message: interned. @object: as the component saw it */
void event_recorder_record(EventRecorder *self,
                           const Object *object,
                           const char *type,
                           const char *reason,
                           const char *message);
