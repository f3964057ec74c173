/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* A random cluster with its workload and faults, as the text of a scenario file: it passes through
 * the loader like users' files, and `kvolsim run` can replay a failure. Its first line is the
 * comment of trial.h.
 * Returns: (owned): the same for the same @seed */
char *random_scenario_new(guint64 seed);
/* The same world from the middle of its run on: it begins with the objects that it had made by
 * then, as kubectl prints them. Returns: (owned) */
char *random_scenario_imported(guint64 seed);
