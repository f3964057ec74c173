/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pv-controller/pv-controller-private.h"

#include "models/cluster.h"
#include "models/kube-controller-manager.h"
#include "models/plan-private.h"
#include "models/pv-controller/rules.h"
#include "sim/random.h"
#include "sim/ticker.h"

#include <string.h>

#define IN_TREE_PREFIX                                                                             \
    "kubernetes.io/" /* provisioners within Kubernetes; CSI drivers have other names */
#define ANNOTATION_PRE_RESIZE_CAPACITY "volume.alpha.kubernetes.io/pre-resize-capacity"

#define BACKOFF_FIRST (500 * SIM_MS)   /* PVC-12 */
#define BACKOFF_MAX (122 * SIM_SECOND) /* PVC-12: 2 min 2 s */

/* What binding writes into both halves of a pair. */
typedef struct {
    const Words *words;
    const ObjectKey *claim, *volume;
    ObjectUid claim_uid;
    uint64_t claim_version;
    uint32_t access_modes;  /* the volume's */
    int64_t capacity_bytes; /* that the claim's status shall tell */
} Pair;

/* ---- Looking ---- */

const StorageClass *
pv_find_class(const PvController *self, const char *name)
{
    const ObjectKey *key = objects_find_key(self->base.objects, KIND_STORAGE_CLASS, NULL, name);

    return key == NULL ? NULL : (const StorageClass *)informer_get(self->classes, key);
}

static const Volume *
find_named_volume(const PvController *self, const Claim *claim)
{
    const char *name = claim_volume_name(claim);

    return pv_cache_volume(self->cache,
                           objects_find_key(self->base.objects, KIND_VOLUME, NULL, name));
}

/* PVC-21, step 1. A class that does not exist does not delay. */
static gboolean
claim_is_delayed(const PvController *self, const Claim *claim)
{
    const StorageClass *class = pv_find_class(self, claim_class(claim));

    return class != NULL && class->binding_mode == BINDING_WAIT_FOR_FIRST_CONSUMER;
}

static gboolean
class_is_default(const StorageClass *class)
{
    const char *value = object_annotation(&class->meta, ANNOTATION_DEFAULT_CLASS);
    const char *beta = object_annotation(&class->meta, ANNOTATION_BETA_DEFAULT_CLASS);

    return (value != NULL && strcmp(value, "true") == 0) ||
           (beta != NULL && strcmp(beta, "true") == 0);
}

/* PVC-27: the newest, by the second; the first by name among those. */
static gboolean
class_is_preferred(const StorageClass *class, const StorageClass *best)
{
    int64_t created_s = class->meta.created_at / SIM_SECOND;
    int64_t best_s = best->meta.created_at / SIM_SECOND;

    if (created_s != best_s)
        return created_s > best_s;
    return strcmp(object_name(&class->meta), object_name(&best->meta)) < 0;
}

/* Returns: NULL: the claim has a class, if only "", or there is no default */
static const StorageClass *
find_default_class(const PvController *self, const Claim *claim)
{
    const StorageClass *best = NULL;
    const Object *object;
    InformerIter iter;

    if (claim->class_name != NULL || self->minor_version < 26 ||
        object_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_CLASS) != NULL)
        return NULL;
    informer_iter_init(&iter, self->classes);
    while ((object = informer_iter_next(&iter)) != NULL) {
        const StorageClass *class = (const StorageClass *)object;
        if (class_is_default(class) && (best == NULL || class_is_preferred(class, best)))
            best = class;
    }
    return best;
}

gboolean
pv_refers_to_uid(const Volume *volume, const Claim *claim)
{
    return object_uid_equal(volume->claim_ref.uid, claim->meta.uid);
}

/* PVC-50, W1: nothing is left to write into the claimRef. */
static gboolean
volume_refers_exactly(const Volume *volume, const Claim *claim)
{
    return volume->claim_ref.claim == claim->meta.key && pv_refers_to_uid(volume, claim);
}

static gboolean
volume_is_given_up(const Volume *volume)
{
    return volume->phase == VOLUME_RELEASED || volume->phase == VOLUME_FAILED;
}

gboolean
pv_has_annotation(const Object *object, const char *name)
{
    return object_annotation(object, name) != NULL;
}

gboolean
pv_is_migrated(const Object *object)
{
    const char *driver = object_annotation(object, ANNOTATION_MIGRATED_TO);

    return driver != NULL && driver[0] != '\0';
}

gboolean
pv_is_in_tree(const char *provisioner)
{
    return g_str_has_prefix(provisioner, IN_TREE_PREFIX);
}

/* ---- Steps that several rules plan ---- */

static void
plan_store(const PvController *self, Plan *plan, const Object *object)
{
    PlanChange change = {.what = CHANGE_STORE, .key = object->key, .object = object};

    if (pv_cache_get(self->cache, object->key) != object)
        plan_change(plan, &change);
}

static void
plan_change_key(Plan *plan, int what, const ObjectKey *key)
{
    PlanChange change = {.what = what, .key = key};

    plan_change(plan, &change);
}

/* The sync found the object at rest (cache.h), and did not even ask the API server. A new version of it, stored by the same
 * plan, unsettles it first. */
