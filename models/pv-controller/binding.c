/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The writes that bind a volume to a claim (PVC-50), and the writes that undo it: claimRef, the
 * volume's phase, volumeName, the claim's status. Up to four writes in this order, each only if it
 * changes something. The first error ends them, and earlier writes stay: the next sync goes on from
 * there (PVC-53). Only a reference that this controller has set gets its annotation, so a
 * reservation by a user survives an unbinding (PVC-55). */
#include "models/pv-controller/pv-controller-private.h"

#include <string.h>

#define ANNOTATION_PRE_RESIZE_CAPACITY "volume.alpha.kubernetes.io/pre-resize-capacity"

/* The edits of the volume and of the claim of a pair. */
typedef struct {
    const Words *words;
    const ObjectKey *claim, *volume;
    ObjectUid claim_uid;
    uint64_t claim_version;
    uint32_t access_modes;  /* the volume's */
    int64_t capacity_bytes; /* that the claim's status shall tell */
    gboolean tells_class;   /* gate VolumeAttributesClass: it tells the volume's class, too */
    const char *attributes_class;
} BindingPair;

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
    pv_plan_kept(plan, plan_update_status(plan, &volume->meta, edit_volume_phase,
                                          phase_arg(plan, phase, message), PLAN_STOP));
    return TRUE;
}

/* ---- Binding: PVC-50 ---- */

/* PVC-50, W1: nothing is left to write into the claimRef. */
static gboolean
volume_refers_exactly(const Volume *volume, const Claim *claim)
{
    return volume->claim_ref.claim == claim->meta.key && pv_refers_to_uid(volume, claim);
}

/* W1, PVC-51. A reservation by a user or provisioner stays visible as such: no annotation. */
static gboolean
edit_refer_to_claim(Object *object, const void *arg)
{
    const BindingPair *pair = arg;
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
    const BindingPair *pair = arg;
    Claim *claim = CLAIM(object);

    if (strcmp(claim_volume_name(claim), pair->volume->name) != 0) {
        claim->volume_name = pair->volume->name;
        object_set_annotation(object, pair->words->bound_by_controller, pair->words->yes);
    }
    if (!claim_is_bind_completed(claim))
        object_set_annotation(object, pair->words->bind_completed, pair->words->yes);
    return TRUE;
}

/* W4. Capacity and class are copied only with the change of phase; after that the resizer writes
 * them (PVC-56, PVC-59). */
static gboolean
edit_claim_bound(Object *object, const void *arg)
{
    const BindingPair *pair = arg;
    Claim *claim = CLAIM(object);

    if (claim->phase != CLAIM_BOUND) {
        claim->capacity_bytes = pair->capacity_bytes;
        if (pair->tells_class)
            claim->current_attributes_class = pair->attributes_class;
    }
    claim->phase = CLAIM_BOUND;
    claim->status_access_modes = pair->access_modes;
    return TRUE;
}

/* PVC-56: the size that an unfinished expansion left behind, otherwise the volume's. */
static int64_t
capacity_to_tell(const Volume *volume)
{
    const char *text = object_annotation(&volume->meta, ANNOTATION_PRE_RESIZE_CAPACITY);
    int64_t bytes;

    if (text != NULL && quantity_parse(text, &bytes, NULL, NULL))
        return bytes;
    return volume->capacity_bytes;
}

static const BindingPair *
pair_arg(const PvController *self, Plan *plan, const Volume *volume, const Claim *claim)
{
    BindingPair *pair = plan_new_arg(plan, BindingPair);

    *pair = (BindingPair){
        .words = &self->words,
        .claim = claim->meta.key,
        .volume = volume->meta.key,
        .claim_uid = claim->meta.uid,
        .claim_version = claim->meta.resource_version,
        .access_modes = volume->access_modes,
        .capacity_bytes = capacity_to_tell(volume),
        .tells_class = self->attributes_classes,
        .attributes_class = volume->attributes_class,
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

/* PVC-52, PVC-95: up to four writes, no Event; each only if it changes something; the first error
 * ends it, and whatever is written stays: the next sync goes on from there (PVC-53). */
void
pv_plan_bind(const PvController *self, Plan *plan, const Volume *volume, const Claim *claim)
{
    gboolean refers = volume_refers_exactly(volume, claim);
    gboolean names = claim_names_exactly(claim, volume);
    int step;

    if (refers && volume->phase == VOLUME_BOUND && names && claim_status_is_bound(claim, volume)) {
        pv_plan_settle(self, plan, &claim->meta);
        return;
    }

    const BindingPair *pair = pair_arg(self, plan, volume, claim);
    if (!refers)
        step = pv_plan_kept(plan,
                            plan_update(plan, &volume->meta, edit_refer_to_claim, pair, PLAN_STOP));
    if (volume->phase != VOLUME_BOUND) {
        const PhaseArg *bound = phase_arg(plan, VOLUME_BOUND, NULL);
        pv_plan_kept(
            plan, refers
                      ? plan_update_status(plan, &volume->meta, edit_volume_phase, bound, PLAN_STOP)
                      : plan_update_result_status(plan, step, edit_volume_phase, bound, PLAN_STOP));
    }
    if (!names)
        step =
            pv_plan_kept(plan, plan_update(plan, &claim->meta, edit_name_volume, pair, PLAN_STOP));
    if (!claim_status_is_bound(claim, volume))
        pv_plan_kept(
            plan, names ? plan_update_status(plan, &claim->meta, edit_claim_bound, pair, PLAN_STOP)
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

/* PVC-55: a reservation by a user stays, so that the volume waits for a claim of that name. */
void
pv_plan_unbind(Plan *plan, const Volume *volume)
{
    gboolean by_controller = pv_has_annotation(&volume->meta, ANNOTATION_BOUND_BY_CONTROLLER);
    int step = pv_plan_kept(plan, plan_update(plan, &volume->meta,
                                              by_controller ? edit_unbind : edit_unreserve, NULL,
                                              PLAN_STOP));

    pv_plan_kept(plan,
                 plan_update_result_status(plan, step, edit_volume_phase,
                                           phase_arg(plan, VOLUME_AVAILABLE, NULL), PLAN_STOP));
}
