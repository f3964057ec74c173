/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/rules.h"

/**
 * rules_fault:
 * Walks all sets of facts that can occur, in every release that the rows tell apart and with every
 * setting of their feature gates.
 * Returns: (owned): what is wrong: a set to which no row applies, or two; a row that never applies.
 * NULL: nothing
 */
char *rules_fault(const RuleTable *self);