static void
plan_settle(const PvController *self, Plan *plan, const Object *object)
{
    if (plan_last_step(plan) >= 0) /* a GET */
        return;
    if (!pv_cache_is_settled(self->cache, object->key) ||
        pv_cache_get(self->cache, object->key) != object)
        plan_change_key(plan, CHANGE_SETTLE, object->key);
}

/* PVC-7: what a write returned is known at once. */
static int
plan_kept(Plan *plan, int step)
{
    plan_change_result(plan, CHANGE_STORE, step);
    return step;
}

typedef struct {
    VolumePhase phase;
    const char *message; /* interned; NULL: none */
} PhaseArg;

static gboolean
edit_volume_phase(Object *object, const void *arg)
{
    const PhaseArg *wanted = arg;
    Volume *volume = VOLUME(object);

    if (volume->phase == wanted->phase) /* PVC-58: another message alone is not written */
        return FALSE;
    volume->phase = wanted->phase;
    volume->message = wanted->message;
    return TRUE;
}

static const PhaseArg *
phase_arg(Plan *plan, VolumePhase phase, const char *message)
{
    PhaseArg *arg = plan_new_arg(plan, PhaseArg);

    *arg = (PhaseArg){phase, message};
    return arg;
}

/* Returns: whether there is something to write */
gboolean
pv_plan_volume_phase(Plan *plan, const Volume *volume, VolumePhase phase, const char *message)
{
    if (volume->phase == phase)
        return FALSE;
    plan_kept(plan, plan_update_status(plan, &volume->meta, edit_volume_phase,
                                       phase_arg(plan, phase, message), PLAN_STOP));
    return TRUE;
}

/* PVC-56 without a volume. */
static gboolean
edit_claim_without_volume(Object *object, const void *arg)
{
    const ClaimPhase *phase = arg;
    Claim *claim = CLAIM(object);

    if (claim->phase == *phase && claim->status_access_modes == 0 && claim->capacity_bytes == 0)
        return FALSE;
    claim->phase = *phase;
    claim->status_access_modes = 0;
    claim->capacity_bytes = 0;
    return TRUE;
}

static const ClaimPhase phase_pending = CLAIM_PENDING, phase_lost = CLAIM_LOST;

static void
plan_claim_pending(Plan *plan, const Claim *claim)
{
    if (claim->phase == CLAIM_PENDING && claim->status_access_modes == 0 &&
        claim->capacity_bytes == 0)
        return;
    plan_kept(plan, plan_update_status(plan, &claim->meta, edit_claim_without_volume,
                                       &phase_pending, PLAN_STOP));
}

/* PVC-41, PVC-57: both only as the phase changes. */
static void
plan_claim_lost(Plan *plan, const Claim *claim, const char *reason, const char *message)
{
    if (claim->phase == CLAIM_LOST)
        return;
    plan_kept(plan, plan_update_status(plan, &claim->meta, edit_claim_without_volume, &phase_lost,
                                       PLAN_STOP));
    plan_event(plan, &claim->meta, "Warning", reason, "%s", message);
}

/* ---- Binding: PVC-50 ---- */

/* W1, PVC-51. A volume that was reserved for the claim by its user or provisioner keeps that fact: no annotation. */
static gboolean
edit_refer_to_claim(Object *object, const void *arg)
{
    const Pair *pair = arg;
    Volume *volume = VOLUME(object);
    const ClaimReference *before = &volume->claim_ref;
    gboolean was_ours =
        before->claim == pair->claim &&
        (!object_uid_is_set(before->uid) || object_uid_equal(before->uid, pair->claim_uid));

    volume->claim_ref = (ClaimReference){pair->claim, pair->claim_uid, pair->claim_version};
    if (!was_ours)
        object_set_annotation(object, pair->words->bound_by_controller, pair->words->yes);
    return TRUE;
}

/* W3. */
static gboolean
edit_name_volume(Object *object, const void *arg)
{
    const Pair *pair = arg;
    Claim *claim = CLAIM(object);

    if (strcmp(claim_volume_name(claim), pair->volume->name) != 0) {
        claim->volume_name = pair->volume->name;
        object_set_annotation(object, pair->words->bound_by_controller, pair->words->yes);
    }
    if (!claim_is_bind_completed(claim))
        object_set_annotation(object, pair->words->bind_completed, pair->words->yes);
    return TRUE;
}

/* W4. The capacity is copied only with the change of phase; later it belongs to those who expand (PVC-56). */
static gboolean
edit_claim_bound(Object *object, const void *arg)
{
    const Pair *pair = arg;
    Claim *claim = CLAIM(object);

    if (claim->phase != CLAIM_BOUND)
        claim->capacity_bytes = pair->capacity_bytes;
    claim->phase = CLAIM_BOUND;
    claim->status_access_modes = pair->access_modes;
    return TRUE;
}

/* PVC-56: what an unfinished expansion left behind, else the volume's own. */
static int64_t
capacity_to_tell(const Volume *volume)
{
    const char *text = object_annotation(&volume->meta, ANNOTATION_PRE_RESIZE_CAPACITY);
    int64_t bytes;

    if (text != NULL && quantity_parse(text, &bytes, NULL, NULL))
        return bytes;
    return volume->capacity_bytes;
}

