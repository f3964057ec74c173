/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/workloads/stateful-set/private.h"

#include <string.h>

/* The owners of a StatefulSet's claim (WL-60): the claim lives as long as the set, or as long as
 * the pod that the set no longer wants. */

enum {
    KNOWN = 1 << 0,
    FOREIGN = 1 << 1,      /* somebody else is its controller */
    WHEN_DELETED = 1 << 2, /* persistentVolumeClaimRetentionPolicy.whenDeleted is Delete */
    WHEN_SCALED = 1 << 3,  /* .whenScaled is Delete */
    IN_RANGE = 1 << 4,     /* the pod's ordinal is within the set's range */
    CLAIM_FACTS_END = 1 << 5,
};

/* Columns: all of these hold, none of these, then, and if not 0 one of these. */
static const Rule claim_table[] = {
    {"WL-60", 0,                                             KNOWN,                      CLAIM_OWNER_LATER, 0                         },
    {"WL-60", KNOWN,                                         WHEN_DELETED | WHEN_SCALED, CLAIM_OWNER_NONE,  0                         },
    {"WL-63", KNOWN | FOREIGN,                               0,                          CLAIM_OWNER_KEPT,  WHEN_DELETED | WHEN_SCALED},
    {"WL-60", KNOWN | WHEN_DELETED,                          FOREIGN | WHEN_SCALED,      CLAIM_OWNER_SET,   0                         },
    {"WL-60", KNOWN | WHEN_DELETED | WHEN_SCALED | IN_RANGE, FOREIGN,                    CLAIM_OWNER_SET,   0                         },
    {"WL-60", KNOWN | WHEN_SCALED | IN_RANGE,                FOREIGN | WHEN_DELETED,     CLAIM_OWNER_NONE,  0                         },
    {"WL-60", KNOWN | WHEN_SCALED,                           FOREIGN | IN_RANGE,         CLAIM_OWNER_POD,   0                         },
};

const RuleTable stateful_claim_rules =
    RULE_TABLE("owners of StatefulSets' claims", CLAIM_FACTS_END, claim_table);

static gboolean
is_pod_of_name(const OwnerReference *owner, const ClaimOwners *owners)
{
    return strcmp(owner->kind, "Pod") == 0 && strcmp(owner->name, owners->pod_key->name) == 0;
}

static gboolean
is_foreign(const Object *claim, const ClaimOwners *owners)
{
    const OwnerReference *controller = object_controller(claim);

    return controller != NULL && !object_uid_equal(controller->uid, owners->set->meta.uid) &&
           !is_pod_of_name(controller, owners);
}

ClaimOwner
claim_owner(const Object *claim, const ClaimOwners *owners)
{
    unsigned facts = (owners->set->delete_when_deleted ? WHEN_DELETED : 0) |
                     (owners->set->delete_when_scaled ? WHEN_SCALED : 0) |
                     (owners->is_in_range ? IN_RANGE : 0);

    if (claim != NULL)
        facts |= KNOWN | (is_foreign(claim, owners) ? FOREIGN : 0);
    return (ClaimOwner)rules_find(&stateful_claim_rules, facts, NULL)->then;
}

static gboolean
is_owned_by_pod(const Object *claim, const ClaimOwners *owners)
{
    return owners->pod != NULL && object_is_owned_by(claim, owners->pod);
}

gboolean
claim_owners_are_right(const Object *claim, const ClaimOwners *owners)
{
    ClaimOwner owner = claim_owner(claim, owners);

    if (owner == CLAIM_OWNER_KEPT || owner == CLAIM_OWNER_LATER)
        return TRUE;
    return object_is_owned_by(claim, &owners->set->meta) == (owner == CLAIM_OWNER_SET) &&
           (owners->pod == NULL || is_owned_by_pod(claim, owners) == (owner == CLAIM_OWNER_POD));
}

/* Returns: whether it changed anything */
static gboolean
set_owned(Object *claim, const Object *owner, gboolean wanted)
{
    if (owner == NULL || object_is_owned_by(claim, owner) == wanted)
        return FALSE;
    if (wanted)
        object_set_owner(claim, owner, TRUE, TRUE);
    else
        object_remove_owner(claim, owner);
    return TRUE;
}

gboolean
claim_edit_owners(Object *claim, const void *data)
{
    const ClaimOwners *owners = data;
    ClaimOwner owner = claim_owner(claim, owners);
    gboolean changed = set_owned(claim, &owners->set->meta, owner == CLAIM_OWNER_SET);

    return set_owned(claim, owners->pod, owner == CLAIM_OWNER_POD) || changed;
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
