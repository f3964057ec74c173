/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"

/* Lease of coordination.k8s.io: its holder is the replica that works. */
typedef struct {
    Object meta;
    const char *holder;              /* interned; NULL: nobody */
    int32_t duration_s;              /* how long others wait for the holder after a renewal */
    int32_t transitions;             /* how often the holder changed */
    SimTime acquired_at, renewed_at; /* TIME_UNSET: never */
} Lease;

#define LEASE(object) ((Lease *)(object))
#define LEASE_CONST(object) ((const Lease *)(object))
