/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "resources.h"
#include "schema.h"

/* Made of kubernetes.types by api-types.awk, as is schema_kinds. */
extern const SchemaType *const schema_structs[]; /* ends with NULL */
extern const ApiResource api_resources[];        /* ends with a NULL group */

/* In the order in which discovery tells them. */
#define BUILT_IN_VERBS "create delete deletecollection get list patch update watch"
