/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pod of a StatefulSet and its claims: creation, update, deletion (WL-43 to WL-45, WL-60,
 * WL-67). Each pod is a plan of its own, since the pods of a batch go side by side. A claim that
 * cannot be made keeps the pod from being made, but not the other claims. A pod waits while a claim
 * still belongs to an earlier pod of its name (WL-44). An update is tried four times on top of the
 * version in the cache; every creation and deletion writes an Event. */
#include "models/cluster/cluster.h"
#include "models/workloads/stateful-set/private.h"
#include "models/workloads/stateful-set/stateful-set-test.h"

/* retry.DefaultBackoff of client-go: four tries, the first wait 10 ms, each five times longer, with
 * up to a tenth more. */
#define UPDATE_TRIES 4
#define UPDATE_RETRY_DELAY (10 * SIM_MS)
#define UPDATE_RETRY_GROWTH 5
#define UPDATE_RETRY_JITTER 0.1
#define CAPITALS_SINCE 35 /* REL-42 */

/* One pod: has its own plan, since the pods of a batch are worked on at the same time. */
typedef struct {
    ItemAction action;
    const StatefulSet *set; /* (owned) */
    ObjectKey *pod;
    Object *new_pod; /* (owned): CREATE */
} PodItem;

/* The progress. */
typedef struct {
    unsigned template;  /* index of the claim template whose claim is made */
    unsigned owned;     /* index of that whose claim gets its owners */
    const char *errors; /* of claims, interned; NULL: none */
    unsigned n_errors;
    const char *create_error; /* of the pod */
    const Pod *given;         /* UPDATE: the version to correct; kept by the plan */
    unsigned n_tries;         /* UPDATE: that met a conflict */
    gboolean dirty;           /* UPDATE: the pod is to be written */
    gboolean tried;           /* UPDATE: it was sent */
} ItemNotes;

static void
item_free(void *data)
{
    PodItem *item = data;

    object_unref(&item->set->meta);
    object_unref(item->new_pod);
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

/* REL-42 */
static const char *
word(const StatefulSetController *self, const char *before, const char *since)
{
    return cluster_release(self->head.base.cluster)->minor >= CAPITALS_SINCE ? since : before;
}

/* WL-65. */
static void
plan_pod_event(const StatefulSetController *self, Plan *plan, ItemAction action, const char *error)
{
    const PodItem *item = plan_operation(plan);
    static const struct {
        const char *before, *since, *done, *failed;
    } events[] = {
        [ITEM_CREATE] = {"create", "Create", "SuccessfulCreate", "FailedCreate"},
        [ITEM_UPDATE] = {"update", "Update", "SuccessfulUpdate", "FailedUpdate"},
        [ITEM_DELETE] = {"delete", "Delete", "SuccessfulDelete", "FailedDelete"},
    };
    const char *set = object_name(&item->set->meta);
    const char *verb = word(self, events[action].before, events[action].since);

    plan_because(plan, "WL-65");
    if (error == NULL)
        plan_event(plan, &item->set->meta, "Normal", events[action].done,
                   "%s Pod %s in StatefulSet %s successful", verb, item->pod->name, set);
    else
        plan_event(plan, &item->set->meta, "Warning", events[action].failed,
                   "%s Pod %s in StatefulSet %s failed error: %s", verb, item->pod->name, set,
                   error);
}

/* ---- Owners of the claims (WL-60) ---- */

/* @pod: NULL: not created yet */
static ClaimOwners
owners_of(const StatefulSet *set, const Object *pod, ObjectKey *key)
{
    int64_t position = stateful_position(set, key);

    return (ClaimOwners){
        .set = set,
        .pod = pod,
        .pod_key = key,
        .is_in_range = position >= 0 && position < set->replicas,
    };
}

static const Object *
pod_claim_of(const StatefulSetController *self,
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

gboolean
stateful_claims_are_right(const StatefulSetController *self, const StatefulSet *set, const Pod *pod)
{
    ObjectKey *key = stateful_pod_key_of(self->head.base.objects, set, pod);
    ClaimOwners owners = owners_of(set, &pod->meta, key);

    for (unsigned i = 0; i < n_claims(set); i++)
        if (!claim_owners_are_right(pod_claim_of(self, set, i, key), &owners))
            return FALSE;
    return TRUE;
}

static void finish_owners(const StatefulSetController *self, Plan *plan, const char *error);
static void plan_next_owner(const StatefulSetController *self, Plan *plan);

static void
decide_after_owner(const void *data, Plan *plan)
{
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);
    const Claim *template = item->set->claim_templates->items[notes->owned];

    if (plan_has_failed(plan)) {
        finish_owners(
            data, plan,
            plan_internf(plan, "could not update claim %s-%s for delete policy ownerRefs: %s",
                         object_name(&template->meta), item->pod->name, plan_last_message(plan)));
        return;
    }
    notes->owned++;
    plan_next_owner(data, plan);
}

/* One claim after the other. Claims that the cache does not know are left to a later sync. A pod
 * that this plan has created counts as one without a uid. */
static void
plan_next_owner(const StatefulSetController *self, Plan *plan)
{
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);
    ClaimOwners *owners = plan_new_arg(plan, ClaimOwners);

    *owners = owners_of(item->set, notes->given == NULL ? NULL : &notes->given->meta, item->pod);
    for (; notes->owned < n_claims(item->set); notes->owned++) {
        const Object *claim = pod_claim_of(self, item->set, notes->owned, item->pod);
        if (claim != NULL && claim_has_other_controller(claim, owners)) {
            plan_because(plan, "WL-63"); /* "manging": as Kubernetes writes it */
            plan_event(plan, &item->set->meta, "Warning", "ConflictingController",
                       "PersistentVolumeClaim %s has a conflicting OwnerReference that acts as a "
                       "manging controller, the retention policy is ignored for this claim",
                       object_name(claim));
        }
        if (claim != NULL && !claim_owners_are_right(claim, owners)) {
            plan_because(plan, "WL-60");
            plan_update(plan, claim, claim_edit_owners, owners, PLAN_DECIDE);
            plan_then(plan, decide_after_owner);
            return;
        }
    }
    finish_owners(self, plan, NULL);
}

