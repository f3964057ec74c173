/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "daemon-set.h"

#include "daemon-nodes.h"
#include "expectations.h"
#include "models/kube-controller-manager.h"
#include "models/plan.h"
#include "pods.h"
#include "stateful-objects.h"

#define BURST_MAX 250         /* BurstReplicas of daemon_controller.go: each way */
#define READY_SKEW SIM_SECOND /* as WL-30 */
#define FAILED_BACKOFF_MIN                                                                         \
    SIM_SECOND /* failedPodsBackoff: how soon a node's failed pod is deleted again */
#define FAILED_BACKOFF_MAX (15 * SIM_MINUTE)

typedef struct {
    SimTime at, delay;
} Failure;

/* What the controller remembers of a set between syncs. */
typedef struct {
    Expectations expected;
    GHashTable *failures; /* node name -> Failure */
    uint64_t n_names;     /* that were made up for its pods */
} SetState;

typedef struct {
    Component base;
    Informer *sets, *pods, *nodes, *revisions;
    InformerIndex *pods_by_controller, *orphans, *revisions_by_controller;
    Workers *workers;
    GHashTable *states; /* ObjectKey of a set -> SetState */
} DaemonSetController;

typedef enum {
    CHANGE_ORDERED,           /* @number creations; @pointer: GPtrArray of ObjectKey, deletions */
    CHANGE_CREATIONS_DROPPED, /* @number: so many will not come */
    CHANGE_DELETION_DROPPED,  /* @pointer: ObjectKey of the pod */
    CHANGE_FAILED,            /* @text: the node whose failed pod is deleted now */
} Change;

typedef struct {
    int32_t observed, current, misscheduled, desired, ready, available, unavailable, updated;
} SetStatus;

/* One sync. */
typedef struct {
    const DaemonSet *set; /* (owned): as it was when the sync began */
    Claimed claimed;
    GHashTable *
        on_node; /* node name -> GPtrArray of const Pod (borrowed from @claimed), the oldest first */
    Tolerations *tolerations;
    GPtrArray *wanting; /* names of nodes that get a pod */
    GPtrArray *deletes; /* ObjectKeys of pods; a plan owns it */
    const char *hash;   /* the template's, interned */
    const char *error;  /* interned: what went wrong with the pods; NULL: nothing */
    PlanDecide next;    /* once the pods are ordered */
    unsigned n_tried;
    gboolean is_held; /* it waits for what it ordered: no generation is observed */
    SetStatus status;
} Sync;

/* What a sync does about one pod. */
typedef struct {
    Sync *sync; /* whose plan waits for this one */
    const DaemonSet *set;
    ObjectKey *pod;
    const char *node; /* that it is made for; NULL: it is deleted */
} Item;

/* ---- What is remembered ---- */

static void
set_state_free(void *data)
{
    SetState *state = data;

    expectations_clear(&state->expected);
    g_hash_table_unref(state->failures);
    g_free(state);
}

static void
sync_clear(void *data)
{
    Sync *sync = data;

    g_clear_pointer(&sync->on_node, g_hash_table_unref);
    g_clear_pointer(&sync->wanting, g_ptr_array_unref);
    g_clear_pointer(&sync->deletes, g_ptr_array_unref);
    g_clear_pointer(&sync->tolerations, tolerations_unref);
    claimed_clear(&sync->claimed);
    if (sync->set != NULL)
        object_unref(&sync->set->meta);
    sync->set = NULL;
}

static void
set_changed(void *data, const Object *before, const Object *after)
{
    DaemonSetController *self = data;

    workers_add(self->workers, (before != NULL ? before : after)->key);
    if (after == NULL) {
        g_hash_table_remove(self->states, before->key);
    } else if (g_hash_table_lookup(self->states, after->key) == NULL) {
        SetState *state = g_new0(SetState, 1);
        state->failures = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
        g_hash_table_insert(self->states, (void *)after->key, state);
    }
}

static gboolean
fits_alike(const DaemonSetController *self, const DaemonSet *set, const Node *a, const Node *b)
{
    Tolerations *tolerations = daemon_tolerations(set, self->base.strings);
    DaemonFit before = a == NULL ? (DaemonFit){FALSE, FALSE} : daemon_fit(set, tolerations, a);
    DaemonFit after = daemon_fit(set, tolerations, b);

    tolerations_unref(tolerations);
    return before.should_run == after.should_run && before.should_continue == after.should_continue;
}

/* Sets that want a pod on a new node, or think otherwise of one than before. That a node is gone, its pods' ends tell. */
static void
node_changed(void *data, const Object *before, const Object *after)
{
    DaemonSetController *self = data;
    InformerIter iter;
    const Object *set;

    if (after == NULL || informer_count(self->sets) == 0 ||
        (before != NULL && string_map_equal(before->labels, after->labels) &&
         taints_equal(((const Node *)before)->taints, ((const Node *)after)->taints)))
        return;
    informer_iter_init(&iter, self->sets);
    while ((set = informer_iter_next(&iter)) != NULL)
        if (!fits_alike(self, DAEMON_SET_CONST(set), (const Node *)before, (const Node *)after))
            workers_add(self->workers, set->key);
}

