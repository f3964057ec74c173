/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "kinds.h"

/* The columns of kinds without a model: for an API server's tables; `get` of runs never shows them.
 * Returns: (static): %NULL: the kind has only the default columns */
const KindColumn *columns_find(const char *kind);
