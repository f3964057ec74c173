/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "dump.h"
#include "prune.h"
#include "writes.h"

/* Makes workload items of a scenario of the writes that people and tools made. */

/**
 * workload_make:
 * @dumps: of Dump, the oldest first: give bodies that the log lacks
 * @pruner: drops what is not written out
 * Returns: (owned): a list of items, by time
 */
json_t *workload_make(const Writes *writes,
                      const GPtrArray *dumps,
                      SimTime start,
                      Pruner *pruner,
                      ImportReport *report);
