/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"
#include "models/api/quota/quota.h"
#include "models/api/workload.h"

#include <stdlib.h>
#include <string.h>

/* Workloads at rest: as many pods as their specs want, and statuses that count them. Counted here
 * anew, from the pods of the API server. */

typedef struct {
    int32_t n;         /* neither over nor on their way out */
    int32_t n_going;   /* on their way out, and not over */
    int32_t n_over;    /* Succeeded or Failed */
    int32_t ready;     /* of n */
    int32_t available; /* of n */
} PodCount;

static gboolean
is_active(const Pod *pod)
{
    return !pod_is_terminal(pod) && !object_is_deleted(&pod->meta);
}

static gboolean
is_available(const Invariants *self, const Pod *pod, int32_t min_ready_s)
{
    return pod_is_ready(pod) &&
           pod->ready.changed_at + min_ready_s * SIM_SECOND <= sim_now(self->sim);
}

static void
invariants_workloads_count_pod(const Invariants *self,
                               const Pod *pod,
                               int32_t min_ready_s,
                               PodCount *count)
{
    if (pod_is_terminal(pod)) {
        count->n_over++;
    } else if (object_is_deleted(&pod->meta)) {
        count->n_going++;
    } else {
        count->n++;
        count->ready += pod_is_ready(pod);
        count->available += is_available(self, pod, min_ready_s);
    }
}

static PodCount
count_pods_of(const Invariants *self, const Object *owner, int32_t min_ready_s)
{
    PodCount count = {0};

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod != NULL && object_is_controlled_by(&pod->meta, owner))
            invariants_workloads_count_pod(self, pod, min_ready_s, &count);
    }
    return count;
}

static void
expect(Invariants *self, const Object *object, const char *what, int64_t has, int64_t wants)
{
    if (has != wants)
        invariants_fault(self, "%s %s: %s is %" G_GINT64_FORMAT ", not %" G_GINT64_FORMAT,
                         kind_class(object_kind(object))->kind, object->key->text, what, has,
                         wants);
}

/* ---- ReplicaSets and Deployments ---- */

/* WL-75 */
static void
check_replica_set(Invariants *self, const ReplicaSet *set)
{
    const Object *object = &set->meta;
    PodCount count = count_pods_of(self, object, set->min_ready_s);

    expect(self, object, "the number of its pods", count.n, set->replicas);
    expect(self, object, "observedGeneration", set->observed_generation, object->generation);
    expect(self, object, "status.replicas", set->status_replicas, count.n);
    expect(self, object, "readyReplicas", set->ready_replicas, count.ready);
    expect(self, object, "availableReplicas", set->available_replicas, count.available);
}

typedef struct {
    int32_t wanted, wanted_new, n, updated, ready, available, available_new;
    unsigned n_new;
} SetsCount;

static SetsCount
count_sets(const Invariants *self, const Deployment *deployment)
{
    SetsCount sum = {0};

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_REPLICA_SET); i++) {
        const ReplicaSet *set = REPLICA_SET_CONST(invariants_stored(self, KIND_REPLICA_SET, i));
        if (set == NULL || !object_is_controlled_by(&set->meta, &deployment->meta))
            continue;
        PodCount count = count_pods_of(self, &set->meta, deployment->min_ready_s);
        gboolean is_new = pod_template_same(set->template, deployment->template);
        sum.n_new += is_new;
        sum.wanted += set->replicas;
        sum.wanted_new += is_new ? set->replicas : 0;
        sum.updated += is_new ? count.n : 0;
        sum.n += count.n;
        sum.ready += count.ready;
        sum.available += count.available;
        sum.available_new += is_new ? count.available : 0;
    }
    return sum;
}

