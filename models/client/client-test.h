/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/client/process-private.h"

/* What only tests may call from outside of its file. */

/* Calls the handlers as for a watch event; the cache
 * stays as it is. */
void informer_tell(Informer *self, const Object *before, const Object *after);