/* ---- Update of a pod (WL-67) ---- */

gboolean
stateful_needs_update(const StatefulSetController *self, const StatefulSet *set, const Pod *pod)
{
    return !stateful_identity_matches(set, pod) ||
           !stateful_volumes_match(self->head.base.objects, set, pod) ||
           !stateful_claims_are_right(self, set, pod);
}

static void plan_next_claim(const StatefulSetController *self, Plan *plan);

static void
plan_correction(const StatefulSetController *self, Plan *plan)
{
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);

    notes->dirty = !stateful_identity_matches(item->set, notes->given);
    notes->template = n_claims(item->set);
    if (!stateful_volumes_match(self->head.base.objects, item->set, notes->given)) {
        notes->dirty = TRUE;
        notes->template = 0;
    }
    plan_next_claim(self, plan);
}

static void
decide_correction(const void *data, Plan *plan)
{
    plan_correction(data, plan);
}

/* After a conflict the try is repeated on top of the version in the cache. */
static void
end_of_try(const StatefulSetController *self, Plan *plan, const char *error)
{
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);
    const Object *known = informer_get(self->head.pods, notes->given->meta.key);
    gboolean is_conflict = error != NULL && plan_code(plan, plan_last_step(plan)) == API_CONFLICT;

    if (error != NULL && notes->tried && known != NULL)
        notes->given = POD_CONST(plan_keep(plan, known));
    if (is_conflict && ++notes->n_tries < UPDATE_TRIES) {
        SimStream stream = sim_stream(self->head.base.sim, "statefulset-controller/pod retry");
        SimTime delay = UPDATE_RETRY_DELAY;
        for (unsigned i = 1; i < notes->n_tries; i++)
            delay *= UPDATE_RETRY_GROWTH;
        double jitter =
            UPDATE_RETRY_JITTER *
            sim_random_uniform(stream, item->pod->hash,
                               notes->given->meta.resource_version * UPDATE_TRIES + notes->n_tries);
        notes->owned = 0;
        plan_because(plan, "WL-67");
        plan_wait(plan, delay + (SimTime)(jitter * (double)delay), WAIT_BACKOFF);
        plan_then(plan, decide_correction);
        return;
    }
    if (notes->tried)
        plan_pod_event(self, plan, ITEM_UPDATE, error);
    if (error != NULL)
        plan_fail(plan, "%s", error);
}

