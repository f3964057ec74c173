/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "models/api/pod.h"

/* The objects that a StatefulSet makes: names, claims and pods (WL-20..22). */

#define LABEL_POD_NAME "statefulset.kubernetes.io/pod-name" /* WL-21 */

/* The pod of @ordinal: "web-0". */
ObjectKey *stateful_pod_key(Objects *objects, const ObjectKey *set, int32_t ordinal);
/* The ordinal in the name of a pod of this set. -1: no pod of this set has such a name */
int32_t stateful_pod_ordinal(const ObjectKey *set, const ObjectKey *pod);
/* "data-web-0" */
ObjectKey *stateful_claim_key(Objects *objects, const Claim *template, const ObjectKey *pod);

/* Returns: (owned): each ready to be created */
Object *stateful_claim_new(const StatefulSet *set, const Claim *template, ObjectKey *key);
/* The members that differ among the pods of a set. */
typedef struct {
    ObjectKey *key;
    int32_t ordinal;
    const char *revision;        /* interned */
    const PodTemplate *template; /* of that revision */
} StatefulPod;
Object *stateful_pod_new(Objects *objects, const StatefulSet *set, const StatefulPod *pod);

/* WL-67: whether the pod has the name and the label of its ordinal. */
gboolean stateful_identity_matches(const StatefulSet *set, const Pod *pod);
/* WL-67: whether each claim of the set is a volume of the pod. */
gboolean stateful_volumes_match(Objects *objects, const StatefulSet *set, const Pod *pod);
/* The key that the pod's ordinal gives, whatever the rest of its name; its own key without one. */
ObjectKey *stateful_pod_key_of(Objects *objects, const StatefulSet *set, const Pod *pod);
/* Returns: (owned): the pod with the identity and the volumes that do not match put right */
Object *stateful_pod_corrected(Objects *objects, const StatefulSet *set, const Pod *pod);
