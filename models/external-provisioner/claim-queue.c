/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "provisioner.h"

#include <string.h>

/* ---- Which claims ---- */

static const char *
claim_provisioner(const Claim *claim)
{
    const char *name = object_annotation(&claim->meta, ANNOTATION_STORAGE_PROVISIONER);

    return name != NULL ? name
                        : object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_PROVISIONER);
}

gboolean
provisioner_owns_claim(const ExternalProvisioner *self, const Claim *claim)
{
    return claim->meta.annotations != NULL && claim_provisioner(claim) == self->base.driver_name;
}

const char *
claim_selected_node(const Claim *claim)
{
    const char *node = object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE);

    return node != NULL ? node : object_annotation(&claim->meta, PROVISIONER_NODE_KEY);
}

static gboolean
is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

const Claim *
provisioner_cached_claim(const ExternalProvisioner *self, const ObjectKey *volume)
{
    const ObjectKey *key =
        volume->slot < self->claim_keys->len ? self->claim_keys->pdata[volume->slot] : NULL;

    if (key == NULL || g_array_index(self->claim_records, ClaimRecord, key->slot).volume != volume)
        return NULL;
    const Object *claim = informer_get(self->claims, key);
    const Object *newer = g_hash_table_lookup(self->overwritten, key);
    if (claim != NULL && newer != NULL)
        claim = newer;
    ObjectUid uid = g_array_index(self->claim_records, ClaimRecord, key->slot).uid;
    return claim != NULL && object_uid_equal(claim->uid, uid) ? CLAIM_CONST(claim) : NULL;
}

/* PROV-11 */
static const Claim *
find_claim(const ExternalProvisioner *self, const ObjectKey *volume)
{
    const Claim *claim = provisioner_cached_claim(self, volume);

    return claim != NULL ? claim : g_hash_table_lookup(self->in_progress, volume);
}

const Object *
provisioner_find(const ExternalProvisioner *self,
                 Informer *informer,
                 ObjectKind kind,
                 const char *name)
{
    const ObjectKey *key = objects_find_key(self->base.objects, kind, NULL, name);

    return key == NULL ? NULL : informer_get(informer, key);
}

/* ---- How an attempt ends ---- */

static void
change_key(Plan *plan, ProvisionerChange what)
{
    PlanChange change = {.what = what, .key = plan_key(plan)};

    plan_change(plan, &change);
}

static void
change_object(Plan *plan, ProvisionerChange what, const Object *object)
{
    PlanChange change = {.what = what, .key = plan_key(plan), .object = object};

    plan_change(plan, &change);
}

/* PROV-12: no error: the claim is no more in progress. */
void
attempt_finish(const ExternalProvisioner *self, Plan *plan)
{
    if (g_hash_table_contains(self->in_progress, plan_key(plan)))
        change_key(plan, CHANGE_FINISHED);
}

void
attempt_fail(const ExternalProvisioner *self,
             Plan *plan,
             const Claim *claim,
             ProvisionState state,
             const char *error)
{
    if (state == PROVISION_BACKGROUND)
        change_object(plan, CHANGE_IN_PROGRESS, &claim->meta);
    else if (state == PROVISION_FINISHED)
        attempt_finish(self, plan);
    plan_fail(plan, "%s", error);
}

static void
decide_rescheduled(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    int step = plan_last_step(plan);

    plan_because(plan, "PROV-17");
    if (plan_code(plan, step) != API_OK) {
        attempt_fail(self, plan, provisioner_attempt(self, plan)->claim, PROVISION_FINISHED,
                     plan_message(plan, step));
        return;
    }
    plan_change_result(plan, CHANGE_OVERWRITE, step);
    attempt_finish(self, plan);
}

static gboolean
remove_selected_node(Object *object, const void *arg)
{
    gboolean changed = object_set_annotation(object, ANNOTATION_SELECTED_NODE, NULL);

    (void)arg;
    return object_set_annotation(object, PROVISIONER_NODE_KEY, NULL) || changed;
}

/* NODE-5: with nodes' own provisioners all of them compete anew. */
void
attempt_reschedule(const ExternalProvisioner *self,
                   Plan *plan,
                   const Claim *claim,
                   const char *error)
{
    if (claim_selected_node(claim) == NULL) {
        attempt_fail(self, plan, claim, PROVISION_FINISHED, error);
        return;
    }
    plan_update(plan, &claim->meta, remove_selected_node, NULL, PLAN_DECIDE);
    plan_then(plan, decide_rescheduled);
}

/* ---- What was made ---- */

static void
decide_saved(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    ApiCode code = plan_code(plan, plan_last_step(plan));
    const Claim *claim = provisioner_cached_claim(self, plan_key(plan));

    plan_because(plan, "PROV-18");
    if (code != API_OK && code != API_EXISTS)
        change_key(plan, CHANGE_UNSAVED);
    else if (claim != NULL)
        plan_event(plan, &claim->meta, "Normal", "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", plan_key(plan)->name);
    attempt_finish(self, plan);
}

void
attempt_save(const ExternalProvisioner *self, Plan *plan, Volume *volume)
{
    (void)self;
    plan_because(plan, "PROV-14.7");
    change_object(plan, CHANGE_SAVING, &volume->meta);
    plan_create(plan, &volume->meta, PLAN_DECIDE);
    plan_then(plan, decide_saved);
}

