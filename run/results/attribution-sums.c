/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of waits by cause over all objects of a run. Waits for workers overlap: each key of a queue
 * waits for the same jobs as the key ahead of it. The work of one worker is a list of segments: its
 * work between two keys that waited. Each wait covers some segments as a whole, and a part of the
 * last one. So a wait only counts at its first segment and behind its last whole one, and at the
 * end each segment is read once and added as often as waits cover it. Sums are integers, so the
 * order of additions does not matter. */
#include "attribution-sums.h"

#include "chain.h"

typedef struct {
    SimCauseId waited;      /* the entry of the wait whose end begins the segment, backwards */
    SimCauseId next_waited; /* the entry of the wait that ends it; 0: none, nothing covers it */
    SimTime at, next_at;    /* of both */
    unsigned n_steps;       /* entries in between */
    unsigned next;          /* the segment from there: index + 1; 0: not asked for yet */
    unsigned earlier;       /* the next one in the list of its block: index + 1; 0: none */
    int n_waits[N_STAGES];  /* that cover it, less those that cover the segment before */
} Segment;

struct AttributionSums {
    ChainReader *reader; /* (owned) */
    unsigned n_details;
    /* Time by cause: its place follows from wait and detail. NULL: no time yet. */
    SimTime *stages[N_STAGES];
    SimTime **behind[N_STAGES]; /* by the label of the queue: what its workers did */
    GArray *segments;           /* of Segment */
    /* By block of the log: the segment of its latest wait, index + 1; 0: none. Most blocks have one
     * or two. */
    unsigned *by_block;
    unsigned n_blocks;
};

AttributionSums *
attribution_sums_new(const SimTrace *trace)
{
    G_STATIC_ASSERT(N_WAITS <= SIM_RELEASED);
    AttributionSums *self = g_new0(AttributionSums, 1);
    unsigned n = MAX((unsigned)N_KINDS, (unsigned)CSI_N_METHODS) + 1;

    n = MAX(n, API_EVICT + 2u);
    self->n_details = MAX(n, sim_trace_n_labels(trace));
    self->reader = chain_reader_new(trace);
    self->segments = g_array_new(FALSE, FALSE, sizeof(Segment));
    self->n_blocks = sim_trace_length(trace) / SIM_TRACE_BLOCK + 1;
    self->by_block = g_new0(unsigned, self->n_blocks);
    for (unsigned i = 0; i < N_STAGES; i++)
        self->behind[i] = g_new0(SimTime *, self->n_details);
    return self;
}

/* Frees members that are needed only while records are added. */
static void
free_steps(AttributionSums *self)
{
    g_clear_pointer(&self->by_block, g_free);
    g_clear_pointer(&self->segments, g_array_unref);
    g_clear_pointer(&self->reader, chain_reader_free);
}

void
attribution_sums_free(AttributionSums *self)
{
    if (self == NULL)
        return;
    for (unsigned i = 0; i < N_STAGES; i++) {
        for (unsigned label = 0; label < self->n_details; label++)
            g_free(self->behind[i][label]);
        g_free(self->behind[i]);
        g_free(self->stages[i]);
    }
    free_steps(self);
    g_free(self);
}

/* @times: (inout): one of the arrays above */
static inline void
add_link(const AttributionSums *self, SimTime **times, const ChainLink *link, int n)
{
    if (*times == NULL)
        *times = g_new0(SimTime, N_WAITS * self->n_details);
    (*times)[link->wait * self->n_details + link->detail] += n * (link->to - link->from);
}

/* ---- Segments ---- */

static Segment
make_segment(AttributionSums *self, SimCauseId waited)
{
    SimCause entry = *sim_trace_read(self->reader->log, waited);
    Segment segment = {.waited = waited, .at = entry.at};
    Behind behind = behind_begin(self->reader, waited, entry.detail, 0, entry.at);

    while (behind.cause != 0 && behind.entry.at >= behind.at) {
        if (behind.entry.wait == WAIT_WORKERS) {
            if (behind_is_at_hop(&behind)) {
                segment.next_waited = behind.cause;
                segment.next_at = behind.at;
            }
            break;
        }
        if (++segment.n_steps == BEHIND_ENTRIES) /* no wait covers it as a whole */
            break;
        behind_go(&behind, behind.entry.parent);
        behind.at = behind.entry.at;
    }
    return segment;
}

/* Returns: the index of the segment */
static unsigned
find_segment(AttributionSums *self, SimCauseId waited)
{
    unsigned *place = &self->by_block[waited / SIM_TRACE_BLOCK];

    while (*place != 0) {
        Segment *other = &g_array_index(self->segments, Segment, *place - 1);
        if (other->waited == waited)
            return *place - 1;
        if (other->waited < waited)
            break;
        place = &other->earlier;
    }
    Segment segment = make_segment(self, waited);
    segment.earlier = *place;
    *place = self->segments->len + 1; /* before all segments may move */
    g_array_append_val(self->segments, segment);
    return self->segments->len - 1;
}

