/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "lease.h"

#include "fields.h"

static const Field lease_fields[] = {
    FIELD("spec.holderIdentity", field_word, Lease, holder, FIELD_SPEC),
    FIELD("spec.leaseDurationSeconds", field_count, Lease, duration_s, FIELD_SPEC),
    FIELD("spec.leaseTransitions", field_int, Lease, transitions, FIELD_SPEC),
    FIELD("spec.acquireTime", field_micro_time, Lease, acquired_at, FIELD_SPEC),
    FIELD("spec.renewTime", field_micro_time, Lease, renewed_at, FIELD_SPEC),
    FIELDS_END,
};

const KindClass lease_kind = {
    .kind = "Lease",
    .api_version = "coordination.k8s.io/v1",
    .resource = "leases",
    .size = sizeof(Lease),
    .fields = lease_fields,
    .namespaced = TRUE,
};
