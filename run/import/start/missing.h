/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/import/dump.h"

/**
 * missing_tell:
 *
 * Tells in the report's part "Missing" which objects others name and the dump lacks, with the
 * effect on a run: a dump without a kind is easily made, and its run is another cluster's.
 * @error: %SIM_ERROR_INVALID: pods run on nodes, and the dump has no Node at all
 * Returns: %FALSE with @error
 */
gboolean missing_tell(const Dump *dump, ImportReport *report, GError **error);
