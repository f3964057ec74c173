/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "modelled-driver.h"

/* Limits of calls at once and per second, as they are in force at a time. Calls wait for the limits
 * that were in force when they came. */
typedef struct Limits Limits;
typedef struct ModelledCall ModelledCall;

/* @passed: called as a call has passed all limits. Returns: (owned) */
Limits *limits_new(CsiModelledDriver *driver,
                   const CsiModelledLimit *limits,
                   unsigned n_limits,
                   void (*passed)(ModelledCall *call));
void limits_unref(Limits *self);
/* CSI-85. Returns: (borrowed): a limit that the volume's changes have used up; NULL: none */
const CsiModelledLimit *limits_used_up(const Limits *self, const ModelledCall *call);
/* The call has changed its volume. */
void limits_count_change(Limits *self, const ModelledCall *call);
/* The call waits for one limit after the other. */
void limits_enter(Limits *self, ModelledCall *call);
/* The call gives back its servers; the next calls go on at once. A second time is fine. */
void limits_leave(ModelledCall *call);