static const Pair *
pair_arg(const PvController *self, Plan *plan, const Volume *volume, const Claim *claim)
{
    Pair *pair = plan_new_arg(plan, Pair);

    *pair = (Pair){
        .words = &self->words,
        .claim = claim->meta.key,
        .volume = volume->meta.key,
        .claim_uid = claim->meta.uid,
        .claim_version = claim->meta.resource_version,
        .access_modes = volume->access_modes,
        .capacity_bytes = capacity_to_tell(volume),
    };
    return pair;
}

static gboolean
claim_names_exactly(const Claim *claim, const Volume *volume)
{
    return claim_is_bind_completed(claim) &&
           strcmp(claim_volume_name(claim), object_name(&volume->meta)) == 0;
}

static gboolean
claim_status_is_bound(const Claim *claim, const Volume *volume)
{
    return claim->phase == CLAIM_BOUND && claim->status_access_modes == volume->access_modes;
}

/* PVC-52, PVC-95: up to four writes, no Event; each only if it changes something; the first error ends it, and whatever is written stays: the next
 * sync goes on from there (PVC-53). */
static void
plan_bind(const PvController *self, Plan *plan, const Volume *volume, const Claim *claim)
{
    gboolean refers = volume_refers_exactly(volume, claim);
    gboolean names = claim_names_exactly(claim, volume);
    int step;

    if (refers && volume->phase == VOLUME_BOUND && names && claim_status_is_bound(claim, volume)) {
        plan_settle(self, plan, &claim->meta);
        return;
    }

    const Pair *pair = pair_arg(self, plan, volume, claim);
    if (!refers)
        step =
            plan_kept(plan, plan_update(plan, &volume->meta, edit_refer_to_claim, pair, PLAN_STOP));
    if (volume->phase != VOLUME_BOUND) {
        const PhaseArg *bound = phase_arg(plan, VOLUME_BOUND, NULL);
        plan_kept(plan,
                  refers
                      ? plan_update_status(plan, &volume->meta, edit_volume_phase, bound, PLAN_STOP)
                      : plan_update_result_status(plan, step, edit_volume_phase, bound, PLAN_STOP));
    }
    if (!names)
        step = plan_kept(plan, plan_update(plan, &claim->meta, edit_name_volume, pair, PLAN_STOP));
    if (!claim_status_is_bound(claim, volume))
        plan_kept(plan,
                  names ? plan_update_status(plan, &claim->meta, edit_claim_bound, pair, PLAN_STOP)
                        : plan_update_result_status(plan, step, edit_claim_bound, pair, PLAN_STOP));
}

static gboolean
edit_unbind(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->claim_ref = (ClaimReference){0};
    object_set_annotation(object, ANNOTATION_BOUND_BY_CONTROLLER, NULL);
    return TRUE;
}

static gboolean
edit_unreserve(Object *object, const void *arg)
{
    (void)arg;
    VOLUME(object)->claim_ref.uid = (ObjectUid){0};
    return TRUE;
}

/* PVC-55: what a user wrote stays, so that the volume waits for a claim of that name. */
void
pv_plan_unbind(Plan *plan, const Volume *volume)
{
    gboolean by_controller = pv_has_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER);
    int step =
        plan_kept(plan, plan_update(plan, &volume->meta,
                                    by_controller ? edit_unbind : edit_unreserve, NULL, PLAN_STOP));

    plan_kept(plan, plan_update_result_status(plan, step, edit_volume_phase,
                                              phase_arg(plan, VOLUME_AVAILABLE, NULL), PLAN_STOP));
}

/* ---- Provisioning: PVC-60, PVC-61 ---- */

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
    if (self->minor_version < 28)
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

/* RACE-5: the operation still runs while the answer is on its way. If the claim's new version gets here sooner, its sync asks for
 * nothing. */
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
        plan_store(self, plan, saved);
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
    gboolean beta_only = self->minor_version < 23;

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

/* PVC-12: one operation of a name runs; the uid parts an object from its successor. */
const char *
pv_operation_name(const PvController *self, const char *what, const Object *object)
{
    char uid[OBJECT_UID_BUFFER];
    g_autofree char *name =
        g_strconcat(what, object->key->text, "[", object_uid_format(object->uid, uid), "]", NULL);

    return strings_intern(self->base.strings, name);
}

/* A resync may have found it running, and left its volume alone since. */
static void
operation_over(void *component, Plan *plan, PlanEnd end, const char *message)
{
    PvController *self = component;
    const ObjectKey *key = plan_key(plan);

    (void)end;
    (void)message;
    if (key->kind != KIND_VOLUME || pv_cache_volume(self->cache, key) == NULL)
        return;
    pv_cache_unsettle(self->cache, key);
    sim_ticker_wake(self->resync);
}

/* @what: "delete-" */
void
pv_plan_operation(
    const PvController *self, Plan *plan, const char *what, const Object *object, PlanDecide decide)
{
    PlanStart start = {
        .component = (Component *)&self->base,
        .decide = decide,
        .key = (ObjectKey *)object->key,
        .done = operation_over,
    };

    plan_start_operation(plan, self->operations,
                         (OperationKey){.volume = pv_operation_name(self, what, object)}, &start);
}

