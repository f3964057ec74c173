/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `kubectl describe` of workloads, disruption budgets, quotas, limit ranges and namespaces. Pods of
 * a workload are counted by phase from the objects, not from the status. Which ReplicaSet of a
 * Deployment is the new one follows from the revision annotation. Namespaces list their quotas and
 * limits. */
#include <string.h>

#include "describe.h"

static void
put_selector(Description *self, json_t *object)
{
    g_autoptr(GString) text = g_string_new(NULL);

    append_label_selector(text, value_at(object, "spec.selector"));
    put_text(self, 0, "Selector", text->str);
}

/* Counts the object's own pods by phase. */
static void
put_pods_status(Description *self, json_t *object)
{
    static const char *const phases[] = {"Running", "Pending", "Succeeded", "Failed"};
    GPtrArray *pods = cluster_objects(self->request->cluster, kubectl_kind_find("pod"));
    unsigned counts[G_N_ELEMENTS(phases)] = {0};

    for (unsigned p = 0; p < pods->len; p++) {
        json_t *owner, *pod = pods->pdata[p];
        gsize i;

        if (strcmp(value_text(pod, "metadata.namespace"),
                   value_text(object, "metadata.namespace")) != 0)
            continue;
        json_array_foreach(value_at(pod, "metadata.ownerReferences"), i, owner) {
            if (!value_is_true(owner, "controller") ||
                strcmp(value_text(owner, "uid"), value_text(object, "metadata.uid")) != 0)
                continue;
            for (unsigned f = 0; f < G_N_ELEMENTS(phases); f++)
                counts[f] += strcmp(value_text(pod, "status.phase"), phases[f]) == 0;
        }
    }
    put(self, 0, "Pods Status:\t%u Running / %u Waiting / %u Succeeded / %u Failed\n", counts[0],
        counts[1], counts[2], counts[3]);
}

static void
put_claim_templates(Description *self, json_t *templates)
{
    json_t *template;
    gsize i;

    put(self, 0, "Volume Claims:%s\n", json_array_size(templates) == 0 ? "\t<none>" : "");
    json_array_foreach(templates, i, template) {
        json_t *storage = value_at(template, "spec.resources.requests.storage");

        put_text(self, 1, "Name", value_text(template, "metadata.name"));
        put_text(self, 1, "StorageClass", class_name_of(template));
        put_map(self, "  ", "Labels", value_at(template, "metadata.labels"));
        put_map(self, "  ", "Annotations", value_at(template, "metadata.annotations"));
        if (storage != NULL)
            put_quantity(self, 1, "Capacity", storage);
        else
            put_text(self, 1, "Capacity", "<default>");
        put_list(self, 1, "Access Modes", value_at(template, "spec.accessModes"));
    }
}

void
describe_stateful_set(Description *self, json_t *set)
{
    json_t *partition = value_at(set, "spec.updateStrategy.rollingUpdate.partition");
    json_t *unavailable = value_at(set, "spec.updateStrategy.rollingUpdate.maxUnavailable");

    put_name(self, set);
    put_date(self, 0, "CreationTimestamp", set, "metadata.creationTimestamp");
    put_selector(self, set);
    put_labels(self, set);
    put(self, 0, "Replicas:\t%" PRId64 " desired | %" PRId64 " total\n",
        value_integer(set, "spec.replicas", 1), value_integer(set, "status.replicas", 0));
    put_text(self, 0, "Update Strategy", value_text(set, "spec.updateStrategy.type"));
    if (partition != NULL)
        put(self, 1, "Partition:\t%" JSON_INTEGER_FORMAT "\n", json_integer_value(partition));
    if (partition != NULL && unavailable != NULL) {
        g_autoptr(GString) text = g_string_new(NULL);

        value_append_go(text, unavailable);
        put_text(self, 1, "MaxUnavailable", text->str);
    }
    put_pods_status(self, set);
    describe_pod_template(self, value_at(set, "spec.template"));
    put_claim_templates(self, value_at(set, "spec.volumeClaimTemplates"));
}

static void
put_workload_conditions(Description *self, json_t *conditions)
{
    json_t *condition;
    gsize i;

    if (json_array_size(conditions) == 0)
        return;
    put(self, 0, "Conditions:\n  Type\tStatus\tReason\n");
    put(self, 1, "----\t------\t------\n");
    json_array_foreach(conditions, i, condition)
        put(self, 1, "%s \t%s\t%s\n", value_text(condition, "type"),
            value_text(condition, "status"), value_text(condition, "reason"));
}

