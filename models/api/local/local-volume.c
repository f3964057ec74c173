/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-volume.h"

#include "models/api/fields.h"

static const FieldType field_state = {FIELD_WORDS("Pending", "Ready", "Failed")};

static const Field local_volume_fields[] = {
    FIELD("spec.ownerNodeID", field_word, LocalVolume, node, FIELD_REQUIRED),
    FIELD("spec.poolName", field_word, LocalVolume, pool, FIELD_SPEC),
    FIELD("spec.capacity", field_size, LocalVolume, capacity_bytes, FIELD_REQUIRED),
    FIELD("status.state", field_state, LocalVolume, state, FIELD_SPEC),
    FIELDS_END,
};

const KindClass local_volume_kind = {
    .kind = "LocalVolume",
    .api_version = "local.kvolsim.io/v1",
    .resource = "localvolumes",
    .size = sizeof(LocalVolume),
    .fields = local_volume_fields,
    .namespaced = TRUE,
};
