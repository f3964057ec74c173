/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* The events to come: a 4-ary heap of 16-byte keys over a slab of 32-byte records. Four siblings of the heap are one
 * cache line; a key is one 128-bit integer, so a comparison takes no branch. What happens per event is inline here.
 *
 * A key is: time (64 bits) | tick (1) | order (39) | slot (24). Order is the number of the event's scheduling, or, of a
 * tick, what its owner chose. Slot is the place of its record; it never decides: order is unique.
 *
 * What is scheduled without delay is in order already, and nothing can come between but what the heap holds for this very
 * instant: such events wait in a line of their own, which costs less.
 *
 * Cancelled events stay in the heap or the line as dead keys until they come up, or until there are too many of them. */
#define EVENT_SLOT_BITS 24
#define EVENT_ORDER_BITS 39
#define EVENT_SLOT_END (UINT32_C(1) << EVENT_SLOT_BITS)
#define EVENT_ORDER_END (UINT64_C(1) << EVENT_ORDER_BITS)
#define EVENT_TICK (UINT64_C(1) << 63)

typedef unsigned __int128 EventKey;

typedef struct {
    const SimEventType *type; /* NULL: cancelled */
    void *data;
    uint64_t id; /* number of the scheduling << 24 | slot; of a free record the next free slot */
    SimCauseId parent;
    SimWait wait;
    uint16_t detail;
} EventRecord;

typedef struct {
    EventKey
        *heap; /* starts 48 bytes into a cache line, so that children 4 i + 1 … 4 i + 4 share one */
    EventRecord *slab;
    EventKey *line;      /* of events scheduled for the instant in which they were scheduled */
    uint32_t line_first; /* both 0: nothing stands in line */
    uint32_t line_end;
    uint32_t line_capacity;
    uint32_t length;    /* of the heap, dead keys included */
    uint32_t n_dead;    /* of heap and line; the first key of either is never one of them */
    uint32_t capacity;  /* of heap and slab */
    uint32_t free_slot; /* the first of the free list; EVENT_SLOT_END: none */
    uint64_t
        n_scheduled; /* and two: so an id is never 0, nor below 2^25 as what links free records */
} EventQueue;

void event_queue_init(EventQueue *self);
void event_queue_clear(EventQueue *self); /* holds no event any more */
void
event_queue_prepare(EventQueue *self); /* makes room, or ends the program if there cannot be any */

/* Finds the record of a pending event; NULL if it fired, was cancelled, or never was. */
EventRecord *event_queue_find(EventQueue *self, SimEventId id);
/* Takes a pending event back. Its data is the caller's again. */
void event_queue_cancel(EventQueue *self, EventRecord *record);
void event_queue_drop_dead(EventQueue *self); /* from the top */
void event_queue_grow_line(EventQueue *self);

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

/* Dead keys included. */
static inline uint32_t
event_queue_length(const EventQueue *self)
{
    return self->length + self->line_end - self->line_first;
}

/* Whether the next event is the first in the line, not that of the heap. The queue is not empty. */
static inline gboolean
event_queue_line_is_next(const EventQueue *self)
{
    return G_UNLIKELY(self->line_end > 0) &&
           (self->length == 0 || self->line[self->line_first] < self->heap[0]);
}

static inline SimTime
event_queue_next_at(const EventQueue *self)
{
    if (G_UNLIKELY(self->line_end > 0))
        return event_key_time(self->line[self->line_first]);
    return self->length == 0 ? SIM_TIME_MAX : event_key_time(self->heap[0]);
}

/* Moves the hole at @place towards @top until @key fits. */
static inline void
event_heap_lift(EventKey *heap, size_t place, size_t top, EventKey key)
{
    while (place > top) {
        size_t above = (place - 1) / 4;
        if (heap[above] <= key)
            break;
        heap[place] = heap[above];
        place = above;
    }
    heap[place] = key;
}

/* As a tournament: fewer comparisons wait for one another. */
static inline EventKey *
event_heap_least_of_four(EventKey *child)
{
    EventKey *left = child + (child[1] < child[0]);
    EventKey *right = child + 2 + (child[3] < child[2]);
    return *right < *left ? right : left;
}

