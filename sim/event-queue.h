/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sim.h"

/* The events to come: 16-byte keys over a slab of 32-byte records. A key is one 128-bit integer, so
 * a comparison takes no branch. What happens per event is inline here.
 *
 * A key is: time (64 bits) | tick (1) | order (39) | slot (24). Order is the number of the event's
 * scheduling, or, of a tick, what its owner chose. Slot is the place of its record; it never
 * decides: order is unique.
 *
 * A key stands in one of three places:
 *
 *   front   the earliest keys, sorted: the next one is the first;
 *   wheel   all from wheel_from on, sorted by no more than a digit of their time (Varghese and
 * Lauck: Hashed and Hierarchical Timing Wheels, 1987). A time has eleven digits of six bits; a key
 * hangs in the bucket of the highest digit in which it differs from wheel_base, so a time that is
 * far away is told roughly. When the front is used up, the earliest bucket is next: few keys become
 * the front, many are dealt out to the level below; line    what was scheduled without delay: in
 * order already, and nothing can come between but what the front holds for this very instant.
 *
 * So an event is moved about as often as there are digits between now and its time, whatever else
 * is pending, and sorted among a few neighbours only. As long as there are few events, all stand in
 * the front.
 *
 * Cancelled events stay as dead keys until they come up, or until there are too many of them. */
#define EVENT_SLOT_BITS 24
#define EVENT_ORDER_BITS 39
#define EVENT_SLOT_END (UINT32_C(1) << EVENT_SLOT_BITS)
#define EVENT_ORDER_END (UINT64_C(1) << EVENT_ORDER_BITS)
#define EVENT_TICK (UINT64_C(1) << 63)

typedef unsigned __int128 EventKey;
#define EVENT_KEY_MAX (~(EventKey)0)

/* Why an event will happen, for the log of causes: detail (16 bits) | wait (16) | parent (32). In
 * one register. */
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
    uint64_t id; /* number of the scheduling << 24 | slot; of a free record the next free slot */
    EventOrigin origin;
} EventRecord;

#define WHEEL_DIGIT_BITS 6
#define WHEEL_DIGITS (1u << WHEEL_DIGIT_BITS)
#define WHEEL_LEVELS 11
#define WHEEL_CHUNK_KEYS 15

/* A bucket is a ring of chunks of 256 bytes, in order of coming: it is known by the last, whose
 * next is the first. All but the last are full. */
typedef struct WheelChunk WheelChunk;
struct WheelChunk {
    WheelChunk *next;
    uint32_t n;
    EventKey keys[WHEEL_CHUNK_KEYS];
};

typedef struct {
    EventKey *first, *end; /* of the front; equal: empty; to be filled from the wheel when the next
                              key is asked for */
    EventKey *front, *limit; /* the front's memory, from where to where */
    uint32_t n_wheel;
    EventKey wheel_from; /* keys below it belong to the front; EVENT_KEY_MAX: all of them, the wheel
                            is empty */
    SimTime wheel_base;  /* not after wheel_from; keys of the wheel hang by their highest digit that
                            differs from its */
    EventRecord *slab;
    EventKey *line;
    uint32_t line_first; /* both 0: nothing stands in line */
    uint32_t line_end;
    uint32_t line_capacity;
    uint32_t n_dead;    /* everywhere; the first key of front and line is never one of them */
    uint32_t capacity;  /* of the slab */
    uint32_t free_slot; /* the first of the free list; EVENT_SLOT_END: none */
    uint64_t
        n_scheduled; /* and two: so an id is never 0, nor below 2^25 as what links free records */
    WheelChunk *free_chunks;
    uint32_t levels;               /* a bit of each level that has keys */
    uint64_t digits[WHEEL_LEVELS]; /* a bit of each bucket that has keys */
    WheelChunk *buckets[WHEEL_LEVELS][WHEEL_DIGITS];
} EventQueue;

void event_queue_init(EventQueue *self);
void event_queue_clear(EventQueue *self); /* holds no event any more */
/* Makes room for an event, or ends the program if there cannot be any. */
void event_queue_prepare(EventQueue *self);

/* Finds the record of a pending event; NULL if it fired, was cancelled, or never was. */
EventRecord *event_queue_find(EventQueue *self, SimEventId id);
/* Takes a pending event back. Its data is the caller's again. */
void event_queue_cancel(EventQueue *self, EventRecord *record);
/* Appends the keys of all pending events to @keys (of EventKey), in no order. */
void event_queue_list(const EventQueue *self, GArray *keys);
/* From the first places. */
void event_queue_drop_dead(EventQueue *self);
void event_queue_grow_line(EventQueue *self);
/* The front is empty, the wheel is not: moves its earliest keys. There may be dead ones only: then
 * the queue is empty. */
void event_front_refill(EventQueue *self);
void event_wheel_put_in_new_chunk(EventQueue *self, EventKey key, unsigned level, unsigned digit);

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
    return (uint32_t)(self->end - self->first) + self->n_wheel + self->line_end - self->line_first;
}

