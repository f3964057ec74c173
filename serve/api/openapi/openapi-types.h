/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <glib.h>

#include "models/api/schema/schema.h"

/* Types as OpenAPI writes them. */
typedef enum { OPENAPI_V2, OPENAPI_V3 } OpenApiVersion;

/* Returns: (owned): {"$ref": ...} to the type of that name */
json_t *openapi_ref(OpenApiVersion version, const char *name);
/* descriptions.c. @type: "io.k8s.api.core.v1.Pod". @field: NULL: of the type itself. Returns:
 * (borrowed) (nullable) */
const char *openapi_description(const char *type, const char *field);
/* Adds @type and all types in it, as that minor release (0: any) has them, to @schemas, by their
 * names. @notes: of openapi_notes() */
void openapi_add_type(
    OpenApiVersion version, int minor, json_t *schemas, const SchemaType *type, GHashTable *notes);
/* Returns: (owned): what docs/fields.md says of fields, by "TYPE.FIELD": a description */
GHashTable *openapi_notes(void);
