/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/sidecar/world.h"

/* When a sidecar tries a call again, to the millisecond: nothing takes time but the driver, so each
 * attempt lies on the grid of the back-off (1 s, doubling, at most 5 min, no jitter), counted from
 * the end of the one before (EA-2, PROV-12, CGO-29). */

#define RETRY_TIME (20 * SIM_MINUTE) /* the calls of this time are compared */

/* How the back end treats a call that takes long. */
typedef enum {
    PLAIN,
    FORGETS,  /* undoes a call whose caller gives up */
    UNLOCKED, /* lets in a second call for the same volume */
} RetryBackEnd;

/* The behaviour of the back end for every call of a method, and the times of the calls. */
typedef struct {
    const char *title;
    int latency_ms; /* of every call */
    RetryBackEnd back_end;
    const char *flag, *value;
    const char *times; /* of the calls, in ms */
    gboolean succeeds; /* in the end */
    CsiMethod method;
    CsiCode code;   /* CSI_OK: it works */
    unsigned count; /* of calls that fail; 0: all */
    const char *flag2, *value2;
} RetryCase;

/* Returns: (owned): a world with such a driver; @row outlives it */
World *retry_world(const RetryCase *row);
void assert_attempts(World *world, const RetryCase *row);

/* Tries the rows that every call obeys, then each error, then @cases, all for this method. */
void retry_all(CsiMethod method,
               const RetryCase *cases,
               unsigned n_cases,
               void (*try_row)(const RetryCase *row));
