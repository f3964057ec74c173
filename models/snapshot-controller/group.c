/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The volumes of a group (SNAP-81), its default class, and its content (SNAP-82). The claims are
 * listed by the selector, in the order of their names, and their volumes read one after the other;
 * one that is not bound, or has another driver than the class, fails the sync. Only matchLabels
 * count in a selector, as in the original. */
#include "controller.h"

#include <string.h>

/* ---- SNAP-81: the claims that the selector finds, and their volumes ---- */

/* Of a selector only matchLabels count, which are IN with one value. */
static gboolean
is_label(const SelectRequirement *requirement)
{
    return requirement->operator== SELECT_IN && requirement->values->n_items == 1;
}

static gboolean
labels_match(const LabelSelector *selector, const StringMap *labels)
{
    for (unsigned i = 0; i < selector->n_requirements; i++) {
        const SelectRequirement *requirement = &selector->requirements[i];
        if (is_label(requirement) &&
            g_strcmp0(string_map_get(labels, requirement->key), requirement->values->items[0]) != 0)
            return FALSE;
    }
    return TRUE;
}

/* As metav1.FormatLabelSelector(). Returns: (borrowed): interned */
static const char *
selector_text(Plan *plan, const LabelSelector *selector)
{
    static const char *const words[] = {" in (", " notin ("};
    g_autoptr(GString) text = g_string_new(NULL);

    for (unsigned i = 0; i < selector->n_requirements; i++) {
        const SelectRequirement *requirement = &selector->requirements[i];
        g_string_append_printf(text, "%s%s%s", i > 0 ? "," : "",
                               requirement->operator== SELECT_DOES_NOT_EXIST ? "!" : "",
                               requirement->key);
        if (is_label(requirement))
            g_string_append_printf(text, "=%s", requirement->values->items[0]);
        else if (requirement->operator== SELECT_IN || requirement->operator== SELECT_NOT_IN) {
            g_autofree char *values = g_strjoinv(",", (char **)requirement->values->items);
            g_string_append_printf(text, "%s%s)", words[requirement->operator], values);
        }
    }
    return plan_internf(plan, "%s", text->len == 0 ? "<none>" : text->str);
}

static void
plan_volumes_over(const SnapshotController *self, Plan *plan, const char *error)
{
    SnapshotSync *sync = plan_notes(plan);

    sync->error = error;
    plan_use_client(plan, NULL);
    sync->with_volumes(self, plan);
}

static void plan_next_volume(const SnapshotController *self, Plan *plan);

static void
group_decide_volume(const void *data, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);
    const Claim *claim = sync->claims[sync->n_volumes];
    const Object *volume = plan_object(plan, plan_last_step(plan));

    plan_because(plan, "SNAP-81");
    if (volume == NULL)
        plan_volumes_over(data, plan,
                          plan_internf(plan, "failed to retrieve PV %s from the API server: %s",
                                       claim_volume_name(claim),
                                       plan_quote(plan, plan_last_message(plan))));
    else if (!volume_is_of_claim(VOLUME_CONST(volume), claim))
        plan_volumes_over(data, plan, "claim in dataSource not bound or invalid");
    else {
        sync->volumes[sync->n_volumes++] = VOLUME_CONST(plan_keep(plan, volume));
        plan_next_volume(data, plan);
    }
}

static void
plan_next_volume(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    if (sync->n_volumes == sync->n_claims) {
        plan_volumes_over(self, plan, NULL);
        return;
    }
    const Claim *claim = sync->claims[sync->n_volumes];
    if (claim->phase != CLAIM_BOUND) {
        plan_volumes_over(
            self, plan,
            plan_internf(
                plan,
                "the PVC %s is not yet bound to a PV, will not attempt to take a group snapshot",
                object_name(&claim->meta)));
        return;
    }
    plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim)),
             PLAN_DECIDE);
    plan_then(plan, group_decide_volume);
}

