/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

/* The two kinds have the same fields apart from the selector. Fields with references stand first.
 */
/* clang-format off */
#define REPLICA_SET_FIELDS \
    FIELD("spec.template", field_pod_template, ReplicaSet, template, FIELD_REQUIRED), \
    FIELD_FROM("spec.replicas", field_int, ReplicaSet, replicas, FIELD_NATURAL, 1), \
    FIELD("spec.minReadySeconds", field_count, ReplicaSet, min_ready_s, FIELD_NATURAL), \
    FIELD("status.observedGeneration", field_count, ReplicaSet, observed_generation, FIELD_STATUS), \
    FIELD("status.replicas", field_int, ReplicaSet, status_replicas, FIELD_STATUS), \
    FIELD("status.fullyLabeledReplicas", field_count, ReplicaSet, fully_labeled_replicas, FIELD_STATUS), \
    FIELD("status.readyReplicas", field_count, ReplicaSet, ready_replicas, FIELD_STATUS), \
    FIELD("status.availableReplicas", field_count, ReplicaSet, available_replicas, FIELD_STATUS), \
    FIELD("status.conditions[ReplicaFailure]", field_workload_condition, ReplicaSet, replica_failure, FIELD_STATUS), \
    FIELDS_END

static const Field replica_set_fields[] = {
    FIELD("spec.selector", field_label_selector, ReplicaSet, selector, FIELD_REQUIRED),
    REPLICA_SET_FIELDS,
};
/* clang-format on */

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
};

/* ---- ReplicationController: the same with a map of labels for a selector ---- */

static void
map_selector_parse(ApiParser *parser, const json_t *value, void *field)
{
    g_autoptr(StringMap) pairs = NULL;

    field_string_map_parse(parser, value, &pairs);
    if (pairs != NULL && pairs->n_pairs > 0)
        *(LabelSelector **)field = label_selector_with_pairs(NULL, pairs);
}

static json_t *
map_selector_to_json(const void *field)
{
    json_auto_t *selector = field_type_to_json(&field_label_selector, field, NULL, 0);

    return json_incref(json_object_get(selector, "matchLabels"));
}

static const FieldType field_map_selector = {
    FIELD_SHARED(label_selector),
    .parse = map_selector_parse,
    .to_json = map_selector_to_json,
};

static const Field replication_controller_fields[] = {
    /* clang-format off */
    FIELD("spec.selector", field_map_selector, ReplicaSet, selector, FIELD_SPEC),
    REPLICA_SET_FIELDS,
    /* clang-format on */
};

/* WL-121 */
static void
replication_controller_finish(ApiParser *parser, const json_t *manifest, Object *object)
{
    ReplicaSet *controller = REPLICA_SET(object);
    const StringMap *labels = controller->template == NULL ? NULL : controller->template->labels;

    (void)parser;
    (void)manifest;
    if (labels == NULL || labels->n_pairs == 0)
        return;
    if (controller->selector == NULL)
        controller->selector = label_selector_with_pairs(NULL, labels);
    if (object->labels == NULL || object->labels->n_pairs == 0) {
        string_map_unref(object->labels);
        object->labels = string_map_ref(labels);
    }
}

static const WorkloadClass replication_controller_workload = {
    .controller = "replication-controller",
    .selector = offsetof(ReplicaSet, selector),
    .template = offsetof(ReplicaSet, template),
    .wanted = offsetof(ReplicaSet, replicas),
    .scales = TRUE,
    .owns_pods = TRUE,
};

const KindClass replication_controller_kind = {
    .kind = "ReplicationController",
    .api_version = "v1",
    .resource = "replicationcontrollers",
    .size = sizeof(ReplicaSet),
    .fields = replication_controller_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .workload = &replication_controller_workload,
    .finish = replication_controller_finish,
};