/* WL-20 to WL-23: what a rolling update may have at most, and how it ends. */
static void
check_rollout(Invariants *self, const Deployment *deployment, const SetsCount *sum)
{
    const Object *object = &deployment->meta;
    int32_t surge = deployment->recreate ? 0 : deployment_max_surge(deployment);
    int32_t least = deployment->replicas - deployment_max_unavailable(deployment);

    if (sum->wanted > deployment->replicas + surge)
        invariants_fault(self, "Deployment %s: its sets want %d pods, %d and %d more are allowed",
                         object->key->text, sum->wanted, deployment->replicas, surge);
    expect(self, object, "the number of its new sets", sum->n_new, 1);
    if (sum->available_new >= deployment->replicas) {
        expect(self, object, "the number of pods that its sets want", sum->wanted,
               deployment->replicas);
        expect(self, object, "the number of pods that its new set wants", sum->wanted_new,
               deployment->replicas);
    }
    if ((deployment->available.status == CONDITION_TRUE) != (sum->available >= least))
        invariants_fault(self, "Deployment %s: its condition Available is wrong, %d are available",
                         object->key->text, sum->available);
}

static void
check_deployment(Invariants *self, const Deployment *deployment)
{
    const Object *object = &deployment->meta;
    SetsCount sum = count_sets(self, deployment);

    expect(self, object, "observedGeneration", deployment->observed_generation, object->generation);
    expect(self, object, "status.replicas", deployment->status_replicas, sum.n);
    expect(self, object, "updatedReplicas", deployment->updated_replicas, sum.updated);
    expect(self, object, "readyReplicas", deployment->ready_replicas, sum.ready);
    expect(self, object, "availableReplicas", deployment->available_replicas, sum.available);
    expect(self, object, "unavailableReplicas", deployment->unavailable_replicas,
           MAX(sum.wanted - sum.available, 0));
    if (!deployment->paused)
        check_rollout(self, deployment, &sum);
}

/* ---- StatefulSets ---- */

/* WL-43: a pod of another set has the name: one of this name that was deleted, say, and the kubelet
 * cannot end its pod. */
static gboolean
name_is_taken(const Invariants *self, const StatefulSet *set, int ordinal)
{
    g_autofree char *name = g_strdup_printf("%s-%d", set->meta.key->name, ordinal);
    const ObjectKey *key =
        objects_find_key(self->objects, KIND_POD, set->meta.key->namespace, name);
    const Object *pod = key == NULL ? NULL : api_server_get(self->api, key);

    return pod != NULL && !object_is_controlled_by(pod, &set->meta);
}

/* Returns: its ordinal; negative: it is none of the set's */
static int
ordinal_of(const StatefulSet *set, const Pod *pod)
{
    const char *name = pod->meta.key->name;
    size_t length = strlen(set->meta.key->name);

    if (strncmp(name, set->meta.key->name, length) != 0 || name[length] != '-')
        return -1;
    return atoi(name + length + 1);
}

static const Pod *
pod_of_ordinal(const Invariants *self, const StatefulSet *set, int ordinal)
{
    g_autofree char *name = g_strdup_printf("%s-%d", set->meta.key->name, ordinal);
    const ObjectKey *key =
        objects_find_key(self->objects, KIND_POD, set->meta.key->namespace, name);
    const Object *pod = key == NULL ? NULL : api_server_get(self->api, key);

    return pod != NULL && object_is_controlled_by(pod, &set->meta) ? POD_CONST(pod) : NULL;
}

static gboolean
has_quota(const Invariants *self, const Object *object)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_RESOURCE_QUOTA); i++) {
        const Object *quota = invariants_stored(self, KIND_RESOURCE_QUOTA, i);
        if (quota != NULL && quota->key->namespace == object->key->namespace)
            return TRUE;
    }
    return FALSE;
}

/* WL-41, WL-50: all replicas are there up to the first that is not ready, all of them if the set is
 * parallel, and of the new template from the partition on. */
