/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* The last call of each kind that the drivers of a run got about each volume or snapshot. */
typedef struct WhyCalls WhyCalls;

typedef struct {
    CsiMethod method;
    gboolean in_flight;
    CsiCode code;          /* the caller's last answer; CSI_OK: none yet, or a success */
    const char *message;   /* interned: of that answer; NULL: a success */
    SimTime started_at;    /* of the last call */
    SimTime failing_since; /* the end of the first of the failures that were followed by no success;
                              TIME_UNSET: the last answer was no failure */
    unsigned n_failures;
} WhyCall;

/* Watches all drivers from now on; @run outlives it. Returns: (owned) */
WhyCalls *why_calls_new(Run *run);
void why_calls_free(WhyCalls *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(WhyCalls, why_calls_free)
/**
 * why_calls_find:
 * @subject: the volume's or snapshot's name or id in the call
 * @node: the name of the node that serves the call, or the driver's id of the node that it is
 *   about; NULL: no matter
 * Returns: (borrowed): until the next call; %NULL: there was none
 */
const WhyCall *why_calls_find(const WhyCalls *self,
                              const CsiDriver *driver,
                              CsiMethod method,
                              const char *subject,
                              const char *node);