/* Who would adopt this pod looks at it. */
static void
orphan_changed(DaemonSetController *self, const Object *pod)
{
    InformerIter iter;
    const Object *set;

    if (pod->labels == NULL || informer_count(self->sets) == 0)
        return;
    informer_iter_init(&iter, self->sets);
    while ((set = informer_iter_next(&iter)) != NULL)
        if (set->key->namespace == pod->key->namespace &&
            label_selector_matches(DAEMON_SET_CONST(set)->selector, pod->labels))
            workers_add(self->workers, set->key);
}

static void
pod_went(const DaemonSetController *self, const ObjectKey *set, const ObjectKey *pod)
{
    SetState *state = g_hash_table_lookup(self->states, set);

    if (state != NULL)
        expectations_deletion_seen(&state->expected, pod);
    workers_add(self->workers, set);
}

static void
own_pod_changed(DaemonSetController *self,
                const ObjectKey *key,
                const Object *before,
                const Object *after)
{
    SetState *state = g_hash_table_lookup(self->states, key);
    const DaemonSet *set = DAEMON_SET_CONST(informer_get(self->sets, key));

    if (before == NULL && state != NULL)
        expectations_creation_seen(&state->expected);
    workers_add(self->workers, key);
    if (set != NULL && set->min_ready_s > 0 && before != NULL && !pod_is_ready(POD_CONST(before)) &&
        pod_is_ready(POD_CONST(after)))
        work_queue_add_after(workers_queue(self->workers), (ObjectKey *)key,
                             set->min_ready_s * SIM_SECOND + READY_SKEW);
}

static void
pod_changed(void *data, const Object *before, const Object *after)
{
    DaemonSetController *self = data;
    const ObjectKey *was = before == NULL ? NULL : controller_of_kind(before, KIND_DAEMON_SET);
    const ObjectKey *is = after == NULL ? NULL : controller_of_kind(after, KIND_DAEMON_SET);

    if (was != NULL && was != is)
        pod_went(self, was, before->key);
    if (after == NULL)
        return;
    if (is != NULL && object_is_deleted(after))
        pod_went(self, is, after->key);
    else if (is != NULL)
        own_pod_changed(self, is, before, after);
    else if (object_controller(after) == NULL && !object_is_deleted(after) &&
             (before == NULL || was != NULL || !string_map_equal(before->labels, after->labels)))
        orphan_changed(self, after);
}

static void
note_failure(const SetState *state, const char *node, SimTime now)
{
    Failure *failure = g_hash_table_lookup(state->failures, node);

    if (failure == NULL) {
        failure = g_new0(Failure, 1);
        g_hash_table_insert(state->failures, (void *)node, failure);
    }
    failure->delay = failure->delay == 0 || now - failure->at > 2 * FAILED_BACKOFF_MAX
                         ? FAILED_BACKOFF_MIN
                         : MIN(2 * failure->delay, FAILED_BACKOFF_MAX);
    failure->at = now;
}

static void
apply_change(void *data, const PlanChange *change)
{
    DaemonSetController *self = data;
    SetState *state = g_hash_table_lookup(self->states, change->key);

    if (state == NULL)
        return; /* the set went meanwhile */
    switch ((Change)change->what) {
    case CHANGE_ORDERED:
        expect_deletions(&state->expected, change->pointer, sim_now(self->base.sim));
        state->expected.n_creations = (int32_t)change->number;
        state->n_names += (uint64_t)change->number;
        return;
    case CHANGE_CREATIONS_DROPPED:
        for (int64_t i = 0; i < change->number; i++)
            expectations_creation_seen(&state->expected);
        return;
    case CHANGE_DELETION_DROPPED:
        expectations_deletion_seen(&state->expected, change->pointer);
        return;
    case CHANGE_FAILED:
        note_failure(state, change->text, sim_now(self->base.sim));
        return;
    }
    g_assert_not_reached();
}

/* ---- Looking ---- */

static int
by_age(const void *a, const void *b)
{
    const Pod *left = *(const Pod *const *)a, *right = *(const Pod *const *)b;

    if ((left->node_name == NULL) != (right->node_name == NULL))
        return left->node_name == NULL ? 1 : -1;
    if (left->meta.created_at != right->meta.created_at)
        return left->meta.created_at < right->meta.created_at ? -1 : 1;
    return g_strcmp0(object_name(&left->meta), object_name(&right->meta));
}

