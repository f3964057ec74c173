/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/random.h"
#include "workload-private.h"

#include <stdlib.h>

/* gboolean and uint32_t have the same size, and the same form for 0 and 1. */
static const FieldType retention_type = {FIELD_WORDS("Retain", "Delete")};
static const FieldType management_type = {FIELD_WORDS("OrderedReady", "Parallel")};
static const FieldType strategy_type = {FIELD_WORDS("RollingUpdate", "OnDelete")};

static const Field stateful_set_fields[] = {
    /* clang-format off */
    FIELD("spec.selector", field_label_selector, StatefulSet, selector, FIELD_REQUIRED),
    FIELD("spec.template", field_pod_template, StatefulSet, template, FIELD_REQUIRED),
    FIELD("spec.volumeClaimTemplates", field_claim_templates, StatefulSet, claim_templates, FIELD_SPEC),
    FIELD_FROM("spec.replicas", field_int, StatefulSet, replicas, FIELD_NATURAL, 1),
    FIELD("spec.ordinals.start", field_count, StatefulSet, ordinals_start, FIELD_NATURAL),
    FIELD("spec.minReadySeconds", field_count, StatefulSet, min_ready_s, FIELD_NATURAL),
    FIELD("spec.updateStrategy.type", strategy_type, StatefulSet, on_delete, FIELD_SPEC),
    FIELD("spec.updateStrategy.rollingUpdate.partition", field_int, StatefulSet, partition, FIELD_NATURAL),
    FIELD_FROM("spec.revisionHistoryLimit", field_int, StatefulSet, revision_history_limit, FIELD_SPEC, 10),
    FIELD("spec.podManagementPolicy", management_type, StatefulSet, parallel, FIELD_SPEC),
    FIELD("spec.persistentVolumeClaimRetentionPolicy.whenDeleted",
          retention_type,
          StatefulSet,
          delete_when_deleted,
          FIELD_SPEC),
    FIELD("spec.persistentVolumeClaimRetentionPolicy.whenScaled",
          retention_type,
          StatefulSet,
          delete_when_scaled,
          FIELD_SPEC),
    FIELD("spec.serviceName", field_word, StatefulSet, service_name, FIELD_SPEC),
    FIELD("status.observedGeneration", field_count, StatefulSet, observed_generation, FIELD_STATUS),
    FIELD("status.replicas", field_int, StatefulSet, status_replicas, FIELD_STATUS),
    FIELD("status.readyReplicas", field_count, StatefulSet, ready_replicas, FIELD_STATUS),
    FIELD("status.availableReplicas", field_int, StatefulSet, available_replicas, FIELD_STATUS),
    FIELD("status.currentReplicas", field_count, StatefulSet, current_replicas, FIELD_STATUS),
    FIELD("status.updatedReplicas", field_count, StatefulSet, updated_replicas, FIELD_STATUS),
    FIELD("status.currentRevision", field_word, StatefulSet, current_revision, FIELD_STATUS),
    FIELD("status.updateRevision", field_word, StatefulSet, update_revision, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

static const WorkloadClass stateful_set_workload = {
    .controller = "statefulset-controller",
    .selector = offsetof(StatefulSet, selector),
    .template = offsetof(StatefulSet, template),
    .claim_templates = offsetof(StatefulSet, claim_templates),
    .wanted = offsetof(StatefulSet, replicas),
    .scales = TRUE,
    .owns_pods = TRUE,
};

const KindClass stateful_set_kind = {
    .kind = "StatefulSet",
    .api_version = "apps/v1",
    .resource = "statefulsets",
    .size = sizeof(StatefulSet),
    .fields = stateful_set_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .workload = &stateful_set_workload,
};

/* The data of a revision is a patch: {spec: {template: {..., $patch: replace}}}. */
static void
revision_data_parse(ApiParser *parser, const json_t *value, void *field)
{
    const json_t *given = json_path_get(value, "spec.template");
    gsize length = api_parser_enter(parser, "spec.template");

    if (json_is_object(
            json_object_get(given, "spec"))) { /* otherwise it is a revision of another kind */
        json_t *template = json_copy((json_t *)given); /* only read */
        json_object_del(template, "$patch");
        field_type_parse(&field_pod_template, parser, template, field);
        json_decref(template);
    }
    api_parser_leave(parser, length);
}

static json_t *
revision_data_over(const void *field, const json_t *manifest)
{
    json_t *template = field_type_to_json(&field_pod_template, field, NULL, 0);

    if (template == NULL)
        return json_incref((json_t *)manifest); /* only counted */
    json_object_set_new(template, "$patch", json_string("replace"));
    return json_pack("{s:{s:o}}", "spec", "template", template);
}

static const FieldType revision_data_type = {
    FIELD_SHARED(pod_template),
    .parse = revision_data_parse,
    .over = revision_data_over,
};

static const Field controller_revision_fields[] = {
    FIELD("data", revision_data_type, ControllerRevision, template, FIELD_SPEC),
    FIELD("revision", field_int64, ControllerRevision, revision, FIELD_REQUIRED),
    FIELDS_END,
};

const KindClass controller_revision_kind = {
    .kind = "ControllerRevision",
    .api_version = "apps/v1",
    .resource = "controllerrevisions",
    .size = sizeof(ControllerRevision),
    .fields = controller_revision_fields,
    .namespaced = TRUE,
};
