/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The StatefulSet controller's handlers, state and sync: adopt pods, write revisions, plan the
 * pods, write the status (WL-40). The state knows each pod's key by ordinal, so a sync does not
 * search. The status is counted before anything is done: a pod that this sync makes counts in the
 * next one. It is written even if a pod has failed, with up to five tries after conflicts. */
#include "models/workloads/stateful-set/stateful-set.h"

#include "models/workloads/stateful-set/private.h"
#include "sim/random.h"

#define STATUS_TRIES 5                   /* client-go's DefaultRetry: 5 tries, */
#define STATUS_RETRY_DELAY (10 * SIM_MS) /* 10 ms apart, */
#define STATUS_RETRY_JITTER 0.1          /* and up to a tenth more */

typedef enum {
    CHANGE_STATUS,  /* @pointer: SetStatus; @key: the set */
    CHANGE_REFUSED, /* a write of the status met a conflict; @key: the set */
} StatefulSetChange;

/* ---- State between syncs ---- */

static void
set_state_free(void *data)
{
    SetState *state = data;

    g_ptr_array_unref(state->pods);
    pod_template_unref((PodTemplate *)state->template);
    g_free(state);
}

static void
set_state_update(StatefulSetController *self, const StatefulSet *set)
{
    SetState *state = g_hash_table_lookup(self->head.states, set->meta.key);

    if (state == NULL) {
        state = g_new0(SetState, 1);
        state->pods = g_ptr_array_new();
        g_hash_table_insert(self->head.states, (void *)set->meta.key, state);
    }
    if (state->start != set->ordinals_start) {
        g_ptr_array_set_size(state->pods, 0);
        state->start = set->ordinals_start;
    }
    while ((int32_t)state->pods->len < set->replicas)
        g_ptr_array_add(state->pods, stateful_pod_key(self->head.base.objects, set->meta.key,
                                                      state->start + (int32_t)state->pods->len));
    if (state->template != set->template) {
        pod_template_unref((PodTemplate *)state->template);
        state->template = pod_template_ref(set->template);
        state->revision = revision_key(self->head.base.objects, set->meta.key, set->template);
    }
}

/* WL-30. */
static void
set_changed(void *data, const Object *before, const Object *after)
{
    StatefulSetController *self = data;

    workers_add(self->head.workers, (before != NULL ? before : after)->key);
    if (after == NULL)
        g_hash_table_remove(self->head.states, before->key);
    else
        set_state_update(self, (const StatefulSet *)after);
}

static void
wake_adopters(const StatefulSetController *self, const Object *pod)
{
    InformerIter iter;
    const Object *set;

    informer_iter_init(&iter, self->head.owners);
    while (pod->labels != NULL && (set = next_selecting(&iter, pod)) != NULL)
        if (stateful_pod_ordinal(set->key, pod->key) >= 0)
            workers_add(self->head.workers, set->key);
}

/* WL-30 */
static void
stateful_set_pod_changed(void *data, const Object *before, const Object *after)
{
    StatefulSetController *self = data;
    const ObjectKey *key = controller_of_kind(after != NULL ? after : before, KIND_STATEFUL_SET);

    if (key == NULL) {
        if (after != NULL && object_controller(after) == NULL)
            wake_adopters(self, after);
        return;
    }
    workers_add(self->head.workers, key);
    const StatefulSet *set = (const StatefulSet *)informer_get(self->head.owners, key);
    if (set != NULL && after != NULL)
        wake_when_available(self->head.workers, key, set->min_ready_s, before, after,
                            sim_now(self->head.base.sim));
}

static void
stateful_set_apply_change(void *data, const PlanChange *change)
{
    StatefulSetController *self = data;
    SetState *state = g_hash_table_lookup(self->head.states, change->key);

    if (state == NULL)
        return; /* the set is gone by now */
    switch ((StatefulSetChange)change->what) {
    case CHANGE_STATUS:
        state->status = *(const SetStatus *)change->pointer;
        state->n_refused = 0;
        return;
    case CHANGE_REFUSED:
        state->n_refused++;
        state->n_draws++;
        return;
    }
    g_assert_not_reached();
}

