/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

static const Field replica_set_fields[] = {
    /* clang-format off */
    FIELD("spec.selector", field_label_selector, ReplicaSet, selector, FIELD_REQUIRED),
    FIELD("spec.template", field_pod_template, ReplicaSet, template, FIELD_REQUIRED),
    FIELD("spec.replicas", field_int, ReplicaSet, replicas, FIELD_SPEC),
    FIELD("spec.minReadySeconds", field_count, ReplicaSet, min_ready_s, FIELD_SPEC),
    FIELD("status.observedGeneration", field_count, ReplicaSet, observed_generation, FIELD_STATUS),
    FIELD("status.replicas", field_int, ReplicaSet, status_replicas, FIELD_STATUS),
    FIELD("status.fullyLabeledReplicas", field_count, ReplicaSet, fully_labeled_replicas, FIELD_STATUS),
    FIELD("status.readyReplicas", field_count, ReplicaSet, ready_replicas, FIELD_STATUS),
    FIELD("status.availableReplicas", field_count, ReplicaSet, available_replicas, FIELD_STATUS),
    FIELD("status.conditions[ReplicaFailure]", field_workload_condition, ReplicaSet, replica_failure, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

static void
replica_set_set_defaults(Object *object)
{
    REPLICA_SET(object)->replicas = 1;
}

static void
replica_set_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const ReplicaSet *set = REPLICA_SET_CONST(object);
    const TemplateCheck check = {set->template, NULL};

    workload_check_not_negative(parser, manifest, "spec.replicas");
    workload_check_not_negative(parser, manifest, "spec.minReadySeconds");
    workload_check_template(parser, manifest, &check);
}

static const WorkloadClass replica_set_workload = {
    .controller = "replicaset-controller",
    .selector = offsetof(ReplicaSet, selector),
    .template = offsetof(ReplicaSet, template),
    .wanted = offsetof(ReplicaSet, replicas),
    .scales = TRUE,
    .owns_pods = TRUE,
};

const KindClass replica_set_kind = {
    .kind = "ReplicaSet",
    .api_version = "apps/v1",
    .resource = "replicasets",
    .size = sizeof(ReplicaSet),
    .fields = replica_set_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .workload = &replica_set_workload,
    .set_defaults = replica_set_set_defaults,
    .check = replica_set_check,
};
