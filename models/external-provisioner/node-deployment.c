/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One provisioner on each node (--node-deployment): how one of them becomes the owner of a claim
 * without a node. Each waits for a delay that doubles with every try, less a drawn part, and looks
 * meanwhile whether another one was faster; then it asks its driver for room and writes the
 * selected node. A conflict shows that it lost (NODE-4). becomeOwner() and checkCapacity() in
 * external-provisioner's pkg/controller/controller.go. */
#include "attempt.h"

#define GRAIN 100                 /* NODE-2: looks in a base delay */
#define LEAST_GRAIN (10 * SIM_MS) /* ... at most so often */

/* ---- Claims that nobody has taken (NODE-3) ---- */

/* Nothing else would bring these claims back. */
gboolean
provisioner_resync_pass(void *data)
{
    ExternalProvisioner *self = data;
    gboolean any = FALSE;
    InformerIter iter;
    const Object *claim;

    informer_iter_init(&iter, self->claims);
    while ((claim = informer_iter_next(&iter)) != NULL) {
        if (!provisioner_owns_claim(self, CLAIM_CONST(claim)) ||
            claim_volume_name(CLAIM_CONST(claim))[0] != '\0')
            continue;
        any = TRUE;
        workers_add(self->claim_workers, provisioner_claim_record(self, claim->key)->volume);
    }
    return any;
}

/* ---- The node, as the driver told at the start (NODE-6) ---- */

void
provisioner_know_node(ExternalProvisioner *self)
{
    const StringMap *segment = sidecar_node_segment(self->sidecar);
    Object *node =
        object_new(objects_key(self->base.objects, KIND_NODE, NULL, self->base.node_name));
    Object *csi_node =
        object_new(objects_key(self->base.objects, KIND_CSI_NODE, NULL, self->base.node_name));
    CsiNodeDriver entry = {
        .name = self->base.driver_name, .node_id = self->base.node_name, .allocatable_count = -1};

    for (unsigned i = 0; segment != NULL && i < segment->n_pairs; i++) {
        StringList *keys = string_list_with(entry.topology_keys, segment->pairs[i].key);
        string_list_unref(entry.topology_keys);
        entry.topology_keys = keys;
    }
    node->labels = string_map_ref(segment);
    csi_node_set_driver(CSI_NODE(csi_node), entry.name, &entry);
    self->own_node = NODE(node);
    self->own_csi_node = CSI_NODE(csi_node);
    topology_init(&self->topology, self->base.driver_name);
    topology_csi_node_changed(&self->topology, NULL, self->own_csi_node, NULL);
    topology_node_changed(&self->topology, NULL, self->own_node);
}

const Node *
provisioner_node(const ExternalProvisioner *self, const char *name)
{
    if (self->own_node != NULL)
        return name == self->base.node_name ? self->own_node : NULL;
    return NODE(informer_find(self->nodes, NULL, name));
}

const CsiNode *
provisioner_csi_node(const ExternalProvisioner *self, const char *name)
{
    if (self->own_node != NULL)
        return name == self->base.node_name ? self->own_csi_node : NULL;
    return CSI_NODE(informer_find(self->csi_nodes, NULL, name));
}

gboolean
provisioner_may_delete(const ExternalProvisioner *self, const Volume *volume)
{
    return self->own_node == NULL ||
           node_selector_matches(volume->node_affinity, self->own_node->meta.labels, NULL);
}

/* ---- Becoming the owner of a claim ---- */

static void
tries_see(OwnerTries *self, const Object *claim)
{
    if (self->seen != NULL)
        object_unref(&self->seen->meta);
    self->seen = claim == NULL ? NULL : CLAIM_CONST(object_ref(claim));
}

void
owner_tries_free(void *tries)
{
    tries_see(tries, NULL);
    g_free(tries);
}

void
owner_tries_apply(ExternalProvisioner *self, const PlanChange *change)
{
    OwnerTries *tries = g_hash_table_lookup(self->owner_tries, change->key);

    if (tries == NULL) {
        tries = g_new0(OwnerTries, 1);
        g_hash_table_insert(self->owner_tries, (void *)change->key, tries);
    }
    switch ((int)change->what) {
    case CHANGE_OWNER_TRY:
        tries->n_failures++;
        tries->n_waits++;
        return;
    case CHANGE_OWNER_SEEN:
        tries_see(tries, change->object);
        return;
    case CHANGE_OWNER_FORGET:
        tries->n_failures = 0;
        tries_see(tries, NULL);
        return;
    }
    g_assert_not_reached();
}

/* NODE-2: the base delay doubles with each try up to the longest; then a drawn part of the base
 * delay is taken off. */