static int
compare_claims(const void *a, const void *b)
{
    const Claim *const *x = a, *const *y = b;

    return strcmp(object_name(&(*x)->meta), object_name(&(*y)->meta));
}

/* The API server lists by name. */
static void
take_claims(Plan *plan, SnapshotSync *sync, const LabelSelector *selector)
{
    int step = plan_last_step(plan);
    unsigned n_max = plan_list_length(plan, step);
    const Object *object;
    uint32_t slot = 0;

    sync->n_claims = sync->n_volumes = 0;
    sync->claims = plan_alloc(plan, (n_max + 1) * sizeof *sync->claims);
    sync->volumes = plan_alloc(plan, (n_max + 1) * sizeof *sync->volumes);
    while ((object = plan_list_next(plan, step, &slot)) != NULL)
        if (object->key->namespace == plan_key(plan)->namespace &&
            labels_match(selector, object->labels))
            sync->claims[sync->n_claims++] = CLAIM_CONST(plan_keep(plan, object));
    qsort(sync->claims, sync->n_claims, sizeof *sync->claims, compare_claims);
}

static void
decide_claims(const void *data, Plan *plan)
{
    SnapshotSync *sync = plan_notes(plan);
    const LabelSelector *selector = GROUP_SNAPSHOT_CONST(sync->snapshot)->selector;

    plan_because(plan, "SNAP-81");
    if (plan_has_failed(plan)) {
        plan_volumes_over(data, plan,
                          plan_internf(plan, "failed to list PVCs with label selector %s: %s",
                                       selector_text(plan, selector),
                                       plan_quote(plan, plan_last_message(plan))));
        return;
    }
    take_claims(plan, sync, selector);
    if (sync->n_claims == 0)
        plan_volumes_over(
            data, plan,
            plan_internf(plan, "label selector %s for group snapshot not applied to any PVC",
                         selector_text(plan, selector)));
    else
        plan_next_volume(data, plan);
}

static void
plan_read_volumes(const SnapshotController *self, Plan *plan, PlanDecide then)
{
    SnapshotSync *sync = plan_notes(plan);

    sync->with_volumes = then;
    plan_because(plan, "SNAP-81");
    plan_use_client(plan, self->base.event_client);
    plan_list(plan, KIND_CLAIM, PLAN_DECIDE);
    plan_then(plan, decide_claims);
}

/* ---- The default class ---- */

static void
decide_default_class(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    const char *error = sync->error;
    const Object *class = NULL;
    unsigned n = 0;

    plan_because(plan, "SNAP-81");
    if (error == NULL && volume_driver(sync->volumes[0]) == NULL)
        error =
            plan_internf(plan, "snapshotting non-CSI volumes is not supported, group snapshot:%s",
                         plan_key(plan)->text);
    if (error == NULL)
        class = default_class(data, plan, volume_driver(sync->volumes[0]), &n);
    if (error == NULL && n == 0)
        error = "cannot find default group snapshot class";
    if (error == NULL && n > 1)
        error = plan_internf(plan, "%u default snapshot classes were found", n);
    if (error != NULL) {
        plan_no_default(plan, error);
        return;
    }
    plan_update(plan, &sync->snapshot->meta, edit_set_class, object_name(class), PLAN_DECIDE);
    plan_then(plan, decide_class_set);
}

void
plan_default_group_class(const SnapshotController *self, Plan *plan)
{
    if (GROUP_SNAPSHOT_CONST(snapshot_of(plan))->selector == NULL)
        plan_no_default(plan, "Exactly one of Selector and VolumeGroupSnapshotContentName should "
                              "be specified");
    else
        plan_read_volumes(self, plan, decide_default_class);
}

/* ---- SNAP-82: the content ---- */

