/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/stateful-set/private.h"

/* One pod of a StatefulSet and its claims: creation, update, deletion (WL-43..45, WL-60). */

/* One pod: a plan of its own, since the pods of a batch go side by side. */
typedef struct {
    ItemAction action;
    const StatefulSet *set; /* (owned) */
    ObjectKey *pod;
    const char *revision;
    const PodTemplate *template; /* (owned): CREATE */
    int32_t ordinal;
} Item;

/* The progress with its claims. */
typedef struct {
    unsigned template;  /* index of the claim template in turn */
    const char *errors; /* of claims, interned; NULL: none */
    unsigned n_errors;
} ItemNotes;

static void
item_free(void *data)
{
    Item *item = data;

    object_unref(&item->set->meta);
    pod_template_unref((PodTemplate *)item->template);
    g_free(item);
}

static void
note_error(Plan *plan, const char *error)
{
    ItemNotes *notes = plan_notes(plan);

    notes->errors =
        notes->errors == NULL ? error : plan_internf(plan, "%s, %s", notes->errors, error);
    notes->n_errors++;
}

/* WL-65. */
static void
plan_pod_event(Plan *plan, const Item *item, const char *error)
{
    static const struct {
        const char *verb, *done, *failed;
    } events[] = {
        [ITEM_CREATE] = {"create", "SuccessfulCreate", "FailedCreate"},
        [ITEM_CLAIMS] = {"create", "SuccessfulCreate", "FailedCreate"},
        [ITEM_UPDATE] = {"update", "SuccessfulUpdate", "FailedUpdate"},
        [ITEM_DELETE] = {"delete", "SuccessfulDelete", "FailedDelete"},
    };
    const char *verb = events[item->action].verb, *set = object_name(&item->set->meta);

    if (error == NULL)
        plan_event(plan, &item->set->meta, "Normal", events[item->action].done,
                   "%s Pod %s in StatefulSet %s successful", verb, item->pod->name, set);
    else
        plan_event(plan, &item->set->meta, "Warning", events[item->action].failed,
                   "%s Pod %s in StatefulSet %s failed error: %s", verb, item->pod->name, set,
                   error);
}

/* ---- Owners of the claims (WL-60) ---- */

static ClaimOwners
owners_of(const StatefulSetController *self, const StatefulSet *set, ObjectKey *pod)
{
    int64_t position = stateful_position(set, pod);

    return (ClaimOwners){
        .set = set,
        .pod = informer_get(self->head.pods, pod),
        .pod_key = pod,
        .is_in_range = position >= 0 && position < set->replicas,
    };
}

static const Object *
claim_of(const StatefulSetController *self,
         const StatefulSet *set,
         unsigned i,
         const ObjectKey *pod)
{
    return informer_get(self->claims, stateful_claim_key(self->head.base.objects,
                                                         set->claim_templates->items[i], pod));
}

static unsigned
n_claims(const StatefulSet *set)
{
    return set->claim_templates == NULL ? 0 : set->claim_templates->n_items;
}

static gboolean
claims_match_policy(const StatefulSetController *self, const StatefulSet *set, ObjectKey *pod)
{
    ClaimOwners owners = owners_of(self, set, pod);

    for (unsigned i = 0; i < n_claims(set); i++)
        if (!claim_owners_are_right(claim_of(self, set, i, pod), &owners))
            return FALSE;
    return TRUE;
}

static void
plan_owners(const StatefulSetController *self, Plan *plan, const Item *item)
{
    ClaimOwners *owners = plan_new_arg(plan, ClaimOwners);

    *owners = owners_of(self, item->set, item->pod);
    for (unsigned i = 0; i < n_claims(item->set); i++) {
        const Object *claim = claim_of(self, item->set, i, item->pod);
        switch (claim_owner(claim, owners)) {
        case CLAIM_OWNER_LATER: /* left to a later sync */
            break;
        case CLAIM_OWNER_KEPT:
            plan_because(plan, "WL-63");
            plan_event(plan, &item->set->meta, "Warning", "ConflictingController",
                       "PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a "
                       "managing controller, the retention policy is ignored for this claim",
                       object_name(claim));
            break;
        case CLAIM_OWNER_NONE:
        case CLAIM_OWNER_SET:
        case CLAIM_OWNER_POD:
            plan_because(plan, "WL-60");
            plan_update(plan, claim, claim_edit_owners, owners, PLAN_STOP);
            break;
        }
    }
}

