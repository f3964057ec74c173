/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The claim that a snapshot is made of: its volume, and the finalizer that keeps it meanwhile
 * (SNAP-12). The claim has to be bound, and its volume has to point back to it. The finalizer comes
 * off when no snapshot of the claim is still to become ready; a snapshot that never does keeps the
 * claim forever, as in the original. */
#include "controller.h"

const Claim *
snapshot_claim(const SnapshotController *self,
               Plan *plan,
               const VolumeSnapshot *snapshot,
               const char **error)
{
    const Claim *claim = CLAIM_CONST(
        informer_find(self->claims, snapshot->meta.key->namespace, snapshot->claim_name));

    if (claim == NULL)
        *error = plan_internf(
            plan, "failed to retrieve PVC %s from the lister: %s", snapshot->claim_name,
            plan_quote(plan, plan_internf(plan, "persistentvolumeclaim \"%s\" not found",
                                          snapshot->claim_name)));
    return claim;
}

gboolean
plan_read_volume(const SnapshotController *self, Plan *plan, const char **error)
{
    const SnapshotSync *sync = plan_notes(plan);
    const Claim *claim = snapshot_claim(self, plan, sync->snapshot, error);

    if (claim == NULL)
        return FALSE;
    if (claim->phase != CLAIM_BOUND) {
        *error = plan_internf(
            plan, "the PVC %s is not yet bound to a PV, will not attempt to take a snapshot",
            object_name(&claim->meta));
        return FALSE;
    }
    plan_use_client(plan, self->base.event_client);
    plan_get(plan, objects_key(self->base.objects, KIND_VOLUME, NULL, claim_volume_name(claim)),
             PLAN_DECIDE);
    return TRUE;
}

gboolean
volume_is_of_claim(const Volume *volume, const Claim *claim)
{
    const ClaimReference *reference = &volume->claim_ref;

    return reference->claim == claim->meta.key &&
           (!object_uid_is_set(reference->uid) ||
            object_uid_equal(reference->uid, claim->meta.uid));
}

const Volume *
volume_read(const SnapshotController *self, Plan *plan, const char **error)
{
    const SnapshotSync *sync = plan_notes(plan);
    const Object *object = plan_object(plan, plan_last_step(plan));
    const Claim *claim = snapshot_claim(self, plan, sync->snapshot, error);

    plan_use_client(plan, NULL);
    if (claim == NULL)
        return NULL;
    if (object == NULL) {
        *error = plan_internf(plan, "failed to retrieve PV %s from the API server: %s",
                              claim_volume_name(claim), plan_quote(plan, plan_last_message(plan)));
        return NULL;
    }
    if (!volume_is_of_claim(VOLUME_CONST(object), claim)) {
        *error = "claim in dataSource not bound or invalid";
        return NULL;
    }
    return VOLUME_CONST(object);
}

const char *
volume_driver(const Volume *volume)
{
    return volume->source == NULL ? NULL : volume->source->driver;
}

/* ---- SNAP-12: the finalizer ---- */

/* @error: NULL: the finalizer is off, or has to stay */
static void
plan_released(const SnapshotController *self, Plan *plan, const char *error)
{
    const SnapshotSync *sync = plan_notes(plan);

    plan_use_client(plan, NULL);
    if (error != NULL)
        plan_event(plan, &sync->snapshot->meta, "Warning", "ErrorPVCFinalizer",
                   "Error check and remove PVC Finalizer for VolumeSnapshot");
    if (!sync->deletes || error == NULL)
        sync->with_claim(self, plan);
    else
        plan_fail(plan, "%s", snapshot_update_error(plan, plan_key(plan)->name, error));
}

static void
decide_claim_written(const void *data, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);

    plan_released(data, plan,
                  plan_has_failed(plan) ? snapshot_update_error(plan, sync->snapshot->claim_name,
                                                                plan_last_message(plan))
                                        : NULL);
}

static void
decide_claim_read(const void *data, Plan *plan)
{
    if (plan_has_failed(plan)) {
        plan_released(data, plan, plan_last_message(plan));
        return;
    }
    plan_because(plan, "SNAP-12");
    plan_update_result(plan, plan_last_step(plan), edit_remove_finalizer, FINALIZER_SNAPSHOT_CLAIM,
                       PLAN_DECIDE | PLAN_SEND_ALWAYS);
    plan_then(plan, decide_claim_written);
}

/* A snapshot that never becomes ready keeps the claim. */
static gboolean
is_being_copied(const SnapshotController *self, const Claim *claim, const SnapshotSync *sync)
{
    unsigned n;
    const Object *const *snapshots =
        informer_index_get(self->snapshots_by_claim, claim->meta.key, &n);

    for (unsigned i = 0; i < n; i++)
        if (VOLUME_SNAPSHOT_CONST(snapshots[i])->readiness != SNAPSHOT_READY &&
            (!sync->deletes || snapshots[i]->key != sync->snapshot->meta.key))
            return TRUE;
    return FALSE;
}

void
plan_release_claim(const SnapshotController *self, Plan *plan)
{
    const SnapshotSync *sync = plan_notes(plan);
    const char *error;
    const Claim *claim = sync->snapshot->claim_name == NULL
                             ? NULL
                             : snapshot_claim(self, plan, sync->snapshot, &error);

    if (claim == NULL || !object_has_finalizer(&claim->meta, FINALIZER_SNAPSHOT_CLAIM) ||
        is_being_copied(self, claim, sync)) {
        plan_released(self, plan, NULL);
        return;
    }
    plan_because(plan, "SNAP-12");
    plan_use_client(plan, self->base.event_client);
    plan_get(plan, claim->meta.key, PLAN_DECIDE);
    plan_then(plan, decide_claim_read);
}
