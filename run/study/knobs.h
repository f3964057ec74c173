/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"
#include "run/files/columns.h"
#include "run/scenario/scenario.h"

/* The knobs of a scenario: each flag of its processes that is a number or a duration, and the
 * limits of its drivers. */

typedef struct {
    char *name;           /* "external-provisioner worker-threads"; of several drivers:
                             "a.example/external-provisioner worker-threads" */
    const char *help;     /* one line; NULL: none */
    FlagType type;        /* FLAG_INT, FLAG_NUMBER or FLAG_DURATION */
    double number;        /* its value in the scenario; a duration in ns */
    char *text;           /* the same as a user writes it */
    gboolean is_capacity; /* of workers or requests: more is faster and loads the API server */
    char **before;        /* NULL-terminated: the text before the value in each --set:
                             "spec.nodes[0].kubelet.maxPods=" */
    char *after;          /* the text behind the value */
} Knob;

/* The result does not depend on @scenario. Returns: (owned): of Knob: flags by process, then
 * limits. Flags that are 0 are mostly switched off, so they are left out; so are the flags of
 * leader elections, if there are replicas. */
GPtrArray *knobs_of(const Scenario *scenario);
/* A value as a user writes it; whole numbers are rounded down. Returns: (owned): %NULL if the knob
 * does not take it: a count below 1, or out of range */
char *knob_value_text(const Knob *self, double value);
/* Such a value as a cell of CSV. */
extern const ColumnType column_setting, column_maybe_setting;
#define cell_setting cell_text
#define cell_maybe_setting cell_text
/* The paths of its settings, "spec.nodes[0].kubelet.maxPods". (owned) */
json_t *knob_paths(const Knob *self);
/* Adds the settings of the value @text to @set, as in --set: strings (owned). */
void knob_add_settings(const Knob *self, const char *text, GPtrArray *set);