static gboolean
identity_matches(const Pod *pod)
{
    return g_strcmp0(object_label(&pod->meta, LABEL_POD_NAME), object_name(&pod->meta)) == 0;
}

gboolean
stateful_needs_update(const StatefulSetController *self, const StatefulSet *set, const Pod *pod)
{
    return !identity_matches(pod) || !claims_match_policy(self, set, (ObjectKey *)pod->meta.key);
}

static gboolean
edit_identity(Object *object, const void *data)
{
    const StringPair *name = data;

    return object_set_label(object, name->key, name->value);
}

static void
decide_after_update(const void *data, Plan *plan)
{
    const Item *item = plan_operation(plan);
    const char *error = plan_last_message(plan);

    (void)data;
    plan_because(plan, "WL-65");
    plan_pod_event(plan, item, error);
    if (error != NULL)
        plan_fail(plan, "%s", error);
}

static void
plan_update_pod(const StatefulSetController *self, Plan *plan, const Item *item)
{
    const Object *pod = informer_get(self->head.pods, item->pod);
    StringPair *name = plan_new_arg(plan, StringPair);

    plan_owners(self, plan, item);
    if (pod == NULL || identity_matches(POD_CONST(pod)))
        return;
    *name = (StringPair){plan_internf(plan, LABEL_POD_NAME), item->pod->name};
    plan_because(plan, "WL-41");
    plan_update(plan, pod, edit_identity, name, PLAN_DECIDE);
    plan_then(plan, decide_after_update);
}

static gboolean
has_stale_claim(const StatefulSetController *self, const Item *item)
{
    ClaimOwners owners = owners_of(self, item->set, item->pod);

    for (unsigned i = 0; item->set->delete_when_scaled && i < n_claims(item->set); i++) {
        const Object *claim = claim_of(self, item->set, i, item->pod);
        if (claim != NULL && claim_is_stale(claim, &owners))
            return TRUE;
    }
    return FALSE;
}

/* ---- The pod ---- */

static void
decide_after_owners(const void *data, Plan *plan)
{
    (void)data;
    plan_because(plan, "WL-65");
    plan_pod_event(plan, plan_operation(plan), NULL);
}

static void
decide_after_pod(const void *data, Plan *plan)
{
    const Item *item = plan_operation(plan);
    ApiCode code = plan_code(plan, plan_last_step(plan));

    if (item->action == ITEM_CREATE && code == API_OK &&
        (item->set->delete_when_deleted || item->set->delete_when_scaled)) {
        plan_owners(data, plan, item);
        plan_then(plan, decide_after_owners);
        return;
    }
    plan_because(plan, "WL-65");
    /* A pod that exists is another owner's, or is not in the cache yet: no Event. */
    if (code != API_EXISTS)
        plan_pod_event(plan, item, plan_last_message(plan));
    if (code != API_OK)
        plan_fail(plan, "%s", plan_last_message(plan));
}

static void plan_next_claim(const StatefulSetController *self, Plan *plan);

/* A claim that cannot be made keeps the pod from being made, but not the other claims. */
static void
decide_after_claim(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const Item *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);
    const ClaimTemplate *template = item->set->claim_templates->items[notes->template];
    const char *claim = stateful_claim_key(self->head.base.objects, template, item->pod)->name;
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
        note_error(plan, plan_internf(plan, "failed to create PVC %s: %s", claim,
                                      plan_message(plan, step)));
    notes->template ++;
    plan_next_claim(self, plan);
}

