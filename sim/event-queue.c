/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "event-queue.h"

#include <string.h>

G_STATIC_ASSERT(sizeof(EventKey) == 16);
G_STATIC_ASSERT(sizeof(EventRecord) == 32);

#define CACHE_LINE 64
#define CAPACITY_MIN 256
/* Keys in front of the first, so that its four children begin a cache line. */
#define HEAP_SHIFT 3
/* Fewer dead keys are not worth a sweep. */
#define DEAD_MIN 64

void
event_queue_init(EventQueue *self)
{
    *self = (EventQueue){.free_slot = EVENT_SLOT_END, .n_scheduled = 2};
}

void
event_queue_clear(EventQueue *self)
{
    if (self->heap != NULL)
        g_aligned_free(self->heap - HEAP_SHIFT);
    g_aligned_free(self->slab);
    g_free(self->line);
    event_queue_init(self);
}

static EventKey *
heap_grow(EventKey *heap, uint32_t length, uint32_t capacity)
{
    EventKey *larger = g_aligned_alloc(capacity + HEAP_SHIFT, sizeof(EventKey), CACHE_LINE);

    larger += HEAP_SHIFT;
    if (heap != NULL) {
        memcpy(larger, heap, length * sizeof(EventKey));
        g_aligned_free(heap - HEAP_SHIFT);
    }
    return larger;
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

void
event_queue_prepare(EventQueue *self)
{
    uint32_t capacity = MIN(MAX(2 * self->capacity, CAPACITY_MIN), EVENT_SLOT_END);

    if (self->n_scheduled == EVENT_ORDER_END)
        g_error("more than %" G_GUINT64_FORMAT " events in a run", (guint64)EVENT_ORDER_END);
    if (self->free_slot != EVENT_SLOT_END)
        return;
    if (self->capacity == EVENT_SLOT_END)
        g_error("more than %u events pending", EVENT_SLOT_END);
    self->heap = heap_grow(self->heap, self->length, capacity);
    self->slab = slab_grow(self->slab, self->capacity, capacity);
    self->free_slot = self->capacity;
    self->capacity = capacity;
}

/* Room at the end of the line: what went before leaves some, or the line gets longer. */
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

static void
event_heap_build(EventQueue *self)
{
    if (self->length < 2)
        return;
    for (size_t place = (self->length - 2) / 4 + 1; place-- > 0;)
        event_heap_fill(self->heap, self->length, place, self->heap[place]);
}

/* Keeps what is alive of @n keys. Returns: how many that are */
static uint32_t
sweep_keys(EventQueue *self, EventKey *keys, uint32_t n)
{
    uint32_t n_alive = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = event_key_slot(keys[i]);
        if (self->slab[slot].type != NULL)
            keys[n_alive++] = keys[i];
        else
            event_queue_release(self, &self->slab[slot], slot);
    }
    return n_alive;
}

static void
event_queue_sweep(EventQueue *self)
{
    uint32_t n_in_line = self->line_end - self->line_first;

    self->length = sweep_keys(self, self->heap, self->length);
    n_in_line = sweep_keys(self, self->line + self->line_first, n_in_line);
    if (n_in_line == 0)
        self->line_first = 0;
    self->line_end = self->line_first + n_in_line;
    self->n_dead = 0;
    event_heap_build(self);
}

void
event_queue_drop_dead(EventQueue *self)
{
    while (self->n_dead > 0) {
        EventKey key;
        if (self->length > 0 && event_key_is_dead(self, self->heap[0]))
            key = event_heap_pop(self);
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
