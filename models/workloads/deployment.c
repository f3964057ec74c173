/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "deployment.h"

#include <string.h>

#include "deployment-sets.h"
#include "deployment-status.h"
#include "models/kube-controller-manager.h"
#include "models/plan.h"
#include "pods.h"

#define RETRIES_MAX 15 /* WL-74 */

typedef struct {
    Component base;
    Informer *deployments, *sets, *pods;
    InformerIndex *sets_by_controller, *orphan_sets, *pods_by_controller;
    Workers *workers;
} DeploymentController;

/* One sync: what it found, and what it has in mind by now. Like the original it works on copies that it changes as it writes:
 * what a write returns does not come back into them, except for ReplicaSets that it made or changed. */
typedef struct {
    const Deployment *deployment; /* (owned) */
    Claimed claimed;              /* its ReplicaSets */
    GPtrArray *all,
        *old; /* of const ReplicaSet (borrowed), by creation; @all with the new one, if there is one */
    const ReplicaSet *new_set; /* (owned) NULL: none yet */
    DeploymentStatus status;   /* what stands in the deployment, as this sync changed it */
    DeploymentStatus wanted;   /* what shall be written */
    const char *revision;      /* the deployment's annotation */
    PlanDecide next;           /* once the new set is known */
} Sync;

static void
sync_clear(void *data)
{
    Sync *sync = data;

    claimed_clear(&sync->claimed);
    g_clear_pointer(&sync->all, g_ptr_array_unref);
    g_clear_pointer(&sync->old, g_ptr_array_unref);
    if (sync->new_set != NULL)
        object_unref(&sync->new_set->meta);
    if (sync->deployment != NULL)
        object_unref(&sync->deployment->meta);
    *sync = (Sync){0};
}

/* ---- What wakes it ---- */

static void
deployment_changed(void *data, const Object *before, const Object *after)
{
    DeploymentController *self = data;

    workers_add(self->workers, (before != NULL ? before : after)->key);
}

static void
orphan_set_changed(DeploymentController *self, const Object *set)
{
    InformerIter iter;
    const Object *deployment;

    informer_iter_init(&iter, self->deployments);
    while ((deployment = informer_iter_next(&iter)) != NULL)
        if (deployment->key->namespace == set->key->namespace &&
            label_selector_matches(DEPLOYMENT_CONST(deployment)->selector, set->labels))
            workers_add(self->workers, deployment->key);
}

static void
set_changed(void *data, const Object *before, const Object *after)
{
    DeploymentController *self = data;
    const ObjectKey *was = before == NULL ? NULL : controller_of_kind(before, KIND_DEPLOYMENT);
    const ObjectKey *is = after == NULL ? NULL : controller_of_kind(after, KIND_DEPLOYMENT);

    if (was != NULL)
        workers_add(self->workers, was);
    if (is != NULL && is != was)
        workers_add(self->workers, is);
    if (after != NULL && object_controller(after) == NULL)
        orphan_set_changed(self, after);
}

static gboolean
has_pods(const DeploymentController *self, const ObjectKey *set)
{
    unsigned n;

    informer_index_get(self->pods_by_controller, set, &n);
    return n > 0;
}

/* WL-73: the last of them to go lets a Recreate go on. */
static void
pod_changed(void *data, const Object *before, const Object *after)
{
    DeploymentController *self = data;
    const ObjectKey *key = after != NULL ? NULL : controller_of_kind(before, KIND_REPLICA_SET);
    const Object *set = key == NULL ? NULL : informer_get(self->sets, key);
    const ObjectKey *owner = set == NULL ? NULL : controller_of_kind(set, KIND_DEPLOYMENT);
    const Object *deployment = owner == NULL ? NULL : informer_get(self->deployments, owner);
    unsigned n;

    if (deployment == NULL || !DEPLOYMENT_CONST(deployment)->recreate)
        return;
    const Object *const *sets = informer_index_get(self->sets_by_controller, owner, &n);
    for (unsigned i = 0; i < n; i++)
        if (has_pods(self, sets[i]->key))
            return;
    workers_add(self->workers, owner);
}