static void
plan_ask_for_provisioning(const PvController *self, Plan *plan, const Claim *claim)
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

/* ---- Claims: syncClaim() ---- */

/* PVC-25: a pod that has a node is no longer waited for. Not scheduled, it runs no container: deleted, it is over. */
static gboolean
pod_waits_for_node(const Pod *pod)
{
    return pod->node_name == NULL && !pod_is_terminal(pod) && !object_is_deleted(&pod->meta);
}

static void
plan_tell_waiting(const PvController *self, Plan *plan, const Claim *claim)
{
    g_autoptr(GString) names = g_string_new(NULL);
    unsigned n_pods, n_waiting = 0;
    const Object *const *pods = informer_index_get(self->pods_by_claim, claim->meta.key, &n_pods);

    for (unsigned i = 0; i < n_pods; i++) {
        if (!pod_waits_for_node(POD_CONST(pods[i])))
            continue;
        g_string_append_printf(names, "%s%s", n_waiting == 0 ? "" : ",", object_name(pods[i]));
        n_waiting++;
    }
    if (n_waiting == 0)
        plan_event(plan, &claim->meta, "Normal", "WaitForFirstConsumer",
                   "waiting for first consumer to be created before binding");
    else
        plan_event(plan, &claim->meta, "Normal", "WaitForPodScheduled",
                   n_waiting == 1 ? "waiting for pod %s to be scheduled"
                                  : "waiting for pods %s to be scheduled",
                   names->str);
}

/* The facts of a claim that names no volume; @volume (out): the best match, NULL: none. */
static uint32_t
free_claim_facts(const PvController *self, const Claim *claim, const Volume **volume)
{
    MatchQuery query = {
        .claim = claim,
        .delayed = claim_is_delayed(self, claim),
        .attributes_classes = self->attributes_classes,
    };
    uint32_t facts = 0;

    if (!pv_cache_find_match(self->cache, &query, volume))
        return CLAIM_REFUSED;
    if (*volume != NULL)
        return CLAIM_FOUND;
    if (find_default_class(self, claim) != NULL)
        facts |= CLAIM_DEFAULTS;
    if (query.delayed && !pv_has_annotation(&claim->meta, ANNOTATION_SELECTED_NODE))
        facts |= CLAIM_WAITS;
    if (claim_class(claim)[0] != '\0')
        facts |= CLAIM_HAS_CLASS;
    return facts;
}

/* The facts of a claim and the volume that it names. */
static uint32_t
named_claim_facts(const PvController *self, const Claim *claim, const Volume *volume)
{
    uint32_t facts = CLAIM_NAMED;

    if (pv_has_annotation(&claim->meta, ANNOTATION_BOUND_BY_CONTROLLER))
        facts |= CLAIM_BY_US;
    if (volume == NULL)
        return facts;
    facts |= CLAIM_FOUND;
    if (volume->claim_ref.claim != NULL)
        facts |= CLAIM_TAKEN;
    if (volume_is_bound_to(volume, claim))
        facts |= CLAIM_OURS;
    if (volume_mismatch(claim, volume, self->attributes_classes, self->base.strings) != NULL)
        facts |= CLAIM_UNFIT;
    return facts;
}

static gboolean
edit_class(Object *object, const void *arg)
{
    CLAIM(object)->class_name = arg;
    return TRUE;
}