static void
look_at_pods(Sync *sync)
{
    g_autoptr(GPtrArray) sorted = g_ptr_array_copy(sync->claimed.owned, NULL, NULL);

    g_ptr_array_set_free_func(sorted, NULL); /* the references stay the original's */
    g_ptr_array_sort(sorted, by_age);
    g_clear_pointer(&sync->on_node, g_hash_table_unref);
    sync->on_node = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL,
                                          (GDestroyNotify)g_ptr_array_unref);
    for (unsigned i = 0; i < sorted->len; i++) {
        const char *node = daemon_pod_node(sorted->pdata[i]);
        GPtrArray *pods = node == NULL ? NULL : g_hash_table_lookup(sync->on_node, node);
        if (node != NULL && pods == NULL) {
            pods = g_ptr_array_new();
            g_hash_table_insert(sync->on_node, (void *)node, pods);
        }
        if (pods != NULL)
            g_ptr_array_add(pods, sorted->pdata[i]);
    }
}

static void
look(const DaemonSetController *self, Sync *sync)
{
    claimed_look(&sync->claimed, &(ClaimOptions){
                                     .owner = &sync->set->meta,
                                     .selector = sync->set->selector,
                                     .by_controller = self->pods_by_controller,
                                     .orphans = self->orphans,
                                 });
    look_at_pods(sync);
}

static gboolean
is_updated(const Sync *sync, const Pod *pod)
{
    return g_strcmp0(object_label(&pod->meta, LABEL_REVISION), sync->hash) == 0;
}

/* ---- Status ---- */

static gboolean
edit_status(Object *object, const void *data)
{
    const SetStatus *status = data;
    DaemonSet *set = DAEMON_SET(object);
    const SetStatus before = {
        set->observed_generation,
        set->current_scheduled,
        set->misscheduled,
        set->desired_scheduled,
        set->ready,
        set->available,
        set->unavailable,
        set->updated_scheduled,
    };

    set->observed_generation = MAX(status->observed, before.observed);
    set->current_scheduled = status->current;
    set->misscheduled = status->misscheduled;
    set->desired_scheduled = status->desired;
    set->ready = status->ready;
    set->available = status->available;
    set->unavailable = status->unavailable;
    set->updated_scheduled = status->updated;
    return set->observed_generation != before.observed || before.current != status->current ||
           before.misscheduled != status->misscheduled || before.desired != status->desired ||
           before.ready != status->ready || before.available != status->available ||
           before.unavailable != status->unavailable || before.updated != status->updated;
}

/* Of each node the oldest pod counts. */
static void
count_status(const DaemonSetController *self, Sync *sync, SimTime now)
{
    SetStatus *status = &sync->status;
    InformerIter iter;
    const Object *node;

    *status = (SetStatus){.observed = sync->is_held ? 0 : (int32_t)sync->set->meta.generation};
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL) {
        DaemonFit fit = daemon_fit(sync->set, sync->tolerations, (const Node *)node);
        const GPtrArray *pods = g_hash_table_lookup(sync->on_node, node->key->name);
        status->desired += fit.should_run;
        status->misscheduled += !fit.should_run && pods != NULL;
        if (!fit.should_run || pods == NULL)
            continue;
        const Pod *pod = pods->pdata[0];
        status->current++;
        status->ready += pod_is_ready(pod);
        status->available += pod_is_available(pod, sync->set->min_ready_s, now);
        status->updated += is_updated(sync, pod);
    }
    status->unavailable = status->desired - status->available;
}

static void
plan_end_of_sync(Plan *plan, const Sync *sync)
{
    if (sync->error != NULL)
        plan_fail(plan, "%s", sync->error);
    else if (sync->set->min_ready_s > 0 && sync->status.ready != sync->status.available)
        plan_requeue_after(plan, sync->set->min_ready_s * SIM_SECOND);
}

static void
decide_after_retry(const void *data, Plan *plan)
{
    (void)data;
    plan_end_of_sync(plan, plan_operation(plan));
}

static void
decide_retry(const void *data, Plan *plan)
{
    Sync *sync = plan_operation(plan);

    (void)data;
    plan_update_status(plan, plan_object(plan, plan_last_step(plan)), edit_status, &sync->status,
                       PLAN_STOP);
    plan_then(plan, decide_after_retry);
}

/* One more try, on what is stored. */
static void
decide_after_status(const void *data, Plan *plan)
{
    (void)data;
    if (plan_code(plan, plan_last_step(plan)) == API_OK) {
        plan_end_of_sync(plan, plan_operation(plan));
        return;
    }
    plan_get(plan, plan_key(plan), PLAN_STOP);
    plan_then(plan, decide_retry);
}

static void
decide_status(const void *data, Plan *plan)
{
    Sync *sync = plan_operation(plan);

    count_status(data, sync, plan_now(plan));
    plan_because(plan, "WL-4");
    plan_update_status(plan, &sync->set->meta, edit_status, &sync->status, PLAN_DECIDE);
    plan_then(plan, decide_after_status);
}

/* ---- One pod ---- */