/* ---- Status (WL-40, step 10) ---- */

static gboolean
stateful_set_status(Object *object, const void *data)
{
    const SetStatus *status = data;
    StatefulSet *set = STATEFUL_SET(object);
    g_autoptr(Object) before = object_edit(object);

    set->observed_generation = status->generation;
    set->status_replicas = status->replicas;
    set->ready_replicas = status->ready;
    set->available_replicas = status->available;
    set->current_replicas = status->current;
    set->updated_replicas = status->updated;
    set->current_revision = status->current_revision;
    set->update_revision = status->update_revision;
    return !object_equal(before, object);
}

static void
stateful_set_count_pod(SetStatus *status, const SetView *view, const Pod *pod, SimTime now)
{
    if (pod == NULL)
        return;
    status->replicas++;
    status->ready += stateful_is_running_and_ready(pod);
    status->available += stateful_is_available(view->set, pod, now);
    if (object_is_deleted(&pod->meta))
        return;
    const char *revision = object_label(&pod->meta, LABEL_REVISION);
    status->updated += g_strcmp0(revision, status->update_revision) == 0;
    status->current += g_strcmp0(revision, status->current_revision) == 0;
}

/* Counts before anything is done, as Kubernetes does: a pod that this sync makes counts in the next
 * one. */
static SetStatus *
count_status(Plan *plan, const SetView *view)
{
    SetStatus *status = plan_new_arg(plan, SetStatus);
    const StatefulSet *set = view->set;
    SimTime now = plan_now(plan);

    status->generation = (int32_t)set->meta.generation;
    status->update_revision = view->update_revision->name;
    status->current_revision = view->current_revision;
    for (int32_t i = 0; i < view->n_replicas; i++)
        stateful_set_count_pod(status, view, view->replicas[i], now);
    for (unsigned i = 0; i < view->condemned->len; i++)
        stateful_set_count_pod(status, view, g_array_index(view->condemned, const Pod *, i), now);
    if (!set->on_delete && status->updated == set->replicas && status->ready == set->replicas &&
        status->replicas == set->replicas) { /* WL-53 */
        status->current_revision = status->update_revision;
        status->current = status->updated;
    }
    return status;
}

static void decide_after_status(const void *data, Plan *plan);

/* Writes the status on top of the version in the cache. */
static void
decide_status(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const Object *set = informer_get(self->head.owners, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->head.states, plan_key(plan));

    if (set == NULL || state == NULL)
        return;
    plan_update_status(plan, set, stateful_set_status, &state->status, PLAN_DECIDE);
    plan_then(plan, decide_after_status);
}

static void
plan_retry_of_status(const StatefulSetController *self, Plan *plan, const SetState *state)
{
    SimStream stream = sim_stream(self->head.base.sim, "statefulset-controller/status retry");
    double jitter =
        STATUS_RETRY_JITTER * sim_random_uniform(stream, plan_key(plan)->hash, state->n_draws);

    plan_change(plan, &(PlanChange){.what = CHANGE_REFUSED, .key = plan_key(plan)});
    plan_wait(plan, STATUS_RETRY_DELAY + (SimTime)(jitter * (double)STATUS_RETRY_DELAY),
              WAIT_BACKOFF);
    plan_then(plan, decide_status);
}

/* After the status is written the sync trims the history of revisions, which takes as long again.
 * Meanwhile the cache usually learns of the write, so that the next sync, which changes of pods
 * have asked for already, seldom meets a conflict. */
