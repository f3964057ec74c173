/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads whose pods or claims are not made. A workload leads to its first pod that is not well,
 * else to the refusal of its pods by a quota or a limit range, read from the latest Event and
 * checked against the quota as it is now; else to its controller. A missing pod of a StatefulSet
 * leads to the earlier ordinal that is not ready. A budget leads to the pod that would make the
 * difference. */
#include "question.h"

#include <string.h>

#include "models/api/field.h"
#include "models/api/quota/quota.h"

/* The first pod of the workload that is not well, or does not go. */
static gboolean
ask_pods(Question *self, const Object *owner)
{
    g_autoptr(GPtrArray) pods = why_pods_owned(self, owner);

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        if (!pod_is_ready(pod) && !pod_is_terminal(pod) && why_ask_pod(self, pod))
            return TRUE;
    }
    for (unsigned i = 0; i < pods->len; i++)
        if (object_is_deleted(pods->pdata[i]) && why_ask_pod(self, pods->pdata[i]))
            return TRUE;
    return FALSE;
}

gboolean
why_ask_refusal(Question *self, const Object *owner, const Claim *template)
{
    const GPtrArray *quotas = why_list(self, KIND_RESOURCE_QUOTA);
    const ApiEvent *event = why_event(self, owner, "FailedCreate");
    const SimTime since = event == NULL ? TIME_UNSET : event->first_at;

    if (template == NULL)
        return FALSE;
    for (unsigned i = 0; i < quotas->len; i++) {
        const ResourceQuota *quota = quotas->pdata[i];
        for (unsigned k = 0; quota->meta.key->namespace == owner->key->namespace &&
                             quota->status_hard != NULL && k < quota->status_hard->n_items;
             k++) {
            const ResourceAmount *hard = &quota->status_hard->items[k];
            const ResourceAmount *used = resource_amounts_find(quota->used, hard->name);
            char limit[QUANTITY_BUFFER], use[QUANTITY_BUFFER];
            ResourceAmount wanted = quota_usage(NULL, &template->meta, hard->name, QUOTA_ALWAYS);
            if (used == NULL || wanted.value == 0 || used->value + wanted.value <= hard->value)
                continue;
            why_link(self, &quota->meta, since, "allows %s of %s, and %s are used",
                     resource_amount_format(hard, limit), hard->name,
                     resource_amount_format(used, use));
            return why_because(self, "quota");
        }
    }
    const GPtrArray *limits = why_list(self, KIND_LIMIT_RANGE);
    for (unsigned i = 0; i < limits->len; i++) {
        const LimitRange *limit = limits->pdata[i];
        int64_t request = template->request_bytes;
        if (limit->meta.key->namespace == owner->key->namespace &&
            (request < limit->min_bytes || (limit->max_bytes > 0 && request > limit->max_bytes))) {
            why_link(self, &limit->meta, since, "refuses claims of this size");
            return why_because(self, "limit-range");
        }
    }
    return FALSE;
}

/* "exceeded quota: q, requested: pods=1,requests.cpu=500m, used: ...": whether there is still no
 * room. */
static gboolean
is_exceeded(const ResourceQuota *quota, const char *refusal)
{
    const char *from = strstr(refusal, "requested: "), *to = strstr(refusal, ", used: ");
    g_autofree char *list =
        from == NULL || to == NULL
            ? g_strdup("")
            : g_strndup(from + strlen("requested: "), (gsize)(to - from) - strlen("requested: "));
    g_auto(GStrv) items = g_strsplit(list, ",", 0);

    for (unsigned i = 0; items[i] != NULL; i++) {
        char *amount = strchr(items[i], '=');
        int64_t units, milli;
        if (amount == NULL || !quantity_parse(amount + 1, &units, &milli, NULL))
            continue;
        *amount = '\0';
        const ResourceAmount *hard = resource_amounts_find(quota->status_hard, items[i]);
        const ResourceAmount *used = resource_amounts_find(quota->used, items[i]);
        if (hard != NULL && used != NULL &&
            used->value + (resource_is_milli(items[i]) ? milli : units) > hard->value)
            return TRUE;
    }
    return FALSE;
}

