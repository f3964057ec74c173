/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "run/kubectl/value.h"

/* What only tests may call from outside of its file. */

ValueTime value_time_parse(const char *text);
