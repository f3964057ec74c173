/* SPDX-License-Identifier: GPL-3.0-or-later */
/* syncClaim(): the next step of a claim (PVC-20 to PVC-59). Two rule tables, for claims whose
 * binding was completed once and for the others, decide from the private copies: bind, set the
 * default class, ask for provisioning, wait with an Event, or Lost. A bound claim is judged without
 * asking the API server (PVC-40). Events repeat at every sync, phases are written only when they
 * change. */
#include "models/pv-controller/pv-controller-private.h"

#include <string.h>

/* ---- Looking ---- */

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

/* PVC-27: the newest, in whole seconds; of equally new ones the first by name. */
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

    if (claim->class_name != NULL ||
        pv_has_annotation(&claim->meta, ANNOTATION_BETA_STORAGE_CLASS) ||
        !release_has_gate(self->release, "RetroactiveDefaultStorageClass"))
        return NULL;
    informer_iter_init(&iter, self->classes);
    while ((object = informer_iter_next(&iter)) != NULL) {
        const StorageClass *class = (const StorageClass *)object;
        if (storage_class_is_default(class) && (best == NULL || class_is_preferred(class, best)))
            best = class;
    }
    return best;
}

/* ---- Phases without a volume ---- */

/* PVC-56, PVC-59 without a volume. */
static gboolean
tells_no_volume(const Claim *claim)
{
    return claim->status_access_modes == 0 && claim->capacity_bytes == 0 &&
           claim->current_attributes_class == NULL;
}

static gboolean
edit_claim_without_volume(Object *object, const void *arg)
{
    const ClaimPhase *phase = arg;
    Claim *claim = CLAIM(object);

    if (claim->phase == *phase && tells_no_volume(claim))
        return FALSE;
    claim->phase = *phase;
    claim->status_access_modes = 0;
    claim->capacity_bytes = 0;
    claim->current_attributes_class = NULL;
    return TRUE;
}

static const ClaimPhase phase_pending = CLAIM_PENDING, phase_lost = CLAIM_LOST;

static void
plan_claim_pending(Plan *plan, const Claim *claim)
{
    if (claim->phase == CLAIM_PENDING && tells_no_volume(claim))
        return;
    pv_plan_kept(plan, plan_update_status(plan, &claim->meta, edit_claim_without_volume,
                                          &phase_pending, PLAN_STOP));
}

/* PVC-41, PVC-57: both only as the phase changes. */
static void
plan_claim_lost(Plan *plan, const Claim *claim, const char *reason, const char *message)
{
    if (claim->phase == CLAIM_LOST)
        return;
    pv_plan_kept(plan, plan_update_status(plan, &claim->meta, edit_claim_without_volume,
                                          &phase_lost, PLAN_STOP));
    plan_event(plan, &claim->meta, "Warning", reason, "%s", message);
}

/* ---- The sync ---- */

/* PVC-25: the claim waits for pods without a node; a deleted pod without a node is over. */
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

/* Facts of a claim. */
enum {
    NAMED = 1 << 0,    /* spec.volumeName is set */
    FOUND = 1 << 1,    /* the volume that it names is known; it names none: a volume matches */
    TAKEN = 1 << 2,    /* that volume has a claimRef */
    OURS = 1 << 3,     /* ... which is for this claim (PVC-31) */
    UNFIT = 1 << 4,    /* that volume may not be bound by name: PVC-23 */
    BY_US = 1 << 5,    /* the claim's volumeName was set by a controller */
    REFUSED = 1 << 6,  /* the search ended with an error */
    DEFAULTS = 1 << 7, /* no class is set, and a default class exists */
    WAITS = 1 << 8,    /* late binding, and no node is chosen */
    CLASS = 1 << 9,    /* the class is not "" */
    CLAIM_FACTS_END = 1 << 10,
};