/* ---- Status ---- */

typedef struct {
    DeploymentStatus status;
    StringPair revision; /* of its annotation; no value: left as it is */
} StatusEdit;

static gboolean
edit_status(Object *object, const void *data)
{
    const StatusEdit *edit = data;

    deployment_status_put(&edit->status, DEPLOYMENT(object));
    if (edit->revision.value != NULL)
        object_set_annotation(object, edit->revision.key, edit->revision.value);
    return TRUE;
}

static void
plan_write_status(Plan *plan, const Sync *sync, const DeploymentStatus *status)
{
    StatusEdit *edit = plan_new_arg(plan, StatusEdit);

    *edit = (StatusEdit){
        *status, {plan_internf(plan, ANNOTATION_REVISION), sync->revision}
    };
    plan_update_status(plan, &sync->deployment->meta, edit_status, edit, PLAN_STOP);
}

static WorkloadCondition
replica_failure(const Sync *sync)
{
    if (sync->new_set != NULL && sync->new_set->replica_failure.status != CONDITION_ABSENT)
        return sync->new_set->replica_failure;
    for (unsigned i = 0; i < sync->old->len; i++) {
        const ReplicaSet *set = sync->old->pdata[i];
        if (set->replica_failure.status != CONDITION_ABSENT)
            return set->replica_failure;
    }
    return (WorkloadCondition){.changed_at = TIME_UNSET, .updated_at = TIME_UNSET};
}

/* The end of a sync without rollout: only the numbers. */
static void
plan_counts(Plan *plan, Sync *sync)
{
    sync->wanted =
        deployment_count(sync->deployment, &sync->status, sync->all, sync->new_set, plan_now(plan));
    plan_because(plan, "WL-71");
    if (!deployment_status_equal(&sync->wanted, &sync->status))
        plan_write_status(plan, sync, &sync->wanted);
}

/* The end of a sync of a rollout: the numbers, and how it gets on. If nothing is new it looks again when it may be too late. */
static void
plan_rollout_status(const DeploymentController *self, Plan *plan, Sync *sync)
{
    const Deployment *deployment = sync->deployment;
    SimTime now = plan_now(plan);

    sync->wanted = deployment_count(deployment, &sync->status, sync->all, sync->new_set, now);
    deployment_tell_progress(deployment, &sync->status, &sync->wanted, sync->new_set,
                             self->base.strings, now);
    WorkloadCondition failure = replica_failure(sync);
    if (failure.status == CONDITION_ABSENT)
        condition_remove(&sync->wanted.failure);
    else
        condition_set(&sync->wanted.failure, failure.status, failure.reason, failure.message, now);
    plan_because(plan, "WL-71");
    if (!deployment_status_equal(&sync->wanted, &sync->status)) {
        plan_write_status(plan, sync, &sync->wanted);
        return;
    }
    SimTime after = deployment_deadline_after(deployment, &sync->status, &sync->wanted, now);
    if (after >= SIM_SECOND)
        plan_requeue_after(plan, after + SIM_SECOND);
    else if (after >= 0)
        plan_requeue_rate_limited(plan);
}

/* ---- Sets get other sizes ---- */

/* What a set is to say: its size, and annotations. */
typedef struct {
    int32_t replicas, min_ready_s;
    unsigned n_annotations;
    StringPair *annotations;
} SetEdit;

static gboolean
edit_set(Object *object, const void *data)
{
    const SetEdit *edit = data;
    ReplicaSet *set = REPLICA_SET(object);
    gboolean changed = set->replicas != edit->replicas || set->min_ready_s != edit->min_ready_s;

    set->replicas = edit->replicas;
    set->min_ready_s = edit->min_ready_s;
    for (unsigned i = 0; i < edit->n_annotations; i++)
        changed |=
            object_set_annotation(object, edit->annotations[i].key, edit->annotations[i].value);
    return changed;
}

