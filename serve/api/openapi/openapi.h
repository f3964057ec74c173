/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "discovery.h"

/* OpenAPI documents of the resources of discovery.h, from the types of models/api/schema/. */

/* /openapi/v3: the paths of the documents, with the hash of each.
 * Returns: (owned) */
json_t *openapi_v3_index(const ServedApis *served);
/* /openapi/v3/@path: "api/v1", "apis/apps/v1". Returns: (owned): NULL: there is no such version */
json_t *openapi_v3_document(const char *path, const ServedApis *served);
/* /openapi/v2. Returns: (owned) */
json_t *openapi_v2(const ServedApis *served);
