/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace-internal.h"

G_STATIC_ASSERT(sizeof(SimCause) == 16);

SimTrace *
sim_trace_new(SimCold *cold)
{
    SimTrace *self = g_new0(SimTrace, 1);

    self->cold = cold;
    self->chunks = g_ptr_array_new();
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
    for (unsigned i = 0; i < self->chunks->len; i++)
        sim_cold_give(self->cold, self->chunks->pdata[i]);
    g_ptr_array_unref(self->chunks);
    g_hash_table_unref(self->numbers);
    g_ptr_array_unref(self->labels);
    g_free(self);
}

/* Makes a chunk; the next entry is its first. */
void
sim_trace_grow(SimTrace *self)
{
    if (self->length == 0 && self->chunks->len > 0) /* the number of entries has wrapped */
        g_error("the log of causes is full: %" G_GUINT64_FORMAT " entries",
                (guint64)self->chunks->len * TRACE_CHUNK_LENGTH);
    self->chunk = sim_cold_take(self->cold, TRACE_CHUNK_LENGTH * sizeof(SimCause));
    g_ptr_array_add(self->chunks, self->chunk);
}

SimCauseId
sim_trace_add(SimTrace *self, SimCauseId parent, SimTime at, SimWait wait, uint16_t detail)
{
    SimTime parent_at = sim_trace_get(self, parent)->at;

    g_assert(at >= parent_at);
    return at == parent_at ? parent : sim_trace_append(self, parent, at, wait, detail);
}

const SimCause *
sim_trace_get(const SimTrace *self, SimCauseId id)
{
    g_assert(id < self->length);
    return sim_trace_entry(self, id);
}

uint32_t
sim_trace_length(const SimTrace *self)
{
    return self->length;
}

SimCauseId
sim_trace_releaser(const SimTrace *self, SimCauseId id)
{
    if (id < 2) /* the start of the run releases nothing */
        return 0;
    const SimCause *companion = sim_trace_get(self, id - 1);
    return companion->wait == SIM_RELEASED ? companion->parent : 0;
}

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
