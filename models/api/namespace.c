/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "namespace.h"

#include "workloads/workload-private.h"

static const char *const phase_words[] = {"Active", "Terminating", NULL};
static const FieldType phase_type = {
    .name = "namespace phase",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = phase_words,
};

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

static void
namespace_set_defaults(Object *object)
{
    for (unsigned i = 0; i < N_NAMESPACE_CONDITIONS; i++)
        NAMESPACE(object)->conditions[i].changed_at = TIME_UNSET;
}

const KindClass namespace_kind = {
    .kind = "Namespace",
    .api_version = "v1",
    .resource = "namespaces",
    .size = sizeof(Namespace),
    .fields = namespace_fields,
    .set_defaults = namespace_set_defaults,
};