static void
check_replicas(Invariants *self, const StatefulSet *set)
{
    const Object *object = &set->meta;
    gboolean is_blocked = FALSE; /* by a pod that is not ready */

    for (int32_t i = set->replicas - 1; i >= 0; i--) {
        const Pod *pod = pod_of_ordinal(self, set, set->ordinals_start + i);
        is_blocked |= pod == NULL || !is_available(self, pod, set->min_ready_s) ||
                      object_is_deleted(&pod->meta);
    }
    for (int32_t i = 0; i < set->replicas; i++) {
        const Pod *pod = pod_of_ordinal(self, set, set->ordinals_start + i);
        if (pod == NULL) {
            if (!name_is_taken(self, set, set->ordinals_start + i))
                invariants_fault(self, "StatefulSet %s: its pod %d is missing", object->key->text,
                                 i);
            return;
        }
        gboolean is_new = g_strcmp0(object_label(&pod->meta, "controller-revision-hash"),
                                    set->update_revision) == 0;
        if (!is_blocked && !set->on_delete && i >= set->partition && !is_new)
            invariants_fault(self, "StatefulSet %s: pod %d is of an old template",
                             object->key->text, i);
        if (!set->parallel && (!pod_is_ready(pod) || object_is_deleted(&pod->meta)))
            return;
    }
    if (!is_blocked && !set->on_delete && set->partition == 0 &&
        g_strcmp0(set->current_revision, set->update_revision) != 0)
        invariants_fault(self, "StatefulSet %s: its update never ends", object->key->text);
}

/* WL-30: the controller looks one second after a pod has become available; in a rolling update the
 * next pod may be in this second at each look of the soak. */
#define AVAILABLE_SOON (2 * SIM_SECOND)

static gboolean
is_just_available(const Invariants *self, const Pod *pod, int32_t min_ready_s)
{
    return min_ready_s > 0 && is_available(self, pod, min_ready_s) &&
           pod->ready.changed_at + min_ready_s * SIM_SECOND + AVAILABLE_SOON > sim_now(self->sim);
}

/* WL-2, WL-30: after a failure the next sync may wait for minutes, and that wait swallows the look
 * after minReadySeconds, if it was shorter at first: AddAfter() keeps the earlier of two times, and
 * the retry after that is a later one. client-go's delaying_queue.go, insert(). */
static gboolean
counts_late(const Invariants *self, const StatefulSet *set, int32_t n)
{
    return self->is_looking && set->min_ready_s > 0 && n < set->replicas &&
           has_quota(self, &set->meta);
}

static void
check_available(Invariants *self, const StatefulSet *set, int32_t available, int32_t just)
{
    if (set->available_replicas < available - just || set->available_replicas > available)
        expect(self, &set->meta, "availableReplicas", set->available_replicas, available);
}

static void
invariants_workloads_check_stateful_set(Invariants *self, const StatefulSet *set)
{
    const Object *object = &set->meta;
    int32_t ready = 0, available = 0, just = 0, n = 0, n_surplus = 0, n_updated = 0;
    gboolean is_healthy = TRUE;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod == NULL || !object_is_controlled_by(&pod->meta, object))
            continue;
        int ordinal = ordinal_of(set, pod) - set->ordinals_start;
        n++;
        ready += pod_is_ready(pod) && pod->phase == POD_RUNNING;
        available += is_available(self, pod, set->min_ready_s);
        just += is_just_available(self, pod, set->min_ready_s);
        n_updated +=
            is_active(pod) && g_strcmp0(object_label(&pod->meta, "controller-revision-hash"),
                                        set->update_revision) == 0;
        is_healthy &= pod_is_ready(pod) && is_active(pod);
        n_surplus += ordinal >= set->replicas && is_active(pod);
    }
    expect(self, object, "observedGeneration", set->observed_generation, object->generation);
    expect(self, object, "status.replicas", set->status_replicas, n);
    expect(self, object, "readyReplicas", set->ready_replicas, ready);
    if (!counts_late(self, set, n))
        check_available(self, set, available, just);
    expect(self, object, "updatedReplicas", set->updated_replicas, n_updated);
    if ((set->parallel || is_healthy) && n_surplus > 0)
        invariants_fault(self, "StatefulSet %s: has %d pods too many", object->key->text,
                         n_surplus);
    if (!has_quota(self, object))
        check_replicas(self, set);
}

/* ---- DaemonSets ---- */

