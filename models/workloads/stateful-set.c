/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stateful-set.h"

#include "models/kube-controller-manager.h"
#include "models/plan.h"
#include "sim/random.h"
#include "stateful-objects.h"

#define BATCH_MAX 500                    /* WL-5 */
#define STATUS_TRIES 5                   /* client-go's DefaultRetry: 5 tries, */
#define STATUS_RETRY_DELAY (10 * SIM_MS) /* 10 ms apart, */
#define STATUS_RETRY_JITTER 0.1          /* and up to a tenth more */
#define READY_SKEW SIM_SECOND /* WL-30: added to minReadySeconds, for times of whole seconds */

/* What a sync counted as it began: goes into the set's status when its pods are taken care of. */
typedef struct {
    int32_t generation, replicas, ready, available, current, updated;
    const char *current_revision, *update_revision;
} SetStatus;

/* What the controller remembers of a set between syncs. */
typedef struct {
    const PodTemplate *template; /* (owned): whose revision this is */
    ObjectKey *revision;
    GPtrArray *pods; /* of ObjectKey, by ordinal - start: so that no name is made twice */
    int32_t start;
    SetStatus status;   /* of the sync under way */
    unsigned n_refused; /* tries of its status that met a conflict */
    uint64_t n_draws;
} SetState;

typedef struct {
    Component base;
    Informer *sets, *pods, *claims, *revisions;
    InformerIndex *pods_by_owner;
    Workers *workers;
    GHashTable *states; /* ObjectKey of a set -> SetState */
} StatefulSetController;

typedef enum {
    CHANGE_STATUS,  /* @pointer: SetStatus; @key: the set */
    CHANGE_REFUSED, /* the status met a conflict; @key: the set */
} Change;

/* What one sync sees of its set; lives as long as its plan. */
typedef struct {
    const StatefulSet *set; /* (owned) */
    const SetState *state;
    const Pod **replicas; /* by ordinal - start; NULL: not there */
    int32_t n_replicas;
    GArray *condemned; /* of const Pod *: out of range, highest ordinal first */
    const Pod *
        first_unhealthy; /* WL-40, step 4: of the condemned; the replicas wait before those are looked at */
} SetView;

typedef enum {
    ITEM_CREATE, /* the claims that are missing, then the pod */
    ITEM_CLAIMS, /* only the claims */
    ITEM_DELETE,
} ItemAction;

/* What a sync does about one pod: a plan of its own, for those of a batch go side by side. */
typedef struct {
    ItemAction action;
    const StatefulSet *set; /* (owned) */
    ObjectKey *pod;
    const ObjectKey *revision;
    int32_t ordinal;
    unsigned claim;     /* the template that is looked at */
    const char *errors; /* of claims, interned; NULL: none */
    unsigned n_errors;
} Item;

/* ---- What is remembered ---- */

static void
set_state_free(void *data)
{
    SetState *state = data;

    g_ptr_array_unref(state->pods);
    pod_template_unref((PodTemplate *)state->template);
    g_free(state);
}

static ObjectKey *
pod_key(const StatefulSetController *self,
        const ObjectKey *set,
        const SetState *state,
        int32_t position)
{
    while (state->pods->len <= (unsigned)position)
        g_ptr_array_add(state->pods, stateful_pod_key(self->base.objects, set,
                                                      state->start + (int32_t)state->pods->len));
    return state->pods->pdata[position];
}

static void
set_state_update(StatefulSetController *self, const StatefulSet *set)
{
    SetState *state = g_hash_table_lookup(self->states, set->meta.key);

    if (state == NULL) {
        state = g_new0(SetState, 1);
        state->pods = g_ptr_array_new();
        g_hash_table_insert(self->states, (void *)set->meta.key, state);
    }
    if (state->start != set->ordinals_start) {
        g_ptr_array_set_size(state->pods, 0);
        state->start = set->ordinals_start;
    }
    if (state->template != set->template) {
        pod_template_unref((PodTemplate *)state->template);
        state->template = pod_template_ref(set->template);
        state->revision = stateful_revision_key(self->base.objects, set);
    }
}

