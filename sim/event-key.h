/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* A key of a pending event is one 128-bit integer, so a comparison takes no branch:
 * time (64 bits) | tick (1) | order (39) | slot (24).
 *
 * Order is the number of the event's scheduling, or, of a tick, what its owner chose. Slot is the
 * place of its record; it never decides, for order is unique. */
#define EVENT_SLOT_BITS 24
#define EVENT_ORDER_BITS 39
#define EVENT_SLOT_END (UINT32_C(1) << EVENT_SLOT_BITS)
#define EVENT_ORDER_END (UINT64_C(1) << EVENT_ORDER_BITS)
#define EVENT_TICK (UINT64_C(1) << 63)

typedef unsigned __int128 EventKey;
#define EVENT_KEY_MAX (~(EventKey)0)

/* Why an event will happen, for the log of causes: detail (16 bits) | wait (16) | parent (32). It
 * fits into a register. */
typedef uint64_t EventOrigin;

static inline EventOrigin
event_origin(SimCauseId parent, SimWait wait, uint16_t detail)
{
    return (EventOrigin)detail << 48 | (EventOrigin)wait << 32 | parent;
}

static inline SimCauseId
event_origin_parent(EventOrigin origin)
{
    return (SimCauseId)origin;
}

typedef struct {
    const SimEventType *type; /* NULL: cancelled */
    void *data;
    uint64_t id; /* number of the scheduling << 24 | slot; in a free record the next free slot */
    EventOrigin origin;
} EventRecord;

static inline SimTime
event_key_time(EventKey key)
{
    return (SimTime)(uint64_t)(key >> 64);
}

static inline gboolean
event_key_is_tick(EventKey key)
{
    return ((uint64_t)key & EVENT_TICK) != 0;
}

static inline uint64_t
event_key_order(EventKey key)
{
    return ((uint64_t)key & ~EVENT_TICK) >> EVENT_SLOT_BITS;
}

static inline uint32_t
event_key_slot(EventKey key)
{
    return (uint32_t)key & (EVENT_SLOT_END - 1);
}