static void
set_edit_add(Plan *plan, SetEdit *edit, const char *key, const char *value)
{
    edit->annotations[edit->n_annotations++] = (StringPair){plan_internf(plan, "%s", key), value};
}

/* Of what size the deployment is: by these a later change of it is noticed, and shared out. */
static void
set_edit_add_sizes(Plan *plan, SetEdit *edit, const Deployment *deployment)
{
    set_edit_add(plan, edit, ANNOTATION_DESIRED, plan_internf(plan, "%d", deployment->replicas));
    set_edit_add(plan, edit, ANNOTATION_MAX,
                 plan_internf(plan, "%d", deployment->replicas + deployment_max_surge(deployment)));
}

static SetEdit *
set_edit_new(Plan *plan, const ReplicaSet *set, unsigned n_annotations)
{
    SetEdit *edit = plan_new_arg(plan, SetEdit);

    edit->replicas = set->replicas;
    edit->min_ready_s = set->min_ready_s;
    edit->annotations = plan_alloc(plan, n_annotations * sizeof(StringPair));
    return edit;
}

/* WL-78. */
static void
plan_scale_event(Plan *plan, const Deployment *deployment, const SetScale *scale, int32_t before)
{
    if (before == scale->replicas)
        return;
    plan_because(plan, "WL-78");
    plan_event(plan, &deployment->meta, "Normal", "ScalingReplicaSet",
               "Scaled %s replica set %s from %d to %d", before < scale->replicas ? "up" : "down",
               object_name(&scale->set->meta), before, scale->replicas);
}

/* One after the other; a set may come twice, then on what the first time made of it. */
static void
plan_scales(Plan *plan, const Deployment *deployment, const GArray *scales)
{
    g_autofree int *steps = g_new(int, scales->len + 1);

    for (unsigned i = 0; i < scales->len; i++) {
        const SetScale *scale = &g_array_index(scales, SetScale, i);
        int32_t before = scale->set->replicas;
        int earlier = -1;
        for (unsigned k = 0; k < i; k++)
            if (g_array_index(scales, SetScale, k).set == scale->set) {
                before = g_array_index(scales, SetScale, k).replicas;
                earlier = steps[k];
            }
        SetEdit *edit = set_edit_new(plan, scale->set, 2);
        edit->replicas = scale->replicas;
        set_edit_add_sizes(plan, edit, deployment);
        plan_because(plan, "WL-71");
        steps[i] = earlier >= 0 ? plan_update_result(plan, earlier, edit_set, edit, PLAN_STOP)
                                : plan_update(plan, &scale->set->meta, edit_set, edit, PLAN_STOP);
        plan_scale_event(plan, deployment, scale, before);
    }
}

/* ---- The new set ---- */

static void
split_sets(Sync *sync)
{
    g_clear_pointer(&sync->all, g_ptr_array_unref);
    g_clear_pointer(&sync->old, g_ptr_array_unref);
    sync->all = g_ptr_array_new();
    sync->old = g_ptr_array_new();
    for (unsigned i = 0; i < sync->claimed.owned->len; i++) {
        const ReplicaSet *set = sync->claimed.owned->pdata[i];
        if (sync->new_set != NULL && set->meta.key == sync->new_set->meta.key)
            continue;
        g_ptr_array_add(sync->all, (ReplicaSet *)set);
        g_ptr_array_add(sync->old, (ReplicaSet *)set);
    }
    if (sync->new_set != NULL)
        g_ptr_array_add(sync->all, (ReplicaSet *)sync->new_set);
    sets_sort_by_creation(sync->all);
    sets_sort_by_creation(sync->old);
}

static void
take_new_set(Sync *sync, const Object *set)
{
    const ReplicaSet *before = sync->new_set;

    sync->new_set = REPLICA_SET_CONST(object_ref(set));
    if (before != NULL)
        object_unref(&before->meta);
    split_sets(sync);
}

