/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "moments.h"

/* The table in docs/fidelity.md: a row for each recording, a column for each stage. */

void table_print_head(void);
/* @recorded, @simulated: of Moments. @n_compared values, orders, counts, texts and curves,
 * @n_missed of them not met. */
void table_print_row(const char *folder,
                     const GPtrArray *recorded,
                     const GPtrArray *simulated,
                     unsigned n_compared,
                     unsigned n_missed);
