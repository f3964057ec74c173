/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/scenario/scenario-private.h"
#include "sweep.h"

/* The place of a setting in the file of the sweep. Faults in a scenario with this setting are
 * reported there. */
typedef struct {
    YamlPosition at;
    char *path; /* (owned): "spec.parameters[0].values[2]" */
} SettingPlace;

/* A sweep that is being built: sweep.c keeps it, sweep-file.c reads it, sweep-design.c chooses the
 * points. */
typedef struct {
    Sweep sweep; /* first: the result */
    SchemaReader reader;
    YamlPositions *positions;
    GPtrArray *documents; /* of json_t (owned) */
    GPtrArray *made;      /* of json_t (owned): drawn values */
    GArray *parameters, *points, *measures;
    GHashTable *places; /* "path=value" (owned) -> SettingPlace (owned) */
} SweepFile;

typedef enum {
    DESIGN_GRID,
    DESIGN_LIST,
    DESIGN_RANDOM,
    DESIGN_LATIN_HYPERCUBE,
} SweepDesign;

/* The fields of a parameter in the file. */
typedef struct {
    const char *name, *path;
    char **paths;         /* NULL-terminated: instead of @path */
    const json_t *values; /* a list; NULL: a range */
    char **labels; /* NULL-terminated, one for each of @values; NULL: the values themselves */
    const json_t *from, *to; /* numbers or durations */
    unsigned steps;          /* of a range in a grid or list; 0: not given */
    int is_log;              /* the range's scale */
    const json_t *source;
    /* As read: */
    const char **all_paths; /* NULL-terminated */
    unsigned n_paths;
    gboolean is_time, is_whole;
    double low, high;
} ParameterFields;

SweepFile *sweep_file_new(void);
void sweep_file_add_parameter(SweepFile *self, const char *name, const char *const *paths);
unsigned sweep_file_add_point(SweepFile *self, const char *const *set, const char *const *labels);
void sweep_file_add_measure(SweepFile *self, const SweepMeasure *measure);

/* The number of points of a design; 0: more than SWEEP_POINTS_MAX. */
#define SWEEP_POINTS_MAX 1000000
unsigned sweep_design_size(SweepDesign design,
                           const ParameterFields *parameters,
                           unsigned n_parameters,
                           unsigned n_samples);
/* The value of parameter @i at @point of @n_points. @index: (out): which of its values; -1: made
 * here. Returns: (borrowed from @self) */
const json_t *sweep_design_value(SweepFile *self,
                                 SweepDesign design,
                                 const ParameterFields *parameters,
                                 unsigned n_parameters,
                                 unsigned i,
                                 unsigned point,
                                 unsigned n_points,
                                 int *index);