void
describe_replica_set(Description *self, json_t *set)
{
    put_name(self, set);
    put_selector(self, set);
    put_labels(self, set);
    put_controller(self, set);
    put(self, 0, "Replicas:\t%" PRId64 " current / %" PRId64 " desired\n",
        value_integer(set, "status.replicas", 0), value_integer(set, "spec.replicas", 1));
    put_pods_status(self, set);
    describe_pod_template(self, value_at(set, "spec.template"));
    put_workload_conditions(self, value_at(set, "status.conditions"));
}

/* Appends the newest ReplicaSet by revision, or all others. */
static void
append_replica_sets(GString *out, const Description *self, json_t *deployment, gboolean is_new)
{
    GPtrArray *sets = cluster_objects(self->request->cluster, kubectl_kind_find("replicaset"));
    const char *revision = json_string_value(json_object_get(
        value_at(deployment, "metadata.annotations"), "deployment.kubernetes.io/revision"));

    for (unsigned i = 0; i < sets->len; i++) {
        json_t *set = sets->pdata[i];
        json_t *owner = value_find(value_at(set, "metadata.ownerReferences"), "uid",
                                   value_text(deployment, "metadata.uid"));
        const char *own = json_string_value(json_object_get(value_at(set, "metadata.annotations"),
                                                            "deployment.kubernetes.io/revision"));
        gboolean is_newest = g_strcmp0(own, revision) == 0;

        if (owner == NULL || is_newest != is_new ||
            (!is_new && value_integer(set, "spec.replicas", 1) == 0))
            continue;
        g_string_append_printf(out, "%s%s (%" PRId64 "/%" PRId64 " replicas created)",
                               out->len > 0 ? ", " : "", value_text(set, "metadata.name"),
                               value_integer(set, "status.replicas", 0),
                               value_integer(set, "spec.replicas", 1));
    }
}

void
describe_deployment(Description *self, json_t *deployment)
{
    json_t *rolling = value_at(deployment, "spec.strategy.rollingUpdate");
    g_autoptr(GString) old_sets = g_string_new(NULL), new_sets = g_string_new(NULL);

    put_name(self, deployment);
    put_date(self, 0, "CreationTimestamp", deployment, "metadata.creationTimestamp");
    put_labels(self, deployment);
    put_selector(self, deployment);
    put(self, 0,
        "Replicas:\t%" PRId64 " desired | %" PRId64 " updated | %" PRId64 " total | %" PRId64
        " available | %" PRId64 " unavailable\n",
        value_integer(deployment, "spec.replicas", 1),
        value_integer(deployment, "status.updatedReplicas", 0),
        value_integer(deployment, "status.replicas", 0),
        value_integer(deployment, "status.availableReplicas", 0),
        value_integer(deployment, "status.unavailableReplicas", 0));
    put_text(self, 0, "StrategyType", value_text(deployment, "spec.strategy.type"));
    put(self, 0, "MinReadySeconds:\t%" PRId64 "\n",
        value_integer(deployment, "spec.minReadySeconds", 0));
    if (rolling != NULL) {
        g_autoptr(GString) text = g_string_new(NULL);

        value_append_go(text, value_at(rolling, "maxUnavailable"));
        g_string_append(text, " max unavailable, ");
        value_append_go(text, value_at(rolling, "maxSurge"));
        put(self, 0, "RollingUpdateStrategy:\t%s max surge\n", text->str);
    }
    describe_pod_template(self, value_at(deployment, "spec.template"));
    put_workload_conditions(self, value_at(deployment, "status.conditions"));
    append_replica_sets(old_sets, self, deployment, FALSE);
    append_replica_sets(new_sets, self, deployment, TRUE);
    if (old_sets->len == 0 && new_sets->len == 0)
        return;
    put_text(self, 0, "OldReplicaSets", old_sets->len > 0 ? old_sets->str : "<none>");
    put_text(self, 0, "NewReplicaSet", new_sets->len > 0 ? new_sets->str : "<none>");
}