/* Returns: (nullable) (borrowed): the quota that the refusal names */
static const ResourceQuota *
refusing_quota(Question *self, const Object *owner, const char *refusal)
{
    const GPtrArray *quotas = why_list(self, KIND_RESOURCE_QUOTA);

    for (unsigned i = 0; i < quotas->len; i++) {
        const ResourceQuota *quota = quotas->pdata[i];
        g_autofree char *begin = g_strdup_printf("exceeded quota: %s,", object_name(&quota->meta));
        if (quota->meta.key->namespace == owner->key->namespace && strstr(refusal, begin) != NULL)
            return quota;
    }
    return NULL;
}

/* The pods that @owner wants are refused, by the latest word about it. If that is a quota, it may
 * have room again: then the controller will try once more. */
static gboolean
ask_refused_pods(Question *self, const Object *owner)
{
    const ApiEvent *event = why_event(self, owner, "FailedCreate");
    const char *refusal = event == NULL ? NULL : strstr(event->message, "is forbidden: ");

    if (refusal == NULL || strstr(event->message, "pods \"") == NULL)
        return FALSE;
    refusal += strlen("is forbidden: ");
    const ResourceQuota *quota = refusing_quota(self, owner, refusal);
    if (quota != NULL && !is_exceeded(quota, refusal))
        return FALSE;
    if (quota != NULL) {
        why_link(self, owner, event->first_at, "gets no more pods");
        why_link(self, &quota->meta, event->first_at, "refuses them: %s",
                 strstr(refusal, ", requested: ") + strlen(", "));
        return why_because(self, "pod-quota");
    }
    why_link(self, owner, event->first_at, "gets no pods: %s", refusal);
    return why_because(self, "pod-refused");
}

static gboolean
ask_refusal(Question *self, const StatefulSet *set)
{
    return set->claim_templates != NULL && why_event(self, &set->meta, "FailedCreate") != NULL &&
           why_ask_refusal(self, &set->meta, set->claim_templates->items[0]);
}

gboolean
why_ask_stateful_set(Question *self, const Object *workload)
{
    const StatefulSet *set = (const StatefulSet *)workload;
    if (set->ready_replicas >= set->replicas && set->updated_replicas >= set->replicas &&
        set->status_replicas <= set->replicas)
        return FALSE;
    why_link(self, &set->meta, TIME_UNSET,
             "has %d of %d replicas ready, pods in all: %d, of its last revision: %d",
             set->ready_replicas, set->replicas, set->status_replicas, set->updated_replicas);
    return ask_pods(self, &set->meta) || ask_refusal(self, set) ||
           ask_refused_pods(self, &set->meta) ||
           why_ask_process(self, "kube-controller-manager", NULL) ||
           why_because(self, "starting-workload");
}

gboolean
why_ask_replica_set(Question *self, const Object *workload)
{
    const ReplicaSet *set = REPLICA_SET_CONST(workload);
    if (set->ready_replicas >= set->replicas)
        return FALSE;
    why_link(self, &set->meta, TIME_UNSET, "has %d of %d replicas ready", set->ready_replicas,
             set->replicas);
    return ask_pods(self, &set->meta) || ask_refused_pods(self, &set->meta) ||
           why_ask_process(self, "kube-controller-manager", NULL) ||
           why_because(self, "starting-workload");
}

