/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "invariants-private.h"
#include "models/api/snapshot.h"
#include "models/api/workload.h"
#include "models/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Order and time. Pods of StatefulSets come in their order, evictions after the tolerated time, and
 * repeated failures of calls ever later. An object stays as long as another one needs it. */

#define SEEN_WITHIN (5 * SIM_SECOND) /* by a controller in calm times */
#define IS_CALM_AFTER (2 * SIM_MINUTE)

gboolean
invariants_is_calm_for(const Invariants *self, const char *process, SimTime since)
{
    const GArray *faults = run_faults(self->run);

    for (unsigned i = 0; faults != NULL && i < faults->len; i++) {
        const RunFault *fault = &g_array_index(faults, RunFault, i);
        const ScenarioAction *action = fault->action;
        gboolean is_api = action->fault >= FAULT_API_OUTAGE && action->fault <= FAULT_LIMIT_SEATS;
        gboolean is_own =
            action->fault <= FAULT_LOSE_LEADERSHIP && g_strcmp0(action->process, process) == 0;
        if ((is_api || is_own) &&
            MIN(fault->until, SIM_TIME_MAX - IS_CALM_AFTER) + IS_CALM_AFTER >= since)
            return FALSE;
    }
    return TRUE;
}

/* ---- Pods of StatefulSets ---- */

/* WL-41: with OrderedReady a pod comes after all those of lower ordinals are ready. */
static void
check_order(Invariants *self, const StatefulSet *set, const Pod *pod)
{
    int32_t ordinal = atoi(strrchr(pod->meta.key->name, '-') + 1);
    SimTime now = sim_now(self->sim);

    for (int32_t i = set->ordinals_start; i < ordinal; i++) {
        g_autofree char *name = g_strdup_printf("%s-%d", set->meta.key->name, i);
        const ObjectKey *key =
            objects_find_key(self->objects, KIND_POD, set->meta.key->namespace, name);
        const Object *lower = key == NULL ? NULL : api_server_get(self->api, key);
        SimTime gone_at = key == NULL ? TIME_UNSET : history_gone_at(self->history, key);
        if (lower == NULL && (gone_at == TIME_UNSET || gone_at + SEEN_WITHIN < now))
            invariants_fault(self, "pod %s: made before %s", pod->meta.key->text, name);
        else if (lower != NULL && !pod_is_ready(POD_CONST(lower)) &&
                 (POD_CONST(lower)->ready.status == CONDITION_ABSENT ||
                  POD_CONST(lower)->ready.changed_at + SEEN_WITHIN < now) &&
                 lower->created_at + SEEN_WITHIN < now)
            invariants_fault(self, "pod %s: made before %s is ready", pod->meta.key->text, name);
    }
}

void
invariants_check_new_pod(Invariants *self, const Pod *pod)
{
    const OwnerReference *owner = object_controller(&pod->meta);
    const Object *set = owner == NULL || owner->key == NULL || owner->key->kind != KIND_STATEFUL_SET
                            ? NULL
                            : api_server_get(self->api, owner->key);

    if (set != NULL && !STATEFUL_SET(set)->parallel &&
        invariants_is_calm_for(self, "kube-controller-manager", sim_now(self->sim)))
        check_order(self, STATEFUL_SET(set), pod);
}

/* ---- Jobs of CronJobs ---- */

/* CRJ: none while it is suspended, nor, with Forbid, while another is active. */
void
invariants_check_new_job(Invariants *self, const Object *job)
{
    const OwnerReference *owner = object_controller(job);
    const Object *object = owner == NULL || owner->key == NULL || owner->key->kind != KIND_CRON_JOB
                               ? NULL
                               : api_server_get(self->api, owner->key);
    SimTime now = sim_now(self->sim);

    if (object == NULL || !invariants_is_calm_for(self, "kube-controller-manager", now))
        return;
    SimTime suspended_at = history_suspended_at(self->history, object->key);
    if (CRON_JOB_CONST(object)->suspend && suspended_at != TIME_UNSET &&
        suspended_at + SEEN_WITHIN < now)
        invariants_fault(self, "Job %s: its CronJob is suspended", job->key->text);
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_JOB); i++) {
        const Object *other = invariants_stored(self, KIND_JOB, i);
        if (other != NULL && other != job && object_is_controlled_by(other, object) &&
            CRON_JOB_CONST(object)->concurrency == CRON_FORBID &&
            !job_is_finished(JOB_CONST(other)) && other->created_at + SEEN_WITHIN < now)
            invariants_fault(self, "Job %s: made while %s is active", job->key->text,
                             other->key->text);
    }
}

/* ---- Evictions ---- */

