/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "recorded.h"
#include "run/world/run.h"

/* A simulated run in the form of a recording: it watches the API server, and sees no more than an
 * audit log would show. */
typedef struct Recorder Recorder;

/* What a recording of a real cluster lacks. */
typedef struct {
    RecordedObject *record;
    const ObjectKey *key;
    SimCauseId causes[N_RECORDED_TIMES]; /* of the writes that made the times */
} RecordedSource;

/* Watches @run (borrowed) from now on: call it before its time passes, so that objects of the start
 * have no creation. Returns: (owned): to be freed after the run */
Recorder *recorder_new(Run *run);
void recorder_free(Recorder *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Recorder, recorder_free)
/* Returns: (borrowed): what was seen; after the run */
Recorded *recorder_recorded(const Recorder *self);
/* Of item @i of recorded_objects(). */
const RecordedSource *recorder_source(const Recorder *self, unsigned i);
