/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs: fields, defaults that depend on two fields, and the checks of Indexed Jobs and their
 * policies. A Job of very many indexes has to say when to give up. With a failure policy only
 * terminal pods are replaced (JOB-2). A Job whose spec.managedBy names another controller is left
 * alone by ours (JOB-4). */
#include "workload-private.h"

#include <string.h>

static const FieldType replacement_type = {FIELD_WORDS("TerminatingOrFailed", "Failed")};
static const FieldType mode_type = {FIELD_WORDS("NonIndexed", "Indexed")};

#define UNCOUNTED "status.uncountedTerminatedPods."

static const Field job_fields[] = {
    /* clang-format off */
    FIELD(UNCOUNTED "succeeded", field_string_list, Job, uncounted_succeeded, FIELD_STATUS),
    FIELD(UNCOUNTED "failed", field_string_list, Job, uncounted_failed, FIELD_STATUS),
    FIELD("spec.selector", field_label_selector, Job, selector, FIELD_SPEC),
    FIELD("spec.podFailurePolicy", field_failure_policy, Job, failure_policy, FIELD_SPEC),
    FIELD("spec.successPolicy", field_success_policy, Job, success_policy, FIELD_SPEC),
    FIELD("spec.template", field_pod_template, Job, template, FIELD_REQUIRED),
    FIELD_FROM("spec.parallelism", field_int, Job, parallelism, FIELD_NATURAL, 1),
    FIELD("spec.completions", field_int_or_unset, Job, completions, FIELD_NATURAL),
    FIELD_FROM("spec.backoffLimit", field_int, Job, backoff_limit, FIELD_NATURAL, 6),
    FIELD("spec.backoffLimitPerIndex", field_int_or_unset, Job, backoff_limit_per_index, FIELD_NATURAL),
    FIELD("spec.maxFailedIndexes", field_int_or_unset, Job, max_failed_indexes, FIELD_NATURAL),
    FIELD("spec.managedBy", field_string, Job, managed_by, FIELD_SPEC),
    FIELD("spec.activeDeadlineSeconds", field_int_or_unset, Job, active_deadline_s, FIELD_NATURAL),
    FIELD("spec.ttlSecondsAfterFinished", field_int_or_unset, Job, ttl_s, FIELD_NATURAL),
    FIELD("spec.suspend", field_bool, Job, suspend, FIELD_SPEC),
    FIELD("spec.manualSelector", field_flag, Job, manual_selector, FIELD_SPEC),
    FIELD("spec.podReplacementPolicy", replacement_type, Job, replace_when_failed, FIELD_SPEC),
    FIELD("spec.completionMode", mode_type, Job, indexed, FIELD_SPEC),
    FIELD("status.completedIndexes", field_word, Job, completed_indexes, FIELD_STATUS),
    FIELD("status.failedIndexes", field_string, Job, failed_indexes, FIELD_STATUS),
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
    FIELD("status.conditions[FailureTarget]", field_workload_condition, Job, failure_target, FIELD_STATUS),
    FIELD("status.conditions[SuccessCriteriaMet]", field_workload_condition, Job, success_met, FIELD_STATUS),
    FIELDS_END,
    /* clang-format on */
};

/* maxParallelismForIndexedJob, maxFailedIndexesForIndexedJob, completionsSoftLimit; and the limit
 * above the last of these */
#define INDEXES_MAX 100000
#define INDEXES_MAX_OF_MANY 10000
#define OF_MANY "when completions are above 100000 and used with backoff limit per index"

/* Fields that only Indexed Jobs may have. */
static void
check_not_indexed(ApiParser *parser, const json_t *manifest, const Job *job)
{
    static const char *const wanted = "requires indexed completion mode";

    if (job->backoff_limit_per_index >= 0)
        api_parser_invalid_at(parser, manifest, "spec.backoffLimitPerIndex", NULL, wanted);
    if (job->max_failed_indexes >= 0)
        api_parser_invalid_at(parser, manifest, "spec.maxFailedIndexes", NULL, wanted);
    if (job->success_policy != NULL)
        api_parser_invalid_at(parser, manifest, "spec.successPolicy", NULL, wanted);
}

