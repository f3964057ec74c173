/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/apiserver/apiserver.h"
#include "models/apiserver/update-checks.h"

/* What only tests may call from outside of its file. */

uint64_t api_server_n_requests(const ApiServer *self, ApiVerb verb);
void api_server_set_fault(ApiServer *self, ApiFault fault, void *data);
/* How many requests were turned away with API_TOO_MANY. */
uint64_t api_server_n_turned_away(const ApiServer *self);
/* What holds of all kinds whose strategy asks for it: ValidateObjectMetaUpdate(). */
void check_metadata_update(const json_t *before, const json_t *after, GPtrArray *errors);
