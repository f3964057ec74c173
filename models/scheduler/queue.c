/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scheduling queue: pods that are active, backing off after a rejection, backing off after an
 * error, or unschedulable. The first three stores are heaps; the last is a bag whose gaps are
 * filled from its end. A heap is sorted by priority and time, and equal keys keep the order of
 * their moves (SCH-30), never that of addresses. Releases that pop pods early from backoffQ round
 * the ends of back-offs down to a second (SCH-38), and sort by priority within it.
 *
 * The queue only stores: requeue.c decides where a pod goes. */
#include "queue.h"
#include "models/scheduler/scheduler-test.h"
#include "sim/slots.h"

#define N_PLUGINS_MAX 32

struct SchedulingQueue {
    QueueOptions options;
    SimSlots by_slot;     /* of QueuedPod: all pods of a store */
    GPtrArray *stores[5]; /* by QueuePlace: three binary heaps and a bag; PLACE_NONE has none */
    unsigned n_rejected_by[N_PLUGINS_MAX]; /* in PLACE_UNSCHEDULABLE, by plugin */
    uint64_t n_moves;
};

QueuedPod *
queued_pod_new(const Pod *pod, SimTime now)
{
    QueuedPod *self = g_slice_new0(QueuedPod);

    object_ref(&pod->meta);
    self->pod = pod;
    self->timestamp = now;
    self->admitted_at = TIME_UNSET;
    return self;
}

void
queued_pod_free(QueuedPod *self)
{
    if (self == NULL)
        return;
    object_unref(&self->pod->meta);
    g_slice_free(QueuedPod, self);
}

void
queued_pod_set_pod(QueuedPod *self, const Pod *pod)
{
    object_ref(&pod->meta);
    object_unref(&self->pod->meta);
    self->pod = pod;
}

SchedulingQueue *
scheduling_queue_new(const QueueOptions *options)
{
    g_autoptr(SchedulingQueue) self = g_new0(SchedulingQueue, 1);

    self->options = *options;
    self->by_slot.element_size = sizeof(QueuedPod *);
    for (unsigned place = PLACE_ACTIVE; place <= PLACE_UNSCHEDULABLE; place++)
        self->stores[place] = g_ptr_array_new();
    return g_steal_pointer(&self);
}

void
scheduling_queue_free(SchedulingQueue *self)
{
    if (self == NULL)
        return;
    for (unsigned place = PLACE_ACTIVE; place <= PLACE_UNSCHEDULABLE; place++) {
        if (self->stores[place] == NULL)
            continue;
        g_ptr_array_set_free_func(self->stores[place], (GDestroyNotify)queued_pod_free);
        g_ptr_array_unref(self->stores[place]);
    }
    sim_slots_clear(&self->by_slot);
    g_free(self);
}

SimTime
scheduling_queue_backoff(const SchedulingQueue *self, uint32_t attempts)
{
    SimTime backoff = self->options.initial_backoff;

    if (attempts == 0)
        return 0;
    for (uint32_t i = 1; i < attempts; i++) {
        if (backoff > self->options.max_backoff - backoff)
            return self->options.max_backoff;
        backoff += backoff;
    }
    return backoff;
}

void
queued_pod_failed(QueuedPod *self, gboolean rejected)
{
    if (rejected && self->rejections < UINT16_MAX)
        self->rejections++;
    self->errors = rejected ? 0 : MIN(self->errors + 1, UINT16_MAX);
}

/* SCH-38. Returns: the start of the second in which @at lies, if waiting pods are popped; else @at
 */
static SimTime
window_of(const SchedulingQueue *self, SimTime at)
{
    SimTime since = at - self->options.window_phase;

    if (!self->options.pops_waiting)
        return at;
    return at - ((since % SIM_SECOND) + SIM_SECOND) % SIM_SECOND;
}

SimTime
scheduling_queue_backoff_end(const SchedulingQueue *self, const QueuedPod *entry)
{
    uint32_t count = !self->options.counts_causes ? entry->attempts
                     : entry->errors > 0          ? entry->errors
                                                  : entry->rejections;

    if (count == 0)
        return TIME_UNSET;
    return window_of(self, entry->timestamp + scheduling_queue_backoff(self, count));
}

gboolean
scheduling_queue_is_backing_off(const SchedulingQueue *self, const QueuedPod *entry, SimTime now)
{
    SimTime end = scheduling_queue_backoff_end(self, entry);

    if (end == TIME_UNSET)
        return FALSE;
    return self->options.pops_waiting ? end >= window_of(self, now) : end > now;
}

QueuePlace
scheduling_queue_waits_in(const SchedulingQueue *self, const QueuedPod *entry)
{
    return self->options.pops_waiting && entry->unschedulable_plugins == 0 ? PLACE_ERRORS
                                                                           : PLACE_BACKOFF;
}

QueuedPod *
scheduling_queue_find(const SchedulingQueue *self, const ObjectKey *key)
{
    return sim_slots_pointer(&self->by_slot, key->slot);
}

/* ---- The heaps. Equal keys keep the order of their moves, so that two runs agree (SCH-30). ----
 */

static gboolean
comes_before(const SchedulingQueue *self, QueuePlace place, const QueuedPod *a, const QueuedPod *b)
{
    if (place != PLACE_ACTIVE) {
        SimTime a_at = scheduling_queue_backoff_end(self, a),
                b_at = scheduling_queue_backoff_end(self, b);
        if (a_at != b_at)
            return a_at < b_at;
    }
    if (place == PLACE_ACTIVE || (place == PLACE_BACKOFF && self->options.pops_waiting)) {
        if (a->pod->spec->priority != b->pod->spec->priority)
            return a->pod->spec->priority > b->pod->spec->priority;
        if (a->timestamp != b->timestamp)
            return a->timestamp < b->timestamp;
    }
    return a->sequence < b->sequence;
}