/* Annotations of the deployment are its sets' too, those aside that say something of one object. */
static gboolean
is_inherited(const char *annotation)
{
    static const char *const own[] = {"kubectl.kubernetes.io/last-applied-configuration",
                                      ANNOTATION_REVISION,
                                      ANNOTATION_DESIRED,
                                      ANNOTATION_MAX,
                                      ANNOTATION_REVISION_HISTORY,
                                      "deprecated.deployment.rollback.to",
                                      NULL};

    return !g_strv_contains(own, annotation);
}

/* What the set says of its deployment: its annotations, and which revision it is. */
static void
set_edit_add_revision(Plan *plan, SetEdit *edit, const Sync *sync, const ReplicaSet *set)
{
    const StringMap *given = sync->deployment->meta.annotations;
    int64_t revision = sets_max_revision(sync->old, NULL) + 1;
    const char *before = object_annotation(&set->meta, ANNOTATION_REVISION);
    const char *history = object_annotation(&set->meta, ANNOTATION_REVISION_HISTORY);

    for (unsigned i = 0; given != NULL && i < given->n_pairs; i++)
        if (is_inherited(given->pairs[i].key))
            set_edit_add(plan, edit, given->pairs[i].key, given->pairs[i].value);
    if (set_revision(set) >= revision)
        return;
    set_edit_add(plan, edit, ANNOTATION_REVISION,
                 plan_internf(plan, "%" G_GINT64_FORMAT, revision));
    if (before != NULL)
        set_edit_add(plan, edit, ANNOTATION_REVISION_HISTORY,
                     history == NULL ? before : plan_internf(plan, "%s,%s", history, before));
}

static unsigned
n_annotations_max(const Sync *sync)
{
    const StringMap *given = sync->deployment->meta.annotations;

    return 4 + (given == NULL ? 0 : given->n_pairs);
}

static void
decide_next(const void *data, Plan *plan)
{
    const Sync *sync = plan_operation(plan);

    sync->next(data, plan);
}

static void
decide_after_set_update(const void *data, Plan *plan)
{
    Sync *sync = plan_operation(plan);

    take_new_set(sync, plan_object(plan, plan_last_step(plan)));
    sync->next(data, plan);
}

/* The set is there already: it gets what it lacks, else the deployment does. */
static void
plan_found_set(const DeploymentController *self, Plan *plan, Sync *sync)
{
    SetEdit *edit = set_edit_new(plan, sync->new_set, n_annotations_max(sync));
    g_autoptr(Object) tried = object_edit(&sync->new_set->meta);
    const char *name = object_name(&sync->new_set->meta);
    gboolean is_news = FALSE;

    edit->min_ready_s = sync->deployment->min_ready_s;
    set_edit_add_revision(plan, edit, sync, sync->new_set);
    plan_because(plan, "WL-71");
    if (edit_set(tried, edit)) {
        plan_update(plan, &sync->new_set->meta, edit_set, edit, PLAN_STOP);
        plan_then(plan, decide_after_set_update);
        return;
    }
    const char *revision = object_annotation(&sync->new_set->meta, ANNOTATION_REVISION);
    is_news = g_strcmp0(revision, sync->revision) != 0;
    sync->revision = revision;
    if (deployment_has_deadline(sync->deployment) &&
        sync->status.progressing.status == CONDITION_ABSENT) {
        condition_set(&sync->status.progressing, CONDITION_TRUE, "FoundNewReplicaSet",
                      plan_internf(plan, "Found new replica set \"%s\"", name), plan_now(plan));
        is_news = TRUE;
    }
    if (!is_news) {
        sync->next(self, plan);
        return;
    }
    plan_write_status(plan, sync, &sync->status);
    plan_then(plan, decide_next);
}