static void
decide_after_update(const void *data, Plan *plan)
{
    end_of_try(data, plan, plan_last_message(plan));
}

static gboolean
edit_nothing(Object *object, const void *data)
{
    (void)object;
    (void)data;
    return TRUE;
}

/* Also when only a claim was wrong: then the write changes nothing. */
static void
plan_write_pod(const StatefulSetController *self, Plan *plan)
{
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);
    Object *pod = stateful_pod_corrected(self->head.base.objects, item->set, notes->given);

    plan_own(plan, pod, (GDestroyNotify)object_unref);
    notes->tried = TRUE;
    plan_because(plan, "WL-67");
    plan_update(plan, pod, edit_nothing, NULL, PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_after_update);
}

/* ---- The pod ---- */

gboolean
stateful_has_stale_claim(const StatefulSetController *self,
                         const StatefulSet *set,
                         const Object *pod)
{
    ClaimOwners owners = owners_of(set, pod, (ObjectKey *)pod->key);

    for (unsigned i = 0; set->delete_when_scaled && i < n_claims(set); i++) {
        const Object *claim = pod_claim_of(self, set, i, pod->key);
        if (claim != NULL && claim_is_stale(claim, &owners))
            return TRUE;
    }
    return FALSE;
}

/* The owners of the claims are right, or one could not be written: @error. */
static void
finish_owners(const StatefulSetController *self, Plan *plan, const char *error)
{
    const PodItem *item = plan_operation(plan);
    const ItemNotes *notes = plan_notes(plan);

    if (error != NULL && item->action != ITEM_OWNERS)
        plan_pod_event(self, plan, ITEM_UPDATE, error);
    if (item->action == ITEM_UPDATE && error != NULL) {
        end_of_try(self, plan, error);
    } else if (error != NULL) {
        plan_fail(plan, "%s", error);
    } else if (item->action == ITEM_UPDATE) {
        plan_write_pod(self, plan);
    } else if (item->action == ITEM_CREATE) {
        plan_pod_event(self, plan, ITEM_CREATE, notes->create_error);
        if (notes->create_error != NULL)
            plan_fail(plan, "%s", notes->create_error);
    }
}

/* A pod that exists is another owner's, or is not in the cache yet: no Event. */
static void
decide_after_creation(const void *data, Plan *plan)
{
    ItemNotes *notes = plan_notes(plan);

    notes->create_error = plan_last_message(plan);
    if (plan_code(plan, plan_last_step(plan)) == API_EXISTS)
        plan_fail(plan, "%s", notes->create_error);
    else
        plan_next_owner(data, plan);
}

static void
decide_after_deletion(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const char *error = plan_last_message(plan);

    plan_pod_event(self, plan, ITEM_DELETE, error);
    if (error != NULL)
        plan_fail(plan, "%s", error);
}

/* A claim that cannot be made keeps the pod from being made, but not the other claims. */
static void
decide_after_claim(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);
    const Claim *template = item->set->claim_templates->items[notes->template];
    const char *claim = stateful_claim_key(self->head.base.objects, template, item->pod)->name;
    const char *set = object_name(&item->set->meta);

    const char *verb = word(self, "create", "Create");
    plan_because(plan, "WL-65");
    if (code == API_OK)
        plan_event(plan, &item->set->meta, "Normal", "SuccessfulCreate",
                   "%s Claim %s Pod %s in StatefulSet %s success", verb, claim, item->pod->name,
                   set);
    else if (code != API_EXISTS)
        plan_event(plan, &item->set->meta, "Warning", "FailedCreate",
                   "%s Claim %s for Pod %s in StatefulSet %s failed error: %s", verb, claim,
                   item->pod->name, set, plan_message(plan, step));
    if (code != API_OK)
        note_error(plan, plan_internf(plan, "failed to create PVC %s: %s", claim,
                                      plan_message(plan, step)));
    notes->template ++;
    plan_next_claim(self, plan);
}