static SimTime
owner_delay(const ExternalProvisioner *self, const Plan *plan)
{
    const ExternalProvisionerOptions *options = self->options;
    const OwnerTries *tries = g_hash_table_lookup(self->owner_tries, plan_key(plan));
    SimStream stream = sim_stream(self->base.sim, "external-provisioner/node-deployment");
    uint64_t entity = sim_hash_combine(plan_key(plan)->hash, sim_hash_string(self->base.node_name));
    double part = sim_random_uniform(stream, entity, tries == NULL ? 0 : tries->n_waits);
    SimTime delay = options->node_deployment_base_delay;

    for (unsigned i = 0; tries != NULL && i < tries->n_failures; i++)
        if (delay < options->node_deployment_max_delay)
            delay *= 2;
    delay = MIN(delay, options->node_deployment_max_delay) -
            (SimTime)(part * (double)options->node_deployment_base_delay);
    return MAX(delay, 0);
}

/* The condition of a plan that waits: another instance was faster, or the claim is gone. */
static int
look_for_owner(const void *data, const Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Claim *claim = provisioner_cached_claim(self, plan_key(plan));

    if (claim == NULL)
        return -1;
    return claim_chosen_node(claim) != NULL && claim_chosen_node(claim) != self->base.node_name;
}

static void decide_waited(const void *data, Plan *plan);

void
plan_become_owner(const ExternalProvisioner *self, Plan *plan)
{
    SimTime grain = MAX(self->options->node_deployment_base_delay / GRAIN, LEAST_GRAIN);
    SimTime delay = owner_delay(self, plan);

    plan_because(plan, "NODE-2");
    provisioner_change_key(plan, CHANGE_OWNER_TRY);
    plan_poll(plan, grain, delay, FALSE, look_for_owner, PLAN_DECIDE);
    plan_then(plan, decide_waited);
}

static gboolean
set_selected_node(Object *object, const void *node)
{
    return object_set_annotation(object, ANNOTATION_SELECTED_NODE, node);
}

/* NODE-4 */
static void
node_deployment_decide_written(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    int step = plan_last_step(plan);

    plan_because(plan, "NODE-4");
    if (plan_code(plan, step) == API_CONFLICT) {
        plan_become_owner(self, plan);
    } else if (plan_code(plan, step) != API_OK) {
        plan_fail(plan, "selecting node \"%s\" for PVC failed: %s", self->base.node_name,
                  plan_message(plan, step));
    } else {
        provisioner_change_key(plan, CHANGE_OWNER_FORGET);
        attempt_finish(self, plan);
    }
}

static void
plan_select_node(const ExternalProvisioner *self, Plan *plan, const Claim *claim)
{
    plan_because(plan, "NODE-4");
    plan_update(plan, &claim->meta, set_selected_node, self->base.node_name, PLAN_DECIDE);
    plan_then(plan, node_deployment_decide_written);
}

/* NODE-3 */
static void
decide_room_known(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const OwnerTries *tries = g_hash_table_lookup(self->owner_tries, plan_key(plan));
    const Claim *claim =
        tries->seen; /* if another instance took it meanwhile, this version is old: 409 */
    const CsiResponse *response = plan_response(plan, plan_last_step(plan));

    plan_because(plan, "NODE-3");
    if (response->code == CSI_OK && response->available_bytes < claim->request_bytes)
        attempt_finish(self, plan);
    else
        plan_select_node(self, plan, claim);
}

static void
decide_waited(const void *data, Plan *plan)
{
    const ExternalProvisioner *self = data;
    const Claim *claim = provisioner_cached_claim(self, plan_key(plan));
    const ClassInfo *class =
        claim == NULL ? NULL : provisioner_class_info(self, claim_class(claim));
    CsiRequest request = {0};

    plan_because(plan, "NODE-2");
    if (claim == NULL) {
        plan_fail(plan, "PVC not found");
    } else if (look_for_owner(self, plan) != 0) {
        provisioner_change_key(plan, CHANGE_OWNER_FORGET);
        attempt_finish(self, plan);
    } else if (class == NULL || !provision_prepare_capacity(self, plan, claim, class, &request)) {
        plan_select_node(self, plan, claim);
    } else {
        plan_because(plan, "NODE-3");
        plan_change(plan, &(PlanChange){.what = CHANGE_OWNER_SEEN,
                                        .key = plan_key(plan),
                                        .object = &claim->meta});
        plan_call(plan, self->base.driver, &request, PLAN_DECIDE);
        plan_then(plan, decide_room_known);
    }
}

gboolean
provisioner_may_compete(const ExternalProvisioner *self,
                        Plan *plan,
                        const Claim *claim,
                        const ClassInfo *class)
{
    CsiRequest request = {0};

    return class->class->binding_mode == BINDING_IMMEDIATE &&
           self->options->node_deployment_immediate_binding &&
           (class->allowed.n_terms == 0 ||
            provision_prepare_capacity(self, plan, claim, class, &request));
}

void
provisioner_wake_candidates(ExternalProvisioner *self, const ObjectKey *volume)
{
    sim_ticker_wake(self->resync);
    for (GList *link = self->base.plans.head; link != NULL; link = link->next)
        if (plan_key(link->data) == volume)
            plan_wake(link->data);
}