/* ---- The operation ---- */

/* PROV-14.4, then PROV-14.5. The Event is on its way while the call is still being prepared: both
 * count TIM-10 from what brought the claim here, not one after the other. */
static void
provision(Plan *plan, const Claim *claim)
{
    plan_because(plan, "PROV-14.4");
    plan_event(plan, &claim->meta, "Normal", "Provisioning",
               "External provisioner is provisioning volume for claim \"%s\"",
               claim->meta.key->text);
    plan_then(plan, decide_provision);
}

static void
node_is_gone(const ExternalProvisioner *self, Plan *plan, const Claim *claim)
{
    const char *error = plan_internf(plan, "node \"%s\" not found", claim_selected_node(claim));

    plan_because(plan, "PROV-14.3");
    plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed", "%s", error);
    attempt_reschedule(self, plan, claim, error);
}

/* PROV-14.3: without topology nodes are not watched, so each attempt asks for its node. */
static void
decide_with_node(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Attempt *attempt = provisioner_attempt(self, plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) == API_OK) {
        provision(plan, attempt->claim);
    } else if (plan_code(plan, step) == API_NOT_FOUND) {
        node_is_gone(self, plan, attempt->claim);
    } else {
        const char *error =
            plan_internf(plan, "failed to get target node: %s", plan_message(plan, step));
        plan_event(plan, &attempt->claim->meta, "Warning", "ProvisioningFailed", "%s", error);
        attempt_fail(self, plan, attempt->claim, PROVISION_NO_CHANGE, error);
    }
}

static void
provision_on_node(const ExternalProvisioner *self, Plan *plan, const Claim *claim)
{
    const char *node = claim_selected_node(claim);

    if (node != NULL && !self->has_topology) {
        plan_because(plan, "PROV-14.3");
        plan_get(plan, objects_key(self->base.objects, KIND_NODE, NULL, node), PLAN_DECIDE);
        plan_then(plan, decide_with_node);
    } else if (node != NULL && provisioner_node(self, node) == NULL) {
        node_is_gone(self, plan, claim);
    } else {
        provision(plan, claim);
    }
}

/* PROV-14.1: the name looked for ignores --volume-name-prefix and --volume-name-uuid-length. */
static gboolean
is_provisioned(const ExternalProvisioner *self, const Claim *claim, const ObjectKey *volume)
{
    char uid[OBJECT_UID_BUFFER];
    const ObjectKey *key = volume;

    if (self->has_own_names) {
        g_autofree char *name = g_strconcat("pvc-", object_uid_format(claim->meta.uid, uid), NULL);
        key = objects_find_key(self->base.objects, KIND_VOLUME, NULL, name);
    }
    return key != NULL && informer_get(self->volumes, key) != NULL;
}

/* PROV-13: a claim that has a volume, or waits for a pod, is none of our business. */
gboolean
provisioner_wants(const ExternalProvisioner *self, const Claim *claim, const ClassInfo *class)
{
    if (claim_volume_name(claim)[0] != '\0' || !provisioner_owns_claim(self, claim))
        return FALSE;
    return class == NULL || class->class->binding_mode != BINDING_WAIT_FOR_FIRST_CONSUMER ||
           is_set(object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE));
}

void
decide_claim(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Claim *claim = find_claim(self, plan_key(plan));
    const ClassInfo *class =
        claim == NULL ? NULL : provisioner_class_info(self, claim_class(claim));

    if (claim == NULL)
        return; /* PROV-11 */
    if (claim_volume_name(claim)[0] == '\0' && provisioner_owns_claim(self, claim) &&
        !provisioner_check_node(self, plan, claim, class))
        return;
    if (!provisioner_wants(self, claim, class)) {
        plan_because(plan, "PROV-13");
        attempt_finish(self, plan);
        return;
    }
    if (class == NULL) {
        plan_because(plan, "PROV-13.4");
        plan_fail(plan, "storageClass \"%s\" not found", claim_class(claim));
        return;
    }
    if (is_provisioned(self, claim, plan_key(plan)) ||
        class->class->provisioner != self->base.driver_name) {
        plan_because(plan, "PROV-14.1");
        attempt_finish(self, plan);
        return;
    }
    PlanChange begin = {
        .what = CHANGE_BEGIN, .key = plan_key(plan), .object = &claim->meta, .pointer = class};
    plan_change(plan, &begin);
    provision_on_node(self, plan, claim);
}

/* ---- Volumes that could not be stored ---- */

static void
decide_unsaved_stored(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);
    const Claim *claim = provisioner_cached_claim(self, plan_key(plan));

    plan_because(plan, "PROV-18");
    if (code != API_OK && code != API_EXISTS) {
        plan_fail(plan, "%s", plan_message(plan, step));
        return;
    }
    change_key(plan, CHANGE_SAVED);
    if (claim != NULL)
        plan_event(plan, &claim->meta, "Normal", "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", plan_key(plan)->name);
}

void
decide_unsaved(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Volume *volume = g_hash_table_lookup(self->unsaved, plan_key(plan));

    plan_because(plan, "PROV-18");
    if (volume == NULL)
        return;
    plan_create(plan, object_ref(&volume->meta), PLAN_DECIDE);
    plan_then(plan, decide_unsaved_stored);
}
