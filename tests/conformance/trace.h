/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/engine.h"

/* Cases that are a list of calls with their answers. */

/* A call in a trace. Returns: (owned): its answer; NULL: none. @failed: set if the call failed */
typedef struct {
    const char *call; /* NULL ends a table */
    json_t *(*run)(void *data, const json_t *args, gboolean *failed);
} TraceCall;

/* Makes each call of "steps" in order. Its answer and its failure must be as in the step; lists are
 * compared as sets, and "<elapsed>" stands for any time. */
void case_replay(Case *self, const TraceCall *calls, void *data);
