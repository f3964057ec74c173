/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"
#include "run/world/run.h"

/* A run at one instant. The commands get, describe, events, diff, explain, why, step and plot let
 * its time pass up to there, and show its state. */

typedef struct {
    char *at, *seed; /* as given; NULL: the end of the run, and the scenario's seed */
    char **set;
    unsigned replication;
} LookOptions;

/* For cli_parse(): --at first, --seed and --set, then @more. (owned: g_free()) */
GOptionEntry *look_entries(LookOptions *options, const GOptionEntry *more);
void look_options_clear(LookOptions *options);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LookOptions, look_options_clear)

typedef struct {
    Scenario *scenario;
    Run *run;
} Look;

/**
 * look_open:
 * @file: of the scenario
 * Loads it and builds its world at t = 0.
 * Returns: (owned): %NULL with the faults printed
 */
Look *look_open(const LookOptions *options, const char *file);
void look_close(Look *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Look, look_close)

/* Lets time pass to @time ("12.5s"; NULL: the end of the run). Returns: FALSE with the fault
 * printed, if the run has no such time. @option names it there */
gboolean look_advance(Look *self, const char *option, const char *time);
