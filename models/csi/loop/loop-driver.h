/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "loop-backend.h"
#include "models/csi/csi-backend.h"

/* A CSI driver on the loop back end. A run with it measures this machine, so it is never the same
 * twice. In step, a call is carried out when it comes, and virtual time passes by its duration: for
 * tests, which need no pace. With workers, threads carry out the calls, and loop_driver_collect()
 * brings their ends into a run that is paced by real time. */
typedef struct LoopDriver LoopDriver;

typedef struct {
    const char *name;
    CsiWaits waits;
    unsigned workers; /* 0: in step */
    /* For checks of the data; may be NULL. A worker calls it after a volume was published at @path
     * (absolute) for writing and the end of the call was handed over; the volume cannot be
     * unpublished meanwhile */
    void (*published)(void *data, const char *volume_id, const char *path, gboolean is_block);
    void *published_data;
    /* A worker calls it after it handed over the end of a call: it is time for
     * loop_driver_collect(). May be NULL */
    void (*ended)(void *data);
    void *ended_data;
} LoopDriverOptions;

/* @backend: (borrowed), outlives the driver. Returns: (owned), to be freed as a CsiDriver */
LoopDriver *
loop_driver_new(Sim *sim, Strings *strings, LoopBackend *backend, const LoopDriverOptions *options);
CsiDriver *loop_driver_base(LoopDriver *self);

/* Statistics of the ends of calls. */
typedef struct {
    /* the largest delay of an end: the run had gone on, or had other events first */
    SimTime lag_max;
    unsigned n_ends, n_late;
    unsigned peak; /* most calls at once */
} LoopPace;

/* loop_driver_collect: @start_us: the monotonic clock's time of virtual time 0 Schedules the calls
 * that have ended since the last look, each at its own virtual time, or now if that is past. Each
 * gets an instant of its own, apart from all other events, so a recording has one order only.
 * Returns: whether there were any */
gboolean loop_driver_collect(LoopDriver *self, gint64 start_us);
LoopPace loop_driver_pace(const LoopDriver *self);
/* For observers: how long the back end worked on the call that ends now. */
SimTime loop_driver_work(const LoopDriver *self);
/* Waits until a call ended or until @until_us of the monotonic clock. */
void loop_driver_wait(LoopDriver *self, gint64 until_us);