/* DS-2 */
static gboolean
daemon_tolerates(const DaemonSet *set, const Taint *taint)
{
    static const char *const keys[] = {"not-ready",       "unreachable",  "disk-pressure",
                                       "memory-pressure", "pid-pressure", "unschedulable"};
    static const char prefix[] = "node.kubernetes.io/";

    if (taint->effect == TAINT_PREFER_NO_SCHEDULE ||
        tolerations_find(set->template->spec->tolerations, taint) != NULL)
        return TRUE;
    if (!g_str_has_prefix(taint->key, prefix))
        return FALSE;
    for (unsigned i = 0; i < G_N_ELEMENTS(keys); i++)
        if (g_str_equal(taint->key + strlen(prefix), keys[i]) &&
            taint->effect == (i < 2 ? TAINT_NO_EXECUTE : TAINT_NO_SCHEDULE))
            return TRUE;
    return FALSE;
}

typedef enum {
    NODE_IS_FOREIGN, /* pods there go */
    NODE_IS_CLOSED,  /* a pod there stays, and none comes */
    NODE_IS_WANTED,
} DaemonNode;

/* DS-1 */
static DaemonNode
daemon_node(const DaemonSet *set, const Node *node)
{
    const PodSpec *spec = set->template->spec;
    DaemonNode answer = NODE_IS_WANTED;

    if ((spec->node_selector != NULL &&
         !string_map_contains(node->meta.labels, spec->node_selector)) ||
        !node_selector_matches(spec->required_nodes, node->meta.labels, node->meta.key->name))
        return NODE_IS_FOREIGN;
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        if (daemon_tolerates(set, &node->taints->items[i]))
            continue;
        if (node->taints->items[i].effect == TAINT_NO_EXECUTE)
            return NODE_IS_FOREIGN;
        answer = NODE_IS_CLOSED;
    }
    return answer;
}

/* Where it runs, or waits to run (DS-3). */
static const char *
node_of_daemon(const Pod *pod)
{
    const NodeSelector *required = pod->spec->required_nodes;

    if (pod->node_name != NULL || required == NULL || required->n_terms == 0)
        return pod->node_name;
    return required->terms[0].field_name;
}

/* DS-32; these worlds change only labels of templates. */
static gboolean
is_of_template(const DaemonSet *set, const Pod *pod)
{
    return string_map_contains(pod->meta.labels, set->template->labels);
}

/* DS-42: nothing looks again when the new pod beside an old one becomes available, if an earlier
 * look was due already. */
static gboolean
surges_late(const DaemonSet *set)
{
    return set->max_surge.is_set && set->max_surge.value > 0 && set->min_ready_s > 0;
}

/* DS-5, DS-21: until the new pod is available the old one stays, however long that takes: the new
 * one may find no room beside it. rollingUpdate() in update.go: "we're waiting to go available
 * here". */
static int32_t
daemons_at_most(const Invariants *self, const DaemonSet *set, int32_t n_old, const Pod *new_pod)
{
    if (set->on_delete || set->max_surge.value == 0 || n_old != 1 || new_pod == NULL)
        return 1;
    return surges_late(set) || !is_available(self, new_pod, set->min_ready_s) ? 2 : 1;
}

typedef struct {
    int32_t wanted, current, misscheduled, ready, available, updated;
    gboolean is_well; /* all pods are ready */
} DaemonCount;

