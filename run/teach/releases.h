/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <jansson.h>

#include "run/world/run.h"

/* One scenario under two releases of Kubernetes: what comes out otherwise, and which changes of
 * behaviour lie between them. */

/* A row of docs/rules/releases.md. */
typedef struct {
    const char *id;    /* "REL-10"; NULL ends the table */
    int since;         /* from 1.since on */
    const char *rules; /* the rules that decide differently: "PVC-61.3, PVC-61.4" */
    const char *text;
} ReleaseChange;

extern const ReleaseChange release_changes[];

typedef struct ReleaseComparison ReleaseComparison;

/**
 * release_comparison_new:
 * @minors: two of them, of Kubernetes 1.x
 * @set: (nullable): further settings of the scenario, as in ScenarioOptions
 * @faults: (out): of FileFault: all there are; empty on success
 * Returns: (owned): %NULL with @faults, or with @error: a run could not begin
 */
ReleaseComparison *release_comparison_new(const char *file,
                                          const char *data_dir,
                                          const int minors[2],
                                          const char *const *set,
                                          GPtrArray **faults,
                                          GError **error);
void release_comparison_free(ReleaseComparison *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReleaseComparison, release_comparison_free)

/* For people, and for programs. Each (owned) */
char *release_comparison_text(const ReleaseComparison *self);
json_t *release_comparison_json(const ReleaseComparison *self);
