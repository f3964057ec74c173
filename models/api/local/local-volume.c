/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "local-volume.h"

#include "models/api/fields.h"

static const char *const state_words[] = {
    [LOCAL_VOLUME_PENDING] = "Pending",
    [LOCAL_VOLUME_READY] = "Ready",
    [LOCAL_VOLUME_FAILED] = "Failed",
    NULL,
};

static const FieldType field_state = {
    .name = "state of a local volume",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = state_words,
};

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
