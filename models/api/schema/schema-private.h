/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "schema.h"

/* The tables that api-types.awk makes of kubernetes.types. */
typedef struct {
    const char *api_version, *kind;
    const SchemaType *type;
} SchemaKind;
extern const SchemaKind schema_kinds[];          /* ends with a NULL kind */
extern const SchemaType *const schema_structs[]; /* ends with NULL */
