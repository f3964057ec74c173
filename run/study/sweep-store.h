/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "sweep.h"

/* The results of a sweep in one SQLite file (docs/results.md has its tables). A run's rows are
 * written in one transaction, so after any interruption a run is there as a whole or not at all.
 * Nothing in the file depends on when, where or in which order the runs were made. */
typedef struct SweepStore SweepStore;

#define SWEEP_STORE_ERROR (sweep_store_error_quark())
GQuark sweep_store_error_quark(void);
typedef enum {
    SWEEP_STORE_ERROR_IO,      /* the file cannot be read or written */
    SWEEP_STORE_ERROR_FOREIGN, /* of another sweep or version, or no result file */
    SWEEP_STORE_ERROR_EXISTS,
    SWEEP_STORE_ERROR_DAMAGED, /* rows or pages of the file are missing or wrong */
} SweepStoreError;

typedef struct {
    unsigned point, replication;
    uint64_t n_events;
    SimTime ended_at;
    SweepObservation *observations; /* sweep_n_observations() */
} SweepRow;

/**
 * sweep_store_create:
 * @file: ":memory:" for none
 * @resume: the file may exist, and is then one of @sweep
 * Returns: (owned): %NULL with a %SWEEP_STORE_ERROR
 */
SweepStore *
sweep_store_create(const char *file, const Sweep *sweep, gboolean resume, GError **error);
/* An existing one. Returns: (owned): %NULL with a %SWEEP_STORE_ERROR */
SweepStore *sweep_store_open(const char *file, GError **error);
void sweep_store_free(SweepStore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SweepStore, sweep_store_free)

/* Writes all of the runs, or no run. Runs that are in the file already stay unchanged. */
gboolean sweep_store_add(
    SweepStore *self, const Sweep *sweep, const SweepRow *rows, unsigned n_rows, GError **error);
/* Calls @visit for each stored run with its value of one measure (batch 0), by point and
 * replication. */
gboolean sweep_store_values(
    SweepStore *self,
    unsigned measure,
    void (*visit)(void *data, unsigned point, unsigned replication, const SweepObservation *value),
    void *data,
    GError **error);

/* Reads the whole file. Returns: %FALSE with an error that names it */
gboolean sweep_store_verify(const char *file, GError **error);

/**
 * sweep_store_merge:
 * Takes over all rows of @from, which is of the same sweep. A run that both have must have the same
 * values in both. Merging the same file again changes nothing; the order of files does not matter.
 */
gboolean sweep_store_merge(SweepStore *self, const char *from, GError **error);
/* Creates a store for the same sweep as @from, without runs. */
SweepStore *sweep_store_create_like(const char *file, const char *from, GError **error);

/* ---- Read back, for tables ---- */

typedef struct {
    char *name, *unit;
} StoredMeasure;

/* The content of the file: values by [point][measure], in the order of replications. */
typedef struct {
    char *name;
    char *hash; /* identity */
    double confidence;
    int baseline; /* -1: none */
    unsigned n_batches, n_points;
    GPtrArray *parameters; /* of char *: names */
    GArray *measures;      /* of StoredMeasure */
    GPtrArray *labels;     /* of char *: [point * parameters + parameter] */
    unsigned *n_runs;      /* [point] */
    GArray **values;       /* of double: [point * measures + measure]: of whole runs */
    GArray **replications; /* of unsigned, beside values */
    GArray **batches;      /* of double; likewise of the batches of all runs */
} SweepTable;

/* Returns: (owned): %NULL with a %SWEEP_STORE_ERROR */
SweepTable *sweep_store_table(SweepStore *self, GError **error);
void sweep_table_free(SweepTable *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SweepTable, sweep_table_free)
