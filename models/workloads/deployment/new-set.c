/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds, makes or updates the ReplicaSet of a Deployment's template: getNewReplicaSet() of sync.go.
 * The set whose template is the Deployment's is the new one; the others are old. Its name ends with
 * a hash of the template. If that name is taken by a set of another owner, the collision count
 * grows and the next sync tries another name; if the set is the Deployment's own, the cache is only
 * late. */
#include "models/workloads/deployment/private.h"

static void
take_new_set(DeploymentSync *sync, const Object *set)
{
    const ReplicaSet *before = sync->new_set;

    sync->new_set = REPLICA_SET_CONST(object_ref(set));
    if (before != NULL)
        object_unref(&before->meta);
    deployment_split_sets(sync);
}

/* The sets inherit the deployment's annotations, except for annotations about a single object. */
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

/* The set gets the annotations of its deployment, and the number of its revision. */
static void
set_edit_add_revision(Plan *plan, SetEdit *edit, const DeploymentSync *sync, const ReplicaSet *set)
{
    const StringMap *given = sync->deployment->meta.annotations;
    int64_t revision = sets_max_revision(sync->old) + 1;
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
n_annotations_max(const DeploymentSync *sync)
{
    const StringMap *given = sync->deployment->meta.annotations;

    return 4 + (given == NULL ? 0 : given->n_pairs);
}

void
deployment_decide_next(const void *data, Plan *plan)
{
    const DeploymentSync *sync = plan_notes(plan);

    sync->next(data, plan);
}

static void
decide_after_set_update(const void *data, Plan *plan)
{
    DeploymentSync *sync = plan_notes(plan);

    take_new_set(sync, plan_object(plan, plan_last_step(plan)));
    sync->next(data, plan);
}

/* The set exists. Updates its annotations; if they are right, tells of it in the deployment's
 * status. */
static void
plan_found_set(const DeploymentController *self, Plan *plan, DeploymentSync *sync)
{
    SetEdit *edit = set_edit_new(plan, sync->new_set, n_annotations_max(sync));
    g_autoptr(Object) tried = object_edit(&sync->new_set->meta);
    const char *name = object_name(&sync->new_set->meta);
    gboolean is_news = FALSE;

    edit->min_ready_s = sync->deployment->min_ready_s;
    set_edit_add_revision(plan, edit, sync, sync->new_set);
    plan_because(plan, "WL-71");
    if (set_edit_apply(tried, edit)) {
        plan_update(plan, &sync->new_set->meta, set_edit_apply, edit, PLAN_STOP);
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
    deployment_plan_status(plan, sync, &sync->status);
    plan_then(plan, deployment_decide_next);
}

/* Looks like a hash of Kubernetes', but is another function; the same for the same template. */
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
new_set_of(const DeploymentController *self, Plan *plan, const DeploymentSync *sync)
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
    set_edit_apply(&set->meta, edit);
    return set;
}

/* The set could not be made: an Event and a condition tell so. */
static void
plan_set_failed(Plan *plan, DeploymentSync *sync, const char *message)
{
    plan_because(plan, "WL-78");
    plan_event(plan, &sync->deployment->meta, "Warning", "ReplicaSetCreateError",
               "Failed to create new replica set: %s", message);
    if (deployment_has_deadline(sync->deployment)) {
        condition_set(&sync->status.progressing, CONDITION_FALSE, "ReplicaSetCreateError", message,
                      plan_now(plan));
        plan_because(plan, "WL-71");
        deployment_plan_failure(plan, sync);
    }
    plan_fail(plan, "%s", message);
}

/* The name is taken. Either the cache does not know the set yet, or a set of another owner has the
 * name: that counts as a collision. */
static void
plan_set_exists(const DeploymentController *self,
                Plan *plan,
                DeploymentSync *sync,
                const char *message)
{
    const Object *there = informer_get(
        self->sets, objects_find_key(
                        self->base.objects, KIND_REPLICA_SET, sync->deployment->meta.key->namespace,
                        plan_internf(plan, "%s-%s", object_name(&sync->deployment->meta),
                                     template_hash_text(plan, sync->deployment))));

    if (there != NULL && !object_is_controlled_by(there, &sync->deployment->meta)) {
        sync->status.collisions++;
        plan_because(plan, "WL-71");
        deployment_plan_status(plan, sync, &sync->status);
    }
    plan_fail(plan, "%s", message);
}

static void
decide_after_set(const void *data, Plan *plan)
{
    const DeploymentController *self = data;
    DeploymentSync *sync = plan_notes(plan);
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
    deployment_plan_size_event(plan, sync, sync->new_set, -1, sync->new_set->replicas);
    sync->revision = object_annotation(&sync->new_set->meta, ANNOTATION_REVISION);
    if (deployment_has_deadline(sync->deployment))
        condition_set(&sync->status.progressing, CONDITION_TRUE, "NewReplicaSetCreated",
                      plan_internf(plan, "Created new replica set \"%s\"", name), plan_now(plan));
    plan_because(plan, "WL-71");
    deployment_plan_status(plan, sync, &sync->status);
    plan_then(plan, deployment_decide_next);
}

void
deployment_plan_new_set(const DeploymentController *self,
                        Plan *plan,
                        DeploymentSync *sync,
                        gboolean creates,
                        PlanDecide next)
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
