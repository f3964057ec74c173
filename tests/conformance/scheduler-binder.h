/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "tests/conformance/engine.h"

/* Acts of the scheduler's volume binder: it assumes volumes, writes them, and waits for the PV
 * controller. */

void scheduler_binder_assume(Case *self);
void scheduler_binder_reserve(Case *self);
void scheduler_binder_reserve_and_back(Case *self);
void scheduler_binder_write(Case *self);
void scheduler_binder_check(Case *self);
void scheduler_binder_bind(Case *self);