/* WL-30. */
static void
set_changed(void *data, const Object *before, const Object *after)
{
    StatefulSetController *self = data;

    workers_add(self->workers, (before != NULL ? before : after)->key);
    if (after == NULL)
        g_hash_table_remove(self->states, before->key);
    else
        set_state_update(self, (const StatefulSet *)after);
}

static const ObjectKey *
set_of_pod(const Object *pod)
{
    const OwnerReference *owner = object_controller(pod);

    return owner != NULL && owner->key != NULL && owner->key->kind == KIND_STATEFUL_SET ? owner->key
                                                                                        : NULL;
}

/* WL-30: a pod that becomes ready is looked at again when it has been so for minReadySeconds. */
static void
pod_changed(void *data, const Object *before, const Object *after)
{
    StatefulSetController *self = data;
    const ObjectKey *key = set_of_pod(after != NULL ? after : before);

    if (key == NULL)
        return;
    workers_add(self->workers, key);
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, key);
    gboolean becomes_ready = before != NULL && after != NULL && !pod_is_ready(POD_CONST(before)) &&
                             pod_is_ready(POD_CONST(after));
    if (set != NULL && set->min_ready_s > 0 && becomes_ready)
        work_queue_add_after(workers_queue(self->workers), (ObjectKey *)key,
                             set->min_ready_s * SIM_SECOND + READY_SKEW);
}

static void
index_by_set(InformerIndex *index, const Object *object, Objects *objects)
{
    (void)objects;
    const ObjectKey *set = set_of_pod(object);

    if (set != NULL)
        index_emit(index, set);
}