static void
decide_after_status(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->head.owners, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->head.states, plan_key(plan));
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);

    if (set == NULL || state == NULL)
        return;
    plan_because(plan, "WL-40");
    if (code == API_OK) {
        plan_wait_own_time(plan);
        stateful_plan_truncation(self, plan, set, &state->status);
        if (set->min_ready_s > 0 && state->status.available != set->replicas) /* WL-30 */
            plan_requeue_after(plan, set->min_ready_s * SIM_SECOND);
    } else if (code == API_CONFLICT && state->n_refused < STATUS_TRIES - 1) {
        plan_retry_of_status(self, plan, state);
    } else {
        plan_fail(plan, "%s", plan_message(plan, step));
    }
}

/* The pods are done, or one has failed: the status is written in both cases. */
static void
decide_after_pods(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const Object *set = informer_get(self->head.owners, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->head.states, plan_key(plan));
    int step = plan_last_step(plan);

    if (plan_code(plan, step) == API_OK) {
        plan_because(plan, "WL-40");
        decide_status(data, plan);
        return;
    }
    plan_because(plan, "WL-2");
    if (set != NULL && state != NULL)
        plan_update_status(plan, set, stateful_set_status, &state->status, PLAN_GO_ON);
    plan_fail(plan, "%s", plan_message(plan, step));
}

/* ---- The sync (WL-40) ---- */

static void
decide_replicas(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->head.owners, plan_key(plan));
    gboolean is_work = FALSE;

    if (set == NULL || g_hash_table_lookup(self->head.states, plan_key(plan)) == NULL)
        return;
    const SetView *view = stateful_look(self, plan, set);
    SetStatus *status = count_status(plan, view);
    plan_change(plan,
                &(PlanChange){.what = CHANGE_STATUS, .key = set->meta.key, .pointer = status});
    if (!object_is_deleted(&set->meta))
        is_work = stateful_plan_pods(self, plan, view, status);
    if (is_work) {
        plan_then(plan, decide_after_pods);
        return;
    }
    plan_because(plan, "WL-40");
    plan_update_status(plan, &set->meta, stateful_set_status, status, PLAN_DECIDE);
    plan_then(plan, decide_after_status);
}

static void
decide_revision(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->head.owners, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->head.states, plan_key(plan));

    if (set == NULL || state == NULL)
        return;
    if (object_is_deleted(&set->meta) || !stateful_plan_revision(self, plan, set, state)) {
        decide_replicas(data, plan);
        return;
    }
    plan_then(plan, decide_replicas);
}

/* One key of the queue (WL-1): adopts and releases pods first. */
static void
decide_set(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->head.owners, plan_key(plan));

    if (set == NULL || g_hash_table_lookup(self->head.states, plan_key(plan)) == NULL)
        return;
    Claimed *claimed = g_new0(Claimed, 1);
    plan_own(plan, claimed, claimed_free);
    stateful_claim(self, set, claimed);
    if (claimed_is_settled(claimed)) {
        decide_revision(data, plan);
        return;
    }
    plan_because(plan, "WL-40");
    claimed_plan(claimed, plan, &set->meta);
    plan_then(plan, decide_revision);
}

#define SELF StatefulSetController
static const ComponentPart parts[] = {
    HAS_OWNERS(KIND_STATEFUL_SET, set_changed, set_state_free),
    HAS_OWNED_PODS(stateful_set_pod_changed),
    HAS_INFORMER(claims, KIND_CLAIM),
    HAS_REVISIONS(revisions),
    HAS_WORKERS(head.workers, "statefulset", decide_set, KCM_SYNCS(KIND_STATEFUL_SET)),
};

const ModelClass stateful_set_controller_class = {
    KCM_MODEL("statefulset-controller"),
    .event_source = "statefulset-controller",
    PARTS(parts),
    .apply_change = stateful_set_apply_change,
    .rule_tables = RULE_TABLES(&stateful_replica_rules,
                               &stateful_condemned_rules,
                               &stateful_roll_rules,
                               &stateful_claim_rules),
};
