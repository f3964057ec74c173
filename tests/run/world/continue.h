/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/world/run.h"

/* The rest of a scenario, from an instant of a run on: what `kvolsim get -o json` of everything
 * shows becomes the start state of a second scenario. */
typedef struct {
    Scenario *scenario;      /* (owned) */
    ScenarioAction *actions; /* (owned): shallow copies of the first scenario's */
    GPtrArray *texts;        /* of char *: strings of the copies */
} Rest;

/* Returns: (owned): %NULL if @file is no scenario; prints its faults */
Scenario *load_scenario(const char *file);
/* Returns: (owned): of json_t: the documents of a file */
GPtrArray *read_yaml(const char *file);
/* Returns: (owned): the document of kind Scenario of a file */
json_t *read_scenario(const char *file);

/**
 * rest_new:
 * @file: of the scenario of @run
 * @nodes_of_pods: (array of n_actions): where the pod was that an earlier action names; interned or
 * NULL
 * @run: stands at the instant
 * Returns: (owned): %NULL if the dump is no good start; prints why
 */
Rest *rest_new(const char *file, const Run *run, const char *const *nodes_of_pods);
void rest_free(Rest *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Rest, rest_free)
