/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/plan.h"

/* The parts of a component, as rows of its ModelClass, in place of code that makes and frees them.
 * A row fills a member of the component's struct, whose type the file defines as SELF:
 *
 *     #define SELF PvProtection
 *     static const ComponentPart parts[] = {
 *         HAS_TEXT(finalizer, FINALIZER_PV_PROTECTION),
 *         HAS_INFORMER(volumes, KIND_VOLUME, WAKES_IF(workers, has_work)),
 *         HAS_WORKERS(workers, "pvprotection", decide_volume, .n_workers = 1),
 *     };
 *
 * State is made first, before ModelClass.init(). Then come informers with their indexes, then
 * workers, then tickers, each in the order of their rows; then ModelClass.filled() is called. The
 * handlers come last, in the order of the informers' rows, and each hears at once of all objects
 * that are there (CGO-18). Tickers and state are freed after ModelClass.clear(). */

typedef enum {
    /* State: */
    PART_OPTIONS,
    PART_TEXT,
    PART_TABLE,
    PART_ARRAY,
    PART_STATE,
    /* ... and what component_start() makes: */
    PART_IF,
    PART_INFORMER,
    PART_WORKERS,
    PART_TICKER,
} PartKind;

typedef gboolean (*PartCondition)(const void *self);
/* Returns: the delay of a ticker's first pass */
typedef SimTime (*PartPhase)(const void *self, const char *name, SimTime period);

typedef struct {
    ObjectKind kind;
    InformerIndexFunc by; /* NULL: the row has no index */
    size_t index;
    InformerHandler changed; /* called with the component; NULL: none */
    size_t wakes;            /* workers that get the key of a changed object; 0: none */
    size_t ticks;            /* a ticker that is woken, too; 0: none */
    /* ... only if the object is there, and this holds. NULL: after every change */
    gboolean (*when)(const void *self, const Object *object);
} InformerPart;

typedef struct {
    const char *name;
    gboolean (*pass)(void *self);
    SimTime period;     /* 0: as the flag says, at least 1 ms */
    size_t period_flag; /* a SimTime in the process's options */
    PartPhase phase;    /* NULL: the first pass may come at once */
    unsigned number;    /* of several tickers of the component */
    gboolean is_awake;  /* from the start */
} TickerPart;

typedef struct {
    PartKind what;
    size_t at; /* of the member */
    union {
        struct {
            PartCondition condition; /* NULL: none */
            const char *gate;        /* of the cluster's release; NULL: none */
        } only;
        const char *text;
        GDestroyNotify free_item;
        struct {
            void *(*make)(void);
            GDestroyNotify free;
        } state;
        InformerPart informer;
        WorkersOptions workers;
        TickerPart ticker;
    };
} ComponentPart;

/* The members of a ModelClass that tell what it consists of. */
#define PARTS(array) .size = sizeof(SELF), .parts = (array), .n_parts = G_N_ELEMENTS(array)

/* clang-format off */
#define PART_AT(type, member) .what = PART_##type, .at = offsetof(SELF, member)
/* The informers, workers and tickers below are there only if this holds, up to the next such row. */
#define PARTS_IF(holds) {.what = PART_IF, .only = {.condition = holds}}
#define PARTS_IF_GATE(name) {.what = PART_IF, .only = {.gate = name}}
/* The options of its process. */
#define HAS_OPTIONS(member) {PART_AT(OPTIONS, member)}
/* An interned string. */
#define HAS_TEXT(member, string) {PART_AT(TEXT, member), .text = string}
/* A hash table by address. @free_value may be NULL, and @free_element. */
#define HAS_TABLE(member, free_value) \
    {PART_AT(TABLE, member), .free_item = (GDestroyNotify)(free_value)}
#define HAS_ARRAY(member, free_element) \
    {PART_AT(ARRAY, member), .free_item = (GDestroyNotify)(free_element)}
/* @new: a function; NULL: the component makes it later, or never. */
#define HAS_STATE(member, new, free_it) \
    {PART_AT(STATE, member), .state = {(void *(*)(void))(new), (GDestroyNotify)(free_it)}}
/* More: members of an InformerPart, or the macros below. A kind may have several rows. */
#define HAS_INFORMER(member, of_kind, ...) \
    {PART_AT(INFORMER, member), .informer = {.kind = of_kind, ##__VA_ARGS__}}
#define WITH_INDEX(member, function) .index = offsetof(SELF, member), .by = function
#define WAKES(member) .wakes = offsetof(SELF, member)
#define TICKS(member) .ticks = offsetof(SELF, member) /* beside WAKES() */
#define WAKES_IF(member, condition) WAKES(member), .when = condition
/* A failed key is tried again with rate_limit_default, unless another is given. The rest are
 * members of WorkersOptions. */
#define HAS_WORKERS(member, queue, decide, ...) \
    {PART_AT(WORKERS, member), \
     .workers = {.name = queue, .sync = decide, .retry = TRUE, ##__VA_ARGS__}}
/* The same, but a failed key is dropped. */
#define HAS_WORKERS_ONCE(member, queue, decide, ...) \
    {PART_AT(WORKERS, member), .workers = {.name = queue, .sync = decide, ##__VA_ARGS__}}
/* More: members of a TickerPart. */
#define HAS_TICKER(member, trace_name, run, ...) \
    {PART_AT(TICKER, member), .ticker = {.name = trace_name, .pass = run, ##__VA_ARGS__}}
/* clang-format on */

/* Drawn: a component that starts with the cluster has been running for some time; one that starts
 * later begins at once. */
SimTime ticker_phase_drawn(const void *self, const char *name, SimTime period);
SimTime ticker_phase_period(const void *self, const char *name, SimTime period);

/* Makes all but the state. A component whose class starts_late calls it when it is able to work. */
void component_start(void *component);

/* ---- For the cluster ---- */

void component_make_state(Component *self);
void component_free_parts(Component *self);
