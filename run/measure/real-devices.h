/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "calibration.h"
#include "models/csi/loop/loop-backend.h"
#include "run/world/call-log.h"

/* What needs real loop devices: the measuring of them, and the checks of a run on them. */

/* ---- calibration.c ---- */

/* Returns: (owned): of CalibrationSample, in the order begun; %NULL: broken off, or with @error: an
 * operation failed */
GArray *
calibration_measure(LoopBackend *backend, const CalibrationOptions *options, GError **error);

/* ---- real-devices.c ---- */

/* Compares the expected result of the calls with /proc/self/mountinfo and the kernel's loop
 * devices, within the state folder. Call it while no call is under way. Returns: (owned): the first
 * difference; %NULL: none */
char *validation_check_machine(const CallLog *log, LoopBackend *backend);

/* Checks data in volumes: at each publication it reads back the last data and writes new data. Safe
 * for threads. */
typedef struct ValidationData ValidationData;
ValidationData *validation_data_new(void);
void validation_data_free(ValidationData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ValidationData, validation_data_free)
/* @self: a ValidationData; as LoopDriverOptions.published */
void validation_data_visit(void *self, const char *volume_id, const char *path, gboolean is_block);
/* @n_checked, @n_written: (out): checks and writes so far. Returns: (owned): the first fault;
 * %NULL: none */
char *validation_data_result(ValidationData *self, unsigned *n_checked, unsigned *n_written);