/* Sees to it that the first key is the first of front or line. Not before it is needed: what is
 * pushed until then may come before all of the wheel. */
static inline void
event_queue_make_ready(EventQueue *self)
{
    if (self->first == self->end && self->n_wheel > 0 &&
        (self->line_end == 0 || self->line[self->line_first] > self->wheel_from))
        event_front_refill(self);
}

static inline SimTime
event_queue_next_at(EventQueue *self)
{
    event_queue_make_ready(self);
    if (G_UNLIKELY(self->line_end > 0))
        return event_key_time(self->line[self->line_first]);
    return self->first == self->end ? SIM_TIME_MAX : event_key_time(*self->first);
}

/* Whether the next event is the first in the line, not that of the front. The queue is ready and
 * not empty. */
static inline gboolean
event_queue_line_is_next(const EventQueue *self)
{
    return G_UNLIKELY(self->line_end > 0) &&
           (self->first == self->end || self->line[self->line_first] < *self->first);
}

/* Keys that are inserted among the first this many move those before them, if there is room; else
 * those behind them move. */
#define FRONT_NEAR 4

/* The front has room. */
static inline void
event_front_insert(EventQueue *self, EventKey key)
{
    EventKey *first = self->first, *end = self->end;

    if (end - first > 2 * FRONT_NEAR && first > self->front && key < first[FRONT_NEAR]) {
        for (self->first--; *first < key; first++)
            first[-1] = *first;
        first[-1] = key;
    } else {
        for (self->end++; end > first && end[-1] > key; end--)
            *end = end[-1];
        *end = key;
    }
}

static inline void
event_wheel_put(EventQueue *self, EventKey key)
{
    uint64_t at = (uint64_t)(key >> 64);
    unsigned bit = 63 - (unsigned)__builtin_clzll((at ^ (uint64_t)self->wheel_base) | 1);
    unsigned level = bit * 43 >> 8; /* bit / 6 */
    unsigned digit = at >> level * WHEEL_DIGIT_BITS & (WHEEL_DIGITS - 1);
    WheelChunk *chunk = self->buckets[level][digit];

    self->n_wheel++;
    if (chunk == NULL || chunk->n == WHEEL_CHUNK_KEYS)
        event_wheel_put_in_new_chunk(self, key, level, digit);
    else
        chunk->keys[chunk->n++] = key;
}

/* Whether event_queue_push() needs event_queue_prepare() before. */
static inline gboolean
event_queue_is_full(const EventQueue *self)
{
    return self->free_slot == EVENT_SLOT_END || self->end == self->limit;
}

/* Makes the record of a new event. Returns: its id */
static inline SimEventId
event_queue_store(EventQueue *self, const SimEventType *type, void *data, EventOrigin origin)
{
    uint32_t slot = self->free_slot;
    EventRecord *record = &self->slab[slot];
    uint64_t id = self->n_scheduled++ << EVENT_SLOT_BITS | slot;

    self->free_slot = (uint32_t)record->id;
    *record = (EventRecord){type, data, id, origin};
    return id;
}

/* @tick_order: EVENT_TICK | order << EVENT_SLOT_BITS; 0: an ordinary event, in order of scheduling.
 * The queue is not full. */
static inline SimEventId
event_queue_push(EventQueue *self,
                 SimTime at,
                 uint64_t tick_order,
                 const SimEventType *type,
                 void *data,
                 EventOrigin origin)
{
    uint64_t id = event_queue_store(self, type, data, origin);
    uint64_t low = tick_order != 0 ? tick_order | (uint32_t)(id & (EVENT_SLOT_END - 1)) : id;

    EventKey key = (EventKey)(uint64_t)at << 64 | low;

    if (key < self->wheel_from)
        event_front_insert(self, key);
    else
        event_wheel_put(self, key);
    return id;
}

/* An ordinary event at @now, the present instant. The queue is not full. */
static inline SimEventId
event_queue_push_now(
    EventQueue *self, SimTime now, const SimEventType *type, void *data, EventOrigin origin)
{
    uint64_t id = event_queue_store(self, type, data, origin);

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

static inline EventKey
event_front_pop(EventQueue *self)
{
    return *self->first++;
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

/* Takes the first event out, into @record. The queue is not empty: event_queue_next_at() was asked.
 */
static inline EventKey
event_queue_pop(EventQueue *self, EventRecord *record)
{
    EventKey key = event_queue_line_is_next(self) ? event_line_pop(self) : event_front_pop(self);
    uint32_t slot = event_key_slot(key);

    *record = self->slab[slot];
    event_queue_release(self, &self->slab[slot], slot);
    if (self->n_dead > 0 &&
        (self->line_end > 0 || (self->first < self->end && event_key_is_dead(self, *self->first))))
        event_queue_drop_dead(self);
    return key;
}
