/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log of causes: for each entry its instant, its parent, a kind of wait and a detail. The
 * newest entries are plain structs; full blocks are packed, which takes a fraction of the memory in
 * long runs, and unpacked whole for reading. A reader keeps some unpacked blocks. An entry at the
 * instant of its parent is the parent itself. */
#include "sim/sim-test.h"
#include "trace-internal.h"

#include <string.h>

/* A packed block: the time of its first entry, and for each entry two bytes, then what they
 * announce. The first byte has the wait and the number of bytes of the time since the entry before;
 * the second has the detail and the number of bytes of the way to the parent, less one. Times of
 * neighbours and the way to the parent are mostly short. All numbers have their low byte first. */
#define WAIT_BITS 5
#define WAIT_LONG 30 /* it follows, in two bytes */
#define TIME_LONG 7  /* eight bytes; else as many as it says */
#define DETAIL_BITS 6
#define DETAIL_LONG 63 /* as WAIT_LONG */

#define NUMBER_SIZE 8 /* what is read and written at once, of which less may count */
#define ENTRY_SIZE_MAX (2 + 2 + 2 + 8 + 4)
#define BLOCK_SIZE_MAX (8 + SIM_TRACE_BLOCK * ENTRY_SIZE_MAX + NUMBER_SIZE)
#define PIECE_SIZE (1u << 20)

G_STATIC_ASSERT(sizeof(SimCause) == 16 && SIM_RELEASED < 1u << WAIT_BITS);

SimTrace *
sim_trace_new(SimCold *cold)
{
    SimTrace *self = g_new0(SimTrace, 1);

    self->cold = cold;
    self->blocks = g_ptr_array_new();
    self->pieces = g_ptr_array_new();
    self->labels = g_ptr_array_new_with_free_func(g_free);
    self->numbers = g_hash_table_new(g_str_hash, g_str_equal);
    g_ptr_array_add(self->labels, g_strdup(""));
    sim_trace_append(self, 0, 0, 0, 0); /* the start of the run */
    return self;
}

void
sim_trace_free(SimTrace *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < self->pieces->len; i++)
        sim_cold_give(self->cold, self->pieces->pdata[i]);
    g_ptr_array_unref(self->pieces);
    g_ptr_array_unref(self->blocks);
    g_hash_table_unref(self->numbers);
    g_ptr_array_unref(self->labels);
    g_free(self);
}

/* ---- Packing ---- */

static inline uint8_t *
trace_put(uint8_t *to, uint64_t number, unsigned n_bytes)
{
    uint64_t bytes = GUINT64_TO_LE(number);

    memcpy(to, &bytes, NUMBER_SIZE);
    return to + n_bytes;
}

/* The low bytes of a number. */
static const uint64_t masks[] = {0,          0xff,         0xffff,         0xffffff,
                                 0xffffffff, 0xffffffffff, 0xffffffffffff, 0xffffffffffffff,
                                 UINT64_MAX};

static inline uint64_t
trace_take(const uint8_t **from, unsigned n_bytes)
{
    uint64_t bytes;

    memcpy(&bytes, *from, NUMBER_SIZE);
    *from += n_bytes;
    return GUINT64_FROM_LE(bytes) & masks[n_bytes];
}

/* The number of bytes of a number; 0 has none. */
static inline unsigned
trace_bytes_of(uint64_t number)
{
    return number == 0 ? 0 : (unsigned)(71 - __builtin_clzll(number)) / 8;
}

static uint8_t *
pack_entry(const SimCause *entry, uint64_t since, uint32_t way, uint8_t *to)
{
    unsigned wait = entry->wait <= SIM_RELEASED ? entry->wait : WAIT_LONG;
    unsigned detail = MIN(entry->detail, DETAIL_LONG);
    unsigned time_bytes = MIN(trace_bytes_of(since), TIME_LONG);
    unsigned way_bytes = MAX(trace_bytes_of(way), 1);

    *to++ = (uint8_t)(wait | time_bytes << WAIT_BITS);
    *to++ = (uint8_t)(detail | (way_bytes - 1) << DETAIL_BITS);
    if (wait == WAIT_LONG)
        to = trace_put(to, entry->wait, 2);
    if (detail == DETAIL_LONG)
        to = trace_put(to, entry->detail, 2);
    to = trace_put(to, since, time_bytes == TIME_LONG ? 8 : time_bytes);
    return trace_put(to, way, way_bytes);
}