/* A Job of so many indexes must say when to give up. */
static void
check_many_indexes(ApiParser *parser, const json_t *manifest, const Job *job)
{
    if (job->completions <= INDEXES_MAX || job->backoff_limit_per_index < 0)
        return;
    if (job->max_failed_indexes < 0)
        api_parser_required_at(parser, json_path_get(manifest, "spec"), "spec.maxFailedIndexes",
                               "must be specified when completions is above 100000");
    if (job->parallelism > INDEXES_MAX_OF_MANY)
        api_parser_invalid_at(parser, manifest, "spec.parallelism", NULL,
                              "must be less than or equal to 10000 " OF_MANY);
    if (job->max_failed_indexes > INDEXES_MAX_OF_MANY)
        api_parser_invalid_at(parser, manifest, "spec.maxFailedIndexes", NULL,
                              "must be less than or equal to 10000 " OF_MANY);
}

static void
check_indexed(ApiParser *parser, const json_t *manifest, const Job *job)
{
    if (job->completions < 0 && json_path_get(manifest, "spec.completions") == NULL)
        api_parser_required_at(parser, json_path_get(manifest, "spec"), "spec.completions",
                               "when completion mode is Indexed");
    if (job->parallelism > INDEXES_MAX)
        api_parser_invalid_at(
            parser, manifest, "spec.parallelism", NULL,
            "must be less than or equal to 100000 when completion mode is Indexed");
    if (job->completions >= 0 && job->max_failed_indexes > job->completions)
        api_parser_invalid_at(parser, manifest, "spec.maxFailedIndexes", NULL,
                              "must be less than or equal to completions");
    if (job->max_failed_indexes > INDEXES_MAX)
        api_parser_invalid_at(parser, manifest, "spec.maxFailedIndexes", NULL,
                              "must be less than or equal to 100000");
    check_many_indexes(parser, manifest, job);
}

static void
check_success_rule(ApiParser *parser,
                   const json_t *manifest,
                   const SuccessRule *rule,
                   int32_t completions)
{
    const json_t *count = json_path_get(manifest, "succeededCount");
    g_autofree char *detail = NULL, *fault = NULL;
    int32_t n_indexes =
        rule->indexes == NULL ? -1 : job_indexes_count(rule->indexes, completions, &fault);

    if (rule->indexes == NULL && count == NULL)
        api_parser_required(parser, manifest,
                            "at least one of succeededCount or succeededIndexes must be specified");
    if (fault != NULL) {
        detail = g_strdup_printf("error parsing succeededIndexes: %s", fault);
        api_parser_invalid_at(parser, manifest, "succeededIndexes", NULL, detail);
    }
    if (count == NULL)
        return;
    g_free(detail);
    detail = g_strdup_printf(
        "must be less than or equal to %d (the number of specified completions)", completions);
    if (rule->count > completions)
        api_parser_invalid_at(parser, manifest, "succeededCount", NULL, detail);
    g_free(detail);
    detail =
        g_strdup_printf("must be less than or equal to %d (the number of indexes in the specified "
                        "succeededIndexes field)",
                        n_indexes);
    if (n_indexes >= 0 && rule->count > n_indexes)
        api_parser_invalid_at(parser, manifest, "succeededCount", NULL, detail);
}

static void
check_success_policy(ApiParser *parser, const json_t *manifest, const Job *job)
{
    const SuccessPolicy *policy = job->success_policy;
    const json_t *rules = json_path_get(manifest, "spec.successPolicy.rules");
    gsize length = api_parser_enter(parser, "spec.successPolicy.rules");

    if (policy->rules == NULL)
        api_parser_required(
            parser, json_path_get(manifest, "spec.successPolicy"),
            "at least one rules must be specified when the successPolicy is specified");
    for (unsigned i = 0; policy->rules != NULL && i < policy->rules->n_items; i++) {
        gsize inner = api_parser_enter_index(parser, i);
        check_success_rule(parser, json_array_get(rules, i), &policy->rules->items[i],
                           job->completions);
        api_parser_leave(parser, inner);
    }
    api_parser_leave(parser, length);
}

/* The parts of a failure policy that depend on the rest of the Job. */
static void
check_failure_policy(ApiParser *parser, const json_t *manifest, const Job *job)
{
    const json_t *list = json_path_get(manifest, "spec.podFailurePolicy.rules");
    const FailureRules *rules = job->failure_policy->rules;
    gsize length = api_parser_enter(parser, "spec.podFailurePolicy.rules");

    for (unsigned i = 0; rules != NULL && i < rules->n_items; i++) {
        const FailureRule *rule = &rules->items[i];
        const json_t *item = json_array_get(list, i);
        gsize inner = api_parser_enter_index(parser, i);
        if (rule->action == FAILURE_FAIL_INDEX && job->backoff_limit_per_index < 0)
            api_parser_invalid_at(parser, item, "action", NULL,
                                  "requires the backoffLimitPerIndex to be set");
        if (rule->container != NULL &&
            json_list_find(json_path_get(manifest, "spec.template.spec.containers"), "name",
                           rule->container) == NULL &&
            json_list_find(json_path_get(manifest, "spec.template.spec.initContainers"), "name",
                           rule->container) == NULL)
            api_parser_invalid_at(
                parser, item, "onExitCodes.containerName", NULL,
                "must be one of the container or initContainer names in the pod template");
        api_parser_leave(parser, inner);
    }
    api_parser_leave(parser, length);
}