/* What a claim's rule wants done. */
static void
plan_claim_action(const PvController *self,
                  Plan *plan,
                  ClaimAction action,
                  const Claim *claim,
                  const Volume *volume)
{
    const Object *object = &claim->meta;

    switch (action) {
    case CLAIM_BIND:
        plan_bind(self, plan, volume, claim);
        return;
    case CLAIM_SET_CLASS: /* not kept in the cache: the event brings it (PVC-7) */
        plan_update(plan, object, edit_class, object_name(&find_default_class(self, claim)->meta),
                    PLAN_STOP);
        return;
    case CLAIM_PROVISION:
        plan_ask_for_provisioning(self, plan, claim);
        return;
    case CLAIM_TELL_WAITING:
        plan_tell_waiting(self, plan, claim);
        plan_claim_pending(plan, claim);
        return;
    case CLAIM_TELL_NO_MATCH:
        plan_event(plan, object, "Normal", "FailedBinding",
                   "no persistent volumes available for this claim and no storage class is set");
        plan_claim_pending(plan, claim);
        return;
    case CLAIM_TELL_MISMATCH:
        plan_event(plan, object, "Warning", "VolumeMismatch",
                   "Cannot bind to requested volume \"%s\": %s", object_name(&volume->meta),
                   volume_mismatch(claim, volume, self->attributes_classes, self->base.strings));
        plan_claim_pending(plan, claim);
        return;
    case CLAIM_TELL_TAKEN:
        plan_event(plan, object, "Warning", "FailedBinding",
                   "volume \"%s\" already bound to a different claim.", object_name(&volume->meta));
        plan_claim_pending(plan, claim);
        return;
    case CLAIM_PEND:
        plan_claim_pending(plan, claim);
        return;
    case CLAIM_FAIL_TAKEN:
        plan_event(plan, object, "Warning", "FailedBinding",
                   "volume \"%s\" already bound to a different claim.", object_name(&volume->meta));
        plan_fail(plan, "invalid binding of claim %s to volume %s: volume already claimed by %s",
                  object->key->text, object_name(&volume->meta), volume->claim_ref.claim->text);
        return;
    case CLAIM_FAIL_REFUSED:
        plan_fail(plan,
                  "unsupported volumeAttributesClassName is set on claim %s when the feature-gate "
                  "VolumeAttributesClass is disabled",
                  object->key->text);
        return;
    case CLAIM_LOSE_REFERENCE:
        plan_claim_lost(plan, claim, "ClaimLost",
                        "Bound claim has lost reference to PersistentVolume. Data on the volume is "
                        "lost!");
        return;
    case CLAIM_LOSE_VOLUME:
        plan_claim_lost(plan, claim, "ClaimLost",
                        "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
        return;
    case CLAIM_LOSE_MISBOUND:
        plan_claim_lost(plan, claim, "ClaimMisbound",
                        "Two claims are bound to the same volume, this one is bound incorrectly");
        return;
    }
    g_assert_not_reached();
}

static void
plan_unbound_claim(const PvController *self, Plan *plan, const Claim *claim)
{
    const Volume *volume = NULL;
    uint32_t facts;

    if (claim_volume_name(claim)[0] == '\0') {
        facts = free_claim_facts(self, claim, &volume);
    } else {
        volume = find_named_volume(self, claim);
        facts = named_claim_facts(self, claim, volume);
    }

    const PvRule *rule = pv_rule_for(&unbound_claim_rules, facts);
    plan_because(plan, rule->id);
    plan_claim_action(self, plan, (ClaimAction)rule->then, claim, volume);
}

/* Only the private copies are asked, not the API server (PVC-40). */
static void
plan_bound_claim(const PvController *self, Plan *plan, const Claim *claim)
{
    const Volume *volume = NULL;
    uint32_t facts = 0;

    if (claim_volume_name(claim)[0] != '\0') {
        facts |= CLAIM_NAMED;
        volume = find_named_volume(self, claim);
    }
    if (volume != NULL) {
        facts |= CLAIM_FOUND;
        if (volume->claim_ref.claim != NULL)
            facts |= CLAIM_TAKEN;
        if (pv_refers_to_uid(volume, claim))
            facts |= CLAIM_OURS;
    }

    const PvRule *rule = pv_rule_for(&bound_claim_rules, facts);
    plan_because(plan, rule->id);
    plan_claim_action(self, plan, (ClaimAction)rule->then, claim, volume);
}

/* PVC-5: not in the informer. Whoever was the other half of the pair is to look at once (PVC-8, PVC-9). */
static void
plan_gone(Plan *plan, const ObjectKey *key, const ObjectKey *other, const char *rule)
{
    plan_because(plan, rule);
    plan_change_key(plan, CHANGE_FORGET, key);
    if (other != NULL)
        plan_change_key(plan, CHANGE_ENQUEUE, other);
}

void
pv_controller_sync_claim(const void *component, Plan *plan)
{
    const PvController *self = component;
    const ObjectKey *key = plan_key(plan);
    const Object *seen = informer_get(self->claims, key);
    const Claim *known = pv_cache_claim(self->cache, key);

    if (seen == NULL && known == NULL) /* its deletion was handled before */
        return;
    if (seen == NULL) {
        const char *name = claim_volume_name(known);
        plan_gone(plan, key,
                  name[0] == '\0' ? NULL : objects_key(self->base.objects, KIND_VOLUME, NULL, name),
                  "PVC-9");
        return;
    }
    plan_because(plan, "PVC-6");
    if (pv_cache_is_newer(self->cache, seen))
        return;
    plan_store(self, plan, seen);
    if (claim_is_bind_completed(
            CLAIM_CONST(seen))) /* PVC-20; whether it goes is no matter (PVC-13) */
        plan_bound_claim(self, plan, CLAIM_CONST(seen));
    else
        plan_unbound_claim(self, plan, CLAIM_CONST(seen));
}

/* ---- Volumes: syncVolume() ---- */

static uint32_t
volume_facts(const Volume *volume, const Claim *claim)
{
    uint32_t facts = 0;

    if (volume->claim_ref.claim == NULL)
        return 0;
    facts |= VOLUME_REFERS;
    if (!object_uid_is_set(volume->claim_ref.uid))
        return facts;
    facts |= VOLUME_HAS_UID;
    if (claim == NULL)
        return facts;
    facts |= VOLUME_HAS_CLAIM;
    const char *name = claim_volume_name(claim);
    if (name[0] != '\0')
        facts |= VOLUME_CLAIM_NAMES;
    if (strcmp(name, object_name(&volume->meta)) == 0)
        facts |= VOLUME_IS_NAMED;
    if (claim->volume_mode != volume->volume_mode)
        facts |= VOLUME_MODE_DIFFERS;
    if (volume->reclaim_policy == RECLAIM_DELETE &&
        pv_has_annotation(&volume->meta, ANNOTATION_PROVISIONED_BY))
        facts |= VOLUME_DISPOSABLE;
    if (pv_has_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER))
        facts |= VOLUME_BY_CONTROLLER;
    return facts;
}

