/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

static const char *const strategy_words[] = {"RollingUpdate", "Recreate", NULL};

/* The API server defaults rollingUpdate only for RollingUpdate: the table has it behind the type.
 */
static void
strategy_parse(ApiParser *parser, const json_t *value, void *field)
{
    Deployment *deployment = (Deployment *)((char *)field - offsetof(Deployment, recreate));
    const char *text = json_string_value(value);

    deployment->recreate = g_strcmp0(text, "Recreate") == 0;
    if (deployment->recreate)
        deployment->max_surge.is_set = deployment->max_unavailable.is_set = FALSE;
    else if (g_strcmp0(text, "RollingUpdate") != 0)
        api_parser_unsupported(parser, value, strategy_words);
}

static const FieldType strategy_type = {
    .size = sizeof(uint32_t),
    .words = strategy_words,
    .parse = strategy_parse,
};

static const Field deployment_fields[] = {
    /* clang-format off */
    FIELD("spec.selector", field_label_selector, Deployment, selector, FIELD_REQUIRED),
    FIELD("spec.template", field_pod_template, Deployment, template, FIELD_REQUIRED),
    FIELD_FROM("spec.replicas", field_int, Deployment, replicas, FIELD_NATURAL, 1),
    FIELD("spec.minReadySeconds", field_count, Deployment, min_ready_s, FIELD_NATURAL),
    FIELD_FROM("spec.revisionHistoryLimit", field_int, Deployment, revision_history_limit, FIELD_NATURAL, 10),
    FIELD_FROM("spec.progressDeadlineSeconds", field_int, Deployment, progress_deadline_s, FIELD_NATURAL, 600),
    FIELD("spec.paused", field_flag, Deployment, paused, FIELD_SPEC),
    FIELD("spec.strategy.type", strategy_type, Deployment, recreate, FIELD_SPEC),
    FIELD("spec.strategy.rollingUpdate.maxSurge", field_int_or_percent, Deployment, max_surge, FIELD_SPEC),
    FIELD("spec.strategy.rollingUpdate.maxUnavailable", field_int_or_percent, Deployment, max_unavailable, FIELD_SPEC),
    FIELD("status.observedGeneration", field_count, Deployment, observed_generation, FIELD_STATUS),
    FIELD("status.replicas", field_count, Deployment, status_replicas, FIELD_STATUS),
    FIELD("status.updatedReplicas", field_count, Deployment, updated_replicas, FIELD_STATUS),
    FIELD("status.readyReplicas", field_count, Deployment, ready_replicas, FIELD_STATUS),
    FIELD("status.availableReplicas", field_count, Deployment, available_replicas, FIELD_STATUS),
    FIELD("status.unavailableReplicas", field_count, Deployment, unavailable_replicas, FIELD_STATUS),
    FIELD("status.collisionCount", field_count, Deployment, collision_count, FIELD_STATUS),
    FIELD("status.conditions[Available]", field_workload_condition, Deployment, available, FIELD_STATUS),
    FIELD("status.conditions[Progressing]", field_workload_condition, Deployment, progressing, FIELD_STATUS),
    FIELD("status.conditions[ReplicaFailure]", field_workload_condition, Deployment, replica_failure, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

/* WL-70. */
static void
deployment_set_defaults(Object *object)
{
    Deployment *deployment = DEPLOYMENT(object);
    const IntOrPercent quarter = {.value = 25, .is_percent = TRUE, .is_set = TRUE};

    deployment->max_surge = quarter;
    deployment->max_unavailable = quarter;
}

static void
deployment_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const Deployment *deployment = DEPLOYMENT_CONST(object);
    static const char at[] = "spec.strategy.rollingUpdate";
    const json_t *rolling = json_path_get(manifest, at);

    if (rolling == NULL)
        return;
    if (deployment->recreate)
        api_parser_fault_at(parser, rolling, at, "leave it out",
                            "Forbidden: may not be specified when strategy `type` is 'Recreate'");
    else if (deployment->max_surge.value == 0 && deployment->max_unavailable.value == 0)
        api_parser_fault_at(parser, rolling, at, "let one of them be at least 1",
                            "Invalid value: maxUnavailable: may not be 0 when `maxSurge` is 0");
}

static const WorkloadClass deployment_workload = {
    .controller = "deployment-controller",
    .selector = offsetof(Deployment, selector),
    .template = offsetof(Deployment, template),
    .wanted = offsetof(Deployment, replicas),
    .scales = TRUE,
};

const KindClass deployment_kind = {
    .kind = "Deployment",
    .api_version = "apps/v1",
    .resource = "deployments",
    .size = sizeof(Deployment),
    .fields = deployment_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .workload = &deployment_workload,
    .set_defaults = deployment_set_defaults,
    .check = deployment_check,
};

int32_t
deployment_max_surge(const Deployment *self)
{
    return self->recreate ? 0 : int_or_percent_of(&self->max_surge, self->replicas, TRUE);
}

int32_t
deployment_max_unavailable(const Deployment *self)
{
    if (self->recreate || self->replicas == 0)
        return 0;
    int32_t number = int_or_percent_of(&self->max_unavailable, self->replicas, FALSE);
    if (number == 0 && deployment_max_surge(self) == 0)
        number = 1;
    return MIN(number, self->replicas);
}
