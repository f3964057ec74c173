/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stateful-set.h"

#include <stdlib.h>
#include <string.h>

#include "models/kube-controller-manager.h"
#include "models/plan.h"
#include "sim/random.h"

#define LABEL_POD_NAME "statefulset.kubernetes.io/pod-name" /* WL-21 */
#define LABEL_POD_INDEX "apps.kubernetes.io/pod-index"
#define LABEL_REVISION "controller-revision-hash"
#define BATCH_MAX 500 /* WL-5 */

/* What the controller remembers of a set between syncs: keys, so that no name is made twice. */
typedef struct {
    const PodTemplate *template; /* (owned): whose revision this is */
    ObjectKey *revision;
    GPtrArray *pods; /* of ObjectKey, by ordinal - start; made when first needed */
    int32_t start;
    int32_t n_seen; /* ordinals below this may have pods */
} SetState;

typedef struct {
    Component base;
    Informer *sets, *pods, *claims, *revisions;
    Workers *workers;
    GHashTable *states; /* ObjectKey of a set -> SetState */
} StatefulSetController;

/* What one sync knows of its set; lives as long as its plan. */
typedef struct {
    const StatefulSet *set;
    SetState *state;
    const Object **replicas; /* by position; NULL: not there */
    int32_t n_replicas;
    GArray *condemned; /* of int32_t: positions of pods out of range, descending */
} SetView;

/* One pod that a Parallel set's batch takes care of. */
typedef struct {
    const StatefulSet *set; /* (owned) */
    ObjectKey *pod;
    const ObjectKey *revision;
    int32_t ordinal;
} BatchItem;

static void
set_state_free(void *data)
{
    SetState *state = data;

    g_ptr_array_unref(state->pods);
    pod_template_unref((PodTemplate *)state->template);
    g_free(state);
}

static ObjectKey *
pod_key(const StatefulSetController *self, const ObjectKey *set, SetState *state, int32_t position)
{
    while (state->pods->len <= (unsigned)position) {
        const char *name = strings_internf(self->base.strings, "%s-%d", set->name,
                                           state->start + (int)state->pods->len);
        g_ptr_array_add(state->pods,
                        objects_key(self->base.objects, KIND_POD, set->namespace, name));
    }
    return state->pods->pdata[position];
}

