/* SPDX-License-Identifier: GPL-3.0-or-later */
/* syncVolume(): the next step of a volume (PVC-70 to PVC-73). First its claim is looked up, in the
 * private copies, the informer and then the API server, because a volume must not be released only
 * because a cache is late (PVC-71). Then a rule table decides: Available, Bound, Released, unbound,
 * or the claim's worker is asked to bind. A volume never binds itself. */
#include "models/pv-controller/pv-controller-private.h"

#include <string.h>

static gboolean
volume_is_given_up(const Volume *volume)
{
    return volume->phase == VOLUME_RELEASED || volume->phase == VOLUME_FAILED;
}

/* Facts of a volume. */
enum {
    REFERS = 1 << 0,        /* claimRef is set */
    HAS_UID = 1 << 1,       /* ... with a uid */
    HAS_CLAIM = 1 << 2,     /* the claim of that uid exists (PVC-71) */
    NAMES = 1 << 3,         /* the claim has a spec.volumeName */
    THIS = 1 << 4,          /* ... of this volume */
    OTHER_MODE = 1 << 5,    /* the claim's volumeMode is another */
    DISPOSABLE = 1 << 6,    /* made by a provisioner, policy Delete */
    BY_CONTROLLER = 1 << 7, /* the claimRef was set by a controller */
    VOLUME_FACTS_END = 1 << 8,
    UID = REFERS | HAS_UID,
    EXISTS = UID | HAS_CLAIM, /* a claim of that name and uid */
};

/* The next step of a volume. */
typedef enum {
    VOLUME_MAKE_AVAILABLE,
    VOLUME_MAKE_BOUND,
    VOLUME_RELEASE,       /* Released, then the reclaim policy */
    VOLUME_ASK_CLAIM,     /* the claim's worker shall bind */
    VOLUME_TELL_MISMATCH, /* events */
    VOLUME_UNBIND,        /* claimRef removed */
    VOLUME_UNRESERVE,     /* claimRef.uid cleared, the name stays */
} VolumeAction;

/* A volume: syncVolume(). The claim has been looked up already. */
static const Rule volume_table[] = {
    {"PVC-70.1", 0,                              REFERS,                            VOLUME_MAKE_AVAILABLE},
    {"PVC-70.2", REFERS,                         HAS_UID,                           VOLUME_MAKE_AVAILABLE},
    {"PVC-73",   UID,                            HAS_CLAIM,                         VOLUME_RELEASE       },
    {"PVC-63",   EXISTS,                         NAMES | OTHER_MODE,                VOLUME_ASK_CLAIM     },
    {"PVC-70.4", EXISTS | OTHER_MODE,            NAMES,                             VOLUME_TELL_MISMATCH },
    {"PVC-70.5", EXISTS | NAMES | THIS,          0,                                 VOLUME_MAKE_BOUND    },
    {"PVC-72.1", EXISTS | NAMES | DISPOSABLE,    THIS,                              VOLUME_RELEASE       },
    {"PVC-72.2", EXISTS | NAMES | BY_CONTROLLER, THIS | DISPOSABLE,                 VOLUME_UNBIND        },
    {"PVC-72.3", EXISTS | NAMES,                 THIS | DISPOSABLE | BY_CONTROLLER, VOLUME_UNRESERVE     },
};

const RuleTable volume_rules = RULE_TABLE("volumes", VOLUME_FACTS_END, volume_table);

static uint32_t
volume_facts(const Volume *volume, const Claim *claim)
{
    uint32_t facts = 0;

    if (volume->claim_ref.claim == NULL)
        return 0;
    facts |= REFERS;
    if (!object_uid_is_set(volume->claim_ref.uid))
        return facts;
    facts |= HAS_UID;
    if (claim == NULL)
        return facts;
    facts |= HAS_CLAIM;
    const char *name = claim_volume_name(claim);
    facts |= name[0] != '\0' ? NAMES : 0;
    facts |= strcmp(name, object_name(&volume->meta)) == 0 ? THIS : 0;
    facts |= claim->volume_mode != volume->volume_mode ? OTHER_MODE : 0;
    if (volume->reclaim_policy == RECLAIM_DELETE &&
        pv_has_annotation(&volume->meta, ANNOTATION_PROVISIONED_BY))
        facts |= DISPOSABLE;
    facts |= pv_has_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER) ? BY_CONTROLLER : 0;
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
        pv_plan_settle(self, plan,
                       &volume->meta); /* until the operation is over: operation_over() */
    else if (!pv_plan_reclaim(self, plan, volume) && !released)
        pv_plan_settle(self, plan, &volume->meta);
}