static void
item_done(void *data, Plan *plan, PlanEnd end, const char *message)
{
    const Item *item = plan_operation(plan);

    (void)data, (void)end, (void)message;
    item->sync->n_tried++;
}

static void
item_free(void *data)
{
    Item *item = data;

    object_unref(&item->set->meta);
    g_free(item);
}

/* WL-78. What is gone already is no event. */
static void
plan_item_event(Plan *plan, const Item *item, ApiCode code, const char *message)
{
    const Object *set = &item->set->meta;

    plan_because(plan, "WL-78");
    if (code == API_OK && item->node == NULL)
        plan_event(plan, set, "Normal", "SuccessfulDelete", "Deleted pod: %s", item->pod->name);
    else if (code == API_OK)
        plan_event(plan, set, "Normal", "SuccessfulCreate", "Created pod: %s", item->pod->name);
    else if (item->node != NULL)
        plan_event(plan, set, "Warning", "FailedCreate", "Error creating: %s", message);
    else if (code != API_NOT_FOUND)
        plan_event(plan, set, "Warning", "FailedDelete", "Error deleting: %s", message);
}

static void
decide_after_item(const void *data, Plan *plan)
{
    const Item *item = plan_operation(plan);
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);

    (void)data;
    plan_item_event(plan, item, code, plan_message(plan, step));
    if (code == API_OK)
        return;
    plan_because(plan, "WL-4");
    plan_change(plan,
                &(PlanChange){
                    .what = item->node == NULL ? CHANGE_DELETION_DROPPED : CHANGE_CREATIONS_DROPPED,
                    .key = item->set->meta.key,
                    .pointer = item->pod,
                    .number = 1,
                });
    if (item->node != NULL || code != API_NOT_FOUND)
        plan_fail(plan, "%s", plan_message(plan, step));
}

static Object *
daemon_pod_new(const DaemonSetController *self, const Item *item)
{
    const DaemonSet *set = item->set;
    Object *object = template_pod_new(self->base.objects, set->template, item->pod, &set->meta);
    PodSpec *spec = daemon_pod_spec(set, item->sync->tolerations, item->node);
    PodVolumes *volumes = pod_volumes_ref(POD(object)->volumes);

    pod_set_spec(POD(object), spec, volumes);
    pod_volumes_unref(volumes);
    pod_spec_unref(spec);
    object_set_label(object, strings_intern(self->base.strings, LABEL_REVISION), item->sync->hash);
    return object;
}

static void
decide_item(const void *data, Plan *plan)
{
    const Item *item = plan_operation(plan);

    plan_because(plan, "WL-5");
    if (item->node == NULL)
        plan_delete(plan, item->pod, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
    else
        plan_create(plan, daemon_pod_new(data, item), PLAN_DECIDE);
    plan_then(plan, decide_after_item);
}

static void
add_start(const DaemonSetController *self, GArray *starts, const Item *what)
{
    Item *item = g_memdup2(what, sizeof *what);
    PlanStart start = {
        .component = (Component *)&self->base,
        .decide = decide_item,
        .key = what->pod,
        .operation = item,
        .free_operation = item_free,
        .done = item_done,
    };

    object_ref(&item->set->meta);
    g_array_append_val(starts, start);
}

static void
plan_starts(Plan *plan, const GArray *starts)
{
    plan_gather(plan, (const PlanStart *)(const void *)starts->data, starts->len, PLAN_DECIDE);
}

/* ---- Pods of a sync: creations by slow start, then deletions side by side, also after an error ---- */

static void
decide_after_deletions(const void *data, Plan *plan)
{
    Sync *sync = plan_operation(plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK)
        sync->error = plan_message(plan, step);
    sync->next(data, plan);
}

static void
plan_deletions(const DaemonSetController *self, Plan *plan, Sync *sync)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));

    if (sync->deletes->len == 0) {
        sync->next(self, plan);
        return;
    }
    for (unsigned i = 0; i < sync->deletes->len; i++)
        add_start(self, starts,
                  &(Item){.sync = sync, .set = sync->set, .pod = sync->deletes->pdata[i]});
    plan_because(plan, "WL-4");
    plan_starts(plan, starts);
    plan_then(plan, decide_after_deletions);
}

/* The pods are ordered, or a batch of them failed: then those of later batches will not come (WL-5). */
static void
decide_after_creations(const void *data, Plan *plan)
{
    Sync *sync = plan_operation(plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) != API_OK)
        sync->error = plan_message(plan, step);
    if (sync->n_tried < sync->wanting->len) {
        plan_because(plan, "WL-5");
        plan_change(plan, &(PlanChange){.what = CHANGE_CREATIONS_DROPPED,
                                        .key = sync->set->meta.key,
                                        .number = sync->wanting->len - sync->n_tried});
    }
    plan_deletions(data, plan, sync);
}

