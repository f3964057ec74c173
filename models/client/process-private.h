/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "process.h"

struct Process {
    ProcessOptions options;
    uint64_t hash; /* of the name, for draws */
    Informer *informers[N_KINDS];
};

Informer *informer_new(Process *process, ObjectKind kind, const char *filter);
void informer_free(Informer *self);
const char *informer_filter(const Informer *self);