gboolean
why_ask_deployment(Question *self, const Object *workload)
{
    const Deployment *deployment = DEPLOYMENT_CONST(workload);
    const GPtrArray *sets = why_list(self, KIND_REPLICA_SET);

    if (deployment->ready_replicas >= deployment->replicas &&
        deployment->updated_replicas >= deployment->replicas &&
        deployment->status_replicas <= deployment->replicas)
        return FALSE;
    why_link(self, &deployment->meta, TIME_UNSET,
             "has %d of %d replicas ready, pods in all: %d, of its last revision: %d",
             deployment->ready_replicas, deployment->replicas, deployment->status_replicas,
             deployment->updated_replicas);
    if (deployment->paused && deployment->updated_replicas < deployment->replicas) {
        why_link(self, &deployment->meta, deployment->progressing.changed_at, "is paused");
        return why_because(self, "paused");
    }
    for (unsigned i = 0; i < sets->len; i++) {
        const ReplicaSet *set = sets->pdata[i];
        if (why_owner(self, &set->meta, KIND_DEPLOYMENT) == &deployment->meta &&
            why_ask_replica_set(self, &set->meta))
            return TRUE;
    }
    return why_ask_process(self, "kube-controller-manager", NULL) ||
           why_because(self, "starting-workload");
}

gboolean
why_ask_daemon_set(Question *self, const Object *workload)
{
    const DaemonSet *set = DAEMON_SET_CONST(workload);
    if (set->ready >= set->desired_scheduled)
        return FALSE;
    why_link(self, &set->meta, TIME_UNSET, "has %d of %d pods ready", set->ready,
             set->desired_scheduled);
    return ask_pods(self, &set->meta) || ask_refused_pods(self, &set->meta) ||
           why_because(self, "starting-workload");
}

gboolean
why_ask_job(Question *self, const Object *workload)
{
    const Job *job = JOB_CONST(workload);
    if (job->has_failed.status == CONDITION_TRUE) {
        why_link(self, &job->meta, job->has_failed.changed_at, "has Failed: %s",
                 job->has_failed.reason == NULL ? "" : job->has_failed.reason);
        return why_because(self, "job-failed");
    }
    if (job_is_finished(job))
        return FALSE;
    why_link(self, &job->meta, job->started_at, "has %d of %d completions", job->succeeded,
             MAX(job->completions, 1));
    if (job->suspend) {
        why_link(self, &job->meta, job->suspended.changed_at, "is suspended");
        return why_because(self, "job-suspended");
    }
    return ask_pods(self, &job->meta) || ask_refused_pods(self, &job->meta) ||
           why_because(self, "starting-workload");
}

/* CRJ-5: what it makes, it makes at its time. */
gboolean
why_ask_cron_job(Question *self, const Object *workload)
{
    const CronJob *cron = CRON_JOB_CONST(workload);
    const GPtrArray *jobs = why_list(self, KIND_JOB);

    for (unsigned i = 0; i < jobs->len; i++) {
        const Object *job = jobs->pdata[i];
        if (why_owner(self, job, KIND_CRON_JOB) != workload || job_is_finished(JOB_CONST(job)))
            continue;
        const unsigned n_links = self->why->chain->len;
        why_link(self, workload, cron->scheduled_at, "has made %s", object_name(job));
        if (why_ask_object(self, job))
            return TRUE;
        g_ptr_array_set_size(self->why->chain, (int)n_links);
    }
    if (cron->suspend) {
        why_link(self, workload,
                 cron->scheduled_at == TIME_UNSET ? workload->created_at : cron->scheduled_at,
                 "makes no Jobs: spec.suspend is true");
        return why_because(self, "job-suspended");
    }
    return why_ask_process(self, "kube-controller-manager", NULL);
}

/* The owners of the budget's pods may be kept from making one more. */
static gboolean
ask_owners(Question *self, const DisruptionBudget *budget)
{
    const GPtrArray *pods = why_list(self, KIND_POD);

    for (unsigned i = 0; i < pods->len; i++) {
        const Object *pod = pods->pdata[i];
        if (pod->key->namespace != budget->meta.key->namespace ||
            !label_selector_matches(budget->selector, pod->labels))
            continue;
        for (ObjectKind kind = 0; kind < N_KINDS; kind++) {
            const Object *owner = kind_scales(kind) ? why_owner(self, pod, kind) : NULL;
            if (owner != NULL && why_ask_object(self, owner))
                return TRUE;
        }
    }
    return FALSE;
}

