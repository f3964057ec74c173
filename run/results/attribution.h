/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/files/result-file.h"
#include "stages.h"

/* Where the time went: walks from the end of a stage back along the log of causes. One event
 * released each event, and one cause fills the interval between the two. Clipped at the stage's
 * start, the causes add up to the stage to the nanosecond. */

/* One interval of a chain, newest first in lists. */
typedef struct {
    SimTime from, to;
    SimWait wait;    /* WaitKind */
    uint16_t detail; /* of the wait; see attribution_detail() */
    /* of WAIT_WORKERS: the wait of the freed worker at that time; WAIT_NONE: unknown */
    SimWait behind;
    uint16_t behind_detail;
} ChainLink;

/* A chain that reaches back beyond @at goes on at @cause: the object began its way there, while the
 * loop that acted may have been woken earlier by another object. */
typedef struct {
    SimTime at; /* TIME_UNSET: none */
    SimCauseId cause;
} ChainAnchor;

/**
 * attribution_walk:
 * Appends the chain of causes of an event. Equal neighbours are joined.
 * @cause: of the event at @to
 * @anchor: NULL: none
 * @links: gets the links (ChainLink) of [@from, @to], newest first, without a gap
 */
void attribution_walk(const SimTrace *trace,
                      SimCauseId cause,
                      SimTime from,
                      SimTime to,
                      const ChainAnchor *anchor,
                      GArray *links);
/* For the chains of a whole run. */
typedef struct ChainReader ChainReader;

/* @trace: (borrowed): does not grow meanwhile. Returns: (owned) */
ChainReader *chain_reader_new(const SimTrace *trace);
void chain_reader_free(ChainReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ChainReader, chain_reader_free)

/* The same for the stage of @record, but a wait for workers stays one link: @behind is not set. */
void attribution_chain(ChainReader *reader, const StageRecord *record, GArray *links);

/* In words: "client throttling"; "external-attacher (5/s, burst 10)", or "" without a detail. */
const char *attribution_wait(SimWait wait);
const char *attribution_detail(const SimTrace *trace, SimWait wait, uint16_t detail);

/* The time of a stage that one cause took. */
typedef struct {
    Stage stage;
    SimWait wait, behind;               /* as in ChainLink */
    const char *detail, *behind_detail; /* owned by the table; "" if there is none */
    SimTime total;                      /* over all objects */
} AttributionRow;

/* The attribution of the stages of one or several runs. */
typedef struct Attribution Attribution;

Attribution *attribution_new(void);
void attribution_free(Attribution *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Attribution, attribution_free)
/* Adds a run; nothing if the run kept no log of causes. */
void attribution_add(Attribution *self, const Run *run, const Stages *stages);
/* The same for the stages of one object that have ended. */
void attribution_add_object(Attribution *self,
                            const Run *run,
                            const Stages *stages,
                            const ObjectKey *object);
/* @sum: (out): the total of all rows. Returns: (owned): the rows (AttributionRow) of one stage, the
 * largest first */
GArray *attribution_rows(const Attribution *self, Stage stage, SimTime *sum);
/* Adds a row to the row with the same wait and detail, or appends it. */
void attribution_merge_row(GArray *rows, const AttributionRow *row);
/* The same for finding a bottleneck: a wait for workers counts as what the workers waited for. */
GArray *attribution_bottlenecks(const Attribution *self, Stage stage, SimTime *sum);

/**
 * attribution_advice:
 * Returns: (owned): what sets the length of the wait, as the end of a sentence: a flag, a limit,
 * the period of a loop
 */
char *attribution_advice(const AttributionRow *row);

/* For the results of a run. NULL or nothing if no time was attributed. */
json_t *attribution_json(const Attribution *self); /* (owned) */
/* Appends what each stage waited for, and a sentence that names the bottleneck of the main stage:
 * of pod-start, if any pod started. */
void attribution_append_table(const Attribution *self, GString *text);
/* "12.5 ms", "3.10 s", "11.0 min" */
const char *short_time(SimTime time, char *buffer, size_t size);

static inline double
report_seconds(SimTime time)
{
    return (double)time / (double)SIM_SECOND;
}
#define SHORT_TIME_BUFFER 32

/* Appends the pods that took longest to start, the slowest first. */
void attribution_append_slowest(const Run *run, const Stages *stages, GString *text);

/* Files: the causes of every object; the chains of the slowest pods. */
extern const ResultTable attribution_table, chains_table;
void attribution_csv(const Run *run, const Stages *stages, ResultFile *file);
void attribution_chains(const Run *run, const Stages *stages, ResultFile *file);
