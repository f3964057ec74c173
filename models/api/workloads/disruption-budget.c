/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

static const FieldType policy_type = {FIELD_WORDS("IfHealthyBudget", "AlwaysAllow")};

static const Field budget_fields[] = {
    /* clang-format off */
    FIELD("spec.selector", field_label_selector, DisruptionBudget, selector, FIELD_SPEC),
    FIELD("status.disruptedPods", field_string_map, DisruptionBudget, disrupted, FIELD_STATUS),
    FIELD("spec.minAvailable", field_int_or_percent, DisruptionBudget, min_available, FIELD_SPEC),
    FIELD("spec.maxUnavailable", field_int_or_percent, DisruptionBudget, max_unavailable, FIELD_SPEC),
    FIELD("spec.unhealthyPodEvictionPolicy", policy_type, DisruptionBudget, always_allow, FIELD_OPTIONAL),
    FIELD("status.observedGeneration", field_count, DisruptionBudget, observed_generation, FIELD_STATUS),
    FIELD("status.currentHealthy", field_int, DisruptionBudget, current_healthy, FIELD_STATUS),
    FIELD("status.desiredHealthy", field_int, DisruptionBudget, desired_healthy, FIELD_STATUS),
    FIELD("status.expectedPods", field_int, DisruptionBudget, expected_pods, FIELD_STATUS),
    FIELD("status.disruptionsAllowed", field_int, DisruptionBudget, disruptions_allowed, FIELD_STATUS),
    FIELD("status.conditions[DisruptionAllowed]", field_workload_condition, DisruptionBudget, allowed, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

static void
budget_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const DisruptionBudget *budget = DISRUPTION_BUDGET_CONST(object);

    if (budget->min_available.is_set && budget->max_unavailable.is_set)
        api_parser_invalid_at(parser, manifest, "spec", "leave one of them out",
                              "minAvailable and maxUnavailable cannot be both set");
}

const KindClass disruption_budget_kind = {
    .kind = "PodDisruptionBudget",
    .api_version = "policy/v1",
    .resource = "poddisruptionbudgets",
    .size = sizeof(DisruptionBudget),
    .fields = budget_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .check = budget_check,
};
