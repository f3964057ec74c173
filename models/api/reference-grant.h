/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "claim.h"

/* ReferenceGrant of gateway.networking.k8s.io: lets objects of other namespaces refer to objects of
 * its own namespace. */

/* An item of spec.from or spec.to. */
typedef struct {
    const char *group, *kind; /* interned; group NULL or "": the core group */
    const char *namespace;    /* of from */
    const char *name;         /* of to; NULL or "": any */
} GrantParty;

REF_LIST(GrantParties, GrantParty); /* immutable, shared; NULL: none */

typedef struct {
    Object meta;
    GrantParties *from, *to;
} ReferenceGrant;

/* SRC-6: whether the grant lets the claim have its source, which is in the grant's namespace. */
gboolean reference_grant_admits(const ReferenceGrant *self, const Claim *claim);
