/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

static const Field service_fields[] = {
    FIELD("spec.selector", field_labels, Service, selector, FIELD_SPEC),
    FIELDS_END,
};

const KindClass service_kind = {
    .kind = "Service",
    .api_version = "v1",
    .resource = "services",
    .size = sizeof(Service),
    .fields = service_fields,
    .namespaced = TRUE,
};