static unsigned
next_segment(AttributionSums *self, unsigned index)
{
    const Segment *segment = &g_array_index(self->segments, Segment, index);

    if (segment->next == 0) {
        unsigned next = find_segment(self, segment->next_waited); /* may move all of them */
        g_array_index(self->segments, Segment, index).next = next + 1;
        return next;
    }
    return segment->next - 1;
}

static void
add_behind(AttributionSums *self, Stage stage, SimCauseId waited, const ChainLink *link)
{
    unsigned first = find_segment(self, waited), index = first;
    const Segment *segment = &g_array_index(self->segments, Segment, index);
    Behind behind = behind_begin(self->reader, waited, link->detail, link->from, link->to);
    ChainLink part;

    if (segment->at == link->to) { /* otherwise the wait goes on behind @link */
        while (segment->next_waited != 0 && segment->next_at >= link->from &&
               segment->n_steps < behind.n_to_read) {
            behind.n_to_read -= segment->n_steps + 1;
            index = next_segment(self, index);
            segment = &g_array_index(self->segments, Segment, index);
        }
        g_array_index(self->segments, Segment, first).n_waits[stage]++;
        g_array_index(self->segments, Segment, index).n_waits[stage]--;
        behind.at = segment->at;
        behind_go(&behind, sim_trace_releaser(self->reader->log, segment->waited));
    }
    while (behind_next(&behind, &part))
        add_link(self, &self->behind[stage][link->detail], &part, 1);
}

void
attribution_sums_add(AttributionSums *self, const StageRecord *record)
{
    const ChainAnchor anchor = {record->scheduled, record->scheduled_by};
    Chain chain = chain_begin(self->reader, record->cause, record->from, record->to, &anchor);
    SimCauseId waited;
    ChainLink link;

    while (chain_next(&chain, &link, &waited))
        if (link.wait != WAIT_WORKERS)
            add_link(self, &self->stages[record->stage], &link, 1);
        else if (link.from < link.to)
            add_behind(self, record->stage, waited, &link);
}

/* Adds a segment as often as waits cover it, and counts these at the next segment, too. */
static void
add_segment(AttributionSums *self, const Segment *segment)
{
    uint16_t label = sim_trace_read(self->reader->log, segment->waited)->detail;
    Segment *next = &g_array_index(self->segments, Segment, segment->next - 1);
    Behind behind =
        behind_begin(self->reader, segment->waited, label, segment->next_at, segment->at);
    unsigned covered[N_STAGES], n_covered = 0; /* stages */
    ChainLink part;

    for (unsigned stage = 0; stage < N_STAGES; stage++) {
        next->n_waits[stage] += segment->n_waits[stage];
        if (segment->n_waits[stage] > 0)
            covered[n_covered++] = stage;
    }
    while (n_covered > 0 && behind_next(&behind, &part))
        for (unsigned i = 0; i < n_covered; i++)
            add_link(self, &self->behind[covered[i]][label], &part, segment->n_waits[covered[i]]);
}

/* The latest first: a segment ends before the next one begins. */
static void
add_segments(AttributionSums *self)
{
    for (unsigned block = self->n_blocks; block > 0; block--) {
        unsigned number = self->by_block[block - 1];
        while (number != 0) {
            const Segment *segment = &g_array_index(self->segments, Segment, number - 1);
            if (segment->next != 0)
                add_segment(self, segment);
            number = segment->earlier;
        }
    }
}

void
attribution_sums_end(AttributionSums *self)
{
    if (self == NULL)
        return;
    add_segments(self);
    free_steps(self);
}

/* ---- Results ---- */

/* @link: its stage's cause; gets the rest from @times. @is_behind: what workers did */
static void
tell_times(const AttributionSums *self,
           const SimTime *times,
           ChainLink link,
           gboolean is_behind,
           AttributionSumTaker take,
           void *data,
           Stage stage)
{
    for (unsigned i = 0; times != NULL && i < N_WAITS * self->n_details; i++) {
        SimWait wait = (SimWait)(i / self->n_details);
        uint16_t detail = (uint16_t)(i % self->n_details);
        if (times[i] == 0)
            continue;
        if (is_behind)
            link.behind = wait, link.behind_detail = detail;
        else
            link.wait = wait, link.detail = detail;
        link.from = 0;
        link.to = times[i];
        take(data, stage, &link);
    }
}

void
attribution_sums_each(const AttributionSums *self, AttributionSumTaker take, void *data)
{
    for (unsigned i = 0; i < N_STAGES; i++) {
        tell_times(self, self->stages[i], (ChainLink){0}, FALSE, take, data, (Stage)i);
        for (unsigned label = 0; label < self->n_details; label++)
            tell_times(self, self->behind[i][label],
                       (ChainLink){.wait = WAIT_WORKERS, .detail = (uint16_t)label}, TRUE, take,
                       data, (Stage)i);
    }
}