static void
plan_creations(const DaemonSetController *self, Plan *plan, const SetState *state, Sync *sync)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));
    unsigned n = sync->wanting->len;

    plan_because(plan, "WL-5");
    for (unsigned first = 0, size = 1; first < n; first += size, size *= 2) {
        g_array_set_size(starts, 0);
        for (unsigned i = first; i < MIN(first + size, n); i++)
            add_start(
                self, starts,
                &(Item){.sync = sync,
                        .set = sync->set,
                        .pod = generated_pod_key(&self->base, &sync->set->meta, state->n_names + i),
                        .node = sync->wanting->pdata[i]});
        plan_starts(plan, starts);
    }
    plan_then(plan, decide_after_creations);
}

/* Goes on with @next when what is wanted is ordered, 250 each way at most. */
static void
plan_pods(const DaemonSetController *self, Plan *plan, Sync *sync, PlanDecide next)
{
    const SetState *state = g_hash_table_lookup(self->states, sync->set->meta.key);

    g_ptr_array_set_size(sync->wanting, (int)MIN(sync->wanting->len, BURST_MAX));
    g_ptr_array_set_size(sync->deletes, (int)MIN(sync->deletes->len, BURST_MAX));
    sync->next = next;
    sync->n_tried = 0;
    if (sync->wanting->len + sync->deletes->len == 0 || state == NULL) {
        next(self, plan);
        return;
    }
    plan_own(plan, g_ptr_array_ref(sync->deletes), (GDestroyNotify)g_ptr_array_unref);
    plan_because(plan, "WL-4");
    plan_change(plan, &(PlanChange){.what = CHANGE_ORDERED,
                                    .key = sync->set->meta.key,
                                    .pointer = sync->deletes,
                                    .number = sync->wanting->len});
    if (sync->wanting->len > 0)
        plan_creations(self, plan, state, sync);
    else
        plan_deletions(self, plan, sync);
}

static void
begin_pods(Sync *sync)
{
    g_clear_pointer(&sync->wanting, g_ptr_array_unref);
    g_clear_pointer(&sync->deletes, g_ptr_array_unref);
    sync->wanting = g_ptr_array_new();
    sync->deletes = g_ptr_array_new();
}

/* ---- Rolling update ---- */

static void plan_history(const DaemonSetController *self, Plan *plan, const Sync *sync);

static void
decide_end(const void *data, Plan *plan)
{
    const Sync *sync = plan_operation(plan);

    if (sync->error == NULL)
        plan_history(data, plan, sync);
    plan_then(plan, decide_status);
}

/* The only new and the only old pod of a node that do not go. Returns: whether there are no more of each */
static gboolean
find_by_revision(const Sync *sync, const GPtrArray *pods, const Pod **new_pod, const Pod **old_pod)
{
    *new_pod = *old_pod = NULL;
    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        const Pod **kind = is_updated(sync, pod) ? new_pod : old_pod;
        if (object_is_deleted(&pod->meta))
            continue;
        if (*kind != NULL)
            return FALSE;
        *kind = pod;
    }
    return TRUE;
}

static int32_t
count_desired(const DaemonSetController *self, const Sync *sync)
{
    InformerIter iter;
    const Object *node;
    int32_t n = 0;

    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        n += daemon_fit(sync->set, sync->tolerations, (const Node *)node).should_run;
    return n;
}

/* What a surging update makes of its nodes. All of these are keys or names. */
typedef struct {
    GPtrArray *needed;     /* nodes whose old pod is not available: they get a new one at once */
    GPtrArray *candidates; /* nodes whose old pod is */
    GPtrArray *unwanted;   /* available old pods of nodes that want none any more */
    int32_t n_surging, n_available;
} Surge;

static void
look_at_surging_node(const Sync *sync, const Node *node, const GPtrArray *pods, Surge *surge, SimTime now)
{
    int32_t min_ready_s = sync->set->min_ready_s;
    const Pod *new_pod, *old_pod;

    if (!find_by_revision(sync, pods, &new_pod, &old_pod)) {
        surge->n_surging++; /* left to the part that puts pods on nodes */
        return;
    }
    gboolean has_new = new_pod != NULL && pod_is_available(new_pod, min_ready_s, now);
    gboolean has_old = old_pod != NULL && pod_is_available(old_pod, min_ready_s, now);
    surge->n_available += old_pod != NULL ? has_old : has_new;
    if (old_pod == NULL)
        return;
    if (new_pod != NULL) {
        surge->n_surging += !has_new;
        if (has_new)
            g_ptr_array_add(sync->deletes, (ObjectKey *)old_pod->meta.key);
    } else if (!daemon_fit(sync->set, sync->tolerations, node).should_run) {
        g_ptr_array_add(has_old ? surge->unwanted : sync->deletes,
                        (ObjectKey *)old_pod->meta.key);
    } else {
        g_ptr_array_add(has_old ? surge->candidates : surge->needed,
                        (char *)node->meta.key->name);
    }
}

