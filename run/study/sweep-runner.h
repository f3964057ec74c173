/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sweep-store.h"

/* Makes the runs of a sweep that its store does not have yet. */

typedef struct {
    unsigned done, total; /* runs of this call; a stopping rule may increase @total */
    unsigned found;       /* runs that were in the store before */
} SweepProgress;

typedef struct {
    const char *data_dir;
    unsigned jobs;            /* runs at once */
    unsigned shard, n_shards; /* the part of the work to do, from 0; 1 shard: all */
    /* Called several times a second; returns FALSE to break off. NULL: never */
    gboolean (*progress)(void *data, const SweepProgress *progress);
    void *progress_data;
} SweepRunOptions;

typedef enum {
    SWEEP_DONE,
    SWEEP_INTERRUPTED, /* progress() returned FALSE; finished runs are in the store */
    SWEEP_FAILED, /* with an error: of the store, or a %RUN_ERROR of a point whose parts do not fit
                     together */
} SweepEnd;

SweepEnd
sweep_run(const Sweep *sweep, SweepStore *store, const SweepRunOptions *options, GError **error);