/* The name that is no hash of Kubernetes' but looks like one: the same for the same template. */
static const char *
template_hash_text(Plan *plan, const Deployment *deployment)
{
    static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
    char text[16];

    g_snprintf(text, sizeof text, "%u",
               pod_template_hash(deployment->template) + (uint32_t)deployment->collision_count);
    for (char *letter = text; *letter != '\0'; letter++)
        *letter = alphabet[(unsigned char)*letter % (sizeof alphabet - 1)];
    return plan_internf(plan, "%s", text);
}

static LabelSelector *
selector_with(const LabelSelector *selector, StringPair label)
{
    unsigned n = selector == NULL ? 0 : selector->n_requirements;
    g_autofree SelectRequirement *requirements = g_new(SelectRequirement, n + 1);

    for (unsigned i = 0; i < n; i++) {
        requirements[i] = selector->requirements[i];
        requirements[i].values = string_list_ref(requirements[i].values);
    }
    requirements[n] = (SelectRequirement){
        .key = label.key, .operator= SELECT_IN, .values = string_list_new(&label.value, 1)};
    return label_selector_new(requirements, n + 1);
}

static ReplicaSet *
new_set_of(const DeploymentController *self, Plan *plan, const Sync *sync)
{
    const Deployment *deployment = sync->deployment;
    StringPair label = {plan_internf(plan, LABEL_POD_TEMPLATE_HASH),
                        template_hash_text(plan, deployment)};
    ObjectKey *key =
        objects_key(self->base.objects, KIND_REPLICA_SET, deployment->meta.key->namespace,
                    plan_internf(plan, "%s-%s", object_name(&deployment->meta), label.value));
    ReplicaSet *set = REPLICA_SET(object_new(key));
    StringMap *labels = string_map_with(deployment->template->labels, label.key, label.value);

    set->meta.labels = string_map_ref(labels);
    set->template = pod_template_with_labels(deployment->template, labels);
    set->selector = selector_with(deployment->selector, label);
    set->min_ready_s = deployment->min_ready_s;
    set->replicas = 0;
    object_set_owner(&set->meta, &deployment->meta, TRUE, TRUE);
    g_ptr_array_add(sync->all, set);
    set->replicas = new_set_replicas(deployment, sync->all, set);
    g_ptr_array_remove(sync->all, set);

    SetEdit *edit = set_edit_new(plan, set, n_annotations_max(sync));
    set_edit_add_revision(plan, edit, sync, set);
    set_edit_add_sizes(plan, edit, deployment);
    edit_set(&set->meta, edit);
    return set;
}

/* The set could not be made: the deployment says so. */
static void
plan_set_failed(Plan *plan, Sync *sync, const char *message)
{
    plan_because(plan, "WL-78");
    plan_event(plan, &sync->deployment->meta, "Warning", "ReplicaSetCreateError",
               "Failed to create new replica set: %s", message);
    if (deployment_has_deadline(sync->deployment)) {
        condition_set(&sync->status.progressing, CONDITION_FALSE, "ReplicaSetCreateError", message,
                      plan_now(plan));
        plan_because(plan, "WL-71");
        StatusEdit *edit = plan_new_arg(plan, StatusEdit);
        edit->status = sync->status;
        plan_update_status(plan, &sync->deployment->meta, edit_status, edit, PLAN_GO_ON);
    }
    plan_fail(plan, "%s", message);
}

/* Its name is taken: by itself, that the cache does not know yet, or by another template, which counts as a collision. */
static void
plan_set_exists(const DeploymentController *self, Plan *plan, Sync *sync, const char *message)
{
    const Object *there = informer_get(
        self->sets, objects_find_key(
                        self->base.objects, KIND_REPLICA_SET, sync->deployment->meta.key->namespace,
                        plan_internf(plan, "%s-%s", object_name(&sync->deployment->meta),
                                     template_hash_text(plan, sync->deployment))));

    if (there != NULL && !object_is_controlled_by(there, &sync->deployment->meta)) {
        sync->status.collisions++;
        plan_because(plan, "WL-71");
        plan_write_status(plan, sync, &sync->status);
    }
    plan_fail(plan, "%s", message);
}

