/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks for a claim's volume: notes the provisioner on the claim, for an external one to act, or
 * starts an in-tree plugin (PVC-60, PVC-61, INT-30). One operation runs for a claim (PVC-12). The
 * note is written once; the Event comes at every sync of a claim that waits for its volume
 * (PVC-62). The names of the annotations depend on the release. */
#include "models/pv-controller/pv-controller-private.h"

#include "models/cluster/cluster.h"
#include "models/cluster/kube-controller-manager.h"

typedef struct {
    const Words *words;
    const char *provisioner; /* interned */
    gboolean beta_only;
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
    if (self->release->minor >= 28)
        plan_event(plan, claim, "Normal", "ExternalProvisioning",
                   "Waiting for a volume to be created either by the external provisioner '%s' or "
                   "manually by the system administrator. If volume creation is delayed, please "
                   "verify that the provisioner is running and correctly registered.",
                   provisioner);
    else
        plan_event(plan, claim, "Normal", "ExternalProvisioning",
                   "waiting for a volume to be created, either by external provisioner \"%s\" or "
                   "manually created by system administrator",
                   provisioner);
}

/* PVC-65: the in-tree plugin that provisions for a class has not migrated. */
static gboolean
is_made_here(const PvController *self, const StorageClass *class)
{
    return pv_is_in_tree(pv_driver_of(self, class->provisioner));
}

/* The claim notes its provisioner. */
static void
plan_noted(const PvController *self, Plan *plan, const Object *claim, const StorageClass *class)
{
    if (class != NULL && is_made_here(self, class))
        pv_plan_in_tree_volume(self, plan, claim, class);
    else
        plan_tell_external(self, plan, claim,
                           object_annotation(claim, ANNOTATION_BETA_STORAGE_PROVISIONER));
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
        plan_noted(self, plan, saved, pv_find_class(self, claim_class(CLAIM_CONST(saved))));
        return;
    }
    const char *why = plan_internf(plan, "%s", plan_message(plan, step));
    if (claim != NULL)
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed", "Error saving claim: %s",
                   why);
    plan_fail(plan, "%s", why);
}

/* That operation: whether the claim's annotations name the right provisioner. */
enum {
    NOTE_IS_RIGHT = 1 << 0,      /* volume.kubernetes.io/storage-provisioner */
    NOTE_IS_RIGHT_BETA = 1 << 1, /* volume.beta.kubernetes.io/storage-provisioner */
    NOTE_FACTS_END = 1 << 2,
};

typedef enum {
    NOTE_TELL, /* event; nothing to write */
    NOTE_WRITE_BETA,
    NOTE_WRITE_BOTH,
} NoteAction;

/* setClaimProvisioner(). */
static const Rule note_table[] = {
    {"PVC-61.1", NOTE_IS_RIGHT_BETA, 0,                  NOTE_TELL,       .until = 23},
    {"PVC-61.2", 0,                  NOTE_IS_RIGHT_BETA, NOTE_WRITE_BETA, .until = 23},
    {"PVC-61.3", NOTE_IS_RIGHT,      0,                  NOTE_TELL,       .since = 23},
    {"PVC-61.4", 0,                  NOTE_IS_RIGHT,      NOTE_WRITE_BOTH, .since = 23},
};

const RuleTable pv_note_rules = RULE_TABLE("notes of the provisioner", NOTE_FACTS_END, note_table);

static uint32_t
note_facts(const Claim *claim, const char *provisioner)
{
    const char *noted = object_annotation(&claim->meta, ANNOTATION_STORAGE_PROVISIONER);
    const char *beta = object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_PROVISIONER);
    uint32_t facts = 0;

    facts |= g_strcmp0(noted, provisioner) == 0 ? NOTE_IS_RIGHT : 0;
    facts |= g_strcmp0(beta, provisioner) == 0 ? NOTE_IS_RIGHT_BETA : 0;
    return facts;
}

/* The operation provision-...: notes the provisioner on the claim once, and tells every time; or
 * has an in-tree plugin make the volume. */
