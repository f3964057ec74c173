/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes and frees what a component's rows name (parts.h): state, informers with indexes and
 * handlers, workers, tickers, in the order in which components are started. The order is part of
 * every result: it decides who is told first at one instant. */
#include "cluster.h"

#include <string.h>

#include "models/timing/timing.h"
#include "sim/ticker.h"

/* Members are pointers of many types, so they are copied as bytes: no pointer is read as another
 * type. */
static void *
member_of(const Component *self, size_t at)
{
    void *member;

    memcpy(&member, (const char *)self + at, sizeof member);
    return member;
}

static void
set_member(Component *self, size_t at, const void *member)
{
    memcpy((char *)self + at, &member, sizeof member);
}

static gboolean
parts_holds(const Component *self, const ComponentPart *part)
{
    return (part->only.condition == NULL || part->only.condition(self)) &&
           (part->only.gate == NULL ||
            release_has_gate(cluster_release(self->cluster), part->only.gate));
}

static void
parts_walk(Component *self, PartKind what, void (*make)(Component *self, const ComponentPart *part))
{
    gboolean is_there = TRUE;

    for (unsigned i = 0; i < self->class->n_parts; i++) {
        const ComponentPart *part = &self->class->parts[i];
        if (part->what == PART_IF)
            is_there = parts_holds(self, part);
        else if (part->what == what && is_there)
            make(self, part);
    }
}

/* ---- State ---- */

static const void *
new_state(const Component *self, const ComponentPart *part)
{
    switch (part->what) {
    case PART_OPTIONS:
        return self->options;
    case PART_TEXT:
        return strings_intern(self->strings, part->text);
    case PART_TABLE:
        return g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, part->free_item);
    case PART_ARRAY:
        return g_ptr_array_new_with_free_func(part->free_item);
    case PART_STATE:
        return part->state.make == NULL ? NULL : part->state.make();
    case PART_IF:
    case PART_INFORMER:
    case PART_WORKERS:
    case PART_TICKER:
        return NULL;
    }
    g_assert_not_reached();
}

void
component_make_state(Component *self)
{
    for (unsigned i = 0; i < self->class->n_parts; i++) {
        const ComponentPart *part = &self->class->parts[i];
        if (part->what < PART_IF)
            set_member(self, part->at, new_state(self, part));
    }
}

void
component_free_parts(Component *self)
{
    for (unsigned i = 0; i < self->class->n_parts; i++) {
        const ComponentPart *part = &self->class->parts[i];
        void *member = part->what == PART_IF ? NULL : member_of(self, part->at);
        if (part->what == PART_TABLE)
            g_hash_table_unref(member);
        else if (part->what == PART_ARRAY)
            g_ptr_array_unref(member);
        else if (part->what == PART_STATE && member != NULL)
            part->state.free(member);
        else if (part->what == PART_TICKER)
            sim_ticker_free(member);
    }
    g_clear_pointer(&self->wakers, g_ptr_array_unref);
}

/* ---- Informers ---- */

static void
make_informer(Component *self, const ComponentPart *part)
{
    const InformerPart *row = &part->informer;
    Informer *informer = process_informer(self->process, row->kind, NULL);

    set_member(self, part->at, informer);
    if (row->by != NULL)
        set_member(self, row->index, informer_add_index(informer, row->by));
}

/* The arguments of a handler of an informer's row. */
typedef struct {
    const Component *component;
    const InformerPart *row;
} Waker;

static void
wake_workers(void *data, const Object *before, const Object *after)
{
    const Waker *waker = data;
    const InformerPart *row = waker->row;

    if (row->when != NULL && (after == NULL || !row->when(waker->component, after)))
        return;
    workers_add(member_of(waker->component, row->wakes), (after != NULL ? after : before)->key);
    if (row->ticks != 0)
        sim_ticker_wake(member_of(waker->component, row->ticks));
}

static void
add_handlers(Component *self, const ComponentPart *part)
{
    const InformerPart *row = &part->informer;
    Informer *informer = member_of(self, part->at);

    if (row->changed != NULL)
        informer_add_handler(informer, row->changed, self);
    if (row->wakes != 0) {
        Waker *waker = g_new(Waker, 1);
        *waker = (Waker){self, row};
        if (self->wakers == NULL)
            self->wakers = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(self->wakers, waker);
        informer_add_handler(informer, wake_workers, waker);
    }
}

/* ---- Workers and tickers ---- */

static void
make_workers(Component *self, const ComponentPart *part)
{
    WorkersOptions options = part->workers;

    if (options.limit.base == 0)
        options.limit = rate_limit_default;
    set_member(self, part->at, workers_new(self, &options));
}

static void
make_ticker(Component *self, const ComponentPart *part)
{
    const TickerPart *row = &part->ticker;
    const SimTime *flag = (const void *)((const char *)self->options + row->period_flag);
    SimTime period = row->period != 0 ? row->period : MAX(*flag, SIM_MS);
    SimTicker *ticker = sim_ticker_new(
        self->sim, &(SimTickerOptions){
                       .name = row->name,
                       .period = period,
                       .cost = process_timing(self->process)->loop_pass,
                       .phase = row->phase == NULL ? 0 : row->phase(self, row->name, period),
                       .order = self->order + row->number,
                       .wait = WAIT_POLL,
                       .pass = row->pass,
                       .self = self,
                   });

    set_member(self, part->at, ticker);
    if (row->is_awake)
        sim_ticker_wake(ticker);
}

SimTime
ticker_phase_drawn(const void *self, const char *name, SimTime period)
{
    const Component *component = self;
    SimStream stream = sim_stream(component->sim, name);

    return component->started_late ? 0 : (SimTime)sim_random_below(stream, 0, 0, (uint64_t)period);
}

SimTime
ticker_phase_period(const void *self, const char *name, SimTime period)
{
    (void)self, (void)name;
    return period;
}

/* ---- All of them ---- */

void
component_start(void *component)
{
    Component *self = component;

    parts_walk(self, PART_INFORMER, make_informer);
    parts_walk(self, PART_WORKERS, make_workers);
    parts_walk(self, PART_TICKER, make_ticker);
    if (self->class->filled != NULL)
        self->class->filled(self);
    parts_walk(self, PART_INFORMER, add_handlers);
}