/* The name of the template's revision: a hash of what the template says. */
static ObjectKey *
revision_key(const StatefulSetController *self, const StatefulSet *set)
{
    char *text = set->template->manifest == NULL
                     ? NULL
                     : json_dumps(set->template->manifest, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t hash = sim_hash_string(text == NULL ? "" : text);

    free(text);
    const char *name = strings_internf(self->base.strings, "%s-%08x", object_name(&set->meta),
                                       (unsigned)(hash >> 32 ^ hash));
    return objects_key(self->base.objects, KIND_CONTROLLER_REVISION, set->meta.key->namespace,
                       name);
}

static SetState *
set_state(StatefulSetController *self, const StatefulSet *set)
{
    SetState *state = g_hash_table_lookup(self->states, set->meta.key);

    if (state == NULL || state->start != set->ordinals_start) {
        state = g_new0(SetState, 1);
        state->pods = g_ptr_array_new();
        state->start = set->ordinals_start;
        g_hash_table_replace(self->states, (void *)set->meta.key, state);
    }
    if (state->template != set->template) {
        pod_template_unref((PodTemplate *)state->template);
        state->template = pod_template_ref(set->template);
        state->revision = revision_key(self, set);
    }
    state->n_seen = MAX(state->n_seen, set->replicas);
    return state;
}

/* WL-30. */
static void
set_changed(void *data, const Object *before, const Object *after)
{
    StatefulSetController *self = data;

    if (after == NULL) {
        g_hash_table_remove(self->states, before->key);
        return;
    }
    set_state(self, (const StatefulSet *)after);
    workers_add(self->workers, after->key);
}

static void
pod_changed(void *data, const Object *before, const Object *after)
{
    StatefulSetController *self = data;
    const OwnerReference *owner = object_controller(after != NULL ? after : before);

    if (owner != NULL && owner->key != NULL && owner->key->kind == KIND_STATEFUL_SET)
        workers_add(self->workers, owner->key);
}

/* ---- Making a pod and its claims ---- */

static const char *
claim_name(const StatefulSetController *self, const ClaimTemplate *template, const ObjectKey *pod)
{
    return strings_internf(self->base.strings, "%s-%s", template->name, pod->name); /* WL-22 */
}

/* WL-22: the template's labels and those that the set selects by. */
static Object *
new_claim(const StatefulSetController *self,
          const StatefulSet *set,
          const ClaimTemplate *template,
          ObjectKey *key)
{
    Object *object = object_edit_as(&template->claim->meta, key);

    (void)self;
    for (unsigned i = 0; set->selector != NULL && i < set->selector->n_requirements; i++) {
        const SelectRequirement *requirement = &set->selector->requirements[i];
        if (requirement->operator== SELECT_IN && requirement->values->n_items == 1)
            object_set_label(object, requirement->key, requirement->values->items[0]);
    }
    return object;
}

/* The template's volumes, those of a claim template's name taken over by the claim. */
static PodVolumes *
pod_volumes(const StatefulSetController *self, const StatefulSet *set, const ObjectKey *pod)
{
    const PodVolumes *given = set->template->volumes;
    const ClaimTemplates *templates = set->claim_templates;
    unsigned n_given = given == NULL ? 0 : given->n_items,
             n_templates = templates == NULL ? 0 : templates->n_items, n = 0;

    if (n_given + n_templates == 0)
        return NULL;
    g_autofree PodVolume *volumes = g_new0(PodVolume, n_given + n_templates);
    for (; n < n_templates; n++) {
        const char *name = templates->items[n]->name;
        volumes[n] = (PodVolume){
            .name = name,
            .claim_name = claim_name(self, templates->items[n], pod),
            .device = string_list_has(set->template->spec->devices, name),
        };
        volumes[n].mounted =
            volumes[n].device || string_list_has(set->template->spec->mounts, name);
    }
    for (unsigned i = 0; i < n_given; i++) {
        gboolean is_taken = FALSE;
        for (unsigned k = 0; k < n_templates; k++)
            is_taken |= volumes[k].name == given->items[i].name;
        if (is_taken)
            continue;
        volumes[n] = given->items[i];
        if (volumes[n].ephemeral) {
            volumes[n].claim_name =
                strings_internf(self->base.strings, "%s-%s", pod->name, volumes[n].name);
            claim_template_ref(volumes[n].claim_template);
        }
        n++;
    }
    return pod_volumes_new(volumes, n);
}

/* WL-21. */
static Object *
new_pod(const StatefulSetController *self,
        const StatefulSet *set,
        ObjectKey *key,
        int32_t ordinal,
        const ObjectKey *revision)
{
    Object *object = object_new(key);
    Pod *pod = POD(object);
    PodVolumes *volumes = pod_volumes(self, set, key);

    pod_set_spec(pod, set->template->spec, volumes);
    pod_volumes_unref(volumes);
    object->labels = string_map_ref(set->template->labels);
    object->annotations = string_map_ref(set->template->annotations);
    object_set_label(object, strings_intern(self->base.strings, LABEL_POD_NAME), key->name);
    object_set_label(object, strings_intern(self->base.strings, LABEL_POD_INDEX),
                     strings_internf(self->base.strings, "%d", ordinal));
    object_set_label(object, strings_intern(self->base.strings, LABEL_REVISION), revision->name);
    pod->hostname = key->name;
    object_set_owner(object, &set->meta, TRUE, TRUE);
    return object;
}

/* Returns: %FALSE: the plan fails, a claim of that name is still going */
static gboolean
plan_claims(const StatefulSetController *self,
            Plan *plan,
            const StatefulSet *set,
            const ObjectKey *pod)
{
    for (unsigned i = 0; set->claim_templates != NULL && i < set->claim_templates->n_items; i++) {
        const ClaimTemplate *template = set->claim_templates->items[i];
        ObjectKey *key = objects_key(self->base.objects, KIND_CLAIM, pod->namespace,
                                     claim_name(self, template, pod));
        const Object *claim = informer_get(self->claims, key);
        if (claim != NULL && object_is_deleted(claim)) {
            plan_event(plan, &set->meta, "Warning", "FailedCreate",
                       "create Claim %s for Pod %s in StatefulSet %s failed error: pvc %s is being "
                       "deleted",
                       key->name, pod->name, object_name(&set->meta), key->name);
            plan_fail(plan, "pvc %s is being deleted", key->name);
            return FALSE;
        }
        if (claim != NULL)
            continue;
        plan_create(plan, new_claim(self, set, template, key), PLAN_DECIDE);
        plan_event(plan, &set->meta, "Normal", "SuccessfulCreate",
                   "create Claim %s Pod %s in StatefulSet %s success", key->name, pod->name,
                   object_name(&set->meta));
    }
    return TRUE;
}

/* WL-43, WL-65. */
static void
plan_pod(const StatefulSetController *self,
         Plan *plan,
         const StatefulSet *set,
         ObjectKey *pod,
         int32_t ordinal,
         const ObjectKey *revision)
{
    plan_because(plan, "WL-43");
    if (!plan_claims(self, plan, set, pod))
        return;
    plan_create(plan, new_pod(self, set, pod, ordinal, revision), PLAN_DECIDE);
    plan_event(plan, &set->meta, "Normal", "SuccessfulCreate",
               "create Pod %s in StatefulSet %s successful", pod->name, object_name(&set->meta));
}

/* Returns: whether the last request failed; then the event that says so, and the plan's failure, are planned */
static gboolean
plan_failure_to_create(Plan *plan, const StatefulSet *set, const ObjectKey *pod)
{
    int step = plan_last_step(plan);

    if (step < 0 || plan_code(plan, step) == API_OK)
        return FALSE;
    plan_because(plan, "WL-65");
    plan_event(plan, &set->meta, "Warning", "FailedCreate",
               "create Pod %s in StatefulSet %s failed error: %s", pod->name,
               object_name(&set->meta), plan_message(plan, step));
    plan_fail(plan, "%s", plan_message(plan, step));
    return TRUE;
}

static void
plan_delete_pod(Plan *plan, const StatefulSet *set, const Object *pod)
{
    plan_delete(plan, pod->key, (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE); /* WL-45 */
    plan_event(plan, &set->meta, "Normal", "SuccessfulDelete",
               "delete Pod %s in StatefulSet %s successful", object_name(pod),
               object_name(&set->meta));
}

/* ---- Looking ---- */

static gboolean
is_running_and_ready(const Pod *pod)
{
    return pod->phase == POD_RUNNING && pod_is_ready(pod);
}

static gboolean
is_available(const StatefulSet *set, const Pod *pod, SimTime now)
{
    return is_running_and_ready(pod) &&
           (set->min_ready_s == 0 || pod->ready.changed_at + set->min_ready_s * SIM_SECOND <= now);
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

/* WL-40, steps 1 and 3. Pods of the set's names that belong to others are left alone. */
static const SetView *
look(const StatefulSetController *self, Plan *plan, const StatefulSet *set)
{
    SetView *view = g_new0(SetView, 1);

    view->set = (const StatefulSet *)object_ref(&set->meta);
    view->state = g_hash_table_lookup(self->states, set->meta.key);
    view->n_replicas = set->replicas;
    view->replicas = g_new0(const Object *, (gsize)MAX(set->replicas, 1));
    view->condemned = g_array_new(FALSE, FALSE, sizeof(int32_t));
    plan_own(plan, view, view_free);
    for (int32_t i = view->state->n_seen - 1; i >= 0; i--) {
        const Object *pod = informer_get(self->pods, pod_key(self, set->meta.key, view->state, i));
        if (pod == NULL || !object_is_controlled_by(pod, &set->meta))
            continue;
        if (i < set->replicas)
            view->replicas[i] = pod;
        else
            g_array_append_val(view->condemned, i);
    }
    return view;
}

/* ---- Status ---- */

typedef struct {
    int32_t generation, replicas, ready, available, current, updated;
    const char *revision;
} StatusArg;

static gboolean
set_status(Object *object, const void *data)
{
    const StatusArg *arg = data;
    StatefulSet *set = STATEFUL_SET(object);
    StatefulSet before = *set;

    set->observed_generation = arg->generation;
    set->status_replicas = arg->replicas;
    set->ready_replicas = arg->ready;
    set->available_replicas = arg->available;
    set->current_replicas = arg->current;
    set->updated_replicas = arg->updated;
    set->update_revision = arg->revision;
    if (set->current_revision == NULL ||
        (arg->updated == arg->replicas && arg->ready == arg->replicas &&
         arg->replicas == set->replicas))
        set->current_revision = arg->revision; /* WL-53 */
    return memcmp(&before, set, sizeof before) != 0;
}

static void
count_pod(StatusArg *arg, const SetView *view, const Object *object, SimTime now)
{
    const Pod *pod = POD_CONST(object);

    if (pod == NULL)
        return;
    arg->replicas++;
    arg->ready += is_running_and_ready(pod);
    arg->available += is_available(view->set, pod, now);
    if (object_is_deleted(object))
        return;
    const char *revision = object_label(object, LABEL_REVISION);
    arg->updated += g_strcmp0(revision, arg->revision) == 0;
    arg->current += view->set->current_revision == NULL ||
                    g_strcmp0(revision, view->set->current_revision) == 0;
}

/* WL-40, step 10. A conflict is retried by the queue. */
static void
plan_status(const StatefulSetController *self, Plan *plan, const SetView *view)
{
    StatusArg *arg = plan_new_arg(plan, StatusArg);
    SimTime now = plan_now(plan);

    arg->generation = (int32_t)view->set->meta.generation;
    arg->revision = view->state->revision->name;
    for (int32_t i = 0; i < view->n_replicas; i++)
        count_pod(arg, view, view->replicas[i], now);
    for (unsigned i = 0; i < view->condemned->len; i++) {
        int32_t position = g_array_index(view->condemned, int32_t, i);
        count_pod(arg, view, informer_get(self->pods, view->state->pods->pdata[position]), now);
    }
    plan_because(plan, "WL-40");
    plan_update_status(plan, &view->set->meta, set_status, arg, PLAN_STOP);
}

/* ---- OrderedReady ---- */

static void
decide_after_create(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, plan_key(plan));

    if (set == NULL || plan_failure_to_create(plan, set, plan_key(plan)))
        return;
    plan_status(self, plan, look(self, plan, set));
}

/* WL-41. Returns: whether the next replica may be looked at */
static gboolean
plan_ordered_replica(const StatefulSetController *self,
                     Plan *plan,
                     const SetView *view,
                     int32_t position)
{
    const Pod *pod = POD_CONST(view->replicas[position]);

    plan_because(plan, "WL-41");
    if (pod == NULL) {
        plan_pod(self, plan, view->set, pod_key(self, view->set->meta.key, view->state, position),
                 view->state->start + position, view->state->revision);
        return FALSE;
    }
    if (pod_is_terminal(pod)) {
        if (!object_is_deleted(&pod->meta))
            plan_delete_pod(plan, view->set, &pod->meta);
        return FALSE;
    }
    if (pod->phase == POD_PENDING && !plan_claims(self, plan, view->set, pod->meta.key))
        return FALSE;
    return !object_is_deleted(&pod->meta) && is_available(view->set, pod, plan_now(plan));
}

/* WL-42: one a sync. */
static void
plan_ordered_condemned(const StatefulSetController *self, Plan *plan, const SetView *view)
{
    plan_because(plan, "WL-42");
    for (unsigned i = 0; i < view->condemned->len; i++) {
        int32_t position = g_array_index(view->condemned, int32_t, i);
        const Pod *pod = POD_CONST(informer_get(self->pods, view->state->pods->pdata[position]));
        gboolean is_last_condemned = i == view->condemned->len - 1;
        if (object_is_deleted(&pod->meta))
            return;
        if (!is_available(view->set, pod, plan_now(plan)) && !is_last_condemned)
            return; /* an unhealthy one goes only in its turn */
        plan_delete_pod(plan, view->set, &pod->meta);
        return;
    }
}

static void
plan_ordered(const StatefulSetController *self, Plan *plan, const SetView *view)
{
    int32_t position = 0;

    while (position < view->n_replicas && plan_ordered_replica(self, plan, view, position))
        position++;
    if (position == view->n_replicas)
        plan_ordered_condemned(self, plan, view);
    plan_then(plan, decide_after_create);
}

/* ---- Parallel: slow start (WL-5) ---- */

static void
item_free(void *data)
{
    BatchItem *item = data;

    object_unref(&item->set->meta);
    g_free(item);
}

static void
decide_item_result(const void *data, Plan *plan)
{
    const BatchItem *item = plan_operation(plan);

    (void)data;
    plan_failure_to_create(plan, item->set, item->pod);
}

/* One pod of a batch: made if it is not there, else deleted. */
static void
decide_item(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const BatchItem *item = plan_operation(plan);
    const Object *pod = informer_get(self->pods, item->pod);

    if (pod != NULL) {
        plan_because(plan, "WL-42");
        if (!object_is_deleted(pod))
            plan_delete_pod(plan, item->set, pod);
        return;
    }
    plan_pod(self, plan, item->set, item->pod, item->ordinal, item->revision);
    plan_then(plan, decide_item_result);
}

static PlanStart
start_of_item(const StatefulSetController *self, const SetView *view, int32_t position)
{
    BatchItem *item = g_new0(BatchItem, 1);

    item->set = (const StatefulSet *)object_ref(&view->set->meta);
    item->pod = pod_key(self, view->set->meta.key, view->state, position);
    item->revision = view->state->revision;
    item->ordinal = view->state->start + position;
    return (PlanStart){
        .component = (Component *)&self->base,
        .decide = decide_item,
        .key = item->pod,
        .operation = item,
        .free_operation = item_free,
    };
}

/* The positions that a Parallel set must do something about: in batches of 1, 2, 4, ..., where one that needs nothing counts
 * too; then the condemned. */
static void
plan_batches(const StatefulSetController *self,
             Plan *plan,
             const SetView *view,
             const int32_t *positions,
             unsigned n_positions)
{
    g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(PlanStart));

    for (unsigned first = 0, size = 1; first < n_positions;
         first += size, size = MIN(2 * size, BATCH_MAX)) {
        g_array_set_size(starts, 0);
        for (unsigned i = first; i < MIN(first + size, n_positions); i++) {
            if (positions[i] < 0)
                continue;
            PlanStart start = start_of_item(self, view, positions[i]);
            g_array_append_val(starts, start);
        }
        if (starts->len > 0)
            plan_gather(plan, (const PlanStart *)starts->data, starts->len, PLAN_DECIDE);
        if (size > n_positions)
            break;
    }
}

static void
decide_after_batches(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, plan_key(plan));
    int step = plan_last_step(plan);

    if (set == NULL)
        return;
    plan_status(self, plan, look(self, plan, set));
    if (step >= 0 && plan_code(plan, step) != API_OK)
        plan_fail(plan, "%s", plan_message(plan, step));
}

