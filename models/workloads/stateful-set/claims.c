/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The owners of a StatefulSet's claim, by persistentVolumeClaimRetentionPolicy (WL-60): nobody, the
 * set, or the pod that the set no longer wants. A rule table decides from the policy, the pod's
 * ordinal and the references that are there. A claim that refers to an older set or pod of the same
 * name is kept as it is, for the garbage collector (WL-68); a claim with a foreign controller gets
 * neither set nor pod (WL-63). */
#include "models/api/manifest.h"
#include "models/workloads/stateful-set/private.h"
#include "models/workloads/stateful-set/stateful-set-test.h"

enum {
    KNOWN = 1 << 0,
    STALE = 1 << 1,        /* it refers to an older set or pod of the same name */
    FOREIGN = 1 << 2,      /* somebody else is its controller, and the policy deletes claims */
    WHEN_DELETED = 1 << 3, /* persistentVolumeClaimRetentionPolicy.whenDeleted is Delete */
    WHEN_SCALED = 1 << 4,  /* .whenScaled is Delete */
    IN_RANGE = 1 << 5,     /* the pod's ordinal is within the set's range */
    CLAIM_FACTS_END = 1 << 6,
};

/* Columns: all of these hold, none of these, then. */
static const Rule claim_table[] = {
    {"WL-60", 0,                                             KNOWN,                                        CLAIM_OWNER_LATER},
    {"WL-68", KNOWN | STALE,                                 0,                                            CLAIM_OWNER_KEPT },
    {"WL-63", KNOWN | FOREIGN,                               STALE,                                        CLAIM_OWNER_NONE },
    {"WL-60", KNOWN,                                         STALE | FOREIGN | WHEN_DELETED | WHEN_SCALED, CLAIM_OWNER_NONE },
    {"WL-60", KNOWN | WHEN_DELETED,                          STALE | FOREIGN | WHEN_SCALED,                CLAIM_OWNER_SET  },
    {"WL-60", KNOWN | WHEN_DELETED | WHEN_SCALED | IN_RANGE, STALE | FOREIGN,                              CLAIM_OWNER_SET  },
    {"WL-60", KNOWN | WHEN_SCALED | IN_RANGE,                STALE | FOREIGN | WHEN_DELETED,               CLAIM_OWNER_NONE },
    {"WL-60", KNOWN | WHEN_SCALED,                           STALE | FOREIGN | IN_RANGE,                   CLAIM_OWNER_POD  },
};

const RuleTable stateful_claim_rules =
    RULE_TABLE("owners of StatefulSets' claims", CLAIM_FACTS_END, claim_table);

static OwnerName
name_of_kind(ObjectKind kind, const ObjectKey *key, const Object *object)
{
    const KindClass *class = kind_class(kind);

    return (OwnerName){
        .api_version = class->api_version,
        .kind = class->kind,
        .name = key->name,
        .uid = object == NULL ? (ObjectUid){0, 0}
              : object->uid,
    };
}

static OwnerName
name_of_set(const ClaimOwners *owners)
{
    return name_of_kind(KIND_STATEFUL_SET, owners->set->meta.key, &owners->set->meta);
}

static OwnerName
name_of_pod(const ClaimOwners *owners)
{
    return name_of_kind(KIND_POD, owners->pod_key, owners->pod);
}

gboolean
owner_name_matches(const OwnerName *self, const OwnerReference *reference)
{
    return g_strcmp0(self->api_version, reference->api_version) == 0 &&
           g_strcmp0(self->kind, reference->kind) == 0 &&
           g_strcmp0(self->name, reference->name) == 0;
}

gboolean
claim_has_stale_owner(const Object *claim, const OwnerName *name)
{
    for (unsigned i = 0; claim->owners != NULL && i < claim->owners->n_items; i++)
        if (owner_name_matches(name, &claim->owners->items[i]))
            return !object_uid_equal(claim->owners->items[i].uid, name->uid);
    return FALSE;
}