/* NL-41: a pod that tolerates the taints of its node for a while stays for so long. */
void
invariants_check_eviction(Invariants *self, const Pod *pod)
{
    const Node *node = (const Node *)invariants_find(self, KIND_NODE, pod->node_name);
    SimTime since = history_no_execute_since(self->history, pod->node_name);
    int64_t seconds = INT64_MAX;

    if (g_strcmp0(pod->disruption.reason, "DeletionByTaintManager") != 0 || node == NULL ||
        since == TIME_UNSET)
        return;
    for (unsigned i = 0; node->taints != NULL && i < node->taints->n_items; i++) {
        const Toleration *toleration =
            tolerations_find(pod->spec->tolerations, &node->taints->items[i]);
        if (node->taints->items[i].effect != TAINT_NO_EXECUTE)
            continue;
        if (toleration == NULL)
            return;
        if (toleration->seconds >= 0)
            seconds = MIN(seconds, toleration->seconds);
    }
    since = MAX(since, pod->scheduled.changed_at);
    if (seconds == INT64_MAX || sim_now(self->sim) - since < (seconds - 2) * SIM_SECOND)
        invariants_fault(self, "pod %s: evicted from %s too early", pod->meta.key->text,
                         pod->node_name);
}

/* ---- Snapshots ---- */

/* SNAP-31: a snapshot stays while a claim is being made from it. */
void
invariants_check_restored(Invariants *self, const Object *snapshot)
{
    if (VOLUME_SNAPSHOT_CONST(snapshot)->bound_content == NULL ||
        !invariants_is_calm_for(self, "snapshot-controller", snapshot->deleted_at))
        return;
    for (uint32_t i = 0; i < objects_n_keys(self->objects, KIND_CLAIM); i++) {
        const Claim *claim = CLAIM_CONST(invariants_stored(self, KIND_CLAIM, i));
        if (claim != NULL && claim->phase == CLAIM_PENDING &&
            g_strcmp0(claim->data_source.kind, "VolumeSnapshot") == 0 &&
            g_str_equal(claim->data_source.name, snapshot->key->name) &&
            claim->meta.key->namespace == snapshot->key->namespace &&
            claim->meta.created_at + SEEN_WITHIN < snapshot->deleted_at)
            invariants_fault(self, "snapshot %s: gone, but claim %s needs it", snapshot->key->text,
                             claim->meta.key->text);
    }
}

/* ---- Back-offs ---- */

/* The shortest first back-off is 500 ms, of the kubelet's operations; each doubles. Events and
 * restarts may lead to more calls. */
#define FIRST_BACKOFF (500 * SIM_MS)
#define CALLS_PER_DOUBLING 4
#define CALLS_MORE 30

typedef struct {
    SimTime first_at;
    unsigned n;
    gboolean is_told;
} Failures;

/* A call that fails all the time is repeated less and less often. */
void
invariants_check_pace(Invariants *self, const CsiCallRecord *record)
{
    const CsiRequest *request = record->request;
    const char *what = request->volume_id != NULL ? request->volume_id : request->name;
    const GArray *faults = run_faults(self->run);

    if (what == NULL || record->answered_at == SIM_TIME_MAX ||
        request->method == CSI_NODE_GET_VOLUME_STATS)
        return;
    g_autofree char *key =
        g_strdup_printf("%s %s %s%s %s", csi_method_name(request->method), what,
                        request->node_id == NULL ? "" : request->node_id,
                        request->served_by == NULL ? "" : request->served_by,
                        request->target_path == NULL ? "" : request->target_path);
    if (record->answer == CSI_OK) {
        g_hash_table_remove(self->failures, key);
        return;
    }
    Failures *failures = g_hash_table_lookup(self->failures, key);
    if (failures == NULL) {
        failures = g_new0(Failures, 1);
        failures->first_at = sim_now(self->sim);
        g_hash_table_insert(self->failures, g_strdup(key), failures);
    }
    double doublings =
        log2(1 + (double)(sim_now(self->sim) - failures->first_at) / (double)FIRST_BACKOFF);
    unsigned allowed = CALLS_MORE * (1 + (faults == NULL ? 0 : faults->len)) +
                       (unsigned)(CALLS_PER_DOUBLING * doublings);
    if (++failures->n > allowed && !failures->is_told) {
        failures->is_told = TRUE;
        invariants_fault(self, "%s: fails, and was called %u times", key, failures->n);
    }
}

/* The same of requests: the steps of a component about an object, without those that only wait. */
#define STEPS_WINDOW (10 * SIM_MINUTE)
#define STEPS_MAX 250

typedef struct {
    SimTime from;
    unsigned n;
    unsigned turn; /* of its volume, at the last step */
} InvariantsTimeSteps;

/* OP-2, ADC-58: to attach a volume for one node and to detach it elsewhere share a record. As long
 * as both fail they take turns, and each resets the back-off of the other. A try lasts until its
 * first poll at least (ADC-60, ADC-61). */
#define SHORTEST_TURN (500 * SIM_MS)

typedef struct {
    gboolean is_detach;
    SimTime since;
    unsigned n;
} Turns;

