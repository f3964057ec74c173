/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

static const FieldType strategy_type = {FIELD_WORDS("RollingUpdate", "OnDelete")};

static const Field daemon_set_fields[] = {
    /* clang-format off */
    FIELD("spec.selector", field_label_selector, DaemonSet, selector, FIELD_REQUIRED),
    FIELD("spec.template", field_pod_template, DaemonSet, template, FIELD_REQUIRED),
    FIELD("spec.minReadySeconds", field_count, DaemonSet, min_ready_s, FIELD_NATURAL),
    FIELD_FROM("spec.revisionHistoryLimit", field_int, DaemonSet, revision_history_limit, FIELD_NATURAL, 10),
    FIELD("spec.updateStrategy.type", strategy_type, DaemonSet, on_delete, FIELD_SPEC),
    FIELD("spec.updateStrategy.rollingUpdate.maxSurge", field_int_or_percent, DaemonSet, max_surge, FIELD_SPEC),
    FIELD("spec.updateStrategy.rollingUpdate.maxUnavailable",
          field_int_or_percent,
          DaemonSet,
          max_unavailable,
          FIELD_SPEC),
    FIELD("status.observedGeneration", field_count, DaemonSet, observed_generation, FIELD_STATUS),
    FIELD("status.currentNumberScheduled", field_int, DaemonSet, current_scheduled, FIELD_STATUS),
    FIELD("status.numberMisscheduled", field_int, DaemonSet, misscheduled, FIELD_STATUS),
    FIELD("status.desiredNumberScheduled", field_int, DaemonSet, desired_scheduled, FIELD_STATUS),
    FIELD("status.numberReady", field_int, DaemonSet, ready, FIELD_STATUS),
    FIELD("status.numberAvailable", field_count, DaemonSet, available, FIELD_STATUS),
    FIELD("status.numberUnavailable", field_count, DaemonSet, unavailable, FIELD_STATUS),
    FIELD("status.updatedNumberScheduled", field_count, DaemonSet, updated_scheduled, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

static void
daemon_set_set_defaults(Object *object)
{
    DaemonSet *set = DAEMON_SET(object);

    set->max_surge = (IntOrPercent){.value = 0, .is_set = TRUE};
    set->max_unavailable = (IntOrPercent){.value = 1, .is_set = TRUE};
}

/* Exactly one of the two must be set, so that an update can go on. */
static void
daemon_set_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    const DaemonSet *set = DAEMON_SET_CONST(object);
    const json_t *rolling = json_path_get(manifest, "spec.updateStrategy.rollingUpdate");
    gsize length = api_parser_enter(parser, "spec.updateStrategy.rollingUpdate");

    if (set->max_surge.value != 0 && set->max_unavailable.value != 0)
        api_parser_invalid_at(parser, rolling, "maxSurge", "write maxUnavailable: 0 beside it",
                              "may not be set when maxUnavailable is non-zero");
    if (set->max_surge.value == 0 && set->max_unavailable.value == 0)
        api_parser_required_at(parser, rolling, "maxUnavailable", "cannot be 0 when maxSurge is 0");
    api_parser_leave(parser, length);
}

static const WorkloadClass daemon_set_workload = {
    .controller = "daemonset-controller",
    .selector = offsetof(DaemonSet, selector),
    .template = offsetof(DaemonSet, template),
    .wanted = offsetof(DaemonSet, desired_scheduled),
    .owns_pods = TRUE,
};

const KindClass daemon_set_kind = {
    .kind = "DaemonSet",
    .api_version = "apps/v1",
    .resource = "daemonsets",
    .size = sizeof(DaemonSet),
    .fields = daemon_set_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .workload = &daemon_set_workload,
    .set_defaults = daemon_set_set_defaults,
    .check = daemon_set_check,
};