static void
plan_parallel(const StatefulSetController *self, Plan *plan, const SetView *view)
{
    g_autofree int32_t *positions = g_new(int32_t, (gsize)MAX(view->n_replicas, 1));

    for (int32_t i = 0; i < view->n_replicas; i++) {
        const Pod *pod = POD_CONST(view->replicas[i]);
        gboolean is_over = pod != NULL && pod_is_terminal(pod) && !object_is_deleted(&pod->meta);
        positions[i] = pod == NULL || is_over ? i : -1;
    }
    plan_batches(self, plan, view, positions, (unsigned)view->n_replicas);
    plan_batches(self, plan, view, (const int32_t *)view->condemned->data, view->condemned->len);
    plan_then(plan, decide_after_batches);
}

/* ---- The sync (WL-40) ---- */

static gboolean
revision_is_known(const StatefulSetController *self, const SetState *state)
{
    return informer_get(self->revisions, state->revision) != NULL;
}

static void
decide_replicas(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, plan_key(plan));

    if (set == NULL)
        return;
    const SetView *view = look(self, plan, set);
    if (object_is_deleted(&set->meta))
        plan_status(self, plan, view);
    else if (set->parallel)
        plan_parallel(self, plan, view);
    else
        plan_ordered(self, plan, view);
}

static void
decide_set(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const StatefulSet *set = (const StatefulSet *)informer_get(self->sets, plan_key(plan));
    const SetState *state = g_hash_table_lookup(self->states, plan_key(plan));

    if (set == NULL || state == NULL)
        return;
    if (revision_is_known(self, state) || object_is_deleted(&set->meta)) {
        decide_replicas(data, plan);
        return;
    }
    plan_because(plan, "WL-40");
    Object *revision = object_new(state->revision);
    CONTROLLER_REVISION(revision)->revision = 1;
    object_set_owner(revision, &set->meta, TRUE, TRUE);
    plan_create(plan, revision, PLAN_EXISTS_IS_FINE);
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
};
