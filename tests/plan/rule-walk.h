/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/plan/rules.h"

/**
 * rules_fault:
 * Walks all sets of facts that can occur, in every release that the rows tell apart and with every
 * setting of their feature gates.
 * Returns: (owned): the fault: a set with no row or with two, or a row that never applies; NULL:
 * none
 */
char *rules_fault(const RuleTable *self);

/**
 * rules_differ:
 * @ifs: the same decisions in another form: of its rows that apply, the first one counts
 * Returns: (owned): the first set of facts for which id or consequence differ; NULL: none
 */
char *rules_differ(const RuleTable *self, const RuleTable *ifs);