/* JOB-2: with restarts in place no pod failure is seen; and only terminal pods are replaced. */
static void
check_with_failure_policy(ApiParser *parser, const json_t *manifest, Job *job)
{
    static const char *const only_failed[] = {"Failed", NULL};
    static const char restart_policy[] = "spec.template.spec.restartPolicy";
    static const char replacement[] = "spec.podReplacementPolicy";

    check_failure_policy(parser, manifest, job);
    if (g_strcmp0(json_path_string(manifest, restart_policy), "OnFailure") == 0)
        api_parser_invalid_at(parser, manifest, restart_policy, NULL,
                              "only \"Never\" is supported when podFailurePolicy is specified");
    if (!job->replace_when_failed)
        api_parser_check_word(parser, manifest, replacement, only_failed);
    job->replace_when_failed = TRUE;
}

/* "acme.io/foo" */
static void
check_managed_by(ApiParser *parser, const json_t *manifest, const char *name)
{
    const char *slash = strchr(name, '/');
    g_autofree char *domain = slash == NULL ? NULL : g_strndup(name, (gsize)(slash - name));

    if (domain == NULL || slash[1] == '\0' || name_fault_subdomain(domain) != NULL)
        api_parser_invalid_at(parser, manifest, "spec.managedBy", NULL,
                              "must be a domain-prefixed path (such as \"acme.io/foo\")");
    if (strlen(name) > 63)
        api_parser_fault_at(parser, json_path_get(manifest, "spec.managedBy"), "spec.managedBy",
                            NULL, "Too long: may not be more than 63 bytes");
}

static void
check_policies(ApiParser *parser, const json_t *manifest, Job *job)
{
    if (job->max_failed_indexes >= 0 && job->backoff_limit_per_index < 0)
        api_parser_required_at(parser, json_path_get(manifest, "spec"), "spec.backoffLimitPerIndex",
                               "when maxFailedIndexes is specified");
    if (job->indexed)
        check_indexed(parser, manifest, job);
    else
        check_not_indexed(parser, manifest, job);
    if (job->indexed && job->success_policy != NULL)
        check_success_policy(parser, manifest, job);
    if (job->failure_policy != NULL)
        check_with_failure_policy(parser, manifest, job);
    if (job->managed_by != NULL)
        check_managed_by(parser, manifest, job->managed_by);
}

static void
job_check(ApiParser *parser, const json_t *manifest, const Object *object)
{
    Job *job = (Job *)object; /* some defaults depend on two fields */

    if (job->completions < 0 && json_path_get(manifest, "spec.parallelism") == NULL)
        job->completions = 1;
    if (job->backoff_limit_per_index >= 0 && json_path_get(manifest, "spec.backoffLimit") == NULL)
        job->backoff_limit = INT32_MAX;
    check_policies(parser, manifest, job);
    if (job->template != NULL && g_strcmp0(job->template->spec->restart_policy, "Always") == 0 &&
        json_path_get(manifest, "spec.template.spec.restartPolicy") == NULL)
        api_parser_required_at(parser, json_path_get(manifest, "spec.template"),
                               "spec.template.spec.restartPolicy",
                               "valid values: \"OnFailure\", \"Never\"");
}

gboolean
job_is_managed_elsewhere(const Job *self)
{
    return self->managed_by != NULL && strcmp(self->managed_by, JOB_CONTROLLER_NAME) != 0;
}

gboolean
job_replaces_only_failed(const Job *self)
{
    return self->replace_when_failed || self->failure_policy != NULL;
}

gboolean
job_is_finished(const Job *self)
{
    return self->complete.status == CONDITION_TRUE || self->has_failed.status == CONDITION_TRUE;
}

static const WorkloadClass job_workload = {
    .controller = "job-controller",
    .selector = offsetof(Job, selector),
    .template = offsetof(Job, template),
    .owns_pods = TRUE,
};

const KindClass job_kind = {
    .kind = "Job",
    .api_version = "batch/v1",
    .resource = "jobs",
    .size = sizeof(Job),
    .fields = job_fields,
    .namespaced = TRUE,
    .has_generation = TRUE,
    .workload = &job_workload,
    .check = job_check,
};