/* The other half of rollingUpdate(): a new pod first, @max of them beside old ones that are available; the old one goes once the new
 * one is available. */
static void
choose_surge(const DaemonSetController *self, Sync *sync, int32_t max, int32_t desired, SimTime now)
{
    g_autoptr(GPtrArray) candidates = g_ptr_array_new(), needed = g_ptr_array_new();
    g_autoptr(GPtrArray) unwanted = g_ptr_array_new();
    Surge surge = {needed, candidates, unwanted, 0, 0};
    InformerIter iter;
    const Object *node;

    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL) {
        const GPtrArray *pods = g_hash_table_lookup(sync->on_node, node->key->name);
        if (pods != NULL)
            look_at_surging_node(sync, (const Node *)node, pods, &surge, now);
    }
    for (int32_t i = 0; i < surge.n_available - desired && i < (int32_t)unwanted->len; i++)
        g_ptr_array_add(sync->deletes, unwanted->pdata[i]);
    for (unsigned i = 0; i < needed->len; i++)
        g_ptr_array_add(sync->wanting, needed->pdata[i]);
    for (int32_t i = 0; i < max - surge.n_surging && i < (int32_t)candidates->len; i++)
        g_ptr_array_add(sync->wanting, candidates->pdata[i]);
}

/* rollingUpdate() in update.go: old pods that are not available go at once, others as far as maxUnavailable lets them. */
static void
choose_updates(const DaemonSetController *self, Sync *sync, SimTime now)
{
    g_autoptr(GPtrArray) candidates = g_ptr_array_new();
    int32_t desired = count_desired(self, sync), n_unavailable = 0;
    int32_t max = MAX(int_or_percent_of(&sync->set->max_unavailable, desired, TRUE), 1);
    int32_t max_surge = int_or_percent_of(&sync->set->max_surge, desired, TRUE);
    int32_t min_ready_s = sync->set->min_ready_s;
    const Pod *new_pod, *old_pod;
    InformerIter iter;
    const Object *node;

    if (max_surge > 0) {
        choose_surge(self, sync, max_surge, desired, now);
        return;
    }
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL) {
        const GPtrArray *pods = g_hash_table_lookup(sync->on_node, node->key->name);
        if (pods == NULL)
            continue;
        if (!find_by_revision(sync, pods, &new_pod, &old_pod) ||
            (new_pod == NULL) == (old_pod == NULL))
            n_unavailable++; /* left to the part that puts pods on nodes */
        else if (new_pod != NULL)
            n_unavailable += !pod_is_available(new_pod, min_ready_s, now);
        else if (!pod_is_available(old_pod, min_ready_s, now))
            g_ptr_array_add(sync->deletes, (ObjectKey *)old_pod->meta.key);
        else
            g_ptr_array_add(candidates, (ObjectKey *)old_pod->meta.key);
    }
    for (int32_t i = 0; i < max - n_unavailable && i < (int32_t)candidates->len; i++)
        g_ptr_array_add(sync->deletes, candidates->pdata[i]);
}

static void
decide_update(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    Sync *sync = plan_operation(plan);
    const SetState *state = g_hash_table_lookup(self->states, plan_key(plan));

    if (sync->error != NULL || state == NULL || sync->set->on_delete ||
        !expectations_are_met(&state->expected, plan_now(plan))) {
        decide_end(data, plan);
        return;
    }
    look(self, sync);
    begin_pods(sync);
    choose_updates(self, sync, plan_now(plan));
    plan_pods(self, plan, sync, decide_end);
}

/* ---- Pods on nodes: manage() in daemon_controller.go ---- */

/* A failed pod goes, but not too often on one node. Returns: whether it goes now */
static gboolean
plan_failed_pod(const DaemonSetController *self, Plan *plan, const Sync *sync, const Pod *pod)
{
    const SetState *state = g_hash_table_lookup(self->states, sync->set->meta.key);
    const char *node = daemon_pod_node(pod);
    const Failure *failure = state == NULL ? NULL : g_hash_table_lookup(state->failures, node);

    if (failure != NULL && plan_now(plan) - failure->at < failure->delay) {
        plan_requeue_after(plan, failure->delay - (plan_now(plan) - failure->at));
        return FALSE;
    }
    plan_change(plan,
                &(PlanChange){.what = CHANGE_FAILED, .key = sync->set->meta.key, .text = node});
    plan_event(plan, &sync->set->meta, "Warning", "FailedDaemonPod",
               "Found failed daemon pod %s/%s on node %s, will try to kill it",
               pod->meta.key->namespace, object_name(&pod->meta), node);
    return TRUE;
}

