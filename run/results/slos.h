/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "availability.h"
#include "stages.h"

/* What the runs of a scenario promise (spec.slo), judged over all of them. */

typedef struct {
    const ScenarioSlo *slo;
    SimTime value;  /* of a stage: the measured quantile; SIM_TIME_MAX: it was never reached */
    unsigned count; /* of a stage: objects that were judged, with those that never got there */
    unsigned
        n_never;  /* of these: never ended the stage, and waited at least as long as it may take */
    double share; /* of workloads: the smallest share of available pods */
    const char *worst; /* of workloads: that workload; NULL: there is none of this name */
    gboolean is_met;
} SloResult;

typedef struct Slos Slos;

Slos *slos_new(const Scenario *scenario);
void slos_free(Slos *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Slos, slos_free)
/* Adds a finished run; @run may be freed afterwards. */
void slos_add(Slos *self, const Run *run, const Stages *stages);
/* @i: number of the slo. @availability: of the same runs */
gboolean slos_are_met(Slos *self, const Availability *availability);
/* The member "slo" of summary.json. (owned) */
json_t *slos_json(Slos *self, const Availability *availability);
/* A line for each. */
void slos_append(Slos *self, const Availability *availability, GString *text);
