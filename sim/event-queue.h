/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* The events to come: a 4-ary heap of 16-byte keys over a slab of 32-byte records. Four siblings of the heap are one
 * cache line; a key is one 128-bit integer, so a comparison takes no branch. What happens per event is inline here.
 *
 * A key is: time (64 bits) | tick (1) | order (39) | slot (24). Order is the number of the event's scheduling, or, of a
 * tick, what its owner chose. Slot is the place of its record; it never decides: order is unique.
 *
 * Cancelled events stay in the heap as dead keys until they come up, or until there are too many of them. */
#define EVENT_SLOT_BITS 24
#define EVENT_ORDER_BITS 39
#define EVENT_SLOT_END (UINT32_C(1) << EVENT_SLOT_BITS)
#define EVENT_ORDER_END (UINT64_C(1) << EVENT_ORDER_BITS)
#define EVENT_TICK (UINT64_C(1) << 63)

typedef unsigned __int128 EventKey;

typedef struct {
    const SimEventType *type; /* NULL: cancelled, or free */
    void *data;
    uint64_t id; /* number of the scheduling << 24 | slot; of a free record: the next free slot */
    SimCauseId parent;
    SimWait wait;
    uint16_t detail;
} EventRecord;

typedef struct {
    EventKey *heap; /* starts 48 bytes into a cache line, so that children 4 i + 1 … 4 i + 4 share one */
    EventRecord *slab;
    uint32_t length;     /* of the heap, dead keys included */
    uint32_t n_dead;     /* the first key of the heap is never one of them */
    uint32_t capacity;   /* of both */
    uint32_t free_slot;  /* the first of the free list; EVENT_SLOT_END: none */
    uint64_t n_scheduled;
} EventQueue;

void event_queue_init(EventQueue *self);
void event_queue_clear(EventQueue *self); /* holds no event any more */
void event_queue_grow(EventQueue *self);

/* Finds the record of a pending event; NULL if it fired, was cancelled, or never was. */
EventRecord *event_queue_find(EventQueue *self, SimEventId id);
/* Takes a pending event back. Its data is the caller's again. */
void event_queue_cancel(EventQueue *self, EventRecord *record);
void event_queue_drop_dead(EventQueue *self); /* from the top */

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

static inline SimTime
event_queue_next_at(const EventQueue *self)
{
    return self->length == 0 ? SIM_TIME_MAX : event_key_time(self->heap[0]);
}

/* Moves the hole at @place towards the top until @key fits. */
static inline void
event_heap_sift_up(EventKey *heap, uint32_t place, EventKey key)
{
    while (place > 0) {
        uint32_t above = (place - 1) / 4;
        if (heap[above] <= key)
            break;
        heap[place] = heap[above];
        place = above;
    }
    heap[place] = key;
}

/* Moves the hole at @place towards the leaves of a heap of @length until @key fits. */
static inline void
event_heap_sift_down(EventKey *heap, size_t length, size_t place, EventKey key)
{
    for (;;) {
        size_t child = 4 * place + 1;
        size_t least = child;
        if (G_LIKELY(child + 3 < length)) {
            size_t other = child + 2;
            least += heap[child + 1] < heap[child];
            other += heap[child + 3] < heap[child + 2];
            least = heap[other] < heap[least] ? other : least;
        } else {
            if (child >= length)
                break;
            while (++child < length)
                least = heap[child] < heap[least] ? child : least;
        }
        if (key <= heap[least])
            break;
        heap[place] = heap[least];
        place = least;
    }
    heap[place] = key;
}

/* @tick_order: EVENT_TICK | order << EVENT_SLOT_BITS; 0: an ordinary event, in order of scheduling. Returns: its id; the
 * caller fills in the rest of @record. */
static inline SimEventId
event_queue_push(EventQueue *self, SimTime at, uint64_t tick_order, EventRecord **record)
{
    if (G_UNLIKELY(self->free_slot == EVENT_SLOT_END))
        event_queue_grow(self);

    uint32_t slot = self->free_slot;
    *record = &self->slab[slot];
    self->free_slot = (uint32_t)(*record)->id;
    uint64_t id = ++self->n_scheduled << EVENT_SLOT_BITS | slot;
    (*record)->id = id;
    if (G_UNLIKELY(self->n_scheduled >= EVENT_ORDER_END))
        g_error("more than %" G_GUINT64_FORMAT " events in a run", (guint64)EVENT_ORDER_END);

    EventKey key = (EventKey)(uint64_t)at << 64 | (tick_order != 0 ? tick_order | slot : id);
    event_heap_sift_up(self->heap, self->length++, key);
    return id;
}

static inline void
event_queue_release(EventQueue *self, EventRecord *record, uint32_t slot)
{
    record->type = NULL;
    record->id = self->free_slot;
    self->free_slot = slot;
}

/* Takes the first key off the heap; its record stays. */
static inline EventKey
event_heap_pop(EventQueue *self)
{
    EventKey first = self->heap[0];

    __builtin_prefetch(&self->slab[event_key_slot(first)]);
    self->length--;
    event_heap_sift_down(self->heap, self->length, 0, self->heap[self->length]);
    return first;
}

/* Takes the first event out, into @record. The queue is not empty. */
static inline EventKey
event_queue_pop(EventQueue *self, EventRecord *record)
{
    EventKey key = event_heap_pop(self);
    uint32_t slot = event_key_slot(key);

    *record = self->slab[slot];
    event_queue_release(self, &self->slab[slot], slot);
    if (G_UNLIKELY(self->n_dead > 0))
        event_queue_drop_dead(self);
    return key;
}
