/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One attempt to provision a claim, from the queue to its end: shouldProvision() and
 * provisionClaimOperation() of sig-storage-lib. A rule table decides whether the claim is ours, has
 * its class and its node, or has to compete with provisioners of other nodes. A claim without an
 * answer stays in progress: its next attempt sees the old version even if the informer has lost it
 * (PROV-11, PROV-12). A volume that the API server refuses goes to a queue of its own, so that the
 * driver is not asked twice. */
#include "attempt.h"

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
claim_chosen_node(const Claim *claim)
{
    const char *node = object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE);

    return is_set(node) ? node : NULL;
}

const char *
claim_selected_node(const Claim *claim)
{
    const char *node = object_annotation(&claim->meta, ANNOTATION_SELECTED_NODE);

    return node != NULL ? node : object_annotation(&claim->meta, PROVISIONER_NODE_KEY);
}

const Claim *
provisioner_cached_claim(const ExternalProvisioner *self, const ObjectKey *volume)
{
    const ObjectKey *key = sim_slots_pointer(&self->claim_keys, volume->slot);

    if (key == NULL || provisioner_claim_record(self, key)->volume != volume)
        return NULL;
    const Object *claim = informer_get(self->claims, key);
    const Object *newer = g_hash_table_lookup(self->overwritten, key);
    if (claim != NULL && newer != NULL)
        claim = newer;
    ObjectUid uid = provisioner_claim_record(self, key)->uid;
    return claim != NULL && object_uid_equal(claim->uid, uid) ? CLAIM_CONST(claim) : NULL;
}

/* PROV-11 */
static const Claim *
find_claim(const ExternalProvisioner *self, const ObjectKey *volume)
{
    const Claim *claim = provisioner_cached_claim(self, volume);

    return claim != NULL ? claim : g_hash_table_lookup(self->in_progress, volume);
}

/* ---- How an attempt ends ---- */

void
provisioner_change_key(Plan *plan, ProvisionerChange what)
{
    plan_change(plan, &(PlanChange){.what = what, .key = plan_key(plan)});
}

/* PROV-12: without an error the claim is no longer in progress. */
void
attempt_finish(const ExternalProvisioner *self, Plan *plan)
{
    if (g_hash_table_contains(self->in_progress, plan_key(plan)))
        plan_forget(plan, self->in_progress, plan_key(plan));
}

