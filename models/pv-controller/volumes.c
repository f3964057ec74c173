/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/pv-controller/pv-controller-private.h"

#include "models/pv-controller/rules.h"

#include <string.h>

/* syncVolume(): PVC-70 and what follows. */

static gboolean
volume_is_given_up(const Volume *volume)
{
    return volume->phase == VOLUME_RELEASED || volume->phase == VOLUME_FAILED;
}

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
        pv_plan_change_key(plan, CHANGE_ENQUEUE, claim->meta.key);
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

static uint32_t
lookup_facts(const Volume *volume, const Claim *claim, gboolean was_asked)
{
    uint32_t facts = was_asked ? LOOKUP_ASKED : 0;

    if (volume->claim_ref.claim != NULL && object_uid_is_set(volume->claim_ref.uid))
        facts |= LOOKUP_REFERS;
    if (claim != NULL)
        facts |= LOOKUP_FOUND;
    if (claim != NULL && !pv_refers_to_uid(volume, claim))
        facts |= LOOKUP_OTHER_UID;
    if (volume_is_given_up(volume))
        facts |= LOOKUP_GIVEN_UP;
    if (pv_has_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER))
        facts |= LOOKUP_BY_CONTROLLER;
    return facts;
}

/* @claim: of that name, perhaps an old copy; NULL: none is known */
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
        pv_plan_gone(plan, key, known->claim_ref.claim, "PVC-8");
        return;
    }
    plan_because(plan, "PVC-6");
    if (pv_cache_is_newer(self->cache, seen))
        return;
    pv_plan_store(self, plan, seen);
    const Volume *volume = VOLUME_CONST(seen);
    plan_volume_and_claim(self, plan, volume, pv_cache_claim(self->cache, volume->claim_ref.claim),
                          FALSE);
}
