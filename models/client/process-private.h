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

/* For tests of single syncs, and the informer: calls the handlers as for a watch event; the cache
 * stays as it is. */
void informer_tell(Informer *self, const Object *before, const Object *after);