static gboolean
is_to_go(const DaemonSetController *self, Plan *plan, const Sync *sync, const Pod *pod)
{
    if (pod->phase == POD_FAILED)
        return plan_failed_pod(self, plan, sync, pod);
    plan_event(plan, &sync->set->meta, "Normal", "SucceededDaemonPod",
               "Found succeeded daemon pod %s/%s on node %s, will try to delete it",
               pod->meta.key->namespace, object_name(&pod->meta), daemon_pod_node(pod));
    return TRUE;
}

static gboolean
may_surge(const DaemonSet *set)
{
    return !set->on_delete && set->max_surge.value > 0;
}

/* With a surge two may be there: an old one that is ready, and a new one that is not available yet. */
static void
choose_surplus(Sync *sync, const GPtrArray *pods, SimTime now)
{
    const Pod *new_pod = NULL, *old_pod = NULL;

    for (unsigned i = 0; i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        const Pod **kind = is_updated(sync, pod) ? &new_pod : &old_pod;
        if (!pod_is_active(pod))
            continue;
        if (*kind == NULL)
            *kind = pod;
        else
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
    if (new_pod != NULL && old_pod != NULL &&
        (!pod_is_ready(old_pod) || pod_is_available(new_pod, sync->set->min_ready_s, now)))
        g_ptr_array_add(sync->deletes, (ObjectKey *)old_pod->meta.key);
}

/* A pod that goes holds its node's place until it is gone. */
static void
choose_on_node(const DaemonSetController *self, Plan *plan, Sync *sync, const Node *node)
{
    DaemonFit fit = daemon_fit(sync->set, sync->tolerations, node);
    const char *name = node->meta.key->name;
    const GPtrArray *pods = g_hash_table_lookup(sync->on_node, name);
    unsigned n_running = 0;

    if (fit.should_run && pods == NULL)
        g_ptr_array_add(sync->wanting, (char *)name);
    for (unsigned i = 0; pods != NULL && i < pods->len; i++) {
        const Pod *pod = pods->pdata[i];
        if (object_is_deleted(&pod->meta))
            continue;
        if (!fit.should_continue ||
            (pod_is_terminal(pod) ? is_to_go(self, plan, sync, pod)
                                  : n_running++ > 0 && !may_surge(sync->set)))
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
    if (may_surge(sync->set) && fit.should_continue && pods != NULL)
        choose_surplus(sync, pods, plan_now(plan));
}

static gboolean
has_node(const DaemonSetController *self, const char *name)
{
    const ObjectKey *key = objects_find_key(self->base.objects, KIND_NODE, NULL, name);

    return key != NULL && informer_get(self->nodes, key) != NULL;
}

/* Without a node, and made for one that is gone: nobody else deletes it. */
static void
choose_lost(const DaemonSetController *self, Sync *sync)
{
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const Pod *pod = sync->claimed.owned->pdata[i];
        const char *node = daemon_pod_node(pod);
        if (pod->node_name == NULL && !object_is_deleted(&pod->meta) &&
            (node == NULL || !has_node(self, node)))
            g_ptr_array_add(sync->deletes, (ObjectKey *)pod->meta.key);
    }
}

static void
decide_nodes(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    Sync *sync = plan_operation(plan);
    const SetState *state = g_hash_table_lookup(self->states, plan_key(plan));
    InformerIter iter;
    const Object *node;

    if (state == NULL)
        return;
    sync->is_held = !expectations_are_met(&state->expected, plan_now(plan));
    if (sync->is_held) {
        decide_status(data, plan);
        return;
    }
    begin_pods(sync);
    plan_because(plan, "VF-47");
    informer_iter_init(&iter, self->nodes);
    while ((node = informer_iter_next(&iter)) != NULL)
        choose_on_node(self, plan, sync, (const Node *)node);
    choose_lost(self, sync);
    plan_pods(self, plan, sync, decide_update);
}

/* ---- History: ControllerRevisions, named after the template's hash ---- */

static ObjectKey *
revision_key(const DaemonSetController *self, const Sync *sync)
{
    return objects_key(
        self->base.objects, KIND_CONTROLLER_REVISION, sync->set->meta.key->namespace,
        strings_internf(self->base.strings, "%s-%s", object_name(&sync->set->meta), sync->hash));
}

static gboolean
edit_number(Object *object, const void *number)
{
    CONTROLLER_REVISION(object)->revision = *(const int64_t *)number;
    return TRUE;
}

/* The template's revision is there and the newest; an older one that comes back is numbered anew. */
static void
plan_revision(const DaemonSetController *self, Plan *plan, const Sync *sync)
{
    unsigned n;
    const Object *const *all =
        informer_index_get(self->revisions_by_controller, sync->set->meta.key, &n);
    ObjectKey *key = revision_key(self, sync);
    const Object *own = informer_get(self->revisions, key);
    int64_t *number = plan_new_arg(plan, int64_t);

    for (unsigned i = 0; i < n; i++)
        if (all[i]->key != key)
            *number = MAX(*number, CONTROLLER_REVISION(all[i])->revision);
    ++*number;
    plan_because(plan, "WL-40");
    if (own == NULL) {
        Object *object = object_new(key);
        CONTROLLER_REVISION(object)->revision = *number;
        CONTROLLER_REVISION(object)->template = pod_template_ref(sync->set->template);
        object->labels = string_map_ref(sync->set->template->labels);
        object_set_label(object, strings_intern(self->base.strings, LABEL_REVISION), sync->hash);
        object_set_owner(object, &sync->set->meta, TRUE, TRUE);
        plan_create(plan, object, PLAN_EXISTS_IS_FINE);
    } else if (CONTROLLER_REVISION(own)->revision < *number) {
        plan_update(plan, own, edit_number, number, PLAN_STOP);
    }
}

static gboolean
is_live(const Sync *sync, const Object *revision)
{
    const char *hash = object_label(revision, LABEL_REVISION);

    for (unsigned i = 0; i < sync->claimed.owned->len; i++)
        if (g_strcmp0(object_label(sync->claimed.owned->pdata[i], LABEL_REVISION), hash) == 0)
            return TRUE;
    return g_strcmp0(hash, sync->hash) == 0;
}

static void
plan_history(const DaemonSetController *self, Plan *plan, const Sync *sync)
{
    unsigned n;
    const Object *const *all =
        informer_index_get(self->revisions_by_controller, sync->set->meta.key, &n);
    int64_t n_excess = (int64_t)n - 1 - sync->set->revision_history_limit;
    g_autoptr(GPtrArray) dead = NULL;

    if (n_excess <= 0)
        return;
    dead = g_ptr_array_new();
    for (unsigned i = 0; i < n; i++)
        if (!is_live(sync, all[i]))
            g_ptr_array_add(dead, (Object *)all[i]);
    plan_because(plan, "WL-40");
    for (; n_excess > 0 && dead->len > 0; n_excess--) {
        unsigned oldest = 0;
        for (unsigned i = 1; i < dead->len; i++)
            if (CONTROLLER_REVISION(dead->pdata[i])->revision <
                CONTROLLER_REVISION(dead->pdata[oldest])->revision)
                oldest = i;
        const Object *revision = g_ptr_array_remove_index(dead, oldest);
        plan_delete(plan, revision->key, (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE);
    }
}

/* ---- The sync ---- */

static void
decide_set(const void *data, Plan *plan)
{
    const DaemonSetController *self = data;
    Sync *sync = plan_operation(plan);
    const Object *set = informer_get(self->sets, plan_key(plan));

    sync_clear(sync);
    *sync = (Sync){0};
    if (set == NULL || object_is_deleted(set))
        return;
    sync->set = DAEMON_SET_CONST(object_ref(set));
    sync->tolerations = daemon_tolerations(sync->set, self->base.strings);
    sync->hash =
        strings_internf(self->base.strings, "%08x", pod_template_hash(sync->set->template));
    look(self, sync);
    plan_revision(self, plan, sync);
    if (!claimed_is_settled(&sync->claimed)) {
        plan_because(plan, "WL-75");
        claimed_plan(&sync->claimed, plan, set);
    }
    plan_then(plan, decide_nodes);
}

static void
init(void *data)
{
    DaemonSetController *self = data;
    const KubeControllerManagerOptions *options = self->base.options;
    Process *process = self->base.process;

    self->sets = process_informer(process, KIND_DAEMON_SET, NULL);
    self->pods = process_informer(process, KIND_POD, NULL);
    self->nodes = process_informer(process, KIND_NODE, NULL);
    self->revisions = process_informer(process, KIND_CONTROLLER_REVISION, NULL);
    self->pods_by_controller = informer_add_index(self->pods, index_by_controller);
    self->orphans = informer_add_index(self->pods, index_orphans);
    self->revisions_by_controller = informer_add_index(self->revisions, index_by_controller);
    self->states = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, set_state_free);
    self->workers =
        workers_new(&self->base, &(WorkersOptions){
                                     .name = "daemonset",
                                     .n_workers = (unsigned)options->concurrent_daemonset_syncs,
                                     .limit = rate_limit_default,
                                     .retry = TRUE,
                                     .sync = decide_set,
                                     .operation_size = sizeof(Sync),
                                     .clear_operation = sync_clear,
                                 });
    informer_add_handler(self->sets, set_changed, self);
    informer_add_handler(self->pods, pod_changed, self);
    informer_add_handler(self->nodes, node_changed, self);
}

static void
clear(void *data)
{
    DaemonSetController *self = data;

    workers_free(self->workers);
    g_hash_table_unref(self->states);
}

const ModelClass daemon_set_controller_class = {
    .name = "daemonset-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(DaemonSetController),
    .event_source = "daemonset-controller",
    .client_qps = kube_controller_manager_client_qps,
    .init = init,
    .clear = clear,
    .apply_change = apply_change,
};