static void
plan_tell_mode_mismatch(Plan *plan, const Volume *volume, const Claim *claim)
{
    plan_event(plan, &volume->meta, "Warning", "VolumeMismatch",
               "Cannot bind PersistentVolume to requested PersistentVolumeClaim \"%s\" due to "
               "incompatible volumeMode.",
               object_name(&claim->meta));
    plan_event(plan, &claim->meta, "Warning", "VolumeMismatch",
               "Cannot bind PersistentVolume \"%s\" to requested PersistentVolumeClaim due to "
               "incompatible volumeMode.",
               object_name(&volume->meta));
}

/* PVC-73: Released once, reclaimed at every sync; Failed stays what it is. */
static void
plan_release(const PvController *self, Plan *plan, const Volume *volume)
{
    gboolean released =
        !volume_is_given_up(volume) && pv_plan_volume_phase(plan, volume, VOLUME_RELEASED, NULL);

    if (!released && pv_is_being_reclaimed(self, volume))
        plan_settle(self, plan, &volume->meta); /* until the operation is over: operation_over() */
    else if (!pv_plan_reclaim(self, plan, volume) && !released)
        plan_settle(self, plan, &volume->meta);
}

/* @claim: the one that the claimRef means, NULL: there is none. */
static void
plan_judged_volume(const PvController *self, Plan *plan, const Volume *volume, const Claim *claim)
{
    const PvRule *rule = pv_rule_for(&volume_rules, volume_facts(volume, claim));

    plan_because(plan, rule->id);
    switch ((VolumeAction)rule->then) {
    case VOLUME_MAKE_AVAILABLE:
        if (!pv_plan_volume_phase(plan, volume, VOLUME_AVAILABLE, NULL))
            plan_settle(self, plan, &volume->meta);
        return;
    case VOLUME_MAKE_BOUND:
        if (!pv_plan_volume_phase(plan, volume, VOLUME_BOUND, NULL))
            plan_settle(self, plan, &volume->meta);
        return;
    case VOLUME_RELEASE:
        plan_release(self, plan, volume);
        return;
    case VOLUME_ASK_CLAIM:
        plan_change_key(plan, CHANGE_ENQUEUE, claim->meta.key);
        return;
    case VOLUME_TELL_MISMATCH:
        plan_tell_mode_mismatch(plan, volume, claim);
        return;
    case VOLUME_UNBIND:
    case VOLUME_UNRESERVE:
        pv_plan_unbind(plan, volume);
        return;
    }
    g_assert_not_reached();
}

/* What a GET of the claim said. Returns: FALSE: nothing, and the plan has failed */
static gboolean
claim_was_got(Plan *plan, const Claim **claim)
{
    int step = plan_last_step(plan);
    ApiCode code = plan_code(plan, step);

    *claim = (const Claim *)plan_object(plan, step);
    if (code == API_OK || code == API_NOT_FOUND)
        return TRUE;
    plan_fail(plan, "%s", plan_message(plan, step));
    return FALSE;
}

/* PVC-71c, answered: only a claim of that uid is the one that is meant. */
static void
decide_volume_other_uid(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Volume *volume = pv_cache_volume(self->cache, plan_key(plan));
    const Claim *claim;

    plan_because(plan, "PVC-71c");
    if (!claim_was_got(plan, &claim) || volume == NULL)
        return;
    if (claim != NULL && !pv_refers_to_uid(volume, claim))
        claim = NULL;
    plan_judged_volume(self, plan, volume, claim);
}

/* A claim of that name, @claim; NULL: none. The copy may be old: another uid is checked (since 1.23). */
static void
plan_volume_and_claim(const PvController *self,
                      Plan *plan,
                      const Volume *volume,
                      const Claim *claim)
{
    if (claim == NULL || pv_refers_to_uid(volume, claim)) {
        plan_judged_volume(self, plan, volume, claim);
        return;
    }
    if (self->minor_version < 23) {
        plan_judged_volume(self, plan, volume, NULL);
        return;
    }
    plan_because(plan, "PVC-71c");
    plan_get(plan, volume->claim_ref.claim, PLAN_DECIDE);
    plan_then(plan, decide_volume_other_uid);
}

/* PVC-71b, answered. */
static void
decide_volume_unknown_claim(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Volume *volume = pv_cache_volume(self->cache, plan_key(plan));
    const Claim *claim;

    plan_because(plan, "PVC-71b");
    if (claim_was_got(plan, &claim) && volume != NULL)
        plan_volume_and_claim(self, plan, volume, claim);
}

/* PVC-71b: nobody releases a volume because a cache is late. Before 1.20 only for volumes bound by a controller. */
static gboolean
absence_is_checked(const PvController *self, const Volume *volume)
{
    return !volume_is_given_up(volume) &&
           (self->minor_version >= 20 ||
            pv_has_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER));
}

