/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/stateful-set/private.h"

#include <string.h>

/* Who owns a claim of a StatefulSet (WL-60): while the set, or the pod that it no longer wants, is
 * there, so is the claim. */

static gboolean
wants_set(const ClaimOwners *owners)
{
    const StatefulSet *set = owners->set;

    return set->delete_when_deleted && (!set->delete_when_scaled || owners->is_in_range);
}

static gboolean
wants_pod(const ClaimOwners *owners)
{
    return owners->set->delete_when_scaled && !owners->is_in_range;
}

static gboolean
is_pod_of_name(const OwnerReference *owner, const ClaimOwners *owners)
{
    return strcmp(owner->kind, "Pod") == 0 && strcmp(owner->name, owners->pod_key->name) == 0;
}

/* Nobody's business with Retain and Retain. */
gboolean
claim_has_other_controller(const Object *claim, const ClaimOwners *owners)
{
    const OwnerReference *controller = object_controller(claim);

    if (controller == NULL ||
        (!owners->set->delete_when_deleted && !owners->set->delete_when_scaled))
        return FALSE;
    return !object_uid_equal(controller->uid, owners->set->meta.uid) &&
           !is_pod_of_name(controller, owners);
}

static gboolean
is_owned_by_pod(const Object *claim, const ClaimOwners *owners)
{
    return owners->pod != NULL && object_is_owned_by(claim, owners->pod);
}

gboolean
claim_owners_are_right(const Object *claim, const ClaimOwners *owners)
{
    if (object_is_owned_by(claim, &owners->set->meta) != wants_set(owners))
        return FALSE;
    return owners->pod == NULL || is_owned_by_pod(claim, owners) == wants_pod(owners);
}

gboolean
claim_edit_owners(Object *claim, const void *data)
{
    const ClaimOwners *owners = data;
    gboolean changed = FALSE;

    if (wants_set(owners) != object_is_owned_by(claim, &owners->set->meta)) {
        changed = TRUE;
        if (wants_set(owners))
            object_set_owner(claim, &owners->set->meta, TRUE, TRUE);
        else
            object_remove_owner(claim, &owners->set->meta);
    }
    if (owners->pod != NULL && wants_pod(owners) != is_owned_by_pod(claim, owners)) {
        changed = TRUE;
        if (wants_pod(owners))
            object_set_owner(claim, owners->pod, TRUE, TRUE);
        else
            object_remove_owner(claim, owners->pod);
    }
    return changed;
}

gboolean
claim_is_stale(const Object *claim, const ClaimOwners *owners)
{
    for (unsigned i = 0; claim->owners != NULL && i < claim->owners->n_items; i++) {
        const OwnerReference *owner = &claim->owners->items[i];
        if (is_pod_of_name(owner, owners) &&
            (owners->pod == NULL || !object_uid_equal(owner->uid, owners->pod->uid)))
            return TRUE;
    }
    return FALSE;
}
