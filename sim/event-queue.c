/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pending events. Keys of 16 bytes (time, order) stand apart from their records: the earliest
 * in a sorted front, the rest in a hierarchical wheel of chunks, those of the present instant in a
 * line. A cancelled event leaves a dead key, which is dropped when it is met or when half of all
 * are dead.
 *
 * Invariant: every key of the front is earlier than every key of the wheel; events of one instant
 * come in the order in which they were scheduled. Tried and left: a 4-ary heap of records, which
 * costs twice as much at 1,000 pending events and three times at a million (docs/performance.md).
 */
#include "event-queue.h"
#include "sim/order.h"

#include <stdlib.h>
#include <string.h>

G_STATIC_ASSERT(sizeof(EventKey) == 16);
G_STATIC_ASSERT(sizeof(EventRecord) == 32);

#define CACHE_LINE 64
#define CAPACITY_MIN 256
/* Before a front of FRONT_MAX keys takes another key, it keeps the first FRONT_KEPT and gives the
 * rest to the wheel. */
#define FRONT_MAX 64
#define FRONT_KEPT 16
/* Fewer dead keys are not worth a sweep. */
#define DEAD_MIN 64

G_STATIC_ASSERT(sizeof(WheelChunk) == 256);
G_STATIC_ASSERT(WHEEL_LEVELS *WHEEL_DIGIT_BITS >= 63); /* times are not negative */

void
event_queue_init(EventQueue *self)
{
    *self = (EventQueue){
        .wheel_from = EVENT_KEY_MAX,
        .free_slot = EVENT_SLOT_END,
        .n_scheduled = 2,
    };
}

void
event_queue_clear(EventQueue *self)
{
    g_assert(self->n_wheel == 0);
    while (self->free_chunks != NULL) {
        WheelChunk *chunk = self->free_chunks;
        self->free_chunks = chunk->next;
        g_aligned_free(chunk);
    }
    g_free(self->front);
    g_aligned_free(self->slab);
    g_free(self->line);
    event_queue_init(self);
}

static void
front_allocate(EventQueue *self, uint32_t capacity) /* it is empty */
{
    g_free(self->front);
    self->front = g_new(EventKey, capacity);
    self->limit = self->front + capacity;
    self->first = self->end = self->front;
}

static EventRecord *
slab_grow(EventRecord *slab, uint32_t length, uint32_t capacity)
{
    EventRecord *larger = g_aligned_alloc(capacity, sizeof(EventRecord), CACHE_LINE);

    if (slab != NULL)
        memcpy(larger, slab, length * sizeof(EventRecord));
    g_aligned_free(slab);
    for (uint32_t slot = length; slot < capacity; slot++)
        larger[slot] = (EventRecord){.id = slot + 1 < capacity ? slot + 1 : EVENT_SLOT_END};
    return larger;
}

static void
slab_make_room(EventQueue *self)
{
    uint32_t capacity = MIN(MAX(2 * self->capacity, CAPACITY_MIN), EVENT_SLOT_END);

    if (self->capacity == EVENT_SLOT_END)
        g_error("more than %u events pending", EVENT_SLOT_END);
    self->slab = slab_grow(self->slab, self->capacity, capacity);
    self->free_slot = self->capacity;
    self->capacity = capacity;
}

/* ---- The wheel ---- */

static gboolean
drop_if_dead(EventQueue *self, EventKey key)
{
    uint32_t slot = event_key_slot(key);

    if (self->slab[slot].type != NULL)
        return FALSE;
    event_queue_release(self, &self->slab[slot], slot);
    self->n_dead--;
    return TRUE;
}

/* Drops the dead among @n keys and keeps the others in order. Returns: how many it keeps */
static uint32_t
sweep_keys(EventQueue *self, EventKey *keys, uint32_t n)
{
    uint32_t n_alive = 0;

    if (self->n_dead == 0)
        return n;
    for (uint32_t i = 0; i < n; i++)
        if (!drop_if_dead(self, keys[i]))
            keys[n_alive++] = keys[i];
    return n_alive;
}

