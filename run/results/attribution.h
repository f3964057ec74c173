/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "stages.h"

/* Where the time went (DESIGN §5). From the end of a stage back along the log of causes: each event
 * has one event that released it, and each interval between two of them one cause. Clipped at the
 * stage's start, the causes add up to the stage to the nanosecond. */

/* One interval of a chain, newest first in lists. */
typedef struct {
    SimTime from, to;
    SimWait wait;    /* WaitKind */
    uint16_t detail; /* of that wait: attribution_detail() */
    /* Of WAIT_WORKERS: what the worker that became free had been doing then; WAIT_NONE: not known.
     */
    SimWait behind;
    uint16_t behind_detail;
} ChainLink;

/* Where a chain that reaches back beyond @at goes on: the thing in question began its way there. A
 * loop may have been woken by another one earlier. */
typedef struct {
    SimTime at; /* TIME_UNSET: none */
    SimCauseId cause;
} ChainAnchor;

/**
 * attribution_walk:
 * @cause: of what happened at @to
 * @links: of ChainLink; those of [@from, @to] are appended, newest first, without a gap
 */
void attribution_walk(const SimTrace *trace,
                      SimCauseId cause,
                      SimTime from,
                      SimTime to,
                      const ChainAnchor *anchor,
                      GArray *links);
/* The chain of a stage that @record tells of; @links as above. Equal neighbours are joined. */
void attribution_chain(const Run *run, const StageRecord *record, GArray *links);

/* In words: "client throttling", "external-attacher (5/s, burst 10)". @detail's is "" if there is
 * none. */
const char *attribution_wait(SimWait wait);
const char *attribution_detail(const SimTrace *trace, SimWait wait, uint16_t detail);

/* What of a stage's time one cause took. */
typedef struct {
    Stage stage;
    SimWait wait, behind;               /* as in ChainLink */
    const char *detail, *behind_detail; /* (owned) by the table; "" if there is none */
    SimTime total;                      /* of all objects */
    unsigned count;                     /* of intervals */
} AttributionRow;

/* The sum over the stages of one or several runs. */
typedef struct Attribution Attribution;

Attribution *attribution_new(void);
void attribution_free(Attribution *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Attribution, attribution_free)
/* @run kept a log of causes (else nothing is added). */
void attribution_add(Attribution *self, const Run *run, const Stages *stages);
/* Of one stage, the largest first; @sum: (out): of all of them. Returns: (owned): of AttributionRow
 */
GArray *attribution_rows(const Attribution *self, Stage stage, SimTime *sum);
/* Adds a row to the row of the same wait and detail, or at the end. */
void attribution_merge_row(GArray *rows, const AttributionRow *row);
/* The same for the search of a bottleneck: waits for workers count as what the workers did. */
GArray *attribution_bottlenecks(const Attribution *self, Stage stage, SimTime *sum);

/**
 * attribution_advice:
 * Returns: (owned): what sets this wait's length, for the end of a sentence: a flag, a limit, a
 * loop's period
 */
char *attribution_advice(const AttributionRow *row);

/* What a run's results say of it. Each NULL or nothing if no time was attributed. */
json_t *attribution_json(const Attribution *self); /* (owned) */
/* What each stage waited for, and a sentence that names the bottleneck of the main one: of
 * pod-start if any pod started. */
void attribution_append_table(const Attribution *self, GString *text);
/* "12.5 ms", "3.10 s", "11.0 min" */
const char *short_time(SimTime time, char *buffer, size_t size);
#define SHORT_TIME_BUFFER 32

/* The pods that took longest to start, the slowest first. */
void attribution_append_slowest(const Run *run, const Stages *stages, GString *text);

/* Files: every object's causes; the chains of the slowest pods. */
void attribution_csv(const Run *run, const Stages *stages, ResultFile *file);
void attribution_chains(const Run *run, const Stages *stages, ResultFile *file);
