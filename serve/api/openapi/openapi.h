/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "discovery.h"

/* OpenAPI documents of what is served, from the types of models/api/schema/. kubectl asks for
 * version 3 since 1.27; earlier releases, and helm 3.9, ask for version 2 as protobuf. Descriptions
 * tell what kvolsim does with a field (docs/fields.md). */

/* /openapi/v3: the paths of the documents, each with the hash of its text. Returns: (owned) */
json_t *openapi_v3_index(const ServedApis *served);
/* /openapi/v3/@path: "api/v1", "apis/apps/v1". Returns: (owned): %NULL: there is no such version */
json_t *openapi_v3_document(const ServedApis *served, const char *path);
/* /openapi/v2: all in one. Returns: (owned) */
json_t *openapi_v2(const ServedApis *served);