void
event_wheel_put_in_new_chunk(EventQueue *self, EventKey key, unsigned level, unsigned digit)
{
    WheelChunk *last = self->buckets[level][digit];
    WheelChunk *chunk = self->free_chunks;

    if (chunk != NULL)
        self->free_chunks = chunk->next;
    else
        chunk = g_aligned_alloc(1, sizeof *chunk, CACHE_LINE);
    chunk->n = 1;
    chunk->keys[0] = key;
    chunk->next = last == NULL ? chunk : last->next;
    if (last != NULL)
        last->next = chunk;
    self->buckets[level][digit] = chunk;
    self->digits[level] |= UINT64_C(1) << digit;
    self->levels |= 1u << level;
}

static void
chunk_release(EventQueue *self, WheelChunk *chunk)
{
    chunk->next = self->free_chunks;
    self->free_chunks = chunk;
}

/* Takes all chunks of a bucket. Returns: (owned): the first; the last one's next is NULL */
static WheelChunk *
wheel_take_bucket(EventQueue *self, unsigned level, unsigned digit)
{
    WheelChunk *last = self->buckets[level][digit];
    WheelChunk *first = last->next;

    last->next = NULL;
    self->buckets[level][digit] = NULL;
    self->digits[level] &= ~(UINT64_C(1) << digit);
    if (self->digits[level] == 0)
        self->levels &= ~(1u << level);
    return first;
}

/* Puts the keys of a bucket where they belong by the present base. Dead keys move along: to find
 * them takes a look at the record of each key, which has left the cache. */
static void
wheel_put_all(EventQueue *self, WheelChunk *chunk /* taken */, gboolean sweeps)
{
    while (chunk != NULL) {
        WheelChunk *next = chunk->next;
        self->n_wheel -= chunk->n;
        uint32_t n = sweeps ? sweep_keys(self, chunk->keys, chunk->n) : chunk->n;
        for (uint32_t i = 0; i < n; i++)
            event_wheel_put(self, chunk->keys[i]);
        chunk_release(self, chunk);
        chunk = next;
    }
}

static SimTime
bucket_earliest(const WheelChunk *first)
{
    EventKey earliest = EVENT_KEY_MAX;

    for (const WheelChunk *chunk = first; chunk != NULL; chunk = chunk->next)
        for (uint32_t i = 0; i < chunk->n; i++)
            earliest = MIN(earliest, chunk->keys[i]);
    return event_key_time(earliest);
}

/* Sets an earlier base; all keys of the wheel are later. Keys on levels below the highest digit in
 * which the two bases differ have the old base's digit there, so they move up to that level. */
static void
wheel_lower_base(EventQueue *self, SimTime base)
{
    uint64_t difference = (uint64_t)base ^ (uint64_t)self->wheel_base;
    unsigned level = (63 - (unsigned)__builtin_clzll(difference | 1)) / WHEEL_DIGIT_BITS;

    self->wheel_base = base;
    for (unsigned from = 0; from < level; from++)
        while (self->digits[from] != 0)
            wheel_put_all(
                self, wheel_take_bucket(self, from, (unsigned)__builtin_ctzll(self->digits[from])),
                FALSE);
}

/* ---- The front ---- */

/* Gives the later keys of the front to the wheel. */
static void
front_shorten(EventQueue *self)
{
    EventKey *first_given = self->first + FRONT_KEPT;
    SimTime at = event_key_time(*first_given);

    if (self->n_wheel == 0)
        self->wheel_base = at;
    else if (at < self->wheel_base)
        wheel_lower_base(self, at);
    self->wheel_from = *first_given;
    for (const EventKey *key = first_given; key < self->end; key++)
        event_wheel_put(self, *key);
    self->end = first_given;
}

/* The count of scheduled events must stay below EVENT_ORDER_END. To check that when the front is
 * empty or full is often enough: fewer events are scheduled in between than can be pending. */
