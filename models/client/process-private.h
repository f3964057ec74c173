/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "process.h"

struct Process {
    ProcessOptions options;
    uint64_t hash;   /* of the name, for draws */
    const char *job; /* the name without its instance; interned, so it outlives the process */
    Informer *informers[N_KINDS];
    ProcessState state;
    double slowness; /* 0: none */
    GQueue held;     /* of ProcessHeld */
};

Informer *informer_new(Process *process, ObjectKind kind, const char *filter);
const char *informer_filter(const Informer *self);
