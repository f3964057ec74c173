/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "schema.h"

/* Made of kubernetes.types by api-types.awk, as is schema_kinds. */
extern const SchemaType *const schema_structs[]; /* ends with NULL */
