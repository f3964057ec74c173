/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "loop-backend.h"
#include "models/csi/csi-backend.h"

/* A CSI driver on the loop back end. A run with it measures this machine: it is never the same
 * twice.
 *
 * In step, each call is done as it comes, and virtual time passes by what it took: for tests, which
 * need no pace. With workers, calls are done by threads, as many at once as there are workers, and
 * their ends are brought into the run by loop_driver_collect(), at the virtual time that has passed
 * for whoever holds a watch beside the run (run/paced.h). */
typedef struct LoopDriver LoopDriver;

typedef struct {
    const char *name;
    CsiWaits waits;
    unsigned workers; /* 0: in step */
    /* Called by a worker after a volume was published at @path (absolute) for writing, once the
     * call's end was handed over and while nobody can unpublish it: for checks of the data. May be
     * NULL */
    void (*published)(void *data, const char *volume_id, const char *path, gboolean is_block);
    void *published_data;
} LoopDriverOptions;

/* @backend: (borrowed), outlives the driver. Returns: (owned), to be freed as a CsiDriver */
LoopDriver *
loop_driver_new(Sim *sim, Strings *strings, LoopBackend *backend, const LoopDriverOptions *options);
CsiDriver *loop_driver_base(LoopDriver *self);

/* How calls that ended got into the run. */
typedef struct {
    SimTime lag_max; /* how late the latest came: the run had gone on, or other events had to be
                        done first */
    unsigned n_ends, n_late;
    unsigned peak; /* calls at once */
} LoopPace;

/**
 * loop_driver_collect:
 * @start_us: the monotonic clock's time of virtual time 0
 * Schedules the ends that have come since, each at the virtual time of its own end, or now if that
 * is past. No two at the same instant, and none at that of another event: so a recording of them
 * means one order only. Returns: whether there were any
 */
gboolean loop_driver_collect(LoopDriver *self, gint64 start_us);
LoopPace loop_driver_pace(const LoopDriver *self);
/* For observers of a call's end: how long the back end itself worked on the call that ends now. */
SimTime loop_driver_work(const LoopDriver *self);
/* Waits until a call ended or until @until_us of the monotonic clock. */
void loop_driver_wait(LoopDriver *self, gint64 until_us);