void
describe_daemon_set(Description *self, json_t *set)
{
    static const struct {
        const char *name, *path;
    } numbers[] = {
        {"Desired Number of Nodes Scheduled",              "status.desiredNumberScheduled"},
        {"Current Number of Nodes Scheduled",              "status.currentNumberScheduled"},
        {"Number of Nodes Scheduled with Up-to-date Pods", "status.updatedNumberScheduled"},
        {"Number of Nodes Scheduled with Available Pods",  "status.numberAvailable"       },
        {"Number of Nodes Misscheduled",                   "status.numberMisscheduled"    },
    };
    g_autoptr(GString) nodes = g_string_new(NULL);

    put_text(self, 0, "Name", value_text(set, "metadata.name"));
    put_selector(self, set);
    value_append_map(nodes, value_at(set, "spec.template.spec.nodeSelector"));
    put_text(self, 0, "Node-Selector", nodes->str);
    put_labels(self, set);
    for (unsigned i = 0; i < G_N_ELEMENTS(numbers); i++)
        put(self, 0, "%s: %" PRId64 "\n", numbers[i].name, value_integer(set, numbers[i].path, 0));
    put_pods_status(self, set);
    describe_pod_template(self, value_at(set, "spec.template"));
}

/* Nothing if the number is missing. */
static void
put_number(Description *self, const char *name, json_t *object, const char *path, const char *unit)
{
    if (value_at(object, path) != NULL)
        put(self, 0, "%s:\t%" PRId64 "%s\n", name, value_integer(object, path, 0), unit);
}

static void
put_job_times(Description *self, json_t *job)
{
    ValueTime started_at = value_time(job, "status.startTime");
    ValueTime completed_at = value_time(job, "status.completionTime");
    g_autoptr(GString) duration = g_string_new(NULL);

    if (started_at != VALUE_TIME_NONE)
        put_date(self, 0, "Start Time", job, "status.startTime");
    if (completed_at != VALUE_TIME_NONE)
        put_date(self, 0, "Completed At", job, "status.completionTime");
    if (started_at == VALUE_TIME_NONE || completed_at == VALUE_TIME_NONE)
        return;
    value_append_age(duration, started_at, completed_at);
    put_text(self, 0, "Duration", duration->str);
}

#define INDEXES_LENGTH 50 /* longer lists are cut at the next comma */

static void
put_completed_indexes(Description *self, json_t *job)
{
    const char *indexes = value_text(job, "status.completedIndexes");
    const char *comma =
        strlen(indexes) > INDEXES_LENGTH ? strchr(indexes + INDEXES_LENGTH, ',') : NULL;

    if (strcmp(value_text(job, "spec.completionMode"), "Indexed") != 0)
        return;
    if (comma != NULL)
        put(self, 0, "Completed Indexes:\t%.*s...\n", (int)(comma + 1 - indexes), indexes);
    else
        put_text(self, 0, "Completed Indexes", *indexes == '\0' ? "<none>" : indexes);
}

static void
put_job_spec(Description *self, json_t *job)
{
    json_t *suspend = value_at(job, "spec.suspend");

    put_number(self, "Parallelism", job, "spec.parallelism", "");
    if (value_at(job, "spec.completions") != NULL)
        put_number(self, "Completions", job, "spec.completions", "");
    else
        put_text(self, 0, "Completions", "<unset>");
    put_optional_text(self, 0, "Completion Mode", job, "spec.completionMode");
    if (suspend != NULL)
        put_text(self, 0, "Suspend", json_is_true(suspend) ? "true" : "false");
    put_number(self, "Backoff Limit", job, "spec.backoffLimit", "");
    put_number(self, "TTL Seconds After Finished", job, "spec.ttlSecondsAfterFinished", "");
}

void
describe_job(Description *self, json_t *job)
{
    put_name(self, job);
    put_selector(self, job);
    put_labels(self, job);
    put_controller(self, job);
    put_job_spec(self, job);
    put_job_times(self, job);
    put_number(self, "Active Deadline Seconds", job, "spec.activeDeadlineSeconds", "s");
    put(self, 0, "Pods Statuses:\t%" PRId64 " Active", value_integer(job, "status.active", 0));
    if (value_at(job, "status.ready") != NULL)
        put(self, 0, " (%" PRId64 " Ready)", value_integer(job, "status.ready", 0));
    put(self, 0, " / %" PRId64 " Succeeded / %" PRId64 " Failed\n",
        value_integer(job, "status.succeeded", 0), value_integer(job, "status.failed", 0));
    put_completed_indexes(self, job);
    describe_pod_template(self, value_at(job, "spec.template"));
}

