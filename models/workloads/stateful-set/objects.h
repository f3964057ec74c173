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
ObjectKey *
stateful_claim_key(Objects *objects, const ClaimTemplate *template, const ObjectKey *pod);

/* Returns: (owned): each ready to be created */
Object *stateful_claim_new(const StatefulSet *set, const ClaimTemplate *template, ObjectKey *key);
/* The members that differ among the pods of a set. */
typedef struct {
    ObjectKey *key;
    int32_t ordinal;
    const char *revision;        /* interned */
    const PodTemplate *template; /* of that revision */
} StatefulPod;
Object *stateful_pod_new(Objects *objects, const StatefulSet *set, const StatefulPod *pod);
