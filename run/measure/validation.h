/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "calibration.h"
#include "models/csi/loop/loop-backend.h"
#include "run/results/stages.h"
#include "run/world/call-log.h"
#include "run/world/run.h"

/* Compares a real run with its model: distributions of the same operations and stages. */
typedef struct Validation Validation;

typedef enum {
    SIDE_REAL,
    SIDE_MODEL,
    N_SIDES,
} ValidationSide;

Validation *validation_new(void);
void validation_free(Validation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Validation, validation_free)
/* Adds the calls and stages of a finished run. @stages: NULL: calls only */
void validation_add(Validation *self, ValidationSide side, const CallLog *log, Stages *stages);

typedef struct {
    double median, ks;    /* largest differences: of medians, relative; of distribution functions */
    unsigned samples_min; /* fewer real samples are not judged */
    const GArray *calibrations[2]; /* of CalibrationSample: two of this machine; NULL: not known */
} ValidationTolerance;

typedef struct {
    const char *name;
    gboolean is_stage;
    unsigned n[N_SIDES];
    double p50[N_SIDES], p90[N_SIDES]; /* seconds */
    double ks, ks_p;
    gboolean is_judged, is_good;
    gboolean is_near; /* to the model as two calibrations are to each other */
    CalibrationNoise
        noise; /* with two calibrations: what chance alone would give so many samples */
} ValidationRow;

/* Returns: (owned): of ValidationRow: operations, then stages, with samples on both sides */
GArray *validation_rows(Validation *self, const ValidationTolerance *tolerance);
/* For a picture: lines "name q real model" in seconds, blocks of a name apart by two empty lines.
 * (owned) */
char *validation_quantiles(Validation *self);

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
