/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "calibration.h"
#include "models/csi/loop/loop-backend.h"
#include "run/results/stages.h"
#include "run/world/call-log.h"
#include "run/world/run.h"

/* A real run against its model: the same operations and stages of both, as distributions. */
typedef struct Validation Validation;

typedef enum {
    SIDE_REAL,
    SIDE_MODEL,
    N_SIDES,
} ValidationSide;

Validation *validation_new(void);
void validation_free(Validation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Validation, validation_free)
/* Takes in a finished run: its calls by kind, its stages. */
void validation_add(Validation *self, ValidationSide side, const CallLog *log, Stages *stages);

typedef struct {
    double median, ks;    /* how far medians (as a part) and distribution functions may be apart */
    unsigned samples_min; /* real ones below which nothing is judged */
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

/* Returns: (owned): of ValidationRow: operations, then stages; those that one side has not are left
 * out */
GArray *validation_rows(Validation *self, const ValidationTolerance *tolerance);
/* For a picture: lines "name q real model" in seconds, blocks of a name apart by two empty lines.
 * (owned) */
char *validation_quantiles(Validation *self);

/* What the calls should have led to, against /proc/self/mountinfo and the kernel's loop devices: of
 * the state folder, no more and no less. To be asked while no call is under way. Returns: (owned):
 * the first difference; %NULL: none */
char *validation_check_machine(const CallLog *log, LoopBackend *backend);

/* Data in volumes: each time a volume is published, what was written the last time is read back,
 * and something else written. Safe for threads. */
typedef struct ValidationData ValidationData;
ValidationData *validation_data_new(void);
void validation_data_free(ValidationData *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ValidationData, validation_data_free)
/* @self: a ValidationData; as LoopDriverOptions.published */
void validation_data_visit(void *self, const char *volume_id, const char *path, gboolean is_block);
/* Checked and written, so far; Returns: (owned): the first fault; %NULL: none */
char *validation_data_result(ValidationData *self, unsigned *n_checked, unsigned *n_written);