static void
decide_provision(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Claim *claim = pv_cache_claim(self->cache, plan_key(plan));
    const StorageClass *class = claim == NULL ? NULL : pv_find_class(self, claim_class(claim));

    plan_because(plan, "PVC-61");
    if (class == NULL) /* gone since the sync that asked */
        return;
    pv_plan_time_operation(self, plan, pv_provision, &claim->meta);
    const char *provisioner = pv_driver_of(self, class->provisioner); /* MIG-62 */
    int action = rules_find(&pv_note_rules, note_facts(claim, provisioner), self->release)->then;
    if (is_made_here(self, class) && claim->data_source.kind != NULL) {
        pv_plan_refuse_source(plan, claim, class);
        return;
    }
    if (action == NOTE_TELL) {
        plan_noted(self, plan, &claim->meta, class);
        return;
    }
    ProvisionerArg *arg = plan_new_arg(plan, ProvisionerArg);
    *arg = (ProvisionerArg){&self->words, provisioner, action == NOTE_WRITE_BETA};
    plan_update(plan, &claim->meta, edit_provisioner, arg, PLAN_DECIDE);
    plan_then(plan, decide_provision_saved);
}

/* A claim that needs a new volume. */
enum {
    ON = 1 << 0,      /* --enable-dynamic-provisioning */
    CLASS = 1 << 1,   /* its class exists */
    IN_TREE = 1 << 2, /* ... and names a provisioner within Kubernetes */
    PLUGIN = 1 << 3,  /* ... that this controller has */
    PROVISION_FACTS_END = 1 << 4,
};

typedef enum {
    PROVISION_LEAVE,
    PROVISION_TELL_NO_CLASS,
    PROVISION_TELL_NO_PLUGIN,
    PROVISION_ASK, /* starts the operation */
} ProvisionAction;

/* provisionClaim(). The provisioner of PVC-26, which provisions nothing, counts as in tree. */
static const Rule provision_table[] = {
    {"PVC-60.1", 0,                             ON,      PROVISION_LEAVE         },
    {"PVC-60.2", ON,                            CLASS,   PROVISION_TELL_NO_CLASS },
    {"PVC-60.3", ON | CLASS | IN_TREE,          PLUGIN,  PROVISION_TELL_NO_PLUGIN},
    {"PVC-60.4", ON | CLASS,                    IN_TREE, PROVISION_ASK           },
    {"PVC-60.5", ON | CLASS | IN_TREE | PLUGIN, 0,       PROVISION_ASK           },
};

const RuleTable pv_provision_rules =
    RULE_TABLE("provisioning", PROVISION_FACTS_END, provision_table);

void
pv_plan_provisioning(const PvController *self, Plan *plan, const Claim *claim)
{
    const KubeControllerManagerOptions *options = self->base.options;
    const StorageClass *class = pv_find_class(self, claim_class(claim));

    uint32_t facts = options->enable_dynamic_provisioning ? ON : 0;

    facts |= class != NULL ? CLASS : 0;
    if (class != NULL && is_made_here(self, class))
        facts |=
            IN_TREE |
            (cluster_plugin_backend(self->base.cluster, class->provisioner, NULL) != NULL ? PLUGIN
                                                                                          : 0u);
    switch ((ProvisionAction)rules_find(&pv_provision_rules, facts, NULL)->then) {
    case PROVISION_LEAVE:
        return;
    case PROVISION_TELL_NO_CLASS:
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed",
                   "storageclass.storage.k8s.io \"%s\" not found", claim_class(claim));
        return;
    case PROVISION_TELL_NO_PLUGIN:
        plan_event(plan, &claim->meta, "Warning", "ProvisioningFailed",
                   "no volume plugin matched name: %s", class->provisioner);
        return;
    case PROVISION_ASK:
        pv_plan_operation(self, plan, pv_provision, &claim->meta, decide_provision);
        return;
    }
    g_assert_not_reached();
}