static gboolean
ask_budget_once(Question *self, const Object *object)
{
    const DisruptionBudget *budget = DISRUPTION_BUDGET_CONST(object);
    const GPtrArray *pods = why_list(self, KIND_POD);

    if (budget->disruptions_allowed > 0 || budget->expected_pods == 0)
        return FALSE;
    why_link(self, &budget->meta, budget->allowed.changed_at,
             "allows no disruption: %d of its pods must be healthy, and %d of them are",
             budget->desired_healthy, budget->current_healthy);
    /* a pod more that is healthy would make the difference */
    const gboolean helps = budget->current_healthy < budget->desired_healthy ||
                           budget->desired_healthy < budget->expected_pods;
    /* with a number in minAvailable only pods that there are count as expected */
    const gboolean counts_pods = budget->min_available.is_set && !budget->min_available.is_percent;
    for (unsigned i = 0; helps && i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        if (pod->meta.key->namespace == budget->meta.key->namespace && !pod_is_ready(pod) &&
            label_selector_matches(budget->selector, pod->meta.labels) && why_ask_pod(self, pod))
            return TRUE;
    }
    return ((helps || counts_pods) && ask_owners(self, budget)) || why_because(self, "budget");
}

gboolean
why_ask_budget(Question *self, const DisruptionBudget *budget)
{
    return why_once(self, &budget->meta, ask_budget_once);
}

/* ---- Pods that are not there ---- */

/* "web-2" of "web" is made when the ones before it are ready. */
static gboolean
ask_ordinal(Question *self, const StatefulSet *set, const char *name, guint64 ordinal)
{
    g_autofree char *label = g_strconcat("pod/", name, NULL);
    const char *namespace = set->meta.key->namespace;

    why_link_named(self, label, TIME_UNSET, "is not made yet");
    if (ask_refusal(self, set))
        return TRUE;
    for (guint64 i = (guint64)set->ordinals_start; !set->parallel && i < ordinal; i++) {
        g_autofree char *before =
            g_strdup_printf("%s-%" G_GUINT64_FORMAT, object_name(&set->meta), i);
        const Object *pod = why_get(self, KIND_POD, namespace, before);
        if (pod == NULL)
            break;
        const SimTime ready_for = set->min_ready_s * SIM_SECOND;
        if (pod_is_ready(POD_CONST(pod)) && POD_CONST(pod)->ready.changed_at != TIME_UNSET &&
            POD_CONST(pod)->ready.changed_at + ready_for > self->now) {
            why_link(self, &set->meta, POD_CONST(pod)->ready.changed_at,
                     "makes %s when %s has been ready for %d s (minReadySeconds)", name, before,
                     set->min_ready_s);
            return why_until(self, "ordered", POD_CONST(pod)->ready.changed_at + ready_for);
        }
        if (pod_is_ready(POD_CONST(pod)))
            continue;
        why_link(self, &set->meta, TIME_UNSET, "makes %s when %s is ready", name, before);
        return why_ask_pod(self, POD_CONST(pod)) || why_because(self, "ordered");
    }
    why_link(self, &set->meta, TIME_UNSET, "has not made %s yet", name);
    return why_ask_process(self, "kube-controller-manager", NULL) || why_because(self, "ordered");
}

gboolean
why_ask_missing_pod(Question *self, const char *namespace, const char *name)
{
    const GPtrArray *sets = why_list(self, KIND_STATEFUL_SET);
    const char *dash = strrchr(name, '-');
    guint64 ordinal;

    if (dash == NULL || !g_ascii_string_to_unsigned(dash + 1, 10, 0, G_MAXINT32, &ordinal, NULL))
        return FALSE;
    for (unsigned i = 0; i < sets->len; i++) {
        const StatefulSet *set = sets->pdata[i];
        const char *set_name = object_name(&set->meta);
        if (strlen(set_name) == (size_t)(dash - name) && g_str_has_prefix(name, set_name) &&
            (namespace == NULL || strcmp(set->meta.key->namespace, namespace) == 0) &&
            ordinal < (guint64)set->ordinals_start + (guint64)set->replicas)
            return ask_ordinal(self, set, name, ordinal);
    }
    return FALSE;
}
