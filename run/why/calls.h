/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* The calls that drivers of a run refuse: of each kind, about each volume or snapshot. */
typedef struct WhyCalls WhyCalls;

/* Failures that no success has followed. */
typedef struct {
    CsiMethod method;
    CsiCode code;          /* the caller's last answer */
    const char *message;   /* interned: the driver's; NULL: it gave none */
    SimTime failing_since; /* of the first of these failures */
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
 * Returns: (borrowed): until the next answer; %NULL: the last answer was no failure, or there was
 * none
 */
const WhyCall *why_calls_find(const WhyCalls *self,
                              const CsiDriver *driver,
                              CsiMethod method,
                              const char *subject,
                              const char *node);
/* The first of the calls under way, with the arguments above. Returns: (borrowed): until it ends;
 * NULL: none */
const CsiCallRecord *why_calls_under_way(const CsiDriver *driver,
                                         CsiMethod method,
                                         const char *subject,
                                         const char *node);
