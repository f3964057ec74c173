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

static void
event_queue_sweep(EventQueue *self)
{
    uint32_t n_alive = 0;

    for (uint32_t i = 0; i < self->length; i++) {
        uint32_t slot = event_key_slot(self->heap[i]);
        if (self->slab[slot].type != NULL)
            self->heap[n_alive++] = self->heap[i];
        else
            event_queue_release(self, &self->slab[slot], slot);
    }
    self->length = n_alive;
    self->n_dead = 0;
    event_heap_build(self);
}

void
event_queue_drop_dead(EventQueue *self)
{
    while (self->n_dead > 0) {
        uint32_t slot = event_key_slot(self->heap[0]);
        if (self->slab[slot].type != NULL)
            return;
        event_heap_pop(self);
        event_queue_release(self, &self->slab[slot], slot);
        self->n_dead--;
    }
}

void
event_queue_cancel(EventQueue *self, EventRecord *record)
{
    record->type = NULL;
    self->n_dead++;
    if (self->n_dead > DEAD_MIN && self->n_dead > self->length / 2)
        event_queue_sweep(self);
    else
        event_queue_drop_dead(self);
}
