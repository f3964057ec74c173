/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/csi.h"
#include "models/csi/modelled/modelled-driver.h"
#include "run/files/columns.h"
#include "sim/random.h"

/* How long each operation takes on this machine's loop devices: volumes live through their whole
 * life again and again, a few at a time, with pauses in between as a cluster leaves them. */

typedef struct {
    CsiLatency kind;
    int64_t bytes;      /* of the volume */
    unsigned workers;   /* volumes that did the same at once */
    unsigned in_flight; /* operations at once as this one began, itself included */
    double began;       /* seconds since the calibration began */
    double seconds;
    CsiCode code;
} CalibrationSample;

typedef struct {
    const int64_t *sizes;
    unsigned n_sizes;
    const unsigned *workers; /* volumes that go through their lives together, step by step */
    unsigned n_workers;
    /* there at once, unless more go together: the driver looks through all devices and mounts, so
     * each costs the others time */
    unsigned volumes;
    unsigned cycles; /* lives for each size and number of workers, at least */
    double pause;    /* mean seconds before a step that does not follow another one at once */
    double
        hold; /* mean seconds that a volume is in use, at least 4/5 of it; meanwhile others go on */
    uint64_t seed;       /* of the pauses */
    const char *fs_type; /* NULL: ext4 */
    /* Called now and then by the caller's thread; returns FALSE to break off */
    gboolean (*progress)(void *data, unsigned done, unsigned total);
    void *progress_data;
} CalibrationOptions;

/* ---- calibration-files.c ---- */

extern const ResultTable calibration_table;
/* Raw samples as CSV, with a comment line of the surroundings first; and back. */
gboolean
calibration_write(const GArray *samples, const char *file, const char *comment, GError **error);
/* Returns: (owned): of CalibrationSample. Columns are found by name; only `method` and `seconds`
 * must be there. */
GArray *calibration_read(const char *file, GError **error);
/* The seconds of one kind. @workers, @bytes: 0: all. Returns: (owned): of double, OK calls only */
GArray *calibration_select(const GArray *samples, CsiLatency kind, int64_t bytes, unsigned workers);
/* A profile fitted to the samples of one number of workers; 0: all, each as it would have been
 * alone, with the slowdown. The text of a YAML file. @what: its first line. (owned) */
char *calibration_profile(const GArray *samples, unsigned workers, const char *what);
/* The members of its `latency:` alone. (owned) */
char *calibration_latencies(const GArray *samples);
/* What more workers at once do: medians against those of the fewest, for each kind. (owned): lines
 * of text, each after @prefix */
char *calibration_concurrency(const GArray *samples, const char *prefix);

/* ---- calibration-slowdown.c ---- */

/* The duration of each operation without the slowdown by concurrent ones. */
typedef struct CalibrationShares CalibrationShares;
/* @samples: (borrowed): outlives it */
CalibrationShares *calibration_shares_new(const GArray *samples);
void calibration_shares_free(CalibrationShares *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(CalibrationShares, calibration_shares_free)
/* The same for the samples that a profile is fitted to: all without a slowdown; otherwise those of
 * the fewest workers, if there are enough, because computed durations spread more widely than
 * measured ones. (owned) */
GArray *
calibration_shares_base(const CalibrationShares *self, CsiLatency kind, CsiSlowdown slowdown);
/* The slowdown that makes all numbers of workers most alike. Exponent 0: no difference, or not
 * tested
 */
CsiSlowdown calibration_shares_fit(const CalibrationShares *self, CsiLatency kind);

/* ---- calibration-compare.c: the machine's noise ---- */

typedef struct {
    CsiLatency kind;
    unsigned n[2]; /* then, now */
    double p50[2]; /* seconds */
    double ks, ks_p;
} CalibrationDifference;

/* Returns: (owned): of CalibrationDifference, for each kind that both have */
GArray *calibration_compare(const GArray *before, const GArray *now);

typedef struct {
    double ratio; /* of medians, or its inverse */
    double ks;
} CalibrationNoise;

/* The distance below which 95 of 100 draws of @n samples of one calibration are from the other.
 * Returns: %FALSE: one calibration has no sample of that kind */
gboolean calibration_noise(
    const GArray *before, const GArray *now, CsiLatency kind, unsigned n, CalibrationNoise *noise);
