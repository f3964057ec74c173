/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/workloads/stateful-set/objects.h"
#include "models/workloads/stateful-set/private.h"

/* What only tests may call from outside of its file. */

/* The volumes that a pod of the set has, given @others. (owned): NULL: none */
PodVolumes *stateful_pod_volumes(Objects *objects,
                                 const StatefulSet *set,
                                 const ObjectKey *pod,
                                 const PodSpec *spec,
                                 const PodVolumes *others);
/* WL-44: whether a claim keeps the pod, which is not in the cache, from being created. */
gboolean stateful_has_stale_claim(const StatefulSetController *self,
                                  const StatefulSet *set,
                                  const Object *pod);
/* Whether the reference names the object, whatever its uid. */
gboolean owner_name_matches(const OwnerName *self, const OwnerReference *reference);
/* Whether the first reference that names the object has another uid. */
gboolean claim_has_stale_owner(const Object *claim, const OwnerName *name);
/* Whether the set or the pod is an owner, but not as controller. */
gboolean claim_has_weak_owner(const Object *claim, const ClaimOwners *owners);
/* The owner that @claim is to have. @claim: NULL: the cache does not know it */
ClaimOwner claim_owner(const Object *claim, const ClaimOwners *owners);
