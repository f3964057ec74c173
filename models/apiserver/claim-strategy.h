/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/claim.h"
#include "models/api/release.h"

/* What the API server does to a claim before it is validated: the strategy of claims, with the
 * functions of pkg/api/persistentvolumeclaim. Each changes @claim. @before: NULL: it is new */

typedef struct {
    gboolean attributes_classes; /* VolumeAttributesClass */
    gboolean any_source;         /* AnyVolumeDataSource */
    gboolean cross_namespace;    /* CrossNamespaceVolumeDataSource */
    gboolean recovers;           /* RecoverVolumeExpansionFailure */
} ClaimGates;

ClaimGates claim_gates_of(const Release *release);

/* API-180: fields whose gate is off go, unless the stored claim has them. */
void claim_drop_disabled_fields(Claim *claim, const Claim *before, const ClaimGates *gates);
void claim_drop_disabled_status(Claim *claim, const Claim *before, const ClaimGates *gates);
/* API-181: a data source that is neither a claim nor a snapshot goes, unless it came as
 * dataSourceRef. */
void claim_drop_odd_source(Claim *claim, const Claim *before);
/* API-182: dataSource and dataSourceRef become the same. */
void claim_normalize_sources(Claim *claim, const ClaimGates *gates);