/* The next step of a claim. */
typedef enum {
    CLAIM_BIND,           /* the four writes of PVC-50 */
    CLAIM_SET_CLASS,      /* retroactive default class */
    CLAIM_PROVISION,      /* hand over to a provisioner */
    CLAIM_TELL_WAITING,   /* event: waits for a pod; Pending */
    CLAIM_TELL_NO_MATCH,  /* event: no volume and no class; Pending */
    CLAIM_TELL_MISMATCH,  /* event: the named volume does not fit; Pending */
    CLAIM_TELL_TAKEN,     /* event: the named volume is another claim's; Pending */
    CLAIM_PEND,           /* Pending, without an event */
    CLAIM_FAIL_TAKEN,     /* event, and the sync fails */
    CLAIM_FAIL_REFUSED,   /* the sync fails */
    CLAIM_LOSE_REFERENCE, /* Lost: no volumeName any more */
    CLAIM_LOSE_VOLUME,    /* Lost: the volume is gone */
    CLAIM_LOSE_MISBOUND,  /* Lost: the volume is another claim's */
} ClaimsAction;

/* A claim that is not bound yet: syncUnboundClaim() in Kubernetes' pv_controller.go. Late binding
 * waits before any provisioner is asked (PVC-64). Columns: all of these hold, none of these, then.
 */
static const Rule unbound_claim_table[] = {
    {"PVC-21.2", REFUSED,                       NAMED,                                              CLAIM_FAIL_REFUSED },
    {"PVC-21.3", FOUND,                         NAMED | REFUSED,                                    CLAIM_BIND         },
    {"PVC-27",   DEFAULTS,                      NAMED | REFUSED | FOUND,                            CLAIM_SET_CLASS    },
    {"PVC-25",   WAITS,                         NAMED | REFUSED | FOUND | DEFAULTS,                 CLAIM_TELL_WAITING },
    {"PVC-60",   CLASS,                         NAMED | REFUSED | FOUND | DEFAULTS | WAITS,         CLAIM_PROVISION    },
    {"PVC-21.5", 0,                             NAMED | REFUSED | FOUND | DEFAULTS | WAITS | CLASS, CLAIM_TELL_NO_MATCH},
    {"PVC-22.1", NAMED,                         FOUND,                                              CLAIM_PEND         },
    {"PVC-22.2", NAMED | FOUND,                 TAKEN | UNFIT,                                      CLAIM_BIND         },
    {"PVC-23",   NAMED | FOUND | UNFIT,         TAKEN,                                              CLAIM_TELL_MISMATCH},
    {"PVC-22.3", NAMED | FOUND | TAKEN | OURS,  0,                                                  CLAIM_BIND         },
    {"PVC-22.4", NAMED | FOUND | TAKEN,         OURS | BY_US,                                       CLAIM_TELL_TAKEN   },
    {"PVC-22.5", NAMED | FOUND | TAKEN | BY_US, OURS,                                               CLAIM_FAIL_TAKEN   },
};

const RuleTable unbound_claim_rules =
    RULE_TABLE("unbound claims", CLAIM_FACTS_END, unbound_claim_table);

/* A claim whose binding was completed once: syncBoundClaim(). OURS: the claimRef's uid is the
 * claim's. */
static const Rule bound_claim_table[] = {
    {"PVC-40.1", 0,                            NAMED, CLAIM_LOSE_REFERENCE},
    {"PVC-40.2", NAMED,                        FOUND, CLAIM_LOSE_VOLUME   },
    {"PVC-40.3", NAMED | FOUND,                TAKEN, CLAIM_BIND          },
    {"PVC-40.4", NAMED | FOUND | TAKEN | OURS, 0,     CLAIM_BIND          },
    {"PVC-40.5", NAMED | FOUND | TAKEN,        OURS,  CLAIM_LOSE_MISBOUND },
};

const RuleTable bound_claim_rules = RULE_TABLE("bound claims", CLAIM_FACTS_END, bound_claim_table);

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
        return REFUSED;
    if (*volume != NULL)
        return FOUND;
    facts |= find_default_class(self, claim) != NULL ? DEFAULTS : 0;
    if (query.delayed && !pv_has_annotation(&claim->meta, ANNOTATION_SELECTED_NODE))
        facts |= WAITS;
    facts |= claim_class(claim)[0] != '\0' ? CLASS : 0;
    return facts;
}