static inline EventKey *
event_heap_least(EventKey *child, const EventKey *end)
{
    EventKey *least = child;

    while (++child < end)
        least = *child < *least ? child : least;
    return least;
}

/* In bytes: no division by the size of a key, only to multiply by it again. */
static inline EventKey *
event_heap_children(EventKey *heap, const EventKey *above)
{
    return (EventKey *)(void *)((char *)heap + 4 * ((const char *)above - (const char *)heap)) + 1;
}

/* Fills the hole at @place of a heap of @length with @key, which was at its end and so belongs near the leaves: moves the hole
 * all the way down without a look at the key, then back up (Wegener: Bottom-up heapsort, 1993). */
static inline void
event_heap_fill(EventKey *heap, size_t length, size_t place, EventKey key)
{
    EventKey *end = heap + length, *hole = heap + place;
    EventKey *child = event_heap_children(heap, hole);

    for (EventKey *short_of_four = end - 3; child < short_of_four;
         child = event_heap_children(heap, hole)) {
        EventKey *least = event_heap_least_of_four(child);
        *hole = *least;
        hole = least;
    }
    if (child < end) {
        EventKey *least = event_heap_least(child, end);
        *hole = *least;
        hole = least;
    }
    event_heap_lift(heap, (size_t)(hole - heap), place, key);
}

/* Whether event_queue_push() needs event_queue_prepare() before. */
static inline gboolean
event_queue_is_full(const EventQueue *self)
{
    return self->free_slot == EVENT_SLOT_END || self->n_scheduled == EVENT_ORDER_END;
}

/* The record of a new event. Returns: its id; @record comes with all but that */
static inline SimEventId
event_queue_store(EventQueue *self, const EventRecord *record)
{
    uint32_t slot = self->free_slot;
    EventRecord *place = &self->slab[slot];
    uint64_t id = self->n_scheduled++ << EVENT_SLOT_BITS | slot;

    self->free_slot = (uint32_t)place->id;
    *place = *record;
    place->id = id;
    return id;
}

/* @tick_order: EVENT_TICK | order << EVENT_SLOT_BITS; 0: an ordinary event, in order of scheduling. The queue is not full. */
static inline SimEventId
event_queue_push(EventQueue *self, SimTime at, uint64_t tick_order, const EventRecord *record)
{
    uint64_t id = event_queue_store(self, record);
    uint64_t low = tick_order != 0 ? tick_order | (uint32_t)(id & (EVENT_SLOT_END - 1)) : id;

    event_heap_lift(self->heap, self->length++, 0, (EventKey)(uint64_t)at << 64 | low);
    return id;
}

/* An ordinary event at @now, the present instant. The queue is not full. */
static inline SimEventId
event_queue_push_now(EventQueue *self, SimTime now, const EventRecord *record)
{
    uint64_t id = event_queue_store(self, record);

    if (G_UNLIKELY(self->line_end == self->line_capacity))
        event_queue_grow_line(self);
    self->line[self->line_end++] = (EventKey)(uint64_t)now << 64 | id;
    return id;
}

static inline void
event_queue_release(EventQueue *self, EventRecord *record, uint32_t slot)
{
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
    event_heap_fill(self->heap, self->length, 0, self->heap[self->length]);
    return first;
}

static inline EventKey
event_line_pop(EventQueue *self)
{
    EventKey first = self->line[self->line_first++];

    if (self->line_first == self->line_end)
        self->line_first = self->line_end = 0;
    return first;
}

static inline gboolean
event_key_is_dead(const EventQueue *self, EventKey key)
{
    return self->slab[event_key_slot(key)].type == NULL;
}

/* Takes the first event out, into @record. The queue is not empty. */
static inline EventKey
event_queue_pop(EventQueue *self, EventRecord *record)
{
    EventKey key = event_queue_line_is_next(self) ? event_line_pop(self) : event_heap_pop(self);
    uint32_t slot = event_key_slot(key);

    *record = self->slab[slot];
    event_queue_release(self, &self->slab[slot], slot);
    if (G_UNLIKELY(self->n_dead > 0) &&
        ((self->length > 0 && event_key_is_dead(self, self->heap[0])) || self->line_end > 0))
        event_queue_drop_dead(self);
    return key;
}
