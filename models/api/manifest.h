/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"

/* Metadata, which every manifest has: reading and printing. Private to models/api. */

struct SchemaType;
/* Reports members of @value (of @type, nullable) that the type does not have, and values in place
 * of structs. Call it before the value is read. */
void unknown_fields_report(ApiParser *parser, const struct SchemaType *type, const json_t *value);

OwnerReferences *owner_references_ref(const OwnerReferences *self);
void owner_references_unref(OwnerReferences *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(OwnerReferences, owner_references_unref)
OwnerReferences *owner_references_new(const OwnerReference *items, unsigned n); /* NULL if none */
gboolean owner_references_equal(const OwnerReferences *a, const OwnerReferences *b);
/* Returns: (owned): @self (nullable) with @reference, which replaces a reference with the same
 * uid */
OwnerReferences *owner_references_with(const OwnerReferences *self,
                                       const OwnerReference *reference);
/* Returns: (owned): @self (nullable) without the reference of this uid; the same list if there is
 * none */
OwnerReferences *owner_references_without(const OwnerReferences *self, ObjectUid uid);