void
attempt_fail(const ExternalProvisioner *self,
             Plan *plan,
             const Claim *claim,
             ProvisionState state,
             const char *error)
{
    if (state == PROVISION_BACKGROUND)
        plan_remember(plan, self->in_progress, plan_key(plan), &claim->meta);
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

/* NODE-5: if each node has its own provisioner, all of them compete again. */
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
tell_success(const ExternalProvisioner *self, Plan *plan)
{
    const Claim *claim = provisioner_cached_claim(self, plan_key(plan));

    if (claim != NULL)
        plan_event(plan, &claim->meta, "Normal", "ProvisioningSucceeded",
                   "Successfully provisioned volume %s", plan_key(plan)->name);
}

static void
decide_saved(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    ApiCode code = plan_code(plan, plan_last_step(plan));

    plan_because(plan, "PROV-18");
    if (code != API_OK && code != API_EXISTS)
        provisioner_change_key(plan, CHANGE_UNSAVED);
    else
        tell_success(self, plan);
    attempt_finish(self, plan);
}

void
attempt_save(Plan *plan, Volume *volume)
{
    plan_because(plan, "PROV-14.7");
    plan_change(
        plan, &(PlanChange){.what = CHANGE_SAVING, .key = plan_key(plan), .object = &volume->meta});
    plan_create(plan, &volume->meta, PLAN_DECIDE);
    plan_then(plan, decide_saved);
}

/* ---- The operation ---- */

/* PROV-14.4, then PROV-14.5. The Event is on its way while the call is still being prepared: the
 * times (TIM-10) before both begin at the same instant, not one after the other. */
static void
claim_queue_provision(Plan *plan, const Claim *claim)
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

/* PROV-14.3, before 6.0: without topology nodes are not watched, so each attempt asks for its node.
 */
static void
decide_with_node(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const ProvisionAttempt *attempt = provisioner_attempt(self, plan);
    int step = plan_last_step(plan);

    if (plan_code(plan, step) == API_OK) {
        claim_queue_provision(plan, attempt->claim);
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

    if (self->places != NULL) { /* TOPO-9 */
        claim_queue_provision(plan, claim);
    } else if (node != NULL && !self->has_topology) {
        plan_because(plan, "PROV-14.3");
        plan_get(plan, objects_key(self->base.objects, KIND_NODE, NULL, node), PLAN_DECIDE);
        plan_then(plan, decide_with_node);
    } else if (node != NULL && provisioner_node(self, node) == NULL) {
        node_is_gone(self, plan, claim);
    } else {
        claim_queue_provision(plan, claim);
    }
}

/* PROV-14.1: this look ignores --volume-name-prefix and --volume-name-uuid-length. */
static gboolean
is_provisioned(const ExternalProvisioner *self, const Claim *claim, const ObjectKey *volume)
{
    char uid[OBJECT_UID_BUFFER];

    if (!self->has_own_names)
        return informer_get(self->volumes, volume) != NULL;
    g_autofree char *name = g_strconcat("pvc-", object_uid_format(claim->meta.uid, uid), NULL);
    return informer_find(self->volumes, NULL, name) != NULL;
}

/* Facts of a claim. */
enum {
    KNOWN = 1 << 0,       /* to the informer, or among those in progress */
    NAMED = 1 << 1,       /* spec.volumeName is set */
    OURS = 1 << 2,        /* handed to this driver */
    CLASSED = 1 << 3,     /* its class is known */
    WAITS = 1 << 4,       /* late binding, and no node is chosen */
    AWAY = 1 << 5,        /* we provision for one node, and this claim has not chosen it */
    ELSEWHERE = 1 << 6,   /* ... but another one */
    OPEN = 1 << 7,        /* ... and the first instance to take it may have it (NODE-2) */
    PROVISIONED = 1 << 8, /* a volume of its name is known */
    FOREIGN = 1 << 9,     /* its class is another driver's */
    CLAIM_FACTS_END = 1 << 10,
};

enum {
    IGNORE,
    FINISH, /* no longer in progress */
    FAIL_NO_CLASS,
    COMPETE, /* with the provisioners of other nodes */
    PROVISION,
};

/* shouldProvision() and provisionClaimOperation() of sig-storage-lib's controller.go, after
 * external-provisioner's checkNode(). Columns: all of these hold, none of these, then. */
static const Rule claim_table[] = {
    {"PROV-11",   0,                                    KNOWN,                                        IGNORE       },
    {"PROV-13",   KNOWN | NAMED,                        0,                                            FINISH       },
    {"PROV-13",   KNOWN,                                NAMED | OURS,                                 FINISH       },
    {"PROV-13",   KNOWN | OURS | WAITS,                 NAMED | AWAY,                                 FINISH       },
    {"PROV-13.4", KNOWN | OURS,                         NAMED | CLASSED | AWAY,                       FAIL_NO_CLASS},
    {"PROV-13.4", KNOWN | OURS | AWAY,                  NAMED | CLASSED | ELSEWHERE,                  FAIL_NO_CLASS},
    {"NODE-1",    KNOWN | OURS | ELSEWHERE,             NAMED,                                        FINISH       },
    {"NODE-1",    KNOWN | OURS | CLASSED | AWAY,        NAMED | ELSEWHERE | OPEN,                     FINISH       },
    {"NODE-2",    KNOWN | OURS | OPEN,                  NAMED,                                        COMPETE      },
    {"PROV-14.1", KNOWN | OURS | CLASSED | PROVISIONED, NAMED | WAITS | AWAY,                         FINISH       },
    {"PROV-14.2", KNOWN | OURS | CLASSED | FOREIGN,     NAMED | WAITS | AWAY | PROVISIONED,           FINISH       },
    {"PROV-14.4", KNOWN | OURS | CLASSED,               NAMED | WAITS | AWAY | PROVISIONED | FOREIGN, PROVISION    },
};
static const RuleBound claim_bounds[] = {
    {.given = WAITS,         .all = CLASSED           },
    { .given = ELSEWHERE,           .all = AWAY,             .none = WAITS},
    { .given = OPEN, .all = CLASSED | AWAY, .none = WAITS | ELSEWHERE},
};
const RuleTable provisioner_claim_rules = RULE_TABLE(
    "claims of the provisioner", CLAIM_FACTS_END, claim_table, RULE_BOUNDS(claim_bounds));

/* @class: NULL: unknown */
static uint32_t
claim_facts(const ExternalProvisioner *self, Plan *plan, const Claim *claim, const ClassInfo *class)
{
    uint32_t facts = KNOWN;
    const char *node = claim_chosen_node(claim);

    facts |= claim_volume_name(claim)[0] != '\0' ? NAMED : 0;
    facts |= provisioner_owns_claim(self, claim) ? OURS : 0;
    facts |= class != NULL ? CLASSED : 0;
    if (class != NULL && class->class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER &&
        node == NULL)
        facts |= WAITS;
    if (self->own_node != NULL && node != self->base.node_name) {
        facts |= AWAY;
        facts |= node != NULL ? ELSEWHERE : 0;
        if ((facts & OURS) != 0 && (facts & NAMED) == 0 && node == NULL && class != NULL &&
            provisioner_may_compete(self, plan, claim, class))
            facts |= OPEN;
    }
    facts |= is_provisioned(self, claim, plan_key(plan)) ? PROVISIONED : 0;
    facts |= class != NULL && class->migrates == NULL &&
                     class->class->provisioner != self->base.driver_name
                 ? FOREIGN
                 : 0;
    return facts;
}

/* PROV-47: each retry ends here until then. */
static gboolean
is_infeasible(const ExternalProvisioner *self, const Plan *plan, const ClassInfo *class)
{
    const Infeasible *found =
        self->infeasible == NULL ? NULL : g_hash_table_lookup(self->infeasible, plan_key(plan));

    return found != NULL && class != NULL && plan_now(plan) < found->until &&
           object_uid_equal(found->class, class->class->meta.uid);
}

void
decide_claim(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Claim *claim = find_claim(self, plan_key(plan));
    const ClassInfo *class =
        claim == NULL ? NULL : provisioner_class_info(self, claim_class(claim));
    uint32_t facts = claim == NULL ? 0 : claim_facts(self, plan, claim, class);

    if (claim != NULL && is_infeasible(self, plan, class)) {
        plan_because(plan, "PROV-47");
        plan_fail(plan, "skipping volume provisioning, which failed with an infeasible error");
        return;
    }
    switch (plan_judge(plan, &provisioner_claim_rules, facts)) {
    case IGNORE:
        return;
    case FINISH:
        attempt_finish(self, plan);
        return;
    case FAIL_NO_CLASS:
        plan_fail(plan, "storageClass \"%s\" not found", claim_class(claim));
        return;
    case COMPETE:
        plan_become_owner(self, plan);
        return;
    case PROVISION:
        plan_change(plan, &(PlanChange){.what = CHANGE_BEGIN,
                                        .key = plan_key(plan),
                                        .object = &claim->meta,
                                        .pointer = class});
        provision_on_node(self, plan, claim);
        return;
    }
    g_assert_not_reached();
}

/* ---- Volumes that could not be stored ---- */

static void
decide_unsaved_stored(const void *data, Plan *plan)
{
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);

    plan_because(plan, "PROV-18");
    if (code != API_OK && code != API_EXISTS) {
        plan_fail(plan, "%s", plan_message(plan, step));
        return;
    }
    plan_forget(plan, ((const ExternalProvisioner *)data)->unsaved, plan_key(plan));
    tell_success(data, plan);
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