static void
apply_change(void *data, const PlanChange *change)
{
    StatefulSetController *self = data;
    SetState *state = g_hash_table_lookup(self->states, change->key);

    if (state == NULL)
        return; /* the set went meanwhile */
    switch ((Change)change->what) {
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

/* ---- Looking (WL-40, steps 1 to 4) ---- */

static gboolean
is_running_and_ready(const Pod *pod)
{
    return pod->phase == POD_RUNNING && pod_is_ready(pod);
}

static gboolean
is_healthy(const Pod *pod)
{
    return is_running_and_ready(pod) && !object_is_deleted(&pod->meta);
}

/* Times of conditions are whole seconds in the API. */
static gboolean
is_available(const StatefulSet *set, const Pod *pod, SimTime now)
{
    SimTime ready_at = pod->ready.changed_at / SIM_SECOND * SIM_SECOND;

    return is_running_and_ready(pod) &&
           (set->min_ready_s == 0 || ready_at + set->min_ready_s * SIM_SECOND < now);
}

static void
view_free(void *data)
{
    SetView *view = data;

    object_unref(&view->set->meta);
    g_array_unref(view->condemned);
    g_free(view->replicas);
    g_free(view);
}

static int
compare_ordinals_down(const void *a, const void *b, void *set)
{
    int32_t ordinal_a = stateful_pod_ordinal(set, (*(const Pod *const *)a)->meta.key);
    int32_t ordinal_b = stateful_pod_ordinal(set, (*(const Pod *const *)b)->meta.key);

    return ordinal_a > ordinal_b ? -1 : ordinal_a < ordinal_b;
}

/* Pods of the set's names that belong to nobody are not adopted. */
static const SetView *
look(const StatefulSetController *self, Plan *plan, const StatefulSet *set)
{
    SetView *view = g_new0(SetView, 1);
    unsigned n;
    const Object *const *pods = informer_index_get(self->pods_by_owner, set->meta.key, &n);

    view->set = (const StatefulSet *)object_ref(&set->meta);
    view->state = g_hash_table_lookup(self->states, set->meta.key);
    view->n_replicas = set->replicas;
    view->replicas = g_new0(const Pod *, (gsize)MAX(set->replicas, 1));
    view->condemned = g_array_new(FALSE, FALSE, sizeof(const Pod *));
    plan_own(plan, view, view_free);
    for (unsigned i = 0; i < n; i++) {
        const Pod *pod = POD_CONST(pods[i]);
        int32_t ordinal = stateful_pod_ordinal(set->meta.key, pod->meta.key);
        if (ordinal < 0 || !object_is_controlled_by(&pod->meta, &set->meta))
            continue;
        int64_t position = (int64_t)ordinal - set->ordinals_start;
        if (position >= 0 && position < set->replicas)
            view->replicas[position] = pod;
        else
            g_array_append_val(view->condemned, pod);
    }
    g_array_sort_with_data(view->condemned, compare_ordinals_down, (void *)set->meta.key);
    for (unsigned i = 0; i < view->condemned->len; i++) {
        const Pod *pod = g_array_index(view->condemned, const Pod *, i);
        if (!is_healthy(pod))
            view->first_unhealthy = pod; /* of several the lowest */
    }
    return view;
}

/* ---- Making a pod and its claims (WL-43) ---- */

static void
item_free(void *data)
{
    Item *item = data;

    object_unref(&item->set->meta);
    g_free(item);
}

static void
item_add_error(const StatefulSetController *self, Item *item, const char *error)
{
    item->errors = item->errors == NULL
                       ? error
                       : strings_internf(self->base.strings, "%s, %s", item->errors, error);
    item->n_errors++;
}

/* WL-65. */
static void
plan_pod_event(Plan *plan, const Item *item, const char *verb, const char *error)
{
    const char *set = object_name(&item->set->meta);
    gboolean is_delete = item->action == ITEM_DELETE;

    if (error == NULL)
        plan_event(plan, &item->set->meta, "Normal",
                   is_delete ? "SuccessfulDelete" : "SuccessfulCreate",
                   "%s Pod %s in StatefulSet %s successful", verb, item->pod->name, set);
    else
        plan_event(plan, &item->set->meta, "Warning", is_delete ? "FailedDelete" : "FailedCreate",
                   "%s Pod %s in StatefulSet %s failed error: %s", verb, item->pod->name, set,
                   error);
}

static void
decide_after_pod(const void *data, Plan *plan)
{
    const Item *item = plan_operation(plan);
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);
    const char *verb = item->action == ITEM_DELETE ? "delete" : "create";

    (void)data;
    plan_because(plan, "WL-65");
    if (code != API_EXISTS) /* somebody else's, or our own that is not seen yet: no event */
        plan_pod_event(plan, item, verb, code == API_OK ? NULL : plan_message(plan, step));
    if (code != API_OK)
        plan_fail(plan, "%s", plan_message(plan, step));
}

static void plan_next_claim(const StatefulSetController *self, Plan *plan, Item *item);

/* A claim that cannot be made does not keep the others from being made, only the pod. */
static void
decide_after_claim(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    Item *item = plan_operation(plan);
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);
    const char *claim =
        stateful_claim_key(self->base.objects, item->set->claim_templates->items[item->claim],
                           item->pod)
            ->name;
    const char *set = object_name(&item->set->meta);

    plan_because(plan, "WL-65");
    if (code == API_OK)
        plan_event(plan, &item->set->meta, "Normal", "SuccessfulCreate",
                   "create Claim %s Pod %s in StatefulSet %s success", claim, item->pod->name, set);
    else if (code != API_EXISTS)
        plan_event(plan, &item->set->meta, "Warning", "FailedCreate",
                   "create Claim %s for Pod %s in StatefulSet %s failed error: %s", claim,
                   item->pod->name, set, plan_message(plan, step));
    if (code != API_OK)
        item_add_error(self, item,
                       strings_internf(self->base.strings, "failed to create PVC %s: %s", claim,
                                       plan_message(plan, step)));
    item->claim++;
    plan_next_claim(self, plan, item);
}

