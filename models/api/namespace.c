/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "namespace.h"

#include "workloads/workload-private.h"

static const FieldType phase_type = {FIELD_WORDS("Active", "Terminating")};

#define CONDITION(type, place)                                                                     \
    FIELD("status.conditions[" type "]", field_workload_condition, Namespace, conditions[place],   \
          FIELD_STATUS)

static const Field namespace_fields[] = {
    FIELD("spec.finalizers", field_string_list, Namespace, finalizers, FIELD_SPEC),
    FIELD("status.phase", phase_type, Namespace, phase, FIELD_STATUS),
    CONDITION("NamespaceDeletionDiscoveryFailure", NAMESPACE_DISCOVERY_FAILURE),
    CONDITION("NamespaceDeletionGroupVersionParsingFailure", NAMESPACE_PARSING_FAILURE),
    CONDITION("NamespaceDeletionContentFailure", NAMESPACE_CONTENT_FAILURE),
    CONDITION("NamespaceContentRemaining", NAMESPACE_CONTENT_REMAINING),
    CONDITION("NamespaceFinalizersRemaining", NAMESPACE_FINALIZERS_REMAINING),
    FIELDS_END,
};

const KindClass namespace_kind = {
    .kind = "Namespace",
    .api_version = "v1",
    .resource = "namespaces",
    .size = sizeof(Namespace),
    .fields = namespace_fields,
};