static void
check_order(const EventQueue *self)
{
    if (self->n_scheduled > EVENT_ORDER_END - 4 * (uint64_t)EVENT_SLOT_END)
        g_error("more than %" G_GUINT64_FORMAT " events in a run", (guint64)EVENT_ORDER_END);
}

static void
front_move_to_start(EventQueue *self)
{
    size_t length = (size_t)(self->end - self->first);

    memmove(self->front, self->first, length * sizeof(EventKey));
    self->first = self->front;
    self->end = self->front + length;
}

static void
front_make_room(EventQueue *self)
{
    check_order(self);
    if (self->front == NULL)
        front_allocate(self, 2 * FRONT_MAX); /* twice, so that keys are seldom moved */
    if (self->end - self->first >= FRONT_MAX)
        front_shorten(self);
    front_move_to_start(self);
}

void
event_queue_prepare(EventQueue *self)
{
    if (self->free_slot == EVENT_SLOT_END)
        slab_make_room(self);
    if (self->end == self->limit)
        front_make_room(self);
}

static int
key_compare(const void *a, const void *b)
{
    EventKey left = *(const EventKey *)a, right = *(const EventKey *)b;

    return ORDER(left, right);
}

/* The keys of one chunk become the front, which is empty. */
static void
front_take_few(EventQueue *self, WheelChunk *chunk /* taken */)
{
    if (self->limit - self->end < WHEEL_CHUNK_KEYS)
        self->first = self->end = self->front;
    EventKey *first = self->end, *end = first;
    for (uint32_t i = 0; i < chunk->n; i++) {
        EventKey key = chunk->keys[i], *place;
        if (self->n_dead > 0 && drop_if_dead(self, key))
            continue;
        for (place = end++; place > first && place[-1] > key; place--)
            *place = place[-1];
        *place = key;
    }
    self->end = end;
    self->n_wheel -= chunk->n;
    chunk_release(self, chunk);
}

/* All keys of an instant become the front, which is empty. Usually they are in order already. */
static void
front_take_instant(EventQueue *self, WheelChunk *chunk /* taken */)
{
    uint32_t n = 0, n_sorted = 1;

    for (const WheelChunk *each = chunk; each != NULL; each = each->next)
        n += each->n;
    if (n > self->limit - self->front) /* no room to spare: the next insertion shortens it first */
        front_allocate(self, n);
    self->n_wheel -= n;
    n = 0;
    while (chunk != NULL) {
        WheelChunk *next = chunk->next;
        uint32_t n_alive = sweep_keys(self, chunk->keys, chunk->n);
        memcpy(self->front + n, chunk->keys, n_alive * sizeof(EventKey));
        n += n_alive;
        chunk_release(self, chunk);
        chunk = next;
    }
    self->first = self->front;
    self->end = self->front + n;
    while (n_sorted < n && self->front[n_sorted - 1] < self->front[n_sorted])
        n_sorted++;
    if (n_sorted < n)
        qsort(self->front, n, sizeof(EventKey), key_compare);
}

/* The wheel's earliest bucket becomes the front, or, if it has many keys, moves down to the lower
 * levels. */
static void
front_take_bucket(EventQueue *self)
{
    unsigned level = (unsigned)__builtin_ctz(self->levels);
    unsigned digit = (unsigned)__builtin_ctzll(self->digits[level]);
    unsigned n_bits = level * WHEEL_DIGIT_BITS;
    const WheelChunk *last = self->buckets[level][digit];
    gboolean is_small = last->next == last;

    uint64_t place = (uint64_t)event_key_time(last->keys[0]) >> n_bits;
    WheelChunk *first = wheel_take_bucket(self, level, digit);
    if (!is_small && level > 0) {
        self->wheel_base = bucket_earliest(first);
        self->wheel_from = (EventKey)(uint64_t)self->wheel_base << 64;
        wheel_put_all(self, first, FALSE);
        return;
    }
    if (is_small)
        front_take_few(self, first);
    else
        front_take_instant(self, first);
    self->wheel_base = (SimTime)(place << n_bits);
    self->wheel_from = (EventKey)((place + 1) << n_bits) << 64;
}

