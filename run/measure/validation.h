/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "calibration.h"
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
