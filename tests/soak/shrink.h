/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

/* Returns: whether the scenario still shows the failure */
typedef gboolean (*StillFails)(void *data, const char *text);

/**
 * shrink:
 * Makes a scenario that fails smaller: fewer objects, faults and fields, smaller and earlier
 * numbers. Knows only how YAML is laid out: a line and the deeper lines below it go together. Lines
 * that end with "# end" stay: without them the failure would be another one.
 * @tries_max: calls of @still_fails at most
 * Returns: (owned): the smallest text that @still_fails has said yes to, else @text
 */
char *shrink(const char *text, StillFails still_fails, void *data, unsigned tries_max);
