/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/why/question.h"

/* What only tests may call from outside of its file. */

unsigned why_n_causes(void);
const Cause *why_cause_at(unsigned i);