static void
plan_pod(const StatefulSetController *self, Plan *plan, const Item *item)
{
    /* Claims are there; with whenScaled Delete one that still belongs to an older pod would end it here (WL-44). */
    if (item->errors != NULL) {
        const char *errors =
            item->n_errors == 1 ? item->errors : plan_internf(plan, "[%s]", item->errors);
        plan_because(plan, "WL-65");
        if (item->action == ITEM_CREATE)
            plan_pod_event(plan, item, "create", errors);
        plan_fail(plan, "%s", errors);
        return;
    }
    if (item->action == ITEM_CLAIMS)
        return;
    plan_because(plan, "WL-43");
    plan_create(
        plan,
        stateful_pod_new(self->base.objects, item->set, item->pod, item->ordinal, item->revision),
        PLAN_DECIDE);
    plan_then(plan, decide_after_pod);
}

/* From item->claim on: makes the first claim that is missing; after the last, the pod. */
static void
plan_next_claim(const StatefulSetController *self, Plan *plan, Item *item)
{
    const ClaimTemplates *templates = item->set->claim_templates;

    for (; templates != NULL && item->claim < templates->n_items; item->claim++) {
        const ClaimTemplate *template = templates->items[item->claim];
        ObjectKey *key = stateful_claim_key(self->base.objects, template, item->pod);
        const Object *claim = informer_get(self->claims, key);
        if (claim == NULL) {
            plan_because(plan, "WL-43");
            plan_create(plan, stateful_claim_new(item->set, template, key), PLAN_DECIDE);
            plan_then(plan, decide_after_claim);
            return;
        }
        if (object_is_deleted(claim))
            item_add_error(
                self, item,
                strings_internf(self->base.strings, "pvc %s is being deleted", key->name));
    }
    plan_pod(self, plan, item);
}