/* The facts of a claim and the volume that it names. */
static uint32_t
named_claim_facts(const PvController *self, const Claim *claim, const Volume *volume)
{
    uint32_t facts = NAMED;

    facts |= pv_has_annotation(&claim->meta, ANNOTATION_BOUND_BY_CONTROLLER) ? BY_US : 0;
    if (volume == NULL)
        return facts;
    facts |= FOUND;
    facts |= volume->claim_ref.claim != NULL ? TAKEN : 0;
    facts |= volume_is_bound_to(volume, claim) ? OURS : 0;
    if (volume_mismatch(claim, volume, self->attributes_classes, self->base.strings) != NULL)
        facts |= UNFIT;
    return facts;
}

static gboolean
edit_class(Object *object, const void *arg)
{
    CLAIM(object)->class_name = arg;
    return TRUE;
}

/* Carries out the action of a claim's rule. */
static void
plan_claim_action(const PvController *self,
                  Plan *plan,
                  ClaimsAction action,
                  const Claim *claim,
                  const Volume *volume)
{
    const Object *object = &claim->meta;

    switch (action) {
    case CLAIM_BIND:
        pv_plan_bind(self, plan, volume, claim);
        if (claim_volume_name(claim)[0] == '\0') /* the volume was found, not named */
            pv_plan_timed(self, plan, object);
        return;
    case CLAIM_SET_CLASS: /* not kept in the cache: the event brings it (PVC-7) */
        plan_update(plan, object, edit_class, object_name(&find_default_class(self, claim)->meta),
                    PLAN_STOP);
        return;
    case CLAIM_PROVISION:
        pv_plan_provisioning(self, plan, claim);
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

    const Rule *rule = rules_find(&unbound_claim_rules, facts, NULL);
    plan_because(plan, rule->id);
    plan_claim_action(self, plan, (ClaimsAction)rule->then, claim, volume);
}

/* Only the private copies are asked, not the API server (PVC-40). */
static void
plan_bound_claim(const PvController *self, Plan *plan, const Claim *claim)
{
    const Volume *volume = NULL;
    uint32_t facts = 0;

    if (claim_volume_name(claim)[0] != '\0') {
        facts |= NAMED;
        volume = find_named_volume(self, claim);
    }
    if (volume != NULL) {
        facts |= FOUND;
        facts |= volume->claim_ref.claim != NULL ? TAKEN : 0;
        facts |= pv_refers_to_uid(volume, claim) ? OURS : 0;
    }

    const Rule *rule = rules_find(&bound_claim_rules, facts, NULL);
    plan_because(plan, rule->id);
    plan_claim_action(self, plan, (ClaimsAction)rule->then, claim, volume);
}

/* PVC-20; whether it goes is no matter (PVC-13). */
static void
plan_claim(const PvController *self, Plan *plan, const Claim *claim)
{
    if (claim_is_bind_completed(claim))
        plan_bound_claim(self, plan, claim);
    else
        plan_unbound_claim(self, plan, claim);
}

static void
decide_marked_claim(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Claim *claim = pv_cache_claim(self->cache, plan_key(plan));

    plan_because(plan, "MIG-60");
    if (claim != NULL)
        plan_claim(self, plan, claim);
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
        pv_plan_gone(self, plan, key,
                     name[0] == '\0' ? NULL
                                     : objects_key(self->base.objects, KIND_VOLUME, NULL, name),
                     "PVC-9");
        return;
    }
    plan_because(plan, "PVC-6");
    if (pv_cache_is_newer(self->cache, seen))
        return;
    pv_plan_store(self, plan, seen);
    if (pv_plan_marks(self, plan, seen))
        plan_then(plan, decide_marked_claim);
    else
        plan_claim(self, plan, CLAIM_CONST(seen));
}