/* "<unset>" if the number is missing. */
static void
put_number_or_unset(
    Description *self, const char *name, json_t *object, const char *path, const char *unit)
{
    if (value_at(object, path) != NULL)
        put_number(self, name, object, path, unit);
    else
        put_text(self, 0, name, "<unset>");
}

static void
put_active_jobs(Description *self, json_t *active)
{
    g_autoptr(GString) names = g_string_new(NULL);
    json_t *job;
    gsize i;

    json_array_foreach(active, i, job)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", value_text(job, "name"));
    put_text(self, 0, "Active Jobs", names->len > 0 ? names->str : "<none>");
}

void
describe_cron_job(Description *self, json_t *cron)
{
    json_t *job = value_at(cron, "spec.jobTemplate");

    put_name(self, cron);
    put_labels(self, cron);
    put_text(self, 0, "Schedule", value_text(cron, "spec.schedule"));
    put_text(self, 0, "Concurrency Policy", value_text(cron, "spec.concurrencyPolicy"));
    put_text(self, 0, "Suspend", value_is_true(cron, "spec.suspend") ? "True" : "False");
    put_number_or_unset(self, "Successful Job History Limit", cron,
                        "spec.successfulJobsHistoryLimit", "");
    put_number_or_unset(self, "Failed Job History Limit", cron, "spec.failedJobsHistoryLimit", "");
    put_number_or_unset(self, "Starting Deadline Seconds", cron, "spec.startingDeadlineSeconds",
                        "s");
    if (value_at(job, "spec.selector") != NULL)
        put_selector(self, job);
    else
        put_text(self, 0, "Selector", "<unset>");
    put_number_or_unset(self, "Parallelism", job, "spec.parallelism", "");
    put_number_or_unset(self, "Completions", job, "spec.completions", "");
    put_number(self, "Active Deadline Seconds", job, "spec.activeDeadlineSeconds", "s");
    describe_pod_template(self, value_at(job, "spec.template"));
    if (value_at(cron, "status.lastScheduleTime") != NULL)
        put_date(self, 0, "Last Schedule Time", cron, "status.lastScheduleTime");
    else
        put_text(self, 0, "Last Schedule Time", "<unset>");
    put_active_jobs(self, value_at(cron, "status.active"));
}

void
describe_disruption_budget(Description *self, json_t *budget)
{
    json_t *available = value_at(budget, "spec.minAvailable");
    json_t *unavailable = value_at(budget, "spec.maxUnavailable");
    g_autoptr(GString) bound = g_string_new(NULL);

    put_name(self, budget);
    if (available != NULL || unavailable != NULL) {
        value_append_go(bound, available != NULL ? available : unavailable);
        put_text(self, 0, available != NULL ? "Min available" : "Max unavailable", bound->str);
    }
    if (value_at(budget, "spec.selector") != NULL)
        put_selector(self, budget);
    else
        put_text(self, 0, "Selector", "<unset>");
    put(self, 0, "Status:\n");
    put(self, 2, "Allowed disruptions:\t%" PRId64 "\n",
        value_integer(budget, "status.disruptionsAllowed", 0));
    put(self, 2, "Current:\t%" PRId64 "\n", value_integer(budget, "status.currentHealthy", 0));
    put(self, 2, "Desired:\t%" PRId64 "\n", value_integer(budget, "status.desiredHealthy", 0));
    put(self, 2, "Total:\t%" PRId64 "\n", value_integer(budget, "status.expectedPods", 0));
}

static void
put_used_and_hard(Description *self, unsigned level, json_t *quota)
{
    json_t *hard = value_at(quota, "status.hard"), *used = value_at(quota, "status.used");
    g_auto(GStrv) names = value_keys(hard);

    for (unsigned i = 0; names[i] != NULL; i++) {
        g_autoptr(GString) line = g_string_new(names[i]);

        g_string_append_c(line, '\t');
        value_append_quantity(line, json_object_get(used, names[i]));
        g_string_append_c(line, '\t');
        value_append_quantity(line, json_object_get(hard, names[i]));
        put(self, level, "%s\n", line->str);
    }
}

/* describeQuota() */
void
describe_quota(Description *self, json_t *quota)
{
    put_name(self, quota);
    put(self, 0, "Resource\tUsed\tHard\n--------\t----\t----\n");
    put_used_and_hard(self, 0, quota);
}