static void
decide_after_set(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    Sync *sync = plan_operation(plan);
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);

    if (code == API_EXISTS) {
        plan_set_exists(self, plan, sync, plan_message(plan, step));
        return;
    }
    if (code != API_OK) {
        plan_set_failed(plan, sync, plan_message(plan, step));
        return;
    }
    take_new_set(sync, plan_object(plan, step));
    const char *name = object_name(&sync->new_set->meta);
    plan_because(plan, "WL-78");
    if (sync->new_set->replicas > 0)
        plan_event(plan, &sync->deployment->meta, "Normal", "ScalingReplicaSet",
                   "Scaled up replica set %s from 0 to %d", name, sync->new_set->replicas);
    sync->revision = object_annotation(&sync->new_set->meta, ANNOTATION_REVISION);
    if (deployment_has_deadline(sync->deployment))
        condition_set(&sync->status.progressing, CONDITION_TRUE, "NewReplicaSetCreated",
                      plan_internf(plan, "Created new replica set \"%s\"", name), plan_now(plan));
    plan_because(plan, "WL-71");
    plan_write_status(plan, sync, &sync->status);
    plan_then(plan, decide_next);
}

/* Goes on with @next once the set of the deployment's template is as it shall be; makes it if @creates. */
static void
plan_new_set(
    const DeploymentController *self, Plan *plan, Sync *sync, gboolean creates, PlanDecide next)
{
    sync->next = next;
    if (sync->new_set != NULL) {
        plan_found_set(self, plan, sync);
        return;
    }
    if (!creates) {
        next(self, plan);
        return;
    }
    plan_because(plan, "WL-71");
    plan_create(plan, &new_set_of(self, plan, sync)->meta, PLAN_DECIDE);
    plan_then(plan, decide_after_set);
}

/* ---- Rollouts ---- */

/* Old sets beyond the history that are empty. */
static void
plan_cleanup(Plan *plan, const Sync *sync)
{
    g_autoptr(GPtrArray) sets = g_ptr_array_new();

    for (unsigned i = 0; i < sync->old->len; i++)
        if (!object_is_deleted(sync->old->pdata[i]))
            g_ptr_array_add(sets, sync->old->pdata[i]);
    int64_t n = (int64_t)sets->len - sync->deployment->revision_history_limit;
    plan_because(plan, "WL-71");
    for (int64_t i = 0; i < n; i++) {
        unsigned lowest = 0;
        for (unsigned k = 1; k < sets->len; k++)
            if (set_revision(sets->pdata[k]) < set_revision(sets->pdata[lowest]))
                lowest = k;
        const ReplicaSet *set = g_ptr_array_remove_index(sets, lowest);
        if (set->status_replicas == 0 && set->replicas == 0 &&
            (int32_t)set->meta.generation <= set->observed_generation)
            plan_delete(plan, set->meta.key, (ObjectUid){0, 0}, -1, PLAN_GONE_IS_FINE);
    }
}

static void
decide_rollout_status(const void *data, Plan *plan)
{
    plan_rollout_status(data, plan, plan_operation(plan));
}

/* Scales and cleaning up go first, then the status is told. */
static void
plan_rollout_end(Plan *plan, const Sync *sync, gboolean is_still)
{
    if (is_still && deployment_is_complete(sync->deployment, &sync->status))
        plan_cleanup(plan, sync);
    plan_then(plan, decide_rollout_status);
}

/* WL-71. */
static void
decide_rolling(const void *data, Plan *plan)
{
    const Sync *sync = plan_operation(plan);
    const ReplicaSet *set = sync->new_set;
    g_autoptr(GPtrArray) old = sets_active(sync->old);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(SetScale));
    SetScale up = {.set = set, .replicas = new_set_replicas(sync->deployment, sync->all, set)};

    (void)data;
    if (set->replicas > sync->deployment->replicas)
        up.replicas = sync->deployment->replicas;
    if (up.replicas != set->replicas) {
        g_array_append_val(scales, up);
    } else {
        g_array_unref(scales);
        scales = old_sets_scales(sync->deployment, old, set);
    }
    plan_scales(plan, sync->deployment, scales);
    plan_rollout_end(plan, sync, scales->len == 0);
}