void
event_front_refill(EventQueue *self)
{
    check_order(self);
    while (self->first == self->end && self->n_wheel > 0)
        front_take_bucket(self);
    if (self->n_wheel == 0)
        self->wheel_from = EVENT_KEY_MAX;
}

/* If at least half of the line's memory is free at its head, moves the keys there; otherwise
 * allocates twice as much. */
void
event_queue_grow_line(EventQueue *self)
{
    uint32_t length = self->line_end - self->line_first;

    if (self->line_first >= self->line_capacity / 2 && self->line_capacity > 0) {
        memmove(self->line, self->line + self->line_first, length * sizeof(EventKey));
    } else {
        EventKey *longer = g_new(EventKey, MAX(2 * self->line_capacity, CAPACITY_MIN));
        if (length > 0)
            memcpy(longer, self->line + self->line_first, length * sizeof(EventKey));
        g_free(self->line);
        self->line = longer;
        self->line_capacity = MAX(2 * self->line_capacity, CAPACITY_MIN);
    }
    self->line_first = 0;
    self->line_end = length;
}

EventRecord *
event_queue_find(EventQueue *self, SimEventId id)
{
    uint32_t slot = (uint32_t)id & (EVENT_SLOT_END - 1);

    if (slot >= self->capacity || self->slab[slot].id != id || self->slab[slot].type == NULL)
        return NULL;
    return &self->slab[slot];
}

/* Drops the dead keys of the wheel. */
static void
wheel_sweep(EventQueue *self)
{
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        for (uint64_t digits = self->digits[level]; digits != 0; digits &= digits - 1)
            wheel_put_all(self, wheel_take_bucket(self, level, (unsigned)__builtin_ctzll(digits)),
                          TRUE);
}

static void
event_queue_sweep(EventQueue *self)
{
    uint32_t n_in_line = self->line_end - self->line_first;

    self->end = self->first + sweep_keys(self, self->first, (uint32_t)(self->end - self->first));
    n_in_line = sweep_keys(self, self->line + self->line_first, n_in_line);
    if (n_in_line == 0)
        self->line_first = 0;
    self->line_end = self->line_first + n_in_line;
    wheel_sweep(self);
}

void
event_queue_drop_dead(EventQueue *self)
{
    while (self->n_dead > 0) {
        EventKey key;
        if (self->first < self->end && event_key_is_dead(self, *self->first))
            key = event_front_pop(self);
        else if (self->line_end > 0 && event_key_is_dead(self, self->line[self->line_first]))
            key = event_line_pop(self);
        else
            return;
        event_queue_release(self, &self->slab[event_key_slot(key)], event_key_slot(key));
        self->n_dead--;
    }
}

void
event_queue_cancel(EventQueue *self, EventRecord *record)
{
    record->type = NULL;
    self->n_dead++;
    if (self->n_dead > DEAD_MIN && self->n_dead > event_queue_length(self) / 2)
        event_queue_sweep(self);
    else
        event_queue_drop_dead(self);
}

/* ---- A list of all events ---- */

static void
list_keys(const EventQueue *self, const EventKey *from, const EventKey *to, GArray *keys)
{
    for (; from < to; from++)
        if (!event_key_is_dead(self, *from))
            g_array_append_vals(keys, from, 1);
}

void
event_queue_list(const EventQueue *self, GArray *keys)
{
    list_keys(self, self->first, self->end, keys);
    list_keys(self, self->line + self->line_first, self->line + self->line_end, keys);
    for (unsigned level = 0; level < WHEEL_LEVELS; level++)
        for (unsigned digit = 0; digit < WHEEL_DIGITS; digit++) {
            const WheelChunk *last = self->buckets[level][digit], *chunk = last;

            if ((self->levels >> level & 1) == 0 || (self->digits[level] >> digit & 1) == 0)
                continue;
            do {
                chunk = chunk->next;
                list_keys(self, chunk->keys, chunk->keys + chunk->n, keys);
            } while (chunk != last);
        }
}
