/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/study/tune.h"
#include "run/study/whatif.h"

/* What only tests may call from outside of its file. */

unsigned tune_n_flags(const Tune *self);
/* Returns: (owned): of WhatifRow: by size of the effect; equal rows in the order of the knobs */
GArray *whatif_rows(const Whatif *self, const SweepTable *table);