/* @claim: of the claimRef, NULL: there is none. */
static void
plan_judged_volume(const PvController *self, Plan *plan, const Volume *volume, const Claim *claim)
{
    const Rule *rule = rules_find(&volume_rules, volume_facts(volume, claim), NULL);

    plan_because(plan, rule->id);
    switch ((VolumeAction)rule->then) {
    case VOLUME_MAKE_AVAILABLE:
        if (!pv_plan_volume_phase(plan, volume, VOLUME_AVAILABLE, NULL))
            pv_plan_settle(self, plan, &volume->meta);
        return;
    case VOLUME_MAKE_BOUND:
        if (!pv_plan_volume_phase(plan, volume, VOLUME_BOUND, NULL))
            pv_plan_settle(self, plan, &volume->meta);
        return;
    case VOLUME_RELEASE:
        plan_release(self, plan, volume);
        return;
    case VOLUME_ASK_CLAIM:
        plan_queue(plan, self->claim_workers, claim->meta.key);
        if (plan_last_step(plan) < 0 && pv_cache_claim(self->cache, claim->meta.key) == claim)
            pv_plan_change_key(plan, CHANGE_WAIT, volume->meta.key);
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

/* Reads the answer to a GET of the claim. Returns: FALSE: it failed, and so does the plan */
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

/* PVC-71c, answered: only a claim of that uid counts. */
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

static void decide_volume_unknown_claim(const void *component, Plan *plan);

/* Looking up the claim of a volume's claimRef, before the volume is judged. */
enum {
    MEANS = 1 << 0,    /* claimRef is set, with a uid */
    FOUND_IT = 1 << 1, /* a claim of that name is known */
    OTHER = 1 << 2,    /* ... with another uid */
    ASKED = 1 << 3,    /* the API server has been asked for the name */
    GIVEN_UP = 1 << 4, /* the volume is Released or Failed already */
    BY_CTRL = 1 << 5,  /* the claimRef was set by a controller */
    LOOKUP_FACTS_END = 1 << 6,
    HIT = MEANS | FOUND_IT,
};

typedef enum {
    LOOKUP_NO_CLAIM, /* the volume is judged without one */
    LOOKUP_CLAIM,    /* ... with the claim that was found */
    LOOKUP_ASK_NAME, /* the informer, then the API server */
    LOOKUP_ASK_UID,  /* the API server */
} LookupAnswer;

/* syncVolume(): a volume is not released just because a cache is late. */
static const Rule lookup_table[] = {
    {"PVC-71.1", 0,                MEANS,                                 LOOKUP_NO_CLAIM, .since = 0 },
    {"PVC-71.2", HIT,              OTHER,                                 LOOKUP_CLAIM,    .since = 0 },
    {"PVC-71c",  HIT | OTHER,      0,                                     LOOKUP_NO_CLAIM, .until = 23},
    {"PVC-71c",  HIT | OTHER,      0,                                     LOOKUP_ASK_UID,  .since = 23},
    {"PVC-71.3", MEANS | ASKED,    FOUND_IT,                              LOOKUP_NO_CLAIM, .since = 0 },
    {"PVC-71.4", MEANS | GIVEN_UP, FOUND_IT | ASKED,                      LOOKUP_NO_CLAIM, .since = 0 },
    {"PVC-71b",  MEANS,            FOUND_IT | ASKED | GIVEN_UP,           LOOKUP_ASK_NAME, .since = 20},
    {"PVC-71b",  MEANS | BY_CTRL,  FOUND_IT | ASKED | GIVEN_UP,           LOOKUP_ASK_NAME, .until = 20},
    {"PVC-71b",  MEANS,            FOUND_IT | ASKED | GIVEN_UP | BY_CTRL, LOOKUP_NO_CLAIM, .until = 20},
};

const RuleTable pv_lookup_rules = RULE_TABLE("claims of volumes", LOOKUP_FACTS_END, lookup_table);

static uint32_t
lookup_facts(const Volume *volume, const Claim *claim, gboolean was_asked)
{
    uint32_t facts = was_asked ? ASKED : 0;

    if (volume->claim_ref.claim != NULL && object_uid_is_set(volume->claim_ref.uid))
        facts |= MEANS;
    facts |= claim != NULL ? FOUND_IT : 0;
    facts |= claim != NULL && !pv_refers_to_uid(volume, claim) ? OTHER : 0;
    facts |= volume_is_given_up(volume) ? GIVEN_UP : 0;
    facts |= pv_has_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER) ? BY_CTRL : 0;
    return facts;
}

/* @claim: the claim of that name, perhaps an old copy; NULL: no such claim is known */
static void
plan_volume_and_claim(const PvController *self,
                      Plan *plan,
                      const Volume *volume,
                      const Claim *claim,
                      gboolean was_asked)
{
    const ObjectKey *key = volume->claim_ref.claim;
    const Rule *rule =
        rules_find(&pv_lookup_rules, lookup_facts(volume, claim, was_asked), self->release);

    switch ((LookupAnswer)rule->then) {
    case LOOKUP_NO_CLAIM:
        plan_judged_volume(self, plan, volume, NULL);
        return;
    case LOOKUP_CLAIM:
        plan_judged_volume(self, plan, volume, claim);
        return;
    case LOOKUP_ASK_NAME:
        claim = CLAIM_CONST(informer_get(self->claims, key));
        if (claim != NULL) {
            plan_volume_and_claim(self, plan, volume, claim, FALSE);
            return;
        }
        plan_because(plan, rule->id);
        plan_get(plan, key, PLAN_DECIDE);
        plan_then(plan, decide_volume_unknown_claim);
        return;
    case LOOKUP_ASK_UID:
        plan_because(plan, rule->id);
        plan_get(plan, key, PLAN_DECIDE);
        plan_then(plan, decide_volume_other_uid);
        return;
    }
    g_assert_not_reached();
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
        plan_volume_and_claim(self, plan, volume, claim, TRUE);
}

static void
plan_volume(const PvController *self, Plan *plan, const Volume *volume)
{
    plan_volume_and_claim(self, plan, volume, pv_cache_claim(self->cache, volume->claim_ref.claim),
                          FALSE);
}

gboolean
pv_volume_rests(const PvController *self, const ObjectKey *key)
{
    const Volume *volume = pv_cache_volume(self->cache, key);
    const Claim *claim =
        volume == NULL ? NULL : pv_cache_claim(self->cache, volume->claim_ref.claim);

    if (claim == NULL || informer_get(self->volumes, key) != &volume->meta ||
        volume->phase != VOLUME_BOUND || !pv_refers_to_uid(volume, claim) ||
        (volume->source != NULL && volume->source->in_tree != NULL)) /* it may lack marks */
        return FALSE;
    return rules_find(&volume_rules, volume_facts(volume, claim), NULL)->then == VOLUME_MAKE_BOUND;
}

static void
decide_marked_volume(const void *component, Plan *plan)
{
    const PvController *self = component;
    const Volume *volume = pv_cache_volume(self->cache, plan_key(plan));

    plan_because(plan, "MIG-61");
    if (volume != NULL)
        plan_volume(self, plan, volume);
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
        pv_plan_gone(self, plan, key, known->claim_ref.claim, "PVC-8");
        return;
    }
    plan_because(plan, "PVC-6");
    if (pv_cache_is_newer(self->cache, seen))
        return;
    pv_plan_store(self, plan, seen);
    if (pv_plan_marks(self, plan, seen))
        plan_then(plan, decide_marked_volume);
    else
        plan_volume(self, plan, VOLUME_CONST(seen));
}
