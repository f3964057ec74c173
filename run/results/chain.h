/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "attribution.h"
#include "sim/pointer-map.h"

/* Steps back along the log of causes, for attribution.c and attribution-sums.c. A step needs some
 * ten instructions, so the code is inline. */

/* The number of log entries to read for the work of the keys ahead in one wait for workers. In a
 * crowd each key waits for all before it: to read everything for each would be quadratic. */
#define BEHIND_ENTRIES 256

/* Some chains have long runs of one cause: a client that deletes 20,000 pods, one after the other.
 * If each chain walked through all of them, this would be quadratic, too. So a walk leaves signs:
 * between the entry with the sign and its aim all entries have one wait and detail. */
struct ChainReader {
    SimTraceReader *log; /* (owned) */
    PointerMap signs;    /* entry -> aim, as numbers */
};

/* A chain, from its end to its start. */
typedef struct {
    ChainReader *reader;
    SimCauseId cause; /* of what lies before @at */
    SimCause entry;   /* of @cause */
    SimTime from, at; /* what is left of the chain */
    ChainAnchor anchor;
} Chain;

static inline Chain
chain_begin(
    ChainReader *reader, SimCauseId cause, SimTime from, SimTime to, const ChainAnchor *anchor)
{
    return (Chain){.reader = reader,
                   .cause = cause,
                   .entry = *sim_trace_read(reader->log, cause),
                   .from = from,
                   .at = to,
                   .anchor = anchor != NULL ? *anchor : (ChainAnchor){.at = TIME_UNSET}};
}

static inline void
chain_go(Chain *self, SimCauseId cause)
{
    self->cause = cause;
    self->entry = *sim_trace_read(self->reader->log, cause);
}

/* Goes on while the entries have one wait and detail, and are later than @limit. */
void chain_pass_run(Chain *self, SimTime limit);

/* @link: (out): the next interval; may have no length. Neighbours with one cause are one interval,
 * except waits for workers
 * @waited: (out): the entry of a wait for workers: see behind_begin()
 * Returns: FALSE: there is none */
static inline gboolean
chain_next(Chain *self, ChainLink *link, SimCauseId *waited)
{
    SimTime to = self->at;

    if (to <= self->from)
        return FALSE;
    if (self->entry.at < to) { /* done from outside, at a time of the scenario */
        self->at = MAX(self->entry.at, self->from);
        *link = (ChainLink){.from = self->at, .to = to, .wait = WAIT_SCENARIO};
        return TRUE;
    }
    SimWait wait = self->entry.wait;
    uint16_t detail = self->entry.detail;
    *waited = self->cause;
    chain_go(self, self->entry.parent);
    if (self->entry.wait == wait && self->entry.detail == detail && wait != WAIT_WORKERS)
        chain_pass_run(self, MAX(self->from, self->anchor.at));
    self->at = MAX(self->entry.at, self->from);
    if (self->anchor.at != TIME_UNSET && self->at < self->anchor.at) {
        self->at = MIN(self->anchor.at, to);
        chain_go(self, self->anchor.cause);
        self->anchor.at = TIME_UNSET;
    }
    *link = (ChainLink){.from = self->at, .to = to, .wait = wait, .detail = detail};
    return TRUE;
}

/* A wait for workers, from its end to its start: what the freed worker had done meanwhile. */
typedef struct {
    SimTraceReader *log;
    SimCauseId cause; /* as in Chain */
    SimCause entry;
    SimTime from, at;
    uint16_t label; /* of the queue */
    unsigned n_to_read;
} Behind;

static inline void
behind_go(Behind *self, SimCauseId cause)
{
    self->cause = cause;
    self->entry = *sim_trace_read(self->log, cause);
}

/* @waited: its entry */
static inline Behind
behind_begin(ChainReader *reader, SimCauseId waited, uint16_t label, SimTime from, SimTime to)
{
    Behind self = {
        .log = reader->log, .from = from, .at = to, .label = label, .n_to_read = BEHIND_ENTRIES};

    behind_go(&self, sim_trace_releaser(reader->log, waited));
    return self;
}

/* Whether the worker took up a key then, of this queue: before, it had another one. */
static inline gboolean
behind_is_at_hop(const Behind *self)
{
    return self->entry.wait == WAIT_WORKERS && self->entry.detail == self->label;
}

/* @part: (out): the next interval; WAIT_NONE: it is not known what the worker did. Returns: FALSE:
 * there is none */
static inline gboolean
behind_next(Behind *self, ChainLink *part)
{
    SimTime to = self->at;

    if (to <= self->from)
        return FALSE;
    while (self->n_to_read > 0 && self->cause != 0 && self->entry.at >= to) {
        self->n_to_read--;
        if (self->entry.wait == WAIT_WORKERS) {
            behind_go(self,
                      behind_is_at_hop(self) ? sim_trace_releaser(self->log, self->cause) : 0);
            continue;
        }
        SimWait wait = self->entry.wait;
        uint16_t detail = self->entry.detail;
        behind_go(self, self->entry.parent);
        self->at = MAX(self->entry.at, self->from);
        *part = (ChainLink){.from = self->at, .to = to, .wait = wait, .detail = detail};
        return TRUE;
    }
    self->at = self->from;
    *part = (ChainLink){.from = self->from, .to = to, .wait = WAIT_NONE};
    return TRUE;
}