/* DS-4, DS-6: pods that are over under deletion take no place. */
static void
check_daemon_node(Invariants *self, const DaemonSet *set, const Node *node, DaemonCount *count)
{
    DaemonNode kind = daemon_node(set, node);
    int32_t n = 0, n_old = 0, n_pods = 0;
    const Pod *oldest = NULL, *new_pod = NULL;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod == NULL || !object_is_controlled_by(&pod->meta, &set->meta) ||
            node_of_daemon(pod) != node->meta.key->name)
            continue;
        n_pods++;
        n += is_active(pod);
        n_old += is_active(pod) && !is_of_template(set, pod);
        if (is_active(pod) && is_of_template(set, pod))
            new_pod = pod;
        if (oldest == NULL || pod->meta.created_at < oldest->meta.created_at)
            oldest = pod;
    }
    count->wanted += kind == NODE_IS_WANTED;
    count->misscheduled += kind != NODE_IS_WANTED && n_pods > 0;
    if (kind == NODE_IS_WANTED && oldest != NULL) {
        count->current++;
        count->ready += pod_is_ready(oldest);
        count->available += is_available(self, oldest, set->min_ready_s);
        count->updated += is_of_template(set, oldest);
    }
    count->is_well &= kind != NODE_IS_WANTED || (oldest != NULL && pod_is_ready(oldest) &&
                                                 (new_pod == NULL || pod_is_ready(new_pod)));
    if ((kind == NODE_IS_WANTED && n_pods == 0) || (kind == NODE_IS_FOREIGN && n > 0) ||
        n > daemons_at_most(self, set, n_old, new_pod))
        invariants_fault(self, "DaemonSet %s: %d pods on %s", set->meta.key->text, n,
                         node->meta.key->name);
}

static void
check_daemon_set(Invariants *self, const DaemonSet *set)
{
    const Object *object = &set->meta;
    DaemonCount count = {.is_well = TRUE};

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_NODE); i++) {
        const Node *node = (const Node *)invariants_stored(self, KIND_NODE, i);
        if (node != NULL)
            check_daemon_node(self, set, node, &count);
    }
    expect(self, object, "observedGeneration", set->observed_generation, object->generation);
    expect(self, object, "desiredNumberScheduled", set->desired_scheduled, count.wanted);
    expect(self, object, "currentNumberScheduled", set->current_scheduled, count.current);
    expect(self, object, "numberMisscheduled", set->misscheduled, count.misscheduled);
    expect(self, object, "numberReady", set->ready, count.ready);
    expect(self, object, "numberAvailable", set->available, count.available);
    expect(self, object, "numberUnavailable", set->unavailable, count.wanted - count.available);
    expect(self, object, "updatedNumberScheduled", set->updated_scheduled, count.updated);
    if (!set->on_delete && count.is_well && !surges_late(set))
        expect(self, object, "the number of its updated pods", count.updated, count.wanted);
}

/* ---- Jobs ---- */

static void
check_tracking(Invariants *self, const Job *job)
{
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod != NULL && object_is_controlled_by(&pod->meta, &job->meta) &&
            pod_is_terminal(pod) && object_has_finalizer(&pod->meta, FINALIZER_JOB_TRACKING))
            invariants_fault(self, "pod %s: is over and still tracked", pod->meta.key->text);
    }
}

/* WL-82 to WL-86. A Job whose pods fail waits ten minutes at most before the next. */
static void
check_job(Invariants *self, const Job *job)
{
    const Object *object = &job->meta;
    PodCount count = count_pods_of(self, object, 0);
    gboolean is_complete = job->complete.status == CONDITION_TRUE;
    gboolean has_failed = job->has_failed.status == CONDITION_TRUE;
    int32_t left = job->completions < 0 ? job->parallelism : job->completions - job->succeeded;

    expect(self, object, "status.active", job->active, count.n);
    expect(self, object, "status.ready", job->ready, count.ready);
    expect(self, object, "status.terminating", job->terminating, count.n_going);
    expect(self, object, "the number of its uncounted pods",
           (job->uncounted_succeeded == NULL ? 0 : job->uncounted_succeeded->n_items) +
               (job->uncounted_failed == NULL ? 0 : job->uncounted_failed->n_items),
           0);
    check_tracking(self, job);
    if (is_complete && has_failed)
        invariants_fault(self, "Job %s: both Complete and Failed", object->key->text);
    if (is_complete || has_failed || job->suspend)
        expect(self, object, "the number of its pods", count.n, 0);
    else if (!self->is_looking || job->failed == 0) /* a back-off of minutes */
        expect(self, object, "the number of its pods", count.n + count.n_going,
               MIN(job->parallelism, left));
    if (is_complete && job->completions >= 0 && job->success_policy == NULL)
        expect(self, object, "the number of its successes", job->succeeded, job->completions);
    if (has_failed && g_strcmp0(job->has_failed.reason, "BackoffLimitExceeded") == 0 &&
        job->failed <= job->backoff_limit)
        invariants_fault(self, "Job %s: has failed after %d failures of %d", object->key->text,
                         job->failed, job->backoff_limit);
    if (!is_complete && !has_failed && job->backoff_limit_per_index < 0 &&
        job->failed > job->backoff_limit)
        invariants_fault(self, "Job %s: goes on after %d failures of %d", object->key->text,
                         job->failed, job->backoff_limit);
}

