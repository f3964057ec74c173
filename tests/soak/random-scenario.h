/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A random cluster with its workload and faults, as the text of a scenario file: it passes through
 * the loader like users' files, and `kvolsim run` can replay a failure. */
typedef struct {
    char *text;        /* (owned) */
    gboolean is_easy;  /* enough room and no lasting fault: all pods must be ready before the end */
    gboolean is_small; /* cheap enough to be run with tickers that poll */
    gint64 delete_at_s; /* when everything is deleted */
} RandomScenario;

/* Returns: (owned): the scenario, the same for the same @seed */
RandomScenario *random_scenario_new(guint64 seed);
void random_scenario_free(RandomScenario *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RandomScenario, random_scenario_free)