static void
plan_volume(const PvController *self, Plan *plan, const Volume *volume)
{
    const ClaimReference *reference = &volume->claim_ref;
    const Claim *claim = pv_cache_claim(self->cache, reference->claim);

    if (reference->claim == NULL || !object_uid_is_set(reference->uid)) {
        plan_judged_volume(self, plan, volume, NULL);
        return;
    }
    if (claim == NULL && absence_is_checked(self, volume)) {
        claim = (const Claim *)informer_get(self->claims, reference->claim);
        if (claim == NULL) {
            plan_because(plan, "PVC-71b");
            plan_get(plan, reference->claim, PLAN_DECIDE);
            plan_then(plan, decide_volume_unknown_claim);
            return;
        }
    }
    plan_volume_and_claim(self, plan, volume, claim);
}

void
pv_controller_sync_volume(const void *component, Plan *plan)
{
    const PvController *self = component;
    const ObjectKey *key = plan_key(plan);
    const Object *seen = informer_get(self->volumes, key);
    const Volume *known = pv_cache_volume(self->cache, key);

    if (seen == NULL && known == NULL)
        return;
    if (seen == NULL) {
        plan_gone(plan, key, known->claim_ref.claim, "PVC-8");
        return;
    }
    plan_because(plan, "PVC-6");
    if (pv_cache_is_newer(self->cache, seen))
        return;
    plan_store(self, plan, seen);
    plan_volume(self, plan, VOLUME_CONST(seen));
}

/* ---- The component ---- */

static void
enqueue(PvController *self, const ObjectKey *key)
{
    workers_add(key->kind == KIND_VOLUME ? self->volume_workers : self->claim_workers, key);
}

static void
enqueue_again(PvController *self, const ObjectKey *key)
{
    Workers *workers = key->kind == KIND_VOLUME ? self->volume_workers : self->claim_workers;

    work_queue_add_again(workers_queue(workers), (ObjectKey *)key, self->resync_label);
}

static void
pv_controller_apply_change(void *component, const PlanChange *change)
{
    PvController *self = component;

    switch (change->what) {
    case CHANGE_STORE:
        if (change->object != NULL)
            pv_cache_store(self->cache, change->object);
        break;
    case CHANGE_FORGET:
        pv_cache_forget(self->cache, change->key);
        break;
    case CHANGE_SETTLE:
        pv_cache_settle(self->cache, change->key);
        return;
    case CHANGE_ENQUEUE:
        enqueue(self, change->key);
        return;
    default:
        g_assert_not_reached();
    }
    if (!pv_cache_is_at_rest(self->cache))
        sim_ticker_wake(self->resync);
}

/* PVC-2: which kind of event it was makes no difference. PVC-1: nothing else is listened to. */
static void
object_event(void *component, const Object *before, const Object *after)
{
    enqueue(component, (after == NULL ? before : after)->key);
}

/* One object of a resync, and its place in a walk over a hash map. */
typedef struct {
    uint64_t place;
    const ObjectKey *key;
} ResyncItem;

static void
add_resync_item(const PvController *self, GArray *items, const ObjectKey *key)
{
    SimStream stream = sim_stream(self->base.sim, "pv-controller/resync order");
    ResyncItem item = {sim_random_bits(stream, key->hash, (uint64_t)sim_now(self->base.sim)), key};

    g_array_append_val(items, item);
}

static int
compare_places(const void *a, const void *b)
{
    const ResyncItem *first = a, *second = b;

    return first->place < second->place ? -1 : first->place > second->place;
}

static void
collect_all(const PvController *self, GArray *items, const Informer *informer)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL)
        add_resync_item(self, items, object->key);
}

static void
collect_unsettled(const PvController *self,
                  GArray *items,
                  const Informer *informer,
                  ObjectKind kind)
{
    for (uint32_t slot = 0; pv_cache_next_unsettled(self->cache, kind, &slot); slot++) {
        const ObjectKey *key = objects_key_at(self->base.objects, kind, slot);
        if (informer_get(informer, key) != NULL)
            add_resync_item(self, items, key);
    }
}

/* PVC-37: the order is a hash map's, another one each time. Those that are settled (cache.h) are left out: their syncs would send
 * nothing, tell nothing, change nothing and take no time. Polling, nothing is left out. */
static void
enqueue_kind(PvController *self, const Informer *informer, ObjectKind kind)
{
    g_autoptr(GArray) items = g_array_new(FALSE, FALSE, sizeof(ResyncItem));

    if (sim_is_polling(self->base.sim))
        collect_all(self, items, informer);
    else
        collect_unsettled(self, items, informer, kind);
    g_array_sort(items, compare_places);
    for (unsigned i = 0; i < items->len; i++)
        enqueue_again(self, g_array_index(items, ResyncItem, i).key);
}

/* PVC-4: all claims, then all volumes. The ticker sleeps when all are settled. */
static gboolean
resync_pass(void *component)
{
    PvController *self = component;

    enqueue_kind(self, self->claims, KIND_CLAIM);
    enqueue_kind(self, self->volumes, KIND_VOLUME);
    return !pv_cache_is_at_rest(self->cache);
}

