/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "field.h"

/* Metadata, which every manifest has: reading and printing. Private to models/api. */

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
