/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "report.h"
#include "writes.h"

/**
 * timing_of_log:
 * The timing of a control plane whose writes take clearly more or less time than those of the
 * simulator's own profile, which is an idle machine's with a store in memory.
 * @data_dir: the folder of models/profiles/
 * Returns: (owned): the text of a profile of timings; %NULL: the usual one fits, there are too few
 * writes, or, with @error, it cannot be read
 */
char *timing_of_log(const Writes *writes,
                    const char *data_dir,
                    SimTime start,
                    ImportReport *report,
                    GError **error);
