/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <stdint.h>

#include "models/api/release.h"

/* Decision tables. A component looks at its caches and at what it remembers, and writes down what
 * is true as a set of facts. A table of rules says what follows: exactly one row applies to every
 * set of facts that can occur, so the order of rows means nothing, and a test walks all sets
 * (tests/plan/rule-walk.h). What is done then is code: a `switch` over the table's own enum. */
typedef struct {
    const char *id;     /* the rule in docs/rules that the row stands for: "PVC-21.3" */
    uint32_t all, none; /* applies when all of these facts hold and none of the next, ... */
    int then;           /* ... with this consequence: an enum of the table */

    /* Columns that most rows leave out. */
    uint32_t any;        /* at least one of these facts holds; 0: no matter */
    uint8_t since;       /* from release 1.since on; 0: from the first */
    uint8_t until;       /* ... and before 1.until; 0: up to the latest */
    const char *gate;    /* where this feature gate is on; NULL: no matter */
    const char *no_gate; /* where this feature gate is off; NULL: no matter */
} Rule;

/* A dependency of facts: if all of @given hold, then all of @all, none of @none and exactly one of
 * @one_of (0: no matter) hold. Only the tests' walk reads it, to leave out sets that cannot occur.
 */
typedef struct {
    uint32_t given, all, none, one_of;
} RuleBound;

typedef struct {
    const char *name;   /* for messages: "unbound claims" */
    uint32_t facts_end; /* facts are the bits below this power of two */
    const Rule *rows;
    unsigned n_rows;
    const RuleBound *bounds; /* NULL: every set of facts can occur */
    unsigned n_bounds;
} RuleTable;

/* The value of a RuleTable with an array of rows. RULE_BOUNDS(array) may follow. */
#define RULE_TABLE(label, end, array, ...)                                                         \
    {                                                                                              \
        .name = (label), .facts_end = (end), .rows = (array), .n_rows = G_N_ELEMENTS(array),       \
        ##__VA_ARGS__                                                                              \
    }
/* The value of ModelClass.rule_tables. */
#define RULE_TABLES(...) ((const RuleTable *const[]){__VA_ARGS__, NULL})
#define RULE_BOUNDS(array) .bounds = (array), .n_bounds = G_N_ELEMENTS(array)

/**
 * rules_find:
 * @facts: a set that can occur
 * @release: (nullable): NULL for tables that do not ask for it: no since, until, gate
 * Returns: (borrowed): the row that applies
 */
const Rule *rules_find(const RuleTable *self, uint32_t facts, const Release *release);