/* CRJ: a CronJob keeps as many finished Jobs as its limits say, and names the others. */
static void
check_cron_job(Invariants *self, const CronJob *cron)
{
    const Object *object = &cron->meta;
    int32_t n_active = 0, n_complete = 0, n_failed = 0;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_JOB); i++) {
        const Job *job = JOB_CONST(invariants_stored(self, KIND_JOB, i));
        if (job == NULL || !object_is_controlled_by(&job->meta, object))
            continue;
        n_active += !job_is_finished(job);
        n_complete += job->complete.status == CONDITION_TRUE;
        n_failed += job->has_failed.status == CONDITION_TRUE;
    }
    expect(self, object, "the number of its active Jobs",
           cron->active == NULL ? 0 : cron->active->n_items, n_active);
    if (self->is_looking || cron->suspend) /* it cleans up when it is due the next time */
        return;
    expect(self, object, "the number of its complete Jobs", n_complete,
           MIN(n_complete, cron->successful_limit));
    expect(self, object, "the number of its failed Jobs", n_failed,
           MIN(n_failed, cron->failed_limit));
}

/* ---- Budgets and quotas ---- */

/* The replicas that the controllers of these pods want. */
static int32_t
scale_of_pods(const Invariants *self, const GPtrArray *pods)
{
    g_autoptr(GHashTable) owners = g_hash_table_new(NULL, NULL);
    int32_t sum = 0;

    for (unsigned i = 0; i < pods->len; i++) {
        const OwnerReference *owner = object_controller(pods->pdata[i]);
        const Object *set =
            owner == NULL || owner->key == NULL ? NULL : api_server_get(self->api, owner->key);
        if (set != NULL && object_kind(set) == KIND_STATEFUL_SET &&
            g_hash_table_add(owners, (void *)set))
            sum += STATEFUL_SET(set)->replicas;
    }
    return sum;
}

static gboolean
was_scaled_since(const Invariants *self, const GPtrArray *pods)
{
    for (unsigned i = 0; i < pods->len; i++) {
        const OwnerReference *owner = object_controller(pods->pdata[i]);
        if (owner != NULL && owner->key != NULL && g_hash_table_contains(self->scaled, owner->key))
            return TRUE;
    }
    return FALSE;
}

/* WL-114; the budgets of these worlds are for StatefulSets. */
static void
check_budget(Invariants *self, const DisruptionBudget *budget)
{
    const Object *object = &budget->meta;
    g_autoptr(GPtrArray) pods = g_ptr_array_new();
    int32_t healthy = 0;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_POD); i++) {
        const Pod *pod = POD_CONST(invariants_stored(self, KIND_POD, i));
        if (pod == NULL || pod->meta.key->namespace != object->key->namespace ||
            !label_selector_matches(budget->selector, pod->meta.labels))
            continue;
        g_ptr_array_add(pods, (Pod *)pod);
        healthy += pod_is_ready(pod) && !object_is_deleted(&pod->meta);
    }
    int32_t scale = scale_of_pods(self, pods);
    int32_t expected = budget->max_unavailable.is_set || budget->min_available.is_percent
                           ? scale
                           : (int32_t)pods->len;
    int32_t desired =
        budget->max_unavailable.is_set
            ? MAX(expected - int_or_percent_of(&budget->max_unavailable, expected, TRUE), 0)
            : int_or_percent_of(&budget->min_available, expected, TRUE);
    expect(self, object, "currentHealthy", budget->current_healthy, healthy);
    if (scale != (int32_t)pods->len || was_scaled_since(self, pods))
        return; /* nothing looks again if only the scale changes */
    expect(self, object, "expectedPods", budget->expected_pods, expected);
    expect(self, object, "desiredHealthy", budget->desired_healthy, desired);
    expect(self, object, "disruptionsAllowed", budget->disruptions_allowed,
           expected > 0 ? MAX(healthy - desired, 0) : 0);
}

