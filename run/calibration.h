/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/loop-backend.h"
#include "models/csi/modelled-driver.h"
#include "sim/random.h"

/* How long each operation takes on this machine's loop devices: volumes live through their whole life again and again, a few at a
 * time, with pauses in between as a cluster leaves them. */

typedef struct {
    CsiLatency kind;
    int64_t bytes;      /* of the volume */
    unsigned workers;   /* volumes at once */
    unsigned in_flight; /* operations at once as this one began, itself included */
    double began;       /* seconds since the calibration began */
    double seconds;
    CsiCode code;
} CalibrationSample;

typedef struct {
    const int64_t *sizes;
    unsigned n_sizes;
    const unsigned *workers;
    unsigned n_workers;
    unsigned cycles;     /* lives for each size and number of workers */
    double pause;        /* mean seconds between two operations of a worker, exponentially spread */
    uint64_t seed;       /* of the pauses */
    const char *fs_type; /* NULL: ext4 */
    /* Called now and then by the caller's thread; returns FALSE to break off */
    gboolean (*progress)(void *data, unsigned done, unsigned total);
    void *progress_data;
} CalibrationOptions;

/* Returns: (owned): of CalibrationSample, in the order begun; %NULL: broken off, or with @error: an operation failed */
GArray *
calibration_measure(LoopBackend *backend, const CalibrationOptions *options, GError **error);

/* Raw samples as CSV, with a comment line of the surroundings first; and back. */
gboolean
calibration_write(const GArray *samples, const char *file, const char *comment, GError **error);
/* Returns: (owned): of CalibrationSample. Columns are found by name; only `method` and `seconds` must be there. */
GArray *calibration_read(const char *file, GError **error);
/* The seconds of one kind. @workers, @bytes: 0: all. Returns: (owned): of double, OK calls only */
GArray *calibration_select(const GArray *samples, CsiLatency kind, int64_t bytes, unsigned workers);
/* A profile fitted to the samples of one number of workers (0: all): the text of a YAML file. @what: its first line. (owned) */
char *calibration_profile(const GArray *samples, unsigned workers, const char *what);
/* The members of its `latency:` alone. (owned) */
char *calibration_latencies(const GArray *samples, unsigned workers);
/* What more workers at once do: medians against those of the fewest, for each kind. (owned): lines of text, each after @prefix */
char *calibration_concurrency(const GArray *samples, const char *prefix);
