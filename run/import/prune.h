/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>
#include <jansson.h>

/* What of a cluster's objects is not written out: what no model reads, and what may be secret. */

/* Drops managedFields, the data of Secrets, and what kubectl remembers of the last apply: none of
 * it is in memory while the import goes on. */
void prune_while_reading(json_t *object);