/* API-153: admission charges a claim before the store finds that there is one of this name, and
 * gives nothing back; the full count comes within five minutes. */
static void
check_used(Invariants *self, const ResourceQuota *quota, const char *resource, int64_t wants)
{
    const ResourceAmount *used = resource_amounts_find(quota->used, resource);
    g_autofree char *what = g_strdup_printf("used[%s]", resource);

    if (resource_amounts_find(quota->hard, resource) == NULL ||
        (self->is_looking && used != NULL && used->value > wants))
        return;
    expect(self, &quota->meta, what, used == NULL ? -1 : used->value, wants);
}

static void
invariants_workloads_check_quota(Invariants *self, const ResourceQuota *quota)
{
    int64_t n_claims = 0, bytes = 0;

    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (claim == NULL || claim->meta.key->namespace != quota->meta.key->namespace)
            continue;
        n_claims++;
        bytes += MAX(claim->request_bytes, claim->allocated_bytes);
    }
    check_used(self, quota, "persistentvolumeclaims", n_claims);
    check_used(self, quota, "requests.storage", bytes);
}

/* ---- Owners ---- */

/* WL-101: nothing outlives its controller. */
static void
check_owner(Invariants *self, const Object *object)
{
    const OwnerReference *owner = object_controller(object);

    if (owner == NULL || owner->key == NULL || object_is_deleted(object))
        return;
    const Object *found = api_server_get(self->api, owner->key);
    if (found == NULL || !object_uid_equal(found->uid, owner->uid))
        invariants_fault(self, "%s %s: outlives its owner", kind_class(object_kind(object))->kind,
                         object->key->text);
}

static void
check_workload(Invariants *self, const Object *object)
{
    switch ((unsigned)object_kind(object)) {
    case KIND_REPLICA_SET:
        check_replica_set(self, REPLICA_SET_CONST(object));
        break;
    case KIND_DEPLOYMENT:
        check_deployment(self, DEPLOYMENT_CONST(object));
        break;
    case KIND_STATEFUL_SET:
        invariants_workloads_check_stateful_set(self, STATEFUL_SET(object));
        break;
    case KIND_DAEMON_SET:
        check_daemon_set(self, DAEMON_SET_CONST(object));
        break;
    case KIND_JOB:
        check_job(self, JOB_CONST(object));
        break;
    case KIND_CRON_JOB:
        check_cron_job(self, CRON_JOB_CONST(object));
        break;
    case KIND_DISRUPTION_BUDGET:
        check_budget(self, DISRUPTION_BUDGET_CONST(object));
        break;
    case KIND_RESOURCE_QUOTA:
        invariants_workloads_check_quota(self, RESOURCE_QUOTA_CONST(object));
        break;
    }
}

void
invariants_check_statuses(Invariants *self)
{
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
            const Object *object = invariants_stored(self, kind, slot);
            if (object != NULL && !object_is_deleted(object))
                check_workload(self, object);
        }
}

void
invariants_check_workloads(Invariants *self)
{
    for (unsigned kind = 0; kind < N_KINDS; kind++)
        for (uint32_t slot = 0; slot < objects_n_keys(self->objects, kind); slot++) {
            const Object *object = invariants_stored(self, kind, slot);
            if (object == NULL || !invariants_is_old(self, object))
                continue;
            check_owner(self, object);
            if (!object_is_deleted(object))
                check_workload(self, object);
        }
}