static gboolean
has_running_pods(const DeploymentController *self, const ObjectKey *set)
{
    unsigned n;
    const Object *const *pods = informer_index_get(self->pods_by_controller, set, &n);

    for (unsigned i = 0; i < n; i++)
        if (!pod_is_terminal(POD_CONST(pods[i])))
            return TRUE;
    return FALSE;
}

static gboolean
old_pods_run(const DeploymentController *self, const Sync *sync)
{
    if (sets_sum(sync->old).there > 0)
        return TRUE;
    for (unsigned i = 0; i < sync->old->len; i++)
        if (has_running_pods(self, ((const Object *)sync->old->pdata[i])->key))
            return TRUE;
    return FALSE;
}

static void
decide_recreate_up(const void *data, Plan *plan)
{
    const Sync *sync = plan_operation(plan);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(SetScale));
    SetScale up = {.set = sync->new_set, .replicas = sync->deployment->replicas};

    (void)data;
    if (up.replicas != sync->new_set->replicas)
        g_array_append_val(scales, up);
    plan_because(plan, "WL-73");
    plan_scales(plan, sync->deployment, scales);
    plan_rollout_end(plan, sync, TRUE);
}

/* WL-73. */
static void
decide_recreate(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    Sync *sync = plan_operation(plan);
    g_autoptr(GPtrArray) old = sets_active(sync->old);
    g_autoptr(GArray) scales = g_array_new(FALSE, FALSE, sizeof(SetScale));

    plan_because(plan, "WL-73");
    for (unsigned i = 0; i < old->len; i++) {
        SetScale down = {.set = old->pdata[i], .replicas = 0};
        g_array_append_val(scales, down);
    }
    if (scales->len > 0) {
        plan_scales(plan, sync->deployment, scales);
        plan_then(plan, decide_rollout_status);
    } else if (old_pods_run(self, sync)) {
        plan_rollout_status(self, plan, sync);
    } else if (sync->new_set == NULL) {
        plan_new_set(self, plan, sync, TRUE, decide_recreate_up);
    } else {
        decide_recreate_up(data, plan);
    }
}

static void
decide_counts(const void *data, Plan *plan)
{
    (void)data;
    plan_counts(plan, plan_operation(plan));
}

/* The deployment has another size than its sets know, or is paused. */
static void
plan_scaling_event(Plan *plan, const Sync *sync)
{
    g_autoptr(GArray) scales = scaling_event_scales(sync->deployment, sync->old, sync->new_set);

    plan_scales(plan, sync->deployment, scales);
    if (sync->deployment->paused)
        plan_cleanup(plan, sync);
    plan_then(plan, decide_counts);
}

static gboolean
is_scaling_event(const Sync *sync)
{
    g_autoptr(GPtrArray) active = sets_active(sync->all);

    for (unsigned i = 0; i < active->len; i++) {
        int64_t desired = set_annotated(active->pdata[i], ANNOTATION_DESIRED);
        if (desired >= 0 && desired != sync->deployment->replicas)
            return TRUE;
    }
    return FALSE;
}

static void
decide_strategy(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    Sync *sync = plan_operation(plan);

    if (sync->deployment->paused || is_scaling_event(sync))
        plan_scaling_event(plan, sync);
    else if (sync->deployment->recreate)
        decide_recreate(data, plan);
    else
        plan_new_set(self, plan, sync, TRUE, decide_rolling);
}

/* ---- The sync ---- */