static unsigned
turn_of(Invariants *self, const ObjectKey *key, const char *rule)
{
    gboolean is_detach = g_str_equal(rule, "ADC-57") || g_str_equal(rule, "ADC-61");
    gboolean is_attach = g_str_equal(rule, "ADC-56") || g_str_equal(rule, "ADC-60");
    const Volume *volume =
        key->kind == KIND_VOLUME ? VOLUME_CONST(api_server_get(self->api, key)) : NULL;
    SimTime now = sim_now(self->sim);

    if (volume == NULL || (!is_detach && !is_attach) ||
        (volume_access_modes(volume) & (ACCESS_RWX | ACCESS_ROX)) != 0)
        return 0;
    Turns *turns = g_hash_table_lookup(self->turns, key);
    if (turns == NULL) {
        turns = g_new0(Turns, 1);
        *turns = (Turns){.is_detach = is_detach, .since = now};
        g_hash_table_insert(self->turns, (void *)key, turns);
    }
    if (turns->is_detach != is_detach && turns->since + SHORTEST_TURN <= now)
        *turns = (Turns){is_detach, now, turns->n + 1};
    return turns->n;
}

/* Whether there may be many: about groups of snapshots and their members they never end (SNAP-88,
 * SNAP-89); a kubelet that is short of something turns pods away, and their controllers make others
 * at once. A StatefulSet tries to make its missing pods whenever one of its others changes (WL-30).
 */
static gboolean
is_busy(const Component *component, const ObjectKey *key)
{
    if (g_str_equal(component->class->name, "statefulset-controller"))
        return TRUE;
    switch ((unsigned)key->kind) {
    case KIND_GROUP_SNAPSHOT:
    case KIND_GROUP_CONTENT:
    case KIND_DEPLOYMENT:
    case KIND_REPLICA_SET:
    case KIND_STATEFUL_SET:
    case KIND_DAEMON_SET:
    case KIND_JOB:
    case KIND_DISRUPTION_BUDGET: /* each change of a pod counts */
        return TRUE;
    }
    return g_str_has_prefix(key->name, "snapshot-");
}

static gboolean
is_idle(const char *step)
{
    return g_str_equal(step, "change") || g_str_equal(step, "poll") || g_str_equal(step, "wait") ||
           g_str_equal(step, "start");
}

void
invariants_saw_step(
    void *data, const Component *component, const Plan *plan, const char *rule, const char *step)
{
    Invariants *self = data;
    const ObjectKey *key = plan_key(plan);
    SimTime now = sim_now(self->sim);

    history_saw_step(self->history, component, plan, rule, step);
    if (key == NULL || step == NULL || rule == NULL || is_busy(component, key) || is_idle(step))
        return;
    int64_t id = (int64_t)(((uintptr_t)component * 31 + (uintptr_t)key) * 1000003 +
                           31 * g_str_hash(step) + g_str_hash(rule));
    InvariantsTimeSteps *steps = g_hash_table_lookup(self->steps, &id);
    if (steps == NULL) {
        steps = g_new0(InvariantsTimeSteps, 1);
        g_hash_table_insert(self->steps, g_memdup2(&id, sizeof id), steps);
    }
    unsigned turn = turn_of(self, key, rule);
    if (steps->n == 0 || steps->from + STEPS_WINDOW < now || steps->turn != turn)
        *steps = (InvariantsTimeSteps){now, 0, turn};
    if (++steps->n == STEPS_MAX)
        invariants_fault(self, "%s%s%s: %s of %s by %s: %u times in ten minutes",
                         component->class->name, component->node_name == NULL ? "" : "/",
                         component->node_name == NULL ? "" : component->node_name, step, key->text,
                         rule, steps->n);
}

/* ---- Statuses that lag ---- */

#define SOON (SIM_MINUTE + 30 * SIM_SECOND) /* after a fault its effects are over */
#define LAGS_MAX 4                          /* looks that see the same */

static gboolean
is_calm_now(const Invariants *self)
{
    const GArray *faults = run_faults(self->run);

    for (unsigned i = 0; faults != NULL && i < faults->len; i++)
        if (MIN(g_array_index(faults, RunFault, i).until, SIM_TIME_MAX - SOON) + SOON >
            sim_now(self->sim))
            return FALSE;
    return TRUE;
}

/* Called every INVARIANTS_LOOK_PERIOD: a status that is wrong in the same way at several looks, one
 * after the other, is wrong. */
void
invariants_look(Invariants *self)
{
    GHashTableIter iter;
    void *message, *count;

    if (!is_calm_now(self)) {
        g_hash_table_remove_all(self->lags);
        return;
    }
    g_autoptr(GHashTable) before = g_steal_pointer(&self->lags);
    self->lags = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    self->is_looking = TRUE;
    invariants_check_statuses(self);
    self->is_looking = FALSE;
    g_hash_table_iter_init(&iter, self->lags);
    while (g_hash_table_iter_next(&iter, &message, &count)) {
        unsigned n = GPOINTER_TO_UINT(g_hash_table_lookup(before, message)) + 1;
        g_hash_table_iter_replace(&iter, GUINT_TO_POINTER(n));
        if (n == LAGS_MAX)
            invariants_fault(self, "%s, for a minute", (const char *)message);
    }
}