static void
plan_pod(const StatefulSetController *self, Plan *plan, const Item *item)
{
    const ItemNotes *notes = plan_notes(plan);

    if (notes->errors != NULL) {
        const char *errors =
            notes->n_errors == 1 ? notes->errors : plan_internf(plan, "[%s]", notes->errors);
        plan_because(plan, "WL-65");
        if (item->action == ITEM_CREATE)
            plan_pod_event(plan, item, errors);
        plan_fail(plan, "%s", errors);
        return;
    }
    if (item->action == ITEM_CLAIMS)
        return;
    plan_because(plan, "WL-43");
    plan_create(plan,
                stateful_pod_new(self->head.base.objects, item->set,
                                 &(StatefulPod){
                                     .key = item->pod,
                                     .ordinal = item->ordinal,
                                     .revision = item->revision,
                                     .template = item->template,
                                 }),
                PLAN_DECIDE);
    plan_then(plan, decide_after_pod);
}

/* Makes the next claim that is missing; after the last, the pod. */
static void
plan_next_claim(const StatefulSetController *self, Plan *plan)
{
    const Item *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);

    for (; notes->template <n_claims(item->set); notes->template ++) {
        const ClaimTemplate *template = item->set->claim_templates->items[notes->template];
        ObjectKey *key = stateful_claim_key(self->head.base.objects, template, item->pod);
        const Object *claim = informer_get(self->claims, key);
        if (claim == NULL) {
            plan_because(plan, "WL-43");
            plan_create(plan, stateful_claim_new(item->set, template, key), PLAN_DECIDE);
            plan_then(plan, decide_after_claim);
            return;
        }
        if (object_is_deleted(claim))
            note_error(plan, plan_internf(plan, "pvc %s is being deleted", key->name));
    }
    plan_pod(self, plan, item);
}

static void
decide_item(const void *data, Plan *plan)
{
    const Item *item = plan_operation(plan);

    if (item->action == ITEM_DELETE) {
        plan_because(plan, "WL-45");
        plan_delete(plan, item->pod, (ObjectUid){0, 0}, -1, PLAN_DECIDE);
        plan_then(plan, decide_after_pod);
        return;
    }
    if (item->action == ITEM_UPDATE) {
        plan_update_pod(data, plan, item);
        return;
    }
    if (item->action == ITEM_CREATE && has_stale_claim(data, item)) {
        plan_because(plan, "WL-44"); /* later, when the garbage collector has deleted the claim */
        return;
    }
    plan_new_notes(plan, ItemNotes, NULL);
    plan_next_claim(data, plan);
}

PlanStart
stateful_item_start(const StatefulSetController *self,
                    const SetView *view,
                    ItemAction action,
                    ObjectKey *pod)
{
    Item *item = g_new0(Item, 1);

    item->action = action;
    item->set = (const StatefulSet *)object_ref(&view->set->meta);
    item->pod = pod;
    return (PlanStart){
        .component = (Component *)&self->head.base,
        .decide = decide_item,
        .key = pod,
        .operation = item,
        .free_operation = item_free,
    };
}

PlanStart
stateful_creation_start(const StatefulSetController *self, const SetView *view, int32_t position)
{
    PlanStart start =
        stateful_item_start(self, view, ITEM_CREATE, view->state->pods->pdata[position]);
    Item *item = start.operation;
    /* WL-52: below the partition pods are of the current revision. */
    gboolean is_current = !view->set->on_delete && position < view->set->partition;

    item->ordinal = view->state->start + position;
    item->revision = is_current ? view->current_revision : view->update_revision->name;
    item->template = pod_template_ref(is_current ? view->current_template : view->set->template);
    return start;
}

gboolean
stateful_lacks_claims(const StatefulSetController *self,
                      const StatefulSet *set,
                      const ObjectKey *pod)
{
    for (unsigned i = 0; i < n_claims(set); i++) {
        const Object *claim = claim_of(self, set, i, pod);
        if (claim == NULL || object_is_deleted(claim))
            return TRUE;
    }
    return FALSE;
}
