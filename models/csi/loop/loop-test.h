/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/csi/loop/loop-backend.h"

/* What only tests may call from outside of its file. */

/* Returns: (owned): of LoopFact (owned) */
GPtrArray *loop_backend_facts(LoopBackend *self);