/* Returns: (owned) */
static Object *
content_new(const SnapshotController *self, const SnapshotSync *sync, const SnapshotClass *class)
{
    const ObjectKey *of = sync->snapshot->meta.key;
    Object *object = object_new(dynamic_content_key(self, sync->snapshot));
    SnapshotContent *content = SNAPSHOT_CONTENT(object);
    g_autofree const char **handles = g_new(const char *, sync->n_volumes);

    for (unsigned i = 0; i < sync->n_volumes; i++)
        handles[i] = sync->volumes[i]->source->handle;
    GROUP_CONTENT(object)->volume_handles = string_list_new(handles, sync->n_volumes);
    content->driver = class->driver;
    content->deletion_policy = class->deletion_policy;
    content->class_name = object_name(&class->meta);
    content->snapshot = (SnapshotReference){of->namespace, of->name, sync->snapshot->meta.uid};
    if (sync->secret.name != NULL) {
        object_set_annotation(object,
                              strings_intern(self->base.strings, ANNOTATION_GROUP_SECRET_NAME),
                              sync->secret.name);
        object_set_annotation(object,
                              strings_intern(self->base.strings, ANNOTATION_GROUP_SECRET_NAMESPACE),
                              sync->secret.namespace);
    }
    return object;
}

/* Checks that all volumes have the driver of the class. Returns: FALSE: the plan fails */
static gboolean
volumes_fit(Plan *plan, const SnapshotSync *sync, const SnapshotClass *class)
{
    const char *key = plan_key(plan)->text;

    for (unsigned i = 0; i < sync->n_volumes; i++) {
        const char *name = object_name(&sync->volumes[i]->meta);
        const char *driver = volume_driver(sync->volumes[i]);
        if (driver == class->driver)
            continue;
        const char *error =
            driver == NULL
                ? plan_internf(plan, "cannot snapshot a non-CSI volume for group snapshot %s: %s",
                               key, name)
                : plan_internf(plan,
                               "Volume CSI driver (%s) mismatch with VolumeGroupSnapshotClass (%s) "
                               "%s: %s",
                               driver, class->driver, key, name);
        plan_event(plan, &sync->snapshot->meta, "Warning", "CreateGroupSnapshotContentFailed", "%s",
                   driver == NULL ? plan_internf(plan, "Cannot snapshot a non-CSI volume: %s", name)
                                  : error);
        plan_creation_failed(plan,
                             driver == NULL ? error : snapshot_update_error(plan, key, error));
        return FALSE;
    }
    return TRUE;
}

static void
decide_create(const void *data, Plan *plan)
{
    const SnapshotController *self = data;
    SnapshotSync *sync = plan_notes(plan);
    const SnapshotClass *class =
        SNAPSHOT_CLASS_CONST(informer_find(self->group.classes, NULL, sync->snapshot->class_name));

    plan_because(plan, "SNAP-82");
    if (class == NULL && sync->error == NULL) /* deleted meanwhile */
        sync->error = snapshot_class_error(plan, sync->snapshot->class_name);
    if (sync->error != NULL) {
        plan_input_failed(plan, sync->error);
        return;
    }
    g_autofree char *secret_error = snapshot_secret_resolve(
        self->base.strings, SNAPSHOT_SECRET_GROUP, class->parameters,
        dynamic_content_key(self, sync->snapshot)->name, plan_key(plan), &sync->secret);
    if (secret_error != NULL) {
        plan_because(plan, "SNAP-70");
        plan_input_failed(plan, secret_error);
        return;
    }
    if (!volumes_fit(plan, sync, class))
        return;
    plan_content_creation(plan, content_new(self, sync, class));
}

void
plan_group_creation(const SnapshotController *self, Plan *plan)
{
    const char *class_name = snapshot_of(plan)->class_name;

    plan_because(plan, "SNAP-82");
    if (class_name == NULL)
        plan_input_failed(plan, snapshot_no_class_error(plan, plan_key(plan)->name));
    else if (informer_find(self->group.classes, NULL, class_name) == NULL)
        plan_input_failed(plan, snapshot_class_error(plan, class_name));
    else
        plan_read_volumes(self, plan, decide_create);
}
