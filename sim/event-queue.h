/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "event-key.h"

/* The pending events: 16-byte keys over a slab of 32-byte records. The code that runs for every
 * event is inline here.
 *
 * A key stands in one of three places: the front, the wheel or the line.
 *
 * The front has the earliest keys, sorted. Its first key is the next one.
 *
 * The wheel has all keys from wheel_from on, sorted by one digit of their time (Varghese and Lauck:
 * Hashed and Hierarchical Timing Wheels, 1987). A time has eleven digits of six bits. A key hangs
 * in the bucket of the highest digit in which it differs from wheel_base, so a time far away is
 * sorted roughly. When the front is empty, the earliest bucket is next: few keys become the front,
 * many are dealt out to the level below.
 *
 * The line has events that were scheduled without delay. They are in order already, and only keys
 * of the front for the same instant can come between them.
 *
 * So an event is moved at most once for each digit between now and its time, however many others
 * are pending, and sorted among a few neighbours only. As long as there are few events, all stand
 * in the front.
 *
 * The key of a cancelled event is dead: it stays until it comes up, or until there are too many. */
#define WHEEL_DIGIT_BITS 6
#define WHEEL_DIGITS (1u << WHEEL_DIGIT_BITS)
#define WHEEL_LEVELS 11
#define WHEEL_CHUNK_KEYS 15

/* A bucket is a ring of chunks of 256 bytes, in the order in which its keys came. It points to the
 * last chunk, whose next is the first. All chunks but the last are full. */
typedef struct WheelChunk WheelChunk;
struct WheelChunk {
    WheelChunk *next;
    uint32_t n;
    EventKey keys[WHEEL_CHUNK_KEYS];
};

typedef struct {
    EventKey *first, *end;   /* of the front; equal: it is empty */
    EventKey *front, *limit; /* the front's memory */
    uint32_t n_wheel;
    EventKey wheel_from; /* smaller keys belong to the front; EVENT_KEY_MAX: the wheel is empty */
    SimTime wheel_base;  /* not after wheel_from; the bucket of a key is by the highest digit that
                            differs from this time's */
    EventRecord *slab;
    EventKey *line;
    uint32_t line_first; /* both 0: nothing stands in line */
    uint32_t line_end;
    uint32_t line_capacity;
    uint32_t n_dead;      /* in all places; the first key of front and line is never dead */
    uint32_t capacity;    /* of the slab */
    uint32_t free_slot;   /* the first of the free list; EVENT_SLOT_END: none */
    uint64_t n_scheduled; /* begins with 2: ids are above 2^25, links of free records below */
    WheelChunk *free_chunks;
    uint32_t levels;               /* bit set: the level has keys */
    uint64_t digits[WHEEL_LEVELS]; /* bit set: the bucket has keys */
    WheelChunk *buckets[WHEEL_LEVELS][WHEEL_DIGITS];
} EventQueue;

void event_queue_init(EventQueue *self);
/* The queue is empty: frees its memory. */
void event_queue_clear(EventQueue *self);
/* Makes room for an event, or ends the program if there cannot be any. */
void event_queue_prepare(EventQueue *self);

/* Finds the record of a pending event; NULL if it fired, was cancelled, or never was. */
EventRecord *event_queue_find(EventQueue *self, SimEventId id);
/* Cancels a pending event. The caller owns its data again. */
void event_queue_cancel(EventQueue *self, EventRecord *record);
/* Appends the keys of all pending events to @keys (of EventKey), in no order. */
void event_queue_list(const EventQueue *self, GArray *keys);
/* Drops dead keys from the first places of front and line. */
void event_queue_drop_dead(EventQueue *self);
/* Makes room at the end of the line. */
void event_queue_grow_line(EventQueue *self);
/* The front is empty, the wheel is not: moves the wheel's earliest keys. If all keys are dead, the
 * front stays empty. */
void event_front_refill(EventQueue *self);
void event_wheel_put_in_new_chunk(EventQueue *self, EventKey key, unsigned level, unsigned digit);

/* Counts dead keys, too. */
static inline uint32_t
event_queue_length(const EventQueue *self)
{
    return (uint32_t)(self->end - self->first) + self->n_wheel + self->line_end - self->line_first;
}

/* Refills the front if the earliest key is in the wheel. To be called only when that key is needed:
 * until then keys that are earlier than the wheel's may be pushed. */
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

/* Whether the next event is the first of the line, not of the front. The queue is ready and not
 * empty. */
static inline gboolean
event_queue_line_is_next(const EventQueue *self)
{
    return G_UNLIKELY(self->line_end > 0) &&
           (self->first == self->end || self->line[self->line_first] < *self->first);
}

/* To insert a key among the first FRONT_NEAR moves the keys before it down, if there is room;
 * otherwise the keys behind it move up. */
#define FRONT_NEAR 4

/* There is room at the end of the front. */
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

/* Whether event_queue_prepare() must be called before event_queue_push(). */
static inline gboolean
event_queue_is_full(const EventQueue *self)
{
    return self->free_slot == EVENT_SLOT_END || self->end == self->limit;
}

/* Fills in the record of a new event. Returns: its id */
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

/* @tick_order: EVENT_TICK | order << EVENT_SLOT_BITS; 0: an ordinary event, in the order of
 * scheduling. The queue is not full. */
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

/* Takes the first event out, into @record. The queue is not empty: ask event_queue_next_at(). */
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
