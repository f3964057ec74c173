/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "cli.h"

/* The progress of a long command, and its interruption by the user: one line on stderr, on a
 * terminal only, and SIGINT, SIGTERM and SIGHUP, which are blocked and noted from now on. Create it
 * before any thread, and before anything that an interruption has to undo. */
typedef struct Progress Progress;

Progress *progress_new(void);
/* Removes the line. */
void progress_free(Progress *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Progress, progress_free)

/* Whether it is time to show the line again: not in the first half second, then five times a
 * second. */
gboolean progress_is_due(const Progress *self);
/* Shows the line, in place of the one before. */
void progress_show(Progress *self, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Removes the line, before other output. */
void progress_hide(Progress *self);

/* Since progress_new(). */
double progress_seconds(const Progress *self);
/* The rate per second. A smaller @done than before starts a new count. */
double progress_rate(Progress *self, unsigned done);

/* Whether one of the signals has come. */
gboolean progress_is_interrupted(Progress *self);
