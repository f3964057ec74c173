/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/cluster/model.h"
#include "run/scenario/scenario.h"

/* What can be turned up and down in a scenario: each flag that is a number or a duration, of each
 * process that runs in it, and the limits of its drivers. */

typedef struct {
    char *name;           /* "external-provisioner worker-threads"; of several drivers:
                             "a.example/external-provisioner worker-threads" */
    const char *help;     /* one line; NULL: none */
    FlagType type;        /* FLAG_INT, FLAG_NUMBER or FLAG_DURATION */
    double number;        /* its value in the scenario; a duration in ns */
    char *text;           /* the same as a user writes it */
    gboolean is_capacity; /* of workers, requests a second or at once: more of it is faster and asks
                             more of the API server */
    char **before; /* NULL-terminated: what stands before the value in each --set that sets it:
                      "spec.nodes[0].kubelet.maxPods=" */
    char *after;   /* and behind it */
} Knob;

/* @scenario may go before them. Returns: (owned): of Knob: in the order of processes and their
 * flags, then of limits. Those that are 0, and so mostly switched off, are left out, as are those
 * of an election among replicas where there is one. */
GPtrArray *knobs_of(const Scenario *scenario);
/* A value as a user writes it: whole numbers rounded down. Returns: (owned): NULL if it is none
 * that the knob takes: below 1 of what is counted, or more than fits */
char *knob_value_text(const Knob *self, double value);
/* The paths of its settings, "spec.nodes[0].kubelet.maxPods". (owned) */
json_t *knob_paths(const Knob *self);
/* Adds the settings of the value @text to @set, as in --set: strings (owned). */
void knob_add_settings(const Knob *self, const char *text, GPtrArray *set);