gboolean
claim_has_other_controller(const Object *claim, const ClaimOwners *owners)
{
    OwnerName set = name_of_set(owners), pod = name_of_pod(owners);

    if (!owners->set->delete_when_deleted && !owners->set->delete_when_scaled)
        return FALSE;
    for (unsigned i = 0; claim->owners != NULL && i < claim->owners->n_items; i++) {
        const OwnerReference *owner = &claim->owners->items[i];
        const OwnerName *ours = owner_name_matches(&set, owner)   ? &set
                                : owner_name_matches(&pod, owner) ? &pod
                                                                  : NULL;
        if (ours == NULL ? owner->controller : !object_uid_equal(owner->uid, ours->uid))
            return TRUE;
    }
    return FALSE;
}

gboolean
claim_has_weak_owner(const Object *claim, const ClaimOwners *owners)
{
    ObjectUid pod = name_of_pod(owners).uid;

    for (unsigned i = 0; claim->owners != NULL && i < claim->owners->n_items; i++) {
        const OwnerReference *owner = &claim->owners->items[i];
        if (!owner->controller && (object_uid_equal(owner->uid, owners->set->meta.uid) ||
                                   object_uid_equal(owner->uid, pod)))
            return TRUE;
    }
    return FALSE;
}

gboolean
claim_is_stale(const Object *claim, const ClaimOwners *owners)
{
    OwnerName pod = name_of_pod(owners);

    return claim_has_stale_owner(claim, &pod);
}

ClaimOwner
claim_owner(const Object *claim, const ClaimOwners *owners)
{
    OwnerName set = name_of_set(owners);
    unsigned facts = (owners->set->delete_when_deleted ? WHEN_DELETED : 0) |
                     (owners->set->delete_when_scaled ? WHEN_SCALED : 0) |
                     (owners->is_in_range ? IN_RANGE : 0);

    if (claim != NULL)
        facts |= KNOWN | (claim_has_other_controller(claim, owners) ? FOREIGN : 0) |
                 (claim_has_stale_owner(claim, &set) || claim_is_stale(claim, owners) ? STALE : 0);
    return (ClaimOwner)rules_find(&stateful_claim_rules, facts, NULL)->then;
}

gboolean
claim_owners_are_right(const Object *claim, const ClaimOwners *owners)
{
    ClaimOwner owner = claim_owner(claim, owners);

    if (owner == CLAIM_OWNER_KEPT || owner == CLAIM_OWNER_LATER)
        return TRUE;
    return !claim_has_weak_owner(claim, owners) &&
           object_is_owned_by(claim, &owners->set->meta) == (owner == CLAIM_OWNER_SET) &&
           (owners->pod != NULL && object_is_owned_by(claim, owners->pod)) ==
               (owner == CLAIM_OWNER_POD);
}

/* Drops all references that name the set or the pod, whatever their uid. */
static void
drop_owners(Object *claim, const ClaimOwners *owners)
{
    OwnerName set = name_of_set(owners), pod = name_of_pod(owners);
    OwnerReferences *before = claim->owners;
    unsigned n = 0;

    if (before == NULL)
        return;
    g_autofree OwnerReference *items = g_new(OwnerReference, before->n_items);
    for (unsigned i = 0; i < before->n_items; i++)
        if (!owner_name_matches(&set, &before->items[i]) &&
            !owner_name_matches(&pod, &before->items[i]))
            items[n++] = before->items[i];
    claim->owners = owner_references_new(items, n);
    owner_references_unref(before);
}

gboolean
claim_edit_owners(Object *claim, const void *data)
{
    const ClaimOwners *owners = data;
    ClaimOwner owner = claim_owner(claim, owners);

    drop_owners(claim, owners);
    if (owner == CLAIM_OWNER_SET)
        object_set_owner(claim, &owners->set->meta, TRUE, TRUE);
    if (owner == CLAIM_OWNER_POD && owners->pod != NULL)
        object_set_owner(claim, owners->pod, TRUE, TRUE);
    return TRUE;
}