static void
decide_item(const void *data, Plan *plan)
{
    Item *item = plan_operation(plan);

    if (item->action == ITEM_DELETE) {
        plan_because(plan, "WL-45");
        plan_delete(plan, item->pod, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
        plan_then(plan, decide_after_pod);
        return;
    }
    item->claim = 0; /* asked twice before the first request: the same both times */
    item->errors = NULL;
    item->n_errors = 0;
    plan_next_claim(data, plan, item);
}

static PlanStart
item_start(const StatefulSetController *self,
           const SetView *view,
           ItemAction action,
           int32_t position)
{
    Item *item = g_new0(Item, 1);

    item->action = action;
    item->set = (const StatefulSet *)object_ref(&view->set->meta);
    item->ordinal = view->state->start + position;
    item->pod = pod_key(self, view->set->meta.key, view->state, position);
    /* Of a rolling update, ordinals below the partition would take the current revision (WL-52). */
    item->revision = view->state->revision;
    return (PlanStart){
        .component = (Component *)&self->base,
        .decide = decide_item,
        .key = item->pod,
        .operation = item,
        .free_operation = item_free,
    };
}

static PlanStart
deletion_start(const StatefulSetController *self, const SetView *view, const Pod *pod)
{
    Item *item = g_new0(Item, 1);

    item->action = ITEM_DELETE;
    item->set = (const StatefulSet *)object_ref(&view->set->meta);
    item->pod = (ObjectKey *)pod->meta.key;
    return (PlanStart){
        .component = (Component *)&self->base,
        .decide = decide_item,
        .key = item->pod,
        .operation = item,
        .free_operation = item_free,
    };
}

static gboolean
lacks_claims(const StatefulSetController *self, const StatefulSet *set, const ObjectKey *pod)
{
    const ClaimTemplates *templates = set->claim_templates;

    for (unsigned i = 0; templates != NULL && i < templates->n_items; i++) {
        const Object *claim = informer_get(
            self->claims, stateful_claim_key(self->base.objects, templates->items[i], pod));
        if (claim == NULL || object_is_deleted(claim))
            return TRUE;
    }
    return FALSE;
}

/* WL-41, what is done about a replica. Returns: whether it is something, then @start is set */
static gboolean
judge_replica(const StatefulSetController *self,
              const SetView *view,
              int32_t position,
              PlanStart *start)
{
    const Pod *pod = view->replicas[position];

    if (pod == NULL) {
        *start = item_start(self, view, ITEM_CREATE, position);
        return TRUE;
    }
    if (pod_is_terminal(pod)) {
        if (object_is_deleted(&pod->meta))
            return FALSE;
        *start = deletion_start(self, view, pod);
        return TRUE;
    }
    if (pod->phase == POD_PENDING && lacks_claims(self, view->set, pod->meta.key)) {
        *start = item_start(self, view, ITEM_CLAIMS, position);
        return TRUE;
    }
    return FALSE;
}

/* ---- OrderedReady: at most one pod a sync ---- */

/* WL-42. */
static gboolean
judge_ordered_condemned(const StatefulSetController *self,
                        Plan *plan,
                        const SetView *view,
                        PlanStart *start)
{
    if (view->condemned->len == 0)
        return FALSE;
    const Pod *pod = g_array_index(view->condemned, const Pod *, 0);
    if (object_is_deleted(&pod->meta))
        return FALSE;
    if (!is_available(view->set, pod, plan_now(plan)) && pod != view->first_unhealthy)
        return FALSE; /* an unhealthy one goes only in its turn */
    *start = deletion_start(self, view, pod);
    return TRUE;
}

/* Returns: whether there is something to do */
static gboolean
plan_ordered(const StatefulSetController *self, Plan *plan, const SetView *view)
{
    PlanStart start;

    for (int32_t i = 0; i < view->n_replicas; i++) {
        const Pod *pod = view->replicas[i];
        if (judge_replica(self, view, i, &start)) {
            plan_because(plan, "WL-41");
            plan_gather(plan, &start, 1, PLAN_DECIDE);
            return TRUE;
        }
        if (!is_healthy(pod) || !is_available(view->set, pod, plan_now(plan)))
            return FALSE;
    }
    if (judge_ordered_condemned(self, plan, view, &start)) {
        plan_because(plan, "WL-42");
        plan_gather(plan, &start, 1, PLAN_DECIDE);
        return TRUE;
    }
    return FALSE; /* all is well: the place of rolling updates (WL-50) */
}

/* ---- Parallel: slow start (WL-5) ---- */

typedef gboolean (*JudgePosition)(const StatefulSetController *self,
                                  const SetView *view,
                                  int32_t position,
                                  PlanStart *start);

/* Batches of 1, 2, 4, ... of @n positions; one that needs nothing counts as well. An error ends it with its batch.
 * Returns: whether there is something to do */
static gboolean
plan_batches(const StatefulSetController *self,
             Plan *plan,
             const SetView *view,
             int32_t n,
             JudgePosition judge)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));
    gboolean is_work = FALSE;

    for (int32_t first = 0, size = 1; first < n; first += size, size = MIN(2 * size, BATCH_MAX)) {
        g_array_set_size(starts, 0);
        for (int32_t i = first; i < MIN(first + size, n); i++) {
            PlanStart start;
            if (judge(self, view, i, &start))
                g_array_append_val(starts, start);
        }
        if (starts->len > 0)
            plan_gather(plan, (const PlanStart *)starts->data, starts->len, PLAN_DECIDE);
        is_work |= starts->len > 0;
    }
    return is_work;
}

static gboolean
judge_condemned(const StatefulSetController *self,
                const SetView *view,
                int32_t position,
                PlanStart *start)
{
    const Pod *pod = g_array_index(view->condemned, const Pod *, (unsigned)position);

    if (object_is_deleted(&pod->meta))
        return FALSE;
    *start = deletion_start(self, view, pod);
    return TRUE;
}

static gboolean
plan_parallel(const StatefulSetController *self, Plan *plan, const SetView *view)
{
    plan_because(plan, "WL-41");
    gboolean is_work = plan_batches(self, plan, view, view->n_replicas, judge_replica);

    plan_because(plan, "WL-42");
    is_work |= plan_batches(self, plan, view, (int32_t)view->condemned->len, judge_condemned);
    return is_work; /* if not, the place of rolling updates (WL-50), which wait for each pod here as well */
}

