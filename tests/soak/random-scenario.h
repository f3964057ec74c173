/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A random cluster, what is done to it, and what breaks, as the text of a scenario file: so it goes
 * through the loader as users' files do, and a failure can be looked at with `kvolsim run`. */
typedef struct {
    char *text;         /* (owned) */
    gboolean is_easy;   /* room for everything and nothing that lasts in its way: all pods must be
                           ready before the end */
    gboolean is_small;  /* cheap enough to be run with tickers that poll */
    gint64 delete_at_s; /* from then on everything is deleted */
} RandomScenario;

/* Returns: (owned): the same for the same @seed */
RandomScenario *random_scenario_new(guint64 seed);
void random_scenario_free(RandomScenario *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RandomScenario, random_scenario_free)
