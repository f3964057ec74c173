/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload-private.h"

#include <string.h>

static const char *const replacement_words[] = {"TerminatingOrFailed", "Failed", NULL};
static const FieldType replacement_type = {
    .name = "pod replacement policy",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = replacement_words,
};

static const char *const mode_words[] = {"NonIndexed", "Indexed", NULL};
static const FieldType mode_type = {
    .name = "completion mode",
    .size = sizeof(uint32_t),
    .equal = field_u32_equal,
    .words = mode_words,
};

#define UNCOUNTED "status.uncountedTerminatedPods."

static const Field job_fields[] = {
    FIELD(UNCOUNTED "succeeded", field_string_list, Job, uncounted_succeeded, FIELD_STATUS),
    FIELD(UNCOUNTED "failed", field_string_list, Job, uncounted_failed, FIELD_STATUS),
    FIELD("spec.selector", field_label_selector, Job, selector, FIELD_SPEC),
    FIELD("spec.template", field_pod_template, Job, template, FIELD_REQUIRED),
    FIELD("spec.parallelism", field_int, Job, parallelism, FIELD_SPEC),
    FIELD("spec.completions", field_int_or_unset, Job, completions, FIELD_SPEC),
    FIELD("spec.backoffLimit", field_int, Job, backoff_limit, FIELD_SPEC),
    FIELD("spec.activeDeadlineSeconds", field_int_or_unset, Job, active_deadline_s, FIELD_SPEC),
    FIELD("spec.ttlSecondsAfterFinished", field_int_or_unset, Job, ttl_s, FIELD_SPEC),
    FIELD("spec.suspend", field_flag, Job, suspend, FIELD_SPEC),
    FIELD("spec.manualSelector", field_flag, Job, manual_selector, FIELD_SPEC),
    FIELD("spec.podReplacementPolicy", replacement_type, Job, replace_when_failed, FIELD_SPEC),
    FIELD("spec.completionMode", mode_type, Job, indexed, FIELD_SPEC),
    FIELD("status.completedIndexes", field_word, Job, completed_indexes, FIELD_STATUS),
    FIELD("status.active", field_count, Job, active, FIELD_STATUS),
    FIELD("status.ready", field_count, Job, ready, FIELD_STATUS),
    FIELD("status.succeeded", field_count, Job, succeeded, FIELD_STATUS),
    FIELD("status.failed", field_count, Job, failed, FIELD_STATUS),
    FIELD("status.terminating", field_count, Job, terminating, FIELD_STATUS),
    FIELD("status.startTime", field_time, Job, started_at, FIELD_STATUS),
    FIELD("status.completionTime", field_time, Job, completed_at, FIELD_STATUS),
    FIELD("status.conditions[Complete]", field_workload_condition, Job, complete, FIELD_STATUS),
    FIELD("status.conditions[Failed]", field_workload_condition, Job, has_failed, FIELD_STATUS),
    FIELD("status.conditions[Suspended]", field_workload_condition, Job, suspended, FIELD_STATUS),
    FIELD("status.conditions[FailureTarget]",
          field_workload_condition,
          Job,
          failure_target,
          FIELD_STATUS),
    FIELD("status.conditions[SuccessCriteriaMet]",
          field_workload_condition,
          Job,
          success_met,
          FIELD_STATUS),
    FIELDS_END,
};

static const char *const job_ignored[] = {
    IGNORED_ALWAYS,
    "spec.backoffLimitPerIndex",
    "spec.managedBy",
    "spec.maxFailedIndexes",
    "spec.podFailurePolicy",
    "spec.successPolicy",
    "status.failedIndexes",
    "status.uncountedTerminatedPods",
    NULL,
};

/* WL-80. */
static void
job_set_defaults(Object *object)
{
    Job *job = JOB(object);

    job->parallelism = 1;
    job->completions = -1;
    job->backoff_limit = 6;
    job->active_deadline_s = -1;
    job->ttl_s = -1;
    job->started_at = TIME_UNSET;
    job->completed_at = TIME_UNSET;
}

/* What would change the course of a Job and is not modelled: leaving it out in silence would give a wrong answer. */
static void
check_left_out(ApiParser *parser, const json_t *manifest)
{
    static const char *const paths[] = {"spec.backoffLimitPerIndex", "spec.managedBy",
                                        "spec.maxFailedIndexes", "spec.podFailurePolicy",
                                        "spec.successPolicy"};

    for (unsigned i = 0; i < G_N_ELEMENTS(paths); i++) {
        const json_t *value = json_path_get(manifest, paths[i]);
        gsize length = api_parser_enter(parser, paths[i]);
        if (value != NULL)
            api_parser_fault(parser, value, "leave it out: backoffLimit and completions are modelled",
                             "is not supported yet");
        api_parser_leave(parser, length);
    }
}

static void
check_mode(ApiParser *parser, const json_t *manifest, const Job *job)
{
    if (job->indexed && job->completions < 0)
        api_parser_required_at(parser, json_path_get(manifest, "spec"), "spec.completions",
                               "when completion mode is Indexed");
}

static void
job_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    static const char *const policies[] = {"OnFailure", "Never", NULL};
    Job *job = (Job *)object; /* its default hangs on two fields */
    const TemplateCheck check = {job->manual_selector ? job->selector : NULL, job->template, NULL,
                                 policies};

    if (job->completions < 0 && json_path_get(manifest, "spec.parallelism") == NULL)
        job->completions = 1;
    workload_check_not_negative(parser, manifest, "spec.parallelism");
    workload_check_not_negative(parser, manifest, "spec.completions");
    workload_check_not_negative(parser, manifest, "spec.backoffLimit");
    workload_check_not_negative(parser, manifest, "spec.activeDeadlineSeconds");
    workload_check_not_negative(parser, manifest, "spec.ttlSecondsAfterFinished");
    check_mode(parser, manifest, job);
    check_left_out(parser, manifest);
    workload_check_template(parser, manifest, &check);
    if (job->template != NULL && g_strcmp0(job->template->spec->restart_policy, "Always") == 0 &&
        json_path_get(manifest, "spec.template.spec.restartPolicy") == NULL) {
        gsize length = api_parser_enter(parser, "spec.template.spec.restartPolicy");
        api_parser_required(parser, json_path_get(manifest, "spec.template"),
                            "valid values: \"OnFailure\", \"Never\"");
        api_parser_leave(parser, length);
    }
}

gboolean
job_is_finished(const Job *self)
{
    return self->complete.status == CONDITION_TRUE || self->has_failed.status == CONDITION_TRUE;
}

const KindClass job_kind = {
    .kind = "Job",
    .api_version = "batch/v1",
    .resource = "jobs",
    .size = sizeof(Job),
    .fields = job_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .set_defaults = job_set_defaults,
    .ignored = job_ignored,
    .check = job_check,
};
