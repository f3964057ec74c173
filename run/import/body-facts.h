/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "writes.h"

/* Reads what an answer's body says about its object, without building it. */
void body_facts_read(BodyFacts *self, const WriteKind *kind, JsonPart body, Strings *strings);
/* The names of a pod's claims, NULL at the end; g_free() them. NULL: none */
const char **body_claims_of_pod(JsonPart body, Strings *strings);
/* The text of a body without managedFields, and without status but for Nodes, whose size is in it.
 * Returns: (owned): NULL for none */
char *body_copy(JsonPart body);
/* The interned text of a string; NULL for none. */
const char *body_intern(Strings *strings, JsonPart string);