/* ---- Status (WL-40, step 10) ---- */

static gboolean
set_status(Object *object, const void *data)
{
    const SetStatus *status = data;
    StatefulSet *set = STATEFUL_SET(object);
    gboolean changed =
        set->observed_generation != status->generation ||
        set->status_replicas != status->replicas || set->ready_replicas != status->ready ||
        set->available_replicas != status->available || set->current_replicas != status->current ||
        set->updated_replicas != status->updated ||
        g_strcmp0(set->current_revision, status->current_revision) != 0 ||
        g_strcmp0(set->update_revision, status->update_revision) != 0;

    set->observed_generation = status->generation;
    set->status_replicas = status->replicas;
    set->ready_replicas = status->ready;
    set->available_replicas = status->available;
    set->current_replicas = status->current;
    set->updated_replicas = status->updated;
    set->current_revision = status->current_revision;
    set->update_revision = status->update_revision;
    return changed;
}

static void
count_pod(SetStatus *status, const SetView *view, const Pod *pod, SimTime now)
{
    if (pod == NULL)
        return;
    status->replicas++;
    status->ready += is_running_and_ready(pod);
    status->available += is_available(view->set, pod, now);
    if (object_is_deleted(&pod->meta))
        return;
    const char *revision = object_label(&pod->meta, LABEL_REVISION);
    status->updated += g_strcmp0(revision, status->update_revision) == 0;
    status->current += g_strcmp0(revision, status->current_revision) == 0;
}

/* Counted before anything is done, as Kubernetes does: a pod that this sync makes counts in the next. */
static const SetStatus *
count_status(Plan *plan, const SetView *view)
{
    SetStatus *status = plan_new_arg(plan, SetStatus);
    const StatefulSet *set = view->set;
    SimTime now = plan_now(plan);

    status->generation = (int32_t)set->meta.generation;
    status->update_revision = view->state->revision->name;
    status->current_revision =
        set->current_revision == NULL ? status->update_revision : set->current_revision;
    for (int32_t i = 0; i < view->n_replicas; i++)
        count_pod(status, view, view->replicas[i], now);
    for (unsigned i = 0; i < view->condemned->len; i++)
        count_pod(status, view, g_array_index(view->condemned, const Pod *, i), now);
    if (status->updated == set->replicas && status->ready == set->replicas &&
        status->replicas == set->replicas) { /* WL-53 */
        status->current_revision = status->update_revision;
        status->current = status->updated;
    }
    return status;
}

/* WL-30: while some are not available yet, another look. */
static void
plan_another_look(Plan *plan, const StatefulSet *set, const SetState *state)
{
    if (set->min_ready_s > 0 && state->status.available != set->replicas)
        plan_requeue_after(plan, set->min_ready_s * SIM_SECOND);
}

static void decide_after_status(const void *data, Plan *plan);

/* On what the cache holds by now. */
static void
decide_status(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const Object *set = informer_get(self->sets, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->states, plan_key(plan));

    if (set == NULL || state == NULL)
        return;
    plan_update_status(plan, set, set_status, &state->status, PLAN_DECIDE);
    plan_then(plan, decide_after_status);
}

static void
plan_retry_of_status(const StatefulSetController *self, Plan *plan, const SetState *state)
{
    SimStream stream = sim_stream(self->base.sim, "statefulset-controller/status retry");
    double jitter =
        STATUS_RETRY_JITTER * sim_random_uniform(stream, plan_key(plan)->hash, state->n_draws);

    plan_change(plan, &(PlanChange){.what = CHANGE_REFUSED, .key = plan_key(plan)});
    plan_wait(plan, STATUS_RETRY_DELAY + (SimTime)(jitter * (double)STATUS_RETRY_DELAY),
              WAIT_BACKOFF);
    plan_then(plan, decide_status);
}

