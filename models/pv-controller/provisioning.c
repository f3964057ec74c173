/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pv-controller/pv-controller-private.h"

#include "models/cluster/kube-controller-manager.h"

#include <string.h>

/* Who provisions is asked to: PVC-60, PVC-61. */

typedef struct {
    const Words *words;
    const char *provisioner; /* interned */
    gboolean beta_only;      /* before 1.23 */
} ProvisionerArg;

static gboolean
edit_provisioner(Object *object, const void *arg)
{
    const ProvisionerArg *wanted = arg;

    object_set_annotation(object, wanted->words->beta_storage_provisioner, wanted->provisioner);
    if (!wanted->beta_only)
        object_set_annotation(object, wanted->words->storage_provisioner, wanted->provisioner);
    return TRUE;
}

/* PVC-62: at every sync of a claim that waits for its volume. */
static void
plan_tell_external(const PvController *self,
                   Plan *plan,
                   const Object *claim,
                   const char *provisioner)
{
    if (self->release->minor < 28)
        plan_event(plan, claim, "Normal", "ExternalProvisioning",
                   "waiting for a volume to be created, either by external provisioner \"%s\" or "
                   "manually created by system administrator",
                   provisioner);
    else
        plan_event(plan, claim, "Normal", "ExternalProvisioning",
                   "Waiting for a volume to be created either by the external provisioner '%s' or "
                   "manually by the system administrator. If volume creation is delayed, please "
                   "verify that the provisioner is running and correctly registered.",
                   provisioner);
}

/* RACE-5: the operation still runs while the answer is on its way. If the claim's new version gets
 * here sooner, its sync asks for nothing. */
static void
decide_provision_saved(const void *component, Plan *plan)
{
    const PvController *self = component;
    int step = plan_last_step(plan);
    const Claim *claim = pv_cache_claim(self->cache, plan_key(plan));
    const Object *saved = plan_object(plan, step);

    plan_because(plan, "PVC-61");
    if (plan_code(plan, step) == API_OK) {
        plan_wait_answer(plan);
        pv_plan_store(self, plan, saved);
        plan_tell_external(self, plan, saved,
                           object_annotation(saved, ANNOTATION_BETA_STORAGE_PROVISIONER));
        return;
    }
    const char *why = plan_internf(plan, "%s", plan_message(plan, step));
    if (claim != NULL)
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed", "Error saving claim: %s",
                   why);
    plan_fail(plan, "%s", why);
}

/* The operation provision-...: writes down who shall provision, once, and says so, every time. */
static void
decide_provision(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Claim *claim = pv_cache_claim(self->cache, plan_key(plan));
    const StorageClass *class = claim == NULL ? NULL : pv_find_class(self, claim_class(claim));
    gboolean beta_only = self->release->minor < 23;

    plan_because(plan, "PVC-61");
    if (class == NULL) /* gone since the sync that asked */
        return;
    const char *known =
        object_annotation(&claim->meta, beta_only ? ANNOTATION_BETA_STORAGE_PROVISIONER
                                                  : ANNOTATION_STORAGE_PROVISIONER);
    if (known != NULL && strcmp(known, class->provisioner) == 0) {
        plan_tell_external(self, plan, &claim->meta, class->provisioner);
        return;
    }
    ProvisionerArg *arg = plan_new_arg(plan, ProvisionerArg);
    *arg = (ProvisionerArg){&self->words, class->provisioner, beta_only};
    plan_update(plan, &claim->meta, edit_provisioner, arg, PLAN_DECIDE);
    plan_then(plan, decide_provision_saved);
}

void
pv_plan_provisioning(const PvController *self, Plan *plan, const Claim *claim)
{
    const KubeControllerManagerOptions *options = self->base.options;
    const StorageClass *class = pv_find_class(self, claim_class(claim));

    if (!options->enable_dynamic_provisioning)
        return;
    if (class == NULL)
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed",
                   "storageclass.storage.k8s.io \"%s\" not found", claim_class(claim));
    else if (pv_is_in_tree(class->provisioner)) /* PVC-26: also the one that provisions nothing */
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed",
                   "no volume plugin matched name: %s", class->provisioner);
    else
        pv_plan_operation(self, plan, "provision-", &claim->meta, decide_provision);
}