static void
heap_set(GPtrArray *heap, unsigned index, QueuedPod *entry)
{
    heap->pdata[index] = entry;
    entry->index = index;
}

static void
heap_up(SchedulingQueue *self, QueuePlace place, QueuedPod *entry)
{
    GPtrArray *heap = self->stores[place];
    unsigned index = entry->index;

    while (index > 0) {
        QueuedPod *parent = heap->pdata[(index - 1) / 2];
        if (!comes_before(self, place, entry, parent))
            break;
        heap_set(heap, index, parent);
        index = (index - 1) / 2;
    }
    heap_set(heap, index, entry);
}

static void
heap_down(SchedulingQueue *self, QueuePlace place, QueuedPod *entry)
{
    GPtrArray *heap = self->stores[place];
    unsigned index = entry->index;

    for (;;) {
        unsigned child = 2 * index + 1;
        if (child >= heap->len)
            break;
        if (child + 1 < heap->len &&
            comes_before(self, place, heap->pdata[child + 1], heap->pdata[child]))
            child++;
        if (!comes_before(self, place, heap->pdata[child], entry))
            break;
        heap_set(heap, index, heap->pdata[child]);
        index = child;
    }
    heap_set(heap, index, entry);
}

void
scheduling_queue_fix(SchedulingQueue *self, QueuedPod *entry)
{
    if (entry->place == PLACE_NONE || entry->place == PLACE_UNSCHEDULABLE)
        return;
    heap_up(self, entry->place, entry);
    heap_down(self, entry->place, entry);
}

/* ---- Moves ---- */

static void
count_rejections(SchedulingQueue *self, const QueuedPod *entry, int change)
{
    for (uint32_t rest = entry->unschedulable_plugins; rest != 0 && !entry->gated; rest &= rest - 1)
        self->n_rejected_by[__builtin_ctz(rest)] += (unsigned)change;
}

static void
leave_store(SchedulingQueue *self, QueuedPod *entry)
{
    GPtrArray *store = self->stores[entry->place];
    QueuedPod *last = store->pdata[store->len - 1];

    if (entry->place == PLACE_UNSCHEDULABLE)
        count_rejections(self, entry, -1);
    g_ptr_array_set_size(store, (int)store->len - 1);
    if (last != entry) {
        heap_set(store, entry->index, last);
        scheduling_queue_fix(self, last);
    }
    entry->place = PLACE_NONE;
}

void
scheduling_queue_put(SchedulingQueue *self, QueuedPod *entry, QueuePlace place, SimTime now)
{
    const ObjectKey *key = entry->pod->meta.key;

    if (entry->place != PLACE_NONE)
        leave_store(self, entry);
    QueuedPod **known = sim_slots_place(&self->by_slot, key->slot);
    g_assert(*known == NULL || *known == entry);
    *known = entry;
    entry->place = place;
    entry->sequence = self->n_moves++;
    entry->index = self->stores[place]->len;
    g_ptr_array_add(self->stores[place], entry);
    if (place == PLACE_ACTIVE && entry->admitted_at == TIME_UNSET)
        entry->admitted_at = now;
    if (place == PLACE_UNSCHEDULABLE)
        count_rejections(self, entry, 1);
    else
        heap_up(self, place, entry);
}

QueuedPod *
scheduling_queue_take(SchedulingQueue *self, QueuedPod *entry)
{
    leave_store(self, entry);
    *(QueuedPod **)sim_slots_find(&self->by_slot, entry->pod->meta.key->slot) = NULL;
    return entry;
}

QueuedPod *
scheduling_queue_next(const SchedulingQueue *self)
{
    const GPtrArray *active = self->stores[PLACE_ACTIVE], *waiting = self->stores[PLACE_BACKOFF];

    if (active->len > 0)
        return active->pdata[0];
    return self->options.pops_waiting && waiting->len > 0 ? waiting->pdata[0] : NULL;
}

QueuedPod *
scheduling_queue_pop(SchedulingQueue *self)
{
    QueuedPod *entry = scheduling_queue_next(self);

    if (entry == NULL)
        return NULL;
    scheduling_queue_take(self, entry);
    entry->attempts++;
    entry->unschedulable_plugins = 0; /* SCH-23 */
    return entry;
}

QueuedPod *
scheduling_queue_backed_off(const SchedulingQueue *self, SimTime now)
{
    for (QueuePlace place = PLACE_BACKOFF; place <= PLACE_ERRORS; place++) {
        const GPtrArray *heap = self->stores[place];
        if (heap->len > 0 && !scheduling_queue_is_backing_off(self, heap->pdata[0], now))
            return heap->pdata[0];
    }
    return NULL;
}

unsigned
scheduling_queue_length(const SchedulingQueue *self, QueuePlace place)
{
    return self->stores[place]->len;
}

QueuedPod *
scheduling_queue_at(const SchedulingQueue *self, QueuePlace place, unsigned i)
{
    return g_ptr_array_index(self->stores[place], i);
}

gboolean
scheduling_queue_any_rejected_by(const SchedulingQueue *self, uint32_t by)
{
    for (uint32_t rest = by; rest != 0; rest &= rest - 1) {
        if (self->n_rejected_by[__builtin_ctz(rest)] > 0)
            return TRUE;
    }
    return FALSE;
}