/* DescribeResourceQuotas() */
static void
put_quotas_of(Description *self, const char *namespace)
{
    const KubectlRequest *request = self->request;
    GPtrArray *quotas = cluster_objects(request->cluster, request_kind(request, "resourcequotas"));
    gboolean has_one = FALSE;

    for (unsigned i = 0; i < quotas->len; i++) {
        json_t *quota = quotas->pdata[i];
        if (strcmp(value_text(quota, "metadata.namespace"), namespace) != 0)
            continue;
        put(self, 0, "%s", has_one ? "" : "\nResource Quotas\n");
        has_one = TRUE;
        put(self, 1, "Name:\t%s\n", value_text(quota, "metadata.name"));
        put(self, 1, "Resource\tUsed\tHard\n");
        put(self, 1, "--------\t---\t---\n");
        put_used_and_hard(self, 1, quota);
    }
    if (!has_one)
        put(self, 0, "\nNo resource quota.\n");
}

/* describeLimitRangeSpec() */
static void
put_limits(Description *self, const char *indent, json_t *range)
{
    static const char *const bounds[] = {"min", "max", "defaultRequest", "default",
                                         "maxLimitRequestRatio"};
    json_t *limit;
    gsize i;

    json_array_foreach(value_at(range, "spec.limits"), i, limit) {
        json_auto_t *all = json_object();
        for (unsigned k = 0; k < G_N_ELEMENTS(bounds); k++)
            json_object_update(all, json_object_get(limit, bounds[k]));
        g_auto(GStrv) names = value_keys(all);
        for (unsigned n = 0; names[n] != NULL; n++) {
            g_autoptr(GString) line = g_string_new(indent);
            g_string_append_printf(line, "%s\t%s", value_text(limit, "type"), names[n]);
            for (unsigned k = 0; k < G_N_ELEMENTS(bounds); k++) {
                json_t *bound = json_object_get(json_object_get(limit, bounds[k]), names[n]);
                g_string_append(line, bound == NULL ? "\t-" : "\t");
                if (bound != NULL)
                    value_append_quantity(line, bound);
            }
            put(self, 0, "%s\n", line->str);
        }
    }
}

static void
put_limits_head(Description *self, const char *indent)
{
    put(self, 0,
        "%sType\tResource\tMin\tMax\tDefault Request\tDefault Limit\tMax Limit/Request Ratio\n",
        indent);
    put(self, 0,
        "%s----\t--------\t---\t---\t---------------\t-------------\t-----------------------\n",
        indent);
}

void
describe_limit_range(Description *self, json_t *range)
{
    put_name(self, range);
    put_limits_head(self, "");
    put_limits(self, "", range);
}

/* DescribeLimitRanges() */
static void
put_limits_of(Description *self, const char *namespace)
{
    const KubectlRequest *request = self->request;
    GPtrArray *ranges = cluster_objects(request->cluster, request_kind(request, "limitranges"));
    gboolean has_one = FALSE;

    for (unsigned i = 0; i < ranges->len; i++) {
        json_t *range = ranges->pdata[i];
        if (strcmp(value_text(range, "metadata.namespace"), namespace) != 0)
            continue;
        if (!has_one) {
            put(self, 0, "\nResource Limits\n");
            put_limits_head(self, " ");
        }
        has_one = TRUE;
        put_limits(self, " ", range);
    }
    if (!has_one)
        put(self, 0, "\nNo LimitRange resource.\n");
}

/* describeNamespace() */
void
describe_namespace(Description *self, json_t *namespace)
{
    json_t *condition;
    gsize i;

    put_text(self, 0, "Name", value_text(namespace, "metadata.name"));
    put_labels(self, namespace);
    put_text(self, 0, "Status", value_text(namespace, "status.phase"));
    if (value_at(namespace, "status.conditions") != NULL) {
        put(self, 0, "Conditions:\n");
        put(self, 1, "Type\tStatus\tLastTransitionTime\tReason\tMessage\n");
        put(self, 1, "----\t------\t------------------\t------\t-------\n");
    }
    json_array_foreach(value_at(namespace, "status.conditions"), i, condition) {
        g_autoptr(GString) changed = g_string_new(NULL);

        value_append_date(changed, value_time(condition, "lastTransitionTime"));
        put(self, 1, "%s\t%s\t%s\t%s\t%s\n", value_text(condition, "type"),
            value_text(condition, "status"), changed->str, value_text(condition, "reason"),
            value_text(condition, "message"));
    }
    put_quotas_of(self, value_text(namespace, "metadata.name"));
    put_limits_of(self, value_text(namespace, "metadata.name"));
}