/* TIM-54: a controller that runs already has its phase; one that starts now resyncs at once (PVC-3). */
static SimTime
draw_resync_phase(const PvController *self, SimTime period)
{
    SimStream stream = sim_stream(self->base.sim, "pv-controller/resync");

    if (self->base.started_late)
        return 0;
    return (SimTime)sim_random_below(stream, 0, 0, (uint64_t)period);
}

static SimTicker *
resync_ticker_new(PvController *self)
{
    const KubeControllerManagerOptions *options = self->base.options;
    SimTime period = MAX(options->pvclaimbinder_sync_period, 1 * SIM_MS);
    SimTickerOptions ticker = {
        .name = "pv-controller/resync",
        .kind = SIM_TICKER_FIXED,
        .period = period,
        .phase = draw_resync_phase(self, period),
        .order = self->base.order,
        .wait = WAIT_POLL,
        .pass = resync_pass,
        .self = self,
    };

    self->resync_label = sim_label(self->base.sim, ticker.name);
    return sim_ticker_new(self->base.sim, &ticker);
}

static void
copy_informer(PvController *self, const Informer *informer)
{
    InformerIter iter;
    const Object *object;

    informer_iter_init(&iter, informer);
    while ((object = informer_iter_next(&iter)) != NULL)
        pv_cache_store(self->cache, object);
}

/* PVC-10: up to 1.35 a failed sync is dropped; from 1.36 on it is queued again. One worker in any case. */
static Workers *
worker_new(PvController *self,
           const char *name,
           PlanDecide sync,
           gboolean (*is_quiet)(const void *self, const ObjectKey *key))
{
    WorkersOptions options = {
        .name = name,
        .n_workers = 1,
        .limit = rate_limit_default,
        .retry = self->minor_version >= 36,
        .sync = sync,
        .is_quiet = is_quiet,
    };

    return workers_new(&self->base, &options);
}

static Words
words_intern(Strings *strings)
{
    return (Words){
        .yes = strings_intern(strings, "yes"),
        .bound_by_controller = strings_intern(strings, ANNOTATION_BOUND_BY_CONTROLLER),
        .bind_completed = strings_intern(strings, ANNOTATION_BIND_COMPLETED),
        .storage_provisioner = strings_intern(strings, ANNOTATION_STORAGE_PROVISIONER),
        .beta_storage_provisioner = strings_intern(strings, ANNOTATION_BETA_STORAGE_PROVISIONER),
    };
}

static void
pv_controller_init(void *component)
{
    PvController *self = component;
    const Cluster *cluster = self->base.cluster;
    Process *process = self->base.process;

    self->minor_version = cluster_minor_version(cluster);
    self->attributes_classes =
        cluster_feature_gate(cluster, "VolumeAttributesClass", self->minor_version >= 34);
    self->honor_reclaim_policy =
        cluster_feature_gate(cluster, "HonorPVReclaimPolicy", self->minor_version >= 31);
    self->words = words_intern(self->base.strings);
    self->cache = pv_cache_new();
    self->operations = operations_new(&self->base, BACKOFF_FIRST, BACKOFF_MAX);
    self->claim_workers = worker_new(self, "claims", pv_controller_sync_claim, pv_claim_is_quiet);
    self->volume_workers = worker_new(self, "volumes", pv_controller_sync_volume, NULL);
    self->classes = process_informer(process, KIND_STORAGE_CLASS, NULL);
    self->pods = process_informer(process, KIND_POD, NULL);
    self->pods_by_claim = informer_add_index(self->pods, index_pods_by_claim);
    self->volumes = process_informer(process, KIND_VOLUME, NULL);
    self->claims = process_informer(process, KIND_CLAIM, NULL);
    copy_informer(self, self->volumes);
    copy_informer(self, self->claims);
    self->resync = resync_ticker_new(self);
    if (!pv_cache_is_at_rest(self->cache))
        sim_ticker_wake(self->resync);
    informer_add_handler(self->volumes, object_event, self);
    informer_add_handler(self->claims, object_event, self);
    informer_add_handler(self->pods, pv_recycler_event, self);
}

static void
pv_controller_clear(void *component)
{
    PvController *self = component;

    g_clear_pointer(&self->resync, sim_ticker_free);
    g_clear_pointer(&self->claim_workers, workers_free);
    g_clear_pointer(&self->volume_workers, workers_free);
    g_clear_pointer(&self->operations, operations_free);
    g_clear_pointer(&self->cache, pv_cache_free);
}

PvCache *
pv_controller_cache(void *component)
{
    PvController *self = component;

    return self->cache;
}

void
pv_controller_hold(void *component)
{
    PvController *self = component;

    workers_hold(self->claim_workers);
    workers_hold(self->volume_workers);
}

const ModelClass pv_controller_class = {
    .name = "persistent-volume-binder",
    .process = &kube_controller_manager_process,
    .size = sizeof(PvController),
    .event_source = "persistentvolume-controller",
    .event_style = EVENTS_CORE,
    .client_qps = kube_controller_manager_client_qps,
    .init = pv_controller_init,
    .clear = pv_controller_clear,
    .apply_change = pv_controller_apply_change,
};