static void
unpack_block(const uint8_t *from, SimCauseId id, SimCause *entries)
{
    SimTime at = (SimTime)trace_take(&from, 8);

    for (unsigned i = 0; i < SIM_TRACE_BLOCK; i++) {
        unsigned wait = *from % (1u << WAIT_BITS), time_bytes = *from >> WAIT_BITS;
        from++;
        unsigned detail = *from % (1u << DETAIL_BITS), way_bytes = (*from >> DETAIL_BITS) + 1u;
        from++;
        if (wait == WAIT_LONG)
            wait = (unsigned)trace_take(&from, 2);
        if (detail == DETAIL_LONG)
            detail = (unsigned)trace_take(&from, 2);
        at += (SimTime)trace_take(&from, time_bytes == TIME_LONG ? 8 : time_bytes);
        entries[i] = (SimCause){.at = at,
                                .parent = id + i - (SimCauseId)trace_take(&from, way_bytes),
                                .wait = (SimWait)wait,
                                .detail = (uint16_t)detail};
    }
}

void
sim_trace_pack(SimTrace *self)
{
    if (self->length == 0) /* the number of entries has wrapped */
        g_error("the log of causes is full: %u entries", UINT32_MAX);
    if (self->free_end - self->free < BLOCK_SIZE_MAX) {
        self->free = sim_cold_take(self->cold, PIECE_SIZE);
        self->free_end = self->free + PIECE_SIZE;
        g_ptr_array_add(self->pieces, self->free);
    }
    g_ptr_array_add(self->blocks, self->free);
    SimTime before = self->open[0].at;
    uint8_t *to = trace_put(self->free, (uint64_t)before, 8);
    for (unsigned i = 0; i < SIM_TRACE_BLOCK; i++) {
        const SimCause *entry = &self->open[i];
        to = pack_entry(entry, (uint64_t)(entry->at - before), self->n_packed + i - entry->parent,
                        to);
        before = entry->at;
    }
    self->free = to;
    self->n_packed += SIM_TRACE_BLOCK;
}

SimCauseId
sim_trace_add(SimTrace *self, SimCauseId parent, SimTime at, SimWait wait, uint16_t detail)
{
    SimTime parent_at = sim_trace_get(self, parent).at;

    g_assert(at >= parent_at);
    return at == parent_at ? parent : sim_trace_append(self, parent, at, wait, detail);
}

uint32_t
sim_trace_length(const SimTrace *self)
{
    return self->length;
}

/* ---- Reading ---- */

static void
read_block(const SimTrace *self, uint32_t block, SimCause *entries)
{
    SimCauseId first = block * SIM_TRACE_BLOCK;

    if (first >= self->n_packed)
        memcpy(entries, self->open, (self->length - first) * sizeof(SimCause));
    else
        unpack_block(self->blocks->pdata[block], first, entries);
}

SimCause
sim_trace_get(const SimTrace *self, SimCauseId id)
{
    SimCause entries[SIM_TRACE_BLOCK];

    g_assert(id < self->length);
    read_block(self, id / SIM_TRACE_BLOCK, entries);
    return entries[id % SIM_TRACE_BLOCK];
}

SimTraceReader *
sim_trace_reader_new(const SimTrace *trace, unsigned blocks_max)
{
    SimTraceReader *self = g_new0(SimTraceReader, 1);
    unsigned n = 1;

    while (n < blocks_max && n < trace->length / SIM_TRACE_BLOCK + 1)
        n *= 2;
    self->trace = trace;
    self->numbers = g_new0(uint32_t, n);
    self->blocks = g_malloc_n(n, sizeof(*self->blocks));
    self->place_mask = n - 1;
    return self;
}

void
sim_trace_reader_free(SimTraceReader *self)
{
    if (self == NULL)
        return;
    g_free(self->numbers);
    g_free(self->blocks);
    g_free(self);
}

void
sim_trace_reader_load(SimTraceReader *self, uint32_t block)
{
    uint32_t place = block & self->place_mask;

    g_assert(block <= (self->trace->length - 1) / SIM_TRACE_BLOCK);
    read_block(self->trace, block, self->blocks[place]);
    self->numbers[place] = block + 1;
}

/* ---- Labels ---- */

uint16_t
sim_trace_label(SimTrace *self, const char *text)
{
    unsigned number = GPOINTER_TO_UINT(g_hash_table_lookup(self->numbers, text));

    if (number > 0 || self->labels->len > G_MAXUINT16)
        return (uint16_t)number;
    char *label = g_strdup(text);
    number = self->labels->len;
    g_ptr_array_add(self->labels, label);
    g_hash_table_insert(self->numbers, label, GUINT_TO_POINTER(number));
    return (uint16_t)number;
}

unsigned
sim_trace_n_labels(const SimTrace *self)
{
    return self->labels->len;
}

const char *
sim_trace_label_text(const SimTrace *self, uint16_t label)
{
    g_assert(label < self->labels->len);
    return self->labels->pdata[label];
}