/* A pause and its end are told. Returns: whether there is something to tell */
static gboolean
tell_pause(const Deployment *deployment, DeploymentStatus *status, SimTime now)
{
    WorkloadCondition *condition = &status->progressing;
    gboolean is_told = g_strcmp0(condition->reason, "DeploymentPaused") == 0;

    if (!deployment_has_deadline(deployment) ||
        g_strcmp0(condition->reason, REASON_TIMED_OUT) == 0 || is_told == deployment->paused)
        return FALSE;
    if (deployment->paused)
        condition_set(condition, CONDITION_UNKNOWN, "DeploymentPaused", "Deployment is paused",
                      now);
    else
        condition_set(condition, CONDITION_UNKNOWN, "DeploymentResumed", "Deployment is resumed",
                      now);
    return TRUE;
}

static void
decide_owned(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    Sync *sync = plan_operation(plan);

    if (object_is_deleted(&sync->deployment->meta)) {
        plan_counts(plan, sync);
        return;
    }
    if (tell_pause(sync->deployment, &sync->status, plan_now(plan))) {
        plan_because(plan, "WL-71");
        plan_write_status(plan, sync, &sync->status);
        sync->next = decide_strategy;
        plan_then(plan, decide_next);
        return;
    }
    plan_new_set(self, plan, sync, FALSE, decide_strategy);
}

static void
sync_begin(const DeploymentController *self, Sync *sync, const Object *deployment)
{
    sync->deployment = DEPLOYMENT_CONST(object_ref(deployment));
    sync->status = deployment_status_of(sync->deployment);
    sync->revision = object_annotation(deployment, ANNOTATION_REVISION);
    claimed_look(&sync->claimed, &(ClaimOptions){
                                     .owner = deployment,
                                     .selector = sync->deployment->selector,
                                     .by_controller = self->sets_by_controller,
                                     .orphans = self->orphan_sets,
                                 });
    sets_sort_by_creation(sync->claimed.owned);
    sync->new_set = sets_find_new(sync->claimed.owned, sync->deployment);
    if (sync->new_set != NULL)
        object_ref(&sync->new_set->meta);
    split_sets(sync);
}

static void
decide_deployment(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    Sync *sync = plan_operation(plan);
    const Object *deployment = informer_get(self->deployments, plan_key(plan));

    sync_clear(sync);
    if (deployment == NULL)
        return;
    sync_begin(self, sync, deployment);
    if (claimed_is_settled(&sync->claimed)) {
        decide_owned(data, plan);
        return;
    }
    plan_because(plan, "WL-71");
    claimed_plan(&sync->claimed, plan, deployment);
    plan_then(plan, decide_owned);
}

static void
init(void *data)
{
    DeploymentController *self = data;
    const KubeControllerManagerOptions *options = self->base.options;
    Process *process = self->base.process;

    self->deployments = process_informer(process, KIND_DEPLOYMENT, NULL);
    self->sets = process_informer(process, KIND_REPLICA_SET, NULL);
    self->pods = process_informer(process, KIND_POD, NULL);
    self->sets_by_controller = informer_add_index(self->sets, index_by_controller);
    self->orphan_sets = informer_add_index(self->sets, index_orphans);
    self->pods_by_controller = informer_add_index(self->pods, index_by_controller);
    self->workers =
        workers_new(&self->base, &(WorkersOptions){
                                     .name = "deployment",
                                     .n_workers = (unsigned)options->concurrent_deployment_syncs,
                                     .limit = rate_limit_default,
                                     .retry = TRUE,
                                     .retries_max = RETRIES_MAX,
                                     .sync = decide_deployment,
                                     .operation_size = sizeof(Sync),
                                     .clear_operation = sync_clear,
                                 });
    informer_add_handler(self->deployments, deployment_changed, self);
    informer_add_handler(self->sets, set_changed, self);
    informer_add_handler(self->pods, pod_changed, self);
}

static void
clear(void *data)
{
    DeploymentController *self = data;

    workers_free(self->workers);
}

const ModelClass deployment_controller_class = {
    .name = "deployment-controller",
    .process = &kube_controller_manager_process,
    .size = sizeof(DeploymentController),
    .event_source = "deployment-controller",
    .client_qps = kube_controller_manager_client_qps,
    .init = init,
    .clear = clear,
};
