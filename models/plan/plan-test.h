/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/operations.h"
#include "models/plan/rules.h"

/* What only tests may call from outside of its file. */

/* Number of records: of running and of failed operations. */
unsigned operations_n_records(const Operations *self);
/* Whether the row applies. For the walk; components use rules_find(). */
gboolean rule_applies(const Rule *self, uint32_t facts, const Release *release);