/* The claims are there, or some could not be made. */
static void
finish_claims(const StatefulSetController *self, Plan *plan)
{
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);

    if (notes->errors != NULL) {
        const char *errors =
            notes->n_errors == 1 ? notes->errors : plan_internf(plan, "[%s]", notes->errors);
        if (item->action != ITEM_CLAIMS)
            plan_pod_event(self, plan, item->action, errors);
        plan_fail(plan, "%s", errors);
    } else if (item->action == ITEM_CREATE) {
        plan_because(plan, "WL-43");
        plan_create(plan, object_edit(item->new_pod), PLAN_DECIDE);
        plan_then(plan, decide_after_creation);
    } else if (item->action == ITEM_CLAIMS ||
               !stateful_claims_are_right(self, item->set, notes->given)) {
        plan_next_owner(self, plan);
    } else if (notes->dirty) {
        plan_write_pod(self, plan);
    }
}

/* Makes the next claim that is missing. */
static void
plan_next_claim(const StatefulSetController *self, Plan *plan)
{
    const PodItem *item = plan_operation(plan);
    ItemNotes *notes = plan_notes(plan);

    for (; notes->template <n_claims(item->set); notes->template ++) {
        const Claim *template = item->set->claim_templates->items[notes->template];
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
    finish_claims(self, plan);
}

static void
decide_item(const void *data, Plan *plan)
{
    const StatefulSetController *self = data;
    const PodItem *item = plan_operation(plan);
    const Object *pod = informer_get(self->head.pods, plan_key(plan));
    ItemNotes *notes = plan_new_notes(plan, ItemNotes, NULL);

    if (item->action != ITEM_CREATE && pod != NULL)
        notes->given = POD_CONST(plan_keep(plan, pod));
    switch (item->action) {
    case ITEM_DELETE:
        plan_because(plan, "WL-45");
        plan_delete(plan, plan_key(plan), (ObjectUid){0, 0}, -1, PLAN_DECIDE);
        plan_then(plan, decide_after_deletion);
        return;
    case ITEM_UPDATE:
        if (pod != NULL)
            plan_correction(self, plan);
        return;
    case ITEM_OWNERS:
        if (pod != NULL)
            plan_next_owner(self, plan);
        return;
    case ITEM_CREATE:
        if (stateful_has_stale_claim(self, item->set, item->new_pod)) {
            plan_because(plan, "WL-44"); /* later, when the garbage collector has deleted it */
            return;
        }
        plan_next_claim(self, plan);
        return;
    case ITEM_CLAIMS:
        plan_next_claim(self, plan);
        return;
    case ITEM_NONE:
        break;
    }
    g_assert_not_reached();
}

PlanStart
stateful_item_start(const StatefulSetController *self,
                    const StatefulSet *set,
                    ItemAction action,
                    ObjectKey *pod,
                    Object *new_pod)
{
    const Object *known = informer_get(self->head.pods, pod);
    PodItem *item = g_new0(PodItem, 1);

    item->action = action;
    item->set = (const StatefulSet *)object_ref(&set->meta);
    item->pod =
        known == NULL ? pod : stateful_pod_key_of(self->head.base.objects, set, POD_CONST(known));
    item->new_pod = new_pod;
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
    ObjectKey *key = view->state->pods->pdata[position];
    /* WL-52: below the partition pods are of the current revision. */
    gboolean is_current = !view->set->on_delete && position < view->set->partition;
    StatefulPod pod = {
        .key = key,
        .ordinal = view->state->start + position,
        .revision = is_current ? view->current_revision : view->update_revision->name,
        .template = is_current ? view->current_template : view->set->template,
    };

    return stateful_item_start(self, view->set, ITEM_CREATE, key,
                               stateful_pod_new(self->head.base.objects, view->set, &pod));
}

gboolean
stateful_lacks_claims(const StatefulSetController *self,
                      const StatefulSet *set,
                      const ObjectKey *pod)
{
    for (unsigned i = 0; i < n_claims(set); i++) {
        const Object *claim = pod_claim_of(self, set, i, pod);
        if (claim == NULL || object_is_deleted(claim))
            return TRUE;
    }
    return FALSE;
}