/* With its status written a sync is not over: it trims the history of revisions, which takes as long again. Meanwhile the cache
 * mostly learns of the write, so that the next sync, which the pods have long asked for, seldom meets a conflict. */
static void
decide_after_status(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->states, plan_key(plan));
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);

    if (set == NULL || state == NULL)
        return;
    plan_because(plan, "WL-40");
    if (code == API_OK) {
        plan_wait_own_time(plan);
        plan_another_look(plan, set, state);
    } else if (code == API_CONFLICT && state->n_refused < STATUS_TRIES - 1) {
        plan_retry_of_status(self, plan, state);
    } else {
        plan_fail(plan, "%s", plan_message(plan, step));
    }
}

/* The pods are taken care of, or one of them failed: then the status is told all the same. */
static void
decide_after_pods(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const Object *set = informer_get(self->sets, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->states, plan_key(plan));
    int step = plan_last_step(plan);

    if (plan_code(plan, step) == API_OK) {
        plan_because(plan, "WL-40");
        decide_status(data, plan);
        return;
    }
    plan_because(plan, "WL-2");
    if (set != NULL && state != NULL)
        plan_update_status(plan, set, set_status, &state->status, PLAN_GO_ON);
    plan_fail(plan, "%s", plan_message(plan, step));
}

/* ---- The sync (WL-40) ---- */

static void
decide_replicas(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, plan_key(plan));
    gboolean is_work = FALSE;

    if (set == NULL || g_hash_table_lookup(self->states, plan_key(plan)) == NULL)
        return;
    const SetView *view = look(self, plan, set);
    const SetStatus *status = count_status(plan, view);
    plan_change(plan,
                &(PlanChange){.what = CHANGE_STATUS, .key = set->meta.key, .pointer = status});
    if (!object_is_deleted(&set->meta))
        is_work = set->parallel ? plan_parallel(self, plan, view) : plan_ordered(self, plan, view);
    if (is_work) {
        plan_then(plan, decide_after_pods);
        return;
    }
    plan_because(plan, "WL-40");
    plan_update_status(plan, &set->meta, set_status, status, PLAN_DECIDE);
    plan_then(plan, decide_after_status);
}

static void
decide_set(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->states, plan_key(plan));

    if (set == NULL || state == NULL)
        return;
    if (informer_get(self->revisions, state->revision) != NULL || object_is_deleted(&set->meta)) {
        decide_replicas(data, plan);
        return;
    }
    plan_because(plan, "WL-40");
    plan_create(plan, stateful_revision_new(self->base.objects, set, state->revision),
                PLAN_EXISTS_IS_FINE);
    plan_then(plan, decide_replicas);
}

static void
init(void *data)
{
    StatefulSetController *self = data;
    const KubeControllerManagerOptions *options = self->base.options;
    Process *process = self->base.process;

    self->sets = process_informer(process, KIND_STATEFUL_SET, NULL);
    self->pods = process_informer(process, KIND_POD, NULL);
    self->claims = process_informer(process, KIND_CLAIM, NULL);
    self->revisions = process_informer(process, KIND_CONTROLLER_REVISION, NULL);
    self->pods_by_owner = informer_add_index(self->pods, index_by_set);
    self->states = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, set_state_free);
    self->workers =
        workers_new(&self->base, &(WorkersOptions){
                                     .name = "statefulset",
                                     .n_workers = (unsigned)options->concurrent_statefulset_syncs,
                                     .limit = rate_limit_default,
                                     .retry = TRUE,
                                     .sync = decide_set,
                                 });
    informer_add_handler(self->sets, set_changed, self);
    informer_add_handler(self->pods, pod_changed, self);
}

static void
clear(void *data)
{
    StatefulSetController *self = data;

    workers_free(self->workers);
    g_hash_table_unref(self->states);
}

const ModelClass stateful_set_controller_class = {
    .name = "statefulset-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(StatefulSetController),
    .event_source = "statefulset-controller",
    .client_qps = kube_controller_manager_client_qps,
    .init = init,
    .clear = clear,
    .apply_change = apply_change,
};
